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

fn no_nulls(array: &dyn Array) -> Result<(), CellError> {
    match array.null_count() {
        0 => Ok(()),
        _ => Err(CellError::Null),
    }
}

macro_rules! numbers {
    ($($native:ty => $arrow:ty),*) => {$(
        impl Cell for $native {
            const NULLABLE: bool = false;

            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter_values(cells.copied()))
            }

            fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                no_nulls(array)?;
                each_number::<$arrow>(array, set)
            }
        }

        impl Cell for Option<$native> {
            const NULLABLE: bool = true;

            fn data_type() -> DataType {
                <$arrow>::DATA_TYPE
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter(cells.copied()))
            }

            fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                each_number::<$arrow>(array, |at, value| set(at, Some(value)))
            }
        }
    )*};
}

numbers! {
    u8 => UInt8Type, u16 => UInt16Type, u32 => UInt32Type, u64 => UInt64Type,
    i32 => Int32Type, i64 => Int64Type, f64 => Float64Type
}

/// A word from a fixed set. Rows without one are not handed over.
trait Word: Copy + PartialEq + 'static {
    const WORDS: &'static [Self];
    fn name(self) -> &'static str;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const WORDS: &'static [Self] = &<$word>::ALL;

            fn name(self) -> &'static str {
                <$word>::name(self)
            }
        }

        impl Cell for $word {
            const NULLABLE: bool = false;

            fn data_type() -> DataType {
                DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
                word_array(cells.copied().map(Some))
            }

            fn each(array: &dyn Array, set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                no_nulls(array)?;
                each_word(array, set)
            }
        }
    )*};
}

words! { Method, Outcome, ClockEvent, NoiseKind, Direction, Unit }

impl Word for IcmpReason {
    const WORDS: &'static [Self] = &IcmpReason::ALL;

    fn name(self) -> &'static str {
        IcmpReason::name(self)
    }
}

impl Cell for Option<IcmpReason> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        word_array(cells.copied())
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        each_word(array, |at, word| set(at, Some(word)))
    }
}

fn word_array<W: Word>(cells: impl Iterator<Item = Option<W>>) -> ArrayRef {
    let place = |word| W::WORDS.iter().position(|known| *known == word);
    let keys: Int8Array = cells.map(|word| Some(place(word?)? as i8)).collect();
    let words = StringArray::from_iter_values(W::WORDS.iter().map(|word| word.name()));
    Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(words)))
}

fn each_word<W: Word>(array: &dyn Array, mut set: impl FnMut(usize, W)) -> Result<(), CellError> {
    let wrong_type = || CellError::Type(array.data_type().clone());
    let column = array
        .as_dictionary_opt::<Int8Type>()
        .ok_or_else(wrong_type)?;
    let names = column.values().as_string_opt::<i32>();
    let names = names.ok_or_else(wrong_type)?;
    // A dictionary may hold words that no row uses.
    let known = |name: &str| W::WORDS.iter().copied().find(|word| word.name() == name);
    let words: Vec<Option<W>> = names.iter().map(|name| known(name?)).collect();
    for (at, key) in column.keys().iter().enumerate() {
        let Some(key) = key else { continue };
        let key = usize::from(key.unsigned_abs());
        let word = words.get(key).copied().flatten();
        let unknown = || CellError::Word(names.value(key).to_owned());
        set(at, word.ok_or_else(unknown)?);
    }
    Ok(())
}

impl Cell for bool {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(cells.map(|cell| Some(*cell))))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        no_nulls(array)?;
        let bits = array.as_boolean_opt();
        let bits = bits.ok_or_else(|| CellError::Type(array.data_type().clone()))?;
        let values = bits.values().iter().enumerate();
        values.for_each(|(at, value)| set(at, value));
        Ok(())
    }
}

impl Cell for Option<bool> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(cells.copied()))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        let bits = array.as_boolean_opt();
        let bits = bits.ok_or_else(|| CellError::Type(array.data_type().clone()))?;
        bits.iter()
            .enumerate()
            .for_each(|(at, value)| set(at, value));
        Ok(())
    }
}

/// Nanoseconds since 1970 in UTC: a date to every tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Utc(pub(crate) Nanos);

impl Cell for Option<Utc> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        let times = TimestampNanosecondArray::from_iter(cells.map(|cell| Some((*cell)?.0)));
        Arc::new(times.with_timezone("UTC"))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        each_number::<TimestampNanosecondType>(array, |at, time| set(at, Some(Utc(time))))
    }
}

impl Cell for String {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(cells))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        no_nulls(array)?;
        each_text(array, |at, text| {
            set(at, text.to_owned());
            Ok(())
        })
    }
}

/// A name that many rows share.
impl Cell for Arc<str> {
    const NULLABLE: bool = false;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(cells))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        no_nulls(array)?;
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

impl Cell for Option<String> {
    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter(cells))
    }

    fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
        each_text(array, |at, text| {
            set(at, Some(text.to_owned()));
            Ok(())
        })
    }
}

/// What is written as a text and read back from it.
macro_rules! written {
    ($($type:ty),*) => {$(
        impl Cell for Option<$type> {
            const NULLABLE: bool = true;

            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> ArrayRef {
                let mut texts = StringBuilder::with_capacity(cells.len(), 0);
                cells.for_each(|cell| texts.append_option(cell.map(|value| value.to_string())));
                Arc::new(texts.finish())
            }

            fn each(array: &dyn Array, mut set: impl FnMut(usize, Self)) -> Result<(), CellError> {
                each_text(array, |at, text| {
                    let value = text.parse();
                    set(
                        at,
                        Some(value.map_err(|_| CellError::Word(text.to_owned()))?),
                    );
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
