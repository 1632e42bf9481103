use super::*;
use crate::item::Backlog;
use crate::tests::Thing;
use crate::{Counts, Settings, Switch};
use delaylab_model::path;
use delaylab_model::quantity::{Limit, Rate, Size};
use proptest::prelude::*;

/// Picoseconds in a microsecond.
const MICRO: Picos = 1_000_000;

fn of(rate: u64, burst: u64) -> Limits {
    Limits {
        rate: Parameters { rate, burst },
        ceiling: None,
        uncounted: 0,
    }
}

fn packet(number: u32, bytes: u32) -> Thing {
    Thing::cell(0).number(number).bytes(bytes)
}

/// The times at which packets leave that all come at time zero, and the order of them. Nothing but the shaper delays.
fn departures(switch: &mut Switch<Thing>, packets: &[(u32, u32)]) -> Vec<(u32, Picos)> {
    let mut drops = Vec::new();
    for &(number, bytes) in packets {
        switch.enqueue(0, 0, packet(number, bytes), &mut drops);
    }
    let (mut now, mut left) = (0, Vec::new());
    loop {
        while let Some(item) = switch.dequeue(now, 0, &mut drops) {
            left.push((item.number, now));
        }
        match switch.next_event(0) {
            Some(at) => now = at,
            None => return left,
        }
    }
}

fn switch(change: impl FnOnce(&mut path::Switch)) -> Switch<Thing> {
    let mut section = path::Switch::default();
    change(&mut section);
    let settings = Settings::read(&section, Counts::Packets, &["a", "b"]);
    Switch::new(&settings.expect("good settings"), 1, 1)
}

fn bucket(rate: u64, burst: u64) -> path::TokenBucket {
    path::TokenBucket {
        rate: Rate(rate),
        burst: Size(burst),
        ceil: None,
        ceil_burst: None,
        header: None,
    }
}

/// 8 Mbit/s is a byte a microsecond. A bucket of 3000 B lets three packets of 1000 B pass at once, and then one in
/// each millisecond.
#[test]
fn a_burst_passes_and_the_rest_at_the_rate() {
    let mut shaped = switch(|section| section.shaper = Some(bucket(8_000_000, 3_000)));
    let packets: Vec<_> = (0..6).map(|number| (number, 1_000)).collect();
    let expected = [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 1_000 * MICRO),
        (4, 2_000 * MICRO),
        (5, 3_000 * MICRO),
    ];
    assert_eq!(departures(&mut shaped, &packets), expected);
}

/// A bucket of 2500 B has 500 left when two packets of 1000 have gone: the third waits for 500 more.
#[test]
fn what_is_left_in_the_bucket_counts() {
    let mut shaped = switch(|section| section.shaper = Some(bucket(8_000_000, 2_500)));
    let left = departures(&mut shaped, &[(0, 1_000), (1, 1_000), (2, 1_000), (3, 200)]);
    let expected = [(0, 0), (1, 0), (2, 500 * MICRO), (3, 700 * MICRO)];
    assert_eq!(left, expected);
}

/// A rate of 8 Mbit/s with 4000 B, a ceiling of 16 Mbit/s with 1000 B: one packet at once, then one each 500 µs until
/// the large bucket is empty, then one each 1000 µs.
#[test]
fn two_rates_are_the_ceiling_first_and_then_the_rate() {
    let mut shaped = switch(|section| {
        section.shaper = Some(path::TokenBucket {
            ceil: Some(Rate(16_000_000)),
            ceil_burst: Some(Size(1_000)),
            ..bucket(8_000_000, 4_000)
        });
    });
    let packets: Vec<_> = (0..9).map(|number| (number, 1_000)).collect();
    let left = departures(&mut shaped, &packets);
    let millis: Vec<_> = left
        .iter()
        .map(|(_, at)| *at as f64 / 1e3 / MICRO as f64)
        .collect();
    // After n packets at time t there is 4000 + t − n·1000 left: 0 when the seventh has gone at 3 ms.
    assert_eq!(millis, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0]);
}

#[test]
fn a_packet_that_is_larger_than_the_bucket_is_dropped() {
    let mut shaped = switch(|section| section.shaper = Some(bucket(8_000_000, 900)));
    let mut drops = Vec::new();
    shaped.enqueue(0, 0, packet(0, 1_000), &mut drops);
    shaped.enqueue(0, 0, packet(1, 900), &mut drops);
    assert_eq!(
        shaped.dequeue(0, 0, &mut drops).map(|item| item.number),
        Some(1)
    );
    assert_eq!(drops.len(), 1);
    assert_eq!((drops[0].item.number, drops[0].cause), (0, Cause::Shaper));
    assert!(shaped.backlog(0).is_empty());
}

/// What waits for tokens stands in the buffer.
#[test]
fn the_buffer_holds_what_waits_for_tokens() {
    let mut shaped = switch(|section| {
        section.shaper = Some(bucket(8_000_000, 1_000));
        section.buffer = Some(Limit::Bytes(3_000));
    });
    let mut drops = Vec::new();
    shaped.enqueue(0, 0, packet(0, 1_000), &mut drops);
    assert!(shaped.dequeue(0, 0, &mut drops).is_some());
    for number in 1..=4 {
        shaped.enqueue(0, 0, packet(number, 1_000), &mut drops);
        assert!(shaped.dequeue(0, 0, &mut drops).is_none());
    }
    assert_eq!(shaped.backlog(0).bytes, 3_000);
    assert!(!shaped.has_room(0, &packet(5, 1)));
    assert_eq!(drops.len(), 1);
    assert_eq!(
        (drops[0].item.number, drops[0].cause),
        (4, Cause::BufferFull)
    );
    // A reset empties all of it.
    let mut lost = 0;
    while shaped.give_up(0, 0, &mut drops).is_some() {
        lost += 1;
    }
    assert_eq!((lost, shaped.backlog(0)), (3, Backlog::default()));
}

/// A policer never holds anything: at a byte a microsecond, 1000 B after 600 µs find 600.
#[test]
fn a_policer_drops_what_finds_too_few_tokens() {
    let mut policed = switch(|section| section.policer = Some(bucket(8_000_000, 2_000)));
    let mut passed = Vec::new();
    let mut drops = Vec::new();
    for (number, at, bytes) in [
        (0, 0, 1_000),
        (1, 0, 1_000),
        (2, 0, 1),
        (3, 600, 1_000),
        (4, 600, 600),
        (5, 1_599, 1_000),
        (6, 1_600, 1_000),
        (7, 9_000, 2_000),
    ] {
        let now = at * MICRO;
        policed.enqueue(now, 0, packet(number, bytes), &mut drops);
        passed.extend(policed.dequeue(now, 0, &mut drops).map(|item| item.number));
    }
    assert_eq!(passed, [0, 1, 4, 6, 7]);
    assert!(drops.iter().all(|drop| drop.cause == Cause::Policer));
}

#[test]
fn what_is_not_counted_takes_no_tokens() {
    let limits = Limits {
        uncounted: 24,
        ..of(8_000_000, 1_000)
    };
    let mut bucket = TokenBucket::new(limits);
    assert_eq!(bucket.take(0, &packet(0, 1_024)), Ok(()));
    assert_eq!(bucket.take(0, &packet(1, 524)), Err(500 * MICRO));
    assert_eq!(bucket.take(0, &packet(2, 20)), Ok(()));
    let limits = Limits {
        uncounted: -22,
        ..of(8_000_000, 1_022)
    };
    let mut bucket = TokenBucket::new(limits);
    assert_eq!(bucket.take(0, &packet(0, 1_000)), Ok(()));
    assert_eq!(bucket.take(0, &packet(1, 478)), Err(500 * MICRO));
}

/// So does the buffer behind a shaper.
#[test]
fn what_the_line_does_not_have_is_counted_too() {
    let settings = |header| {
        let section = path::Switch {
            shaper: Some(path::TokenBucket {
                header: Some(Size(header)),
                ..bucket(1_000_000, 1_100)
            }),
            buffer: Some(Limit::Bytes(3_300)),
            ..path::Switch::default()
        };
        let settings = Settings::read(&section, Counts::Packets, &[]);
        settings.expect("good settings").with_framing(38, &section)
    };
    // 1000 bytes of IP, as they are on the line.
    let kept = |header| {
        let mut shaped = Switch::new(&settings(header), 1, 1);
        let mut drops = Vec::new();
        for number in 0..9 {
            shaped.enqueue(0, 0, packet(number, 1_038), &mut drops);
        }
        9 - drops.len()
    };
    assert_eq!([0, 100, 200].map(kept), [3, 3, 2]);
}

proptest! {
    /// Between any two departures no more leaves than the bucket and what came in meanwhile; and nothing waits
    /// longer than it has to.
    #[test]
    fn no_more_leaves_than_the_bucket_and_the_rate(
        rate in 1_000_u64..1_000_000_000,
        burst in 1_500_u64..100_000,
        sizes in proptest::collection::vec(1_u32..=1_500, 1..60),
    ) {
        let mut shaped = switch(|section| section.shaper = Some(bucket(rate, burst)));
        let packets: Vec<_> = sizes.iter().zip(0..).map(|(&bytes, number)| (number, bytes)).collect();
        let left = departures(&mut shaped, &packets);
        prop_assert_eq!(left.len(), packets.len());
        let size = |number: u32| u128::from(sizes[number as usize]);
        let mut sum = 0;
        for &(number, at) in &left {
            sum += size(number);
            let beyond = (sum * 8 * BIT).saturating_sub(u128::from(burst) * 8 * BIT);
            // Everything came at time zero: the first moment at which so much could have left.
            prop_assert_eq!(u128::from(at), beyond.div_ceil(u128::from(rate)));
        }
    }
}
