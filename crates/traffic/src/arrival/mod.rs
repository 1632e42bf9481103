//! Open-loop packet arrivals for loads: they wait for nobody.
//!
//! | module | packets are |
//! |---|---|
//! | [`cbr`] | evenly spaced, exact to the picosecond |
//! | [`poisson`] | at exponential gaps |
//! | [`on_off`] | evenly spaced in bursts with silences between them |
//! | [`replay`] | when a file says |
//! | [`section`] | as a `[[load]]` of an experiment has them |
//!
//! To add a kind: one file here, one line in [`Arrival`].

pub mod cbr;
pub mod on_off;
pub mod poisson;
pub mod replay;
pub mod section;
#[cfg(test)]
mod tests;

pub use delaylab_model::load::Packet;

/// Packets one after the other, in the order of their times. It ends with a replay's last packet, or
/// when the clock does.
#[derive(Debug, Clone)]
pub enum Arrival {
    /// Constant bit rate.
    Cbr(cbr::Cbr),
    /// Exponential gaps.
    Poisson(poisson::Poisson),
    /// Bursts and silences.
    OnOff(on_off::OnOff),
    /// From a file.
    Replay(replay::Replay),
}

impl Iterator for Arrival {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        match self {
            Arrival::Cbr(cbr) => cbr.next(),
            Arrival::Poisson(poisson) => poisson.next(),
            Arrival::OnOff(on_off) => on_off.next(),
            Arrival::Replay(replay) => replay.next(),
        }
    }
}
