//! What a path did to packets other than delaying or losing them: copies, another order, other marks.

use crate::congestion_marks::CongestionMarks;
use crate::remarks::{Remarked, Remarks};
use delaylab_model::record::Record;

/// Counts of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Irregular {
    answered: u64,
    /// Packets with copies of their answer.
    duplicated: u64,
    /// Packets whose answer came after that of a later one.
    reordered: u64,
    remarks: Remarks,
    congestion: CongestionMarks,
}

impl Irregular {
    /// Takes a record.
    pub fn push(&mut self, record: &Record) {
        if !record.answered() {
            return;
        }
        self.answered += 1;
        self.duplicated += u64::from(record.copies > 0);
        self.reordered += u64::from(record.reorder_extent > 0);
        self.remarks.push(record);
        self.congestion.push(record);
    }

    /// Classes that did not arrive as they were sent.
    pub fn remarked(&self) -> Vec<Remarked> {
        self.remarks.found()
    }

    /// What is worth knowing, a sentence each without its full stop; empty where nothing is. `ecn`: the bits that the packets
    /// were sent with, each once; none where they are not known.
    pub fn sentences(&self, ecn: &[u8]) -> Vec<String> {
        let of = |count: u64| format!("{count} of {} packets", self.answered);
        let mut sentences = Vec::new();
        if self.duplicated > 0 {
            sentences.push(format!(
                "{} were answered more than once: something duplicates packets",
                of(self.duplicated)
            ));
        }
        if self.reordered > 0 {
            sentences.push(format!(
                "{} came back after later ones: something reorders packets, which a single queue does not",
                of(self.reordered)
            ));
        }
        sentences.extend(self.remarked().iter().map(ToString::to_string));
        sentences.extend(self.congestion.sentences(ecn));
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;

    fn sentences(change: impl Fn(u64, &mut Record)) -> Vec<String> {
        let mut irregular = Irregular::default();
        for seq in 0..200 {
            let mut record = Record::due(0, 0, seq, Method::Udp, 0);
            (record.t_send, record.t_recv) = (Some(1), Some(2));
            record.outcome = Outcome::Ok;
            record.dscp = 46;
            (record.r_dscp, record.reply_dscp) = (Some(46), Some(46));
            change(seq, &mut record);
            irregular.push(&record);
        }
        irregular.sentences(&[])
    }

    #[test]
    fn copies_another_order_and_other_marks_are_said() {
        assert_eq!(sentences(|_, _| {}), [""; 0]);
        let copies = |seq, record: &mut Record| {
            record.copies = u16::from(seq < 28);
            record.reorder_extent = 3 * u32::from(seq < 44);
        };
        assert_eq!(
            sentences(copies),
            [
                "28 of 200 packets were answered more than once: something duplicates packets",
                "44 of 200 packets came back after later ones: something reorders packets, which a single queue does not"
            ]
        );
        // On the way there, and the reflector answers with what it sees.
        let there =
            |_, record: &mut Record| (record.r_dscp, record.reply_dscp) = (Some(8), Some(8));
        assert_eq!(
            sentences(there),
            ["ef (46) arrived as cs1 (8) in 200 of 200 packets"]
        );
        let back = |seq, record: &mut Record| {
            record.r_dscp = None;
            record.reply_dscp = Some(if seq < 150 { 0 } else { 46 });
        };
        assert_eq!(
            sentences(back),
            [
                "replies to ef (46) arrived as be (0) in 150 of 200 packets: re-marked on the way, or the target answers in another class"
            ]
        );
    }
}
