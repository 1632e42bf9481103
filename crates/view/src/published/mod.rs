//! **The** list of what is published: every shape that a command prints for programs. What is only a document stands in a file
//! here; others stand with what they are of.
//!
//! The program has the schemas as the files of `docs/schema`, packed by `build.rs`: what makes them from the types takes ten times
//! as much room. A test holds each file against its type.

pub mod cells;
pub mod check;
pub mod doctor;
pub mod import;
pub mod list;
pub mod verify;

use flate2::read::GzDecoder;
use std::io::{self, Read};
#[cfg(test)]
use {
    crate::json::{line_schema, ping, run, schema},
    crate::{calibration, compare, explain, stream, trace},
    delaylab_live::doctor::Checkup,
    serde_json::Value,
};

/// A shape that is published.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// What `delaylab schema` calls it.
    pub name: &'static str,
    /// What prints it.
    pub printed_by: &'static str,
    /// Its JSON Schema (draft 2020-12), as gzip.
    packed: &'static [u8],
    /// That schema, made from the type.
    #[cfg(test)]
    made: fn() -> Value,
}

impl Listed {
    /// Its JSON Schema (draft 2020-12).
    pub fn schema(&self) -> io::Result<String> {
        let mut text = String::new();
        GzDecoder::new(self.packed).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Its name, what prints it, its version, and what makes its schema from the type. Of a new one an empty file in `docs/schema` is
/// enough to begin with: the test below writes it.
macro_rules! listed {
    ($name:literal, $printed_by:literal, $version:literal, $schema:expr) => {
        Listed {
            name: $name,
            printed_by: $printed_by,
            packed: include_bytes!(concat!(
                env!("OUT_DIR"),
                "/",
                $name,
                "-",
                $version,
                ".json.gz"
            )),
            #[cfg(test)]
            made: $schema,
        }
    };
}

/// Every shape. A new one is a line here, its file and its `mod`.
#[rustfmt::skip]
pub const PUBLISHED: &[Listed] = &[
    listed!("ping", "ping --json", 3, schema::<ping::Document<'_>>),
    listed!("ping-stream", "a line of ping --json-stream", 3, stream::schema),
    listed!("run", "a line of run --json", 5, line_schema::<run::Line<'_>>),
    listed!("trace", "trace --json", 2, schema::<trace::json::Document<'_>>),
    listed!("explain", "explain --json", 3, schema::<explain::json::Document<'_>>),
    listed!("compare", "compare --json", 3, schema::<compare::json::Document<'_>>),
    listed!("calibration", "calibrate --json", 3, schema::<calibration::Calibration<'_>>),
    listed!("prediction", "predict --json", 3, schema::<calibration::Predictions<'_>>),
    listed!("cells", "cells --json", 3, schema::<cells::Document<'_>>),
    listed!("import", "import --json", 3, schema::<import::Document<'_>>),
    listed!("check", "check --json", 3, schema::<check::Document<'_>>),
    listed!("list", "list --json", 1, schema::<list::Document>),
    listed!("procedures", "bench list --json", 1, schema::<list::Procedures>),
    listed!("doctor", "doctor --json", 2, schema::<Checkup>),
    listed!("verify", "verify --json", 2, schema::<verify::Document<'_>>),
];

/// The shape of an experiment file, which has no version. A test of `delaylab_lab` holds it against its type.
pub const EXPERIMENT: &Listed = &Listed {
    name: "experiment",
    printed_by: "an experiment file, for run and check",
    packed: include_bytes!(concat!(env!("OUT_DIR"), "/experiment.json.gz")),
    #[cfg(test)]
    made: || Value::Null,
};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    #[test]
    fn the_published_schemas_are_these() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        let made = PUBLISHED.iter().map(|listed| (listed, (listed.made)()));
        let made =
            made.map(|(listed, schema)| (listed, folder.join(file_name(listed, &schema)), schema));
        let made: Vec<_> = made.collect();
        // All of them, before one that differs ends this.
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            for (_, file, schema) in &made {
                let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
                std::fs::write(file, text).unwrap();
            }
        }
        for (listed, file, schema) in made {
            let published = std::fs::read_to_string(&file).unwrap();
            let as_value: Value = serde_json::from_str(&published).unwrap();
            let is_packed = listed.schema().unwrap() == published;
            assert!(
                schema == as_value && is_packed,
                "{} differs: run the tests with UPDATE_SCHEMA=1, then again",
                file.display()
            );
        }
    }

    /// Each property of any object in it, by its name.
    fn properties<'a>(schema: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
        let within: Vec<&Value> = match schema {
            Value::Object(fields) => {
                let own = fields.get("properties").and_then(Value::as_object);
                found.extend(
                    own.into_iter()
                        .flatten()
                        .map(|(name, it)| (name.as_str(), it)),
                );
                fields.values().collect()
            }
            Value::Array(values) => values.iter().collect(),
            _ => Vec::new(),
        };
        within.iter().for_each(|value| properties(value, found));
    }

    /// Figures of these stand in an object of the measure's name.
    const MEASURES: [&str; 6] = [
        "response_p",
        "response_mean",
        "round_trip_p",
        "network_p",
        "host_p",
        "above_p",
    ];

    /// As docs/json.md has it under "Rules".
    #[test]
    fn all_have_one_vocabulary() {
        for listed in PUBLISHED {
            let schema = (listed.made)();
            let mut found = Vec::new();
            properties(&schema, &mut found);
            for (name, property) in found {
                let kind = property["type"].to_string();
                let is_as_agreed = match name {
                    "sent" | "received" | "lost" | "duplicate" | "excursions" => {
                        kind.contains("integer")
                    }
                    "sentence" | "reason" => kind.contains("string"),
                    "verdict" => kind.contains("string") || property["$ref"].is_string(),
                    "flaws" | "warnings" => kind.contains("array"),
                    "interval" => !kind.contains("array"),
                    "ns" | "problems" | "cannot_tell" | "why" => false,
                    name => {
                        let is_of_a_side = name.ends_with("_a") || name.ends_with("_b");
                        let mut measures = MEASURES.iter();
                        let is_flat = measures.any(|measure| name.starts_with(measure));
                        !is_of_a_side && !is_flat
                    }
                };
                assert!(is_as_agreed, "{}: {name}: {property}", listed.name);
            }
        }
    }

    /// Each object in it.
    fn objects<'a>(schema: &'a Value, found: &mut Vec<&'a Value>) {
        if schema["properties"].is_object() {
            found.push(schema);
        }
        let within: Vec<&Value> = match schema {
            Value::Object(fields) => fields.values().collect(),
            Value::Array(values) => values.iter().collect(),
            _ => Vec::new(),
        };
        within.into_iter().for_each(|value| objects(value, found));
    }

    fn may_be_null(property: &Value) -> bool {
        let kinds = [&property["type"], &property["anyOf"]];
        let kinds = kinds.into_iter().filter_map(Value::as_array).flatten();
        let mut kinds = kinds.map(|kind| kind.get("type").unwrap_or(kind));
        kinds.any(|kind| kind == "null")
    }

    fn names_null(described: &Value) -> bool {
        let text = described["description"].as_str().unwrap_or_default();
        text.to_lowercase().contains("null")
    }

    /// An object has `reasons` next to what may be null, or says what null means.
    #[test]
    fn what_may_be_null_says_why() {
        for listed in PUBLISHED {
            let schema = (listed.made)();
            let mut found = Vec::new();
            objects(&schema, &mut found);
            let found = found
                .into_iter()
                .filter(|object| object["properties"]["reasons"].is_null() && !names_null(object));
            for object in found {
                let required = object["required"].as_array().into_iter().flatten();
                for name in required.filter_map(Value::as_str) {
                    let property = &object["properties"][name];
                    let is_clear = !may_be_null(property) || names_null(property);
                    assert!(is_clear, "{}: {name}: {property}", listed.name);
                }
            }
        }
    }

    /// `ping-3.json`: its name, and the version in the schema.
    fn file_name(listed: &Listed, schema: &Value) -> String {
        let text = schema.to_string();
        let id = format!("\"const\":\"delaylab/{}/", listed.name);
        let (_, rest) = text.split_once(&id).unwrap();
        let (version, _) = rest.split_once('"').unwrap();
        format!("{}-{version}.json", listed.name)
    }
}
