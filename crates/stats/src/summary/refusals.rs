//! Errors instead of answers: how many of each reason and sender, and their words.

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

impl Refusal {
    /// Of a record that was refused.
    pub fn of(record: &Record) -> Self {
        Self {
            reason: record.icmp,
            code: record.icmp_type.zip(record.icmp_code),
            by: record.refused_by,
            path_mtu: record.path_mtu,
        }
    }

    /// What the error says, one without a name of its own by its numbers; `None` where the record does not say.
    pub fn says(&self) -> Option<String> {
        Some(match (self.reason?, self.code) {
            (IcmpReason::Other, Some((kind, code))) => {
                format!("ICMP error of type {kind}, code {code}")
            }
            (reason, _) => reason.describe(self.path_mtu),
        })
    }

    /// `fragmentation needed: MTU 1400 B, from 192.0.2.1`, or as much of it as is known.
    pub fn described(&self) -> Option<String> {
        let by = self.by.map(|by| format!("from {by}"));
        let said: Vec<_> = self.says().into_iter().chain(by).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// `TTL exceeded, from 192.0.2.1`; with several, how many of each; empty where no record says anything.
pub fn described(refusals: &[(Refusal, u64)]) -> String {
    let said = refusals.iter();
    let said: Vec<_> = said
        .filter_map(|(refusal, count)| Some((refusal.described()?, count)))
        .collect();
    match said.as_slice() {
        [] => String::new(),
        [(why, _)] if refusals.len() == 1 => why.clone(),
        several => {
            let each = several.iter().map(|(why, count)| format!("{count} {why}"));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// How often each came.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    counts: BTreeMap<Refusal, u64>,
}

impl Refusals {
    /// Counts a record that was refused.
    pub fn push(&mut self, record: &Record) {
        if record.outcome != Outcome::Refused {
            return;
        }
        let refusal = Refusal::of(record);
        if self.counts.len() < MOST || self.counts.contains_key(&refusal) {
            *self.counts.entry(refusal).or_default() += 1;
        }
    }

    /// The most frequent first.
    pub fn listed(&self) -> Vec<(Refusal, u64)> {
        let mut listed: Vec<_> = self.counts.iter().map(|(r, n)| (*r, *n)).collect();
        listed.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        listed
    }
}
