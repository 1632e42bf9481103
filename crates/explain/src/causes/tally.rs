//! What late packets of one cause come to.

use super::Worst;
use delaylab_model::Nanos;
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::excursion::Excursion;
use delaylab_stats::holds;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What late packets of one cause come to.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) packets: u64,
    /// How many separate times packets were late by it.
    pub(super) events: u64,
    pub(super) excess_ns: f64,
    pub(super) worst: Worst,
    stages: BTreeMap<StageSet, u64>,
    /// When they were due, by index of their stream.
    pub(super) due: BTreeMap<usize, Vec<Nanos>>,
    /// How long it had the CPU at a stretch, or was stopped, when it delayed a packet.
    pub(super) lengths: Vec<f64>,
    /// CPU time from its waking to its waiting again, of the activation in which it delayed a packet, ns.
    pub(super) activations: Vec<f64>,
    /// On which CPUs it delayed packets.
    pub(super) cpus: BTreeSet<u16>,
    /// The processes by which it delayed packets.
    pub(super) pids: BTreeSet<u32>,
    /// Packets for which the thread that they waited for was stopped.
    pub(super) stopped: u64,
    /// Packets that were sent over TCP, which sends again what is lost.
    pub(super) over_tcp: u64,
    /// Packets with segments that the kernel says were sent again.
    pub(super) sent_again: u64,
    /// Packets whose answer came after that of a later one.
    pub(super) overtaken: u64,
    /// Packets whose cause is known from what else crossed the network meanwhile.
    pub(super) attributed: u64,
    /// Handshakes and requests that crossed at the same time as packets of [`Self::attributed`]: how many of them were late as well,
    /// and how many there were.
    pub(super) concurrent: (u64, u64),
    /// The longest time for which packets were held and let go together.
    pub(super) held: Option<Stall>,
}

/// Packets that were held and let go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    pub(super) trial: u32,
    /// Since the first packet of the trial was due.
    pub(super) from: Nanos,
    pub(super) length: Nanos,
    pub(super) packets: usize,
}

impl Tally {
    /// Stages in which packets were late, the most frequent first.
    pub(super) fn stages(&self) -> Vec<(StageSet, u64)> {
        let mut stages: Vec<_> = self
            .stages
            .iter()
            .map(|(&set, &count)| (set, count))
            .collect();
        stages.sort_by_key(|&(_, count)| Reverse(count));
        stages
    }

    /// Were most of them late in the TCP handshake?
    pub(super) fn is_of_handshakes(&self) -> bool {
        let stages = self.stages();
        stages
            .first()
            .is_some_and(|(set, _)| *set == StageSet::only(Stage::Connect))
    }

    /// Finds the longest time for which these late packets of a trial were held and let go together; the trial's first packet was due
    /// at `first`.
    pub(super) fn note_longest_stall(
        &mut self,
        trial: u32,
        first: Nanos,
        packets: &[(Nanos, Nanos)],
    ) {
        let Some(hold) = holds::longest(packets.to_vec()) else {
            return;
        };
        let known = self.held.map_or(0, |held| held.length);
        if hold.length() > known {
            self.held = Some(Stall {
                trial,
                from: hold.from.saturating_sub(first),
                length: hold.length(),
                packets: hold.count(),
            });
        }
    }

    /// A late packet of this trial and probe, of stream number `at`.
    pub(super) fn add(&mut self, trial: u32, at: usize, probe: u16, late: &Excursion) {
        self.packets += 1;
        self.excess_ns += late.excess;
        self.due.entry(at).or_default().push(late.due);
        if let Some(main) = late.main() {
            *self.stages.entry(main.stages).or_default() += 1;
        }
        if late.excess > self.worst.excess_ns {
            self.worst = Worst {
                excess_ns: late.excess,
                trial,
                probe,
                seq: late.seq,
                due: late.due,
            };
        }
    }
}
