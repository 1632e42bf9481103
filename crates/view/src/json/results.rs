//! Results of the packets of one probe.

use super::{Measured, Stats, stats};
use crate::missing::WrittenIn;
use crate::ping::{Handshakes, Ping};
use delaylab_lab::finding::single::Answer;
use delaylab_model::Nanos;
use delaylab_model::trial::{Delivery, Negotiated, ProbeFacts, RecordFacts, SwitchLateness};
use delaylab_stats::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Its results, but for the packets themselves.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Results<'a> {
    /// Counts and distributions.
    pub stats: Stats,
    /// Of the handshakes that were made during requests on connections that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Stats>,
    /// Each stamp of a record: did it come?
    pub stamps: BTreeMap<&'static str, Delivery>,
    /// What a reader needs to know to read the packets.
    pub facts: Facts,
    /// What was negotiated with the server, once for all connections that have the same.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub negotiated: &'a [Negotiated],
    /// dns: the addresses that the name has, once for all answers that have the same.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub resolved: &'a [Vec<IpAddr>],
    /// Why it is not what was asked for, such as a connection that ended; in a ping those of a load's stream stand there. None: it is
    /// valid.
    pub flaws: &'a [String],
    /// What to check before trusting the figures.
    pub warnings: &'a [String],
    /// The outcome of each condition of `--fail-if`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub fail_if: &'a [Answer],
}

impl<'a> Results<'a> {
    /// Of a probe of a finished trial of an experiment.
    pub fn new(summary: &Summary, facts: &'a ProbeFacts) -> Self {
        let sentence = stats::sentence(summary);
        Self::judged(summary, facts, WrittenIn::ExperimentFile, sentence)
    }

    fn judged(
        summary: &Summary,
        facts: &'a ProbeFacts,
        written: WrittenIn,
        sentence: Measured<String>,
    ) -> Self {
        let stamps = facts.stamps.iter();
        Self {
            stats: Stats::new(summary, facts, written, sentence),
            handshakes: None,
            stamps: stamps
                .map(|&(point, delivery)| (point.name(), delivery))
                .collect(),
            facts: Facts::new(facts),
            negotiated: &facts.negotiated,
            resolved: &facts.resolved,
            flaws: &facts.flaws,
            warnings: &facts.warnings,
            fail_if: &[],
        }
    }

    /// Of a finished ping.
    pub fn of_ping(ping: &Ping<'a>) -> Self {
        let sentence = Measured::or(ping.verdict(), || {
            ping.silence().unwrap_or_else(stats::unanswered)
        });
        let written = WrittenIn::PingOptions;
        let of_handshakes = |made: Handshakes<'_>| {
            let Handshakes { facts, summary } = made;
            Stats::new(summary, facts, written, stats::sentence(summary))
        };
        Self {
            handshakes: ping.handshakes.map(of_handshakes),
            fail_if: ping.conditions,
            ..Self::judged(ping.summary, ping.facts, written, sentence)
        }
    }
}

/// What a reader needs to know to read the packets.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Facts {
    /// Clock and residence of the reflector.
    #[serde(flatten)]
    pub records: RecordFacts,
    /// CLOCK_REALTIME − CLOCK_MONOTONIC at the start.
    pub realtime_offset_ns: Nanos,
    /// MTU of the path as this host knew it at the end, in bytes of an IP packet; null where it did not.
    pub path_mtu: Option<u32>,
    /// Replies that came after their packet had been closed, or that belong to none.
    pub strays: u64,
    /// Packets that arrived and were not replies to this probe.
    pub rejected: u64,
    /// How late a testbed's switches handed frames on; null in other worlds.
    pub switch_lateness: Option<SwitchLateness>,
}

impl Facts {
    fn new(facts: &ProbeFacts) -> Self {
        Self {
            records: facts.records,
            realtime_offset_ns: facts.realtime_offset,
            path_mtu: facts.path_mtu,
            strays: facts.strays,
            rejected: facts.rejected,
            switch_lateness: facts.switch_lateness,
        }
    }
}
