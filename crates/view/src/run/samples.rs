//! Runs made by hand, for the tests of figures, page and tables.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::run::parts::{Part, PartContent};
use crate::run::{
    Decided, Disturbance, Evidence, FindingShown, Head, NoiseTotal, RunData, RunDataBuilder,
    RunStream, SeriesShown, Verdict,
};
use delaylab_explain::causes::changes::{Change, Changes, Scope, Visible};
use delaylab_explain::causes::effects::{Effect, NoInterval, Shift};
use delaylab_explain::causes::roles::Role;
use delaylab_explain::causes::slow::Slow;
use delaylab_explain::causes::stages::StageTimes;
use delaylab_explain::causes::unknown::Unknown;
use delaylab_explain::causes::ways::{Clocks, OneWay};
use delaylab_explain::causes::{Cause, Explanation, Worst};
use delaylab_explain::steps::{Gatherer, Member, Sweep};
use delaylab_lab::finding::{Row, Tabulated};
use delaylab_model::experiment::{Draw, FigureSection};
use delaylab_model::hop::Direction;
use delaylab_model::method::Method;
use delaylab_model::noise::{ClockReads, NoiseKind};
use delaylab_model::plan::{Factor, Level, Unit};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::comparison::Bounds;
use delaylab_stats::random::SplitMix;
use delaylab_stats::trains::Owner;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Every run, by name.
pub fn runs() -> [(&'static str, RunData); 5] {
    [
        ("waits", waits()),
        ("sizes", sizes()),
        ("queues", queues()),
        ("classes", classes()),
        ("bare", bare()),
    ]
}

/// All that is said of a run, and the packets of its first panels alone: to draw them is what takes long.
pub fn with_few_points(mut run: RunData, panels: usize) -> RunData {
    run.panels.truncate(panels);
    run.trials
        .retain(|trial| trial.panel.is_some_and(|panel| panel < panels));
    run
}

/// A run is made once in a process, and only where it is shown.
macro_rules! made_once {
    ($($(#[$doc:meta])* $name:ident: $make:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> RunData {
            static RUN: LazyLock<RunData> = LazyLock::new($make);
            RUN.clone()
        }
    )*};
}

made_once! {
    /// Seed 002's design.
    waits: make_waits;
    /// Seed 000's design.
    sizes: make_sizes;
    /// Queues in a row.
    queues: make_queues;
    /// Seed 004's design.
    classes: make_classes;
    /// One trial of one probe.
    bare: make_bare;
}

/// Three waits under three conditions, each twice.
fn make_waits() -> RunData {
    let waits = [
        ("0ms", 0),
        ("1ms", MILLISECOND),
        ("100ms", 100 * MILLISECOND),
    ];
    let conditions = ["quiet", "normal", "stressed"];
    let mut cells = Vec::new();
    for repeat in 0..2 {
        for (label, wait) in waits {
            for condition in conditions {
                cells.push((duration("wait", label, wait), condition, repeat));
            }
        }
    }
    let streams = cells.iter().zip(0..);
    let streams = streams.map(|((wait, condition, repeat), trial)| {
        let condition = ("condition".to_owned(), Level::named(*condition));
        stream(trial, *repeat, vec![wait.clone(), condition])
    });
    let mut maker = Maker::new(streams.collect());
    for (trial, (wait, condition, _)) in cells.iter().enumerate() {
        let wait = wait.1.value.unwrap() as Nanos;
        let slow = if wait > 0 { 18 * MICROSECOND } else { 0 };
        maker.trial(
            trial as u32,
            400,
            60 * MICROSECOND + slow,
            wait.min(MILLISECOND),
            condition,
        );
    }
    let mut run = maker.builder.finish(RunData {
        head: head("wait-time-jitter", "Does waiting between packets raise the jitter?"),
        environment: environment(),
        skipped: vec![(
            "place = WAN".to_owned(),
            "the live world has no remote target: pass --target".to_owned(),
        )],
        findings: findings(),
        noise: noise(),
        clock_reads: clock_reads(),
        explanation: Some(explanation()),
        problems: vec![
            "Trial 3: the CPU's clock frequency changes while it measures: figures under 10 µs move with it.".to_owned(),
        ],
        ..RunData::default()
    });
    run.parts = parts(&run);
    run.head.about = "Round trips of a 9182-byte packet, sent again 0, 1 or 100 ms after each reply, while the measuring host is quiet, as it is, or under load.".to_owned();
    run
}

/// One that is drawn, a table, and one that the run has not.
fn parts(run: &RunData) -> Vec<Part> {
    let asked = |id: &str, draw, title: &str| FigureSection {
        id: id.to_owned(),
        title: title.to_owned(),
        draw,
        levels: None,
        against: None,
        statistics: Vec::new(),
        series: None,
        rows: None,
        columns: None,
        values: Vec::new(),
        printed: BTreeMap::new(),
        measured: None,
        shows: Some("a narrow peak, and the late ones at the right.".to_owned()),
    };
    let first = RunData {
        panels: run.panels[..1].to_vec(),
        trials: run
            .trials
            .iter()
            .filter(|trial| trial.panel == Some(0))
            .cloned()
            .collect(),
        ..RunData::default()
    };
    let row = |level: &str, cells: [&str; 2]| Row {
        level: level.to_owned(),
        cells: cells.map(|cell| Ok(cell.to_owned())).into(),
    };
    let mut rows = vec![
        row("0ms", ["22.1 µs", "310 ns"]),
        row("1ms", ["23.0 µs", "405 ns"]),
    ];
    rows[1].cells[1] = Err("none of these packets was answered".to_owned());
    let heads = ["sd(response)", "iqr(response)"];
    let table = Tabulated {
        heads: heads
            .map(|value| ("quiet".to_owned(), value.to_owned()))
            .into(),
        rows,
    };
    vec![
        Part {
            asked: asked("wan", Draw::Distribution, "Jitter distribution <1>"),
            shown: Ok(PartContent::Run(Box::new(first))),
        },
        Part {
            asked: FigureSection {
                rows: Some("wait".to_owned()),
                printed: [("0ms".to_owned(), vec!["20 µs".to_owned()])].into(),
                ..asked("jitter", Draw::Table, "Jitter by wait")
            },
            shown: Ok(PartContent::Table(table)),
        },
        Part {
            asked: asked("lan", Draw::Distribution, "Jitter distribution, LAN"),
            shown: Err("this run has no factor `place`".to_owned()),
        },
    ]
}

/// Something of everything that is said of why packets were late.
fn explanation() -> Explanation {
    let cause = |what, packets: u32, excess_ns, evidence: &str, remedy: &str| Cause {
        what,
        packets: u64::from(packets),
        events: u64::from(packets.div_ceil(3)),
        excess_ns,
        worst: Worst {
            excess_ns: 2.0 * excess_ns / f64::from(packets),
            ..Worst::default()
        },
        role: Role::Other,
        process: None,
        shares_name: false,
        stopped: 0,
        driven: None,
        stages: vec![(StageSet::only(Stage::ReceiveWakeup), u64::from(packets))],
        rhythm: None,
        evidence: vec![evidence.to_owned()],
        remedy: remedy.to_owned(),
    };
    let cron = LateCause::Ran {
        who: Owner::named("cron"),
        kind: NoiseKind::Scheduled,
    };
    let queue = LateCause::Queue {
        port: "s1→h2".into(),
    };
    let prober = LateCause::Prober {
        stages: StageSet::only(Stage::ScheduleSlip),
    };
    Explanation {
        blackouts: Vec::new(),
        slow: Slow::default(),
        sent: 7_200,
        answered: 7_192,
        trials: 18,
        late: 97,
        events: 34,
        excess_ns: 190e6,
        causes: vec![
            cause(
                cron,
                60,
                120e6,
                "it runs every 100.0 ms",
                "Keep cron off this CPU.",
            ),
            cause(
                queue,
                25,
                50e6,
                "the queue held them",
                "Shape below the bottleneck.",
            ),
            cause(
                LateCause::Reflector { here: false },
                10,
                15e6,
                "stamps of the reflector",
                "Look there.",
            ),
            cause(
                prober,
                2,
                5e6,
                "nobody was seen",
                "Measure in quiet condition.",
            ),
        ],
        effects: vec![Effect {
            factor: "wait".to_owned(),
            from: Level::named("0ms"),
            to: Level::named("100ms"),
            shifts: vec![
                Shift {
                    quantile: 0.5,
                    difference_ns: Some(18_200.0),
                    interval: Ok(Bounds {
                        low: 17_900.0,
                        high: 18_500.0,
                        repeats_differ: false,
                        degrees: 1000,
                        from_packets: 1.0,
                        packets: None,
                    }),
                },
                Shift {
                    quantile: 0.99,
                    difference_ns: Some(-4_100.0),
                    interval: Err(NoInterval {
                        reason: "12 packets are too few".to_owned(),
                        in_short: "12 packets".to_owned(),
                    }),
                },
            ],
        }],
        changes: Changes {
            found: vec![Change {
                scope: Scope::Between { trial: 9 },
                before: 1.0,
                after: 1.25,
                relative: Some((0.2, 0.3)),
                stages: Some(Stage::ForwardPath.into()),
            }],
            visible: Some(Visible {
                share: 0.0713,
                packets: 50,
            }),
        },
        unknown: vec![Unknown {
            what: "who ran on the reflector's host".to_owned(),
            why: "this host cannot see it".to_owned(),
            remedy: "run `delaylab doctor` there".to_owned(),
        }],
        sources: vec!["scheduler".to_owned()],
        stages: vec![StageTimes {
            late: 97,
            excess_ns: 190e6,
            ..StageTimes::default()
        }],
        ways: vec![OneWay {
            probe: "echo".to_owned(),
            factors: None,
            direction: Direction::Forward,
            packets: 7_192,
            above: [12_000.0, 40_000.0, 210_000.0, 1_900_000.0].map(Some),
            clocks: Clocks::Skewed(12.34, (12.0, 12.7)),
        }],
        ..Explanation::default()
    }
}

/// Many sizes under two conditions, each twice.
fn make_sizes() -> RunData {
    let mut streams = Vec::new();
    for repeat in 0..2 {
        for size in (40..9_200).step_by(610) {
            for condition in ["quiet", "stressed"] {
                let level = Level {
                    label: format!("{size}B"),
                    value: Some(f64::from(size)),
                    unit: Some(Unit::Bytes),
                };
                let condition = ("condition".to_owned(), Level::named(condition));
                let factors = vec![("size".to_owned(), level), condition];
                streams.push(stream(streams.len() as u32, repeat, factors));
            }
        }
    }
    let mut maker = Maker::new(streams.clone());
    for stream in &streams {
        let size = stream.factors[0].1.value.unwrap() as Nanos;
        let base = 50 * MICROSECOND + size * 4;
        maker.trial(
            stream.trial,
            10,
            base,
            MILLISECOND,
            &stream.factors[1].1.label,
        );
    }
    maker.builder.finish(RunData {
        head: head(
            "packet-size-latency",
            "How does delay depend on packet size?",
        ),
        environment: environment(),
        sweeps: sweeps(),
        findings: findings().split_off(2),
        ..RunData::default()
    })
}

/// Cells under one condition, a line under the other.
fn sweeps() -> Vec<Sweep> {
    let conditions = ["quiet", "stressed"];
    let streams = (40_u32..=280)
        .step_by(6)
        .flat_map(|size| conditions.map(|name| (size, name)));
    let streams: Vec<_> = streams.zip(0..).collect();
    let member = |&((_, condition), trial): &((u32, &str), u32)| Member {
        trial,
        probe: 0,
        name: "echo".to_owned(),
        factors: vec![("condition".to_owned(), Level::named(condition))],
        facts: RecordFacts::default(),
        trace_hash: None,
    };
    let mut gatherer = Gatherer::new(streams.iter().map(member));
    for &((size, condition), trial) in &streams {
        let delay = match condition {
            "quiet" => 424_000 * Nanos::from((size + 10).div_ceil(48)),
            _ => 9_000 * Nanos::from(size),
        };
        let mut record = Record::due(trial, 0, 0, Method::Icmp, SECOND);
        record.ip_size = Some(size);
        record.t_send = Some(SECOND);
        record.outcome = Outcome::Ok;
        // A little noise that is the same each time.
        let noise = SplitMix::new(size.into()).below(13) as Nanos * MICROSECOND;
        record.t_recv = record.t_send.map(|sent| sent + MILLISECOND + delay + noise);
        gatherer.push(&record);
    }
    gatherer.finish(1)
}

const QUEUES: [&str; 2] = ["FIFO", "EFCI"];

/// Two switches beside a load, with what went on in them (source 003).
fn make_queues() -> RunData {
    let streams = QUEUES.iter().zip(0..);
    let streams = streams.map(|(case, trial)| {
        let case = ("case".to_owned(), Level::named(*case));
        stream(trial, 0, vec![case])
    });
    let order = [("case".to_owned(), QUEUES.map(Level::named).to_vec())];
    let mut maker = Maker::new(Vec::new());
    maker.builder = RunDataBuilder::new(streams.collect(), &order, 1_000);
    maker.trial(0, 100, 8 * MILLISECOND, MILLISECOND, "quiet");
    maker.trial(1, 100, 2 * MILLISECOND, MILLISECOND, "quiet");
    let mut head = head("atm-response-time", "Response time beside bulk transfers");
    head.world = "sim".to_owned();
    maker.builder.finish(RunData {
        head,
        levels: order.to_vec(),
        series: [(0, 2_000.0, None), (1, 500.0, Some(500.0))]
            .map(|(trial, mean, threshold)| backlog(trial, mean, threshold))
            .into_iter()
            .chain([acr()])
            .collect(),
        ..RunData::default()
    })
}

fn backlog(trial: u32, mean: f64, threshold: Option<f64>) -> SeriesShown {
    let stretches = (0..100).map(|k| {
        let swing = f64::from(k % 10) / 10.0;
        point(k, Unit::Cells, mean * (0.5 + swing))
    });
    SeriesShown {
        series: "backlog".to_owned(),
        of: "s1→s2".to_owned(),
        is_exception: false,
        unit: Unit::Cells,
        factors: vec![("case".to_owned(), Level::named(QUEUES[trial as usize]))],
        mean: 0.95 * mean,
        max: 2.0 * mean,
        threshold,
        limit: None,
        trial,
        stretches: stretches.collect(),
        held: Vec::new(),
    }
}

fn acr() -> SeriesShown {
    SeriesShown {
        series: "rate".to_owned(),
        of: "echo".to_owned(),
        unit: Unit::CellsPerSecond,
        mean: 23_585.0,
        max: 23_585.0,
        stretches: (0..100)
            .map(|k| point(k, Unit::CellsPerSecond, 23_585.0))
            .collect(),
        ..backlog(1, 0.0, None)
    }
}

fn point(k: i32, unit: Unit, mean: f64) -> SeriesPoint {
    SeriesPoint {
        trial: 0,
        series: "".into(),
        of: "".into(),
        unit,
        t: Nanos::from(k) * 10 * MILLISECOND,
        length: 10 * MILLISECOND,
        min: 0.8 * mean,
        mean,
        max: 1.25 * mean,
    }
}

/// Three probes at once beside five loads, each twice: too many combinations for panels of their own. What
/// BE waits for is longer than what EF does, and now and then a packet of it is lost.
fn make_classes() -> RunData {
    let cases = ["idle", "1 + 1", "2 + 2", "20 + 20", "CBR"];
    let probes = [("ef", 8), ("be", 40), ("ss", 6)];
    let trials = (0..2).flat_map(|repeat| cases.map(|case| (repeat, case)));
    let trials: Vec<_> = (0..).zip(trials).collect();
    let streams = trials.iter().flat_map(|&(trial, (repeat, case))| {
        let case = ("case".to_owned(), Level::named(case));
        (0..).zip(probes).map(move |(probe, (name, _))| RunStream {
            probe,
            name: name.to_owned(),
            ..stream(trial, repeat, vec![case.clone()])
        })
    });
    let order = [("case".to_owned(), cases.map(Level::named).to_vec())];
    let mut maker = Maker::new(Vec::new());
    maker.builder = RunDataBuilder::new(streams.collect(), &order, 1_000);
    for (trial, (_, case)) in &trials {
        let load = cases.iter().position(|known| known == case).unwrap() as Nanos;
        for seq in 0..120 {
            for (probe, (name, queue)) in (0..).zip(probes) {
                let wait = maker.random(1 + load * queue * MICROSECOND);
                let mut record = maker.answered(*trial, seq, MILLISECOND + wait, 20 * MICROSECOND);
                record.probe = probe;
                if name == "be" && load > 2 && seq % 50 == 7 {
                    record.t_recv = None;
                    record.outcome = Outcome::Lost;
                }
                maker.builder.push(&record, Disturbance::default());
            }
            maker.now += 20 * MILLISECOND;
        }
        maker.builder.end_trial(*trial);
    }
    let mut head = head("class-jitter", "Jitter by traffic class");
    head.world = "testbed".to_owned();
    maker.builder.finish(RunData {
        head,
        levels: order.to_vec(),
        ..RunData::default()
    })
}

/// No kernel stamps, nobody watched for noise, a tenth unanswered.
fn make_bare() -> RunData {
    let mut only = stream(0, 0, Vec::new());
    only.facts = RecordFacts::default();
    let mut builder = RunDataBuilder::new(vec![only], &[], 1_000);
    for seq in 0..60 {
        let t = 1_000 * SECOND + seq as Nanos * 10 * MILLISECOND;
        let mut record = Record::due(0, 0, seq, Method::Icmp, t);
        record.t_send = Some(t + 2_000);
        if seq % 10 != 3 {
            record.t_recv = Some(t + 40_000 + (seq * 37 % 11) as Nanos * 1_000);
            record.outcome = Outcome::Ok;
        }
        builder.push(&record, Disturbance::default());
    }
    builder.finish(RunData {
        head: head("first-try", "One probe of one target"),
        ..RunData::default()
    })
}

/// Makes records of a plausible host: every stamp, and, unless it is quiet, others on its CPU.
struct Maker {
    builder: RunDataBuilder,
    now: Nanos,
    random: u64,
}

impl Maker {
    fn new(streams: Vec<RunStream>) -> Self {
        Self {
            builder: RunDataBuilder::new(streams, &[], 100_000),
            now: 1_000 * SECOND,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Uniform below `range`, by xorshift64* (Vigna 2016).
    fn random(&mut self, range: Nanos) -> Nanos {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let bits = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1;
        bits as Nanos % range.max(1)
    }

    /// A sum of uniform values: a bell of about this width.
    fn bell(&mut self, width: Nanos) -> Nanos {
        (0..4).map(|_| self.random(width / 4)).sum()
    }

    fn trial(&mut self, trial: u32, packets: u64, base: Nanos, wait: Nanos, condition: &str) {
        let (width, disturbed) = match condition {
            "quiet" => (8 * MICROSECOND, 0),
            "normal" => (16 * MICROSECOND, 6),
            _ => (30 * MICROSECOND, 40),
        };
        for seq in 0..packets {
            let late = if self.random(1_000) < disturbed {
                300 * MICROSECOND + self.random(4 * MILLISECOND)
            } else {
                0
            };
            let wake_up = base / 2 + self.bell(width) + late;
            let mut record = self.answered(trial, seq, base, wake_up);
            if condition == "stressed" && self.random(300) == 0 {
                record.t_recv = None;
                record.outcome = Outcome::Lost;
            }
            let planted = late > 0 && late % 5 != 0;
            let who = planted.then_some(if late % 3 == 0 { "kworker/0:1" } else { "cron" });
            let ns = Some(if planted { late - late / 20 } else { 0 });
            self.builder.push(&record, Disturbance { ns, who });
            self.now = record.t_intended + base + width + late + wait;
        }
        self.builder.end_trial(trial);
        self.now += 50 * MILLISECOND;
    }

    fn answered(&mut self, trial: u32, seq: u64, base: Nanos, wake_up: Nanos) -> Record {
        let mut record = Record::due(trial, 0, seq, Method::Udp, self.now);
        let t_send = record.t_intended + 900 + self.random(400);
        let t_sched = t_send + base / 10;
        let t_tx = t_sched + 700;
        let r_rx = t_tx + base / 8 + self.random(900);
        let r_tx = r_rx + base / 9;
        let t_rx = r_tx + base / 8 + self.random(900);
        record.t_send = Some(t_send);
        record.t_sched = Some(t_sched);
        record.t_tx = Some(t_tx);
        record.r_rx = Some(r_rx);
        record.r_user = Some(r_rx + base / 12);
        record.r_tx = Some(r_tx);
        record.t_rx = Some(t_rx);
        record.t_recv = Some(t_rx + wake_up);
        record.cpu = Some(0);
        record.outcome = Outcome::Ok;
        record
    }
}

fn stream(trial: u32, repeat: u32, factors: Vec<Factor>) -> RunStream {
    RunStream {
        trial,
        probe: 0,
        name: "echo".to_owned(),
        frames: false,
        factors,
        steps: Vec::new(),
        to_utc: None,
        repeat,
        facts: RecordFacts {
            reflector_clock: ReflectorClock::Same,
            residence: Residence::ToDriver,
        },
        trace_hash: None,
    }
}

fn duration(name: &str, label: &str, ns: Nanos) -> Factor {
    let level = Level {
        label: label.to_owned(),
        value: Some(ns as f64),
        unit: Some(Unit::Nanoseconds),
    };
    (name.to_owned(), level)
}

fn head(name: &str, title: &str) -> Head {
    Head {
        host: "2 × AMD EPYC, Linux 6.18.0".to_owned(),
        name: name.to_owned(),
        title: title.to_owned(),
        about: "What is measured, and why <it> matters & to whom.".to_owned(),
        world: "live".to_owned(),
        target: Some("192.0.2.9".to_owned()),
        seed: Some(7),
        started: "2026-01-02 03:04:05 UTC".to_owned(),
        folder: format!("runs/{name}-20260102T030405Z"),
        repeat: format!("delaylab run {name} --seed 7"),
    }
}

fn environment() -> Vec<(String, String)> {
    [
        ("kernel", "Linux 6.12.0"),
        ("CPU", "Example CPU, 2 cores"),
        ("clock source", "tsc"),
        (
            "stamps",
            "t_sched, t_tx, r_rx, r_user, r_tx, t_rx delivered",
        ),
        ("delaylab", "0.1.0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// A difference that is claimed to be above 0.
fn decided(value: f64, low: f64, high: f64) -> Option<Decided> {
    Some(Decided {
        value,
        low: Some(low),
        high: Some(high),
        above: Some(0.0),
        below: None,
        is_ratio: false,
    })
}

fn findings() -> Vec<FindingShown> {
    let ns = "ns";
    vec![
        FindingShown {
            id: "002.1".to_owned(),
            says: "Waiting 1 ms or more between packets raises the jitter".to_owned(),
            check: "for each condition: sd(response | wait=1ms) > sd(response | wait=0ms)"
                .to_owned(),
            printed: String::new(),
            verdict: Verdict::False,
            line: "quiet: sd(response | wait=1ms) > sd(response | wait=0ms): 2.31 µs against 2.30 µs, -412 ns \
                   (-530 ns to -290 ns)"
                .to_owned(),
            decided: decided(-412.0, -530.0, -290.0),
            reason: "The jitter is larger with a wait on a stressed host only.".to_owned(),
            evidence: vec![
                evidence(
                    "quiet",
                    "sd(response | wait=1ms)",
                    2_310.0,
                    Some((2_250.0, 2_380.0)),
                    ns,
                ),
                evidence(
                    "quiet",
                    "sd(response | wait=0ms)",
                    2_298.0,
                    Some((2_240.0, 2_350.0)),
                    ns,
                ),
                Evidence {
                    verdict: Some(Verdict::False),
                    count: 0,
                    ..evidence(
                        "quiet",
                        "the first − the second",
                        -412.0,
                        Some((-530.0, -290.0)),
                        ns,
                    )
                },
            ],
        },
        FindingShown {
            id: "002.2".to_owned(),
            says: "Nearly all round trips lie within 500 µs of the mean".to_owned(),
            check: "share(round_trip < 500us) > 0.98".to_owned(),
            printed: "nearly all MTUs within ±500 µs of the average, very few up to 20 ms later"
                .to_owned(),
            verdict: Verdict::True,
            line: "share(round_trip < 500us) > 0.98: 0.989, +0.009 (0.005 to 0.013)".to_owned(),
            decided: decided(0.009, 0.005, 0.013),
            reason: "0.989 of them do.".to_owned(),
            evidence: vec![evidence(
                "",
                "share(round_trip < 500us)",
                0.989,
                Some((0.985, 0.993)),
                "1",
            )],
        },
        FindingShown {
            id: "002.3".to_owned(),
            says: "On the LAN the delay is lower by the WAN's propagation".to_owned(),
            check: "p50(response | place=WAN) - p50(response | place=LAN) ≈ 5 ms within 5 %"
                .to_owned(),
            printed: String::new(),
            verdict: Verdict::Undecided,
            line: "this run has no factor `place`; `--world sim` has".to_owned(),
            decided: None,
            reason: "This run has no factor `place`: pass --target to measure a remote host."
                .to_owned(),
            evidence: vec![Evidence {
                value: None,
                count: 0,
                note: "This run has no factor `place`: it has wait and condition, and probe echo."
                    .to_owned(),
                ..evidence("", "p50(response | place=WAN)", 0.0, None, ns)
            }],
        },
    ]
}

fn evidence(level: &str, what: &str, value: f64, ends: Option<(f64, f64)>, unit: &str) -> Evidence {
    Evidence {
        what: what.to_owned(),
        level: level.to_owned(),
        value: Some(value),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        unit: unit.to_owned(),
        count: 800,
        ..Evidence::default()
    }
}

fn noise() -> Vec<NoiseTotal> {
    let total = |who: &str, kind, events, total, longest, packets| NoiseTotal {
        who: who.to_owned(),
        kind,
        events,
        total,
        longest,
        packets,
    };
    let ms = MILLISECOND;
    vec![
        total("cron", NoiseKind::Scheduled, 121, 310 * ms, 4_200_000, 97),
        total(
            "kworker/0:1",
            NoiseKind::Scheduled,
            58,
            92 * ms,
            3_900_000,
            41,
        ),
        total("timer", NoiseKind::Softirq, 40_113, 61 * ms, 31_000, 12),
    ]
}

/// Most reads are fast; a few are not, and one ran backwards.
fn clock_reads() -> Vec<ClockReads> {
    let counts = [
        (-1_000_000, 0, 1),
        (0, 10, 0),
        (10, 20, 0),
        (20, 50, 912_345),
        (50, 100, 4_210),
        (100, 1_000, 96),
        (1_000, 10_000, 31),
        (1_000_000, 2_000_000, 2),
    ];
    let bin = |(from_ns, to_ns, count)| ClockReads {
        trial: 0,
        from_ns,
        to_ns,
        count,
    };
    counts.map(bin).into()
}
