//! ECN bits of replies (RFC 3168): what queues marked, and what no longer says that its sender knows such marks.
//!
//! Only of packets whose bits the probe chose. A connection chooses those of its own segments, a server those of its answers.

use delaylab_model::dscp::ecn_name;
use delaylab_model::method::Method;
use delaylab_model::record::Record;

const NOT_ECT: u8 = 0;
const CE: u8 = 3;

/// Replies by their ECN bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CongestionMarks {
    replies: [u64; 4],
}

impl CongestionMarks {
    /// Does the probe choose the bits of packets of this method?
    pub const fn are_of(method: Method) -> bool {
        method.is_one_packet() && !method.is_one_way()
    }

    /// Takes a record.
    pub fn push(&mut self, record: &Record) {
        if let Some(bits) = record.reply_ecn.filter(|_| Self::are_of(record.method)) {
            self.replies[usize::from(bits & 3)] += 1;
        }
    }

    /// What is worth knowing, a sentence each without its full stop. `sent`: the bits with which packets began their way, each
    /// once; none where they are not known.
    pub fn sentences(&self, sent: &[u8]) -> Vec<String> {
        let with = |bits: u8| self.replies[usize::from(bits)];
        let all: u64 = self.replies.iter().sum();
        let mut sentences = Vec::new();
        if with(CE) > 0 && !sent.contains(&CE) {
            sentences.push(format!(
                "{} of {all} replies arrived with the mark CE: a queue on the way signals congestion (RFC 3168)",
                with(CE)
            ));
        }
        if let &[sent] = sent
            && sent != NOT_ECT
            && with(NOT_ECT) > 0
        {
            sentences.push(format!(
                "{} of {all} replies to {} arrived as not-ect: something on the way clears ECN, or the target answers \
                 without it",
                with(NOT_ECT),
                ecn_name(sent)
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(method: Method, sent: &[u8], replies: &[u8]) -> Vec<String> {
        let mut marks = CongestionMarks::default();
        for &bits in replies {
            let mut record = Record::due(0, 0, 0, method, 0);
            record.reply_ecn = Some(bits);
            marks.push(&record);
        }
        marks.sentences(sent)
    }

    #[test]
    fn marks_of_queues_and_cleared_bits_are_said() {
        assert!(sentences(Method::Udp, &[2], &[2, 2, 2]).is_empty());
        assert_eq!(
            sentences(Method::Udp, &[2], &[2, 3, 2, 3]),
            [
                "2 of 4 replies arrived with the mark CE: a queue on the way signals congestion (RFC 3168)"
            ]
        );
        assert_eq!(
            sentences(Method::Icmp, &[2], &[0, 0]),
            [
                "2 of 2 replies to ect0 arrived as not-ect: something on the way clears ECN, or the target answers without it"
            ]
        );
    }

    #[test]
    fn bits_that_no_probe_chose_say_nothing() {
        assert!(sentences(Method::Udp, &[0], &[0, 0]).is_empty());
        assert!(sentences(Method::Udp, &[], &[0, 2]).is_empty());
        assert!(sentences(Method::Tcp, &[2], &[0, 3]).is_empty());
        assert!(sentences(Method::Udp, &[3], &[3, 3]).is_empty());
        assert!(sentences(Method::Udp, &[0, 3], &[0, 3]).is_empty());
    }
}
