//! Soft switches in real time: one thread reads every port, lets the state machines decide, and sends.
//!
//! It sleeps to shortly before the next departure and spins the rest, as the prober does. Under
//! `SCHED_FIFO` where that is allowed, so that busy CPUs delay frames as little as a busy CPU delays a
//! switch in hardware. It never spins for more than a share of the time: a real-time thread that does
//! is stopped by the kernel for much longer.

use super::device::{Departure, Device, DeviceOutput, Met, TrialTraces};
use super::probes::Probes;
use delaylab_kernel::packet_socket::PacketSocket;
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_kernel::wait::Watched;
use delaylab_kernel::{clock, wait};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, PICOS_PER_NANO, Picos};
use delaylab_stats::loglinear::LogLinear;
use delaylab_traffic::pacing::awake::Awake;
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

/// Real-time priority: above a quiet prober, which would otherwise keep its own packets waiting.
const PRIORITY: i32 = 60;
/// It wakes up so long before a departure.
const EARLY: Nanos = 60 * MICROSECOND;
/// It looks for orders so often.
const LOOK_EVERY: Nanos = 5 * MILLISECOND;
/// Of 100 ms it is awake for no more than this.
const MOST_AWAKE: Nanos = 70 * MILLISECOND;
/// Frames read from a port before others have their turn.
const BATCH: usize = 64;
/// The longest frame.
const LONGEST: usize = 65_536 + 64;
/// Room for frames while it is kept from reading.
const RECEIVE_BUFFER: i32 = 8 << 20;
/// More than these probes' packets are not written down.
pub const MOST_MET: usize = 8_000_000;

/// What is asked of the thread.
enum Order {
    /// A trial begins: say so.
    Begin(Probes, Sender<()>),
    /// It is measured: what is over time ends.
    Cut,
    /// It ends: what was seen?
    End(Sender<SwitchObservations>),
    /// Everything ends.
    Stop,
}

/// What the switches saw of a trial. Its times are picoseconds after `epoch`.
#[derive(Debug, Default)]
pub struct SwitchObservations {
    /// `CLOCK_MONOTONIC` at picosecond zero.
    pub epoch: Nanos,
    /// What probes met.
    pub met: Vec<Met>,
    /// Were there more than are written down?
    pub met_more: bool,
    /// Each device's.
    pub devices: Vec<TrialTraces>,
    /// How late frames were handed on, in nanoseconds.
    pub late: LogLinear,
    /// How late the latest of them was.
    pub latest: Nanos,
    /// Frames that an interface refused to take.
    pub refused: u64,
    /// Frames that were lost because nothing read them in time.
    pub overflowed: u64,
}

/// Runs until it is dropped.
#[derive(Debug)]
pub struct SoftSwitches {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// A device and the sockets of its ports, in their order.
#[derive(Debug)]
pub struct Wired {
    /// The state machine.
    pub device: Device,
    /// One a port.
    pub sockets: Vec<PacketSocket>,
}

impl SoftSwitches {
    /// Starts the thread.
    pub fn start(wired: Vec<Wired>) -> io::Result<Self> {
        for socket in wired.iter().flat_map(|wired| &wired.sockets) {
            socket.set_receive_buffer(RECEIVE_BUFFER)?;
        }
        let (orders, taken) = channel();
        let thread = std::thread::Builder::new()
            .name("soft-switch".to_owned())
            .spawn(move || Driver::new(taken).run(wired))?;
        Ok(Self {
            orders,
            thread: Some(thread),
        })
    }

    /// Once this returns, these probes' packets are written down.
    pub fn begin(&self, probes: Probes) {
        let (sender, receiver) = channel();
        // A thread that is gone says so when it is asked for what it saw.
        let _ = self.orders.send(Order::Begin(probes, sender));
        let _ = receiver.recv();
    }

    /// What is over time ends, shortly after this returns or when the last packet had left, whatever comes behind: the trial is
    /// measured, and only waits.
    pub fn cut(&self) {
        let _ = self.orders.send(Order::Cut);
    }

    /// What was seen since.
    ///
    /// # Errors
    /// When the thread is gone.
    pub fn end(&self) -> io::Result<SwitchObservations> {
        let gone = || io::Error::other("the soft switch has ended: see its message above");
        let (sender, receiver) = channel();
        self.orders.send(Order::End(sender)).map_err(|_| gone())?;
        receiver.recv().map_err(|_| gone())
    }
}

impl Drop for SoftSwitches {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// `CLOCK_MONOTONIC` this long after picosecond zero, which was at `epoch`.
pub fn nanos(epoch: Nanos, at: Picos) -> Nanos {
    epoch + (at / PICOS_PER_NANO) as Nanos
}

/// Frames that the sockets had no room for since they were opened.
fn overflowed(wired: &[Wired]) -> u64 {
    let sockets = wired.iter().flat_map(|wired| &wired.sockets);
    let lost = sockets.filter_map(PacketSocket::overflowed);
    lost.map(u64::from).sum()
}

/// What is over time ends now, or when the last packet had left where none is under way any more.
fn cut(wired: &mut [Wired]) {
    let mut devices = wired.iter().map(|wired| &wired.device);
    let quiet_from = devices.try_fold(0, |last, device| Some(device.quiet_from()?.max(last)));
    for wired in wired {
        wired.device.cut(quiet_from);
    }
}

struct Driver {
    orders: Receiver<Order>,
    probes: Probes,
    epoch: Nanos,
    /// `CLOCK_REALTIME − CLOCK_MONOTONIC`.
    offset: Nanos,
    /// What [`overflowed`] was when the trial began.
    overflowed: u64,
    due: DeviceOutput,
    seen: SwitchObservations,
    buffer: Vec<u8>,
    awake: Awake,
}

impl Driver {
    fn new(orders: Receiver<Order>) -> Self {
        Self {
            orders,
            probes: Probes::default(),
            epoch: clock::monotonic(),
            offset: clock::realtime_offset(),
            overflowed: 0,
            due: DeviceOutput::default(),
            seen: SwitchObservations::default(),
            buffer: vec![0; LONGEST],
            awake: Awake::new(EARLY, MOST_AWAKE),
        }
    }

    fn run(&mut self, mut wired: Vec<Wired>) {
        // Without the privilege it is an ordinary thread, and later when CPUs are busy.
        let _ = Scheduling::fifo(PRIORITY).apply();
        let _ = scheduling::set_timer_slack(1);
        let _ = wait::keep_deadlines_over_stops();
        let sockets = wired.iter().flat_map(|wired| &wired.sockets);
        let mut watched = Watched::new(sockets.map(AsFd::as_fd));
        let mut looked = 0;
        loop {
            let now = clock::monotonic();
            if now >= looked + LOOK_EVERY {
                looked = now;
                if self.follow_orders(&mut wired) {
                    return;
                }
                // Between steps of the real-time clock this changes by nothing but its own reading.
                self.offset = clock::realtime_offset();
            }
            let next = self.step(&mut wired);
            self.wait(next, &mut watched);
        }
    }

    /// Reads, decides, sends. When there is next something to do.
    fn step(&mut self, wired: &mut [Wired]) -> Option<Nanos> {
        let mut next: Option<Picos> = None;
        for wired in wired {
            self.read(wired);
            let now = self.picos(clock::monotonic());
            wired.device.advance(now, &mut self.due);
            for Departure { port, at, bytes } in self.due.send.drain(..) {
                let late = clock::monotonic() - nanos(self.epoch, at);
                self.seen.late.push(late);
                self.seen.latest = self.seen.latest.max(late);
                let sent = wired.sockets[usize::from(port)].send(&bytes);
                self.seen.refused += u64::from(sent.is_err());
            }
            next = next.into_iter().chain(wired.device.next()).min();
        }
        let room = MOST_MET.saturating_sub(self.seen.met.len());
        self.seen.met_more |= self.due.met.len() > room;
        self.due.met.truncate(room);
        self.seen.met.append(&mut self.due.met);
        next.map(|at| nanos(self.epoch, at))
    }

    fn read(&mut self, wired: &mut Wired) {
        for (socket, port) in wired.sockets.iter().zip(0..) {
            for _ in 0..BATCH {
                // An interface that is gone or down has nothing to read, for this trial's probes to tell.
                let Ok(received) = socket.receive(&mut self.buffer) else {
                    break;
                };
                let now = clock::monotonic();
                let stamp = received.stamp.map_or(now, |real| real - self.offset);
                let stamp = self.picos(stamp.min(now));
                let frame = &self.buffer[..received.length.min(LONGEST)];
                wired.device.receive(stamp, port, frame, &mut self.probes);
            }
        }
    }

    fn picos(&self, at: Nanos) -> Picos {
        Picos::try_from(at - self.epoch).unwrap_or(0) * PICOS_PER_NANO
    }

    fn wait(&mut self, next: Option<Nanos>, watched: &mut Watched) {
        let now = clock::monotonic();
        let look = now + LOOK_EVERY;
        let next = next.unwrap_or(look).min(look);
        if let Some(until) = self.awake.sleep_until(now, next) {
            // Woken by what comes, by time or by a signal: the next step is the same.
            let _ = watched.until_readable(Some(until));
            self.awake.slept(clock::monotonic() - now);
        }
    }

    fn end_trial(&mut self, wired: &mut [Wired]) -> SwitchObservations {
        self.probes = Probes::default();
        SwitchObservations {
            epoch: self.epoch,
            overflowed: overflowed(wired).saturating_sub(self.overflowed),
            devices: wired.iter_mut().map(|w| w.device.end_trial()).collect(),
            ..std::mem::take(&mut self.seen)
        }
    }

    /// True: to stop.
    fn follow_orders(&mut self, wired: &mut [Wired]) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Begin(probes, begun)) => {
                    self.probes = probes;
                    self.seen = SwitchObservations::default();
                    self.overflowed = overflowed(wired);
                    for wired in &mut *wired {
                        wired.device.begin_trial();
                    }
                    let _ = begun.send(());
                }
                Ok(Order::Cut) => cut(wired),
                Ok(Order::End(answer)) => {
                    cut(wired);
                    // Who asked may have given up.
                    let _ = answer.send(self.end_trial(wired));
                }
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => return false,
            }
        }
    }
}
