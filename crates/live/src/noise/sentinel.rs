//! A thread that only reads the clock: whatever keeps it from that is noise.

use super::events::Events;
use super::gaps::{self, Looked};
use delaylab_kernel::cpu_list::Cpus;
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseKind;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// How it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Looks {
    pub(super) trial: u32,
    pub(super) cpu: usize,
    pub(super) threshold: Nanos,
    /// No more gaps than this are kept: the longest.
    pub(super) most: usize,
}

/// A sentinel that runs until it is stopped or dropped.
#[derive(Debug)]
pub(super) struct Sentinel {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Gaps>>>,
}

/// What it found.
#[derive(Debug)]
pub(super) struct Gaps {
    pub(super) events: Events,
    pub(super) looked: Looked,
}

impl Sentinel {
    pub(super) fn start(looks: Looks) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("dlab-sentinel".into())
            .spawn(move || watch(looks, &told))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Says what it found.
    ///
    /// # Errors
    /// It could not be where it should, or has died.
    pub(super) fn finish(mut self) -> io::Result<Gaps> {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().and_then(|thread| thread.join().ok());
        joined.unwrap_or_else(|| Err(io::Error::other("its thread has died")))
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn watch(looks: Looks, stop: &AtomicBool) -> io::Result<Gaps> {
    // As any program would run: the watcher that started it gives way to others.
    let _ = Scheduling::OTHER.apply();
    // Where it may not be there it would spin beside the prober, and see gaps of its own making.
    scheduling::pin(looks.cpu)?;
    let cpu = u16::try_from(looks.cpu).ok();
    let mut events = Events::new(looks.most);
    let looked = gaps::look(
        looks.threshold,
        |_| !stop.load(Ordering::Relaxed),
        |start, length| {
            let kind = NoiseKind::SentinelGap;
            events.push(gaps::event(kind, looks.trial, cpu, start, length));
        },
    );
    Ok(Gaps { events, looked })
}

/// Where a sentinel may run without being in the way: beside the watched CPUs, or, where all are
/// watched, on the second: interrupts favour the first, `quiet` measures on the last.
pub(super) fn place(allowed: &Cpus, watched: &Cpus) -> Option<usize> {
    let beside = allowed.difference(watched).next();
    beside.or(allowed.iter().nth(1)).copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_kernel::clock;

    #[test]
    fn a_sentinel_looks_until_it_is_stopped() {
        let from = clock::monotonic();
        let looks = Looks {
            trial: 3,
            cpu: *scheduling::affinity().unwrap().first().unwrap(),
            threshold: 1,
            most: 100,
        };
        let sentinel = Sentinel::start(looks).unwrap();
        // On a busy machine it has a CPU late.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let gaps = sentinel.finish().unwrap();
        let until = clock::monotonic();
        let (events, _) = gaps.events.sorted();
        assert!(gaps.looked.looks > 0 && events.len() <= 100);
        for event in &events {
            assert!(from <= event.start && event.start + event.length <= until);
            assert_eq!((event.trial, event.cpu), (3, Some(looks.cpu as u16)));
        }
    }

    #[test]
    fn it_keeps_off_the_watched_cpus() {
        let all = Cpus::from([0, 1, 2]);
        assert_eq!(place(&all, &Cpus::from([0, 2])), Some(1));
        assert_eq!(place(&all, &all), Some(1));
        assert_eq!(place(&Cpus::from([5]), &Cpus::from([5])), None);
    }
}
