//! A host's CPU: one job at a time, in the order in which they came.
//!
//! A packet sent or received costs a + b·bytes (protocol processing and data copying, seed 003). A
//! daemon takes the CPU now and then; after a rest the first job costs more (seeds 000 and 002).

use crate::packet::PacketId;
use crate::picos;
use delaylab_model::Picos;
use delaylab_model::path::HostCosts;
use std::collections::VecDeque;

/// What a CPU is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// A probe's packet is due: it is made when the CPU gets to it.
    Due(u32),
    /// A packet goes down to the network card.
    Send(PacketId),
    /// A packet comes up from it.
    Receive(PacketId),
    /// A daemon, by its number at this host.
    Daemon(usize),
}

/// A process beside the prober.
#[derive(Debug, Clone)]
pub struct Daemon {
    /// In the noise table.
    pub name: String,
    /// Start to start.
    pub every: Picos,
    /// How long it keeps the CPU.
    pub busy: Picos,
    /// When it next wants the CPU.
    pub next: Picos,
}

/// A CPU and those who want it.
#[derive(Debug, Default)]
pub struct Cpu {
    per_packet: Picos,
    per_byte: Picos,
    wake_up: Option<(Picos, Picos)>,
    /// Beside the prober.
    pub daemons: Vec<Daemon>,
    waiting: VecDeque<Job>,
    /// What it does now.
    pub job: Option<Job>,
    idle_since: Picos,
}

impl Cpu {
    /// With these costs and daemons.
    pub fn new(costs: &HostCosts, daemons: Vec<Daemon>) -> Self {
        let wake_up = costs
            .wake_up
            .map(|wake| (picos(Some(wake.after)), picos(Some(wake.cost))));
        Self {
            per_packet: picos(costs.per_packet),
            per_byte: picos(costs.per_byte),
            wake_up,
            daemons,
            ..Self::default()
        }
    }

    /// Takes the job at once if nothing else is under way; else it waits.
    pub fn is_free_for(&mut self, job: Job) -> bool {
        if self.job.is_none() {
            return true;
        }
        self.waiting.push_back(job);
        false
    }

    /// How long a packet of this size takes from `now` on.
    pub fn cost(&self, now: Picos, bytes: u32) -> Picos {
        self.per_packet + self.per_byte * Picos::from(bytes) + self.waking(now)
    }

    /// What waking up adds.
    fn waking(&self, now: Picos) -> Picos {
        let rested = |&(after, _): &(Picos, Picos)| now - self.idle_since >= after;
        self.wake_up.filter(rested).map_or(0, |(_, cost)| cost)
    }

    /// The job under way is done: the next.
    pub fn next(&mut self, now: Picos) -> Option<Job> {
        self.job = None;
        self.idle_since = now;
        self.waiting.pop_front()
    }

    /// When the first daemon wants the CPU.
    pub fn next_daemon(&self) -> Option<Picos> {
        self.daemons.iter().map(|daemon| daemon.next).min()
    }
}
