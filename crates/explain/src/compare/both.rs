//! Two runs as one in which the run is a factor: what judges claims about one run judges claims about two.

use super::pairs::{NothingInCommon, Pair, Pairing};
use delaylab_lab::finding::{Data, Measure, MeasureUnavailable, StreamInfo, Values};
use delaylab_model::plan::Level;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use std::collections::BTreeMap;

/// The factor that tells the runs apart. No experiment has it: names of factors have no spaces.
pub const RUN: &str = "A or B";
/// Its levels.
pub const RUNS: [&str; 2] = ["A", "B"];

/// What both runs have, as one run: of each, the streams that have a counterpart.
pub struct Both<'a> {
    sides: [&'a dyn Data; 2],
    streams: Vec<StreamInfo>,
    /// Of which run each is, and which stream there.
    origins: Vec<(usize, usize)>,
}

impl<'a> Both<'a> {
    /// Of A and B.
    ///
    /// # Errors
    /// No probe under no combination of levels is in both.
    pub fn new(a: &'a dyn Data, b: &'a dyn Data) -> Result<Self, NothingInCommon> {
        let pairing = Pairing::new(a.streams(), b.streams())?;
        let mut both = Self {
            sides: [a, b],
            streams: Vec::new(),
            origins: Vec::new(),
        };
        for side in 0..2 {
            both.add(side, &pairing.pairs);
        }
        Ok(both)
    }

    /// Probes that have a counterpart, and the series of their trials.
    fn add(&mut self, side: usize, pairs: &[Pair]) {
        let streams = self.sides[side].streams();
        let last = self.streams.iter().map(|stream| stream.trial).max();
        let first_trial = last.map_or(0, |last| last + 1);
        let mut trials = BTreeMap::<u32, &Pair>::new();
        let own = |pair: &'_ Pair| pair.streams[side].clone();
        for (pair, stream) in pairs
            .iter()
            .flat_map(|p| own(p).into_iter().map(move |s| (p, s)))
        {
            let info = &streams[stream];
            trials.insert(info.trial, pair);
            // Where the names differ, those of A stand for both.
            let named = StreamInfo {
                probe: pair.probes[0].clone(),
                ..info.clone()
            };
            self.push(side, stream, first_trial, pair, named);
        }
        for (stream, info) in streams
            .iter()
            .enumerate()
            .filter(|(_, i)| i.series.is_some())
        {
            if let Some(pair) = trials.get(&info.trial) {
                self.push(side, stream, first_trial, pair, info.clone());
            }
        }
    }

    fn push(&mut self, side: usize, stream: usize, first: u32, pair: &Pair, info: StreamInfo) {
        let run = (RUN.to_owned(), Level::named(RUNS[side]));
        let factors = pair.factors.iter().cloned().chain([run]).collect();
        self.streams.push(StreamInfo {
            trial: first.saturating_add(info.trial),
            factors,
            ..info
        });
        self.origins.push((side, stream));
    }

    fn origin(&self, stream: usize) -> Option<(&'a dyn Data, usize)> {
        let &(side, stream) = self.origins.get(stream)?;
        Some((self.sides[side], stream))
    }
}

impl Data for Both<'_> {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, MeasureUnavailable> {
        let nothing = || MeasureUnavailable("there is no such stream".to_owned());
        let (data, stream) = self.origin(stream).ok_or_else(nothing)?;
        data.values(stream, measure)
    }

    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record)) {
        if let Some((data, stream)) = self.origin(stream) {
            data.records(stream, take);
        }
    }

    fn facts(&self, stream: usize) -> Option<RecordFacts> {
        let (data, stream) = self.origin(stream)?;
        data.facts(stream)
    }
}
