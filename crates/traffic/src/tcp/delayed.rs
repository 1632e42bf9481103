//! Delayed ACKs (RFC 1122 §4.2.3.2).

use super::settings::{DelayedAck, Settings, Timer};
use super::timer::ticks::Ticks;
use delaylab_model::{PICOS_PER_SECOND, Picos};

const MS: Picos = PICOS_PER_SECOND / 1000;
/// Linux: TCP_MAX_QUICKACKS, TCP_ATO_MIN, TCP_DELACK_MAX.
const QUICK: u32 = 16;
const LEAST_WAIT: Picos = 40 * MS;
const LONGEST_WAIT: Picos = 200 * MS;

/// What is held back, and until when.
#[derive(Debug, Clone)]
pub(crate) struct Delayed {
    policy: Option<DelayedAck>,
    ticks: Option<Ticks>,
    mss: u32,
    /// Segments still to be acknowledged at once.
    quick: u32,
    held: u32,
    held_bytes: u32,
    deadline: Option<Picos>,
    /// Linux: how long to wait, by how often segments come, and when the last one did.
    wait: Picos,
    last: Option<Picos>,
}

impl Delayed {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            policy: settings.delayed_ack,
            ticks: ticks_of(&settings.timer),
            mss: settings.mss,
            quick: match settings.delayed_ack {
                Some(DelayedAck::Linux) => quick_of(settings),
                _ => settings.quick_acks,
            },
            held: 0,
            held_bytes: 0,
            deadline: None,
            wait: LEAST_WAIT,
            last: None,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Picos> {
        self.deadline
    }

    pub(crate) const fn holds(&self) -> bool {
        self.held > 0
    }

    /// A segment of so many bytes came in order. May its ACK wait?
    #[inline]
    pub(crate) fn hold(&mut self, now: Picos, bytes: u32) -> bool {
        let Some(policy) = self.policy else {
            return false;
        };
        self.note_arrival(now, policy);
        if self.quick > 0 {
            self.quick -= 1;
            return false;
        }
        self.held += 1;
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        let (due, wait) = match policy {
            DelayedAck::Fixed { segments, timeout } => (self.held >= segments, timeout),
            DelayedAck::Linux => (self.held_bytes > self.mss, self.wait),
        };
        if due {
            return false;
        }
        // The first one starts the timer; 1995's looks at all connections on its own ticks.
        let end = match &self.ticks {
            Some(ticks) => ticks.after(now, 1),
            None => now.saturating_add(wait),
        };
        self.deadline = self.deadline.or(Some(end));
        true
    }

    /// Linux, tcp_event_data_recv(): half of what it was and half of the gap; after a silence longer than
    /// any wait ACKs leave at once again.
    fn note_arrival(&mut self, now: Picos, policy: DelayedAck) {
        let last = self.last.replace(now);
        let (DelayedAck::Linux, Some(last)) = (policy, last) else {
            return;
        };
        let gap = now - last;
        if gap <= LEAST_WAIT / 2 {
            self.wait = self.wait / 2 + LEAST_WAIT / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(LONGEST_WAIT);
        } else if gap > LONGEST_WAIT {
            self.quick = QUICK;
        }
    }

    /// What came had come before: the sender may be waiting for ACKs.
    pub(crate) fn note_duplicate(&mut self) {
        if self.policy == Some(DelayedAck::Linux) {
            self.quick = QUICK;
        }
    }

    /// An ACK leaves, for whatever reason.
    pub(crate) const fn sent(&mut self) {
        self.held = 0;
        self.held_bytes = 0;
        self.deadline = None;
    }
}

fn ticks_of(timer: &Timer) -> Option<Ticks> {
    match *timer {
        Timer::Rfc6298 { .. } => None,
        Timer::Coarse {
            delayed_ack_tick,
            phase,
            ..
        } => Some(Ticks::new(delayed_ack_tick, phase)),
    }
}

/// Linux: half of the window in segments, 16 at most.
fn quick_of(settings: &Settings) -> u32 {
    let half = settings.window / (2 * u64::from(settings.mss.max(1)));
    half.clamp(2, u64::from(QUICK)) as u32
}
