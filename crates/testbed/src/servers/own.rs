//! delaylab's own server: pages on port 80 and names on port 53, each after a think time, so many at once.
//!
//! Each reply says how long the server had its request: from the arrival in its kernel, which stamps it, until the reply was about to
//! be written. That its thread woke late or thought too long is in it.

use super::ServerError;
use super::wanted::PlacedServer;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Kind, SendOptions};
use delaylab_kernel::stamping::{self, Flags};
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, socket_options};
use delaylab_live::joined;
use delaylab_live::world::Enter;
use delaylab_model::Nanos;
use delaylab_model::path::server::page_size;
use delaylab_model::request::DnsTransport;
use delaylab_wire::{dns, http};
use socket2::SockRef;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Where pages are.
const WEB: u16 = 80;
/// Where names are.
const DNS_PORT: u16 = DnsTransport::Udp.usual_port();
/// What every name has.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// How long that may be kept, in seconds.
const TTL: u32 = 60;
/// The kernel wakes no sleeper sooner than this after its time: the rest is spent awake.
const SLACK: Duration = Duration::from_micros(200);
/// How often a thread that waits for a datagram looks whether it is to end.
const GLANCE: Duration = Duration::from_millis(50);

/// Answers until it is dropped.
#[derive(Debug)]
pub struct Own {
    shared: Arc<Shared>,
    listeners: Vec<TcpListener>,
    threads: Vec<JoinHandle<()>>,
}

/// What all threads know.
#[derive(Debug)]
struct Shared {
    think: Duration,
    line: Mutex<Line>,
    moved: Condvar,
    stop: AtomicBool,
    /// Connections that are there, to be ended with the rest.
    open: Mutex<HashMap<u64, TcpStream>>,
}

/// Who works and who waits, in the order in which they came: what comes while a thread is being woken does not go before it.
#[derive(Debug)]
struct Line {
    workers: u64,
    came: u64,
    done: u64,
}

impl Line {
    const fn with_workers(workers: u32) -> Self {
        Self {
            workers: workers as u64,
            came: 0,
            done: 0,
        }
    }

    /// The number of a request that comes.
    const fn join(&mut self) -> u64 {
        self.came += 1;
        self.came - 1
    }

    /// Is it its turn?
    const fn is_next(&self, number: u64) -> bool {
        number < self.done + self.workers
    }
}

impl Shared {
    fn new(think: Duration, workers: u32) -> Self {
        Self {
            think,
            line: Mutex::new(Line::with_workers(workers)),
            moved: Condvar::new(),
            stop: AtomicBool::new(false),
            open: Mutex::default(),
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the request with this number, once a worker is free and all that came before have one.
    fn work(&self, number: u64) {
        let line = self.line();
        drop(self.moved.wait_while(line, |line| !line.is_next(number)));
        think(self.think);
        self.done();
    }

    fn done(&self) {
        self.line().done += 1;
        self.moved.notify_all();
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// When a request arrived.
#[derive(Debug, Clone, Copy)]
enum Arrived {
    /// In the kernel, by its real time.
    Stamped(Nanos),
    /// When it was read: it was not stamped.
    Read(Nanos),
}

impl Arrived {
    fn now() -> Self {
        Arrived::Read(clock::monotonic())
    }

    fn from_ancillary(beside: &Ancillary) -> Self {
        beside.software.map_or_else(Arrived::now, Arrived::Stamped)
    }

    fn since(self) -> Nanos {
        match self {
            Arrived::Stamped(at) => clock::realtime() - at,
            Arrived::Read(at) => clock::monotonic() - at,
        }
    }
}

/// Exactly so long: a sleep alone would be longer by what the kernel takes to wake it.
fn think(time: Duration) {
    let until = clock::monotonic() + time.as_nanos() as i64;
    if let Some(sleep) = time.checked_sub(SLACK) {
        std::thread::sleep(sleep);
    }
    while clock::monotonic() < until {
        std::hint::spin_loop();
    }
}

impl Own {
    /// Starts it, and returns once it listens.
    ///
    /// # Errors
    /// It cannot have its ports.
    pub fn start(
        placed: &PlacedServer,
        enter: &Enter,
        bound: &mut Datagrams,
    ) -> Result<Self, ServerError> {
        let server = &placed.server;
        let io = |what| {
            move |source| ServerError::Io {
                name: server.name.clone(),
                what,
                source,
            }
        };
        let (web, names, datagrams) = open(placed, enter, bound).map_err(io("have its ports"))?;
        let think = server.think.map_or(0, |think| think.0.unsigned_abs());
        let shared = Shared::new(Duration::from_nanos(think), server.workers());
        let shared = Arc::new(shared);
        let mut own = Self {
            shared: shared.clone(),
            listeners: Vec::new(),
            threads: Vec::new(),
        };
        for (listener, answer) in [(web, answer_pages as Answer), (names, answer_names)] {
            own.listeners
                .push(listener.try_clone().map_err(io("keep its socket"))?);
            let shared = shared.clone();
            own.spawn(move || accept(&listener, &shared, answer))
                .map_err(io("start its thread"))?;
        }
        own.spawn(move || answer_datagrams(&datagrams, &shared))
            .map_err(io("start its thread"))?;
        Ok(own)
    }

    fn spawn(&mut self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(thread(act)?);
        Ok(())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for listener in &self.listeners {
            // Who accepts on it wakes up.
            let _ = SockRef::from(listener).shutdown(Shutdown::Both);
        }
        for (_, stream) in self.shared.open().drain() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Sockets for datagrams by namespace, each bound once for all servers of a testbed: a thread that has taken a copy of all
/// descriptors meanwhile keeps it bound after it has been closed here.
pub type Datagrams = BTreeMap<usize, Arc<DatagramSocket>>;

/// On a thread of its own: this one stays where it is.
fn open(
    placed: &PlacedServer,
    enter: &Enter,
    bound: &mut Datagrams,
) -> io::Result<(TcpListener, TcpListener, Arc<DatagramSocket>)> {
    let (address, names) = (placed.address, (placed.address, DNS_PORT));
    let open = || {
        enter()?;
        let datagrams = match bound.entry(placed.place) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(none) => none.insert(Arc::new(datagram_socket(address, DNS_PORT)?)),
        };
        let datagrams = datagrams.clone();
        let listeners = (
            TcpListener::bind((address, WEB))?,
            TcpListener::bind(names)?,
        );
        // Connections have it from their listener.
        for listener in [&listeners.0, &listeners.1] {
            stamping::set(listener, Flags::arrivals())?;
        }
        Ok((listeners.0, listeners.1, datagrams))
    };
    std::thread::scope(|scope| joined(scope.spawn(open).join()))
}

fn datagram_socket(address: Ipv4Addr, port: u16) -> io::Result<DatagramSocket> {
    let socket = DatagramSocket::open(Kind::Udp, false)?;
    socket.bind(SocketAddr::from((address, port)))?;
    socket.set_stamping(Flags::arrivals())?;
    socket_options::set_receive_timeout(&socket, GLANCE.as_nanos() as Nanos)?;
    Ok(socket)
}

fn thread(act: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("server".to_owned())
        .spawn(act)
}

/// What is done on a connection.
type Answer = fn(&StreamSocket, &Shared) -> io::Result<()>;

fn accept(listener: &TcpListener, shared: &Arc<Shared>, answer: Answer) {
    for number in 0.. {
        let accepted = listener.accept();
        if shared.ends() {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // As where there are too many files: later there may be fewer.
            std::thread::sleep(GLANCE);
            continue;
        };
        let Ok(kept) = stream.try_clone() else {
            continue;
        };
        shared.open().insert(number, kept);
        let shared = shared.clone();
        // One that cannot be had leaves the connection without an answer, which the probe records.
        let _ = thread(move || {
            // Who asks may go at any time.
            let _ = StreamSocket::new(stream).and_then(|stream| {
                let answered = answer(&stream, &shared);
                let _ = stream.stream().shutdown(Shutdown::Both);
                answered
            });
            shared.open().remove(&number);
        });
    }
}

/// The answer to a question for a page that has arrived so.
fn page(asked: &http::Asked, arrived: &Arrived) -> Vec<u8> {
    let body = page_size(&asked.path);
    let mut reply = http::reply_head(body, asked.keeps, 0).into_bytes();
    if !asked.head_only {
        reply.resize(reply.len() + body as usize, b'.');
    }
    // All is ready but for the time that it took: the head has the same length with any.
    let head = http::reply_head(body, asked.keeps, arrived.since());
    reply[..head.len()].copy_from_slice(head.as_bytes());
    reply
}

fn answer_pages(stream: &StreamSocket, shared: &Shared) -> io::Result<()> {
    let mut came = Vec::new();
    let mut arrived = Arrived::now();
    loop {
        while let Some(asked) = http::asked(&came).map_err(io::Error::other)? {
            came.drain(..asked.bytes);
            let number = shared.line().join();
            shared.work(number);
            stream.stream().write_all(&page(&asked, &arrived))?;
            if !asked.keeps {
                return Ok(());
            }
        }
        arrived = more(stream, &mut came)?;
    }
}

fn answer_names(stream: &StreamSocket, shared: &Shared) -> io::Result<()> {
    let mut came = Vec::new();
    let mut arrived = Arrived::now();
    loop {
        while let Some((length, rest)) = came.split_first_chunk::<{ dns::LENGTH }>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some(question) = rest.get(..length) else {
                break;
            };
            let number = shared.line().join();
            shared.work(number);
            let reply = dns::reply(question, ADDRESS, TTL, 0);
            came.drain(..dns::LENGTH + length);
            let mut reply = dns::framed(&reply.ok_or(io::ErrorKind::InvalidData)?);
            dns::set_took(&mut reply, arrived.since());
            stream.stream().write_all(&reply)?;
        }
        arrived = more(stream, &mut came)?;
    }
}

/// What comes next on the connection, and when it arrived.
fn more(stream: &StreamSocket, came: &mut Vec<u8>) -> io::Result<Arrived> {
    let mut buffer = [0; 4096];
    match stream.receive(&mut buffer, Blocking::Yes)? {
        (0, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        (length, beside) => {
            came.extend_from_slice(&buffer[..length]);
            Ok(Arrived::from_ancillary(&beside))
        }
    }
}

/// Each on a thread of its own, which waits until one of the workers is free.
fn answer_datagrams(socket: &Arc<DatagramSocket>, shared: &Arc<Shared>) {
    let mut buffer = [0; 1 << 16];
    while !shared.ends() {
        let Ok(received) = socket.receive_from(&mut buffer, Blocking::Yes) else {
            continue;
        };
        let Some(from) = received.from else {
            continue;
        };
        let arrived = Arrived::from_ancillary(&received.beside);
        let question = buffer[..received.length].to_vec();
        // In the order in which they came, whichever thread begins first.
        let number = shared.line().join();
        let (socket, of_thread) = (socket.clone(), shared.clone());
        let begun = thread(move || {
            of_thread.work(number);
            if let Some(mut reply) = dns::reply(&question, ADDRESS, TTL, 0) {
                dns::set_took(&mut reply, arrived.since());
                let _ = socket.send_to(&reply, from, SendOptions::default());
            }
        });
        if begun.is_err() {
            // Those behind it are not to wait for it.
            shared.done();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND;
    use delaylab_model::request::Question;
    use std::net::UdpSocket;

    #[test]
    fn a_request_that_comes_while_a_worker_gets_free_waits_behind_those_before_it() {
        let mut line = Line::with_workers(2);
        let requests = [line.join(), line.join(), line.join()];
        assert_eq!(requests.map(|it| line.is_next(it)), [true, true, false]);
        line.done += 1;
        let late = line.join();
        assert!(line.is_next(requests[2]) && !line.is_next(late));
        line.done += 1;
        assert!(line.is_next(late));
    }

    /// What waits for the server's thread is the server's time, by UDP as by TCP.
    #[test]
    fn a_question_that_waits_to_be_read_is_with_the_server() {
        const WAITS: Duration = Duration::from_millis(100);
        let shared = Arc::new(Shared::new(Duration::ZERO, 1));
        let home = Ipv4Addr::LOCALHOST;
        let socket = Arc::new(datagram_socket(home, 0).unwrap());
        // The kernel begins to stamp a moment later.
        std::thread::sleep(WAITS);
        let client = UdpSocket::bind((home, 0)).unwrap();
        client.set_read_timeout(Some(20 * WAITS)).unwrap();
        client.connect(socket.local_address().unwrap()).unwrap();
        let asked: Question = "example.org".parse().unwrap();
        client.send(&dns::question(&asked, 7).unwrap()).unwrap();
        std::thread::sleep(WAITS);
        let server = std::thread::spawn({
            let shared = shared.clone();
            move || answer_datagrams(&socket, &shared)
        });
        let mut reply = [0; 512];
        let length = client.recv(&mut reply).unwrap();
        shared.stop.store(true, Ordering::Relaxed);
        server.join().unwrap();
        let answered = dns::answer(&reply[..length], &asked).unwrap();
        let says = answered.says.unwrap();
        assert!(says >= 100 * MILLISECOND, "{says} ns");
    }
}
