//! Does a process run at regular intervals?
//!
//! Here the process itself was seen, each time it ran, and not only where a probe met it (that is
//! [`crate::periodicity`]). Its period is the median gap from start to start, refined over all gaps
//! that are a whole number of it: a time that was missed does not spoil it. Gaps at random (Poisson)
//! are as near to a whole number of their median as is asked for here in one of four, so ten gaps or more
//! pass for regular in fewer than one of ten thousand series (`few_random_series_are_regular`).
//!
//! A process that runs twice a period has two kinds of gaps, of which the longer may be near a whole number of the shorter. So
//! where many gaps are several periods, two or three in a row are looked at: if they are alike, they are the period.
//!
//! A timer whose process often waits for a CPU has few such gaps. Its period is then looked for by phase
//! (`phase.rs`): however long each start waited, it is due at the same place of its period.

mod phase;

pub(crate) use phase::{mean_phase, phase_sum};

use crate::functional::Functional;
use delaylab_model::Nanos;

/// Fewer gaps say nothing.
pub const LEAST_GAPS: usize = 8;
/// So near to a whole number of periods a gap must be, in periods.
const NEAR: f64 = 0.1;
/// So many of the gaps must be.
const MOST: f64 = 0.8;

/// Where a gap is more periods than this on average, gaps in a row may be alike.
const SEVERAL: f64 = 1.3;
/// This share of those must be alike: of a timer that misses a turn now and then many are, too.
const MOST_IN_A_ROW: f64 = 0.9;
/// The most runs a period that are looked for.
const MOST_RUNS: usize = 3;
/// A gap on average is no more periods. Bursts at random times have the gap inside them, and hardly ever run at the
/// others of its times.
const MOST_MISSED: f64 = 10.0;

/// A process that runs at regular intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regular {
    /// From start to start, ns.
    pub period_ns: f64,
    /// Its standard error, ns.
    pub error_ns: f64,
    /// Gaps that are a whole number of it, of all gaps; where most are not, how alike the phases of the starts
    /// are, 0 to 1.
    pub share: f64,
    /// Gaps.
    pub gaps: usize,
}

/// The period of starts that were seen in stretches of time, each in rising order; `None` where
/// they are not regular, or too few to tell. Gaps are within stretches only.
pub fn find_period(stretches: &[Vec<Nanos>]) -> Option<Regular> {
    let pairs = stretches.iter().flat_map(|starts| starts.windows(2));
    let gaps: Vec<f64> = pairs
        .map(|pair| pair[1].saturating_sub(pair[0]) as f64)
        .filter(|&gap| gap > 0.0)
        .collect();
    if gaps.len() < LEAST_GAPS {
        return None;
    }
    let gap = mean(&gaps);
    match by_gaps(&gaps) {
        Some(found) if gap <= SEVERAL * found.period_ns => Some(found),
        found => (2..=MOST_RUNS)
            .find_map(|runs| of_several_runs(stretches, runs, gap))
            .or(found)
            .or_else(|| phase::regular(stretches, &gaps)),
    }
}

/// The period of a process that runs this often in each: from a start to the one as many later. `gap`: from start to start
/// on average.
fn of_several_runs(stretches: &[Vec<Nanos>], runs: usize, gap: f64) -> Option<Regular> {
    let each = stretches.iter().flat_map(|starts| starts.windows(runs + 1));
    let mut spans: Vec<f64> = each
        .map(|starts| starts[runs].saturating_sub(starts[0]) as f64)
        .collect();
    if spans.len() < LEAST_GAPS * runs {
        return None;
    }
    let median = Functional::Quantile(0.5).value(&mut spans)?;
    let apart = NEAR * median / runs as f64;
    let mut alike: Vec<f64> = spans
        .iter()
        .copied()
        .filter(|span| (span - median).abs() <= apart)
        .collect();
    let share = alike.len() as f64 / spans.len() as f64;
    // A timer that rests now and then has gaps in a row that are alike as well: each is.
    let rests = gap > SEVERAL * median / runs as f64;
    if median <= 0.0 || share < MOST_IN_A_ROW || rests {
        return None;
    }
    // Spans that have a gap in common tell the same twice.
    let separate = alike.len() as f64 / runs as f64;
    Some(Regular {
        period_ns: mean(&alike),
        error_ns: Functional::Sd.value(&mut alike)? / separate.sqrt(),
        share,
        gaps: spans.len(),
    })
}

/// Where most gaps are a whole number of the period.
fn by_gaps(gaps: &[f64]) -> Option<Regular> {
    let median = Functional::Quantile(0.5).value(&mut gaps.to_vec())?;
    let whole = |gap: &f64, period: f64| {
        let times = (gap / period).round();
        (times >= 1.0 && (gap / period - times).abs() <= NEAR).then_some((*gap, times))
    };
    let mut period = median;
    let mut near = Vec::new();
    // The median of gaps that vary is a little beside their mean: once more from the better guess.
    for _ in 0..2 {
        near = gaps.iter().filter_map(|gap| whole(gap, period)).collect();
        let (sum, times) = (near.iter()).fold((0.0, 0.0), |(s, t), (gap, n)| (s + gap, t + n));
        if times == 0.0 {
            return None;
        }
        period = sum / times;
    }
    if mean(gaps) > MOST_MISSED * period {
        return None;
    }
    let share = near.len() as f64 / gaps.len() as f64;
    let mut residuals: Vec<f64> = near.iter().map(|(gap, n)| gap - n * period).collect();
    let spread = Functional::Sd.value(&mut residuals).unwrap_or(0.0);
    let periods: f64 = near.iter().map(|(_, n)| n).sum();
    (share >= MOST).then(|| Regular {
        period_ns: period,
        error_ns: spread * (near.len() as f64).sqrt() / periods,
        share,
        gaps: gaps.len(),
    })
}

fn mean(gaps: &[f64]) -> f64 {
    gaps.iter().sum::<f64>() / gaps.len() as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    #[test]
    fn a_timer_that_is_sometimes_missed_and_late_has_its_period() {
        let mut random = SplitMix::new(3);
        let mut stretch = |trial: i64| {
            let due = (0..12).filter(|n| n % 5 != 3);
            let late = due.map(|n| {
                let late = (random.uniform() * 2e6) as i64;
                trial * 777_000_000_123 + n * 100_000_000 + late
            });
            late.collect::<Vec<_>>()
        };
        let stretches: Vec<_> = (0..6).map(&mut stretch).collect();
        let found = find_period(&stretches).unwrap();
        assert!((found.period_ns / 1e8 - 1.0).abs() < 0.01, "{found:?}");
        assert!(
            (found.period_ns - 1e8).abs() < 4.0 * found.error_ns,
            "{found:?}"
        );
        assert_eq!(found.gaps, 6 * 9);
    }

    #[test]
    fn a_process_that_runs_several_times_a_period_has_that_period() {
        let mut random = SplitMix::new(5);
        let mut period = |runs: &[f64]| {
            let starts =
                (0..100).flat_map(|n| runs.iter().map(move |later| f64::from(n) * 100.0 + later));
            let late = starts.map(|ms| ((ms + 0.1 * random.uniform()) * 1e6) as Nanos);
            find_period(&[late.collect()]).unwrap().period_ns / 1e6
        };
        for later in [10.0, 11.0, 20.0, 24.0, 25.0, 33.3, 40.0] {
            let found = period(&[0.0, later]);
            assert!((found - 100.0).abs() < 0.1, "{later}: {found}");
        }
        assert!((period(&[0.0, 10.0, 20.0]) - 100.0).abs() < 0.1);
        // That is once in half of it.
        assert!((period(&[0.0, 50.0]) - 50.0).abs() < 0.1);
    }

    #[test]
    fn a_timer_that_rests_now_and_then_has_its_own_period() {
        let starts = |every: i64, rest: i64| -> Vec<Nanos> {
            let at = |n: i64| (n * every + n / 25 * rest) * 1_000_000;
            (0..100).map(at).collect()
        };
        let timer = find_period(&[starts(10, 190)]).unwrap();
        assert!((timer.period_ns / 1e6 - 10.0).abs() < 0.1, "{timer:?}");
        let bursts = find_period(&[starts(1, 499)]);
        assert!(
            bursts.is_none_or(|found| found.period_ns > 1e8),
            "{bursts:?}"
        );
    }

    #[test]
    fn too_few_are_not_told() {
        assert_eq!(find_period(&[vec![0, 10, 20, 30], vec![5], vec![]]), None);
        assert_eq!(find_period(&[]), None);
        assert_eq!(find_period(&[vec![7; 50]]), None);
    }

    #[test]
    fn few_random_series_are_regular() {
        let mut random = SplitMix::new(9);
        let mut regular = 0;
        for _ in 0..2000 {
            let mut at = 0.0;
            let starts = (0..12).map(|_| {
                at -= random.uniform().max(1e-12).ln() * 1e8;
                at as Nanos
            });
            regular += usize::from(find_period(&[starts.collect()]).is_some());
        }
        assert!(regular <= 2, "{regular} of 2000 random series");
    }

    /// A worker that is woken again for the rest of its work runs a few times each, at random times. The longest search
    /// was that of two threads that are woken together.
    #[test]
    fn bursts_at_random_times_are_not_regular() {
        let mut random = SplitMix::new(5);
        for (runs, apart) in [(2, 20e3), (2, 5e6), (3, 100e3), (3, 5e6), (6, 100e3)] {
            for _ in 0..20 {
                let mut at = 0.0;
                let bursts = (0..40).flat_map(|_| {
                    at -= random.uniform().max(1e-12).ln() * 50e6;
                    let mut next = at;
                    let burst: Vec<_> = (0..runs)
                        .map(|_| {
                            let start = next;
                            next += apart * (0.98 + 0.04 * random.uniform());
                            start as Nanos
                        })
                        .collect();
                    burst
                });
                let mut starts: Vec<_> = bursts.collect();
                starts.sort_unstable();
                let found = find_period(&[starts]);
                assert_eq!(found, None, "{runs} runs {apart} apart");
            }
        }
    }

    proptest! {
        #[test]
        fn an_exact_timer_is_exact(period in 1_000..1_000_000_000_i64, count in 9..60_usize) {
            let starts: Vec<Nanos> = (0..count as i64).map(|n| 17 + n * period).collect();
            let found = find_period(&[starts]).unwrap();
            prop_assert!((found.period_ns - period as f64).abs() < 1e-6 * period as f64);
            prop_assert_eq!(found.share, 1.0);
        }
    }
}
