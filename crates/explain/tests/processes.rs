//! Runs that are recorded as a live host records them: packets of one CPU, and what else ran there.

use crate::causes::{assert_period, experiment, explain_in};
use delaylab_explain::causes::{Cause, Explanation};
use delaylab_model::method::Method;
use delaylab_model::noise::{NoiseEvent, NoiseKind, Process};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::{ProbeFacts, RecordFacts, ReflectorClock, Residence, Trial};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::random::SplitMix;

const LASTS: Nanos = 10 * SECOND;
const SAME: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

/// The CPU of the prober.
const PROBER: u16 = 0;
/// That of the reflector.
const REFLECTOR: u16 = 1;

/// A host on which these events were seen, of any process; a packet that is due while the prober's is taken is sent once
/// that ends.
struct Host {
    events: Vec<NoiseEvent>,
    processes: Vec<Process>,
    watched: bool,
    /// Of packet so many, the reflector waits for 3 ms.
    slow_reflector: Option<u64>,
    /// From when to when the reflector does not run.
    reflector_waits: Vec<(Nanos, Nanos)>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            processes: Vec::new(),
            watched: true,
            slow_reflector: None,
            reflector_waits: Vec::new(),
        }
    }
}

/// When packets are due: a millisecond apart on average.
fn due() -> impl Iterator<Item = Nanos> {
    let mut random = SplitMix::new(11);
    let mut at = 0;
    std::iter::from_fn(move || {
        at += (-random.uniform().ln() * 1e6) as Nanos;
        (at < LASTS).then_some(at)
    })
}

/// 5 to 15 µs after they are due.
fn slip(due: Nanos) -> Nanos {
    due + 5_000 + due % 10_000
}

impl World for Host {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, _: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        sink.begin(0, &SAME).unwrap();
        self.events.sort_by_key(|event| event.start);
        let here = self.events.iter().filter(|event| event.cpu == Some(PROBER));
        let here: Vec<&NoiseEvent> = here.collect();
        for (seq, due) in (0..).zip(due()) {
            let begun = here.partition_point(|event| event.start <= slip(due));
            let running = here[..begun].last().map(|last| last.start + last.length);
            let mut record = Record::due(0, 0, seq, Method::Udp, due);
            let mut at = running.map_or(0, |end| end).max(slip(due));
            let mut next = |length: Nanos| {
                at += length * MICROSECOND;
                Some(at)
            };
            let waits = self.slow_reflector.is_some_and(|every| seq % every == 7);
            record.t_send = next(0);
            record.t_sched = next(2);
            record.t_tx = next(2);
            record.r_rx = next(5);
            record.r_user = next(if waits { 3_000 } else { 10 });
            let mut stalls = self.reflector_waits.iter();
            if let Some((_, until)) = stalls.find(|(from, until)| (*from..*until).contains(&at)) {
                at = until + seq as Nanos % 100 * MICROSECOND;
                record.r_user = Some(at);
            }
            let mut next = |length: Nanos| {
                at += length * MICROSECOND;
                Some(at)
            };
            record.r_tx = next(2);
            record.t_rx = next(5);
            record.t_recv = next(8);
            record.outcome = Outcome::Ok;
            record.cpu = Some(PROBER);
            sink.record(&record).unwrap();
        }
        for event in &self.events {
            sink.rows(event.into()).unwrap();
        }
        let sources = self.watched.then(|| "scheduler and interrupts".to_owned());
        Ok(TrialFacts::from(vec![ProbeFacts {
            records: SAME,
            noise_sources: sources.into_iter().collect(),
            processes: self.processes.clone(),
            ..ProbeFacts::default()
        }]))
    }
}

fn explain(mut host: Host) -> Explanation {
    explain_in(&mut host, &experiment(""), 1)
}

fn event(who: &str, pid: Option<u32>, start: Nanos, length: Nanos) -> NoiseEvent {
    NoiseEvent {
        trial: 0,
        start,
        length,
        cpu: Some(PROBER),
        kind: NoiseKind::Scheduled,
        who: Some(who.to_owned()),
        pid,
        preempted: Some(false),
    }
}

fn process(pid: u32, command: &str) -> Process {
    Process {
        thread: pid,
        pid,
        started: 1_000 * Nanos::from(pid),
        command: command.to_owned(),
        unit: Some("batch.service".to_owned()),
    }
}

fn of_process(found: &Explanation, pid: u32) -> &Cause {
    let is = |cause: &&Cause| matches!(&cause.what, LateCause::Ran { who, .. } if who.process == Some(pid));
    found
        .causes
        .iter()
        .find(is)
        .unwrap_or_else(|| panic!("{:#?}", found.causes))
}

/// One works 3 ms each 100 ms, the other of that name 15 ms at irregular times.
fn two_of_one_name() -> Vec<NoiseEvent> {
    let regular =
        (0..99).map(|n| event("python3", Some(100), n * 100 * MILLISECOND, 3 * MILLISECOND));
    let mut random = SplitMix::new(5);
    let mut at = 0;
    let irregular = (0..60).map(|_| {
        at += 16 * MILLISECOND + (-random.uniform().ln() * 130e6) as Nanos;
        event("python3", Some(200), at, 15 * MILLISECOND)
    });
    regular.chain(irregular).collect()
}

#[test]
fn two_processes_of_one_name_are_two_causes() {
    let found = explain(Host {
        events: two_of_one_name(),
        processes: vec![
            process(100, "python3 timer.py"),
            process(200, "python3 batch.py"),
        ],
        ..Host::default()
    });
    let (regular, irregular) = (of_process(&found, 100), of_process(&found, 200));
    assert_period(regular, 1e8);
    assert_eq!(irregular.rhythm, None);
    assert_eq!(
        irregular.headline(),
        "another process (python3, process 200) had the CPU"
    );
    assert!(
        found.answer().contains("python3, process 200"),
        "{}",
        found.answer()
    );
    let evidence = regular.evidence.join("\n");
    for words in [
        "`python3 timer.py`, of batch.service",
        "together with another process of this name",
    ] {
        assert!(evidence.contains(words), "{evidence}");
    }
}

/// What condition stressed asks for is in none of their shares.
#[test]
fn what_processes_of_one_name_share_leaves_the_run_s_own_load_out() {
    let mut events = two_of_one_name();
    let stress = (0..30).map(|n| {
        event(
            "dlab-timer",
            Some(300),
            (330 * n + 60) * MILLISECOND,
            9 * MILLISECOND,
        )
    });
    events.extend(stress);
    let mut host = Host {
        events,
        processes: vec![
            process(100, "python3 timer.py"),
            process(200, "python3 batch.py"),
        ],
        ..Host::default()
    };
    let found = explain_in(
        &mut host,
        &experiment("[host]\ncondition = \"stressed\"\n"),
        1,
    );
    assert!(found.run_load_causes().count() > 0, "{:#?}", found.causes);
    let evidence = of_process(&found, 100).evidence.join("\n");
    let shared = "together with another process of this name: 100 % of the excess delay";
    assert!(evidence.contains(shared), "{evidence}");
    let said = found.late_answer();
    assert!(
        said.contains(
            "that delaylab's stress load (dlab-timer) delayed, as condition stressed asks"
        ),
        "{said}"
    );
}

/// Two that compute all the time and leave every third turn to others: most packets wait for one of them, and none is late.
#[test]
fn processes_that_always_have_the_cpu_are_named_where_no_packet_is_late() {
    const TURN: Nanos = 4 * MILLISECOND;
    let turn = |at: Nanos, pid: u32| event("python3", Some(pid), at, TURN);
    let turns = (0..LASTS / TURN).filter(|n| n % 3 < 2);
    let found = explain(Host {
        events: turns.map(|n| turn(n * TURN, 100 + n as u32 % 3)).collect(),
        processes: vec![
            process(100, "python3 one.py"),
            process(101, "python3 other.py"),
        ],
        ..Host::default()
    });
    assert_eq!(found.late, 0, "{:#?}", found.causes);
    let said = found.slow_answer();
    let (_, named) = said.split_once(" Meanwhile ").unwrap_or_default();
    for words in [
        "something else had the CPU of the prober's host for 9",
        "python3 (process 100) for 4",
        "python3 (process 101) for 4",
    ] {
        assert!(named.contains(words), "no `{words}` in: {said}");
    }
    // On another CPU they keep no packet waiting.
    let elsewhere = |n: Nanos| NoiseEvent {
        cpu: Some(REFLECTOR),
        ..turn(n * TURN, 100)
    };
    let found = explain(Host {
        events: (0..LASTS / TURN).map(elsewhere).collect(),
        ..Host::default()
    });
    let said = found.slow_answer();
    assert!(!said.contains("Meanwhile"), "{said}");
    assert!(found.slow.conditions[0].had_cpu.is_empty(), "{found:#?}");
}

/// Records that were made before processes were: their numbers tell them apart.
#[test]
fn records_without_processes_still_tell_numbers_apart() {
    let mut events = two_of_one_name();
    events.iter_mut().for_each(|event| event.preempted = None);
    let found = explain(Host {
        events,
        ..Host::default()
    });
    assert_period(of_process(&found, 100), 1e8);
    assert_eq!(of_process(&found, 200).rhythm, None);
}

/// A process of normal priority, 20 ms each 101 ms, that the prober cuts into slices of up to 3 ms.
#[test]
fn a_process_of_normal_priority_has_its_own_period() {
    let due: Vec<Nanos> = due().collect();
    let mut events = Vec::new();
    for n in 0..98 {
        let (mut at, mut left) = (n * 101 * MILLISECOND, 20 * MILLISECOND);
        while left > 0 {
            let slice = 3 * MILLISECOND - at % (700 * MICROSECOND);
            let next = due[due
                .partition_point(|&due| due < at + slice / 2)
                .min(due.len() - 1)];
            let length = left.min((next - at).clamp(slice / 2, slice));
            left -= length;
            let mut piece = event("stress-ng", Some(300), at, length);
            piece.preempted = Some(left > 0);
            events.push(piece);
            at += length + 90 * MICROSECOND;
        }
    }
    let found = explain(Host {
        events,
        ..Host::default()
    });
    let hog = of_process(&found, 300);
    assert_period(hog, 1.01e8);
    assert_eq!(found.causes[0].what, hog.what);
    assert_eq!(hog.driven, None);
}

/// Each packet wakes it, 25 µs after it is sent, for 40 µs; every 50th time it takes 2 ms.
fn woken(who: &str, pid: Option<u32>, kind: NoiseKind) -> Explanation {
    let mut events: Vec<NoiseEvent> = Vec::new();
    for (n, due) in due().enumerate() {
        let start = slip(due) + 25 * MICROSECOND;
        let length = if n % 50 == 3 { 2_000 } else { 40 } * MICROSECOND;
        let mut next = event(who, pid, start, length);
        next.kind = kind;
        if events
            .last()
            .is_none_or(|last| last.start + last.length < start)
        {
            events.push(next);
        }
    }
    explain(Host {
        events,
        ..Host::default()
    })
}

#[test]
fn what_the_probe_wakes_is_named_so_and_has_no_period() {
    for (who, pid, kind) in [
        ("delaylab", Some(400), NoiseKind::Scheduled),
        ("NET_RX", None, NoiseKind::Softirq),
    ] {
        let found = woken(who, pid, kind);
        let ran = |cause: &&Cause| matches!(&cause.what, LateCause::Ran { .. });
        let cause = found.causes.iter().find(ran).unwrap();
        let driven = cause.driven.unwrap();
        assert!((driven.after_ns / 25e3 - 1.0).abs() < 0.2, "{driven:?}");
        assert_eq!(cause.rhythm, None);
        assert_eq!(
            cause.headline(),
            format!("{who} ran for the probe's own packets")
        );
        assert!(
            cause
                .evidence
                .join("\n")
                .contains("it runs because the probe does")
        );
        assert!(
            cause.remedy.contains("part of the measurement"),
            "{}",
            cause.remedy
        );
    }
}

#[test]
fn a_reflector_of_this_host_is_no_other_end() {
    for watched in [true, false] {
        let found = explain(Host {
            watched,
            slow_reflector: Some(100),
            ..Host::default()
        });
        let first = &found.causes[0];
        assert_eq!(first.what, LateCause::Reflector { here: true });
        assert!(
            first.remedy.contains("The other end is this host"),
            "{}",
            first.remedy
        );
        assert!(!first.remedy.contains("Look there"), "{}", first.remedy);
        assert!(
            found.answer().contains("the reflector on this host"),
            "{}",
            found.answer()
        );
    }
}

/// A process has the reflector's CPU while that does not run for 120 ms, five times.
fn beside_a_busy_process(is_stopped: bool) -> Explanation {
    let mut host = Host::default();
    for n in 0..5 {
        let (start, length) = ((2 * n + 1) * SECOND, 120 * MILLISECOND);
        host.reflector_waits.push((start, start + length));
        let mut busy = event(
            "busy",
            Some(60),
            start - 10 * MILLISECOND,
            length + 10 * MILLISECOND,
        );
        busy.cpu = Some(REFLECTOR);
        let mut stop = event("delaylab", Some(50), start, length);
        (stop.kind, stop.cpu, stop.preempted) = (NoiseKind::Stopped, Some(REFLECTOR), None);
        host.events.push(busy);
        host.events.extend(is_stopped.then_some(stop));
    }
    explain(host)
}

#[test]
fn a_stopped_reflector_is_not_the_fault_of_who_had_the_cpu() {
    let found = beside_a_busy_process(true);
    let first = &found.causes[0];
    assert_eq!(first.what, LateCause::Reflector { here: true });
    let said = found.answer();
    assert!(
        said.contains("100 % while the reflector was stopped"),
        "{said}"
    );
    let evidence = first.evidence.join("\n");
    assert!(
        evidence.contains("stopped by a signal, a debugger or the freezer, for 120 ms"),
        "{evidence}"
    );
    assert!(
        first.remedy.contains("what stopped the reflector"),
        "{}",
        first.remedy
    );
    // The same, but that it was ready.
    let found = beside_a_busy_process(false);
    assert_eq!(of_process(&found, 60).packets, found.late);
    let said = found.answer();
    assert!(
        said.contains("100 % while another process (busy) had its CPU"),
        "{said}"
    );
}
