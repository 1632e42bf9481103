//! SYN, SYN-ACK, ACK.

use super::super::*;
use super::MS;
use super::path::{FINE, Fate, Path};

fn settings() -> Settings {
    Settings {
        application: Application::Requests,
        ..Settings::modern(1000, 64_000)
    }
}

#[test]
fn data_leaves_a_round_trip_after_the_syn() {
    let mut path = Path::new(&settings(), 20 * MS, |_, _| FINE);
    path.sent = Some(Vec::new());
    path.sender.write(1500);
    path.run(200 * MS);
    let sent = path.sent.unwrap();
    let seen: Vec<_> = sent.iter().map(|s| (s.sent / MS, s.syn, s.len)).collect();
    assert_eq!(
        seen,
        [
            (0, true, 0),
            (20, false, 0),
            (20, false, 1000),
            (20, false, 500)
        ]
    );
    assert_eq!(path.receiver.delivered(), 1500);
    // The first sample is the handshake's.
    assert_eq!(path.sender.smoothed_rtt(), Some(20 * MS));
}

#[test]
fn a_lost_syn_is_sent_again_and_costs_the_first_window() {
    let mut lost = true;
    let mut path = Path::new(&settings(), 20 * MS, |_, segment: &Segment| {
        match std::mem::replace(&mut lost, false) && segment.syn {
            true => Fate::Lost,
            false => FINE,
        }
    });
    path.sent = Some(Vec::new());
    path.sender.write(3000);
    path.run(1030 * MS);
    let sent = path.sent.unwrap();
    let seen: Vec<_> = sent.iter().map(|s| (s.sent / MS, s.syn, s.len)).collect();
    assert_eq!(
        seen,
        [
            (0, true, 0),
            (1000, true, 0),
            (1020, false, 0),
            (1020, false, 1000)
        ]
    );
    assert_eq!((path.sender.timeouts(), path.sender.retransmits()), (1, 1));
}
