//! ERICA, the basic algorithm: each virtual channel gets the larger of its fair share and of its present
//! rate over the load factor, so that the load comes to the target in one round trip.
//!
//! In each averaging interval the switch counts the cells that arrive and the channels that send them.
//! At its end
//!
//! - target = utilization · capacity, fair share = target / active channels,
//! - load factor z = cells / interval / target,
//!
//! and until the next end each channel is told min(ER, max(fair share, CCR/z), target), the same however
//! many RM cells it has in the interval.
//!
//! The interval must let every channel be seen that sends at its fair share. In one of fewer cells than there are channels
//! fewer channels are counted than there are, the fair shares add up to more than the target, and the queue grows
//! without end. Of n channels each sends a cell in n cell times, if they are equally fast: [`Erica::interval_for`] is
//! 8·n cell times, and no less than the 1 ms that are usual on fast lines. Below [`Erica::least_interval`], two cells of
//! each, no channel is sure to be counted. Until the first interval ends each channel is told an even share.
//!
//! References: R. Jain, S. Kalyanaraman, R. Goyal, S. Fahmy and R. Viswanathan, "ERICA switch algorithm:
//! a complete description", ATM Forum 96-1172 (1996), section 3.1, the basic algorithm: without
//! MaxAllocPrevious, queue control and per-channel measurement of CCR.
//!
//! Validation: by hand; two greedy channels come from unequal rates to the target's load, each with its
//! fair share or more; in the simulator 1 to 50 greedy channels on lines of 2 to 155.52 Mbit/s have a queue that stays
//! bounded and a line that is busy.

use crate::growing;
use delaylab_model::{MILLISECOND, PICOS_PER_NANO, PICOS_PER_SECOND, Picos};

/// The shortest that is chosen (Jain et al. 1996).
const SHORTEST: Picos = MILLISECOND.unsigned_abs() * PICOS_PER_NANO;
/// Cells of each channel in an interval. The more, the longer the sources are told what is no longer true.
const CELLS_OF_EACH: u64 = 8;
/// Fewer, and a channel that sends as often as the others may be missed.
const FEWEST_OF_EACH: u64 = 2;

/// One channel.
#[derive(Debug, Clone, Copy, Default)]
struct Channel {
    /// From its last forward RM cell.
    ccr: f64,
    /// In which interval it last sent a cell; they count from 1.
    seen: u64,
    /// In which interval it was last told a rate, and which.
    told: (u64, f64),
}

/// What is measured at one output port.
#[derive(Debug, Clone)]
pub struct Erica {
    target: f64,
    interval: Picos,
    channels: Vec<Channel>,
    /// The number and the start of this interval, and what was counted in it.
    number: u64,
    start: Picos,
    cells: u64,
    active: u64,
    /// Of the interval before. None: there was none.
    measured: Option<Measured>,
    /// What each is told before there was one.
    first_share: f64,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    load: f64,
    fair_share: f64,
}

impl Erica {
    /// For a line of `capacity` cells a second that is to be used to `utilization` (0.9 and 0.95 are
    /// usual), measured over `interval` picoseconds (0 counts as 1), which so many channels use (0 counts as 1).
    pub fn new(capacity: f64, utilization: f64, interval: Picos, channels: u64) -> Self {
        let target = capacity * utilization;
        Self {
            target,
            first_share: target / channels.max(1) as f64,
            interval: interval.max(1),
            channels: Vec::new(),
            number: 1,
            start: 0,
            cells: 0,
            active: 0,
            measured: None,
        }
    }

    /// Forgets what it saw: its first interval begins at this time.
    pub(super) fn restart(&mut self, at: Picos) {
        self.channels.clear();
        (self.number, self.start) = (1, at);
        (self.cells, self.active) = (0, 0);
        self.measured = None;
    }

    /// The averaging interval of a line of `capacity` cells a second that so many channels use, where none is given.
    pub fn interval_for(capacity: f64, channels: u64) -> Picos {
        cell_times(capacity, CELLS_OF_EACH.saturating_mul(channels)).max(SHORTEST)
    }

    /// The shortest that sees every one of so many channels.
    pub fn least_interval(capacity: f64, channels: u64) -> Picos {
        cell_times(capacity, FEWEST_OF_EACH.saturating_mul(channels))
    }

    /// A cell arrived.
    #[inline]
    pub fn cell(&mut self, now: Picos, flow: u32) {
        self.advance(now);
        self.cells += 1;
        let number = self.number;
        let channel = self.channel(flow);
        if std::mem::replace(&mut channel.seen, number) != number {
            self.active += 1;
        }
    }

    /// A forward RM cell passes.
    pub fn forward_rm(&mut self, now: Picos, flow: u32, ccr: f64) {
        self.advance(now);
        self.channel(flow).ccr = ccr;
    }

    /// A backward RM cell passes: its new ER.
    pub fn backward_rm(&mut self, now: Picos, flow: u32, er: f64) -> f64 {
        self.advance(now);
        let (number, target, measured) = (self.number, self.target, self.measured);
        let first = self.first_share;
        let channel = self.channel(flow);
        if channel.told.0 != number {
            let allowed = measured.map_or(first, |measured| measured.allows(channel.ccr));
            channel.told = (number, allowed.min(target));
        }
        er.min(channel.told.1)
    }

    /// The load factor of the interval before.
    pub fn load(&self) -> Option<f64> {
        self.measured.map(|measured| measured.load)
    }

    #[inline]
    fn advance(&mut self, now: Picos) {
        if now.saturating_sub(self.start) >= self.interval {
            self.end_interval(now);
        }
    }

    fn end_interval(&mut self, now: Picos) {
        let seconds = (now - self.start) as f64 / PICOS_PER_SECOND as f64;
        self.measured = Some(Measured {
            load: self.cells as f64 / seconds / self.target,
            fair_share: self.target / self.active.max(1) as f64,
        });
        self.number += 1;
        self.start = now;
        self.cells = 0;
        self.active = 0;
    }

    #[inline]
    fn channel(&mut self, flow: u32) -> &mut Channel {
        growing::at(&mut self.channels, flow as usize, Channel::default())
    }
}

fn cell_times(capacity: f64, cells: u64) -> Picos {
    (cells as f64 / capacity * PICOS_PER_SECOND as f64).ceil() as Picos
}

impl Measured {
    /// Without load, as much as there is.
    fn allows(&self, ccr: f64) -> f64 {
        if self.load > 0.0 {
            self.fair_share.max(ccr / self.load)
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Picos = SHORTEST;

    /// Two channels send so many cells in the interval that begins at `start`.
    fn send(erica: &mut Erica, start: Picos, cells: [u64; 2]) {
        for (flow, count) in (0..).zip(cells) {
            for _ in 0..count {
                erica.cell(start + MILLISECOND / 2, flow);
            }
        }
    }

    /// Nothing that it told or measured is left, and the time that it was down is no interval without load.
    #[test]
    fn what_was_restarted_measures_anew() {
        let mut erica = Erica::new(1e5, 0.9, MILLISECOND, 2);
        send(&mut erica, 0, [150, 30]);
        erica.forward_rm(0, 0, 1.5e5);
        assert_eq!(erica.backward_rm(MILLISECOND, 0, 2e5), 7.5e4);
        erica.restart(9 * MILLISECOND);
        send(&mut erica, 9 * MILLISECOND, [60, 30]);
        assert_eq!(erica.load(), None);
        assert_eq!(erica.backward_rm(9 * MILLISECOND, 0, 2e5), 4.5e4);
        erica.forward_rm(9 * MILLISECOND, 0, 6e4);
        assert_eq!(erica.backward_rm(10 * MILLISECOND, 0, 2e5), 6e4);
    }

    #[test]
    fn shares_and_load_are_worked_by_hand() {
        // 100 cells a millisecond, 90 of them to be used.
        let mut erica = Erica::new(1e5, 0.9, MILLISECOND, 2);
        assert_eq!(erica.backward_rm(0, 0, 2e5), 4.5e4); // not measured yet
        send(&mut erica, 0, [150, 30]);
        erica.forward_rm(0, 0, 1.5e5);
        erica.forward_rm(0, 1, 3e4);
        // z = 180/90 = 2, fair share 45,000: max(45,000, 150,000/2) and max(45,000, 30,000/2).
        assert_eq!(erica.backward_rm(MILLISECOND, 0, 2e5), 7.5e4);
        assert_eq!(erica.backward_rm(MILLISECOND, 1, 2e5), 4.5e4);
        assert_eq!(erica.load(), Some(2.0));
        assert_eq!(erica.backward_rm(MILLISECOND, 1, 1e4), 1e4); // another switch gave less
        // The same in the whole interval, whatever the channel says meanwhile.
        erica.forward_rm(MILLISECOND, 0, 1e4);
        assert_eq!(erica.backward_rm(MILLISECOND, 0, 2e5), 7.5e4);
    }

    #[test]
    fn the_interval_sees_every_channel() {
        // A cell a millisecond.
        assert_eq!(Erica::interval_for(1e3, 10), 80 * MILLISECOND);
        assert_eq!(Erica::least_interval(1e3, 10), 20 * MILLISECOND);
        // 366,792 cells a second: 8 of each of 45 channels take less than a millisecond, of 46 more.
        assert_eq!(Erica::interval_for(155.52e6 / 424.0, 45), MILLISECOND);
        assert!(Erica::interval_for(155.52e6 / 424.0, 46) > MILLISECOND);
    }

    #[test]
    fn an_idle_line_offers_the_target() {
        let mut erica = Erica::new(1e5, 0.9, MILLISECOND, 2);
        assert_eq!(erica.backward_rm(3 * MILLISECOND, 5, 2e5), 9e4);
        assert_eq!(erica.load(), Some(0.0));
    }

    #[test]
    fn greedy_channels_come_to_the_target_and_to_their_fair_shares_or_more() {
        let mut erica = Erica::new(1e5, 0.9, MILLISECOND, 2);
        let mut rates = [8e4_f64, 1e4];
        for round in 0..20 {
            let start = round * MILLISECOND;
            send(
                &mut erica,
                start,
                rates.map(|rate| (rate / 1000.0).round() as u64),
            );
            for (flow, rate) in (0..).zip(rates) {
                erica.forward_rm(start + MILLISECOND / 2, flow, rate);
            }
            for (flow, rate) in (0..).zip(&mut rates) {
                *rate = erica.backward_rm(start + MILLISECOND, flow, 3e5);
            }
        }
        let load = rates.iter().sum::<f64>() / 9e4;
        assert!((0.99..1.01).contains(&load), "{rates:?}");
        assert!(rates.iter().all(|rate| *rate >= 4.45e4), "{rates:?}");
    }
}
