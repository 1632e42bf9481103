//! The order of trials and their seeds. The same seed gives the same order in every version.

use delaylab_model::Nanos;
use delaylab_model::quantity::Duration;
use delaylab_model::trial::Trial;
use delaylab_stats::random::SplitMix;

/// The seed of every trial of a repeat: the same for all combinations, so that they differ by their
/// levels only (common random numbers).
pub(super) fn seed_of_repeat(seed: u64, repeat: u32) -> u64 {
    SplitMix::new(seed ^ u64::from(repeat).rotate_left(32)).next()
}

/// Draws the stagger of each load that has a random one, by the seed of the trial's repeat: the same at all levels.
pub(super) fn draw_staggers(trial: &mut Trial) {
    let seed = trial.seed;
    for (load, index) in trial.loads.iter_mut().zip(1_u64..) {
        let Some(Duration(to)) = load.stagger_to.take() else {
            continue;
        };
        let Duration(from) = load.stagger.unwrap_or_default();
        let drawn = SplitMix::new(seed ^ index.rotate_left(40)).uniform();
        let further = to.saturating_sub(from) as f64 * drawn;
        load.stagger = Some(Duration(from.saturating_add(further as Nanos)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_order_for_ever() {
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        SplitMix::new(1).shuffle(&mut items);
        assert_eq!(items, [0, 3, 7, 1, 2, 6, 5, 4]);
    }

    #[test]
    fn every_permutation_is_as_likely() {
        let mut random = SplitMix::new(0);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0_i32) += 1;
        }
        assert_eq!(seen.len(), 24);
        // Five standard deviations of a count of 1000.
        assert!(
            seen.values().all(|count| (count - 1000).abs() < 155),
            "{seen:?}"
        );
    }
}
