//! udp: packets when they are due.
//!
//! The schedule is absolute: a late packet does not move the ones behind it, and what has become due
//! meanwhile is sent at once, many packets in one call. Between packets the thread sleeps; it never spins.

use super::error::LoadError;
use super::over_time::{OverTime, rate};
use super::{LoadState, StreamRun, packets};
use crate::connections::is_nothing;
use crate::payload;
use crate::prober::error::NO_BUFFERS;
use delaylab_kernel::batch::{self, BATCH, HEAD, Outgoing};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::{DatagramSocket, Kind};
use delaylab_kernel::socket_options as options;
use delaylab_model::headers;
use delaylab_model::plan::Unit;
use delaylab_model::probe::{DontFragment, Fill};
use delaylab_model::stream_report::{Amount, StreamReport};
use delaylab_model::{MILLISECOND, Nanos, PICOS_PER_NANO};
use delaylab_traffic::arrival::{Arrival, Packet};
use delaylab_wire::{iperf3, load};
use std::io;
use std::iter::Peekable;

/// Packets that were missed are counted so far: who asked for more than that has his answer already.
const MOST_MISSED: u32 = 10_000_000;
/// Where a thread wakes up late and its load is over, what became due meanwhile is not missed: of no more than the last 100 ms.
const LATE: Nanos = 100 * MILLISECOND;

/// How packets begin, for those who count them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Heading {
    /// With the token of a session.
    Ours(u32),
    /// As iperf3's do.
    Iperf3,
}

impl Heading {
    const fn length(self) -> usize {
        match self {
            Heading::Ours(_) => load::HEADER,
            Heading::Iperf3 => iperf3::HEADER,
        }
    }

    fn head(self, seq: u64) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        // Both have room.
        let _ = match self {
            Heading::Ours(token) => load::Header { token, seq }.emit(&mut head),
            Heading::Iperf3 => iperf3::Header {
                micros: clock::realtime().unsigned_abs() / 1000,
                seq: seq + 1,
            }
            .emit(&mut head),
        };
        head
    }
}

/// One stream of datagrams.
pub(super) struct Paced {
    socket: DatagramSocket,
    heading: Heading,
    arrivals: Peekable<Arrival>,
    headers: u32,
    fill: Vec<u8>,
    seq: u64,
    batch: Vec<Outgoing>,
}

/// A socket to where the load goes.
pub(super) fn socket(run: &StreamRun) -> Result<DatagramSocket, LoadError> {
    let socket =
        DatagramSocket::open(Kind::Udp, run.target.is_ipv6()).map_err(LoadError::socket("open"))?;
    let class = run.load.class.0.traffic_class(0);
    socket
        .set_marks(class, None, DontFragment::Want)
        .map_err(LoadError::socket("class"))?;
    // A call that waits for a slow interface comes back and looks whether it is to stop.
    options::set_send_timeout(&socket, super::LOOK_EVERY).map_err(LoadError::socket("time-out"))?;
    socket
        .connect(run.target)
        .map_err(|source| LoadError::connecting(run.target, run.server, source))?;
    Ok(socket)
}

impl Paced {
    pub(super) fn new(
        socket: DatagramSocket,
        heading: Heading,
        run: &StreamRun,
    ) -> Result<Self, LoadError> {
        let v6 = run.target.is_ipv6();
        let section = format!("load.{}", run.load.name);
        let arrivals =
            packets(&run.load, v6, run.seed).map_err(|refusal| refusal.within(&section))?;
        Ok(Self {
            socket,
            heading,
            arrivals: arrivals.peekable(),
            headers: headers::of_datagrams(v6),
            fill: payload::filled(&Fill::Random, 1 << 16, run.seed),
            seq: 0,
            batch: Vec::with_capacity(BATCH),
        })
    }

    pub(super) fn run(
        &mut self,
        start: Nanos,
        state: &LoadState,
        over_time: &mut OverTime,
        report: &mut StreamReport,
    ) {
        over_time.begin(start);
        let mut told = 0;
        let mut sent = Amount::default();
        // When it was to wake up, if it slept.
        let mut wake = Nanos::MAX;
        let ended = loop {
            let now = clock::monotonic();
            let stopped = state.stopped();
            if now >= over_time.due() || stopped {
                // As the rate that was asked for: of IP packets.
                let bytes = sent.bytes + sent.packets * u64::from(self.headers);
                let offered = rate(bytes - told, over_time.length(now));
                told = bytes;
                let listens = over_time.point(now, &[("offered", Unit::BitsPerSecond, offered)]);
                if stopped || !listens {
                    break end(now, wake);
                }
            }
            wake = Nanos::MAX;
            self.take_due(now - start);
            if self.batch.is_empty() {
                let next = self.arrivals.peek().map(|packet| start + nanos(packet));
                wake = next.unwrap_or(Nanos::MAX).min(over_time.due());
                // An error is a signal: look again.
                let _ = clock::sleep_until(wake);
            } else if let Err(error) = self.send_batch(state, &mut sent) {
                report.failed = Some(broke(&error, now - start));
                break now;
            }
        };
        // What has become due and was not sent counts as missed.
        let mut due = sent;
        for packet in &self.batch {
            due.add(packet.length);
        }
        for _ in 0..MOST_MISSED {
            let next = self.arrivals.peek().copied();
            let Some(packet) = next.filter(|packet| nanos(packet) < ended - start) else {
                break;
            };
            self.arrivals.next();
            due.add((packet.bytes - self.headers) as usize);
        }
        report.lasted = Some(ended - start);
        report.due = Some(due);
        report.sent = sent;
    }

    /// Puts what is due into the batch.
    fn take_due(&mut self, elapsed: Nanos) {
        while self.batch.len() < BATCH {
            let Some(packet) = self.arrivals.next_if(|packet| nanos(packet) <= elapsed) else {
                return;
            };
            self.batch.push(Outgoing {
                head: self.heading.head(self.seq),
                head_length: self.heading.length(),
                length: (packet.bytes - self.headers) as usize,
            });
            self.seq += 1;
        }
    }

    fn send_batch(&mut self, state: &LoadState, sent: &mut Amount) -> io::Result<()> {
        while !self.batch.is_empty() && !state.stopped() {
            match batch::send(&self.socket, &self.batch, &self.fill) {
                Ok(count) => {
                    for packet in self.batch.drain(..count) {
                        sent.add(packet.length);
                    }
                }
                Err(error) if passes(&error) => {
                    // Memory that is short now will be there again.
                    let _ = clock::sleep_until(clock::monotonic() + MILLISECOND);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// When a load ended that is over `now`, whose thread was to wake up at `wake`.
fn end(now: Nanos, wake: Nanos) -> Nanos {
    now.min(wake.max(now - LATE))
}

/// Try again: nothing was sent, and nothing is wrong for good.
fn passes(error: &io::Error) -> bool {
    is_nothing(error) || error.raw_os_error() == Some(NO_BUFFERS)
}

fn broke(error: &io::Error, after: Nanos) -> String {
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing takes its packets any more".to_owned(),
        _ => format!("its packets cannot be sent: {error}"),
    };
    format!("after {:.1} s {why}", after as f64 / 1e9)
}

fn nanos(packet: &Packet) -> Nanos {
    Nanos::try_from(packet.at / PICOS_PER_NANO).unwrap_or(Nanos::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_wakes_up_a_little_late_ends_in_time() {
        let now = 1_000 * MILLISECOND;
        for (wake, ended) in [
            (Nanos::MAX, now),
            (now + MILLISECOND, now),
            (now - 30 * MILLISECOND, now - 30 * MILLISECOND),
            (now - 500 * MILLISECOND, now - LATE),
        ] {
            assert_eq!(end(now, wake), ended, "{wake}");
        }
    }
}
