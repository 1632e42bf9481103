//! What a path did to packets other than delaying or losing them: copies, another order, other marks.

use delaylab_model::dscp::Dscp;
use delaylab_model::record::Record;
use std::collections::BTreeMap;

/// Counts of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Irregular {
    answered: u64,
    /// Packets with copies of their answer.
    duplicated: u64,
    /// Packets whose answer came after that of a later one.
    reordered: u64,
    there: Marks,
    back: Marks,
}

/// Marks (DSCP) of packets at both ends of a way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Marks {
    /// How many packets had a mark at the beginning, and this one at the end.
    counts: BTreeMap<(u8, u8), u64>,
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
        self.there.push(record.dscp, record.r_dscp);
        // Where nothing says what came to the other end, the answer is held against what was sent.
        self.back
            .push(record.r_dscp.unwrap_or(record.dscp), record.reply_dscp);
    }

    /// What is worth knowing, a sentence each without its full stop; empty where nothing is.
    pub fn sentences(&self) -> Vec<String> {
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
        let there = self.there.changed();
        sentences.extend(there.map(|(from, to, some, all)| {
            format!(
                "the mark {from} was changed to {to} on the way there, in {some} of {all} packets"
            )
        }));
        let back = self.back.changed();
        sentences.extend(back.map(|(from, to, some, all)| {
            format!(
                "{some} of {all} answers to packets with the mark {from} came back with {to}: it was changed on the way, or what answers \
                 does not keep it"
            )
        }));
        sentences
    }
}

impl Marks {
    fn push(&mut self, from: u8, to: Option<u8>) {
        if let Some(to) = to {
            *self.counts.entry((from, to)).or_default() += 1;
        }
    }

    /// From which mark to which, how many, and of how many with the first.
    fn changed(&self) -> impl Iterator<Item = (String, String, u64, u64)> {
        let changed = self.counts.iter().filter(|((from, to), _)| from != to);
        changed.map(|(&(from, to), &some)| {
            let of_mark = self.counts.iter().filter(|((other, _), _)| *other == from);
            (
                name(from),
                name(to),
                some,
                of_mark.map(|(_, count)| count).sum(),
            )
        })
    }
}

/// `EF`, or the code point of a mark without a name.
fn name(code_point: u8) -> String {
    let dscp = Dscp::new(code_point);
    dscp.map_or_else(
        || code_point.to_string(),
        |dscp| dscp.to_string().to_uppercase(),
    )
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
        irregular.sentences()
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
            ["the mark EF was changed to CS1 on the way there, in 200 of 200 packets"]
        );
        let back = |seq, record: &mut Record| {
            record.r_dscp = None;
            record.reply_dscp = Some(if seq < 150 { 0 } else { 46 });
        };
        assert_eq!(
            sentences(back),
            [
                "150 of 200 answers to packets with the mark EF came back with BE: it was changed on the way, or what answers does not \
                 keep it"
            ]
        );
    }
}
