#![allow(clippy::unwrap_used)]
use super::*;
use crate::anatomy::{Stage, StageSet};
use crate::summary::Interval;
use crate::testing::Gaussian;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, ClockEvent, Outcome};
use delaylab_model::trial::{ReflectorClock, Residence};
use proptest::prelude::*;

const SAME: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

/// A packet due each 10 µs; its stages are about 10 to 70 µs, each its own draw.
fn record(seq: u64, noise: &mut Gaussian) -> Record {
    let t_intended = seq as Nanos * 10_000;
    let mut record = Record::due(0, 0, seq, Method::Stamp, t_intended);
    let mut now = t_intended;
    let mut after = |mean: f64| {
        now += (-mean * noise.uniform().ln()) as Nanos;
        Some(now)
    };
    record.t_send = after(1e4);
    record.t_sched = after(2e4);
    record.t_tx = after(3e4);
    record.r_rx = after(4e4);
    record.r_tx = after(5e4);
    record.t_rx = after(6e4);
    record.t_recv = after(7e4);
    record.outcome = Outcome::Ok;
    record
}

fn records(count: u64) -> Vec<Record> {
    let mut noise = Gaussian::new(11);
    (0..count).map(|seq| record(seq, &mut noise)).collect()
}

fn summary(records: &[Record], exact_limit: usize) -> Summary {
    let mut builder = SummaryBuilder::new(SAME, exact_limit);
    records.iter().for_each(|record| builder.push(record));
    builder.finish()
}

fn parts_sum(anatomy: &AnatomyAt) -> f64 {
    anatomy.parts.iter().map(|part| part.ns).sum()
}

#[test]
fn nothing_pushed_nothing_said() {
    let summary = summary(&[], 10);
    assert_eq!(summary.response, None);
    assert_eq!(summary.counts, Counts::default());
    assert!(summary.anatomy.is_empty() && summary.worst.is_empty());
    assert_eq!((summary.histogram, summary.within_500us), (None, None));
    assert_eq!(summary.span_ns, 0);
}

#[test]
fn counts_by_outcome() {
    let mut records = records(9);
    records[1].outcome = Outcome::Late;
    records[2].outcome = Outcome::Corrupt;
    records[3].outcome = Outcome::Refused;
    records[4].outcome = Outcome::LocalError;
    records[5] = Record::due(0, 0, 5, Method::Stamp, 0);
    records[5].outcome = Outcome::Skipped;
    records[6].copies = 2;
    records[6].clock_event = ClockEvent::Suspend;
    records[7].reorder_extent = 1;
    (records[8].t_recv, records[8].outcome) = (None, Outcome::Skipped);
    let summary = summary(&records, 10);
    let expected = Counts {
        sent: 8,
        received: 3,
        late: 1,
        corrupt: 1,
        refused: 1,
        local_error: 1,
        skipped: 1,
        // It was sent: it is not among those that the sender gave up.
        under_way: 1,
        duplicate: 2,
        reordered: 1,
        clock_step: 0,
        clock_suspend: 1,
        clock_slow_read: 0,
        // An error is not an answer.
        lost: 1,
    };
    assert_eq!(summary.counts, expected);
    // Late ones are answered and belong to the tail; lateness is of all that were sent.
    assert_eq!(summary.response.unwrap().count, 4);
    assert_eq!(summary.lateness.unwrap().count, 8);
    assert_eq!(summary.counts.ended(), 7);
}

#[test]
fn quantiles_are_those_of_the_sorted_values() {
    let records = records(1000);
    let summary = summary(&records, 1000);
    let mut responses: Vec<_> = records.iter().filter_map(Record::response).collect();
    responses.sort_unstable();
    let response = summary.response.unwrap();
    assert_eq!(response.p50, responses[499]);
    assert_eq!(response.p90, responses[899]);
    assert_eq!(response.p99, responses[989]);
    assert_eq!(response.p999, responses[998]);
    assert_eq!(response.iqr, responses[749] - responses[249]);
    assert_eq!((response.min, response.max), (responses[0], responses[999]));
    assert_eq!(summary.quantile_error, None);
    let known = |interval: &Interval| matches!(interval, Interval::Known { .. });
    assert!(known(&response.mean_interval) && known(&response.p50_interval));
    let mut round_trips: Vec<_> = records.iter().filter_map(Record::round_trip).collect();
    round_trips.sort_unstable();
    let pdv = summary.variation.pdv_p99_ns;
    assert_eq!(pdv, Some(round_trips[989] - round_trips[0]));
    assert_eq!(
        summary.variation.y1541_ns,
        Some(round_trips[998] - round_trips[0])
    );
}

#[test]
fn anatomy_at_a_quantile_is_the_mean_around_it() {
    let records = records(1000);
    let summary = summary(&records, 1000);
    let labels: Vec<_> = summary.anatomy.iter().map(|at| at.label).collect();
    assert_eq!(labels, ["p50", "p90", "p99", "p99.9", "max"]);
    let mut sorted = records.clone();
    sorted.sort_by_key(|record| record.response());
    let p90 = &summary.anatomy[1];
    let band = &sorted[899 - 25..=899 + 25];
    assert_eq!((p90.records, p90.left_out), (51, 0));
    let mean =
        |f: fn(&Record) -> Option<Nanos>| band.iter().filter_map(f).sum::<Nanos>() as f64 / 51.0;
    let response = sorted[899].response().unwrap() as f64;
    let factor = response / mean(Record::response);
    let near = |found: f64, mean: f64| {
        assert!(
            (found - mean * factor).abs() < 1e-6 * found,
            "{found} {mean}"
        )
    };
    assert_eq!(p90.response_ns, response);
    assert_eq!(p90.parts[6].stages, StageSet::only(Stage::ReceiveWakeup));
    near(p90.parts[6].ns, mean(|r| Some(r.t_recv? - r.t_rx?)));
    near(
        p90.network_ns.unwrap(),
        mean(|r| anatomy::network(r, &SAME)),
    );
    let max = summary.anatomy.last().unwrap();
    assert_eq!(max.response_ns, sorted[999].response().unwrap() as f64);
    assert_eq!(max.records, 1);
}

#[test]
fn records_without_a_usual_stamp_are_left_out() {
    let mut records = records(1000);
    for record in records.iter_mut().step_by(20) {
        record.t_sched = None;
    }
    let summary = summary(&records, 1000);
    let p50 = &summary.anatomy[0];
    assert_eq!(p50.records + p50.left_out, 51);
    assert!(p50.left_out > 0);
    assert_eq!(p50.parts.len(), 7);
}

#[test]
fn a_band_without_a_usual_stamp_shares_what_it_has() {
    let mut records = records(1000);
    records.sort_by_key(|record| record.response());
    for record in &mut records[975..] {
        record.t_rx = None;
    }
    for limit in [10, 1000] {
        let summary = summary(&records, limit);
        let p999 = &summary.anatomy[3];
        assert_eq!((p999.parts.len(), p999.left_out), (6, 0));
        assert_eq!((p999.network_ns, p999.host_ns), (None, None));
        assert_eq!(summary.anatomy[0].parts.len(), 7);
    }
}

#[test]
fn the_worst_come_first() {
    let records = records(200);
    let summary = summary(&records, 10);
    let mut sorted: Vec<_> = records.iter().filter_map(Record::response).collect();
    sorted.sort_unstable_by_key(|&response| std::cmp::Reverse(response));
    let worst = summary.worst.iter();
    let worst: Vec<_> = worst.filter_map(|worst| worst.record.response()).collect();
    assert_eq!(worst, sorted[..5]);
    let sum: f64 = summary.worst[0].parts.iter().map(|part| part.ns).sum();
    assert_eq!(sum, worst[0] as f64);
}

#[test]
fn spilled_agrees_with_exact_within_the_stated_error() {
    let records = records(50_000);
    let (exact, spilled) = (summary(&records, 50_000), summary(&records, 1000));
    assert_eq!(exact.quantile_error, None);
    let near = [&exact, &spilled].map(|summary| summary.within_500us.unwrap());
    assert!((near[0] - near[1]).abs() < 0.02, "{near:?}");
    let error = spilled.quantile_error.unwrap();
    assert!(error <= 0.004);
    let close = |found: Nanos, expected: Nanos| {
        let difference = (found - expected).abs() as f64;
        assert!(
            difference <= error * expected.abs() as f64,
            "{found} {expected}"
        );
    };
    for (spilled, exact) in [
        (&spilled.response, &exact.response),
        (&spilled.network, &exact.network),
        (&spilled.host, &exact.host),
        (&spilled.lateness, &exact.lateness),
        (&spilled.forward, &exact.forward),
    ] {
        let (spilled, exact) = (spilled.as_ref().unwrap(), exact.as_ref().unwrap());
        assert_eq!(spilled.count, exact.count);
        assert_eq!((spilled.mean, spilled.sd), (exact.mean, exact.sd));
        assert_eq!((spilled.min, spilled.max), (exact.min, exact.max));
        assert_eq!(spilled.mean_interval, exact.mean_interval);
        close(spilled.p50, exact.p50);
        close(spilled.p90, exact.p90);
        close(spilled.p99, exact.p99);
        close(spilled.p999, exact.p999);
        assert!(matches!(spilled.p99_interval, Interval::Refused { .. }));
    }
    close(
        spilled.variation.pdv_p50_ns.unwrap(),
        exact.variation.pdv_p50_ns.unwrap(),
    );
    close(
        spilled.variation.pdv_p99_ns.unwrap(),
        exact.variation.pdv_p99_ns.unwrap(),
    );
    assert_eq!(spilled.variation.rfc3550_ns, exact.variation.rfc3550_ns);
    assert_eq!(spilled.variation.ipdv_sd_ns, exact.variation.ipdv_sd_ns);
    assert_eq!(spilled.worst, exact.worst);
    for (spilled, exact) in spilled.anatomy.iter().zip(&exact.anatomy) {
        assert_eq!(spilled.label, exact.label);
        // Wider by a bin at both ends.
        let ratio = spilled.response_ns / exact.response_ns;
        assert!(
            (ratio - 1.0).abs() < 4.0 * error,
            "{} {ratio}",
            spilled.label
        );
        assert!((parts_sum(spilled) - spilled.response_ns).abs() < 1e-6 * spilled.response_ns);
    }
    assert_eq!(spilled.mean_anatomy, exact.mean_anatomy);
}

#[test]
fn the_mean_anatomy_is_of_all() {
    let summary = summary(&records(3_000), 10_000);
    let all = summary.mean_anatomy.unwrap();
    let response = summary.response.unwrap();
    assert_eq!(all.records + all.left_out, response.count);
    if all.left_out == 0 {
        assert!((all.response_ns - response.mean).abs() < 1e-6 * response.mean);
    }
    assert!((parts_sum(&all) - all.response_ns).abs() < 1e-6 * all.response_ns);
}

#[test]
fn memory_is_flat_after_the_spill() {
    let mut noise = Gaussian::new(5);
    let mut builder = SummaryBuilder::new(SAME, 10_000);
    let mut sizes = Vec::new();
    for seq in 0..2_000_000 {
        let mut record = record(seq, &mut noise);
        if seq % 100 == 0 {
            record.outcome = Outcome::Lost;
            record.t_recv = None;
        }
        builder.push(&record);
        if seq == 199_999 || seq == 1_999_999 {
            sizes.push(builder.heap_bytes());
        }
    }
    // What grows is only the number of bins that have been met.
    assert!(sizes[1] < 4 << 20, "{sizes:?}");
    assert!((sizes[1] as f64) < 1.3 * sizes[0] as f64, "{sizes:?}");
    assert_eq!(builder.finish().counts.sent, 2_000_000);
}

#[test]
fn all_lost_is_flat_too() {
    let mut builder = SummaryBuilder::new(SAME, 1000);
    for seq in 0..100_000 {
        let mut record = Record::due(0, 0, seq, Method::Udp, 0);
        record.t_send = Some(5);
        builder.push(&record);
    }
    assert!(builder.heap_bytes() < 100_000);
    let summary = builder.finish();
    assert!(summary.quantile_error.is_some());
    assert_eq!(summary.lateness.unwrap().p99, 5);
}

#[test]
fn exact_rows_are_small() {
    assert!(size_of::<Passage>() + 2 * size_of::<Nanos>() <= 112);
}

#[test]
fn packets_without_a_network_answers_and_what_was_sent_again_are_counted() {
    let mut records = records(400);
    for record in records.iter_mut().filter(|record| record.seq % 5 == 0) {
        record.t_tx = None;
        record.t_recv = record.t_recv.map(|at| at + 200_000_000);
        record.retransmits = Some(1 + u32::from(record.seq == 0));
        record.answer = Some(Answer::Status(404));
    }
    records[1].retransmits = Some(0);
    for limit in [usize::MAX, 100] {
        let summary = summary(&records, limit);
        let (told, of, others) = summary.untold().unwrap();
        assert_eq!((told, of, others.count), (320, 400, 80));
        assert!(others.min > 200_000_000);
        assert_eq!(summary.answers, [(Answer::Status(404), 80)]);
        let again = summary.retransmitted.unwrap();
        assert_eq!((again.segments, again.requests), (81, 80));
    }
    records.iter_mut().for_each(|record| record.t_tx = None);
    assert!(
        summary(&records, 100).untold().is_none(),
        "no packet has one"
    );
}

#[test]
fn within_counts_both_sides_of_the_mean() {
    let mut records = records(4);
    for (record, round_trip) in records.iter_mut().zip([0, 1_000_000, 1_000_001, 1_999_999]) {
        record.t_recv = record.t_send.map(|t_send| t_send + round_trip);
    }
    assert_eq!(summary(&records, 10).within_500us, Some(0.5));
    // Of bins, which these are in the middle of.
    assert_eq!(summary(&records, 1).within_500us, Some(0.5));
}

proptest! {
    /// A reflector may send any stamp, and a file may hold any.
    #[test]
    fn no_stamp_panics(
        stamps in proptest::collection::vec(proptest::array::uniform8(any::<i64>()), 1..40),
        limit in 0_usize..40,
    ) {
        let mut builder = SummaryBuilder::new(SAME, limit);
        for (seq, stamps) in (0..).zip(stamps) {
            let [intended, send, sched, tx, r_rx, r_tx, rx, recv] = stamps;
            let mut record = Record::due(0, 0, seq, Method::Stamp, intended);
            (record.t_send, record.t_sched, record.t_tx) = (Some(send), Some(sched), Some(tx));
            (record.r_rx, record.r_tx) = (Some(r_rx), Some(r_tx));
            (record.t_rx, record.t_recv) = (Some(rx), Some(recv));
            record.outcome = Outcome::Ok;
            builder.push(&record);
        }
        prop_assert!(builder.finish().response.is_some());
    }

    #[test]
    fn parts_add_up_in_every_anatomy(
        masks in proptest::collection::vec(any::<u8>(), 1..200),
        rare in any::<u8>(),
        limit in 0_usize..250,
    ) {
        let mut records = records(masks.len() as u64);
        for (record, mask) in records.iter_mut().zip(masks) {
            let stamps = [
                &mut record.t_send, &mut record.t_sched, &mut record.t_tx, &mut record.r_rx,
                &mut record.r_tx, &mut record.t_rx,
            ];
            for (bit, stamp) in stamps.into_iter().enumerate() {
                // Stamps of `rare` are mostly missing, the others mostly there.
                if (mask & 7 != 0) == (rare >> bit & 1 == 1) || mask >> bit & 3 == 0 {
                    *stamp = None;
                }
            }
        }
        let summary = summary(&records, limit);
        // p50 and max of any number; p90 and p99 of enough.
        let carried = [10, 100].map(|least| usize::from(records.len() >= least));
        prop_assert_eq!(summary.anatomy.len(), 2 + carried[0] + carried[1]);
        for at in &summary.anatomy {
            prop_assert!(at.records > 0);
            prop_assert!((parts_sum(at) - at.response_ns).abs() <= 1e-9 * at.response_ns);
            let mut stages = at.parts.iter().flat_map(|part| part.stages.iter()).collect::<Vec<_>>();
            stages.sort_unstable();
            prop_assert_eq!(stages, StageSet::OF_PACKETS.iter().collect::<Vec<_>>());
        }
    }
}
