//! What an earlier run of an experiment lets one expect of the next: `delaylab check`.

use super::choose;
use crate::exit::Failed;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::finding::{Finding, Forecast, Judged, Scale, Verdict, forecast};
use delaylab_model::plan::Factor;
use delaylab_model::probe::Probe;
use delaylab_store::index::Index;
use delaylab_store::run::{Run, State};
use std::collections::BTreeSet;
use std::path::Path;

/// From this chance on a verdict is expected; below, the run is too short for it.
const LIKELY: f64 = 0.8;

/// An earlier run of the same experiment, and how much of it the planned one is.
pub struct Expected {
    run: String,
    judged: Vec<Judged>,
    scale: Scale,
}

impl Expected {
    /// By the run that was named, or else by the newest one of this experiment in this world; `None` without one.
    ///
    /// # Errors
    /// Where the run that was named cannot be read, or is of another experiment.
    pub fn new(
        resolved: &Resolved,
        named: Option<&str>,
        runs: &Path,
    ) -> Result<Option<Self>, Failed> {
        let Some(named) = named else {
            let run = newest(resolved, runs)?;
            return Ok(run.and_then(|run| Self::by(&run, resolved)));
        };
        let run = choose::run(named, runs)?;
        match Self::by(&run, resolved) {
            Some(expected) => Ok(Some(expected)),
            None => Err(Failed::usage(format!(
                "--from {named}: this run judged no finding of `{}`. Name a run of the same experiment \
                 (`delaylab list` shows them), or leave --from out",
                resolved.name
            ))),
        }
    }

    fn by(run: &Run, resolved: &Resolved) -> Option<Self> {
        let judged: Vec<Judged> = serde_json::from_value(run.findings()?.clone()).ok()?;
        let is_ours = |judged: &Judged| {
            let mut findings = resolved.findings.iter();
            findings.any(|f| f.id == judged.id && f.text == judged.check)
        };
        let judged: Vec<_> = judged.into_iter().filter(is_ours).collect();
        (!judged.is_empty()).then(|| Self {
            run: folder_name(run),
            judged,
            scale: scale(run, resolved),
        })
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The chances of a finding's verdicts; `None` where the earlier run lets nothing be expected.
    pub fn of(&self, finding: &Finding) -> Option<Forecast> {
        let judged = self.judged.iter().find(|judged| judged.id == finding.id)?;
        forecast(finding, judged, self.scale)
    }

    /// The same in a line.
    pub fn line(&self, finding: &Finding) -> Option<String> {
        let judged = self.judged.iter().find(|judged| judged.id == finding.id)?;
        if let Some(why) = not_judged(judged) {
            return Some(format!("expected: not known; in the earlier run {why}"));
        }
        let forecast = self.of(finding)?;
        let chance = (forecast.decided() * 100.0).clamp(1.0, 99.0);
        Some(if forecast.decided() >= LIKELY {
            let verdict = forecast.likelier();
            format!("expected: {verdict}; decided with a chance of {chance:.0} %")
        } else {
            format!("expected: undecided; decided with a chance of {chance:.0} % only")
        })
    }

    /// What it is all made of.
    pub fn basis(&self) -> String {
        let Scale { packets, repeats } = self.scale;
        format!(
            "by the run {}; this one has {packets:.2} times its packets and {repeats:.2} times its repeats for each \
             combination",
            self.run
        )
    }
}

/// Why an undecided comparison had no interval: how it will be with more levels or packets, nobody can say.
fn not_judged(judged: &Judged) -> Option<&str> {
    let parts = judged.parts.iter();
    let mut parts = parts.filter(|_| judged.verdict == Verdict::Undecided);
    parts.find_map(|part| {
        let none = part.comparisons.iter().find(|compared| {
            compared.verdict == Verdict::Undecided
                && compared.low.is_none()
                && compared.high.is_none()
        });
        none.map(|compared| compared.reason.as_str())
    })
}

/// The newest complete run of the same experiment in the same world.
fn newest(resolved: &Resolved, runs: &Path) -> Result<Option<Run>, Failed> {
    if !runs.is_dir() {
        return Ok(None);
    }
    let entries = Index::open(runs).and_then(|index| index.list());
    let entry = entries.unwrap_or_default().into_iter().rev().find(|entry| {
        entry.name.as_deref() == Some(&resolved.name)
            && entry.world.as_deref() == Some(resolved.world.name())
            && entry.state == State::Complete
    });
    entry
        .map(|entry| choose::run(&entry.folder, runs))
        .transpose()
}

fn folder_name(run: &Run) -> String {
    let name = run.folder().file_name();
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// How much of a run there is for each combination of levels: a short form may have fewer of these.
struct Amount {
    packets: f64,
    repeats: f64,
}

fn scale(run: &Run, resolved: &Resolved) -> Scale {
    let earlier = recorded(run);
    let next = planned(resolved);
    let times = |next: f64, earlier: f64| if earlier > 0.0 { next / earlier } else { 1.0 };
    let repeats = times(next.repeats, earlier.repeats);
    let packets = times(next.packets, earlier.packets);
    Scale {
        packets: if packets > 0.0 { packets } else { repeats },
        repeats,
    }
}

fn recorded(run: &Run) -> Amount {
    let trials: BTreeSet<_> = run.trials().iter().map(|row| row.trial).collect();
    let combinations = combinations(run.trials().iter().map(|row| &row.factors[..]));
    Amount {
        packets: run.record_count() as f64 / combinations,
        repeats: trials.len() as f64 / combinations,
    }
}

/// With a stop rule, as many as there may be.
fn planned(resolved: &Resolved) -> Amount {
    let trials = &resolved.planned;
    let combinations = combinations(trials.iter().map(|planned| &planned.factors[..]));
    let probes = trials.iter().flat_map(|planned| &planned.trial.probes);
    let packets: Option<f64> = probes.map(packets).sum();
    Amount {
        packets: packets.unwrap_or(0.0) / combinations,
        repeats: trials.len() as f64 / combinations,
    }
}

/// Packets that a probe sends; `None` where only the path knows.
fn packets(probe: &Probe) -> Option<f64> {
    let by_count = probe.count.map(|count| count as f64);
    let by_time = (probe.duration.zip(probe.pacing.mean_gap()))
        .filter(|(_, gap)| *gap > 0)
        .map(|(duration, gap)| duration as f64 / gap as f64);
    [by_count, by_time]
        .into_iter()
        .flatten()
        .min_by(f64::total_cmp)
}

fn combinations<'a>(factors: impl Iterator<Item = &'a [Factor]>) -> f64 {
    let labels = |factors: &[Factor]| -> Vec<String> {
        factors
            .iter()
            .map(|(_, level)| level.label.clone())
            .collect()
    };
    factors.map(labels).collect::<BTreeSet<_>>().len().max(1) as f64
}
