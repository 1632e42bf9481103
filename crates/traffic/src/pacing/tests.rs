#![allow(clippy::unwrap_used)]
use super::{Due, Pacer};
use delaylab_model::probe::Pacing;
use delaylab_model::{MILLISECOND, SECOND};
use proptest::prelude::*;

fn take(pacer: &mut Pacer, count: usize) -> Vec<i64> {
    let next = |pacer: &mut Pacer| {
        let Due::At(due) = pacer.due() else {
            panic!("an open loop waits for nothing")
        };
        pacer.advance();
        due
    };
    (0..count).map(|_| next(pacer)).collect()
}

#[test]
fn a_burst_is_due_as_one() {
    let pacing = Pacing::Burst {
        burst: 3,
        interval_ns: SECOND,
    };
    let due = take(&mut Pacer::new(pacing, 7, 0), 7);
    assert_eq!(
        due,
        [7, 7, 7, 7 + SECOND, 7 + SECOND, 7 + SECOND, 7 + 2 * SECOND]
    );
}

#[test]
fn poisson_gaps_are_exponential_and_repeatable() {
    let pacing = Pacing::Poisson {
        mean_ns: MILLISECOND,
    };
    let due = take(&mut Pacer::new(pacing, 0, 42), 100_000);
    assert_eq!(due, take(&mut Pacer::new(pacing, 0, 42), 100_000));
    assert_ne!(due, take(&mut Pacer::new(pacing, 0, 43), 100_000));
    let gaps: Vec<f64> = due.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    // The mean of 10⁵ exponentials is within 2 % (6 standard errors); sd equals the mean.
    assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
    assert!((sd / mean - 1.0).abs() < 0.02, "sd {sd}");
}

#[test]
fn a_closed_loop_waits_for_the_reply() {
    let mut pacer = Pacer::new(Pacing::Wait { wait_ns: 5 }, 100, 0);
    assert_eq!(pacer.due(), Due::At(100));
    pacer.advance();
    assert_eq!(pacer.due(), Due::AfterReply);
    pacer.settled(130);
    assert_eq!(pacer.due(), Due::At(135));
    // A duplicate of the reply changes nothing.
    pacer.settled(131);
    assert_eq!(pacer.due(), Due::At(135));
}

proptest! {
    #[test]
    fn the_grid_never_drifts(start in 0..SECOND, interval in 1..SECOND, count in 1_usize..200) {
        let due = take(&mut Pacer::new(Pacing::Every { interval_ns: interval }, start, 0), count);
        for (k, at) in due.into_iter().enumerate() {
            prop_assert_eq!(at, start + k as i64 * interval);
        }
    }
}
