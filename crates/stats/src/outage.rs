//! Outages: packets one after the other that were not answered, in a longer row than chance makes.
//!
//! The row is the longest loss period of RFC 3357. The same packets in any other order seldom have so long a row. Whatever a
//! command says of an outage, it is one that is found here.

use crate::incomplete::ln_gamma;
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
pub fn longest(packets: Vec<(Nanos, bool)>) -> Option<Outage> {
    Rows::new(packets).longest_outage()
}

/// The rows of packets that were not answered with which a stream begins and ends, and the longest between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BothEnds {
    /// Packets of that with which it begins.
    pub first: usize,
    /// Packets of the longest between two that were answered.
    pub between: usize,
    /// The outage in which it ended.
    pub outage: Option<Outage>,
}

/// Those of such packets.
pub fn at_both_ends(mut packets: Vec<(Nanos, bool)>) -> BothEnds {
    packets.sort_by_key(|packet| packet.0);
    let first = packets.iter().take_while(|(_, answered)| !answered).count();
    let between = Rows::new(packets[first..].to_vec()).longest;
    let outage = Rows::new(packets).longest_outage();
    BothEnds {
        first,
        between: between.map_or(0, |row| row.packets),
        outage: outage.filter(|outage| outage.to.is_none()),
    }
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
    fn new(mut packets: Vec<(Nanos, bool)>) -> Self {
        packets.sort_by_key(|packet| packet.0);
        let mut rows = Self::default();
        packets.into_iter().for_each(|packet| rows.push(packet));
        rows
    }

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
        if row.packets < LEAST || rows_by_chance(self.packets, self.lost, row.packets) >= RARE {
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

/// How many rows of at least `row` losses packets have on average over all orders of as many losses:
/// before each answered packet, and behind the last, there may be one. None of which there is no other order.
fn rows_by_chance(packets: usize, lost: usize, row: usize) -> f64 {
    match packets - lost {
        0 => 0.0,
        answered => (answered + 1) as f64 * all_lost_by_chance(packets, lost, row),
    }
}

/// How likely it is that these `few` of the packets are among the `lost` ones, over all orders:
/// C(n − few, m) / C(n, m), where m of n were answered. `few` are at most as many as were lost.
pub fn all_lost_by_chance(packets: usize, lost: usize, few: usize) -> f64 {
    let answered = packets - lost;
    // Ways to lose this many of them, but for a factor that both have.
    let ln_ways = |lost: usize| {
        let all = lost + answered;
        ln_gamma(all as f64 + 1.0) - ln_gamma(lost as f64 + 1.0)
    };
    (ln_ways(lost - few) - ln_ways(lost)).exp()
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
        assert_eq!(row_of(std::slice::from_ref(&(100..104))), None);
        assert_eq!(longest(Vec::new()), None);
    }

    /// However few were answered before: the losses themselves say that most are lost, and not that they come in one row.
    #[test]
    fn a_path_that_dies_after_a_few_answers_has_an_outage() {
        for (answered, all) in [(1, 300), (5, 30), (6, 60), (6, 1000), (8, 20)] {
            let packets = (0..all).map(|n| (n * MS, n < answered)).collect();
            let outage = longest(packets).map(|outage| outage.packets as Nanos);
            assert_eq!(outage, Some(all - answered), "{answered} of {all}");
        }
        // That the one answer of few packets is the first may be chance.
        for lost in [4, 12, 40] {
            let packets = (0..=lost).map(|n| (n * MS, n == 0)).collect();
            assert_eq!(longest(packets), None, "{lost}");
        }
    }

    /// Against all orders of six packets of which four are lost.
    #[test]
    fn rows_are_counted_over_all_orders() {
        for row in 1..=4 {
            let orders = (0_u32..64).filter(|order| order.count_ones() == 4);
            let rows = orders.clone().map(|order| {
                let starts = (0..6)
                    .filter(|at| order >> at & 1 == 1 && (*at == 0 || order >> (at - 1) & 1 == 0));
                starts
                    .filter(|at| (*at..*at + row).all(|bit| order >> bit & 1 == 1))
                    .count()
            });
            let mean = rows.sum::<usize>() as f64 / orders.count() as f64;
            let found = rows_by_chance(6, 4, row);
            assert!((found - mean).abs() < 1e-12, "{row}: {found} {mean}");
        }
        // Four of eight were answered: all in the one half, or all in the other, of 70 ways.
        assert!((all_lost_by_chance(8, 4, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((all_lost_by_chance(8, 8, 4) - 1.0).abs() < 1e-12);
    }
}
