//! What ten million records of a live run take: `ten_million record RUN FOLDER [RECORDS]` writes a run
//! into FOLDER, `ten_million summarise RUN` reads and summarises one, `ten_million tabulate RUN` reads one as Arrow tables
//! and keeps them, as libraries of data frames do. Each prints one line of JSON.
//! `make accept ONLY=records` calls it.
//!
//! What is written are RUN's own records, of its first trial and probe, with the noise that they met,
//! again and again: each time all stamps move on by the length of RUN, and numbers by its count. So
//! jitter, losses and the steps of the clock are those of a real host. That they repeat helps no
//! encoding, as long as RUN has more than the few ten thousand records of a page.
#![forbid(unsafe_code)]

use arrow_array::RecordBatch;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_stats::summary::SummaryBuilder;
use delaylab_store::run::{Noised, Run};
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Up to so many answered packets, quantiles are exact: as in `delaylab run`.
const EXACT_LIMIT: usize = 200_000;
/// A page has fewer rows.
const FEWEST: usize = 100_000;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let start = Instant::now();
    let mut figures = match words[..] {
        ["record", run, folder] => record(run.as_ref(), folder.as_ref(), 10_000_000)?,
        ["record", run, folder, count] => record(run.as_ref(), folder.as_ref(), count.parse()?)?,
        ["summarise", run] => summarise(run.as_ref())?,
        ["tabulate", run] => tabulate(run.as_ref())?,
        _ => {
            return Err(
                "ten_million record RUN FOLDER [RECORDS] | summarise RUN | tabulate RUN".into(),
            );
        }
    };
    figures["wall_s"] = json!(start.elapsed().as_secs_f64());
    figures["cpu_s"] = json!(cpu_seconds());
    figures["peak_kib"] = json!(peak_kib());
    println!("{figures}");
    Ok(())
}

/// The records that are repeated.
struct Sample {
    row: TrialRow,
    records: Vec<(Record, Noise)>,
    /// How far in time the next repetition is from this one.
    length: Nanos,
}

type Noise = (Option<Nanos>, Option<Arc<str>>);

impl Sample {
    fn read(run: &Path) -> Outcome<Self> {
        let run = Run::open(run)?;
        let row = run.trials().first().ok_or("the run has no trial")?.clone();
        let mut records = Vec::new();
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        run.for_each_noised(Some(row.trial), |noised: Noised<'_>| {
            if noised.record.probe == row.probe {
                let who = noised.noise_who.map(|who| shared(&mut names, who));
                records.push((*noised.record, (noised.noise_ns, who)));
            }
        });
        let ends = records.first().zip(records.last());
        let lasted = ends.map(|((first, _), (last, _))| last.t_intended - first.t_intended);
        match lasted.filter(|_| records.len() >= FEWEST) {
            Some(lasted) => Ok(Self {
                length: lasted + lasted / (records.len() - 1) as Nanos,
                row,
                records,
            }),
            None => Err(format!("the run's first probe has fewer than {FEWEST} records").into()),
        }
    }

    /// Packet so and so of the long run.
    fn record(&self, seq: u64) -> Record {
        let (round, record) = self.place(seq);
        let (record, _) = &self.records[record];
        let later = round as Nanos * self.length;
        let count = (round as usize * self.records.len()) as u32;
        let moved = |stamp: Option<Nanos>| stamp.map(|stamp| stamp + later);
        Record {
            seq,
            t_intended: record.t_intended + later,
            t_send: moved(record.t_send),
            t_sched: moved(record.t_sched),
            t_tx: moved(record.t_tx),
            t_tx_hw: moved(record.t_tx_hw),
            r_rx: moved(record.r_rx),
            r_user: moved(record.r_user),
            r_tx: moved(record.r_tx),
            t_rx: moved(record.t_rx),
            t_rx_hw: moved(record.t_rx_hw),
            t_recv: moved(record.t_recv),
            reflector_seq: record.reflector_seq.map(|seq| seq.wrapping_add(count)),
            ..*record
        }
    }

    fn noise(&self, record: &Record) -> (Option<Nanos>, Option<&str>) {
        let (ns, who) = &self.records[self.place(record.seq).1].1;
        (*ns, who.as_deref())
    }

    /// Which repetition, and which record of the sample.
    fn place(&self, seq: u64) -> (u64, usize) {
        let count = self.records.len() as u64;
        (seq / count, (seq % count) as usize)
    }
}

/// One text for all that are the same.
fn shared(names: &mut BTreeSet<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let new: Arc<str> = name.into();
    names.insert(new.clone());
    new
}

fn record(real: &Path, runs: &Path, count: u64) -> Outcome<Value> {
    let sample = Sample::read(real)?;
    let before_kib = peak_kib();
    let run = RunWriter::create(
        runs,
        &NewRun {
            name: "ten-million",
            world: "live",
            started: Some(SystemTime::now()),
            experiment: "name = \"ten-million\"\n",
            environment: &json!({}),
        },
    )?;
    let start = Instant::now();
    let trial_number = sample.row.trial;
    let mut trial = run.begin_trial(trial_number)?;
    for seq in 0..count {
        trial.records(&[sample.record(seq)])?;
        if seq % 1024 == 0 {
            trial.sync_if_due(start.elapsed().as_nanos() as Nanos)?;
        }
    }
    let row = sample.row.clone();
    trial.finish(&[row], &|record| sample.noise(record))?;
    let folder = run.finish(&json!([]))?.folder;
    let bytes = fs::metadata(folder.join("records.parquet"))?.len();
    Ok(json!({
        "run": folder,
        "records": count,
        "bytes_a_record": bytes as f64 / count as f64,
        "sample": sample.records.len(),
        "sample_kib": before_kib,
    }))
}

fn summarise(folder: &Path) -> Outcome<Value> {
    let run = Run::open(folder)?;
    let row = run.trials().first().ok_or("the run has no trial")?;
    let mut summary = SummaryBuilder::new(row.facts.records, EXACT_LIMIT);
    run.for_each_record(None, |record| summary.push(record));
    let summary = summary.finish();
    match run.problems()[..] {
        [] => Ok(json!({
            "records": run.record_count(),
            "response_p50_ns": summary.response.map(|it| it.p50),
        })),
        _ => Err(run.problems().join("; ").into()),
    }
}

fn tabulate(folder: &Path) -> Outcome<Value> {
    let run = Run::open_as_it_is(folder)?;
    let start = Instant::now();
    let batches = run.table("records", &[])?.collect::<Result<Vec<_>, _>>()?;
    let read_s = start.elapsed().as_secs_f64();
    let records: usize = batches.iter().map(RecordBatch::num_rows).sum();
    Ok(json!({ "records": records, "batches": batches.len(), "read_s": read_s }))
}

/// What the process has used.
fn cpu_seconds() -> f64 {
    let used = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = used
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}

/// The most memory that it had.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0)
}
