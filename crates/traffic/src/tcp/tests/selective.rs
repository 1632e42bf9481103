//! The sender with selective acknowledgements, segment by segment.

use super::super::*;
use super::MS;
use delaylab_model::tcp::HyStart;

const MSS: u64 = 1000;

/// RFC 6675 and no more.
fn counting() -> Settings {
    Settings {
        congestion: Congestion::NewReno,
        handshake: false,
        hystart: HyStart::None,
        prr: false,
        rack_tlp: false,
        idle_restart: false,
        application: Application::Requests,
        ..Settings::modern(MSS as u32, 64 * MSS)
    }
}

fn modern() -> Settings {
    Settings {
        prr: true,
        rack_tlp: true,
        ..counting()
    }
}

/// A receiver that is handed some segments and gives back all ACKs.
struct Far(Receiver);

impl Far {
    fn new() -> Self {
        let settings = Settings {
            delayed_ack: None,
            ..counting()
        };
        Self(Receiver::new(&settings))
    }

    fn acks(&mut self, now: Picos, segments: &[Segment], lost: &[u64]) -> Vec<Ack> {
        let kept = segments
            .iter()
            .filter(|s| !lost.contains(&(s.offset / MSS)));
        kept.filter_map(|segment| self.0.on_segment(now, segment, false))
            .collect()
    }
}

fn drain(sender: &mut Sender, now: Picos) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

fn offsets(segments: &[Segment]) -> Vec<(u64, bool)> {
    segments
        .iter()
        .map(|s| (s.offset / MSS, s.retransmit))
        .collect()
}

#[test]
fn all_holes_are_filled_in_one_round_trip() {
    for settings in [counting(), modern()] {
        let (mut sender, mut far) = (Sender::new(&settings, 0), Far::new());
        sender.write(40 * MSS);
        let first = drain(&mut sender, 0);
        assert_eq!(first.len(), 10);
        let mut sent = Vec::new();
        for ack in far.acks(MS, &first, &[0, 2, 4]) {
            sender.on_ack(20 * MS, ack);
            sent.extend(drain(&mut sender, 20 * MS));
        }
        let again: Vec<_> = sent.iter().filter(|s| s.retransmit).copied().collect();
        assert_eq!(offsets(&again), [(0, true), (2, true), (4, true)]);
        assert_eq!(sender.ssthresh(), 5 * MSS);
        for ack in far.acks(21 * MS, &sent, &[]) {
            sender.on_ack(40 * MS, ack);
        }
        assert_eq!((sender.cwnd(), sender.timeouts()), (5 * MSS, 0));
        assert_eq!(
            sender.acknowledged(),
            sent.iter().map(Segment::end).max().unwrap()
        );
    }
}

#[test]
fn the_window_is_cut_once_for_a_window_of_losses() {
    let (mut sender, mut far) = (Sender::new(&modern(), 0), Far::new());
    sender.write(100 * MSS);
    let mut sent = drain(&mut sender, 0);
    let mut lost = vec![1, 3];
    for round in 1..6 {
        let now = round * 20 * MS;
        let mut next = Vec::new();
        for ack in far.acks(now, &sent, &lost) {
            sender.on_ack(now, ack);
            next.extend(drain(&mut sender, now));
        }
        // The retransmissions of the first round are lost too.
        lost = if round == 1 { vec![1] } else { Vec::new() };
        sent = next;
        assert_eq!(
            sender.ssthresh(),
            if sender.ssthresh() == u64::MAX {
                u64::MAX
            } else {
                5 * MSS + 500
            }
        );
    }
    assert_eq!(sender.timeouts(), 0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let (mut sender, mut far) = (Sender::new(&modern(), 0), Far::new());
    sender.write(2 * MSS);
    let first = drain(&mut sender, 0);
    for ack in far.acks(MS, &first, &[]) {
        sender.on_ack(20 * MS, ack);
    }
    sender.write(5 * MSS);
    let second = drain(&mut sender, 20 * MS);
    for ack in far.acks(21 * MS, &second, &[5, 6]) {
        sender.on_ack(40 * MS, ack);
    }
    // Two round trips of 20 ms.
    assert_eq!(sender.next_timeout(), Some(80 * MS));
    sender.on_timeout(80 * MS);
    let probe = drain(&mut sender, 80 * MS);
    assert_eq!(offsets(&probe), [(6, true)]);
    assert_eq!((sender.timeouts(), sender.retransmits()), (0, 1));
    // Its SACK shows the hole before it, and RACK fills that.
    for ack in far.acks(81 * MS, &probe, &[]) {
        sender.on_ack(100 * MS, ack);
    }
    let rest = drain(&mut sender, 100 * MS);
    assert_eq!(offsets(&rest), [(5, true)]);
    for ack in far.acks(101 * MS, &rest, &[]) {
        sender.on_ack(120 * MS, ack);
    }
    assert!(sender.is_idle() && sender.timeouts() == 0);
}

/// A short last segment takes less time than any full one; the handshake's round trip says that so little is possible.
#[test]
fn a_probe_of_a_short_segment_shows_the_hole_before_it() {
    let settings = Settings {
        handshake: true,
        ..modern()
    };
    let (mut sender, mut far) = (
        Sender::new(&settings, 0),
        Far(Receiver::new(&Settings {
            delayed_ack: None,
            ..settings
        })),
    );
    let syn = drain(&mut sender, 0);
    for ack in far.acks(MS, &syn, &[]) {
        sender.on_ack(18 * MS, ack);
    }
    sender.write(2 * MSS);
    let first = drain(&mut sender, 18 * MS);
    for ack in far.acks(19 * MS, &first, &[]) {
        sender.on_ack(38 * MS, ack);
    }
    sender.write(4 * MSS + 300);
    let second = drain(&mut sender, 38 * MS);
    for ack in far.acks(39 * MS, &second, &[5, 6]) {
        sender.on_ack(58 * MS, ack);
    }
    let at = sender.next_timeout().unwrap();
    sender.on_timeout(at);
    let probe = drain(&mut sender, at);
    assert_eq!(offsets(&probe), [(6, true)]);
    for ack in far.acks(at + MS, &probe, &[]) {
        sender.on_ack(at + 19 * MS, ack);
    }
    assert_eq!(offsets(&drain(&mut sender, at + 19 * MS)), [(5, true)]);
    assert_eq!(sender.timeouts(), 0);
}

/// RFC 9438 §5.8: ten seconds of pauses that are shorter than a time-out do not move it along its curve.
#[test]
fn cubics_time_stands_still_while_nothing_is_sent() {
    let after = |pause: Picos| {
        let settings = Settings {
            congestion: Congestion::Cubic,
            initial_window: 1000 * MSS,
            validation: false,
            idle_restart: true,
            ..Settings {
                window: 10_000 * MSS,
                ..modern()
            }
        };
        let mut far = Far(Receiver::new(&Settings {
            delayed_ack: None,
            ..settings
        }));
        let mut sender = Sender::new(&settings, 0);
        let (mut now, mut lost) = (0, vec![10]);
        for _ in 0..60 {
            sender.write(sender.cwnd() / MSS * MSS);
            let mut sent = drain(&mut sender, now);
            while !sent.is_empty() {
                now += 100 * MS;
                let acks = far.acks(now, &sent, &lost);
                lost.clear();
                sent.clear();
                for ack in acks {
                    sender.on_ack(now, ack);
                    sent.extend(drain(&mut sender, now));
                }
            }
            assert!(sender.is_idle() && sender.timeouts() == 0);
            now += pause;
        }
        sender.cwnd() / MSS
    };
    let (without, with) = (after(0), after(150 * MS));
    assert!(without > 720, "{without}");
    assert!(with.abs_diff(without) <= 2, "{with}, {without}");
}

#[test]
fn a_probe_that_repairs_the_only_loss_cuts_the_window_and_a_needless_one_does_not() {
    for needless in [false, true] {
        let (mut sender, mut far) = (Sender::new(&modern(), 0), Far::new());
        sender.write(2 * MSS);
        for ack in far.acks(MS, &drain(&mut sender, 0), &[]) {
            sender.on_ack(20 * MS, ack);
        }
        sender.write(4 * MSS);
        let second = drain(&mut sender, 20 * MS);
        let lost: &[u64] = if needless { &[] } else { &[5] };
        let mut late = far.acks(21 * MS, &second, lost);
        let held = if needless { late.pop() } else { None };
        late.into_iter().for_each(|ack| sender.on_ack(40 * MS, ack));
        let at = sender.next_timeout().unwrap();
        sender.on_timeout(at);
        let probe = drain(&mut sender, at);
        assert_eq!(offsets(&probe), [(5, true)]);
        held.into_iter().for_each(|ack| sender.on_ack(at, ack));
        sender.write(MSS);
        let more = drain(&mut sender, at);
        let acks = far.acks(at, &[probe, more].concat(), &[]);
        acks.into_iter()
            .for_each(|ack| sender.on_ack(at + 20 * MS, ack));
        assert!(sender.is_idle());
        assert_eq!(sender.ssthresh() == u64::MAX, needless, "{sender:?}");
    }
}

/// RFC 5681 §4.3: the loss of a retransmission is a second sign of congestion. With RACK, which would have sent it a third
/// time, the time-out is of something else.
#[test]
fn a_time_out_in_recovery_is_for_a_lost_retransmission_or_leaves_the_threshold_alone() {
    for (settings, left) in [(counting(), 2500), (modern(), 5 * MSS)] {
        let (mut sender, mut far) = (Sender::new(&settings, 0), Far::new());
        sender.write(64 * MSS);
        let first = drain(&mut sender, 0);
        for ack in far.acks(MS, &first, &[0]) {
            sender.on_ack(20 * MS, ack);
            drain(&mut sender, 20 * MS);
        }
        let cut = sender.ssthresh();
        assert_eq!(cut, 5 * MSS);
        while sender.timeouts() == 0 {
            let at = sender.next_timeout().unwrap();
            sender.on_timeout(at);
        }
        assert_eq!((sender.ssthresh(), sender.cwnd()), (left, MSS));
    }
}

#[test]
fn a_mark_cuts_by_less_with_rfc_8511() {
    for (congestion, abe, left) in [
        (Congestion::NewReno, false, 5000),
        (Congestion::NewReno, true, 8000),
        (Congestion::Cubic, false, 7000),
        (Congestion::Cubic, true, 8500),
    ] {
        let settings = Settings {
            congestion,
            ecn: true,
            abe,
            ..modern()
        };
        let (mut sender, mut far) = (Sender::new(&settings, 0), Far::new());
        sender.write(20 * MSS);
        let mut acks = far.acks(MS, &drain(&mut sender, 0)[..1], &[]);
        acks[0].next = 0;
        acks[0].next = MSS;
        acks[0].ece = true;
        sender.on_ack(20 * MS, acks[0]);
        // Of the ten that were out.
        assert_eq!(sender.ssthresh(), left, "{congestion:?} {abe}");
    }
}

#[test]
fn a_send_buffer_limits_what_is_out() {
    let settings = Settings {
        send_buffer: 4 * MSS,
        application: Application::Unlimited,
        ..modern()
    };
    let mut sender = Sender::new(&settings, 0);
    assert_eq!(drain(&mut sender, 0).len(), 4);
}

/// RFC 6675 §4, NextSeg rule 3: what is not known to be lost may be sent again when there is nothing else, and counts.
#[test]
fn doubtful_segments_leave_as_the_window_lets_them() {
    let settings = Settings {
        prr: true,
        initial_window: 20 * MSS,
        ..counting()
    };
    let (mut sender, mut far) = (Sender::new(&settings, 0), Far::new());
    sender.write(20 * MSS);
    let first = drain(&mut sender, 0);
    assert_eq!(first.len(), 20);
    let lost: Vec<_> = [0].into_iter().chain(4..18).collect();
    let mut again = Vec::new();
    for ack in far.acks(MS, &first, &lost) {
        sender.on_ack(20 * MS, ack);
        again.extend(drain(&mut sender, 20 * MS));
    }
    assert_eq!(offsets(&again)[0], (0, true));
    for ack in far.acks(21 * MS, &again[..1], &[]) {
        sender.on_ack(40 * MS, ack);
    }
    let room = sender.cwnd() - sender.in_flight();
    let doubtful = drain(&mut sender, 40 * MS);
    assert!(!doubtful.is_empty() && doubtful.iter().all(|it| it.retransmit));
    let bytes: u64 = doubtful.iter().map(|it| u64::from(it.len)).sum();
    assert!(bytes <= room, "{bytes} of {room}: {:?}", offsets(&doubtful));
}

/// What is written as the window lets it go is limited by the window: BBR's samples count, and Startup ends.
#[test]
fn a_full_window_is_not_what_the_application_limits() {
    let settings = Settings {
        congestion: Congestion::Bbr,
        pacing: true,
        ..modern()
    };
    let (mut sender, mut far) = (Sender::new(&settings, 0), Far::new());
    // A line that takes 1 ms a segment, 20 ms of round trip.
    let (mut line, mut free_at) = (std::collections::VecDeque::new(), 0);
    let (mut now, mut written, mut sent) = (0, 0, 0);
    while now < 1000 * MS {
        let room = sender.cwnd().saturating_sub(sender.in_flight()) / MSS * MSS;
        let more = room.saturating_sub(written - sent);
        sender.write(more);
        written += more;
        for segment in drain(&mut sender, now) {
            sent = sent.max(segment.end());
            free_at = now.max(free_at) + MS;
            line.push_back((free_at + 20 * MS, segment));
        }
        let arrival = line.front().map(|(at, _)| *at);
        now = arrival
            .into_iter()
            .chain(sender.next_timeout())
            .min()
            .unwrap();
        sender.on_timeout(now);
        while let Some((_, segment)) = line.pop_front_if(|(at, _)| *at <= now) {
            for ack in far.acks(now, &[segment], &[]) {
                sender.on_ack(now, ack);
            }
        }
    }
    // Twice what the path holds, not 2.885 times.
    assert!(sender.cwnd() < 50 * MSS, "{}", sender.cwnd());
}
