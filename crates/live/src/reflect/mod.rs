//! `delaylab reflect`: answers probes. The sockets are here; what is answered, and with what, is
//! decided by [`delaylab_traffic::reflector`].
//!
//! | module | does |
//! |---|---|
//! | [`bind`] | opens the sockets, while there is privilege for it |
//! | `datagrams` | udp echo and STAMP: a thread a socket |
//! | `departures` | when replies left |
//! | `streams` | tcp: a thread a connection |
//! | `load` | the sink of loads, where it is to be one |
//! | `fetch` | sends load to a prober that asked for it |
//! | `accept` | what services over tcp have in common |

mod accept;
pub mod bind;
mod datagrams;
mod departures;
mod fetch;
mod load;
mod streams;
#[cfg(test)]
mod tests;

use crate::clocks::{Clocks, HostClock};
use crate::overflow::Overflow;
use crate::places::Places;
use bind::Bound;
use datagrams::Role;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::DatagramSocket;
use delaylab_kernel::udp_errors::UdpErrors;
use delaylab_kernel::{clock, random};
use delaylab_model::Nanos;
use delaylab_model::probe::WaitMode;
use delaylab_traffic::reflector::load::LoadSink;
use delaylab_traffic::reflector::{Arrival, Keys, Now, Policy, Reflector, Status};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

pub use delaylab_traffic::reflector::{DEFAULT_PORT, LOAD_PORT};

/// What every thread of a reflector shares.
pub(crate) struct Shared<'a> {
    reflector: Mutex<Reflector>,
    sink: Mutex<LoadSink>,
    /// For connections of probes; those of load have their own, so that neither takes the other's.
    places: Places,
    load_places: Places,
    /// For connections of either for which there is no place.
    crowded: Places,
    clock: HostClock,
    udp_errors: Arc<UdpErrors>,
    wait_mode: WaitMode,
    /// As in [`Policy::takes_within`].
    takes_within: Nanos,
    stop: &'a (dyn Fn() -> bool + Sync),
    /// A thread that must run could not be started.
    failed: AtomicBool,
}

impl Shared<'_> {
    /// A thread that panicked left the state machine as it was before or after a packet.
    fn reflector(&self) -> MutexGuard<'_, Reflector> {
        self.reflector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn sink(&self) -> MutexGuard<'_, LoadSink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what this socket has no room for from now on.
    fn overflow(&self, socket: &DatagramSocket) -> Overflow {
        let v6 = socket.local_address().is_ok_and(|at| at.is_ipv6());
        Overflow::of_udp(socket, v6, self.udp_errors.clone())
    }

    /// Takes new keys, and what the kernel says of its clock, until told to stop: that was synchronised later than this was
    /// started, or has been left alone since.
    fn keep_up(&self, mut new_keys: Option<&mut dyn FnMut() -> Option<Keys>>) {
        while !self.stopped() {
            if let Some(keys) = new_keys.as_mut().and_then(|new_keys| new_keys()) {
                self.reflector().set_keys(keys.clone());
                self.sink().set_keys(keys);
            }
            let facts = self.clock.facts_now();
            self.reflector().set_clock(facts);
            std::thread::sleep(Duration::from_nanos(bind::LOOK_EVERY.unsigned_abs()));
        }
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || (self.stop)()
    }
}

/// Serves until `stop` says so, looked at a few times a second. Returns what became of all packets.
pub fn serve(
    bound: Bound,
    policy: Policy,
    wait_mode: WaitMode,
    stop: &(dyn Fn() -> bool + Sync),
) -> io::Result<Status> {
    serve_with_keys(bound, policy, wait_mode, stop, None)
}

/// As [`serve`]; the keys that `new_keys` gives, asked a few times a second, take the place of those before.
pub fn serve_with_keys(
    bound: Bound,
    mut policy: Policy,
    wait_mode: WaitMode,
    stop: &(dyn Fn() -> bool + Sync),
    new_keys: Option<&mut dyn FnMut() -> Option<Keys>>,
) -> io::Result<Status> {
    policy.clock = bound.clock.facts;
    policy.own_ports.extend(bound.ports());
    let limits = accept::limits(&policy);
    let takes_within = policy.takes_within;
    let shared = Shared {
        sink: Mutex::new(LoadSink::new(policy.clone(), random::bytes()?)),
        reflector: Mutex::new(Reflector::new(policy, random::bytes()?)),
        places: Places::new(limits),
        load_places: Places::new(limits),
        crowded: Places::new(accept::crowded_limits()),
        clock: bound.clock.clone(),
        udp_errors: bound.udp_errors.clone(),
        wait_mode,
        takes_within,
        stop,
        failed: AtomicBool::new(false),
    };
    shared.reflector().start(now());
    std::thread::scope(|scope| {
        let started = start_all(bound, &shared, scope);
        shared.failed.store(started.is_err(), Ordering::Relaxed);
        shared.keep_up(new_keys);
        started
    })?;
    let mut reflector = shared.reflector();
    reflector.expire(now());
    Ok(reflector.status())
}

fn start_all<'scope, 'env>(
    bound: Bound,
    shared: &'scope Shared<'env>,
    scope: &'scope Scope<'scope, 'env>,
) -> io::Result<()> {
    for served in bound.datagrams {
        let bind::Served {
            port,
            socket,
            established,
        } = served;
        // Packets of sessions come to it. Both threads ask what it had no room for, and are to know the same.
        let sessions = established.as_ref().unwrap_or(&socket);
        let overflow = Arc::new(Mutex::new(shared.overflow(sessions)));
        let established = established.map(Arc::new);
        let role = match &established {
            Some(established) => Role::Strangers(established.clone()),
            None => Role::All,
        };
        if let Some(socket) = established {
            let overflow = overflow.clone();
            start(scope, move || {
                datagrams::serve(&socket, port, Role::Established, &overflow, shared);
            })?;
        }
        start(scope, move || {
            datagrams::serve(&socket, port, role, &overflow, shared);
        })?;
    }
    for listener in bound.streams {
        start(scope, move || streams::serve(&listener, shared, scope))?;
    }
    for (number, socket) in bound.load_datagrams.into_iter().enumerate() {
        start(scope, move || load::count(&socket, number, shared))?;
    }
    for listener in bound.load_streams {
        start(scope, move || load::serve(&listener, shared, scope))?;
    }
    Ok(())
}

/// Starts a thread. [`Scope::spawn`] would panic where the system allows no more of them.
fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    Builder::new().spawn_scoped(scope, run).map(drop)
}

fn now() -> Now {
    let (mono, real) = clock::both();
    Now {
        mono,
        real,
        clock_steps: 0,
    }
}

/// Both clocks at this time of the monotonic one, as they have been watched so far.
#[inline]
fn at(clocks: &Clocks, mono: Nanos) -> Now {
    Now {
        mono,
        real: mono + clocks.offset(),
        clock_steps: clocks.steps() as u8,
    }
}

/// What the kernel told of a packet that was read at `r_user`, on the record's clock.
#[inline]
fn arrival(clocks: &Clocks, beside: &Ancillary, r_user: Nanos) -> Arrival {
    Arrival {
        r_rx: beside
            .software
            .map(|real| clocks.to_monotonic(real, 0, r_user)),
        r_user,
        traffic_class: beside.traffic_class,
        ttl: beside.ttl,
        overflowed: 0,
    }
}
