//! How trials are cut in blocks, and how blocks are drawn.

use super::{Design, Statistic};
use crate::random::SplitMix;

/// Blocks of all trials together.
const MAX_BLOCKS: usize = 4096;

/// A trial of fewer values leaves it to the others of its repeat how many blocks they have.
const FEW_VALUES: usize = 16;

/// As many as the statistic with the longest blocks allows, the same for all of a trial's streams:
/// what disturbs one probe disturbs those beside it. The same for all trials of a repeat, too.
pub(super) fn of_trials(design: &Design, statistics: &[Statistic<'_>]) -> Vec<usize> {
    let most = (MAX_BLOCKS / design.count().max(1)).max(16);
    let mut blocks = vec![0; design.trials()];
    let mut values = vec![0; design.trials()];
    for statistic in statistics.iter().filter(|s| s.features.is_some()) {
        // A stream without values, as where all packets were lost, has no say, and no blocks.
        for part in statistic.parts.iter().filter(|part| part.has_values()) {
            let count = part.values.len();
            let fit = (count as f64 / statistic.block) as usize;
            let fit = fit.clamp(count.min(2), most);
            let here: &mut usize = &mut blocks[part.trial];
            *here = if *here == 0 { fit } else { fit.min(*here) };
            values[part.trial] = values[part.trial].max(count);
        }
    }
    let trials = 0..design.trials();
    let with_any: Vec<usize> = trials.filter(|&trial| blocks[trial] > 0).collect();
    let mut of_repeats = vec![None; design.count()];
    for is_few in [false, true] {
        let alike = (with_any.iter()).filter(|&&trial| (values[trial] < FEW_VALUES) == is_few);
        let mut least = vec![None; design.count()];
        for &trial in alike {
            let least: &mut Option<usize> = &mut least[design.repeat(trial)];
            *least = Some(least.map_or(blocks[trial], |least| least.min(blocks[trial])));
        }
        for (of_repeat, least) in of_repeats.iter_mut().zip(least) {
            *of_repeat = of_repeat.or(least);
        }
    }
    for trial in with_any {
        blocks[trial] = of_repeats[design.repeat(trial)].unwrap_or(blocks[trial]);
    }
    blocks
}

/// Of each repeat, those of its trials.
pub(super) fn of_repeats(design: &Design, blocks: &[usize]) -> Vec<usize> {
    let mut of_repeats = vec![0; design.count()];
    for (trial, &blocks) in blocks.iter().enumerate() {
        let of_repeat: &mut usize = &mut of_repeats[design.repeat(trial)];
        *of_repeat = blocks.max(*of_repeat);
    }
    of_repeats
}

/// By the statistic with the longest memory; at most half, which would be a bad guess anyway.
pub(super) fn hidden_variance(blocks: &[usize], statistics: &[Statistic<'_>]) -> Vec<f64> {
    let mut hidden = vec![0.0; blocks.len()];
    for statistic in statistics.iter().filter(|s| s.features.is_some()) {
        for part in statistic.parts.iter().filter(|part| part.has_values()) {
            let length = part.values.len() as f64 / blocks[part.trial].max(1) as f64;
            if length < 1.0 {
                continue; // its values have a block each
            }
            let here: &mut f64 = &mut hidden[part.trial];
            *here = here.max((statistic.memory / length).min(0.5));
        }
    }
    hidden
}

/// For each block of all, how often it was drawn in each of so many draws.
pub(super) fn draws(blocks: &[usize], count: usize, random: &mut SplitMix) -> Vec<f32> {
    /// As many rows as stay near while they are turned into columns.
    const TOGETHER: usize = 32;
    let mut weights = vec![0.0; blocks.iter().sum::<usize>() * count];
    for first in (0..count).step_by(TOGETHER) {
        let these = first..count.min(first + TOGETHER);
        let rows: Vec<_> = these.map(|_| draw(blocks, random)).collect();
        for (block, of_block) in weights.chunks_exact_mut(count).enumerate() {
            for (weight, row) in of_block[first..].iter_mut().zip(&rows) {
                *weight = row[block];
            }
        }
    }
    weights
}

/// For each repeat, how often each block was drawn, in one draw less than there are.
fn draw(blocks: &[usize], random: &mut SplitMix) -> Vec<f32> {
    let mut row = Vec::with_capacity(blocks.iter().sum());
    for &count in blocks {
        let start = row.len();
        row.resize(start + count, if count == 1 { 1.0 } else { 0.0 });
        let drawn = count.saturating_sub(1);
        let unit = count as f32 / drawn.max(1) as f32;
        for _ in 0..drawn {
            row[start + random.below(count)] += unit;
        }
    }
    row
}
