//! Do packets wait for those of other flows?
//!
//! In one queue a packet waits for all that stood before it, so its wait at the line's rate is those bytes. Where each flow has
//! a queue of its own, a packet of a thin flow waits for about one packet of each other flow, however many
//! stand there.

use super::backlog::Standing;
use super::rate::Rate;
use delaylab_stats::functional::Functional;

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
    /// Median share of what stood before a packet of a thin flow for which it waited.
    pub waited_for: f64,
    /// Packets behind it.
    pub packets: usize,
}

impl Queue {
    /// `None` where no packets of other flows than the flood met a queue.
    pub(super) fn of(standing: &[Standing], rate: &Rate) -> Option<Self> {
        let thin = standing
            .iter()
            .filter(|one| !one.flood && one.bytes >= STOOD * one.largest);
        let share = |one: &Standing| Some(one.waited? / rate.ns_per_byte.value / one.bytes);
        let mut shares: Vec<f64> = thin.filter_map(share).collect();
        if shares.len() < PACKETS {
            return None;
        }
        let waited_for = Functional::Quantile(0.5).of(&mut shares)?;
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
