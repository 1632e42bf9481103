//! The sending half: what leaves and when. What ACKs do to it is in `acks` and, with selective
//! acknowledgements, in `selective`; `handshake` is what comes before data.

mod acks;
mod handshake;
mod selective;

use super::congestion::{Algorithm, Window};
use super::pacing::Pacer;
use super::recovery::Recovery;
use super::settings::{Congestion, Halved, Settings};
use super::timer::Retransmission;
use super::{Ack, Segment};
use delaylab_model::Picos;
use handshake::Handshake;
use selective::Selective;

/// The sending half of a connection.
///
/// After every call that may let something out (`new`, `write`, `on_ack`, `on_timeout`), call
/// `poll_transmit` until it has no more, and look at `next_timeout` again.
#[derive(Debug, Clone)]
pub struct Sender {
    settings: Settings,
    /// In the order of the stream: acknowledged up to `una`, next to send `nxt`, sent once up to
    /// `max`, written up to `written`. `nxt` is behind `max` only while a time-out is made good.
    una: u64,
    nxt: u64,
    max: u64,
    written: u64,
    peer_window: u64,
    window: Window,
    algorithm: Algorithm,
    /// Without SACK.
    recovery: Recovery,
    /// With SACK; `nxt` is `max` then.
    selective: Option<Box<Selective>>,
    handshake: Handshake,
    pacer: Pacer,
    timer: Retransmission,
    deadline: Option<Picos>,
    /// Without timestamps: the end of the segment that is timed, and when it was sent.
    timed: Option<(u64, Picos)>,
    /// What was not acknowledged when the retransmission timer last ran out begins here.
    timed_out_at: Option<u64>,
    /// The segment at `una` is to be sent again.
    resend: bool,
    /// To be said with the next new data (RFC 3168).
    cwr: bool,
    /// Marks are not answered again below it: once a window.
    marks_from: u64,
    /// What was sent before it was answered by a mark already: a loss there is of the same congestion.
    marked_below: u64,
    /// What was out when the congestion window last held something back.
    used_until: u64,
    /// When something was last sent, or the window was cut because nothing was.
    silent_since: Picos,
    retransmits: u64,
    timeouts: u64,
}

impl Sender {
    /// A connection with nothing sent: established, or about to be with `handshake`.
    pub fn new(settings: &Settings, now: Picos) -> Self {
        Self {
            settings: *settings,
            una: 0,
            nxt: 0,
            max: 0,
            written: 0,
            peer_window: settings.window,
            window: Window::new(settings),
            algorithm: Algorithm::new(settings),
            recovery: Recovery::new(settings.congestion != Congestion::Reno),
            selective: Selective::new(settings),
            handshake: Handshake::new(settings.handshake),
            pacer: Pacer::default(),
            timer: Retransmission::new(settings.timer),
            deadline: None,
            timed: None,
            timed_out_at: None,
            resend: false,
            cwr: false,
            marks_from: 0,
            marked_below: 0,
            used_until: 0,
            silent_since: now,
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// The application hands over so many bytes more. Without [`super::Application::Requests`] it says
    /// itself what it writes, and this changes nothing.
    pub fn write(&mut self, bytes: u64) {
        if self.settings.application == super::Application::Requests {
            self.written = self.written.saturating_add(bytes);
        }
    }

    /// The next segment that may leave now.
    pub fn poll_transmit(&mut self, now: Picos) -> Option<Segment> {
        if !self.handshake.is_done() {
            return self.poll_handshake(now);
        }
        if self.selective.is_some() {
            return self.poll_selective(now);
        }
        if self.resend {
            if self.pacer.holds(now) {
                return None;
            }
            self.resend = false;
            let len = self.window.mss.min(self.max - self.una);
            return Some(self.emit(now, self.una, len));
        }
        self.written = self.settings.application.written(self.written, self.una);
        self.restart_after_idle(now);
        let usable = self.limit().saturating_sub(self.flight());
        let len = self.sendable(usable);
        if len == 0 {
            self.note_use(self.window.cwnd.saturating_sub(self.flight()));
            return None;
        }
        if self.pacer.holds(now) {
            return None;
        }
        let segment = self.emit(now, self.nxt, len);
        self.nxt = segment.end();
        Some(segment)
    }

    /// An ACK came in.
    pub fn on_ack(&mut self, now: Picos, ack: Ack) {
        if ack.next < self.una || ack.next > self.max {
            return; // overtaken by a later one, or of nothing that was sent
        }
        self.peer_window = ack.window;
        if ack.syn || !self.handshake.is_done() {
            return self.on_handshake_ack(now, &ack);
        }
        if self.selective.is_some() {
            return self.on_selective_ack(now, &ack);
        }
        if ack.next > self.una {
            self.on_new_ack(now, &ack);
        } else if self.una < self.max {
            self.on_duplicate_ack();
        }
    }

    /// When [`Sender::on_timeout`] wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Option<Picos> {
        if self.selective.is_none() && !self.settings.pacing && self.settings.most.is_none() {
            return self.deadline;
        }
        let selective = self.selective.as_ref();
        let selective = selective.and_then(|selective| selective.next_timeout());
        let timers = [self.deadline, selective, self.pacer.deadline()];
        timers.into_iter().flatten().min()
    }

    /// The time has come. What the retransmission timer gives up is sent again, one segment first.
    /// Earlier calls change nothing.
    pub fn on_timeout(&mut self, now: Picos) {
        self.pacer.release(now);
        self.on_selective_timeout(now);
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.timed_out(now);
        }
    }

    fn timed_out(&mut self, now: Picos) {
        self.timer.back_off();
        self.timeouts += 1;
        self.timed = None;
        self.deadline = Some(self.timer.expiry(now));
        if !self.handshake.is_done() {
            return self.handshake_timed_out();
        }
        self.cut_at_time_out();
        if self.selective.is_some() {
            return self.lose_all(now);
        }
        self.recovery.on_timeout(self.max);
        self.resend = false;
        self.nxt = self.una;
    }

    fn cut_at_time_out(&mut self) {
        // The threshold is kept while the same segment times out again (RFC 5681 §3.1), and while a loss is repaired;
        // but the loss of a retransmission is a second sign of congestion (§4.3).
        let repairing = self.recovery.is_repairing(self.una) || self.is_repairing_selectively();
        let lost_again = self.has_lost_a_retransmission();
        let again = self.timed_out_at.replace(self.una) == Some(self.una);
        let cuts = match self.settings.halved {
            Halved::Flight => !again && (!repairing || lost_again),
            Halved::Window => true,
        };
        if cuts {
            let flight = match lost_again {
                true => self.flight().min(self.window.ssthresh),
                false => self.flight(),
            };
            self.cut(flight);
        } else {
            self.note_reduction();
        }
        self.algorithm.on_timeout(&mut self.window);
    }

    /// Something is lost with `flight` bytes outstanding: sets the threshold.
    fn cut(&mut self, flight: u64) {
        let halved = match self.settings.halved {
            Halved::Flight => flight,
            Halved::Window => {
                let two = 2 * self.window.mss;
                self.peer_window.min(self.window.cwnd) / two * two
            }
        };
        self.algorithm.on_loss(&mut self.window, halved);
        self.note_reduction();
    }

    /// The window was reduced, for whatever reason: marks of what is out are not answered again, and the next new data
    /// says so (RFC 3168 §6.1.2).
    const fn note_reduction(&mut self) {
        self.marks_from = self.max;
        self.cwr = self.settings.ecn;
    }

    /// A loss begins a recovery with `flight` bytes outstanding. Where a mark of the same window reduced it already, the
    /// threshold stays (as in Linux, which reduces it once a window); DCTCP and Prague answer losses as such
    /// (RFC 8257 §3.5).
    fn cut_once(&mut self, flight: u64) {
        let answers_both = matches!(
            self.settings.congestion,
            Congestion::Dctcp | Congestion::Prague
        );
        if answers_both || self.una >= self.marked_below {
            self.cut(flight);
        }
    }

    /// Congestion window in bytes.
    pub const fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    /// Slow start threshold in bytes; `u64::MAX` before the first loss or mark.
    pub const fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    /// Bytes that the receiver has acknowledged, from the first on.
    pub const fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Bytes sent and neither acknowledged nor given up by a time-out.
    pub fn in_flight(&self) -> u64 {
        let selective = self.selective.as_ref();
        selective.map_or(self.flight(), |selective| selective.pipe())
    }

    /// Bytes sent and not acknowledged (FlightSize of RFC 5681).
    const fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Segments sent again.
    pub const fn retransmits(&self) -> u64 {
        self.retransmits
    }

    /// Retransmission time-outs.
    pub const fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// As the retransmission timer has it; with coarse timers, in eighths of ticks.
    pub fn smoothed_rtt(&self) -> Option<Picos> {
        self.timer.smoothed()
    }

    /// DCTCP's estimate of the share of marked bytes.
    pub const fn alpha(&self) -> Option<f64> {
        self.algorithm.alpha()
    }

    /// Bytes that may wait for the host's line before more is taken from [`Sender::poll_transmit`]
    /// (Linux: two segments, or a 1024th of what is sent in a second).
    #[inline]
    pub fn host_queue(&self) -> u64 {
        let Some(most) = self.settings.host_queue else {
            return u64::MAX;
        };
        let rate = self
            .algorithm
            .pacing_rate(&self.window, self.timer.smoothed());
        ((rate / 1024.0) as u64).max(2 * self.window.mss).min(most)
    }

    /// Bytes a second at which segments leave, if at any.
    fn rate(&self) -> Option<f64> {
        let paced = self.settings.pacing.then(|| {
            self.algorithm
                .pacing_rate(&self.window, self.timer.smoothed())
        });
        let most = self.settings.most.map(|most| most as f64);
        match (paced, most) {
            (Some(paced), Some(most)) => Some(paced.min(most)),
            (paced, most) => paced.or(most),
        }
    }

    /// Is everything that was sent acknowledged?
    pub const fn is_idle(&self) -> bool {
        self.una == self.max
    }

    /// As given.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// What may be sent.
impl Sender {
    /// Bytes of the next segment where the windows leave so many, 0 if none may leave.
    #[inline]
    fn sendable(&self, usable: u64) -> u64 {
        let again = self.nxt < self.max;
        let upto = if again { self.max } else { self.written };
        let waiting = upto - self.nxt;
        let len = self.window.mss.min(usable).min(waiting);
        let whole = len == self.window.mss;
        let last = len == waiting && (again || !self.nagle_holds());
        if whole || last || self.is_worth_it(len) {
            len
        } else {
            0
        }
    }

    /// What the buffers of both ends let be outstanding.
    fn own_limit(&self) -> u64 {
        let buffer = self.settings.window.min(self.settings.send_buffer);
        self.peer_window.min(buffer)
    }

    /// What may be outstanding, without SACK.
    fn limit(&self) -> u64 {
        let mut cwnd = self.window.cwnd;
        if self.settings.limited_transmit {
            cwnd += u64::from(self.recovery.limited_transmit()) * self.window.mss;
        }
        cwnd.min(self.own_limit())
    }

    /// RFC 896: a part of a segment waits for the ACK of what is outstanding.
    const fn nagle_holds(&self) -> bool {
        self.settings.nagle && self.una < self.nxt
    }

    /// Silly windows (RFC 1122 §4.2.3.4): what the window cuts short leaves only if it is half of the
    /// largest window, or nothing is outstanding that would open it.
    fn is_worth_it(&self, len: u64) -> bool {
        let cut = self.nxt + len < self.written;
        cut && (2 * len >= self.peer_window || self.una == self.nxt)
    }

    /// RFC 5681 §4.1. With a model of the path its rate says how what was written leaves, and the window stays (as in
    /// Linux).
    fn restart_after_idle(&mut self, now: Picos) {
        let restarts = self.settings.idle_restart && !self.algorithm.is_model();
        let idle = restarts && self.is_idle() && self.written > self.max;
        let silence = now.saturating_sub(self.silent_since);
        if idle && self.max > 0 && silence > self.timer.rto() {
            self.restart(silence);
            // Once for each silence, although what follows may wait for its turn.
            self.silent_since = now;
        }
    }

    fn restart(&mut self, silence: Picos) {
        let window = &mut self.window;
        let first = self.settings.initial_window.max(window.mss);
        let first = first.min(window.cwnd);
        let left = if self.settings.idle_halving {
            window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
            let halvings = (silence - 1) / self.timer.rto().max(1);
            window.cwnd >> halvings.min(63)
        } else {
            first
        };
        window.cwnd = left.max(first);
        self.algorithm.on_restart();
    }

    /// RFC 7661: only a window that is used up says whether the path would bear a larger one.
    const fn note_use(&mut self, usable: u64) {
        if usable < self.window.mss && self.nxt < self.written {
            self.used_until = self.max;
        }
    }

    fn emit(&mut self, now: Picos, offset: u64, len: u64) -> Segment {
        let end = offset + len;
        let retransmit = offset < self.max;
        if retransmit {
            self.retransmits += 1;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        // Control of congestion relies on new data alone being marked (RFC 3168 §6.1.5).
        let ect = self.settings.ecn && !retransmit;
        let cwr = self.cwr && !retransmit;
        self.cwr &= retransmit;
        if self.max > 0 && self.is_idle() {
            self.algorithm.after_idle(self.silent_since, now);
        }
        self.max = self.max.max(end);
        self.silent_since = now;
        if let Some(rate) = self.rate() {
            self.pacer.on_sent(now, len, rate);
        }
        if self.deadline.is_none() {
            self.deadline = Some(self.timer.expiry(now));
        }
        Segment {
            offset,
            len: len as u32,
            retransmit,
            push: end == self.written,
            ect,
            cwr,
            syn: false,
            sent: now,
        }
    }
}
