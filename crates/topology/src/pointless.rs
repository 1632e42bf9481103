//! What would have no effect at all: a load that begins when all is over, a switch into whose buffer no packet fits.

use crate::Built;
use crate::framing::{CELL, DATAGRAM_HEADERS, TCP_HEADERS, in_cells, wire};
use delaylab_model::Nanos;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::path::{Switch as SwitchSection, TokenBucket};
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::Limit;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;
use delaylab_model::units::format_duration;
use delaylab_traffic::arrival::section::payload;

/// When the last probe sends its last packet, loads that are there before included; `None` where one of them has no end of its
/// own. How long a tester's frames are sent its procedure says, and how long a closed loop lasts its replies do.
fn end(trial: &Trial) -> Option<Nanos> {
    let end = |probe: &Probe| match probe.pacing {
        _ if probe.frames.is_some() => None,
        Pacing::Wait { .. } => probe.duration,
        _ => probe.expected_duration(),
    };
    let ends = trial.probes.iter().map(end);
    let last = ends.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(last.saturating_add(trial.lead()))
}

/// Refuses what begins after the last packet of the probes.
///
/// # Errors
/// Names the field.
pub fn in_the_trial(trial: &Trial, field: impl Into<String>, at: Nanos) -> Result<(), Refusal> {
    match end(trial).filter(|&end| at > 0 && at >= end) {
        Some(end) => refuse(
            field,
            format!(
                "comes after the last packet of the probes, at {}: nothing would be seen of it",
                format_duration(end)
            ),
        ),
        None => Ok(()),
    }
}

/// Refuses a load that begins when all is over.
///
/// # Errors
/// Names its start.
pub fn of_a_late_load(trial: &Trial, load: &Load) -> Result<(), Refusal> {
    let start = load.start.map_or(0, |start| start.0);
    in_the_trial(trial, format!("load.{}.start", load.name), start)
}

/// Refuses a switch that is reset when all is over, or whose queues have room for no packet at all. Its section stands `under`
/// this name.
///
/// # Errors
/// Names the field.
pub fn of_a_useless_switch(
    trial: &Trial,
    built: &Built,
    section: &SwitchSection,
    under: &str,
) -> Result<(), Refusal> {
    let field = |name: &str| format!("{under}.{name}");
    if let Some(reset) = section.reset {
        in_the_trial(trial, field("reset"), reset.at.0)?;
    }
    let Some(smallest) = smallest_packet(trial, built.mtu) else {
        return Ok(());
    };
    let smallest = held(built, section.shaper.as_ref(), smallest);
    let in_bytes = |limit: Option<Limit>| match limit {
        Some(Limit::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    let rooms = [
        ("buffer", in_bytes(section.buffer)),
        ("queue_buffer", in_bytes(section.queue_buffer)),
    ];
    for (name, room) in rooms {
        if let Some(room) = room.filter(|&room| room < smallest) {
            return refuse(field(name), nothing_passes(smallest, room));
        }
    }
    Ok(())
}

/// What an IP packet takes of a buffer: a cell of it, or its frame as the shaper in front of the line counts it.
fn held(built: &Built, shaper: Option<&TokenBucket>, ip_size: u32) -> u64 {
    match shaper {
        _ if in_cells(built.framing) => CELL.into(),
        Some(shaper) => u64::from(ip_size) + u64::from(shaper.counted()),
        None => wire(built.framing, ip_size).bytes.into(),
    }
}

fn nothing_passes(smallest: u64, room: u64) -> String {
    format!("no packet passes: the smallest takes {smallest} B of it, and this is {room} B")
}

/// Token buckets too small for any packet: a policer like that loses all, which may be meant.
pub fn small_bursts(
    trial: &Trial,
    built: &Built,
    section: &SwitchSection,
    under: &str,
) -> Vec<Refusal> {
    let buckets = [("shaper", section.shaper), ("policer", section.policer)];
    let packet = smallest_packet(trial, built.mtu).unwrap_or(0);
    let small = buckets.into_iter().filter_map(|(name, bucket)| {
        let burst = bucket?.burst.0;
        let smallest = held(built, bucket.as_ref(), packet);
        (burst < smallest).then(|| {
            let field = format!("{under}.{name}.burst");
            Refusal::new(field, nothing_passes(smallest, burst))
        })
    });
    small.collect()
}

/// Bytes of the smallest IP packet that a probe or a load sends, or of the largest fragment of it; `None` where that is not
/// known.
fn smallest_packet(trial: &Trial, mtu: u32) -> Option<u32> {
    let probes = trial.probes.iter().map(|probe| match probe.frames {
        Some(_) => None,
        None => (probe.method.ip_size(false, probe.payload)).or(Some(TCP_HEADERS)),
    });
    let loads = trial.loads.iter().filter(|load| load.streams > 0);
    let loads = loads.map(|load| match load.kind {
        LoadKind::Tcp | LoadKind::Transfers | LoadKind::Replay => Some(TCP_HEADERS),
        _ => u32::try_from(payload(load))
            .ok()
            .map(|payload| payload.saturating_add(DATAGRAM_HEADERS)),
    });
    let sizes: Option<Vec<u32>> = probes.chain(loads).collect();
    sizes?.into_iter().min().map(|size| size.min(mtu))
}
