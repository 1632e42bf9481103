//! One JSON document at the end of `delaylab ping --json`, and its JSON Schema.
//!
//! Whole nanoseconds for single values, numbers for means; names of times end in `_ns`. Never NaN:
//! what is not known is null, and where we know why, `reasons` in the same object says so under
//! the field's name.

mod config;
pub mod run;
mod stats;
mod working;

pub use config::{Config, SystemInfo};
pub use stats::Stats;
pub use working::UnderLoad;

use crate::columns::Row;
use crate::ping::Ping;
use delaylab_lab::finding::single::Answer;
use delaylab_model::Nanos;
use delaylab_model::load::Direction;
use delaylab_model::record::Record;
use delaylab_model::trial::{Delivery, ProbeFacts, ProbeRun, RecordFacts};
use delaylab_stats::summary::Summary;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Name and version of the document's shape.
pub const SCHEMA: &str = "delaylab/ping/1";

/// What ran, where, and as asked for how.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Head<'a> {
    /// Version of delaylab.
    pub version: &'a str,
    /// The measuring host.
    pub system_info: &'a SystemInfo,
    /// The settings as resolved.
    pub config: Config<'a>,
    /// The command line as typed.
    pub supplied: &'a [String],
}

impl<'a> Head<'a> {
    /// For a trial of `target`, as the user named it and typed it.
    pub fn new(
        target: &'a str,
        run: &'a ProbeRun,
        system_info: &'a SystemInfo,
        supplied: &'a [String],
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            system_info,
            config: Config::new(target, run),
            supplied,
        }
    }
}

/// What came of it, but for the packets themselves.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Results<'a> {
    /// Counts and distributions.
    pub stats: Stats,
    /// Each stamp of a record: did it come?
    pub stamps: BTreeMap<&'static str, Delivery>,
    /// What a reader needs to know to read the packets.
    pub facts: Facts,
    /// What to check before trusting the figures.
    pub warnings: &'a [String],
    /// What came of each condition of `--fail-if`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<Condition<'a>>,
}

/// A condition that the packets were held against.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition<'a> {
    /// As it was typed.
    pub condition: &'a str,
    /// The statistic; null where no packet has its measure.
    pub value: Option<f64>,
    /// What it is held against.
    pub bound: f64,
    /// Of both: `ns`, `B`, `1` for a share or a plain number.
    pub unit: &'a str,
    /// Values that the statistic is of.
    pub count: u64,
    /// Is the condition so? What cannot be told counts as that.
    pub failed: bool,
    /// The same in words.
    pub reason: &'a str,
}

impl<'a> Condition<'a> {
    fn new(answer: &'a Answer) -> Self {
        Self {
            condition: &answer.limit,
            value: answer.value,
            bound: answer.bound,
            unit: &answer.unit,
            count: answer.count,
            failed: answer.failed,
            reason: &answer.reason,
        }
    }
}

impl<'a> Results<'a> {
    /// Of a probe of a finished trial, held against these conditions.
    pub fn new(summary: &Summary, facts: &'a ProbeFacts, conditions: &'a [Answer]) -> Self {
        let stamps = facts.stamps.iter();
        Self {
            stats: Stats::new(summary, facts),
            stamps: stamps
                .map(|&(point, delivery)| (point.name(), delivery))
                .collect(),
            facts: Facts::new(facts),
            warnings: &facts.warnings,
            fail_if: conditions.iter().map(Condition::new).collect(),
        }
    }

    /// Of a finished ping.
    pub fn of_ping(ping: &Ping<'a>) -> Self {
        Self::new(ping.summary, ping.facts, ping.conditions)
    }
}

/// What a reader needs to know to read the packets.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Facts {
    /// Clock and residence of the reflector.
    #[serde(flatten)]
    pub records: RecordFacts,
    /// CLOCK_REALTIME − CLOCK_MONOTONIC at the start.
    pub realtime_offset_ns: Nanos,
    /// MTU of the path as this host knew it at the end, in bytes of an IP packet.
    pub path_mtu: Option<u32>,
    /// Replies that came after their packet had been closed, or that belong to none.
    pub strays: u64,
    /// Packets that arrived and were not replies to this probe.
    pub rejected: u64,
}

impl Facts {
    fn new(facts: &ProbeFacts) -> Self {
        Self {
            records: facts.records,
            realtime_offset_ns: facts.realtime_offset,
            path_mtu: facts.path_mtu,
            strays: facts.strays,
            rejected: facts.rejected,
        }
    }
}

/// The whole document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "delaylab ping")]
pub struct Document<'a> {
    /// Name and version of this shape.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// What ran.
    #[serde(flatten)]
    pub head: Head<'a>,
    /// What came of it.
    #[serde(flatten)]
    pub results: Results<'a>,
    /// Every packet.
    #[schemars(with = "Vec<Row>")]
    pub round_trips: Rows<'a>,
    /// The same under load, where load was asked for; with `--load rrul` under that of both ways at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_load: Option<UnderLoad<'a>>,
    /// With `--load rrul`: the same under the load of each way alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each_way: Option<EachWay<'a>>,
}

/// What came under the load of each way alone.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct EachWay<'a> {
    /// From this host to the reflector; null: it was not reached.
    pub up: Option<UnderLoad<'a>>,
    /// From the reflector to this host; null: it was not reached.
    pub down: Option<UnderLoad<'a>>,
}

/// Records, written one after the other without a copy.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// The packets.
    pub records: &'a [Record],
    /// How to read them.
    pub facts: &'a RecordFacts,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = self.facts;
        serializer.collect_seq(self.records.iter().map(|record| Row { record, facts }))
    }
}

impl<'a> Document<'a> {
    /// Of a finished trial and all of its records.
    pub fn new(head: Head<'a>, ping: &Ping<'a>, records: &'a [Record]) -> Self {
        let facts = &ping.facts.records;
        Self {
            schema: SCHEMA,
            head,
            results: Results::of_ping(ping),
            round_trips: Rows { records, facts },
            under_load: None,
            each_way: None,
        }
    }

    /// With what came under load, of one way alone where it says so.
    #[must_use]
    pub fn under_load(mut self, way: Option<Direction>, under_load: UnderLoad<'a>) -> Self {
        let each_way = || EachWay::default();
        let place = match way {
            None => &mut self.under_load,
            Some(Direction::Up) => &mut self.each_way.get_or_insert_with(each_way).up,
            Some(Direction::Down) => &mut self.each_way.get_or_insert_with(each_way).down,
        };
        *place = Some(under_load);
        self
    }

    /// Writes the document and a line feed. Wrap a file in a buffer first.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        write_line(self, out)
    }
}

/// A document under its name, with the version of delaylab that made it.
pub fn enveloped(schema: &str, body: serde_json::Value) -> serde_json::Value {
    let mut document = serde_json::json!({
        "schema": schema,
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let (Some(document), serde_json::Value::Object(body)) = (document.as_object_mut(), body) {
        document.extend(body);
    }
    document
}

/// Writes a document as one line.
pub(crate) fn write_line(document: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, document)?;
    out.write_all(b"\n")
}

/// The JSON Schema (draft 2020-12) of [`Document`].
pub fn schema() -> serde_json::Value {
    schema_of::<Document<'_>>()
}

/// The JSON Schema of what a type writes.
pub(crate) fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(PlainText);
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// Takes the marks of rustdoc links out of descriptions.
#[derive(Debug, Clone)]
struct PlainText;

impl Transform for PlainText {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(serde_json::Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{Sample, full, one, samples, system_info};
    use delaylab_model::probe::{Fill, Pacing};
    use serde_json::Value;
    use std::path::Path;

    fn document(sample: &Sample) -> Value {
        let (info, supplied) = (system_info(), ["ping".to_owned(), "10.0.0.2".to_owned()]);
        let head = Head::new("10.0.0.2", &sample.run, &info, &supplied);
        let mut text = Vec::new();
        let ping = sample.ping();
        Document::new(head, &ping, &sample.records)
            .write(&mut text)
            .unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for (name, sample) in samples() {
            let document = document(&sample);
            let errors: Vec<_> = validator
                .iter_errors(&document)
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
        }
        let mut odd = one();
        odd.run.probe.fill = Fill::Pattern(vec![1, 2]);
        odd.run.probe.pacing = Pacing::Wait { wait_ns: 0 };
        assert!(validator.is_valid(&document(&odd)));
    }

    #[test]
    fn working_latency_keeps_to_the_schema() {
        use crate::samples::{delayed, streams};
        use crate::working::Working;
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let (info, supplied) = (system_info(), ["ping".to_owned()]);
        let head = Head::new("10.0.0.2", &idle.run, &info, &supplied);
        let under_load = UnderLoad::new(&working, &loaded.records);
        let document = Document::new(head, &working.idle, &idle.records)
            .under_load(Some(Direction::Down), under_load.clone())
            .under_load(None, under_load);
        let document = serde_json::to_value(&document).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&document)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(document["each_way"]["up"], serde_json::Value::Null);
        assert_eq!(document["each_way"]["down"], document["under_load"]);
        let under_load = &document["under_load"];
        assert_eq!(under_load["streams"][0]["goodput_bps"], 1e7);
        assert_eq!(under_load["grew"]["stage"], "forward path");
        assert!(under_load["round_trips"].as_array().unwrap().len() == loaded.records.len());
    }

    #[test]
    fn the_schema_refuses_what_we_never_write() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let good = document(&one());
        for (pointer, bad) in [
            ("/schema", Value::from("delaylab/ping/2")),
            ("/stats/sent", Value::Null),
            ("/stats/response/p50_ns", Value::from(1.5)),
            ("/round_trips/0/outcome", Value::from("fine")),
            ("/round_trips/0/t_send_ns", Value::from("soon")),
        ] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = bad;
            assert!(!validator.is_valid(&document), "{pointer}");
        }
    }

    #[test]
    fn names_are_those_of_the_design() {
        let document = document(&full());
        for measure in ["response", "round_trip", "network", "host"] {
            for figure in [
                "min", "mean", "sd", "iqr", "p50", "p90", "p99", "p999", "max",
            ] {
                let pointer = format!("/stats/{measure}/{figure}_ns");
                let value = document.pointer(&pointer).unwrap();
                // Of 600 packets none carries p99.9.
                let expected = figure != "p999";
                assert_eq!(value.is_number(), expected, "{pointer}");
            }
        }
        for count in [
            "sent",
            "received",
            "lost",
            "late",
            "duplicate",
            "reordered",
            "skipped",
        ] {
            assert!(document["stats"][count].is_u64(), "{count}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_null() {
        let mut sample = one();
        sample.summary.response.as_mut().unwrap().mean = f64::NAN;
        assert!(document(&sample)["stats"]["response"]["mean_ns"].is_null());
    }

    #[test]
    fn one_packet_reads_as_agreed() {
        let mut document = document(&one());
        document["version"] = "of this build".into();
        insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!(document) });
    }

    #[test]
    fn the_published_schemas_are_these() {
        for (name, schema) in [
            ("ping-1.json", schema()),
            ("ping-stream-1.json", crate::stream::schema()),
            ("trace-1.json", crate::trace::json::schema()),
            ("explain-1.json", crate::explain::json::schema()),
            ("compare-1.json", crate::compare::json::schema()),
            ("import-2.json", crate::import::schema()),
            ("run-2.json", run::schema()),
            ("verify-1.json", crate::verify::schema()),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../docs/schema")
                .join(name);
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap();
            let published: Value = serde_json::from_str(&published).unwrap();
            assert!(
                schema == published,
                "{name} differs: run the tests with UPDATE_SCHEMA=1"
            );
        }
    }
}
