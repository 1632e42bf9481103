//! Judged findings as they are shown.

use super::words::{POINTS, SHARE, against, interval_behind, quantity};
use super::{Evidence, FindingShown};
use crate::words::plural;
use delaylab_lab::finding::check::{Check, Claim};
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
        decided: decisive(judged).and_then(|(_, claimed)| Decided::new(claimed)),
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
    /// The claim is true above this; `None` where nothing is too small for it. More than `below` where the claim denies
    /// what lies between: it is true on either side.
    pub above: Option<f64>,
    /// The claim is true below this; `None` where nothing is too large for it.
    pub below: Option<f64>,
    /// It is a ratio: 2 and ½ are as far from 1.
    pub is_ratio: bool,
}

impl Decided {
    /// As [`of_comparison`] has it in words.
    fn new(claimed: Claimed<'_>) -> Option<Self> {
        let compared = claimed.compared;
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
        let [low, high] = ends(compared.ends.low, compared.ends.high);
        let [above, below] = ends(compared.above, compared.below);
        let [above, below] = match claimed.denied {
            false => [above, below],
            true => [below, above],
        };
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

/// A comparison as the claim has it.
#[derive(Clone, Copy)]
struct Claimed<'a> {
    compared: &'a Compared,
    /// The claim is that it does not hold.
    denied: bool,
}

impl Claimed<'_> {
    fn verdict(self) -> Verdict {
        match self.denied {
            true => self.compared.verdict.not(),
            false => self.compared.verdict,
        }
    }
}

/// For each comparison of a check in its order: does the claim deny it?
fn denials(check: &str) -> Vec<bool> {
    fn walk(claim: &Claim, denied: bool, all: &mut Vec<bool>) {
        match claim {
            Claim::All(claims) | Claim::Any(claims) => {
                claims.iter().for_each(|claim| walk(claim, denied, all));
            }
            Claim::Not(inner) => walk(inner, !denied, all),
            Claim::Compare(comparison) => all.extend(comparison.rest.iter().map(|_| denied)),
        }
    }
    let mut all = Vec::new();
    if let Ok(check) = Check::parse(check) {
        walk(&check.claim, false, &mut all);
    }
    all
}

/// The parts that have the verdict of the whole.
fn decisive_parts(judged: &Judged) -> Vec<&Part> {
    let parts = judged.parts.iter();
    parts
        .filter(|part| part.verdict == judged.verdict)
        .collect()
}

/// The comparison that decided it: of what is true the nearest to failing, else what fails most.
fn decisive(judged: &Judged) -> Option<(&Part, Claimed<'_>)> {
    let denials = denials(&judged.check);
    let pairs = decisive_parts(judged).into_iter().flat_map(|part| {
        let deciding = deciding(part, &denials);
        deciding.into_iter().map(move |claimed| (part, claimed))
    });
    pairs.min_by(|(_, a), (_, b)| room(*a).total_cmp(&room(*b)))
}

/// The comparison that decided it, and how many others say the same: `p50(rtt) > 5ms: 6.10 ms, +1.10 ms (0.90–1.30)`.
fn line(judged: &Judged) -> String {
    let decisive_parts = decisive_parts(judged);
    let Some((part, claimed)) = decisive(judged) else {
        let first = decisive_parts
            .first()
            .filter(|part| !part.reason.is_empty());
        return first.map_or(&judged.reason, |part| &part.reason).clone();
    };
    let text = of_comparison(claimed);
    let level = level(part);
    let level = if level.is_empty() {
        level
    } else {
        format!("{level}: ")
    };
    let others = deciding(part, &denials(&judged.check)).len() - 1;
    let more = match (others, decisive_parts.len() - 1) {
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

/// The comparisons that have the verdict of the part, or else all.
fn deciding<'a>(part: &'a Part, denials: &[bool]) -> Vec<Claimed<'a>> {
    let all = part.comparisons.iter().enumerate();
    let all = all.map(|(index, compared)| Claimed {
        compared,
        denied: denials.get(index).copied().unwrap_or(false),
    });
    let deciding: Vec<_> = all
        .clone()
        .filter(|it| it.verdict() == part.verdict)
        .collect();
    match deciding.is_empty() {
        true => all.collect(),
        false => deciding,
    }
}

/// How far the interval is from making the comparison false, or where it is denied from making it true, relative to what
/// is compared: the least of what is true is the nearest to failing, and of what is false or undecided what fails most.
fn room(claimed: Claimed<'_>) -> f64 {
    let compared = claimed.compared;
    let Some(value) = compared.value else {
        return match claimed.verdict() {
            Verdict::True => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        };
    };
    let (low, high) = (
        compared.ends.low.unwrap_or(value),
        compared.ends.high.unwrap_or(value),
    );
    let size = [compared.left, compared.right].map(|side| side.unwrap_or(0.0).abs());
    let size = size[0].max(size[1]).max(f64::MIN_POSITIVE);
    let room = |(more, less): (f64, f64)| match compared.by {
        ComparisonScale::Ratio => (more / less).ln(),
        ComparisonScale::Difference => (more - less) / size,
    };
    if claimed.denied {
        let above = compared.above.map(|above| (above, high));
        let below = compared.below.map(|below| (low, below));
        let rooms = above.into_iter().chain(below).map(room);
        return rooms.reduce(f64::max).unwrap_or(f64::INFINITY);
    }
    let above = compared.above.map(|above| (low, above));
    let below = compared.below.map(|below| (below, high));
    let rooms = above.into_iter().chain(below).map(room);
    rooms.fold(f64::INFINITY, f64::min)
}

fn of_comparison(claimed: Claimed<'_>) -> String {
    let compared = claimed.compared;
    let (Some(left), Some(value)) = (compared.left, compared.value) else {
        return compared.reason.clone();
    };
    let name = &compared.comparison;
    let [unit, of_value] = units(compared);
    // A bound stands in the claim itself. Where it stands on the left, what was measured is on the right, and the
    // difference is seen from there.
    let (shown, value) = match compared.right {
        Some(right) if has_bound_on_the_left(name) => {
            (quantity(right, unit), from_the_right(compared, value))
        }
        Some(right) if sides(name)[1].contains('(') => (against(left, right, unit), value),
        _ => (quantity(left, unit), value),
    };
    let mut evidence = comparison("", compared);
    if let Some(decided) = Decided::new(claimed) {
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
    let not = if claimed.denied { "not " } else { "" };
    format!("{not}{name}: {shown}, {by}{interval}{settle}")
}

/// The two sides of a comparison as written, without how near they are to be.
fn sides(comparison: &str) -> [&str; 2] {
    let (left, right) = match outside(comparison, &['<', '>', '≈']) {
        Some(at) => comparison.split_at(at),
        None => (comparison, ""),
    };
    let right = right.trim_start_matches(['<', '>', '=', '≈']);
    let right = match (comparison.contains('≈'), right.rsplit_once(" within ")) {
        (true, Some((right, _))) => right,
        _ => right,
    };
    [left.trim(), right.trim()]
}

/// Is the left side of a comparison a bound, with no statistic in it? `1.05 * p50(rtt) < …` has one.
fn has_bound_on_the_left(comparison: &str) -> bool {
    let [left, right] = sides(comparison);
    is_bound(left) && right.contains('(')
}

/// `5ms`, `-1`, `5 %`: a number, and no statistic.
fn is_bound(side: &str) -> bool {
    let digits = side.trim_start_matches('-');
    digits.starts_with(|first: char| first.is_ascii_digit()) && !digits.contains('(')
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
    let sides = sides(&compared.comparison);
    let is_percentage = sides
        .iter()
        .any(|side| is_bound(side) && side.ends_with('%'));
    let is_share =
        is_share(sides[0], &compared.unit) || (is_number(&compared.unit) && is_percentage);
    match (is_share, compared.by) {
        (true, ComparisonScale::Difference) => [SHARE, POINTS],
        (true, ComparisonScale::Ratio) => [SHARE, &compared.value_unit],
        (false, _) => [&compared.unit, &compared.value_unit],
    }
}

fn is_number(unit: &str) -> bool {
    unit == "1"
}

/// A ratio of two shares is none.
fn is_share(statistic: &str, unit: &str) -> bool {
    is_number(unit) && statistic.starts_with("share(") && outside(statistic, &['/']).is_none()
}

/// Where the first of these stands outside of all parentheses and quotes.
fn outside(text: &str, sought: &[char]) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    let mut each = text.char_indices();
    let found = each.find(|&(_, c)| {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        depth == 0 && quote.is_none() && sought.contains(&c)
    });
    found.map(|(at, _)| at)
}

fn level(part: &Part) -> String {
    let levels: Vec<_> = part.levels.iter().map(ToString::to_string).collect();
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
        low: number.ends.low,
        high: number.ends.high,
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
        low: number.ends.low,
        high: number.ends.high,
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
    use delaylab_lab::finding::verdict::Ends;

    #[test]
    fn a_bound_on_the_left_is_a_number_alone() {
        for bound in [
            "1.9 < mean(rtt)",
            "1% < share(rtt > 5ms)",
            "1000cells <= max(backlog)",
            "-1ms < mean(ipdv)",
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

    #[test]
    fn an_apostrophe_in_a_name_quotes_nothing() {
        let left = "p50(rtt | case=\"it's < 5ms\")";
        assert_eq!(sides(&format!("{left} < 5ms")), [left, "5ms"]);
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
            ends: Ends::finite(ends[0] * 1e6, ends[1] * 1e6),
            above: None,
            below: Some(0.0),
            repeats_differ: false,
            of_trials: false,
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

    fn plainly(compared: &Compared) -> Claimed<'_> {
        Claimed {
            compared,
            denied: false,
        }
    }

    /// A claim with `not` stands there with its `not`, and is drawn on the side where it is true.
    #[test]
    fn what_is_denied_is_shown_as_denied() {
        let mut over = compared(Verdict::False, 4.5, -0.5, [-0.6, -0.4]);
        over.comparison = "max(response) > 5ms".to_owned();
        (over.above, over.below) = (Some(0.0), None);
        let mut nearer = over.clone();
        (nearer.comparison, nearer.ends.high) = ("p99(response) > 5ms".to_owned(), Some(-0.1e6));
        let judged = |comparisons: Vec<Compared>, check: &str| Judged {
            id: String::new(),
            says: String::new(),
            check: check.to_owned(),
            verdict: Verdict::True,
            reason: String::new(),
            parts: vec![Part {
                levels: Vec::new(),
                verdict: Verdict::True,
                reason: String::new(),
                statistics: Vec::new(),
                comparisons,
            }],
        };
        let one = judged(vec![over.clone()], "not max(response) > 5ms");
        assert_eq!(
            line(&one),
            "not max(response) > 5ms: 4.50 ms, −500 µs (−600 to −400)"
        );
        let decided = decisive(&one).and_then(|(_, claimed)| Decided::new(claimed));
        let decided = decided.unwrap();
        assert_eq!((decided.above, decided.below), (None, Some(0.0)));
        let near = compared(Verdict::True, 1.0, 0.01, [-0.01, 0.03]);
        let near = Claimed {
            compared: &Compared {
                above: Some(-0.05),
                below: Some(0.05),
                ..near
            },
            denied: true,
        };
        let decided = Decided::new(near).unwrap();
        assert_eq!((decided.above, decided.below), (Some(0.05), Some(-0.05)));
        let both = "not (max(response) > 5ms or p99(response) > 5ms)";
        let both = line(&judged(vec![over, nearer], both));
        assert!(both.starts_with("not p99(response) > 5ms"), "{both}");
        assert!(both.ends_with("likewise 1 other comparison"), "{both}");
    }

    /// A share is a percentage wherever a bound in percent says that it is one, and both sides are shown where both were
    /// measured.
    #[test]
    fn sides_are_shown_as_they_are_claimed() {
        let mut claim = compared(Verdict::True, 0.659, 0.009, [0.001, 0.017]);
        claim.left = Some(0.659);
        claim.right = Some(0.65);
        (claim.unit, claim.value_unit) = ("1".to_owned(), "1".to_owned());
        claim.by = ComparisonScale::Ratio;
        let mut line = |comparison: &str| {
            claim.comparison = comparison.to_owned();
            of_comparison(plainly(&claim))
        };
        let near = line("mean(utilisation) ≈ 65 % within 10 %");
        assert!(near.contains(": 65.9 %, "), "{near}");
        for two in [
            "sd(response) ≈ sd(network) within 20 %",
            "mean(copies) < mean(reorder_extent) * 2",
            "mean(copies | load='a > b') < mean(reorder_extent) * 2",
        ] {
            let two = line(two);
            assert!(two.contains("0.659 against 0.65"), "{two}");
        }
    }

    #[test]
    fn a_ratio_of_shares_is_no_share() {
        let mut claim = compared(Verdict::False, 2.5, -0.5, [-0.7, -0.3]);
        (claim.left, claim.right) = (Some(2.5), Some(3.0));
        (claim.unit, claim.value_unit) = ("1".to_owned(), "1".to_owned());
        let mut line = |comparison: &str| {
            claim.comparison = comparison.to_owned();
            of_comparison(plainly(&claim))
        };
        let ratio = line("share(pdv > 1ms | wait=1ms) / share(pdv > 1ms | wait=0ms) > 3");
        assert!(
            ratio.contains(": 2.5, ") && !ratio.contains("points"),
            "{ratio}"
        );
        let share = line("share(pdv > 1ms | case='a / b') > 3");
        assert!(share.contains("250 %"), "{share}");
    }

    #[test]
    fn a_bound_on_the_left_turns_the_drawing_round() {
        let mut claim = compared(Verdict::True, 4.5, -0.5, [-0.6, -0.4]);
        let plain = Decided::new(plainly(&claim)).unwrap();
        assert_eq!((plain.above, plain.below), (None, Some(0.0)));
        claim.comparison = "5ms > p50(rtt)".to_owned();
        (claim.above, claim.below) = (Some(0.0), None);
        let turned = Decided::new(plainly(&claim)).unwrap();
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
