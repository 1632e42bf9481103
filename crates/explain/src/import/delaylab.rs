//! What delaylab's own `ping` prints: `--json`, `--json-stream` and `--csv`, with every stamp.
//!
//! ```text
//! {"schema": "delaylab/ping/3", "config": {…}, "facts": {…}, "round_trips": [{"seq": 0, "t_intended_ns": …}, …]}
//! {"type": "start", "schema": "delaylab/ping-stream/3", "config": {…}, …}      a document a line
//! {"type": "round_trip", "seq": 0, "t_intended_ns": …}
//! {"type": "summary", "facts": {…}, …}
//! trial,probe,seq,method,dscp,ip_size,t_intended_ns,…                         names, then a packet a line
//! ```
//!
//! Form: docs/json.md.

mod csv;

use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, json};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use serde::Deserialize;
use serde::de::Error as _;
use serde::de::value::MapDeserializer;
use serde_json::Value;

pub static FORMAT: Format = Format {
    name: "delaylab ping",
    command: "delaylab ping --json -c 100 TARGET > FILE",
    looks: r#"a key `"schema"` of `delaylab/ping/…` or `delaylab/ping-stream/…`, or a first line with the column `t_intended_ns`"#,
    signs: &["delaylab/ping", "t_intended_ns"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = super::text::head(bytes);
    let schemas = ["delaylab/ping/", "delaylab/ping-stream/"];
    let is_document = json::is(bytes) && schemas.iter().any(|name| head.contains(name));
    is_document || csv::is(&head)
}

/// What every packet has.
const REQUIRED: [&str; 3] = ["seq", "t_intended_ns", "outcome"];

/// A packet, in the names of docs/json.md: those of records, and times with their unit.
fn record(packet: &Value) -> serde_json::Result<Record> {
    let fields = packet.as_object();
    let fields = fields.ok_or_else(|| serde_json::Error::custom("a packet is no object"))?;
    for name in REQUIRED {
        if !fields.contains_key(name) {
            return Err(serde_json::Error::missing_field(name));
        }
    }
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| (name.strip_suffix("_ns").unwrap_or(name), value));
    Record::deserialize(MapDeserializer::new(fields))
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    if csv::is(&super::text::head(input.head())) {
        for records in csv::records(input, &mut imported) {
            let call = Call {
                records,
                ..Call::default()
            };
            call.finish(&mut imported);
        }
        return Ok(imported);
    }
    let mut call = Call::default();
    let mut wrong: Option<String> = None;
    json::each(input, &mut imported, |imported, document| {
        if call.ends_before(&document) {
            std::mem::take(&mut call).finish(imported);
        }
        if let Err(error) = call.take(&document, imported) {
            wrong.get_or_insert(error.to_string());
        }
    })?;
    if let Some(reason) = wrong {
        return Err(ImportError::Json {
            format: &FORMAT,
            line: 1,
            reason,
        });
    }
    call.finish(&mut imported);
    Ok(imported)
}

/// A call of ping, or the part of one that its start begins.
#[derive(Default)]
struct Call {
    /// Has it said what runs?
    begun: bool,
    target: String,
    records: Vec<Record>,
    facts: RecordFacts,
    realtime_offset: Option<Nanos>,
    streaming: bool,
    ended: bool,
}

impl Call {
    /// Is the document of another call?
    fn ends_before(&self, document: &Value) -> bool {
        document.get("config").is_some() && (self.begun || !self.records.is_empty())
    }

    /// Adds a stream for each probe of each trial.
    fn finish(mut self, imported: &mut Imported) {
        if self.streaming && !self.ended {
            imported.warn("the summary is missing: the file ends before `delaylab ping` did");
        }
        let of = |record: &Record| (record.trial, record.probe);
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| (of(record), record.seq));
        if records.is_empty() {
            imported.streams.push(self.stream(Vec::new()));
        }
        for records in records.chunk_by(|one, next| of(one) == of(next)) {
            let probe = u16::try_from(imported.streams.len()).unwrap_or(u16::MAX);
            let records = records.iter().map(|record| Record {
                trial: 0,
                probe,
                ..*record
            });
            imported.streams.push(self.stream(records.collect()));
        }
    }

    fn stream(&self, records: Vec<Record>) -> ImportedStream {
        let first = records.first();
        let method = first.map_or(Method::Icmp, |record| record.method);
        ImportedStream {
            size: first.and_then(|record| record.ip_size),
            clock: Clock::Own {
                realtime_offset: self.realtime_offset,
            },
            records: records.into(),
            facts: self.facts,
            ..ImportedStream::new(&self.target, &self.target, method)
        }
    }

    fn take(&mut self, document: &Value, imported: &mut Imported) -> serde_json::Result<()> {
        if let Some(version) = json::text(document, "version") {
            imported.version = Some(version.to_owned());
        }
        if let Some(config) = document.get("config") {
            self.begun = true;
            self.target = json::text(config, "target").unwrap_or_default().to_owned();
        }
        if let Some(facts) = document.get("facts") {
            self.facts(facts);
        }
        for warning in json::items(document, "warnings").filter_map(Value::as_str) {
            imported.warn(warning);
        }
        match json::text(document, "type") {
            Some("start") => self.streaming = true,
            Some("summary") => self.ended = true,
            Some("round_trip") => {
                self.records.push(record(document)?);
                return Ok(());
            }
            _ => {}
        }
        for packet in json::items(document, "round_trips") {
            self.records.push(record(packet)?);
        }
        Ok(())
    }

    fn facts(&mut self, facts: &Value) {
        let offset = facts.get("realtime_offset_ns").and_then(Value::as_i64);
        self.realtime_offset = offset.or(self.realtime_offset);
        // A name that is not known says nothing.
        let clock = facts.get("reflector_clock").cloned();
        let clock: Option<ReflectorClock> = clock.and_then(|it| serde_json::from_value(it).ok());
        let residence = facts.get("residence").cloned();
        let residence: Option<Residence> = residence.and_then(|it| serde_json::from_value(it).ok());
        self.facts = RecordFacts {
            reflector_clock: clock.unwrap_or(self.facts.reflector_clock),
            residence: residence.unwrap_or(self.facts.residence),
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::REQUIRED;
    use crate::import;
    use crate::import::testing::of_two_calls;

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let document = include_str!("../../tests/data/import/delaylab-ping.json");
        let stream = include_str!("../../tests/data/import/delaylab-ping-stream.ndjson");
        let csv = include_str!("../../tests/data/import/delaylab-ping.csv");
        for call in [document, stream, csv] {
            let other = call.replace("127.0.0.1", "192.0.2.7");
            let once = import::read(other.as_bytes(), None).unwrap();
            let twice = of_two_calls(&format!("{call}{other}"), 5);
            assert_eq!(twice.streams[1].target, once.streams[0].target);
            assert_eq!(twice.streams[1].clock, once.streams[0].clock);
        }
        // The first is whole, and the second was cut.
        let (cut, _) = stream.rsplit_once("{\"type\":\"summary\"").unwrap();
        let cut = of_two_calls(&format!("{stream}{cut}"), 5);
        let says = |it: &String| it.starts_with("the summary is missing");
        assert!(cut.warnings.iter().any(says), "{:?}", cut.warnings);
    }

    #[test]
    fn a_packet_without_what_every_packet_has_is_refused() {
        let document = include_str!("../../tests/data/import/delaylab-ping.json");
        for name in REQUIRED {
            let without = document.replace(&format!("\"{name}\":"), "\"another\":");
            let error = import::read(without.as_bytes(), None).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains(&format!("missing field `{name}`")),
                "{error}"
            );
        }
    }

    /// A ping under load has an idle trial before.
    #[test]
    fn each_trial_of_a_call_is_a_stream() {
        let csv = include_str!("../../tests/data/import/delaylab-ping.csv");
        let (_, packets) = csv.split_once('\n').unwrap();
        let of_next = |line: &str| format!("1{}\n", &line[1..]);
        let next: String = packets.lines().map(of_next).collect();
        let two = of_two_calls(&format!("{csv}{next}"), 5);
        let probes = two.streams.iter().map(|it| it.records.get(0).unwrap());
        let probes: Vec<_> = probes.map(|it| (it.trial, it.probe, it.seq)).collect();
        assert_eq!(probes, [(0, 0, 0), (0, 1, 0)]);
    }
}
