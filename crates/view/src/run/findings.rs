//! Judged findings as they are shown.

use super::words::{POINTS, SHARE, interval, quantity};
use super::{Evidence, FindingShown};
use crate::words::plural;
use delaylab_lab::finding::dimension::format_number;
use delaylab_lab::finding::verdict::{By, Compared, Evaluated, Part};
use delaylab_lab::finding::{Finding, Judged, Verdict};

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
        line: line(judged),
        reason: judged.reason.clone(),
        evidence: judged.parts.iter().flat_map(evidence).collect(),
    }
}

/// One comparison that decided it, with what else did counted: `p50(rtt) > 5ms: 6.1 ms, 1.10 ms more (0.90 ms to
/// 1.30 ms)`.
fn line(judged: &Judged) -> String {
    let decisive = judged.parts.iter();
    let mut decisive = decisive.filter(|part| part.verdict == judged.verdict);
    let Some(part) = decisive.next() else {
        return judged.reason.clone();
    };
    let compared = part.comparisons.iter();
    let mut compared = compared.filter(|compared| compared.verdict == part.verdict);
    let first = compared.next().or_else(|| part.comparisons.first());
    let text = first.map_or_else(|| part.reason.clone(), of_comparison);
    let level = level(part);
    let level = if level.is_empty() {
        level
    } else {
        format!("{level}: ")
    };
    let more = match (compared.count(), decisive.count()) {
        (0, 0) => String::new(),
        (0, parts) => format!("; likewise {}", plural(parts as u64, "other level")),
        (more, 0) => format!("; likewise {}", plural(more as u64, "other comparison")),
        (more, parts) => format!(
            "; likewise {} and {}",
            plural(more as u64, "other comparison"),
            plural(parts as u64, "other level")
        ),
    };
    format!("{level}{text}{more}")
}

fn of_comparison(compared: &Compared) -> String {
    let (Some(left), Some(value)) = (compared.left, compared.value) else {
        return compared.reason.clone();
    };
    let name = &compared.comparison;
    let [unit, of_value] = units(compared);
    // A bound stands in the claim itself. Where it stands on the left, what was measured is on the right, and the
    // difference is seen from there.
    let (left, value, right) = match compared.right {
        Some(right) if has_bound_on_the_left(name) => {
            (right, from_the_right(compared, value), None)
        }
        Some(right) if name.trim_end().ends_with(')') => (left, value, Some(right)),
        _ => (left, value, None),
    };
    let left = quantity(left, unit);
    let right = right.map_or_else(String::new, |right| {
        format!(" against {}", quantity(right, unit))
    });
    let mut evidence = comparison("", compared);
    if has_bound_on_the_left(name) {
        let ends = [evidence.high, evidence.low];
        [evidence.low, evidence.high] =
            ends.map(|end| end.map(|end| from_the_right(compared, end)));
    }
    let interval = match (evidence.low, evidence.high) {
        (Some(low), Some(high)) if low == high => Some("no variation".to_owned()),
        _ => interval(&evidence),
    };
    let interval = interval.map_or_else(String::new, |ends| format!(" ({ends})"));
    let by = match compared.by {
        By::Ratio => format!("× {}", format_number(value)),
        By::Difference if value > 0.0 => format!("+{}", quantity(value, of_value)),
        By::Difference => quantity(value, of_value),
    };
    let settle = match compared.verdict {
        Verdict::Undecided => compared.reason.split_once("; ").map(|(_, settle)| settle),
        _ => None,
    };
    let settle = settle.map_or_else(String::new, |settle| format!("; {settle}"));
    format!("{name}: {left}{right}, {by}{interval}{settle}")
}

/// Is the left side of a comparison a bound, with no statistic in it? `1.05 * p50(rtt) < …` has one.
fn has_bound_on_the_left(comparison: &str) -> bool {
    let left = comparison.split(['<', '>', '≈']).next();
    let is_alone = left.is_some_and(|left| !left.contains('('));
    is_alone && comparison.starts_with(|first: char| first.is_ascii_digit())
}

/// A difference or ratio of the sides of a comparison, seen from the right one.
fn from_the_right(compared: &Compared, value: f64) -> f64 {
    match compared.by {
        By::Ratio => 1.0 / value,
        By::Difference => -value,
    }
}

/// Units of the two values of a comparison, and of their difference or ratio: shares are plain numbers to what judges
/// them, and percentages to people.
fn units(compared: &Compared) -> [&str; 2] {
    let name = compared.comparison.trim_end();
    let within = name.contains(" within ");
    let is_share = is_share(name, &compared.unit)
        || (is_number(&compared.unit) && !within && name.ends_with('%'));
    match (is_share, compared.by) {
        (true, By::Difference) => [SHARE, POINTS],
        (true, By::Ratio) => [SHARE, &compared.value_unit],
        (false, _) => [&compared.unit, &compared.value_unit],
    }
}

fn is_number(unit: &str) -> bool {
    unit == "1"
}

fn is_share(statistic: &str, unit: &str) -> bool {
    is_number(unit) && statistic.starts_with("share(")
}

fn level(part: &Part) -> String {
    let levels = part.levels.iter();
    let levels: Vec<_> = levels
        .map(|fixed| format!("{}={}", fixed.factor, fixed.level))
        .collect();
    levels.join(" ")
}

fn evidence(part: &Part) -> Vec<Evidence> {
    let level = level(part);
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
        unit: match is_share(&number.statistic, &number.unit) {
            true => SHARE.to_owned(),
            false => number.unit.clone(),
        },
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
        unit: units(number)[1].to_owned(),
        count: 0,
        verdict: Some(number.verdict),
        note: number.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_on_the_left_is_a_number_alone() {
        for bound in [
            "1.9 < mean(rtt)",
            "1% < share(rtt > 5ms)",
            "1000cells <= max(backlog)",
        ] {
            assert!(has_bound_on_the_left(bound), "{bound}");
        }
        let statistics = [
            "1.05 * p50(rtt) < p50(rtt)",
            "p50(rtt) < 5ms",
            "0.5 * share(rtt > 1ms) < share(rtt > 2ms)",
        ];
        for statistic in statistics {
            assert!(!has_bound_on_the_left(statistic), "{statistic}");
        }
    }
}
