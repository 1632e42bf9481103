#![allow(clippy::unwrap_used)]

use super::*;
use crate::soft_switch::probes::WatchedProbe;
use delaylab_model::method::Method;
use delaylab_model::path;
use delaylab_model::quantity::{Rate, Size};
use delaylab_switch::Counts as Counting;
use etherparse::PacketBuilder;
use proptest::prelude::*;
use std::collections::BTreeSet;

const MICRO: Picos = 1_000_000;
/// 10 Mbit/s: 0.8 µs a byte.
const RATE: u64 = 10_000_000;

const fn mac(host: u8) -> Mac {
    [2, 0, 0, 0, 0, host]
}

/// Hosts 0, 1, … at the ports of one switch.
fn settings(hosts: u8, change: impl FnOnce(&mut path::Switch)) -> DeviceSettings {
    let mut section = path::Switch::default();
    change(&mut section);
    let port = |host: u8| PortSettings {
        name: format!("s→h{host}").into(),
        rate: RATE,
        propagation: 0,
        host: true,
    };
    DeviceSettings {
        ports: (0..hosts).map(port).collect(),
        table: (0..hosts).map(|host| (mac(host), host.into())).collect(),
        floods: true,
        queues: Settings::read(&section, Counting::Packets, &[]).unwrap(),
        queue_of: [0; 64],
        framing: Framing::Ethernet,
        latency: 0,
        reset: None,
        pause: None,
        impair: section.impair.unwrap_or_default(),
    }
}

/// A UDP packet whose payload begins with a number, from host to host.
fn packet(from: u8, to: u8, seq: u32, payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(mac(from), mac(to))
        .ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
        .udp(1000, 2000);
    let mut data = vec![0; payload.max(8)];
    data[4..8].copy_from_slice(&seq.to_be_bytes());
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &data).unwrap();
    bytes
}

/// What it takes on the line: check sequence, preamble and gap come to it.
fn on_the_line(payload: usize) -> Picos {
    let frame = (payload.max(8) + 8 + 20 + 18).max(64) + 20;
    frame as Picos * 800_000
}

fn watching() -> Probes {
    Probes::new(vec![WatchedProbe {
        probe: 0,
        method: Method::Udp,
        from: [10, 0, 0, 0].into(),
        to: [10, 0, 0, 1].into(),
        port: Some(2000),
        code_point: 0,
    }])
}

/// Everything until nothing is left to do.
fn finish(device: &mut Device, due: &mut DeviceOutput) {
    while let Some(next) = device.next() {
        device.advance(next, due);
    }
}

#[test]
fn a_lone_packet_crosses_two_lines_one_after_the_other() {
    let mut all = settings(2, |_| ());
    all.latency = 12 * MICRO;
    all.ports[0].propagation = 5 * MICRO;
    all.ports[1].propagation = 5 * MICRO;
    let mut device = Device::new(all, 1);
    let mut due = DeviceOutput::default();
    device.receive(MICRO, 0, &packet(0, 1, 0, 100), &mut watching());
    let whole = MICRO + on_the_line(100) + 5 * MICRO + 12 * MICRO;
    assert_eq!(device.next(), Some(whole));
    device.advance(whole, &mut due);
    assert_eq!((due.met[0].enqueue, due.met[0].dequeue), (whole, whole));
    assert_eq!(device.next(), Some(whole + on_the_line(100)));
    device.advance(whole + on_the_line(100), &mut due);
    assert!(due.send.is_empty());
    let at = device.next().unwrap();
    assert_eq!(at, whole + on_the_line(100) + 5 * MICRO);
    device.advance(at, &mut due);
    assert_eq!(
        due.send,
        [Departure {
            port: 1,
            at,
            bytes: packet(0, 1, 0, 100)
        }]
    );
    assert_eq!(device.next(), None);
}

/// Shorter than what is left of the frame on the line: the end of that frame is not the end of the next one.
#[test]
fn after_a_short_reset_the_line_begins_anew() {
    let mut device = Device::new(settings(2, |_| ()), 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    let (first, second) = (on_the_line(1400), on_the_line(800));
    device.receive(0, 0, &packet(0, 1, 0, 1400), &mut probes);
    device.receive(0, 0, &packet(0, 1, 1, 800), &mut probes);
    device.at(first + MICRO, Event::Resets(first + 2 * MICRO));
    let mut left = 0;
    while let Some(next) = device.next() {
        device.advance(next, &mut due);
        if left == 0 && !due.send.is_empty() {
            left = next;
        }
    }
    assert_eq!(
        due.send,
        [Departure {
            port: 1,
            at: left,
            bytes: packet(0, 1, 1, 800)
        }]
    );
    assert_eq!(left, first + 2 * second);
}

/// PIE's probability is that of the overload before: what comes after a reset meets none of it.
#[test]
fn a_queue_does_not_remember_what_was_before_a_reset() {
    let pie = |section: &mut path::Switch| section.discipline = Some(path::Discipline::Pie);
    let mut device = Device::new(settings(3, pie), 1);
    let mut probes = watching();
    let gap = on_the_line(1000);
    let mut offer = |device: &mut Device, from: Picos, frames: u32, senders: u8| {
        for seq in 0..frames {
            for sender in 0..senders {
                let at = from + Picos::from(seq) * gap;
                let to = packet(sender, 2, seq, 1000);
                device.receive(at, sender.into(), &to, &mut probes);
                device.advance(at, &mut DeviceOutput::default());
            }
        }
    };
    offer(&mut device, 0, 1000, 2);
    let reset = 1000 * gap;
    device.at(reset, Event::Resets(reset + MICRO));
    device.advance(reset + 2 * MICRO, &mut DeviceOutput::default());
    let early = |device: &Device| {
        let dropped = device.counts.dropped.iter();
        let by_pie = dropped.filter(|((_, cause), _)| *cause == Cause::Pie);
        by_pie.map(|(_, count)| *count).sum::<u64>()
    };
    let before = early(&device);
    assert!(before > 0);
    offer(&mut device, reset + 2 * MICRO, 300, 1);
    finish(&mut device, &mut DeviceOutput::default());
    assert_eq!(early(&device), before);
}

#[test]
fn a_line_that_a_reset_has_cleared_is_idle() {
    let mut device = Device::new(settings(2, |_| ()), 1);
    let first = on_the_line(1400);
    device.begin_trial();
    device.receive(0, 0, &packet(0, 1, 0, 1400), &mut watching());
    device.at(first + MICRO, Event::Resets(first + 2 * MICRO));
    device.advance(10 * first, &mut DeviceOutput::default());
    let traces = device.end_trial();
    let held = traces.ports[1].utilisation.held.iter();
    let busy = held.filter(|(value, _)| *value > 0.0).map(|(_, time)| time);
    assert_eq!(busy.sum::<Picos>(), MICRO);
}

/// A trial that only waits, and then asks for last words: they are no part of what is over time.
#[test]
fn traces_end_as_the_last_packet_has_left() {
    let mut device = Device::new(settings(2, |_| ()), 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    let line = on_the_line(1000);
    device.advance(line, &mut due);
    device.begin_trial();
    for seq in 0..9 {
        device.receive(line, 0, &packet(0, 1, seq, 1000), &mut probes);
    }
    device.advance(2 * line + line / 2, &mut due);
    assert_eq!(device.quiet_from(), None);
    device.advance(100 * line, &mut due);
    assert_eq!(device.quiet_from(), Some(11 * line));
    device.cut(device.quiet_from());
    device.receive(100 * line, 0, &packet(0, 1, 9, 1000), &mut probes);
    device.advance(200 * line, &mut due);
    device.cut(None);
    let traces = device.end_trial();
    let of = |over_time: &OverTime| {
        let points = over_time.points.iter();
        let length: Picos = points.clone().map(|point| point.length).sum();
        let area: f64 = points.map(|point| point.mean * point.length as f64).sum();
        (length, area / length as f64)
    };
    let port = &traces.ports[1];
    let (length, busy) = of(&port.utilisation);
    assert_eq!(length, 10 * line);
    assert!((busy - 0.9).abs() < 1e-9, "{busy}");
    assert_eq!(of(&port.backlog).0, 10 * line);
    // What leaves afterwards is a packet of the probe all the same.
    assert_eq!(due.met.len(), 10);
    // The next trial begins anew.
    device.begin_trial();
    device.advance(210 * line, &mut due);
    assert_eq!(
        of(&device.end_trial().ports[1].utilisation),
        (10 * line, 0.0)
    );
}

/// It leaves when the pause ends, and has waited since it came.
#[test]
fn what_a_pause_holds_came_before_it_ended() {
    let mut all = settings(2, |_| ());
    all.latency = 12 * MICRO;
    all.pause = Some(Pause {
        every: Duration(2_000_000),
        lasts: Duration(1_500_000),
    });
    let mut device = Device::new(all, 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    device.receive(0, 0, &packet(0, 1, 0, 100), &mut probes);
    device.receive(1_000 * MICRO, 0, &packet(0, 1, 1, 100), &mut probes);
    finish(&mut device, &mut due);
    let came = on_the_line(100) + 12 * MICRO;
    let hops = due.met.iter().map(|met| (met.enqueue, met.dequeue));
    assert_eq!(
        hops.collect::<Vec<_>>(),
        [(came, came), (1_000 * MICRO + came, 2_000 * MICRO)]
    );
}

/// A bucket of one frame at a byte a microsecond: the first leaves at once, each further one when its tokens are there.
#[test]
fn a_shaper_holds_frames_until_their_tokens_are_there() {
    let bytes = on_the_line(1000) / 800_000;
    let shaper = path::TokenBucket {
        rate: Rate(8_000_000),
        burst: Size(bytes),
        ceil: None,
        ceil_burst: None,
        header: None,
    };
    let mut device = Device::new(settings(2, |section| section.shaper = Some(shaper)), 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    for seq in 0..3 {
        device.receive(0, 0, &packet(0, 1, seq, 1000), &mut probes);
    }
    finish(&mut device, &mut due);
    assert_eq!(due.send.len(), 3);
    let left: Vec<_> = due.met.iter().map(|met| met.dequeue).collect();
    let first = on_the_line(1000);
    assert_eq!(
        left,
        [first, first + bytes * MICRO, first + 2 * bytes * MICRO]
    );
}

#[test]
fn what_waits_waits_for_what_is_before_it() {
    let mut device = Device::new(settings(3, |_| ()), 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    // Two hosts send to one: its line is the bottleneck.
    for seq in 0..20 {
        device.receive(0, 0, &packet(0, 1, seq, 500), &mut probes);
        device.receive(0, 2, &packet(2, 1, seq, 500), &mut probes);
    }
    finish(&mut device, &mut due);
    assert_eq!((due.met.len(), due.send.len()), (20, 40));
    let line = on_the_line(500);
    for met in &due.met {
        let bytes = line / 800_000;
        let ahead = met.backlog / bytes;
        // What stood in the queue, and what was on the line then.
        let waited = met.dequeue - met.enqueue;
        assert!(
            waited >= ahead * line && waited <= (ahead + 1) * line,
            "{met:?}"
        );
    }
    let traces = device.end_trial();
    let backlog = &traces.ports[1].backlog.points;
    let most = backlog.iter().map(|point| point.max).fold(0.0, f64::max);
    assert!(most >= 18.0 * 546.0, "{most}");
    let idle = &traces.ports[0].utilisation.points;
    assert!(idle.iter().all(|point| point.max == 0.0));
}

#[test]
fn whoever_is_not_known_is_looked_for_everywhere() {
    let mut device = Device::new(settings(3, |_| ()), 1);
    let mut due = DeviceOutput::default();
    device.receive(0, 0, &packet(0, 9, 0, 100), &mut Probes::default());
    finish(&mut device, &mut due);
    let ports: Vec<_> = due.send.iter().map(|departure| departure.port).collect();
    assert_eq!(ports, [1, 2]);

    let mut in_a_loop = settings(3, |_| ());
    in_a_loop.floods = false;
    let mut device = Device::new(in_a_loop, 1);
    let mut due = DeviceOutput::default();
    device.receive(0, 0, &packet(0, 9, 0, 100), &mut Probes::default());
    finish(&mut device, &mut due);
    assert!(due.send.is_empty());
    assert_eq!(device.end_trial().counts.unknown, 1);
}

/// What leaves of a thousand packets to host 1. Each meets one queue at most, whatever is copied.
fn impaired(impair: Impair) -> Vec<(u16, Vec<u8>)> {
    let set = |section: &mut path::Switch| section.impair = Some(impair);
    let mut device = Device::new(settings(3, set), 7);
    let mut due = DeviceOutput::default();
    let mut probes = watching();
    for seq in 0..1000 {
        let at = Picos::from(seq) * 1_000 * MICRO;
        device.receive(at, 0, &packet(0, 1, seq, 100), &mut probes);
        device.advance(at, &mut due);
    }
    finish(&mut device, &mut due);
    let met: BTreeSet<_> = due.met.iter().map(|met| met.whose.seq).collect();
    assert_eq!(met.len(), due.met.len());
    assert!(due.met.iter().all(|met| &*met.port == "s→h1"));
    let counts = device.end_trial().counts;
    let lost = counts.dropped.get(&("s→h1".into(), Cause::Asked));
    assert_eq!(lost.is_some(), impair.loss > Share(0));
    assert_eq!(counts.damaged.contains("s→h1"), impair.corrupt > Share(0));
    let sent = due.send.into_iter();
    sent.map(|sent| (sent.port, sent.bytes)).collect()
}

#[test]
fn impairments_hit_the_share_that_was_asked_for() {
    let tenth = Share(Share::WHOLE.0 / 10);
    let nothing = Impair::default();
    let whole: Vec<_> = (0..1000).map(|seq| (1, packet(0, 1, seq, 100))).collect();
    assert_eq!(impaired(nothing), whole);
    let close = |count: usize, to: usize| count.abs_diff(to) < 40;

    let left = impaired(Impair {
        loss: tenth,
        ..nothing
    });
    assert!(close(left.len(), 900), "{}", left.len());
    let left = impaired(Impair {
        duplicate: tenth,
        ..nothing
    });
    assert!(close(left.len(), 1100), "{}", left.len());
    let left = impaired(Impair {
        flood: tenth,
        ..nothing
    });
    assert!(close(
        left.iter().filter(|(port, _)| *port == 2).count(),
        100
    ));
    let left = impaired(Impair {
        corrupt: tenth,
        ..nothing
    });
    let whole_ones = left.iter().filter(|sent| whole.contains(sent)).count();
    assert!(close(whole_ones, 900) && left.len() == 1000);
    let by = Some(delaylab_model::quantity::Duration(1_500_000));
    let left = impaired(Impair {
        reorder: tenth,
        reorder_by: by,
        ..nothing
    });
    assert_eq!(left.len(), 1000);
    let overtaken = left
        .windows(2)
        .filter(|pair| pair[0].1[46..50] > pair[1].1[46..50]);
    assert!(close(overtaken.count(), 95));
}

#[test]
fn cells_are_charged_where_links_carry_cells() {
    let mut all = settings(2, |_| ());
    all.framing = Framing::Aal5;
    let mut device = Device::new(all, 1);
    let (mut probes, mut due) = (watching(), DeviceOutput::default());
    // 64 bytes of payload are 3 cells (atm.md), on each of two lines.
    device.receive(0, 0, &packet(0, 1, 0, 64), &mut probes);
    finish(&mut device, &mut due);
    assert_eq!(due.met[0].dequeue, 3 * 53 * 800_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever calls late is late with what is due, and changes nothing else.
    #[test]
    fn when_it_is_called_makes_no_difference(
        gaps in proptest::collection::vec((0_u64..2_000, 0_u8..3, 20_usize..1400), 1..60),
        every in 1_u64..3_000,
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().zip(0..).map(|(&(gap, from, payload), seq)| {
            at += gap * MICRO;
            let from = if from == 1 { 2 } else { from };
            (at, from, packet(from, 1, seq, payload))
        }).collect();
        let run = |step: Picos| {
            let mut device = Device::new(settings(3, |_| ()), 1);
            let (mut probes, mut due) = (watching(), DeviceOutput::default());
            let mut arrivals = arrivals.iter().peekable();
            let mut now = 0;
            while arrivals.peek().is_some() || device.next().is_some() {
                now += step;
                while let Some((at, from, bytes)) = arrivals.next_if(|(at, ..)| *at <= now) {
                    device.receive(*at, u16::from(*from), bytes, &mut probes);
                }
                device.advance(now, &mut due);
            }
            (due.send, due.met)
        };
        prop_assert_eq!(run(MICRO), run(every * MICRO));
    }
}
