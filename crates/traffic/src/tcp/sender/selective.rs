//! The sender with selective acknowledgements (RFC 6675): what an ACK says of each segment, when a loss
//! is taken up, what leaves next.

use super::Sender;
use super::acks::Opening;
use crate::tcp::congestion::Delivery;
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::rack::{Arrived, Rack};
use crate::tcp::rate::{DeliveryRate, RateSample};
use crate::tcp::scoreboard::{Fate, Scoreboard, Sent, THRESHOLD};
use crate::tcp::settings::Settings;
use crate::tcp::tail_loss::{TailLoss, Verdict};
use crate::tcp::{Ack, Segment};
use delaylab_model::Picos;
use std::cell::Cell;

/// What the sender is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery.
    Recovery,
    /// A time-out is made good.
    Loss,
}

/// What is known of segments, and of the loss that is being repaired.
#[derive(Debug, Clone)]
pub(super) struct Selective {
    board: Scoreboard,
    rack: Option<Rack>,
    tail: Option<TailLoss>,
    /// Of this recovery.
    prr: Option<Prr>,
    phase: Phase,
    /// Where the stream ended when the loss was taken up (RFC 6582).
    recover: u64,
    /// ACKs in a row that acknowledge nothing new.
    duplicates: usize,
    /// A retransmission leaves whatever the window says.
    forced: bool,
    /// The least round-trip time.
    least: Option<Picos>,
    rates: DeliveryRate,
}

/// What an ACK has told.
#[derive(Debug, Clone, Copy)]
struct AckSummary {
    /// Bytes that are newly known to have arrived.
    delivered: u64,
    /// Of those, that are acknowledged.
    acked: u64,
    rtt: Option<Picos>,
    rate: Option<RateSample>,
    /// Bytes that were in the network before.
    pipe: u64,
    /// The window was used up before.
    used: bool,
    ece: bool,
}

impl Selective {
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        settings.sack.then(|| {
            Box::new(Self {
                board: Scoreboard::default(),
                rack: settings.rack_tlp.then(Rack::new),
                tail: settings.rack_tlp.then(TailLoss::default),
                prr: None,
                phase: Phase::Open,
                recover: 0,
                duplicates: 0,
                forced: false,
                least: None,
                rates: DeliveryRate::default(),
            })
        })
    }

    pub(super) const fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// When RACK or the tail loss probe wants to be called.
    pub(super) fn next_timeout(&self) -> Option<Picos> {
        let rack = self.rack.as_ref().and_then(Rack::deadline);
        let tail = self.tail.as_ref().and_then(TailLoss::deadline);
        rack.into_iter().chain(tail).min()
    }

    /// A measurement of the round-trip time.
    pub(super) fn note_round_trip(&mut self, rtt: Picos) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// Takes in what has arrived: bytes, and a sample of the round-trip time.
    fn take_in(&mut self, now: Picos, ack: &Ack, stamped: bool) -> (u64, Option<Picos>) {
        let Self {
            board, rack, rates, ..
        } = self;
        let least = self.least.unwrap_or(0);
        // What a SACK says is told with the timestamp of what came in order before.
        let echo = Cell::new(if stamped { ack.echo } else { Picos::MAX });
        let (mut delivered, mut rtt, mut highest) = (0, None, 0);
        let mut newly = |sent: &Sent| {
            delivered += sent.len();
            highest = highest.max(sent.end);
            rates.on_delivered(now, sent.len(), sent.stamp, sent.at);
            if !sent.again {
                rtt = Some(now.saturating_sub(sent.at));
            }
            if let Some(rack) = rack {
                let arrived = Arrived {
                    at: sent.at,
                    end: sent.end,
                    again: sent.again,
                };
                rack.on_arrived(arrived, now, least, echo.get());
            }
        };
        board.acknowledge(ack.next, &mut newly);
        echo.set(Picos::MAX);
        for piece in ack.sack.pieces(ack.next) {
            board.arrive(piece, &mut newly);
        }
        if let Some(rack) = rack {
            rack.all_arrived(highest);
        }
        if let Some(rtt) = rtt {
            self.note_round_trip(rtt);
        }
        (delivered, rtt)
    }

    /// Marks what is lost by now.
    fn find_losses(&mut self, now: Picos, una: u64, mss: u64, smoothed: Option<Picos>) {
        let least = self.least.unwrap_or(0);
        if let Some(rack) = &mut self.rack {
            let times = [least, smoothed.unwrap_or(least)];
            let repairing = self.phase != Phase::Open;
            return rack.detect(&mut self.board, now, repairing, times);
        }
        self.board.judge(mss);
        // RFC 6675 §5: three duplicates, also of segments so small that they prove nothing.
        if self.duplicates >= THRESHOLD && self.phase == Phase::Open && !self.board.has_lost() {
            self.board.lose(una);
        }
    }
}

/// ACKs.
impl Sender {
    pub(super) fn on_selective_ack(&mut self, now: Picos, ack: &Ack) {
        if let Some(mut selective) = self.selective.take() {
            self.heard(&mut selective, now, ack);
            self.selective = Some(selective);
        }
    }

    fn heard(&mut self, selective: &mut Selective, now: Picos, ack: &Ack) {
        let acked = ack.next - self.una;
        let used = self.una < self.used_until || !self.settings.validation;
        let pipe = selective.board.pipe();
        let lost = selective.board.ever_lost();
        if acked > 0 {
            self.sample(now, ack);
        }
        let (delivered, rtt) = selective.take_in(now, ack, self.settings.timestamps);
        self.una = ack.next;
        self.count_marks(now, acked, ack);
        selective.duplicates = match (acked, delivered) {
            (1.., _) => 0,
            (0, 1..) => selective.duplicates + 1,
            (0, 0) => selective.duplicates,
        };
        if ack.sack.is_duplicate()
            && let Some(rack) = &mut selective.rack
        {
            rack.on_duplicate(self.una, self.max);
        }
        let told = AckSummary {
            delivered,
            acked,
            rtt,
            rate: selective.rates.sample(selective.least),
            pipe,
            used,
            ece: ack.ece,
        };
        selective.find_losses(now, self.una, self.window.mss, self.timer.smoothed());
        let is_safe = acked > 0 && selective.board.ever_lost() == lost;
        let is_plain = acked == 0 && delivered == 0 && ack.sack.bytes() == 0;
        if selective.phase != Phase::Open {
            let lost = selective.board.ever_lost() - lost;
            self.algorithm.lose_more(&mut self.window, lost);
        }
        self.judge_probe(selective, ack, is_plain);
        self.react(selective, now, &told, is_safe);
        self.start_timers(selective, now, acked > 0);
    }

    /// What the ACK does to the window.
    fn react(&mut self, selective: &mut Selective, now: Picos, told: &AckSummary, is_safe: bool) {
        let over = self.una >= selective.recover;
        if over
            && selective.phase != Phase::Open
            && let Some(rack) = &mut selective.rack
        {
            rack.on_recovered();
        }
        match selective.phase {
            Phase::Recovery if over => {
                self.window.cwnd = self.algorithm.after_recovery(&self.window);
                selective.phase = Phase::Open;
            }
            Phase::Loss if over => {
                selective.phase = Phase::Open;
                self.advance(now, told, 2);
            }
            Phase::Open if !selective.board.has_lost() => self.advance(now, told, 2),
            // RFC 3465 §2.3: what was out may have come long ago and is acknowledged at one stroke.
            Phase::Loss => self.advance(now, told, 1),
            Phase::Open | Phase::Recovery => {}
        }
        if selective.phase == Phase::Open && selective.board.has_lost() {
            self.take_up_loss(selective, told.delivered);
        }
        if selective.phase == Phase::Recovery
            && let Some(prr) = &mut selective.prr
        {
            let progress = Progress {
                delivered: told.delivered,
                is_safe,
                pipe: selective.board.pipe(),
            };
            let cwnd = prr.on_ack(progress, self.window.ssthresh, self.window.mss);
            self.window.cwnd = cwnd.map_or(self.window.cwnd, |cwnd| cwnd.max(self.window.mss));
        }
        self.algorithm.on_delivery(
            &mut self.window,
            &Delivery {
                now,
                delivered: told.delivered,
                total: selective.rates.delivered(),
                rate: told.rate,
                rtt: told.rtt,
                smoothed: self.timer.smoothed(),
                pipe_before: told.pipe,
                pipe: selective.board.pipe(),
                repairing: selective.phase != Phase::Open,
            },
        );
        // Draft-cardwell-00 §4.3.5: what is sent so says as little of the path as what an application limits.
        if self.algorithm.is_probing_rtt() {
            selective.rates.on_app_limited(selective.board.pipe());
        }
    }

    fn advance(&mut self, now: Picos, told: &AckSummary, limit: u64) {
        if told.acked > 0 {
            let opening = Opening {
                acked: told.acked,
                limit,
                used: told.used,
                ece: told.ece,
                rtt: told.rtt,
            };
            self.open(now, &opening);
        }
    }

    /// RFC 6675 §5, step 4. A loss of what was sent before the last recovery began belongs to that.
    fn take_up_loss(&mut self, selective: &mut Selective, delivered: u64) {
        let flight = (self.nxt - self.una).min(self.window.cwnd);
        self.cut_once(flight);
        let pipe = selective.board.pipe() + delivered;
        let total = selective.rates.delivered();
        self.algorithm.enter_recovery(&mut self.window, pipe, total);
        let before = self.nxt - self.una - selective.board.arrived_bytes() + delivered;
        selective.prr = self.uses_prr().then(|| Prr::new(before));
        selective.phase = Phase::Recovery;
        selective.recover = self.max;
        selective.forced = true;
        if let Some(tail) = &mut selective.tail {
            tail.forget();
        }
        self.timed = None;
        // It starts anew with the retransmission.
        self.deadline = None;
    }

    fn uses_prr(&self) -> bool {
        self.settings.prr && !self.algorithm.is_model()
    }

    /// Did the tail loss probe repair something? Then it was a loss (RFC 8985 §7.4).
    fn judge_probe(&mut self, selective: &mut Selective, ack: &Ack, is_plain: bool) {
        let Some(tail) = &mut selective.tail else {
            return;
        };
        if tail.on_ack(ack, is_plain) == Verdict::Repaired && selective.phase == Phase::Open {
            // All the rest has arrived: what was out with the lost segment is not known any more, and Linux takes the window.
            self.cut(self.window.cwnd);
            self.window.cwnd = self.algorithm.after_recovery(&self.window);
        }
    }

    fn start_timers(&mut self, selective: &mut Selective, now: Picos, advanced: bool) {
        if self.una == self.max {
            self.deadline = None;
            if let Some(tail) = &mut selective.tail {
                tail.cancel();
            }
            return;
        }
        if advanced && !selective.forced {
            self.deadline = Some(self.timer.expiry(now));
        }
        if advanced {
            self.schedule_probe(selective, now);
        }
    }

    /// RFC 8985 §7.2: not while something is known to be missing.
    fn schedule_probe(&self, selective: &mut Selective, now: Picos) {
        let Some(tail) = &mut selective.tail else {
            return;
        };
        if selective.phase == Phase::Open && selective.board.arrived_bytes() == 0 {
            let segments = selective.board.len();
            tail.schedule(now, self.timer.smoothed(), segments, self.deadline);
        } else {
            tail.cancel();
        }
    }
}

/// Timers.
impl Sender {
    /// RACK's and the probe's.
    pub(super) fn on_selective_timeout(&mut self, now: Picos) {
        let Some(mut selective) = self.selective.take() else {
            return;
        };
        let due = |deadline: Option<Picos>| deadline.is_some_and(|at| at <= now);
        if due(selective.rack.as_ref().and_then(Rack::deadline)) {
            selective.find_losses(now, self.una, self.window.mss, self.timer.smoothed());
            if selective.phase == Phase::Open && selective.board.has_lost() {
                self.take_up_loss(&mut selective, 0);
                if selective.prr.is_some() {
                    self.window.cwnd = selective.board.pipe() + self.window.mss;
                }
            }
        }
        if let Some(tail) = &mut selective.tail
            && due(tail.deadline())
        {
            tail.fire();
            // §7.3: the time-out is counted from the probe on.
            self.deadline = Some(self.timer.expiry(now));
        }
        self.selective = Some(selective);
    }

    /// Is a loss being repaired?
    pub(super) fn is_repairing_selectively(&self) -> bool {
        let selective = self.selective.as_ref();
        selective.is_some_and(|selective| selective.phase != Phase::Open)
    }

    /// Did a retransmission of this recovery not arrive? RFC 6675 leaves that to the time-out; RACK finds it, and sends
    /// it a third time.
    pub(super) fn has_lost_a_retransmission(&self) -> bool {
        let selective = self.selective.as_ref();
        let selective = selective.filter(|it| it.phase == Phase::Recovery && it.rack.is_none());
        let first = selective.and_then(|selective| selective.board.first());
        first.is_some_and(|first| first.again)
    }

    /// All that is out is lost, or with RACK what was sent long ago (RFC 8985 §6.3), and the first.
    pub(super) fn lose_all(&mut self, now: Picos) {
        let (una, max) = (self.una, self.max);
        let Some(selective) = self.selective.as_deref_mut() else {
            return;
        };
        let Selective {
            board, rack, least, ..
        } = selective;
        let least = least.unwrap_or(0);
        let rack = rack.as_ref();
        let overdue = |sent: &Sent| rack.is_none_or(|rack| rack.is_overdue(sent.at, now, least));
        board.lose_if(overdue);
        board.lose(una);
        selective.phase = Phase::Loss;
        selective.recover = max;
        selective.duplicates = 0;
        selective.forced = true;
        selective.prr = None;
        if let Some(tail) = &mut selective.tail {
            tail.forget();
        }
    }
}

/// What leaves.
impl Sender {
    pub(super) fn poll_selective(&mut self, now: Picos) -> Option<Segment> {
        let mut selective = self.selective.take()?;
        let segment = self.next_segment(&mut selective, now);
        self.selective = Some(selective);
        segment
    }

    fn next_segment(&mut self, selective: &mut Selective, now: Picos) -> Option<Segment> {
        if selective.tail.as_mut().is_some_and(TailLoss::take_due) {
            return self.probe(selective, now);
        }
        let room = self.window.cwnd.saturating_sub(selective.board.pipe());
        if let Some(lost) = selective.board.first_lost() {
            if !selective.forced && lost.len() > room {
                self.used_until = self.max;
                return None;
            }
            if self.pacer.holds(now) {
                return None;
            }
            selective.forced = false;
            return Some(self.send_again(selective, now, &lost));
        }
        selective.forced = false;
        self.written = self.settings.application.written(self.written, self.una);
        self.restart_after_idle(now);
        let room = self.window.cwnd.saturating_sub(selective.board.pipe());
        let usable = room.min(self.own_limit().saturating_sub(self.nxt - self.una));
        let len = self.sendable(usable);
        if len > 0 {
            let may = !self.pacer.holds(now);
            return may.then(|| self.send_new(selective, now, len));
        }
        self.note_use(room);
        // Draft-cheng-iccrg-delivery-rate-estimation §3.4: not where the window lets no whole segment go.
        if self.nxt == self.written && room >= self.window.mss {
            selective.rates.on_app_limited(selective.board.pipe());
        }
        // NextSeg rule 3.
        let doubtful = selective.phase == Phase::Recovery && selective.rack.is_none();
        let doubtful = doubtful.then(|| selective.board.first_doubtful()).flatten();
        let doubtful = doubtful.filter(|sent| sent.len() <= room && self.nxt == self.written)?;
        Some(self.send_again(selective, now, &doubtful))
    }

    fn send_new(&mut self, selective: &mut Selective, now: Picos, len: u64) -> Segment {
        let segment = self.emit(now, self.nxt, len);
        self.nxt = segment.end();
        let nothing_out = selective.board.len() == 0;
        selective.board.push(Sent {
            start: segment.offset,
            end: segment.end(),
            at: now,
            fate: Fate::Out,
            again: false,
            twice: false,
            stamp: selective.rates.on_sent(now, nothing_out),
        });
        self.note_sent(selective, now, &segment);
        self.schedule_probe(selective, now);
        segment
    }

    fn send_again(&mut self, selective: &mut Selective, now: Picos, sent: &Sent) -> Segment {
        let segment = self.emit(now, sent.start, sent.len());
        self.timed = None;
        let stamp = selective.rates.on_sent(now, false);
        selective.board.resend(sent.start, now, stamp);
        self.note_sent(selective, now, &segment);
        segment
    }

    fn note_sent(&mut self, selective: &mut Selective, now: Picos, segment: &Segment) {
        if let Some(rack) = &mut selective.rack {
            rack.on_sent(now, segment.offset);
        }
        if let Some(prr) = &mut selective.prr {
            prr.on_sent(u64::from(segment.len));
        }
    }

    /// RFC 8985 §7.3: new data if there is any and the receiver has room, else the last segment again.
    fn probe(&mut self, selective: &mut Selective, now: Picos) -> Option<Segment> {
        self.written = self.settings.application.written(self.written, self.una);
        let room = self.own_limit().saturating_sub(self.nxt - self.una);
        let len = self.window.mss.min(self.written - self.nxt);
        let segment = if len > 0 && len <= room {
            self.send_new(selective, now, len)
        } else {
            let last = *selective
                .board
                .last()
                .filter(|last| last.fate == Fate::Out)?;
            self.send_again(selective, now, &last)
        };
        if let Some(tail) = &mut selective.tail {
            tail.cancel();
            tail.sent(self.max, segment.retransmit);
        }
        Some(segment)
    }
}
