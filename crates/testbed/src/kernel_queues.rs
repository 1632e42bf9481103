//! What the kernel's queues hold over time: asked for again and again, because they tell nobody.

use crate::build::Standing;
use crate::layout::KernelPort;
use crate::soft_switch::device::PortTraces;
use delaylab_kernel::interfaces;
use delaylab_kernel::queue_stats::QueueStats;
use delaylab_kernel::{clock, scheduling};
use delaylab_live::joined;
use delaylab_live::world::Enter;
use delaylab_model::{MILLISECOND, Nanos, PICOS_PER_NANO, Picos};
use delaylab_sim::trace::{OverTime, Trace};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Between two questions.
const EVERY: Nanos = MILLISECOND;

/// What was seen of the queues of one namespace.
#[derive(Debug)]
pub struct QueuesSeen {
    /// `CLOCK_MONOTONIC` when it began: times of points are since then.
    pub began: Nanos,
    /// Each port's.
    pub ports: Vec<PortTraces>,
    /// Ports that dropped packets, and why.
    pub dropped: Vec<(Arc<str>, &'static str)>,
}

/// Asks until it is asked for what it saw.
#[derive(Debug)]
pub struct KernelQueues {
    begun: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<QueuesSeen>>>,
}

impl KernelQueues {
    /// A thread for each namespace that has such ports. They have asked once when this returns.
    ///
    /// # Errors
    /// Where the kernel cannot be asked.
    pub fn watch(ports: &[KernelPort], standing: &Standing) -> io::Result<Self> {
        let mut queues = Self {
            begun: Arc::default(),
            stop: Arc::default(),
            threads: Vec::new(),
        };
        let mut places: BTreeMap<usize, Vec<KernelPort>> = BTreeMap::new();
        for port in ports {
            places.entry(port.place).or_default().push(port.clone());
        }
        for (place, ports) in places {
            queues.watch_at(standing.enter(place), ports)?;
        }
        Ok(queues)
    }

    /// Starts the thread of one namespace.
    fn watch_at(&mut self, enter: Enter, ports: Vec<KernelPort>) -> io::Result<()> {
        let (begun, stop) = (self.begun.clone(), self.stop.clone());
        let (ready, is_ready) = channel();
        let thread = std::thread::Builder::new()
            .name("kernel-queues".to_owned())
            .spawn(move || {
                enter()?;
                let mut watcher = Watcher::new(&ports)?;
                watcher.look()?;
                let _ = ready.send(());
                watcher.until(&begun, &stop)
            })?;
        self.threads.push(thread);
        // A thread that ended has its reason, which it tells in the end.
        let _ = is_ready.recv();
        Ok(())
    }

    /// What they held before is left out.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Nothing more is asked.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What was seen.
    ///
    /// # Errors
    /// Of the first thread that had one.
    pub fn end(mut self) -> io::Result<Vec<QueuesSeen>> {
        self.stop();
        let threads = std::mem::take(&mut self.threads);
        let ended = threads.into_iter().map(|thread| joined(thread.join()));
        ended.collect()
    }
}

impl Drop for KernelQueues {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Watcher {
    stats: QueueStats,
    began: Nanos,
    /// By the index of the interface.
    ports: BTreeMap<u32, Port>,
}

struct Port {
    name: Arc<str>,
    why_dropped: &'static str,
    backlog: Trace,
    dropped_before: Option<u32>,
    dropped: bool,
}

impl Watcher {
    fn new(ports: &[KernelPort]) -> io::Result<Self> {
        let port = |port: &KernelPort| {
            let watched = Port {
                name: port.name.clone(),
                why_dropped: port.why_dropped,
                backlog: Trace::new(0),
                dropped_before: None,
                dropped: false,
            };
            Ok((interfaces::index_of(&port.interface)?, watched))
        };
        Ok(Self {
            stats: QueueStats::open()?,
            began: clock::monotonic(),
            ports: ports.iter().map(port).collect::<io::Result<_>>()?,
        })
    }

    fn picos(&self, at: Nanos) -> Picos {
        Picos::try_from(at - self.began).unwrap_or(0) * PICOS_PER_NANO
    }

    fn look(&mut self) -> io::Result<()> {
        let before = clock::monotonic();
        let states = self.stats.read()?;
        let at = self.picos(before);
        for state in states {
            if let Some(port) = self.ports.get_mut(&state.interface) {
                port.backlog.set(at, state.bytes.into());
                let before = port.dropped_before.replace(state.dropped);
                port.dropped |= before.is_some_and(|before| before != state.dropped);
            }
        }
        Ok(())
    }

    /// What is over time begins anew.
    fn restart(&mut self) {
        self.began = clock::monotonic();
        for port in self.ports.values_mut() {
            port.backlog = Trace::new(port.backlog.value());
        }
    }

    fn until(mut self, begun: &AtomicBool, stop: &AtomicBool) -> io::Result<QueuesSeen> {
        let _ = scheduling::set_timer_slack(1);
        let mut waits = true;
        while !stop.load(Ordering::Relaxed) {
            let next = clock::monotonic() + EVERY;
            // A signal ends the sleep early.
            let _ = clock::sleep_until(next);
            if waits && begun.load(Ordering::Relaxed) {
                waits = false;
                self.restart();
            }
            self.look()?;
        }
        Ok(self.seen())
    }

    fn seen(self) -> QueuesSeen {
        let end = self.picos(clock::monotonic());
        let dropped = self.ports.values().filter(|port| port.dropped);
        let dropped = dropped
            .map(|port| (port.name.clone(), port.why_dropped))
            .collect();
        let traces = self.ports.into_values().map(|port| PortTraces {
            port: port.name,
            backlog: port.backlog.finish(end),
            utilisation: OverTime::default(),
        });
        QueuesSeen {
            began: self.began,
            dropped,
            ports: traces.collect(),
        }
    }
}
