//! Puts rows that come almost in order into order, in flat memory.

use crate::table::Row;

/// Rows handed over at once at the end.
const CHUNK: usize = 1 << 14;

/// Rows that may still be overtaken.
pub(crate) struct Sorter<R: Row>(Vec<R>);

impl<R: Row> Sorter<R> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes rows and hands over those that nothing can overtake any more.
    pub(crate) fn push<E>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        mut emit: impl FnMut(&[R]) -> Result<(), E>,
    ) -> Result<(), E> {
        for row in rows {
            self.0.push(row);
            if self.0.len() == 2 * R::WINDOW {
                self.sort();
                emit(&self.0[..R::WINDOW])?;
                self.0.drain(..R::WINDOW);
            }
        }
        Ok(())
    }

    /// Hands over what is left, and is empty then.
    pub(crate) fn finish<E>(
        &mut self,
        mut emit: impl FnMut(&[R]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sort();
        self.0.chunks(CHUNK).try_for_each(&mut emit)?;
        self.0.clear();
        Ok(())
    }

    fn sort(&mut self) {
        self.0.sort_by(|one, other| one.key().cmp(&other.key()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use delaylab_model::noise::ClockReads;
    use delaylab_model::table::TableRow;
    use proptest::prelude::*;
    use std::convert::Infallible;

    const WINDOW: usize = ClockReads::WINDOW;

    fn row(from_ns: i64) -> ClockReads {
        ClockReads {
            from_ns,
            ..ClockReads::default()
        }
    }

    /// What comes out when rows with these keys go in.
    fn sorted(keys: &[i64]) -> Vec<i64> {
        let mut sorter = Sorter::new();
        let mut out = Vec::new();
        let mut emit = |rows: &[ClockReads]| {
            out.extend(rows.iter().map(ClockReads::key));
            Ok::<(), Infallible>(())
        };
        sorter
            .push(keys.iter().copied().map(row), &mut emit)
            .unwrap();
        sorter.finish(&mut emit).unwrap();
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn rows_at_most_a_window_late_come_out_in_order(
            count in 0..5 * WINDOW as i64,
            late in prop::collection::vec((0..5 * WINDOW, 0..WINDOW), 0..20),
        ) {
            let mut keys: Vec<i64> = (0..count).collect();
            for (from, by) in late {
                let to = from + by;
                if to < keys.len() {
                    let key = keys.remove(from);
                    keys.insert(to, key);
                }
            }
            let mut expected = keys.clone();
            expected.sort();
            // Several moves together may take a row further than a window.
            let furthest = keys.iter().enumerate().map(|(at, key)| at as i64 - key).max();
            prop_assume!(furthest.unwrap_or(0) <= WINDOW as i64);
            prop_assert_eq!(sorted(&keys), expected);
        }
    }

    #[test]
    fn no_row_is_lost_whatever_the_order() {
        let keys: Vec<i64> = (0..3 * WINDOW as i64).rev().collect();
        let mut out = sorted(&keys);
        out.sort();
        assert_eq!(out, (0..3 * WINDOW as i64).collect::<Vec<_>>());
    }
}
