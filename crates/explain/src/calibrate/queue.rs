//! Do packets wait for those of other flows?
//!
//! In one queue a packet waits for all that stood before it, so its wait at the line's rate is those bytes. Where each flow has
//! a queue of its own, a packet of a thin flow waits for about one packet of each other flow, however many
//! stand there. A flow that wants more than its share waits for itself there, so the thinnest flow is asked. Where a flow that
//! wants less waits for all, and another for next to nothing, their classes have queues of their own.

use super::backlog::Standing;
use super::rate::Rate;
use delaylab_stats::functional::Functional;
use std::collections::{BTreeMap, BTreeSet};

/// Packets that have to say something.
const PACKETS: usize = 30;
/// So many of the largest packets have to stand before one, so that one of them is little.
const STOOD: f64 = 4.0;
/// At most this share waited for is a queue a flow, at least that share one queue.
const APART: f64 = 0.5;
const TOGETHER: f64 = 0.75;
/// A flow that sends less than this part of an equal share of what passes does not wait for itself.
const THIN: f64 = 0.75;

/// How a queue is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One queue, first come first served.
    First,
    /// A queue a flow.
    PerFlow,
    /// A queue for each class, or one class before others.
    Classes,
    /// Neither.
    Neither,
}

/// What was seen of a queue's order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    /// How it is served.
    pub order: Order,
    /// Median share of what stood before a packet of the thinnest flow for which it waited.
    pub waited_for: f64,
    /// The least and the largest of these shares of any flow.
    pub of_flows: [f64; 2],
    /// Packets behind it.
    pub packets: usize,
}

/// The packets of a stream that is not the flood.
#[derive(Debug, Default)]
struct Flow {
    /// Bytes that it sent.
    bytes: f64,
    /// Of each packet that met a queue, the share of what stood there for which it waited.
    shares: Vec<f64>,
}

impl Queue {
    /// `None` where too few packets of any other flow than the flood met a queue.
    pub(super) fn estimate(standing: &[Standing], rate: &Rate) -> Option<Self> {
        let mut flows = BTreeMap::<usize, Flow>::new();
        for one in standing.iter().filter(|one| !one.flood) {
            let flow = flows.entry(one.stream).or_default();
            flow.bytes += one.wire;
            if one.bytes >= STOOD * one.largest
                && let Some(waited) = one.waited
            {
                flow.shares
                    .push(waited / rate.ns_per_byte.value / one.bytes);
            }
        }
        let known = flows.into_values();
        let mut known: Vec<Flow> = known.filter(|flow| flow.shares.len() >= PACKETS).collect();
        known.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let share = |flow: &mut Flow| Functional::Quantile(0.5).value(&mut flow.shares);
        let shares: Vec<f64> = known.iter_mut().filter_map(share).collect();
        let waited_for = *shares.first()?;
        let least = shares.iter().copied().fold(waited_for, f64::min);
        let most = shares.iter().copied().fold(waited_for, f64::max);
        let thin = THIN * equal_share(standing);
        let waits_for_others =
            |(flow, share): (&Flow, &f64)| *share >= TOGETHER && flow.bytes < thin;
        let order = match waited_for {
            _ if least <= APART && known.iter().zip(&shares).any(waits_for_others) => {
                Order::Classes
            }
            share if share >= TOGETHER => Order::First,
            share if share <= APART => Order::PerFlow,
            _ => Order::Neither,
        };
        Some(Self {
            order,
            waited_for,
            of_flows: [least, most],
            packets: known.first()?.shares.len(),
        })
    }
}

/// The bytes of each flow if what passed were divided equally.
fn equal_share(standing: &[Standing]) -> f64 {
    let passed = standing.iter().filter(|one| one.waited.is_some());
    let passed: f64 = passed.map(|one| one.wire).sum();
    let flows: BTreeSet<usize> = standing.iter().map(|one| one.stream).collect();
    passed / flows.len() as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::calibrate::line::Estimate;

    /// A packet that found 50 kB at 1 ns a byte.
    fn standing(stream: usize, wire: f64, waited: f64) -> Standing {
        Standing {
            stream,
            flood: false,
            wire,
            bytes: 50_000.0,
            packets: 40.0,
            waited: Some(waited),
            largest: 1500.0,
        }
    }

    const RATE: Rate = Rate {
        ns_per_byte: Estimate {
            value: 1.0,
            interval: None,
        },
        busy: 0.0,
        bytes: 0.0,
    };

    /// The many packets of a flow that waits for itself do not hide that a thin one does not wait.
    #[test]
    fn the_thinnest_flow_tells() {
        let thick = (0..1000).map(|_| standing(1, 400.0, 45_000.0));
        let thin = (0..PACKETS).map(|_| standing(2, 100.0, 3_000.0));
        let all: Vec<_> = thick.chain(thin).collect();
        let found = Queue::estimate(&all, &RATE).unwrap();
        assert_eq!((found.order, found.packets), (Order::PerFlow, PACKETS));
        // Too few of them say nothing.
        let found = Queue::estimate(&all[..1000 + PACKETS - 1], &RATE).unwrap();
        assert_eq!((found.order, found.packets), (Order::First, 1000));
        assert_eq!(Queue::estimate(&[], &RATE), None);
    }

    /// Two thin flows beside a flood: one waits for all, the other for a packet.
    #[test]
    fn flows_that_differ_are_of_different_classes() {
        let flood = (0..1000).map(|_| Standing {
            flood: true,
            ..standing(0, 1500.0, 45_000.0)
        });
        let each = |stream, wire, waited| (0..PACKETS).map(move |_| standing(stream, wire, waited));
        for sizes in [[100.0, 200.0], [200.0, 100.0]] {
            let flows = each(1, sizes[0], 50_000.0).chain(each(2, sizes[1], 1_000.0));
            let all: Vec<_> = flood.clone().chain(flows).collect();
            let found = Queue::estimate(&all, &RATE).unwrap();
            assert_eq!((found.order, found.of_flows), (Order::Classes, [0.02, 1.0]));
        }
    }
}
