//! A network of the test's imagination: whatever leaves a namespace by its TUN device is answered by
//! routers and a target that are not there, as the test says.

use super::netns::Namespace;
use delaylab_kernel::scheduling::Scheduling;
use delaylab_kernel::{clock, namespace, tun::Tun};
use delaylab_model::MILLISECOND;
use delaylab_model::dscp::Dscp;
use delaylab_wire::icmp_error::compose;
use delaylab_wire::icmp_extension::with_label_stack;
use delaylab_wire::ip::{Header, checksum, fold, sum};
use delaylab_wire::mpls::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Where the tests send to. Everything from [`HERE`] on is invented.
pub const TARGET: [&str; 2] = ["10.77.0.99", "fd00:77::99"];
/// The namespace's own addresses.
const HERE: [&str; 2] = ["10.77.0.200", "fd00:77::200"];
/// The target's number among the routers.
pub const AT_TARGET: u8 = 99;
/// Where something listens at the target.
pub const OPEN_PORT: u16 = 443;

const UDP: u8 = 17;
const TCP: u8 = 6;

/// A packet, as far as a network treats packets by it.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its class.
    pub class: Dscp,
    /// Its ECN bits.
    pub ecn: u8,
    /// How far it comes.
    pub ttl: u8,
    /// What load balancers tell flows apart by: the first bytes behind the IP header.
    pub flow: [u8; 4],
}

impl Packet {
    /// Is it of this class?
    pub fn is(&self, name: &str) -> bool {
        self.class == name.parse().unwrap()
    }

    /// Router `by` answers it, and it has arrived there as it was sent.
    pub fn answered_by(&self, by: u8) -> Answer {
        Answer {
            by,
            traffic_class: self.class.traffic_class(self.ecn),
            labels: Vec::new(),
            old: false,
            refused: false,
        }
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone)]
pub struct Answer {
    /// By which router, or [`AT_TARGET`].
    pub by: u8,
    /// TOS or traffic class byte with which it arrived there.
    pub traffic_class: u8,
    /// MPLS labels with which it arrived there.
    pub labels: Vec<Entry>,
    /// Are they told as before RFC 4884?
    pub old: bool,
    /// Is it prohibited there?
    pub refused: bool,
}

/// A namespace with a network of that kind around it.
pub struct Routers {
    /// Where the probes start.
    pub inside: Namespace,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Routers {
    /// `fate` says what becomes of each packet; nothing: it is lost.
    pub fn new(
        fate: impl FnMut(Packet) -> Option<Answer> + Send + 'static,
    ) -> Result<Self, String> {
        let inside = Namespace::new('t')?;
        let name = inside.name.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (made, making) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let tun = namespace::Namespace::open(&name)
                .and_then(|namespace| namespace.enter())
                .and_then(|()| Tun::new("tun0"));
            match tun {
                Ok(tun) => {
                    made.send(Ok(())).unwrap();
                    answer(tun, fate, &told);
                }
                Err(error) => made.send(Err(error)).unwrap(),
            }
        });
        let routers = Self {
            inside,
            stop,
            thread: Some(thread),
        };
        let made = making.recv().unwrap();
        made.map_err(|error| format!("no TUN device to be had: {error}"))?;
        for (family, address, length) in [("-4", HERE[0], 24), ("-6", HERE[1], 64)] {
            let nodad = if family == "-6" { "nodad" } else { "" };
            let ip = |words: &str| routers.inside.ip(&format!("{family} {words}"));
            ip(&format!("addr add {address}/{length} dev tun0 {nodad}"))?;
        }
        routers.inside.ip("link set tun0 up")?;
        Ok(routers)
    }
}

impl Drop for Routers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut tun: Tun, mut fate: impl FnMut(Packet) -> Option<Answer>, stop: &AtomicBool) {
    // A path does not wait for a CPU. Where this is not allowed it may, on a busy machine.
    let _ = Scheduling::fifo(10).apply();
    let mut buffer = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        let until = clock::monotonic() + 20 * MILLISECOND;
        let Ok(Some(length)) = tun.receive(&mut buffer, until) else {
            continue;
        };
        let bytes = &buffer[..length];
        let Ok((header, at)) = Header::parse(bytes) else {
            continue;
        };
        // What the kernel sends of its own accord: multicast, and resets of what the target opens.
        let is_reset = header.protocol == TCP && bytes[at + 13] & 4 != 0;
        if !TARGET.contains(&header.destination.to_string().as_str()) || is_reset {
            continue;
        }
        let (class, ecn) = Dscp::from_traffic_class(header.traffic_class);
        let packet = Packet {
            class,
            ecn,
            ttl: header.ttl,
            flow: [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]],
        };
        if let Some(answer) = fate(packet) {
            let reply = reply(bytes, &header, at, &answer);
            tun.send(&reply).unwrap();
        }
    }
}

fn reply(packet: &[u8], header: &Header, at: usize, answer: &Answer) -> Vec<u8> {
    let v6 = header.destination.is_ipv6();
    let icmp = if v6 { 58 } else { 1 };
    let body = &packet[at..];
    let arrived = answer.by == AT_TARGET && !answer.refused;
    match header.protocol {
        TCP if arrived => from(header, answer, TCP, tcp_reply(body)),
        protocol if arrived && protocol == icmp => {
            let mut echo = body.to_vec();
            echo[0] = if v6 { 129 } else { 0 };
            echo[2..4].fill(0);
            from(header, answer, icmp, echo)
        }
        _ => {
            let kind = match (arrived, answer.refused, v6) {
                (true, _, false) => [3, 3],
                (true, _, true) => [1, 4],
                (_, true, false) => [3, 13],
                (_, true, true) => [1, 1],
                (_, _, false) => [11, 0],
                (_, _, true) => [3, 0],
            };
            let quote = quote(packet, header, answer);
            let extension = match &answer.labels[..] {
                [] => Vec::new(),
                labels => with_label_stack(labels),
            };
            let message = compose(kind, v6, &quote, &extension, answer.old);
            from(header, answer, icmp, message)
        }
    }
}

/// The packet as it arrives: its mark changed, its TTL run out. Routers of IPv4 quote little.
fn quote(packet: &[u8], header: &Header, answer: &Answer) -> Vec<u8> {
    let mut quote = packet.to_vec();
    let arrived = Header {
        traffic_class: answer.traffic_class,
        ttl: 1,
        ..*header
    };
    arrived.emit(&mut quote).unwrap();
    if header.destination.is_ipv4() {
        quote.truncate(28);
    }
    quote
}

fn tcp_reply(syn: &[u8]) -> Vec<u8> {
    const SYN_ACK: u8 = 0x12;
    const RST_ACK: u8 = 0x14;
    let word = |at: usize| u32::from_be_bytes(syn[at..at + 4].try_into().unwrap());
    let open = u16::from_be_bytes([syn[2], syn[3]]) == OPEN_PORT;
    let mut reply = vec![0; 20];
    reply[..2].copy_from_slice(&syn[2..4]);
    reply[2..4].copy_from_slice(&syn[..2]);
    reply[8..12].copy_from_slice(&(word(4).wrapping_add(1)).to_be_bytes());
    reply[12] = 5 << 4;
    reply[13] = if open { SYN_ACK } else { RST_ACK };
    reply
}

/// A packet back from a router or the target, with its checksum.
fn from(asked: &Header, answer: &Answer, protocol: u8, mut body: Vec<u8>) -> Vec<u8> {
    let v6 = asked.destination.is_ipv6();
    let net = if v6 { "fd00:77::" } else { "10.77.0." };
    let source: IpAddr = format!("{net}{}", answer.by).parse().unwrap();
    let header = Header {
        source,
        destination: asked.source,
        traffic_class: 0,
        ttl: 64 - answer.by.min(60),
        protocol,
        id: 1,
    };
    let checksum_at = match protocol {
        TCP => Some(16),
        UDP => None,
        _ => Some(2),
    };
    if let Some(at) = checksum_at {
        body[at..at + 2].fill(0);
        let sum = if protocol == 1 {
            checksum(&[&body])
        } else {
            !fold(header.pseudo_sum(body.len()) + u32::from(fold(sum(&body))))
        };
        body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    let mut packet = vec![0; header.length()];
    packet.extend(body);
    header.emit(&mut packet).unwrap();
    packet
}
