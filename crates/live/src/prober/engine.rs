//! What a probe does with its socket: it sends when a packet is due, reads what comes and drains stamps in between.
//!
//! It never waits: [`Engine::poll`] does one thing that is due and returns what to wait for. Its driver may have a
//! thread for it (`own_thread.rs`), or poll several in turn. One thread does all of a probe's work, so that it
//! makes no noise of its own.

use super::channel::{Channel, Decoded, FinalReport, FollowUp, QueueEvent, ReflectorTime};
use super::error::{ConnectionEnd, RunError};
use super::open;
use crate::clocks::Clocks;
use crate::connections::is_nothing;
use crate::overflow::Overflow;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::socket_options as options;
use delaylab_model::method::Carrier;
use delaylab_model::probe::WaitMode;
use delaylab_model::record::ClockEvent;
use delaylab_model::stop::Stop;
use delaylab_model::trial::LostInHost;
use delaylab_model::world::Sink;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_traffic::prober::epoch::Moved;
use delaylab_traffic::prober::{Prober, Reply, Step};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// A packet sent later than this is late, and there may be others behind it.
const LATE: Nanos = 20 * MICROSECOND;
/// With less time than this, housekeeping waits.
const ROOM_FOR_HOUSEKEEPING: Nanos = 150 * MICROSECOND;
/// Stamps under way that are read at once by one that sleeps (each packet has two).
const STAMPS_BATCH: u32 = 48;
/// With more, the records kept back are handed on, which wakes whoever writes them.
const ROOM_TO_HAND_ON: Nanos = MILLISECOND / 2;
/// Packets between two rounds of housekeeping when there is no idle time.
const HOUSEKEEPING_EVERY: u32 = 64;
/// Nothing but local errors for so long, and so often, ends the run.
const LOCAL_ERRORS_FOR: Nanos = 5 * SECOND;
const LOCAL_ERRORS_COUNT: u32 = 5;
/// Errors of earlier packets that may come instead of the error queue, one after the other.
const MOST_REPORTS: u32 = 64;
/// After being told to stop, replies are awaited no longer than this.
const PATIENCE_AFTER_STOP: Nanos = SECOND;
/// A silent session is asked to be kept so often in the time after which it would be forgotten: some may be lost.
const KEEP_ALIVES: Nanos = 3;
/// No more often than this, whatever the reflector says.
const LEAST_KEEP_ALIVE: Nanos = 100 * MILLISECOND;
/// The reflector's last words are waited for as long as this number of the longest round trips.
const LAST_WORDS_TAKE: Nanos = 3;
/// After the last packet of a probe, one that has not come back within this number of the longest round trips is as good as lost.
const GOOD_AS_LOST: Nanos = 3;
/// And not before this: a host may be kept from its work for some milliseconds.
const LEAST_PATIENCE: Nanos = 20 * MILLISECOND;

/// How a probe is run.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// How its driver waits: sleep or spin.
    pub wait_mode: WaitMode,
    /// Are kernel stamps asked for?
    pub stamped: bool,
    /// What carries its packets.
    pub carrier: Carrier,
    /// The probe's time-out.
    pub timeout: Nanos,
    /// Where packets go, for errors.
    pub target: SocketAddr,
    /// Ends it early.
    pub stop: Stop,
}

/// What a run tells besides its records.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineReport {
    /// Packets that came and were not replies to the probe.
    pub rejected: u64,
    /// MTU of the path as this host knows it at the end.
    pub path_mtu: Option<u32>,
    /// What both clocks have done since the reflector's was related to ours.
    pub moved: Moved,
    /// What hosts say that they dropped.
    pub dropped: LostInHost,
    /// What the reflector's buffer had no room for, where that may be others'.
    pub dropped_of_several: u64,
    /// For how long nothing had been heard of the reflector, where it did not answer at the end.
    pub silent_for: Option<Nanos>,
    /// Was it asked something then?
    pub was_asked: bool,
    /// How many of the last packets were not answered.
    pub unanswered: u64,
    /// The target said of one of them that nothing listens on its port.
    pub port_closed: bool,
    /// The reflector is there, and does not know the session any more.
    pub forgotten: bool,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// There may be more to do: poll again.
    Again,
    /// Nothing before this, unless the socket is readable.
    Wait(Wait),
    /// The probe is over: [`Engine::end`] is what is left.
    Done,
}

/// What a probe waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// When the next packet is due; `None`: not before a reply, or none is left.
    pub due: Option<Nanos>,
    /// When a reply that is awaited is given up, or is no longer waited for.
    pub deadline: Option<Nanos>,
}

impl Wait {
    /// Whichever comes first.
    pub fn end(self) -> Option<Nanos> {
        [self.due, self.deadline].into_iter().flatten().min()
    }
}

/// A channel, its state machine and where the records go.
pub struct Engine<'a, C> {
    channel: &'a mut C,
    prober: &'a mut Prober,
    clocks: &'a mut Clocks,
    sink: &'a mut dyn Sink,
    config: EngineConfig,
    pending_stamps: u32,
    since_housekeeping: u32,
    rejected: u64,
    sink_error: Option<io::Error>,
    stopped_at: Option<Nanos>,
    local_errors: LocalErrors,
    learnt_mtu: Option<u32>,
    reflector_time: ReflectorTime,
    overflow: Option<Overflow>,
    /// After so long without a packet the reflector is asked to keep the session.
    keep_alive_every: Option<Nanos>,
    /// When something was sent last, and when something came.
    last_sent: Nanos,
    last_heard: Nanos,
    /// When it was first seen that nothing is sent any more.
    sent_all_at: Option<Nanos>,
    /// The sink knows that it only waits.
    only_waits: bool,
    /// How many packets were sent up to the last that was answered, and up to the last of which the target says that nothing
    /// listens on its port.
    heard: u64,
    refused: u64,
}

/// Send calls that failed one after the other.
#[derive(Default)]
struct LocalErrors {
    count: u32,
    since: Nanos,
    any_sent: bool,
}

/// A send call.
struct Sent {
    t_send: Nanos,
    /// Reading the clock took long.
    is_slow: bool,
    result: io::Result<()>,
}

impl<'a, C: Channel> Engine<'a, C> {
    /// Ready to run.
    pub fn new(
        channel: &'a mut C,
        prober: &'a mut Prober,
        clocks: &'a mut Clocks,
        sink: &'a mut dyn Sink,
        config: EngineConfig,
    ) -> Self {
        let v6 = config.target.is_ipv6();
        let now = clock::monotonic();
        let max_idle = channel.kept().max_idle;
        Self {
            keep_alive_every: max_idle.map(|idle| (idle / KEEP_ALIVES).max(LEAST_KEEP_ALIVE)),
            last_sent: now,
            last_heard: now,
            sent_all_at: None,
            only_waits: false,
            heard: 0,
            refused: 0,
            overflow: Overflow::of_probe(&channel.socket(), v6, config.carrier),
            reflector_time: channel.reflector_time(),
            channel,
            prober,
            clocks,
            sink,
            config,
            pending_stamps: 0,
            since_housekeeping: 0,
            rejected: 0,
            sink_error: None,
            stopped_at: None,
            local_errors: LocalErrors::default(),
            learnt_mtu: None,
        }
    }

    /// How it is run.
    pub const fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// To wait on.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.channel.socket()
    }

    /// Is a packet sent only when the one before was answered or given up?
    pub const fn is_closed_loop(&self) -> bool {
        self.prober.is_closed_loop()
    }

    /// Is any reply still to come?
    pub fn is_awaiting(&self) -> bool {
        self.prober.awaiting() > 0
    }

    /// Is there anything to read, or may there be at any time?
    #[inline]
    pub fn is_listening(&self) -> bool {
        self.is_awaiting() || self.channel.speaks_unasked()
    }

    /// Was it told to stop?
    pub const fn is_stopping(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// The probe is over, by itself or by an error: asks for what is outstanding and hands out the last records.
    /// The first part of the result is there also where an error ended the probe.
    pub fn end(mut self, outcome: Result<(), RunError>) -> (EngineReport, Result<(), RunError>) {
        self.say_only_waits();
        let told = self.finish();
        let silent_for = clock::monotonic() - self.last_heard;
        let ran = EngineReport {
            silent_for: (told.answered != Some(true)).then_some(silent_for),
            was_asked: told.answered.is_some(),
            unanswered: self.prober.next_seq() - self.heard,
            port_closed: self.refused > self.heard,
            forgotten: told.forgotten,
            rejected: self.rejected,
            path_mtu: self.path_mtu(),
            moved: self.moved(&told),
            dropped: self.dropped(&told),
            dropped_of_several: match told.of_several {
                true => told.overflowed.into(),
                false => 0,
            },
        };
        self.prober.set_dropped(ran.dropped, ran.dropped_of_several);
        let sunk = self
            .sink_error
            .map_or(Ok(()), |error| Err(RunError::Sink(error)));
        (ran, outcome.and(sunk))
    }

    fn moved(&self, told: &FinalReport) -> Moved {
        let ReflectorTime::Agreed(epoch) = self.reflector_time else {
            return Moved::default();
        };
        let moved = epoch.moved(
            self.clocks.offset(),
            self.clocks.steps(),
            told.clock_steps.unwrap_or(epoch.steps),
            told.realtime_offset,
        );
        Moved {
            suspended: self.clocks.suspended(),
            ..moved
        }
    }

    fn dropped(&mut self, told: &FinalReport) -> LostInHost {
        let socket = self.channel.socket();
        let own = self.overflow.as_mut().map(|own| own.count(&socket));
        LostInHost {
            reflector_buffer: match told.of_several {
                true => 0,
                false => told.overflowed.into(),
            },
            reflector_limit: told.refused.into(),
            own_buffer: own.unwrap_or(0).into(),
        }
    }

    /// A stamp of the reflector, taken between these two times, on the record's clock; `None` where a stamp from outside is
    /// beyond it.
    #[inline]
    fn reflector_stamp(&self, stamp: Nanos, not_before: Nanos, not_after: Nanos) -> Option<Nanos> {
        match self.reflector_time {
            ReflectorTime::AsItCame => Some(stamp),
            ReflectorTime::Agreed(epoch) => stamp.checked_add(epoch.shift()?),
            ReflectorTime::OurRealTime => {
                Some(self.clocks.real_to_monotonic(stamp, not_before, not_after))
            }
        }
    }

    /// It was read at this time.
    fn take_follow_up(&mut self, follow_up: FollowUp, at: Nanos) {
        let FollowUp { seq, r_tx } = follow_up;
        let t_send = self.prober.t_send(seq).unwrap_or(0);
        if let Some(r_tx) = self.reflector_stamp(r_tx, t_send, at) {
            self.prober.follow_up(seq, r_tx);
        }
    }

    /// Does one thing that is to be done, and says what is next.
    ///
    /// # Errors
    /// Why the probe ends before its time.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Result<Polled, RunError> {
        if self.told_to_stop(now) || self.sink_error.is_some() {
            return Ok(Polled::Done);
        }
        match self.prober.next(now) {
            Step::Done => Ok(Polled::Done),
            Step::Send { seq, t_intended } => {
                // Far behind there may be no pause in which to read what has come.
                if now - t_intended > LATE && self.is_awaiting() {
                    self.receive(Blocking::No)?;
                }
                self.send(seq, t_intended)?;
                Ok(Polled::Again)
            }
            Step::Wait { due, deadline } => {
                let others = self.keep_alive(now).into_iter().chain(self.patience(now));
                let deadline = deadline.into_iter().chain(others).min();
                let wait = Wait { due, deadline };
                self.tidy(now, wait)?;
                Ok(Polled::Wait(wait))
            }
        }
    }

    /// Asks the reflector to keep the session, where nothing has been sent for a while. When to look again.
    fn keep_alive(&mut self, now: Nanos) -> Option<Nanos> {
        let every = self.keep_alive_every?;
        if now - self.last_sent >= every {
            self.last_sent = now;
            // One that fails or is lost is followed by another.
            let _ = self.channel.keep_alive();
        }
        Some(self.last_sent + every)
    }

    /// Until when what is under way may well come, once nothing is sent any more; then the sink knows. What is lost of a
    /// connection is sent again, and of a path that has not answered nothing is known: there the time-out alone says so.
    #[inline]
    fn patience(&mut self, now: Nanos) -> Option<Nanos> {
        if self.only_waits || !self.prober.sending_is_over() {
            return None;
        }
        let sent_all_at = *self.sent_all_at.get_or_insert(now);
        let longest = self.prober.longest_round_trip();
        if self.config.carrier == Carrier::Tcp || longest == 0 {
            return None;
        }
        let until = sent_all_at + (GOOD_AS_LOST * longest).max(LEAST_PATIENCE);
        if now < until {
            return Some(until);
        }
        self.say_only_waits();
        None
    }

    fn say_only_waits(&mut self) {
        if !std::mem::replace(&mut self.only_waits, true) {
            self.sink.only_waits();
        }
    }

    /// The first request stops sending; the second, or a second's patience, ends the wait for
    /// replies too.
    fn told_to_stop(&mut self, now: Nanos) -> bool {
        match (self.config.stop.times_asked(), self.stopped_at) {
            (0, _) => false,
            (_, None) => {
                self.prober.stop(now);
                self.stopped_at = Some(now);
                false
            }
            (asked, Some(at)) => asked > 1 || now >= at + PATIENCE_AFTER_STOP,
        }
    }

    #[inline]
    fn send(&mut self, seq: u64, t_intended: Nanos) -> Result<(), RunError> {
        self.channel.prepare(seq);
        let mut sent = self.transmit();
        if sent.result.as_ref().is_err_and(is_pending) {
            // The call reported an earlier packet's refusal and sent nothing: say whose, try again.
            self.drain_queue()?;
            let was_slow = sent.is_slow;
            sent = self.transmit();
            sent.is_slow |= was_slow;
        }
        self.last_sent = sent.t_send;
        match sent.result {
            Ok(()) => {
                self.local_errors = LocalErrors {
                    any_sent: true,
                    ..LocalErrors::default()
                };
                self.prober
                    .sent(t_intended, sent.t_send, clock::current_cpu());
            }
            Err(error) => self.send_failed(t_intended, sent.t_send, &error)?,
        }
        // There is a record to be marked only now.
        self.note(sent.is_slow, seq);
        self.pending_stamps += 2;
        self.since_housekeeping += 1;
        if self.since_housekeeping >= HOUSEKEEPING_EVERY {
            self.housekeeping(clock::monotonic())?;
        } else if self.channel.wants_queue_read() {
            self.drain_queue()?;
        }
        Ok(())
    }

    #[inline]
    fn transmit(&mut self) -> Sent {
        let (t_send, is_slow) = self.read_clock(clock::monotonic());
        Sent {
            t_send,
            is_slow,
            result: self.channel.transmit(),
        }
    }

    /// Reads the clock, `before` being its last reading, and says whether that took long. Whatever is under way is marked where
    /// the clocks have moved.
    #[inline]
    fn read_clock(&mut self, before: Nanos) -> (Nanos, bool) {
        let (now, event) = self.clocks.now_bracketed(before);
        if matches!(event, ClockEvent::Step | ClockEvent::Suspend) {
            self.prober.clock_event(event);
        }
        (now, event == ClockEvent::SlowClockRead)
    }

    fn note(&mut self, is_slow: bool, seq: u64) {
        if is_slow {
            self.prober.slow_clock_read(seq);
        }
    }

    fn send_failed(
        &mut self,
        t_intended: Nanos,
        now: Nanos,
        error: &io::Error,
    ) -> Result<(), RunError> {
        let errors = &mut self.local_errors;
        if errors.count == 0 {
            errors.since = now;
        }
        errors.count += 1;
        let hopeless = errors.count >= LOCAL_ERRORS_COUNT && now - errors.since > LOCAL_ERRORS_FOR;
        if let Some(why) = ConnectionEnd::found_in(error) {
            return Err(self.ended(why));
        }
        if !errors.any_sent || hopeless {
            let source = io::Error::from(error.kind());
            let source = error
                .raw_os_error()
                .map_or(source, io::Error::from_raw_os_error);
            return Err(RunError::Send {
                target: self.config.target,
                interface: None,
                source,
            });
        }
        self.drain_queue()?;
        let path_mtu = open::is_too_long(error).then(|| self.path_mtu()).flatten();
        self.prober
            .send_failed(t_intended, now, error.raw_os_error(), path_mtu);
        Ok(())
    }

    fn ended(&self, why: &ConnectionEnd) -> RunError {
        RunError::Ended {
            target: self.config.target,
            why: why.clone(),
        }
    }

    /// As this host knows it now: of a route that an error has just changed the socket may not say it.
    fn path_mtu(&self) -> Option<u32> {
        let v6 = self.config.target.is_ipv6();
        let known = options::path_mtu(&self.channel.socket(), v6).ok();
        known.into_iter().chain(self.learnt_mtu).min()
    }

    /// Does what there is time for before the wait ends.
    fn tidy(&mut self, now: Nanos, wait: Wait) -> Result<(), RunError> {
        let slack = wait.end().map_or(SECOND, |end| end - now);
        let idle = wait.due.is_some() || !self.is_awaiting();
        // A deadline in the past is a lost packet's or a skipped slot's, which housekeeping lets go.
        let overdue = wait.deadline.is_some_and(|deadline| deadline <= now);
        if overdue || (idle && slack > ROOM_FOR_HOUSEKEEPING) {
            self.housekeeping(now)?;
            if slack > ROOM_TO_HAND_ON {
                self.hand_on();
            }
        } else if self.pending_stamps >= self.stamps_batch() {
            self.drain_queue()?;
        }
        Ok(())
    }

    /// So many stamps under way are read at once. A spinner has nothing else to do while a packet is
    /// under way; one that sleeps would be late to do so.
    fn stamps_batch(&self) -> u32 {
        match (self.config.stamped, self.config.wait_mode) {
            (true, WaitMode::Spin) => 1,
            _ => STAMPS_BATCH,
        }
    }

    /// Makes one receive call and takes all that it brought. Returns the time that was read behind the call, or `None` where
    /// there was nothing.
    ///
    /// # Errors
    /// The call failed for good, or the connection ended.
    #[inline]
    pub fn receive(&mut self, blocking: Blocking) -> Result<Option<Nanos>, RunError> {
        match self.channel.receive(blocking) {
            Ok(()) => {}
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) if is_pending(&error) => {
                self.drain_queue()?;
                return Ok(Some(clock::monotonic()));
            }
            Err(error) => {
                return Err(match ConnectionEnd::found_in(&error) {
                    Some(why) => self.ended(why),
                    None => RunError::Receive(error),
                });
            }
        }
        let t_recv = clock::monotonic();
        // Before any reply is taken: all that was under way until now is marked where the clocks have moved.
        let (now, is_slow) = self.read_clock(t_recv);
        let last = self.prober.next_seq().saturating_sub(1);
        while let Some(decoded) = self.channel.decode(last) {
            match decoded {
                Decoded::Told(follow_ups) => {
                    self.last_heard = t_recv;
                    self.heard = self.prober.next_seq();
                    for follow_up in follow_ups {
                        self.take_follow_up(follow_up, t_recv);
                    }
                }
                Decoded::Reply(reply, follow_up) => {
                    self.last_heard = t_recv;
                    let seq = reply.seq;
                    self.heard = self.heard.max(seq + 1);
                    self.take_reply(reply, t_recv);
                    self.note(is_slow, seq);
                    if let Some(follow_up) = follow_up {
                        self.take_follow_up(follow_up, t_recv);
                    }
                }
                Decoded::Rejected => self.rejected += 1,
                Decoded::Ignored => {}
            }
        }
        Ok(Some(now))
    }

    #[inline]
    fn take_reply(&mut self, mut reply: Reply, t_recv: Nanos) {
        let t_send = self.prober.t_send(reply.seq).unwrap_or(0);
        reply.t_recv = t_recv;
        reply.t_rx = reply
            .t_rx
            .map(|real| self.clocks.to_monotonic(real, t_send, t_recv));
        if let Some(server) = &mut reply.server {
            server.t_first = server
                .t_first
                .map(|real| self.clocks.to_monotonic(real, t_send, t_recv));
        }
        let there = |stamp: Nanos| self.reflector_stamp(stamp, t_send, t_recv);
        reply.r_rx = reply.r_rx.and_then(there);
        reply.r_user = reply.r_user.and_then(there);
        reply.r_tx = reply.r_tx.and_then(there);
        self.prober.reply(&reply);
    }

    /// Reads all stamps and refusals that have come. Left in the queue, they make the socket readable.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn drain_queue(&mut self) -> Result<(), RunError> {
        let expected = std::mem::take(&mut self.pending_stamps) as usize;
        let now = clock::monotonic();
        let last = self.prober.next_seq().saturating_sub(1);
        let (prober, clocks) = (&mut *self.prober, &*self.clocks);
        let (learnt_mtu, last_refused) = (&mut self.learnt_mtu, &mut self.refused);
        let target = self.config.target.ip();
        let mut take = |event: QueueEvent| match event {
            QueueEvent::Stamp { seq, point, at } => {
                let Some(t_send) = prober.t_send(seq) else {
                    return;
                };
                let hardware = point == delaylab_model::trial::StampPoint::TTxHw;
                let at = if hardware {
                    at
                } else {
                    clocks.to_monotonic(at, t_send, now)
                };
                prober.stamped(seq, point, at);
            }
            QueueEvent::Refused { seq, refused } => {
                if refused.is_of_closed_port(target) {
                    *last_refused = (*last_refused).max(seq + 1);
                }
                prober.refused(seq, &refused);
            }
            QueueEvent::PathMtu(mtu) => *learnt_mtu = Some(mtu),
        };
        let mut reports = 0;
        loop {
            match self.channel.read_queue(last, expected, &mut take) {
                Ok(true) => {}
                Ok(false) => break,
                // Before the change "socket: skip checking sk_err for recvmmsg(MSG_ERRQUEUE)" the call says first, and
                // once, that an earlier packet was refused.
                Err(error) if is_pending(&error) && reports < MOST_REPORTS => reports += 1,
                Err(error) => return Err(RunError::Receive(error)),
            }
        }
        let over = self.prober.over_before();
        self.channel.queue_is_read(over).map_err(RunError::Receive)
    }

    fn hand_on(&mut self) {
        keep_first(&mut self.sink_error, || self.sink.pause());
    }

    /// What can wait until there is time: stamps, suspends, whole records.
    fn housekeeping(&mut self, now: Nanos) -> Result<(), RunError> {
        self.since_housekeeping = 0;
        if self.pending_stamps > 0 {
            self.drain_queue()?;
        }
        // A packet whose reply never comes is marked as well.
        self.read_clock(clock::monotonic());
        let (sink, error) = (&mut *self.sink, &mut self.sink_error);
        self.prober
            .take_whole(now, |record| keep_first(error, || sink.record(record)));
        Ok(())
    }

    /// How long the reflector's last words are waited for.
    fn last_words_take(&self) -> Nanos {
        let longest = self.prober.longest_round_trip();
        let patience = (LAST_WORDS_TAKE * longest).min(self.config.timeout);
        match self.is_stopping() {
            true => patience.min(PATIENCE_AFTER_STOP),
            false => patience,
        }
    }

    /// Asks for the last stamps and hands out what is left. Nothing that was recorded is lost,
    /// whatever ended the run.
    fn finish(&mut self) -> FinalReport {
        let _ = self.drain_queue();
        if self.is_stopping() {
            self.prober.give_up_overdue(clock::monotonic());
        }
        let last = self.prober.next_seq().saturating_sub(1);
        let patience = self.last_words_take();
        let mut told = self.channel.finish(last, patience);
        let (now, _) = self.read_clock(clock::monotonic());
        for follow_up in std::mem::take(&mut told.follow_ups) {
            self.take_follow_up(follow_up, now);
        }
        if told.counts {
            self.prober.reflector_counts();
        }
        self.prober.set_final_count(told.received);
        let (sink, error) = (&mut *self.sink, &mut self.sink_error);
        self.prober
            .close(|record| keep_first(error, || sink.record(record)));
        told
    }
}

/// Writes only as long as nothing has failed, and keeps what failed first.
fn keep_first(failed: &mut Option<io::Error>, write: impl FnOnce() -> io::Result<()>) {
    if failed.is_none() {
        *failed = write().err();
    }
}

/// An earlier packet was refused, or did not fit the path, and the kernel says so by this call; the
/// error queue says whose.
fn is_pending(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let refused = matches!(
        error.kind(),
        Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable
    );
    refused
        || error
            .raw_os_error()
            .is_some_and(|errno| PENDING.contains(&errno))
}

/// errno values of Linux that ICMP errors map to (icmp(7)) and that `ErrorKind` has no name for:
/// access denied, no such network, protocol error, message too long, no such protocol, not
/// supported, host down.
const PENDING: [i32; 7] = [13, 64, 71, 90, 92, 95, 112];
