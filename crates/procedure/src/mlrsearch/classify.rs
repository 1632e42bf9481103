//! What trials at one load say about a goal (RFC 9971, appendices on load classification and on
//! conditional throughput).

use crate::goal::Goal;
use delaylab_model::Nanos;

/// What was measured in a trial at some load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// How long it was.
    pub duration: Nanos,
    /// Lost of those sent, 0 to 1.
    pub loss_ratio: f64,
    /// Frames a second of all streams together, as they were sent.
    pub fps: f64,
}

/// What a load is for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Whatever is still measured, the goal is met.
    Lower,
    /// Whatever is still measured, it is not.
    Upper,
    /// More trials decide.
    Undecided,
}

/// Every trial at one load, by increasing loss.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trials(Vec<Measured>);

/// Durations of trials, in nanoseconds.
struct Sums {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Trials {
    /// Adds a trial.
    pub fn push(&mut self, trial: Measured) {
        let place = self
            .0
            .partition_point(|other| other.loss_ratio <= trial.loss_ratio);
        self.0.insert(place, trial);
    }

    /// By increasing loss.
    pub fn iter(&self) -> impl Iterator<Item = &Measured> {
        self.0.iter()
    }

    /// The least rate of a trial: what is known to have been offered in each.
    pub fn least_fps(&self) -> Option<f64> {
        self.0.iter().map(|trial| trial.fps).reduce(f64::min)
    }

    fn sums(&self, goal: &Goal) -> Sums {
        let sum = |is_full: bool, is_high: bool| {
            let of_kind = self.0.iter().filter(|trial| {
                let full = trial.duration >= goal.final_trial;
                full == is_full && (trial.loss_ratio > goal.loss_ratio) == is_high
            });
            of_kind.map(|trial| trial.duration as f64).sum()
        };
        Sums {
            full_low: sum(true, false),
            full_high: sum(true, true),
            short_low: sum(false, false),
            short_high: sum(false, true),
        }
    }

    /// What the load is for this goal.
    ///
    /// Short trials with high loss count against it as far as short ones with low loss do not balance
    /// them; short trials never count in its favour. What is missing of the duration sum is taken as all
    /// low loss, then as all high loss; where both say the same, more trials change nothing.
    pub fn class(&self, goal: &Goal) -> Class {
        let sums = self.sums(goal);
        let balance = sums.short_low * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
        let high = sums.full_high + (sums.short_high - balance).max(0.0);
        let whole = (sums.full_low + high).max(goal.duration_sum as f64);
        let accepted = whole * goal.exceed_ratio;
        match (high <= accepted, whole - sums.full_low <= accepted) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Undecided,
        }
    }

    /// Conditional throughput over load: what is forwarded in the trial at which the accepted share of
    /// worse ones begins. `None` without a full-length trial.
    pub fn conditional_ratio(&self, goal: &Goal) -> Option<f64> {
        let full = || {
            self.0
                .iter()
                .filter(|trial| trial.duration >= goal.final_trial)
        };
        let length: f64 = full().map(|trial| trial.duration as f64).sum();
        let whole = length.max(goal.duration_sum as f64);
        let mut left = whole * (1.0 - goal.exceed_ratio);
        let mut loss = None;
        for trial in full() {
            if loss.is_some() && left <= 0.0 {
                break;
            }
            loss = Some(trial.loss_ratio);
            left -= trial.duration as f64;
        }
        // Trials that are missing are taken as lost altogether.
        let loss = loss.map(|loss| if left > 0.0 { 1.0 } else { loss });
        loss.map(|loss| 1.0 - loss)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::SECOND;

    fn goal(final_trial: Nanos, sum: Nanos, loss_ratio: f64, exceed_ratio: f64) -> Goal {
        Goal {
            final_trial: final_trial * SECOND,
            duration_sum: sum * SECOND,
            loss_ratio,
            exceed_ratio,
            ..Goal::rfc2544()
        }
    }

    fn goals() -> [Goal; 4] {
        [
            goal(60, 60, 0.0, 0.0),
            goal(60, 120, 0.0, 0.5),
            goal(1, 120, 0.005, 0.5),
            goal(60, 60, 0.005, 0.2),
        ]
    }

    fn add(trials: &mut Trials, times: usize, seconds: Nanos, loss_ratio: f64) {
        for _ in 0..times {
            trials.push(Measured {
                duration: seconds * SECOND,
                loss_ratio,
                fps: 1e3,
            });
        }
    }

    /// The example search that RFC 9971 prints: six points in time, four goals. For the fourth goal it
    /// prints a lower bound at the last two points, though the exceed ratios that it prints there, 42.9 %
    /// and 27.3 %, are above the goal's 20 %; by its code, which is what is specified, they are upper.
    #[test]
    fn classifies_as_the_example_of_the_rfc() {
        use Class::{Lower, Undecided, Upper};
        let mut trials = Trials::default();
        let points = [
            (59, 1, 0.0, [Undecided; 4]),
            (1, 1, 0.01, [Upper, Undecided, Undecided, Undecided]),
            (59, 1, 0.01, [Upper, Undecided, Undecided, Upper]),
            (1, 1, 0.0, [Upper, Undecided, Lower, Upper]),
            (1, 60, 0.001, [Upper, Undecided, Lower, Upper]),
            (1, 60, 0.0, [Upper, Lower, Lower, Upper]),
        ];
        for (times, seconds, loss, classes) in points {
            add(&mut trials, times, seconds, loss);
            assert_eq!(goals().map(|goal| trials.class(&goal)), classes);
        }
        let [_, second, third, fourth] = goals();
        assert_eq!(trials.conditional_ratio(&second), Some(1.0));
        assert_eq!(trials.conditional_ratio(&third), Some(1.0));
        assert_eq!(trials.conditional_ratio(&fourth), Some(0.999));
    }

    #[test]
    fn nothing_measured_is_undecided() {
        let [goal, ..] = goals();
        let none = Trials::default();
        assert_eq!(
            (none.class(&goal), none.conditional_ratio(&goal)),
            (Class::Undecided, None)
        );
    }
}
