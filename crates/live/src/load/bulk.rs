//! tcp: as much as gets through.

use super::error::LoadError;
use super::over_time::{OverTime, rate};
use super::{LoadState, StreamRun};
use crate::connections::{CONGESTION_CONTROL, UNSENT, WRITE, tcp_socket};
use crate::payload;
use delaylab_kernel::stream::{StreamSocket, TcpInfo};
use delaylab_kernel::{clock, socket_options, wait};
use delaylab_model::load::Direction;
use delaylab_model::probe::Fill;
use delaylab_model::refusal::Refusal;
use delaylab_model::stream_report::{Amount, StreamReport};
use delaylab_model::{MICROSECOND, Nanos};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

/// A connection is there by then, or there is none.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// One connection that is kept full.
pub(super) struct Bulk {
    pub(super) socket: StreamSocket,
    congestion_control: String,
    fill: Vec<u8>,
}

/// Connects to where the load goes, as it is to be sent: class and congestion control hold from the first
/// packet on.
pub(super) fn connect(run: &StreamRun) -> Result<TcpStream, LoadError> {
    let (v6, target) = (run.target.is_ipv6(), run.target);
    let socket = tcp_socket(target).map_err(LoadError::socket("open"))?;
    let class = run.load.class.0.traffic_class(0);
    socket_options::set_traffic_class(&socket, v6, class).map_err(LoadError::socket("class"))?;
    // What comes down is the other end's to send.
    if run.load.direction == Direction::Up {
        if let Some(rate) = run.load.rate {
            socket_options::set_most_rate(&socket, rate.0 / 8)
                .map_err(LoadError::socket("rate"))?;
        }
        let name = congestion_control(run);
        socket
            .set_tcp_congestion(name.as_bytes())
            .map_err(|source| no_such_algorithm(run, name, source))?;
    }
    socket
        .connect_timeout(&target.into(), CONNECT_WITHIN)
        .map_err(|source| LoadError::connecting(target, run.server, source))?;
    Ok(socket.into())
}

/// Which one the load is to use.
pub(super) fn congestion_control(run: &StreamRun) -> &str {
    run.load
        .congestion_control
        .as_deref()
        .unwrap_or(CONGESTION_CONTROL)
}

pub(super) fn no_such_algorithm(
    run: &StreamRun,
    name: &str,
    source: impl std::fmt::Display,
) -> LoadError {
    const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
    let reason = format!(
        "this kernel does not let us use `{name}` ({source}); it has: {}. `sudo modprobe tcp_{name}` may bring it",
        available.trim()
    );
    Refusal::new(format!("load.{}.congestion_control", run.load.name), reason).into()
}

/// Nothing waits for this connection, and what it is given leaves at once.
pub(super) fn without_waiting(stream: TcpStream) -> Result<StreamSocket, LoadError> {
    stream
        .set_nonblocking(true)
        .map_err(LoadError::socket("mode"))?;
    StreamSocket::new(stream).map_err(LoadError::socket("no delay"))
}

impl Bulk {
    /// Keeps this connection full from when it is told to.
    pub(super) fn new(stream: TcpStream, run: &StreamRun) -> Result<Self, LoadError> {
        let socket = without_waiting(stream)?;
        socket
            .set_unsent_limit(UNSENT)
            .map_err(LoadError::socket("buffer"))?;
        let congestion_control = socket
            .congestion_control()
            .map_err(LoadError::socket("algorithm"))?;
        let write = run.load.payload.map_or(WRITE, |size| {
            usize::try_from(size.0).map_or(WRITE, |size| size.clamp(1, 16 << 20))
        });
        Ok(Self {
            socket,
            congestion_control,
            fill: payload::filled(&Fill::Random, write, run.seed),
        })
    }

    pub(super) fn run(
        &mut self,
        state: &LoadState,
        over_time: &mut OverTime,
        report: &mut StreamReport,
    ) {
        let begun = clock::monotonic();
        over_time.begin(begun);
        let mut seen = self.socket.info().ok();
        let first = seen;
        let mut listens = true;
        let ended = loop {
            let now = clock::monotonic();
            let stopped = state.stopped() || !listens;
            if now >= over_time.due() || stopped {
                let info = self.socket.info().ok();
                if let (Some(before), Some(info)) = (seen, info) {
                    listens &= told(over_time, now, before, info);
                    let srtt = Nanos::from(info.smoothed_rtt_us) * MICROSECOND;
                    report.round_trips.extend((srtt > 0).then_some(srtt));
                }
                seen = info.or(seen);
            }
            if stopped {
                break now;
            }
            let written = self.socket.send(&self.fill);
            if let Err(error) = written
                .map(drop)
                .or_else(|error| self.or_wait(error, over_time))
            {
                report.failed = Some(format!(
                    "the connection broke after {:.1} s: {error}",
                    (clock::monotonic() - begun) as f64 / 1e9
                ));
                break clock::monotonic();
            }
        };
        report.lasted = Some(ended - begun);
        report.congestion_control = Some(self.congestion_control.clone());
        if let (Some(first), Some(last)) = (first, seen) {
            report.retransmits = Some(
                last.total_retransmits
                    .wrapping_sub(first.total_retransmits)
                    .into(),
            );
            report.sent = Amount {
                packets: 0,
                bytes: delivered(first, last),
            };
        }
    }

    /// A socket that takes nothing more is waited for, until the next point is due.
    fn or_wait(&self, error: io::Error, over_time: &OverTime) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::WouldBlock => {
                wait::until_writable(self.socket.as_fd(), over_time.due()).map(drop)
            }
            io::ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        }
    }
}

fn delivered(before: TcpInfo, after: TcpInfo) -> u64 {
    let acknowledged = |info: TcpInfo| info.acknowledged.unwrap_or(0);
    acknowledged(after).saturating_sub(acknowledged(before))
}

fn told(over_time: &mut OverTime, now: Nanos, before: TcpInfo, info: TcpInfo) -> bool {
    let window = f64::from(info.congestion_window) * f64::from(info.send_mss);
    let again = info
        .total_retransmits
        .wrapping_sub(before.total_retransmits);
    let goodput = rate(delivered(before, info), over_time.length(now));
    over_time.of_tcp(now, window, info.smoothed_rtt_us, goodput, again)
}
