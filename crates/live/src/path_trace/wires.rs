//! What a path trace asks of the sockets that its packets leave by, whatever they are.

use super::PathTracing;
use crate::prober::error::OpenError;
use crate::prober::open::bind_to_interface;
use delaylab_kernel::ancillary::{Ancillary, QueuedError};
use delaylab_kernel::datagram::{DatagramSocket, Kind};
use delaylab_model::Nanos;
use delaylab_traffic::path_trace::{Answer, Said};
use delaylab_wire::icmp_error::Reason;
use delaylab_wire::path_probe::Mark;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

/// Sockets that packets of a path trace leave by, and that their answers arrive by.
pub(super) trait Wires {
    /// Bytes of an IP packet.
    fn packet_size(&self) -> usize;

    /// What to wait for now.
    fn readable(&self) -> Vec<BorrowedFd<'_>>;

    /// Sends a packet of this class, and says when: the clock just before the send call.
    fn send(&mut self, class: usize, mark: Mark) -> io::Result<Nanos>;

    /// The next answer to a packet of ours that has arrived, if there is one.
    fn receive(&mut self) -> io::Result<Option<Arrived>>;
}

/// When an answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// By the kernel's real time.
    Stamped(Nanos),
    /// So long after its packet was sent, as the kernel's TCP has it.
    After(Nanos),
    /// When it was read: nothing says more.
    Read,
}

/// An answer that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrived {
    /// Which packet it answers.
    pub number: u16,
    /// When.
    pub at: Arrival,
    /// The answer, without the time.
    pub answer: Answer,
}

impl Arrived {
    /// An answer with what came beside it.
    pub const fn new(number: u16, from: IpAddr, said: Said, beside: &Ancillary) -> Self {
        Self {
            number,
            at: match beside.software {
                Some(stamp) => Arrival::Stamped(stamp),
                None => Arrival::Read,
            },
            answer: Answer {
                at: 0,
                from,
                said,
                seen: None,
                labels: Vec::new(),
                reply_ttl: beside.ttl,
                reply_traffic_class: beside.traffic_class,
            },
        }
    }
}

/// The ICMP error of an entry of an error queue: who sent it, and what it says.
pub(super) fn icmp_error(beside: &Ancillary) -> Option<(IpAddr, Said)> {
    match beside.error? {
        QueuedError::Refused {
            by: Some(by),
            icmp: Some([kind, code]),
            info,
            ..
        } => {
            let reason = Reason::new(kind, code, info, by.is_ipv6())?;
            Some((by, Said::Error(reason)))
        }
        _ => None,
    }
}

/// A UDP socket that is connected to this address, by the interface that was asked for.
pub(super) fn connected(
    tracing: &PathTracing,
    target: SocketAddr,
    failed: impl FnOnce(io::Error) -> OpenError,
) -> Result<DatagramSocket, OpenError> {
    let socket = DatagramSocket::open(Kind::Udp, target.is_ipv6()).map_err(failed)?;
    bind_to_interface(&socket, tracing.interface.as_deref())?;
    let connected = socket.connect(target);
    connected.map_err(|source| OpenError::NoRoute { target, source })?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(icmp: Option<[u8; 2]>, by: &str) -> Ancillary {
        Ancillary {
            error: Some(QueuedError::Refused {
                errno: 113,
                by: by.parse().ok(),
                icmp,
                info: 1280,
            }),
            ..Ancillary::default()
        }
    }

    #[test]
    fn an_entry_of_the_error_queue_is_read_as_what_it_says() {
        for (icmp, by, reason) in [
            ([11, 0], "192.0.2.1", Reason::TtlExceeded),
            ([3, 3], "192.0.2.1", Reason::PortUnreachable),
            ([3, 13], "192.0.2.1", Reason::Prohibited),
            ([3, 4], "192.0.2.1", Reason::TooBig { mtu: 1280 }),
            ([3, 0], "2001:db8::1", Reason::TtlExceeded),
            ([1, 4], "2001:db8::1", Reason::PortUnreachable),
            ([2, 0], "2001:db8::1", Reason::TooBig { mtu: 1280 }),
        ] {
            let said = icmp_error(&queued(Some(icmp), by)).map(|(_, said)| said);
            assert_eq!(said, Some(Said::Error(reason)), "{icmp:?} of {by}");
        }
        assert_eq!(icmp_error(&queued(None, "192.0.2.1")), None);
        for no_error in [[0, 0], [4, 0], [5, 1]] {
            assert_eq!(icmp_error(&queued(Some(no_error), "192.0.2.1")), None);
        }
        assert_eq!(icmp_error(&Ancillary::default()), None);
    }
}
