//! A comparison as one JSON document, and its JSON Schema.
//!
//! A side has the names of a ping's `stats`, and what moved stands under the same names in `shift`:
//! `.a.response.p50_ns`, `.b.response.p50_ns`, `.shift.response.p50_ns.difference`.

mod condition;
mod pair;
mod together;

pub use condition::Condition;
pub use pair::{Anatomy, Apart, AtQuantile, Missing, Moved, Pair, Shifts, Tests};
pub use together::Together;

use super::benchmark::Benchmarks;
use super::{Compared, Side};
use crate::json::Published;
use delaylab_explain::compare::circumstances::Difference;
use schemars::JsonSchema;
use serde::Serialize;

/// What `delaylab compare --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The first run.
    pub a: Run<'a>,
    /// The second run.
    pub b: Run<'a>,
    /// What else differs.
    pub differences: &'a [Difference],
    /// What the verdicts are about: the name of a measure; null of two benchmarks, whose results are compared.
    pub headline: Option<&'static str>,
    /// How many figures the verdicts allow for: each differs only if it would with this many right at once.
    pub looks: usize,
    /// The answer, in sentences.
    pub sentence: String,
    /// What is not compared, or not as a reader may expect, in sentences.
    pub notes: Vec<String>,
    /// Conditions that were asked for, each once for each combination of levels of its `for each`.
    pub conditions: Vec<Condition<'a>>,
    /// Does one of them make the command end with code 1?
    pub failed: bool,
    /// All pairs together; left out of a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Together<'a>>,
    /// Each probe under each combination of levels that both have; none of two benchmarks.
    pub pairs: Vec<Pair<'a>>,
    /// Of two benchmarks, what their procedure found; left out of other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<&'a Benchmarks>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The first run as named by the user.
    pub a: &'a str,
    /// The second run as named by the user.
    pub b: &'a str,
    /// The measures to compare, of which the verdict is about the first; empty: the usual ones.
    pub measures: Vec<&'static str>,
    /// The conditions that must not hold.
    pub fail_if: Vec<String>,
    /// Does the command also end with code 1 where a condition is undecided?
    pub strict: bool,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/compare/3";
    const TITLE: &'static str = "delaylab compare";
}

/// One of the runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Run<'a> {
    #[serde(flatten)]
    side: &'a Side,
    /// Probes under combinations of levels, of a benchmark rows of its results, that it alone has.
    alone: &'a [String],
    /// Factors that it alone has: their levels are pooled.
    pooled: &'a [String],
}

impl<'a> Document<'a> {
    /// Of a comparison.
    pub fn new(compared: &'a Compared) -> Self {
        let comparison = &compared.comparison;
        let (looks, [a, b]) = (
            comparison.looks,
            [0, 1].map(|side| Run::new(compared, side)),
        );
        let (pairs, limits) = (comparison.pairs.iter(), compared.limits.iter());
        let (whole, headline) = (comparison.whole.as_ref(), comparison.headline);
        Self {
            a,
            b,
            differences: &compared.differences,
            headline: compared.benchmark.is_none().then(|| headline.name()),
            looks,
            sentence: compared.verdict(),
            notes: compared.notes(),
            conditions: limits
                .map(|limit| Condition::new(limit, compared))
                .collect(),
            failed: compared.has_failed(),
            whole: whole.map(|whole| Together::new(whole, headline)),
            pairs: pairs.map(|pair| Pair::new(pair, headline, looks)).collect(),
            benchmark: compared.benchmark.as_ref(),
        }
    }
}

impl<'a> Run<'a> {
    fn new(compared: &'a Compared, at: usize) -> Self {
        Self {
            side: &compared.sides[at],
            alone: &compared.comparison.alone[at],
            pooled: &compared.comparison.pooled[at],
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::compare::samples::{import, samples};
    use delaylab_procedure::Report;
    use delaylab_procedure::report::{Column, Table};
    use serde_json::Value;

    fn document(compared: &Compared) -> Value {
        let config = Config {
            a: "before",
            b: "after",
            measures: Vec::new(),
            fail_if: vec!["lost > 1%".to_owned()],
            strict: false,
        };
        crate::json::valid(&Document::new(compared), config)
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        for (_, compared) in samples() {
            document(&compared);
        }
    }

    fn report(throughput: Option<f64>) -> Report {
        let columns = [("frame size", "B"), ("throughput", "frames/s")];
        Report {
            procedure: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            sections: Vec::new(),
            tables: vec![Table {
                title: "Throughput".to_owned(),
                columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
                rows: vec![vec![64_u64.into(), throughput.into()]],
            }],
            figures: Vec::new(),
            conformance: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Figures are numbers with a unit of their own, and null with a reason where there is none.
    #[test]
    fn results_of_benchmarks_keep_to_the_schema() {
        let mut compared = import();
        compared.comparison.pairs.clear();
        compared.benchmark = Benchmarks::new([&report(Some(1000.5)), &report(None)]);
        let document = document(&compared);
        assert_eq!(document["headline"], Value::Null);
        let row = &document["benchmark"]["rows"][0];
        assert_eq!(
            (&row["figure"], &row["a"]),
            (&"throughput".into(), &1000.5.into())
        );
        assert_eq!(
            (&row["unit"], &row["b"]),
            (&"frames/s".into(), &Value::Null)
        );
        assert_eq!(row["reasons"]["b"], "the procedure found none");
    }

    #[test]
    fn the_schema_refuses_what_we_never_write() {
        let validator = crate::json::validator::<Document<'_>>();
        let good = document(&import());
        for (pointer, bad) in [
            ("/schema", Value::from("delaylab/compare/2")),
            ("/pairs/0/a/sent", Value::Null),
            ("/pairs/0/shift/loss/differs", Value::from("yes")),
        ] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = bad;
            assert!(!validator.is_valid(&document), "{pointer}");
        }
    }
}
