//! What is slow in a run, and why packets of it were late: whose fault it was, worst first, and what that is known from.
//!
//! Every combination of levels is first held against the best one, the minimum delay of its path or another run ([`slow`]).
//! Packets that took far longer than the others of their stream ([`delaylab_stats::excursion`]) are put
//! down to a cause one by one ([`delaylab_stats::attribution`]): the stage that took longer than usual, and
//! within it who had the CPU instead, or which queue held the packet. Causes are then ranked by the time that they cost.
//!
//! | file | holds |
//! |---|---|
//! | `gather` | the records of a run, trial by trial, as tallies of causes |
//! | `acknowledged` | lost requests by TCP that had come to the far kernel |
//! | `anatomies` | sums of anatomies of packets |
//! | `combination` | combinations of levels: labels, and the rows and figures of each |
//! | `tally` | what late packets of one cause come to |
//! | `repaired` | losses that TCP repaired, and what waited for that |
//! | `totals` | counts that rows of trials have together |
//! | `late_bounds` | beyond which response a packet is late |
//! | `kernel_queues` | about how long packets waited in queues of the kernel |
//! | `met` | what packets met in the queues of their path, and which waited too long there |
//! | [`mod@line`] | what links and distance take, where the path is known |
//! | `instead` | what came instead of answers: errors, replies that were none, failures of requests |
//! | [`paused`] | ports of the path that were paused, and by what |
//! | [`roles`] | which processes are the run's own |
//! | `routers` | routers on the way to a target, which tools such as mtr ask, too |
//! | [`blackouts`] | combinations of levels that lost everything, and the likely reason |
//! | [`losses`] | which packets of the others were lost, where most, and the likely reason |
//! | `which_way` | in which direction packets were lost |
//! | `stretch` | where the losses of a stream lie close together |
//! | [`slow`] | what every packet of a combination of levels pays, against a better one |
//! | [`spent`] | where packets spend their time: stages, queues, links, distance |
//! | `occupied` | what had the CPU while packets that were not late waited for it |
//! | [`stages`] | how packets spend their time, and late ones more, by combination where these differ |
//! | [`rhythm`] | do causes come at regular intervals, and whose are they? |
//! | [`effects`] | what each factor that was varied does to the response |
//! | [`changes`] | when the response changed its level |
//! | [`ways`] | the way there and the way back, where the stamps tell them apart |
//! | [`unknown`] | what the run does not show, and what would |
//! | `words` | headlines, the answer, evidence and remedies as sentences |
//!
//! Two words have one meaning here. *Late* is a packet that took far longer than the others of its stream, an excursion; one that was
//! answered after its time-out, as [`Outcome::Late`](delaylab_model::record::Outcome::Late) has it, is *too late*. What late packets took
//! longer than usual is their *excess*; lost packets have none.

mod acknowledged;
mod anatomies;
pub mod blackouts;
pub mod changes;
mod combination;
pub mod effects;
mod gather;
mod instead;
mod kernel_queues;
mod late_bounds;
pub mod line;
pub mod losses;
mod met;
mod occupied;
pub mod paused;
mod repaired;
pub mod rhythm;
pub mod roles;
mod routers;
pub mod slow;
pub mod spent;
pub mod stages;
mod stretch;
mod tally;
#[cfg(test)]
mod testing;
mod totals;
pub mod unknown;
pub mod ways;
mod which_way;
mod words;

use crate::flawed::Flawed;
use blackouts::Blackout;
use changes::Changes;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::stored::trains;
use delaylab_model::Nanos;
use delaylab_model::noise::Process;
use delaylab_model::words::{capitalised, each_once, were};
use delaylab_stats::anatomy::{Place, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::congestion_marks::CongestionMarks;
use delaylab_stats::driven::Driven;
use delaylab_stats::summary::answers;
use delaylab_stats::trains::Trains;
use delaylab_store::run::Run;
use effects::Effect;
use gather::Gathered;
use losses::Losses;
use occupied::Processes;
use rhythm::{Rhythm, SendTimes};
use roles::{Role, Roles};
use slow::{Baseline, Slow};
use stages::StageTimes;
use std::cell::OnceCell;
use tally::Tally;
use unknown::Unknown;
use ways::OneWay;

/// Why packets of a run were late.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// Trials that are not what their experiment meant.
    pub flawed: Option<Flawed>,
    /// Combinations of levels of which no packet was answered.
    pub blackouts: Vec<Blackout>,
    /// What else was lost.
    pub losses: Option<Losses>,
    /// Answers that are not what was asked for, such as closed ports and errors of servers, packets that could not be sent, corrupt
    /// replies, and what the path did to packets other than delaying or losing them: a sentence each without its full stop.
    pub irregular: Vec<String>,
    /// What every packet of a condition pays, against a better one.
    pub slow: Slow,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// How many of those are known only from another tool's summary, without records.
    pub answered_in_summaries: u64,
    /// How many of the answered packets have no time.
    pub untimed: u64,
    /// How many of the answered packets were answered after their time-out.
    pub too_late: u64,
    /// How many of the packets that were sent are handshakes during requests to a server, and how many of these were answered.
    pub handshakes: (u64, u64),
    /// Trials.
    pub trials: usize,
    /// Further trials that are the same simulation as one of those: they are not counted.
    pub repeated: usize,
    /// Packets that took far longer than the others of their stream.
    pub late: u64,
    /// How many separate times packets were late: those that were under way together are one event.
    pub events: u64,
    /// What late packets took longer than usual, altogether, ns.
    pub excess_ns: f64,
    /// How packets of all conditions spent their time, and late ones more.
    pub all_stages: StageTimes,
    /// How packets of each condition with late ones spent their time, the worst first, where conditions differ; else of all as one.
    pub stages: Vec<StageTimes>,
    /// The way there and the way back of each probe: of each condition, the worst first, where conditions differ.
    pub ways: Vec<OneWay>,
    /// Why they were late: most excess delay first, and what the run itself asked for last.
    pub causes: Vec<Cause>,
    /// What was varied, and what it does.
    pub effects: Vec<Effect>,
    /// When the response changed its level.
    pub changes: Changes,
    /// What is not known, and what would show it.
    pub unknown: Vec<Unknown>,
    /// What said who had the CPU; empty where nothing did.
    pub sources: Vec<String>,
}

/// One cause of late packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Whose fault it is.
    pub what: LateCause,
    /// Packets that were late by it.
    pub packets: u64,
    /// How many separate times packets were late by it: those that were under way together are one event.
    pub events: u64,
    /// What its packets took longer than usual, altogether, ns.
    pub excess_ns: f64,
    /// The worst of them.
    pub worst: Worst,
    /// Stages in which they were late, the most frequent first.
    pub stages: Vec<(StageSet, u64)>,
    /// Packets for which the prober or the reflector was stopped, by a signal, a debugger or the freezer.
    pub stopped: u64,
    /// What part the process has in the measurement.
    pub role: Role,
    /// What is known of the process, of one that is named.
    pub process: Option<Process>,
    /// Other processes of its name delayed packets, too.
    pub shares_name: bool,
    /// How it follows the probe's packets, where it runs because of them.
    pub driven: Option<Driven>,
    /// At which intervals it comes, where it does.
    pub rhythm: Option<Rhythm>,
    /// What this is known from, a sentence each.
    pub evidence: Vec<String>,
    /// What to do about it.
    pub remedy: String,
}

/// The packet that a cause delayed most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Worst {
    /// What it took longer than usual, ns.
    pub excess_ns: f64,
    /// Its trial.
    pub trial: u32,
    /// Its probe.
    pub probe: u16,
    /// Its number.
    pub seq: u64,
    /// When it was due.
    pub due: Nanos,
}

impl Explanation {
    /// Causes that are no load of the run's own: the findings, most excess delay first.
    pub fn found(&self) -> impl Iterator<Item = &Cause> {
        let causes = self.causes.iter();
        causes.filter(|cause| !cause.role.is_run_load())
    }

    /// The run's own load, where it kept packets waiting for a CPU: it belongs to the condition, and is no finding.
    pub fn run_load_causes(&self) -> impl Iterator<Item = &Cause> {
        let causes = self.causes.iter();
        causes.filter(|cause| cause.role.is_run_load())
    }

    /// Share of the late packets that a cause made late, 0 to 1: of those that no own load made late, or of its own
    /// load, of all.
    pub fn share_of_late(&self, cause: &Cause) -> f64 {
        let all = match cause.role.is_run_load() {
            true => self.late,
            false => self.found().map(|cause| cause.packets).sum(),
        };
        cause.packets as f64 / all.max(1) as f64
    }

    /// Share of the excess delay that a cause took, 0 to 1: as [`Self::share_of_late`].
    pub fn share_of_excess(&self, cause: &Cause) -> f64 {
        let all = match cause.role.is_run_load() {
            true => self.excess_ns,
            false => self.found().map(|cause| cause.excess_ns).sum(),
        };
        if all > 0.0 {
            cause.excess_ns / all
        } else {
            0.0
        }
    }

    /// Share of the excess delay for which causes of one place are responsible, 0 to 1. The run's own load is none of them; what the
    /// clock did counts here, as it does not in the answer.
    pub fn share_of(&self, place: Place) -> f64 {
        let of_place = self.found().filter(|cause| cause.what.place() == place);
        of_place.map(|cause| self.share_of_excess(cause)).sum()
    }

    /// Did the reflector run on the host that measured in every cause in which it was late?
    pub(crate) fn answers_here(&self) -> bool {
        let causes = self.causes.iter();
        let mut late = causes.filter(|cause| cause.what.place() == Place::Reflector);
        late.all(|cause| cause.what == LateCause::Reflector { here: true })
    }

    /// Packets of which it is known when they were answered: any of them may have been late.
    pub const fn timed(&self) -> u64 {
        self.answered - self.answered_in_summaries - self.untimed
    }

    /// Is it known of any packet when it was answered?
    pub const fn has_times(&self) -> bool {
        self.timed() > 0
    }

    /// What is slow, in a sentence or two; empty where nothing was answered.
    pub fn slow_answer(&self) -> String {
        self.slow.answer()
    }

    /// When the response changed its level for good, where there is one combination of levels, which nothing else is to change; empty
    /// where it did not.
    pub fn changed_answer(&self) -> String {
        match self.slow.conditions.as_slice() {
            [only] => self.changes.answer(self.trials == 1, &only.probe),
            _ => String::new(),
        }
    }

    /// Whose fault the late packets are, in a sentence or two.
    pub fn late_answer(&self) -> String {
        words::answer(self)
    }

    /// What is wrong with trials, in a sentence; empty where all are valid.
    pub fn flawed_answer(&self) -> String {
        // What is the reason of a blackout is said there.
        let is_said = |why: &str| blackouts::is_reason(&self.blackouts, why);
        let flawed = self.flawed.as_ref();
        flawed.map_or_else(String::new, |flawed| {
            format!("{}.", flawed.without(is_said))
        })
    }

    /// What lost everything and why, a sentence each.
    pub fn lost_answer(&self) -> String {
        sentences(&blackouts::warnings(&self.blackouts))
    }

    /// Answers that are not what was asked for, copies, another order and other marks, a sentence each; empty where there were none.
    pub fn irregular_answer(&self) -> String {
        sentences(&self.irregular)
    }

    /// How many packets were lost, and where most of those that were not all lost; empty where none of these was.
    pub fn some_lost_answer(&self) -> String {
        let losses = self.losses.as_ref();
        losses.map_or_else(String::new, Losses::sentence)
    }

    /// What was lost, where some of it was lost in a row: figures are then of the time in which packets were answered. Without its
    /// full stop.
    pub fn outage_warning(&self) -> Option<String> {
        self.losses.as_ref()?.outage_warning()
    }

    /// What is said of delay and of what else was lost, in their order: where almost nothing was answered, delays are those of the few
    /// packets that are left.
    pub fn delay_and_loss<T>(&self, delay: T, loss: T) -> [T; 2] {
        match self.losses.as_ref().is_some_and(Losses::is_almost_all) {
            true => [loss, delay],
            false => [delay, loss],
        }
    }

    /// What is wrong with trials, what lost everything, what changed, what is slow, what else was lost, then what made packets late.
    pub fn answer(&self) -> String {
        let [first, second] = self.delay_and_loss(self.slow_answer(), self.some_lost_answer());
        let all = [
            self.flawed_answer(),
            self.lost_answer(),
            self.changed_answer(),
            first,
            second,
            self.irregular_answer(),
            self.late_answer(),
        ];
        let said: Vec<String> = all.into_iter().filter(|one| !one.is_empty()).collect();
        said.join(" ")
    }
}

/// Each with its capital and its full stop.
fn sentences(said: &[String]) -> String {
    let each: Vec<String> = said.iter().map(|said| capitalised(said) + ".").collect();
    each.join(" ")
}

/// Processes of one name.
#[derive(Debug, Default)]
struct Alike {
    /// Short-lived ones that this cause takes together; 0 for a process by itself.
    together: usize,
    /// Other causes of that name.
    others: usize,
    /// The share of the excess delay that they and this one took, 0 to 1, as [`Explanation::share_of_excess`].
    share: f64,
}

impl Alike {
    /// `excess_ns` is all that their share is of.
    fn new(what: &LateCause, gathered: &Gathered<'_>, trains: &Trains, excess_ns: f64) -> Self {
        let LateCause::Ran { who, .. } = what else {
            return Self::default();
        };
        let of_name = gathered.tallies.iter().filter(
            |(other, _)| matches!(other, LateCause::Ran { who: other, .. } if other.name == who.name),
        );
        Self {
            together: trains.together(who),
            others: of_name.clone().count() - 1,
            share: of_name.map(|(_, tally)| tally.excess_ns).sum::<f64>() / excess_ns,
        }
    }
}

/// What is known of a cause but for its packets.
#[derive(Debug)]
struct CauseContext<'a> {
    process: Option<&'a Process>,
    role: Role,
    /// The run's own load that goes through the queue in which packets were late, in every combination in which they were; else empty.
    load: String,
    /// Packets were late in a queue that something other than their own probe may fill.
    others_may_fill: bool,
    /// Packets were late in a queue that a shaper empties.
    is_shaped: bool,
    alike: &'a Alike,
    driven: Option<&'a Driven>,
    rhythm: Option<&'a Rhythm>,
    /// Where packets were dropped, in a few words; empty where that is not known.
    drops: &'a str,
}

/// The ECN bits with which packets were sent, each once; none where they are not known.
fn ecn(resolved: Option<&Resolved>) -> Vec<u8> {
    let planned = resolved.into_iter().flat_map(|it| &it.planned);
    let probes = planned.flat_map(|planned| &planned.trial.probes);
    let probes = probes.filter(|probe| CongestionMarks::are_of(probe.method));
    each_once(probes.map(|probe| probe.ecn))
}

/// `80 of 200 answers were not what was asked for: 60 × closed (RST), 20 × 404`.
fn bad_answers(gathered: &Gathered<'_>) -> Option<String> {
    let answers = gathered.answers.listed();
    let bad = answers.iter().filter(|(answer, _)| !answer.is_good());
    let (bad, all): (u64, u64) = (
        bad.map(|(_, count)| count).sum(),
        answers.iter().map(|(_, count)| count).sum(),
    );
    let were = were(bad);
    let each = answers::bad(&answers).join(", ");
    (bad > 0).then(|| format!("{bad} of {all} answers {were} not what was asked for: {each}"))
}

/// What is slow in a run: for another one to be held against.
pub fn baseline(run: &Run, resolved: Option<&Resolved>) -> Slow {
    let trains = trains(run);
    let gathered = Gathered::new(run, &trains, resolved);
    slow::find(&gathered, resolved, Baseline::Best)
}

/// What is slow in this run against a baseline, and why packets of it were late. `resolved` is its experiment, where
/// that is known. The same run gives the same explanation. What could not be read of the run is missing from it: ask
/// [`Run::damage`] afterwards.
pub fn explain(run: &Run, resolved: Option<&Resolved>, baseline: Baseline<'_>) -> Explanation {
    let levels = resolved.map_or(&[][..], |resolved| &resolved.factors);
    let roles = Roles::new(run.trials(), resolved);
    let trains = trains(run);
    let mut gathered = Gathered::new(run, &trains, resolved);
    let ways = std::mem::take(&mut gathered.ways).finish(resolved);
    let sending = SendTimes::new(&gathered.streams);
    let summaries = gathered.in_summaries();
    let mut slow = slow::find(&gathered, resolved, baseline);
    let processes = Processes {
        trains: &trains,
        roles: &roles,
        sending: &sending,
    };
    occupied::find(run, &gathered, processes, &mut slow);
    let drops = losses::drops(run.trials().iter());
    let causes = CauseFinder::new(&gathered, processes, &slow, &drops).causes();
    let streams = losses::Streams::new(&gathered.streams);
    Explanation {
        flawed: Flawed::of_run(run),
        blackouts: blackouts::find(run, resolved),
        losses: losses::find(
            run,
            resolved,
            |row| streams.outage(row),
            |row| streams.stretch(row),
            |rows| streams.acknowledged(rows),
        ),
        irregular: irregular(run, resolved, &gathered),
        slow,
        sent: gathered.sent + summaries.sent,
        answered: gathered.answered + summaries.answered(),
        answered_in_summaries: summaries.answered(),
        untimed: gathered.untimed,
        too_late: gathered.too_late,
        handshakes: gathered.handshakes,
        trials: gathered.trials,
        repeated: run.trial_count() - gathered.trials,
        late: gathered.tallies.values().map(|tally| tally.packets).sum(),
        events: gathered.events,
        excess_ns: gathered.tallies.values().map(|tally| tally.excess_ns).sum(),
        all_stages: gathered.stages.all(),
        stages: gathered.stages.apart(),
        ways,
        causes,
        effects: effects::find(&gathered.primary_streams(), levels),
        changes: changes::find(run, &gathered.streams),
        unknown: unknown::find(run, &gathered),
        sources: gathered.sources.clone(),
    }
}

/// What answers and packets did that is neither loss nor delay: a sentence each, without its full stop.
fn irregular(run: &Run, resolved: Option<&Resolved>, gathered: &Gathered<'_>) -> Vec<String> {
    routers::sentence(run)
        .into_iter()
        .chain(bad_answers(gathered))
        .chain(blackouts::failed(run, resolved))
        .chain(gathered.irregular.sentences(&ecn(resolved)))
        .collect()
}

/// Why packets were late, by what was gathered of them.
struct CauseFinder<'a> {
    gathered: &'a Gathered<'a>,
    processes: Processes<'a>,
    slow: &'a Slow,
    /// Where packets were dropped, in a few words.
    drops: &'a str,
    /// What late packets took longer than usual, ns: all of them, and those that were late by what the run did not ask for.
    excess_ns: f64,
    unasked_excess_ns: f64,
    /// The rhythms of processes, once one is asked for.
    rhythms: OnceCell<Vec<(&'a str, f64)>>,
}

impl<'a> CauseFinder<'a> {
    fn new(
        gathered: &'a Gathered<'a>,
        processes: Processes<'a>,
        slow: &'a Slow,
        drops: &'a str,
    ) -> Self {
        let lost = |of: &dyn Fn(&LateCause) -> bool| {
            let tallies = gathered.tallies.iter().filter(|(what, _)| of(what));
            tallies.map(|(_, tally)| tally.excess_ns).sum::<f64>()
        };
        Self {
            excess_ns: lost(&|_| true),
            unasked_excess_ns: lost(&|what| !process(what, processes).1.is_run_load()),
            gathered,
            processes,
            slow,
            drops,
            rhythms: OnceCell::new(),
        }
    }

    /// What the run asked for comes last; of the others, what took most comes first.
    fn causes(&self) -> Vec<Cause> {
        let tallies = self.gathered.tallies.iter();
        let mut causes: Vec<Cause> = tallies
            .map(|(what, tally)| self.cause(what, tally))
            .collect();
        causes.sort_by(|a, b| {
            let is_run_load = |cause: &Cause| cause.role.is_run_load();
            (is_run_load(a).cmp(&is_run_load(b))).then(b.excess_ns.total_cmp(&a.excess_ns))
        });
        causes
    }

    fn cause(&self, what: &LateCause, tally: &Tally) -> Cause {
        let (gathered, trains) = (self.gathered, self.processes.trains);
        let who = what.process();
        let driven = who.and_then(|who| self.processes.sending.drives(who, trains));
        let rhythm = match driven {
            Some(_) => None,
            None => rhythm::find(what, tally, &gathered.streams, trains, &self.rhythms),
        };
        let (process, role) = process(what, self.processes);
        let excess_ns = match role.is_run_load() {
            true => self.excess_ns,
            false => self.unasked_excess_ns,
        };
        let alike = Alike::new(what, gathered, trains, excess_ns);
        let seen = CauseContext {
            process,
            role,
            load: self.slow.load_through(what),
            others_may_fill: self.slow.others_may_fill(what),
            is_shaped: self.slow.is_shaped(what),
            alike: &alike,
            driven: driven.as_ref(),
            rhythm: rhythm.as_ref(),
            drops: self.drops,
        };
        Cause {
            what: what.clone(),
            packets: tally.packets,
            events: tally.events,
            excess_ns: tally.excess_ns,
            worst: tally.worst,
            stages: tally.stages(),
            stopped: tally.stopped,
            evidence: words::evidence(what, tally, &seen, gathered),
            remedy: words::remedy(what, &seen, tally, gathered),
            role,
            process: process.cloned(),
            shares_name: alike.others > 0,
            driven,
            rhythm,
        }
    }
}

/// The process by which packets were late, where one is known, and its part in the measurement.
fn process<'a>(what: &LateCause, processes: Processes<'a>) -> (Option<&'a Process>, Role) {
    what.process().map_or_else(Default::default, |who| {
        let process = processes.trains.process(who);
        (process, processes.roles.role(&who.name, process))
    })
}
