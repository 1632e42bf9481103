//! Looks the name of a server up beside the measuring thread, which must not wait for it.

use delaylab_kernel::clock;
use delaylab_model::Nanos;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};

/// What became of one request's name.
#[derive(Debug)]
pub(super) struct Resolved {
    pub seq: u64,
    pub at: Nanos,
    pub result: Result<SocketAddr, String>,
}

/// A thread that asks the system's resolver, one name after the other. It ends with this.
#[derive(Debug)]
pub(super) struct Resolver {
    ask: Sender<u64>,
    answers: Receiver<Resolved>,
    bell: UnixStream,
}

impl Resolver {
    /// For this name; addresses of the family of `first` alone.
    pub fn new(host: String, first: SocketAddr) -> io::Result<Self> {
        let (bell, mut rings) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let (ask, asked) = mpsc::channel::<u64>();
        let (answer, answers) = mpsc::channel();
        std::thread::Builder::new()
            .name("resolver".to_owned())
            .spawn(move || {
                for seq in asked {
                    let result = look_up(&host, first);
                    let at = clock::monotonic();
                    let told = answer.send(Resolved { seq, at, result }).is_ok();
                    if !told || rings.write_all(&[0]).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self { ask, answers, bell })
    }

    /// Asks for the sake of this request.
    pub fn ask(&self, seq: u64) -> io::Result<()> {
        self.ask.send(seq).map_err(io::Error::other)
    }

    /// What has been answered.
    pub fn answers(&mut self) -> Vec<Resolved> {
        let mut rung = [0; 64];
        while matches!(self.bell.read(&mut rung), Ok(count) if count > 0) {}
        self.answers.try_iter().collect()
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
