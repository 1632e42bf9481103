//! When late probes would have been sent, where their lateness moved that.
//!
//! Phases are compared with those of probes drawn at random, which is right only where an event and its time
//! are independent. A prober that records when it sent, and not when it was to send, breaks that: late
//! packets stand beside the grid of all others. Near half the rate of the grid its own probes
//! have one phase or the opposite one and nothing between, and so a few packets beside it look like much.
//!
//! So the time of an event is moved to where its neighbours have theirs: to the nearest time that is a whole
//! number of gaps away from the neighbour that agrees best with the others. Probes whose gaps have
//! little in common (Poisson's) have no such times, and need none: their phases are everywhere.

use super::median_gap;
use crate::regularity::phase_sum;
use delaylab_model::Nanos;
use std::f64::consts::TAU;

/// Neighbours on each side that are asked.
const NEIGHBOURS: usize = 4;
/// Neighbours further away than this, in gaps, belong to another burst.
const FAR: f64 = 12.0;
/// Gaps are alike if their phases, of a median gap, have a mean of this length or more: 1 on a grid, 0.11
/// of Poisson's gaps.
const ALIKE: f64 = 0.25;

/// Two times on a grid are neighbours' if they are no more gaps apart.
const NEXT: f64 = 1.5;

/// When probes would have been sent.
pub(super) struct Schedule {
    /// The time of each probe, of late ones as if they had not been late.
    pub(super) times: Vec<Nanos>,
    /// From one probe to the next, ns, if their gaps are alike.
    gap: Option<f64>,
}

impl Schedule {
    /// Of probes in order of time, of which these are late (indices in rising order).
    pub(super) fn new(probes: &[Nanos], late: &[usize]) -> Self {
        let gap = median_gap(probes);
        let mut is_late = vec![false; probes.len()];
        late.iter().for_each(|&at| is_late[at] = true);
        let on_time: Vec<Nanos> = (probes.iter().zip(&is_late))
            .filter_map(|(&time, late)| (!late).then_some(time))
            .collect();
        let gap = alike(&on_time, gap).then_some(gap);
        let mut times = probes.to_vec();
        if let Some(gap) = gap {
            for &at in late {
                times[at] = moved(probes[at], &on_time, gap);
            }
        }
        Self { times, gap }
    }

    /// Would these two have been sent one after the other, or at one time?
    pub(super) fn neighbours(&self, a: usize, b: usize) -> bool {
        let apart = self.times[b].saturating_sub(self.times[a]).unsigned_abs() as f64;
        self.gap.is_some_and(|gap| apart <= NEXT * gap)
    }
}

/// Are the gaps of these probes about whole numbers of this one?
fn alike(probes: &[Nanos], gap: f64) -> bool {
    let gaps = probes.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    let (x, y) = phase_sum(gaps.map(|each| TAU * each / gap));
    x.hypot(y) >= ALIKE * probes.len() as f64
}

fn moved(time: Nanos, on_time: &[Nanos], gap: f64) -> Nanos {
    let next = on_time.partition_point(|&other| other < time);
    let around = next.saturating_sub(NEIGHBOURS)..(next + NEIGHBOURS).min(on_time.len());
    let offsets: Vec<f64> = (on_time[around].iter())
        .map(|&other| (other - time) as f64)
        .filter(|offset| offset.abs() <= FAR * gap)
        .map(|offset| nearest(offset, gap))
        .collect();
    let distance = |of: f64| -> f64 {
        let each = offsets.iter().map(|other| nearest(of - other, gap).abs());
        each.sum()
    };
    let mut offsets_by_distance = offsets.iter().map(|&of| (distance(of), of));
    let first = offsets_by_distance.next();
    let best = first.map(|first| {
        offsets_by_distance.fold(
            first,
            |best, next| if next.0 < best.0 { next } else { best },
        )
    });
    time + best.map_or(0, |(_, offset)| offset.round() as Nanos)
}

/// What is left beyond the nearest whole number of gaps.
fn nearest(offset: f64, gap: f64) -> f64 {
    offset - (offset / gap).round() * gap
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    const GAP: Nanos = 1_000_000;

    #[test]
    fn a_late_probe_of_a_grid_goes_back_to_it() {
        let mut probes: Vec<Nanos> = (0..40).map(|k| k * GAP).collect();
        probes[0] += 300_000;
        probes[7] += 450_000;
        // A neighbour that was sent late with it, and is no event itself.
        probes[8] += 90_000;
        probes[39] += 20_000;
        let found = Schedule::new(&probes, &[0, 7, 39]);
        for (k, (found, sent)) in found.times.iter().zip(&probes).enumerate() {
            let expected = if k == 8 { *sent } else { k as Nanos * GAP };
            assert_eq!(*found, expected, "{k}");
        }
    }

    #[test]
    fn packets_that_are_sent_after_the_next_ones_are_neighbours_still() {
        let mut probes: Vec<Nanos> = (0..40).map(|k| k * GAP).collect();
        // Both are sent two gaps and a quarter later, each behind one that was on time.
        probes[10] += 2_250_000;
        probes[11] += 2_250_000;
        probes.sort_unstable();
        let late: Vec<usize> = (0..40).filter(|&at| probes[at] % GAP != 0).collect();
        assert_eq!(late, [11, 13]);
        let schedule = Schedule::new(&probes, &late);
        assert!(schedule.neighbours(11, 13));
        assert!(!schedule.neighbours(11, 14));
    }

    #[test]
    fn probes_at_random_times_stay_where_they_are() {
        let mut random = SplitMix::new(1);
        let mut time = 0;
        let each = (0..500).map(|_| {
            time += (-random.uniform().ln() * 1e6) as Nanos;
            time
        });
        let probes: Vec<Nanos> = each.collect();
        assert_eq!(Schedule::new(&probes, &[3, 90, 444]).times, probes);
    }

    #[test]
    fn without_others_nothing_moves() {
        assert_eq!(Schedule::new(&[5, 9], &[0, 1]).times, [5, 9]);
    }
}
