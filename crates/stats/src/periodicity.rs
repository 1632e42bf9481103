//! Do events (delays far out, say) come at regular intervals?
//!
//! Z²(f) = (2/n)·[(Σcos 2πft)² + (Σsin 2πft)²] is large where n events share a phase of frequency f. But
//! events are seen only where a probe was: probes on a grid, or with pauses, have phases of their own.
//! Here the sums are taken beside what n of the probes' times would give, drawn at random, and in units
//! of how such draws vary, so that Z² is about χ² with two degrees of freedom at every frequency if
//! events pick their probes at random. The threshold for the largest Z² of all frequencies is simulated
//! by such draws (the law of a maximum of these is Gumbel's with scale 2; its place is their mean).
//!
//! Assumed: events pick probes independently. Those of neighbouring probes are taken for one event, as
//! one disturbance that lasts; disturbances that come in storms are not independent, and may be taken
//! for periods of about the storm's length. Periods longer than a tenth of the time observed, or
//! shorter than twice the usual gap between probes, are not looked for: what returns faster than probes
//! can see looks slower (an alias), and what returns between two of them may be met only every second
//! or third time. The period is then a multiple of the true one, or, on an exact grid, the time in which
//! the process comes round to the same place of the grid, which [`matching`] knows. Probes at random
//! times (Poisson, or a grid with some jitter) have none of this.
//!
//! Times are when probes were due, or sent. Where lateness moves the sending, an event's time says that it is one:
//! it is moved back to where its neighbours' grid has it (`schedule.rs`).
//!
//! By simulation (`examples/periodicity.rs`): false alarms in 0.3 to 1.3 % of series where 1 % are asked for, on
//! a grid, a grid with jitter and at Poisson's times. A process every 100 ms among events of which four in
//! ten are chance is found in all series of a minute in which probes meet it, its period (or on an exact grid
//! a multiple or a beat) right to 0.1 %. Packets late by chance that were sent late with it, alone, with the next
//! or with all that follow: none of each thousand series of 300 packets where 5 % are late, up to 2 where 15 % are, where
//! one in three thousand is asked for.

mod fold;
mod fourier;
mod known;
mod schedule;
mod score;
#[cfg(test)]
mod tests;

pub use known::{Match, Relation, matching};

use delaylab_model::Nanos;
use fold::Folded;
use schedule::Schedule;
use score::Exposure;

/// Fewer events than this have no period.
pub const LEAST_EVENTS: usize = 10;
/// Cycles of the longest period that is looked for.
const LEAST_CYCLES: f64 = 10.0;
/// Cycles of the shortest, so that the work is bounded.
const MOST_CYCLES: f64 = 65_536.0;
/// At most one probe in so many may be an event.
const SELDOM: usize = 5;

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// No period shorter than this, ns. `None`: twice the median gap between probes.
    pub shortest_ns: Option<f64>,
    /// Share of series without a period that are said to have one.
    pub false_alarms: f64,
    /// For the simulated threshold.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            shortest_ns: None,
            false_alarms: 0.01,
            seed: 1,
        }
    }
}

/// At which intervals events come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// The interval, ns.
    pub period_ns: f64,
    /// Its relative standard error.
    pub error: f64,
    /// Share of the events that come at that interval, beyond those that would by chance.
    pub share: f64,
    /// The largest Z².
    pub score: f64,
    /// What Z² must exceed.
    pub threshold: f64,
    /// Events, neighbouring ones taken for one.
    pub events: usize,
    /// A time at which an event is due.
    pub due: Nanos,
    /// The gap between probes, ns, if nine in ten have the same to within 1 %.
    pub grid_ns: Option<f64>,
    /// Events so far from when they are due are taken for caused by the period, ns.
    pub tolerance_ns: f64,
}

impl Period {
    /// Was an event due at this time? About a share `2·tolerance/period` of other events are taken for
    /// due by chance.
    pub fn explains(&self, time: Nanos) -> bool {
        let since = time.saturating_sub(self.due) as f64 / self.period_ns;
        (since - since.round()).abs() * self.period_ns <= self.tolerance_ns
    }
}

/// The strongest period of `events`, which are some of `probes`, all times in ns and in any order.
/// `None`: none stands out. The same times and seed give the same answer. What it assumes, and how often
/// it errs, stands at the head of this module.
///
/// Errors: why it cannot be told.
pub fn find(
    events: &[Nanos],
    probes: &[Nanos],
    settings: &Settings,
) -> Result<Option<Period>, String> {
    let mut probes = probes.to_vec();
    probes.sort_unstable();
    let late = indices(events, &probes);
    few(late.len())?;
    let range = frequencies(&probes, settings)?;
    let schedule = Schedule::new(&probes, &late);
    let (events, lengths) = apart(&late, &schedule);
    few(events.len())?;
    if events.len() * SELDOM > probes.len() {
        return Err(format!(
            "{} of {} packets are events: too many to ask when they come",
            events.len(),
            probes.len()
        ));
    }
    let probes = schedule.times;
    let exposure = Exposure::new(&probes, range);
    let scores = exposure.scores(&events);
    let threshold = exposure.threshold(&lengths, settings.false_alarms, settings.seed);
    let Some(peak) = score::fundamental(&scores, &exposure, threshold) else {
        return Ok(None);
    };
    let times: Vec<Nanos> = events.iter().map(|&index| probes[index]).collect();
    let folded = Folded::new(&times, &probes, &exposure, peak);
    Ok(Some(Period {
        period_ns: folded.period_ns,
        error: folded.error(scores[peak]),
        share: folded.share,
        score: scores[peak],
        threshold,
        events: events.len(),
        due: folded.due,
        grid_ns: grid(&probes),
        tolerance_ns: folded.tolerance_ns,
    }))
}

/// The indices of events among the probes. Times of no probe are left out.
fn indices(events: &[Nanos], probes: &[Nanos]) -> Vec<usize> {
    let mut indices: Vec<usize> = events
        .iter()
        .filter_map(|event| probes.binary_search(event).ok())
        .collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

fn few(events: usize) -> Result<(), String> {
    if events < LEAST_EVENTS {
        return Err(format!(
            "{events} separate events are too few to have a period; at least {LEAST_EVENTS} are needed"
        ));
    }
    Ok(())
}

/// The first probe of each event, and how many probes it lasts: neighbours are one. So are those that would be if
/// they had not been late: a packet that is sent later than the next ones stands behind them.
fn apart(late: &[usize], schedule: &Schedule) -> (Vec<usize>, Vec<usize>) {
    let neighbours = |&a: &usize, &b: &usize| a + 1 == b || schedule.neighbours(a, b);
    let events = late.chunk_by(neighbours);
    let lasts = |event: &[usize]| event[event.len() - 1] - event[0] + 1;
    events.map(|event| (event[0], lasts(event))).unzip()
}

/// The median gap between probes.
fn median_gap(probes: &[Nanos]) -> f64 {
    let mut gaps: Vec<Nanos> = probes
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    let middle = gaps.len() / 2;
    *gaps.select_nth_unstable(middle).1 as f64
}

fn grid(probes: &[Nanos]) -> Option<f64> {
    let gap = median_gap(probes);
    let alike = |pair: &&[Nanos]| (pair[1].saturating_sub(pair[0]) as f64 / gap - 1.0).abs() < 0.01;
    let alike = probes.windows(2).filter(alike).count();
    (alike * 10 >= (probes.len() - 1) * 9).then_some(gap)
}

/// The lowest and the highest frequency to look at, per ns.
fn frequencies(probes: &[Nanos], settings: &Settings) -> Result<(f64, f64), String> {
    let gap = median_gap(probes);
    let lasts = probes[probes.len() - 1].saturating_sub(probes[0]) as f64;
    let shortest = settings.shortest_ns.unwrap_or(2.0 * gap).max(2.0 * gap);
    let (low, high) = (
        LEAST_CYCLES / lasts,
        (1.0 / shortest).min(MOST_CYCLES / lasts),
    );
    if low < high {
        Ok((low, high))
    } else {
        Err(format!(
            "{:.3} s are too short: a period must fit in ten times, and is at least {:.6} s long",
            lasts / 1e9,
            shortest / 1e9
        ))
    }
}
