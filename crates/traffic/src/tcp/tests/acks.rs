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
        sent,
    }
}

#[test]
fn every_second_segment_or_after_a_while() {
    let mut receiver = Receiver::new(&Settings::modern(1000, 64_000));
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
    let mut receiver = Receiver::new(&Settings::modern(1000, 64_000));
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
