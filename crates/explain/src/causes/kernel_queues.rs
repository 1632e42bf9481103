//! About how long packets waited in queues of the kernel. What each packet met there is not known, but what the queue held as
//! it was sent: so much the line had to send before it.

use super::line::both_ways;
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::hop::Direction;
use delaylab_model::record::Record;
use delaylab_model::trial::Trial;
use delaylab_store::run::Run;
use delaylab_topology::network::Kind;
use delaylab_topology::{Routes, build};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The queues of the kernel on the ways of a run's probes, and when packets passed them in the trial that is read.
#[derive(Debug, Default)]
pub(super) struct KernelQueues {
    /// By trial and probe.
    on_way: BTreeMap<(u32, u16), Vec<KernelQueue>>,
    /// When packets of each probe were sent, and when their replies were back.
    packets: BTreeMap<u16, Vec<[Nanos; 2]>>,
}

/// A queue of the kernel on the way of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelQueue {
    pub(super) direction: Direction,
    pub(super) port: Arc<str>,
    /// Bits a second.
    rate: u64,
}

/// What a packet met there, as an estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MetEstimate {
    pub(super) ns: f64,
    /// Bytes before it.
    pub(super) backlog: f64,
    /// The most of them in the millisecond, or so, in which it came.
    pub(super) most_backlog: f64,
}

/// What a queue held over a while.
struct BacklogSample {
    from: Nanos,
    mean: f64,
    most: f64,
}

impl KernelQueues {
    pub(super) fn new(run: &Run, resolved: Option<&Resolved>) -> Self {
        let is_testbed = run.world() == Some("testbed");
        let planned = resolved.filter(|_| is_testbed).into_iter();
        let trials = planned.flat_map(|resolved| &resolved.planned);
        let mut on_way = BTreeMap::new();
        for trial in trials.map(|planned| &planned.trial) {
            for (probe, _) in (0..).zip(&trial.probes) {
                let queues = of_probe(trial, probe);
                if !queues.is_empty() {
                    on_way.insert((trial.id, probe), queues);
                }
            }
        }
        Self {
            on_way,
            packets: BTreeMap::new(),
        }
    }

    /// Takes a packet that was answered and not late.
    pub(super) fn push(&mut self, record: &Record) {
        let is_on_way = self.on_way.contains_key(&(record.trial, record.probe));
        let sent = record.t_tx.or(record.t_send);
        let back = record.t_rx.or(record.t_recv);
        if let Some((sent, back)) = sent.zip(back).filter(|_| is_on_way) {
            self.packets
                .entry(record.probe)
                .or_default()
                .push([sent, back]);
        }
    }

    /// What the packets of a trial met that were taken, by their probe.
    pub(super) fn end_trial(
        &mut self,
        run: &Run,
        trial: u32,
        mut met: impl FnMut(u16, &KernelQueue, MetEstimate),
    ) {
        let packets = std::mem::take(&mut self.packets);
        if packets.is_empty() {
            return;
        }
        let mut backlogs = BTreeMap::<Arc<str>, Vec<BacklogSample>>::new();
        run.for_each_series_point(Some(trial), |point| {
            if &*point.series == "backlog" {
                let held = BacklogSample {
                    from: point.t,
                    mean: point.mean,
                    most: point.max,
                };
                backlogs.entry(point.of.clone()).or_default().push(held);
            }
        });
        for (probe, packets) in packets {
            let queues = self.on_way.get(&(trial, probe)).into_iter().flatten();
            for queue in queues {
                let backlog = backlogs.get(&queue.port).map_or(&[][..], Vec::as_slice);
                let way = usize::from(queue.direction != Direction::Forward);
                for times in &packets {
                    met(probe, queue, queue.met(backlog, times[way]));
                }
            }
        }
    }
}

impl KernelQueue {
    fn met(&self, backlog: &[BacklogSample], at: Nanos) -> MetEstimate {
        let after = backlog.partition_point(|held| held.from <= at);
        let held = after.checked_sub(1).and_then(|at| backlog.get(at));
        held.map_or_else(MetEstimate::default, |held| MetEstimate {
            ns: held.mean * 8e9 / self.rate.max(1) as f64,
            backlog: held.mean,
            most_backlog: held.most,
        })
    }
}

/// Queues of the kernel on the way there, then those on the way back.
fn of_probe(trial: &Trial, probe: u16) -> Vec<KernelQueue> {
    let Ok(built) = build(trial) else {
        return Vec::new();
    };
    let Some(ends) = built.probes.get(usize::from(probe)) else {
        return Vec::new();
    };
    let ways = both_ways(&mut Routes::new(&built.network), ends);
    let ports = Direction::ALL.into_iter().zip(ways);
    let ports =
        ports.flat_map(|(direction, way)| way.into_iter().map(move |port| (direction, port)));
    let is_of_the_kernel = |port: u32| {
        let from = built.network.ports[port as usize].from;
        match &built.network.nodes[from as usize].kind {
            Kind::Switch(section) => section.discipline.is_some_and(|it| it.is_of_the_kernel()),
            Kind::Host(_) => false,
        }
    };
    ports
        .filter(|&(_, port)| is_of_the_kernel(port))
        .map(|(direction, port)| KernelQueue {
            direction,
            port: built.network.port_name(port).into(),
            rate: built.network.ports[port as usize].rate,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_for_what_the_queue_held_as_it_came() {
        let queue = KernelQueue {
            direction: Direction::Forward,
            port: "s1→s2".into(),
            rate: 10_000_000,
        };
        let held = |(from, mean, most)| BacklogSample { from, mean, most };
        let backlog = [(1_000_000, 0.0, 0.0), (2_000_000, 50_000.0, 60_000.0)].map(held);
        let ns = |at| queue.met(&backlog, at).ns;
        // Before it was looked at nothing is known of it.
        assert_eq!((ns(0), ns(1_500_000), ns(2_000_000)), (0.0, 0.0, 40e6));
        assert_eq!(queue.met(&backlog, 9_000_000).most_backlog, 60_000.0);
        assert_eq!(queue.met(&[], 9_000_000), MetEstimate::default());
    }
}
