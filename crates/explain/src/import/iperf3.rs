//! `iperf3 --json`: intervals and totals.
//!
//! With `--json-stream` it prints the parts of a document line by line, `{"event":"start","data":{…}}`, then `interval`
//! and `end`, and with `--json-stream-full-output` the whole one behind them (iperf_api.c, `iperf_json_finish`). A file
//! may have the documents of several tests, as of `iperf3 -s -J`.
//!
//! iperf3 measures throughput. Of delay it has two things: of udp, RFC 3550's jitter where it receives;
//! of tcp, the kernel's smoothed round trip (`TCP_INFO`) at the end of each interval, where it sends.
//! These are the records of a tcp stream: samples of an average, a row an interval, not packets.
//!
//! What it carried is what arrived. Of udp `end.streams` has what was sent, and of tcp what the sender's socket took is more
//! than what came out. Its intervals are of its own side: where that sends, a rate is of what it sent. Which side sends is in
//! every part since 3.7, which can do both at once; before, the test as a whole says it.

use super::decimal::{LARGEST, Number, Time};
use super::figure::{Figure, PrintedSummary, Statistic};
use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, json};
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::{Error, Value, from_value};
use std::sync::Arc;

pub static FORMAT: Format = Format {
    name: "iperf3",
    command: "iperf3 -c TARGET -J > FILE",
    looks: "keys `start`, `intervals` and `end`, or lines such as `{\"event\":\"interval\",\"data\":…}`",
    signs: &["iperf", r#""intervals""#, "bits_per_second"],
    rules: Rules {
        counts_records: false,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    // What failed before it began has no other key.
    let failed = br#"{"event":"error","#;
    let keys = ["cookie", "connected", "intervals"];
    bytes.starts_with(failed) || keys.iter().any(|key| json::has(bytes, key))
}

/// A whole document, or an event.
#[derive(Deserialize)]
struct Entry {
    event: Option<String>,
    #[serde(default)]
    data: Value,
    start: Option<Start>,
    #[serde(default)]
    intervals: Vec<Interval>,
    end: Option<End>,
    error: Option<String>,
}

/// A test. What has not ended has no `end`.
#[derive(Default)]
struct Document {
    start: Start,
    intervals: Vec<Interval>,
    end: Option<End>,
    error: Option<String>,
    of_events: bool,
}

#[derive(Deserialize, Default)]
struct Start {
    cookie: Option<String>,
    #[serde(default)]
    connected: Vec<Connection>,
    version: Option<String>,
    timestamp: Option<Timestamp>,
    /// Of a server: who asked for the test.
    accepted_connection: Option<IgnoredAny>,
    test_start: Option<TestStart>,
}

impl Start {
    /// Does the side that wrote this send, where its parts do not say so? A client does, unless it asked for the reverse.
    fn sends(&self) -> bool {
        let test = self.test_start.as_ref();
        let is_reverse = test.is_some_and(|test| test.reverse.is_some_and(|it| it != 0));
        is_reverse == self.accepted_connection.is_some()
    }
}

#[derive(Deserialize)]
struct Connection {
    socket: i64,
    remote_host: String,
    remote_port: u16,
}

#[derive(Deserialize)]
struct Timestamp {
    timesecs: u32,
}

#[derive(Deserialize)]
struct TestStart {
    protocol: String,
    /// 1: the server sends.
    reverse: Option<i64>,
}

#[derive(Deserialize)]
struct Interval {
    streams: Vec<Part>,
}

#[derive(Deserialize, Default)]
struct End {
    #[serde(default)]
    streams: Vec<EndedStream>,
    sum_received: Option<Carried>,
}

/// What arrived of all streams.
#[derive(Deserialize, Clone, Copy)]
struct Carried {
    bytes: Option<u64>,
    bits_per_second: Option<f64>,
}

#[derive(Deserialize)]
struct EndedStream {
    udp: Option<Part>,
    sender: Option<Part>,
    receiver: Option<Part>,
}

/// A connection over an interval, or over all of the test.
#[derive(Deserialize)]
struct Part {
    socket: i64,
    start: f64,
    end: f64,
    bytes: Option<u64>,
    bits_per_second: Option<f64>,
    retransmits: Option<u64>,
    snd_cwnd: Option<u64>,
    rtt: Option<u32>,
    jitter_ms: Option<f64>,
    lost_packets: Option<i64>,
    packets: Option<u64>,
    lost_percent: Option<f64>,
    out_of_order: Option<u64>,
    /// Since 3.7.
    sender: Option<bool>,
    min_rtt: Option<u32>,
    mean_rtt: Option<u32>,
    max_rtt: Option<u32>,
    #[serde(default)]
    omitted: bool,
}

/// The tests of a file.
#[derive(Default)]
struct Tests {
    ended: Vec<Document>,
    under_way: Option<Document>,
    entries: usize,
    wrong: Option<ImportError>,
}

impl Tests {
    fn take(&mut self, entry: Entry) {
        self.entries += 1;
        if let Err(error) = self.add(entry) {
            self.wrong.get_or_insert(ImportError::Json {
                format: &FORMAT,
                // Each event is a line.
                line: self.entries,
                reason: error.to_string(),
            });
        }
    }

    fn add(&mut self, entry: Entry) -> serde_json::Result<()> {
        let data = entry.data;
        match entry.event.as_deref() {
            None => {
                self.end();
                let start = entry.start.ok_or(Error::missing_field("start"))?;
                // Its events may stand before it.
                let is_again = |it: &mut Document| it.of_events && it.start.cookie == start.cookie;
                self.ended.pop_if(is_again);
                self.ended.push(Document {
                    start,
                    intervals: entry.intervals,
                    end: entry.end,
                    error: entry.error,
                    of_events: false,
                });
            }
            Some("start") => {
                self.end();
                self.under_way().start = from_value(data)?;
            }
            Some("interval") => self.under_way().intervals.push(from_value(data)?),
            Some("error") => self.under_way().error = Some(from_value(data)?),
            Some("end") => {
                self.under_way().end = Some(from_value(data)?);
                self.end();
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// The test that events are of.
    fn under_way(&mut self) -> &mut Document {
        self.under_way.get_or_insert(Document {
            of_events: true,
            ..Document::default()
        })
    }

    /// No more events are of the test that is under way.
    fn end(&mut self) {
        self.ended.extend(self.under_way.take());
    }
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    let mut tests = Tests::default();
    json::each(input, &mut imported, |_, entry| tests.take(entry))?;
    if let Some(wrong) = tests.wrong {
        return Err(wrong);
    }
    tests.end();
    let has_failed = |it: &Document| it.error.is_some() && it.intervals.is_empty();
    let (failed, measured): (Vec<_>, Vec<_>) = tests.ended.into_iter().partition(has_failed);
    for reason in failed.into_iter().filter_map(|it| it.error) {
        if measured.is_empty() {
            return Err(ImportError::PeerFailed {
                format: &FORMAT,
                reason,
            });
        }
        imported.warn(format!("a test of iperf3 did not measure: {reason}"));
    }
    for document in &measured {
        add(&mut imported, document);
    }
    if imported
        .streams
        .iter()
        .all(|stream| stream.records.is_empty())
    {
        imported.warn(
            "iperf3 prints no packet, and of this test no round trip either: there are no records",
        );
    }
    Ok(imported)
}

fn add(imported: &mut Imported, document: &Document) {
    match &document.error {
        Some(reason) => imported.warn(format!("iperf3 stopped before its end: {reason}")),
        None if document.end.is_none() => {
            imported.warn("iperf3's summary is missing: the file ends before iperf3 did");
        }
        None => {}
    }
    let version = document.start.version.as_deref();
    let version = version.map(|version| version.trim_start_matches("iperf ").to_owned());
    imported.version = imported.version.take().or(version);
    let udp = document
        .start
        .test_start
        .as_ref()
        .is_some_and(|test| test.protocol == "UDP");
    let method = if udp { Method::Udp } else { Method::Tcp };
    let timestamp = document.start.timestamp.as_ref();
    let began = timestamp.map(|time| i64::from(time.timesecs) * SECOND);
    imported.began = imported.began.or(began);
    let began = began.unwrap_or(0);
    // Its time begins again behind the intervals that it leaves out.
    let began = at(began, omitted(document));
    let first = imported.streams.len();
    for connection in &document.start.connected {
        let stream = stream(document, connection, method, began, imported.streams.len());
        if !stream.records.is_empty() {
            imported.warn("iperf3 prints the kernel's smoothed round trip at the end of each interval: a record is a sample of that average, not a packet");
        }
        series(imported, document, connection, &stream.name, began);
        imported.streams.push(stream);
    }
    for ended in document.end.iter().flat_map(|end| &end.streams) {
        said(imported, ended, document, first);
    }
}

/// The intervals of a connection, without those that iperf3 left out of its totals (`-O`).
fn parts<'a>(document: &'a Document, connection: &Connection) -> impl Iterator<Item = &'a Part> {
    let socket = connection.socket;
    let all = document
        .intervals
        .iter()
        .flat_map(|interval| &interval.streams);
    all.filter(move |part| part.socket == socket && !part.omitted)
}

/// Seconds that it left out (`-O`).
fn omitted(document: &Document) -> f64 {
    let parts = document.intervals.iter().flat_map(|it| &it.streams);
    let omitted = parts.filter(|part| part.omitted).map(|part| part.end);
    omitted.fold(0.0, f64::max)
}

fn stream(
    document: &Document,
    connection: &Connection,
    method: Method,
    began: Nanos,
    index: usize,
) -> ImportedStream {
    let probe = u16::try_from(index).unwrap_or(u16::MAX);
    let sampled = parts(document, connection).filter_map(|part| Some((part, part.rtt?)));
    let records = (0..).zip(sampled).map(|(seq, (part, rtt))| {
        let end = at(began, part.end);
        let sent = end - i64::from(rtt) * MICROSECOND;
        Record {
            t_send: Some(sent),
            t_recv: Some(end),
            retransmits: part.retransmits.and_then(|count| u32::try_from(count).ok()),
            outcome: Outcome::Ok,
            ..Record::due(0, probe, seq, method, sent)
        }
    });
    let target = format!("{}:{}", connection.remote_host, connection.remote_port);
    let name = format!("{target} socket {}", connection.socket);
    ImportedStream {
        clock: Clock::RealTime,
        records: records.collect(),
        step: MICROSECOND,
        ..ImportedStream::new(name, target, method)
    }
}

/// Seconds of the test as a time.
fn at(began: Nanos, seconds: f64) -> Nanos {
    began + ((seconds * SECOND as f64) as Nanos).clamp(0, LARGEST)
}

fn series(
    imported: &mut Imported,
    document: &Document,
    connection: &Connection,
    name: &str,
    began: Nanos,
) {
    let of: Arc<str> = name.into();
    let count = |count: Option<u64>| count.map(|count| count as f64);
    for part in parts(document, connection) {
        let rate = match part.sender.unwrap_or_else(|| document.start.sends()) {
            true => "sent_rate",
            false => "goodput",
        };
        let srtt = part.rtt.map(|rtt| f64::from(rtt) * 1e3);
        let jitter = part.jitter_ms.map(|jitter| jitter * 1e6);
        let lost = part.lost_packets.map(|lost| lost as f64);
        let [from, to] = [part.start, part.end].map(|seconds| at(began, seconds));
        for (series, unit, value) in [
            (rate, Unit::BitsPerSecond, part.bits_per_second),
            ("load_retransmits", Unit::Number, count(part.retransmits)),
            ("cwnd", Unit::Bytes, count(part.snd_cwnd)),
            ("srtt", Unit::Nanoseconds, srtt),
            ("jitter", Unit::Nanoseconds, jitter),
            ("lost_packets", Unit::Packets, lost),
        ] {
            let stretch = (from, (to - from).max(0));
            imported.add_point((series, &of), stretch, unit, value);
        }
    }
}

/// `first` is the place of the test's first stream.
fn said(imported: &mut Imported, ended: &EndedStream, document: &Document, first: usize) {
    let Some(part) = ended
        .udp
        .as_ref()
        .or(ended.sender.as_ref())
        .or(ended.receiver.as_ref())
    else {
        return;
    };
    let mut connections = document.start.connected.iter();
    let Some(place) = connections.position(|it| it.socket == part.socket) else {
        return;
    };
    let stream = first + place;
    let mut said = PrintedSummary::default();
    let arrived = arrived(ended, document).unwrap_or(Carried {
        bytes: part.bytes,
        bits_per_second: part.bits_per_second,
    });
    say_counts(part, arrived.bytes, &mut said);
    say_numbers(part, arrived.bits_per_second, &mut said);
    // What it adds up of round trips begins before those intervals end (iperf_api.c, `iperf_reset_stats`).
    if omitted(document) > 0.0 {
        imported.warn("iperf3's own figures of round trips are of the seconds that it left out (-O) as well: they are not shown");
    } else {
        say_times(part, &mut said);
    }
    imported.sum_up(stream, said);
}

/// What arrived of a stream; `None` where nothing but its own figures says so.
fn arrived(ended: &EndedStream, document: &Document) -> Option<Carried> {
    if let Some(udp) = &ended.udp {
        // Before 3.7 it has what was sent, whichever side that did.
        if udp.sender == Some(false) {
            return None;
        }
        let end = document.end.as_ref()?;
        // A server that sends does not know what arrived, and prints 0.
        let received = end
            .sum_received
            .filter(|it| it.bytes.is_some_and(|bytes| bytes > 0));
        if let (1, Some(received)) = (end.streams.len(), received) {
            return Some(received);
        }
        // The sum is of all streams: of each it is known which part of its datagrams was lost.
        let (lost, all) = (udp.lost_packets? as f64, udp.packets? as f64);
        let share = (all > 0.0).then(|| (1.0 - lost / all).clamp(0.0, 1.0))?;
        return Some(Carried {
            bytes: udp.bytes.map(|bytes| (bytes as f64 * share).round() as u64),
            bits_per_second: udp.bits_per_second.map(|bits| bits * share),
        });
    }
    // A server that sends does not know what arrived, and prints 0.
    let receiver = ended.receiver.as_ref()?;
    let bytes = receiver.bytes.filter(|&bytes| bytes > 0)?;
    Some(Carried {
        bytes: Some(bytes),
        bits_per_second: receiver.bits_per_second,
    })
}

fn say_counts(part: &Part, bytes: Option<u64>, said: &mut PrintedSummary) {
    let lost = part.lost_packets.and_then(|lost| u64::try_from(lost).ok());
    said.counts([
        (Figure::Bytes, "bytes", bytes),
        (Figure::Retransmits, "retransmits", part.retransmits),
        (Figure::Sent, "packets", part.packets),
        (Figure::Lost, "lost_packets", lost),
        (Figure::Reordered, "out_of_order", part.out_of_order),
    ]);
}

fn say_numbers(part: &Part, bits: Option<f64>, said: &mut PrintedSummary) {
    let mut say = |what, (scale, unit): (f64, Unit), word, value: Option<f64>| {
        if let Some(printed) = value {
            let (value, step) = (printed * scale, 1e-9);
            let printed = format!("{word} {printed}");
            said.say(what, Number { value, step }, unit, printed);
        }
    };
    let percent = (0.01, Unit::Share);
    let rate = (1.0, Unit::BitsPerSecond);
    let ms = (MILLISECOND as f64, Unit::Nanoseconds);
    say(
        Figure::LossShare,
        percent,
        "lost_percent",
        part.lost_percent,
    );
    say(Figure::Throughput, rate, "bits_per_second", bits);
    say(Figure::Jitter, ms, "jitter_ms", part.jitter_ms);
}

fn say_times(part: &Part, said: &mut PrintedSummary) {
    let times = [
        (Statistic::Min, "min_rtt", part.min_rtt),
        (Statistic::Mean, "mean_rtt", part.mean_rtt),
        (Statistic::Max, "max_rtt", part.max_rtt),
    ];
    for (statistic, word, value) in times {
        // A test that receives has no round trips and prints 0.
        if let Some(value) = value.filter(|&value| value > 0) {
            let time = Time {
                nanos: i64::from(value) * MICROSECOND,
                step: MICROSECOND,
            };
            said.round_trip(statistic, time, format!("{word} {value}"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, Figure, ImportError, Imported, check};
    use delaylab_model::{MILLISECOND, SECOND};

    const SAMPLE: &str = include_str!("../../tests/data/import/iperf3-tcp.json");
    const EVENTS: &str = include_str!("../../tests/data/import/iperf3-stream.ndjson");

    #[test]
    fn events_say_what_a_document_says() {
        let document = SAMPLE.replace("iperf 3.12", "iperf 3.18");
        let whole = import::read(document.as_bytes(), None).unwrap();
        for text in [EVENTS.to_owned(), format!("{EVENTS}{document}")] {
            assert_eq!(import::read(text.as_bytes(), None).unwrap(), whole);
        }
        let (cut, _) = EVENTS.split_once(r#"{"event":"end""#).unwrap();
        let cut = import::read(cut.as_bytes(), None).unwrap();
        assert_eq!(cut.streams, whole.streams);
        let missing = cut.warnings.iter().any(|it| it.contains("is missing"));
        assert!(missing, "{:?}", cut.warnings);
    }

    #[test]
    fn each_test_has_streams_of_its_own() {
        let whole = import::read(SAMPLE.as_bytes(), None).unwrap();
        for text in [SAMPLE.repeat(2), EVENTS.repeat(2)] {
            let twice = import::read(text.as_bytes(), None).unwrap();
            assert_eq!(twice.streams.len(), 2 * whole.streams.len());
            assert_eq!(twice.said.len(), 2 * whole.said.len());
            assert_eq!(check(&twice), []);
            assert_eq!(twice.warnings, whole.warnings);
        }
    }

    #[test]
    fn a_test_that_failed_hides_no_other() {
        let failed = "{\"event\":\"error\",\"data\":\"unable to connect\"}\n{\"event\":\"end\",\"data\":{}}\n";
        let error = import::read(failed.as_bytes(), None).unwrap_err();
        assert!(matches!(error, ImportError::PeerFailed { .. }), "{error}");
        let whole = import::read(EVENTS.as_bytes(), None).unwrap();
        for text in [format!("{EVENTS}{failed}"), format!("{failed}{EVENTS}")] {
            let both = import::read(text.as_bytes(), None).unwrap();
            assert_eq!(both.streams, whole.streams);
            assert_eq!(both.said, whole.said);
            assert_eq!(
                both.warnings[0],
                "a test of iperf3 did not measure: unable to connect"
            );
        }
    }

    #[test]
    fn what_iperf3_does_not_write_is_said_with_its_line() {
        let text = EVENTS.replacen(r#""streams":["#, r#""streams":[7,"#, 1);
        let error = import::read(text.as_bytes(), None).unwrap_err().to_string();
        assert!(
            error.starts_with("line 2 is not what iperf3 writes: "),
            "{error}"
        );
    }

    /// What iperf3 3.1.3 writes of a test of UDP at one of its sides: no part has `sender`, and there is one sum.
    fn before_3_7(side: &str, reverse: u8) -> Imported {
        let text = format!(
            r#"{{"start": {{"connected": [{{"socket": 4, "local_host": "10.77.1.2", "local_port": 56279,
                    "remote_host": "10.77.2.2", "remote_port": 5201}}],
                "version": "iperf 3.1.3", "timestamp": {{"timesecs": 1795437125}},
                "{side}": {{"host": "10.77.2.2", "port": 5201}},
                "test_start": {{"protocol": "UDP", "num_streams": 1, "blksize": 8192, "omit": 0, "duration": 1,
                    "bytes": 0, "blocks": 0, "reverse": {reverse}}}}},
                "intervals": [{{"streams": [{{"socket": 4, "start": 0, "end": 1, "seconds": 1, "bytes": 655360,
                    "bits_per_second": 5242880, "packets": 80, "omitted": false}}]}}],
                "end": {{"streams": [{{"udp": {{"socket": 4, "start": 0, "end": 1, "seconds": 1, "bytes": 655360,
                    "bits_per_second": 5242880, "jitter_ms": 0.014, "lost_packets": 20, "packets": 80,
                    "lost_percent": 25, "out_of_order": 0}}}}],
                "sum": {{"start": 0, "end": 1, "seconds": 1, "bytes": 655360, "bits_per_second": 5242880,
                    "jitter_ms": 0.014, "lost_packets": 20, "packets": 80, "lost_percent": 25}}}}}}"#
        );
        import::read(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn before_3_7_the_test_says_who_sends() {
        for (side, reverse, rate) in [
            ("connecting_to", 0, "sent_rate"),
            ("connecting_to", 1, "goodput"),
            ("accepted_connection", 0, "goodput"),
            ("accepted_connection", 1, "sent_rate"),
        ] {
            let imported = before_3_7(side, reverse);
            assert_eq!(imported.version.as_deref(), Some("3.1.3"));
            assert_eq!(&*imported.series[0].series, rate, "{side} {reverse}");
            // A quarter of what was sent did not arrive.
            let said = |what| imported.said.iter().find(|it| it.what == what).unwrap();
            assert!((said(Figure::Bytes).value - 491_520.0).abs() < 0.5);
            assert!((said(Figure::Throughput).value - 3_932_160.0).abs() < 0.5);
            assert_eq!(check(&imported), []);
        }
    }

    #[test]
    fn seconds_that_were_left_out_are_neither_counted_nor_forgotten() {
        let part = |start: u32, rtt: u32, omitted: bool| {
            let end = start + 1;
            format!(
                r#"{{"streams": [{{"socket": 5, "start": {start}, "end": {end}, "rtt": {rtt}, "omitted": {omitted}}}]}}"#
            )
        };
        let intervals = [
            part(0, 10_000, true),
            part(1, 12_000, true),
            part(0, 30_000, false),
            part(1, 30_000, false),
        ];
        let text = format!(
            r#"{{"start": {{"connected": [{{"socket": 5, "remote_host": "10.0.0.1", "remote_port": 5201}}],
                "timestamp": {{"timesecs": 1795437125}}}},
                "intervals": [{}],
                "end": {{"streams": [{{"sender": {{"socket": 5, "start": 0, "end": 2,
                    "min_rtt": 10000, "mean_rtt": 20500, "max_rtt": 30000}}}}]}}}}"#,
            intervals.join(", ")
        );
        let imported = import::read(text.as_bytes(), None).unwrap();
        assert_eq!(check(&imported), []);
        let first = imported.streams[0].records.get(0).unwrap();
        assert_eq!(first.t_recv, Some((1_795_437_125 + 2 + 1) * SECOND));
        assert_eq!(first.round_trip(), Some(30 * MILLISECOND));
        assert_eq!(imported.series[0].t, (1_795_437_125 + 2) * SECOND);
    }
}
