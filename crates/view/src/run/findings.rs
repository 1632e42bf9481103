//! Judged findings as they are shown.

use super::words::{POINTS, SHARE, against, interval_behind, quantity};
use super::{Evidence, FindingShown};
use crate::words::plural;
use delaylab_lab::finding::dimension::format_number;
use delaylab_lab::finding::verdict::{Compared, ComparisonScale, Evaluated, Part};
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
        decided: decisive(judged).and_then(|(_, compared)| Decided::new(compared)),
        reason: judged.reason.clone(),
        evidence: judged.parts.iter().flat_map(evidence).collect(),
    }
}

/// What decided a finding, or does not: where a difference or ratio and its interval lie against what is claimed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// The difference or ratio.
    pub value: f64,
    /// Lower end of its interval at 95 %; `None` where nothing bounds it, or there is no interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The claim is true above this; `None` where nothing is too small for it.
    pub above: Option<f64>,
    /// The claim is true below this; `None` where nothing is too large for it.
    pub below: Option<f64>,
    /// It is a ratio: 2 and ½ are as far from 1.
    pub is_ratio: bool,
}

impl Decided {
    /// As [`of_comparison`] has it in words.
    fn new(compared: &Compared) -> Option<Self> {
        let seen = |value: f64| match has_bound_on_the_left(&compared.comparison) {
            true => from_the_right(compared, value),
            false => value,
        };
        let ends = |one: Option<f64>, other: Option<f64>| {
            let ends = [one.map(seen), other.map(seen)];
            match has_bound_on_the_left(&compared.comparison) {
                true => [ends[1], ends[0]],
                false => ends,
            }
        };
        let [low, high] = ends(compared.low, compared.high);
        let [above, below] = ends(compared.above, compared.below);
        Some(Self {
            value: seen(compared.value?),
            low,
            high,
            above,
            below,
            is_ratio: compared.by == ComparisonScale::Ratio,
        })
    }
}

/// The parts that have the verdict of the whole.
fn decisive_parts(judged: &Judged) -> Vec<&Part> {
    let parts = judged.parts.iter();
    parts
        .filter(|part| part.verdict == judged.verdict)
        .collect()
}

/// The comparison that decided it: of what is true the nearest to failing, else what fails most.
fn decisive(judged: &Judged) -> Option<(&Part, &Compared)> {
    let pairs = decisive_parts(judged).into_iter().flat_map(|part| {
        let deciding = deciding(part);
        deciding.into_iter().map(move |compared| (part, compared))
    });
    pairs.min_by(|(_, a), (_, b)| room(a).total_cmp(&room(b)))
}

/// The comparison that decided it, and how many others say the same: `p50(rtt) > 5ms: 6.10 ms, +1.10 ms (0.90–1.30)`.
fn line(judged: &Judged) -> String {
    let decisive_parts = decisive_parts(judged);
    let Some((part, compared)) = decisive(judged) else {
        let first = decisive_parts
            .first()
            .filter(|part| !part.reason.is_empty());
        return first.map_or(&judged.reason, |part| &part.reason).clone();
    };
    let text = of_comparison(compared);
    let level = level(part);
    let level = if level.is_empty() {
        level
    } else {
        format!("{level}: ")
    };
    let more = match (deciding(part).len() - 1, decisive_parts.len() - 1) {
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

/// The comparisons that have the verdict of the part, or else all: of what is denied, none has.
fn deciding(part: &Part) -> Vec<&Compared> {
    let all = part.comparisons.iter();
    let deciding: Vec<_> = all.filter(|it| it.verdict == part.verdict).collect();
    match deciding.is_empty() {
        true => part.comparisons.iter().collect(),
        false => deciding,
    }
}

/// How far the interval is from making the comparison false, relative to what is compared: the least of what is true
/// is the nearest to failing, and of what is false or undecided what fails most.
fn room(compared: &Compared) -> f64 {
    let Some(value) = compared.value else {
        return match compared.verdict {
            Verdict::True => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        };
    };
    let (low, high) = (
        compared.low.unwrap_or(value),
        compared.high.unwrap_or(value),
    );
    let above = compared.above.map(|above| (low, above));
    let below = compared.below.map(|below| (below, high));
    let size = [compared.left, compared.right].map(|side| side.unwrap_or(0.0).abs());
    let size = size[0].max(size[1]).max(f64::MIN_POSITIVE);
    let rooms = above
        .into_iter()
        .chain(below)
        .map(|(more, less)| match compared.by {
            ComparisonScale::Ratio => (more / less).ln(),
            ComparisonScale::Difference => (more - less) / size,
        });
    rooms.fold(f64::INFINITY, f64::min)
}

fn of_comparison(compared: &Compared) -> String {
    let (Some(left), Some(value)) = (compared.left, compared.value) else {
        return compared.reason.clone();
    };
    let name = &compared.comparison;
    let [unit, of_value] = units(compared);
    // A bound stands in the claim itself. Where it stands on the left, what was measured is on the right, and the
    // difference is seen from there.
    let (sides, value) = match compared.right {
        Some(right) if has_bound_on_the_left(name) => {
            (quantity(right, unit), from_the_right(compared, value))
        }
        Some(right) if name.trim_end().ends_with(')') => (against(left, right, unit), value),
        _ => (quantity(left, unit), value),
    };
    let mut evidence = comparison("", compared);
    if let Some(decided) = Decided::new(compared) {
        (evidence.low, evidence.high) = (decided.low, decided.high);
    }
    evidence.value = Some(value);
    let interval = match (evidence.low, evidence.high) {
        (Some(low), Some(high)) if low == high => Some("no variation".to_owned()),
        _ => interval_behind(&evidence),
    };
    let interval = interval.map_or_else(String::new, |ends| format!(" ({ends})"));
    let by = match compared.by {
        ComparisonScale::Ratio => format!("× {}", format_number(value)),
        ComparisonScale::Difference if value > 0.0 => format!("+{}", quantity(value, of_value)),
        ComparisonScale::Difference => quantity(value, of_value),
    };
    let settle = match compared.verdict {
        Verdict::Undecided => compared.reason.split_once("; ").map(|(_, settle)| settle),
        _ => None,
    };
    let settle = settle.map_or_else(String::new, |settle| format!("; {settle}"));
    format!("{name}: {sides}, {by}{interval}{settle}")
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
        ComparisonScale::Ratio => 1.0 / value,
        ComparisonScale::Difference => -value,
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
        (true, ComparisonScale::Difference) => [SHARE, POINTS],
        (true, ComparisonScale::Ratio) => [SHARE, &compared.value_unit],
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
    levels.join(", ")
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
    #![allow(clippy::unwrap_used)]
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

    fn compared(verdict: Verdict, left: f64, value: f64, ends: [f64; 2]) -> Compared {
        Compared {
            comparison: format!("p50(rtt | size={left}B) < 5ms"),
            by: ComparisonScale::Difference,
            left: Some(left * 1e6),
            right: Some(5e6),
            unit: "ns".to_owned(),
            value: Some(value * 1e6),
            value_unit: "ns".to_owned(),
            low: Some(ends[0] * 1e6),
            high: Some(ends[1] * 1e6),
            above: None,
            below: Some(0.0),
            repeats_differ: false,
            more_packets: None,
            more_repeats: None,
            more_time_ns: None,
            verdict,
            reason: "undecided; 3 more repeats would settle it".to_owned(),
        }
    }

    fn line_of(verdict: Verdict, parts: Vec<Vec<Compared>>) -> String {
        let verdict_of = |all: &[Compared]| Verdict::all(all.iter().map(|it| it.verdict));
        let part = |comparisons: Vec<Compared>| Part {
            levels: Vec::new(),
            verdict: verdict_of(&comparisons),
            reason: String::new(),
            statistics: Vec::new(),
            comparisons,
        };
        line(&Judged {
            id: String::new(),
            says: String::new(),
            check: String::new(),
            verdict,
            reason: String::new(),
            parts: parts.into_iter().map(part).collect(),
        })
    }

    #[test]
    fn a_bound_on_the_left_turns_the_drawing_round() {
        let mut claim = compared(Verdict::True, 4.5, -0.5, [-0.6, -0.4]);
        let plain = Decided::new(&claim).unwrap();
        assert_eq!((plain.above, plain.below), (None, Some(0.0)));
        claim.comparison = "5ms > p50(rtt)".to_owned();
        (claim.above, claim.below) = (Some(0.0), None);
        let turned = Decided::new(&claim).unwrap();
        assert_eq!((turned.above, turned.below), (None, Some(-0.0)));
        assert_eq!(turned.value, 0.5 * 1e6);
        assert_eq!((turned.low, turned.high), (Some(0.4e6), Some(0.6e6)));
    }

    #[test]
    fn the_comparison_that_decides_is_shown() {
        use Verdict::{False, True, Undecided};
        let clear = || compared(True, 2.0, -3.0, [-3.1, -2.9]);
        let near = || compared(True, 4.5, -0.5, [-0.6, -0.4]);
        let open = || compared(Undecided, 4.9, -0.1, [-0.3, 0.1]);
        let fails = || compared(False, 6.0, 1.0, [0.9, 1.1]);
        let fails_most = || compared(False, 9.0, 4.0, [3.8, 4.2]);
        for (verdict, parts, size, more) in [
            (
                True,
                vec![vec![clear(), near()]],
                4.5,
                "likewise 1 other comparison",
            ),
            (
                True,
                vec![vec![clear()], vec![near()]],
                4.5,
                "likewise 1 other level",
            ),
            (
                False,
                vec![vec![clear(), fails(), fails_most()], vec![near()]],
                9.0,
                "1 other comparison",
            ),
            (
                Undecided,
                vec![vec![clear(), near(), open()]],
                4.9,
                "settle it",
            ),
        ] {
            let line = line_of(verdict, parts);
            assert!(line.contains(&format!("size={size}B")), "{line}");
            assert!(line.contains(more), "{line}");
        }
        let line = line_of(True, vec![vec![near()]]);
        assert_eq!(
            line,
            "p50(rtt | size=4.5B) < 5ms: 4.50 ms, −500 µs (−600 to −400)"
        );
    }
}
