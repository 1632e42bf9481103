//! Whatever a path does to segments, all bytes arrive.

use super::super::*;
use super::MS;
use super::path::{Fate, Path};
use delaylab_stats::random::SplitMix;
use proptest::prelude::*;

fn any_settings() -> impl Strategy<Value = Settings> {
    let congestions = prop_oneof![
        Just(Congestion::Reno),
        Just(Congestion::NewReno),
        Just(Congestion::Cubic),
        Just(Congestion::Dctcp),
        Just(Congestion::Bbr),
    ];
    let presets = prop_oneof![
        Just(Settings::of_1995(1000, 1)),
        Just(Settings::modern(1000, 1)),
        Just(Settings::modern(1000, 1).without_sack()),
        Just(Settings {
            rack_tlp: false,
            prr: false,
            ..Settings::modern(1000, 1)
        }),
        Just(Settings {
            pacing: true,
            abe: true,
            ..Settings::modern(1000, 1)
        }),
        Just(Settings::ns3(1052)),
    ];
    (
        congestions,
        presets,
        100_u32..2000,
        1_u64..40_000,
        any::<[bool; 4]>(),
    )
        .prop_map(
            |(congestion, preset, mss, window, [ecn, nagle, timestamps, delayed])| Settings {
                congestion,
                mss,
                window,
                ecn,
                nagle,
                timestamps,
                delayed_ack: preset.delayed_ack.filter(|_| delayed),
                application: Application::Requests,
                ..preset
            },
        )
        .prop_map(|settings| Settings {
            sack: settings.sack || settings.congestion == Congestion::Bbr,
            pacing: settings.pacing || settings.congestion == Congestion::Bbr,
            ..settings
        })
}

/// Losses, duplicates, delays and marks, each with its probability.
fn bad(probabilities: [f64; 4], seed: u64) -> impl FnMut(Picos, &Segment) -> Fate {
    let mut random = SplitMix::new(seed);
    let [lost, twice, late, marked] = probabilities;
    move |_, segment| {
        let mut happens = |p| random.uniform() < p;
        if happens(lost) {
            return Fate::Lost;
        }
        let (twice, late, marked) = (happens(twice), happens(late), happens(marked));
        let late = if late { random.next() % (30 * MS) } else { 0 };
        if twice {
            return Fate::Twice { late };
        }
        let marked = marked && segment.ect;
        Fate::Arrives { late, marked }
    }
}

proptest! {
    #[test]
    fn every_byte_is_delivered_and_acknowledged(
        settings in any_settings(),
        bytes in 1_u64..300_000,
        probabilities in [0.0..0.4_f64, 0.0..0.3, 0.0..0.3, 0.0..0.5],
        lose_ack in prop_oneof![Just(0), 2_u64..9],
        seed in any::<u64>(),
    ) {
        let mut path = Path::new(&settings, 10 * MS, bad(probabilities, seed));
        path.lose_ack = lose_ack;
        path.sender.write(bytes);
        // 200 days, of 213: time-outs double, and small windows need many.
        path.run(200 * 86_400 * 1000 * MS);
        prop_assert_eq!(path.receiver.delivered(), bytes);
        prop_assert_eq!(path.sender.acknowledged(), bytes);
        prop_assert!(path.sender.is_idle());
        prop_assert_eq!(path.sender.next_timeout(), None);
    }

    #[test]
    fn a_time_out_lets_one_segment_out(settings in any_settings(), count in 1_u64..20) {
        let settings = Settings { handshake: false, ..settings };
        let mut path = Path::new(&settings, 10 * MS, |_, _| Fate::Lost);
        path.sender.write(1_000_000);
        path.transmit();
        for timeouts in 1..=count {
            // Before it, a tail loss probe and what is paced.
            let at = loop {
                let at = path.sender.next_timeout().unwrap();
                path.sender.on_timeout(at);
                if path.sender.timeouts() == timeouts {
                    break at;
                }
                path.now = at;
                path.transmit();
            };
            let segment = path.sender.poll_transmit(at).unwrap();
            prop_assert_eq!((segment.offset, segment.retransmit), (0, true));
            prop_assert_eq!(path.sender.poll_transmit(at), None);
            prop_assert!(path.sender.next_timeout().unwrap() > at);
        }
    }
}
