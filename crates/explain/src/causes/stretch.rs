//! Where the losses of a stream lie close together, with packets between them that were answered: a path that loses many for a while.

use delaylab_model::Nanos;
use delaylab_stats::outage::RARE;

/// A stretch of packets among which most losses of a stream are, though others were answered between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossyStretch {
    /// Packets in it.
    pub packets: usize,
    /// How many of them were lost.
    pub lost: usize,
    /// When it begins, since the first packet was due.
    pub from: Nanos,
    /// When its last packet was due.
    pub to: Nanos,
}

/// Of a stretch of fewer losses nothing is said. Chosen by hand.
const MIN_LOST: usize = 10;
/// Which share of the losses must lie in a stretch. Chosen by hand.
const MIN_SHARE_OF_LOSSES: f64 = 0.9;
/// Which share of the packets a stretch has at most: in a longer one losses lie hardly closer than elsewhere. Chosen by hand.
const MAX_SHARE_OF_PACKETS: f64 = 0.5;

/// The shortest stretch that has nine tenths of the losses, where those would seldom lie so close by chance: a scan statistic. Of each
/// packet in the order in which they were due this says when that was, and whether it was answered.
pub(super) fn lossy_stretch(packets: &[(Nanos, bool)]) -> Option<LossyStretch> {
    let places = packets.iter().enumerate();
    let lost: Vec<usize> = places.filter(|(_, it)| !it.1).map(|(at, _)| at).collect();
    let most = (MIN_SHARE_OF_LOSSES * lost.len() as f64).ceil() as usize;
    if most < MIN_LOST {
        return None;
    }
    let ends = lost.windows(most).map(|row| (row[0], row[most - 1]));
    let (first, last) = ends.min_by_key(|(first, last)| last - first)?;
    let length = last + 1 - first;
    let share = length as f64 / packets.len() as f64;
    if share > MAX_SHARE_OF_PACKETS || close_by_chance(lost.len(), most, share) >= RARE {
        return None;
    }
    let start = packets.first()?.0;
    Some(LossyStretch {
        packets: length,
        lost: lost.iter().filter(|at| (first..=last).contains(at)).count(),
        from: packets[first].0.saturating_sub(start),
        to: packets[last].0.saturating_sub(start),
    })
}

/// How many of these losses are followed, on average, by as many others as make `most` within this share of the packets, where
/// all places are equally likely.
fn close_by_chance(lost: usize, most: usize, share: f64) -> f64 {
    let (others, needed) = (lost - 1, most - 1);
    let each = (1..=needed).map(|at| ((others - needed + at) as f64 / at as f64).ln());
    let ln_ways: f64 = each.sum();
    lost as f64 * (ln_ways + needed as f64 * share.ln()).exp()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_stats::random::SplitMix;

    #[test]
    fn a_lossy_stretch_is_where_most_losses_are() {
        let packets = |is_lost: &dyn Fn(i64) -> bool| -> Vec<(Nanos, bool)> {
            (0..800).map(|n| (n * 5_000_000, !is_lost(n))).collect()
        };
        // Three of five of 101, and two elsewhere.
        let burst = |n: i64| (283..=383).contains(&n) && (n - 283) % 5 % 2 == 0;
        let found = lossy_stretch(&packets(&|n| burst(n) || n == 3 || n == 790)).unwrap();
        assert!((90..=101).contains(&found.packets), "{found:?}");
        assert!(found.from >= 283 * 5_000_000 && found.to <= 383 * 5_000_000);
        assert!(found.lost >= 54, "{found:?}");
        assert_eq!(lossy_stretch(&packets(&|n| n % 20 == 0)), None);
        assert_eq!(lossy_stretch(&packets(&|n| (100..109).contains(&n))), None);
        // By chance, in hardly any of many.
        let mut random = SplitMix::new(1);
        let found = (0..200).filter(|_| {
            let lost: Vec<bool> = (0..800).map(|_| random.uniform() < 0.03).collect();
            lossy_stretch(&packets(&|n| lost[n as usize])).is_some()
        });
        assert_eq!(found.count(), 0);
    }
}
