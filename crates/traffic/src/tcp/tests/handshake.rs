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

/// RFC 6298 §5.7: without timestamps a SYN that was sent twice tells no round trip, and data waits 3 s.
#[test]
fn data_after_a_lost_syn_is_sent_again_after_three_seconds() {
    for (timestamps, waits) in [(false, 3000), (true, 220)] {
        let settings = Settings {
            timestamps,
            sack: false,
            ..settings()
        };
        let mut sent = 0;
        let mut path = Path::new(&settings, 20 * MS, |_, segment: &Segment| {
            sent += u32::from(segment.syn || segment.len > 0);
            // The first SYN and the first data.
            match sent {
                1 | 3 => Fate::Lost,
                _ => FINE,
            }
        });
        path.sent = Some(Vec::new());
        path.sender.write(1000);
        path.run(5000 * MS);
        let data = path.sent.unwrap();
        let data: Vec<_> = data.iter().filter(|s| s.len > 0).collect();
        assert_eq!(data.len(), 2, "{data:?}");
        assert_eq!((data[1].sent - data[0].sent) / MS, waits);
    }
}
