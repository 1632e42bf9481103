//! The sender segment by segment: the RFCs' own examples.

use super::super::*;
use super::MS;

const MSS: u64 = 1000;

fn settings(congestion: Congestion) -> Settings {
    Settings {
        congestion,
        growth: Growth::PerByte,
        initial_window: 10 * MSS,
        delayed_ack: None,
        timestamps: true,
        limited_transmit: false,
        idle_restart: false,
        ..Settings::modern(MSS as u32, 64 * MSS).without_sack()
    }
}

fn ack(next: u64) -> Ack {
    Ack {
        next,
        window: 64 * MSS,
        ece: false,
        echo: 0,
        syn: false,
        sack: SackOption::default(),
    }
}

fn drain(sender: &mut Sender, now: Picos) -> Vec<(u64, bool)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|segment| (segment.offset / MSS, segment.retransmit))
        .collect()
}

fn new_segments(range: std::ops::Range<u64>) -> Vec<(u64, bool)> {
    range.map(|segment| (segment, false)).collect()
}

#[test]
fn slow_start_doubles_and_stops_at_the_window() {
    let mut sender = Sender::new(&settings(Congestion::Reno), 0);
    assert_eq!(drain(&mut sender, 0), new_segments(0..10));
    (1..=10).for_each(|k| sender.on_ack(MS, ack(k * MSS)));
    assert_eq!(sender.cwnd(), 20 * MSS);
    assert_eq!(drain(&mut sender, MS), new_segments(10..30));
    (11..=300).for_each(|k| {
        sender.on_ack(2 * MS, ack(k * MSS));
        drain(&mut sender, 2 * MS);
    });
    assert_eq!((sender.cwnd(), sender.in_flight()), (64 * MSS, 64 * MSS));
}

#[test]
fn fast_retransmit_and_fast_recovery_of_reno() {
    let mut sender = Sender::new(&settings(Congestion::Reno), 0);
    drain(&mut sender, 0);
    // Segment 0 is lost: nine duplicates.
    sender.on_ack(MS, ack(0));
    sender.on_ack(MS, ack(0));
    assert_eq!(drain(&mut sender, MS), []);
    sender.on_ack(MS, ack(0));
    assert_eq!((sender.ssthresh(), sender.cwnd()), (5 * MSS, 8 * MSS));
    assert_eq!(drain(&mut sender, MS), [(0, true)]);
    // The window is 10 again after two more; four more let new segments out.
    (0..6).for_each(|_| sender.on_ack(MS, ack(0)));
    assert_eq!(drain(&mut sender, MS), new_segments(10..14));
    sender.on_ack(2 * MS, ack(10 * MSS));
    assert_eq!((sender.cwnd(), sender.in_flight()), (5 * MSS, 4 * MSS));
    assert_eq!(drain(&mut sender, 2 * MS), new_segments(14..15));
    assert_eq!((sender.retransmits(), sender.timeouts()), (1, 0));
}

#[test]
fn limited_transmit_lets_one_out_for_each_of_the_first_two() {
    let mut sender = Sender::new(
        &Settings {
            limited_transmit: true,
            ..settings(Congestion::NewReno)
        },
        0,
    );
    drain(&mut sender, 0);
    sender.on_ack(MS, ack(0));
    assert_eq!(drain(&mut sender, MS), new_segments(10..11));
    sender.on_ack(MS, ack(0));
    assert_eq!(drain(&mut sender, MS), new_segments(11..12));
    sender.on_ack(MS, ack(0));
    // The two do not count in the threshold.
    assert_eq!(sender.ssthresh(), 5 * MSS);
    assert_eq!(drain(&mut sender, MS), [(0, true)]);
}

#[test]
fn newreno_sends_one_hole_a_round_trip() {
    let mut sender = Sender::new(&settings(Congestion::NewReno), 0);
    drain(&mut sender, 0);
    // 0 and 4 are lost: eight duplicates.
    (0..8).for_each(|_| sender.on_ack(MS, ack(0)));
    assert_eq!(
        drain(&mut sender, MS),
        [(0, true), (10, false), (11, false), (12, false)]
    );
    sender.on_ack(2 * MS, ack(4 * MSS));
    assert_eq!(drain(&mut sender, 2 * MS)[0], (4, true));
    sender.on_ack(3 * MS, ack(10 * MSS));
    assert!(sender.cwnd() <= 5 * MSS, "{}", sender.cwnd());
    assert_eq!(sender.timeouts(), 0);
}

#[test]
fn a_time_out_goes_back_to_the_first_hole_and_doubles() {
    let mut sender = Sender::new(&settings(Congestion::Reno), 0);
    drain(&mut sender, 0);
    let first = sender.next_timeout().unwrap();
    assert_eq!(first, 1000 * MS);
    sender.on_timeout(first - 1);
    assert_eq!(sender.timeouts(), 0);
    sender.on_timeout(first);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, 5 * MSS));
    assert_eq!(drain(&mut sender, first), [(0, true)]);
    let second = sender.next_timeout().unwrap();
    assert_eq!(second, first + 2000 * MS);
    sender.on_timeout(second);
    assert_eq!(sender.ssthresh(), 5 * MSS);
    assert_eq!(drain(&mut sender, second), [(0, true)]);
    // All but the first had arrived.
    let end = Ack {
        echo: second,
        ..ack(10 * MSS)
    };
    sender.on_ack(second + MS, end);
    assert_eq!(drain(&mut sender, second + MS)[0], (10, false));
    assert_eq!(sender.smoothed_rtt(), Some(MS));
}

/// Net/3, `tcp_timers.c`: half of the window in whole segments at every time-out, two at least.
#[test]
fn in_1995_each_time_out_halves_the_window() {
    let old = Settings {
        initial_window: 31 * MSS,
        ..Settings::of_1995(MSS as u32, 64 * MSS)
    };
    let mut sender = Sender::new(&old, 0);
    assert_eq!(drain(&mut sender, 0).len(), 31);
    for threshold in [15, 2] {
        let now = sender.next_timeout().unwrap();
        sender.on_timeout(now);
        assert_eq!((sender.ssthresh(), sender.cwnd()), (threshold * MSS, MSS));
        assert_eq!(drain(&mut sender, now), [(0, true)]);
    }
}

/// RFC 5681 §3.1 asks whether the segment was sent again, not whether the timer is backed off (Karn).
#[test]
fn another_segment_that_times_out_cuts_the_threshold_again() {
    let untimed = Settings {
        timestamps: false,
        ..settings(Congestion::Reno)
    };
    let mut sender = Sender::new(&untimed, 0);
    drain(&mut sender, 0);
    let first = sender.next_timeout().unwrap();
    sender.on_timeout(first);
    assert_eq!(sender.ssthresh(), 5 * MSS);
    drain(&mut sender, first);
    sender.on_ack(first + MS, ack(10 * MSS));
    assert_eq!(drain(&mut sender, first + MS), new_segments(10..13));
    let second = sender.next_timeout().unwrap();
    sender.on_timeout(second);
    assert_eq!(sender.ssthresh(), 2 * MSS);
}

#[test]
fn data_that_times_out_behind_a_lost_syn_sets_the_threshold() {
    let untimed = Settings {
        timestamps: false,
        handshake: true,
        ..settings(Congestion::NewReno)
    };
    let mut sender = Sender::new(&untimed, 0);
    drain(&mut sender, 0);
    let lost = sender.next_timeout().unwrap();
    sender.on_timeout(lost);
    drain(&mut sender, lost);
    let answer = Ack {
        syn: true,
        ..ack(0)
    };
    sender.on_ack(lost + MS, answer);
    drain(&mut sender, lost + MS);
    assert_eq!(sender.in_flight(), MSS);
    sender.on_timeout(sender.next_timeout().unwrap());
    assert_eq!(sender.ssthresh(), 2 * MSS);
}

#[test]
fn a_time_out_in_recovery_leaves_the_threshold_alone() {
    let mut sender = Sender::new(&settings(Congestion::NewReno), 0);
    drain(&mut sender, 0);
    // Segment 0 is lost and so is its retransmission; the duplicates of the others inflate the window.
    (0..9).for_each(|_| sender.on_ack(MS, ack(0)));
    drain(&mut sender, MS);
    assert_eq!((sender.ssthresh(), sender.in_flight()), (5 * MSS, 14 * MSS));
    let at = sender.next_timeout().unwrap();
    sender.on_timeout(at);
    assert_eq!((sender.ssthresh(), sender.cwnd()), (5 * MSS, MSS));
    // Nor does one while what was out then is not yet acknowledged.
    let some = Ack {
        echo: at,
        ..ack(4 * MSS)
    };
    drain(&mut sender, at);
    sender.on_ack(at + MS, some);
    drain(&mut sender, at + MS);
    let again = sender.next_timeout().unwrap();
    sender.on_timeout(again);
    assert_eq!((sender.ssthresh(), sender.timeouts()), (5 * MSS, 2));
}

#[test]
fn after_a_time_out_an_ack_adds_one_segment_however_much_it_covers() {
    let mut sender = Sender::new(&settings(Congestion::NewReno), 0);
    drain(&mut sender, 0);
    sender.on_ack(MS, ack(2 * MSS));
    assert_eq!(sender.cwnd(), 12 * MSS);
    drain(&mut sender, MS);
    let at = sender.next_timeout().unwrap();
    sender.on_timeout(at);
    sender.on_ack(at + MS, ack(6 * MSS));
    assert_eq!(sender.cwnd(), 2 * MSS);
}

#[test]
fn without_timestamps_a_segment_sent_twice_is_not_timed() {
    let plain = Settings {
        timestamps: false,
        ..settings(Congestion::Reno)
    };
    let mut sender = Sender::new(&plain, 0);
    drain(&mut sender, 0);
    sender.on_timeout(1000 * MS);
    drain(&mut sender, 1000 * MS);
    sender.on_ack(1001 * MS, ack(MSS));
    assert_eq!(sender.smoothed_rtt(), None);
    sender.on_ack(1001 * MS, ack(10 * MSS));
    drain(&mut sender, 1002 * MS);
    sender.on_ack(1009 * MS, ack(11 * MSS));
    assert_eq!(sender.smoothed_rtt(), Some(7 * MS));
}

#[test]
fn nothing_outstanding_no_timer() {
    let requests = Settings {
        application: Application::Requests,
        ..settings(Congestion::Cubic)
    };
    let mut sender = Sender::new(&requests, 0);
    assert_eq!(
        (drain(&mut sender, 0), sender.next_timeout()),
        (vec![], None)
    );
    sender.write(2500);
    assert_eq!(drain(&mut sender, 0).len(), 3);
    assert!(sender.next_timeout().is_some() && !sender.is_idle());
    sender.on_ack(MS, ack(2500));
    assert!(sender.next_timeout().is_none() && sender.is_idle());
}

#[test]
fn nagle_holds_a_part_while_data_is_outstanding() {
    let nagle = Settings {
        application: Application::Requests,
        nagle: true,
        ..settings(Congestion::Reno)
    };
    let mut sender = Sender::new(&nagle, 0);
    sender.write(100);
    assert!(sender.poll_transmit(0).unwrap().push);
    sender.write(100);
    assert_eq!(sender.poll_transmit(0), None);
    sender.write(1000);
    assert_eq!(sender.poll_transmit(0).unwrap().len, 1000);
    assert_eq!(sender.poll_transmit(0), None);
    sender.on_ack(MS, ack(1100));
    assert_eq!(sender.poll_transmit(MS).unwrap().len, 100);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let requests = Settings {
        application: Application::Requests,
        ..settings(Congestion::Reno)
    };
    let mut sender = Sender::new(&requests, 0);
    for k in 1..=100 {
        sender.write(MSS);
        drain(&mut sender, k * MS);
        sender.on_ack(k * MS + 1, ack(k * MSS));
    }
    assert_eq!(sender.cwnd(), 10 * MSS);
}

#[test]
fn after_a_silence_the_window_starts_again() {
    let idle = Settings {
        application: Application::Requests,
        idle_restart: true,
        ..settings(Congestion::Cubic)
    };
    let mut sender = Sender::new(&idle, 0);
    sender.write(30 * MSS);
    drain(&mut sender, 0);
    (1..=10).for_each(|k| sender.on_ack(MS, ack(k * MSS)));
    drain(&mut sender, MS);
    (11..=30).for_each(|k| sender.on_ack(2 * MS, ack(k * MSS)));
    assert!(sender.cwnd() > 10 * MSS);
    sender.write(30 * MSS);
    assert_eq!(drain(&mut sender, 1000 * MS), new_segments(30..40));
}

/// Linux, `tcp_cwnd_restart`: half for each time-out's length, down to the first window, and slow start up to three quarters.
#[test]
fn each_time_outs_length_of_a_silence_halves_the_window() {
    let after = |idle_halving: bool, silence: Picos| {
        let idle = Settings {
            application: Application::Requests,
            initial_window: 4 * MSS,
            validation: false,
            idle_restart: true,
            idle_halving,
            ..settings(Congestion::Reno)
        };
        let mut sender = Sender::new(&idle, 0);
        let mut acknowledged = 0;
        while sender.cwnd() < 32 * MSS {
            sender.write(2 * MSS);
            drain(&mut sender, 0);
            acknowledged += 2 * MSS;
            sender.on_ack(MS, ack(acknowledged));
        }
        sender.write(64 * MSS);
        drain(&mut sender, silence).len()
    };
    // The smoothed round-trip time is 1 ms, and the time-out 201 ms.
    assert_eq!(after(true, 150 * MS), 32);
    assert_eq!(after(true, 300 * MS), 16);
    assert_eq!(after(true, 500 * MS), 8);
    assert_eq!(after(true, 10_000 * MS), 4);
    assert_eq!(after(false, 300 * MS), 4);
}

#[test]
fn acks_of_the_past_and_of_nothing_change_nothing() {
    let mut sender = Sender::new(&settings(Congestion::Reno), 0);
    drain(&mut sender, 0);
    sender.on_ack(MS, ack(5 * MSS));
    let before = format!("{sender:?}");
    sender.on_ack(MS, ack(4 * MSS));
    sender.on_ack(MS, ack(99 * MSS));
    assert_eq!(format!("{sender:?}"), before);
}

#[test]
fn a_retransmission_that_is_overtaken_by_its_ack_does_not_leave() {
    let requests = Settings {
        application: Application::Requests,
        ..settings(Congestion::NewReno)
    };
    let mut sender = Sender::new(&requests, 0);
    sender.write(10 * MSS);
    drain(&mut sender, 0);
    (0..3).for_each(|_| sender.on_ack(MS, ack(0)));
    sender.on_ack(MS, ack(10 * MSS));
    assert_eq!(
        (drain(&mut sender, MS), sender.next_timeout()),
        (vec![], None)
    );
}
