//! Bars of blocks: whole columns for times.

/// `room` columns shared out by these times: rounded ends, so that the sum is exact.
pub fn widths(times: &[f64], room: usize) -> Vec<usize> {
    let times: Vec<f64> = times.iter().map(|ns| ns.max(0.0)).collect();
    let total: f64 = times.iter().sum();
    let some = times.iter().filter(|&&ns| ns > 0.0).count();
    if !total.is_finite() || total <= 0.0 || room < some {
        return vec![0; times.len()];
    }
    // A column for whatever there is, and the rest by share.
    let rest = (room - some) as f64;
    let mut through = 0.0;
    let mut given = 0;
    let share = |ns: &f64| {
        through += ns / total;
        let end = (through * rest).round() as usize;
        let columns = end - given;
        given = end;
        columns + usize::from(*ns > 0.0)
    };
    times.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whatever_took_time_has_a_column() {
        assert_eq!(widths(&[1.0, 1e9, 0.0, 1.0], 10), [1, 8, 0, 1]);
        assert_eq!(widths(&[5.0, 5.0], 10), [5, 5]);
        assert_eq!(widths(&[5.0, 5.0], 1), [0, 0]);
        assert_eq!(widths(&[], 10), [0; 0]);
    }

    proptest! {
        #[test]
        fn a_bar_fills_its_room(
            times in prop::collection::vec(-1e12..1e12_f64, 1..8),
            room in 0_usize..300,
        ) {
            let columns: usize = widths(&times, room).into_iter().sum();
            let some = times.iter().filter(|&&ns| ns > 0.0).count();
            let expected = if some == 0 || room < some { 0 } else { room };
            prop_assert_eq!(columns, expected);
        }
    }
}
