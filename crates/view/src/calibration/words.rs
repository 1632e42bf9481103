//! What was found, as rows of words.

use crate::run::words::quantity;
use crate::words::or_unknown;
use delaylab_explain::calibrate::Calibration;
use delaylab_explain::calibrate::buffer::Buffer;
use delaylab_explain::calibrate::limiter::Limiter;
use delaylab_explain::calibrate::line::{Estimate, Line};
use delaylab_explain::calibrate::overlay::{Group, Measure};
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::prediction::Expected;
use delaylab_explain::calibrate::queue::Order;
use delaylab_model::plan::{compare_combinations, level_of};
use delaylab_model::units::{format_duration_f64, format_share, rate_unit};
use delaylab_model::words::plural;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub what: &'static str,
    /// How much.
    pub value: String,
    /// Where it is with 95 % confidence, or for certain.
    pub between: String,
    /// What says so.
    pub from: String,
}

/// All that was found, the bottleneck first.
pub fn facts(found: &Calibration) -> Vec<Fact> {
    let there = match found.ways {
        Ways::Apart => "min delay forward",
        Ways::Together => "min delay, both ways",
    };
    let network = [
        (there, found.forward.as_ref()),
        ("min delay back", found.back.as_ref()),
    ];
    let lines = network.into_iter().chain(found.hosts.lines());
    let lines = lines.filter_map(|(what, line)| Some(of_line(what, line?)));
    let limited = [rate(found), limiter(found), burst(found), ceiling(found)];
    let queue = [buffer(found), discipline(found)];
    limited
        .into_iter()
        .chain(queue)
        .flatten()
        .chain(lines)
        .collect()
}

fn rate(found: &Calibration) -> Option<Fact> {
    let rate = found.rate.as_ref()?;
    let Estimate { value, interval } = rate.bits_per_second();
    Some(Fact {
        what: "rate",
        value: rate_near(value, value),
        between: half(interval)
            .map(|half| format!("± {}", rate_near(half, value)))
            .unwrap_or_default(),
        from: format!(
            "{} in {} without a rest",
            quantity(rate.bytes, "B"),
            format_duration_f64(rate.busy)
        ),
    })
}

fn limiter(found: &Calibration) -> Option<Fact> {
    let value = found.limiter.as_ref()?.name();
    let from = match found.verdict {
        Some(verdict) => format!("unloaded slope {} of that", format_share(verdict.share)),
        None => "packets are lost and none waits".to_owned(),
    };
    let open = found.verdict.is_some_and(|verdict| verdict.is_open);
    Some(Fact {
        what: "limited by",
        value: if open {
            format!("{value} or not")
        } else {
            value.to_owned()
        },
        between: String::new(),
        from,
    })
}

fn burst(found: &Calibration) -> Option<Fact> {
    let burst = found.bucket()?.burst?;
    let bytes = |value: f64| format!("{value:.0} B");
    Some(Fact {
        what: "burst",
        value: bytes(burst.value),
        between: burst
            .interval
            .map(|(low, high)| between(bytes(low), bytes(high)))
            .unwrap_or_default(),
        from: match found.limiter {
            Some(Limiter::Policer(_)) => "what passed and what was dropped".to_owned(),
            _ if found.bucket()?.line.is_some() => {
                "what passed at the line's rate after a rest".to_owned()
            }
            _ => "what passed at once after a rest".to_owned(),
        },
    })
}

fn ceiling(found: &Calibration) -> Option<Fact> {
    let ceiling = found.bucket()?.ceiling?;
    Some(Fact {
        what: "ceiling",
        value: rate_near(ceiling.bits_per_second(), ceiling.bits_per_second()),
        between: String::new(),
        from: format!("for the burst; {:.0} B at once", ceiling.burst),
    })
}

/// In the unit in which a rate near it is written, which is Mbit/s at most: three decimals of those are told apart.
fn rate_near(bits: f64, near: f64) -> String {
    let (scale, unit) = rate_unit(near.min(1e6));
    format!("{:.3} {unit}", bits / scale)
}

/// Half of an interval's length.
fn half(interval: Option<(f64, f64)>) -> Option<f64> {
    interval.map(|(low, high)| (high - low) / 2.0)
}

fn between(low: String, high: String) -> String {
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

fn buffer(found: &Calibration) -> Option<Fact> {
    let buffer = found.buffer.as_ref()?;
    let Buffer {
        between: (held, _),
        interval: (low, high),
        packets: [taken, dropped],
        contradict,
        ..
    } = *buffer;
    let amount = |value: f64| buffer.amount(value);
    if buffer.drops_early() {
        return Some(Fact {
            what: "buffer",
            value: format!("{} or more", amount(held)),
            between: String::new(),
            from: format!(
                "room for {} of {dropped} dropped",
                format_share(buffer.early)
            ),
        });
    }
    Some(Fact {
        what: "buffer",
        value: amount(buffer.limit()),
        between: between(amount(low), amount(high)),
        from: format!(
            "{} packets, {} contradict it",
            taken + dropped,
            format_share(contradict)
        ),
    })
}

fn discipline(found: &Calibration) -> Option<Fact> {
    let queue = found.queue.as_ref()?;
    Some(Fact {
        what: "discipline",
        value: match found.candidates() {
            [] => "unknown".to_owned(),
            [one] => (*one).to_owned(),
            [one, other] => format!("{one} or {other}"),
            [one, others @ ..] => format!("{one} or {} others", others.len()),
        },
        between: String::new(),
        from: match queue.order {
            Order::Classes => {
                let [least, most] = queue.of_flows.map(format_share);
                format!("one flow waits for {most} of what is ahead, another for {least}")
            }
            _ => format!(
                "others wait for {} of what is ahead",
                format_share(queue.waited_for)
            ),
        },
    })
}

fn of_line(what: &'static str, line: &Line) -> Fact {
    let halves = [line.constant, line.slope].map(|estimate| half(estimate.interval));
    let between = match halves {
        [Some(constant), Some(byte)] => format!("± {}, ± {byte:.2} ns/B", duration(constant)),
        _ => String::new(),
    };
    let sizes = line.sizes();
    let (value, fit) = match line.slope.value {
        0.0 => (String::new(), String::new()),
        byte => (format!(" + {byte:.2} ns/B"), format!(", r2 {:.4}", line.r2)),
    };
    Fact {
        what,
        value: duration(line.constant.value) + &value,
        between,
        from: format!("{sizes} sizes{fit}, within {}", duration(line.farthest)),
    }
}

/// A duration, also a negative one, without a zero that is one.
pub fn duration(ns: f64) -> String {
    or_unknown(Some(ns).filter(|ns| ns.is_finite()), format_duration_f64)
}

/// Where a new run is expected to have a quantile: `1.72 ms to 1.86 ms`.
pub fn range(expected: &Expected) -> String {
    or_unknown(expected.between, |(low, high)| {
        between(duration(low), duration(high))
    })
}

/// Where a new run is expected to have its loss: `29 % to 33 %`.
pub fn range_of_loss(expected: &Expected) -> String {
    or_unknown(expected.between, |(low, high)| {
        between(format_share(low), format_share(high))
    })
}

/// What was left out, in a sentence; nothing where nothing was.
pub fn used(found: &Calibration) -> String {
    let [unloaded, overflow] = found.trials;
    let trials = |count: usize| plural(count as u64, "trial");
    let flawed = match found.flawed {
        0 => String::new(),
        flawed => format!("; {} left out as invalid", trials(flawed)),
    };
    format!(
        "{} without load, {} that overflow{flawed}",
        trials(unloaded),
        trials(overflow)
    )
}

/// The factors of these groups that vary.
pub fn varied<'a>(groups: impl Iterator<Item = &'a Group> + Clone) -> Vec<String> {
    let names = crate::run::panels::varied(groups.map(|group| group.factors.as_slice()));
    names.into_iter().map(str::to_owned).collect()
}

/// A group's level of each of these factors, and its probe.
pub fn levels(group: &Group, heads: &[String]) -> Vec<String> {
    let level = |head: &String| {
        level_of(&group.factors, head).map_or_else(String::new, |level| level.label.clone())
    };
    heads
        .iter()
        .map(level)
        .chain([group.probe.clone()])
        .collect()
}

/// `unloaded, 64B, echo`.
pub fn name(group: &Group, heads: &[String]) -> String {
    levels(group, heads).join(", ")
}

/// What is shown of a group: what the user waits, or for frames, which nobody waits for, the network.
pub fn measure(group: &Group) -> Measure {
    match group.delay(Measure::Response).values.is_empty() {
        true => Measure::Network,
        false => Measure::Response,
    }
}

/// Fewer packets have no distribution.
pub const PACKETS: usize = 20;

/// Has it a distribution?
pub fn is_shown(group: &Group) -> bool {
    group.delay(measure(group)).values.len() >= PACKETS
}

/// Those whose measured group has a distribution, in the order of its levels.
pub fn in_order<T>(all: &[T], group: impl Fn(&T) -> &Group) -> Vec<&T> {
    let mut shown: Vec<&T> = all.iter().filter(|one| is_shown(group(one))).collect();
    shown.sort_by(|a, b| compare_combinations(&group(a).factors, &group(b).factors, &[]));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_have_their_digits() {
        for (value, half, text) in [
            (94.1234e6, 0.0123e6, "94.123 Mbit/s ± 0.012 Mbit/s"),
            (1.2e9, 1e4, "1200.000 Mbit/s ± 0.010 Mbit/s"),
            (64e3, 300.0, "64.000 kbit/s ± 0.300 kbit/s"),
            (9600.0, 40.0, "9.600 kbit/s ± 0.040 kbit/s"),
        ] {
            let said = format!("{} ± {}", rate_near(value, value), rate_near(half, value));
            assert_eq!(said, text);
        }
    }
}
