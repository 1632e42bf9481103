//! Delays of frames by their number: every one while they fit, and beyond that in slices of
//! neighbouring frames, so that those before a loss can be told from those behind it.

use super::DelayFigures;
use crate::loglinear::LogLinear;
use crate::moments::Moments;
use crate::sample::{Order, Values};
use delaylab_model::Nanos;

/// Slices at most. Half as many are in use at least, once there are enough frames.
const SLICES: usize = 128;

/// Frames with neighbouring numbers.
#[derive(Debug, Clone, Default)]
struct Slice {
    moments: Moments,
    counts: LogLinear,
}

impl Slice {
    fn push(&mut self, delay: Nanos) {
        self.moments.push(delay);
        self.counts.push(delay);
    }

    fn merge(&mut self, other: &Slice) {
        self.moments.merge(&other.moments);
        self.counts.merge(&other.counts);
    }
}

/// Slices of equal width; they widen as numbers grow.
#[derive(Debug, Clone)]
pub(super) struct Sliced {
    width: u64,
    slices: Vec<Slice>,
}

impl Sliced {
    fn push(&mut self, seq: u64, delay: Nanos) {
        while seq / self.width >= SLICES as u64 {
            let pairs = self.slices.chunks(2);
            let merged = pairs.map(|pair| {
                let mut both = pair[0].clone();
                pair[1..].iter().for_each(|second| both.merge(second));
                both
            });
            self.slices = merged.collect();
            self.width *= 2;
        }
        let index = (seq / self.width) as usize;
        if index >= self.slices.len() {
            self.slices.resize_with(index + 1, Slice::default);
        }
        self.slices[index].push(delay);
    }

    /// All of the slices that end before this number.
    fn before(&self, seq: u64) -> Slice {
        let whole = usize::try_from(seq / self.width).unwrap_or(usize::MAX);
        let mut all = Slice::default();
        self.slices.iter().take(whole).for_each(|s| all.merge(s));
        all
    }
}

/// Delays with their frames' numbers.
#[derive(Debug, Clone)]
pub(super) enum Delays {
    Exact(Vec<(u64, Nanos)>),
    Sliced(Sliced),
}

impl Delays {
    pub(super) fn push(&mut self, seq: u64, delay: Nanos, limit: usize) {
        match self {
            Delays::Exact(rows) if rows.len() < limit => rows.push((seq, delay)),
            Delays::Exact(rows) => {
                let mut sliced = Sliced {
                    width: 1,
                    slices: Vec::new(),
                };
                for &(seq, delay) in rows.iter() {
                    sliced.push(seq, delay);
                }
                sliced.push(seq, delay);
                *self = Delays::Sliced(sliced);
            }
            Delays::Sliced(sliced) => sliced.push(seq, delay),
        }
    }

    pub(super) const fn is_sliced(&self) -> bool {
        matches!(self, Delays::Sliced(_))
    }

    /// Figures of the frames before this number.
    pub(super) fn before(&self, seq: u64) -> Option<DelayFigures> {
        match self {
            Delays::Exact(rows) => {
                let delays = rows.iter().filter(|row| row.0 < seq).map(|row| row.1);
                let delays: Vec<Nanos> = delays.collect();
                let moments = delays.iter().copied().collect();
                figures(&moments, Values::Exact(delays).order())
            }
            Delays::Sliced(sliced) => {
                let slice = sliced.before(seq);
                figures(&slice.moments, Values::Spilled(slice.counts).order())
            }
        }
    }

    /// Figures of every frame.
    pub(super) fn all(&self) -> Option<DelayFigures> {
        self.before(u64::MAX)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Delays::Exact(rows) => rows.capacity() * size_of::<(u64, Nanos)>(),
            Delays::Sliced(sliced) => {
                let counts = sliced.slices.iter().map(|s| s.counts.heap_bytes());
                sliced.slices.capacity() * size_of::<Slice>() + counts.sum::<usize>()
            }
        }
    }
}

fn figures(moments: &Moments, mut order: Order<'_>) -> Option<DelayFigures> {
    let (min, max) = (moments.min()?, moments.max()?);
    let mut at = |q| Some(order.quantile(q)?.clamp(min, max));
    Some(DelayFigures {
        count: moments.count(),
        min,
        mean: moments.mean()?,
        max,
        sd: moments.sd(1),
        p50: at(0.5)?,
        p99: at(0.99)?,
        p999: at(0.999)?,
    })
}
