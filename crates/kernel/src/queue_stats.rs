//! What the kernel's queues hold: `RTM_GETQDISC` over one netlink socket (rtnetlink(7)).

use socket2::{Socket, Type};
use std::io::{self, Read};

/// A queue at an interface, as a whole: its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// The interface's index.
    pub interface: u32,
    /// Bytes that wait.
    pub bytes: u32,
    /// Packets that wait.
    pub packets: u32,
    /// Packets that it has dropped since it was made.
    pub dropped: u32,
}

/// Asks in the network namespace that it was opened in.
#[derive(Debug)]
pub struct QueueStats {
    socket: Socket,
    buffer: Vec<u8>,
}

// linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h; not in `libc`.
const ROOT: u32 = 0xffff_ffff;
const STATISTICS: u16 = 7;
const OF_THE_QUEUE: u16 = 3;
/// nlmsghdr, tcmsg.
const HEADER: usize = 16;
const TC_MESSAGE: usize = 20;

impl QueueStats {
    /// In the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        let (family, protocol) = (libc::AF_NETLINK, libc::NETLINK_ROUTE);
        Ok(Self {
            socket: Socket::new(family.into(), Type::RAW, Some(protocol.into()))?,
            buffer: vec![0; 32 << 10],
        })
    }

    /// The root queue of every interface that has one.
    pub fn read(&mut self) -> io::Result<Vec<QueueState>> {
        let mut request = [0_u8; HEADER + TC_MESSAGE];
        request[..4].copy_from_slice(&((HEADER + TC_MESSAGE) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETQDISC.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.socket.send(&request)?;
        let mut found = Vec::new();
        loop {
            let length = self.socket.read(&mut self.buffer)?;
            if parse(&self.buffer[..length], &mut found)? {
                return Ok(found);
            }
        }
    }
}

/// Reads the messages of one datagram. True: that was the last.
fn parse(mut messages: &[u8], found: &mut Vec<QueueState>) -> io::Result<bool> {
    while let Some(length) = word(messages, 0) {
        let length = length as usize;
        if length < HEADER || length > messages.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let message = &messages[..length];
        match half(message, 4).map(i32::from) {
            Some(libc::NLMSG_DONE) => return Ok(true),
            Some(libc::NLMSG_ERROR) => {
                let code = word(message, HEADER).unwrap_or(0).cast_signed();
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => found.extend(queue(&message[HEADER..])),
        }
        messages = &messages[aligned(length).min(messages.len())..];
    }
    Ok(false)
}

/// A tcmsg and its attributes, if it is of a root queue.
fn queue(message: &[u8]) -> Option<QueueState> {
    let interface = word(message, 4)?;
    if word(message, 12)? != ROOT {
        return None;
    }
    let statistics = attribute(message.get(TC_MESSAGE..)?, STATISTICS)?;
    let queue = attribute(statistics, OF_THE_QUEUE)?;
    Some(QueueState {
        interface,
        packets: word(queue, 0)?,
        bytes: word(queue, 4)?,
        dropped: word(queue, 8)?,
    })
}

/// The value of the attribute of this kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let kind = half(attributes, 2)?;
        let value = attributes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

const fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_queues_of_this_host_can_be_asked_for() {
        // Whatever there is: loopback's queue holds nothing.
        let queues = QueueStats::open().unwrap().read().unwrap();
        assert!(queues.iter().all(|queue| queue.interface > 0));
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, &mut Vec::new());
        }
    }
}
