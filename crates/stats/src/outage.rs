//! Outages: packets one after the other that were not answered, in a longer row than chance makes.
//!
//! The row is the longest loss period of RFC 3357. Packets that are lost independently of each other, as often as those of the
//! stream are, are seldom lost in so long a row. Whatever a command says of an outage, it is one that is found here.

use delaylab_model::Nanos;
use delaylab_model::record::Record;
pub use delaylab_model::unanswered::Outage;

/// How likely packets that are lost independently of each other may be to be lost in so long a row.
pub const RARE: f64 = 0.01;
/// A row of fewer is a moment.
const LEAST: usize = 5;

/// When a packet was due, and whether it was answered; `None` of one that was never sent, or not waited for to its end.
pub fn packet(record: &Record) -> Option<(Nanos, bool)> {
    let packet = (record.t_intended, record.answered());
    record.ended().then_some(packet)
}

/// The longest outage of a stream, of whose packets this says when each was due and whether it was answered.
pub fn longest(mut packets: Vec<(Nanos, bool)>) -> Option<Outage> {
    packets.sort_by_key(|packet| packet.0);
    let mut rows = Rows::default();
    packets.into_iter().for_each(|packet| rows.push(packet));
    rows.longest_outage()
}

/// Rows of packets that were not answered, of packets in the order in which they were due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// When the first packet was due, and the last one so far.
    ends: Option<(Nanos, Nanos)>,
    packets: usize,
    lost: usize,
    /// The row that goes on.
    open: Option<Row>,
    /// The first of the longest that are over.
    longest: Option<Row>,
    /// Packets of the longest of the others.
    other: usize,
    is_out_of_order: bool,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    packets: usize,
    from: Nanos,
    /// When the answered packet behind it was due.
    to: Option<Nanos>,
}

impl Rows {
    pub(crate) fn push(&mut self, (due, answered): (Nanos, bool)) {
        let (first, last) = self.ends.unwrap_or((due, due));
        self.is_out_of_order |= due < last;
        self.ends = Some((first, due));
        self.packets += 1;
        self.lost += usize::from(!answered);
        match &mut self.open {
            Some(row) if answered => {
                let to = Some(due);
                let over = Row { to, ..*row };
                self.open = None;
                self.end(over);
            }
            Some(row) => row.packets += 1,
            None if answered => {}
            None => {
                self.open = Some(Row {
                    packets: 1,
                    from: due,
                    to: None,
                });
            }
        }
    }

    fn end(&mut self, row: Row) {
        let longest = self.longest.map_or(0, |longest| longest.packets);
        if row.packets > longest {
            self.other = longest;
            self.longest = Some(row);
        } else {
            self.other = self.other.max(row.packets);
        }
    }

    /// Was there a packet that was not answered?
    pub(crate) const fn any(&self) -> bool {
        self.lost > 0
    }

    /// Did a packet come after one that was due later? Then rows are not what they seem.
    pub(crate) const fn is_out_of_order(&self) -> bool {
        self.is_out_of_order
    }

    /// The longest outage, where the longest row is one.
    pub(crate) fn longest_outage(mut self) -> Option<Outage> {
        if let Some(row) = self.open.take() {
            self.end(row);
        }
        let (row, (first, _)) = self.longest.zip(self.ends)?;
        let share = self.lost as f64 / self.packets as f64;
        let expected = self.packets as f64 * (1.0 - share) * share.powf(row.packets as f64);
        if row.packets < LEAST || expected >= RARE {
            return None;
        }
        let since = |due: Nanos| due.saturating_sub(first);
        Some(Outage {
            packets: row.packets,
            from: since(row.from),
            to: row.to.map(since),
            other: self.other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// A packet each 5 ms; those of these ranges are lost.
    fn row_of(lost: &[std::ops::Range<usize>]) -> Option<Outage> {
        let answered = |n: usize| !lost.iter().any(|range| range.contains(&n));
        let packets = (0..400).map(|n| (7 + n as Nanos * 5 * MS, answered(n)));
        // In the order in which they ended.
        longest(packets.rev().collect())
    }

    #[test]
    fn the_longest_row_of_losses_is_found_where_it_is_no_chance() {
        let outage = |packets, from, to, other| Outage {
            packets,
            from,
            to,
            other,
        };
        let to_the_end = row_of(std::slice::from_ref(&(174..400)));
        assert_eq!(to_the_end, Some(outage(226, 870 * MS, None, 0)));
        assert_eq!(
            row_of(&[3..4, 100..120, 130..140]),
            Some(outage(20, 500 * MS, Some(600 * MS), 10))
        );
        // One by one, two at a time, or as often as a coin falls: no row.
        let apart = (0..400).step_by(4).map(|n| n..n + 2);
        assert_eq!(row_of(&apart.collect::<Vec<_>>()), None);
        let coin = (0..400).filter(|n| (n * 2_654_435_761_usize) >> 7 & 1 == 1);
        assert_eq!(row_of(&coin.map(|n| n..n + 1).collect::<Vec<_>>()), None);
        assert_eq!(row_of(&[]), None);
        // All of them: there is nothing that a row is longer than.
        assert_eq!(row_of(std::slice::from_ref(&(100..104))), None);
        assert_eq!(longest(Vec::new()), None);
    }
}
