//! Records of a stream of frames in, its figures out.

use super::silence::Silences;
use super::slices::Delays;
use super::{FrameFigures, FrameTrial};
use crate::loglinear;
use delaylab_model::Nanos;
use delaylab_model::probe::Probe;
use delaylab_model::record::{Outcome, Record};

/// Takes records of one probe with method frame, in any order, and makes [`FrameFigures`].
#[derive(Debug, Clone)]
pub struct FramesBuilder {
    exact_limit: usize,
    tagged: Option<u64>,
    figures: FrameFigures,
    delays: Delays,
    /// Number of the first frame that was lost.
    loss: Option<u64>,
    silences: Silences,
}

impl FramesBuilder {
    /// Beyond `exact_limit` delays, of 16 bytes each, quantiles come from log-linear histograms, so
    /// memory stays flat.
    pub fn new(exact_limit: usize) -> Self {
        Self {
            exact_limit,
            tagged: None,
            figures: FrameFigures::default(),
            delays: Delays::Exact(Vec::new()),
            loss: None,
            silences: Silences::default(),
        }
    }

    /// For this probe. The tagged frame is the one half way through it: after 60 s of a stream of
    /// 120 s (RFC 2544 §26.2).
    pub fn for_probe(probe: &Probe, exact_limit: usize) -> Self {
        let builder = Self::new(exact_limit);
        match probe.count {
            Some(count) => builder.with_tag(count / 2),
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
        let given_up = matches!(record.outcome, Outcome::Skipped | Outcome::LocalError);
        let Some(t_send) = record.t_send.filter(|_| !given_up) else {
            return;
        };
        self.sent(t_send);
        self.figures.duplicates += u64::from(record.copies);
        match record.outcome {
            Outcome::Ok | Outcome::Late => self.received(record, t_send),
            Outcome::Corrupt => {
                self.figures.corrupt += 1;
                if let Some(arrival) = record.t_rx {
                    self.silences.push(arrival);
                }
            }
            Outcome::Lost | Outcome::Refused => self.lost(record.seq, t_send),
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
            self.delays.push(record.seq, delay, self.exact_limit);
            self.silences.push(arrival);
            if self.tagged == Some(record.seq) {
                self.figures.tagged_delay = Some(delay);
            }
        }
    }

    fn lost(&mut self, seq: u64, t_send: Nanos) {
        let figures = &mut self.figures;
        figures.first_lost = Some(figures.first_lost.map_or(t_send, |t| t.min(t_send)));
        figures.last_lost = Some(figures.last_lost.map_or(t_send, |t| t.max(t_send)));
        self.loss = Some(self.loss.map_or(seq, |first| first.min(seq)));
    }

    /// The figures of the records so far.
    pub fn finish(&self) -> FrameFigures {
        let delay = self.delays.all();
        let is_sliced = self.delays.is_sliced();
        FrameFigures {
            delay,
            delay_before_loss: match self.loss {
                Some(seq) => self.delays.before(seq),
                None => delay,
            },
            longest_silence: self.silences.longest(),
            quantile_error: is_sliced.then_some(loglinear::RELATIVE_ERROR),
            ..self.figures.clone()
        }
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
