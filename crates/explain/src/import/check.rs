//! A peer's summary against its own samples, by the peer's own definitions.
//!
//! | peer | standard deviation | median and percentiles | of what |
//! |---|---|---|---|
//! | ping | by n, from whole µs | | every reply, copies too |
//! | irtt | by n − 1 | middle value, or the mean of two | replies; without the server's time |
//! | sockperf | by n − 1 | value number ⌊q·n + ½⌋ | halves of round trips |
//! | fping, iperf3 | | | replies; samples |
//!
//! Sources: iputils ping_common.c `finish`, irtt result.go, sockperf client.cpp; each confirmed on the
//! samples in `tests/data/import`. A figure may be off by the step in which it was printed, and by half
//! the step in which the samples were: a mean and a standard deviation move by no more than the largest
//! error of a value.

use super::figure::{Delay, Figure, PrintedFigure, Statistic};
use super::records::without_reflector;
use super::{Format, Imported, ImportedStream, Records, Rules};
use delaylab_model::Nanos;
use delaylab_model::plan::Unit;
use delaylab_model::record::Record;
use delaylab_model::units::format_duration_f64;
use delaylab_stats::moments::Moments;

/// A figure of the peer that its own samples do not give.
#[derive(Debug, Clone, PartialEq)]
pub struct Disagreement {
    /// Of which stream.
    pub stream: usize,
    /// Which figure.
    pub what: Figure,
    /// As the peer said.
    pub said: f64,
    /// As its samples give it.
    pub ours: f64,
    /// What both count.
    pub unit: Unit,
    /// The same, for people.
    pub sentence: String,
}

/// Every figure of the peer that its own samples do not give. What the file has no samples for is
/// not judged.
pub fn check(imported: &Imported) -> Vec<Disagreement> {
    let judged = imported.said.iter().filter_map(|said| {
        let stream = imported.streams.get(said.stream)?;
        let ours = recomputed(imported, stream, said)?;
        let off = said.value - ours.value;
        (off < -ours.below || off > ours.above)
            .then(|| disagreement(imported.format, stream, said, ours.value))
    });
    judged.collect()
}

/// Puts what the packets give beside each figure that the peer said.
pub(super) fn recompute(imported: &mut Imported) {
    let ours = |said: &PrintedFigure| {
        let stream = imported.streams.get(said.stream)?;
        Some(recomputed(imported, stream, said)?.value)
    };
    let ours: Vec<Option<f64>> = imported.said.iter().map(ours).collect();
    for (said, ours) in imported.said.iter_mut().zip(ours) {
        said.ours = ours;
    }
}

/// What the samples give, and how far below and above it the peer's figure may be.
struct Ours {
    value: f64,
    below: f64,
    above: f64,
}

fn recomputed(imported: &Imported, stream: &ImportedStream, said: &PrintedFigure) -> Option<Ours> {
    if stream.records.is_empty() {
        return None;
    }
    let exactly = |value| Ours {
        value,
        below: said.step,
        above: said.step,
    };
    match said.what {
        Figure::Of(delay, statistic) => {
            // Half a file has another mean than the whole.
            if !whole(imported, said.stream) {
                return None;
            }
            Delays::new(imported.format.rules, stream, delay).statistic(statistic, said.step)
        }
        _ if !imported.format.rules.counts_records => None,
        Figure::Sent => Some(exactly(stream.records.len() as f64)),
        Figure::Received => Some(exactly(received(stream))),
        Figure::Lost => Some(exactly(stream.records.len() as f64 - received(stream))),
        Figure::LossShare => {
            let count = stream.records.len() as f64;
            Some(exactly((count - received(stream)) / count))
        }
        Figure::Copies if !imported.format.rules.copies_in_records => None,
        Figure::Copies => Some(exactly(stream.records.counts().duplicate as f64)),
        _ => None,
    }
}

fn received(stream: &ImportedStream) -> f64 {
    let counts = stream.records.counts();
    (counts.answered() + counts.corrupt) as f64
}

/// Are there as many samples as the peer counted?
fn whole(imported: &Imported, index: usize) -> bool {
    let stream = &imported.streams[index];
    let counted = imported
        .said
        .iter()
        .find(|said| said.stream == index && said.what == Figure::Received);
    counted.is_none_or(|counted| counted.value == received(stream))
}

/// Delays of a stream, by the rules of the peer that summarised them.
struct Delays<'a> {
    stream: &'a ImportedStream,
    delay: Delay,
    rules: Rules,
    /// How far a value may be from what the peer had.
    error: f64,
}

impl<'a> Delays<'a> {
    fn new(rules: Rules, stream: &'a ImportedStream, delay: Delay) -> Self {
        Self {
            stream,
            delay,
            rules,
            error: error(stream, delay) + rules.slack as f64,
        }
    }

    /// Round trips of copies, where they count.
    fn copies(&self) -> &[Nanos] {
        match self.delay {
            Delay::RoundTrip | Delay::OneWay | Delay::WithoutServer => &self.stream.repeats,
            _ => &[],
        }
    }

    /// In sequence; twice as large where the peer halves them.
    fn values(&self) -> Vec<Nanos> {
        let of = |record: Record| match self.delay {
            Delay::Send => Some(record.r_rx? - record.t_send?),
            Delay::Receive => Some(record.t_recv? - record.r_user?),
            Delay::Server => Some(record.r_user? - record.r_rx?),
            _ => without_reflector(&record),
        };
        let records = &self.stream.records;
        match self.delay {
            Delay::Variation => variation(records),
            _ => {
                let copies = self.copies().iter().copied();
                records.iter().filter_map(of).chain(copies).collect()
            }
        }
    }

    /// Round trips are known without looking at each again.
    fn moments(&self) -> Moments {
        use Delay::{Receive, Send, Server, Variation};
        if matches!(self.delay, Send | Receive | Server | Variation) {
            return self.values().into_iter().collect();
        }
        let mut moments = self.stream.records.trips();
        self.copies().iter().for_each(|&trip| moments.push(trip));
        moments
    }
}

/// How far a delay may be from the one that the peer had.
fn error(stream: &ImportedStream, delay: Delay) -> f64 {
    /// As fast as Linux slews its wall clock against the monotonic one (adjtimex(2)).
    const SLEW: f64 = 500e-6;
    let step = stream.step as f64;
    match delay {
        // Both its round trips are rounded.
        Delay::Variation => step,
        // irtt's is by the wall clock, the record's by the monotonic one.
        Delay::Receive => {
            let longest = stream.records.iter().filter_map(|it| it.round_trip()).max();
            SLEW * longest.unwrap_or(0) as f64 + step
        }
        _ => step / 2.0,
    }
}

fn variation(records: &Records) -> Vec<Nanos> {
    let pairs = records.iter().zip(records.iter().skip(1));
    let in_a_row = pairs.filter(|(before, after)| after.seq == before.seq.wrapping_add(1));
    in_a_row
        .filter_map(|(before, after)| {
            Some((without_reflector(&after)? - without_reflector(&before)?).abs())
        })
        .collect()
}

impl Delays<'_> {
    fn statistic(&self, statistic: Statistic, step: f64) -> Option<Ours> {
        let moments = self.moments();
        if moments.count() == 0 {
            return None;
        }
        let sorted = || {
            let mut values = self.values();
            values.sort_unstable();
            values
        };
        let mut slack = 0.0;
        let value = match statistic {
            Statistic::Min => moments.min()? as f64,
            Statistic::Max => moments.max()? as f64,
            Statistic::Mean => moments.mean()?,
            // One value has no spread, and peers print 0.
            Statistic::Deviation => {
                let by_n = self.rules.deviation_by_n;
                let deviation = moments.sd(u64::from(!by_n)).unwrap_or(0.0);
                if by_n {
                    // √(mean of squares − mean²) with a mean that may have been rounded down, up to 1 µs too small.
                    let more = 2.0 * moments.mean()? * 1_000.0;
                    slack = (deviation * deviation + more).sqrt() - deviation;
                }
                deviation
            }
            Statistic::Last => *self.values().last()? as f64,
            Statistic::Median => {
                let values = sorted();
                let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
                (*values.get(low)? as f64 + *values.get(high)? as f64) / 2.0
            }
            Statistic::Quantile(q) => {
                let values = sorted();
                let place = ((q * values.len() as f64 + 0.5) as usize).saturating_sub(1);
                *values.get(place)? as f64
            }
        };
        let is_half = self.delay == Delay::HalfRoundTrip;
        let scale = if is_half { 0.5 } else { 1.0 };
        Some(Ours {
            value: value * scale,
            below: step + self.error,
            above: step + self.error + slack,
        })
    }
}

fn disagreement(
    format: &Format,
    stream: &ImportedStream,
    said: &PrintedFigure,
    ours: f64,
) -> Disagreement {
    let show = |value| shown(value, said.unit);
    Disagreement {
        stream: said.stream,
        what: said.what,
        said: said.value,
        ours,
        unit: said.unit,
        sentence: format!(
            "{format} says that {} of {} is {}, and the samples in its file give {}",
            said.what,
            stream.name,
            show(said.value),
            show(ours)
        ),
    }
}

/// A figure with its unit, for people.
pub fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => format_duration_f64(value),
        Unit::Share => format!("{:.2} %", value * 100.0),
        Unit::Bytes => format!("{value:.0} B"),
        Unit::BitsPerSecond => format!("{value:.0} bit/s"),
        _ => format!("{value}"),
    }
}
