//! The kernel's queues at a port, as words for `tc`.
//!
//! tbf is a token bucket, not a line: it does not put a lone packet on the wire bit by bit, so the least
//! delay does not grow with size. Rates and limits are of Ethernet frames without preamble, gap and
//! check sequence.

use delaylab_model::dscp::Dscp;
use delaylab_model::path::{CoDel, Discipline, Path, Switch};
use delaylab_model::quantity::{Limit, Share, Size};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Dropped;
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_switch::Cause;
use delaylab_topology::classes::{QUEUES, queue_of};
use std::ops::RangeInclusive;

/// What a Linux interface holds.
const PACKETS: u64 = 1000;
/// Of the rate, what each class queue is sure of, in percent, from network control to scavenger; each may
/// have all that others leave.
const SURE: [u64; 4] = [10, 40, 45, 5];

/// What a host may be kept from running while tokens collect: 130 µs, which is what makes 1600 and 3200
/// bytes of the bursts that are known to be exact at 10 and 100 Mbit/s.
const STALL_NS: u64 = 130_000;

/// What a packet may take in the kernel's memory, which is not what it has on the line: fq_codel drops by that too.
const LARGEST_IN_MEMORY: u64 = 4096;

/// What fq_codel takes as its quantum: less it would silently make 256 B.
const QUANTA: RangeInclusive<u64> = 256..=1 << 20;

/// A frame with the largest IP packet, as the kernel's queues count it.
pub fn largest_frame(mtu: u32) -> u64 {
    u64::from(mtu) + 14
}

/// The smallest bucket that does not lose rate: a frame, and what collects while the host stalls.
pub fn least_burst(rate: u64, mtu: u32) -> u64 {
    let collected = u128::from(rate) * u128::from(STALL_NS) / 8_000_000_000;
    largest_frame(mtu) + collected as u64
}

/// Why such a queue drops packets. The kernel counts those that find no room together with those that it is to lose.
pub fn why_dropped(discipline: Discipline, section: &Switch) -> &'static str {
    let is_asked = section.impair.is_some_and(|impair| impair.loss > Share(0));
    match discipline {
        Discipline::KernelNetem if is_asked => Dropped::ASKED,
        // It keeps its queue short, and seldom has no room left.
        Discipline::KernelFqCodel => Cause::CoDel.words(),
        _ => Dropped::KERNEL,
    }
}

/// The words for `tc` that queue at this interface.
///
/// # Errors
/// Names the field that the kernel cannot honour.
pub fn commands(
    discipline: Discipline,
    section: &Switch,
    path: &Path,
    interface: &str,
    rate: u64,
    mtu: u32,
) -> Result<Vec<String>, Refusal> {
    let frame = largest_frame(mtu);
    let limit = limit(section, frame)?;
    // netem and fq_codel count packets.
    let packets = (limit / frame).clamp(1, u32::MAX.into());
    let burst = section
        .burst
        .map_or(least_burst(rate, mtu), |burst| burst.0);
    let tbf = format!(
        "qdisc add dev {interface} root handle 1: tbf rate {rate}bit burst {burst} limit {limit}"
    );
    Ok(match discipline {
        Discipline::KernelTbf => vec![
            tbf,
            format!("qdisc replace dev {interface} parent 1:1 handle 10: bfifo limit {limit}"),
        ],
        Discipline::KernelFqCodel => {
            let memory = packets.saturating_mul(LARGEST_IN_MEMORY);
            let memory = memory.min(u32::MAX.into());
            let words = format!(
                "qdisc replace dev {interface} parent 1:1 handle 10: fq_codel limit {packets} memory_limit {memory}"
            );
            vec![tbf, words + &codel(section)?]
        }
        Discipline::KernelNetem => {
            let words = netem(section, rate, packets, frame);
            vec![format!("qdisc add dev {interface} root netem {words}")]
        }
        _ => {
            let of_a_class = section.queue_buffer.map_or(Ok(limit), |own| {
                in_bytes("path.switch.queue_buffer", own, frame)
            });
            known_weights(section)?;
            htb(section, path, interface, rate, burst, of_a_class?)
        }
    })
}

/// Rate, length and impairments of a netem that holds this number of frames. What is merely under way counts as well.
fn netem(section: &Switch, rate: u64, packets: u64, frame: u64) -> String {
    let impair = section.impair.unwrap_or_default();
    let latency = section
        .latency
        .map_or(0, |latency| latency.0.unsigned_abs());
    let bits = u128::from(rate) * u128::from(latency) / 1_000_000_000;
    let under_way = bits.div_ceil(8 * u128::from(frame));
    let packets = u128::from(packets) + under_way;
    let mut words = format!("rate {rate}bit limit {packets}");
    if let Some(latency) = section.latency {
        words += &format!(" delay {}us", latency.0 as f64 / 1e3);
    }
    for (name, share) in [
        ("loss", impair.loss),
        ("duplicate", impair.duplicate),
        ("corrupt", impair.corrupt),
    ] {
        if share > Share(0) {
            words += &format!(" {name} {}%", share.as_f64() * 100.0);
        }
    }
    words
}

/// What of fq_codel is not as the kernel has it by default.
fn codel(section: &Switch) -> Result<String, Refusal> {
    let mut words = String::new();
    if let Some(CoDel { target, interval }) = section.codel {
        if target >= interval {
            return refuse(
                "path.switch.codel.target",
                "is not below the interval: 5 to 10 % of it is usual (RFC 8289)",
            );
        }
        for (name, time) in [("target", target), ("interval", interval)] {
            if !(MICROSECOND..=u32::MAX as Nanos * MICROSECOND).contains(&time.0) {
                let why = "the kernel counts whole microseconds, from 1 to 2^32 of them";
                return refuse(format!("path.switch.codel.{name}"), why);
            }
            words += &format!(" {name} {}us", time.0 / MICROSECOND);
        }
    }
    Ok(words + &quantum(section)?)
}

fn quantum(section: &Switch) -> Result<String, Refusal> {
    match section.quantum {
        None => Ok(String::new()),
        Some(Size(quantum)) if QUANTA.contains(&quantum) => Ok(format!(" quantum {quantum}")),
        Some(_) => refuse(
            "path.switch.quantum",
            "the kernel's fq_codel takes 256 B to 1 MiB",
        ),
    }
}

/// What a port may hold: the buffer, or the part of it that the threshold leaves to a port.
fn limit(section: &Switch, frame: u64) -> Result<u64, Refusal> {
    let buffer = section.buffer.unwrap_or(Limit::Packets(PACKETS));
    let buffer = in_bytes("path.switch.buffer", buffer, frame)?;
    match section.threshold {
        None => Ok(buffer),
        Some(Limit::Share(share)) if share > Share(0) => {
            Ok((buffer as f64 * share.as_f64()).round().max(1.0) as u64)
        }
        Some(Limit::Bytes(bytes)) if bytes > 0 => Ok(bytes.min(buffer)),
        Some(_) => refuse(
            "path.switch.threshold",
            "of the kernel's queues it is a share of the buffer, or bytes",
        ),
    }
}

fn in_bytes(field: &str, limit: Limit, frame: u64) -> Result<u64, Refusal> {
    match limit {
        Limit::Bytes(bytes) if bytes > 0 => Ok(bytes),
        Limit::Packets(packets) if packets > 0 => Ok(packets.saturating_mul(frame)),
        _ => refuse(
            field,
            "the kernel's queues are limited in bytes: like \"64KiB\"",
        ),
    }
}

fn known_weights(section: &Switch) -> Result<(), Refusal> {
    let mut names = section.weights.keys();
    match names.find(|name| !QUEUES.contains(&name.as_str())) {
        Some(name) => {
            let known = QUEUES.join(", ");
            let why = format!("no queue is called {name:?}; there are: {known}");
            refuse("path.switch.weights", why)
        }
        None => Ok(()),
    }
}

fn htb(
    section: &Switch,
    path: &Path,
    interface: &str,
    rate: u64,
    burst: u64,
    limit: u64,
) -> Vec<String> {
    let weights = QUEUES.map(|name| section.weights.get(name).copied().map(u64::from));
    let all_sure: u64 = weights
        .iter()
        .zip(SURE)
        .map(|(weight, sure)| weight.unwrap_or(sure))
        .sum();
    let mut words = vec![
        format!("qdisc add dev {interface} root handle 1: htb default 30"),
        format!(
            "class add dev {interface} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit \
             burst {burst} cburst {burst}"
        ),
    ];
    for (queue, (weight, sure)) in weights.into_iter().zip(SURE).enumerate() {
        let class = 10 * (queue + 1);
        let share = u128::from(rate) * u128::from(weight.unwrap_or(sure));
        let own = (share / u128::from(all_sure.max(1))).max(8_000);
        words.push(format!(
            "class add dev {interface} parent 1:1 classid 1:{class} htb rate {own}bit ceil {rate}bit \
             burst {burst} cburst {burst} prio {queue} quantum 1514"
        ));
        words.push(format!(
            "qdisc add dev {interface} parent 1:{class} handle {class}: bfifo limit {limit}"
        ));
    }
    for code in 0..64 {
        let queue = queue_of(path, Dscp::new(code).unwrap_or_default());
        if queue != 2 {
            let class = 10 * (queue + 1);
            let to_class = |filter: String| {
                format!("filter add dev {interface} parent 1: {filter} flowid 1:{class}")
            };
            words.extend(filters_of(code).map(to_class));
        }
    }
    words
}

/// What matches the packets of a code point. A protocol has filters of its own; of a frame with a tag it is the tag's, and
/// which IP is behind it the version says.
fn filters_of(code: u8) -> [String; 4] {
    let v4 = format!("match ip dsfield {:#04x} 0xfc", code << 2);
    // Version, traffic class and flow label, of 4, 8 and 20 bits.
    let v6 = format!(
        "match u16 {:#06x} 0xffc0 at 0",
        0x6000 | u16::from(code) << 6
    );
    [
        format!("protocol ip prio 1 u32 {v4}"),
        format!("protocol ipv6 prio 2 u32 {v6}"),
        format!("protocol 802.1Q prio 3 u32 match u8 0x40 0xf0 at 0 {v4}"),
        format!("protocol 802.1Q prio 3 u32 {v6}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_queue_drops_on_purpose_is_no_full_buffer() {
        let mut lossy = Switch::default();
        let why = |which, section: &Switch| {
            let (what, port) = ("packets", "s1→b1");
            let why = why_dropped(which, section);
            Dropped { what, port, why }.is_chosen()
        };
        assert!(!why(Discipline::KernelNetem, &lossy));
        lossy.impair.get_or_insert_default().loss = Share::WHOLE;
        assert!(why(Discipline::KernelNetem, &lossy));
        assert!(!why(Discipline::KernelTbf, &lossy));
        assert!(why(Discipline::KernelFqCodel, &Switch::default()));
    }

    /// EF is 46: of IPv4 the second byte is 0xb8, of IPv6 the first two are 0x6b and 0x80.
    #[test]
    fn a_class_is_told_of_both_families_with_and_without_a_tag() {
        let expected = [
            "protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc",
            "protocol ipv6 prio 2 u32 match u16 0x6b80 0xffc0 at 0",
            "protocol 802.1Q prio 3 u32 match u8 0x40 0xf0 at 0 match ip dsfield 0xb8 0xfc",
            "protocol 802.1Q prio 3 u32 match u16 0x6b80 0xffc0 at 0",
        ];
        assert_eq!(filters_of(46), expected);
    }
}
