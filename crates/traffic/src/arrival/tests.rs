#![allow(clippy::unwrap_used)]
use super::cbr::Cbr;
use super::on_off::{OnOff, Periods};
use super::poisson::Poisson;
use super::replay::{Reason, Replay, parse};
use super::{Arrival, Packet};
use delaylab_model::PICOS_PER_SECOND as SECOND;
use delaylab_model::Picos;
use proptest::prelude::*;

fn gaps(arrival: Arrival, count: usize) -> Vec<f64> {
    let at: Vec<Picos> = arrival.take(count + 1).map(|packet| packet.at).collect();
    at.windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64)
        .collect()
}

#[test]
fn a_million_packets_are_where_they_should_be_to_the_picosecond() {
    // 53 bytes at 155.52 Mbit/s: 2,726,337 and 7265/17496 ps.
    let rate = 155_520_000;
    let cbr = Arrival::Cbr(Cbr::new(7, 53, rate));
    for (k, packet) in (0_u128..=1_000_000).zip(cbr) {
        let exact = 7 + k * 424 * u128::from(SECOND) / u128::from(rate);
        assert_eq!((u128::from(packet.at), packet.bytes), (exact, 53));
    }
}

#[test]
fn poisson_moments() {
    // 125 bytes at 1 Mbit/s: a packet a millisecond.
    let gaps = gaps(
        Arrival::Poisson(Poisson::new(0, 125, 1_000_000, 42)),
        200_000,
    );
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let moment = |power| gaps.iter().map(|gap| (gap / mean).powi(power)).sum::<f64>() / count;
    println!("mean {mean}, second {}, third {}", moment(2), moment(3));
    // Five standard errors: 1.1 %; E[x²] = 2 ± 2.5 %, E[x³] = 6 ± 5 %.
    assert!((mean / 1e9 - 1.0).abs() < 0.011);
    assert!((moment(2) / 2.0 - 1.0).abs() < 0.025);
    assert!((moment(3) / 6.0 - 1.0).abs() < 0.05);
    // Independent: no correlation from one to the next.
    let pairs = gaps
        .windows(2)
        .map(|pair| (pair[0] / mean - 1.0) * (pair[1] / mean - 1.0));
    let correlation = pairs.sum::<f64>() / count;
    assert!(correlation.abs() < 0.012, "{correlation}");
}

#[test]
fn equal_seeds_give_equal_packets() {
    let at = |seed| -> Vec<Packet> { Poisson::new(5, 100, 1000, seed).take(100).collect() };
    assert_eq!(at(1), at(1));
    assert_ne!(at(1), at(2));
}

#[test]
fn fixed_bursts_by_hand() {
    // A packet every 8 µs of on-time; on for 20, off for 100.
    let us = SECOND / 1_000_000;
    let periods = Periods::Fixed {
        on: 20 * us,
        off: 100 * us,
    };
    let at: Vec<Picos> = OnOff::new(0, 1, 1_000_000, periods, 0)
        .take(7)
        .map(|packet| packet.at / us)
        .collect();
    // On-time 0, 8, 16 | 24, 32 | 40, 48: the burst's end belongs to the next.
    assert_eq!(at, [0, 8, 16, 124, 132, 240, 248]);
}

#[test]
fn the_mean_rate_of_bursts() {
    let ms = SECOND / 1000;
    let (on, off) = (2 * ms, 6 * ms);
    // 125 bytes at 1 Mbit/s and at 0.1: gaps of half a burst and of five.
    for rate in [1_000_000, 100_000] {
        for periods in [Periods::Fixed { on, off }, Periods::Exponential { on, off }] {
            let gaps = gaps(
                Arrival::OnOff(OnOff::new(0, 125, rate, periods, 9)),
                100_000,
            );
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let expected = 4.0 * 1000.0 / rate as f64 * SECOND as f64;
            println!("{rate} {periods:?}: {}", mean / expected);
            // 3 %: 50,000 bursts at least.
            assert!((mean / expected - 1.0).abs() < 0.03);
        }
    }
}

#[test]
fn nothing_at_rate_zero_or_never_on() {
    let never = Periods::Fixed { on: 0, off: 1 };
    assert_eq!(Cbr::new(0, 100, 0).next(), None);
    assert_eq!(Poisson::new(0, 100, 0, 1).next(), None);
    assert_eq!(OnOff::new(0, 100, 1000, never, 1).next(), None);
    assert_eq!(
        OnOff::new(0, 100, 0, Periods::Fixed { on: 1, off: 1 }, 1).next(),
        None
    );
}

#[test]
fn the_end_of_the_clock_is_the_end() {
    let last = Cbr::new(Picos::MAX - 1, 100, 1).next();
    assert_eq!(last.map(|packet| packet.at), Some(Picos::MAX - 1));
    assert_eq!(Cbr::new(Picos::MAX - 1, 100, 1).nth(1), None);
    assert_eq!(Poisson::new(Picos::MAX - 1, 100, 1, 1).next(), None);
}

#[test]
fn a_file_is_replayed() {
    let text = "# a comment\n\ntime,size\n# another\n0s,64B\n\n1.5ms, 1500 B\n1.5ms,1kB\n";
    let packets: Vec<Packet> = Replay::new(parse(text).unwrap(), 1000).collect();
    let ms = SECOND / 1000;
    let expected = [
        (1000, 64),
        (1000 + 3 * ms / 2, 1500),
        (1000 + 3 * ms / 2, 1000),
    ];
    assert_eq!(packets, expected.map(|(at, bytes)| Packet { at, bytes }));
}

#[test]
fn a_line_that_is_wrong_is_named() {
    let error = |text| parse(text).unwrap_err();
    assert_eq!(error("1ms,64B\n2ms").line, 2);
    assert_eq!(error("1ms").reason, Reason::Fields);
    assert_eq!(error("# x\n\n2ms,1B\n1ms,1B").line, 4);
    assert_eq!(error("2ms,1B\n1ms,1B").reason, Reason::Backwards);
    assert_eq!(error("9000h,1B").reason, Reason::TooLate);
    assert_eq!(error("1s,5GB").reason, Reason::TooLarge);
    let bare = error("0.2,64B").to_string();
    assert!(
        bare.contains("line 1") && bare.contains("no unit"),
        "{bare}"
    );
    assert!(error("1s,64B,7").to_string().contains("line 1"));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn time_never_goes_back(
        rate in 1_u64..10_000_000_000, bytes in 1_u32..70_000, on in 1_u64..SECOND,
        off in 0..SECOND, seed in any::<u64>(),
    ) {
        // Bursts that are not so much shorter than a gap that it takes millions of them.
        let gap = u64::from(bytes) * 8 * (SECOND / rate.min(SECOND));
        let on = on.max(gap / 100);
        let arrivals = [
            Arrival::Cbr(Cbr::new(0, bytes, rate)),
            Arrival::Poisson(Poisson::new(0, bytes, rate, seed)),
            Arrival::OnOff(OnOff::new(0, bytes, rate, Periods::Fixed { on, off }, seed)),
            Arrival::OnOff(OnOff::new(0, bytes, rate, Periods::Exponential { on, off }, seed)),
        ];
        for arrival in arrivals {
            let at: Vec<Picos> = arrival.take(50).map(|packet| packet.at).collect();
            prop_assert!(at.is_sorted());
        }
    }
}
