//! Bars of blocks: whole columns for times.

/// `room` columns shared out by these times: ends are rounded, so that the sum is exact, and whatever took any time has a
/// column. None where there are more of those than columns.
pub fn widths(times: &[f64], room: usize) -> Vec<usize> {
    let times: Vec<f64> = times.iter().map(|ns| ns.max(0.0)).collect();
    let total: f64 = times.iter().sum();
    let some = times.iter().filter(|&&ns| ns > 0.0).count();
    if !total.is_finite() || total <= 0.0 || room < some {
        return vec![0; times.len()];
    }
    let mut through = 0.0;
    let mut given = 0;
    let share = |ns: &f64| {
        through += ns / total;
        let end = ((through * room as f64).round() as usize).min(room);
        let columns = end - given;
        given = end;
        columns
    };
    let mut widths: Vec<usize> = times.iter().map(share).collect();
    // What is too short for a column gets one of the widest.
    for at in 0..widths.len() {
        if times[at] > 0.0 && widths[at] == 0 {
            let widest = (0..widths.len()).max_by_key(|&other| widths[other]);
            widths[widest.unwrap_or(at)] -= 1;
            widths[at] = 1;
        }
    }
    widths
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
