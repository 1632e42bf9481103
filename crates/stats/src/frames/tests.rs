#![allow(clippy::unwrap_used)]
use super::*;
use crate::loglinear::RELATIVE_ERROR;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use proptest::prelude::*;

fn frame(seq: u64, t_send: Nanos, delay: Option<Nanos>) -> Record {
    let mut record = Record::due(0, 0, seq, Method::Frame, t_send);
    record.t_send = Some(t_send);
    if let Some(delay) = delay {
        record.t_rx = Some(t_send + delay);
        record.outcome = Outcome::Ok;
    }
    record
}

fn built(records: &[Record], limit: usize) -> FrameFigures {
    let mut builder = FramesBuilder::new(limit).with_tag(2);
    records.iter().for_each(|record| builder.push(record));
    builder.finish()
}

#[test]
fn every_outcome_is_counted_for_what_it_is() {
    let mut twice = frame(1, 100, Some(30));
    (twice.copies, twice.reorder_extent) = (2, 1);
    let mut corrupt = frame(3, 300, Some(70));
    corrupt.outcome = Outcome::Corrupt;
    let mut skipped = Record::due(0, 0, 5, Method::Frame, 500);
    skipped.outcome = Outcome::Skipped;
    let mut failed = frame(6, 600, None);
    failed.outcome = Outcome::LocalError;
    let records = [
        frame(0, 0, Some(10)),
        twice,
        frame(2, 200, Some(50)),
        corrupt,
        frame(4, 400, None),
        skipped,
        failed,
        frame(7, 700, Some(90)),
    ];
    let figures = built(&records, 100);
    assert_eq!((figures.asked, figures.sent, figures.received), (8, 6, 4));
    assert_eq!((figures.corrupt, figures.lost()), (1, 2));
    assert_eq!((figures.duplicates, figures.reordered), (2, 1));
    assert_eq!(
        (figures.first_send, figures.last_send),
        (Some(0), Some(700))
    );
    assert_eq!(figures.last_lost, Some(400));
    // What comes out changed did not arrive as it was sent.
    assert_eq!(built(&records[..4], 100).last_lost, Some(300));
    let delay = figures.delay.unwrap();
    assert_eq!(
        (delay.min, delay.mean, delay.max, delay.p50),
        (10, 45.0, 90, 30)
    );
    assert_eq!(figures.tagged_delay, Some(50));
    let silence = figures.longest_silence.unwrap();
    assert_eq!((silence.from, silence.to), (370, 790));
    assert_eq!(figures.achieved_fps(), Some(5.0 * 1e9 / 700.0));
}

/// A sender that has lost its CPU is silent for longer than the device that is reset.
#[test]
fn a_silence_without_a_loss_is_the_senders() {
    let sent = [0, 1, 2, 3, 304, 305];
    let lost = [1];
    let records = sent.iter().zip(0..).map(|(&t_send, seq)| {
        let delay = (!lost.contains(&t_send)).then_some(5);
        frame(seq, t_send, delay)
    });
    let records: Vec<_> = records.collect();
    let silence = built(&records, 100).longest_silence.unwrap();
    assert_eq!((silence.from, silence.to), (5, 7));
    let whole = built(&records[2..], 100);
    assert_eq!(whole.longest_silence, None);
}

#[test]
fn nothing_sent_has_no_figure() {
    let figures = FramesBuilder::new(1).finish();
    assert_eq!(figures, FrameFigures::default());
    assert_eq!((figures.loss_ratio(), figures.achieved_fps()), (None, None));
}

#[test]
fn too_few_frames_have_no_far_quantile() {
    let delay = |count: u64| {
        let records = (0..count).map(|seq| frame(seq, 1000 * seq as i64, Some(seq as i64 + 1)));
        built(&records.collect::<Vec<_>>(), 10_000).delay.unwrap()
    };
    let of = |count: u64| (delay(count).p99, delay(count).p999);
    assert_eq!(of(99), (None, None));
    assert_eq!(of(100), (Some(99), None));
    assert_eq!(of(999), (Some(990), None));
    assert_eq!(of(1000), (Some(990), Some(999)));
}

#[test]
fn memory_is_flat_beyond_the_limit() {
    let mut builder = FramesBuilder::new(1000);
    let mut most = 0;
    for seq in 0..300_000 {
        builder.push(&frame(
            seq,
            1000 * seq as i64,
            Some(5_000 + (seq % 997) as i64),
        ));
        most = most.max(builder.heap_bytes());
    }
    assert!(most < 8 << 20, "{most}");
    assert_eq!(builder.finish().delay.unwrap().count, 300_000);
}

proptest! {
    #[test]
    fn the_order_of_records_does_not_matter(
        delays in proptest::collection::vec(proptest::option::weighted(0.9, 1_i64..1_000_000), 1..300),
        seed in any::<u64>(),
        limit in prop_oneof![Just(5_usize), Just(1000)],
    ) {
        let place = |(seq, delay): (usize, &Option<Nanos>)| frame(seq as u64, 700 * seq as i64, *delay);
        let records: Vec<Record> = delays.iter().enumerate().map(place).collect();
        let mut shuffled = records.clone();
        shuffled.sort_by_key(|r| (r.seq ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        prop_assert_eq!(built(&records, limit), built(&shuffled, limit));
    }

    #[test]
    fn beyond_the_limit_figures_keep_their_stated_error(
        delays in proptest::collection::vec(proptest::option::weighted(0.99, 1_i64..1_000_000), 200..400),
    ) {
        let place = |(seq, delay): (usize, &Option<Nanos>)| frame(seq as u64, 700 * seq as i64, *delay);
        let records: Vec<Record> = delays.iter().enumerate().map(place).collect();
        let (exact, spilled) = (built(&records, 1000), built(&records, 10));
        let (e, s) = (exact.delay.unwrap(), spilled.delay.unwrap());
        prop_assert_eq!((e.min, e.mean, e.max, e.sd), (s.min, s.mean, s.max, s.sd));
        prop_assert_eq!((e.p99.is_some(), e.p999), (s.p99.is_some(), s.p999));
        for (e, s) in [(Some(e.p50), Some(s.p50)), (e.p99, s.p99)] {
            let (e, s) = (e.unwrap_or_default(), s.unwrap_or_default());
            prop_assert!((e - s).abs() as f64 <= RELATIVE_ERROR * e as f64);
        }
    }
}

/// The least delays of the last two quarters tell: frames that are disturbed now and then do not.
#[test]
fn frames_that_come_out_slower_than_they_are_sent_fall_behind() {
    use delaylab_model::probe::Probe;
    let built = |count: u64, later: Nanos, disturbed: bool| {
        let probe = Probe {
            count: Some(count),
            ..Probe::new("frames", Method::Frame)
        };
        let mut builder = FramesBuilder::for_probe(&probe, 1000);
        for seq in 0..count {
            let nth = seq as Nanos;
            let late = if disturbed && seq % 3 > 0 { 70_000 } else { 0 };
            builder.push(&frame(seq, 1000 * nth, Some(500 + later * nth + late)));
        }
        builder.finish()
    };
    for disturbed in [false, true] {
        let slow = built(400, 250, disturbed);
        let behind = slow.falls_behind.unwrap();
        assert!((behind - 0.25).abs() < 0.01, "{behind}");
        let out = slow.forwarded_fps().unwrap();
        assert!((out / 8e5 - 1.0).abs() < 0.01, "{out}");
        let even = built(400, 0, disturbed);
        assert_eq!((even.falls_behind, even.forwarded_fps()), (Some(0.0), None));
    }
    assert_eq!(built(39, 250, false).falls_behind, None);
    // By less than a frame.
    assert_eq!(built(400, 4, false).forwarded_fps(), None);
}
