//! Calibration (source 003): what a measured path is made of, as a simulation needs to know it.
//!
//! From one run that holds trials without load and trials that overflow the bottleneck's buffer: what the hosts
//! cost a packet and a byte, the minimum delay as a line in size, the rate of the bottleneck, how much it
//! holds, and whether all flows wait in one queue. What the run does not show is said, with what would
//! show it.
//!
//! | module | holds |
//! |---|---|
//! | [`run_trials`] | what a run saw: its trials and streams |
//! | `reading` | the same, read from disk or simulated |
//! | [`mod@line`] | a constant and a slope, of the least or the median of each size |
//! | [`hosts`] | the four lines of the hosts, and their noise |
//! | [`passage`] | when each packet went in and came out, and how large it was on the wire |
//! | [`rate`] | how fast the bottleneck sends while it never rests |
//! | [`limiter`] | whether that is a link, a shaper or a policer, and the size of its bucket |
//! | [`backlog`] | what stood before each packet, taken or dropped |
//! | [`buffer`] | the limit that tells the two apart |
//! | [`probes`] | whether all probes have the same lines |
//! | [`queue`] | whether packets wait for those of other flows |
//! | [`random_loss`] | loss that has nothing to do with a queue |
//! | [`unknown`] | what the run cannot identify, and why |
//! | [`model`] | the path as an experiment for the world `sim` |
//! | [`change`] | which changes of the model mean something else in the measured experiment |
//! | [`overlay`] | measured and simulated distributions side by side |
//! | [`draw`] | the path as its intervals allow it to be too |
//! | [`prediction`] | what a change would make of them |
//!
//! Sizes are those on the wire, framing included: it is what lines send and what the simulator's buffers
//! count. Behind a token bucket both count what the bucket counts: of Ethernet the header and the IP packet, as the
//! kernel does.

pub mod backlog;
pub mod buffer;
pub mod change;
pub mod draw;
pub mod hosts;
pub mod limiter;
pub mod line;
pub mod model;
pub mod overlay;
pub mod passage;
pub mod prediction;
pub mod probes;
pub mod queue;
pub mod random_loss;
pub mod rate;
mod reading;
pub mod run_trials;
pub mod unknown;

use backlog::{Sends, Standing};
use buffer::Buffer;
use delaylab_model::path::Framing;
use hosts::Hosts;
use limiter::{Limiter, Verdict};
use line::Line;
use passage::{Overflow, Passage, Ways};
use probes::Differing;
use queue::Queue;
use rate::Rate;
use run_trials::{RunTrials, Trial};
use unknown::Unknown;

/// The slope of the minimum delay is at least this share of what a byte takes on one link, as far as both are known.
const ALL_LINKS: f64 = 0.95;

/// What is known of a path.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Are the two directions told apart?
    pub ways: Ways,
    /// Trials that were used: without load, and overflowing.
    pub trials: [usize; 2],
    /// Trials that were left out, because they are not what their experiment meant.
    pub flawed: usize,
    /// What the hosts cost.
    pub hosts: Hosts,
    /// Minimum delay of the network against size on the wire: there, or there and back where the ways are together.
    pub forward: Option<Line>,
    /// The same on the way back.
    pub back: Option<Line>,
    /// Probes with different lines: those above are of one of them.
    pub differing: Option<Differing>,
    /// The bottleneck's rate.
    pub rate: Option<Rate>,
    /// What has that rate.
    pub limiter: Option<Limiter>,
    /// Whether that is certain; `None` where no line says anything about it.
    pub verdict: Option<Verdict>,
    /// What it holds.
    pub buffer: Option<Buffer>,
    /// Which packet is next.
    pub queue: Option<Queue>,
    /// What the run does not show.
    pub unknown: Vec<Unknown>,
}

/// Finds out what the trials show.
pub fn calibrate(seen: &RunTrials) -> Calibration {
    let ways = Ways::from_streams(seen.usable().flat_map(|trial| &trial.streams));
    let unloaded: Vec<&Trial> = seen.usable().filter(|trial| trial.is_unloaded()).collect();
    let way_out = match ways {
        Ways::Apart => passage::forward,
        Ways::Together => passage::both,
    };
    let differing = Differing::find(&unloaded, seen.framing, way_out);
    let taken = differing.as_ref().map(|differing| differing.taken.as_str());
    let delays = |way| line::of_trials(&unloaded, seen.framing, taken, way);
    let (forward, back) = match ways {
        Ways::Apart => (delays(passage::forward), delays(passage::back)),
        Ways::Together => (delays(passage::both), None),
    };
    // What one probe takes says nothing of when the packets of another came to the bottleneck.
    let common = forward.as_ref().filter(|_| differing.is_none());
    let overflows = overflows(seen, ways, differing.as_ref(), common);
    let mut limited = limited(overflows, seen, ways, common);
    if limited.rate.is_none()
        && let Some((rate, verdict)) = own_queue(&unloaded, seen.framing, ways, common)
    {
        (limited.rate, limited.verdict) = (Some(rate), Some(verdict));
        limited.limiter = Some(Limiter::Link);
    }
    let Limited {
        overflows,
        rate,
        limiter,
        verdict,
    } = limited;
    // A policer has no queue.
    let queues = rate
        .as_ref()
        .filter(|_| differing.is_none() && !matches!(limiter, Some(Limiter::Policer(_))));
    let standing = standing(&overflows, queues, limiter.as_ref());
    let found = Calibration {
        ways,
        trials: [unloaded.len(), overflows.len()],
        flawed: seen.trials.iter().filter(|trial| trial.flawed).count(),
        hosts: Hosts::estimate(&unloaded, seen.framing, ways, [&forward, &back], taken),
        buffer: Buffer::estimate(&standing),
        queue: queues.and_then(|rate| Queue::estimate(&standing.concat(), rate)),
        forward,
        back,
        differing,
        rate,
        limiter,
        verdict,
        unknown: Vec::new(),
    };
    Calibration {
        unknown: unknown::list(seen, &found),
        ..found
    }
}

/// The trials that overflow the bottleneck's buffer. `common`: the minimum delay, where all probes have one line.
fn overflows(
    seen: &RunTrials,
    ways: Ways,
    differing: Option<&Differing>,
    common: Option<&Line>,
) -> Vec<Overflow> {
    let trials = seen.usable().filter(|trial| trial.overflows());
    let overflows = trials.filter_map(|trial| Overflow::gather(trial, seen.framing, ways, common));
    match differing {
        None => overflows.collect(),
        Some(_) => overflows.map(Overflow::with_own_least).collect(),
    }
}

/// What each packet found standing in the queue, by trial; nothing where there is no queue with a rate.
fn standing(
    overflows: &[Overflow],
    queues: Option<&Rate>,
    limiter: Option<&Limiter>,
) -> Vec<Vec<Standing>> {
    let Some(rate) = queues else {
        return Vec::new();
    };
    let sends = match limiter {
        Some(Limiter::Shaper(_)) => Sends::AtOnce,
        _ => Sends::AtItsRate,
    };
    let first_rate = limiter.and_then(Limiter::first_rate);
    let each = overflows.iter();
    each.map(|overflow| overflow.standing(rate, sends, first_rate))
        .collect()
}

/// What overflowed, and what limited it.
struct Limited {
    /// With packets as large as the limiter counts them.
    overflows: Vec<Overflow>,
    rate: Option<Rate>,
    limiter: Option<Limiter>,
    verdict: Option<Verdict>,
}

fn limited(
    overflows: Vec<Overflow>,
    seen: &RunTrials,
    ways: Ways,
    forward: Option<&Line>,
) -> Limited {
    let less = limiter::uncounted(seen.framing);
    let counted = || -> Vec<Overflow> {
        let each = overflows.iter();
        each.map(|overflow| overflow.counted(less)).collect()
    };
    if let Some((rate, bucket)) = limiter::policer(&counted()) {
        return Limited {
            overflows: counted(),
            rate: Some(rate),
            limiter: Some(Limiter::Policer(bucket)),
            verdict: None,
        };
    }
    let rate = Rate::estimate(&overflows);
    let verdict = rate.as_ref().and_then(|rate| {
        let by_slope = Verdict::by_slope(forward, ways, rate)?;
        let by_burst = by_slope.by_burst(ways, &overflows, rate);
        Some(by_burst.by_rates(&counted()))
    });
    if verdict.is_none_or(|verdict| verdict.is_link) {
        return Limited {
            limiter: verdict.map(|_| Limiter::Link),
            overflows,
            rate,
            verdict,
        };
    }
    let overflows = counted();
    let found = limiter::shaper(&overflows, forward, ways, less);
    let (rate, bucket) = found.unzip();
    Limited {
        overflows,
        rate,
        limiter: bucket.map(Limiter::Shaper),
        verdict,
    }
}

/// The rate of the link before which a probe's own packets wait for each other, though nothing overflows. The minimum delay has
/// what a byte takes on all links: no one takes longer.
fn own_queue(
    unloaded: &[&Trial],
    framing: Framing,
    ways: Ways,
    line: Option<&Line>,
) -> Option<(Rate, Verdict)> {
    let line = line?;
    let whole = unloaded.iter().filter(|trial| !trial.random_loss);
    let trials = whole.filter_map(|trial| Overflow::gather(trial, framing, ways, Some(line)));
    let trials: Vec<Overflow> = trials.collect();
    let rate = Rate::of_own_queues(&trials)?;
    let verdict = Verdict::by_slope(Some(line), ways, &rate)?.by_burst(ways, &trials, &rate);
    let all_links = line.slope.value / rate.ns_per_byte.value;
    (all_links >= ALL_LINKS && verdict.is_link).then_some((rate, verdict))
}

impl Calibration {
    /// Slope of the way there alone, in nanoseconds a byte on the wire.
    fn slope(&self) -> Option<f64> {
        Some(self.forward.as_ref()?.slope.value * self.ways.there())
    }
}

/// The largest packet of these.
fn largest<'a>(passages: impl Iterator<Item = &'a Passage>) -> f64 {
    passages.map(|passage| passage.wire).fold(0.0, f64::max)
}
