//! Turns a `[[probe]]` section into a probe that a world can carry out.

use super::frame_probe::{frame_probe, no_frames};
use super::probe_fields::{ecn, refuse, warmup};
use super::request::request;
use delaylab_model::experiment::{FillText, PacingSection, ProbeSection};
use delaylab_model::method::Method;
use delaylab_model::path::Path;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::Size;
use delaylab_model::refusal::Refusal;
use delaylab_model::{Nanos, SECOND};

/// Makes the probe. `v6`: it is sent over IPv6, which leaves less payload in an IP packet of the same size.
pub(crate) fn probe(section: &ProbeSection, path: &Path, v6: bool) -> Result<Probe, Refusal> {
    let method = section.method;
    if method.is_one_way() {
        ends(section)?;
        return frame_probe(section, path);
    }
    no_frames(section, method)?;
    let request = request(section, path)?;
    let pacing = pacing(&section.pacing)?;
    ends(section)?;
    let mut probe = Probe::new(&section.name, method);
    if let Some(payload) = payload(section, method, v6)? {
        probe.payload = payload;
    }
    probe.request = request;
    probe.reply_payload = reply_payload(section, method, probe.payload)?;
    probe.dscp = section.class.0;
    probe.ecn = ecn(section)?;
    probe.ttl = section.ttl;
    probe.dont_fragment = section.dont_fragment;
    if let Some(FillText(fill)) = &section.fill {
        probe.fill.clone_from(fill);
    }
    probe.pacing = pacing;
    probe.warmup = warmup(section, pacing)?;
    probe.count = section.count;
    probe.duration = section.duration.map(|duration| duration.0);
    probe.timeout = timeout(section)?;
    probe.wait_mode = section.wait_mode;
    probe.stamps = section.stamps;
    probe.interface.clone_from(&section.interface);
    probe.from.clone_from(&section.from);
    probe.to.clone_from(&section.to);
    Ok(probe)
}

/// Checks that the probe sends packets, and either ends or has `until_stopped`.
fn ends(section: &ProbeSection) -> Result<(), Refusal> {
    let bounded = section.count.is_some() || section.duration.is_some();
    if section.until_stopped && bounded {
        let help = "leave it out, or leave out `count` and `duration`";
        return refuse("until_stopped", "the probe has an end of its own", help);
    }
    if section.until_stopped && section.method.is_one_way() {
        let help = "give them a `count` or a `duration`";
        return refuse("until_stopped", "each frame is kept account of", help);
    }
    if !section.until_stopped && !bounded {
        let what = format!("probe `{}` never ends", section.name);
        return refuse("name", what, "give it a `count`, a `duration` or both");
    }
    let nothing = [
        ("count", "packets", section.count == Some(0)),
        (
            "duration",
            "time",
            section.duration.is_some_and(|it| it.0 == 0),
        ),
    ];
    match nothing.into_iter().find(|(.., is_nothing)| *is_nothing) {
        None => Ok(()),
        Some((field, of, _)) => {
            let what = format!("a probe of no {of} measures nothing");
            refuse(field, what, "leave the probe out")
        }
    }
}

/// Payload size, bytes: `payload`, or `ip_size` less headers. A section has only one of them (see `exclusive`).
fn payload(section: &ProbeSection, method: Method, v6: bool) -> Result<Option<u32>, Refusal> {
    let sized = [
        ("ip_size", section.ip_size.is_some()),
        ("payload", section.payload.is_some()),
    ];
    if method.asks_server()
        && let Some((field, _)) = sized.into_iter().find(|(_, given)| *given)
    {
        let what = format!("the size of a request of {method} follows from what it asks");
        return refuse(field, what, "leave it out");
    }
    match (section.ip_size, section.payload) {
        (Some(Size(bytes)), _) => below_ip(bytes, method, v6).map(Some),
        (None, Some(Size(bytes))) => fits("payload", bytes, method.largest_payload(v6)).map(Some),
        (None, None) => Ok(None),
    }
}

/// Payload size of an IP packet of `bytes` bytes.
fn below_ip(bytes: u64, method: Method, v6: bool) -> Result<u32, Refusal> {
    let Some(headers) = method.ip_size(v6, 0) else {
        let what = format!("the kernel cuts {method} into packets as it likes");
        return refuse("ip_size", what, "write `payload`");
    };
    match bytes.checked_sub(u64::from(headers)) {
        Some(payload) => fits("ip_size", payload, method.largest_payload(v6)),
        None => {
            let what = format!("an IP packet of {bytes} B has no room for {headers} B of headers");
            refuse("ip_size", what, &format!("write `{headers}B` or more"))
        }
    }
}

fn fits(field: &'static str, payload: u64, largest: u32) -> Result<u32, Refusal> {
    match u32::try_from(payload) {
        Ok(fitting) if fitting <= largest => Ok(fitting),
        _ => {
            let what = format!("a payload of {payload} B is too large");
            refuse(field, what, &format!("at most {largest} B fit"))
        }
    }
}

fn reply_payload(
    section: &ProbeSection,
    method: Method,
    payload: u32,
) -> Result<Option<u32>, Refusal> {
    let Some(Size(bytes)) = section.reply_payload else {
        return Ok(None);
    };
    if method.asks_server() {
        let what = format!("how long a reply is says the server that {method} asks");
        return refuse("reply_payload", what, "leave it out");
    }
    if !method.is_stream() {
        let what = format!("{method} replies are as long as requests");
        return refuse("reply_payload", what, "only tcp's can be set");
    }
    let help = "a reply is never longer than its request: raise `payload`";
    match u32::try_from(bytes) {
        Ok(bytes) if bytes <= payload => Ok(Some(bytes)),
        _ => {
            let what = format!("a reply of {bytes} B to a request of {payload} B");
            refuse("reply_payload", what, help)
        }
    }
}

fn timeout(section: &ProbeSection) -> Result<Nanos, Refusal> {
    match section.timeout.map_or(SECOND, |timeout| timeout.0) {
        0 => refuse(
            "timeout",
            "a time-out of nothing",
            "no answer could be in time",
        ),
        timeout => Ok(timeout),
    }
}

/// The pacing. A section has only one of `every`, `poisson` and `wait` (see `exclusive`).
fn pacing(section: &PacingSection) -> Result<Pacing, Refusal> {
    let positive = |field, ns: Nanos| match ns {
        0 => refuse(
            field,
            "a gap of nothing",
            "back to back is { wait = \"0ms\" }",
        ),
        ns => Ok(ns),
    };
    let interval = || {
        positive(
            "pacing.every",
            section.every.map_or(SECOND, |every| every.0),
        )
    };
    match (section.burst, section.poisson, section.wait) {
        (None, None, None) => Ok(Pacing::Every {
            interval_ns: interval()?,
        }),
        (None, Some(mean), _) => Ok(Pacing::Poisson {
            mean_ns: positive("pacing.poisson", mean.0)?,
        }),
        (None, None, Some(wait)) => Ok(Pacing::Wait { wait_ns: wait.0 }),
        (Some(0), ..) => refuse("pacing.burst", "a burst of no packets", "1 or more"),
        (Some(burst), None, None) => Ok(Pacing::Burst {
            burst,
            interval_ns: interval()?,
        }),
        (Some(_), ..) => refuse("pacing.burst", "a burst goes with `every`", "write `every`"),
    }
}
