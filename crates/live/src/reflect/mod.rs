//! `delaylab reflect`: answers probes. The sockets are here; what is answered, and with what, is
//! decided by [`delaylab_traffic::reflector`].
//!
//! | module | does |
//! |---|---|
//! | [`bind`] | opens the sockets, while there is privilege for it |
//! | `datagrams` | udp echo and STAMP: a thread a socket |
//! | `departures` | when replies left |
//! | `streams` | tcp: a thread a connection |

pub mod bind;
mod datagrams;
mod departures;
mod streams;

use bind::Bound;
use delaylab_kernel::{clock, random};
use delaylab_model::probe::WaitMode;
use delaylab_traffic::reflector::{Now, Policy, Reflector, Status};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where udp echo and tcp are served unless told otherwise. (STAMP has its own, 862.)
pub const DEFAULT_PORT: u16 = 8862;

/// What every thread of a reflector shares.
pub(crate) struct Shared<'a> {
    reflector: Mutex<Reflector>,
    wait_mode: WaitMode,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Shared<'_> {
    /// A thread that panicked left the state machine as it was before or after a packet.
    fn reflector(&self) -> MutexGuard<'_, Reflector> {
        self.reflector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        (self.stop)()
    }
}

/// Serves until `stop` says so, looked at a few times a second. Returns what became of all packets.
pub fn serve(
    bound: Bound,
    mut policy: Policy,
    wait_mode: WaitMode,
    stop: &(dyn Fn() -> bool + Sync),
) -> io::Result<Status> {
    policy.clock = bound.clock;
    policy.own_ports.extend(bound.ports());
    let reflector = Mutex::new(Reflector::new(policy, random::bytes()?));
    let shared = Shared {
        reflector,
        wait_mode,
        stop,
    };
    std::thread::scope(|scope| {
        for (port, socket) in bound.datagrams {
            let shared = &shared;
            scope.spawn(move || datagrams::serve(socket, port, shared));
        }
        for listener in bound.streams {
            let shared = &shared;
            scope.spawn(move || streams::serve(&listener, shared, scope));
        }
    });
    let mut reflector = shared.reflector();
    reflector.expire(now());
    Ok(reflector.status())
}

fn now() -> Now {
    Now {
        mono: clock::monotonic(),
        real: clock::realtime(),
    }
}
