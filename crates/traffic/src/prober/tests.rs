#![allow(clippy::unwrap_used)]
use super::*;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::probe::Pacing;
use proptest::prelude::*;
use std::net::IpAddr;

fn config(pacing: Pacing, count: u64) -> Config {
    Config {
        trial: 0,
        probe: 0,
        method: Method::Udp,
        dscp: 0,
        ip_size: Some(84),
        target: None,
        pacing,
        seed: 1,
        start: 0,
        count: Some(count),
        duration: None,
        timeout: SECOND,
        expected: Expected::default(),
    }
}

const EVERY: Pacing = Pacing::Every {
    interval_ns: MILLISECOND,
};

fn send(prober: &mut Prober, now: Nanos) -> u64 {
    let Step::Send { seq, t_intended } = prober.next(now) else {
        panic!("nothing due at {now}: {:?}", prober.next(now));
    };
    prober.sent(t_intended, now, None);
    seq
}

fn reply(prober: &mut Prober, seq: u64, t_recv: Nanos) {
    prober.reply(&Reply {
        seq,
        t_recv,
        ..Reply::default()
    });
}

fn close(prober: &mut Prober) -> Vec<Record> {
    let mut records = Vec::new();
    prober.close(|record| records.push(*record));
    records.sort_by_key(|record| record.seq);
    records
}

#[test]
fn late_slots_are_sent_late_and_keep_their_time() {
    let mut prober = Prober::new(config(EVERY, 3));
    for _ in 0..3 {
        send(&mut prober, 10 * MILLISECOND);
    }
    let intended: Vec<_> = close(&mut prober).iter().map(|r| r.t_intended).collect();
    assert_eq!(intended, [0, MILLISECOND, 2 * MILLISECOND]);
}

#[test]
fn answered_late_and_lost_are_told_apart() {
    let mut prober = Prober::new(config(EVERY, 3));
    for seq in 0..3 {
        send(&mut prober, seq * MILLISECOND);
    }
    reply(&mut prober, 0, 5 * MILLISECOND);
    reply(&mut prober, 1, SECOND + 500 * MILLISECOND);
    assert!(matches!(
        prober.next(2 * SECOND),
        Step::Wait {
            due: None,
            deadline: Some(_)
        }
    ));
    let mut records = Vec::new();
    prober.take_whole(3 * SECOND, |record| records.push(*record));
    assert_eq!(prober.next(3 * SECOND), Step::Done);
    records.sort_by_key(|record| record.seq);
    let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Late, Outcome::Lost]);
}

/// The reflector slept: every reply came, and too late for its record.
#[test]
fn what_is_answered_long_after_its_time_out_is_not_lost_on_the_way() {
    let mut prober = Prober::new(config(EVERY, 4));
    for seq in 0..4 {
        send(&mut prober, seq * MILLISECOND);
    }
    reply(&mut prober, 0, 5 * MILLISECOND);
    prober.take_whole(3 * SECOND, |_| {});
    for seq in [1, 2, 2, 0] {
        reply(&mut prober, seq, 3 * SECOND);
    }
    assert_eq!(prober.strays(), 4);
    prober.set_final_count(Some(3));
    let loss = prober.loss_direction().unwrap();
    assert_eq!((loss.forward, loss.back, loss.unknown), (1, 0, 0));
    assert_eq!(loss.answered_later, 2);
}

/// Their records are closed: one was refused, by an error for a copy of it; of the other a copy comes late.
#[test]
fn what_comes_to_a_closed_record_is_not_lost_on_the_way_back() {
    let counted = |prober: &mut Prober, seq, t_recv, count| {
        prober.reply(&Reply {
            seq,
            t_recv,
            reflector_seq: Some(count),
            ..Reply::default()
        });
    };
    let mut prober = Prober::new(config(EVERY, 3));
    for seq in 0..3 {
        send(&mut prober, seq * MILLISECOND);
    }
    let refused = Refused {
        by: None,
        icmp: None,
        info: 0,
        errno: 113,
    };
    prober.refused(0, &refused);
    counted(&mut prober, 0, 3 * MILLISECOND, 0);
    counted(&mut prober, 1, 4 * MILLISECOND, 1);
    prober.take_whole(SECOND, |_| {});
    counted(&mut prober, 1, SECOND, 1);
    counted(&mut prober, 1, SECOND, 2);
    // Packet 2 did not arrive: the third that did was the copy.
    prober.set_final_count(Some(3));
    let loss = prober.loss_direction().unwrap();
    assert_eq!((loss.forward, loss.back, loss.unknown), (1, 0, 0));
    assert_eq!((loss.answered_later, prober.strays()), (1, 3));
}

/// A record stays open for copies and stamps, which a clock that is set later does not touch.
#[test]
fn what_was_answered_before_the_clock_was_set_is_not_marked() {
    let mut prober = Prober::new(config(EVERY, 3));
    for seq in 0..3 {
        send(&mut prober, seq * MILLISECOND);
    }
    reply(&mut prober, 0, 3 * MILLISECOND);
    prober.clock_event(ClockEvent::Step);
    reply(&mut prober, 1, 4 * MILLISECOND);
    let events: Vec<_> = close(&mut prober).iter().map(|r| r.clock_event).collect();
    assert_eq!(
        events,
        [ClockEvent::None, ClockEvent::Step, ClockEvent::Step]
    );
}

#[test]
fn copies_and_reordering_are_counted() {
    let mut prober = Prober::new(config(EVERY, 3));
    for seq in 0..3 {
        send(&mut prober, seq * MILLISECOND);
    }
    for seq in [1, 1, 0, 2, 0, 0] {
        reply(&mut prober, seq, 5 * MILLISECOND);
    }
    let records = close(&mut prober);
    assert_eq!(
        records.iter().map(|r| r.copies).collect::<Vec<_>>(),
        [2, 1, 0]
    );
    assert_eq!(
        records.iter().map(|r| r.reorder_extent).collect::<Vec<_>>(),
        [1, 0, 0]
    );
}

#[test]
fn a_closed_loop_waits_for_its_reply_or_its_time_out() {
    let mut prober = Prober::new(config(
        Pacing::Wait {
            wait_ns: MILLISECOND,
        },
        3,
    ));
    send(&mut prober, 0);
    assert!(matches!(
        prober.next(10),
        Step::Wait {
            due: None,
            deadline: Some(SECOND)
        }
    ));
    reply(&mut prober, 0, 500);
    assert_eq!(
        prober.next(600),
        Step::Wait {
            due: Some(MILLISECOND + 500),
            deadline: None
        }
    );
    send(&mut prober, MILLISECOND + 600);
    // Lost: due at its time-out and the wait.
    let due = MILLISECOND + 600 + SECOND + MILLISECOND;
    assert!(matches!(prober.next(due), Step::Send { seq: 2, t_intended } if t_intended == due));
}

#[test]
fn a_record_waits_for_its_stamps_but_not_for_ever() {
    let expected = Expected {
        departures: true,
        follow_ups: true,
        acks: false,
    };
    let mut prober = Prober::new(Config {
        expected,
        ..config(EVERY, 1000)
    });
    send(&mut prober, 0);
    prober.reply(&Reply {
        seq: 0,
        t_recv: 900,
        r_rx: Some(1),
        ..Reply::default()
    });
    let mut whole = Vec::new();
    prober.take_whole(MOST_SETTLE * 2, |record| whole.push(record.seq));
    assert!(whole.is_empty(), "neither stamps nor follow-up");
    prober.stamped(0, StampPoint::TSched, 1);
    prober.stamped(0, StampPoint::TTx, 2);
    prober.stamped(0, StampPoint::TTx, 99);
    prober.follow_up(0, 3);
    prober.take_whole(MOST_SETTLE * 2, |record| {
        assert_eq!((record.t_tx, record.r_tx), (Some(2), Some(3)));
        whole.push(record.seq);
    });
    assert_eq!(whole, [0]);
    for seq in 1..200 {
        let now = MOST_SETTLE * 2 + i64::try_from(seq).unwrap() * MILLISECOND;
        send(&mut prober, now);
        prober.reply(&Reply {
            seq,
            t_recv: now,
            r_rx: Some(1),
            ..Reply::default()
        });
    }
    prober.take_whole(SECOND, |record| whole.push(record.seq));
    assert!(
        whole.len() > 100,
        "stamps that never come hold nothing up: {}",
        whole.len()
    );
}

#[test]
fn told_to_stop_far_behind_the_slots_are_skipped_and_said_so() {
    let mut prober = Prober::new(config(EVERY, u64::MAX));
    send(&mut prober, 0);
    reply(&mut prober, 0, 10);
    prober.stop(100 * MILLISECOND);
    let records = close(&mut prober);
    assert_eq!(records.len(), 100);
    assert!(
        records[1..]
            .iter()
            .all(|r| r.outcome == Outcome::Skipped && r.t_send.is_none())
    );
}

/// Stopped long before the time-out: what waited much longer than any reply took is lost, of the rest nothing is known.
#[test]
fn told_to_stop_what_is_under_way_is_lost_only_after_a_long_wait() {
    use Outcome::{Lost, Ok, Skipped};
    let outcomes = |round_trip: Option<Nanos>, now: Nanos| {
        let mut prober = Prober::new(config(EVERY, 3));
        send(&mut prober, 0);
        if let Some(round_trip) = round_trip {
            reply(&mut prober, 0, round_trip);
        }
        send(&mut prober, 100 * MILLISECOND);
        send(&mut prober, 600 * MILLISECOND);
        prober.stop(600 * MILLISECOND);
        prober.give_up_overdue(now);
        let records = close(&mut prober);
        assert!(records.iter().all(|record| record.t_send.is_some()));
        let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
        (outcomes, prober.abandoned)
    };
    let replied = |ms| outcomes(Some(ms * MILLISECOND), 700 * MILLISECOND);
    assert_eq!(replied(60), (vec![Ok, Lost, Skipped], 1));
    assert_eq!(replied(61), (vec![Ok, Skipped, Skipped], 2));
    // A stall of a host is longer than ten of its shortest round trips.
    assert_eq!(replied(1), (vec![Ok, Lost, Lost], 0));
    let soon = outcomes(Some(MILLISECOND), 699 * MILLISECOND);
    assert_eq!(soon, (vec![Ok, Lost, Skipped], 1));
    // No reply shows how long one takes.
    let none = outcomes(None, SECOND);
    assert_eq!(none, (vec![Lost, Skipped, Skipped], 2));
}

#[test]
fn a_refusal_ends_the_packet_and_names_who() {
    let router: IpAddr = "192.0.2.1".parse().unwrap();
    let mut prober = Prober::new(config(EVERY, 1));
    send(&mut prober, 0);
    let too_big = Refused {
        by: Some(router),
        icmp: Some([3, 4]),
        info: 1400,
        errno: MESSAGE_TOO_LONG,
    };
    prober.refused(0, &too_big);
    prober.refused(0, &too_big);
    assert_eq!(prober.next(10), Step::Done);
    let records = close(&mut prober);
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].outcome, records[0].refused_by),
        (Outcome::Refused, Some(router))
    );
    assert_eq!(
        (records[0].icmp, records[0].icmp_type, records[0].icmp_code),
        (Some(IcmpReason::TooBig), Some(3), Some(4))
    );
    assert_eq!(records[0].path_mtu, Some(1400));
}

/// ICMPv6 has numbers of its own, and the field that holds an MTU in one error holds nothing in others.
#[test]
fn a_refusal_is_read_by_the_protocol_of_who_sent_it() {
    let refused = |by: &str, icmp: [u8; 2], info| {
        let by = by.parse().ok();
        let refused = Refused {
            by,
            icmp: Some(icmp),
            info,
            errno: 113,
        };
        (refused.reason(), refused.path_mtu())
    };
    assert_eq!(
        refused("2001:db8::1", [3, 0], 7),
        (Some(IcmpReason::TtlExceeded), None)
    );
    assert_eq!(
        refused("192.0.2.1", [3, 0], 0),
        (Some(IcmpReason::NoRoute), None)
    );
    assert_eq!(
        refused("2001:db8::1", [2, 0], 1280),
        (Some(IcmpReason::TooBig), Some(1280))
    );
    assert_eq!(
        refused("192.0.2.1", [3, 4], 0),
        (Some(IcmpReason::TooBig), None)
    );
}

proptest! {
    /// Whatever comes in whatever order: every packet ends in exactly one record, and memory ends empty.
    #[test]
    fn every_packet_ends_in_one_record(
        events in proptest::collection::vec((0_u8..6, 0_u64..60, 0_i64..300 * MILLISECOND), 1..400),
        closed in any::<bool>(),
    ) {
        let pacing = if closed { Pacing::Wait { wait_ns: 0 } } else { EVERY };
        let mut prober = Prober::new(config(pacing, 50));
        let mut seen = std::collections::BTreeMap::new();
        let mut now = 0;
        for (kind, seq, pass) in events {
            now += pass / 10;
            match kind {
                0 | 1 => if let Step::Send { t_intended, .. } = prober.next(now) {
                    if seq == 7 { prober.send_failed(t_intended, now, Some(1), None) }
                    else { prober.sent(t_intended, now, None) }
                },
                2 => prober.reply(&Reply { seq, t_recv: now, ..Reply::default() }),
                3 => prober.refused(seq, &Refused { by: None, icmp: None, info: 0, errno: 111 }),
                4 => prober.stamped(seq, StampPoint::TTx, now),
                _ => prober.take_whole(now, |r| *seen.entry(r.seq).or_insert(0) += 1),
            }
        }
        let sent = prober.next_seq();
        prober.close(|r| *seen.entry(r.seq).or_insert(0) += 1);
        prop_assert_eq!(seen.len() as u64, sent);
        prop_assert!(seen.values().all(|&count| count == 1), "{:?}", seen);
        prop_assert_eq!(prober.awaiting(), 0);
    }
}
