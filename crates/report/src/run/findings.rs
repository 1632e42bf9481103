//! Judged findings as they are shown.

use super::{Evidence, FindingShown};
use delaylab_lab::finding::verdict::{Compared, Evaluated, Part};
use delaylab_lab::finding::{Finding, Judged};

/// A finding with all of its numbers, and those that its source gives, if the experiment is known.
pub(super) fn shown(judged: &Judged, claims: &[Finding]) -> FindingShown {
    let claim = claims.iter().find(|claim| claim.id == judged.id);
    FindingShown {
        id: judged.id.clone(),
        says: judged.says.clone(),
        check: judged.check.clone(),
        printed: claim
            .and_then(|claim| claim.printed.clone())
            .unwrap_or_default(),
        verdict: judged.verdict,
        reason: judged.reason.clone(),
        evidence: judged.parts.iter().flat_map(evidence).collect(),
    }
}

fn evidence(part: &Part) -> Vec<Evidence> {
    let levels: Vec<_> = part
        .levels
        .iter()
        .map(|fixed| format!("{}={}", fixed.factor, fixed.level))
        .collect();
    let level = levels.join(" ");
    let statistics = part
        .statistics
        .iter()
        .map(|number| statistic(&level, number));
    let comparisons = part
        .comparisons
        .iter()
        .map(|number| comparison(&level, number));
    statistics.chain(comparisons).collect()
}

fn statistic(level: &str, number: &Evaluated) -> Evidence {
    let notes = [number.no_interval.as_deref(), number.note.as_deref()];
    let notes: Vec<_> = notes.into_iter().flatten().collect();
    Evidence {
        what: number.statistic.clone(),
        level: level.to_owned(),
        value: number.value,
        low: number.low,
        high: number.high,
        unit: number.unit.clone(),
        count: number.count,
        verdict: None,
        note: notes.join("; "),
    }
}

fn comparison(level: &str, number: &Compared) -> Evidence {
    Evidence {
        what: number.comparison.clone(),
        level: level.to_owned(),
        value: number.value,
        low: number.low,
        high: number.high,
        unit: number.value_unit.clone(),
        count: 0,
        verdict: Some(number.verdict),
        note: number.reason.clone(),
    }
}
