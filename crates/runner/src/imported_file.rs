//! A file of another tool, read and recorded: one trial, each stream a probe.

use crate::error::RunnerError;
use delaylab_explain::import::{
    self, Clock, Delay, Disagreement, Figure, ImportError, Imported, ImportedStream, Input,
    Options, PrintedFigure, Records, Rules, Statistic, shown,
};
use delaylab_lab::EXACT_LIMIT;
use delaylab_model::Nanos;
use delaylab_model::experiment::WorldName;
use delaylab_model::method::Method;
use delaylab_model::probe::HostCondition;
use delaylab_model::record::Record;
use delaylab_model::trial::{Delivery, ProbeFacts, StampPoint};
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_store::error::StoreError;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{Finished, NewRun, RunWriter};
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The number of the only trial.
const TRIAL: u32 = 0;
/// Records that are handed over at once.
const BATCH: usize = 1 << 11;

/// What a file of another tool has.
pub struct ImportedFile {
    /// What the file is called.
    pub file: String,
    /// All that it says.
    pub imported: Imported,
    /// What it says of its own packets and they do not give.
    pub disagreements: Vec<Disagreement>,
}

impl ImportedFile {
    /// Reads the file of this name from `source`.
    ///
    /// # Errors
    /// It cannot be read, or is of no known format.
    pub fn read(file: String, source: impl Read, options: &Options) -> Result<Self, RunnerError> {
        let read = Input::new(source).and_then(|input| import::read_from(input, options));
        let imported = read.map_err(|error| match error {
            ImportError::Read { reason } => cannot_read(&file, reason),
            error => RunnerError::usage(format!("{file}: {error}")),
        })?;
        Ok(Self {
            file,
            disagreements: import::check(&imported),
            imported,
        })
    }

    /// Writes the run, which was asked for in the words `supplied`, into a folder of its own below `runs`. The packets are
    /// there from then on, and no longer held.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record(&mut self, runs: &Path, supplied: &[String]) -> Result<Finished, RunnerError> {
        let name = format!("import-{}", self.imported.format.word());
        let new = NewRun {
            name: &name,
            world: WorldName::Live.name(),
            started: began(&self.imported).map(at),
            experiment: &experiment(self, &name),
            environment: &environment(self, supplied),
        };
        let writer = RunWriter::create(runs, &new)?;
        let unfinished = writer.folder().to_owned();
        let finished = trial(self, &writer).and_then(|()| writer.finish(&json!([])));
        if finished.is_err() {
            // The file has it all: half a run that cannot be resumed is of no use.
            let _ = fs::remove_dir_all(unfinished);
        }
        Ok(finished?)
    }
}

/// Why nothing of this file is known.
pub fn cannot_read(file: &str, reason: impl Display) -> RunnerError {
    RunnerError::environment(format!("cannot read {file}: {reason}"))
}

fn trial(found: &mut ImportedFile, writer: &RunWriter) -> Result<(), StoreError> {
    let streams = found.imported.streams.iter();
    let packets = streams.map(|stream| stream.records.len() as u64).sum();
    let mut trial = writer.known_trial(TRIAL, packets)?;
    let mut rows = Vec::new();
    let rules = found.imported.format.rules;
    for index in 0..found.imported.streams.len() {
        let stream = &mut found.imported.streams[index];
        let mut batch = Vec::with_capacity(BATCH);
        let mut summary = SummaryBuilder::new(stream.facts, EXACT_LIMIT);
        for record in stream.records.drain() {
            let record = recorded(&record, rules);
            summary.push(&record);
            batch.push(record);
            if batch.len() == BATCH {
                trial.records(&batch)?;
                batch.clear();
            }
        }
        trial.records(&batch)?;
        rows.push(row(found, index, summary));
    }
    trial.finish(&rows, &found.imported.series)
}

/// What readers of runs need beyond what the file says. A packet that was lost was sent all the same, at
/// about the time that its neighbours tell. A capture is of the interface: what is seen there is all
/// that is known of sending and receiving.
fn recorded(record: &Record, rules: Rules) -> Record {
    let sent = record.outcome.was_sent();
    let about = sent.then_some(record.t_intended);
    let seen = record.t_rx.filter(|_| rules.at_interface);
    Record {
        t_send: record.t_send.or(record.t_tx).or(about),
        t_recv: record.t_recv.or(seen),
        ..*record
    }
}

fn row(found: &ImportedFile, index: usize, summary: SummaryBuilder) -> TrialRow {
    let stream = &found.imported.streams[index];
    let summary = summary.finish();
    let has_none = stream.records.is_empty();
    let began_alone = found.imported.began.filter(|_| has_none);
    TrialRow {
        trial: TRIAL,
        probe: u16::try_from(index).unwrap_or(u16::MAX),
        probe_name: stream.name.clone(),
        method: stream.method,
        repeat: 0,
        position: 0,
        started_utc: started(stream).or(began_alone),
        duration: summary.span_ns,
        host: HostCondition::Normal,
        seed: 0,
        valid: true,
        warmup: 0,
        facts: ProbeFacts {
            records: stream.facts,
            stamps: stamps(&stream.records),
            realtime_offset: realtime_offset(stream.clock).unwrap_or(0),
            warnings: warnings(found, index),
            ..ProbeFacts::default()
        },
        factors: Vec::new(),
        figures: figures(found, index, &summary),
    }
}

/// The figures of the stream's packets; of a stream without any, what its tool says, so that a report's hops are kept.
fn figures(found: &ImportedFile, index: usize, summary: &Summary) -> Vec<(String, Option<f64>)> {
    let mut figures = summary.figures();
    if !found.imported.streams[index].records.is_empty() {
        return figures;
    }
    let said = found
        .imported
        .said
        .iter()
        .filter(|said| said.stream == index);
    let said: Vec<&PrintedFigure> = said.collect();
    let method = found.imported.streams[index].method;
    for (name, value) in &mut figures {
        *value = match name.as_str() {
            "lost" => lost(&said),
            _ => (said.iter())
                .find_map(|said| column(said, method).filter(|(column, _)| column == name))
                .map(|(_, value)| value),
        };
    }
    let others = Figure::OWN.into_iter().filter_map(|(what, name)| {
        let said = said.iter().find(|said| said.what == what)?;
        Some((name.to_owned(), Some(said.value)))
    });
    figures.extend(others);
    figures
}

/// How many were lost. A share is of whole per cent with some tools, so what came is asked first; with copies more may
/// have come than were sent.
fn lost(said: &[&PrintedFigure]) -> Option<f64> {
    let figure = |what: Figure| {
        let found = said.iter().find(|said| said.what == what);
        found.map(|said| said.value)
    };
    let sent = figure(Figure::Sent);
    let missing = || Some(sent? - figure(Figure::Received)?).filter(|&lost| lost >= 0.0);
    let of_share = || Some((figure(Figure::LossShare)? * sent?).round());
    figure(Figure::Lost).or_else(missing).or_else(of_share)
}

/// The column and value of a figure that some tools print and packets have, too.
fn column(said: &PrintedFigure, method: Method) -> Option<(String, f64)> {
    let (delay, statistic) = match said.what {
        Figure::Sent => return Some(("sent".to_owned(), said.value)),
        Figure::Received => return Some(("received".to_owned(), said.value)),
        Figure::Of(delay, statistic) => (delay, statistic),
        _ => return None,
    };
    let (delay, times) = match (delay, method) {
        // Frames go one way.
        (Delay::RoundTrip, Method::Frame) | (Delay::OneWay | Delay::Send, _) => ("forward", 1.0),
        (Delay::RoundTrip | Delay::WithoutServer, _) => ("round_trip", 1.0),
        (Delay::HalfRoundTrip, _) => ("round_trip", 2.0),
        (Delay::Receive, _) => ("return", 1.0),
        (Delay::Server | Delay::Variation, _) => return None,
    };
    let statistic = match statistic {
        Statistic::Min => "min",
        Statistic::Mean => "mean",
        Statistic::Median => "p50",
        Statistic::Quantile(q) => match (q * 1000.0).round() as u32 {
            500 => "p50",
            900 => "p90",
            990 => "p99",
            999 => "p999",
            _ => return None,
        },
        Statistic::Max => "max",
        Statistic::Deviation => "sd",
        Statistic::Last => return None,
    };
    Some((format!("{delay}_{statistic}_ns"), said.value * times))
}

/// Real time minus the clock of the records; `None` where they have none that is known.
const fn realtime_offset(clock: Clock) -> Option<Nanos> {
    match clock {
        Clock::RealTime => Some(0),
        Clock::Own { realtime_offset } => realtime_offset,
        Clock::MadeUp => None,
    }
}

/// When the measurement began, as far as its file says so: the date of the run, which is not that of importing
/// it.
fn began(imported: &Imported) -> Option<Nanos> {
    let first = imported.streams.iter().filter_map(started).min();
    first.or(imported.began)
}

fn at(nanos: Nanos) -> SystemTime {
    let since = Duration::from_nanos(nanos.unsigned_abs());
    if nanos < 0 {
        SystemTime::UNIX_EPOCH - since
    } else {
        SystemTime::UNIX_EPOCH + since
    }
}

fn started(stream: &ImportedStream) -> Option<Nanos> {
    let first = stream.records.earliest()?;
    Some(first.saturating_add(realtime_offset(stream.clock)?))
}

/// A stamp that no record has is one that the peer does not take.
fn stamps(records: &Records) -> Vec<(StampPoint, Delivery)> {
    let delivery = |point: StampPoint| {
        if records.stamped(point) {
            Delivery::Delivered
        } else {
            Delivery::Unsupported
        }
    };
    let stamps = StampPoint::ALL.map(|point| (point, delivery(point)));
    stamps.to_vec()
}

/// What is to be read before a stream's figures are trusted.
fn warnings(found: &ImportedFile, index: usize) -> Vec<String> {
    let mut warnings = found.imported.warnings.clone();
    let own = found.disagreements.iter();
    let own = own.filter(|disagreement| disagreement.stream == index);
    warnings.extend(own.map(|disagreement| disagreement.sentence.clone()));
    warnings
}

/// Says what was imported. It is no experiment: nothing can carry it out again.
fn experiment(found: &ImportedFile, name: &str) -> String {
    let imported = &found.imported;
    // A text of JSON is one of TOML.
    let mut text = format!(
        "# Packets of another program, read by `delaylab import`. There is nothing here to run.\n\
         name = {}\n\n[imported]\nformat = {}\nfile = {}\n",
        json!(name),
        json!(imported.format.name),
        json!(found.file)
    );
    if let Some(version) = &imported.version {
        text += &format!("version = {}\n", json!(version));
    }
    text
}

/// Nothing of this host: the packets need not have been sent from here.
fn environment(found: &ImportedFile, supplied: &[String]) -> Value {
    let imported = &found.imported;
    let on_the_way = imported.on_the_way();
    json!({
        "delaylab": env!("CARGO_PKG_VERSION"),
        "supplied": supplied,
        "imported": {
            "format": imported.format.name,
            "version": imported.version,
            "file": found.file,
            "round_trip": imported.round_trip,
            "on_the_way": (!on_the_way.is_empty()).then_some(on_the_way),
            "said": said(imported),
        },
    })
}

/// The peer's own figures, in the form in which environments are shown.
fn said(imported: &Imported) -> Vec<Value> {
    let said = imported.said.iter().map(|said| {
        let stream = imported.streams.get(said.stream);
        let stream = stream.map_or("", |stream| stream.name.as_str());
        json!({
            "name": format!("{stream}: {}", said.what),
            "state": shown(said.value, said.unit),
            "value": said.value,
            "unit": said.unit,
        })
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The figures of a file without packets.
    fn figures_of(text: &str) -> impl Fn(&str) -> Option<f64> {
        let found = ImportedFile {
            file: "f".to_owned(),
            imported: import::read(text.as_bytes(), None).unwrap(),
            disagreements: Vec::new(),
        };
        let stream = &found.imported.streams[0];
        assert!(stream.records.is_empty(), "{text}");
        let summary = SummaryBuilder::new(stream.facts, EXACT_LIMIT).finish();
        let figures = figures(&found, 0, &summary);
        move |name| {
            let found = figures.iter().find(|(column, _)| column == name);
            found.unwrap_or_else(|| panic!("no {name}")).1
        }
    }

    #[test]
    fn what_was_lost_is_what_was_sent_and_did_not_come() {
        for (text, lost) in [
            (
                "h : xmt/rcv/%loss = 1000/997/0%, min/avg/max = 1.0/1.1/1.2\n",
                Some(3.0),
            ),
            ("h : xmt/rcv/%loss = 1000/991/0%\n", Some(9.0)),
            (
                "h : xmt/rcv/%return = 1000/1001/100%, min/avg/max = 1.0/1.1/1.2\n",
                None,
            ),
            (
                "PING h (10.0.0.1): 56 data bytes\n\n--- h ping statistics ---\n\
              1000 packets transmitted, 997 packets received, 0% packet loss\n",
                Some(3.0),
            ),
        ] {
            assert_eq!(figures_of(text)("lost"), lost, "{text}");
        }
    }

    #[test]
    fn all_that_is_said_of_delays_is_kept() {
        let owping = "--- owping statistics from [a]:1 to [b]:2 ---\n\
            10 sent, 0 lost (0.000%), 0 duplicates\n\
            one-way delay min/median/max = 0.202/0.4/0.582 ms, (err=0.628 ms)\n";
        let figure = figures_of(owping);
        let read = import::read(owping.as_bytes(), None).unwrap();
        let named = read.said.iter().map(|said| said.what.to_string());
        assert!(named.clone().any(|name| name == "minimum one-way delay"));
        assert_eq!(figure("forward_p50_ns"), Some(400_000.0));
        assert_eq!(figure("round_trip_min_ns"), None);
        let twping = "--- twping statistics from [a]:1 to [b]:2 ---\n\
            10 sent, 0 lost (0.000%), 0 send duplicates, 0 reflect duplicates\n\
            round-trip time min/median/max = 0.777/1/1.16 ms, (err=0.628 ms)\n\
            send time min/median/max = 0.3/0.4/0.5 ms, (err=0.628 ms)\n\
            reflect time min/median/max = 0.4/0.5/0.6 ms, (err=0.628 ms)\n";
        let figure = figures_of(twping);
        for (name, value) in [
            ("round_trip_p50_ns", 1e6),
            ("forward_min_ns", 3e5),
            ("return_max_ns", 6e5),
        ] {
            assert_eq!(figure(name), Some(value), "{name}");
        }
        let sockperf = "sockperf: [Valid Duration] RunTime=0.540 sec; SentMessages=10; ReceivedMessages=9\n\
            sockperf: ====> avg-latency=65.955 (std-dev=82.226)\n\
            sockperf: ---> percentile 99.000 =  123.901\n";
        let figure = figures_of(sockperf);
        assert_eq!(figure("round_trip_p99_ns"), Some(247_802.0));
        assert_eq!(figure("lost"), Some(1.0));
    }
}
