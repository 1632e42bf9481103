//! A path of the test's own on loopback: the prober sends to its port, it sends on to the reflector,
//! and the answers back. Each packet is held, dropped or repeated as the test says.
//!
//! It looks at its sockets every 50 µs or so, so a delay of 20 ms is exact to about 1 %.

use delaylab_kernel::clock;
use delaylab_kernel::scheduling::{self, Scheduling};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Out,
    Back,
}

/// How long each copy of this packet is held, in ns: nothing drops it, two repeat it.
pub type Fate = Box<dyn FnMut(Way, &[u8]) -> Vec<i64> + Send>;

/// Holds every packet so long.
pub fn delays(out: i64, back: i64) -> Fate {
    Box::new(move |way, _| vec![if way == Way::Out { out } else { back }])
}

/// For udp data packets of `payload` bytes by their number ([`Way`], seq); all else passes.
pub fn for_udp_seq(
    payload: usize,
    mut fate: impl FnMut(Way, u32) -> Vec<i64> + Send + 'static,
) -> Fate {
    Box::new(move |way, packet| match packet.get(4..8) {
        Some(&[a, b, c, d]) if packet.len() == payload => {
            fate(way, u32::from_be_bytes([a, b, c, d]))
        }
        _ => vec![0],
    })
}

/// A thread that forwards until it is dropped.
pub struct Forwarder {
    /// Where the prober is to send.
    pub port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Before a reflector's udp port.
    pub fn udp(to: u16, fate: Fate) -> Self {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = front.local_addr().unwrap().port();
        let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, to));
        Self::start(port, fate, move |_| {
            Some([Wire::udp(front, None), Wire::udp(back, Some(to))])
        })
    }

    /// Before a reflector's tcp port, for one connection.
    pub fn tcp(to: u16, fate: Fate) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self::start(port, fate, move |stop| {
            listener.set_nonblocking(true).unwrap();
            while !stop.load(Ordering::Relaxed) {
                if let Ok((front, _)) = listener.accept() {
                    let back = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).unwrap();
                    return Some([Wire::tcp(front), Wire::tcp(back)]);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            None
        })
    }

    fn start(
        port: u16,
        fate: Fate,
        open: impl FnOnce(&AtomicBool) -> Option<[Wire; 2]> + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            if let Some(wires) = open(&told) {
                forward(wires, fate, &told);
            }
        });
        Self {
            port,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One side of the forwarder.
enum Wire {
    Udp(UdpSocket, Option<SocketAddr>),
    Tcp(TcpStream),
}

impl Wire {
    fn udp(socket: UdpSocket, peer: Option<SocketAddr>) -> Self {
        socket.set_nonblocking(true).unwrap();
        Self::Udp(socket, peer)
    }

    fn tcp(stream: TcpStream) -> Self {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        Self::Tcp(stream)
    }

    /// The next packet, or the bytes that have come. A udp peer is whoever sent last.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Udp(socket, peer) => {
                let (length, from) = socket.recv_from(buffer)?;
                *peer = Some(from);
                Ok(length)
            }
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    /// What cannot be sent is lost, as on any path.
    fn send(&mut self, packet: &[u8]) {
        let _ = match self {
            Self::Udp(socket, Some(peer)) => socket.send_to(packet, *peer).map(drop),
            Self::Udp(_, None) => Ok(()),
            Self::Tcp(stream) => stream.write_all(packet),
        };
    }
}

fn forward([mut front, mut back]: [Wire; 2], mut fate: Fate, stop: &AtomicBool) {
    // The default of 50 µs would double the time between two looks.
    let _ = scheduling::set_timer_slack(1);
    // A path does not wait for a CPU. Where this is not allowed it may, on a busy machine.
    let _ = Scheduling::fifo(10).apply();
    let mut held = BinaryHeap::new();
    let mut order = 0_u64;
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        for (way, wire) in [(Way::Out, &mut front), (Way::Back, &mut back)] {
            while let Ok(length @ 1..) = wire.read(&mut buffer) {
                let now = clock::monotonic();
                for delay in fate(way, &buffer[..length]) {
                    order += 1;
                    held.push(Reverse((
                        now + delay,
                        order,
                        way,
                        buffer[..length].to_vec(),
                    )));
                }
            }
        }
        while let Some(Reverse((due, ..))) = held.peek()
            && *due <= clock::monotonic()
            && let Some(Reverse((_, _, way, packet))) = held.pop()
        {
            let wire = if way == Way::Out {
                &mut back
            } else {
                &mut front
            };
            wire.send(&packet);
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
