//! The sender's side of a probe: what is due, and what came of each packet.
//!
//! [`Prober`] is handed every event with its time and hands out whole records. It guarantees that
//! every packet sent ends in exactly one record, that no slot of an open loop is dropped in silence,
//! and that memory is bounded by what can be under way within time-out and grace.
//!
//! | module | decides |
//! |---|---|
//! | `event` | what it is told and what it answers |
//! | `release` | when a record is whole |
//! | [`clock_watch`] | how real time maps to monotonic time, and what happened to the clocks |
//! | [`epoch`] | by which shift the reflector's stamps are read |
//! | `given_up` | which packets a reply came for after all |
//! | [`loss_direction`] | in which direction packets were lost |
//! | [`recounts`] | where the reflector begins to count again |
//! | [`reordering`] | RFC 4737 extents |
//! | [`stamp_ids`] | which packet a departure stamp is of |
//! | [`room`] | memory for what can be under way at once |
//! | [`sequence`] | full sequence numbers from the few bits on the wire |

pub mod clock_watch;
pub mod epoch;
mod event;
mod given_up;
pub mod loss_direction;
pub mod recounts;
mod release;
pub mod reordering;
pub mod room;
pub mod sequence;
pub mod stamp_ids;
#[cfg(test)]
mod tests;

pub use event::{Config, Expected, FromServer, MESSAGE_TOO_LONG, Refused, Reply, Step};

use crate::pacing::{Due, Pacer};
use delaylab_model::record::{ClockEvent, Outcome, Record};
use delaylab_model::trial::{LossDirection, LostInHost, StampPoint};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use given_up::GivenUp;
use loss_direction::{ReflectorCount, undecided};
use reordering::Reordering;
use room::Room;
use std::collections::VecDeque;

/// How long a record stays open after its reply, for copies of it: some round trips, within bounds.
const SETTLE_ROUND_TRIPS: Nanos = 16;
const LEAST_SETTLE: Nanos = MILLISECOND;
const MOST_SETTLE: Nanos = 50 * MILLISECOND;
/// A departure stamp that is earlier than its packet by more than the clocks can be apart.
const ANOTHER_PACKETS: Nanos = 100 * MICROSECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sent,
    TimedOut,
    Answered,
    Released,
}

#[derive(Debug)]
struct Slot {
    record: Record,
    state: State,
    /// Packets that really left before this one: as the reflector counts them.
    sent_before: u64,
}

/// An answered record that is kept open for copies and stamps.
#[derive(Debug, Clone, Copy)]
struct Settling {
    seq: u64,
    until: Nanos,
    replies_before: u64,
}

/// Some of the stamps that come separately.
#[derive(Debug, Clone, Copy, Default)]
struct SeparateStamps {
    sched: bool,
    tx: bool,
    follow_up: bool,
    ack: bool,
}

impl SeparateStamps {
    #[inline]
    fn note(&mut self, point: StampPoint) {
        match point {
            StampPoint::TSched => self.sched = true,
            StampPoint::TTx => self.tx = true,
            StampPoint::RTx => self.follow_up = true,
            StampPoint::TAck => self.ack = true,
            _ => {}
        }
    }
}

fn note_server(record: &mut Record, server: &FromServer) {
    // The work for it began with what its connection took.
    if let Some(t_send) = server.t_send {
        record.t_begin = record.t_send.replace(t_send);
    }
    record.t_resolved = server.t_resolved;
    record.t_connected = server.t_connected;
    record.t_secured = server.t_secured;
    record.t_first = server.t_first;
    record.least_round_trip = server.least_round_trip;
    record.answer = server.answer;
    record.reply_bytes = server.reply_bytes;
    record.answer_ttl = server.answer_ttl;
    record.server_says = server.server_says;
    record.connection = server.connection;
}

/// How long after its time-out a packet is still waited for.
fn grace(timeout: Nanos) -> Nanos {
    timeout.clamp(100 * MILLISECOND, 10 * SECOND)
}

/// The state machine.
#[derive(Debug)]
pub struct Prober {
    config: Config,
    pacer: Pacer,
    /// Slots from `base` to before `next_seq`.
    slots: VecDeque<Slot>,
    base: u64,
    next_seq: u64,
    /// All before it have been answered, have timed out or have failed.
    timeout_cursor: u64,
    /// All before it have been answered or released.
    linger_cursor: u64,
    settling: VecDeque<Settling>,
    ended: VecDeque<Record>,
    /// Sent, and neither answered nor given up.
    awaiting: u64,
    replies: u64,
    /// The longest round trip so far.
    longest: Nanos,
    stopped: bool,
    /// Slots due before this were given up.
    skip_until: Option<Nanos>,
    skipped: u64,
    /// What has come at all: not every driver delivers every stamp.
    seen: SeparateStamps,
    reordering: Reordering,
    reflector: ReflectorCount,
    /// Send calls that failed.
    unsent: u64,
    final_count: Option<u64>,
    dropped: LostInHost,
    /// Dropped by the reflector's buffer: of this probe's packets or of others'.
    dropped_of_several: u64,
    strays: u64,
    /// Packets whose record says that they are lost or refused.
    given_up: GivenUp,
    /// Packets that were under way when the trial ended at once.
    abandoned: u64,
}

impl Prober {
    /// Ready to send the first packet at `config.start`.
    pub fn new(config: Config) -> Self {
        Self::with_room(config, Room::default())
    }

    /// The same, whose memory has been had before.
    pub fn with_room(config: Config, room: Room) -> Self {
        let pacer = Pacer::new(config.pacing, config.start, config.seed);
        Self {
            config,
            pacer,
            slots: room.0,
            base: 0,
            next_seq: 0,
            timeout_cursor: 0,
            linger_cursor: 0,
            settling: VecDeque::new(),
            ended: VecDeque::new(),
            awaiting: 0,
            replies: 0,
            longest: 0,
            stopped: false,
            skip_until: None,
            skipped: 0,
            seen: SeparateStamps::default(),
            reordering: Reordering::default(),
            reflector: ReflectorCount::default(),
            unsent: 0,
            final_count: None,
            dropped: LostInHost::default(),
            dropped_of_several: 0,
            strays: 0,
            given_up: GivenUp::default(),
            abandoned: 0,
        }
    }

    /// How long after its time-out a packet is still waited for, to tell late from lost.
    fn grace(&self) -> Nanos {
        grace(self.config.timeout)
    }

    /// What to do at `now`.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Step {
        self.expire(now);
        if self.sending_is_over() {
            // Slots still to be given up are housekeeping, to be done at once.
            let skipping = self.skip_until.map(|_| now);
            return if self.awaiting == 0 && skipping.is_none() {
                Step::Done
            } else {
                Step::Wait {
                    due: None,
                    deadline: skipping.or_else(|| self.deadline()),
                }
            };
        }
        match self.pacer.due() {
            Due::At(due) if due <= now => Step::Send {
                seq: self.next_seq,
                t_intended: due,
            },
            Due::At(due) => Step::Wait {
                due: Some(due),
                deadline: self.deadline(),
            },
            Due::AfterReply => Step::Wait {
                due: None,
                deadline: self.deadline(),
            },
        }
    }

    fn is_within_duration(&self, due: Nanos) -> bool {
        let duration = self.config.duration;
        duration.is_none_or(|duration| due - self.config.start < duration)
    }

    /// Is nothing to be sent any more? Of a closed loop that is not known as long as a reply may come.
    pub fn sending_is_over(&self) -> bool {
        let timed_out = match self.pacer.due() {
            Due::At(due) => !self.is_within_duration(due),
            Due::AfterReply => false,
        };
        self.stopped || self.counted_out() || timed_out
    }

    /// When the oldest packet under way times out, or else the oldest timed-out one ends its grace.
    fn deadline(&self) -> Option<Nanos> {
        let sent_at = |seq: u64, state: State| {
            let slot = self.slots.get(self.index(seq)?)?;
            if slot.state == state {
                slot.record.t_send
            } else {
                None
            }
        };
        let timeout = sent_at(self.timeout_cursor, State::Sent).map(|t| t + self.config.timeout);
        timeout.or_else(|| Some(sent_at(self.linger_cursor, State::TimedOut)? + self.patience()))
    }

    /// From sending a packet to calling it lost.
    fn patience(&self) -> Nanos {
        self.config.timeout + self.grace()
    }

    fn index(&self, seq: u64) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.base)?).ok()
    }

    fn slot(&mut self, seq: u64) -> Option<&mut Slot> {
        let index = self.index(seq)?;
        self.slots.get_mut(index)
    }

    /// The packet that was due has been handed to the kernel.
    #[inline]
    pub fn sent(&mut self, t_intended: Nanos, t_send: Nanos, cpu: Option<u16>) {
        let mut record = self.open_record(t_intended);
        record.t_send = Some(t_send);
        record.cpu = cpu;
        let sent_before = self.next_seq - self.unsent;
        self.slots.push_back(Slot {
            record,
            state: State::Sent,
            sent_before,
        });
        self.awaiting += 1;
        self.next_seq += 1;
        self.pacer.advance();
    }

    /// The send call for the packet that was due failed.
    ///
    /// `path_mtu` is what would have fit, where the packet was too long.
    pub fn send_failed(
        &mut self,
        t_intended: Nanos,
        now: Nanos,
        errno: Option<i32>,
        path_mtu: Option<u32>,
    ) {
        let mut record = self.open_record(t_intended);
        record.outcome = Outcome::LocalError;
        record.errno = errno;
        record.path_mtu = path_mtu;
        let sent_before = self.next_seq - self.unsent;
        self.slots.push_back(Slot {
            record,
            state: State::Released,
            sent_before,
        });
        self.unsent += 1;
        self.next_seq += 1;
        self.pacer.advance();
        self.pacer.settled(now + self.config.timeout);
        self.ended.push_back(record);
    }

    fn open_record(&self, t_intended: Nanos) -> Record {
        let config = &self.config;
        let mut record = Record::due(
            config.trial,
            config.probe,
            self.next_seq,
            config.method,
            t_intended,
        );
        record.dscp = config.dscp;
        record.ip_size = config.ip_size;
        record
    }

    /// A departure stamp came. The first of its kind counts: a fragmented packet's t_tx is its first
    /// fragment's, a retransmitted segment's its first transmission's.
    #[inline]
    pub fn stamped(&mut self, seq: u64, point: StampPoint, at: Nanos) {
        let Some(slot) = self.slot(seq) else { return };
        // Numbers are told apart by [`stamp_ids`]. A stamp from before its packet shows that they are not those of this
        // kernel, or that a clock was stepped: none is better than another one's.
        let sent = slot.record.t_send.unwrap_or(at);
        if point != StampPoint::TTxHw && at < sent - ANOTHER_PACKETS {
            return;
        }
        let column = match point {
            StampPoint::TSched => &mut slot.record.t_sched,
            StampPoint::TTx => &mut slot.record.t_tx,
            StampPoint::TTxHw => &mut slot.record.t_tx_hw,
            StampPoint::TAck => &mut slot.record.t_ack,
            _ => return,
        };
        column.get_or_insert(at);
        self.seen.note(point);
    }

    /// When the packet was handed to the kernel, if its record is still open.
    #[inline]
    pub fn t_send(&self, seq: u64) -> Option<Nanos> {
        self.slots.get(self.index(seq)?)?.record.t_send
    }

    /// The reflector reported when an earlier reply left it.
    #[inline]
    pub fn follow_up(&mut self, seq: u64, r_tx: Nanos) {
        if let Some(slot) = self.slot(seq) {
            slot.record.r_tx.get_or_insert(r_tx);
            self.seen.note(StampPoint::RTx);
        }
    }

    /// A reply was read.
    #[inline]
    pub fn reply(&mut self, reply: &Reply) {
        self.expire(reply.t_recv);
        let Some(state) = self.slot(reply.seq).map(|slot| slot.state) else {
            return self.count_stray(reply);
        };
        match state {
            State::Sent | State::TimedOut => self.answer(reply, state == State::TimedOut),
            State::Answered => self.count_copy(reply),
            State::Released => self.count_stray(reply),
        }
    }

    /// Its record is closed, or there is none.
    fn count_stray(&mut self, reply: &Reply) {
        self.strays += 1;
        let (seq, counted) = (reply.seq, reply.counted());
        // A lower bound: which packets could not be sent is forgotten.
        let sent_before = seq.saturating_sub(self.unsent);
        if self.given_up.remove(seq) {
            self.reflector.answered_later(seq, sent_before, counted);
        } else if seq < self.next_seq {
            self.reflector.copied(seq, sent_before, counted);
        }
    }

    fn count_copy(&mut self, reply: &Reply) {
        let Some(slot) = self.slot(reply.seq) else {
            return;
        };
        slot.record.copies = slot.record.copies.saturating_add(1);
        let (seq, sent_before) = (reply.seq, slot.sent_before);
        self.reflector.copied(seq, sent_before, reply.counted());
    }

    fn answer(&mut self, reply: &Reply, timed_out: bool) {
        // Requests on several connections have no order among each other.
        let extent = match self.config.method.asks_server() {
            true => 0,
            false => self.reordering.arrived(reply.seq),
        };
        let Some(slot) = self.slot(reply.seq) else {
            return;
        };
        slot.state = State::Answered;
        let record = &mut slot.record;
        record.outcome = match (reply.corrupt, timed_out) {
            (true, _) => Outcome::Corrupt,
            (false, true) => Outcome::Late,
            (false, false) => Outcome::Ok,
        };
        record.reorder_extent = extent;
        record.t_recv = Some(reply.t_recv);
        record.t_rx = reply.t_rx;
        record.t_rx_hw = reply.t_rx_hw;
        record.r_rx = reply.r_rx;
        record.r_user = reply.r_user;
        record.r_tx = record.r_tx.or(reply.r_tx);
        record.r_dscp = reply.r_dscp;
        record.reply_dscp = reply.reply_dscp;
        record.reply_ecn = reply.reply_ecn;
        record.reply_ttl = reply.reply_ttl;
        record.reflector_seq = reply.reflector_seq;
        record.retransmits = reply.retransmits;
        if let Some(server) = &reply.server {
            note_server(record, server);
        }
        let sent_before = slot.sent_before;
        let round_trip = slot.record.round_trip().unwrap_or(0);
        if reply.r_tx.is_some() {
            self.seen.note(StampPoint::RTx);
        }
        self.longest = self.longest.max(round_trip);
        self.reflector
            .replied(reply.seq, sent_before, reply.counted());
        self.awaiting -= 1;
        let settle =
            (round_trip.saturating_mul(SETTLE_ROUND_TRIPS)).clamp(LEAST_SETTLE, MOST_SETTLE);
        self.settling.push_back(Settling {
            seq: reply.seq,
            until: reply.t_recv + settle,
            replies_before: self.replies,
        });
        self.replies += 1;
        // A late reply is not the one that a closed loop waits for: its time-out has settled that.
        if !timed_out && reply.seq + 1 == self.next_seq {
            self.pacer.settled(reply.t_recv);
        }
    }

    /// An ICMP error (or a local one) came for this packet.
    pub fn refused(&mut self, seq: u64, refused: &Refused) {
        let timeout = self.config.timeout;
        let is_last = seq + 1 == self.next_seq;
        let is_unheard = self
            .config
            .target
            .is_some_and(|target| refused.is_of_closed_port(target));
        let Some(slot) = self.slot(seq) else { return };
        if slot.state != State::Sent && slot.state != State::TimedOut {
            return;
        }
        slot.state = State::Released;
        slot.record.outcome = Outcome::Refused;
        slot.record.refused_by = refused.by;
        slot.record.icmp = refused.reason();
        (slot.record.icmp_type, slot.record.icmp_code) = match refused.icmp {
            Some([kind, code]) => (Some(kind), Some(code)),
            None => (None, None),
        };
        slot.record.path_mtu = refused.path_mtu();
        slot.record.errno = Some(refused.errno);
        let record = slot.record;
        if is_unheard {
            self.reflector.unheard();
        }
        self.awaiting -= 1;
        self.given_up.insert(seq);
        self.ended.push_back(record);
        // As after a loss: a refusal must not turn a closed loop into a flood.
        if is_last && let Some(t_send) = record.t_send {
            self.pacer.settled(t_send + timeout);
        }
    }

    /// Something happened to the clocks: every packet whose reply has not been read is marked. Of the others nothing is
    /// under way but stamps that were taken before.
    pub fn clock_event(&mut self, event: ClockEvent) {
        let slots = self.slots.iter_mut();
        for slot in slots.filter(|slot| matches!(slot.state, State::Sent | State::TimedOut)) {
            slot.record.clock_event = event;
        }
    }

    /// Reading the clock took long at the last packet sent or at this reply.
    pub fn slow_clock_read(&mut self, seq: u64) {
        if let Some(slot) = self.slot(seq)
            && slot.record.clock_event == ClockEvent::None
        {
            slot.record.clock_event = ClockEvent::SlowClockRead;
        }
    }

    fn expire(&mut self, now: Nanos) {
        while self.timeout_cursor < self.next_seq {
            let timeout = self.config.timeout;
            let cursor = self.timeout_cursor;
            if let Some(slot) = self.slot(cursor)
                && slot.state == State::Sent
            {
                let Some(t_send) = slot.record.t_send else {
                    break;
                };
                if now <= t_send + timeout {
                    break;
                }
                slot.state = State::TimedOut;
                if cursor + 1 == self.next_seq {
                    self.pacer.settled(t_send + timeout);
                }
            }
            self.timeout_cursor += 1;
        }
        while self.linger_cursor < self.timeout_cursor {
            let cursor = self.linger_cursor;
            if self
                .slot(cursor)
                .is_some_and(|slot| slot.state == State::TimedOut)
            {
                break;
            }
            self.linger_cursor += 1;
        }
    }

    /// How many packets were handed to the sender so far.
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// All packets before this one have been answered or given up.
    pub const fn over_before(&self) -> u64 {
        self.linger_cursor
    }

    /// The longest so far.
    pub const fn longest_round_trip(&self) -> Nanos {
        self.longest
    }

    /// How many of them are neither answered nor given up.
    pub const fn awaiting(&self) -> u64 {
        self.awaiting
    }

    /// Is the sender free to drain queues: a reply is not what it waits for, or nothing is under way?
    pub const fn is_closed_loop(&self) -> bool {
        self.pacer.is_closed_loop()
    }

    /// Replies that belong to no open record: copies that came late, or of another run.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// The reflector told at the end how many packets it received in all.
    pub const fn set_final_count(&mut self, received: Option<u64>) {
        self.final_count = received;
    }

    /// What the reflector's replies tell is a count of its own, and no copy of our numbers.
    pub const fn reflector_counts(&mut self) {
        self.reflector.is_known();
    }

    /// What hosts say that they dropped of this probe's packets, and what the reflector's buffer had no room for that may
    /// be others'.
    pub const fn set_dropped(&mut self, dropped: LostInHost, of_several: u64) {
        self.dropped = dropped;
        self.dropped_of_several = of_several;
    }

    /// Direction of loss, where the reflector counts.
    pub fn loss_direction(&self) -> Option<LossDirection> {
        let sent = self.next_seq - self.unsent;
        let loss =
            self.reflector
                .direction(sent, self.abandoned, self.final_count, self.dropped)?;
        Some(undecided(loss, self.dropped_of_several))
    }
}
