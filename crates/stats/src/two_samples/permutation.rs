//! What distances the same blocks have when they are dealt to two sides at random.

use super::distances::{Distances, Pooled};
use crate::dependence;
use crate::random::SplitMix;

/// Deals, and how many values they may go through all together.
const DEALS: usize = 1000;
const LEAST_DEALS: usize = 200;
const WORK: usize = 200_000_000;
/// Fewer blocks on both sides together can be dealt in too few ways.
const LEAST_BLOCKS: usize = 16;
/// More add nothing.
const MOST_BLOCKS: usize = 4096;

/// Distances by chance; why blocks cannot be dealt.
pub(super) fn deals(
    pooled: &Pooled,
    a: &[&[f64]],
    b: &[&[f64]],
    seed: u64,
) -> Result<Vec<Distances>, String> {
    let length = block(pooled, a, b).ok_or(
        "the delay changes so slowly that packets cannot be cut in blocks that do not resemble each \
         other; longer series are needed",
    )?;
    let length = length.max(pooled.len().div_ceil(MOST_BLOCKS));
    let series = || {
        a.iter()
            .map(|s| (s, true))
            .chain(b.iter().map(|s| (s, false)))
    };
    // Where blocks end, and whose they are.
    let mut blocks: Vec<(usize, bool)> = Vec::new();
    for (series, is_a) in series() {
        blocks.extend(series.chunks(length).map(|block| (block.len(), is_a)));
    }
    let of_a = blocks.iter().filter(|block| block.1).count();
    if blocks.len() < LEAST_BLOCKS || of_a < 2 || blocks.len() - of_a < 2 {
        return Err(format!(
            "there are only {} stretches of packets that do not resemble each other; at least \
             {LEAST_BLOCKS} are needed",
            blocks.len()
        ));
    }
    let mut random = SplitMix::new(seed);
    let count = (WORK / pooled.len()).clamp(LEAST_DEALS, DEALS);
    Ok((0..count)
        .map(|_| deal(pooled, &mut blocks, &mut random))
        .collect())
}

/// Packets of a block: what the side with the longer memory needs.
fn block(pooled: &Pooled, a: &[&[f64]], b: &[&[f64]]) -> Option<usize> {
    let of = |side: &[&[f64]]| {
        let found = dependence::of_streams(side.iter().copied(), |x| pooled.rank(x))?;
        Some(found.block)
    };
    Some(of(a)?.max(of(b)?).ceil() as usize)
}

/// Deals the blocks' owners anew (Fisher and Yates 1938), and measures.
fn deal(pooled: &Pooled, blocks: &mut [(usize, bool)], random: &mut SplitMix) -> Distances {
    for last in (1..blocks.len()).rev() {
        let other = random.below(last + 1);
        let owner = blocks[last].1;
        blocks[last].1 = blocks[other].1;
        blocks[other].1 = owner;
    }
    let owners = blocks
        .iter()
        .flat_map(|&(length, is_a)| std::iter::repeat_n(is_a, length));
    pooled.distances(&owners.collect::<Vec<_>>())
}
