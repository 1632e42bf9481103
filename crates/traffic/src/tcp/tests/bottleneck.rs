//! One flow through a FIFO with a limit: is the line busy, and what is lost?

use super::super::*;
use super::MS;
use super::path::{Fate, Path};
use delaylab_model::tcp::HyStart;

/// 100 Mbit/s: 80 ns a byte.
const BYTE: Picos = 80_000;
const RTT: Picos = 20 * MS;
const MSS: u32 = 1448;
const HEADERS: u32 = 52;

/// What came of a flow.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// Share of the line that new bytes and their headers had, after the first second.
    utilisation: f64,
    drops: u64,
    retransmits: u64,
    timeouts: u64,
}

/// A FIFO of this many bytes.
fn through_fifo(settings: &Settings, buffer: u64, seconds: u64) -> Outcome {
    let mut free_at = 0;
    let mut drops = 0;
    let mut path = Path::new(settings, RTT, |now, segment: &Segment| {
        let begins = now.max(free_at);
        if (begins - now) / BYTE + u64::from(segment.len + HEADERS) > buffer {
            drops += 1;
            return Fate::Lost;
        }
        free_at = begins + u64::from(segment.len + HEADERS) * BYTE;
        Fate::Arrives {
            late: free_at - now,
            marked: false,
        }
    });
    let second = 1000 * MS;
    path.run(second);
    let before = path.receiver.delivered();
    path.run((seconds + 1) * second);
    let segments = (path.receiver.delivered() - before) as f64 / f64::from(MSS);
    let busy = segments * f64::from(MSS + HEADERS) * BYTE as f64;
    let (retransmits, timeouts) = (path.sender.retransmits(), path.sender.timeouts());
    Outcome {
        utilisation: busy / (seconds * second) as f64,
        drops,
        retransmits,
        timeouts,
    }
}

/// Bytes of a bandwidth-delay product.
const BDP: u64 = RTT / BYTE;

#[test]
fn a_large_buffer_keeps_the_line_busy() {
    for congestion in [Congestion::NewReno, Congestion::Cubic] {
        for buffer in [1, 2, 4] {
            let settings = Settings {
                congestion,
                ..Settings::modern(MSS, 4 << 20).without_sack()
            };
            let outcome = through_fifo(&settings, buffer * BDP, 20);
            println!("{congestion:?}, {buffer} BDP: {outcome:?}");
            assert!(outcome.utilisation > 0.95, "{outcome:?}");
            // Of 160,000 segments; it was up to half of them.
            assert!(outcome.drops < 5000, "{outcome:?}");
            // What goes back to the first hole sends again what has arrived.
            assert!(outcome.retransmits < 3 * outcome.drops, "{outcome:?}");
            assert!(outcome.timeouts < 10, "{outcome:?}");
        }
    }
}

/// SACK by counting, and with all that Linux has.
fn selective() -> [(&'static str, Settings); 5] {
    let modern = Settings::modern(MSS, 4 << 20);
    let counting = Settings {
        rack_tlp: false,
        prr: false,
        hystart: HyStart::None,
        ..modern
    };
    let reno = Settings {
        congestion: Congestion::NewReno,
        ..modern
    };
    let as_linux = Settings {
        hystart: HyStart::Linux,
        ..modern
    };
    let bbr = Settings {
        congestion: Congestion::Bbr,
        pacing: true,
        ..modern
    };
    [
        ("RFC 6675", counting),
        ("modern", modern),
        ("modern Reno", reno),
        ("modern, HyStart as in Linux", as_linux),
        ("BBR", bbr),
    ]
}

#[test]
fn with_sack_losses_are_repaired_without_time_outs() {
    for (name, settings) in selective() {
        for buffer in [1, 2, 4] {
            let outcome = through_fifo(&settings, buffer * BDP, 20);
            println!("{name}, {buffer} BDP: {outcome:?}");
            assert!(
                outcome.utilisation > 0.95,
                "{name}, {buffer} BDP: {outcome:?}"
            );
            // What was lost, and nothing else.
            assert_eq!(outcome.retransmits, outcome.drops, "{name}, {buffer} BDP");
            let rack = settings.rack_tlp;
            assert!(outcome.timeouts <= if rack { 0 } else { 2 }, "{outcome:?}");
        }
    }
}

/// HyStart++ continues for five round trips once the queue grows; CUBIC of Linux stops there, and its Reno at a loss.
#[test]
fn slow_start_as_in_linux_overflows_a_queue_with_reno_alone() {
    let drops = |congestion, hystart| {
        let settings = Settings {
            congestion,
            hystart,
            ..Settings::modern(MSS, 4 << 20)
        };
        through_fifo(&settings, BDP, 2).drops
    };
    let (reno, cubic) = (Congestion::Reno, Congestion::Cubic);
    assert_eq!(drops(cubic, HyStart::Linux), 0);
    assert!(drops(cubic, HyStart::Rfc9406) > 0);
    let in_vain = drops(reno, HyStart::None);
    assert_eq!(drops(reno, HyStart::Linux), in_vain);
    assert!(drops(reno, HyStart::Rfc9406) < in_vain);
}
