#![allow(clippy::unwrap_used)]

use super::*;
use arrow_array::{Int64Array, StringArray, UInt32Array};
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::record::{Answer, ClockEvent, Outcome, Record};
use proptest::prelude::*;

/// Makes batches of rows and back again.
fn there_and_back<R: Row>(rows: &[R]) -> Vec<R> {
    let batch = batch(&schema::<R>(), rows).unwrap();
    let mut back = Vec::new();
    read_into(&batch, &mut back).unwrap();
    back
}

fn any_record() -> impl Strategy<Value = Record> {
    let numbers = (
        any::<u32>(),
        any::<u16>(),
        any::<u64>(),
        any::<i64>(),
        any::<u8>(),
    );
    let words = (0..Method::ALL.len(), 0..7_usize, 0..4_usize);
    let stamps = any::<[Option<i64>; 5]>();
    let small = (
        any::<Option<u8>>(),
        any::<Option<u16>>(),
        any::<Option<u32>>(),
    );
    let rest = (any::<Option<i32>>(), any::<Option<std::net::IpAddr>>());
    (numbers, words, stamps, small, rest).prop_map(|(numbers, words, stamps, small, rest)| {
        let (trial, probe, seq, due, dscp) = numbers;
        Record {
            dscp,
            t_send: stamps[0],
            t_tx_hw: stamps[1],
            r_user: stamps[2],
            t_rx: stamps[3],
            t_recv: stamps[4],
            reply_ttl: small.0,
            cpu: small.1,
            retransmits: small.2,
            outcome: Outcome::ALL[words.1],
            refused_by: rest.1,
            icmp: IcmpReason::ALL
                .get(words.1)
                .copied()
                .filter(|_| rest.0.is_some()),
            icmp_type: small.0,
            icmp_code: small.0,
            path_mtu: small.2,
            errno: rest.0,
            t_begin: stamps[2],
            t_resolved: stamps[3],
            t_connected: stamps[0],
            t_secured: stamps[4],
            t_ack: stamps[1],
            t_first: stamps[2],
            least_round_trip: stamps[3],
            answer: [
                None,
                Some(Answer::Open),
                Some(Answer::Closed),
                small.0.map(|code| Answer::Truncated(code.into())),
            ]
            .get(words.1)
            .copied()
            .unwrap_or_else(|| {
                let code = small.0.map(|code| Answer::Code(code.into()));
                small.1.map(Answer::Status).or(code)
            }),
            reply_bytes: small.2.map(u64::from),
            connection: small.2,
            answer_ttl: small.2,
            server_says: stamps[3],
            clock_event: ClockEvent::ALL[words.2],
            ..Record::due(trial, probe, seq, Method::ALL[words.0], due)
        }
    })
}

proptest! {
    #[test]
    fn any_records_come_back(records in prop::collection::vec(any_record(), 0..50)) {
        prop_assert_eq!(there_and_back(&records), records);
    }
}

#[test]
fn columns_have_the_names_of_the_design() {
    let names = |schema: SchemaRef| {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        names.join(" ")
    };
    assert_eq!(
        names(schema::<Record>()),
        "trial probe seq method dscp ip_size t_intended t_send t_sched t_tx t_tx_hw r_rx r_user r_tx \
         t_rx t_rx_hw t_recv cpu r_dscp reply_dscp reply_ecn reply_ttl reflector_seq copies \
         reorder_extent retransmits outcome refused_by icmp icmp_type icmp_code path_mtu errno clock_event \
         t_begin t_resolved t_connected t_secured t_ack t_first least_round_trip answer reply_bytes connection answer_ttl server_says"
    );
    assert_eq!(
        names(schema::<NoiseEvent>()),
        "trial start length cpu kind who pid preempted"
    );
    assert_eq!(names(schema::<ClockReads>()), "trial from_ns to_ns count");
}

#[test]
fn columns_that_are_not_there_stay_blank() {
    let seqs: ArrayRef = Arc::new(arrow_array::UInt64Array::from(vec![7, 8]));
    let some = RecordBatch::try_from_iter([("seq", seqs)]).unwrap();
    let mut rows: Vec<Record> = Vec::new();
    read_into(&some, &mut rows).unwrap();
    assert_eq!(
        rows[1],
        Record {
            seq: 8,
            ..Record::default()
        }
    );
}

/// What is said of a batch with this one column.
fn said_of(name: &str, array: ArrayRef) -> String {
    let batch = RecordBatch::try_from_iter_with_nullable([(name, array, true)]).unwrap();
    let mut rows: Vec<Record> = Vec::new();
    read_into(&batch, &mut rows).unwrap_err().to_string()
}

#[test]
fn a_column_of_something_else_is_named() {
    let texts = StringArray::from(vec!["late"]);
    assert_eq!(
        said_of("t_send", Arc::new(texts)),
        "column `t_send` holds Utf8"
    );
    let nulls = UInt32Array::from(vec![None]);
    let said = said_of("trial", Arc::new(nulls));
    assert_eq!(said, "column `trial` has a null where none may be");
    let times = Int64Array::from(vec![0]);
    assert_eq!(
        said_of("outcome", Arc::new(times)),
        "column `outcome` holds Int64"
    );
}

#[test]
fn a_word_that_is_not_known_is_named() {
    let words: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
        vec!["ok", "vanished"].into_iter().collect();
    let said = said_of("outcome", Arc::new(words));
    assert_eq!(
        said,
        "column `outcome` holds `vanished`, which is not one of its words"
    );
    let address = StringArray::from(vec!["nobody"]);
    let said = said_of("refused_by", Arc::new(address));
    assert_eq!(
        said,
        "column `refused_by` holds `nobody`, which is not one of its words"
    );
}
