//! Looks the name of a server up beside the measuring thread, which must not wait for it. No lookup waits for another: that
//! would be this program's time, and stand in the records as the resolver's.

use delaylab_kernel::clock;
use delaylab_model::Nanos;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// Lookups at once, each with a thread of its own, which is started when it is needed.
const MOST: usize = 256;
/// Bytes of each thread's stack. A host that is to be quiet locks all memory of this process, that of stacks too.
const STACK: usize = 512 * 1024;

/// What became of one request's name.
#[derive(Debug)]
pub(super) struct Resolved {
    pub seq: u64,
    pub at: Nanos,
    pub result: Result<SocketAddr, String>,
}

/// Threads that ask the system's resolver. They end with this.
#[derive(Debug)]
pub(super) struct Resolver {
    ask: Sender<u64>,
    answers: Receiver<Resolved>,
    bell: UnixStream,
    /// Lookups that have not been answered.
    asked: usize,
    threads: usize,
    start: Start,
}

/// Starts one more thread.
struct Start(Box<dyn Fn() -> io::Result<()> + Send>);

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Start")
    }
}

/// What its threads share.
struct Threads<L> {
    asked: Mutex<Receiver<u64>>,
    look_up: L,
    rings: UnixStream,
}

impl<L: Fn() -> Result<SocketAddr, String>> Threads<L> {
    /// Looks up until the resolver is dropped.
    fn serve(&self, answer: &Sender<Resolved>) {
        let next = || {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.recv()
        };
        while let Ok(seq) = next() {
            let result = (self.look_up)();
            let at = clock::monotonic();
            let told = answer.send(Resolved { seq, at, result }).is_ok();
            if !told || (&self.rings).write_all(&[0]).is_err() {
                return;
            }
        }
    }
}

impl Resolver {
    /// For this name; addresses of the family of `first` alone.
    pub fn new(host: String, first: SocketAddr) -> io::Result<Self> {
        Self::by(move || look_up(&host, first))
    }

    fn by(
        look_up: impl Fn() -> Result<SocketAddr, String> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (bell, rings) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let (ask, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let threads = Arc::new(Threads {
            asked: Mutex::new(asked),
            look_up,
            rings,
        });
        let start = move || {
            let (threads, answer) = (threads.clone(), answer.clone());
            let thread = std::thread::Builder::new().name("resolver".to_owned());
            let thread = thread.stack_size(STACK);
            thread.spawn(move || threads.serve(&answer)).map(drop)
        };
        start()?;
        Ok(Self {
            ask,
            answers,
            bell,
            asked: 0,
            threads: 1,
            start: Start(Box::new(start)),
        })
    }

    /// Asks for the sake of this request. `Err`: as many are being asked for as may be at once.
    pub fn ask(&mut self, seq: u64) -> Result<(), String> {
        if self.asked >= MOST {
            return Err(format!(
                "{MOST} lookups of the name are under way: the resolver answers too slowly for this rate"
            ));
        }
        // Where no more threads are to be had, a lookup waits for one of those that there are.
        if self.asked >= self.threads && (self.start.0)().is_ok() {
            self.threads += 1;
        }
        self.asked += 1;
        self.ask.send(seq).map_err(|error| error.to_string())
    }

    /// What has been answered.
    pub fn answers(&mut self) -> Vec<Resolved> {
        let mut rung = [0; 64];
        while matches!(self.bell.read(&mut rung), Ok(count) if count > 0) {}
        let answers = Vec::from_iter(self.answers.try_iter());
        self.asked -= answers.len();
        answers
    }
}

fn look_up(host: &str, first: SocketAddr) -> Result<SocketAddr, String> {
    let addresses = (host, first.port()).to_socket_addrs();
    let mut addresses = addresses.map_err(|error| format!("cannot resolve `{host}`: {error}"))?;
    let found = addresses.find(|address| address.is_ipv6() == first.is_ipv6());
    found.ok_or_else(|| {
        format!(
            "`{host}` has no address of the family of {} any more",
            first.ip()
        )
    })
}

impl AsFd for Resolver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Barrier;

    /// The answers to this number of questions, each of which is answered only once all have been asked.
    fn at_once(count: usize) -> Vec<Resolved> {
        let target = SocketAddr::from(([192, 0, 2, 1], 80));
        let all = Barrier::new(count);
        let mut resolver = Resolver::by(move || {
            all.wait();
            Ok(target)
        })
        .unwrap();
        (0..count as u64).for_each(|seq| resolver.ask(seq).unwrap());
        if count == MOST {
            assert!(resolver.ask(0).unwrap_err().contains("too slowly"));
        }
        let mut answers = Vec::new();
        while answers.len() < count {
            std::thread::yield_now();
            answers.extend(resolver.answers());
        }
        assert_eq!(resolver.asked, 0);
        answers
    }

    #[test]
    fn no_lookup_waits_for_another() {
        for count in [1, 5, MOST] {
            let mut answers = at_once(count);
            answers.sort_by_key(|answer| answer.seq);
            assert!(answers.iter().map(|answer| answer.seq).eq(0..count as u64));
        }
    }
}
