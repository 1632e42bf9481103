//! Pacing, and BBR.

use super::super::*;
use super::MS;
use super::path::{FINE, Fate, Path};
use delaylab_model::tcp::HyStart;

const MSS: u32 = 1000;

fn bbr() -> Settings {
    Settings {
        congestion: Congestion::Bbr,
        pacing: true,
        ..Settings::modern(MSS, 1 << 20)
    }
}

#[test]
fn paced_segments_leave_one_after_the_other() {
    for congestion in [Congestion::NewReno, Congestion::Cubic] {
        let settings = Settings {
            congestion,
            window: 100_000,
            ..bbr()
        };
        let mut path = Path::new(&settings, 20 * MS, |_, _| FINE);
        path.sent = Some(Vec::new());
        path.run(1000 * MS);
        let sent = path.sent.unwrap();
        let late: Vec<_> = sent.iter().filter(|s| s.sent > 500 * MS).collect();
        let gaps: Vec<_> = late.windows(2).map(|w| w[1].sent - w[0].sent).collect();
        // 100 segments a round trip of 20 ms; where nothing was lost, at twice that rate and then a rest.
        let least = gaps.iter().min().unwrap();
        assert!(least.abs_diff(20 * MS / 200) < MS / 100, "{least}");
        assert_eq!(path.sender.retransmits(), 0);
    }
}

/// Through a line of 10 Mbit/s (0.8 ms a segment) with 20 ms of round trip and an endless queue: the
/// share of it that is used, and the mean wait, from second two to nine.
fn through_a_line(settings: &Settings, until: u64) -> (f64, f64) {
    let (mut free_at, mut waits, mut count) = (0, 0.0, 0_u64);
    let segment = 8 * MS / 10;
    let mut path = Path::new(settings, 20 * MS, |now, _: &Segment| {
        let begins = now.max(free_at);
        free_at = begins + segment;
        if now > 2000 * MS {
            waits += (begins - now) as f64 / MS as f64;
            count += 1;
        }
        Fate::Arrives {
            late: free_at - now,
            marked: false,
        }
    });
    path.run(2000 * MS);
    let before = path.receiver.delivered();
    path.run(until * 1000 * MS);
    let delivered = (path.receiver.delivered() - before) as f64 / f64::from(MSS);
    let time = (until - 2) as f64 * 1000.0 * MS as f64;
    (delivered * segment as f64 / time, waits / count as f64)
}

#[test]
fn bbr_fills_a_line_and_not_its_queue() {
    let (busy, wait) = through_a_line(&bbr(), 9);
    println!("BBR: {busy:.3} of the line, {wait:.1} ms in its queue");
    assert!(busy > 0.97, "{busy}");
    // A quarter of a round trip at most, in the phase that probes.
    assert!(wait < 5.0, "{wait}");
    let reno = Settings {
        congestion: Congestion::NewReno,
        hystart: HyStart::None,
        ..bbr()
    };
    let (_, of_reno) = through_a_line(&reno, 9);
    assert!(of_reno > 100.0, "{of_reno}");
}

#[test]
fn bbr_drains_its_queue_every_ten_seconds_to_see_the_round_trip() {
    let mut path = Path::new(&bbr(), 20 * MS, |now, _: &Segment| Fate::Arrives {
        // The path grows longer by 10 ms after a second.
        late: if now > 1000 * MS { 10 * MS } else { 0 },
        marked: false,
    });
    let mut least = u64::MAX;
    for tenth in 1..150 {
        path.run(tenth * 100 * MS);
        if tenth > 20 {
            least = least.min(path.sender.cwnd());
        }
    }
    assert_eq!(least, 4 * u64::from(MSS));
}

/// Draft-cardwell-00 §4.3.5: with four segments out, samples say nothing of the bottleneck. 200 ms are 33 round trips here.
#[test]
fn bbr_knows_its_rate_after_it_has_seen_the_round_trip() {
    let mut free_at = 0;
    let mut path = Path::new(&bbr(), 5 * MS, |now, _: &Segment| {
        free_at = now.max(free_at) + MS / 10;
        // The path grows longer by 1 ms after a second.
        let longer = if now > 1000 * MS { MS } else { 0 };
        Fate::Arrives {
            late: free_at - now + longer,
            marked: false,
        }
    });
    let least = 4 * u64::from(MSS);
    path.run(8000 * MS);
    let earlier = path.receiver.delivered();
    path.run(9000 * MS);
    let before = path.receiver.delivered() - earlier;
    let mut first = |from: u64, probes: bool| {
        let found = (from..from + 5000).find(|&ms| {
            path.run(ms * MS);
            (path.sender.cwnd() == least) == probes
        });
        found.unwrap()
    };
    let begins = first(9000, true);
    let over = first(begins, false);
    // Until the pipe is full again.
    path.run((over + 50) * MS);
    let earlier = path.receiver.delivered();
    path.run((over + 1050) * MS);
    let after = path.receiver.delivered() - earlier;
    assert!(
        after as f64 > 0.98 * before as f64,
        "{after} and {before} B"
    );
}

#[test]
fn bbr_does_not_mind_a_percent_of_losses_and_cubic_does() {
    let lossy = |settings: &Settings| {
        let mut count = 0;
        let mut free_at = 0;
        let mut path = Path::new(settings, 20 * MS, |now, _: &Segment| {
            count += 1;
            if count % 100 == 0 {
                return Fate::Lost;
            }
            free_at = now.max(free_at) + MS / 10;
            Fate::Arrives {
                late: free_at - now,
                marked: false,
            }
        });
        path.run(5000 * MS);
        path.receiver.delivered()
    };
    let cubic = Settings {
        congestion: Congestion::Cubic,
        ..bbr()
    };
    let (with_bbr, with_cubic) = (lossy(&bbr()), lossy(&cubic));
    println!("{with_bbr} and {with_cubic} B");
    // 10,000 segments a second.
    assert!(with_bbr > 45_000_000, "{with_bbr}");
    assert!(with_cubic < with_bbr / 2, "{with_cubic}");
}

/// A rest neither brings the first window back nor a look at the round trip: what is written leaves at the bottleneck's rate.
#[test]
fn bbr_sends_as_fast_after_a_rest_as_before() {
    let requests = Settings {
        application: Application::Requests,
        ..bbr()
    };
    let mut free_at = 0;
    let mut path = Path::new(&requests, 40 * MS, |now, _: &Segment| {
        free_at = now.max(free_at) + 8 * MS / 100;
        Fate::Arrives {
            late: free_at - now,
            marked: false,
        }
    });
    let mut takes = |begin: u64, bytes: u64| {
        path.run(begin * MS);
        path.now = begin * MS;
        path.sender.write(bytes);
        let whole = path.receiver.delivered() + bytes;
        let end = (begin..begin + 1000).find(|&ms| {
            path.run(ms * MS);
            path.receiver.delivered() == whole
        });
        end.unwrap() - begin
    };
    // Until the pipe is full.
    takes(0, 5_000_000);
    // 80 ms on the line, and half of a round trip.
    for begin in [2000, 3000, 14_000] {
        let took = takes(begin, 1_000_000);
        assert!((100..130).contains(&took), "{took} ms from {begin} ms on");
    }
}

/// Draft-cardwell-00 §4.2.3.4: in the first round of recovery one leaves for each that arrives, however many are lost.
#[test]
fn bbr_sends_no_more_than_arrives_as_recovery_begins() {
    let settings = Settings {
        handshake: false,
        ..bbr()
    };
    let mss = u64::from(MSS);
    let mut sender = Sender::new(&settings, 0);
    let mut receiver = Receiver::new(&Settings {
        delayed_ack: None,
        ..settings
    });
    let mut now = 0;
    let mut sent: Vec<Segment> = Vec::new();
    while sent.len() < 20 {
        match sender.poll_transmit(now) {
            Some(segment) => sent.push(segment),
            None if sender.next_timeout().is_some_and(|at| at < 20 * MS) => {
                now = sender.next_timeout().unwrap();
                sender.on_timeout(now);
            }
            None => break,
        }
    }
    assert_eq!(sent.len(), 10);
    let mut hear = |segment: &Segment| {
        let now = segment.sent + 20 * MS;
        sender.on_ack(now, receiver.on_segment(now, segment, false).unwrap());
        (sender.cwnd() - sender.in_flight()) / mss
    };
    hear(&sent[1]);
    hear(&sent[2]);
    // Segment 0 is lost.
    assert_eq!(hear(&sent[3]), 1);
    // So are segment 4, and 6 and 7; nothing has left meanwhile.
    assert_eq!(hear(&sent[5]), 2);
    assert_eq!(hear(&sent[8]), 3);
}

/// Draft-cardwell-00 §4.2.3.4: after a time-out the window grows by what arrives; it is what it was once the loss is repaired.
#[test]
fn bbr_does_not_send_its_whole_window_after_a_time_out() {
    let mut free_at = 0;
    let mut path = Path::new(&bbr(), 40 * MS, |now, _: &Segment| {
        if (2000 * MS..2600 * MS).contains(&now) {
            return Fate::Lost;
        }
        free_at = now.max(free_at) + 8 * MS / 10;
        Fate::Arrives {
            late: free_at - now,
            marked: false,
        }
    });
    let mss = u64::from(MSS);
    path.run(2599 * MS);
    assert_eq!(path.sender.cwnd(), mss);
    let first = (2600..4000).find(|&ms| {
        path.run(ms * MS);
        path.sender.cwnd() > mss
    });
    assert!(
        first.is_some() && path.sender.cwnd() <= 10 * mss,
        "{}",
        path.sender.cwnd()
    );
    path.run(5000 * MS);
    assert!(path.sender.cwnd() > 40 * mss, "{}", path.sender.cwnd());
}
