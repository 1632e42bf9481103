//! A reflector of the run's own, for runs without a target: another process on loopback, as a remote
//! one would be, that ends with this one.

use crate::error::RunnerError;
use delaylab_model::method::Responder;
use delaylab_model::trial::{LoadTarget, Server, Target};
use delaylab_wire::control::{COOKIE, Control, Hello, SIZE};
use delaylab_wire::echo::Mode;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Attempts to find free ports.
const TRIES: u32 = 5;
/// It answers by then, or something is wrong.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one question waits for its answer.
const ANSWER: Duration = Duration::from_millis(100);
/// Packets a second, more than any host sends: the probe sets the pace, and no other host can reach this reflector.
const NO_LIMIT: &str = "100000000";

/// The environment variable that holds a key. A reflector for this host alone has none.
pub const KEY_VARIABLE: &str = "DELAYLAB_KEY";

/// Runs until this is dropped.
#[derive(Debug)]
pub struct OwnReflector {
    process: Child,
    /// Where it listens.
    pub target: Target,
}

impl OwnReflector {
    /// Starts `program` as a reflector, and waits until it answers.
    ///
    /// # Errors
    /// It is not known, does not start, or does not answer.
    pub fn start(program: Option<&Path>) -> Result<Self, RunnerError> {
        let mut last = io::Error::from(io::ErrorKind::TimedOut);
        for _ in 0..TRIES {
            match Self::try_start(program) {
                Ok(reflector) => return Ok(reflector),
                Err(error) => last = error,
            }
        }
        Err(RunnerError::environment(format!(
            "cannot start a reflector on loopback: {last}. Start `delaylab reflect` by hand and name it \
             with --target 127.0.0.1"
        )))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    fn try_start(program: Option<&Path>) -> io::Result<Self> {
        let unknown = || io::Error::other("this program does not know its own path");
        let program = program.ok_or_else(unknown)?;
        let target = free_ports()?;
        let port = |responder| target.at(responder).port().to_string();
        let process = Command::new(program)
            .args(["reflect", "--quiet", "--with-input", "--bind", "127.0.0.1"])
            .args(["--port", &port(Responder::Echo)])
            .args(["--stamp-port", &port(Responder::Stamp)])
            .args(["--accept-load", "--load-port"])
            .arg(target.load.address.port().to_string())
            .args(["--max-rate", NO_LIMIT, "--max-total-rate", NO_LIMIT])
            .args(["--max-bandwidth", "1000Gbit/s"])
            .env_remove(KEY_VARIABLE)
            // Ctrl-C is for the run: what is under way still gets its answers.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut reflector = Self { process, target };
        reflector.wait_until_it_answers()?;
        Ok(reflector)
    }

    fn wait_until_it_answers(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait()? {
                return Err(io::Error::other(format!("it ended with {status}")));
            }
            if answers(self.target.at(Responder::Echo)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Drop for OwnReflector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port for udp and tcp, another for stamp and another for load, all free just now.
fn free_ports() -> io::Result<Target> {
    let any = (Ipv4Addr::LOCALHOST, 0);
    let (echo, load) = (TcpListener::bind(any)?, TcpListener::bind(any)?);
    let (echo, address) = (echo.local_addr()?, load.local_addr()?);
    let (_udp, _load, stamp) = (
        UdpSocket::bind(echo)?,
        UdpSocket::bind(address)?,
        UdpSocket::bind(any)?,
    );
    let stamp = stamp.local_addr()?;
    let load = LoadTarget {
        address,
        server: Server::Reflector,
    };
    Ok(Target::new(load, |responder| match responder {
        Responder::Stamp => stamp,
        _ => echo,
    }))
}

/// A Hello is answered with a challenge, and nothing is set up.
fn answers(echo: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(echo)?;
    socket.set_read_timeout(Some(ANSWER))?;
    let hello = Hello {
        nonce: 0,
        mode: Mode::Plain,
        payload: 100,
        cookie: [0; COOKIE],
    };
    let mut packet = [0; SIZE];
    Control::Hello(hello)
        .emit(None, &mut packet)
        .map_err(io::Error::other)?;
    socket.send(&packet)?;
    socket.recv(&mut packet).map(drop)
}
