use super::*;
use crate::tests::Thing;

const NANOSECOND: Picos = 1_000;

/// 10 Gbit/s over 100 m, Ethernet frames of 1500 bytes of IP.
const LINK: Link = Link {
    rate: 10_000_000_000,
    propagation: 500 * NANOSECOND,
    latency: 0,
    response: 3_072 * NANOSECOND,
    largest: 1_538,
};

#[test]
fn headroom_of_a_link_is_that_by_hand() {
    // 60 quanta of 51.2 ns and 1 µs there and back are 5090 bytes; three frames and the PFC frame beside them.
    assert_eq!(LINK.headroom(), 5_090 + 3 * 1_538 + 84);
    let slow_switch = Link {
        latency: 800 * NANOSECOND,
        ..LINK
    };
    assert_eq!(slow_switch.headroom(), LINK.headroom() + 1_000);
    let endless = Link {
        rate: u64::MAX,
        propagation: Picos::MAX,
        ..LINK
    };
    assert_eq!(endless.headroom(), u64::MAX);
}

#[test]
fn the_standard_s_responses() {
    let by_rate = [100, 1_000, 10_000, 25_000, 40_000, 100_000, 400_000]
        .map(|megabits| response_of_the_standard(megabits * 1_000_000));
    // 512, 1024, 30,720, 40,960, 60,416, 201,728 and 463,360 bit times.
    let expected = [
        5_120_000, 1_024_000, 3_072_000, 1_638_400, 1_510_400, 2_017_280, 1_158_400,
    ];
    assert_eq!(by_rate, expected);
}

#[test]
fn pauses_last_their_quanta() {
    assert_eq!(LINK.pause(u16::MAX), 65_535 * 51_200);
    // A largest frame may be before the one that asks again: 1.2304 µs of 24.03 quanta, twice.
    assert_eq!(LINK.least_quanta(), 49);
}

fn guards(kind: FlowControlKind, lossless: Set) -> Guards {
    let parameters = Parameters {
        kind,
        lossless,
        xoff: 1_000,
        xon: None,
        headroom: Some(500),
        quanta: u16::MAX,
        response: None,
    };
    let mut guards = Guards::new(parameters, 2);
    for input in 0..2 {
        guards.limit(
            input,
            Limits {
                xoff: 1_000,
                xon: 600,
                headroom: 500,
            },
        );
    }
    guards
}

#[test]
fn the_other_end_is_told_once_at_each_threshold() {
    let mut guards = guards(FlowControlKind::Pfc, 0b110);
    let thing = Thing::cell(0).queue(2).bytes(200);
    let mut told = Vec::new();
    for _ in 0..7 {
        assert!(guards.admits(&thing));
        guards.takes(&thing);
        told.push(guards.change(0, 2));
    }
    // 1200 is more than 1000; 1400 is told already.
    assert_eq!(told, [0, 0, 0, 0, 0, 0b100, 0]);
    assert_eq!(
        (guards.stopped(0), guards.inputs[0].held[2]),
        (0b100, 1_400)
    );
    // 100 more would be 1500 = xoff + headroom.
    assert!(!guards.admits(&thing) && guards.admits(&thing.bytes(100)));
    // Others have their own: another priority, another input.
    assert!(guards.admits(&Thing::cell(0).queue(1).bytes(1_500)));
    assert_eq!((guards.change(0, 1), guards.stopped(1)), (0, 0));
    let mut told = Vec::new();
    for _ in 0..7 {
        guards.gives(&thing);
        told.push(guards.change(0, 2));
    }
    // 600 is not more than 600.
    assert_eq!(told, [0, 0, 0, 0b100, 0, 0, 0]);
}

#[test]
fn pause_counts_all_classes_together_and_what_may_be_lost_is_not_counted() {
    let mut guards = guards(FlowControlKind::Pause, Set::MAX);
    let of = |queue| Thing::cell(0).queue(queue).bytes(600);
    guards.takes(&of(0));
    assert_eq!(guards.change(0, 0), 0);
    guards.takes(&of(3));
    assert_eq!(guards.change(0, 3), 1);
    assert_eq!(guards.parameters().queues(1), Set::MAX);

    let mut guards = self::guards(FlowControlKind::Pfc, 0b1);
    guards.takes(&of(3));
    guards.takes(&of(3));
    assert_eq!((guards.change(0, 3), guards.inputs[0].held), (0, [0; 8]));
    guards.gives(&of(3));
}
