//! The sender's side of a probe: what is due, and what came of each packet.
//!
//! [`Prober`] is handed every event with its time and hands out whole records. It guarantees that
//! every packet sent ends in exactly one record, that no slot of an open loop is dropped in silence,
//! and that memory is bounded by what can be under way within time-out and grace.
//!
//! | module | decides |
//! |---|---|
//! | [`clock_watch`] | how real time maps to monotonic time, and what happened to the clocks |
//! | [`loss_direction`] | in which direction packets were lost |
//! | [`reordering`] | RFC 4737 extents |
//! | [`sequence`] | full sequence numbers from the few bits on the wire |

pub mod clock_watch;
pub mod loss_direction;
pub mod reordering;
pub mod sequence;
#[cfg(test)]
mod tests;

use crate::pacing::{Due, Pacer};
use delaylab_model::probe::Pacing;
use delaylab_model::record::{ClockEvent, Method, Outcome, Record};
use delaylab_model::trial::{LossDirection, StampPoint};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use loss_direction::ReflectorCount;
use reordering::Reordering;
use std::collections::VecDeque;
use std::net::IpAddr;

/// How long a record stays open after its reply, for copies of it.
const SETTLE: Nanos = 50 * MILLISECOND;
/// A stamp or follow-up that has not come by so many later replies will not come.
const GIVE_UP_AFTER_REPLIES: u64 = 64;
/// Slots given up in one call when told to stop far behind schedule.
const SKIP_BATCH: usize = 1024;

/// What does not change during a trial.
#[derive(Debug, Clone)]
pub struct Config {
    /// Written into each record.
    pub trial: u32,
    /// Written into each record.
    pub probe: u16,
    /// Written into each record.
    pub method: Method,
    /// Written into each record.
    pub dscp: u8,
    /// Written into each record.
    pub ip_size: Option<u32>,
    /// When packets are due.
    pub pacing: Pacing,
    /// Seeds the pacing.
    pub seed: u64,
    /// The first slot, `CLOCK_MONOTONIC`.
    pub start: Nanos,
    /// Stop after this many packets.
    pub count: Option<u64>,
    /// Stop once a packet would be due this long after the start.
    pub duration: Option<Nanos>,
    /// A reply read later than this after its packet was sent is late.
    pub timeout: Nanos,
    /// Which stamps make a record whole.
    pub expected: Expected,
}

/// The stamps that come separately from the reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// `t_sched` and `t_tx`.
    pub departures: bool,
    /// `r_tx`, which a later reply reports.
    pub follow_ups: bool,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A packet is due: send it, then call [`Prober::sent`] or [`Prober::send_failed`].
    Send {
        /// Its number.
        seq: u64,
        /// When it was due.
        t_intended: Nanos,
    },
    /// Nothing is due: wait for a packet, at most until the earlier of the two.
    Wait {
        /// When the next packet is due, where that is known.
        due: Option<Nanos>,
        /// When a time-out ends.
        deadline: Option<Nanos>,
    },
    /// Every packet has been sent and has ended.
    Done,
}

/// A reply, as it was read.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // named after the record's columns, which document them
pub struct Reply {
    pub seq: u64,
    pub t_recv: Nanos,
    pub t_rx: Option<Nanos>,
    pub t_rx_hw: Option<Nanos>,
    pub r_rx: Option<Nanos>,
    pub r_user: Option<Nanos>,
    pub r_dscp: Option<u8>,
    pub reply_dscp: Option<u8>,
    pub reply_ecn: Option<u8>,
    pub reply_ttl: Option<u8>,
    pub reflector_seq: Option<u32>,
    pub retransmits: Option<u32>,
    /// The bytes are not those that were sent.
    pub corrupt: bool,
}

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
}

/// An answered record that is kept open for copies and stamps.
#[derive(Debug, Clone, Copy)]
struct Settling {
    seq: u64,
    until: Nanos,
    replies_before: u64,
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
    stopped: bool,
    /// Slots due before this were given up.
    skip_until: Option<Nanos>,
    skipped: u64,
    reordering: Reordering,
    reflector: ReflectorCount,
    /// Send calls that failed.
    unsent: u64,
    final_count: Option<u64>,
    strays: u64,
    late_duplicates: u64,
}

impl Prober {
    /// Ready to send the first packet at `config.start`.
    pub fn new(config: Config) -> Self {
        let pacer = Pacer::new(config.pacing, config.start, config.seed);
        Self {
            config,
            pacer,
            slots: VecDeque::new(),
            base: 0,
            next_seq: 0,
            timeout_cursor: 0,
            linger_cursor: 0,
            settling: VecDeque::new(),
            ended: VecDeque::new(),
            awaiting: 0,
            replies: 0,
            stopped: false,
            skip_until: None,
            skipped: 0,
            reordering: Reordering::default(),
            reflector: ReflectorCount::default(),
            unsent: 0,
            final_count: None,
            strays: 0,
            late_duplicates: 0,
        }
    }

    /// How long after its time-out a packet is still waited for, to tell late from lost.
    fn grace(&self) -> Nanos {
        self.config.timeout.clamp(100 * MILLISECOND, 10 * SECOND)
    }

    /// What to do at `now`.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Step {
        self.expire(now);
        if self.sending_is_over() {
            let skipping = self.skip_until.is_some();
            return if self.awaiting == 0 && !skipping {
                Step::Done
            } else {
                Step::Wait {
                    due: None,
                    deadline: self.deadline(),
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

    fn sending_is_over(&self) -> bool {
        let counted_out = self
            .config
            .count
            .is_some_and(|count| self.next_seq >= count);
        let timed_out = match (self.config.duration, self.pacer.due()) {
            (Some(duration), Due::At(due)) => due - self.config.start >= duration,
            _ => false,
        };
        self.stopped || counted_out || timed_out
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
        self.slots.push_back(Slot {
            record,
            state: State::Sent,
        });
        self.awaiting += 1;
        self.next_seq += 1;
        self.pacer.advance();
    }

    /// The send call for the packet that was due failed.
    pub fn send_failed(&mut self, t_intended: Nanos, now: Nanos, errno: Option<i32>) {
        let mut record = self.open_record(t_intended);
        self.unsent += 1;
        record.outcome = Outcome::LocalError;
        record.errno = errno;
        self.slots.push_back(Slot {
            record,
            state: State::Released,
        });
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
        let column = match point {
            StampPoint::TSched => &mut slot.record.t_sched,
            StampPoint::TTx => &mut slot.record.t_tx,
            StampPoint::TTxHw => &mut slot.record.t_tx_hw,
            _ => return,
        };
        column.get_or_insert(at);
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
        }
    }

    /// A reply was read.
    #[inline]
    pub fn reply(&mut self, reply: &Reply) {
        self.expire(reply.t_recv);
        self.reflector.replied(reply.seq, reply.reflector_seq);
        let Some(state) = self.slot(reply.seq).map(|slot| slot.state) else {
            return self.count_stray(reply.seq);
        };
        match state {
            State::Sent | State::TimedOut => self.answer(reply, state == State::TimedOut),
            State::Answered => self.count_copy(reply.seq),
            State::Released => self.count_stray(reply.seq),
        }
    }

    fn count_stray(&mut self, seq: u64) {
        self.strays += 1;
        if seq < self.next_seq {
            self.late_duplicates += 1;
        }
    }

    fn count_copy(&mut self, seq: u64) {
        if let Some(slot) = self.slot(seq) {
            slot.record.copies = slot.record.copies.saturating_add(1);
        }
    }

    fn answer(&mut self, reply: &Reply, timed_out: bool) {
        let extent = self.reordering.arrived(reply.seq);
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
        record.r_dscp = reply.r_dscp;
        record.reply_dscp = reply.reply_dscp;
        record.reply_ecn = reply.reply_ecn;
        record.reply_ttl = reply.reply_ttl;
        record.reflector_seq = reply.reflector_seq;
        record.retransmits = reply.retransmits;
        self.awaiting -= 1;
        self.settling.push_back(Settling {
            seq: reply.seq,
            until: reply.t_recv + SETTLE,
            replies_before: self.replies,
        });
        self.replies += 1;
        // A late reply is not the one that a closed loop waits for: its time-out has settled that.
        if !timed_out && reply.seq + 1 == self.next_seq {
            self.pacer.settled(reply.t_recv);
        }
    }

    /// An ICMP error (or a local one, `by` none) came for this packet.
    pub fn refused(&mut self, seq: u64, by: Option<IpAddr>, errno: i32) {
        let timeout = self.config.timeout;
        let is_last = seq + 1 == self.next_seq;
        let Some(slot) = self.slot(seq) else { return };
        if slot.state != State::Sent && slot.state != State::TimedOut {
            return;
        }
        slot.state = State::Released;
        slot.record.outcome = Outcome::Refused;
        slot.record.refused_by = by;
        slot.record.errno = Some(errno);
        let record = slot.record;
        self.awaiting -= 1;
        self.ended.push_back(record);
        // As after a loss: a refusal must not turn a closed loop into a flood.
        if is_last && let Some(t_send) = record.t_send {
            self.pacer.settled(t_send + timeout);
        }
    }

    /// Something happened to the clocks: every packet under way is marked.
    pub fn clock_event(&mut self, event: ClockEvent) {
        for slot in self
            .slots
            .iter_mut()
            .filter(|slot| slot.state != State::Released)
        {
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

    /// Send no more. Slots of an open loop that were due by now and not sent are given up.
    pub fn stop(&mut self, now: Nanos) {
        if self.stopped || self.sending_is_over() {
            return;
        }
        self.stopped = true;
        self.skip_until = (!self.pacer.is_closed_loop()).then_some(now);
    }

    /// Do not wait for what is still under way: it ends as skipped, for nobody knows.
    pub fn abandon(&mut self) {
        for slot in &mut self.slots {
            let ended = match slot.state {
                State::Sent => Outcome::Skipped,
                State::TimedOut => Outcome::Lost,
                _ => continue,
            };
            slot.state = State::Released;
            slot.record.outcome = ended;
            self.ended.push_back(slot.record);
        }
        self.awaiting = 0;
    }

    fn skip_slots(&mut self) {
        let Some(until) = self.skip_until else { return };
        for _ in 0..SKIP_BATCH {
            let due = match self.pacer.due() {
                Due::At(due) if due < until && !self.counted_out() => due,
                _ => {
                    self.skip_until = None;
                    return;
                }
            };
            let mut record = self.open_record(due);
            record.seq = self.next_seq + self.skipped;
            record.outcome = Outcome::Skipped;
            self.skipped += 1;
            self.pacer.advance();
            self.ended.push_back(record);
        }
    }

    fn counted_out(&self) -> bool {
        self.config
            .count
            .is_some_and(|count| self.next_seq + self.skipped >= count)
    }

    /// Hands out the records that are whole by `now`. Call it whenever there is time.
    pub fn take_whole(&mut self, now: Nanos, mut take: impl FnMut(&Record)) {
        self.expire(now);
        self.skip_slots();
        for record in self.ended.drain(..) {
            take(&record);
        }
        self.release_settled(now, &mut take);
        self.release_lost(now, &mut take);
        while self
            .slots
            .front()
            .is_some_and(|slot| slot.state == State::Released)
        {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    fn release_settled(&mut self, now: Nanos, take: &mut impl FnMut(&Record)) {
        while let Some(&front) = self.settling.front() {
            let hopeless = self.replies - front.replies_before > GIVE_UP_AFTER_REPLIES;
            let expected = self.config.expected;
            let Some(slot) = self.slot(front.seq) else {
                break;
            };
            if now < front.until || !(hopeless || is_whole(&slot.record, expected)) {
                break;
            }
            slot.state = State::Released;
            take(&slot.record);
            self.settling.pop_front();
        }
    }

    fn release_lost(&mut self, now: Nanos, take: &mut impl FnMut(&Record)) {
        let patience = self.patience();
        while self.linger_cursor < self.timeout_cursor {
            let cursor = self.linger_cursor;
            if let Some(slot) = self.slot(cursor)
                && slot.state == State::TimedOut
            {
                if slot
                    .record
                    .t_send
                    .is_some_and(|t_send| now <= t_send + patience)
                {
                    break;
                }
                slot.state = State::Released;
                slot.record.outcome = Outcome::Lost;
                take(&slot.record);
                self.awaiting -= 1;
            }
            self.linger_cursor += 1;
        }
    }

    /// The trial is over: hands out everything that is left, as it is.
    pub fn close(&mut self, mut take: impl FnMut(&Record)) {
        while self.skip_until.is_some() {
            self.skip_slots();
        }
        self.abandon();
        for record in self.ended.drain(..) {
            take(&record);
        }
        for Settling { seq, .. } in std::mem::take(&mut self.settling) {
            if let Some(slot) = self.slot(seq) {
                take(&slot.record);
            }
        }
        self.slots.clear();
        self.base = self.next_seq;
    }

    /// How many packets were handed to the sender so far.
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
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

    /// Of those, copies of packets of this run, whose record was closed before.
    pub const fn late_duplicates(&self) -> u64 {
        self.late_duplicates
    }

    /// The reflector told at the end how many packets it received in all.
    pub const fn set_final_count(&mut self, received: Option<u64>) {
        self.final_count = received;
    }

    /// Direction of loss, where the reflector counts.
    pub fn loss_direction(&self) -> Option<LossDirection> {
        self.reflector
            .direction(self.next_seq - self.unsent, self.final_count)
    }
}

fn is_whole(record: &Record, expected: Expected) -> bool {
    let departed = !expected.departures || (record.t_tx.is_some() && record.t_sched.is_some());
    let followed = !expected.follow_ups || record.r_tx.is_some() || record.r_rx.is_none();
    departed && followed
}
