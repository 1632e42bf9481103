//! Writes one trial of ten million records as a live UDP probe on a fast network would, then reads and
//! summarises it, and prints what that took.
//!
//! `cargo run --release -p delaylab-store --example ten_million [RECORDS] [FOLDER]`
#![forbid(unsafe_code)]

use delaylab_model::noise::NoiseEvent;
use delaylab_model::probe::HostCondition;
use delaylab_model::record::{Method, Outcome, Record};
use delaylab_model::trial::{ProbeFacts, RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_stats::summary::SummaryBuilder;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Up to so many answered packets, quantiles are exact: as in `ping`.
const EXACT_LIMIT: usize = 200_000;

/// How `r_*` are to be read: the reflector is on this host.
const FACTS: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .map_or(Ok(10_000_000), |word| word.parse())?;
    let runs = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);

    let folder = record(&runs, count)?;
    let bytes = std::fs::metadata(folder.join("records.parquet"))?.len();
    println!("{:.2} bytes a record", bytes as f64 / count as f64);
    summarise(&folder)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn record(runs: &Path, count: u64) -> Result<PathBuf, Box<dyn Error>> {
    let run = RunWriter::create(
        runs,
        &NewRun {
            name: "ten-million",
            world: "live",
            started: SystemTime::now(),
            experiment: "name = \"ten-million\"\n",
            environment: &json!({}),
        },
    )?;
    let start = Instant::now();
    let mut trial = run.begin_trial(0)?;
    let mut packets = Packets::new();
    for seq in 0..count {
        trial.records(&[packets.next(seq)])?;
        if seq % 1024 == 0 {
            trial.sync_if_due(start.elapsed().as_nanos() as Nanos)?;
        }
    }
    said("recorded", start);

    let start = Instant::now();
    let none: Vec<NoiseEvent> = trial.noise_so_far()?;
    trial.finish(&[row()], &|_| (Some(none.len() as Nanos), None))?;
    said("trial finished", start);

    let start = Instant::now();
    let finished = run.finish(&json!([]))?;
    said("run finished", start);
    Ok(finished.folder)
}

fn summarise(folder: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let run = Run::open(folder)?;
    let mut records = 0_u64;
    run.for_each_record(None, |_| records += 1);
    said(&format!("{records} records read"), start);

    let start = Instant::now();
    let mut summary = SummaryBuilder::new(FACTS, EXACT_LIMIT);
    run.for_each_record(None, |record| summary.push(record));
    let summary = summary.finish();
    said("read and summarised", start);
    println!("median response {:?} ns", summary.response.map(|it| it.p50));
    println!("problems: {:?}", run.problems());
    Ok(())
}

fn said(what: &str, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let (cpu, memory) = (cpu_seconds(), peak_memory());
    println!("{what}: {seconds:.1} s; so far {cpu:.1} s of CPU, at most {memory} MiB");
}

/// What the process has used.
fn cpu_seconds() -> f64 {
    let used = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = used
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}

/// In MiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn row() -> TrialRow {
    TrialRow {
        trial: 0,
        probe: 0,
        probe_name: "echo".into(),
        method: Method::Udp,
        repeat: 0,
        position: 0,
        started_utc: Some(0),
        duration: 0,
        host: HostCondition::Normal,
        seed: 1,
        valid: true,
        warmup: 0,
        facts: ProbeFacts {
            records: FACTS,
            ..ProbeFacts::default()
        },
        factors: Vec::new(),
        figures: Vec::new(),
    }
}

/// A packet each 100 µs. Each step on its way takes its usual time, a little more at random, and now
/// and then much more.
struct Packets {
    random: u64,
}

impl Packets {
    fn new() -> Self {
        Self { random: 1 }
    }

    fn next(&mut self, seq: u64) -> Record {
        let t_intended = 4_000_000_000_000 + seq as Nanos * 100 * MICROSECOND;
        let mut record = Record::due(0, 0, seq, Method::Udp, t_intended);
        let mut at = t_intended;
        let mut pass = |usual, spread| {
            at += usual + self.more(spread);
            Some(at)
        };
        record.t_send = pass(2_000, 1_500);
        record.t_sched = pass(900, 120);
        record.t_tx = pass(250, 60);
        record.r_rx = pass(1_200, 150);
        record.r_user = pass(4_000, 900);
        record.r_tx = pass(1_500, 200);
        record.t_rx = pass(1_100, 150);
        record.t_recv = pass(4_500, 900);
        record.outcome = Outcome::Ok;
        record.dscp = 46;
        record.ip_size = Some(84);
        record.cpu = Some(1);
        record.r_dscp = Some(46);
        record.reply_dscp = Some(46);
        record.reply_ecn = Some(0);
        record.reply_ttl = Some(64);
        record.reflector_seq = Some(seq as u32);
        if self.uniform() < 0.001 {
            lose(&mut record);
        }
        record
    }

    /// Exponential with this mean; one in a thousand is 20 µs more.
    fn more(&mut self, mean: Nanos) -> Nanos {
        let usual = -(1.0 - self.uniform()).ln() * mean as f64;
        let rare = self.uniform() < 0.001;
        usual as Nanos + if rare { 20 * MICROSECOND } else { 0 }
    }

    /// From 0 to 1 (splitmix64).
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Never answered.
fn lose(record: &mut Record) {
    record.outcome = Outcome::Lost;
    record.r_rx = None;
    record.r_user = None;
    record.r_tx = None;
    record.t_rx = None;
    record.t_recv = None;
    record.r_dscp = None;
    record.reply_dscp = None;
    record.reply_ecn = None;
    record.reply_ttl = None;
    record.reflector_seq = None;
}
