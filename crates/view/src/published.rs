//! **The** list of what is published: every shape that a command prints for programs.

use crate::json::{ping, run, schema};
use crate::{calibration, cells, check, compare, explain, import, list, stream, trace, verify};
use delaylab_live::doctor::Checkup;
use serde_json::Value;

/// A shape that is published.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// What `delaylab schema` calls it.
    pub name: &'static str,
    /// What prints it.
    pub printed_by: &'static str,
    /// Its JSON Schema (draft 2020-12).
    pub schema: fn() -> Value,
}

const fn listed(name: &'static str, printed_by: &'static str, schema: fn() -> Value) -> Listed {
    Listed {
        name,
        printed_by,
        schema,
    }
}

/// Every shape. A new one is a line here.
pub const PUBLISHED: &[Listed] = &[
    listed("ping", "ping --json", schema::<ping::Document<'_>>),
    listed(
        "ping-stream",
        "a line of ping --json-stream",
        stream::schema,
    ),
    listed("run", "a line of run --json", schema::<run::Line<'_>>),
    listed("trace", "trace --json", schema::<trace::json::Document<'_>>),
    listed(
        "explain",
        "explain --json",
        schema::<explain::json::Document<'_>>,
    ),
    listed(
        "compare",
        "compare --json",
        schema::<compare::json::Document<'_>>,
    ),
    listed(
        "calibration",
        "calibrate --json",
        schema::<calibration::Calibration<'_>>,
    ),
    listed(
        "prediction",
        "predict --json",
        schema::<calibration::Predictions<'_>>,
    ),
    listed("cells", "cells --json", schema::<cells::Document<'_>>),
    listed("import", "import --json", schema::<import::Document<'_>>),
    listed("check", "check --json", schema::<check::Document<'_>>),
    listed("list", "list --json", schema::<list::Document>),
    listed(
        "procedures",
        "bench list --json",
        schema::<list::Procedures>,
    ),
    listed("doctor", "doctor --json", schema::<Checkup>),
    listed("verify", "verify --json", schema::<verify::Document<'_>>),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    /// `ping-2.json` of a schema whose documents say that they are `delaylab/ping/2`.
    fn file(listed: &Listed, schema: &Value) -> String {
        let text = schema.to_string();
        let name = format!("\"const\":\"delaylab/{}/", listed.name);
        let (_, rest) = text.split_once(&name).unwrap();
        let (version, _) = rest.split_once('"').unwrap();
        format!("{}-{version}.json", listed.name)
    }

    #[test]
    fn the_published_schemas_are_these() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        for listed in PUBLISHED {
            let schema = (listed.schema)();
            let name = file(listed, &schema);
            let path = folder.join(&name);
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
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
