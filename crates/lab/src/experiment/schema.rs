//! The experiment file's JSON Schema, for editors. `delaylab check` also checks what a schema cannot
//! express: units, paths, and which fields go together.

use delaylab_model::experiment::{ResolvedSection, Sections, WorldName};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

/// Keys that are only allowed at the top of a file. The comments of fields are part of the published schema.
#[derive(JsonSchema)]
#[allow(dead_code)] // only its schema is wanted
struct Header {
    /// The run's folder is called by it.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    name: String,
    /// One line.
    title: Option<String>,
    /// What it is about.
    about: Option<String>,
    /// Where it runs unless the command line says otherwise. live by default.
    world: Option<WorldName>,
    /// Where its random numbers come from. Drawn and recorded by default; 1 in sim.
    #[schemars(range(min = 0, max = 9_223_372_036_854_775_807_i64))]
    seed: Option<i64>,
    /// Written by a run.
    resolved: Option<ResolvedSection>,
}

/// JSON Schema of an experiment file.
pub fn schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let sections = properties::<Sections>(&mut generator);
    let header = properties::<Header>(&mut generator);
    let definitions = definitions(&mut generator);

    let partial = |value: &Value| partial_references(value.clone());
    let overlay: serde_json::Map<_, _> = sections
        .iter()
        .map(|(key, section)| (key.clone(), partial(section)))
        .collect();
    let mut in_world = overlay.clone();
    in_world.insert("quick".to_owned(), json!({ "$ref": "#/$defs/Quick" }));
    let mut top: serde_json::Map<_, _> = header.into_iter().chain(sections).collect();
    top.insert("quick".to_owned(), json!({ "$ref": "#/$defs/Quick" }));
    top.insert("in".to_owned(), json!({ "$ref": "#/$defs/In" }));

    let mut all = serde_json::Map::new();
    for (name, definition) in definitions {
        all.insert(
            format!("Partial{name}"),
            without_required(partial(&definition)),
        );
        all.insert(name, definition);
    }
    let world = object("What one world has instead or in addition.", in_world);
    let worlds = WorldName::ALL.map(|name| (name.name().to_owned(), world.clone()));
    all.insert(
        "Quick".to_owned(),
        object("What the short form has instead or in addition.", overlay),
    );
    all.insert(
        "In".to_owned(),
        object(
            "What the worlds have instead or in addition.",
            worlds.into_iter().collect(),
        ),
    );
    let mut schema = object("An experiment of delaylab.", top);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Experiment");
    schema["required"] = json!(["name", "probe"]);
    schema["$defs"] = Value::Object(all);
    Schema::try_from(schema).unwrap_or_default()
}

fn object(description: &str, properties: serde_json::Map<String, Value>) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn properties<T: JsonSchema>(generator: &mut SchemaGenerator) -> serde_json::Map<String, Value> {
    let schema = T::json_schema(generator);
    match schema.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        _ => serde_json::Map::new(),
    }
}

fn definitions(generator: &mut SchemaGenerator) -> serde_json::Map<String, Value> {
    generator.take_definitions(true)
}

/// Redirects every `$ref` to the partial definition, `PartialNAME`.
fn partial_references(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| match (key.as_str(), &value) {
                    ("$ref", Value::String(to)) => {
                        let to = to.replace("#/$defs/", "#/$defs/Partial");
                        (key, Value::String(to))
                    }
                    _ => (key, partial_references(value)),
                })
                .collect(),
        ),
        Value::Array(values) => values.into_iter().map(partial_references).collect(),
        other => other,
    }
}

/// Makes every field optional except `name` and `id`, by which an overlay finds its element.
fn without_required(mut definition: Value) -> Value {
    if let Some(Value::Array(required)) = definition.get_mut("required") {
        required.retain(|field| field == "name" || field == "id");
    }
    definition
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    #[test]
    fn the_published_schema_is_this() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/experiment.json");
        let schema = serde_json::to_value(schema()).unwrap();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            std::fs::write(&path, text).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap();
        let published: Value = serde_json::from_str(&published).unwrap();
        assert!(
            schema == published,
            "it differs: run the tests with UPDATE_SCHEMA=1"
        );
    }

    #[test]
    fn it_takes_the_catalogue_and_refuses_what_is_not_one() {
        let schema = serde_json::to_value(schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for entry in super::super::catalogue::catalogue() {
            let file: toml::Table = toml::from_str(entry.text).unwrap();
            let file = serde_json::to_value(file).unwrap();
            let errors: Vec<_> = validator
                .iter_errors(&file)
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}", entry.place);
        }
        assert!(!validator.is_valid(&json!({ "name": "x", "probe": [{ "nam": "echo" }] })));
        assert!(!validator.is_valid(&json!({ "name": "x", "probe": [], "in": { "mars": {} } })));
    }
}
