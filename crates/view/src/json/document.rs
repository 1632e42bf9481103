//! What every document has in common: the name and version of its shape, the version of delaylab, which host made it, what was
//! asked for, a JSON Schema that is published, and words for what occurs in several: an interval, a level of a factor.

use super::SystemInfo;
use delaylab_model::plan;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What a command prints for programs: one document at its end, or lines.
pub trait Published: Serialize + JsonSchema {
    /// Name and version of its shape: `delaylab/ping/3`.
    const SCHEMA: &'static str;
    /// The command that prints it.
    const TITLE: &'static str;
    /// What was asked for.
    type Config: Serialize + JsonSchema;
}

/// Which host made a document, and what for. Of several lines, one has it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Head<'a, C> {
    /// The host that made this document; where packets were measured for it, the measuring host.
    pub system_info: &'a SystemInfo,
    /// What was asked for: the settings that decide the result, as resolved where they were.
    pub config: C,
    /// The command line as typed.
    pub supplied: &'a [String],
}

/// A document with its head.
#[derive(Serialize, JsonSchema)]
pub struct WithHead<'a, T: Published> {
    #[serde(flatten)]
    head: Head<'a, T::Config>,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T: Published> WithHead<'a, T> {
    /// Of these.
    pub const fn new(head: Head<'a, T::Config>, body: &'a T) -> Self {
        Self { head, body }
    }
}

impl<T: Published> Published for WithHead<'_, T> {
    const SCHEMA: &'static str = T::SCHEMA;
    const TITLE: &'static str = T::TITLE;
    type Config = T::Config;
}

/// One JSON document, or one of its lines. Times are nanoseconds, and their names end in `_ns`; shares are 0 to 1. What is not
/// known is null: `reasons` of the same object says why, where that is known. What does not apply is left out. docs/json.md has
/// all rules.
#[derive(Serialize, JsonSchema)]
struct Named<'a, T> {
    /// Name and version of this document's shape.
    schema: &'static str,
    /// Version of delaylab.
    version: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T: Published> Named<'a, T> {
    const fn new(body: &'a T) -> Self {
        Self {
            schema: T::SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            body,
        }
    }
}

/// Writes it as one line. Wrap a file in a buffer first.
///
/// # Errors
/// Those of `out`.
pub fn write<T: Published>(document: &T, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, &Named::new(document))?;
    out.write_all(b"\n")
}

/// It as one line.
pub fn to_line<T: Published>(document: &T) -> String {
    let mut line = Vec::new();
    // Memory takes whatever is written, and no key of ours is anything but text.
    let written = write(document, &mut line);
    debug_assert!(written.is_ok());
    String::from_utf8(line).unwrap_or_default()
}

/// The JSON Schema (draft 2020-12) of a document, with its head.
pub fn schema<T: Published>() -> Value {
    line_schema::<WithHead<'_, T>>()
}

/// The JSON Schema (draft 2020-12) of lines.
pub fn line_schema<T: Published>() -> Value {
    let mut schema = schema_of::<Named<'_, T>>();
    schema["title"] = T::TITLE.into();
    schema["properties"]["schema"]["const"] = T::SCHEMA.into();
    schema
}

/// The JSON Schema (draft 2020-12) of what a type writes.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(PlainText);
    let mut schema: Value = settings.into_generator().into_root_schema_for::<T>().into();
    // A version may add methods: to a reader of documents that is older they are names like the others.
    if let Some(Value::Object(method)) = schema.pointer_mut("/$defs/Method") {
        method.remove("oneOf");
        method.insert("type".to_owned(), "string".into());
    }
    schema
}

/// Takes the marks of rustdoc links out of descriptions.
#[derive(Debug, Clone)]
struct PlainText;

impl Transform for PlainText {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        transform_subschemas(self, schema);
    }
}

/// A value, or why there is none: null in a document, where `reasons` of the same object has the reason under the field's
/// name, as `with_reasons!` makes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured<T> {
    /// The value.
    Known(T),
    /// Why there is none.
    Missing(String),
}

impl<T> Measured<T> {
    /// The value, or this reason.
    pub fn or(value: Option<T>, why: impl FnOnce() -> String) -> Self {
        value.map_or_else(|| Self::Missing(why()), Self::Known)
    }

    /// The value, if there is one.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// Why there is none.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Missing(why) => Some(why),
        }
    }
}

impl<T> From<Result<T, String>> for Measured<T> {
    fn from(value: Result<T, String>) -> Self {
        value.map_or_else(Self::Missing, Self::Known)
    }
}

impl<T: Serialize> Serialize for Measured<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::Missing(_) => serializer.serialize_none(),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Measured<T> {
    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        Option::<T>::inline_schema()
    }
}

/// Why fields of the same object are null, by field.
pub type Reasons = BTreeMap<&'static str, String>;

/// The reasons of the fields that have one.
pub fn reasons<const N: usize>(fields: [(&'static str, Option<&str>); N]) -> Reasons {
    let missing = |(name, why): (&'static str, Option<&str>)| Some((name, why?.to_owned()));
    fields.into_iter().filter_map(missing).collect()
}

/// What is there whatever happens, or null for a reason that its documentation has. [`Measured`] has a method of the same name,
/// which goes before this one.
pub(crate) trait NeverMissing {
    /// No reason.
    fn missing(&self) -> Option<&str> {
        None
    }
}

impl<T: ?Sized> NeverMissing for T {}

/// A struct with all its fields but `reasons`, which is made of those of them that are [`Measured`]: none can be left out.
macro_rules! with_reasons {
    ($kind:ident { $($field:ident $(: $value:expr)?),+ $(,)? }) => {{
        // Of no use where every field is measured.
        #[allow(unused_imports)]
        use $crate::json::NeverMissing as _;
        let mut made = $kind {
            $($field $(: $value)?,)+
            reasons: $crate::json::Reasons::new(),
        };
        made.reasons = $crate::json::reasons([$((stringify!($field), made.$field.missing())),+]);
        made
    }};
}
pub(crate) use with_reasons;

/// Times in documents are whole nanoseconds.
pub(crate) fn whole(value: f64) -> i64 {
    value.round() as i64
}

/// A level for each factor, by the factor's name.
pub type Levels<'a> = BTreeMap<&'a str, &'a plan::Level>;

/// The levels of these factors.
pub fn levels(factors: &[plan::Factor]) -> Levels<'_> {
    let levels = factors.iter().map(|(name, level)| (name.as_str(), level));
    levels.collect()
}

/// A number of 64 bits as text: many readers of JSON keep 53.
pub(crate) fn seed<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(seed)
}

/// The same of one that may not be there.
pub(crate) fn some_seed<S: Serializer>(
    seed: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    seed.map(|seed| seed.to_string()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sample<'a> {
        name: &'a str,
        known: Measured<u8>,
        missing: Measured<u8>,
        absent: Option<u8>,
        reasons: Reasons,
    }

    #[test]
    fn each_missing_value_has_its_reason_and_nothing_else_has_one() {
        let absent = None;
        let sample = with_reasons!(Sample {
            name: "x",
            known: Measured::Known(1),
            missing: Measured::Missing("lost".to_owned()),
            absent,
        });
        assert_eq!(
            sample.reasons,
            Reasons::from([("missing", "lost".to_owned())])
        );
        assert_eq!(sample.known.missing(), None);
        assert_eq!(sample.missing.missing(), Some("lost"));
        assert_eq!((sample.name, sample.absent), ("x", None));
    }
}
