//! Handing records out: once they are whole, once they are lost, or at the end as they are.

use super::{Expected, Prober, SeparateStamps, Settling, Slot, State};
use crate::pacing::Due;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{MILLISECOND, Nanos, SECOND};

/// A stamp or follow-up that has not come by so many later replies will not come.
const GIVE_UP_AFTER_REPLIES: u64 = 64;
/// A stamp that none of so many replies had is not delivered here.
const BELIEVE_FOR_REPLIES: u64 = 16;
/// Slots given up in one call when told to stop far behind schedule.
const SKIP_BATCH: usize = 1024;
/// A packet that has waited for this many times the largest round trip does not come back.
const LOST_AFTER_ROUND_TRIPS: Nanos = 10;
/// However short these are: hosts pause.
const LOST_AFTER_AT_LEAST: Nanos = 100 * MILLISECOND;
/// Where no reply has shown how long one takes.
const LOST_WITHOUT_ANY_REPLY: Nanos = SECOND;

impl Prober {
    /// Send no more. Slots of an open loop that were due by now and not sent are given up.
    pub fn stop(&mut self, now: Nanos) {
        if self.stopped || self.sending_is_over() {
            return;
        }
        self.stopped = true;
        self.skip_until = (!self.pacer.is_closed_loop()).then_some(now);
    }

    /// The wait ends before the time-outs of what is under way: packets that have waited much longer than any reply took
    /// are lost. Of the others nothing is known.
    pub fn give_up_overdue(&mut self, now: Nanos) {
        let patience = match self.replies {
            0 => LOST_WITHOUT_ANY_REPLY,
            _ => (self.longest.saturating_mul(LOST_AFTER_ROUND_TRIPS)).max(LOST_AFTER_AT_LEAST),
        };
        let is_overdue = |slot: &&mut Slot| {
            let t_send = slot.record.t_send.filter(|_| slot.state == State::Sent);
            t_send.is_some_and(|t_send| now - t_send >= patience)
        };
        for slot in self.slots.iter_mut().filter(is_overdue) {
            slot.state = State::TimedOut;
        }
    }

    /// Do not wait for what is still under way: it was sent and ends as skipped, because its end is not known.
    fn abandon(&mut self) {
        for slot in &mut self.slots {
            let ended = match slot.state {
                State::Sent => {
                    self.abandoned += 1;
                    Outcome::Skipped
                }
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
                Due::At(due)
                    if due < until && self.is_within_duration(due) && !self.counted_out() =>
                {
                    due
                }
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

    pub(super) fn counted_out(&self) -> bool {
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
            let expected = self.expected();
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
                self.given_up.insert(cursor);
                self.awaiting -= 1;
            }
            self.linger_cursor += 1;
        }
    }

    /// The trial is over: hands out everything that is left, as it is.
    pub fn close(&mut self, mut take: impl FnMut(&Record)) {
        while self.skip_until.is_some() {
            self.skip_slots();
            self.ended.drain(..).for_each(|record| take(&record));
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

    /// What a record waits for: what was asked for; after a few replies, only what has come at all.
    fn expected(&self) -> SeparateStamps {
        let early = self.replies < BELIEVE_FOR_REPLIES;
        let Expected {
            departures,
            follow_ups,
            acks,
        } = self.config.expected;
        SeparateStamps {
            sched: departures && (early || self.seen.sched),
            tx: departures && (early || self.seen.tx),
            follow_up: follow_ups && (early || self.seen.follow_up),
            ack: acks && (early || self.seen.ack),
        }
    }
}

fn is_whole(record: &Record, awaited: SeparateStamps) -> bool {
    (!awaited.sched || record.t_sched.is_some())
        && (!awaited.tx || record.t_tx.is_some())
        && (!awaited.ack || record.t_ack.is_some())
        && (!awaited.follow_up || record.r_tx.is_some() || record.r_rx.is_none())
}
