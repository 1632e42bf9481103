//! When does the level of a series change?
//!
//! 1. Values are replaced by their ranks, which no tail can move, and the series is cut where that lowers the sum
//!    of squared ranks about the segments' means by more than a small penalty for each cut (`partition`). Every
//!    change is among these cuts, and many that are none.
//! 2. Of neighbouring levels those that differ least are put together, until all that are left differ surely
//!    (`contrast`): more than blocks of values of their length do where nothing changes (`inflation`), and than
//!    the largest of as many places as there are for levels of this length. As fewer cuts leave longer levels, that is
//!    measured again, until the cuts stay.
//! 3. A wave and a drift have levels too, for whoever looks for them. Cuts at which a smooth shape is as likely as a
//!    step are none (`abrupt`).
//!
//! So levels from 5 values to any number are found beside each other, and it makes no difference how many there are.
//!
//! Found are changes of *level*: not of spread or tail. What it finds, and how often it errs, is measured by
//! `examples/change_points.rs` and `benches/changes.py`; docs/explain.md has the table.

mod abrupt;
mod contrast;
mod inflation;
mod joined;
mod partition;
#[cfg(test)]
mod tests;

use crate::functional::Functional;
use crate::two_samples::{self, Shift};
use contrast::Level;
use delaylab_model::Nanos;
use inflation::Inflation;

/// Fewer values than this say nothing.
pub const LEAST_VALUES: usize = 40;
/// A shorter level is an excursion.
pub const LEAST_SEGMENT: usize = 5;
/// More values are put together in groups, by their medians.
const MOST_POINTS: usize = 100_000;
/// Of more values the medians of neighbouring ones are taken before anything else: what is held does not grow
/// with the series, and of so many a change of fewer than these is an excursion.
const MOST_VALUES: usize = 10 * MOST_POINTS;
/// What a first cut costs, in variances of the ranks' noise: less than any change is worth.
const FIRST_PENALTY: f64 = 5.0;
/// How sure a level of a hundredth of the series is: `SURE` + `EACH_PLACE`·ln 100, in squares of a
/// standard normal value.
const SURE: f64 = 10.0;
const EACH_PLACE: f64 = 2.0;
/// What would have been seen is told of levels of this many values.
const VISIBLE_LENGTH: usize = 50;

/// A change of level.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level; of more than a million values to within a millionth of them.
    pub index: usize,
    /// Its time.
    pub time: Nanos,
    /// Median of the old level, back to the change before, and of the new one, as far as the next
    /// change, with the interval of their difference.
    pub median: Shift,
}

/// Every change of level of a series, and what would have been seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// In order of time.
    pub points: Vec<ChangePoint>,
    /// What is smaller or shorter than this was looked for and might have been missed.
    pub visible: Visible,
}

/// A level for some time that is found nine times in ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visible {
    /// How many values it lasts.
    pub values: usize,
    /// How far it is from the level before and after it, in the unit of the values.
    pub shift: f64,
}

/// When the level of a series in order of time changes; NaN is a packet without a value. `among` is how many
/// series are looked at: what one series in a hundred shows by chance, one of a hundred does. The same series
/// and seed give the same answer.
///
/// Errors: why it cannot be told.
pub fn find(times: &[Nanos], values: &[f64], among: usize, seed: u64) -> Result<Changes, String> {
    let series = Grouped::new(&values[..times.len().min(values.len())], MOST_VALUES);
    if series.medians.len() < LEAST_VALUES {
        return Err(format!(
            "{} values are too few to tell when their level changes; at least {LEAST_VALUES} are \
             needed",
            series.medians.len()
        ));
    }
    let medians = &series.medians;
    let search = Search::among(among);
    let bounds = search.levels(medians);
    let change = |ends: &[usize]| {
        let (before, after) = (&medians[ends[0]..ends[1]], &medians[ends[1]..ends[2]]);
        let index = series.first[ends[1]];
        ChangePoint {
            index,
            time: times[index],
            median: two_samples::shift(
                Functional::Quantile(0.5),
                &[before.into()],
                &[after.into()],
                seed,
            ),
        }
    };
    let visible = search.visible(medians, &bounds);
    Ok(Changes {
        points: bounds.windows(3).map(change).collect(),
        visible: Visible {
            values: visible.values * series.group,
            ..visible
        },
    })
}

/// Medians of neighbouring values, so many at most.
struct Grouped {
    medians: Vec<f64>,
    /// The index of the first value of each.
    first: Vec<usize>,
    /// How many values each is of; the last may be of fewer.
    group: usize,
}

impl Grouped {
    /// Of values of which NaN are none.
    fn new(values: &[f64], most: usize) -> Self {
        let present = values.iter().enumerate();
        let present = present.filter(|(_, value)| value.is_finite());
        let group = present.clone().count().div_ceil(most).max(1);
        let (mut medians, mut first) = (Vec::new(), Vec::new());
        let mut open = Vec::with_capacity(group);
        for (index, &value) in present {
            if open.is_empty() {
                first.push(index);
            }
            open.push(value);
            if open.len() == group {
                medians.extend(Functional::Quantile(0.5).value(&mut open));
                open.clear();
            }
        }
        medians.extend(Functional::Quantile(0.5).value(&mut open));
        Self {
            medians,
            first,
            group,
        }
    }
}

/// The first indices of new levels.
pub(crate) fn cuts(values: &[f64]) -> Vec<usize> {
    let bounds = Search::among(1).levels(values);
    bounds[1..bounds.len() - 1].to_vec()
}

/// A search for changes among this many series.
struct Search {
    among: usize,
}

impl Search {
    fn among(series: usize) -> Self {
        Self {
            among: series.max(1),
        }
    }

    /// Where levels begin, and the end of the last.
    fn levels(&self, values: &[f64]) -> Vec<usize> {
        let group = values.len().div_ceil(MOST_POINTS).max(1);
        let median = |group: &[f64]| Functional::Quantile(0.5).value(&mut group.to_vec());
        let points: Vec<f64> = values.chunks(group).filter_map(median).collect();
        let bounds = self.of_points(&points);
        let last = bounds.len() - 1;
        let mut bounds: Vec<usize> = bounds.iter().map(|bound| bound * group).collect();
        bounds[last] = values.len();
        if group > 1 {
            bounds = placed(values, &bounds, group);
        }
        bounds
    }

    /// Levels of not too many values.
    fn of_points(&self, values: &[f64]) -> Vec<usize> {
        let ranks = ranks(values);
        let cuts = partition::cut(&ranks, FIRST_PENALTY * noise(&ranks));
        let mut bounds = bounds_of(cuts, values.len());
        loop {
            let inflation = Inflation::within(values, &bounds);
            let sure = self.put_together(values, &bounds, &inflation);
            if sure.len() < bounds.len() {
                bounds = sure;
                continue;
            }
            // Ranks tell little of where a large step is in a wander.
            let placed = placed(values, &bounds, 1);
            let abrupt = bounds_of(abrupt::only(values, &placed, &inflation), values.len());
            if abrupt.len() == bounds.len() {
                return abrupt;
            }
            bounds = abrupt;
        }
    }

    /// Without the cuts between levels that do not differ surely: the least sure first.
    fn put_together(&self, values: &[f64], bounds: &[usize], inflation: &Inflation) -> Vec<usize> {
        let segments = bounds.windows(2);
        let levels = segments.map(|ends| Level::new(&values[ends[0]..ends[1]]));
        let needed = |shorter| self.needed(values.len(), shorter) * inflation.factor(shorter);
        let begins = joined::sure(levels, needed).into_iter();
        let begins = begins.map(|at| bounds[at]);
        begins.chain(bounds.last().copied()).collect()
    }

    /// The contrast that a level of this many values needs: there are as many places for it as it goes into the
    /// series, in each series.
    fn needed(&self, count: usize, length: usize) -> f64 {
        let places = self.among as f64 * count as f64 / length as f64;
        SURE + EACH_PLACE * places.ln()
    }

    /// What would have been seen in this series, by its noise and by how its values hang together. Where these resemble
    /// each other too much for any contrast but that of levels far apart, it takes such.
    fn visible(&self, values: &[f64], bounds: &[usize]) -> Visible {
        /// In deviations of a mean of as many values. By simulation: to differ surely takes about half of it,
        /// to be told from a wave the rest.
        const NINE_IN_TEN: f64 = 11.8;
        /// Of levels far apart, by simulation.
        const BEYOND_FAR: f64 = 1.75;
        let (count, length) = (values.len(), VISIBLE_LENGTH.min(values.len() / 4));
        let inflation = Inflation::within(values, bounds).factor(length);
        let levels = bounds
            .windows(2)
            .map(|ends| Level::new(&values[ends[0]..ends[1]]));
        let spread = levels.map(|level| level.deviation() * level.len() as f64);
        let deviation = spread.sum::<f64>() / count as f64;
        let apart = NINE_IN_TEN * (inflation / length as f64).sqrt();
        let (own, beside) = (length as f64, (count - length) as f64 / 2.0);
        let needed = self.needed(count, length) * inflation;
        let apart = match needed > Level::most(own, beside) {
            true => apart.max(BEYOND_FAR * Level::far_for(needed, own, beside)),
            false => apart,
        };
        Visible {
            values: length,
            shift: apart * deviation,
        }
    }
}

fn bounds_of(cuts: Vec<usize>, count: usize) -> Vec<usize> {
    let mut bounds = vec![0];
    bounds.extend(cuts);
    bounds.push(count);
    bounds
}

/// Variance of the ranks about their level, from differences of neighbours; the largest tenth of them is left
/// out, which changes of level are among.
fn noise(ranks: &[f64]) -> f64 {
    const KEPT: f64 = 0.9;
    /// Mean of what is kept over the mean of all, for ranks that are independent of each other.
    const OF_KEPT: f64 = 0.693;
    let mut squares: Vec<f64> = ranks
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).powi(2))
        .collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares.truncate((squares.len() as f64 * KEPT) as usize);
    let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    (mean / 2.0 / OF_KEPT).max(1e-9)
}

/// Ranks, equal values sharing theirs, about their mean and in units of their number.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = below as f64 + equal.len() as f64 / 2.0;
        let share = middle / values.len() as f64 - 0.5;
        equal.iter().for_each(|&index| ranks[index] = share);
        below += equal.len();
    }
    ranks
}

/// Each cut where it leaves the least absolute deviations from the medians of both levels, near where it was found.
fn placed(values: &[f64], bounds: &[usize], group: usize) -> Vec<usize> {
    const REACH: usize = 50;
    let mut placed = bounds.to_vec();
    for (index, ends) in bounds.windows(3).enumerate() {
        let median = |from: usize, to: usize| {
            Functional::Quantile(0.5).value(&mut values[from..to].to_vec())
        };
        let levels = median(ends[0], ends[1]).zip(median(ends[1], ends[2]));
        let Some((before, after)) = levels else {
            continue;
        };
        let shorter = (ends[1] - ends[0]).min(ends[2] - ends[1]);
        // Two cuts that move towards each other leave a value between them.
        let reach = ((shorter - 1) / 2).min(REACH.max(2 * group));
        let from = ends[1] - reach;
        let (mut least, mut sum) = (0.0, 0.0);
        placed[index + 1] = from;
        for (index_of_value, value) in (from..).zip(&values[from..ends[1] + reach]) {
            sum += (value - before).abs() - (value - after).abs();
            if sum < least {
                least = sum;
                placed[index + 1] = index_of_value + 1;
            }
        }
    }
    placed
}
