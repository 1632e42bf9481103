//! Deserializes types from the tree with serde. Errors keep the place of the value that caused them.

use super::diagnostic::{Origin, Problem};
use super::tree::{Entry, Node, Value};
use crate::suggest::choices;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use std::fmt;

/// Deserializes a value of type `T` from a node.
pub(crate) fn read<'de, T: de::Deserialize<'de>>(node: &'de Node) -> Result<T, Problem> {
    T::deserialize(node).map_err(|error| error.at(&node.at).problem(&node.at))
}

/// A serde error with the place of the innermost node in which it happened.
#[derive(Debug)]
pub(crate) struct ReadError {
    at: Option<Origin>,
    message: String,
    help: Option<String>,
}

impl ReadError {
    fn new(message: String, help: Option<String>) -> Self {
        Self {
            at: None,
            message,
            help,
        }
    }

    /// Sets the place, unless an inner node has set it already.
    fn at(mut self, at: &Origin) -> Self {
        self.at.get_or_insert_with(|| at.clone());
        self
    }

    fn problem(self, otherwise: &Origin) -> Problem {
        Problem {
            at: self.at.unwrap_or_else(|| otherwise.clone()),
            message: self.message,
            help: self.help,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string(), None)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = plain(&expected.to_string());
        let message = format!("expected {expected}, found {}", in_words(found));
        Self::new(message, None)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let help = choices(variant, expected.iter().copied());
        Self::new(format!("`{variant}` is not a choice here"), help)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let help = choices(field, expected.iter().copied());
        Self::new(format!("unknown key `{field}`"), help)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("`{field}` is missing"), None)
    }
}

/// What serde expected, without Rust type names.
fn plain(expected: &str) -> String {
    match expected {
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" => "a whole number, 0 or more".to_owned(),
        "a string" | "a borrowed string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// The digits of a number; nothing of any other value.
fn number_in_words(value: &Value) -> String {
    match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Float(number) => number.to_string(),
        _ => String::new(),
    }
}

fn in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(truth) => format!("`{truth}`"),
        Unexpected::Signed(number) => format!("`{number}`"),
        Unexpected::Unsigned(number) => format!("`{number}`"),
        // With its point: a whole number is another thing.
        Unexpected::Float(number) => format!("`{number:?}`"),
        Unexpected::Str(text) => format!("text `{text}`"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match &self.value {
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Integer(integer) => visitor.visit_i64(*integer),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Array(nodes) => visitor.visit_seq(Elements(nodes.iter())),
            Value::Table(table) => visitor.visit_map(Entries {
                entries: table.0.iter(),
                value: None,
            }),
        };
        read.map_err(|error| error.at(&self.at))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        // A choice that reads as a number, such as version 2 of HTTP, needs no quotes.
        let number = number_in_words(&self.value);
        let named = variants.iter().find(|variant| **variant == number);
        let read = match (&self.value, named) {
            (Value::Text(text), _) => visitor.visit_enum(Choice(text)),
            (_, Some(variant)) => visitor.visit_enum(Choice(variant)),
            (other, None) => {
                let message = format!("expected a choice, found {}", other.kind());
                let help = choices(&number, variants.iter().copied());
                Err(ReadError::new(message, help))
            }
        };
        read.map_err(|error| error.at(&self.at))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.0.next().map(|node| seed.deserialize(node)).transpose()
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(&entry.node);
        let key = de::value::BorrowedStrDeserializer::<ReadError>::new(&entry.key);
        seed.deserialize(key)
            .map(Some)
            .map_err(|error| error.at(&entry.key_at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        match self.value.take() {
            Some(node) => seed.deserialize(node).map_err(|error| error.at(&node.at)),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }
}

/// Deserializes an enum that has only unit variants, from the name of a variant.
struct Choice<'de>(&'de str);

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let name = de::value::BorrowedStrDeserializer::<ReadError>::new(self.0);
        seed.deserialize(name).map(|variant| (variant, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ReadError> {
        Err(only_names(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(only_names(self.0))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(only_names(self.0))
    }
}

fn only_names(name: &str) -> ReadError {
    de::Error::custom(format!("`{name}` takes more than its name"))
}
