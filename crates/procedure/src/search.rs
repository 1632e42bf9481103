//! The longest burst that passes, and means of what was found.

use schemars::JsonSchema;
use serde::Serialize;

/// The largest number from 0 to `cap` that passes, if smaller ones pass where a larger one does.
/// Begins at `hint`, and goes on in steps that double; so where the hint is right it takes two trials.
/// `None`: it is at least `cap`.
///
/// # Errors
/// What `passes` ends with.
pub fn longest<E>(
    cap: u64,
    hint: u64,
    mut passes: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let (mut low, mut high) = (0, None);
    let mut next = hint.clamp(1, cap.max(1));
    let mut step = 1_u64;
    loop {
        if passes(next)? {
            low = next;
            if low >= cap {
                return Ok(None);
            }
        } else {
            high = Some(next);
        }
        match high {
            Some(high) if high - low <= 1 => return Ok(Some(low)),
            // Down from the hint, where nothing passed yet.
            Some(high) if low == 0 => next = high.saturating_sub(step).max(high / 2).max(1),
            Some(high) => next = low + (high - low) / 2,
            None => next = low.saturating_add(step).min(cap),
        }
        step = step.saturating_mul(2);
        if next <= low {
            next = low + 1;
        }
    }
}

/// Mean, ends and standard deviation of what repeats gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation (ddof 1); `None` under two.
    pub sd: Option<f64>,
}

impl Spread {
    /// `None` without values.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            count: count as u64,
            mean,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            sd: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        })
    }

    /// Standard deviation over mean, 0 to 1 and beyond.
    pub fn relative_sd(&self) -> Option<f64> {
        self.sd.map(|sd| sd / self.mean).filter(|sd| sd.is_finite())
    }

    /// Do repeats agree (RFC 8239 §1.2)? Else why it cannot be said.
    pub(crate) fn agree(spread: Option<Self>) -> Result<bool, &'static str> {
        let is_repeatable = spread.and_then(|spread| spread.is_repeatable());
        is_repeatable.ok_or("too few repeats to tell")
    }

    /// RFC 8239: repeats agree if their relative standard deviation is below 10 %.
    pub fn is_repeatable(&self) -> Option<bool> {
        if self.sd == Some(0.0) {
            return Some(true);
        }
        self.relative_sd().map(|sd| sd < 0.1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_right_hint_takes_two_trials() {
        for hint in [1, 2, 17, 5000] {
            let mut trials = 0;
            let found = longest(1_000_000, hint, |n| {
                trials += 1;
                Ok::<_, ()>(n <= hint)
            });
            assert_eq!((found, trials), (Ok(Some(hint)), 2));
        }
    }

    #[test]
    fn a_spread_of_equal_values_is_repeatable() {
        let spread = Spread::new([3.0, 3.0]).unwrap();
        assert_eq!((spread.sd, spread.is_repeatable()), (Some(0.0), Some(true)));
        assert_eq!(
            Spread::new([1.0, 2.0]).unwrap().is_repeatable(),
            Some(false)
        );
        assert_eq!(Spread::new([1.0]).unwrap().is_repeatable(), None);
        assert_eq!(Spread::new([]), None);
    }

    proptest! {
        #[test]
        fn finds_the_threshold_in_few_trials(
            cap in 1_u64..1_000_000,
            hint in 0_u64..2_000_000,
            threshold in 0_u64..1_100_000,
        ) {
            let mut trials = 0;
            let found = longest(cap, hint, |n| {
                trials += 1;
                Ok::<_, ()>(n <= threshold)
            });
            let expected = (threshold < cap).then_some(threshold);
            prop_assert_eq!(found, Ok(expected));
            prop_assert!(trials <= 50, "{}", trials);
        }

        #[test]
        fn ends_whatever_it_is_told(cap in 1_u64..1_000_000, hint in any::<u64>(), seed in any::<u64>()) {
            let mut trials = 0_u32;
            let _ = longest(cap, hint, |n| {
                trials += 1;
                Ok::<_, ()>((n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0)
            });
            prop_assert!(trials <= 60, "{}", trials);
        }
    }
}
