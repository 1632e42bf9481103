//! Caches the values of measures, so that each is read once.

use crate::finding::data::{Data, StreamInfo, TimeTaken};
use crate::finding::measure::Measure;
use crate::finding::values::{MeasureUnavailable, Values};
use delaylab_model::distinct::{Distinct, originals};
use delaylab_stats::comparison::Design;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The values of a measure in one stream, or why there are none.
type Read = Result<Rc<Values>, MeasureUnavailable>;

/// A run's data with a cache of the values read so far.
pub(super) struct Measured<'a> {
    data: &'a dyn Data,
    /// For each stream, the index of its trial. Identical simulations share the index of the first one.
    trials: Vec<usize>,
    /// The trials: those of one combination of levels repeat each other, and simulations of one seed are one repeat.
    design: Design,
    /// How many trials the combination has that has most.
    repeats: u64,
    /// The numbers of the trials that are not what their experiment meant.
    invalid: BTreeSet<u32>,
    read: RefCell<BTreeMap<(usize, Measure), Read>>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(data: &'a dyn Data) -> Self {
        let streams = data.streams();
        let trials = streams.iter().map(|s| (s.trial, s.trace_hash));
        let originals = originals(trials);
        let original = |stream: &StreamInfo| originals.get(&stream.trial).copied();
        let mut numbers: Vec<u32> = originals.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let index = |stream: &StreamInfo| {
            let number = original(stream).unwrap_or(stream.trial);
            numbers.binary_search(&number).unwrap_or(0)
        };
        let trials: Vec<usize> = streams.iter().map(index).collect();
        let mut combinations: Vec<&StreamInfo> = Vec::new();
        let mut strata = vec![0; numbers.len()];
        let mut seeds = vec![None; numbers.len()];
        // A copy of a simulation is not a repeat: it shares the index of its original.
        let first = |(stream, _): &(&StreamInfo, &usize)| original(stream) == Some(stream.trial);
        for (stream, &trial) in streams.iter().zip(&trials).filter(first) {
            let known = combinations
                .iter()
                .position(|known| known.factors == stream.factors);
            strata[trial] = known.unwrap_or(combinations.len());
            seeds[trial] = stream.seed;
            if known.is_none() {
                combinations.push(stream);
            }
        }
        Self {
            data,
            trials,
            repeats: repeats(&strata),
            invalid: invalid(data),
            design: Design::new(strata, &seeds),
            read: RefCell::default(),
        }
    }

    pub(super) fn streams(&self) -> &'a [StreamInfo] {
        self.data.streams()
    }

    /// How many of the trials of these streams are invalid, as a clause; `None` where none is.
    pub(super) fn invalid(&self, streams: impl Iterator<Item = usize>) -> Option<String> {
        let trials: BTreeSet<u32> = streams.map(|index| self.streams()[index].trial).collect();
        let invalid = trials.intersection(&self.invalid).count();
        let are = if invalid == 1 { "is" } else { "are" };
        (invalid > 0).then(|| {
            format!(
                "{invalid} of {} trials {are} invalid: see their flaws",
                trials.len()
            )
        })
    }

    pub(super) fn time_taken(&self) -> Option<TimeTaken> {
        self.data.time_taken()
    }

    /// Number of repeats of the combination that has most.
    pub(super) const fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Is each of these streams' trials repeated, and every repeat the same simulation, because nothing in it is random?
    pub(super) fn are_copies(&self, streams: &[usize]) -> bool {
        let mut repeats = BTreeMap::<String, (BTreeSet<u32>, BTreeSet<usize>)>::new();
        for &stream in streams {
            let info = &self.streams()[stream];
            let (trials, originals) = repeats.entry(combination(info)).or_default();
            trials.insert(info.trial);
            originals.insert(self.trials[stream]);
        }
        let is_copied = |(trials, originals): &(BTreeSet<u32>, BTreeSet<usize>)| {
            trials.len() > 1 && originals.len() == 1
        };
        !repeats.is_empty() && repeats.values().all(is_copied)
    }

    /// Are these streams of more than one trial? Copies are trials, too.
    pub(super) fn are_of_several_trials(&self, streams: &[usize]) -> bool {
        let trials = streams.iter().map(|&stream| self.streams()[stream].trial);
        trials.collect::<BTreeSet<u32>>().len() > 1
    }

    pub(super) const fn design(&self) -> &Design {
        &self.design
    }

    /// The values of a measure in these streams, each with the index of its trial; an error, a clause, if a stream
    /// has none. A measure of the whole trial comes once for each trial, and identical simulations come once.
    pub(super) fn values(
        &self,
        streams: &[usize],
        measure: Measure,
    ) -> Result<Vec<(usize, Rc<Values>)>, String> {
        let mut found: Vec<(usize, Rc<Values>)> = Vec::new();
        let mut distinct = Distinct::new();
        let mut without = None;
        for &stream in streams {
            let trial = self.trials[stream];
            let info = &self.streams()[stream];
            if !distinct.is_first(info.trace_hash, &info.probe) {
                continue;
            }
            if measure.is_of_trial() && found.iter().any(|(known, _)| *known == trial) {
                continue;
            }
            match self.of_stream(stream, measure) {
                Ok(values) => found.push((trial, values)),
                // Handshakes that are made beside requests have no server: the requests have. Packets that do not tell of their
                // trial leave it to others.
                Err(why) if measure.is_of_some_trials() => without = Some(why),
                Err(why) => return Err(self.lacks(stream, streams, measure).unwrap_or(why)),
            }
        }
        match without {
            Some(why) if found.is_empty() => Err(why),
            _ => Ok(found),
        }
    }

    /// That the probe of this stream has none of it and others have; `None` where none has, or it is of no probe.
    fn lacks(&self, stream: usize, streams: &[usize], measure: Measure) -> Option<String> {
        if measure.is_of_trial() {
            return None;
        }
        let all = self.streams();
        let probe = &all[stream].probe;
        let mut others = streams.iter().filter(|&&other| all[other].probe != *probe);
        let other = others.find(|&&other| self.of_stream(other, measure).is_ok())?;
        let other = &all[*other].probe;
        Some(format!(
            "probe `{probe}` has no {measure}, and others have: name one of them, as in `| probe={other}`"
        ))
    }

    fn of_stream(&self, stream: usize, measure: Measure) -> Result<Rc<Values>, String> {
        let mut read = self.read.borrow_mut();
        let values = read.entry((stream, measure)).or_insert_with(|| {
            let values = self.data.values(stream, measure);
            values.map(Rc::new)
        });
        let values = values
            .as_ref()
            .map_err(|MeasureUnavailable(why)| why.clone());
        values.map(Rc::clone)
    }
}

fn invalid(data: &dyn Data) -> BTreeSet<u32> {
    let streams = data.streams().iter().enumerate();
    let packets = streams.filter(|(_, info)| info.series.is_none());
    let invalid = packets.filter(|(index, _)| {
        let valid = data.values(*index, Measure::Valid);
        matches!(valid, Ok(Values::Trial(valid)) if valid == 0.0)
    });
    invalid.map(|(_, info)| info.trial).collect()
}

fn repeats(strata: &[usize]) -> u64 {
    let mut repeats = BTreeMap::<usize, u64>::new();
    for stratum in strata {
        *repeats.entry(*stratum).or_default() += 1;
    }
    repeats.values().copied().max().unwrap_or(1)
}

/// The levels of a stream's trial, which its repeats share.
fn combination(stream: &StreamInfo) -> String {
    let levels = stream.factors.iter();
    let levels = levels.map(|(factor, level)| format!("{factor}={}\n", level.label));
    levels.collect()
}
