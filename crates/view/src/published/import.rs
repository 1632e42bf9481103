//! What was imported, as one JSON document, and its JSON Schema.
//!
//! Times are nanoseconds, shares 0 to 1; what is not known is null.

use crate::json::{Amount, Measured, Published, Reasons, with_reasons};
use delaylab_explain::import::{self, Disagreement, Imported, PrintedFigure};
use delaylab_model::Nanos;
use delaylab_model::plan::Unit;
use delaylab_stats::summary::Counts;
use schemars::JsonSchema;
use serde::Serialize;

/// What `delaylab import --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The format that was read.
    pub format: &'static str,
    /// The other tool's version, where the file says it.
    pub tool_version: Measured<&'a str>,
    /// The run that was made.
    pub folder: &'a str,
    /// Its page, if it has one.
    pub report: Measured<&'a str>,
    /// One for each target, hop or connection.
    pub streams: Vec<StreamShown<'a>>,
    /// The tool's own figures, next to those of its packets.
    pub said: Vec<Figure<'a>>,
    /// Where the two differ by more than rounding.
    pub disagreements: Vec<Disagrees<'a>>,
    /// What to check before trusting the records, in sentences.
    pub warnings: &'a [String],
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The file as typed; `-` is standard input.
    pub file: String,
    /// The format as typed; null: recognised by its content.
    pub format: Option<String>,
    /// The columns of a table, where they were typed.
    pub columns: &'a [String],
    /// How many nanoseconds the unit of a table's delays has, where it was typed; null: as the table says.
    pub unit_ns: Option<Nanos>,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/import/3";
    const TITLE: &'static str = "delaylab import";
}

/// The packets of one target, hop or connection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Stream")]
pub struct StreamShown<'a> {
    /// Its name.
    pub name: &'a str,
    /// The target, hop or connection to which its packets went.
    pub target: &'a str,
    /// `icmp`, `udp`, `tcp`, …
    pub method: &'static str,
    /// How packets ended.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A figure that the tool printed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Figure<'a> {
    /// Of which stream.
    pub stream: &'a str,
    /// What it is, in words: `mean round trip`.
    pub what: String,
    /// As the tool has it.
    pub theirs: Amount,
    /// The same made of its packets.
    pub ours: Measured<Amount>,
    /// Unit of `theirs` and `ours`.
    pub unit: Unit,
    /// As it was printed.
    pub printed: &'a str,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A figure of the tool that its packets do not give.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Disagrees<'a> {
    /// Of which stream.
    pub stream: &'a str,
    /// What it is, in words: `mean round trip`.
    pub what: String,
    /// As the tool has it.
    pub theirs: Amount,
    /// As its packets give it.
    pub ours: Amount,
    /// Unit of `theirs` and `ours`.
    pub unit: Unit,
    /// In words.
    pub sentence: &'a str,
}

impl<'a> Document<'a> {
    /// Of a file's content, now a run in `folder`, with its page at `report`, or why it has none.
    pub fn new(
        imported: &'a Imported,
        disagreements: &'a [Disagreement],
        folder: &'a str,
        report: Measured<&'a str>,
    ) -> Self {
        let (streams, said) = (imported.streams.iter(), imported.said.iter());
        let disagreements = disagreements.iter();
        with_reasons!(Self {
            format: imported.format.name,
            tool_version: Measured::or(imported.version.as_deref(), || {
                "the file does not say it".to_owned()
            }),
            folder,
            report,
            streams: streams.map(StreamShown::new).collect(),
            said: said.map(|said| Figure::new(imported, said)).collect(),
            disagreements: disagreements
                .map(|disagreement| Disagrees::new(imported, disagreement))
                .collect(),
            warnings: &imported.warnings,
        })
    }
}

/// The name of a stream by its index; empty where there is none.
pub fn stream_name(imported: &Imported, stream: usize) -> &str {
    let stream = imported.streams.get(stream);
    stream.map_or("", |stream| stream.name.as_str())
}

impl<'a> StreamShown<'a> {
    fn new(stream: &'a import::ImportedStream) -> Self {
        Self {
            name: &stream.name,
            target: &stream.target,
            method: stream.method.name(),
            counts: stream.records.counts(),
        }
    }
}

impl<'a> Figure<'a> {
    fn new(imported: &'a Imported, said: &'a PrintedFigure) -> Self {
        with_reasons!(Self {
            stream: stream_name(imported, said.stream),
            what: said.what.to_string(),
            theirs: said.value.into(),
            ours: Measured::or(said.ours.map(Amount::from), || {
                "the file does not have every packet that the tool counted".to_owned()
            }),
            unit: said.unit,
            printed: &said.printed,
        })
    }
}

impl<'a> Disagrees<'a> {
    fn new(imported: &'a Imported, disagreement: &'a Disagreement) -> Self {
        Self {
            stream: stream_name(imported, disagreement.stream),
            what: disagreement.what.to_string(),
            theirs: disagreement.said.into(),
            ours: disagreement.ours.into(),
            unit: disagreement.unit,
            sentence: &disagreement.sentence,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::Value;

    const SAMPLES: [&str; 4] = ["ping.txt", "irtt.json", "mtr.csv", "icmp.pcapng"];

    #[test]
    fn every_document_keeps_to_the_schema() {
        let validator = crate::json::validator::<Document<'_>>();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = folder.join("../explain/tests/data/import");
        for name in SAMPLES {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            let imported = import::read(&bytes, None).unwrap();
            let disagreements = import::check(&imported);
            let document = Document::new(
                &imported,
                &disagreements,
                "runs/x",
                Measured::Known("runs/x/report.html"),
            );
            let config = Config {
                file: name.to_owned(),
                format: None,
                columns: &[],
                unit_ns: None,
            };
            let document = crate::json::valid(&document, config);
            let mut broken = document.clone();
            broken["streams"] = Value::Null;
            assert!(!validator.is_valid(&broken));
            let said = document["said"].as_array().unwrap().iter();
            let mut counts = said.filter(|said| said["unit"] == "packets");
            assert!(counts.all(|said| said["theirs"].is_u64()), "{document}");
        }
    }
}
