//! NDJSON: a first line that says what runs, a line a packet, a last line with the statistics.
//!
//! Memory stays flat: one line is built at a time, in one buffer, and handed over in one write.

use crate::columns::Row;
use crate::json::{Config, Head, Results, schema_of};
use crate::ping::Ping;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::Sink;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Name and version of the lines' shape.
pub const SCHEMA: &str = "delaylab/ping-stream/3";

/// One line.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(title = "delaylab ping, one line")]
enum Line<'a> {
    /// The first: what runs.
    Start(Start<'a>),
    /// One packet, as soon as its record is whole. What was not stamped is null, never zero.
    RoundTrip(Row<'a>),
    /// The last: the results.
    Summary(&'a Results<'a>),
}

#[derive(Serialize, JsonSchema)]
struct Start<'a> {
    /// Name and version of the lines' shape.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Version of delaylab.
    version: &'static str,
    #[serde(flatten)]
    head: &'a Head<'a, Config<'a>>,
    /// How to read the packets.
    facts: &'a RecordFacts,
}

/// Writes the lines. Each is one `write_all` on `out`: a reader sees a packet at once. Wrap `out`
/// in a buffer where throughput matters more.
pub struct StreamWriter<'a, W: Write> {
    out: W,
    head: Head<'a, Config<'a>>,
    facts: RecordFacts,
    line: Vec<u8>,
}

impl<'a, W: Write> StreamWriter<'a, W> {
    /// Writes to `out` what runs under `head`.
    pub fn new(out: W, head: Head<'a, Config<'a>>) -> Self {
        Self {
            out,
            head,
            facts: RecordFacts::default(),
            line: Vec::with_capacity(1024),
        }
    }

    /// Hands on what `out` keeps back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the last line.
    pub fn summary(&mut self, ping: &Ping<'_>) -> io::Result<()> {
        let results = Results::of_ping(ping);
        write_line(&mut self.out, &mut self.line, &Line::Summary(&results))?;
        self.out.flush()
    }
}

impl<W: Write> Sink for StreamWriter<'_, W> {
    fn begin(&mut self, _probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.facts = *facts;
        let head = &self.head;
        let start = Start {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            head,
            facts,
        };
        write_line(&mut self.out, &mut self.line, &Line::Start(start))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let facts = &self.facts;
        let line = Line::RoundTrip(Row { record, facts });
        write_line(&mut self.out, &mut self.line, &line)
    }
}

fn write_line(out: &mut impl Write, buffer: &mut Vec<u8>, line: &Line<'_>) -> io::Result<()> {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, line)?;
    buffer.push(b'\n');
    out.write_all(buffer)
}

/// The JSON Schema (draft 2020-12) of one line.
pub fn schema() -> serde_json::Value {
    schema_of::<Line<'_>>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{full, samples, system_info};
    use serde_json::Value;

    fn lines(sample: &crate::samples::Sample) -> Vec<Value> {
        let info = system_info();
        let head = Head {
            system_info: &info,
            config: Config::new("10.0.0.2", &sample.run),
            supplied: &[],
        };
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::new(&mut bytes, head);
        writer.begin(0, &sample.facts.records).unwrap();
        for record in &sample.records {
            writer.record(record).unwrap();
        }
        writer.summary(&sample.ping()).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn every_line_keeps_to_the_schema() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for (name, sample) in samples() {
            for line in lines(&sample) {
                let errors: Vec<_> = validator
                    .iter_errors(&line)
                    .map(|e| e.to_string())
                    .collect();
                assert!(errors.is_empty(), "{name}: {line} {errors:#?}");
            }
        }
    }

    #[test]
    fn a_start_the_packets_in_order_and_a_summary() {
        let sample = full();
        let lines = lines(&sample);
        assert_eq!(lines.len(), sample.records.len() + 2);
        assert_eq!(lines[0]["type"], "start");
        assert_eq!(lines[0]["config"]["method"], "udp");
        for (line, record) in lines[1..].iter().zip(&sample.records) {
            assert_eq!(line["type"], "round_trip");
            assert_eq!(line["seq"], record.seq);
            assert_eq!(line["response_ns"].as_i64(), record.response());
        }
        let last = lines.last().unwrap();
        assert_eq!(last["type"], "summary");
        assert_eq!(last["stats"]["sent"], 500);
    }
}
