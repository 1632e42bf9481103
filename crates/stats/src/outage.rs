//! Outages: packets one after the other that were not answered, in a longer row than chance makes.
//!
//! The row is the longest loss period of RFC 3357. Packets that are lost independently of each other, as often as those of the
//! stream are, are seldom lost in so long a row. Whatever a command says of an outage, it is one that is found here.

use delaylab_model::Nanos;
use delaylab_model::record::Record;

/// How likely packets that are lost independently of each other may be to be lost in so long a row.
const RARE: f64 = 0.01;
/// A row of fewer is a moment.
const LEAST: usize = 5;

/// Packets one after the other that were not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// How many.
    pub packets: usize,
    /// When the first of them was due, since the first packet of its stream was.
    pub from: Nanos,
    /// When the next one was due that was answered; `None`: none was.
    pub to: Option<Nanos>,
    /// The longest of the other rows of packets that were not answered.
    pub other: usize,
}

/// When a packet was due, and whether it was answered; `None` of one that was never sent.
pub fn packet(record: &Record) -> Option<(Nanos, bool)> {
    record.t_send?;
    Some((record.t_intended, record.answered()))
}

/// The longest outage of a stream, of whose packets this says when each was due and whether it was answered.
pub fn longest(mut packets: Vec<(Nanos, bool)>) -> Option<Outage> {
    packets.sort_unstable();
    let (mut rows, mut at) = (Vec::new(), 0);
    for row in packets.chunk_by(|a, b| a.1 == b.1) {
        if !row[0].1 {
            rows.push(at..at + row.len());
        }
        at += row.len();
    }
    // The first of those that are alike.
    rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
    let row = rows.first()?;
    let lost: usize = rows.iter().map(ExactSizeIterator::len).sum();
    let share = lost as f64 / packets.len() as f64;
    let expected = packets.len() as f64 * (1.0 - share) * share.powf(row.len() as f64);
    if row.len() < LEAST || expected >= RARE {
        return None;
    }
    let first = packets.first()?.0;
    let since = |at: usize| packets.get(at).map(|packet| packet.0.saturating_sub(first));
    Some(Outage {
        packets: row.len(),
        from: since(row.start)?,
        to: since(row.end),
        other: rows.get(1).map_or(0, ExactSizeIterator::len),
    })
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
