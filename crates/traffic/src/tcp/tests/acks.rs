//! When the receiver acknowledges.

use super::super::*;
use super::MS;

fn segment(offset: u64, sent: Picos) -> Segment {
    Segment {
        offset,
        len: 1000,
        retransmit: false,
        push: false,
        ect: false,
        cwr: false,
        syn: false,
        sent,
    }
}

fn fixed() -> Settings {
    Settings {
        delayed_ack: Some(DelayedAck::Fixed {
            segments: 2,
            timeout: 40 * MS,
        }),
        ..Settings::modern(1000, 64_000)
    }
}

#[test]
fn every_second_segment_or_after_a_while() {
    let mut receiver = Receiver::new(&fixed());
    assert_eq!(receiver.on_segment(0, &segment(0, 1), false), None);
    let ack = receiver.on_segment(1, &segment(1000, 2), false).unwrap();
    // The timestamp is of the first that the ACK covers (RFC 7323 §4.3).
    assert_eq!((ack.next, ack.echo, ack.window), (2000, 1, 64_000));
    assert_eq!(receiver.next_timeout(), None);
    assert_eq!(receiver.on_segment(5, &segment(2000, 3), false), None);
    assert_eq!(receiver.next_timeout(), Some(40 * MS + 5));
    assert_eq!(receiver.on_timeout(40 * MS), None);
    assert_eq!(receiver.on_timeout(40 * MS + 5).unwrap().next, 3000);
    assert_eq!(
        (receiver.next_timeout(), receiver.delivered()),
        (None, 3000)
    );
}

#[test]
fn in_1995_it_waits_for_the_tick() {
    let mut receiver = Receiver::new(&Settings::of_1995(1000, 64_000));
    receiver.on_segment(199 * MS, &segment(0, 0), false);
    assert_eq!(receiver.next_timeout(), Some(200 * MS));
    let mut receiver = Receiver::new(&Settings::of_1995(1000, 64_000));
    receiver.on_segment(200 * MS, &segment(0, 0), false);
    assert_eq!(receiver.next_timeout(), Some(400 * MS));
}

#[test]
fn out_of_order_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&fixed());
    receiver.on_segment(0, &segment(0, 7), false);
    let next = |ack: Option<Ack>| ack.map(|ack| (ack.next, ack.echo));
    // Beyond a gap: duplicates, with the timestamp of the last in order.
    assert_eq!(
        next(receiver.on_segment(0, &segment(2000, 8), false)),
        Some((1000, 7))
    );
    assert_eq!(
        next(receiver.on_segment(0, &segment(3000, 9), false)),
        Some((1000, 7))
    );
    // The gap is filled; what was known comes again.
    assert_eq!(
        next(receiver.on_segment(0, &segment(1000, 10), false)),
        Some((4000, 10))
    );
    assert_eq!(
        next(receiver.on_segment(0, &segment(0, 7), false)),
        Some((4000, 10))
    );
    assert_eq!(
        next(receiver.on_segment(0, &segment(4000, 12), false)),
        None
    );
}

#[test]
fn the_first_of_ns3_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&Settings::ns3(1052));
    assert!(receiver.on_segment(0, &segment(0, 0), false).is_some());
    assert!(receiver.on_segment(0, &segment(1000, 0), false).is_none());
    assert!(receiver.on_segment(0, &segment(2000, 0), false).is_some());
}

#[test]
fn linux_acknowledges_at_once_at_first_and_by_bytes_then() {
    let mut receiver = Receiver::new(&Settings::modern(1000, 64_000));
    let mut acks = Vec::new();
    for k in 0..24 {
        acks.push(
            receiver
                .on_segment(k * MS, &segment(k * 1000, 0), false)
                .is_some(),
        );
    }
    let slow = [false, true].repeat(4);
    assert_eq!((&acks[..16], &acks[16..]), (&[true; 16][..], &slow[..]));
    // One alone waits for 40 ms, as long as they come fast.
    assert_eq!(
        receiver.on_segment(24 * MS, &segment(24_000, 0), false),
        None
    );
    assert_eq!(receiver.next_timeout(), Some(64 * MS));
    assert!(receiver.on_timeout(64 * MS).is_some());
    // Where one comes each 30 ms, longer: 20 + 30 ms.
    assert_eq!(
        receiver.on_segment(54 * MS, &segment(25_000, 0), false),
        None
    );
    assert_eq!(receiver.next_timeout(), Some(104 * MS));
    // After a silence, and after what had come before, at once again.
    assert!(
        receiver
            .on_segment(400 * MS, &segment(26_000, 0), false)
            .is_some()
    );
    assert!(
        receiver
            .on_segment(401 * MS, &segment(27_000, 0), false)
            .is_some()
    );
}

#[test]
fn a_sack_says_what_has_come_beyond_and_what_came_twice() {
    let mut receiver = Receiver::new(&fixed());
    let mut on = |offset| receiver.on_segment(0, &segment(offset, 0), false).unwrap();
    on(1000);
    on(3000);
    let ack = on(2000);
    assert_eq!(ack.sack.pieces(0).collect::<Vec<_>>(), [(1000, 4000)]);
    assert!(!ack.sack.is_duplicate() && on(2000).sack.is_duplicate());
    let ack = on(0);
    assert_eq!((ack.next, ack.sack), (4000, SackOption::default()));
}

#[test]
fn a_syn_is_answered_and_the_ack_of_the_answer_is_not() {
    let mut receiver = Receiver::new(&Settings::modern(1000, 64_000));
    let syn = Segment {
        len: 0,
        syn: true,
        ..segment(0, 5)
    };
    let answer = receiver.on_segment(7, &syn, false).unwrap();
    assert_eq!((answer.syn, answer.next, answer.echo), (true, 0, 5));
    let last = Segment { syn: false, ..syn };
    assert_eq!(receiver.on_segment(8, &last, false), None);
    assert_eq!(receiver.delivered(), 0);
}
