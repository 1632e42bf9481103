//! Records of a stream of frames in, its figures out.

use super::silence::Silences;
use super::{DelayFigures, FrameFigures, FrameTrial};
use crate::moments::Moments;
use crate::quantile::carries;
use crate::sample::Values;
use delaylab_model::Nanos;
use delaylab_model::probe::Probe;
use delaylab_model::record::{Outcome, Record};

/// Takes records of one probe with method frame, in any order, and makes [`FrameFigures`].
#[derive(Debug, Clone)]
pub struct FramesBuilder {
    exact_limit: usize,
    tagged: Option<u64>,
    figures: FrameFigures,
    moments: Moments,
    delays: Values,
    silences: Silences,
    /// How many frames there will be, where that is known.
    count: Option<u64>,
    /// Of the third and the fourth quarter of them: the least delay.
    least: [Option<Nanos>; 2],
}

/// Fewer frames of a quarter say nothing of how the least delay changes.
const IN_A_QUARTER: u64 = 10;

impl FramesBuilder {
    /// Beyond `exact_limit` delays, of 8 bytes each, quantiles come from log-linear histograms, so
    /// memory stays flat.
    pub fn new(exact_limit: usize) -> Self {
        Self {
            exact_limit,
            tagged: None,
            figures: FrameFigures::default(),
            moments: Moments::default(),
            delays: Values::default(),
            silences: Silences::default(),
            count: None,
            least: [None; 2],
        }
    }

    /// For this probe. The tagged frame is the one half way through it: after 60 s of a stream of
    /// 120 s (RFC 2544 §26.2).
    pub fn for_probe(probe: &Probe, exact_limit: usize) -> Self {
        let builder = Self::new(exact_limit);
        match probe.count {
            Some(count) => Self {
                count: Some(count),
                ..builder.with_tag(count / 2)
            },
            None => builder,
        }
    }

    /// Reports the delay of the frame with this number apart.
    #[must_use]
    pub fn with_tag(mut self, seq: u64) -> Self {
        self.tagged = Some(seq);
        self
    }

    /// Takes the record of one frame.
    pub fn push(&mut self, record: &Record) {
        self.figures.asked += 1;
        let Some(t_send) = record.t_send.filter(|_| record.outcome.was_sent()) else {
            return;
        };
        self.sent(t_send);
        self.figures.duplicates += u64::from(record.copies);
        match record.outcome {
            Outcome::Ok | Outcome::Late => self.received(record, t_send),
            Outcome::Corrupt => {
                self.figures.corrupt += 1;
                self.lost(t_send);
                if let Some(arrival) = record.t_rx {
                    self.silences.push(record.seq, Some(arrival));
                }
            }
            Outcome::Lost | Outcome::Refused => {
                self.lost(t_send);
                self.silences.push(record.seq, None);
            }
            Outcome::Skipped | Outcome::LocalError => {}
        }
    }

    fn sent(&mut self, t_send: Nanos) {
        let figures = &mut self.figures;
        figures.sent += 1;
        figures.first_send = Some(figures.first_send.map_or(t_send, |t| t.min(t_send)));
        figures.last_send = Some(figures.last_send.map_or(t_send, |t| t.max(t_send)));
    }

    fn received(&mut self, record: &Record, t_send: Nanos) {
        self.figures.received += 1;
        self.figures.reordered += u64::from(record.reorder_extent > 0);
        if let Some(arrival) = record.t_rx {
            let delay = arrival.saturating_sub(t_send);
            self.moments.push(delay);
            self.delays.push(delay, self.exact_limit);
            self.silences.push(record.seq, Some(arrival));
            self.note_least(record.seq, delay);
            if self.tagged == Some(record.seq) {
                self.figures.tagged_delay = Some(delay);
            }
        }
    }

    fn note_least(&mut self, seq: u64, delay: Nanos) {
        let Some(quarter) = self.count.map(|count| count / 4) else {
            return;
        };
        if quarter < IN_A_QUARTER || seq < 2 * quarter {
            return;
        }
        let least = &mut self.least[usize::from(seq >= 3 * quarter)];
        *least = Some(least.map_or(delay, |least| least.min(delay)));
    }

    /// See [`FrameFigures::falls_behind`].
    fn falls_behind(&self) -> Option<f64> {
        let [Some(before), Some(after)] = self.least else {
            return None;
        };
        let figures = &self.figures;
        // Two frames next to each other would make much of little: what rises does so over a quarter.
        let quarter = figures.last_send?.checked_sub(figures.first_send?)? / 4;
        (quarter > 0).then(|| (after - before) as f64 / quarter as f64)
    }

    fn lost(&mut self, t_send: Nanos) {
        let last = &mut self.figures.last_lost;
        *last = Some(last.map_or(t_send, |t| t.max(t_send)));
    }

    /// The figures of the records so far.
    pub fn finish(&self) -> FrameFigures {
        FrameFigures {
            delay: self.delay(),
            longest_silence: self.silences.longest(),
            falls_behind: self.falls_behind(),
            ..self.figures.clone()
        }
    }

    fn delay(&self) -> Option<DelayFigures> {
        let moments = &self.moments;
        let (min, max) = (moments.min()?, moments.max()?);
        let mut order = self.delays.order();
        let mut at = |q| Some(order.quantile(q)?.clamp(min, max));
        let mut carried = |q| carries(moments.count(), q).then(|| at(q)).flatten();
        let (p99, p999) = (carried(0.99), carried(0.999));
        Some(DelayFigures {
            count: moments.count(),
            min,
            mean: moments.mean()?,
            max,
            sd: moments.sd(1),
            p50: at(0.5)?,
            p99,
            p999,
        })
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.delays.heap_bytes() + self.silences.heap_bytes()
    }
}

impl FrameTrial {
    /// Of these streams, without a flaw.
    pub fn new(streams: Vec<FrameFigures>) -> Self {
        Self {
            streams,
            ..Self::default()
        }
    }
}
