//! Errors instead of answers: how many of each reason and sender.

use delaylab_model::icmp::IcmpReason;
use delaylab_model::record::{Outcome, Record};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Reasons and senders that are told apart, so that memory stays flat whoever answers.
const MOST: usize = 32;

/// Errors that mean the same and come from the same sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// What the ICMP error says; `None`: it was no ICMP error, or the record does not say.
    pub reason: Option<IcmpReason>,
    /// Its type and code.
    pub code: Option<(u8, u8)>,
    /// Who sent it.
    pub by: Option<IpAddr>,
    /// What would have fit, where the packet was too big.
    pub path_mtu: Option<u32>,
}

/// How often each came.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    counts: BTreeMap<Refusal, u64>,
}

impl Refusals {
    /// Counts a record that was refused.
    pub(super) fn push(&mut self, record: &Record) {
        if record.outcome != Outcome::Refused {
            return;
        }
        let refusal = Refusal {
            reason: record.icmp,
            code: record.icmp_type.zip(record.icmp_code),
            by: record.refused_by,
            path_mtu: record.path_mtu,
        };
        if self.counts.len() < MOST || self.counts.contains_key(&refusal) {
            *self.counts.entry(refusal).or_default() += 1;
        }
    }

    /// The most frequent first.
    pub(super) fn listed(&self) -> Vec<(Refusal, u64)> {
        let mut listed: Vec<_> = self.counts.iter().map(|(r, n)| (*r, *n)).collect();
        listed.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        listed
    }
}
