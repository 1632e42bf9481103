//! How the stamps of a packet stand in a Parquet file: each as the time since the one before it.
//!
//! A packet that was sent 400 µs late has every one of its stamps 400 µs late, and a reply that waited
//! has that in all that follow. Parquet compresses each column by itself, so that columns of absolute
//! times hold what is common to them eight times: 17 bytes a record in the best of encodings, of a busy
//! host's ten thousand packets a second. As differences each column holds its own stage only, and what is
//! common stands there once: 10 to 12 bytes. It is also what an anatomy is made of.
//!
//! ```text
//! record       t_intended   t_send   t_sched      t_tx  …  t_recv
//!                       \  /      \ /       \    /
//! file   t_intended   to_t_send   to_t_sched  to_t_tx   …  to_t_recv
//! ```
//!
//! `t_intended` stays as it is: in a grid it takes no room. Where a stamp is missing its column is null,
//! and the next one counts from the last stamp before it, as stages merge in an anatomy. So whatever of
//! them is there, `t_intended` and the differences up to a stamp add up to it. Sums wrap around: any
//! stamps come back, also those of a reflector whose clock has nothing to do with ours.
//!
//! The NIC's stamps are of a third clock, which no stage begins or ends with: they stay absolute.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, NullArray, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use delaylab_model::Nanos;
use std::sync::Arc;

/// What the first difference counts from.
const ANCHOR: &str = "t_intended";

/// The stamps in the order in which a packet passes them, and the columns that they have in a file.
const CHAIN: [(&str, &str); 8] = [
    ("t_send", "to_t_send"),
    ("t_sched", "to_t_sched"),
    ("t_tx", "to_t_tx"),
    ("r_rx", "to_r_rx"),
    ("r_user", "to_r_user"),
    ("r_tx", "to_r_tx"),
    ("t_rx", "to_t_rx"),
    ("t_recv", "to_t_recv"),
];

/// Is this a file's column of differences?
pub(crate) fn is_difference(column: &str) -> bool {
    CHAIN.iter().any(|(_, difference)| *difference == column)
}

/// The schema of a file whose rows have this one.
pub(crate) fn file_schema(rows: &SchemaRef) -> SchemaRef {
    match has_all(rows, |(stamp, _)| stamp) {
        true => renamed(rows, |(stamp, difference)| (stamp, difference)),
        false => rows.clone(),
    }
}

/// The columns of a file that it takes to have these of its rows.
pub(crate) fn file_columns(wanted: &[String]) -> Vec<String> {
    let mut columns = wanted.to_vec();
    let is_stamp = |column: &String| CHAIN.iter().any(|(stamp, _)| stamp == column);
    if wanted.iter().any(is_stamp) {
        // Files of the first format have the stamp itself: its name stays among them.
        let chain = CHAIN.iter().map(|(_, difference)| *difference);
        columns.extend(chain.chain([ANCHOR]).map(str::to_owned));
    }
    columns
}

/// Rows as they stand in a file. A table without stamps stays as it is.
pub(crate) fn to_file(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !has_all(rows.schema_ref(), |(stamp, _)| stamp) {
        return Ok(rows.clone());
    }
    let schema = renamed(rows.schema_ref(), |(stamp, difference)| (stamp, difference));
    let names = CHAIN.map(|(stamp, _)| stamp);
    along_the_chain(rows.clone(), schema, names, |last, stamp| {
        let difference = stamp.wrapping_sub(*last);
        *last = stamp;
        difference
    })
}

/// The rows of a batch of a file. What holds no differences, or not all of them, stays as it is.
pub(crate) fn from_file(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !has_all(batch.schema_ref(), |(_, difference)| difference) {
        return Ok(batch);
    }
    let schema = renamed(batch.schema_ref(), |(stamp, difference)| {
        (difference, stamp)
    });
    let names = CHAIN.map(|(_, difference)| difference);
    along_the_chain(batch, schema, names, |last, difference| {
        *last = last.wrapping_add(difference);
        *last
    })
}

type Pair = (&'static str, &'static str);

/// Does it have the anchor and every column of the chain?
fn has_all(schema: &Schema, name: fn(Pair) -> &'static str) -> bool {
    let chain = CHAIN.iter().map(|&pair| name(pair));
    (chain.chain([ANCHOR])).all(|column| schema.column_with_name(column).is_some())
}

/// The schema with each column of the chain by its other name.
fn renamed(schema: &SchemaRef, from_to: fn(Pair) -> Pair) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let mut pairs = CHAIN.iter().map(|&pair| from_to(pair));
        match pairs.find(|(from, _)| from == field.name()) {
            Some((_, to)) => Arc::new(field.as_ref().clone().with_name(to)),
            None => field.clone(),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Makes each of these columns anew, one after the other: `cell` is handed each row's last stamp, to
/// bring up to date, and what the column has.
fn along_the_chain(
    batch: RecordBatch,
    schema: SchemaRef,
    names: [&str; CHAIN.len()],
    cell: impl Fn(&mut Nanos, Nanos) -> Nanos + Copy,
) -> Result<RecordBatch, ArrowError> {
    let mut last = numbers(&batch, ANCHOR)?.values().to_vec();
    for name in names {
        numbers(&batch, name)?;
    }
    let (before, mut columns, _) = batch.into_parts();
    for name in names {
        let column = &mut columns[before.index_of(name)?];
        let numbers = column.as_primitive::<Int64Type>().clone();
        // Where no other has it, its memory is used again: to get new memory takes longer than the sums.
        *column = Arc::new(NullArray::new(0));
        *column = each_that_is_there(numbers, &mut last, cell);
    }
    RecordBatch::try_new(schema, columns)
}

fn each_that_is_there(
    column: Int64Array,
    last: &mut [Nanos],
    cell: impl Fn(&mut Nanos, Nanos) -> Nanos,
) -> ArrayRef {
    let (_, values, nulls) = column.into_parts();
    let values = values.into_inner().into_vec::<Nanos>();
    let mut values = values.unwrap_or_else(|shared| shared.typed_data::<Nanos>().to_vec());
    let pairs = values.iter_mut().zip(last);
    match &nulls {
        // Without a look at each whether it is there, many are made at once.
        None => pairs.for_each(|(value, last)| *value = cell(last, *value)),
        Some(nulls) => pairs
            .zip(nulls)
            .for_each(|((value, last), is_there)| match is_there {
                true => *value = cell(last, *value),
                false => *value = 0,
            }),
    }
    Arc::new(Int64Array::new(values.into(), nulls))
}

fn numbers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Int64Array, ArrowError> {
    let column = batch.column_by_name(name);
    let numbers = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    numbers.ok_or_else(|| {
        let found = column.map(|column| column.data_type().to_string());
        let holds = found.unwrap_or_else(|| "nothing".to_owned());
        ArrowError::SchemaError(format!("column `{name}` holds {holds}"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::table;
    use arrow_schema::{DataType, Field};
    use delaylab_model::method::Method;
    use delaylab_model::record::Record;
    use proptest::prelude::*;

    /// A packet that is due at `t_intended` and has these stamps, in the order of the chain.
    fn record(t_intended: Nanos, stamps: [Option<Nanos>; 8]) -> Record {
        let [t_send, t_sched, t_tx, r_rx, r_user, r_tx, t_rx, t_recv] = stamps;
        Record {
            t_send,
            t_sched,
            t_tx,
            t_tx_hw: t_tx,
            r_rx,
            r_user,
            r_tx,
            t_rx,
            t_rx_hw: t_rx,
            t_recv,
            ..Record::due(3, 1, 9, Method::Udp, t_intended)
        }
    }

    fn in_file(records: &[Record]) -> RecordBatch {
        let rows = table::batch(&table::schema::<Record>(), records).unwrap();
        to_file(&rows).unwrap()
    }

    fn back(batch: &RecordBatch) -> Vec<Record> {
        let mut records = Vec::new();
        table::read_into(&from_file(batch.clone()).unwrap(), &mut records).unwrap();
        records
    }

    /// What a file has of its first row.
    fn cells(batch: &RecordBatch) -> [Option<Nanos>; 8] {
        CHAIN.map(|(_, name)| {
            let column = numbers(batch, name).unwrap();
            column.is_valid(0).then(|| column.value(0))
        })
    }

    proptest! {
        #[test]
        fn any_stamps_come_back(
            any in prop::collection::vec(any::<(Nanos, [Option<Nanos>; 8])>(), 0..40)
        ) {
            let records: Vec<Record> = any.into_iter().map(|(due, all)| record(due, all)).collect();
            let batch = in_file(&records);
            prop_assert_eq!(batch.schema(), file_schema(&table::schema::<Record>()));
            prop_assert_eq!(back(&batch), records);
        }

        #[test]
        fn differences_up_to_a_stamp_add_up_to_it(
            due in 0..1_i64 << 60,
            stamps in any::<[Option<i32>; 8]>(),
        ) {
            let stamps = stamps.map(|after| after.map(|after| due + Nanos::from(after)));
            let cells = cells(&in_file(&[record(due, stamps)]));
            for (at, stamp) in stamps.iter().enumerate() {
                prop_assert_eq!(cells[at].is_some(), stamp.is_some());
                if let Some(stamp) = stamp {
                    prop_assert_eq!(due + cells[..=at].iter().flatten().sum::<Nanos>(), *stamp);
                }
            }
        }
    }

    #[test]
    fn a_column_is_the_time_since_the_stamp_before_that_is_there() {
        let whole = [20, 30, 50, 80, 120, 170, 230, 300].map(Some);
        let batch = in_file(&[record(10, whole)]);
        assert_eq!(cells(&batch), [10, 10, 20, 30, 40, 50, 60, 70].map(Some));
        let mut merged = whole;
        (merged[1], merged[4], merged[7]) = (None, None, None);
        let expected = [
            Some(10),
            None,
            Some(30),
            Some(30),
            None,
            Some(90),
            Some(60),
            None,
        ];
        assert_eq!(cells(&in_file(&[record(10, merged)])), expected);
    }

    #[test]
    fn only_the_stamps_have_another_name_in_a_file() {
        let rows = table::schema::<Record>();
        let file = file_schema(&rows);
        for (row, file) in rows.fields().iter().zip(file.fields()) {
            let pair = CHAIN.iter().find(|(stamp, _)| stamp == row.name());
            assert_eq!(file.name(), pair.map_or(row.name().as_str(), |pair| pair.1));
            assert_eq!(file.data_type(), row.data_type());
            assert_eq!(is_difference(file.name()), pair.is_some());
        }
    }

    #[test]
    fn what_has_no_stamps_or_not_all_differences_stays_as_it_is() {
        let hops = table::schema::<delaylab_model::hop::Hop>();
        assert_eq!(file_schema(&hops), hops);
        let batch = in_file(&[record(10, [Some(20); 8])]);
        let some = batch.project(&[6, 7, 8]).unwrap();
        assert_eq!(from_file(some.clone()).unwrap(), some);
        let absolute = table::batch(&table::schema::<Record>(), &[Record::default()]).unwrap();
        assert_eq!(from_file(absolute.clone()).unwrap(), absolute);
    }

    #[test]
    fn a_stamp_takes_all_differences_and_what_is_no_stamp_itself_only() {
        let columns = |wanted: &str| file_columns(&[wanted.to_owned()]);
        assert_eq!(columns("seq"), ["seq"]);
        assert_eq!(columns("t_intended"), ["t_intended"]);
        let all = columns("t_tx");
        assert_eq!(all.len(), 2 + CHAIN.len());
        assert!(has_all(
            &file_schema(&table::schema::<Record>()),
            |(_, difference)| difference
        ));
        assert!(
            CHAIN
                .iter()
                .all(|(_, difference)| all.iter().any(|it| it == difference))
        );
    }

    #[test]
    fn differences_that_are_no_numbers_are_named() {
        let batch = in_file(&[record(10, [Some(20); 8])]);
        let mut columns = batch.columns().to_vec();
        let at = batch.schema_ref().index_of("to_t_tx").unwrap();
        columns[at] = Arc::new(arrow_array::StringArray::from(vec!["late"]));
        let fields =
            batch
                .schema_ref()
                .fields()
                .iter()
                .map(|field| match field.name() == "to_t_tx" {
                    true => Arc::new(Field::new("to_t_tx", DataType::Utf8, true)),
                    false => field.clone(),
                });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        let said = from_file(batch).unwrap_err().to_string();
        assert!(said.ends_with("column `to_t_tx` holds Utf8"), "{said}");
    }
}
