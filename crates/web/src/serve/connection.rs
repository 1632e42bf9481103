//! A connection from its first byte to its last: how long each step may take, and what is said where there
//! are too many.

use super::{Shared, http, route};
use delaylab_live::places::Place;
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::admission::{Limits, Share};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections at once.
const ALL: usize = 96;
/// Connections at once that have not shown the token; without a token, of all.
const UNPROVEN: usize = 64;
/// A request comes at once, all of it: a byte now and then does not keep a connection open.
const HEARING: Duration = Duration::from_secs(10);
/// An answer is taken: the time that its writer may wait for the reader in all, ...
const PATIENCE: Duration = Duration::from_secs(20);
/// ... and a second more for so many bytes taken.
const SLOWEST: u64 = 16 << 10;
/// Connections at once that are told that there are too many.
const TOLD: usize = 32;
/// They are heard and told within so long.
const TELLING: Duration = Duration::from_secs(1);

/// How many connections there may be. Who has the token goes before all that have not.
pub(super) fn limits(has_token: bool) -> Limits {
    let unproven = Share {
        all: UNPROVEN,
        network: if has_token { UNPROVEN / 2 } else { UNPROVEN },
        address: if has_token { UNPROVEN / 4 } else { UNPROVEN },
    };
    Limits {
        places: Share::of_all(ALL),
        unproven,
        prove_within: HEARING.as_secs() as Nanos * SECOND,
        grace: 0,
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

/// Writes to a reader that takes what it is sent, be it slowly. Time in which there is nothing to write does
/// not count.
struct Patient<'a> {
    stream: &'a TcpStream,
    waited: Duration,
    written: u64,
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let may_wait = PATIENCE + Duration::from_secs(self.written / SLOWEST);
        let left = may_wait.saturating_sub(self.waited);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        let started = Instant::now();
        let mut stream = self.stream;
        let written = stream.write(bytes);
        self.waited += started.elapsed();
        self.written += *written.as_ref().unwrap_or(&0) as u64;
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hears one request and answers it.
pub(super) fn converse(
    shared: &Shared,
    stream: &TcpStream,
    from: SocketAddr,
    address: SocketAddr,
    place: &Place,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let until = Instant::now() + HEARING;
    let request = http::Request::read(BufReader::new(Hearing { stream, until }));
    if place.gave_way() {
        return tell(stream);
    }
    place.heard();
    let patient = Patient {
        stream,
        waited: Duration::ZERO,
        written: 0,
    };
    route::answer(
        shared,
        request,
        route::Peer {
            from,
            address,
            place,
        },
        &mut BufWriter::with_capacity(1 << 16, patient),
    )
}

/// Tells a connection that there is no place for it, if not too many are told already.
pub(super) fn refuse(told: &Arc<AtomicUsize>, stream: Arc<TcpStream>) {
    if told.fetch_add(1, Ordering::Relaxed) >= TOLD {
        told.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let leaving = Leaving(Arc::clone(told));
    let _ = std::thread::Builder::new()
        .name("busy".to_owned())
        .spawn(move || {
            let _leaving = leaving;
            let until = Instant::now() + TELLING;
            let stream = &*stream;
            // What is closed unread is reset, and the answer with it.
            let _ = http::Request::read(BufReader::new(Hearing { stream, until }));
            let _ = tell(stream);
        });
}

/// Counts a connection out, however it ends.
struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn tell(stream: &TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(TELLING))?;
    let why = b"too many connections: try again in a second\n";
    http::answer(
        &mut BufWriter::new(stream),
        "503 Service Unavailable",
        "text/plain; charset=utf-8",
        "Retry-After: 1\r\n",
        why,
    )?;
    stream.shutdown(Shutdown::Write)?;
    let until = Instant::now() + TELLING;
    io::copy(&mut Hearing { stream, until }, &mut io::sink()).map(drop)
}
