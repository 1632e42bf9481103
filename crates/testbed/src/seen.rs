//! What the switches saw, as hops and series of the trial.

use crate::kernel_queues::QueuesSeen;
use crate::layout::Layout;
use crate::soft_switch::device::Met;
use crate::soft_switch::device::PortTraces;
use crate::soft_switch::driver::{MOST_MET, SwitchObservations, nanos};
use crate::soft_switch::probes::widened;
use delaylab_model::hop::{Direction, Hop};
use delaylab_model::method::Responder;
use delaylab_model::plan::Unit;
use delaylab_model::rows::Rows;
use delaylab_model::trial::{Dropped, SwitchLateness, Trial};
use delaylab_model::units::format_duration;
use delaylab_model::words::plural;
use delaylab_model::world::Sink;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_stats::loglinear::LogLinear;
use delaylab_topology::framing::in_cells;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The switches of a testbed that are later than this at the median, or ever, are said to be late: a delay that few packets
/// have is what is looked for.
const MOST_TYPICAL_LATENESS: Nanos = 50 * MICROSECOND;
const MOST_LATENESS: Nanos = MILLISECOND;

/// Hands it all over. Returns what a reader should know.
pub fn hand_over(
    seen: SwitchObservations,
    trial: &Trial,
    layout: &Layout,
    sink: &mut dyn Sink,
) -> io::Result<Vec<String>> {
    sink.rows(Rows::Hops(&hops(seen.met, seen.epoch, trial)))?;
    let mut warnings = Vec::new();
    for (device, traces) in layout.devices.iter().zip(seen.devices) {
        let unit = if in_cells(device.settings.framing) {
            Unit::Cells
        } else {
            Unit::Bytes
        };
        let began = nanos(seen.epoch, traces.began);
        for port in traces.ports {
            hand_over_port(port, unit, began, trial.id, sink)?;
        }
        let dropped = traces.counts.dropped.into_keys();
        warnings.extend(dropped.map(|(port, cause)| sentence(&port, cause.words())));
        let damaged = traces.counts.damaged.iter();
        warnings.extend(damaged.map(|port| sentence(port, Dropped::DAMAGED)));
        if traces.counts.unknown > 0 {
            warnings.push(format!(
                "{} knew no way to the addresses of {}",
                layout.structure.places[device.place],
                plural(traces.counts.unknown, "frame")
            ));
        }
    }
    if seen.met_more {
        warnings.push(format!(
            "hops has what the first {MOST_MET} packets met in their queues, and not the rest"
        ));
    }
    Ok(warnings)
}

/// What packets met in queues, numbered along the way of each.
fn hops(met: Vec<Met>, epoch: Nanos, trial: &Trial) -> Vec<Hop> {
    let mut last: BTreeMap<(u16, bool), u64> = BTreeMap::new();
    let mut hops: Vec<_> = met
        .into_iter()
        .filter_map(|met| {
            let whose = met.whose;
            let probe = trial.probes.get(usize::from(whose.probe))?;
            let last = last.entry((whose.probe, whose.back)).or_insert(0);
            let seq = widened(probe.method, whose.seq, *last);
            *last = seq;
            // What follows the last packet asks for the departures of replies.
            if probe.method.responder() == Some(Responder::Stamp)
                && probe.count.is_some_and(|count| seq >= count)
            {
                return None;
            }
            let direction = if whose.back {
                Direction::Return
            } else {
                Direction::Forward
            };
            Some(Hop {
                trial: trial.id,
                probe: whose.probe,
                seq,
                direction,
                hop: 0,
                port: met.port,
                t_enqueue: nanos(epoch, met.enqueue),
                t_dequeue: nanos(epoch, met.dequeue),
                backlog: met.backlog,
            })
        })
        .collect();
    hops.sort_by_key(|hop| (hop.probe, hop.seq, hop.direction, hop.t_enqueue));
    let mut number = 0;
    let mut before = None;
    for hop in &mut hops {
        let packet = (hop.probe, hop.seq, hop.direction);
        number = if before == Some(packet) {
            number + 1
        } else {
            0
        };
        before = Some(packet);
        hop.hop = number;
    }
    hops
}

/// How late frames were handed on, and the latest of them; `None` where there were none.
pub fn lateness(late: &LogLinear, latest: Nanos) -> Option<SwitchLateness> {
    // The middle of a bin may be later than all that is in it.
    let quantile = |q| Some(late.quantile(q)?.min(latest));
    Some(SwitchLateness {
        frames: late.count(),
        p50_ns: quantile(0.5)?,
        p99_ns: quantile(0.99)?,
        max_ns: Some(latest),
    })
}

/// What a reader should know where that is more than a testbed is to add to its delays.
pub fn too_late(late: SwitchLateness) -> Option<String> {
    let worst = late.max_ns.unwrap_or(late.p99_ns);
    let is_late = late.p50_ns > MOST_TYPICAL_LATENESS || worst > MOST_LATENESS;
    is_late.then(|| {
        format!(
            "the testbed's switches were late, which the delays have in them: half of the frames were handed on up to {} \
             after they were to leave, 99 % up to {}, one of them {}; run it where less else runs",
            format_duration(late.p50_ns),
            format_duration(late.p99_ns),
            format_duration(worst)
        )
    })
}

/// What a reader should know of probes whose packets the switches could not tell apart.
pub fn without_hops(alike: &BTreeSet<u16>, trial: &Trial) -> Option<String> {
    let names = alike
        .iter()
        .filter_map(|&probe| trial.probes.get(usize::from(probe)))
        .map(|probe| format!("`{}`", probe.name));
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| {
        format!(
            "hops has nothing of the probes {}: they have the same hosts, method and class as another, and the testbed's switches cannot \
             tell them apart. Give each its own pair of hosts, or a class of its own",
            names.join(", ")
        )
    })
}

/// Why a trial is not what its experiment meant, where frames were lost that no queue dropped: not read in time, or not taken.
pub fn flaws(unread: u64, refused: u64) -> Vec<String> {
    let unread = (unread > 0).then(|| {
        format!(
            "{} lost because the testbed's switches were kept from reading: run it as root, whose sockets have more \
             room, or where less else runs",
            plural(unread, "frame")
        )
    });
    let refused = (refused > 0).then(|| {
        format!(
            "{} lost because an interface of the testbed did not take them: it was taken down, or its receiver was kept \
             from reading. Run it where less else runs",
            plural(refused, "frame")
        )
    });
    unread.into_iter().chain(refused).collect()
}

fn sentence(port: &str, why: &str) -> String {
    let what = "packets";
    Dropped { what, port, why }.sentence()
}

/// What the kernel's queues held. Returns what a reader should know.
pub fn hand_over_queues(
    watched: Vec<QueuesSeen>,
    trial: &Trial,
    sink: &mut dyn Sink,
) -> io::Result<Vec<String>> {
    let mut warnings = Vec::new();
    for queues in watched {
        for port in queues.ports {
            hand_over_port(port, Unit::Bytes, queues.began, trial.id, sink)?;
        }
        let dropped = queues.dropped.iter();
        warnings.extend(dropped.map(|(port, why)| sentence(port, why)));
    }
    Ok(warnings)
}

fn hand_over_port(
    traces: PortTraces,
    unit: Unit,
    began: Nanos,
    trial: u32,
    sink: &mut dyn Sink,
) -> io::Result<()> {
    let series = [
        ("backlog", unit, traces.backlog),
        ("utilisation", Unit::Share, traces.utilisation),
    ];
    for (series, unit, over_time) in series {
        let (points, values) = over_time.rows(trial, series, &traces.port, unit, began);
        sink.rows(Rows::Series(&points))?;
        sink.rows(Rows::SeriesValues(&values))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn frames_that_were_not_read_or_not_taken_are_flaws() {
        assert!(flaws(0, 0).is_empty());
        let said = flaws(12, 1);
        assert!(said[0].starts_with("12 frames lost") && said[0].contains("reading"));
        assert!(said[1].starts_with("1 frame lost") && said[1].contains("did not take"));
        assert_eq!((flaws(12, 0).len(), flaws(0, 1).len()), (1, 1));
    }

    #[test]
    fn switches_are_late_by_their_median_or_by_their_worst_frames() {
        // Two frames of a thousand are late.
        let of = |typical: Nanos, rare: Nanos| {
            let mut late = LogLinear::default();
            (0..1000).for_each(|frame| late.push(if frame % 500 == 0 { rare } else { typical }));
            let late = lateness(&late, rare).unwrap();
            (late.frames, too_late(late))
        };
        assert_eq!(lateness(&LogLinear::default(), 0), None);
        assert_eq!(of(40_000, 900_000), (1000, None));
        assert!(of(60_000, 60_000).1.unwrap().contains("up to 60.0 µs"));
        assert!(
            of(2_000, 38_000_000)
                .1
                .unwrap()
                .contains("one of them 38.0 ms")
        );
    }
}
