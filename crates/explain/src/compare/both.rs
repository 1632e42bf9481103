//! Two runs as one in which the run is a factor: what judges claims about one run judges claims about two.

use super::pairs::{NothingInCommon, Pair, Pairing};
use super::values::values;
use delaylab_lab::finding::{Data, Measure, MeasureUnavailable, StreamInfo, Values};
use delaylab_model::plan::Level;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, Residence};
use std::collections::BTreeMap;

/// The factor that tells the runs apart. No experiment has it: names of factors have no spaces.
pub const RUN: &str = "A or B";
/// Its levels.
pub const RUNS: [&str; 2] = ["A", "B"];

/// What both runs have, as one run: of each, the streams that have a counterpart.
#[derive(Clone)]
pub struct Both<'a> {
    sides: [&'a dyn Data; 2],
    streams: Vec<StreamInfo>,
    origins: Vec<Origin>,
    /// Those of one probe under the same levels.
    pub(super) pairs: Vec<Pair>,
    /// By which all of each pair can be read; empty where each stream is read by its own.
    residences: Vec<Residence>,
}

/// Where a stream is from.
#[derive(Clone, Copy)]
struct Origin {
    /// Of A or of B.
    side: usize,
    /// Which stream there.
    stream: usize,
    /// Of which pair.
    pair: usize,
}

impl<'a> Both<'a> {
    /// Of A and B.
    ///
    /// # Errors
    /// No probe under no combination of levels is in both.
    pub fn new(a: &'a dyn Data, b: &'a dyn Data) -> Result<Self, NothingInCommon> {
        let Pairing { pairs, .. } = Pairing::new(a.streams(), b.streams())?;
        let residence = |pair: &Pair| RecordFacts::shared(pair.facts([a, b])).known_residence();
        let places = pairs.iter().map(|pair| Pair {
            streams: Default::default(),
            ..pair.clone()
        });
        let mut both = Self {
            sides: [a, b],
            streams: Vec::new(),
            origins: Vec::new(),
            pairs: places.collect(),
            residences: pairs.iter().map(residence).collect(),
        };
        for side in 0..2 {
            both.add(side, &pairs);
        }
        Ok(both)
    }

    /// The same where the value of one run alone counts, whatever the other one knows.
    pub(super) fn each_by_itself(&self) -> Self {
        Self {
            residences: Vec::new(),
            ..self.clone()
        }
    }

    /// The same without handshakes that `ping` made during its requests, unless there is nothing else.
    pub(super) fn primary(&self) -> Self {
        let all = 0..self.streams.len();
        let kept: Vec<usize> = all.filter(|&at| !self.is_auxiliary(at)).collect();
        let is_any = kept.iter().any(|&at| self.streams[at].series.is_none());
        if !is_any || kept.len() == self.streams.len() {
            return self.clone();
        }
        let mut found = Self {
            streams: kept.iter().map(|&at| self.streams[at].clone()).collect(),
            origins: kept.iter().map(|&at| self.origins[at]).collect(),
            ..self.clone()
        };
        for streams in found.pairs.iter_mut().flat_map(|pair| &mut pair.streams) {
            let new = streams.iter().filter_map(|at| kept.binary_search(at).ok());
            *streams = new.collect();
        }
        found
    }

    /// Probes that have a counterpart, and the series of their trials.
    fn add(&mut self, side: usize, pairs: &[Pair]) {
        let streams = self.sides[side].streams();
        let last = self.streams.iter().map(|stream| stream.trial).max();
        let first_trial = last.map_or(0, |last| last + 1);
        let mut trials = BTreeMap::<u32, usize>::new();
        for (at, pair) in pairs.iter().enumerate() {
            for &stream in &pair.streams[side] {
                let info = &streams[stream];
                trials.insert(info.trial, at);
                // Where the names differ, those of A stand for both.
                let named = StreamInfo {
                    probe: pair.probes[0].clone(),
                    ..info.clone()
                };
                self.pairs[at].streams[side].push(self.streams.len());
                self.push([side, stream], first_trial, at, named);
            }
        }
        for (stream, info) in streams
            .iter()
            .enumerate()
            .filter(|(_, i)| i.series.is_some())
        {
            if let Some(&at) = trials.get(&info.trial) {
                self.push([side, stream], first_trial, at, info.clone());
            }
        }
    }

    fn push(&mut self, [side, stream]: [usize; 2], first: u32, pair: usize, info: StreamInfo) {
        let run = (RUN.to_owned(), Level::named(RUNS[side]));
        let factors = self.pairs[pair].factors.iter().cloned().chain([run]);
        self.streams.push(StreamInfo {
            trial: first.saturating_add(info.trial),
            factors: factors.collect(),
            ..info
        });
        self.origins.push(Origin { side, stream, pair });
    }

    /// Which streams of A and of B these are.
    pub(super) fn by_side(&self, streams: &[usize]) -> [Vec<usize>; 2] {
        [0, 1].map(|side| {
            let origins = streams.iter().filter_map(|&at| self.origins.get(at));
            let own = origins.filter(|origin| origin.side == side);
            own.map(|origin| origin.stream).collect()
        })
    }

    fn origin(&self, stream: usize) -> Option<(&'a dyn Data, Origin)> {
        let origin = *self.origins.get(stream)?;
        Some((self.sides[origin.side], origin))
    }
}

impl Data for Both<'_> {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, MeasureUnavailable> {
        let nothing = || MeasureUnavailable("there is no such stream".to_owned());
        let (data, from) = self.origin(stream).ok_or_else(nothing)?;
        match self.residences.get(from.pair) {
            Some(residence) => values(data, from.stream, measure, *residence),
            None => data.values(from.stream, measure),
        }
    }

    fn records(&self, stream: usize, take: &mut dyn FnMut(&Record)) {
        if let Some((data, from)) = self.origin(stream) {
            data.records(from.stream, take);
        }
    }

    fn packets(&self, stream: usize) -> u64 {
        let origin = self.origin(stream);
        origin.map_or(0, |(data, from)| data.packets(from.stream))
    }

    fn facts(&self, stream: usize) -> Option<RecordFacts> {
        let (data, from) = self.origin(stream)?;
        data.facts(from.stream)
    }

    fn is_auxiliary(&self, stream: usize) -> bool {
        let origin = self.origin(stream);
        origin.is_some_and(|(data, from)| data.is_auxiliary(from.stream))
    }
}
