//! What changed between two runs, A and B: by how much, in which stage, and how sure that is.
//!
//! | module | does |
//! |---|---|
//! | `asked` | what a comparison is to hold |
//! | [`pairs`] | which streams of A and B are the same probe under the same levels |
//! | `values` | what is compared, and its values in a pair |
//! | `figures` | shifts, tests and loss of a pair |
//! | [`carried`] | the stages that the shift of a quantile is made of |
//! | `outage` | trials from some packet of which on nothing was answered any more |
//! | `unanswered` | packets that could not be sent or came back with other bytes |
//! | [`looks`] | which differences are clear, allowing for how many figures are looked at |
//! | `unsure_loss` | a change of loss that may be chance |
//! | `verdict` | what came out of a pair |
//! | `decide` | that in a sentence, the size of the effect first |
//! | [`whole`] | several pairs as one: loss first, then where delay changes most |
//! | [`circumstances`] | what else differs: kernel, CPU, seed, settings |
//! | [`both`] | two runs as one in which the run is a factor |
//! | [`limits`] | what must not be: `p99(response) > +10%`; in files of its own the answer, the intervals of tables and silence |
//! | `words` | figures in sentences |
//!
//! Intervals and tests are those of [`delaylab_stats::two_samples`], made for correlated packets and for
//! trials that differ. Beyond a million packets on a side of a pair, a million of them, drawn at random
//! evenly over time, stand for all in shifts, and fewer in tests; counts, loss and limits are of every packet.

mod asked;
pub mod both;
pub mod carried;
pub mod circumstances;
mod decide;
mod figures;
pub mod limits;
pub mod looks;
mod outage;
pub mod pairs;
#[cfg(test)]
mod tests;
mod unanswered;
mod unsure_loss;
mod values;
mod verdict;
pub mod whole;
mod words;

pub use asked::ComparisonRequest;
pub use carried::Carried;
pub use figures::{Figures, PairFigures, Point, Silent, Tests};
pub use outage::{Endings, Outages};
pub use pairs::{NothingInCommon, Pair, Pairing};
pub use values::Quantity;
pub use verdict::{Kind, Verdict};
pub use whole::Whole;
pub use words::statistic_name;

use delaylab_lab::finding::{Data, Measure};

/// With more pairs than this the headline alone is compared and shown, unless measures were chosen. A page has room for so many tables.
const MOST_PAIRS_IN_FULL: usize = 3;

/// What changed between two runs.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What the verdicts are about.
    pub headline: Measure,
    /// Each probe under each combination of levels that both have; handshakes during requests last.
    pub pairs: Vec<PairFigures>,
    /// All pairs that were asked for together, where there are several.
    pub whole: Option<Whole>,
    /// There are so many pairs that of each the headline alone is to be shown. Other measures were compared only if that was asked for.
    pub is_overview: bool,
    /// What A alone has, and B alone.
    pub alone: [Vec<String>; 2],
    /// Factors that A alone has, and B alone: their levels are pooled.
    pub pooled: [Vec<String>; 2],
    /// For how many independent tests the verdicts allow ([`looks::looks`]); the more there are, the further from zero a shift must be.
    pub looks: usize,
}

impl Comparison {
    /// Names of the factors, and `probe`, of which the pairs have more than one level.
    pub fn varied(&self) -> Vec<String> {
        pairs::varied(self.pairs.iter().map(|figures| figures.pair.named()))
    }
}

/// How many pairs, from the first on, were asked for; all, where none was. `pairs` are sorted: handshakes during requests are last.
fn count_primary(pairs: &[PairFigures]) -> usize {
    match pairs.partition_point(|pair| !pair.is_auxiliary) {
        0 => pairs.len(),
        some => some,
    }
}

/// Compares two runs. What could not be read of them is missing: ask [`Run::damage`](delaylab_store::run::Run::damage) afterwards.
///
/// # Errors
/// No probe under no combination of levels is in both.
pub fn compare(
    a: &dyn Data,
    b: &dyn Data,
    request: &ComparisonRequest,
) -> Result<Comparison, NothingInCommon> {
    let Pairing {
        pairs,
        alone,
        pooled,
    } = Pairing::new(a.streams(), b.streams())?;
    let is_overview = pairs.len() > MOST_PAIRS_IN_FULL && !request.are_chosen;
    let brief = ComparisonRequest {
        measures: vec![request.headline],
        ..request.clone()
    };
    let request = match is_overview && !request.full {
        true => &brief,
        false => request,
    };
    // What follows fills in what depends on other pairs, in this order: which are silent, for how many tests silence and shifts allow, and
    // verdicts, of which the whole is made.
    let each = pairs.iter();
    let each = each.map(|pair| figures::compare_pair(pair, [a, b], request));
    let mut pairs: Vec<_> = each.collect();
    pairs.sort_by_key(|pair| pair.is_auxiliary);
    let count = count_primary(&pairs);
    let (primary, auxiliary) = pairs.split_at_mut(count);
    figures::find_silent(primary);
    figures::find_silent(auxiliary);
    let looks = looks::looks(primary, request.headline);
    for pair in primary.iter_mut().chain(auxiliary) {
        pair.verdict = decide::decide(pair, request.headline, looks);
    }
    let several = primary.len() > 1;
    Ok(Comparison {
        headline: request.headline,
        whole: several.then(|| Whole::new(primary, request.headline, looks)),
        pairs,
        is_overview,
        alone,
        pooled,
        looks,
    })
}
