//! Traces the path to a target by class, with real packets.
//!
//! | module | does |
//! |---|---|
//! | `sockets` | opens what the packets leave and the answers arrive by, and reads those |
//! | [`names`] | finds the names of routers |
//!
//! [`PathTrace`] decides which packet is due; here it is sent, and what comes back is handed over.
//!
//! A round trip is from the send call to the arrival in this host's kernel: many packets are under way at
//! once, and when this thread gets to read an answer says nothing of the path.

pub mod names;
mod sockets;

use crate::clocks::{Clocks, RealTime};
use crate::prober::error::{OpenError, RunError};
use delaylab_kernel::clock;
use delaylab_kernel::wait::Watched;
use delaylab_model::method::Method;
use delaylab_model::stop::Stop;
use delaylab_traffic::path_trace::{Due, PathTrace, Settings, Step};
use delaylab_wire::path_probe::{Mark, SMALLEST_PAYLOAD};
use sockets::Sockets;
use std::io;
use std::net::SocketAddr;

/// What may leave for another host unasked: 1 % of a gigabit.
const MOST_BITS_A_SECOND: i64 = 10_000_000;

/// What to do.
#[derive(Debug, Clone)]
pub struct PathTracing {
    /// Where to; icmp has no use for the port.
    pub target: SocketAddr,
    /// udp, icmp or tcp.
    pub method: Method,
    /// Bytes behind the UDP or ICMP header.
    pub payload: usize,
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
        let sockets = Sockets::open(self)?;
        let mut settings = self.settings.clone();
        settings.one_at_a_time |= self.method.is_stream();
        let size = sockets.flow().packet_size(self.payload);
        let at_most = size as i64 * 8 * delaylab_model::SECOND / MOST_BITS_A_SECOND;
        settings.gap = settings.gap.max(at_most);
        let trace =
            PathTrace::new(settings, clock::monotonic()).map_err(|error| OpenError::Setting {
                field: "path trace",
                reason: error.to_string(),
            })?;
        let mut running = Running {
            tracing: self,
            watched: Watched::new(sockets.readable()),
            packet: vec![0; size],
            sockets,
            clocks: Clocks::new(RealTime::of_kernel()),
            trace,
        };
        running.go(progress)?;
        Ok(running.trace)
    }

    fn check(&self) -> Result<(), OpenError> {
        let refused = |field, reason: String| Err(OpenError::Setting { field, reason });
        match self.method {
            Method::Udp | Method::Icmp if self.payload < SMALLEST_PAYLOAD => refused(
                "size",
                format!("a payload of {SMALLEST_PAYLOAD} B at least keeps the packets apart"),
            ),
            Method::Tcp if self.payload > 0 => {
                refused("size", "a SYN carries no payload: leave -s out".to_owned())
            }
            Method::Udp | Method::Icmp | Method::Tcp => Ok(()),
            other => refused("method", format!("no path can be traced by {other}")),
        }
    }
}

struct Running<'a> {
    tracing: &'a PathTracing,
    sockets: Sockets,
    watched: Watched,
    packet: Vec<u8>,
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
                    let woken = self.watched.until_readable(Some(until));
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
        let emitted = self.sockets.flow().emit(mark, &mut self.packet);
        emitted.map_err(|error| self.cannot_send(io::Error::other(error)))?;
        self.trace.sent(due.number, clock::monotonic());
        let sent = self.sockets.send(due.class, &self.packet);
        sent.map(drop).map_err(|error| self.cannot_send(error))
    }

    fn cannot_send(&self, source: io::Error) -> RunError {
        if crate::prober::open::is_too_long(&source) {
            let reason = format!(
                "packets of {} B do not fit the interface, and a path trace sends whole packets. \
                 Use a smaller -s",
                self.packet.len()
            );
            let field = "size";
            return OpenError::Setting { field, reason }.into();
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
        while let Some(mut arrived) = self.sockets.receive().map_err(RunError::Receive)? {
            let (now, _) = self.clocks.now_bracketed(before);
            let index = usize::from(arrived.number).wrapping_sub(1);
            let Some(packet) = self.trace.packets().get(index) else {
                continue;
            };
            arrived.answer.at = arrived.stamp.map_or(now, |stamp| {
                self.clocks.to_monotonic(stamp, packet.sent_at, now)
            });
            self.trace.answered(arrived.number, arrived.answer);
        }
        Ok(())
    }
}
