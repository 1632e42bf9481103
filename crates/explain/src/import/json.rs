//! JSON that may be cut short, as one document or many.

use super::decimal::{self, Time};
use super::{Format, ImportError, Imported, Input};
use delaylab_model::Nanos;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};
use std::fmt;
use std::marker::PhantomData;

/// Reads a document of this format.
pub fn read<T: DeserializeOwned>(bytes: &[u8], format: &'static Format) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| {
        if error.is_eof() {
            ImportError::CutShortJson {
                format: Some(format),
                line: lines(bytes),
            }
        } else {
            let reason = error.to_string();
            let has_more = reason.starts_with("trailing characters");
            ImportError::Json {
                format,
                line: error.line(),
                reason: match has_more {
                    true => "one document may be in a file, and more follows behind it".to_owned(),
                    false => reason,
                },
            }
        }
    })
}

/// Hands over each document of a file: those of an array, or one behind the other, as NDJSON has them.
/// What is whole of a file that was cut short behind one of them is read, and a warning says so.
pub fn each<T: DeserializeOwned>(
    input: Input<'_>,
    imported: &mut Imported,
    mut take: impl FnMut(&mut Imported, T),
) -> Result<(), ImportError> {
    let format = imported.format;
    let array = first(input.head()) == Some(b'[');
    let mut count = 0_u64;
    let mut reader = input.reader();
    let result = if array {
        let mut taken = |value: T| {
            count += 1;
            take(imported, value);
        };
        let mut documents = Deserializer::from_reader(&mut reader);
        Each(&mut taken, PhantomData).deserialize(&mut documents)
    } else {
        let mut documents = Deserializer::from_reader(&mut reader).into_iter::<T>();
        documents.try_for_each(|value| {
            let value = value?;
            count += 1;
            take(imported, value);
            Ok(())
        })
    };
    let Err(error) = result else { return Ok(()) };
    let line = error.line();
    if !error.is_eof() {
        return Err(ImportError::Json {
            format,
            line,
            reason: error.to_string(),
        });
    }
    if count == 0 {
        return Err(ImportError::CutShortJson {
            format: Some(format),
            line,
        });
    }
    imported.warn(format!(
        "the file ends in the middle of its JSON, in line {line}: what stands before was read"
    ));
    Ok(())
}

/// The documents of an array, one after the other.
struct Each<'t, T, F>(&'t mut F, PhantomData<T>);

impl<'de, T: DeserializeOwned, F: FnMut(T)> DeserializeSeed<'de> for Each<'_, T, F> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, documents: D) -> Result<(), D::Error> {
        documents.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T)> Visitor<'de> for Each<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of documents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        while let Some(value) = values.next_element::<T>()? {
            (self.0)(value);
        }
        Ok(())
    }
}

/// The first byte that is not blank.
fn first(bytes: &[u8]) -> Option<u8> {
    bytes
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .copied()
}

/// Does it begin as a JSON object or an array of objects does, with all these keys in its first part?
pub fn has_all(head: &[u8], keys: &[&str]) -> bool {
    matches!(first(head), Some(b'{' | b'[')) && {
        let text = super::text::head(head);
        let has = |key: &&str| text.contains(&format!("\"{key}\""));
        keys.iter().all(has)
    }
}

/// The text of a key.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The values of a key whose value is an array; none where it is none.
pub fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

/// The number of a key, or a text that is one, as it stands in the file.
pub fn digits(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The time of a key, which is in this unit.
pub fn time(value: &Value, key: &str, unit: Nanos) -> Option<Time> {
    decimal::any_time(&digits(value, key)?, unit)
}

/// The whole number of a key; `1.0`, as programs in Python may write it, is one.
pub fn whole_number<T: TryFrom<u64>>(value: &Value, key: &str) -> Option<T> {
    /// Up to here a float has every whole number.
    const EXACT: f64 = (1_u64 << 53) as f64;
    let value = value.get(key)?;
    let is_whole = |float: &f64| float.fract() == 0.0 && (0.0..=EXACT).contains(float);
    let number = value
        .as_u64()
        .or_else(|| Some(value.as_f64().filter(is_whole)? as u64))?;
    T::try_from(number).ok()
}

/// Of JSON that no reader knows: an error where it ends in the middle.
pub fn whole(bytes: &[u8]) -> Result<(), ImportError> {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(error) if error.is_eof() => Err(ImportError::CutShortJson {
            format: None,
            line: lines(bytes),
        }),
        _ => Ok(()),
    }
}

/// Does it begin as a JSON object does?
pub fn is(bytes: &[u8]) -> bool {
    first(bytes) == Some(b'{')
}

/// How many there are; what follows the last line feed is one if there is anything.
fn lines(bytes: &[u8]) -> usize {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.split(|&byte| byte == b'\n').count()
}

/// Does it begin as a JSON object, and is this key in its first part?
pub fn has(bytes: &[u8], key: &str) -> bool {
    is(bytes) && super::text::head(bytes).contains(&format!("\"{key}\""))
}
