//! Which of many combinations are shown: the worst.

use super::ShownDelay;
use delaylab_model::Nanos;
use delaylab_stats::summary::Summary;
use std::cmp::Reverse;

/// Places of `most` at most: half of them by how many packets were not answered, the others by the p99 of this delay, that those
/// without any answer do not hide what is slow. What has too few packets for a p99 is placed by its largest, as it may be the worst
/// of all. What has several summaries is placed by its worst.
pub(super) fn worst_of<'a>(
    sets: &[impl AsRef<[&'a Summary]>],
    delay: ShownDelay,
    most: usize,
) -> Vec<usize> {
    let loss = |summary: &&Summary| {
        let counts = &summary.counts;
        let unanswered = counts.ended().saturating_sub(counts.answered());
        unanswered as f64 / counts.ended().max(1) as f64
    };
    let p99 = |summary: &&Summary| match delay.distribution(summary) {
        Some(delays) => delays.carried_p99().unwrap_or(delays.max),
        None => Nanos::MIN,
    };
    let ranks = sets.iter().map(|set| {
        let set = set.as_ref();
        let slowest = set.iter().map(p99).max().unwrap_or(Nanos::MIN);
        (set.iter().map(loss).fold(0.0, f64::max), slowest)
    });
    let ranks: Vec<(f64, Nanos)> = ranks.collect();
    let mut places: Vec<usize> = (0..sets.len()).collect();
    places.sort_by(|a, b| ranks[*b].0.total_cmp(&ranks[*a].0));
    let lossy = places.iter().take(most / 2);
    let count = lossy.filter(|place| ranks[**place].0 > 0.0).count();
    places[count..].sort_by_key(|place| Reverse(ranks[*place].1));
    places.truncate(most);
    places.sort_unstable();
    places
}
