//! Reflectors inside a testbed: one at each host that is asked, which takes load too.

use crate::build::Standing;
use delaylab_live::reflect::bind::{BindError, Bound};
use delaylab_live::reflect::{DEFAULT_PORT, LOAD_PORT, serve};
use delaylab_live::world::Enter;
use delaylab_model::probe::WaitMode;
use delaylab_traffic::reflector::{Access, Policy};
use delaylab_wire::stamp;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Who asks is a part of the same experiment.
const NO_LIMIT: u64 = 100_000_000_000;
/// Every host of a testbed.
const EVERYBODY: &str = "10.0.0.0/8";

/// Why hosts do not answer.
#[derive(Debug, thiserror::Error)]
pub enum ReflectorError {
    /// A socket cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The thread cannot be started, or not get there.
    #[error("cannot start a reflector in the testbed: {0}")]
    Start(#[from] io::Error),
}

/// Answer until this is dropped.
#[derive(Debug, Default)]
pub struct Reflectors {
    stop: Arc<AtomicBool>,
    threads: BTreeMap<usize, JoinHandle<()>>,
}

impl Reflectors {
    /// Sees to it that one answers at this place of a testbed, once this returns.
    ///
    /// # Errors
    /// When it cannot.
    pub fn answer_at(&mut self, place: usize, standing: &Standing) -> Result<(), ReflectorError> {
        if self.threads.contains_key(&place) {
            return Ok(());
        }
        let (ready, is_ready) = channel();
        let (enter, stop) = (standing.enter(place), self.stop.clone());
        let thread = std::thread::Builder::new()
            .name("reflector".to_owned())
            .spawn(move || reflect(&enter, &stop, &ready))?;
        self.threads.insert(place, thread);
        let gone = || io::Error::other("its thread ended");
        is_ready.recv().map_err(|_| gone())?
    }
}

fn reflect(enter: &Enter, stop: &AtomicBool, ready: &Sender<Result<(), ReflectorError>>) {
    let bound = enter().map_err(ReflectorError::from).and_then(|()| bind());
    let bound = match bound {
        Ok(bound) => bound,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    // What it counted is in the probes' own records.
    let _ = serve(bound, policy(), WaitMode::Block, &|| {
        stop.load(Ordering::Relaxed)
    });
}

fn bind() -> Result<Bound, ReflectorError> {
    let everywhere = [IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    let mut bound = Bound::default();
    bound.open_echo(&everywhere, DEFAULT_PORT..=DEFAULT_PORT)?;
    bound.open_stamp(&everywhere, stamp::PORT)?;
    bound.open_load(&everywhere, LOAD_PORT)?;
    Ok(bound)
}

fn policy() -> Policy {
    let allow = EVERYBODY.parse().into_iter().collect();
    let mut policy = Policy::new(Access::Open { allow });
    for rate in [&mut policy.limits.each, &mut policy.limits.total] {
        rate.packets = NO_LIMIT;
        rate.bytes = NO_LIMIT;
    }
    policy
}

impl Drop for Reflectors {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut self.threads).into_values() {
            let _ = thread.join();
        }
    }
}
