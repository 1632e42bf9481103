//! What became of the packets of a probe that were not answered, in one pass over its records and in flat memory.

use crate::outage::{self, Rows};
use crate::summary::refusals::Refusals;
use delaylab_model::method::{Method, Responder};
use delaylab_model::record::Record;
use delaylab_model::trial::LossDirection;
use delaylab_model::unanswered::Unanswered;

/// Takes the records of a probe in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub struct UnansweredTally {
    rows: Rows,
    refusals: Refusals,
}

impl UnansweredTally {
    /// Takes one.
    pub fn push(&mut self, record: &Record) {
        if let Some(packet) = outage::packet(record) {
            self.rows.push(packet);
        }
        self.refusals.push(record);
    }

    /// What became of them; `None` where all were answered, or where records came out of the order in which they were due.
    pub fn finish(self) -> Option<Unanswered> {
        let is_known = self.rows.any() && !self.rows.is_out_of_order();
        is_known.then(|| Unanswered {
            refusals: self.refusals.listed(),
            outage: self.rows.longest_outage(),
        })
    }
}

/// What every path of IPv4 carries (RFC 791): no smaller packet is too large.
const ALWAYS_CARRIED: u32 = 576;

/// What it may be if all packets of this size (of tcp: requests) were lost, though the reflector agreed to the session in small
/// ones: without a full stop. `loss` is where the reflector counts: in which direction packets were lost, and how many. It then was there to the end.
pub fn too_large(method: Method, size: u32, loss: Option<(&LossDirection, u64)>) -> Option<String> {
    if method.responder() != Some(Responder::Echo) {
        return None;
    }
    let way = match (method.is_stream(), loss) {
        (false, Some((loss, all))) if loss.forward == all => "on the way there a link",
        (false, Some((loss, all))) if loss.back == all => "on the way back a link",
        (true, None) => "a link of the path",
        _ => return None,
    };
    (size > ALWAYS_CARRIED).then(|| format!(
        "the reflector answered the small packets of the session and none of these of {size} B; {way} may carry no packets so \
         large, while its errors are lost: smaller ones are answered then"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::record::Outcome;
    use delaylab_model::{MILLISECOND, Nanos};
    use proptest::prelude::*;

    fn record(seq: u64, due: Nanos, outcome: Outcome) -> Record {
        let mut record = Record::due(0, 0, seq, Method::Udp, due);
        record.outcome = outcome;
        record.t_send = (outcome != Outcome::LocalError).then_some(due + 1);
        record.t_recv = (outcome == Outcome::Ok).then_some(due + MILLISECOND);
        record
    }

    fn kept(records: &[Record]) -> Option<Unanswered> {
        let mut tally = UnansweredTally::default();
        records.iter().for_each(|record| tally.push(record));
        tally.finish()
    }

    proptest! {
        #[test]
        fn it_is_what_all_records_together_say(
            rows in prop::collection::vec((0..4_u8, 1..30_usize), 0..20),
        ) {
            let outcome = |kind| match kind {
                0 | 1 => Outcome::Ok,
                2 => Outcome::Lost,
                _ => Outcome::LocalError,
            };
            let outcomes = rows.iter().flat_map(|&(kind, count)| std::iter::repeat_n(outcome(kind), count));
            // Three of them are due at the same time.
            let records = outcomes.zip(0..).map(|(outcome, seq)| record(seq, (seq / 3) as Nanos, outcome));
            let records: Vec<Record> = records.collect();
            let packets: Vec<_> = records.iter().filter_map(outage::packet).collect();
            let lost = packets.iter().any(|(_, answered)| !answered);
            let found = kept(&records);
            prop_assert_eq!(found.is_some(), lost);
            prop_assert_eq!(found.and_then(|kept| kept.outage), outage::longest(packets));
        }
    }

    #[test]
    fn what_may_be_too_large_is_larger_than_what_sets_a_session_up() {
        let loss = |forward, back| LossDirection {
            forward,
            back,
            ..LossDirection::default()
        };
        let of_size = |size, method, loss: Option<LossDirection>| {
            too_large(method, size, loss.as_ref().map(|loss| (loss, 20))).unwrap_or_default()
        };
        let of = |method, loss| of_size(1_428, method, loss);
        assert!(of(Method::Udp, Some(loss(20, 0))).contains("; on the way there a link may"));
        assert!(of(Method::Udp, Some(loss(0, 20))).contains("; on the way back a link may"));
        assert!(of(Method::Tcp, None).contains("; a link of the path may"));
        // Some came through, nothing was heard of the reflector again, and replies came after the time-out.
        assert_eq!(of(Method::Udp, Some(loss(19, 1))), "");
        assert_eq!(of(Method::Udp, None), "");
        assert_eq!(of_size(576, Method::Udp, Some(loss(20, 0))), "");
        assert_eq!(of(Method::Tcp, Some(loss(0, 0))), "");
    }

    #[test]
    fn errors_that_came_are_counted() {
        let mut records: Vec<Record> = (0..10)
            .map(|seq| record(seq, seq as Nanos, Outcome::Refused))
            .collect();
        records[3].icmp = Some(delaylab_model::icmp::IcmpReason::NoRoute);
        let counts = |kept: Unanswered| -> Vec<_> {
            let refusals = kept.refusals.into_iter();
            refusals
                .map(|(refusal, count)| (refusal.reason.is_some(), count))
                .collect()
        };
        assert_eq!(
            kept(&records).map(counts),
            Some(vec![(false, 9), (true, 1)])
        );
    }

    #[test]
    fn nothing_is_said_where_all_were_answered_or_the_order_is_not_known() {
        let mut records: Vec<Record> = (0..10)
            .map(|seq| record(seq, seq as Nanos, Outcome::Ok))
            .collect();
        assert_eq!(kept(&records), None);
        records[4] = record(4, 4, Outcome::Lost);
        assert_eq!(kept(&records), Some(Unanswered::default()));
        records.swap(4, 6);
        assert_eq!(kept(&records), None);
    }
}
