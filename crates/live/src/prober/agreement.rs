//! Whether one-way delays can be told at the end of a run, as both clocks have behaved since its beginning.

use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::ReflectorClock;
use delaylab_model::units::write_duration;
use delaylab_traffic::prober::epoch::{Moved, Standing};

/// Counts records whose arrival at the reflector is not between departure and return here.
#[derive(Debug)]
pub(super) struct Order {
    clock: ReflectorClock,
    answered: u64,
    disordered: u64,
    /// By how much at most, beyond what the clocks may be apart.
    most: Nanos,
}

impl Order {
    pub(super) const fn new(clock: ReflectorClock) -> Self {
        Self {
            clock,
            answered: 0,
            disordered: 0,
            most: 0,
        }
    }

    pub(super) fn take(&mut self, record: &Record) {
        self.answered += u64::from(record.t_recv.is_some());
        let between = match self.clock {
            ReflectorClock::Same => record.t_tx.zip(record.t_rx),
            // The process's own times hold without stamps, which have errors of their own.
            ReflectorClock::Bounded { .. } => record.t_send.zip(record.t_recv),
            ReflectorClock::None | ReflectorClock::Unrelated => None,
        };
        let (Some((from, to)), Some(there)) = (between, record.r_rx.or(record.r_user)) else {
            return;
        };
        let early = from.saturating_sub(there);
        let late = there.saturating_sub(to);
        let beyond = early.max(late).saturating_sub(self.allowed());
        if beyond > 0 {
            self.disordered += 1;
            self.most = self.most.max(beyond);
        }
    }

    const fn allowed(&self) -> Nanos {
        match self.clock {
            ReflectorClock::Bounded { error_ns } => error_ns,
            _ => 0,
        }
    }
}

/// The clock by which the records are to be read, and what the user should know of it.
pub(super) fn at_the_end(order: &Order, moved: &Moved) -> (ReflectorClock, Vec<String>) {
    match order.clock {
        ReflectorClock::Same if order.disordered * 100 > order.answered => {
            let warning = format!(
                "the reflector says that it reads this host's clock, but {} of {} arrivals there are not \
                 between departure and return here: do not trust forward and return path",
                order.disordered, order.answered
            );
            (order.clock, vec![warning])
        }
        ReflectorClock::Bounded { error_ns } => bounded(order, moved, error_ns),
        clock => (clock, Vec::new()),
    }
}

fn bounded(order: &Order, moved: &Moved, error: Nanos) -> (ReflectorClock, Vec<String>) {
    match moved.standing(error) {
        Standing::AsAgreed if order.disordered == 0 => (order.clock, Vec::new()),
        Standing::MovedAlike if order.disordered == 0 => {
            let warning = format!(
                "{}: one-way delays are by the clocks as they stood at the beginning, and the two agree as they did",
                what_moved(moved)
            );
            (order.clock, vec![warning])
        }
        Standing::AsAgreed | Standing::MovedAlike => {
            let warning = format!(
                "{} of {} packets reached the reflector outside the time between sending and reply, by up to {} more \
                 than the {} that the two clocks were said to differ by: one of them was wrong or was stepped. {LEFT_OUT} {WHEN_SYNCHRONISED}",
                order.disordered,
                order.answered,
                short(order.most),
                short(error),
            );
            (ReflectorClock::Unrelated, vec![warning])
        }
        Standing::Apart => {
            let remedy = match moved.suspended {
                0 => WHEN_SYNCHRONISED,
                _ => "measure again, and keep this host awake",
            };
            let warning = format!("{}. {LEFT_OUT} {remedy}", what_moved(moved));
            (ReflectorClock::Unrelated, vec![warning])
        }
    }
}

const LEFT_OUT: &str = "One-way delays are left out; round trips are not affected. To have them,";
const WHEN_SYNCHRONISED: &str =
    "wait until both clocks are synchronised (`chronyc tracking`) and measure again";

/// `the clock of this host was stepped by -1s during the run`.
fn what_moved(moved: &Moved) -> String {
    let here = moved.here().then(|| match moved.suspended {
        0 => stepped("this host", moved.our_steps, Some(moved.ours)),
        suspended => format!("this host was suspended for {}", short(suspended)),
    });
    let steps = u32::from(moved.their_steps);
    let there = moved
        .there()
        .then(|| stepped("the reflector", steps, moved.theirs));
    let both: Vec<_> = here.into_iter().chain(there).collect();
    format!("{} during the run", both.join(" and "))
}

fn stepped(whose: &str, times: u32, by: Option<Nanos>) -> String {
    let often = match times {
        0 | 1 => String::new(),
        times => format!(" {times} times"),
    };
    let by = by.filter(|&by| by != 0).map(|by| {
        let sign = if by < 0 { '−' } else { '+' };
        format!("{often} by {sign}{}", short(by.saturating_abs()))
    });
    format!("the clock of {whose} was stepped{}", by.unwrap_or(often))
}

/// To three digits.
fn short(by: Nanos) -> String {
    let digits = by.checked_ilog10().unwrap_or(0);
    let scale = 10_i64.pow(digits.saturating_sub(2));
    write_duration(by.saturating_add(scale / 2) / scale * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::SECOND;

    #[test]
    fn a_suspend_is_not_told_as_a_clock_that_was_set() {
        let bounded = ReflectorClock::Bounded { error_ns: 1_000 };
        let moved = Moved {
            ours: 30 * SECOND,
            our_steps: 1,
            suspended: 30 * SECOND,
            ..Moved::default()
        };
        let (clock, warnings) = at_the_end(&Order::new(bounded), &moved);
        assert_eq!(clock, ReflectorClock::Unrelated);
        let begins = warnings[0].starts_with("this host was suspended for 30s during the run. ");
        assert!(begins && !warnings[0].contains("stepped"), "{warnings:?}");
    }
}
