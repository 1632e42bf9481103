//! The document of `delaylab check`: what would be run, and what could be said of it.

use crate::json::{Levels, Measured, Published, Reasons, levels, with_reasons};
use delaylab_lab::experiment::{Resolved, SkippedCase};
use delaylab_lab::finding::{Finding as Claim, Forecast};
use delaylab_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What `delaylab check --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// `live`, `testbed` or `sim`.
    pub world: &'static str,
    /// Of the order, the pacing and the fill.
    #[serde(serialize_with = "crate::json::seed")]
    #[schemars(with = "String")]
    pub seed: u64,
    /// How long its trials take altogether, if no reply is waited for.
    pub expected_ns: Nanos,
    /// How many trials there are: with a stop rule at most, with a procedure about.
    pub expected_trials: usize,
    /// The run that forecasts are made from.
    pub expected_from: Measured<&'a str>,
    /// Every trial; none where a procedure decides which there are.
    pub trials: Vec<Trial<'a>>,
    /// Combinations that this world cannot carry out.
    pub skipped: Vec<Skipped>,
    /// What may not be what the experiment means.
    pub warnings: BTreeSet<String>,
    /// What this host lacks to carry it out, such as a privilege or a tool.
    pub lacks: &'a [String],
    /// What would be judged.
    pub findings: Vec<Finding<'a>>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The experiment as named by the user.
    pub experiment: &'a str,
    /// The world as typed; null: the file's.
    pub world: Option<&'static str>,
    /// Is it the shorter form of the experiment?
    pub quick: bool,
    /// The host to probe as typed; null: the file's.
    pub target: Option<&'a str>,
    /// The port of its reflector as typed; null: the usual one.
    pub port: Option<u16>,
    /// The run whose results are shown as measured values, as named by the user; null: none was named.
    pub measured: Option<&'a str>,
    /// The values that are set, each as `PATH=VALUE`.
    pub set: Vec<String>,
    /// The seed that it would have.
    #[serde(serialize_with = "crate::json::seed")]
    #[schemars(with = "String")]
    pub seed: u64,
    /// The run to forecast from, as named by the user; null: the newest one that fits.
    pub from: Option<&'a str>,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/check/3";
    const TITLE: &'static str = "delaylab check";
}

/// A trial.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trial<'a> {
    /// Its number.
    pub trial: u32,
    /// Which repeat of its combination.
    pub repeat: u32,
    /// Its levels.
    pub factors: Levels<'a>,
}

/// A combination that cannot be carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// Name of the case.
    pub case: String,
    /// Why, by the field of the experiment that cannot be honoured.
    pub reasons: BTreeMap<String, String>,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding<'a> {
    /// Its name.
    pub id: &'a str,
    /// What it claims.
    pub says: &'a str,
    /// The comparison of statistics by which that is checked.
    pub check: &'a str,
    /// What its source printed, as the experiment quotes it; null where it quotes none.
    pub printed: Option<&'a str>,
    /// Why it cannot be judged by these trials; null where it can.
    pub not_applicable: Option<String>,
    /// How probable each verdict is.
    pub expected: Measured<Forecast>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What earlier runs let one expect.
pub struct Expectation<'a, 'f> {
    /// The run that says it.
    pub from: Measured<&'a str>,
    /// How probable each verdict on a finding is, where it can be judged.
    pub of: &'f dyn Fn(&Claim) -> Measured<Forecast>,
}

impl<'a> Document<'a> {
    /// Of an experiment that could be run, with these warnings and what this host lacks.
    /// `not_applicable`: why a finding cannot be judged by these trials.
    pub fn new(
        resolved: &'a Resolved,
        warnings: BTreeSet<String>,
        lacks: &'a [String],
        not_applicable: impl Fn(&Claim) -> Option<String>,
        expected: &Expectation<'a, '_>,
    ) -> Self {
        // What is planned of a procedure is only the pattern of its trials.
        let planned = resolved.planned.iter();
        let planned = planned.filter(|_| resolved.procedure.is_none());
        let trials = planned.map(|planned| Trial {
            trial: planned.trial.id,
            repeat: planned.repeat,
            factors: levels(&planned.factors),
        });
        let skipped = resolved.skipped.iter().map(Skipped::new);
        let findings = resolved.findings.iter().map(|finding| {
            let not_applicable = not_applicable(finding);
            Finding::new(finding, not_applicable, expected)
        });
        let extent = resolved.extent();
        with_reasons!(Self {
            name: &resolved.name,
            world: resolved.world.name(),
            seed: resolved.seed,
            expected_ns: extent.length.length,
            expected_trials: extent.trials,
            expected_from: expected.from.clone(),
            trials: trials.collect(),
            skipped: skipped.collect(),
            warnings,
            lacks,
            findings: findings.collect(),
        })
    }
}

impl<'a> Finding<'a> {
    fn new(
        claim: &'a Claim,
        not_applicable: Option<String>,
        expected: &Expectation<'_, '_>,
    ) -> Self {
        let expected = match not_applicable {
            Some(_) => Measured::Missing("it cannot be judged by these trials".to_owned()),
            None => (expected.of)(claim),
        };
        with_reasons!(Self {
            id: &claim.id,
            says: &claim.says,
            check: &claim.text,
            printed: claim.printed.as_deref(),
            not_applicable,
            expected,
        })
    }
}

impl Skipped {
    fn new(skipped: &SkippedCase) -> Self {
        let mut reasons = BTreeMap::<String, String>::new();
        for refusal in &skipped.refusals {
            let reason = reasons.entry(refusal.field.clone()).or_default();
            if !reason.is_empty() {
                reason.push_str("; ");
            }
            reason.push_str(&refusal.why());
        }
        Self {
            case: skipped.case.clone(),
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_lab::experiment::{Choices, Experiment, Source};
    use delaylab_model::refusal::Refusal;
    use delaylab_model::trial::Trial;

    #[test]
    fn a_skipped_case_says_what_to_write_instead() {
        let text = r#"
name = "cases"
[[probe]]
name = "echo"
method = "udp"
count = 10
[path]
target = "192.0.2.1"
[[case]]
name = "best effort"
[[case]]
name = "expedited"
set = { "probe.*.class" = "ef" }
"#;
        let no_classes = |trial: &Trial| match trial.probes[0].dscp.code_point() {
            0 => Vec::new(),
            _ => vec![Refusal::new("class", "none here").remedy("leave it out")],
        };
        let source = Source {
            name: "cases.toml".to_owned(),
            text: text.to_owned(),
        };
        let experiment = Experiment::read(source).unwrap();
        let resolved = experiment
            .resolve(&Choices::default(), &no_classes)
            .unwrap();
        let expected = Expectation {
            from: Measured::Missing("there is none".to_owned()),
            of: &|_: &Claim| Measured::Missing("there is none".to_owned()),
        };
        let document = Document::new(&resolved, BTreeSet::new(), &[], |_| None, &expected);
        assert_eq!(document.reasons["expected_from"], "there is none");
        let reasons = &document.skipped[0].reasons;
        assert_eq!(reasons["class"], "none here: leave it out");
        assert_eq!(reasons.len(), 1);
    }
}
