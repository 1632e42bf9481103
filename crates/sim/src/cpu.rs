//! A host's CPU: one job at a time, in the order in which they came.
//!
//! A packet sent or received costs a + b·bytes (protocol processing and data copying, source 003). A daemon takes the CPU
//! now and then; a CPU that was idle begins late, the later the longer it rested; the tick and slow clock reads make
//! what is under way longer (seeds 000 and 002). What of this is random is drawn by `random`, a stream for each.

mod random;

use crate::packet::PacketId;
use delaylab_model::Picos;
use delaylab_model::host::{Daemon as DaemonSection, HostCosts};
use delaylab_model::probe::HostCondition;
use delaylab_stats::random::SplitMix;
use delaylab_topology::time::picos;
use random::Drawn;
use std::collections::VecDeque;

/// What a CPU is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// It wakes up; what woke it comes next.
    WakeUp,
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
    /// When it next wants the CPU.
    pub next: Picos,
    every: Drawn,
    busy: Drawn,
}

impl Daemon {
    /// It has asked for the CPU: when it will again.
    pub fn asks(&mut self) {
        self.next = self.next.saturating_add(self.every.next().max(1));
    }

    /// How long it keeps it this time.
    pub fn runs(&mut self) -> Picos {
        self.busy.next()
    }
}

/// An idle state.
#[derive(Debug, Clone)]
struct IdleState {
    after: Picos,
    cost: Drawn,
}

#[derive(Debug, Clone)]
struct Tick {
    every: Picos,
    /// When the first came.
    phase: Picos,
    busy: Drawn,
}

/// What reading the clock costs.
#[derive(Debug, Clone)]
struct Clock {
    cost: Picos,
    slow_share: f64,
    slow: Drawn,
    random: SplitMix,
}

/// How long something took longer than its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lengthened {
    /// By ticks.
    pub ticks: Picos,
    /// Reading the clock, if it was read.
    pub clock: Option<Picos>,
    /// That read was a slow one.
    pub slow: bool,
}

/// A CPU and those who want it.
#[derive(Debug, Default)]
pub struct Cpu {
    per_packet: Picos,
    per_byte: Picos,
    /// One of them is there, or something makes work longer.
    has_costs: bool,
    /// The deepest last.
    idle_states: Vec<IdleState>,
    tick: Option<Tick>,
    clock: Option<Clock>,
    /// Beside the prober.
    pub daemons: Vec<Daemon>,
    waiting: VecDeque<Job>,
    /// What it does now.
    pub job: Option<Job>,
    idle_since: Picos,
}

/// Streams of random numbers of a host.
mod purpose {
    pub const WAKE_UP: u64 = 1;
    pub const TICK: u64 = 2;
    pub const CLOCK: u64 = 3;
    /// And so on, two a daemon.
    pub const DAEMONS: u64 = 16;
}

impl Cpu {
    /// With these costs in this condition. Each thing that is random has a stream of its own of `seed`, so that hosts
    /// with more daemons differ by these alone.
    pub fn new(costs: &HostCosts, condition: HostCondition, seed: u64) -> Self {
        let costs = costs.with_noise();
        let stream = |purpose: u64| SplitMix::new(SplitMix::new(seed ^ (purpose << 32)).next());
        let mut idle_states: Vec<_> = costs
            .wake_up
            .0
            .iter()
            .zip(0..)
            .map(|(wake, depth)| IdleState {
                after: picos(Some(wake.after)),
                cost: Drawn::new(
                    picos(Some(wake.cost)),
                    wake.spread(),
                    stream(purpose::WAKE_UP + (depth << 16)),
                ),
            })
            .collect();
        idle_states.sort_by_key(|state| state.after);
        let tick = costs.tick.map(|tick| {
            let every = picos(Some(tick.every)).max(1);
            let mut random = stream(purpose::TICK);
            Tick {
                every,
                phase: (random.uniform() * every as f64) as Picos,
                busy: Drawn::new(picos(Some(tick.busy)), tick.spread(), random),
            }
        });
        let clock = costs.clock_read.map(|clock| {
            let mut random = stream(purpose::CLOCK);
            let slow = SplitMix::new(random.next());
            Clock {
                cost: picos(Some(clock.cost)),
                slow_share: clock.slow_share.unwrap_or_default().as_f64(),
                slow: Drawn::new(picos(clock.slow.or(Some(clock.cost))), clock.spread(), slow),
                random,
            }
        });
        let running = costs.daemon.iter().zip(0..);
        let running = running.filter(|(daemon, _)| daemon.runs_in(condition));
        let daemon = |(daemon, number): (&DaemonSection, u64)| {
            let mut random = stream(purpose::DAEMONS + 2 * number);
            let every = picos(Some(daemon.every)).max(1);
            Daemon {
                name: daemon.name.clone(),
                next: (random.uniform() * every as f64) as Picos,
                every: Drawn::new(every, daemon.interval_spread(), random),
                busy: Drawn::new(
                    picos(Some(daemon.busy)),
                    daemon.length_spread(),
                    stream(purpose::DAEMONS + 2 * number + 1),
                ),
            }
        };
        let (per_packet, per_byte) = (picos(costs.per_packet), picos(costs.per_byte));
        Self {
            per_packet,
            per_byte,
            has_costs: per_packet + per_byte > 0 || tick.is_some() || clock.is_some(),
            idle_states,
            tick,
            clock,
            daemons: running.map(daemon).collect(),
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

    /// Does a packet take any time?
    #[inline]
    pub const fn has_costs(&self) -> bool {
        self.has_costs
    }

    /// How long a packet of this size takes.
    #[inline]
    pub fn cost(&self, bytes: u32) -> Picos {
        self.per_packet + self.per_byte * Picos::from(bytes)
    }

    /// How long it takes to wake up for this job, which then comes next; nothing where the CPU is awake.
    #[inline]
    pub fn wakes_up(&mut self, now: Picos, job: Job) -> Option<Picos> {
        if self.idle_states.is_empty() || now <= self.idle_since {
            return None;
        }
        self.wakes_after(now - self.idle_since, job)
    }

    fn wakes_after(&mut self, rest: Picos, job: Job) -> Option<Picos> {
        let state = self
            .idle_states
            .iter_mut()
            .rev()
            .find(|state| state.after <= rest)?;
        let cost = state.cost.next();
        (cost > 0).then(|| {
            self.waiting.push_front(job);
            cost
        })
    }

    /// May anything make its work longer?
    pub const fn varies(&self) -> bool {
        self.tick.is_some() || self.clock.is_some()
    }

    /// What makes work of this length longer that begins now.
    pub fn lengthened(&mut self, now: Picos, length: Picos, reads_the_clock: bool) -> Lengthened {
        let mut more = Lengthened::default();
        if let Some(clock) = self.clock.as_mut().filter(|_| reads_the_clock) {
            more.slow = clock.random.uniform() < clock.slow_share;
            more.clock = Some(if more.slow {
                clock.slow.next()
            } else {
                clock.cost
            });
        }
        if let Some(tick) = &mut self.tick {
            let length = length + more.clock.unwrap_or(0);
            let before = |at: Picos| (at + tick.every - tick.phase) / tick.every;
            let ticks = before(now + length) - before(now);
            more.ticks = (0..ticks).map(|_| tick.busy.next()).sum();
        }
        more
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

#[cfg(test)]
mod tests;
