//! `delaylab serve`: runs as pages, on a port of this host. It answers GET alone, changes nothing, and
//! asks nobody for anything.
//!
//! | file | holds |
//! |---|---|
//! | `http.rs` | as much of HTTP as that takes |
//! | `guard.rs` | who is answered |
//! | `route.rs` | which answer belongs to which address |
//! | `pages.rs` | the list of runs, and what went wrong |
//! | `cache.rs` | runs that were looked at lately |
//! | `timeline.rs` | round trips over time, of any stretch, however long the run |
//! | `events.rs` | server-sent events: runs as they appear, a run in progress |
//!
//! A thread a connection: those who look at runs are few, and an event stream lasts as long as its page.

mod cache;
mod events;
mod guard;
mod http;
mod pages;
mod route;
mod timeline;

pub use guard::{BadToken, Token};

use crate::run::RunData;
use cache::Cache;
use delaylab_store::run::Run;
use std::io::{self, BufReader, BufWriter, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections at once. More are closed unheard.
const CONNECTIONS: usize = 64;
/// A request comes at once, all of it: whoever sends a byte now and then does not keep others out.
const HEARING: Duration = Duration::from_secs(10);
/// An answer is taken.
const PATIENCE: Duration = Duration::from_secs(20);

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
    connections: AtomicUsize,
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
        let listener = TcpListener::bind(address).map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            shared: Shared {
                runs,
                token,
                read: Box::new(read),
                cache: Cache::default(),
                connections: AtomicUsize::new(0),
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
                Ok((stream, _)) => admit(&shared, stream, self.address),
                // Such as too many open files: those that are open will close.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, stream: TcpStream, address: SocketAddr) {
    if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let leaving = Leaving(Arc::clone(shared));
    let answer = move || {
        // Whoever leaves before the end has seen enough.
        let _ = converse(&leaving.0, &stream, address);
    };
    let _ = std::thread::Builder::new()
        .name("page".to_owned())
        .spawn(answer);
}

/// Counts a connection out, however it ends.
struct Leaving(Arc<Shared>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads from a connection until a certain time.
struct Hearing<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for Hearing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn converse(shared: &Shared, stream: &TcpStream, address: SocketAddr) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let until = Instant::now() + HEARING;
    let request = http::Request::read(BufReader::new(Hearing { stream, until }));
    route::answer(
        shared,
        request,
        address,
        &mut BufWriter::with_capacity(1 << 16, stream),
    )
}
