//! Which streams of two runs belong together: the same probe under the same levels of the factors that
//! both runs have. Repeats are pooled, and so are the levels of factors that only one of them has.

use delaylab_lab::finding::{Data, StreamInfo};
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, Level, compare_combinations, levels_in_words};
use delaylab_model::trial::RecordFacts;
use delaylab_model::words::{a_few, each_once};

/// One probe under one combination of levels, in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The levels of the factors that both have.
    pub factors: Vec<Factor>,
    /// The probe's name in A and in B: where each has a single one, they may differ.
    pub probes: [String; 2],
    /// Its streams by their index, each a trial.
    pub streams: [Vec<usize>; 2],
}

/// Levels and a probe.
pub(super) type Named<'a> = (&'a Vec<Factor>, &'a String);

impl Pair {
    /// By the probe's name in A.
    pub(super) const fn named(&self) -> Named<'_> {
        (&self.factors, &self.probes[0])
    }

    /// How to read its streams in A and in B.
    pub(super) fn facts(&self, data: [&dyn Data; 2]) -> Vec<RecordFacts> {
        let sides = data.into_iter().zip(&self.streams);
        let of = |(data, streams): (&dyn Data, &Vec<usize>)| {
            let each = streams.iter();
            each.filter_map(|&stream| data.facts(stream)).collect()
        };
        sides.flat_map::<Vec<_>, _>(of).collect()
    }

    /// Is it of handshakes that `ping` made during its requests, in both runs?
    pub(super) fn is_auxiliary(&self, data: [&dyn Data; 2]) -> bool {
        let mut sides = data.into_iter().zip(&self.streams);
        sides.all(|(data, streams)| streams.iter().all(|&stream| data.is_auxiliary(stream)))
    }

    /// `wait 1ms, probe echo`, of the factors that vary.
    pub fn label(&self, varied: &[String]) -> String {
        label(&self.factors, &self.probes[0], varied)
    }
}

/// Which streams of two runs belong together, and which have no counterpart.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairing {
    /// What both have, in order of the levels.
    pub pairs: Vec<Pair>,
    /// What only A has, and only B.
    pub alone: [Vec<String>; 2],
    /// Factors that only A has, and only B.
    pub pooled: [Vec<String>; 2],
}

/// Nothing of one run has a counterpart in the other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no probe under any combination of levels is in both: A has {a}, B has {b}")]
pub struct NothingInCommon {
    a: String,
    b: String,
}

/// The streams of one side that repeat each other.
#[derive(Debug)]
struct Cell {
    factors: Vec<Factor>,
    probe: String,
    streams: Vec<usize>,
}

impl Pairing {
    /// Of these streams of A and B; series are left out.
    ///
    /// # Errors
    /// No probe under no combination of levels is in both.
    pub fn new(a: &[StreamInfo], b: &[StreamInfo]) -> Result<Self, NothingInCommon> {
        let names = [a, b].map(factor_names);
        let both = |name: &&String| names.iter().all(|names| names.contains(name));
        let shared: Vec<String> = names[0].iter().filter(both).cloned().collect();
        let (pairs, alone) = matched([a, b].map(|streams| cells(streams, &shared)));
        let cells = alone
            .iter()
            .flatten()
            .map(|cell| (&cell.factors, &cell.probe));
        let varied = varied(cells.chain(pairs.iter().map(Pair::named)));
        let words = |cells: &Vec<Cell>| -> Vec<String> {
            let each = cells.iter();
            each.map(|cell| label(&cell.factors, &cell.probe, &varied))
                .collect()
        };
        let alone = alone.each_ref().map(words);
        if pairs.is_empty() {
            let [a, b] = alone.map(|alone| listed(&alone));
            return Err(NothingInCommon { a, b });
        }
        let own = |names: Vec<String>| {
            let own = names.into_iter().filter(|name| !shared.contains(name));
            own.collect()
        };
        Ok(Self {
            pairs,
            alone,
            pooled: names.map(own),
        })
    }
}

/// Those that belong together, and what is left of each side.
fn matched([in_a, mut in_b]: [Vec<Cell>; 2]) -> (Vec<Pair>, [Vec<Cell>; 2]) {
    let one_probe = probes(&in_a) == 1 && probes(&in_b) == 1;
    let same = |a: &Cell, b: &Cell| {
        let mut levels = a.factors.iter().zip(&b.factors);
        (one_probe || a.probe == b.probe) && levels.all(|(a, b)| a.1.is_same(&b.1))
    };
    let (mut pairs, mut only_a) = (Vec::new(), Vec::new());
    for cell in in_a {
        match in_b.iter().position(|other| same(&cell, other)) {
            Some(at) => pairs.push(pair(cell, in_b.remove(at))),
            None => only_a.push(cell),
        }
    }
    (pairs, [only_a, in_b])
}

/// Names of the factors, and `probe`, of which these have more than one level.
pub(super) fn varied<'a>(all: impl Iterator<Item = Named<'a>>) -> Vec<String> {
    let all: Vec<Named<'_>> = all.collect();
    let Some((first, probe)) = all.first() else {
        return Vec::new();
    };
    let differs = |at: usize| {
        let level = |factors: &Vec<Factor>| factors.get(at).map(|(_, level)| level.label.clone());
        all.iter().any(|(other, _)| level(other) != level(first))
    };
    let factors = first.iter().enumerate();
    let factors = factors.filter(|(at, _)| differs(*at));
    let names = factors.map(|(_, (name, _))| name.clone());
    let probes = all.iter().any(|(_, other)| other != probe);
    names.chain(probes.then(|| "probe".to_owned())).collect()
}

/// What tells each of these from the others.
pub(super) fn names(all: &[Named<'_>]) -> Vec<String> {
    let varied = varied(all.iter().copied());
    let each = all.iter();
    each.map(|(factors, probe)| label(factors, probe, &varied))
        .collect()
}

fn label(factors: &[Factor], probe: &str, varied: &[String]) -> String {
    let shown = factors.iter().filter(|(name, _)| varied.contains(name));
    let says_probe = varied.iter().any(|name| name == "probe") || shown.clone().next().is_none();
    levels_in_words(shown, says_probe.then_some(probe))
}

/// The first few of these.
fn listed(words: &[String]) -> String {
    const FEW: usize = 4;
    match words {
        [] => "none at all".to_owned(),
        _ => a_few(words, FEW),
    }
}

fn factor_names(streams: &[StreamInfo]) -> Vec<String> {
    let factors = streams.iter().flat_map(|stream| &stream.factors);
    let names = each_once(factors.map(|(name, _)| name.as_str()));
    names.into_iter().map(str::to_owned).collect()
}

fn probes(cells: &[Cell]) -> usize {
    let mut names: Vec<&str> = cells.iter().map(|cell| cell.probe.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

fn cells(streams: &[StreamInfo], shared: &[String]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut distinct = Distinct::new();
    let probes = streams.iter().enumerate();
    for (index, stream) in probes.filter(|(_, stream)| stream.series.is_none()) {
        let level = |name: &String| (name.clone(), stream.level(name).unwrap_or(Level::named("")));
        let factors: Vec<Factor> = shared.iter().map(level).collect();
        let same = |cell: &Cell| cell.factors == factors && cell.probe == stream.probe;
        let at = cells.iter().position(same).unwrap_or_else(|| {
            cells.push(Cell {
                factors,
                probe: stream.probe.clone(),
                streams: Vec::new(),
            });
            cells.len() - 1
        });
        // A copy of a simulation says nothing more of its cell.
        if distinct.is_first(stream.trace_hash, at) {
            cells[at].streams.push(index);
        }
    }
    // Trials may have run in any order; probes stay in that of the experiment.
    cells.sort_by(|a, b| compare_combinations(&a.factors, &b.factors, &[]));
    cells
}

fn pair(a: Cell, b: Cell) -> Pair {
    Pair {
        factors: a.factors,
        probes: [a.probe, b.probe],
        streams: [a.streams, b.streams],
    }
}
