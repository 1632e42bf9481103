//! What an earlier run of an experiment lets one expect of the next.

use crate::resolve;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::finding::{Finding, Forecast, Judged, Scale, forecast, left_open};
use delaylab_model::plan::{Factor, Planned, labels};
use delaylab_model::probe::Probe;
use delaylab_model::trial::Trial;
use delaylab_store::index::Index;
use delaylab_store::run::{Run, State};
use std::collections::BTreeSet;
use std::path::Path;

/// From this chance on a verdict is expected; below, the run is too short for it. The power that is usual where studies are planned.
const LIKELY: f64 = 0.8;

/// An earlier run of the same experiment, and how much of it the planned one is.
pub struct Expected {
    run: String,
    judged: Vec<Judged>,
    scale: Scale,
    /// How its trials are others than those that are planned; `None` where they are the same but for their amount.
    other_form: Option<String>,
}

/// What an earlier run says.
pub enum EarlierRun {
    /// There is one of the same form.
    Run(Expected),
    /// There are only those of other forms: the newest of them, and how it differs.
    OtherForms(String),
    /// There is none.
    None,
}

impl EarlierRun {
    /// The newest complete run of this experiment in this world with the same trials; `open` opens a run by its folder. One
    /// that it does not open is passed over.
    pub fn newest(resolved: &Resolved, runs: &Path, open: impl Fn(&str) -> Option<Run>) -> Self {
        let entries = Index::open(runs).and_then(|index| index.list());
        let entries = entries.unwrap_or_default().into_iter().rev();
        let entries = entries.filter(|entry| {
            entry.name.as_deref() == Some(&resolved.name)
                && entry.world.as_deref() == Some(resolved.world.name())
                && entry.state() == State::Complete
        });
        let mut newest_other = None;
        for entry in entries {
            let run = open(&entry.folder);
            let Some(expected) = run.and_then(|run| Expected::by(&run, resolved)) else {
                continue;
            };
            match &expected.other_form {
                None => return Self::Run(expected),
                Some(how) => {
                    newest_other.get_or_insert_with(|| {
                        let run = &expected.run;
                        format!(
                            "not known; runs of this experiment are of other forms, such as {run} ({how}): --from {run} \
                             expects what that one measured"
                        )
                    });
                }
            }
        }
        newest_other.map_or(Self::None, Self::OtherForms)
    }

    /// What may be expected; `None` where nobody can say.
    pub fn expected(&self) -> Option<&Expected> {
        match self {
            Self::Run(expected) => Some(expected),
            Self::OtherForms(_) | Self::None => None,
        }
    }

    /// Why nothing may be expected; `None` where something may.
    pub fn nothing(&self) -> Option<&str> {
        match self {
            Self::Run(_) => None,
            Self::OtherForms(why) => Some(why),
            Self::None => Some("there is no earlier run of this experiment that is complete"),
        }
    }

    /// What it is all made of, or why there is nothing, in a sentence.
    pub fn basis(&self) -> Option<String> {
        match self {
            Self::Run(expected) => Some(expected.basis()),
            Self::OtherForms(why) => Some(why.clone()),
            Self::None => None,
        }
    }
}

impl Expected {
    /// By this run; `None`: it judged no finding of the experiment.
    pub fn by(run: &Run, resolved: &Resolved) -> Option<Self> {
        let judged: Vec<Judged> = serde_json::from_value(run.findings()?.clone()).ok()?;
        let is_ours = |judged: &Judged| {
            let mut findings = resolved.findings.iter();
            findings.any(|f| f.id == judged.id && f.text == judged.check)
        };
        let judged: Vec<_> = judged.into_iter().filter(is_ours).collect();
        (!judged.is_empty()).then(|| {
            let earlier = resolve::of_run(run);
            Self {
                run: folder_name(run),
                judged,
                scale: scale(run, earlier.as_ref(), resolved),
                other_form: other_form(earlier.as_ref(), resolved),
            }
        })
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The chances of a finding's verdicts; `None` where the earlier run lets nothing be expected.
    pub fn forecast(&self, finding: &Finding) -> Option<Forecast> {
        let judged = self.judged.iter().find(|judged| judged.id == finding.id)?;
        forecast(finding, judged, self.scale)
    }

    /// Why there is no [`forecast`](Self::forecast) of a finding.
    pub fn no_forecast(&self, finding: &Finding) -> String {
        let mut judged = self.judged.iter();
        // Those of another check are left out.
        let judged = judged.find(|judged| judged.id == finding.id);
        match judged.map(left_open) {
            None => "the earlier run did not judge it, or by another check".to_owned(),
            Some(Some(why)) => format!("in the earlier run {why}"),
            Some(None) => "it was not applicable in the earlier run".to_owned(),
        }
    }

    /// The same in a line.
    pub fn line(&self, finding: &Finding) -> Option<String> {
        let judged = self.judged.iter().find(|judged| judged.id == finding.id)?;
        if let Some(why) = left_open(judged) {
            return Some(format!("expected: not known; in the earlier run {why}"));
        }
        let forecast = self.forecast(finding)?;
        let chance = (forecast.decided() * 100.0).clamp(1.0, 99.0);
        Some(if forecast.decided() >= LIKELY {
            let verdict = forecast.likelier();
            format!("expected: {verdict}; decided with a chance of {chance:.0} %")
        } else {
            format!("expected: undecided; decided with a chance of {chance:.0} % only")
        })
    }

    fn basis(&self) -> String {
        let Scale { packets, repeats } = self.scale;
        let other_form = self.other_form.as_ref();
        let other_form = other_form.map_or_else(String::new, |how| {
            format!("; it is of another form of the experiment ({how}), and the next may come out otherwise")
        });
        format!(
            "from the run {}; this one has {packets:.2} times its packets and {repeats:.2} times its repeats for each \
             combination{other_form}",
            self.run
        )
    }
}

/// How the trials of a run differ from those that are planned, but for how many there are and how long they take; `None`
/// where they do not.
fn other_form(earlier: Option<&Resolved>, resolved: &Resolved) -> Option<String> {
    let Some(earlier) = earlier else {
        return Some("its experiment cannot be read".to_owned());
    };
    let (earlier, next) = (forms(earlier), forms(resolved));
    let is_there =
        |(factors, _): &&(Vec<Factor>, Trial)| earlier.iter().any(|(known, _)| known == factors);
    let shared: Vec<_> = next.iter().filter(is_there).collect();
    if shared.len() < next.len() || shared.len() < earlier.len() {
        return Some(format!(
            "it has {} combinations of levels, this one {}, and {} are the same",
            earlier.len(),
            next.len(),
            shared.len()
        ));
    }
    let changed = shared.iter().filter(|shared| !earlier.contains(shared));
    match changed.count() {
        0 => None,
        changed => Some(format!(
            "{changed} of {} combinations of levels had other probes, load, path or condition",
            next.len()
        )),
    }
}

/// The trial of each combination of levels, without what makes repeats and short forms differ.
fn forms(resolved: &Resolved) -> Vec<(Vec<Factor>, Trial)> {
    let first = resolved
        .planned
        .iter()
        .filter(|planned| planned.repeat == 0);
    let form = |planned: &Planned| {
        let mut trial = planned.trial.clone();
        (trial.id, trial.seed, trial.target) = (0, 0, None);
        for probe in &mut trial.probes {
            (probe.count, probe.duration, probe.warmup) = (None, None, 0);
        }
        (planned.factors.clone(), trial)
    };
    first.map(form).collect()
}

fn folder_name(run: &Run) -> String {
    let name = run.folder().file_name();
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// How much of a run there is for each combination of levels: a short form may have fewer of these.
struct Amount<P> {
    packets: P,
    repeats: f64,
}

/// `earlier`: the experiment of that run.
fn scale(run: &Run, earlier: Option<&Resolved>, resolved: &Resolved) -> Scale {
    let known = recorded(run);
    let next = planned(resolved);
    let times = |next: f64, earlier: f64| if earlier > 0.0 { next / earlier } else { 1.0 };
    let repeats = times(next.repeats, known.repeats);
    let packets = match next.packets {
        Some(packets) if packets > 0.0 => Some(times(packets, known.packets)),
        // Closed loops: what takes as long sends about as many.
        _ => earlier.and_then(|earlier| Some(times(duration(resolved)?, duration(earlier)?))),
    };
    Scale {
        packets: packets.unwrap_or(repeats),
        repeats,
    }
}

/// How long the probes of each combination send together; `None` where one has no end of its own.
fn duration(resolved: &Resolved) -> Option<f64> {
    let all = of_probes(resolved, |probe| Some(probe.duration? as f64));
    all.filter(|all| *all > 0.0)
}

/// The sum over the probes of each combination; `None` where one of them does not have it.
fn of_probes(resolved: &Resolved, of: impl Fn(&Probe) -> Option<f64>) -> Option<f64> {
    let trials = resolved.planned.iter();
    let probes = trials.flat_map(|planned| &planned.trial.probes);
    let all: Option<f64> = probes.map(of).sum();
    all.map(|all| all / planned_combinations(resolved))
}

fn planned_combinations(resolved: &Resolved) -> f64 {
    let trials = resolved.planned.iter();
    combinations(trials.map(|planned| &planned.factors[..]))
}

fn recorded(run: &Run) -> Amount<f64> {
    let combinations = combinations(run.trials().iter().map(|row| &row.factors[..]));
    Amount {
        packets: run.record_count() as f64 / combinations,
        repeats: run.trial_count() as f64 / combinations,
    }
}

/// With a stop rule, as many as there may be. Packets are `None` where only the path knows.
fn planned(resolved: &Resolved) -> Amount<Option<f64>> {
    Amount {
        packets: of_probes(resolved, Probe::expected_packets),
        repeats: resolved.planned.len() as f64 / planned_combinations(resolved),
    }
}

fn combinations<'a>(factors: impl Iterator<Item = &'a [Factor]>) -> f64 {
    factors.map(labels).collect::<BTreeSet<_>>().len().max(1) as f64
}
