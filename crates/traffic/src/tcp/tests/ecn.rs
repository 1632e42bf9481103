//! Marks: echoed until answered (RFC 3168), or exactly (RFC 8257).

use super::super::*;
use super::MS;
use super::path::{FINE, Fate, Path};
use delaylab_stats::random::SplitMix;

fn ecn(congestion: Congestion) -> Settings {
    Settings {
        congestion,
        ecn: true,
        handshake: false,
        delayed_ack: Some(DelayedAck::Fixed {
            segments: 2,
            timeout: 40 * MS,
        }),
        ..Settings::modern(1000, 1_000_000)
    }
}

fn segment(offset: u64, cwr: bool) -> Segment {
    Segment {
        offset,
        len: 1000,
        retransmit: false,
        push: false,
        ect: true,
        cwr,
        syn: false,
        sent: 0,
    }
}

#[test]
fn ece_from_the_mark_until_cwr() {
    let settings = Settings {
        delayed_ack: None,
        ..ecn(Congestion::NewReno)
    };
    let mut receiver = Receiver::new(&settings);
    let came = [
        (false, false),
        (true, false),
        (false, false),
        (false, true),
        (true, true),
    ];
    let ece: Vec<bool> = (0..)
        .zip(came)
        .map(|(k, (ce, cwr))| {
            receiver
                .on_segment(0, &segment(k * 1000, cwr), ce)
                .unwrap()
                .ece
        })
        .collect();
    assert_eq!(ece, [false, true, true, false, true]);
}

#[test]
fn a_mark_halves_once_a_window_and_says_so() {
    let mut sender = Sender::new(&ecn(Congestion::NewReno), 0);
    while let Some(segment) = sender.poll_transmit(0) {
        assert!(segment.ect && !segment.cwr);
    }
    let ack = |next| Ack {
        next,
        window: 1_000_000,
        ece: true,
        echo: 0,
        syn: false,
        sack: SackOption::default(),
    };
    (1..=4).for_each(|k| sender.on_ack(MS, ack(k * 1000)));
    assert_eq!((sender.cwnd(), sender.retransmits()), (5000, 0));
    sender.on_ack(MS, ack(5000));
    let next = sender.poll_transmit(MS);
    assert_eq!(next, None, "5 segments are outstanding");
    sender.on_ack(MS, ack(8000));
    assert!(sender.poll_transmit(MS).unwrap().cwr);
    assert!(!sender.poll_transmit(MS).unwrap().cwr);
}

/// Ten segments of 1000 bytes are out: those in `lost` do not arrive, and `marked` does with a mark. Every threshold that was
/// set in three seconds.
fn thresholds(settings: &Settings, lost: &[u64], marked: u64) -> Vec<u64> {
    let mut path = Path::new(settings, 20 * MS, |_, segment| {
        let number = segment.offset / 1000;
        match !segment.retransmit && lost.contains(&number) {
            true => Fate::Lost,
            false => Fate::Arrives {
                late: 0,
                marked: !segment.retransmit && number == marked,
            },
        }
    });
    let mut all = Vec::new();
    for ms in 1..3_000 {
        path.run(ms * MS);
        let now = path.sender.ssthresh();
        if now != u64::MAX && all.last() != Some(&now) {
            all.push(now);
        }
    }
    all
}

/// RFC 3168 §6.1.2: once a window, and the next new data says that it was reduced, whatever for.
#[test]
fn a_mark_and_a_loss_of_one_window_cut_it_once() {
    for congestion in [Congestion::NewReno, Congestion::Cubic] {
        let selective = ecn(congestion);
        for settings in [selective, selective.without_sack()] {
            // The loss is seen first, then the mark, or the other way round.
            for (lost, marked) in [(&[0][..], 1), (&[5], 0)] {
                let found = thresholds(&settings, lost, marked);
                assert_eq!(
                    found.len(),
                    1,
                    "{congestion:?}: {lost:?} and {marked}: {found:?}"
                );
            }
        }
    }
}

/// The time-out answered it.
#[test]
fn a_mark_of_a_window_that_timed_out_cuts_no_more() {
    let settings = ecn(Congestion::NewReno).without_sack();
    let lost: Vec<u64> = [0].into_iter().chain(2..=10).collect();
    let found = thresholds(&settings, &lost, 1);
    assert!(found.len() == 1 && found[0] >= 5_000, "{found:?}");
}

/// The ACK that ends where the cut began still echoes: the segment with CWR has not arrived (RFC 3168 §6.1.2).
#[test]
fn one_mark_cuts_the_window_once() {
    for congestion in [Congestion::NewReno, Congestion::Cubic] {
        for delayed_ack in [None, Some(DelayedAck::Linux)] {
            let settings = Settings {
                delayed_ack,
                ..ecn(congestion)
            };
            let mut count = 0;
            let mut path = Path::new(&settings, 20 * MS, |_, _| {
                count += 1;
                Fate::Arrives {
                    late: 0,
                    marked: count == 500,
                }
            });
            let mut cuts = 0;
            let mut before = u64::MAX;
            for ms in 1..500 {
                path.run(ms * MS);
                let now = path.sender.ssthresh();
                cuts += u32::from(now != before);
                before = now;
            }
            assert_eq!(cuts, 1, "{congestion:?}, {delayed_ack:?}");
        }
    }
}

#[test]
fn dctcp_acknowledges_at_once_what_came_before_the_state_changed() {
    let mut receiver = Receiver::new(&ecn(Congestion::Dctcp));
    let mut on = |k: u64, ce| {
        let ack = receiver.on_segment(0, &segment(k * 1000, false), ce);
        ack.map(|ack| (ack.next / 1000, ack.ece))
    };
    assert_eq!(on(0, false), None);
    assert_eq!(on(1, true), Some((1, false)));
    assert_eq!(on(2, true), Some((3, true)));
    assert_eq!(on(3, true), None);
    assert_eq!(on(4, false), Some((4, true)));
    assert_eq!(on(5, false), Some((6, false)));
}

#[test]
fn dctcps_alpha_is_the_share_of_marked_segments() {
    for share in [0.05, 0.3] {
        let mut random = SplitMix::new(1);
        let mut path = Path::new(&ecn(Congestion::Dctcp), MS, |_, _| Fate::Arrives {
            late: 0,
            marked: random.uniform() < share,
        });
        let mut alphas = Vec::new();
        for round in 1..3000 {
            path.run(round * 10 * MS);
            alphas.extend((round > 100).then(|| path.sender.alpha().unwrap()));
        }
        let mean = alphas.iter().sum::<f64>() / alphas.len() as f64;
        println!(
            "marked {share}: alpha {mean:.4}, cwnd {}",
            path.sender.cwnd()
        );
        // 10 %: 2900 estimates, each of windows of 5 segments and more.
        assert!((mean / share - 1.0).abs() < 0.10, "{mean}");
        assert_eq!(path.sender.retransmits(), 0);
    }
}

#[test]
fn without_marks_ecn_changes_nothing() {
    let run = |settings| {
        let mut path = Path::new(&settings, MS, |_, _| FINE);
        path.run(500 * MS);
        path.sender.acknowledged()
    };
    let plain = Settings {
        ecn: false,
        ..ecn(Congestion::Cubic)
    };
    assert_eq!(run(ecn(Congestion::Cubic)), run(plain));
}
