//! The records of a run, trial by trial, as tallies of causes. Why a packet was late is asked once all trials are read: a repeat of
//! which most packets were late shows what is usual in the others alone. Memory: 16 B a packet, 16 B more where processes
//! were watched, about 150 B a late packet, and a few MB for the one-way delays of the trial that is read.
//!
//! Of trials that are the same simulation ([`Distinct`]) the first one counts. Which are the same depends on what a section pools, so that
//! counts of two sections need not add up:
//!
//! | section | a copy is a trial with the same hash and |
//! |---|---|
//! | causes, sums of packets, ways ([`Gathered`]), losses, irregular answers | the same probe, by its index |
//! | blackouts | the same label: levels and probe |
//! | what is slow | the same levels and the same probe, by its name |
//! | effects | the same probe, by its name, among trials of one level |

use super::acknowledged::UnansweredRequests;
use super::anatomies::Anatomies;
use super::kernel_queues::{KernelQueue, KernelQueues};
use super::late_bounds::{alike, late_thresholds, response};
use super::paused::{Paused, WhyPaused};
use super::repaired::SentAgain;
use super::routers;
use super::spent::Usual;
use super::stages::Stages;
use super::tally::Tally;
use super::ways::{self, WayDelays};
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::distinct::{Distinct, originals};
use delaylab_model::noise::{CpuUse, NoiseEvent, NoiseKind};
use delaylab_model::path::Topology;
use delaylab_model::record::{Bounds, ClockEvent, Outcome, Record};
use delaylab_model::trial::{RecordFacts, ReflectorClock};
use delaylab_model::words::each_once;
use delaylab_stats::anatomy::{Part, Place, StageSet};
use delaylab_stats::attribution::{Held, HostView, LateCause, by_bounds, family, is_set_up, whose};
use delaylab_stats::driven::Sent;
use delaylab_stats::excursion::{self, Events, Excursion, Excursions};
use delaylab_stats::functional::Functional;
use delaylab_stats::meanwhile::{Attributed, Meanwhile, MeanwhileBuilder};
use delaylab_stats::noise_join::Join;
use delaylab_stats::summary::answers::Answers;
use delaylab_stats::summary::{Counts, Irregular};
use delaylab_stats::trains::Trains;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a run's records come to.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a> {
    pub(super) streams: Vec<GatheredStream<'a>>,
    pub(super) tallies: BTreeMap<LateCause, Tally>,
    /// Packets that were sent and waited for to their end.
    pub(super) sent: u64,
    pub(super) answered: u64,
    pub(super) trials: usize,
    /// How many separate times packets were late: those that were under way together are one event.
    pub(super) events: u64,
    /// Anatomy of packets that were not late, and what late ones took longer.
    pub(super) stages: Stages,
    /// What the path did to packets other than delaying or losing them.
    pub(super) irregular: Irregular,
    /// What servers answered.
    pub(super) answers: Answers,
    /// The two ways apart.
    pub(super) ways: WayDelays,
    /// What recorded who had the CPU, for people.
    pub(super) sources: Vec<String>,
    /// CPU time of processes over all trials, the largest first: those of one name together.
    pub(super) ran: Vec<CpuUse>,
    /// The run's hosts are simulated: what would be done to real ones is no advice.
    pub(super) simulated: bool,
    /// Another tool measured, on a host of which nothing is known.
    pub(super) imported: bool,
    /// Packets that were answered, at a time that is not known.
    pub(super) untimed: u64,
    /// Packets that were answered after their time-out.
    pub(super) too_late: u64,
    /// Trials in which a server is asked for something.
    pub(super) with_requests: BTreeSet<u32>,
    /// Handshakes that were made during requests, and how many of them were answered.
    pub(super) handshakes: (u64, u64),
}

/// The trials of a run in which a server is asked for something: handshakes there are evidence about its requests.
pub(super) fn with_requests(run: &Run) -> BTreeSet<u32> {
    let rows = run.trials().iter();
    let requests = rows.filter(|row| row.method.is_request());
    requests.map(|row| row.trial).collect()
}

/// One probe of one trial.
#[derive(Debug)]
pub(super) struct GatheredStream<'a> {
    pub(super) row: &'a TrialRow,
    /// Beyond which response its packets are late.
    pub(super) bound: Nanos,
    /// When each packet was due.
    pub(super) due: Vec<Nanos>,
    /// How long each took; NaN for one that was not answered, or at a time that is not known.
    pub(super) response: Vec<f64>,
    /// Which of them were answered at a time that is not known, in order.
    pub(super) untimed: Vec<usize>,
    /// Which of them were never sent, or not waited for to their end, in order.
    pub(super) not_ended: Vec<usize>,
    /// Which of them had a reply that was corrupt, in order: it is no answer, and they are not lost.
    pub(super) corrupt: Vec<usize>,
    /// When each packet was sent, of those that were; empty where no process was watched that they could wake.
    pub(super) sent: Vec<Sent>,
    /// Where packets that were not late spent their time.
    pub(super) usual: Usual,
    /// Why ports were paused as they held packets of it.
    pub(super) paused: BTreeMap<Arc<str>, WhyPaused>,
    /// By cause: packets that were late, and what they took longer than usual, ns.
    pub(super) excess_by_cause: BTreeMap<LateCause, (u64, f64)>,
    /// Lost requests by TCP.
    pub(super) unanswered: UnansweredRequests,
    /// Did a connection carry any of its packets?
    pub(super) has_connections: bool,
}

impl Gathered<'_> {
    /// Counts a packet. Of streams that are the same simulation only the first is counted.
    fn count(&mut self, record: &Record) {
        let is_answered = record.answered();
        self.irregular.push(record);
        self.answers.push(record);
        self.sent += u64::from(record.ended());
        self.answered += u64::from(is_answered);
        self.untimed += u64::from(is_answered && response(record).is_none());
        self.too_late += u64::from(record.outcome == Outcome::Late);
        let is_handshake = record.method.is_handshake();
        if is_handshake && self.with_requests.contains(&record.trial) {
            let (sent, answered) = &mut self.handshakes;
            *sent += u64::from(record.ended());
            *answered += u64::from(is_answered);
        }
    }

    /// The streams but for handshakes that were made during requests to a server: those are evidence of what the network takes.
    pub(super) fn primary_streams(&self) -> Vec<&GatheredStream<'_>> {
        let streams = self.streams.iter();
        streams.filter(|stream| self.is_primary(stream)).collect()
    }

    /// What another tool's summaries count in streams of whose packets there is no record.
    pub(super) fn in_summaries(&self) -> Counts {
        let mut said = Counts::default();
        let streams = self.streams.iter().filter(|_| self.imported);
        for stream in streams.filter(|stream| stream.due.is_empty()) {
            let (sent, lost) = stream.row.sent_and_lost().unwrap_or_default();
            said.add(sent, lost);
        }
        said
    }

    /// Is it no handshake during requests of its trial?
    pub(super) fn is_primary(&self, stream: &GatheredStream<'_>) -> bool {
        !stream.row.method.is_handshake() || !self.with_requests.contains(&stream.row.trial)
    }
}

impl<'a> GatheredStream<'a> {
    /// Without a packet.
    fn new(row: &'a TrialRow, bound: Nanos) -> Self {
        Self {
            row,
            bound,
            due: Vec::new(),
            response: Vec::new(),
            untimed: Vec::new(),
            not_ended: Vec::new(),
            corrupt: Vec::new(),
            sent: Vec::new(),
            usual: Usual::default(),
            paused: BTreeMap::new(),
            excess_by_cause: BTreeMap::new(),
            unanswered: UnansweredRequests::default(),
            has_connections: false,
        }
    }
}

impl GatheredStream<'_> {
    /// Takes its next packet. `keeps_sent`: and when it was sent.
    fn push(&mut self, record: &Record, keeps_sent: bool) {
        let due = record.t_intended;
        if keeps_sent {
            self.sent.extend(record.t_send.map(|at| Sent { at, due }));
        }
        if !record.ended() {
            self.not_ended.push(self.due.len());
        }
        if record.answered() && response(record).is_none() {
            self.untimed.push(self.due.len());
        }
        if record.outcome == Outcome::Corrupt {
            self.corrupt.push(self.due.len());
        }
        self.has_connections |= record.connection.is_some() || record.t_ack.is_some();
        self.unanswered.push(record);
        self.due.push(due);
        self.response
            .push(response(record).map_or(f64::NAN, |ns| ns as f64));
    }

    /// The median response of the packets that were answered, ns.
    pub(super) fn median(&self) -> Option<f64> {
        median([self])
    }
}

/// The median response of the packets of these streams that were answered, ns: of more than a million, of so many that are picked
/// evenly.
pub(super) fn median<'a>(
    streams: impl IntoIterator<Item = &'a GatheredStream<'a>, IntoIter: Clone>,
) -> Option<f64> {
    const MAX_PACKETS: usize = 1 << 20;
    let all = streams.into_iter().flat_map(|stream| &stream.response);
    let every = all.clone().count().div_ceil(MAX_PACKETS).max(1);
    let answered = all.step_by(every).copied().filter(|ns| ns.is_finite());
    Functional::Quantile(0.5).value(&mut answered.collect::<Vec<_>>())
}

impl<'a> Gathered<'a> {
    /// Of all records of a run, in which these processes ran. Its experiment, where that is known, says which of
    /// its simulated hosts are two.
    pub(super) fn new(run: &'a Run, trains: &'a Trains, resolved: Option<&'a Resolved>) -> Self {
        let rows = routers::others(run);
        let alike = alike(&rows);
        let bounds = late_thresholds(run, &rows, &alike);
        let sources = rows.iter().flat_map(|row| &row.facts.noise_sources);
        let sources = each_once(sources.cloned());
        let trials = rows.iter().map(|row| (row.trial, row.facts.trace_hash));
        let trials: BTreeSet<u32> = originals(trials).into_values().collect();
        let mut distinct = Distinct::new();
        let counts = rows.iter();
        let counts = counts
            .map(|row| distinct.is_first(row.facts.trace_hash, row.probe))
            .collect();
        let streams = rows.iter().zip(&bounds);
        let streams = streams.map(|(&row, &bound)| GatheredStream::new(row, bound));
        let streams = streams.collect();
        let sees_queues = run.tables().contains(&"hops");
        let simulated = run.world() == Some("sim");
        let planned = resolved.filter(|_| simulated).into_iter();
        let planned = planned.flat_map(|resolved| &resolved.planned);
        let apart =
            planned.filter(|planned| planned.trial.path.topology != Some(Topology::SwitchLoopback));
        let mut gathering = Gathering {
            run,
            resolved,
            trains,
            index: (rows.iter().zip(0..))
                .map(|(row, at)| ((row.trial, row.probe), at))
                .collect(),
            usual: vec![excursion::Usual::default(); alike.len()],
            alike,
            counts,
            sees_queues,
            kernel_queues: KernelQueues::new(run, resolved),
            apart: apart.map(|planned| planned.trial.id).collect(),
            open: None,
            read: Vec::new(),
            under_way: BTreeMap::new(),
            gathered: Gathered {
                streams,
                trials: trials.len(),
                sources,
                ran: ran(run.trials()),
                simulated,
                imported: run.is_imported(),
                with_requests: with_requests(run),
                ..Gathered::default()
            },
        };
        run.scan(None, |_, record| gathering.push(record));
        gathering.end_trial();
        gathering.finish()
    }
}

/// CPU time of processes in all trials. The probes of a trial tell the same.
fn ran(rows: &[TrialRow]) -> Vec<CpuUse> {
    let mut by_name = BTreeMap::<String, CpuUse>::new();
    for row in rows.iter().filter(|row| row.probe == 0) {
        for ran in &row.facts.ran {
            let who = family(&ran.who);
            let all = by_name.entry(who.clone()).or_insert_with(|| CpuUse {
                who,
                pid: ran.pid,
                ran: 0,
                waited: 0,
                measures: false,
            });
            all.ran += ran.ran;
            all.waited += ran.waited;
            all.measures |= ran.measures;
        }
    }
    let mut all: Vec<CpuUse> = by_name.into_values().collect();
    all.sort_by_key(|ran| std::cmp::Reverse(ran.ran));
    all
}

struct Gathering<'a> {
    run: &'a Run,
    resolved: Option<&'a Resolved>,
    trains: &'a Trains,
    index: BTreeMap<(u32, u16), usize>,
    /// For each stream the first one of its combination of levels and its probe.
    alike: Vec<usize>,
    /// What the packets of all repeats take that were not late, by the first of them.
    usual: Vec<excursion::Usual>,
    /// Is it the first of those streams that are the same simulation? Of the others only effects and conditions are
    /// read.
    counts: Vec<bool>,
    /// May there be something to read of queues?
    sees_queues: bool,
    kernel_queues: KernelQueues,
    /// Simulated trials whose reflector is another host, though one clock serves both.
    apart: BTreeSet<u32>,
    open: Option<Open>,
    /// Trials that were read and have late packets.
    read: Vec<Read>,
    /// By cause, since when and for how long late packets of the trial that is explained were under way.
    under_way: BTreeMap<LateCause, Vec<(Nanos, Nanos)>>,
    gathered: Gathered<'a>,
}

/// The trial that is read.
#[derive(Debug, Default)]
struct Open {
    /// Numbers of packets that were answered and not late, by stream, where queues are seen into.
    usual: BTreeMap<usize, Vec<u64>>,
    ways: BTreeMap<usize, ways::StreamDelays>,
    /// Requests and handshakes of the trial.
    meanwhile: MeanwhileBuilder,
    read: Read,
}

/// What is kept of a trial until all are read.
#[derive(Debug, Default)]
struct Read {
    trial: u32,
    excursions: BTreeMap<usize, Excursions>,
    /// What held late packets in queues longest, there and back, by stream and sequence number.
    held: BTreeMap<(usize, u64), Vec<Held>>,
    /// Late packets during which the clock was set, by stream.
    clock: BTreeSet<(usize, u64)>,
    /// Late packets with segments that TCP sent again, by stream.
    sent_again: BTreeSet<(usize, u64)>,
    /// Late packets that later ones overtook, by stream.
    overtaken: BTreeSet<(usize, u64)>,
    /// The bounds of the server's time of each late request, by stream and sequence number.
    servers: BTreeMap<(usize, u64), Bounds>,
    /// What else was asked while packets were late.
    meanwhile: Meanwhile,
}

impl Read {
    /// What a late packet of this stream says of itself.
    fn note_late(&mut self, at: usize, record: &Record) {
        let packet = (at, record.seq);
        if matches!(record.clock_event, ClockEvent::Step | ClockEvent::Suspend) {
            self.clock.insert(packet);
        }
        if record.retransmits > Some(0) {
            self.sent_again.insert(packet);
        }
        if record.reorder_extent > 0 {
            self.overtaken.insert(packet);
        }
        if let Some(bounds) = record.server() {
            self.servers.insert(packet, bounds);
        }
    }

    /// A better cause of a late packet of this stream than `what`, where a connection had to be made for it, or where its own stamps do
    /// not tell network from server and what else crossed meanwhile does; else `what`.
    fn refine_by_concurrent_requests(
        &self,
        at: usize,
        late: &Excursion,
        what: LateCause,
    ) -> (LateCause, Option<Attributed>) {
        let may_be_set_up = matches!(what, LateCause::Network { .. } | LateCause::Unclear { .. });
        if may_be_set_up && is_set_up(late, |stages| self.meanwhile.set_up(stages)) {
            let busy = self.meanwhile.waits(at, late.due);
            return (LateCause::NewConnection { busy }, None);
        }
        let attributed = match what {
            LateCause::Unclear { .. } => self.meanwhile.tells(late),
            _ => None,
        };
        let what = match attributed.map(|attributed| attributed.place) {
            None => what,
            Some(Place::Server) => LateCause::Server,
            Some(_) => LateCause::Network {
                stages: StageSet::BOTH_WAYS,
            },
        };
        (what, attributed)
    }
}

impl Open {
    fn new(trial: u32) -> Self {
        let mut open = Self::default();
        open.read.trial = trial;
        open
    }
}

impl<'a> Gathering<'a> {
    fn push(&mut self, record: &Record) {
        let Some(&at) = self.index.get(&(record.trial, record.probe)) else {
            return;
        };
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.read.trial != record.trial)
        {
            self.end_trial();
        }
        let stream = &mut self.gathered.streams[at];
        stream.push(record, !self.trains.is_empty());
        let open = self.open.get_or_insert_with(|| Open::new(record.trial));
        open.meanwhile.push(at, record);
        let (facts, bound) = (stream.row.facts.records, stream.bound);
        let excursions = open.read.excursions.entry(at);
        let excursions = excursions.or_insert_with(|| Excursions::new(facts, bound));
        let late = excursions.push(record);
        if late {
            open.read.note_late(at, record);
        }
        let is_answered = response(record).is_some();
        if is_answered && !late {
            stream.usual.count(record);
            self.kernel_queues.push(record);
            if self.sees_queues {
                open.usual.entry(at).or_default().push(record.seq);
            }
        }
        if !self.counts[at] {
            return;
        }
        self.gathered.count(record);
        if is_answered {
            let ways = open.ways.entry(at);
            ways.or_insert_with(|| ways::StreamDelays::new(facts))
                .push(record);
        }
    }

    fn end_trial(&mut self) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        for (&at, stream) in &open.ways {
            let row = self.gathered.streams[at].row;
            self.gathered.ways.add(row, stream);
        }
        open.usual
            .values_mut()
            .for_each(|seqs| seqs.sort_unstable());
        open.read.held = self.held(&open);
        let trial = open.read.trial;
        let met = |probe, queue: &KernelQueue, met| {
            if let Some(&at) = self.index.get(&(trial, probe)) {
                self.gathered.streams[at].usual.met_estimate(queue, met);
            }
        };
        self.kernel_queues.end_trial(self.run, trial, met);
        for (&at, excursions) in &open.read.excursions {
            let usual = excursions.usual();
            self.usual[self.alike[at]].merge(usual);
            let (parts, packets) = (usual.parts(), usual.count() as f64);
            let stream = &mut self.gathered.streams[at];
            stream.usual.anatomy.add(&parts, packets);
            if self.counts[at] {
                self.gathered.stages.usual(stream.row, &parts, packets);
            }
        }
        let mut read = open.read;
        let late = read.excursions.values().flat_map(Excursions::spans);
        read.meanwhile = open.meanwhile.finish(late.collect());
        read.excursions
            .retain(|_, excursions| !excursions.is_empty());
        self.read
            .extend(Some(read).filter(|read| !read.excursions.is_empty()));
    }

    /// All trials are read.
    fn finish(mut self) -> Gathered<'a> {
        for trial in std::mem::take(&mut self.read) {
            self.explain(&trial);
        }
        self.gathered
    }

    /// Why packets of this trial were late.
    fn explain(&mut self, trial: &Read) {
        let noise = self.run.noise(Some(trial.trial));
        let join = Join::new(&noise);
        for (&at, excursions) in &trial.excursions {
            let row = self.gathered.streams[at].row;
            // Without packets during which the clock was set: that is no delay, and would be the largest one.
            let (mut excess, mut delays, mut excess_ns) = (Anatomies::default(), 0, 0.0);
            let late: Vec<Excursion> = excursions.beside(self.usual(at, excursions)).collect();
            let facts = self.blamed_by(row);
            let host = HostView::new(facts, &join, self.trains, late.iter().cloned());
            let host = host.over_tcp(row.method.is_stream());
            let losses = SentAgain::new(at, &late, &trial.sent_again);
            for late in &late {
                let held = trial.held.get(&(at, late.seq));
                let held = held.and_then(|held| Held::longest(held, late));
                let is_delay = !trial.clock.contains(&(at, late.seq));
                let (what, event) = if !is_delay {
                    (LateCause::Clock, None)
                } else if losses.explain(late) {
                    (LateCause::SentAgain, None)
                } else {
                    whose(late, &host, held)
                };
                let what = match trial.servers.get(&(at, late.seq)) {
                    Some(&server) => by_bounds(what, late, server),
                    None => what,
                };
                let (what, attributed) = trial.refine_by_concurrent_requests(at, late, what);
                self.add(trial, at, late, (what, event, attributed));
                if !is_delay {
                    continue;
                }
                let parts = late.parts.iter().map(|part| Part {
                    stages: part.stages,
                    ns: part.ns,
                });
                excess.add(&parts.collect::<Vec<_>>(), 1.0);
                (delays, excess_ns) = (delays + 1, excess_ns + late.excess);
            }
            if self.counts[at] {
                self.gathered.stages.late(row, &excess, delays, excess_ns);
            }
        }
        let under_way = std::mem::take(&mut self.under_way);
        self.gathered.events += Events::among(under_way.values().flatten().copied().collect());
        let of_trial = self.gathered.streams.iter();
        let of_trial = of_trial.filter(|stream| stream.row.trial == trial.trial);
        let first = of_trial.filter_map(|stream| stream.due.first()).min();
        let first = first.copied().unwrap_or_default();
        for (what, packets) in under_way {
            let tally = self.gathered.tallies.entry(what).or_default();
            tally.note_longest_stall(trial.trial, first, &packets);
            tally.events += Events::among(packets);
        }
    }

    /// What late packets of this stream are held against: the others of it; where these are the fewer, those of all repeats.
    fn usual<'u>(&'u self, at: usize, excursions: &'u Excursions) -> &'u excursion::Usual {
        let own = excursions.usual();
        match own.count() >= excursions.len() as u64 {
            true => own,
            false => &self.usual[self.alike[at]],
        }
    }

    /// Adds a late packet to what its cause comes to.
    fn add(
        &mut self,
        trial: &Read,
        at: usize,
        late: &Excursion,
        (what, event, attributed): (LateCause, Option<&NoiseEvent>, Option<Attributed>),
    ) {
        let activation = match (&what, event) {
            (LateCause::Ran { who, .. }, Some(event)) => self.trains.activation(who, event),
            _ => None,
        };
        let of_stream = &mut self.gathered.streams[at].excess_by_cause;
        let (packets, lost) = of_stream.entry(what.clone()).or_default();
        (*packets, *lost) = (*packets + 1, *lost + late.excess);
        if !self.counts[at] {
            return;
        }
        let of_cause = self.under_way.entry(what.clone()).or_default();
        of_cause.push((late.due, late.response));
        let stream = &self.gathered.streams[at];
        let tally = self.gathered.tallies.entry(what).or_default();
        tally.add(trial.trial, at, stream.row.probe, late);
        tally.over_tcp += u64::from(stream.row.method.is_stream());
        tally.sent_again += u64::from(trial.sent_again.contains(&(at, late.seq)));
        tally.overtaken += u64::from(trial.overtaken.contains(&(at, late.seq)));
        if let Some(attributed) = attributed {
            tally.attributed += 1;
            tally.concurrent = (
                tally.concurrent.0 + attributed.late,
                tally.concurrent.1 + attributed.of,
            );
        }
        if let Some(event) = event {
            tally.stopped += u64::from(event.kind == NoiseKind::Stopped);
            let ran = activation.map_or(event.length, |activation| activation.ran);
            tally.lengths.push(event.length as f64);
            tally.activations.push(ran as f64);
            tally.cpus.extend(event.cpu);
            tally.pids.extend(event.pid);
        }
    }

    /// How records of this stream are read where a cause is looked for. One clock serves all simulated hosts; what
    /// ran on the prober's says nothing of a reflector on another one.
    fn blamed_by(&self, row: &TrialRow) -> RecordFacts {
        let facts = row.facts.records;
        match facts.reflector_clock {
            ReflectorClock::Same if self.apart.contains(&row.trial) => RecordFacts {
                reflector_clock: ReflectorClock::Bounded { error_ns: 0 },
                ..facts
            },
            _ => facts,
        }
    }

    /// What held late packets of a trial in a queue longest, there and back, by stream and number, beyond what the others of the
    /// stream wait there: classes wait differently in one queue. What those met is added up meanwhile.
    fn held(&mut self, open: &Open) -> BTreeMap<(usize, u64), Vec<Held>> {
        if !self.sees_queues {
            return BTreeMap::new();
        }
        let late: BTreeSet<(usize, u64)> = (open.read.excursions.iter())
            .flat_map(|(&at, excursions)| excursions.seqs().map(move |seq| (at, seq)))
            .collect();
        let paused = Paused::new(self.run, self.resolved, open.read.trial);
        let streams = &mut self.gathered.streams;
        let mut usual: BTreeMap<(usize, Arc<str>), Waits> = BTreeMap::new();
        let mut waits: Vec<((usize, u64), Held)> = Vec::new();
        self.run.for_each_hop(Some(open.read.trial), |hop| {
            let Some(&at) = self.index.get(&(hop.trial, hop.probe)) else {
                return;
            };
            let waited = hop.t_dequeue.saturating_sub(hop.t_enqueue) as f64;
            let held = paused.held(hop);
            if let Some((_, why)) = held {
                let known = &mut streams[at].paused;
                known.entry(hop.port.clone()).or_insert_with(|| why.clone());
            }
            let held = held.map_or(0.0, |(ns, _)| ns);
            if late.contains(&(at, hop.seq)) {
                let mut wait = |paused, ns| {
                    let held = Held {
                        port: hop.port.clone(),
                        direction: hop.direction,
                        paused,
                        ns,
                    };
                    waits.push(((at, hop.seq), held));
                };
                wait(false, waited - held);
                if held > 0.0 {
                    wait(true, held);
                }
            } else {
                let usual = usual.entry((at, hop.port.clone())).or_default();
                usual.packets += 1.0;
                usual.queued += waited - held;
                usual.paused += held;
                let met = open.usual.get(&at);
                if met.is_some_and(|seqs| seqs.binary_search(&hop.seq).is_ok()) {
                    streams[at].usual.met(hop, held);
                }
            }
        });
        let mut longest: BTreeMap<(usize, u64), Vec<Held>> = BTreeMap::new();
        for (whose, mut held) in waits {
            let usual = usual.get(&(whose.0, held.port.clone()));
            held.ns -= usual.map_or(0.0, |usual| match held.paused {
                true => usual.paused / usual.packets,
                false => usual.queued / usual.packets,
            });
            let of_packet = longest.entry(whose).or_default();
            let same_way = |known: &Held| known.direction == held.direction;
            match of_packet.iter().position(same_way) {
                Some(at) if of_packet[at].ns < held.ns => of_packet[at] = held,
                Some(_) => {}
                None => of_packet.push(held),
            }
        }
        longest
    }
}

/// What packets that were not late waited at a port: sums, ns.
#[derive(Debug, Default)]
struct Waits {
    packets: f64,
    queued: f64,
    /// While that was paused.
    paused: f64,
}
