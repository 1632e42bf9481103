//! Back-to-back frames (RFC 2544 §26.4, RFC 1242 §3.1): the longest burst at the highest rate that
//! passes without loss.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found, found_by_size};
use crate::report::{self, Cell, Clause, Figure, Report, Role, Table};
use crate::search::{self, Spread};
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::SECOND;
use delaylab_model::quantity::Share;
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;

/// How the longest burst is looked for.
pub(crate) struct Search<'a> {
    /// What its trials are for.
    pub(crate) phase: &'static str,
    /// Of each stream that sends.
    pub(crate) loads: &'a [(usize, Share)],
    /// Must streams reach their rate?
    pub(crate) paced: bool,
    /// The longest burst that is tried, in frames of all streams together.
    pub(crate) cap: u64,
    /// How often a loss is verified before it counts (TST 009 §12.3.3, binary search with loss verification).
    pub(crate) confirm: u32,
}

impl<'a> Search<'a> {
    /// At the highest rate that these loads are, or whatever rate is reached; a loss counts at once if nothing else is asked for.
    pub(crate) fn at_full_rate(bench: &Bench<'_>, loads: &'a [(usize, Share)]) -> Self {
        let each = loads
            .iter()
            .map(|&(_, load)| bench.frames_in(bench.setup.effort.burst, load));
        Self {
            phase: "burst",
            loads,
            paced: false,
            cap: each.sum::<u64>().max(1),
            confirm: bench.options.confirm.unwrap_or(0),
        }
    }

    /// Looks for the longest burst that passes, from `hint` on. Every trial, and its burst, goes to `sees`.
    pub(crate) fn longest(
        &self,
        bench: &mut Bench<'_>,
        hint: u64,
        repeat: u32,
        mut sees: impl FnMut(u64, &FrameTrial),
    ) -> Result<Longest, Stop> {
        let mut sent = (0, None);
        let frames = search::longest(self.cap, hint, |frames| {
            for _ in 0..=self.confirm {
                let mut offer = bench.burst(self.phase, self.loads, frames).repeat(repeat);
                offer.paced = self.paced;
                let trial = bench.trial(offer)?;
                sees(frames, &trial);
                let rate = throughput::achieved_fps(&trial);
                if frames >= sent.0 && rate.is_some() {
                    sent = (frames, rate);
                }
                if throughput::lost(&trial) == 0 {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        Ok(Longest {
            frames,
            achieved_fps: sent.1,
        })
    }

    /// Looks for it as often as `repeats`; each search begins at what the one before found.
    pub(crate) fn bursts(
        &self,
        bench: &mut Bench<'_>,
        repeats: u32,
        mut sees: impl FnMut(u64, &FrameTrial),
    ) -> Result<Bursts, Stop> {
        let mut hint = 1;
        let found = bench.repeats(repeats, |bench, repeat| {
            let found = self.longest(bench, hint, repeat, &mut sees)?;
            hint = found.frames.unwrap_or(self.cap);
            Ok(found)
        })?;
        Ok(self.together(&found, bench.fps(self.loads)))
    }

    /// What several searches found, of streams that send this number of frames a second.
    fn together(&self, found: &[Longest], calculated_fps: f64) -> Bursts {
        let repeats: Vec<_> = found.iter().map(|found| found.frames).collect();
        let at_least = repeats.iter().map(|burst| burst.unwrap_or(self.cap) as f64);
        let any_lost = repeats.iter().any(Option::is_some);
        let rates = found.iter().filter_map(|found| found.achieved_fps);
        Bursts {
            frames: Spread::new(at_least).filter(|_| any_lost),
            achieved_fps: Spread::new(rates).map(|rates| rates.mean),
            calculated_fps,
            repeats,
            cap: self.cap,
            streams: self.loads.len(),
        }
    }
}

/// What one search for the longest burst found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Longest {
    /// Frames of all streams together; `None`: that at the cap passed.
    pub(crate) frames: Option<u64>,
    /// Frames a second as sent, of the longest burst that was sent.
    pub(crate) achieved_fps: Option<f64>,
}

/// The longest burst of each of some repeats.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bursts {
    /// In frames of all streams together. Those that passed at the cap count as long as that; `None` where all did.
    pub frames: Option<Spread>,
    /// Of each repeat; `None` where the longest burst that was tried passed.
    pub repeats: Vec<Option<u64>>,
    /// The longest burst that was tried.
    pub cap: u64,
    /// Streams that sent.
    pub streams: usize,
    /// Frames a second of the longest bursts as they were sent, the mean of the repeats.
    pub achieved_fps: Option<f64>,
    /// Frames a second of all streams together as calculated from the ports' rates.
    pub calculated_fps: f64,
}

impl Bursts {
    /// The rate of the shortest.
    pub(crate) fn rate(&self) -> Option<BurstRate> {
        let frames = self.repeats.iter().map(|burst| burst.unwrap_or(self.cap));
        let frames = frames.min()? as f64;
        let achieved_fps = self.achieved_fps?;
        Some(BurstRate::new(
            achieved_fps,
            self.calculated_fps,
            frames,
            self.streams,
        ))
    }

    /// Do the repeats agree (RFC 8239 §1.2)? Of bursts that passed at the cap it is not known how long they could be, and those
    /// that differ with them differ more without.
    pub(crate) fn agree(&self) -> Result<bool, &'static str> {
        match Spread::agree(self.frames) {
            Ok(true) | Err(_) if self.repeats.contains(&None) => {
                Err("bursts passed as long as they were tried")
            }
            known => known,
        }
    }

    /// How many repeats passed at the cap.
    pub(crate) fn count_at_cap(&self) -> Cell {
        let at_cap = self.repeats.iter().filter(|burst| burst.is_none());
        Cell::Count(at_cap.count() as u64)
    }
}

/// Rates that differ by no more than this share are the same: two clocks are never the same (RFC 8239 §2.2).
const SAME_RATE: f64 = 0.000_2;
/// A sender is never more exact than this: what the first and the last send call of a burst are late by, in seconds.
const LATE_BY: f64 = 5e-6;

/// A burst that is so short that its rate may be off by a larger share has none.
const MOST_UNSURE: f64 = 0.01;

/// Why a clause about the rate of bursts does not hold.
pub(crate) const RATE_UNKNOWN: &str =
    "the rate that bursts reached is not known: too short, or without stamps";

/// The rate of a burst beside that of the lines.
pub(crate) struct BurstRate {
    /// Frames a second as they were sent.
    achieved_fps: f64,
    /// Frames a second as calculated from the ports' rates.
    calculated_fps: f64,
    /// Between frames of a stream, of all streams together: a stream's first frame ends none.
    gaps: f64,
}

impl BurstRate {
    /// Of a burst with this number of frames, of all streams together.
    pub(crate) fn new(achieved_fps: f64, calculated_fps: f64, frames: f64, streams: usize) -> Self {
        Self {
            achieved_fps,
            calculated_fps,
            gaps: (frames - streams as f64).max(0.0),
        }
    }

    /// The share of the calculated rate that was reached, where that is another rate.
    fn other(&self) -> Option<f64> {
        // The lines carry no more: frames that are handed over faster wait before them.
        let share = (self.achieved_fps / self.calculated_fps).min(1.0);
        (1.0 - share > SAME_RATE.max(self.unsure())).then_some(share)
    }

    /// How far off its share of the lines' rate may be.
    fn unsure(&self) -> f64 {
        LATE_BY * self.calculated_fps / self.gaps
    }

    /// Did it last long enough to tell one rate from another?
    pub(crate) fn is_certain(&self) -> bool {
        self.unsure() <= MOST_UNSURE || self.other().is_some()
    }
}

/// `64 B 40.32 %`: the frame sizes whose bursts reached another rate than the calculated one, and which share of it.
pub(crate) fn other_rates<F>(
    sizes: &[AtSize<F>],
    rate: impl Fn(&F) -> Option<BurstRate>,
) -> Vec<String> {
    let shares = found_by_size(sizes).filter_map(|(size, found)| {
        let share = rate(found)?.other()?;
        // Rounded down: it is less than 100 %.
        let percent = (1e4 * share).floor() / 100.0;
        Some(format!("{size} B {percent:.2} %"))
    });
    shares.collect()
}

/// Were bursts sent at the rate of the lines?
pub(crate) fn at_line_rate<F>(
    (section, says): (&str, &str),
    sizes: &[AtSize<F>],
    rate: impl Fn(&F) -> Option<BurstRate>,
) -> Clause {
    let is_known = all_found(sizes).all(|found| rate(found).is_some_and(|rate| rate.is_certain()));
    let other = other_rates(sizes, rate);
    Clause::measured(section, says, sizes, || match other.is_empty() {
        true if !is_known => Err(RATE_UNKNOWN.to_owned()),
        true => Ok("at 100 % of line rate".to_owned()),
        false => Err(format!(
            "bursts reached less than the line rate ({}): a device passes longer ones then",
            other.join(", ")
        )),
    })
}

/// What the table cannot say of bursts that passed at the cap.
pub(crate) fn at_the_cap<'a>(mut bursts: impl Iterator<Item = &'a Bursts>) -> Vec<String> {
    let note = "Some bursts passed as long as they were tried: the device forwards at this rate, or its buffer is \
                larger. Among others they count as long as that, so mean and maximum are at least what is given.";
    let any = bursts.any(|bursts| bursts.repeats.contains(&None));
    any.then(|| note.to_owned()).into_iter().collect()
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 8] = [
    ("average burst", "frames", Role::Result),
    ("min", "frames", Role::Spread),
    ("max", "frames", Role::Spread),
    ("sd", "frames", Role::Spread),
    ("repeats", "", Role::Effort),
    ("repeats at the longest burst", "", Role::Effort),
    ("longest burst", "frames", Role::Result),
    ("burst rate reached", "frames/s", Role::Result),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BackToBackSteps;

impl Steps for BackToBackSteps {
    type Found = Bursts;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Bursts, Stop> {
        let loads = bench.all_at(Share::WHOLE);
        let search = Search::at_full_rate(bench, &loads);
        search.bursts(bench, bench.setup.effort.burst_repeats, |_, _| ())
    }

    fn report(&self, setup: &Setup, _: &Options, sizes: &[AtSize<Bursts>]) -> Report {
        Report {
            procedure: "back-to-back".to_owned(),
            title: "Back-to-back frames".to_owned(),
            sections: vec!["RFC 2544 §26.4".to_owned(), "RFC 1242 §3.1".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance: conformance(setup, sizes),
            notes: at_the_cap(all_found(sizes)),
        }
    }
}

fn table(sizes: &[AtSize<Bursts>]) -> Table {
    report::by_size("Back-to-back frames", &COLUMNS, sizes, |found| {
        vec![
            found.frames.map(|frames| frames.mean).into(),
            found.frames.map(|frames| frames.min).into(),
            found.frames.map(|frames| frames.max).into(),
            found.frames.and_then(|frames| frames.sd).into(),
            Cell::Count(found.repeats.len() as u64),
            found.count_at_cap(),
            found.cap.into(),
            found.achieved_fps.into(),
        ]
    })
}

fn figure(sizes: &[AtSize<Bursts>]) -> Figure {
    let figure = Figure::new("Bursts by repeat", ("repeat", ""), ("burst", "frames"));
    figure.line_by_size(sizes, |found| {
        let bursts = found.repeats.iter().zip(1..);
        let bursts = bursts.map(|(b, n)| (f64::from(n), b.unwrap_or(found.cap) as f64));
        bursts.collect::<Vec<_>>()
    })
}

fn conformance(setup: &Setup, sizes: &[AtSize<Bursts>]) -> Vec<Clause> {
    let mut conformance = report::clauses_of_trials(setup, sizes);
    conformance.extend([
        Clause::lasts(
            "RFC 2544 §26.4",
            "bursts of 2 s at least",
            setup.effort.burst,
            2 * SECOND,
        ),
        Clause::times(
            "RFC 2544 §26.4",
            "50 repeats",
            sizes,
            |found| found.repeats.len(),
            50,
        ),
        at_line_rate(
            ("RFC 2544 §26.4", "with the minimum gap between frames"),
            sizes,
            Bursts::rate,
        ),
    ]);
    conformance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one send call is late by is much of a short burst, and nothing of a long one.
    #[test]
    fn a_rate_is_told_from_the_lines_by_more_than_a_late_call() {
        let (calculated_fps, late) = (2_349.6, 4e-6);
        let other = |frames: f64, share: f64| {
            let found = AtSize {
                size: 512,
                found: Some(share),
                why: None,
                trials: 1,
                invalid: 0,
                left_out: 0,
                alike: 0,
            };
            let rate = |share: &f64| {
                Some(BurstRate::new(
                    calculated_fps * share,
                    calculated_fps,
                    frames,
                    1,
                ))
            };
            other_rates(&[found], rate).pop()
        };
        let short = 30.0 / calculated_fps;
        assert_eq!(other(31.0, short / (short + late)), None);
        assert_eq!(other(31.0, 0.99).as_deref(), Some("512 B 99.00 %"));
        assert_eq!(other(10_000.0, 0.9999), None);
        assert_eq!(other(10_000.0, 0.99969).as_deref(), Some("512 B 99.96 %"));
    }
}
