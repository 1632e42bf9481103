//! What a change of the path would make of the delays, and what a new run of the changed path would show.
//!
//! A run of the same length is one sample: its quantiles differ from one run to the next, and with packets that wait for
//! each other by more than those of as many independent ones. So the changed model is simulated several times, each time with
//! other packets and with a rate, a bucket and a buffer drawn from their intervals ([`super::draw`]). The median of these
//! quantiles is predicted, and where one more would be follows from how far they are apart (Student's t).
//!
//! To that comes what calibration was off by, with the same packets: at the same quantile of the same probe and levels
//! as a share, of loss in points, and the most by which the probe (or any, where there are too few of its packets) was off
//! without load, where only hosts differ. The two are independent, so their squares add.
//!
//! A change that brings in what was never measured (a discipline's parameters) has errors of its own, which are not known.
//! Where the rate is assumed there is no range: every packet passes there, and nothing says how far off that is.

use super::Calibration;
use super::overlay::{Distance, Group, Measure, Pair, QUANTILES};
use delaylab_stats::student;

/// How often the changed model is simulated beyond the once with the measured run's packets.
pub const AGAIN: usize = 8;
/// Of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Times in an experiment are whole nanoseconds: a packet passes about this many of them there and back.
const WHOLE: f64 = 10.0;

/// What of a simulated group is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Its least value.
    pub least: f64,
    /// Each of [`QUANTILES`].
    pub quantiles: [f64; QUANTILES.len()],
}

/// One group: as measured, and as it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Measured before the change, and simulated before it.
    pub before: Pair,
    /// Simulated after it, with the measured run's packets.
    pub after: Group,
    /// Each simulation after it, [`Predicted::after`] among them, by [`Measure::ALL`]; `None` where there is no value.
    pub runs: Vec<[Option<Kept>; Measure::ALL.len()]>,
    /// What each of them lost, as a share of its packets.
    pub lost: Vec<f64>,
    /// Is it known how far off the model may be?
    pub has_range: bool,
}

/// What there is after the change: a quantile in nanoseconds, or the share of the packets that is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The median of all simulations.
    pub value: f64,
    /// With the measured run's packets.
    pub same_packets: f64,
    /// Between these a new run has it, 95 times of 100; `None` where nothing says how far off the model is.
    pub between: Option<(f64, f64)>,
}

/// Joins groups after a change to the pairs before it. `found`: what the model is made of; `again`: the groups of more
/// simulations of the change.
pub fn predicted(
    found: &Calibration,
    before: Vec<Pair>,
    after: &[Group],
    again: &[Vec<Group>],
) -> Vec<Predicted> {
    let join = |before: Pair| {
        let same = |group: &&Group| {
            group.probe == before.model.probe && group.factors == before.model.factors
        };
        let after = after.iter().find(same)?.clone();
        let others = again.iter().filter_map(|run| run.iter().find(same));
        let runs: Vec<&Group> = std::iter::once(&after).chain(others).collect();
        Some(Predicted {
            before,
            runs: runs.iter().map(|run| kept(run)).collect(),
            lost: runs.iter().filter_map(|run| run.lost()).collect(),
            after,
            has_range: found.why_no_range().is_none(),
        })
    };
    before.into_iter().filter_map(join).collect()
}

fn kept(group: &Group) -> [Option<Kept>; Measure::ALL.len()] {
    Measure::ALL.map(|measure| {
        let delay = group.delay(measure);
        let [p50, p90, p99] = QUANTILES.map(|q| delay.quantile(q));
        Some(Kept {
            least: *delay.values.first()?,
            quantiles: [p50?, p90?, p99?],
        })
    })
}

impl Calibration {
    /// Why nothing says how far off a prediction may be; `None` where that is known.
    pub fn why_no_range(&self) -> Option<&'static str> {
        self.rate.is_none().then_some(
            "expected: no range, because the model assumes the bottleneck's rate, which this run does not identify: nothing \
             says how far off a prediction may be",
        )
    }
}

impl Predicted {
    /// Each of [`QUANTILES`] after the change; `None` without values. `all` are the pairs of the calibration.
    pub fn expected(
        &self,
        measure: Measure,
        all: &[Predicted],
    ) -> Option<[Expected; QUANTILES.len()]> {
        let own = self.before.distance(measure)?;
        let hosts = self.off_without_load(measure, all);
        let mut expected = [Expected {
            value: 0.0,
            same_packets: 0.0,
            between: None,
        }; QUANTILES.len()];
        let runs = || self.runs.iter().filter_map(|run| run[measure as usize]);
        let least = runs().map(|run| run.least).fold(f64::INFINITY, f64::min);
        let mut lowest = 0.0;
        for (at, q) in QUANTILES.into_iter().enumerate() {
            let same_packets = self.after.delay(measure).quantile(q)?;
            let (value, chance) = one_more(runs().map(|run| run.quantiles[at]).collect())?;
            let share = own.errors()[at].abs();
            let model = value * share + hosts[at];
            let off = chance.hypot(model) + WHOLE;
            // No packet is faster than the fastest, and no quantile below a lower one.
            lowest = (value - off).max(least - hosts[at]).max(lowest);
            let between = (lowest, value + off);
            expected[at] = Expected {
                value,
                same_packets,
                between: self.has_range.then_some(between),
            };
        }
        Some(expected)
    }

    /// The share of the packets that is lost after the change; `None` without packets.
    pub fn expected_loss(&self) -> Option<Expected> {
        let same_packets = self.after.lost()?;
        let (value, chance) = one_more(self.lost.clone())?;
        let [measured, model] = [&self.before.measured, &self.before.model].map(Group::lost);
        let model = measured
            .zip(model)
            .map_or(0.0, |(measured, model)| (model - measured).abs());
        // One packet more or less is chance, too, where all simulations lose the same.
        let packet = 1.0 / self.after.packets[0].max(1) as f64;
        let off = chance.hypot(model) + packet;
        let between = ((value - off).max(0.0), (value + off).min(1.0));
        Some(Expected {
            value,
            same_packets,
            between: self.has_range.then_some(between),
        })
    }

    /// The most by which the model is off without load, at each quantile.
    fn off_without_load(&self, measure: Measure, all: &[Predicted]) -> [f64; QUANTILES.len()] {
        let probe = &self.before.measured.probe;
        let unloaded = |any: bool| -> Vec<Distance> {
            let pairs = all.iter().map(|one| &one.before);
            let meant = pairs.filter(|pair| any || pair.measured.probe == *probe);
            let meant = meant.filter(|pair| is_known(&pair.measured, measure));
            meant.filter_map(|pair| pair.distance(measure)).collect()
        };
        let own = unloaded(false);
        let known = if own.is_empty() { unloaded(true) } else { own };
        std::array::from_fn(|at| {
            let off = |distance: &Distance| {
                let [measured, model] = distance.quantiles[at];
                (model - measured).abs()
            };
            known.iter().map(off).fold(0.0, f64::max)
        })
    }
}

/// The median of some runs, and how far from it one more is at most, 95 times of 100.
fn one_more(mut runs: Vec<f64>) -> Option<(f64, f64)> {
    runs.sort_by(f64::total_cmp);
    let count = runs.len();
    let median = f64::midpoint(*runs.get(count.checked_sub(1)? / 2)?, runs[count / 2]);
    if count < 2 {
        return Some((median, 0.0));
    }
    let mean = runs.iter().sum::<f64>() / count as f64;
    let squares: f64 = runs.iter().map(|value| (value - mean).powi(2)).sum();
    let sd = (squares / (count - 1) as f64).sqrt();
    let t = student::two_sided(CONFIDENCE, (count - 1) as u32);
    Some((median, t * sd * (1.0 + 1.0 / count as f64).sqrt()))
}

/// Packets that make a distribution.
const PACKETS: usize = 20;

/// Is it the distribution of a probe without load?
fn is_known(group: &Group, measure: Measure) -> bool {
    group.unloaded && group.delay(measure).values.len() >= PACKETS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::calibrate::calibrate;
    use crate::calibrate::line::Estimate;
    use crate::calibrate::overlay::Distribution;
    use crate::calibrate::rate::Rate;
    use crate::calibrate::run_trials::RunTrials;
    use delaylab_stats::random::SplitMix;

    fn group(values: &[f64]) -> Group {
        let values = values.to_vec();
        Group {
            factors: Vec::new(),
            probe: "echo".to_owned(),
            unloaded: false,
            packets: [values.len(), 0],
            delays: [Distribution { values }, Distribution::default()],
        }
    }

    fn with_rate() -> Calibration {
        Calibration {
            rate: Some(Rate {
                ns_per_byte: Estimate {
                    value: 800.0,
                    interval: None,
                },
                busy: 0.0,
                bytes: 0.0,
            }),
            ..calibrate(&RunTrials::default())
        }
    }

    /// What is expected of the response, where it was `measured` and simulated and `after` is simulated after the change.
    fn expected(found: &Calibration, measured: &[f64], after: &[&[f64]]) -> [Expected; 3] {
        let pair = Pair {
            measured: group(measured),
            model: group(measured),
        };
        let again: Vec<_> = after[1..]
            .iter()
            .map(|values| vec![group(values)])
            .collect();
        let all = predicted(found, vec![pair], &[group(after[0])], &again);
        all[0].expected(Measure::Response, &all).unwrap()
    }

    #[test]
    fn what_depends_on_an_assumed_rate_has_no_range() {
        let unknown = calibrate(&RunTrials::default());
        assert!(unknown.rate.is_none());
        let found = expected(&unknown, &[900.0, 1_000.0], &[&[700.0, 710.0]]);
        assert!(found.iter().all(|one| one.between.is_none()), "{found:?}");
        assert_eq!(found.map(|one| one.value), [700.0, 710.0, 710.0]);
    }

    #[test]
    fn no_range_is_faster_than_the_path_or_below_a_lower_quantile() {
        let found = with_rate();
        // Half of the packets are at 700 ns or little more; how long the last one takes is chance.
        let run = |last: f64| {
            let mut values: Vec<f64> = (700..760).map(f64::from).collect();
            values.extend([last; 5]);
            values
        };
        let runs = [900.0, 2_000.0, 60_000.0].map(run);
        let after: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let each = expected(&found, &[900.0, 1_000.0], &after);
        let between = each.map(|one| one.between.unwrap());
        assert!(between.iter().all(|(low, _)| *low >= 700.0), "{between:?}");
        let lows = between.map(|(low, _)| low);
        assert!(lows.is_sorted(), "{between:?}");
        // By chance alone the last would reach below 0.
        assert!(between[2].1 > 2.0 * each[2].value, "{between:?}");
    }

    #[test]
    fn loss_has_a_range_where_delay_has_one() {
        let group = |lost: usize| Group {
            packets: [1_000, lost],
            ..group(&[1_000.0, 1_100.0])
        };
        let expected = |found: &Calibration, [measured, model]: [usize; 2], after: [usize; 3]| {
            let pair = Pair {
                measured: group(measured),
                model: group(model),
            };
            let again = [vec![group(after[1])], vec![group(after[2])]];
            predicted(found, vec![pair], &[group(after[0])], &again)[0]
                .expected_loss()
                .unwrap()
        };
        let unknown = calibrate(&RunTrials::default());
        let found = expected(&unknown, [200, 210], [310, 290, 300]);
        assert_eq!(
            (found.value, found.same_packets, found.between),
            (0.3, 0.31, None)
        );

        let known = with_rate();
        let (low, high) = expected(&known, [200, 210], [310, 290, 300])
            .between
            .unwrap();
        // Chance (Student's t of three), the model's own error, and a packet.
        let off = (4.303 * 0.01 * (4.0_f64 / 3.0).sqrt()).hypot(0.01) + 0.001;
        assert!(
            (low - (0.3 - off)).abs() < 1e-4 && (high - (0.3 + off)).abs() < 1e-4,
            "{low} {high}"
        );
        // Nothing is lost in any of them: a new run may lose a packet, and none less than none.
        let none = expected(&known, [0, 0], [0, 0, 0]);
        assert_eq!(none.between, Some((0.0, 0.001)));
    }

    #[test]
    fn one_more_run_is_where_it_is_expected() {
        let mut random = SplitMix::new(3);
        let trials = 2000;
        let covered = (0..trials).filter(|_| {
            let runs = (0..=AGAIN).map(|_| random.normal()).collect();
            let (median, off) = one_more(runs).unwrap();
            (random.normal() - median).abs() <= off
        });
        let share = covered.count() as f64 / f64::from(trials);
        assert!((0.93..0.97).contains(&share), "{share}");
    }

    #[test]
    fn one_run_says_nothing_of_chance() {
        assert_eq!(one_more(Vec::new()), None);
        assert_eq!(one_more(vec![5.0]), Some((5.0, 0.0)));
    }
}
