//! Packets that were not answered: what is known of them together.

use crate::Nanos;
use crate::icmp::IcmpReason;
use crate::record::Record;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What became of the packets of a probe that were not answered. It is kept with the trial, so that no record is read for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unanswered {
    /// The longest outage.
    pub outage: Option<Outage>,
    /// Errors that came instead of answers, and how many each; the most frequent first.
    pub refusals: Vec<(ErrorReply, u64)>,
}

/// Packets one after the other that were not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Errors that mean the same and come from the same sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ErrorReply {
    /// What the ICMP error says; `None`: it was no ICMP error, or the record does not say.
    pub reason: Option<IcmpReason>,
    /// Its type and code.
    pub code: Option<(u8, u8)>,
    /// Who sent it.
    pub by: Option<IpAddr>,
    /// What would have fit, where the packet was too big.
    pub path_mtu: Option<u32>,
}

impl ErrorReply {
    /// Of a record that was refused.
    pub fn from_record(record: &Record) -> Self {
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
