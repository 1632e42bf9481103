//! How the type of a field becomes an Arrow column, and comes back.

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type, TimestampNanosecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int8Array, PrimitiveArray, StringArray,
    TimestampNanosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use delaylab_model::Nanos;
use delaylab_model::hop::Direction;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::noise::NoiseKind;
use delaylab_model::plan::Unit;
use delaylab_model::record::{Answer, ClockEvent, Outcome};
use std::net::IpAddr;
use std::sync::Arc;

/// Why a column cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CellError {
    #[error("holds {0}")]
    Type(DataType),
    #[error("has a null where none may be")]
    Null,
    #[error("holds `{0}`, which is not one of its words")]
    Word(String),
}

/// The type of a field.
pub(crate) trait Cell: Sized + 'static {
    /// May it be null?
    const NULLABLE: bool;

    /// The column's type.
    fn data_type() -> DataType;

    /// A column of these.
    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef;

    /// Hands over the cells that are not null, with their places.
    fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError>;
}

/// What a column holds, with nulls or without.
pub(crate) trait Stored: Sized + 'static {
    /// The column's type.
    fn data_type() -> DataType;

    /// A column of these.
    fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef;

    /// A column without nulls.
    fn full_array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        <Self as Stored>::array(cells.map(Some))
    }

    /// Hands over those that are not null, with their places.
    fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError>;
}

impl<S: Stored> Cell for S {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        <S as Stored>::data_type()
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        S::full_array(cells)
    }

    fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        match array.null_count() {
            0 => <S as Stored>::each(array, set),
            _ => Err(CellError::Null),
        }
    }
}

impl<S: Stored> Cell for Option<S> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        <S as Stored>::data_type()
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        <S as Stored>::array(cells.map(Option::as_ref))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        <S as Stored>::each(array, |at, value| set(at, Some(value)))
    }
}

/// Hands over the numbers that are not null.
fn each_number<T: ArrowPrimitiveType>(
    array: &dyn Array,
    mut set: impl FnMut(usize, T::Native),
) -> Result<(), CellError> {
    let numbers = array.as_primitive_opt::<T>();
    let numbers = numbers.ok_or_else(|| CellError::Type(array.data_type().clone()))?;
    let values = numbers.values().iter().copied().enumerate();
    match numbers.nulls() {
        None => values.for_each(|(at, value)| set(at, value)),
        Some(nulls) => {
            for at in nulls.valid_indices() {
                set(at, numbers.value(at));
            }
        }
    }
    Ok(())
}

macro_rules! numbers {
    ($($native:ty => $arrow:ty),*) => {$(
        impl Stored for $native {
            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter(cells.map(Option::<&Self>::copied)))
            }

            fn full_array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter_values(cells.copied()))
            }

            fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                each_number::<$arrow>(array, set)
            }
        }
    )*};
}

numbers! {
    u8 => UInt8Type, u16 => UInt16Type, u32 => UInt32Type, u64 => UInt64Type,
    i32 => Int32Type, i64 => Int64Type, f64 => Float64Type
}

/// Words from a fixed set.
macro_rules! words {
    ($($word:ty),*) => {$(
        impl Stored for $word {
            fn data_type() -> DataType {
                DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
                word_array(cells, &<$word>::ALL, <$word>::name)
            }

            fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                each_word(array, &<$word>::ALL, <$word>::name, set)
            }
        }
    )*};
}

words! { Method, Outcome, ClockEvent, NoiseKind, Direction, Unit, IcmpReason }

fn word_array<'a, W: Copy + PartialEq + 'a>(
    cells: impl Iterator<Item = Option<&'a W>>,
    all: &[W],
    name: fn(W) -> &'static str,
) -> ArrayRef {
    let place = |word: &W| all.iter().position(|known| known == word);
    let keys: Int8Array = cells.map(|word| Some(place(word?)? as i8)).collect();
    let words = StringArray::from_iter_values(all.iter().map(|word| name(*word)));
    Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(words)))
}

fn each_word<W: Copy>(
    array: &dyn Array,
    all: &[W],
    name: fn(W) -> &'static str,
    mut set: impl FnMut(usize, W),
) -> Result<(), CellError> {
    let wrong_type = || CellError::Type(array.data_type().clone());
    let column = array
        .as_dictionary_opt::<Int8Type>()
        .ok_or_else(wrong_type)?;
    let names = column.values().as_string_opt::<i32>();
    let names = names.ok_or_else(wrong_type)?;
    // A dictionary may hold words that no row uses.
    let known = |text: &str| all.iter().copied().find(|word| name(*word) == text);
    let words: Vec<Option<W>> = names.iter().map(|text| known(text?)).collect();
    for (at, key) in column.keys().iter().enumerate() {
        let Some(key) = key else { continue };
        let key = usize::from(key.unsigned_abs());
        let word = words.get(key).copied().flatten();
        let unknown = || CellError::Word(names.value(key).to_owned());
        set(at, word.ok_or_else(unknown)?);
    }
    Ok(())
}

impl Stored for bool {
    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(cells.map(Option::<&Self>::copied)))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        let bits = array.as_boolean_opt();
        let bits = bits.ok_or_else(|| CellError::Type(array.data_type().clone()))?;
        for (at, value) in bits.iter().enumerate() {
            if let Some(value) = value {
                set(at, value);
            }
        }
        Ok(())
    }
}

/// Nanoseconds since 1970 in UTC: a date to every tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Utc(pub(crate) Nanos);

impl Stored for Utc {
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
        let times = TimestampNanosecondArray::from_iter(cells.map(|cell| Some(cell?.0)));
        Arc::new(times.with_timezone("UTC"))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        each_number::<TimestampNanosecondType>(array, |at, time| set(at, Utc(time)))
    }
}

impl Stored for String {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
        Arc::new(StringArray::from_iter(cells))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        each_text(array, |at, text| {
            set(at, text.to_owned());
            Ok(())
        })
    }
}

/// A name that many rows share.
impl Stored for Arc<str> {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
        Arc::new(StringArray::from_iter(cells))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        let mut last: Self = Arc::default();
        each_text(array, |at, text| {
            // Rows of one name stand together.
            if *last != *text {
                last = text.into();
            }
            set(at, last.clone());
            Ok(())
        })
    }
}

/// What is written as a text and read back from it.
macro_rules! written {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = Option<&'a Self>>) -> ArrayRef {
                let mut texts = StringBuilder::with_capacity(cells.len(), 0);
                cells.for_each(|cell| texts.append_option(cell.map(|value| value.to_string())));
                Arc::new(texts.finish())
            }

            fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                each_text(array, |at, text| {
                    let value = text.parse();
                    set(at, value.map_err(|_| CellError::Word(text.to_owned()))?);
                    Ok(())
                })
            }
        }
    )*};
}

written! { IpAddr, Answer }

/// Hands over the texts that are not null.
fn each_text(
    array: &dyn Array,
    mut set: impl FnMut(usize, &str) -> Result<(), CellError>,
) -> Result<(), CellError> {
    let texts = array.as_string_opt::<i32>();
    let texts = texts.ok_or_else(|| CellError::Type(array.data_type().clone()))?;
    if texts.null_count() == texts.len() {
        return Ok(());
    }
    for (at, text) in texts.iter().enumerate() {
        if let Some(text) = text {
            set(at, text)?;
        }
    }
    Ok(())
}
