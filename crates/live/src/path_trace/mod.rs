//! Traces the path to a target by class, with real packets.
//!
//! | module | does |
//! |---|---|
//! | `wires` | what is asked of the sockets that packets leave and answers arrive by |
//! | `crafted` | whole packets, by raw sockets |
//! | `handshakes` | TCP handshakes of the kernel's own |
//! | `questions` | questions to a name server |
//! | [`names`] | finds the names of routers |
//!
//! [`PathTrace`] decides which packet is due; here it is sent, and what comes back is handed over.
//!
//! A round trip is from the send call to the arrival in this host's kernel: many packets are under way at
//! once, and when this thread gets to read an answer says nothing of the path.

mod crafted;
mod handshakes;
pub mod names;
mod questions;
mod wires;

use crate::clocks::{Clocks, RealTime};
use crate::prober::error::{OpenError, RunError};
use crate::prober::open::is_too_long;
use crafted::Crafted;
use delaylab_kernel::clock;
use delaylab_kernel::wait::Watched;
use delaylab_model::method::Method;
use delaylab_model::stop::Stop;
use delaylab_traffic::path_trace::{AtOnce, Due, Packets, PathTrace, Settings, Step};
use delaylab_wire::path_probe::{Mark, SMALLEST_PAYLOAD};
use handshakes::{Handshakes, SENT_AGAIN};
use questions::Questions;
use std::io;
use std::net::SocketAddr;
use wires::{Arrival, Wires};

/// What may leave for another host unasked: 1 % of a gigabit.
const MOST_BITS_A_SECOND: i64 = 10_000_000;

/// What to do.
#[derive(Debug, Clone)]
pub struct PathTracing {
    /// Where to; icmp has no use for the port.
    pub target: SocketAddr,
    /// What the packets are.
    pub packets: Packets,
    /// Leave by this interface.
    pub interface: Option<String>,
    /// Classes, hops and pace.
    pub settings: Settings,
    /// Ends it early.
    pub stop: Stop,
}

impl PathTracing {
    /// Traces the path. `progress` is called after each packet.
    pub fn run(&self, progress: &mut dyn FnMut(&PathTrace)) -> Result<PathTrace, RunError> {
        self.check()?;
        let wires = self.wires()?;
        let mut settings = self.settings.clone();
        settings.at_once = settings.at_once.max(self.at_once());
        let size = wires.packet_size();
        let at_most = size as i64 * 8 * delaylab_model::SECOND / MOST_BITS_A_SECOND;
        settings.gap = settings.gap.max(at_most);
        let trace = PathTrace::new(settings, self.target.ip(), clock::monotonic());
        let trace = trace.map_err(|error| OpenError::setting("path trace", error.to_string()))?;
        let mut running = Running {
            tracing: self,
            wires,
            clocks: Clocks::new(RealTime::of_kernel()),
            trace,
        };
        running.go(progress)?;
        Ok(running.trace)
    }

    fn wires(&self) -> Result<Box<dyn Wires>, OpenError> {
        Ok(match &self.packets {
            &Packets::Crafted { method, payload } => {
                Box::new(Crafted::open(self, method, payload)?)
            }
            Packets::Handshakes => Box::new(Handshakes::open(self)?),
            Packets::Questions(question) => Box::new(Questions::open(self, question)?),
        })
    }

    const fn at_once(&self) -> AtOnce {
        match &self.packets {
            Packets::Crafted { method, .. } if method.is_stream() => AtOnce::OneAHop,
            Packets::Crafted { .. } => AtOnce::Many,
            Packets::Handshakes | Packets::Questions(_) => AtOnce::One,
        }
    }

    fn check(&self) -> Result<(), OpenError> {
        match self.packets {
            Packets::Crafted { method, payload } => check_crafted(method, payload),
            Packets::Handshakes if self.settings.ecn != 0 => Err(OpenError::setting(
                "ecn",
                "TCP uses the ECN bits itself: leave them out, or use --method tcp",
            )),
            Packets::Handshakes if self.settings.timeout > SENT_AGAIN => Err(OpenError::setting(
                "timeout",
                "after 1s the kernel sends a SYN again, and which of the two was answered is not known. Use -w 1s at most, \
                 or --method tcp",
            )),
            Packets::Handshakes | Packets::Questions(_) => Ok(()),
        }
    }
}

/// Can packets of this method with so much payload be written?
fn check_crafted(method: Method, payload: u32) -> Result<(), OpenError> {
    if !method.traces() || method.asks_server() {
        let reason = format!("no packets of {method} can be written here");
        return Err(OpenError::setting("method", reason));
    }
    let reason = match method.is_stream() {
        false if (payload as usize) < SMALLEST_PAYLOAD => {
            format!("a payload of {SMALLEST_PAYLOAD} B at least keeps the packets apart")
        }
        true if payload > 0 => "a SYN carries no payload: leave -s out".to_owned(),
        _ => return Ok(()),
    };
    Err(OpenError::setting("size", reason))
}

struct Running<'a> {
    tracing: &'a PathTracing,
    wires: Box<dyn Wires>,
    clocks: Clocks,
    trace: PathTrace,
}

impl Running<'_> {
    fn go(&mut self, progress: &mut dyn FnMut(&PathTrace)) -> Result<(), RunError> {
        loop {
            // Answers first: one that has arrived is not late because nobody has read it.
            self.read()?;
            if self.tracing.stop.is_asked() {
                self.trace.stop();
                return Ok(());
            }
            match self.trace.next(clock::monotonic()) {
                Step::Done => return Ok(()),
                Step::Send(due) => {
                    self.send(due)?;
                    progress(&self.trace);
                }
                Step::Wait(until) => {
                    let woken = Watched::new(self.wires.readable()).until_readable(Some(until));
                    woken.map_err(RunError::Receive)?;
                }
            }
        }
    }

    fn send(&mut self, due: Due) -> Result<(), RunError> {
        let class = self.trace.settings().classes[due.class];
        let mark = Mark {
            number: due.number,
            traffic_class: class.traffic_class(self.trace.settings().ecn),
            ttl: due.ttl,
        };
        match self.wires.send(due.class, mark) {
            Ok(sent_at) => self.trace.sent(due.number, sent_at),
            Err(error) => match error.raw_os_error() {
                // The first packet shows whether anything can be sent. What is refused later may be of one class, or pass.
                Some(errno) if due.number > 1 && is_refused(&error) => {
                    self.trace.not_sent(due.number, errno);
                }
                _ => return Err(self.cannot_send(error)),
            },
        }
        Ok(())
    }

    fn cannot_send(&self, source: io::Error) -> RunError {
        if is_too_long(&source) {
            let reason = format!(
                "packets of {} B do not fit the interface, and a path trace sends whole packets. \
                 Use a smaller -s",
                self.wires.packet_size()
            );
            return OpenError::setting("size", reason).into();
        }
        RunError::Send {
            target: self.tracing.target,
            interface: self.tracing.interface.clone(),
            source,
        }
    }

    /// Hands over every answer that has arrived.
    fn read(&mut self) -> Result<(), RunError> {
        let before = clock::monotonic();
        while let Some(mut arrived) = self.wires.receive().map_err(RunError::Receive)? {
            let (now, _) = self.clocks.now_bracketed(before);
            let index = usize::from(arrived.number).wrapping_sub(1);
            let Some(packet) = self.trace.packets().get(index) else {
                continue;
            };
            arrived.answer.at = match arrived.at {
                Arrival::Stamped(stamp) => self.clocks.to_monotonic(stamp, packet.sent_at, now),
                Arrival::After(took) => (packet.sent_at + took).min(now),
                Arrival::Read => now,
            };
            self.trace.answered(arrived.number, arrived.answer);
        }
        Ok(())
    }
}

/// Is it of this packet, as by a firewall of this host or a route that is gone? What this process has too few of is not.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let kinds = [
        Kind::AddrNotAvailable,
        Kind::ConnectionRefused,
        Kind::HostUnreachable,
        Kind::NetworkDown,
        Kind::NetworkUnreachable,
        Kind::PermissionDenied,
    ];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::{MILLISECOND, Nanos};
    use std::os::fd::BorrowedFd;
    use wires::Arrived;

    const EPERM: i32 = 1;

    /// Drops packets from this number on, as a firewall of this host does.
    struct Firewall(u16);

    impl Wires for Firewall {
        fn packet_size(&self) -> usize {
            60
        }

        fn readable(&self) -> Vec<BorrowedFd<'_>> {
            Vec::new()
        }

        fn send(&mut self, _: usize, mark: Mark) -> io::Result<Nanos> {
            match mark.number < self.0 {
                true => Ok(clock::monotonic()),
                false => Err(io::Error::from_raw_os_error(EPERM)),
            }
        }

        fn receive(&mut self) -> io::Result<Option<Arrived>> {
            Ok(None)
        }
    }

    #[test]
    fn what_is_known_outlives_a_send_call_that_fails_later() {
        let tracing = PathTracing {
            target: "192.0.2.1:80".parse().unwrap(),
            packets: Packets::Handshakes,
            interface: None,
            settings: Settings {
                classes: vec!["be".parse().unwrap(), "ef".parse().unwrap()],
                ecn: 0,
                first_ttl: 1,
                max_ttl: 2,
                queries: 1,
                interval: 0,
                gap: 0,
                timeout: MILLISECOND,
                give_up: 5,
                at_once: AtOnce::One,
            },
            stop: Stop::default(),
        };
        let run = |dropped_from| {
            let target = tracing.target.ip();
            let trace = PathTrace::new(tracing.settings.clone(), target, clock::monotonic());
            let mut running = Running {
                tracing: &tracing,
                wires: Box::new(Firewall(dropped_from)),
                clocks: Clocks::new(RealTime::of_kernel()),
                trace: trace.unwrap(),
            };
            running.go(&mut |_| ())?;
            let packets = running.trace.packets().iter();
            Ok::<_, RunError>(packets.map(|packet| packet.not_sent).collect::<Vec<_>>())
        };
        assert_eq!(run(3).unwrap(), [None, None, Some(EPERM), Some(EPERM)]);
        assert!(matches!(run(1), Err(RunError::Send { .. })));
    }
}
