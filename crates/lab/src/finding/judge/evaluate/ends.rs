//! Arithmetic on ranges: between which ends a result is if each number is between its own.

use crate::finding::check::Operator;
use crate::finding::judge::plan::Term;

/// A range of which nothing is known.
pub(in crate::finding::judge) const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The range of a term, where those of each leaf and of each fit are these.
pub(super) fn of_term(
    term: &Term,
    of_leaf: &impl Fn(usize) -> (f64, f64),
    of_fit: &impl Fn(usize) -> (f64, f64),
) -> (f64, f64) {
    let of = |term| of_term(term, of_leaf, of_fit);
    match term {
        Term::Constant(value) => (*value, *value),
        Term::Leaf(index) => of_leaf(*index),
        Term::Fit(index) => of_fit(*index),
        Term::Negative(inner) => {
            let (low, high) = of(inner);
            (-high, -low)
        }
        Term::Binary(operator, a, b) => result(*operator, of(a), of(b)),
    }
}

/// The range of a result.
pub(in crate::finding::judge) fn result(
    operator: Operator,
    a: (f64, f64),
    b: (f64, f64),
) -> (f64, f64) {
    match operator {
        Operator::Plus => (a.0 + b.0, a.1 + b.1),
        Operator::Minus => (a.0 - b.1, a.1 - b.0),
        Operator::Times => product(a, b),
        // What is near zero has either sign.
        Operator::Over if b.0 < 0.0 && b.1 >= 0.0 => ANY,
        Operator::Over => product(a, (b.1.recip(), b.0.recip())),
    }
}

fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    // An end that is infinite is never reached, and zero times any number is zero.
    let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
    let corners = [
        times(a.0, b.0),
        times(a.0, b.1),
        times(a.1, b.0),
        times(a.1, b.1),
    ];
    (
        corners.into_iter().fold(f64::INFINITY, f64::min),
        corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_between_the_ends() {
        const MORE: f64 = f64::INFINITY;
        for (operator, a, b, expected) in [
            (Operator::Plus, (0.0, MORE), (1.0, 2.0), (1.0, MORE)),
            (Operator::Minus, (0.0, MORE), (0.0, MORE), ANY),
            (Operator::Minus, (0.0, 1.0), (0.0, 1.0), (-1.0, 1.0)),
            (Operator::Times, (-1.0, 2.0), (3.0, 3.0), (-3.0, 6.0)),
            (Operator::Times, (0.0, MORE), (0.0, 1.0), (0.0, MORE)),
            (Operator::Over, (0.0, 1.0), (0.5, 0.5), (0.0, 2.0)),
            (Operator::Over, (1.0, 2.0), (0.0, 4.0), (0.25, MORE)),
            (Operator::Over, (0.0, MORE), (0.0, MORE), (0.0, MORE)),
            (Operator::Over, (1.0, 2.0), (-2.0, -1.0), (-2.0, -0.5)),
            (Operator::Over, (1.0, 2.0), (-1.0, 0.0), ANY),
        ] {
            assert_eq!(result(operator, a, b), expected, "{operator:?} {a:?} {b:?}");
        }
    }
}
