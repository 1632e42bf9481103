//! **The** list of what is published: every shape that a command prints for programs.

use super::{document, ping, run};
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
    listed(
        "ping",
        "ping --json",
        document::schema::<ping::Document<'_>>,
    ),
    listed(
        "ping-stream",
        "a line of ping --json-stream",
        stream::schema,
    ),
    listed(
        "run",
        "a line of run --json",
        document::schema::<run::Line<'_>>,
    ),
    listed(
        "trace",
        "trace --json",
        document::schema::<trace::json::Document<'_>>,
    ),
    listed(
        "explain",
        "explain --json",
        document::schema::<explain::json::Document<'_>>,
    ),
    listed(
        "compare",
        "compare --json",
        document::schema::<compare::json::Document<'_>>,
    ),
    listed(
        "calibration",
        "calibrate --json",
        document::schema::<calibration::Calibration<'_>>,
    ),
    listed(
        "prediction",
        "predict --json",
        document::schema::<calibration::Predictions<'_>>,
    ),
    listed(
        "cells",
        "cells --json",
        document::schema::<cells::Document<'_>>,
    ),
    listed(
        "import",
        "import --json",
        document::schema::<import::Document<'_>>,
    ),
    listed(
        "check",
        "check --json",
        document::schema::<check::Document<'_>>,
    ),
    listed("list", "list --json", document::schema::<list::Document>),
    listed(
        "procedures",
        "bench list --json",
        document::schema::<list::Procedures>,
    ),
    listed("doctor", "doctor --json", document::schema::<Checkup>),
    listed(
        "verify",
        "verify --json",
        document::schema::<verify::Document<'_>>,
    ),
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
