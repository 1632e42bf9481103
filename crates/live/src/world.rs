//! The live world: this host, a real path, and whatever the target is.

use crate::around::Around;
use crate::condition::{Applied, ApplyError, Options, Step};
use crate::gather::{self, Forward, GatherChannel};
use crate::joined;
use crate::load::error::LoadError;
use crate::load::{self, StreamReport, UnderWay};
use crate::noise;
use crate::placed::enter_place;
pub use crate::placed::{Enter, Placed};
use crate::prober::Probing;
use crate::prober::error::RunError;
use crate::tester::error::TesterError;
use crate::tester::port::Port;
use crate::tester::{self, FrameStream, Job};
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::load::Load;
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::refusal::Refusal;
use delaylab_model::rows::Rows;
use delaylab_model::trial::{ProbeFacts, ProbeRun, StreamRun, Target, Trial};
use delaylab_model::world::{FailureKind, Sink, TrialFacts, World, WorldError};
use std::io;
use std::path::PathBuf;

/// This host and a real path.
#[derive(Debug)]
pub struct Live {
    /// How probes are carried out.
    pub probing: Probing,
    /// The process that answers, where it is on this host: what it runs is no noise.
    pub reflector: Option<u32>,
    /// Watches for noise. That takes CPU time and, of root, the kernel's tracer: leave it out where noise is not recorded.
    pub watches_noise: bool,
    /// The program that would be given privileges that are missing, for messages.
    pub program: Option<PathBuf>,
    /// Called before the first packet of a trial with how far the host is in its condition.
    pub on_condition: Option<fn(&[Step])>,
    /// Started with the first trial.
    watcher: Option<noise::Watcher>,
}

impl Live {
    /// Carries probes out so.
    pub fn new(probing: Probing) -> Self {
        Self {
            probing,
            reflector: None,
            watches_noise: true,
            program: None,
            on_condition: None,
            watcher: None,
        }
    }

    /// Checks that the load of later trials can be set up, each load once. The first trial's is about to be set up anyway.
    /// Nothing is sent.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn check_loads<'a>(
        &self,
        trials: impl IntoIterator<Item = &'a Trial>,
    ) -> Result<(), LoadError> {
        let mut known: Vec<&Load> = Vec::new();
        for (at, trial) in trials.into_iter().enumerate() {
            let Some(target) = trial.target else { continue };
            let new = |load: &&Load| load.streams > 0 && !known.contains(load);
            let new: Vec<&Load> = trial.loads.iter().filter(new).collect();
            known.extend(&new);
            if at == 0 || new.is_empty() {
                continue;
            }
            let loads = new.into_iter().cloned().collect();
            let part = Trial {
                loads,
                ..trial.clone()
            };
            let streams: Vec<_> = part.stream_runs(target.load).map(Placed::here).collect();
            UnderWay::check(&streams, &self.probing)?;
        }
        Ok(())
    }

    /// To be called before the host is put into a condition: it would be the watcher's, too.
    fn start_watcher(&mut self) -> Result<(), LiveError> {
        if self.watches_noise && self.watcher.is_none() {
            let mut options = noise::Options::default();
            options.processes.extend(self.reflector);
            let watcher = noise::Watcher::start(options).map_err(LiveError::Watcher)?;
            self.watcher = Some(watcher);
        }
        Ok(())
    }
}

/// Why a trial broke off. What was recorded until then has been handed over.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The host could not be put into its condition.
    #[error("host.condition: {0}")]
    Condition(#[from] ApplyError),
    /// Nothing can watch for noise.
    #[error("cannot start the thread that watches for noise: {0}")]
    Watcher(io::Error),
    /// There is nowhere to send to.
    #[error("path.target: a live trial needs a target; name one with --target")]
    NoTarget,
    /// A probe failed.
    #[error(transparent)]
    Probe(#[from] RunError),
    /// A load could not be started.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl LiveError {
    /// Its kind.
    pub fn failure(&self) -> FailureKind {
        match self {
            LiveError::Probe(error) => error.failure(),
            LiveError::Load(error) => error.failure(),
            LiveError::Condition(_) | LiveError::Watcher(_) | LiveError::NoTarget => {
                FailureKind::Environment
            }
        }
    }
}

impl From<LiveError> for WorldError {
    fn from(error: LiveError) -> Self {
        Self::new(error.failure(), error)
    }
}

impl World for Live {
    fn refusals(&self, trial: &Trial) -> Vec<Refusal> {
        let mut refusals = not_there_yet(trial);
        refusals.extend(frame_refusals(trial));
        let Some(target) = trial.target else {
            return refusals;
        };
        refusals.extend(self.probe_refusals(trial, target));
        refusals
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        let ports = ports_of_this_host(trial).map_err(LiveError::from)?;
        let frames = self.job(trial, ports);
        let (mut runs, mut loads) = (Vec::new(), Vec::new());
        if let Some(target) = trial.target {
            runs.extend(trial.probe_runs(target).map(Placed::here));
            loads.extend(trial.stream_runs(target.load).map(Placed::here));
        }
        let wants_load = trial.loads.iter().any(|load| load.streams > 0);
        let has_nowhere_to_ask = runs.len() + frames.streams.len() < trial.probes.len();
        if has_nowhere_to_ask || wants_load && trial.target.is_none() {
            return Err(LiveError::NoTarget.into());
        }
        let ran = self.carry_out(trial, &runs, &loads, frames, &(), sink);
        Ok(ran?)
    }
}

impl Live {
    /// What a tester has to do in this trial, between these ports of each of its streams.
    pub fn job(&self, trial: &Trial, ports: Vec<[Port; 2]>) -> Job {
        let probes = trial.probes.iter().zip(0..);
        let streams = probes.filter(|(probe, _)| probe.method.is_one_way());
        let stream = |((probe, index), [from, to]): ((&Probe, u16), [Port; 2])| FrameStream {
            index,
            probe: probe.clone(),
            from,
            to,
        };
        Job {
            trial: trial.id,
            streams: streams.zip(ports).map(stream).collect(),
            seed: trial.seed,
            stop: self.probing.stop.clone(),
        }
    }

    /// Every field of the trial's probes that their methods cannot honour, going there.
    pub fn probe_refusals(&self, trial: &Trial, target: Target) -> Vec<Refusal> {
        let of_probe = |run: ProbeRun| {
            let section = format!("probe.{}", run.probe.name);
            let refusals = self.probing.refusals(&run).into_iter();
            refusals.map(move |refusal| refusal.within(&section))
        };
        trial.probe_runs(target).flat_map(of_probe).collect()
    }

    /// Carries a trial out whose probes and streams of load go from these places. Its target and its
    /// loads are not looked at. What is around it knows when it is measured.
    ///
    /// # Errors
    /// See [`LiveError`]. What was recorded has been handed over.
    pub fn carry_out(
        &mut self,
        trial: &Trial,
        runs: &[Placed<ProbeRun>],
        loads: &[Placed<StreamRun>],
        frames: Job,
        around: &dyn Around,
        sink: &mut dyn Sink,
    ) -> Result<TrialFacts, LiveError> {
        self.start_watcher()?;
        let gathered = gather::channel();
        // Before the host is put into its condition: the prober's CPU and priority are not for load.
        let under_way = UnderWay::begin(loads, &self.probing, &gathered.0)?;
        let mut applied = Applied::new(
            trial.host,
            &Options::of_trial(trial, self.program.as_deref()),
        )?;
        if let Some(on_condition) = self.on_condition {
            on_condition(applied.describe());
        }
        let watch = self.watcher.as_mut().map(|watcher| watcher.watch(trial.id));
        around.begins();
        let ran = match runs {
            // On this thread: one that stays where it is needs none of its own.
            [Placed { run, enter: None }] if loads.is_empty() && frames.streams.is_empty() => {
                let ran = self.probing.run(run, sink);
                around.ends();
                ran.map(|facts| (vec![facts], Vec::new()))
            }
            several => {
                let all = AtOnce {
                    probing: &self.probing,
                    runs: several,
                    frames: &frames,
                    under_way,
                    lead: trial.lead(),
                    around,
                };
                all.carry_out(gathered, sink)
            }
        };
        let seen = watch.map(noise::Watch::finish);
        let (mut facts, streams) = ran?;
        if let Some(seen) = &seen {
            hand_over(seen, sink).map_err(RunError::Sink)?;
            note_noise(&mut facts, seen);
        }
        note_loads(&mut facts, &streams);
        if let Some(first) = facts.first_mut() {
            first.warnings.extend(ended(&mut applied, trial.host));
        }
        Ok(TrialFacts {
            probes: facts,
            streams,
        })
    }
}

/// A sentence, where a condition did not hold to the end.
fn ended(applied: &mut Applied, condition: HostCondition) -> Option<String> {
    (!applied.still_holds()).then(|| {
        format!(
            "the condition `{}` did not hold to the end: the trial outlasted its bound, or another process ended a \
             part of it",
            condition.name()
        )
    })
}

/// Probes that are streams of frames.
fn frames_of(trial: &Trial) -> impl Iterator<Item = &Probe> {
    let probes = trial.probes.iter();
    probes.filter(|probe| probe.method.is_one_way())
}

/// What only worlds have that build their path.
fn not_there_yet(trial: &Trial) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for load in trial.loads.iter().filter(|load| load.streams > 0) {
        let ends = [
            ("from", &load.from),
            ("to", &load.to),
            ("route", &load.route),
        ];
        let reason = "live load goes from this host to `path.target`, as it is routed";
        refusals.extend(given(&format!("load.{}", load.name), &ends, reason));
        refusals.extend(load::direction_refusal(load));
        refusals.extend(load::refusals(load));
    }
    for field in trial.path.to_be_built() {
        // Of frames it is the line rate.
        if field != "rate" || frames_of(trial).next().is_none() {
            let reason = "a live path is there already: only `target` can be said of it";
            refusals.push(Refusal::new(format!("path.{field}"), reason));
        }
    }
    let probes = trial.probes.iter();
    for probe in probes.filter(|probe| !probe.method.is_one_way()) {
        let ends = [("from", &probe.from), ("to", &probe.to)];
        let reason = "live probes go from this host to `path.target`";
        refusals.extend(given(&format!("probe.{}", probe.name), &ends, reason));
    }
    refusals
}

/// Refuses those of these fields that are given.
fn given(section: &str, fields: &[(&str, &Option<String>)], reason: &str) -> Vec<Refusal> {
    let given = fields.iter().filter(|(_, value)| value.is_some());
    given
        .map(|(field, _)| Refusal::new(format!("{section}.{field}"), reason))
        .collect()
}

/// What a stream of frames lacks in the live world.
fn frame_refusals(trial: &Trial) -> Vec<Refusal> {
    let of_probe = |probe: &Probe| {
        let mut refusals = Vec::new();
        for (field, end) in [("from", &probe.from), ("to", &probe.to)] {
            if end.is_none() {
                let reason = "live frames go from one interface of this host to another: name them";
                refusals.push(Refusal::new(field, reason));
            }
        }
        refusals.extend(probe.refuse_frames());
        let section = format!("probe.{}", probe.name);
        refusals
            .into_iter()
            .map(move |refusal| refusal.within(&section))
    };
    let lines = tester::lines::refusals(&trial.probes);
    frames_of(trial).flat_map(of_probe).chain(lines).collect()
}

/// Are the interfaces there that a live trial's frames go by, and do the frames fit them? Nothing is sent.
///
/// # Errors
/// Names the interface and what to do.
pub fn check_ports(trial: &Trial) -> Result<(), LiveError> {
    let frames = trial.probes.iter().filter_map(|probe| probe.frames);
    let mut both = frames.zip(ports_of_this_host(trial)?);
    let fit = both.try_for_each(|(frames, ports)| {
        let mut ports = ports.iter();
        ports.try_for_each(|port| port.takes(Some(&frames)))
    });
    fit.map_err(|error| LiveError::Probe(RunError::Tester(error)))
}

/// The ports of each stream of frames, by the names of interfaces.
fn ports_of_this_host(trial: &Trial) -> Result<Vec<[Port; 2]>, RunError> {
    let port = |name: &Option<String>| Port::of_this_host(name.as_deref().unwrap_or_default());
    let ports = frames_of(trial).map(|probe| Ok([port(&probe.from)?, port(&probe.to)?]));
    ports
        .collect::<Result<_, TesterError>>()
        .map_err(RunError::Tester)
}

/// Writes down with each probe what was seen of noise; what a reader has to know, with the first.
fn note_noise(facts: &mut [ProbeFacts], seen: &noise::TrialNoise) {
    for facts in &mut *facts {
        facts.noise_sources = seen.sources_used();
        facts.unwatched.clone_from(&seen.unwatched);
        facts.ran.clone_from(&seen.counters.processes);
        facts.processes.clone_from(&seen.processes);
    }
    if let Some(first) = facts.first_mut() {
        first.warnings.extend(seen.warnings());
    }
}

/// The same of the streams of load.
fn note_loads(facts: &mut [ProbeFacts], streams: &[StreamReport]) {
    for facts in &mut *facts {
        facts.lost_load = load::lost(streams);
    }
    if let Some(first) = facts.first_mut() {
        for report in streams {
            first.flaws.extend(report.flaws());
            first.warnings.extend(report.warnings());
        }
        first.warnings.extend(StreamReport::by_default(streams));
    }
}

fn hand_over(seen: &noise::TrialNoise, sink: &mut dyn Sink) -> io::Result<()> {
    sink.rows(Rows::Noise(&seen.events))?;
    sink.rows(Rows::ClockReads(&seen.clock_reads))
}

/// Everything of a trial, at once.
struct AtOnce<'env> {
    probing: &'env Probing,
    runs: &'env [Placed<ProbeRun>],
    frames: &'env Job,
    under_way: UnderWay,
    lead: Nanos,
    around: &'env dyn Around,
}

impl AtOnce<'_> {
    /// Each probe on a thread of its own, so that none waits for another's replies, and the tester on
    /// its own. The load ends as the last of them only waits. Facts are in the order of the trial's probes.
    fn carry_out(
        self,
        (sender, receiver): GatherChannel,
        sink: &mut dyn Sink,
    ) -> Result<(Vec<ProbeFacts>, Vec<StreamReport>), RunError> {
        let (runs, frames) = (self.runs, self.frames);
        self.under_way.release();
        let first = clock::monotonic() + self.lead;
        let tested = usize::from(!frames.streams.is_empty());
        let lasts = self.under_way.as_long_as(runs.len() + tested, self.around);
        let lasts = &lasts;
        // Where one cannot go on, the trial has failed: the others, which may have no end, are not waited for.
        let others = self.probing.stop.of_a_part();
        let probing = &Probing {
            stop: others.clone(),
            ..self.probing.clone()
        };
        std::thread::scope(|scope| {
            let start = |Placed { run, enter }: &'_ Placed<ProbeRun>| {
                let mut forward = Forward::new(sender.clone(), lasts.guard());
                let (run, enter, others) = (run.clone(), enter.clone(), others.clone());
                scope.spawn(move || {
                    lasts.sleep_until(first + share_of_interval(&run, runs.len()));
                    let entered = enter_place(enter.as_ref()).map_err(RunError::Enter);
                    let ran = entered.and_then(|()| probing.run(&run, &mut forward));
                    if ran.is_err() {
                        others.ask();
                        // Nor are replies to what they have sent.
                        others.ask();
                    }
                    // An error here is the receiver's, which has its own reason.
                    let _ = forward.pause();
                    ran.map(|facts| vec![(run.index, facts)])
                })
            };
            let mut threads: Vec<_> = runs.iter().map(start).collect();
            if tested > 0 {
                let mut forward = Forward::new(sender.clone(), lasts.guard());
                threads.push(scope.spawn(move || {
                    lasts.sleep_until(first);
                    let tested = tester::carry_out(frames, &mut forward);
                    let _ = forward.pause();
                    let indices = frames.streams.iter().map(|stream| stream.index);
                    Ok(indices.zip(tested?).collect())
                }));
            }
            drop(sender);
            let received = gather::hand_over(receiver, sink);
            let ended = threads.into_iter().map(|thread| joined(thread.join()));
            let ran: Vec<Result<Vec<_>, RunError>> = ended.collect();
            let reports = self.under_way.finish();
            received.map_err(RunError::Sink)?;
            let mut facts = Vec::new();
            for ran in ran {
                facts.extend(ran?);
            }
            facts.sort_by_key(|(index, _)| *index);
            Ok((facts.into_iter().map(|(_, facts)| facts).collect(), reports))
        })
    }
}

/// How long after the first of so many probes this one begins: their packets are interleaved, evenly where
/// their intervals are alike. At the same moment they would only wait for each other.
fn share_of_interval(run: &ProbeRun, probes: usize) -> Nanos {
    let interval = match run.probe.pacing {
        Pacing::Every { interval_ns } | Pacing::Burst { interval_ns, .. } => interval_ns,
        // These are nowhere in particular.
        Pacing::Poisson { .. } | Pacing::Wait { .. } | Pacing::Frames { .. } => 0,
    };
    interval * Nanos::from(run.index) / probes.max(1) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::load::LoadKind;
    use delaylab_model::path::Path;
    use delaylab_model::record::Record;
    use delaylab_model::stop::Stop;
    use delaylab_model::trial::RecordFacts;

    struct Nowhere;

    impl Sink for Nowhere {
        fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
            Ok(())
        }

        fn record(&mut self, _: &Record) -> io::Result<()> {
            Ok(())
        }
    }

    /// A trial that leaves its load out would say what a path does that is idle.
    #[test]
    fn load_without_a_target_is_no_trial() {
        let trial = Trial {
            id: 0,
            target: None,
            probes: Vec::new(),
            loads: vec![Load::new("tcp".to_owned(), LoadKind::Tcp)],
            path: Path::default(),
            host: HostCondition::Normal,
            seed: 1,
        };
        let mut live = Live::new(Probing::new(None, Stop::default()));
        live.watches_noise = false;
        let error = live.run(&trial, &mut Nowhere).err().map(|e| e.to_string());
        assert!(error.is_some_and(|error| error.contains("a live trial needs a target")));
    }
}
