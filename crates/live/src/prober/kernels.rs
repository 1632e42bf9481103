//! Other kernels than this host's, played below the engine: a stamp is its packet's, or it is missing.
//!
//! What the played kernels do is what Linux does or has done:
//!
//! - until 6.9 ("net-timestamp: make sk_tskey more predictable in error path") a call that fails while the packet is
//!   made keeps the number that it took;
//! - a packet that is dropped behind that point (a full queue, a firewall) keeps its number in every version;
//! - a packet that passes several queues is stamped at each of them, under one number (kernel document "Timestamping",
//!   `SOF_TIMESTAMPING_TX_SCHED`);
//! - a stamp for which the socket has no room is dropped, and one that waits in a queue with its packet comes late;
//! - before "socket: skip checking sk_err for recvmmsg(MSG_ERRQUEUE)" the call that reads the error queue in batches
//!   reports an earlier packet's ICMP error first.
#![allow(clippy::unwrap_used)]

use super::channel::{Channel, Decoded, QueueEvent};
use super::datagram::DatagramChannel;
use super::engine::{Engine, EngineConfig};
use super::icmp::Echo;
use super::own_thread;
use super::socket::ProbeSocket;
use crate::clocks::{Clocks, RealTime};
use delaylab_kernel::ancillary::{Ancillary, QueuedError};
use delaylab_kernel::clock;
use delaylab_kernel::datagram::{Blocking, Received};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::stamping::Flags;
use delaylab_model::method::{Carrier, Method};
use delaylab_model::probe::{Pacing, StampRequest, WaitMode};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::stop::Stop;
use delaylab_model::trial::{RecordFacts, StampPoint};
use delaylab_model::world::Sink;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_stats::anatomy;
use delaylab_traffic::prober::{Config, Expected, Prober};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

const PACKETS: u64 = 40;
/// Echo header, token and number.
const SIZE: usize = 16;

/// What comes of a send call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Leaves,
    /// The route is gone: found before the packet is made.
    NoRoute,
    /// It does not fit: found while it is made.
    TooLong,
    /// An earlier packet was refused, and this call says so: found while the packet is made.
    Reports,
    /// No memory for it: found while it is made.
    NoMemory,
    /// A firewall drops it on its way to the queue.
    Forbidden,
    /// The queue drops it, behind the stamp of its entrance.
    QueueFull,
}

impl Fate {
    const fn errno(self) -> Option<i32> {
        match self {
            Fate::Leaves => None,
            Fate::NoRoute => Some(101),
            Fate::TooLong => Some(90),
            Fate::Reports => Some(111),
            Fate::NoMemory | Fate::QueueFull => Some(105),
            Fate::Forbidden => Some(1),
        }
    }
}

/// A send call and its packet's way. Times are counted in calls on the socket.
#[derive(Debug, Clone, Copy)]
struct Call {
    fate: Fate,
    /// How late the stamps come; `None`: never.
    sched: Option<u64>,
    tx: Option<u64>,
    /// Is the packet itself late to the queue and the driver, or only the news of it?
    waits: bool,
    /// From the driver to the reply.
    reply: u64,
}

const PROMPT: Call = Call {
    fate: Fate::Leaves,
    sched: Some(0),
    tx: Some(0),
    waits: false,
    reply: 0,
};

/// What sets a kernel apart.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    counts_failed_calls: bool,
    /// Queues that a packet passes.
    queues: u64,
    reports_when_stamps_are_read: bool,
}

const TODAYS: Kernel = Kernel {
    counts_failed_calls: false,
    queues: 1,
    reports_when_stamps_are_read: false,
};

/// A stamp that is under way.
struct Stamp {
    due: u64,
    seq: u64,
    id: u32,
    point: StampPoint,
    /// `None`: when it is due.
    at: Option<Nanos>,
}

struct State {
    kernel: Kernel,
    calls: Vec<Call>,
    called: usize,
    flags: Flags,
    counter: u32,
    /// Calls on the socket so far.
    now: u64,
    stamps: Vec<Stamp>,
    replies: VecDeque<(u64, Vec<u8>)>,
    reported: Option<i32>,
    last_stamp: Nanos,
    /// Which packet each stamp is of.
    truth: BTreeMap<Nanos, u64>,
    sent: Vec<u64>,
}

/// A socket of another kernel. Whoever waits for it is woken at once: its time runs by calls.
struct Fake {
    state: RefCell<State>,
    always_readable: UnixStream,
    _other_end: UnixStream,
}

impl Fake {
    fn new(kernel: Kernel, calls: &[Call]) -> Self {
        let (always_readable, mut other) = UnixStream::pair().unwrap();
        other.write_all(&[0]).unwrap();
        Self {
            state: RefCell::new(State {
                kernel,
                calls: calls.to_vec(),
                called: 0,
                flags: Flags::NONE,
                counter: 0,
                now: 0,
                stamps: Vec::new(),
                replies: VecDeque::new(),
                reported: None,
                last_stamp: 0,
                truth: BTreeMap::new(),
                sent: Vec::new(),
            }),
            always_readable,
            _other_end: other,
        }
    }
}

impl State {
    fn stamps_departures(&self) -> bool {
        self.flags == Flags::prober(StampRequest::Software)
    }

    /// No two stamps are of one time.
    fn stamp_now(&mut self, seq: u64) -> Nanos {
        let at = clock::realtime().max(self.last_stamp + 1);
        self.last_stamp = at;
        self.truth.insert(at, seq);
        at
    }

    fn take_number(&mut self) -> Option<u32> {
        let stamps = self.stamps_departures();
        let number = stamps.then_some(self.counter);
        self.counter = self.counter.wrapping_add(stamps.into());
        number
    }

    fn stamp(&mut self, seq: u64, id: u32, point: StampPoint, late: u64, waits: bool) {
        let at = (!waits).then(|| self.stamp_now(seq));
        let due = self.now + late;
        self.stamps.push(Stamp {
            due,
            seq,
            id,
            point,
            at,
        });
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<usize> {
        self.now += 1;
        // A run that cannot send its first packet ends.
        let call = match self.called {
            0 => PROMPT,
            n => self.calls[n % self.calls.len()],
        };
        self.called += 1;
        let seq = u32::from_be_bytes(*packet[12..].first_chunk().unwrap()).into();
        match call.fate {
            Fate::Leaves => self.leave(packet, seq, call),
            Fate::NoRoute => {}
            Fate::TooLong | Fate::Reports | Fate::NoMemory => {
                if self.kernel.counts_failed_calls {
                    self.take_number();
                }
            }
            Fate::Forbidden => drop(self.take_number()),
            Fate::QueueFull => {
                if let Some(id) = self.take_number() {
                    self.stamp(seq, id, StampPoint::TSched, 0, false);
                }
            }
        }
        if call.fate == Fate::Leaves && call.reply % 5 == 4 {
            self.reported = Some(111);
        }
        match call.fate.errno() {
            None => Ok(packet.len()),
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn leave(&mut self, packet: &[u8], seq: u64, call: Call) {
        self.sent.push(seq);
        let id = self.take_number();
        let entered = call.sched.unwrap_or(0);
        let left = call.tx.unwrap_or(0).max(entered);
        if let (Some(id), Some(late)) = (id, call.sched) {
            for queue in 0..self.kernel.queues {
                self.stamp(seq, id, StampPoint::TSched, late + queue, call.waits);
            }
        }
        if let (Some(id), Some(_)) = (id, call.tx) {
            self.stamp(seq, id, StampPoint::TTx, left, call.waits);
        }
        let travels = if call.waits { left } else { 0 };
        let mut reply = packet.to_vec();
        reply[0] = 0;
        self.replies
            .push_back((self.now + travels + call.reply, reply));
    }

    /// The oldest stamps that have come.
    fn due_stamps(&mut self, most: usize) -> Vec<Ancillary> {
        let mut due = Vec::new();
        while due.len() < most {
            let first = (0..self.stamps.len())
                .filter(|&i| self.stamps[i].due <= self.now)
                .min_by_key(|&i| self.stamps[i].due);
            let Some(first) = first else { break };
            let Stamp {
                seq, id, point, at, ..
            } = self.stamps.remove(first);
            let at = at.unwrap_or_else(|| self.stamp_now(seq));
            due.push(Ancillary {
                software: Some(at),
                error: Some(QueuedError::Stamp { point, id }),
                ..Ancillary::default()
            });
        }
        due
    }
}

impl ProbeSocket for &Fake {
    fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.state.borrow_mut().send(packet)
    }

    fn receive_plain(&self, buffer: &mut [u8], _: Blocking) -> io::Result<Received> {
        let mut state = self.state.borrow_mut();
        state.now += 1;
        let now = state.now;
        let due = state.replies.iter().position(|(due, _)| *due <= now);
        let (_, packet) = due
            .and_then(|at| state.replies.remove(at))
            .ok_or(io::ErrorKind::WouldBlock)?;
        buffer[..packet.len()].copy_from_slice(&packet);
        Ok(Received {
            length: packet.len(),
            from: None,
            beside: Ancillary::default(),
        })
    }

    fn receive(&self, buffer: &mut [u8], blocking: Blocking) -> io::Result<Received> {
        let received = self.receive_plain(buffer, blocking)?;
        let software = Some(clock::realtime());
        let beside = Ancillary {
            software,
            ..Ancillary::default()
        };
        Ok(Received { beside, ..received })
    }

    fn read_errors(
        &self,
        _: &mut ErrorQueue,
        expected: usize,
        mut take: impl FnMut(&Ancillary, &[u8]),
    ) -> io::Result<bool> {
        let mut state = self.state.borrow_mut();
        state.now += 1;
        let reported = state.reported.take();
        if let Some(errno) = reported.filter(|_| state.kernel.reports_when_stamps_are_read) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let room = (expected + 1).min(64);
        let due = state.due_stamps(room);
        due.iter().for_each(|beside| take(beside, &[]));
        Ok(due.len() == room)
    }

    fn set_stamping(&self, flags: Flags) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        if state.flags == Flags::NONE {
            state.counter = 0;
        }
        state.flags = flags;
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.always_readable.as_fd()
    }
}

/// A channel whose stamps are held against the truth.
struct Watched<'a> {
    inner: DatagramChannel<Echo, &'a Fake>,
    fake: &'a Fake,
    /// Given to, and of, these packets.
    mistaken: Vec<(u64, u64)>,
}

impl Channel for Watched<'_> {
    fn prepare(&mut self, seq: u64) {
        self.inner.prepare(seq);
    }

    fn transmit(&mut self) -> io::Result<()> {
        self.inner.transmit()
    }

    fn receive(&mut self, blocking: Blocking) -> io::Result<()> {
        self.inner.receive(blocking)
    }

    fn decode(&mut self, last: u64) -> Option<Decoded> {
        self.inner.decode(last)
    }

    fn read_queue(
        &mut self,
        last: u64,
        expected: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool> {
        let mut given = Vec::new();
        let more = self.inner.read_queue(last, expected, &mut |event| {
            if let QueueEvent::Stamp { seq, at, .. } = event {
                given.push((seq, at));
            }
            take(event);
        });
        let truth = &self.fake.state.borrow().truth;
        let given = given.into_iter().map(|(seq, at)| (seq, truth[&at]));
        self.mistaken
            .extend(given.filter(|(given, of)| given != of));
        more
    }

    fn wants_queue_read(&self) -> bool {
        self.inner.wants_queue_read()
    }

    fn queue_is_read(&mut self, over: u64) -> io::Result<()> {
        self.inner.queue_is_read(over)
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.inner.socket()
    }

    fn facts(&self) -> RecordFacts {
        self.inner.facts()
    }
}

#[derive(Default)]
struct Kept(Vec<Record>);

impl Sink for Kept {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.push(*record);
        Ok(())
    }
}

struct Ran {
    /// In the order of their numbers.
    records: Vec<Record>,
    mistaken: Vec<(u64, u64)>,
    /// Packets that left.
    sent: Vec<u64>,
    unstamped: u64,
}

fn run(kernel: Kernel, calls: &[Call]) -> Ran {
    let fake = Fake::new(kernel, calls);
    let flags = Flags::prober(StampRequest::Software);
    let echo = Echo::of_nobody(false, false);
    let mut channel = Watched {
        inner: DatagramChannel::new(&fake, echo, vec![0; SIZE], flags).unwrap(),
        fake: &fake,
        mistaken: Vec::new(),
    };
    let mut prober = Prober::new(Config {
        trial: 0,
        probe: 0,
        method: Method::Icmp,
        dscp: 0,
        ip_size: None,
        target: None,
        pacing: Pacing::Every {
            interval_ns: 20 * MICROSECOND,
        },
        seed: 1,
        start: clock::monotonic(),
        count: Some(PACKETS),
        duration: None,
        timeout: 2_000 * MILLISECOND,
        expected: Expected {
            departures: true,
            follow_ups: false,
            acks: false,
        },
    });
    let config = EngineConfig {
        wait_mode: WaitMode::Block,
        stamped: true,
        carrier: Carrier::Tcp,
        timeout: 2_000 * MILLISECOND,
        target: SocketAddr::from(([192, 0, 2, 1], 0)),
        stop: Stop::default(),
    };
    let mut kept = Kept::default();
    let mut clocks = Clocks::new(RealTime::of_kernel());
    let engine = Engine::new(&mut channel, &mut prober, &mut clocks, &mut kept, config);
    own_thread::run(engine).1.unwrap();
    let (mistaken, unstamped) = (channel.mistaken, channel.inner.unstamped());
    kept.0.sort_by_key(|record| record.seq);
    Ran {
        records: kept.0,
        mistaken,
        unstamped,
        sent: fake.state.into_inner().sent,
    }
}

fn kernels() -> impl Strategy<Value = Kernel> {
    (any::<bool>(), 1_u64..3, any::<bool>()).prop_map(|(counts, queues, reports)| Kernel {
        counts_failed_calls: counts,
        queues,
        reports_when_stamps_are_read: reports,
    })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let fate = prop_oneof![
        12 => Just(Fate::Leaves),
        1 => Just(Fate::NoRoute),
        1 => Just(Fate::TooLong),
        1 => Just(Fate::Reports),
        1 => Just(Fate::NoMemory),
        1 => Just(Fate::Forbidden),
        1 => Just(Fate::QueueFull),
    ];
    let late = || {
        prop_oneof![
            5 => Just(Some(0)),
            2 => (1_u64..12).prop_map(Some),
            1 => Just(None),
        ]
    };
    let call = (fate, late(), late(), any::<bool>(), 0_u64..20).prop_map(
        |(fate, sched, tx, waits, reply)| Call {
            fate,
            sched,
            tx,
            waits,
            reply,
        },
    );
    proptest::collection::vec(call, 1..60)
}

/// Behind each failed call the next packet's own stamp shows the number: no packet goes without.
#[test]
fn prompt_stamps_end_the_doubt_at_once() {
    for counts_failed_calls in [false, true] {
        let kernel = Kernel {
            counts_failed_calls,
            ..TODAYS
        };
        let fates = [
            Fate::NoRoute,
            Fate::TooLong,
            Fate::Reports,
            Fate::NoMemory,
            Fate::Forbidden,
            Fate::QueueFull,
        ];
        for fate in fates {
            let fails = Call { fate, ..PROMPT };
            let ran = run(kernel, &[PROMPT, fails, fails, PROMPT, PROMPT]);
            assert_eq!(ran.mistaken, [], "{kernel:?} {fate:?}");
            for record in ran.records.iter().filter(|record| record.t_send.is_some()) {
                let stamped = record.t_sched.is_some() && record.t_tx.is_some();
                assert!(stamped, "{kernel:?} {fate:?} {record:?}");
            }
        }
    }
}

/// What goes without stamps until the number shows is counted, and then there are stamps again.
#[test]
fn a_silent_packet_behind_a_failed_call_delays_the_end_of_the_doubt() {
    let fails = Call {
        fate: Fate::TooLong,
        ..PROMPT
    };
    let silent = Call {
        sched: None,
        tx: None,
        reply: 12,
        ..PROMPT
    };
    let mut calls = vec![PROMPT; PACKETS as usize + 2];
    // A call that is said to report an earlier packet's error is made again.
    calls[3..6].copy_from_slice(&[fails, fails, silent]);
    for counts_failed_calls in [false, true] {
        let kernel = Kernel {
            counts_failed_calls,
            ..TODAYS
        };
        let ran = run(kernel, &calls);
        assert_eq!(ran.mistaken, []);
        let without = ran.records.iter().filter(|record| record.t_tx.is_none());
        let failed_and_silent = 2;
        assert_eq!(without.count() as u64, ran.unstamped + failed_and_silent);
        assert!(ran.unstamped > 0);
        assert!(ran.records.last().unwrap().t_tx.is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever the kernel counts and however its stamps come.
    #[test]
    fn a_stamp_is_its_packets_or_missing(kernel in kernels(), calls in calls()) {
        let ran = run(kernel, &calls);
        prop_assert_eq!(&ran.mistaken, &[]);
        let seqs: Vec<u64> = ran.records.iter().map(|record| record.seq).collect();
        prop_assert_eq!(seqs, (0..PACKETS).collect::<Vec<_>>());
        for record in &ran.records {
            let left = ran.sent.contains(&record.seq);
            prop_assert_eq!(record.outcome, if left { Outcome::Ok } else { Outcome::LocalError });
            prop_assert!(left || (record.t_sched, record.t_tx) == (None, None));
            let stages = anatomy::parts(record, &RecordFacts::default());
            let whole = record.t_recv.map_or(0, |at| at - record.t_intended);
            prop_assert_eq!(stages.iter().map(|(_, ns)| ns).sum::<Nanos>(), whole);
        }
    }
}
