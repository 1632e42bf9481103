//! What connections of probes and of loads are set to, at either end.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// Congestion control where none is named. Pinned, so that a host's default does not become part of the result.
pub(crate) const CONGESTION_CONTROL: &str = "cubic";
/// One write of bulk TCP, unless the load says how large.
pub(crate) const WRITE: usize = 128 << 10;
/// What the kernel may have waiting of bulk TCP that the network could not be given yet: what is there when the load ends
/// would go on disturbing. Enough for the writer to be away for some milliseconds at 1 Gbit/s.
pub(crate) const UNSENT: u32 = 512 << 10;

/// A TCP socket of this address's family.
pub(crate) fn tcp_socket(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
}

/// Nothing was read or written: not now, or a signal came first.
pub(crate) fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
