//! What the tests share: rows of every shape, a run written from them, a run read back.

use delaylab_model::hop::{Direction, Hop};
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::noise::{ClockReads, CpuUse, NoiseEvent, NoiseKind, Process};
use delaylab_model::plan::{Level, Unit};
use delaylab_model::probe::HostCondition;
use delaylab_model::record::{ClockEvent, Outcome, Record};
use delaylab_model::rows::Rows;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::transfer::Transfer;
use delaylab_model::trial::{
    Delivery, LossDirection, LostInHost, Negotiated, ProbeFacts, RecordFacts, ReflectorClock,
    Residence, StampPoint, SwitchLateness,
};
use delaylab_model::unanswered::{ErrorReply, Outage, Unanswered};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{Finished, NewRun, RunWriter, TrialWriter};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The experiment of every run here.
pub const EXPERIMENT: &str = "name = \"sample\"\nseed = 7\n";

/// 2026-11-21T13:45:00Z.
pub fn started() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_268_700)
}

/// A new run.
pub fn create(runs: &Path) -> RunWriter {
    create_in(runs, &json!({ "kernel": "6.1" }))
}

/// The same in this environment.
pub fn create_in(runs: &Path, environment: &Value) -> RunWriter {
    let new = NewRun {
        name: "sample",
        world: "live",
        started: Some(started()),
        experiment: EXPERIMENT,
        environment,
    };
    RunWriter::create(runs, &new).unwrap()
}

/// What the findings of every run here are.
pub fn findings() -> Value {
    json!([{ "id": "000.1", "verdict": "holds" }])
}

/// A packet; which columns it has depends on its number.
pub fn record(trial: u32, probe: u16, seq: u64) -> Record {
    let due = 1_000_000_000 * i64::from(trial + 1) + 1_000_000 * seq as i64;
    let stamp = |after: i64, each: u64| (!seq.is_multiple_of(each)).then_some(due + after);
    let odd = seq % 5 == 4;
    Record {
        dscp: 46,
        ip_size: (!seq.is_multiple_of(3)).then_some(84),
        t_send: Some(due + 10),
        t_sched: stamp(20, 2),
        t_tx: stamp(30, 3),
        t_tx_hw: stamp(-35, 7),
        r_rx: stamp(40, 4),
        r_user: stamp(50, 5),
        r_tx: stamp(60, 6),
        t_rx: stamp(70, 3),
        t_rx_hw: stamp(75, 7),
        t_recv: (!odd).then_some(due + 80 + seq as i64),
        cpu: Some(1),
        r_dscp: Some(34),
        reply_dscp: Some(46),
        reply_ecn: Some(3),
        reply_ttl: Some(255),
        reflector_seq: Some(u32::MAX),
        copies: (seq % 2) as u16,
        reorder_extent: (seq % 4) as u32,
        retransmits: odd.then_some(2),
        outcome: Outcome::ALL[(seq % 7) as usize],
        refused_by: refused_by(seq),
        errno: odd.then_some(-101),
        clock_event: ClockEvent::ALL[(seq % 4) as usize],
        ..Record::due(trial, probe, seq, Method::ALL[(seq % 4) as usize], due)
    }
}

fn refused_by(seq: u64) -> Option<std::net::IpAddr> {
    match seq % 6 {
        2 => Some([10, 0, 0, 1].into()),
        3 => Some([0xfd00, 0, 0, 0, 0, 0, 0, 1].into()),
        _ => None,
    }
}

/// The packets of a trial with two probes, in the order of their numbers.
pub fn records(trial: u32, count: u64) -> Vec<Record> {
    let of = |probe| (0..count).map(move |seq| record(trial, probe, seq));
    of(0).chain(of(1)).collect()
}

/// The same as they come: probes take turns, and some come late.
pub fn as_they_come(trial: u32, count: u64) -> Vec<Record> {
    let mut records = records(trial, count);
    records.sort_by_key(|r| (r.seq + if r.seq % 10 == 3 { 25 } else { 0 }, r.probe));
    records
}

/// Events of every kind.
pub fn noise(trial: u32) -> Vec<NoiseEvent> {
    let event = |(at, kind): (i64, NoiseKind)| NoiseEvent {
        trial,
        start: 1_000_000_000 * i64::from(trial + 1) + 1_000 * at,
        length: 500 + at,
        cpu: (at != 2).then_some(1),
        kind,
        who: (at != 0).then(|| format!("kworker/{at}")),
        pid: (at == 1).then_some(4711),
        preempted: (at == 1).then_some(true),
    };
    (0..).zip(NoiseKind::ALL).map(event).collect()
}

/// Two bins, one of them of a clock that went backwards.
pub fn clock_reads(trial: u32) -> Vec<ClockReads> {
    [(-10, 0, 1), (20, 30, 1_000_000)]
        .map(|(from_ns, to_ns, count)| ClockReads {
            trial,
            from_ns,
            to_ns,
            count,
        })
        .to_vec()
}

/// Two queues there and one back, of two packets of each probe. Trial 2 did not see into its path.
pub fn hops(trial: u32) -> Vec<Hop> {
    let ways = [
        (Direction::Forward, 0),
        (Direction::Forward, 1),
        (Direction::Return, 0),
    ];
    let hop = |(probe, seq, (direction, hop)): (u16, u64, (Direction, u16))| Hop {
        trial,
        probe,
        seq,
        direction,
        hop,
        port: format!("s{hop}→s{}", hop + 1).into(),
        t_enqueue: 1_000 * seq as i64,
        t_dequeue: 1_000 * seq as i64 + i64::from(hop) * 10,
        backlog: 3 * seq,
    };
    let packets = (0..2).flat_map(|probe| (0..2).map(move |seq| (probe, seq)));
    let all = packets.flat_map(|(probe, seq)| ways.map(|way| hop((probe, seq, way))));
    all.filter(|_| trial != 2).collect()
}

/// Two series of three stretches each. Trial 2 has none.
pub fn series(trial: u32) -> Vec<SeriesPoint> {
    let names = [
        ("acr", "echo", Unit::CellsPerSecond),
        ("backlog", "s1→s2", Unit::Cells),
        ("backlog", "s2→s1", Unit::Cells),
    ];
    let point = |((series, of, unit), t): ((&str, &str, Unit), i64)| SeriesPoint {
        trial,
        series: series.into(),
        of: of.into(),
        unit,
        t: 1_000_000 * t,
        length: 1_000_000,
        min: t as f64,
        mean: t as f64 + 0.25,
        max: t as f64 + 1.5,
    };
    let all = (names.into_iter()).flat_map(|name| (0..3).map(move |t| point((name, t))));
    all.filter(|_| trial != 2).collect()
}

/// Two transfers of two streams each, the last of which did not end. Trial 2 has none.
pub fn transfers(trial: u32) -> Vec<Transfer> {
    let transfer = |(stream, number): (u64, u64)| Transfer {
        trial,
        of: format!("senders {stream}").into(),
        number,
        bytes: 65_536,
        start: 1_000_000 * (stream + 2 * number).cast_signed(),
        end: ((stream, number) != (2, 1)).then_some(7_000_000 + number.cast_signed()),
    };
    let all = [1, 2].into_iter().flat_map(|of| [(of, 0), (of, 1)]);
    all.map(transfer).filter(|_| trial != 2).collect()
}

/// For how long two series had two values each. Trial 2 has none.
pub fn series_values(trial: u32) -> Vec<SeriesValue> {
    let value = |(of, value): (&str, i64)| SeriesValue {
        trial,
        series: "backlog".into(),
        of: of.into(),
        unit: Unit::Cells,
        value: value as f64 + 0.5,
        length: 1_000_000 * (3 - value),
    };
    let all = ["s1→s2", "s2→s1"]
        .into_iter()
        .flat_map(|of| [(of, 1), (of, 2)]);
    all.map(value).filter(|_| trial != 2).collect()
}

/// A probe of a trial.
pub fn row(trial: u32, probe: u16) -> TrialRow {
    TrialRow {
        trial,
        probe,
        probe_name: format!("echo-{probe}"),
        method: Method::Udp,
        repeat: trial / 2,
        position: 9 - trial,
        started_utc: Some(1_795_268_700_000_000_000 + i64::from(trial)),
        duration: 2_000_000_000,
        host: HostCondition::Quiet,
        seed: u64::MAX - u64::from(trial),
        valid: trial != 1,
        warmup: 10,
        facts: facts(trial),
        factors: factors(trial),
        figures: figures(trial),
    }
}

fn facts(trial: u32) -> ProbeFacts {
    ProbeFacts {
        records: RecordFacts {
            reflector_clock: ReflectorClock::Bounded { error_ns: 1200 },
            residence: Residence::ToDriver,
        },
        stamps: vec![
            (StampPoint::TTx, Delivery::Delivered),
            (StampPoint::TRxHw, Delivery::Unsupported),
        ],
        realtime_offset: 1_795_268_000_000_000_123,
        negotiated: vec![Negotiated {
            http: Some("2".to_owned()),
            ..Negotiated::default()
        }],

        resolved: vec![vec![
            "192.0.2.7".parse().unwrap(),
            "2001:db8::7".parse().unwrap(),
        ]],
        loss: (trial == 0).then_some(LossDirection {
            forward: 1,
            back: 2,
            unknown: 3,
            answered_later: 9,
            in_host: LostInHost {
                reflector_buffer: 6,
                reflector_limit: 7,
                own_buffer: 8,
            },
        }),
        unanswered: Some(Unanswered {
            outage: (trial == 0).then_some(Outage {
                packets: 12,
                from: 5_000_000,
                to: Some(65_000_000),
                other: 2,
            }),
            refusals: vec![(
                ErrorReply {
                    reason: Some(IcmpReason::NoRoute),
                    code: Some((3, 0)),
                    by: Some("192.0.2.1".parse().unwrap()),
                    path_mtu: None,
                },
                7,
            )],
        }),
        path_mtu: Some(1500 + trial),
        strays: 4,
        rejected: 5,
        noise_sources: vec!["sentinel".into(), "scheduler".into()],
        unwatched: Vec::new(),
        ran: vec![CpuUse {
            who: "cron".to_owned(),
            pid: 77,
            ran: 5_000_000,
            waited: 12,
            measures: false,
        }],
        processes: vec![Process {
            thread: 78,
            pid: 77,
            started: 1_230_000_000,
            command: "cron -f".to_owned(),
            unit: Some("cron.service".to_owned()),
        }],
        warnings: match trial {
            0 => Vec::new(),
            _ => vec!["one, \"quoted\"".into(), "two".into()],
        },
        flaws: match trial {
            1 => vec!["cells were lost".into()],
            _ => Vec::new(),
        },
        lost_load: (trial == 1).then_some(12),
        switch_lateness: (trial == 1).then_some(SwitchLateness {
            frames: 4,
            p50_ns: 5_000,
            p99_ns: 60_000,
            max_ns: Some(3_000_000),
        }),
        trace_hash: (trial == 1).then_some(0xfeed),
        simulated: None,
    }
}

fn factors(trial: u32) -> Vec<(String, Level)> {
    let size = Level {
        label: format!("{trial} B"),
        value: Some(f64::from(trial)),
        unit: Some(Unit::Bytes),
    };
    let pair = |name: &str, level| (name.to_owned(), level);
    match trial {
        2 => vec![pair("size", size)],
        _ => vec![pair("size", size), pair("case", Level::named("FIFO"))],
    }
}

/// Every row has every figure of the run once it is read back.
fn figures(trial: u32) -> Vec<(String, Option<f64>)> {
    let mean = (trial != 1).then_some(1.5 + f64::from(trial));
    vec![
        ("response_mean_ns".to_owned(), mean),
        ("sent".to_owned(), Some(1.0)),
    ]
}

/// Records a trial but does not end it.
pub fn begin(run: &RunWriter, trial: u32, count: u64) -> TrialWriter {
    let mut writer = run.begin_trial(trial).unwrap();
    for chunk in as_they_come(trial, count).chunks(64) {
        writer.records(chunk).unwrap();
    }
    writer.rows(Rows::Noise(&noise(trial))).unwrap();
    writer.rows(Rows::ClockReads(&clock_reads(trial))).unwrap();
    add_series_and_hops(&mut writer, trial);
    writer
}

/// As they come: the series take turns, and the last packets' hops are first.
pub fn add_series_and_hops(writer: &mut TrialWriter, trial: u32) {
    let mut points = series(trial);
    points.sort_by_key(|point| point.t);
    writer.rows(Rows::Series(&points)).unwrap();
    writer
        .rows(Rows::SeriesValues(&series_values(trial)))
        .unwrap();
    writer.rows(Rows::Transfers(&transfers(trial))).unwrap();
    let mut hops = hops(trial);
    hops.reverse();
    writer.rows(Rows::Hops(&hops)).unwrap();
}

/// What the noise of every run here is: some for some records.
pub fn noise_of(record: &Record) -> (Option<i64>, Option<&'static str>) {
    match record.seq % 3 {
        0 => (None, None),
        1 => (Some(0), None),
        _ => (Some(record.seq as i64), Some("kworker/1")),
    }
}

/// Records a trial from its beginning to its end.
pub fn write_trial(run: &RunWriter, trial: u32, count: u64) {
    let rows = [row(trial, 0), row(trial, 1)];
    begin(run, trial, count).finish(&rows, &noise_of).unwrap();
}

/// A whole run.
pub fn write_run(runs: &Path, trials: &[u32], count: u64) -> Finished {
    let run = create(runs);
    for &trial in trials {
        write_trial(&run, trial, count);
    }
    run.finish(&findings()).unwrap()
}

/// A run of trials 0 and 2 with 20 packets each, begun by a version that wrote each table of a trial to a file of its own.
pub fn begun_by_an_older_version(runs: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/older-parts");
    let folder = runs.join("older-20261129T074301Z.partial");
    for within in ["", "parts"] {
        fs::create_dir(folder.join(within)).unwrap();
        for entry in fs::read_dir(from.join(within)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), folder.join(within).join(entry.file_name())).unwrap();
            }
        }
    }
    folder
}

/// Every record of a trial, or of all.
pub fn read(run: &Run, trial: Option<u32>) -> Vec<Record> {
    let mut records = Vec::new();
    run.for_each_record(trial, |record| records.push(*record));
    records
}

/// Ends a test that cannot run here. Where everything must run, it fails.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "cannot run here: {why}");
    println!("skipped: {why}");
}
