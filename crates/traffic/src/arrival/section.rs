//! The packets that a `[[load]]` means.

use super::Arrival;
use super::cbr::Cbr;
use super::on_off::{OnOff, Periods};
use super::poisson::Poisson;
use super::replay::Replay;
use delaylab_model::Picos;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::quantity::Duration;
use delaylab_model::refusal::{Refusal, refuse};

/// Bytes of UDP payload when the experiment does not say.
pub const PAYLOAD: u64 = 1024;

/// Bytes of payload in each datagram of a load.
pub fn payload(load: &Load) -> u64 {
    load.payload.map_or(PAYLOAD, |size| size.0)
}

/// When the packets of this load leave and how large they are, with `headers` bytes of headers: a rate is
/// that of IP packets.
///
/// # Errors
/// A field below the load that says what cannot be.
pub fn arrivals(load: &Load, headers: u32, start: Picos, seed: u64) -> Result<Arrival, Refusal> {
    let rate = || match load.rate {
        Some(rate) if rate.0 > 0 => Ok(rate.0),
        Some(_) => Err(Refusal::new("rate", "a load of nothing").remedy("set `streams` to 0")),
        None => Err(Refusal::new("rate", "how much?").remedy("write it like \"10Mbit/s\"")),
    };
    let payload = payload(load);
    let bytes = u32::try_from(payload)
        .ok()
        .and_then(|payload| payload.checked_add(headers));
    let Some(bytes) = bytes else {
        return refuse("payload", "more than any packet holds");
    };
    let period = |given: Option<Duration>, name| match given.map_or(0, Duration::picos) {
        0 => Err(Refusal::new(name, "how long?").remedy("write it like \"10ms\"")),
        period => Ok(period),
    };
    Ok(match load.kind {
        LoadKind::Cbr => Arrival::Cbr(Cbr::new(start, bytes, rate()?)),
        LoadKind::Poisson => Arrival::Poisson(Poisson::new(start, bytes, rate()?, seed)),
        LoadKind::OnOff => {
            let (on, off) = (period(load.on, "on")?, period(load.off, "off")?);
            let periods = Periods::Exponential { on, off };
            Arrival::OnOff(OnOff::new(start, bytes, rate()?, periods, seed))
        }
        LoadKind::Replay => match &load.trace {
            Some(trace) => Arrival::Replay(Replay::new(trace.clone(), start)),
            None => return refuse("file", "which file has the times and sizes?"),
        },
        LoadKind::Tcp | LoadKind::Transfers => {
            return refuse("kind", "TCP has no times of its own");
        }
    })
}
