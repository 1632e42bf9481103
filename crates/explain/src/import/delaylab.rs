//! What delaylab's own `ping` prints: `--json`, `--json-stream` and `--csv`, with every stamp.
//!
//! ```text
//! {"schema": "delaylab/ping/2", "config": {…}, "facts": {…}, "round_trips": [{"seq": 0, "t_intended_ns": …}, …]}
//! {"type": "start", "schema": "delaylab/ping-stream/2", "config": {…}, …}      a document a line
//! {"type": "round_trip", "seq": 0, "t_intended_ns": …}
//! {"type": "summary", "facts": {…}, …}
//! trial,probe,seq,method,dscp,ip_size,t_intended_ns,…                         names, then a packet a line
//! ```
//!
//! Form: docs/json.md.

mod csv;

use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, json};
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{ClockEvent, Outcome, Record};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;

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

/// A packet, in the names of docs/json.md.
#[derive(Deserialize)]
struct RoundTrip {
    #[serde(default)]
    trial: u32,
    #[serde(default)]
    probe: u16,
    seq: u64,
    #[serde(default)]
    method: Method,
    #[serde(default)]
    dscp: u8,
    ip_size: Option<u32>,
    t_intended_ns: Nanos,
    t_send_ns: Option<Nanos>,
    t_sched_ns: Option<Nanos>,
    t_tx_ns: Option<Nanos>,
    t_tx_hw_ns: Option<Nanos>,
    r_rx_ns: Option<Nanos>,
    r_user_ns: Option<Nanos>,
    r_tx_ns: Option<Nanos>,
    t_rx_ns: Option<Nanos>,
    t_rx_hw_ns: Option<Nanos>,
    t_recv_ns: Option<Nanos>,
    t_begin_ns: Option<Nanos>,
    t_resolved_ns: Option<Nanos>,
    t_connected_ns: Option<Nanos>,
    t_secured_ns: Option<Nanos>,
    t_ack_ns: Option<Nanos>,
    t_first_ns: Option<Nanos>,
    least_round_trip_ns: Option<Nanos>,
    answer: Option<String>,
    reply_bytes: Option<u64>,
    connection: Option<u32>,
    answer_ttl: Option<u32>,
    server_says_ns: Option<Nanos>,
    cpu: Option<u16>,
    r_dscp: Option<u8>,
    reply_dscp: Option<u8>,
    reply_ecn: Option<u8>,
    reply_ttl: Option<u8>,
    reflector_seq: Option<u32>,
    #[serde(default)]
    copies: u16,
    #[serde(default)]
    reorder_extent: u32,
    retransmits: Option<u32>,
    outcome: Outcome,
    refused_by: Option<IpAddr>,
    icmp: Option<IcmpReason>,
    icmp_type: Option<u8>,
    icmp_code: Option<u8>,
    path_mtu: Option<u32>,
    errno: Option<i32>,
    #[serde(default)]
    clock_event: ClockEvent,
}

impl From<RoundTrip> for Record {
    fn from(trip: RoundTrip) -> Self {
        Record {
            dscp: trip.dscp,
            ip_size: trip.ip_size,
            t_send: trip.t_send_ns,
            t_sched: trip.t_sched_ns,
            t_tx: trip.t_tx_ns,
            t_tx_hw: trip.t_tx_hw_ns,
            r_rx: trip.r_rx_ns,
            r_user: trip.r_user_ns,
            r_tx: trip.r_tx_ns,
            t_rx: trip.t_rx_ns,
            t_rx_hw: trip.t_rx_hw_ns,
            t_recv: trip.t_recv_ns,
            t_begin: trip.t_begin_ns,
            t_resolved: trip.t_resolved_ns,
            t_connected: trip.t_connected_ns,
            t_secured: trip.t_secured_ns,
            t_ack: trip.t_ack_ns,
            t_first: trip.t_first_ns,
            least_round_trip: trip.least_round_trip_ns,
            answer: trip.answer.and_then(|answer| answer.parse().ok()),
            reply_bytes: trip.reply_bytes,
            connection: trip.connection,
            answer_ttl: trip.answer_ttl,
            server_says: trip.server_says_ns,
            cpu: trip.cpu,
            r_dscp: trip.r_dscp,
            reply_dscp: trip.reply_dscp,
            reply_ecn: trip.reply_ecn,
            reply_ttl: trip.reply_ttl,
            reflector_seq: trip.reflector_seq,
            copies: trip.copies,
            reorder_extent: trip.reorder_extent,
            retransmits: trip.retransmits,
            outcome: trip.outcome,
            refused_by: trip.refused_by,
            icmp: trip.icmp,
            icmp_type: trip.icmp_type,
            icmp_code: trip.icmp_code,
            path_mtu: trip.path_mtu,
            errno: trip.errno,
            clock_event: trip.clock_event,
            ..Record::due(
                trip.trial,
                trip.probe,
                trip.seq,
                trip.method,
                trip.t_intended_ns,
            )
        }
    }
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
        if let Err(error) = call.take(document, imported) {
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

    fn take(&mut self, mut document: Value, imported: &mut Imported) -> serde_json::Result<()> {
        if let Some(version) = json::text(&document, "version") {
            imported.version = Some(version.to_owned());
        }
        if let Some(config) = document.get("config") {
            self.begun = true;
            self.target = json::text(config, "target").unwrap_or_default().to_owned();
        }
        if let Some(facts) = document.get("facts") {
            self.facts(facts);
        }
        for warning in document
            .get("warnings")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(sentence) = warning.as_str() {
                imported.warn(sentence);
            }
        }
        match json::text(&document, "type") {
            Some("start") => self.streaming = true,
            Some("summary") => self.ended = true,
            Some("round_trip") => {
                self.records.push(RoundTrip::deserialize(document)?.into());
                return Ok(());
            }
            _ => {}
        }
        if let Some(Value::Array(trips)) = document.get_mut("round_trips").map(Value::take) {
            for trip in trips {
                self.records.push(RoundTrip::deserialize(trip)?.into());
            }
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
