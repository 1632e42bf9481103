//! What disturbs this host while it measures.
//!
//! A [`Watcher`] lives as long as a run and watches trial by trial. It has a thread of its own,
//! which keeps off the CPUs that are watched where there are others. Each source is optional, and
//! says whether it was there.
//!
//! | module | holds |
//! |---|---|
//! | [`gaps`] | reading the clock again and again: its cost, and the time that is missing |
//! | `clock_cost` | what clock reads cost, during the trial |
//! | `sentinel` | a thread that only looks for gaps |
//! | `tracer` | the kernel's own events: who had the CPU |
//! | `occupancy` | from those events, who had a CPU from when to when: sans-IO |
//! | `stops` | from those events, when threads were stopped: sans-IO |
//! | `freezes` | from those events, when groups of processes were frozen: sans-IO |
//! | [`counters`] | what the kernel counts: interrupts, waiting for a CPU, stolen time |
//! | `events` | what was seen, within bounds |
//! | `processes` | whose the threads are that were seen |
//! | `thread` | the watcher's life |

mod clock_cost;
pub mod counters;
mod events;
mod freezes;
pub mod gaps;
mod occupancy;
mod processes;
mod sentinel;
mod stops;
mod thread;
mod tracer;

pub use events::LeftOut;

use counters::Counters;
use delaylab_kernel::cpu_list::Cpus;
use delaylab_kernel::scheduling;
use delaylab_model::noise::{ClockReads, NoiseEvent, Process, Unwatched};
use delaylab_model::units::format_duration;
use delaylab_model::{MICROSECOND, Nanos};
use serde::Serialize;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use thread::Order;

/// What to watch, and how closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// CPUs on which the prober may run. `None`: all that the thread may use that starts the watch.
    pub cpus: Option<Cpus>,
    /// Processes that measure or answer: what their threads run is no noise.
    pub processes: Vec<u32>,
    /// A thread that only reads the clock.
    pub sentinel: SentinelUse,
    /// Shorter intervals of other threads, interrupts and softirqs are left out. A timer interrupt
    /// takes 1 to 5 µs.
    pub least: Nanos,
    /// Two clock reads further apart than this are a gap, and a slow clock read: the limit above
    /// which a record says so as well.
    pub gap: Nanos,
    /// May use the kernel's tracer.
    pub tracer: bool,
    /// At most this number of events is kept of a trial, about 100 B each: the longest.
    pub max_events: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpus: None,
            processes: vec![std::process::id()],
            sentinel: SentinelUse::WhereSpare,
            least: 5 * MICROSECOND,
            gap: 10 * MICROSECOND,
            tracer: true,
            max_events: 200_000,
        }
    }
}

/// When the sentinel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentinelUse {
    /// With three CPUs or more: of two, the prober and what answers it need both.
    WhereSpare,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// Says what reading the clock costs, not who had a CPU.
const CLOCK_READS: &str = "clock reads";
/// Say how much, not when.
const COUNTERS: &str = "counters";

/// One source of what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// What, in the user's words.
    pub name: &'static str,
    /// Whether it was there.
    pub state: SourceState,
}

/// Whether a source was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "detail")]
pub enum SourceState {
    /// It was; how.
    Used(String),
    /// It was not: why, and how to get it.
    Absent(String),
}

/// What watching itself took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Cost {
    /// How long the trial was watched.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// CPU time of the watcher's thread in it.
    #[serde(rename = "cpu_time_ns")]
    pub cpu_time: Nanos,
    /// Mean time from one look of the sentinel to the next: gaps are seen this coarsely.
    #[serde(rename = "sentinel_look_ns")]
    pub sentinel_look: Option<Nanos>,
}

/// What was seen during one trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialNoise {
    /// Everything that had a CPU instead, by start.
    pub events: Vec<NoiseEvent>,
    /// Events beyond [`Options::max_events`].
    pub left_out: LeftOut,
    /// Events of the kernel's tracer that were overwritten before they were read: at least so many.
    pub lost: u64,
    /// When that was. What had a CPU then is not known.
    pub unwatched: Vec<Unwatched>,
    /// What clock reads cost; bins that none fell into are left out.
    pub clock_reads: Vec<ClockReads>,
    /// Whose the threads of the events are, as far as they lived when they were asked.
    pub processes: Vec<Process>,
    /// There were more threads than are asked about.
    pub threads_unasked: bool,
    /// What the kernel counted.
    pub counters: Counters,
    /// Each source: whether it was there.
    pub sources: Vec<Source>,
    /// What watching took.
    pub cost: Cost,
}

impl TrialNoise {
    /// The sources that were there and say when something else had a CPU.
    pub fn sources_used(&self) -> Vec<String> {
        let used = self.sources.iter().filter(|source| {
            let says_when = ![CLOCK_READS, COUNTERS].contains(&source.name);
            says_when && matches!(source.state, SourceState::Used(_))
        });
        used.map(|source| source.name.to_owned()).collect()
    }

    /// Sentences the user should read before trusting the noise table.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.left_out.count > 0 {
            warnings.push(format!(
                "noise: the {} longest events were kept, and {} more only counted: none of these lasted longer than {}",
                self.events.len(),
                self.left_out.count,
                format_duration(self.left_out.longest)
            ));
        }
        if self.lost > 0 {
            warnings.push(format!(
                "noise: at least {} events of the kernel's tracer were lost: the watcher was kept \
                 from reading them. Packets of that time have no `noise_ns`",
                self.lost
            ));
        }
        if self.threads_unasked {
            warnings.push(format!(
                "noise: more than {} threads had a CPU: of the others the name is known, and not the process",
                processes::MOST
            ));
        }
        warnings
    }
}

/// Watches trials. Dropping it takes back whatever it changed on the host.
#[derive(Debug)]
pub struct Watcher {
    orders: Option<Sender<Order>>,
    answers: Receiver<TrialNoise>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Makes everything ready, which takes some 0.1 s, and watches nothing yet.
    ///
    /// To be called before the host is put into a condition: what the calling thread has by then
    /// (its CPUs, its cpuset) the watcher keeps.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(options: Options) -> io::Result<Self> {
        let allowed = scheduling::affinity()?;
        let (orders, ordered) = channel();
        let (answer, answers) = channel();
        let thread = std::thread::Builder::new()
            .name("dlab-watch".into())
            .spawn(move || thread::run(options, &allowed, &ordered, &answer))?;
        Ok(Self {
            orders: Some(orders),
            answers,
            thread: Some(thread),
        })
    }

    /// Watches a trial. Returns as soon as it does.
    pub fn watch(&mut self, trial: u32) -> Watch<'_> {
        self.order(Order::Begin(trial));
        // The first answer only says that it has begun.
        let _ = self.answers.recv();
        Watch {
            watcher: self,
            ended: false,
        }
    }

    /// A watcher that has died has nothing more to say.
    fn order(&self, order: Order) {
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.orders.take());
        // A thread that panicked has said so itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A trial that is watched until this is finished or dropped.
#[derive(Debug)]
pub struct Watch<'a> {
    watcher: &'a mut Watcher,
    ended: bool,
}

impl Watch<'_> {
    /// Ends the watch, and says what was seen.
    pub fn finish(mut self) -> TrialNoise {
        self.end()
    }

    fn end(&mut self) -> TrialNoise {
        self.ended = true;
        self.watcher.order(Order::End);
        self.watcher.answers.recv().unwrap_or_else(|_| TrialNoise {
            sources: vec![Source {
                name: "watcher",
                state: SourceState::Absent("its thread has died".into()),
            }],
            ..TrialNoise::default()
        })
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end();
        }
    }
}
