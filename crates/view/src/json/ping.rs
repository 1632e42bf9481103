//! The document of `delaylab ping --json`.

use super::{Config, Published, Results, UnderLoad};
use crate::columns::Row;
use crate::ping::Ping;
use delaylab_model::load::Direction;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The whole document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The results.
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

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/ping/3";
    const TITLE: &'static str = "delaylab ping";
}

impl<'a> Document<'a> {
    /// Of a finished trial and all of its records.
    pub fn new(ping: &Ping<'a>, records: &'a [Record]) -> Self {
        let facts = &ping.facts.records;
        Self {
            results: Results::of_ping(ping),
            round_trips: Rows { records, facts },
            under_load: None,
            each_way: None,
        }
    }

    /// With what came under load, of one way alone where it says so.
    #[must_use]
    pub fn under_load(mut self, way: Option<Direction>, under_load: UnderLoad<'a>) -> Self {
        let place = match way {
            None => &mut self.under_load,
            Some(Direction::Up) => &mut self.each_way.get_or_insert_default().up,
            Some(Direction::Down) => &mut self.each_way.get_or_insert_default().down,
        };
        *place = Some(under_load);
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{Sample, full, one, samples};
    use delaylab_model::probe::{Fill, Pacing};
    use serde_json::Value;

    fn document(sample: &Sample) -> Value {
        let document = Document::new(&sample.ping(), &sample.records);
        crate::json::valid(&document, Config::new("10.0.0.2", &sample.run))
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        for (_, sample) in samples() {
            document(&sample);
        }
        let mut odd = one();
        odd.run.probe.fill = Fill::Pattern(vec![1, 2]);
        odd.run.probe.pacing = Pacing::Wait { wait_ns: 0 };
        document(&odd);
    }

    #[test]
    fn working_latency_keeps_to_the_schema() {
        use crate::samples::{delayed, streams};
        use crate::working::Working;
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let under_load = UnderLoad::new(&working, &loaded.records);
        let document = Document::new(&working.idle, &idle.records)
            .under_load(Some(Direction::Down), under_load.clone())
            .under_load(None, under_load);
        let document = crate::json::valid(&document, Config::new("10.0.0.2", &idle.run));
        assert_eq!(document["each_way"]["up"], Value::Null);
        assert_eq!(document["each_way"]["down"], document["under_load"]);
        let under_load = &document["under_load"];
        assert_eq!(under_load["streams"][0]["goodput_bps"], 1e7);
        assert_eq!(under_load["grew"]["stage"], "forward_path");
        for stream in under_load["streams"].as_array().unwrap() {
            for name in ["congestion_control", "due_bytes", "lost", "reordered"] {
                let has_reason = stream["reasons"][name].is_string();
                assert_eq!(stream[name].is_null(), has_reason, "{name}: {stream}");
            }
        }
        assert!(under_load["round_trips"].as_array().unwrap().len() == loaded.records.len());
    }

    #[test]
    fn the_schema_refuses_what_we_never_write() {
        let validator = crate::json::validator::<Document<'_>>();
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
            "under_way",
        ] {
            assert!(document["stats"][count].is_u64(), "{count}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_null() {
        let mut sample = one();
        sample.summary.response.as_mut().unwrap().mean = f64::NAN;
        // There is none such in a summary: the schema has no null there.
        let document = Document::new(&sample.ping(), &sample.records);
        let line = crate::json::to_line(&document);
        let document: Value = serde_json::from_str(&line).unwrap();
        assert!(document["stats"]["response"]["mean_ns"].is_null());
    }

    #[test]
    fn what_has_no_round_trip_is_not_said_to_lack_answers_in_a_row() {
        let mut sample = one();
        sample.summary.round_trip = None;
        let document = document(&sample);
        let reasons = &document["stats"]["variation"]["reasons"];
        assert_eq!(reasons["mos"], "no round trip is known");
    }

    #[test]
    fn one_packet_reads_as_agreed() {
        let mut document = document(&one());
        document["version"] = "of this build".into();
        insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!(document) });
    }
}
