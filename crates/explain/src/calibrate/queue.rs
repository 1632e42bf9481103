//! Do packets wait for those of other flows?
//!
//! In one queue a packet waits for all that stood before it, so its wait at the line's rate is those bytes. Where each flow has
//! a queue of its own, a packet of a thin flow waits for about one packet of each other flow, however many
//! stand there. A flow that wants more than its share waits for itself there, so the thinnest flow is asked.

use super::backlog::Standing;
use super::rate::Rate;
use delaylab_stats::functional::Functional;
use std::collections::BTreeMap;

/// Packets that have to say something.
const PACKETS: usize = 30;
/// So many of the largest packets have to stand before one, so that one of them is little.
const STOOD: f64 = 4.0;
/// At most this share waited for is a queue a flow, at least that share one queue.
const APART: f64 = 0.5;
const TOGETHER: f64 = 0.75;

/// How a queue is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One queue, first come first served.
    First,
    /// A queue a flow.
    PerFlow,
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
        let known = known.filter(|flow| flow.shares.len() >= PACKETS);
        let Flow { mut shares, .. } = known.min_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        let waited_for = Functional::Quantile(0.5).value(&mut shares)?;
        let order = match waited_for {
            share if share >= TOGETHER => Order::First,
            share if share <= APART => Order::PerFlow,
            _ => Order::Neither,
        };
        Some(Self {
            order,
            waited_for,
            packets: shares.len(),
        })
    }
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
}
