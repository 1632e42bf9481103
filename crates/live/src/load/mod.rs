//! Load: what competes with the probes for the path.
//!
//! Each stream of a `[[load]]` has a thread of its own. All are set up first; then all start, by the same
//! clock, and send until the last probe has sent everything and only waits for what is as good as lost.
//!
//! | module | does |
//! |---|---|
//! | `bulk` | tcp: as much as gets through |
//! | `fetch` | tcp: as much as the reflector gets through to here |
//! | `paced` | udp: packets when they are due |
//! | `questions` | asks the reflector what it counts, while a stream runs |
//! | `session` | agrees with `delaylab reflect --accept-load`, and asks what arrived |
//! | `iperf3` | the same with `iperf3 -s` |
//! | `over_time` | what a stream was, a few times a second |
//! | [`error`] | why it could not be started |

mod bulk;
pub mod error;
mod fetch;
mod iperf3;
mod over_time;
mod paced;
mod questions;
mod session;

use delaylab_model::stream_report::mark_others_overflow;
pub use delaylab_model::stream_report::{Amount, Received, StreamReport, lost};
pub use delaylab_model::trial::StreamRun;

use crate::around::Around;
use crate::gather::{self, Message};
use crate::joined;
use crate::placed::{Placed, enter_place};
use crate::prober::Probing;
use bulk::Bulk;
use delaylab_kernel::{clock, scheduling, wait};
use delaylab_model::headers;
use delaylab_model::load::{Direction, Load, LoadKind};
use delaylab_model::noise::LOAD_THREAD;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::stop::Stop;
use delaylab_model::trial::Server;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::arrival::{Arrival, Packet, section};
use delaylab_wire::auth::Key;
use error::LoadError;
use fetch::Fetched;
use over_time::OverTime;
use paced::Paced;
use session::Session;
use socket2::SockRef;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that sleeps looks this often whether it is to stop.
const LOOK_EVERY: Nanos = 100 * MILLISECOND;
/// How far a schedule reaches: longer than any trial.
const HORIZON: u32 = 24 * 3600;

/// Every field of a load that no stream can honour.
pub fn refusals(load: &Load) -> Vec<Refusal> {
    let section = format!("load.{}", load.name);
    let refusals = fields_refused(load).into_iter();
    refusals.map(|refusal| refusal.within(&section)).collect()
}

fn fields_refused(load: &Load) -> Vec<Refusal> {
    if let Some(refusal) = load.out_of_place() {
        return vec![refusal];
    }
    if load.kind == LoadKind::Transfers {
        let none = Refusal::new("kind", "only the simulation has finite transfers");
        return vec![none.remedy("give the load under [[in.sim.load]], or take `tcp`")];
    }
    if load.kind == LoadKind::Tcp {
        let nothing = load.rate.filter(|rate| rate.0 == 0).map(|_| {
            Refusal::new("rate", "tcp at no rate sends nothing").remedy("write `streams = 0`")
        });
        let own = load.tcp.map(|_| {
            Refusal::new("tcp", "kernels have their own TCP")
                .remedy("give it under [[in.sim.load]]")
        });
        return nothing.into_iter().chain(own).collect();
    }
    packets(load, true, 0).err().into_iter().collect()
}

/// Why a load cannot come down from a reflector.
pub(crate) fn direction_refusal(load: &Load) -> Option<Refusal> {
    let wrong = load.direction == Direction::Down && load.kind != LoadKind::Tcp;
    wrong.then(|| {
        Refusal::new(
            format!("load.{}.direction", load.name),
            "only tcp comes down: a reflector sends what TCP gets through, and no packets at a rate",
        )
    })
}

/// The IP packets of a load that is no tcp.
fn packets(load: &Load, v6: bool, seed: u64) -> Result<Arrival, Refusal> {
    let headers = headers::of_datagrams(v6);
    let largest = u64::from(65_535 - headers);
    let smallest = delaylab_wire::iperf3::HEADER as u64;
    let payload = section::payload(load);
    if !(smallest..=largest).contains(&payload) {
        let reason =
            format!("a packet that can be counted has {smallest} to {largest} B of payload");
        return refuse("payload", reason);
    }
    if let (LoadKind::Replay, Some(trace)) = (load.kind, &load.trace) {
        countable(trace)?;
    }
    section::arrivals(load, headers, 0, seed)
}

/// Is every packet of the trace large enough to be counted, and no larger than any packet?
fn countable(trace: &[Packet]) -> Result<(), Refusal> {
    let smallest = headers::of_datagrams(true) + delaylab_wire::iperf3::HEADER as u32;
    let fits = |packet: &Packet| (smallest..=65_535).contains(&packet.bytes);
    match trace.iter().position(|packet| !fits(packet)) {
        None => Ok(()),
        Some(index) => refuse(
            "file",
            format!(
                "its packet {} has {} B: an IP packet that can be counted has {smallest} to 65535",
                index + 1,
                trace[index].bytes
            ),
        ),
    }
}

/// What every thread looks at.
#[derive(Debug)]
struct LoadState {
    is_over: AtomicBool,
    stop: Stop,
}

impl LoadState {
    fn stopped(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.stop.is_asked()
    }

    /// Sleeps until then, or until it is over.
    fn sleep_until(&self, deadline: Nanos) {
        while !self.stopped() {
            let now = clock::monotonic();
            if now >= deadline {
                return;
            }
            // An error is a signal: look again.
            let _ = clock::sleep_until(deadline.min(now + LOOK_EVERY));
        }
    }
}

/// The load lasts as long as these do.
pub(crate) struct Lasts<'a> {
    state: Arc<LoadState>,
    left: AtomicUsize,
    around: &'a dyn Around,
}

/// One of those that the load lasts as long as; it has ended when this is dropped.
pub(crate) struct LastsGuard<'a>(&'a Lasts<'a>);

impl Drop for LastsGuard<'_> {
    fn drop(&mut self) {
        if self.0.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            // First: what is seen of the path is seen under load.
            self.0.around.ends();
            self.0.state.is_over.store(true, Ordering::Relaxed);
        }
    }
}

impl<'a> Lasts<'a> {
    /// One of them.
    pub(crate) const fn guard(&'a self) -> LastsGuard<'a> {
        LastsGuard(self)
    }

    /// Sleeps until then, or until the user asks to stop.
    pub(crate) fn sleep_until(&self, deadline: Nanos) {
        self.state.sleep_until(deadline);
    }
}

/// Streams that are set up, on threads of their own.
pub(crate) struct UnderWay {
    threads: Vec<JoinHandle<Vec<StreamReport>>>,
    go: Vec<Sender<Nanos>>,
    state: Arc<LoadState>,
}

impl UnderWay {
    /// Sets all streams up, and returns when they are. Series go to `series`.
    pub(crate) fn begin(
        loads: &[Placed<StreamRun>],
        probing: &Probing,
        series: &SyncSender<Message>,
    ) -> Result<Self, LoadError> {
        Self::begin_jobs(jobs(loads)?, probing, series)
    }

    fn begin_jobs(
        jobs: Vec<Job>,
        probing: &Probing,
        series: &SyncSender<Message>,
    ) -> Result<Self, LoadError> {
        let state = Arc::new(LoadState {
            is_over: AtomicBool::new(false),
            stop: probing.stop.clone(),
        });
        let mut under_way = Self {
            threads: Vec::new(),
            go: Vec::new(),
            state: state.clone(),
        };
        let (ready, all_ready) = channel();
        for job in jobs {
            let (go, gone) = channel();
            let worker = Worker {
                job,
                key: probing.load_key.clone(),
                state: state.clone(),
                series: series.clone(),
            };
            let ready = ready.clone();
            let thread = std::thread::Builder::new()
                .name(LOAD_THREAD.to_owned())
                .spawn(move || worker.run(ready, &gone))
                .map_err(LoadError::Thread)?;
            under_way.threads.push(thread);
            under_way.go.push(go);
        }
        drop(ready);
        // On an error all that wait see that nobody will tell them to go, and end.
        all_ready.into_iter().collect::<Result<(), LoadError>>()?;
        Ok(under_way)
    }

    /// Sets all streams up and ends them again, to see that they can be. An `iperf3 -s` has one test at a time, and with
    /// `-1` one in all: of it only the settings are checked.
    ///
    /// # Errors
    /// They cannot be set up.
    pub(crate) fn check(loads: &[Placed<StreamRun>], probing: &Probing) -> Result<(), LoadError> {
        let of_iperf3 = |job: &Job| job.run[0].server == Server::Iperf3;
        let (iperf3, others): (Vec<Job>, Vec<Job>) = jobs(loads)?.into_iter().partition(of_iperf3);
        for job in iperf3 {
            iperf3::parameters(&job.run)?;
        }
        let (series, _none) = gather::channel();
        Self::begin_jobs(others, probing, &series).map(UnderWay::cancel)
    }

    /// Ends streams that have not been released, and returns when they have ended.
    fn cancel(self) {
        drop(self.go);
        for thread in self.threads {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }

    /// Lets all streams start.
    pub(crate) fn release(&self) {
        let now = clock::monotonic();
        for go in &self.go {
            // An error is a thread that has ended; why is in its report.
            let _ = go.send(now);
        }
    }

    /// The load ends with the last of this many, and so does what is `around`.
    pub(crate) fn as_long_as<'a>(&self, many: usize, around: &'a dyn Around) -> Lasts<'a> {
        Lasts {
            state: self.state.clone(),
            left: AtomicUsize::new(many),
            around,
        }
    }

    /// Ends all streams and says what they did.
    pub(crate) fn finish(self) -> Vec<StreamReport> {
        self.state.is_over.store(true, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        let mut reports: Vec<_> = threads.flat_map(|thread| joined(thread.join())).collect();
        mark_others_overflow(&mut reports);
        reports
    }
}

/// Streams that one thread sets up: one, but all of a load where they share a control connection.
type Job = Placed<Vec<StreamRun>>;

/// Why an `iperf3 -s` that has the first load cannot have the other.
fn one_at_a_time(first: &StreamRun, other: &StreamRun) -> Refusal {
    let reason = format!(
        "`iperf3 -s` carries out one test at a time, and load `{}` has it",
        first.load.name
    );
    Refusal::new(format!("load.{}", other.load.name), reason)
        .remedy("use `delaylab reflect --accept-load`, or one load with several streams")
}

fn jobs(loads: &[Placed<StreamRun>]) -> Result<Vec<Job>, LoadError> {
    let mut jobs: Vec<Job> = Vec::new();
    for Placed { run, enter } in loads {
        let same_server = |job: &&mut Job| {
            let first = &job.run[0];
            run.server == Server::Iperf3 && first.server == run.server && first.target == run.target
        };
        match jobs.iter_mut().find(same_server) {
            Some(job) if job.run[0].load.name == run.load.name => job.run.push(run.clone()),
            Some(job) => return Err(one_at_a_time(&job.run[0], run).into()),
            None => jobs.push(Placed {
                run: vec![run.clone()],
                enter: enter.clone(),
            }),
        }
    }
    Ok(jobs)
}

/// What a thread has.
struct Worker {
    job: Job,
    key: Option<Key>,
    state: Arc<LoadState>,
    series: SyncSender<Message>,
}

/// How a stream's packets go.
enum Flow {
    Bulk(Bulk),
    Fetched(Box<Fetched>),
    Paced(Box<Paced>),
}

impl Flow {
    /// Ends its connection, if it has one, and throws away what has not been sent or read: the load is over.
    fn abort(self) {
        let socket = match &self {
            Flow::Bulk(bulk) => &bulk.socket,
            Flow::Fetched(fetched) => &fetched.socket,
            Flow::Paced(_) => return,
        };
        // An error here is a connection that has ended already.
        let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
    }
}

/// Streams that are set up.
struct Ready {
    flows: Vec<Flow>,
    control: Control,
}

/// Who counts what arrives.
enum Control {
    Sink(Box<Session>),
    Iperf3(iperf3::Test),
}

impl Worker {
    fn run(self, ready: Sender<Result<(), LoadError>>, go: &Receiver<Nanos>) -> Vec<StreamReport> {
        // The default of 50 µs would bunch packets; and a stop of the process must not shift them.
        let _ = scheduling::set_timer_slack(1);
        let _ = wait::keep_deadlines_over_stops();
        let entered = enter_place(self.job.enter.as_ref()).map_err(LoadError::Thread);
        let set_up = entered.and_then(|()| self.set_up());
        let (result, set_up) = match set_up {
            Ok(set_up) => (Ok(()), Some(set_up)),
            Err(error) => (Err(error), None),
        };
        let told = ready.send(result);
        // What waits for all of them waits for the last of these.
        drop(ready);
        match (set_up, told, go.recv()) {
            (Some(set_up), Ok(()), Ok(start)) => self.send(set_up, start),
            _ => Vec::new(),
        }
    }

    fn set_up(&self) -> Result<Ready, LoadError> {
        let runs = &self.job.run;
        match runs[0].server {
            Server::Reflector => {
                let mut session = Session::open(&runs[0], self.key.as_ref())?;
                let flow = session.flow(&runs[0])?;
                Ok(Ready {
                    flows: vec![flow],
                    control: Control::Sink(Box::new(session)),
                })
            }
            Server::Iperf3 => {
                let (test, flows) = iperf3::Test::open(runs)?;
                Ok(Ready {
                    flows,
                    control: Control::Iperf3(test),
                })
            }
        }
    }

    fn send(&self, mut set_up: Ready, released: Nanos) -> Vec<StreamReport> {
        let runs = &self.job.run;
        if let Control::Sink(session) = &mut set_up.control {
            session.keep_until(start_of(&runs[0], released), &self.state);
        }
        let mut reports: Vec<StreamReport> = match &mut set_up.flows[..] {
            [flow] => vec![self.send_one(&runs[0], flow, released)],
            flows => self.send_together(flows, released),
        };
        match set_up.control {
            Control::Sink(session) => session.end(set_up.flows, &mut reports[0]),
            Control::Iperf3(test) => test.end(set_up.flows, &mut reports),
        }
        reports
    }

    /// Each on a thread of its own.
    fn send_together(&self, flows: &mut [Flow], released: Nanos) -> Vec<StreamReport> {
        std::thread::scope(|scope| {
            let runs = self.job.run.iter();
            let threads: Vec<_> = runs
                .zip(flows)
                .map(|(run, flow)| {
                    scope.spawn(move || {
                        let _ = scheduling::set_timer_slack(1);
                        self.send_one(run, flow, released)
                    })
                })
                .collect();
            let threads = threads.into_iter();
            threads.map(|thread| joined(thread.join())).collect()
        })
    }

    fn send_one(&self, run: &StreamRun, flow: &mut Flow, released: Nanos) -> StreamReport {
        let start = start_of(run, released);
        self.state.sleep_until(start);
        let mut report = StreamReport::new(run);
        let mut over_time = OverTime::new(run, self.series.clone());
        if self.state.stopped() {
            return report;
        }
        match flow {
            Flow::Bulk(bulk) => bulk.run(&self.state, &mut over_time, &mut report),
            Flow::Fetched(fetched) => fetched.run(&self.state, &mut over_time, &mut report),
            Flow::Paced(paced) => paced.run(start, &self.state, &mut over_time, &mut report),
        }
        report
    }
}

/// When a stream begins, of those that were released then.
fn start_of(run: &StreamRun, released: Nanos) -> Nanos {
    let after = |time: Option<delaylab_model::quantity::Duration>| time.map_or(0, |time| time.0);
    let stagger = after(run.load.stagger).saturating_mul(Nanos::from(run.number) - 1);
    released
        .saturating_add(after(run.load.start))
        .saturating_add(stagger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::tcp::TcpOptions;

    #[test]
    fn the_tcp_of_a_kernel_is_its_own() {
        let plain = Load::new("bulk", LoadKind::Tcp);
        assert_eq!(refusals(&plain), []);
        let load = Load {
            tcp: Some(TcpOptions::default()),
            ..plain
        };
        let refused = refusals(&load);
        assert_eq!(refused[0].field, "load.bulk.tcp");
        let down = Load {
            direction: Direction::Down,
            ..Load::new("bulk", LoadKind::Cbr)
        };
        let refused = direction_refusal(&down).map(|refusal| refusal.field);
        assert_eq!(refused.as_deref(), Some("load.bulk.direction"));
        let finite = Load::new("bulk", LoadKind::Transfers);
        assert_eq!(refusals(&finite)[0].field, "load.bulk.kind");
    }
}
