//! Takes frames by every port, each with the kernel's stamp of its arrival.

use super::error::TesterError;
use super::overruns::Overruns;
use super::port::Opened;
use crate::clocks::{Clocks, RealTime};
use crate::joined;
use delaylab_kernel::packet_socket::PacketSocket;
use delaylab_kernel::wait::Watched;
use delaylab_kernel::{clock, scheduling};
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_wire::test_frame::ReturnedFrame;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;

/// How often it looks whether it is to stop, and at the clocks.
const LOOK_EVERY: Nanos = 5 * MILLISECOND;
/// Frames read from a port before others have their turn.
const BATCH: usize = 256;
/// The longest frame.
const LONGEST: usize = 16 * 1024;
/// It runs before what is merely busy.
const NICE: i32 = -10;

/// A frame that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) t_rx: Nanos,
    pub(super) number: u32,
    pub(super) stream: u16,
    /// Index of the port by which it came.
    pub(super) port: usize,
    pub(super) intact: bool,
}

/// All that came.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// In the order in which they arrived.
    pub(super) arrivals: Vec<Arrival>,
    /// Frames that are not ours.
    pub(super) foreign: u64,
    /// Frames for which a NIC or a socket here had no room, by interface.
    dropped: Vec<(String, u64)>,
    /// How often this host's clock was set meanwhile.
    clock_steps: u32,
}

impl Received {
    /// What the tester itself lost is not the device's loss, nor is a clock that was set its delay.
    pub(super) fn flaws(&self) -> Vec<String> {
        let lost = |(interface, count): &(String, u64)| {
            format!(
                "the tester itself lost {count} frames at `{interface}`: this host is too slow or too busy \
                 for this rate"
            )
        };
        let stepped = (self.clock_steps > 0).then(|| {
            "the clock of this host was set while frames arrived, by which the kernel stamps them: delays around that \
             moment are not known"
                .to_owned()
        });
        self.dropped.iter().map(lost).chain(stepped).collect()
    }
}

/// The thread.
pub(super) struct Receiver {
    stop: Arc<AtomicBool>,
    last_frame: Arc<AtomicI64>,
    thread: JoinHandle<Received>,
}

impl Receiver {
    /// Takes frames with this token from now on.
    pub(super) fn start(ports: &[Opened], token: u16) -> Result<Self, TesterError> {
        let copy = |port: &Opened| {
            Ok(Opened {
                interface: port.interface.clone(),
                socket: port.socket.duplicate()?,
                overruns: port.overruns,
            })
        };
        let ports: Result<Vec<_>, _> = ports.iter().map(copy).collect();
        let ports = ports.map_err(TesterError::Thread)?;
        let stop = Arc::new(AtomicBool::new(false));
        let last_frame = Arc::new(AtomicI64::new(0));
        let (stopped, seen) = (stop.clone(), last_frame.clone());
        let thread = std::thread::Builder::new().name("frame-receiver".to_owned());
        let thread = thread
            .spawn(move || take(&ports, token, &stopped, &seen))
            .map_err(TesterError::Thread)?;
        Ok(Self {
            stop,
            last_frame,
            thread,
        })
    }

    /// When a frame with this token was last read.
    pub(super) fn last_frame(&self) -> Nanos {
        self.last_frame.load(Ordering::Relaxed)
    }

    /// What came until now.
    pub(super) fn finish(self) -> Received {
        self.stop.store(true, Ordering::Relaxed);
        joined(self.thread.join())
    }
}

fn take(ports: &[Opened], token: u16, stop: &AtomicBool, last_frame: &AtomicI64) -> Received {
    // Stamps are the kernel's: to be late here only fills buffers.
    let _ = scheduling::set_nice(NICE);
    let mut received = Received::default();
    let mut watched = Watched::new(ports.iter().map(|port| port.socket.as_fd()));
    let mut buffer = vec![0; LONGEST];
    let mut clocks = Clocks::new(RealTime::of_kernel());
    // What is read now arrived behind this.
    let mut since = clock::monotonic();
    loop {
        // Read before the flag is: what came before it was set counts.
        let last = stop.load(Ordering::Relaxed);
        let (began, _) = clocks.now_bracketed(clock::monotonic());
        let stamped = |real, read| clocks.to_monotonic(real, since, read);
        let (mut any, arrived) = (false, received.arrivals.len());
        for (index, port) in ports.iter().enumerate() {
            any |= read(
                (index, &port.socket),
                &mut buffer,
                token,
                stamped,
                &mut received,
            );
        }
        if received.arrivals.len() > arrived {
            last_frame.store(clock::monotonic(), Ordering::Relaxed);
        }
        if any {
            continue;
        }
        if last {
            break;
        }
        since = began;
        let _ = watched.until_readable(Some(clock::monotonic() + LOOK_EVERY));
    }
    for port in ports {
        let of_nic = |before| Overruns::read(&port.interface).since(before);
        let of_nic = port.overruns.map_or(0, of_nic);
        let count = u64::from(port.socket.overflowed().unwrap_or(0)).saturating_add(of_nic);
        if count > 0 {
            received.dropped.push((port.interface.clone(), count));
        }
    }
    received.clock_steps = clocks.steps();
    // Ports are read one after the other.
    received.arrivals.sort_by_key(|arrival| arrival.t_rx);
    received
}

/// Was there anything to read?
fn read(
    (port, socket): (usize, &PacketSocket),
    buffer: &mut [u8],
    token: u16,
    stamped: impl Fn(Nanos, Nanos) -> Nanos,
    received: &mut Received,
) -> bool {
    for count in 0..BATCH {
        // An interface that is gone or down has nothing to read; what was sent by it is lost.
        let Ok(frame) = socket.receive(buffer) else {
            return count > 0;
        };
        let read = clock::monotonic();
        let bytes = &buffer[..frame.length.min(LONGEST)];
        match ReturnedFrame::read(bytes, token) {
            Ok(seen) => received.arrivals.push(Arrival {
                t_rx: frame.stamp.map_or(read, |real| stamped(real, read)),
                number: seen.number,
                stream: seen.stream,
                port,
                intact: seen.intact,
            }),
            Err(_) => received.foreign += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_a_flaw() {
        let quiet = Received::default();
        assert_eq!(quiet.flaws(), Vec::<String>::new());
        let stepped = Received {
            clock_steps: 1,
            ..Received::default()
        };
        assert!(stepped.flaws()[0].contains("clock of this host was set"));
    }

    #[test]
    fn what_this_host_had_no_room_for_is_a_flaw() {
        let received = Received {
            dropped: vec![("eth1".to_owned(), 7)],
            ..Received::default()
        };
        assert!(received.flaws()[0].starts_with("the tester itself lost 7 frames at `eth1`"));
    }
}
