//! Turns a `[[probe]]` section of method `frame` into a probe that sends a stream of frames.

use super::probe_fields::{ecn, refuse, warmup};
use super::request::not_of_others;
use delaylab_model::SECOND;
use delaylab_model::experiment::{Phase, ProbeSection};
use delaylab_model::frames::{Frames, MOST_FRAME};
use delaylab_model::method::Method;
use delaylab_model::path::Path;
use delaylab_model::probe::{DontFragment, Family, Pacing, Probe};
use delaylab_model::quantity::Share;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};
use delaylab_stats::random::SplitMix;

/// Default time to wait for residual frames after the last one is sent (RFC 2544 §23).
const DRAIN: i64 = 2 * SECOND;
const SMALLEST: u64 = 64;
/// Largest clock tolerance that is accepted: 1000 ppm. A larger one is a typing mistake.
const CLOCK_TOLERANCE: Share = Share(1_000_000);

/// The probe for this section. The path gives the line rate of which `pacing.load` is a share.
pub(super) fn frame_probe(section: &ProbeSection, path: &Path) -> Result<Probe, Refusal> {
    only_frames_have(section)?;
    let line_rate = line_rate(section, path)?;
    let frames = Frames {
        family: section.family,
        vlan: vlan(section)?,
        start: section.start.map_or(0, |start| start.0),
        random_phase: section.phase == Some(Phase::Random),
        clock_tolerance: clock_tolerance(section)?,
        ..Frames::new(size(section)?)
    };
    let frames = frames.on_line(line_rate);
    let mut probe = Probe::new(&section.name, Method::Frame);
    probe.payload = frames.payload();
    probe.dscp = section.class.0;
    probe.ecn = ecn(section)?;
    probe.count = section.count;
    probe.duration = section.duration.map(|duration| duration.0);
    probe.timeout = section.timeout.map_or(DRAIN, |drain| drain.0);
    probe.from.clone_from(&section.from);
    probe.to.clone_from(&section.to);
    probe.pacing = Pacing::Frames {
        interval_ps: frames.interval(line_rate, load(section)?),
    };
    probe.warmup = warmup(section, probe.pacing)?;
    probe.frames = Some(frames);
    match probe.refuse_frames() {
        None => Ok(probe),
        Some(refusal) => Err(refusal),
    }
}

/// Checks that the section has no field that frames have no use for.
fn only_frames_have(section: &ProbeSection) -> Result<(), Refusal> {
    not_of_others(section)?;
    if section.pacing.burst.is_some() {
        let what = "frames are evenly spaced, at their share of the line rate";
        return refuse("pacing.burst", what, "leave it out");
    }
    let is_changed = section.dont_fragment != DontFragment::default();
    let others = [
        ("ip_size", section.ip_size.is_some()),
        ("payload", section.payload.is_some()),
        ("reply_payload", section.reply_payload.is_some()),
        ("ttl", section.ttl.is_some()),
        ("interface", section.interface.is_some()),
        ("fill", section.fill.is_some()),
        ("dont_fragment", is_changed),
    ];
    let Some(field) = first_given(others) else {
        return Ok(());
    };
    let remedy = "a frame has `frame_size`, `family`, `vlan` and `class`";
    refuse(field, format!("frames have no `{field}`"), remedy)
}

/// The first of these fields that the section has.
fn first_given<const N: usize>(fields: [(&'static str, bool); N]) -> Option<&'static str> {
    let given = fields.into_iter().find(|(_, is_given)| *is_given);
    given.map(|(field, _)| field)
}

fn size(section: &ProbeSection) -> Result<u32, Refusal> {
    let bytes = section.frame_size.map_or(SMALLEST, |size| size.0);
    match u32::try_from(bytes) {
        Ok(size) if size <= MOST_FRAME => Ok(size),
        _ => refuse(
            "frame_size",
            format!("a frame of {bytes} B is too large"),
            &format!("at most {MOST_FRAME} B"),
        ),
    }
}

fn vlan(section: &ProbeSection) -> Result<Option<u16>, Refusal> {
    match section.vlan {
        Some(vlan) if !(1..=4094).contains(&vlan) => refuse(
            "vlan",
            format!("there is no VLAN {vlan}"),
            "1 to 4094 (IEEE 802.1Q)",
        ),
        vlan => Ok(vlan),
    }
}

fn load(section: &ProbeSection) -> Result<Share, Refusal> {
    match section.pacing.load {
        Some(Share(0)) => refuse("pacing.load", "no load is no frames", "leave the probe out"),
        Some(load) => Ok(load),
        None => refuse(
            "pacing",
            "frames are paced by their share of the line rate",
            "write pacing = { load = \"50%\" }",
        ),
    }
}

fn clock_tolerance(section: &ProbeSection) -> Result<Share, Refusal> {
    match section.clock_tolerance.unwrap_or_default() {
        tolerance if tolerance > CLOCK_TOLERANCE => refuse(
            "clock_tolerance",
            "no port's clock is that far from nominal",
            "at most 1000ppm; IEEE 802.3 allows 100ppm",
        ),
        tolerance => Ok(tolerance),
    }
}

/// Draws the random settings of each frame stream of a trial: its start within one interval, and the clock error of
/// its port. Each stream has its own generator, seeded by the trial's seed and number and the probe's index.
pub(super) fn draw(trial: &mut Trial) {
    let trial_seed = SplitMix::new(trial.seed ^ u64::from(trial.id).rotate_left(32)).next();
    for (probe, index) in trial.probes.iter_mut().zip(1_u64..) {
        let (Some(frames), Pacing::Frames { interval_ps }) = (&mut probe.frames, &mut probe.pacing)
        else {
            continue;
        };
        // Always draw both, so that the value of one does not depend on whether the other is used.
        let mut random = SplitMix::new(trial_seed ^ index.rotate_left(48));
        let (phase, clock) = (random.uniform(), 2.0 * random.uniform() - 1.0);
        if frames.random_phase {
            let later = phase * *interval_ps as f64 / PICOS_PER_NANO as f64;
            frames.start = frames.start.saturating_add(later as Nanos);
        }
        let fast = clock * frames.clock_tolerance.as_f64();
        for time in [interval_ps, &mut frames.line_time] {
            *time = (*time as f64 / (1.0 + fast)).round().max(1.0) as Picos;
        }
    }
}

/// Rate of the link on which the frames are sent, bit/s.
fn line_rate(section: &ProbeSection, path: &Path) -> Result<u64, Refusal> {
    match path.rate_at(section.from.as_deref()) {
        Some(rate) if rate > 0 => Ok(rate),
        Some(_) => refuse(
            "pacing.load",
            "a share of a line rate of zero",
            "give `path.rate` a rate that something gets through, as in `rate = \"10Mbit/s\"`",
        ),
        _ => refuse(
            "pacing.load",
            "a share of which line rate?",
            "give `path.rate`, as in `rate = \"10Mbit/s\"`",
        ),
    }
}

/// Refuses the fields that only method `frame` has, in a section of another method.
pub(super) fn no_frames(section: &ProbeSection, method: Method) -> Result<(), Refusal> {
    let own = [
        ("frame_size", section.frame_size.is_some()),
        ("pacing.load", section.pacing.load.is_some()),
        ("vlan", section.vlan.is_some()),
        ("start", section.start.is_some()),
        ("phase", section.phase.is_some()),
        ("clock_tolerance", section.clock_tolerance.is_some()),
        ("family", section.family != Family::Any),
    ];
    let Some(field) = first_given(own) else {
        return Ok(());
    };
    let remedy = match field {
        "frame_size" => "write `ip_size` or `payload`",
        "pacing.load" => "write `every`, `poisson` or `wait`",
        "family" => "the target's address says it",
        _ => "leave it out",
    };
    let what = format!("{method} sends packets: `{field}` is for method frame");
    refuse(field, what, remedy)
}
