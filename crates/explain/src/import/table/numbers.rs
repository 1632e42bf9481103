//! Sequence numbers of a table, which need not have 16 bits, nor be in order.

/// Makes numbers that begin again whole, and leaves all others as they are.
///
/// Numbers of 16 bits rise to 65535 in small steps, and begin again near 0. A fall from anywhere else is another order, or
/// another run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers {
    last: Option<u64>,
    /// How many steps in a row were small.
    steady: u8,
    /// Has any number more than 16 bits?
    is_wide: bool,
}

impl Numbers {
    const TURN: u64 = 1 << 16;
    /// A step over what was lost, where the last steps were none larger: at least [`Self::ENOUGH`] of them.
    const SMALL: u64 = 1 << 12;
    const ENOUGH: u8 = 8;
    /// A step that may be one over the end where little else is known.
    const TINY: u64 = 1 << 6;

    /// The whole number.
    pub fn whole(&mut self, number: u64) -> u64 {
        self.is_wide |= number >= Self::TURN;
        let whole = match self.last {
            Some(last) if !self.is_wide => self.after(last, number),
            _ => number,
        };
        let is_small = (self.last).is_some_and(|last| last.abs_diff(whole) <= Self::SMALL);
        self.steady = if is_small {
            self.steady.saturating_add(1)
        } else {
            0
        };
        self.last = Some(whole);
        whole
    }

    /// In this turn, just beyond its end, or a late one from before its begin.
    fn after(&self, last: u64, number: u64) -> u64 {
        let turn = last & !(Self::TURN - 1);
        let here = turn + number;
        let most = match self.steady >= Self::ENOUGH {
            true => Self::SMALL,
            false => Self::TINY,
        };
        if here + Self::TURN - last <= most {
            here + Self::TURN
        } else if turn > 0 && last + Self::TURN - here <= most {
            here - Self::TURN
        } else {
            here
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut all = Numbers::default();
        numbers.into_iter().map(|it| all.whole(it)).collect()
    }

    #[test]
    fn numbers_of_16_bits_go_on_where_they_begin_again() {
        assert_eq!(
            whole([65_534, 65_535, 0, 65_533, 2, 1]),
            [65_534, 65_535, 65_536, 65_533, 65_538, 65_537]
        );
        // Some were lost on the way.
        let gap = (65_000..65_100).chain(900..1_000);
        let expected: Vec<u64> = (65_000..65_100).chain(66_436..66_536).collect();
        assert_eq!(whole(gap), expected);
    }

    #[test]
    fn numbers_in_another_order_stay_as_they_are() {
        let first = [39_999].into_iter().chain(0..39_999);
        assert_eq!(whole(first.clone()), first.collect::<Vec<_>>());
        let twice = (0..40_000).chain(0..40_000);
        assert_eq!(whole(twice.clone()), twice.collect::<Vec<_>>());
        // Each number of 16 bits once, in as good as no order.
        let mixed = (0..65_536).map(|at: u64| at * 40_503 % 65_536);
        assert_eq!(whole(mixed.clone()), mixed.collect::<Vec<_>>());
        let wide = [70_000, 65_535, 0, 1];
        assert_eq!(whole(wide), wide);
    }
}
