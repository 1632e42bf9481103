//! What a file gives, as plain data.

use super::figure::PrintedSummary;
use super::{Delay, Figure, Format, Hop, PrintedFigure, Records};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::RecordFacts;
use std::sync::Arc;

/// All that a file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Of which format it is.
    pub format: &'static Format,
    /// The peer's version, where the file says it.
    pub version: Option<String>,
    /// One for each target, hop or connection.
    pub streams: Vec<ImportedStream>,
    /// The peer's own summary.
    pub said: Vec<PrintedFigure>,
    /// What the peer saw over time (iperf3's intervals).
    pub series: Vec<SeriesPoint>,
    /// Sentences the user should read before trusting the records.
    pub warnings: Vec<String>,
    /// When the peer began, in nanoseconds since 1970, where the file says so other than by the times of
    /// its packets.
    pub began: Option<Nanos>,
    /// What its round trips have of the server's time, where that may be either: of runs with other ones they are not
    /// the same measure.
    pub round_trip: Option<&'static str>,
    /// Packets that no line names and that were added as lost.
    pub(super) filled: u64,
    /// The first line that was not understood.
    pub(super) strange: Option<(usize, String)>,
}

impl Imported {
    /// Nothing yet.
    pub(super) const fn new(format: &'static Format) -> Self {
        Self {
            format,
            version: None,
            streams: Vec::new(),
            said: Vec::new(),
            series: Vec::new(),
            warnings: Vec::new(),
            began: None,
            round_trip: None,
            filled: 0,
            strange: None,
        }
    }

    /// Adds what the peer printed of a stream.
    pub(super) fn sum_up(&mut self, stream: usize, summary: PrintedSummary) {
        let said = summary.figures.into_iter();
        let said = said.map(|said| PrintedFigure { stream, ..said });
        self.said.extend(said);
    }

    /// Adds a value of a series since this time, for so long; none that is no number.
    pub(super) fn add_point(
        &mut self,
        (series, of): (&str, &Arc<str>),
        (t, length): (Nanos, Nanos),
        unit: Unit,
        value: Option<f64>,
    ) {
        let value = value.filter(|value| value.is_finite());
        self.series.extend(value.map(|value| SeriesPoint {
            trial: 0,
            series: series.into(),
            of: Arc::clone(of),
            unit,
            t,
            length,
            min: value,
            mean: value,
            max: value,
        }));
    }

    /// Calls the round trips that the peer printed for a stream what they are: without the server's time.
    pub(super) fn say_without_server(&mut self, stream: usize) {
        let of_stream = self.said.iter_mut().filter(|said| said.stream == stream);
        for said in of_stream {
            if let Figure::Of(delay @ Delay::RoundTrip, _) = &mut said.what {
                *delay = Delay::WithoutServer;
            }
        }
    }

    /// Calls delays of packets that go one way what they are.
    pub(super) fn say_one_way(&mut self) {
        for said in &mut self.said {
            let stream = self.streams.get(said.stream);
            if stream.is_some_and(|stream| stream.method.is_one_way())
                && let Figure::Of(delay @ Delay::RoundTrip, _) = &mut said.what
            {
                *delay = Delay::OneWay;
            }
        }
    }

    /// Adds a sentence, once.
    pub(super) fn warn(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }
}

/// The clock of a stream's `t_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Nanoseconds since 1970.
    RealTime,
    /// The peer's own clock, from a zero of its own.
    Own {
        /// Real time minus that clock, where the file has both.
        realtime_offset: Option<Nanos>,
    },
    /// The file has no times: they follow from the sequence numbers, from 0 on. Only differences
    /// within a packet mean something.
    MadeUp,
}

/// Packets that the peer sent one after another to one place.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStream {
    /// What to call it.
    pub name: String,
    /// How it asked.
    pub method: Method,
    /// Whom, as the file says it: a name, an address, or an address and port.
    pub target: String,
    /// Where on the way to a target, if it is of a tool that asks each hop.
    pub hop: Option<Hop>,
    /// Bytes of an IP packet of it, where the file says so.
    pub size: Option<u32>,
    /// What its times are.
    pub clock: Clock,
    /// Its packets by sequence number. The stream is the record's probe, the trial is 0.
    pub records: Records,
    /// Round trips of copies beyond the first reply, which some peers count in their figures. The
    /// records only say how many there were.
    pub repeats: Vec<Nanos>,
    /// The coarsest step in which its round trips were printed.
    pub step: Nanos,
    /// How to read the reflector's stamps.
    pub facts: RecordFacts,
}

impl ImportedStream {
    /// Without records so far, and nothing else known.
    pub(super) fn new(name: impl Into<String>, target: impl Into<String>, method: Method) -> Self {
        Self {
            name: name.into(),
            method,
            target: target.into(),
            hop: None,
            size: None,
            clock: Clock::MadeUp,
            records: Records::new(),
            repeats: Vec::new(),
            step: 1,
            facts: RecordFacts::default(),
        }
    }
}
