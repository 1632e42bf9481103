//! ICMP echo (RFC 792, RFC 4443): the target's kernel answers, so nothing tells what it took.

use super::datagram::{DatagramChannel, Format, FromReflector, Parsed};
use super::error::OpenError;
use super::open::{self, Settings};
use delaylab_kernel::datagram::{DatagramSocket, Kind};
use delaylab_kernel::privilege::{self, Capability};
use delaylab_traffic::prober::sequence::widen;
use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Ipv4HeaderSlice};
use std::io;

/// Bytes of an echo header.
const HEADER: usize = 8;
/// Payload from this size on carries our token and the whole number, so that packets stay apart
/// when the 16 bits of the header have gone round.
const MARK: usize = 8;

/// Opens a datagram ICMP socket, or, where that is not allowed, a raw one.
pub fn open(settings: &Settings<'_>) -> Result<DatagramChannel<Echo>, OpenError> {
    let (socket, kind) = open_socket(settings)?;
    open::set_up(&socket, settings)?;
    let v6 = settings.target.is_ipv6();
    if kind == Kind::IcmpRaw {
        let filtered = socket.accept_only_echo_replies();
        filtered.map_err(settings.failed("filter replies"))?;
    }
    // The scope of a link-local address stays.
    let mut target = settings.target;
    target.set_port(0);
    open::connect(&socket, target, settings)?;
    let format = Echo {
        v6,
        raw: kind == Kind::IcmpRaw,
        id: (settings.run.seed ^ u64::from(std::process::id())) as u16,
        token: settings.run.seed as u32,
    };
    let packet = settings.filled(HEADER + settings.probe().payload as usize);
    DatagramChannel::open(settings, socket, format, packet)
}

fn open_socket(settings: &Settings<'_>) -> Result<(DatagramSocket, Kind), OpenError> {
    let v6 = settings.target.is_ipv6();
    for kind in [Kind::IcmpDatagram, Kind::IcmpRaw] {
        // A permitted capability (setcap …+p) is only used where it is raised.
        let opened = privilege::with(Capability::CAP_NET_RAW, || DatagramSocket::open(kind, v6));
        match opened {
            Ok(socket) => return Ok((socket, kind)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(settings.failed("open")(error)),
        }
    }
    Err(OpenError::NoIcmpPrivilege)
}

/// Echo requests and replies.
#[derive(Debug)]
pub struct Echo {
    v6: bool,
    raw: bool,
    id: u16,
    token: u32,
}

impl Echo {
    const fn request_type(&self) -> u8 {
        if self.v6 { 128 } else { 8 }
    }

    const fn reply_type(&self) -> u8 {
        if self.v6 { 129 } else { 0 }
    }

    /// The number of the packet whose echo header and payload begin here.
    fn seq(&self, echo: &[u8], last: u64) -> Option<u64> {
        let wire = u16::from_be_bytes([*echo.get(6)?, *echo.get(7)?]);
        match echo.get(HEADER..HEADER + MARK) {
            Some(&[a, b, c, d, e, f, g, h]) => {
                let token = u32::from_be_bytes([a, b, c, d]);
                let whole = u32::from_be_bytes([e, f, g, h]);
                let ours = token == self.token && whole as u16 == wire;
                if ours { widen(last, whole, 32) } else { None }
            }
            _ => widen(last, wire.into(), 16),
        }
    }
}

impl Format for Echo {
    fn emit(&mut self, seq: u64, packet: &mut [u8]) {
        if let Some(mark) = packet.get_mut(HEADER..HEADER + MARK) {
            mark[..4].copy_from_slice(&self.token.to_be_bytes());
            mark[4..].copy_from_slice(&(seq as u32).to_be_bytes());
        }
        let (header, payload) = packet.split_at_mut(HEADER);
        let echo = IcmpEchoHeader {
            id: self.id,
            seq: seq as u16,
        };
        if self.v6 {
            // The kernel computes ICMPv6 checksums on both kinds of socket (RFC 3542 §3.1).
            header.copy_from_slice(&[self.request_type(), 0, 0, 0, 0, 0, 0, 0]);
            header[4..].copy_from_slice(&echo.to_bytes());
        } else {
            let request = Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(echo), payload);
            header.copy_from_slice(&request.to_bytes());
        }
    }

    fn parse(&mut self, packet: &[u8], sent: &[u8], last: u64) -> Parsed {
        let echo = if self.raw && !self.v6 {
            behind_ip_header(packet)
        } else {
            Some(packet)
        };
        let Some(echo) = echo.filter(|echo| echo.len() >= HEADER) else {
            return Parsed::Rejected;
        };
        // A raw socket sees every ping's replies; a datagram socket only its own.
        let id = u16::from_be_bytes([echo[4], echo[5]]);
        if echo[0] != self.reply_type() || (self.raw && id != self.id) {
            return Parsed::Ignored;
        }
        let Some(seq) = self.seq(echo, last) else {
            return Parsed::Rejected;
        };
        let fill = (HEADER + MARK).min(sent.len());
        let corrupt = echo.len() != sent.len() || echo[fill..] != sent[fill..];
        Parsed::Reply {
            seq,
            reflector: FromReflector::default(),
            follow_up: None,
            corrupt,
        }
    }

    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64> {
        if quote.first() != Some(&self.request_type()) {
            return None;
        }
        // A raw socket hears of every ping's errors.
        if self.raw && quote.get(4..6) != Some(&self.id.to_be_bytes()) {
            return None;
        }
        // Routers need quote no more than the echo header (RFC 792).
        let wire = u16::from_be_bytes([*quote.get(6)?, *quote.get(7)?]);
        self.seq(quote, last)
            .or_else(|| widen(last, wire.into(), 16))
    }
}

fn behind_ip_header(packet: &[u8]) -> Option<&[u8]> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    packet.get(header.slice().len()..)
}

impl Echo {
    /// A format that knows no socket, for [`super::any_bytes`].
    pub(super) const fn of_nobody(v6: bool, raw: bool) -> Self {
        Self {
            v6,
            raw,
            id: 0x6465,
            token: 0x6c61_796c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reply_to(request: &[u8], v6: bool) -> Vec<u8> {
        let mut reply = request.to_vec();
        reply[0] = if v6 { 129 } else { 0 };
        reply
    }

    proptest! {
        #[test]
        fn a_reply_finds_its_packet(seq in 0_u64..1 << 33, size in 0_usize..100, v6 in any::<bool>()) {
            let mut format = Echo { v6, raw: false, id: 1, token: 2 };
            let mut sent = vec![9; HEADER + size];
            format.emit(seq, &mut sent);
            let parsed = format.parse(&reply_to(&sent, v6), &sent, seq);
            let found = matches!(parsed, Parsed::Reply { seq: s, corrupt: false, .. } if s == seq);
            prop_assert!(found, "{:?}", parsed);
            prop_assert_eq!(format.quoted(&sent, seq), Some(seq));
        }
    }

    #[test]
    fn another_runs_reply_is_not_ours() {
        let mut format = Echo {
            v6: false,
            raw: false,
            id: 1,
            token: 2,
        };
        let mut sent = vec![9; HEADER + 20];
        format.emit(5, &mut sent);
        let mut reply = reply_to(&sent, false);
        reply[HEADER] ^= 1;
        assert!(matches!(format.parse(&reply, &sent, 5), Parsed::Rejected));
        let mut reply = reply_to(&sent, false);
        reply[HEADER + 15] ^= 1;
        assert!(matches!(
            format.parse(&reply, &sent, 5),
            Parsed::Reply { corrupt: true, .. }
        ));
    }
}
