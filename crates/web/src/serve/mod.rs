//! `delaylab serve`: runs as pages, on a port of this host. It answers GET alone, changes nothing, and
//! asks nobody for anything.
//!
//! | file | holds |
//! |---|---|
//! | `http.rs` | as much of HTTP as that takes |
//! | `connection.rs` | a connection: how many there may be, how long each step may take |
//! | `guard.rs` | who is answered |
//! | `tries.rs` | wrong tokens are answered late |
//! | `route.rs` | which answer belongs to which address |
//! | `pages.rs` | the list of runs, and what went wrong |
//! | `cache.rs` | runs that were looked at lately |
//! | `timeline.rs` | round trips over time, of any stretch, however long the run |
//! | `events.rs` | server-sent events: runs as they appear, a run in progress |
//!
//! A thread a connection: those who look at runs are few, and an event stream lasts as long as its page.

mod cache;
mod connection;
mod events;
mod guard;
mod http;
mod pages;
mod route;
#[cfg(test)]
mod tests;
mod timeline;
mod tries;

pub use guard::{BadToken, Token};

use cache::Cache;
use delaylab_live::places::Places;
use delaylab_store::run::Run;
use delaylab_view::run::RunData;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tries::Tries;

/// A connection that cannot be accepted stays in the queue: so long is waited.
const PAUSE: Duration = Duration::from_millis(50);

/// A server before it starts.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
}

/// What its threads share.
struct Shared {
    runs: PathBuf,
    token: Option<Token>,
    read: Box<dyn Fn(&Run) -> RunData + Send + Sync>,
    cache: Cache,
    places: Places,
    /// Connections that are being told that there are too many.
    told: Arc<AtomicUsize>,
    tries: Mutex<Tries>,
    started: Instant,
}

/// Why it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not to be had.
    #[error("cannot serve on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// As the system says it.
        source: io::Error,
    },
    /// Others than this host could read every run.
    #[error("{0} can be reached from other hosts: give a token with --token-file")]
    NoToken(SocketAddr),
}

impl Server {
    /// Of the runs in this directory. `read` makes of a run what is shown of it. Without a token it
    /// serves this host alone.
    ///
    /// # Errors
    /// Where the address is not to be had, or is no loopback address and there is no token.
    pub fn bind(
        address: SocketAddr,
        token: Option<Token>,
        runs: PathBuf,
        read: impl Fn(&Run) -> RunData + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(ServeError::NoToken(address));
        }
        let failed = |source| ServeError::Address { address, source };
        let has_token = token.is_some();
        let listener = TcpListener::bind(address).map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            shared: Shared {
                runs,
                token,
                read: Box::new(read),
                cache: Cache::default(),
                places: Places::new(connection::limits(has_token)),
                told: Arc::default(),
                tries: Mutex::default(),
                started: Instant::now(),
            },
        })
    }

    /// Where it serves, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the process ends.
    pub fn run(self) -> ! {
        let shared = Arc::new(self.shared);
        loop {
            match self.listener.accept() {
                Ok((stream, from)) => admit(&shared, Arc::new(stream), from, self.address),
                // Such as too many open files: one that has shown nothing gives its own back.
                Err(_) => {
                    shared.places.free_one();
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, stream: Arc<TcpStream>, from: SocketAddr, address: SocketAddr) {
    let Ok(place) = shared.places.take(from.ip(), &stream) else {
        connection::refuse(&shared.told, stream);
        return;
    };
    let shared = Arc::clone(shared);
    let answer = move || {
        // Whoever leaves before the end has seen enough.
        let _ = connection::converse(&shared, &stream, from, address, &place);
    };
    let _ = std::thread::Builder::new()
        .name("page".to_owned())
        .spawn(answer);
}
