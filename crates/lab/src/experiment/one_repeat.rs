//! Claims that no run of one repeat shows to be true: that a maximum is at most something, and what is about a number of each
//! trial.

use super::resolve::Resolved;
use crate::finding::Measure;
use crate::finding::check::{Beyond, Check, Claim, Comparison, Functional, Kind, Relation, Value};

/// What a check claims that no run of one repeat shows, as a clause; `None` where it claims nothing of the kind, or this run
/// has more repeats.
pub fn needs_repeats(check: &Check, run: &Resolved) -> Option<String> {
    let is_repeated = run.planned.iter().any(|planned| planned.repeat > 0);
    if is_repeated || run.procedure.is_some() {
        return None;
    }
    of_claim(&check.claim)
}

fn of_claim(claim: &Claim) -> Option<String> {
    match claim {
        Claim::All(claims) => claims.iter().find_map(of_claim),
        // One way to be true is enough.
        Claim::Any(claims) => {
            let each: Option<Vec<String>> = claims.iter().map(of_claim).collect();
            each?.into_iter().next()
        }
        // That it does not hold may be shown.
        Claim::Not(_) => None,
        Claim::Compare(comparison) => of_comparison(comparison),
    }
}

fn of_comparison(comparison: &Comparison) -> Option<String> {
    comparison.pairs().find_map(|(left, relation, right)| {
        let [is_left_bounded, is_right_bounded] = match relation {
            Relation::Is(Beyond::Less | Beyond::AtMost) => [true, false],
            Relation::Is(Beyond::More | Beyond::AtLeast) => [false, true],
            Relation::About { .. } => [true, true],
        };
        of_side(left, is_left_bounded).or_else(|| of_side(right, is_right_bounded))
    })
}

/// `is_bounded`: this side is claimed to be at most something.
fn of_side(value: &Value, is_bounded: bool) -> Option<String> {
    let Value::Statistic(statistic) = value else {
        return None;
    };
    let Kind::Of(functional, measure) = &statistic.kind else {
        return None;
    };
    let is_number = measure.is_number_of_trial() && *measure != Measure::Valid;
    match functional {
        Functional::Max if is_bounded => Some(format!(
            "of one repeat {statistic} is only known to be at least as large as it was, and never to be less than something"
        )),
        Functional::Mean | Functional::Quantile(_) if is_number => Some(format!(
            "{statistic} is of one number each trial, and one repeat does not show how much it varies"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_one_repeat_never_shows_is_known_before() {
        let why = |check: &str| of_claim(&Check::parse(check).unwrap().claim);
        for (check, part) in [
            ("max(response) < 1s", "of one repeat max(response) is only"),
            ("1s >= max(response)", "of one repeat"),
            (
                "p50(response) > 1us and max(backlog) <= 9packets",
                "of one repeat max(backlog)",
            ),
            ("mean(drops) > 1packets", "mean(drops) is of one number"),
            (
                "max(response) < 1s or max(network) < 1s",
                "of one repeat max(response)",
            ),
        ] {
            let said = why(check).unwrap();
            assert!(said.contains(part), "{check}: {said}");
        }
        for check in [
            "max(response) > 1s",
            "not max(response) < 1s",
            "max(response) < 1s or p50(response) < 1s",
            "count(drops) < 1",
            "mean(valid) > 90 %",
            "p99(response) < 1s",
        ] {
            assert_eq!(why(check), None, "{check}");
        }
    }
}
