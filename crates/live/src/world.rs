//! The live world: this host, a real path, and whatever the target is.

use crate::condition::{Applied, ApplyError, Options};
use crate::noise;
use crate::prober::Probing;
use crate::prober::error::RunError;
use delaylab_model::probe::WaitMode;
use delaylab_model::record::Record;
use delaylab_model::trial::{ProbeFacts, ProbeRun, RecordFacts, Trial};
use delaylab_model::world::{Refusal, Sink, World};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Records of a thread that are handed on at once.
const BATCH: usize = 1024;
/// Batches under way between threads.
const BATCHES: usize = 64;

/// What a thread does first, to be where its sockets belong: on a testbed, entering a namespace.
pub type Enter = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;

/// Something to carry out, and where.
#[derive(Clone)]
pub struct Placed<T> {
    /// What.
    pub run: T,
    /// How its threads get there; `None`: it stays where it is.
    pub enter: Option<Enter>,
}

impl<T> Placed<T> {
    /// Where this process is.
    pub const fn here(run: T) -> Self {
        Self { run, enter: None }
    }
}

/// This host and a real path.
#[derive(Debug)]
pub struct Live {
    /// How probes are carried out.
    pub probing: Probing,
    /// The process that answers, where it is on this host: what it runs is no noise.
    pub reflector: Option<u32>,
    /// Started with the first trial.
    watcher: Option<noise::Watcher>,
}

impl Live {
    /// Carries probes out so.
    pub fn new(probing: Probing) -> Self {
        Self {
            probing,
            reflector: None,
            watcher: None,
        }
    }

    /// To be called before the host is put into a condition: it would be the watcher's, too.
    fn start_watcher(&self) -> Result<noise::Watcher, LiveError> {
        let mut options = noise::Options::default();
        options.processes.extend(self.reflector);
        noise::Watcher::start(options).map_err(LiveError::Watcher)
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
}

impl World for Live {
    type Error = LiveError;

    fn refusals(&self, trial: &Trial) -> Vec<Refusal> {
        let mut refusals = not_there_yet(trial);
        let Some(target) = trial.target else {
            return refusals;
        };
        let of_probe = |run: ProbeRun| {
            let name = run.probe.name.clone();
            let refusals = self.probing.refusals(&run).into_iter();
            refusals.map(move |refusal| Refusal {
                field: format!("probe.{name}.{}", refusal.field),
                reason: refusal.reason,
            })
        };
        refusals.extend(trial.probe_runs(target).flat_map(of_probe));
        refusals
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<Vec<ProbeFacts>, LiveError> {
        let target = trial.target.ok_or(LiveError::NoTarget)?;
        let runs: Vec<_> = trial.probe_runs(target).map(Placed::here).collect();
        self.carry_out(trial, &runs, sink)
    }
}

impl Live {
    /// Carries a trial out whose probes go from these places. Its target is not looked at.
    ///
    /// # Errors
    /// See [`LiveError`]. What was recorded has been handed over.
    pub fn carry_out(
        &mut self,
        trial: &Trial,
        runs: &[Placed<ProbeRun>],
        sink: &mut dyn Sink,
    ) -> Result<Vec<ProbeFacts>, LiveError> {
        let watcher = match self.watcher.take() {
            Some(watcher) => watcher,
            None => self.start_watcher()?,
        };
        let watcher = self.watcher.insert(watcher);
        let mut applied = Applied::new(trial.host, &condition_options(trial))?;
        let watch = watcher.watch(trial.id);
        let ran = match runs {
            // On this thread: one that stays where it is needs none of its own.
            [Placed { run, enter: None }] => self.probing.run(run, sink).map(|facts| vec![facts]),
            several => at_once(&self.probing, several, sink),
        };
        let seen = watch.finish();
        let mut facts = ran?;
        hand_over(&seen, sink).map_err(RunError::Sink)?;
        for facts in &mut facts {
            facts.noise_sources = seen.sources_used();
        }
        if let Some(first) = facts.first_mut() {
            first.warnings.extend(seen.warnings());
            if !applied.still_holds() {
                first.warnings.push(format!(
                    "the condition `{}` did not hold to the end: the trial outlasted its bound, or \
                     somebody ended a part of it",
                    trial.host.name()
                ));
            }
        }
        Ok(facts)
    }
}

/// What only worlds have that build their path.
fn not_there_yet(trial: &Trial) -> Vec<Refusal> {
    let refuse = |field: String, reason: &str| Refusal {
        field,
        reason: reason.to_owned(),
    };
    let loads = trial.loads.iter().filter(|load| load.streams > 0);
    let loads = loads.map(|load| {
        let reason = "this version makes no load on a live path: give it streams = 0";
        refuse(format!("load.{}", load.name), reason)
    });
    let path = trial.path.to_be_built().into_iter();
    let path = path.map(|field| {
        let reason = "a live path is there already: only `target` can be said of it";
        refuse(format!("path.{field}"), reason)
    });
    let ends = trial.probes.iter().flat_map(|probe| {
        let ends = [("from", &probe.from), ("to", &probe.to)];
        let named = ends.into_iter().filter(|(_, end)| end.is_some());
        named.map(|(field, _)| {
            let reason = "live probes go from this host to `path.target`";
            refuse(format!("probe.{}.{field}", probe.name), reason)
        })
    });
    loads.chain(path).chain(ends).collect()
}

/// How to put the host into the trial's condition.
fn condition_options(trial: &Trial) -> Options {
    let spins = |probe: &delaylab_model::probe::Probe| probe.wait_mode == WaitMode::Spin;
    Options {
        spins: trial.probes.iter().any(spins),
        ..Options::default()
    }
}

fn hand_over(seen: &noise::Seen, sink: &mut dyn Sink) -> io::Result<()> {
    seen.events.iter().try_for_each(|event| sink.noise(event))?;
    seen.clock_reads
        .iter()
        .try_for_each(|bin| sink.clock_reads(bin))
}

enum Message {
    Begin(u16, RecordFacts),
    Records(Vec<Record>),
}

/// Each probe on a thread of its own, so that none waits for another's replies.
fn at_once<'env>(
    probing: &'env Probing,
    runs: &'env [Placed<ProbeRun>],
    sink: &mut dyn Sink,
) -> Result<Vec<ProbeFacts>, RunError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCHES);
        let start = |Placed { run, enter }: &'env Placed<ProbeRun>| {
            let mut forward = Forward {
                sender: sender.clone(),
                batch: Vec::new(),
            };
            scope.spawn(move || {
                let entered = enter_place(enter.as_ref());
                let ran = entered.and_then(|()| probing.run(run, &mut forward));
                // An error here is the receiver's, which has its own reason.
                let _ = forward.pause();
                ran
            })
        };
        let threads: Vec<_> = runs.iter().map(start).collect();
        drop(sender);
        let received = receiver.iter().try_for_each(|message| match message {
            Message::Begin(probe, facts) => sink.begin(probe, &facts),
            Message::Records(records) => records.iter().try_for_each(|record| sink.record(record)),
        });
        // Whoever still sends notices that nobody listens.
        drop(receiver);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ran: Vec<_> = threads.into_iter().map(join).collect();
        received.map_err(RunError::Sink)?;
        ran.into_iter().collect()
    })
}

fn enter_place(enter: Option<&Enter>) -> Result<(), RunError> {
    enter
        .map_or(Ok(()), |enter| enter())
        .map_err(RunError::Enter)
}

/// Hands records to the thread that started this one.
struct Forward {
    sender: SyncSender<Message>,
    batch: Vec<Record>,
}

impl Forward {
    fn send(&self, message: Message) -> io::Result<()> {
        self.sender
            .send(message)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Sink for Forward {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.send(Message::Begin(probe, *facts))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.batch.push(*record);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        self.pause()
    }

    fn pause(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Records(batch))
    }
}
