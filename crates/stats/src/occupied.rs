//! What had the CPU of the prober's host while packets waited for the prober, added up over many of them: what every packet
//! pays for processes that are always there, where none is late.
//!
//! Only time counts in which the prober can have waited for that CPU, as with late packets ([`crate::attribution`]): it was
//! neither stopped nor was the CPU idle ([`crate::stalls`]).

use crate::anatomy::Place;
use crate::attribution::waits_in_tcp;
use crate::noise_join::Join;
use crate::passage::Passage;
use crate::stalls::Stalls;
use crate::trains::{Owner, Trains};
use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use std::collections::BTreeMap;

/// When packets of one stream waited for the prober: 24 B for each stage of its host.
#[derive(Debug, Clone)]
pub struct CpuWaits {
    facts: RecordFacts,
    over_tcp: bool,
    waits: Vec<Wait>,
    response_ns: f64,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    cpu: Option<u16>,
    from: Nanos,
    to: Nanos,
}

/// What had the CPU meanwhile, and for how long.
#[derive(Debug, Clone, Default)]
pub struct Occupied {
    by_owner: BTreeMap<(Owner, NoiseKind), Nanos>,
    response_ns: f64,
}

impl CpuWaits {
    /// For a stream whose records read like this. Are its packets segments of a connection, which the kernel may keep back?
    pub const fn new(facts: RecordFacts, over_tcp: bool) -> Self {
        Self {
            facts,
            over_tcp,
            waits: Vec::new(),
            response_ns: 0.0,
        }
    }

    /// Takes the record of a packet that was answered.
    pub fn push(&mut self, record: &Record) {
        let Some(passage) = Passage::from_record(record, &self.facts) else {
            return;
        };
        self.response_ns += passage.response() as f64;
        let parts = passage.parts();
        let stages = parts.iter().map(|(stages, _)| stages);
        let here = stages.filter(|stages| {
            stages.place() == Place::Prober && !(self.over_tcp && waits_in_tcp(*stages))
        });
        let at = |offset: Nanos| record.t_intended.wrapping_add(offset);
        let waits = here.filter_map(|stages| {
            let (from, to) = passage.window(stages)?;
            Some(Wait {
                cpu: record.cpu,
                from: at(from),
                to: at(to),
            })
        });
        self.waits.extend(waits.filter(|wait| wait.to > wait.from));
    }

    /// What had the CPU, of the events of their trial.
    pub fn occupied(&self, noise: &Join<'_>, trains: &Trains) -> Occupied {
        let windows = self.waits.iter().map(|wait| (wait.from, wait.to));
        let stalls = Stalls::new(windows.collect(), noise);
        // A thread has many events, and its owner takes long to be found.
        let mut by_thread = BTreeMap::<_, (Nanos, &NoiseEvent)>::new();
        for wait in &self.waits {
            let (from, to) = stalls.waited(wait.cpu, (wait.from, wait.to));
            let stopped = noise.stopped(wait.from, wait.to);
            if stopped.is_some_and(|(_, ns)| 2 * ns >= wait.to - wait.from) {
                continue;
            }
            for (event, ns) in noise.each(wait.cpu, from, to) {
                let thread = (event.pid, event.who.as_deref(), event.kind);
                by_thread.entry(thread).or_insert((0, event)).0 += ns;
            }
        }
        let mut occupied = Occupied {
            by_owner: BTreeMap::new(),
            response_ns: self.response_ns,
        };
        for (ns, event) in by_thread.into_values() {
            let owner = trains.owner(event);
            let owner = owner.unwrap_or_else(|| Owner::named(event.kind.name()));
            *occupied.by_owner.entry((owner, event.kind)).or_default() += ns;
        }
        occupied
    }
}

impl Occupied {
    /// Adds what was found of other packets.
    pub fn merge(&mut self, other: Occupied) {
        for (owner, ns) in other.by_owner {
            *self.by_owner.entry(owner).or_default() += ns;
        }
        self.response_ns += other.response_ns;
    }

    /// Each with its share of the responses, 0 to 1, the largest first.
    pub fn shares(self) -> Vec<(Owner, NoiseKind, f64)> {
        let all = self.response_ns;
        let each = self.by_owner.into_iter().filter(|_| all > 0.0);
        let mut each: Vec<_> = each
            .map(|((owner, kind), ns)| (owner, kind, ns as f64 / all))
            .collect();
        each.sort_by(|a, b| b.2.total_cmp(&a.2));
        each
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::MILLISECOND;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;

    const MS: Nanos = MILLISECOND;

    /// Due each 10 ms; sent after 3 ms, back in the kernel after 4 and read after 6.
    fn record(seq: u64) -> Record {
        let due = 10 * MS * seq as Nanos;
        let mut record = Record::due(0, 0, seq, Method::Icmp, due);
        let at = |ms: Nanos| Some(due + ms * MS);
        (record.t_send, record.t_sched, record.t_tx) = (at(3), at(3), at(3));
        (record.t_rx, record.t_recv) = (at(4), at(6));
        (record.outcome, record.cpu) = (Outcome::Ok, Some(1));
        record
    }

    fn event(who: &str, pid: u32, cpu: u16, start: Nanos, length: Nanos) -> NoiseEvent {
        NoiseEvent {
            start,
            length,
            cpu: Some(cpu),
            kind: NoiseKind::Scheduled,
            who: Some(who.to_owned()),
            pid: Some(pid),
            ..NoiseEvent::default()
        }
    }

    fn shares(events: &[NoiseEvent]) -> Vec<(String, f64)> {
        let mut waits = CpuWaits::new(RecordFacts::default(), false);
        (0..50).for_each(|seq| waits.push(&record(seq)));
        let found = waits.occupied(&Join::new(events), &Trains::default());
        let shares = found.shares().into_iter();
        shares.map(|(who, _, share)| (who.name, share)).collect()
    }

    #[test]
    fn what_has_the_cpu_while_packets_wait_has_its_share_of_the_response() {
        let each = |who: &'static str, pid, cpu, from: Nanos, length: Nanos| {
            (0..50).map(move |n| event(who, pid, cpu, 10 * MS * n + from * MS, length * MS))
        };
        let events = each("slips", 7, 1, 0, 3)
            .chain(each("wakes", 8, 1, 4, 1))
            // In the network, between packets, and on another CPU.
            .chain(each("early", 9, 1, 3, 1))
            .chain(each("between", 10, 1, 6, 4))
            .chain(each("elsewhere", 11, 0, 0, 10));
        let events: Vec<NoiseEvent> = events.collect();
        assert_eq!(
            shares(&events),
            [("slips".to_owned(), 0.5), ("wakes".to_owned(), 1.0 / 6.0)]
        );
    }

    #[test]
    fn a_prober_that_is_stopped_does_not_wait_for_the_cpu() {
        let busy = event("busy", 7, 1, 0, 500 * MS);
        let stops = (0..50).map(|n| NoiseEvent {
            kind: NoiseKind::Stopped,
            ..event("delaylab", 8, 1, 10 * MS * n, 3 * MS)
        });
        let events: Vec<NoiseEvent> = stops.chain([busy]).collect();
        // The stage in which it is not stopped.
        assert_eq!(shares(&events), [("busy".to_owned(), 1.0 / 3.0)]);
        assert!(shares(&[]).is_empty());
    }
}
