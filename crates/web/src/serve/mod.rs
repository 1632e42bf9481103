//! `delaylab serve`: runs as pages, on a port of this host. It answers GET and HEAD alone, changes nothing, and
//! asks nobody for anything.
//!
//! | file | holds |
//! |---|---|
//! | `connection.rs` | a connection: how many there may be, how long each step may take |
//! | `places.rs` | who has a place, and who gives way |
//! | `patient.rs` | a stream that waits for its reader, and not for ever |
//! | `query.rs` | the parameters of an address |
//! | `guard.rs` | who is answered |
//! | `tries.rs` | wrong tokens are answered late |
//! | `route.rs` | which answer belongs to which address |
//! | `pages.rs` | the list of runs, and what went wrong |
//! | `cache.rs` | runs that were looked at lately |
//! | `timeline.rs` | round trips over time, of any stretch, however long the run |
//! | `events.rs` | server-sent events: runs as they appear, a run in progress |
//!
//! HTTP is hyper's (RFC 9112, one request a connection), and which answer belongs to which address is axum's. One thread
//! has all connections; runs are read on others, of which there are as many as connections.

mod cache;
mod connection;
mod events;
mod guard;
mod pages;
mod patient;
mod places;
mod query;
mod route;
#[cfg(test)]
mod tests;
mod timeline;
mod tries;

pub use guard::{BadToken, Token};

use cache::Cache;
use delaylab_model::Nanos;
use delaylab_store::index::{Entry, Index, IndexError};
use delaylab_store::run::Run;
use delaylab_view::run::RunData;
use places::Place;
use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tries::Tries;

/// A server before it starts.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    runtime: Runtime,
    shared: Shared,
}

/// What all connections share.
struct Shared {
    runs: PathBuf,
    /// The folder that was there when the server began: as long as it is held, no other one has its number.
    began_in: Option<File>,
    token: Option<Token>,
    read: Box<dyn Fn(&Run) -> RunData + Send + Sync>,
    cache: Cache,
    listing: Mutex<Listing>,
    tries: Mutex<Tries>,
    started: Instant,
}

/// What is known of the runs.
#[derive(Default)]
struct Listing {
    /// As it was when it was last asked.
    index: Option<Index>,
    /// When the list was last made, and its name.
    last: Option<(Instant, u64)>,
}

/// Who asks, and by which address of ours.
#[derive(Clone)]
struct Peer {
    shared: Arc<Shared>,
    from: SocketAddr,
    address: SocketAddr,
    place: Arc<Place>,
}

/// Why it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not to be had.
    #[error("cannot serve on {address}: {source}{}", remedy(.source))]
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

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            ". Another process has this port: `ss -lntp` shows which; or choose another with --port"
        }
        io::ErrorKind::PermissionDenied => {
            ". Ports below 1024 need a privilege: choose another with --port"
        }
        io::ErrorKind::AddrNotAvailable => {
            ". This host has no such address: `ip -br address` lists those it has"
        }
        _ => "",
    }
}

impl Server {
    /// Of the runs in this directory. `read` makes of a run what is shown of it. Without a token it
    /// serves this host alone. No thread is started yet.
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
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(connection::ALL + places::ENDING)
            .thread_name("page")
            .build()
            .map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            runtime,
            shared: Shared {
                began_in: File::open(&runs).ok(),
                runs,
                token,
                read: Box::new(read),
                cache: Cache::default(),
                listing: Mutex::default(),
                tries: Mutex::default(),
                started: Instant::now(),
            },
        })
    }

    /// Where it serves, with the port that it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until the process ends; else returns why it cannot.
    pub fn run(self) -> io::Error {
        let shared = Arc::new(self.shared);
        self.runtime.block_on(async {
            match tokio::net::TcpListener::from_std(self.listener) {
                Ok(listener) => {
                    connection::accept(listener, self.address, shared, route::router()).await
                }
                Err(error) => error,
            }
        })
    }
}

impl Shared {
    /// On the clock of those who decide by time.
    fn now(&self) -> Nanos {
        self.started.elapsed().as_nanos() as Nanos
    }

    /// Is another folder in the place of the one that was there when the server began? A process that is confined to that one
    /// may not read it.
    fn is_replaced(&self) -> bool {
        let then = self.began_in.as_ref().and_then(|it| it.metadata().ok());
        let now = fs::metadata(&self.runs).ok();
        let differ =
            |(then, now): (Metadata, Metadata)| (then.dev(), then.ino()) != (now.dev(), now.ino());
        then.zip(now).is_some_and(differ)
    }

    /// Every run as it is now, the oldest first.
    fn entries(&self) -> Result<Vec<Entry>, IndexError> {
        self.lock_listing().entries(&self.runs)
    }

    /// A name for that list: as long as it is the same, so is the list. Made a moment ago it is not made again, as every page
    /// that follows the list asks for it.
    fn list_name(&self) -> Result<u64, IndexError> {
        let mut listing = self.lock_listing();
        match listing.last {
            Some((made, name)) if made.elapsed() < events::EVERY / 2 => Ok(name),
            _ => Ok(list_name(&listing.entries(&self.runs)?)),
        }
    }

    fn lock_listing(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the answer to a wrong token is to wait.
    fn wait_for_wrong_token(&self, from: SocketAddr) -> Duration {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_nanos(tries.wait(self.now(), from.ip()).unsigned_abs())
    }
}

impl Listing {
    fn entries(&mut self, runs: &Path) -> Result<Vec<Entry>, IndexError> {
        let index = match self.index.take() {
            Some(index) => index.again(),
            None => Index::open(runs),
        };
        let entries = self.index.insert(index?).list()?;
        self.last = Some((Instant::now(), list_name(&entries)));
        Ok(entries)
    }
}

/// By all that a page of the list shows: no page is to be made anew for what it does not.
fn list_name(entries: &[Entry]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in entries {
        let shown = Entry {
            trials: 0,
            records: 0,
            ..entry.clone()
        };
        shown.hash(&mut hasher);
    }
    hasher.finish()
}

impl Peer {
    /// Does what reads runs, on a thread for that. The place is taken until it is done, so that those who ask and
    /// leave do not have it do more than there are places. `None` where it panicked.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> Option<T> {
        let peer = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&peer.shared));
        done.await.ok()
    }
}
