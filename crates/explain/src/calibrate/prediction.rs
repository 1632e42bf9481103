//! What a change of the path would make of the delays, and how far off that may be.
//!
//! How far off is what calibration was off by: at the same quantile of the same probe and levels as a share, and
//! beside it the most by which the probe (or any, where there are too few of its packets) was off without load,
//! where only hosts differ. To that comes what a quantile of as many packets differs by from one run to the next.
//! A change that brings in what
//! was never measured (a discipline's parameters) has errors of its own, which nobody knows.

use super::overlay::{Distance, Lane, Measure, Pair, QUANTILES};

/// One lane: as measured, and as it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Measured before the change, and simulated before it.
    pub before: Pair,
    /// Simulated after it.
    pub after: Lane,
}

/// A quantile after the change, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// As simulated.
    pub value: f64,
    /// Between these it is expected.
    pub between: (f64, f64),
}

/// Joins lanes after a change to the pairs before it.
pub fn predicted(before: Vec<Pair>, after: &[Lane]) -> Vec<Predicted> {
    let join = |before: Pair| {
        let same =
            |lane: &&Lane| lane.probe == before.model.probe && lane.factors == before.model.factors;
        let after = after.iter().find(same)?.clone();
        Some(Predicted { before, after })
    };
    before.into_iter().filter_map(join).collect()
}

impl Predicted {
    /// Each of [`QUANTILES`] after the change; `None` without values. `all` are the pairs of the calibration.
    pub fn expected(
        &self,
        measure: Measure,
        all: &[Predicted],
    ) -> Option<[Expected; QUANTILES.len()]> {
        let own = self.before.distance(measure)?;
        let probe = &self.before.measured.probe;
        let unloaded = |any: bool| -> Vec<Distance> {
            let pairs = all.iter().map(|one| &one.before);
            let meant = pairs.filter(|pair| any || pair.measured.probe == *probe);
            let meant = meant.filter(|pair| is_known(&pair.measured, measure));
            meant.filter_map(|pair| pair.distance(measure)).collect()
        };
        let own_unloaded = unloaded(false);
        let unloaded = if own_unloaded.is_empty() {
            unloaded(true)
        } else {
            own_unloaded
        };
        let mut expected = [Expected {
            value: 0.0,
            between: (0.0, 0.0),
        }; QUANTILES.len()];
        for (at, q) in QUANTILES.into_iter().enumerate() {
            let value = self.after.delay(measure).quantile(q)?;
            let share = own.errors()[at].abs();
            let off = |distance: &Distance| {
                let [measured, model] = distance.quantiles[at];
                (model - measured).abs()
            };
            let hosts = unloaded.iter().map(off).fold(0.0, f64::max);
            let off = value * share + hosts;
            let (low, high) = self.after.delay(measure).again(q)?;
            expected[at] = Expected {
                value,
                between: ((low - off).max(0.0), high + off),
            };
        }
        Some(expected)
    }
}

/// Packets that make a distribution.
const PACKETS: usize = 20;

/// Is it the distribution of a probe without load?
fn is_known(lane: &Lane, measure: Measure) -> bool {
    lane.unloaded && lane.delay(measure).values.len() >= PACKETS
}
