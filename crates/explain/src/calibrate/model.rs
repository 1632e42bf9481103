//! The calibrated path as an experiment for the world `sim`: probes and design of the measured run, between
//! them what was found.
//!
//! ```text
//! a1 ─┐                                        ┌─ b1
//! a2 ─┼─ s1 ── bottleneck: path.rate ── s2 ────┼─ b2      one pair of hosts a probe or load
//! …   │                                        │  …
//! ```
//!
//! The minimum delay's constant is the bottleneck's propagation; what of its slope the bottleneck does not
//! explain, the lines beside it have, half each. Behind a token bucket all of the slope is the links': the bottleneck's, less
//! what a line takes whose rate the experiment says.

use super::Calibration;
use super::limiter::{Bucket, Limiter};
use super::line::Line;
use super::passage::Ways;
use super::queue::Order;
use delaylab_lab::experiment::Resolved;
use delaylab_model::path::{Framing, Path};
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::units::format_share;
use std::fmt::Write;
use toml::{Table, Value};

/// The largest frame of an MTU of 1500 bytes: a bucket holds one.
const LARGEST: f64 = 1514.0;
/// A line that takes less for a byte than this is as fast as none, in nanoseconds.
const NO_LINE: f64 = 0.08;
/// Such a line's rate, in bits a second.
const FAST: f64 = 1e11;
/// A stream that would keep a host busy for more than this share is taken in batches: what one packet costs
/// is not what each of them costs.
const BUSY: f64 = 0.2;
/// What an experiment's sections keep.
const KEPT: [&str; 5] = ["probe", "load", "sweep", "case", "host"];

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nothing is known of the delay without load.
    #[error(
        "without trials of several packet sizes and no load there is nothing to make a model of"
    )]
    NoLine,
    /// Trials have different paths.
    #[error("`{0}` changes the path from trial to trial: calibrate a run of one path")]
    PathVaries(String),
    /// The run's experiment cannot be read.
    #[error("the run's experiment cannot be read: {0}")]
    Unreadable(String),
}

/// The experiment as text, called by the measured one's name and `kind`. It is run as any other, and every
/// `path` in it can be set. `run` is what comments call the run.
pub fn experiment(
    found: &Calibration,
    resolved: &Resolved,
    run: &str,
    kind: &str,
) -> Result<String, ModelError> {
    let measured = of_one_path(resolved)?;
    let pattern = resolved.planned.first();
    let trial = &pattern
        .ok_or_else(|| ModelError::Unreadable("it has no trials".to_owned()))?
        .trial;
    let path = path_section(found, &trial.path, &trial.probes, trial.loads.len(), run)?;
    let mut kept = Table::new();
    for (key, value) in measured
        .iter()
        .filter(|(key, _)| KEPT.contains(&key.as_str()))
    {
        kept.insert(key.clone(), value.clone());
    }
    let probes = place(&mut kept, "probe", 0);
    place(&mut kept, "load", probes);
    if let Some(repeats) = measured
        .get("design")
        .and_then(|design| design.get("repeats"))
    {
        let design = Table::from_iter([("repeats".to_owned(), repeats.clone())]);
        kept.insert("design".to_owned(), Value::Table(design));
    }
    let name = format!("{}-{kind}", resolved.name);
    let head = format!(
        "# A model of the path of {run}, by `delaylab calibrate`.\n\nname = {}\ntitle = {}\nabout = {}\n\
         world = \"sim\"\nseed = {}\n",
        Value::from(name),
        Value::from(format!("Model of {}", resolved.title)),
        Value::from("What the calibrated path does to the same probes."),
        resolved.seed
    );
    // Plain tables of what a TOML file held: they can be written.
    let kept = toml::to_string(&kept).unwrap_or_default();
    Ok(format!("{head}\n{path}\n{kept}"))
}

/// The run's experiment as it is written, if all of its trials have one path: what is found of several together is true of none.
///
/// # Errors
///
/// A factor or a case changes the path, or the experiment cannot be read.
pub fn of_one_path(resolved: &Resolved) -> Result<Table, ModelError> {
    let unreadable = |error: toml::de::Error| ModelError::Unreadable(error.to_string());
    let experiment: Table = resolved.toml.parse().map_err(unreadable)?;
    match varied_path(&experiment) {
        Some(place) => Err(ModelError::PathVaries(place)),
        None => Ok(experiment),
    }
}

/// A factor that sets something of the path.
fn varied_path(experiment: &Table) -> Option<String> {
    let of_path = |place: &str| place == "path" || place.starts_with("path.");
    let sweep = experiment.get("sweep").and_then(Value::as_table);
    let set = sweep.into_iter().flat_map(|sweep| sweep.values());
    let mut set = set.filter_map(|factor| factor.get("set").and_then(Value::as_str));
    let swept = set.find(|place| of_path(place)).map(str::to_owned);
    let cases = experiment.get("case").and_then(Value::as_array);
    let cases = cases.into_iter().flatten();
    let mut places = cases.filter_map(|case| case.get("set").and_then(Value::as_table));
    swept.or_else(|| places.find_map(|set| set.keys().find(|place| of_path(place)).cloned()))
}

/// Gives each of these a pair of hosts of its own, numbered from `first` on. How many there are.
fn place(experiment: &mut Table, section: &str, first: usize) -> usize {
    let Some(Value::Array(each)) = experiment.get_mut(section) else {
        return first;
    };
    for (at, one) in each.iter_mut().enumerate() {
        if let Value::Table(one) = one {
            // Of the measuring host, or of a path that is not this one.
            for other in ["interface", "stamps", "wait_mode", "route"] {
                one.remove(other);
            }
            one.insert(
                "from".to_owned(),
                Value::from(format!("a{}", first + at + 1)),
            );
            one.insert("to".to_owned(), Value::from(format!("b{}", first + at + 1)));
        }
    }
    first + each.len()
}

fn path_section(
    found: &Calibration,
    measured: &Path,
    probes: &[Probe],
    loads: usize,
    run: &str,
) -> Result<String, ModelError> {
    let forward = found.forward.as_ref().ok_or(ModelError::NoLine)?;
    let slope = found.slope().ok_or(ModelError::NoLine)?.max(NO_LINE / 10.0);
    let beside = beside(found, slope, measured, probes);
    let (bits, is_of) = bottleneck(found, slope, beside);
    let mut text = format!("# Found in {run}.\n[path]\n# {is_of}\nrate = \"{bits:.0}bit/s\"\n");
    if let Some(framing) = measured.framing {
        let _ = writeln!(text, "framing = \"{}\"", framing_name(framing));
    }
    if let Some(mtu) = measured.mtu {
        let _ = writeln!(text, "mtu = \"{}B\"", mtu.0);
    }
    let _ = writeln!(text, "\n[path.switch]\n{}", queue(found));
    text += &bucket(found);
    let (propagation, is_of) = propagation(found, forward);
    for switch in ["s1", "s2"] {
        let _ = writeln!(
            text,
            "\n[[path.node]]\nname = \"{switch}\"\nkind = \"switch\""
        );
    }
    let _ = writeln!(
        text,
        "\n[[path.link]]\nname = \"bottleneck\"\nfrom = \"s1\"\nto = \"s2\"\n# The minimum delay of a packet \
         without any bytes, {is_of}.\npropagation = \"{propagation:.0}ns\""
    );
    for at in 0..probes.len() + loads {
        let probe = probes.get(at);
        text += &pair(found, measured, probe, at + 1, beside);
    }
    Ok(text)
}

/// The rate of the bottleneck in bits a second, and what it is of.
fn bottleneck(found: &Calibration, slope: f64, beside: f64) -> (f64, String) {
    match &found.rate {
        Some(_) if found.bucket().is_some() => {
            let (own, is_of) = match line_behind(found) {
                Some(line) => (line, "packets left at its rate after a rest"),
                None => (slope - 2.0 * beside, "all of the minimum delay's slope"),
            };
            let is_of = format!("The link: {is_of}. What limits it is below, a token bucket.");
            (line_rate(own), is_of)
        }
        Some(rate) => {
            let is_of = "Bytes that came out while the bottleneck never rested.";
            (rate.bits_per_second().value, is_of.to_owned())
        }
        None => {
            let slope_is = match found.ways {
                Ways::Apart => "all of the minimum delay's slope, so no link is slower.",
                Ways::Together => "half of the slope of there and back together.",
            };
            (8e9 / slope, format!("Unknown: {slope_is}"))
        }
    }
}

/// The rate in bits a second of a line, from the nanoseconds that a byte takes.
fn line_rate(ns_per_byte: f64) -> f64 {
    match ns_per_byte < NO_LINE {
        true => FAST,
        false => 8e9 / ns_per_byte,
    }
}

/// The minimum delay one way of a packet without any bytes, in nanoseconds, and what it is of.
fn propagation(found: &Calibration, forward: &Line) -> (f64, &'static str) {
    let there = forward.constant.value;
    let (ns, is_of) = match (found.ways, &found.back) {
        (Ways::Together, _) => (there / 2.0, "half of there and back"),
        (Ways::Apart, Some(back)) => (
            f64::midpoint(there, back.constant.value),
            "the mean of there and back",
        ),
        (Ways::Apart, None) => (there, "there; of back nothing is known"),
    };
    (ns.max(0.0), is_of)
}

/// What the line behind a bucket takes for a byte, where it was seen.
fn line_behind(found: &Calibration) -> Option<f64> {
    Some(found.bucket()?.line?.on_the_wire)
}

/// What each of the two lines beside the bottleneck takes for a byte, in nanoseconds.
fn beside(found: &Calibration, slope: f64, measured: &Path, probes: &[Probe]) -> f64 {
    if let Some(line) = line_behind(found) {
        return ((slope - line) / 2.0).max(0.0);
    }
    if found.bucket().is_some() {
        let given = probes.iter().find_map(|probe| given(measured, probe));
        let line = given.map_or(0.0, |rate| 8e9 / rate as f64);
        return if 2.0 * line < slope { line } else { 0.0 };
    }
    let Some(rate) = &found.rate else {
        return 0.0;
    };
    ((slope - rate.ns_per_byte.value) / 2.0).max(0.0)
}

/// The rate of a tester's line: a share of it is a rate only there.
fn given(measured: &Path, probe: &Probe) -> Option<u64> {
    let frames = probe.method.is_one_way();
    measured
        .rate_at(probe.from.as_deref())
        .filter(|&rate| frames && rate > 0)
}

/// The two hosts of a stream, and their lines.
fn pair(
    found: &Calibration,
    measured: &Path,
    probe: Option<&Probe>,
    number: usize,
    beside: f64,
) -> String {
    let costs = found.hosts.of_each();
    let mut text = String::new();
    for (end, cost) in ["a", "b"].into_iter().zip(costs) {
        let _ = writeln!(
            text,
            "\n[[path.node]]\nname = \"{end}{number}\"\nkind = \"host\""
        );
        let Some((probe, [packet, byte])) = probe.zip(cost) else {
            continue;
        };
        if let Some(note) = too_busy(probe, packet) {
            let _ = writeln!(text, "# {note}");
            continue;
        }
        // The simulator's costs are whole nanoseconds: what a byte costs beyond them goes to the packet.
        let whole = byte.round();
        let packet = packet + (byte - whole) * f64::from(probe.payload);
        let _ = writeln!(
            text,
            "# Mean of sending and receiving, medians without load.\nhost = {{ per_packet = \"{:.0}ns\", \
             per_byte = \"{whole:.0}ns\" }}",
            packet.max(0.0)
        );
    }
    let given = probe.and_then(|probe| given(measured, probe));
    let rate = given.unwrap_or(line_rate(beside) as u64);
    for (name, from, to) in [
        ("in", format!("a{number}"), "s1".to_owned()),
        ("out", "s2".to_owned(), format!("b{number}")),
    ] {
        let _ = writeln!(
            text,
            "\n[[path.link]]\nname = \"{name}-{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}bit/s\""
        );
    }
    text
}

/// Why the hosts of this probe cost nothing.
fn too_busy(probe: &Probe, packet: f64) -> Option<&'static str> {
    let gap = match probe.pacing {
        Pacing::Every { interval_ns } => interval_ns as f64,
        Pacing::Poisson { mean_ns } => mean_ns as f64,
        Pacing::Burst { .. } | Pacing::Wait { .. } => return None,
        Pacing::Frames { .. } => {
            return Some("Frames come from a tester's ports, which cost nothing here.");
        }
    };
    // Sent and received.
    let busy = 2.0 * packet > BUSY * gap;
    busy.then_some(
        "At this rate packets are taken in batches: what one costs is not what each of them costs.",
    )
}

fn queue(found: &Calibration) -> String {
    if matches!(found.limiter, Some(Limiter::Policer(_))) {
        return "# Nothing waits.\ndiscipline = \"fifo\"".to_owned();
    }
    let Some(queue) = &found.queue else {
        return "# Discipline unknown.\ndiscipline = \"fifo\"".to_owned() + &limit(found);
    };
    let [least, most] = queue.of_flows.map(format_share);
    let waited = match queue.order {
        Order::Classes => format!(
            "# Packets of one flow waited for {most} of what stood before them, those of another for {least}.\n"
        ),
        _ => format!(
            "# Packets of other flows waited for {} of what stood before them.\n",
            format_share(queue.waited_for)
        ),
    };
    let discipline = found.discipline().unwrap_or("fifo");
    format!("{waited}discipline = \"{discipline}\"{}", limit(found))
}

/// The section of a shaper or a policer.
fn bucket(found: &Calibration) -> String {
    let (name, bucket) = match &found.limiter {
        Some(Limiter::Shaper(bucket)) => ("shaper", bucket),
        Some(Limiter::Policer(bucket)) => ("policer", bucket),
        Some(Limiter::Link) | None => return String::new(),
    };
    let Some(rate) = &found.rate else {
        return String::new();
    };
    let bits = rate.bits_per_second().value;
    let mut text = format!("\n[path.switch.{name}]\nrate = \"{bits:.0}bit/s\"\n");
    let Bucket { burst, ceiling, .. } = bucket;
    match burst {
        Some(burst) => {
            // Less than the largest packet would never pass.
            let bytes = burst.value.max(LARGEST);
            let _ = writeln!(
                text,
                "# What passed at once after a rest.\nburst = \"{bytes:.0}B\""
            );
        }
        None => {
            let _ = writeln!(text, "# Unknown: a frame.\nburst = \"{LARGEST:.0}B\"");
        }
    }
    if let Some(ceiling) = ceiling {
        let bits = ceiling.bits_per_second();
        let _ = writeln!(
            text,
            "# Until the burst was used up.\nceil = \"{bits:.0}bit/s\"\nceil_burst = \"{:.0}B\"",
            ceiling.burst.max(LARGEST)
        );
    }
    text
}

fn limit(found: &Calibration) -> String {
    let Some(buffer) = &found.buffer else {
        return "\n# Buffer unknown: the simulator's own.".to_owned();
    };
    let why = if buffer.drops_early() {
        "It holds this or more: it drops before it is full."
    } else {
        "The limit that tells what was taken from what was dropped."
    };
    let unit = buffer.counts.unit();
    format!("\n# {why}\nbuffer = \"{:.0}{unit}\"", buffer.limit())
}

const fn framing_name(framing: Framing) -> &'static str {
    match framing {
        Framing::Aal5 => "aal5",
        Framing::Aal5Llc => "aal5-llc",
        Framing::Ethernet => "ethernet",
        Framing::Ppp => "ppp",
    }
}

impl Calibration {
    /// The discipline that the model has; `None` where nothing is known.
    pub fn discipline(&self) -> Option<&'static str> {
        self.candidates().first().copied()
    }

    /// The disciplines that do what was seen, that of the model first. Priority does where classes are those of the flows.
    pub fn candidates(&self) -> &'static [&'static str] {
        let Some(queue) = &self.queue else {
            return &[];
        };
        let early = self.buffer.is_some_and(|buffer| buffer.drops_early());
        let contradicted = self.buffer.is_some_and(|buffer| buffer.is_contradicted());
        match (queue.order, early) {
            (Order::First, false) if contradicted => &["fifo", "codel"],
            (Order::First, false) => &["fifo"],
            (Order::First, true) => &["codel", "red", "pie"],
            (Order::PerFlow, false) => &["per-flow", "drr", "wfq", "priority"],
            (Order::PerFlow, true) => &["fq-codel", "cake"],
            (Order::Classes, _) => &["priority", "wrr", "wfq"],
            (Order::Neither, _) => &[],
        }
    }
}
