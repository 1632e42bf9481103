//! What is compared, and its values on one side of a pair, trial by trial.

use super::asked::SEED;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::{Data, Measure, MeasureUnavailable, Values};
use delaylab_model::Nanos;
use delaylab_model::trial::{RecordFacts, Residence};
use delaylab_stats::anatomy::{self, StageSet};
use delaylab_stats::random::SplitMix;
use delaylab_stats::two_samples::Series;

/// Values of a side that are held at once: 8 MB of each measure and stage.
const MAX_VALUES: u64 = 1_000_000;
/// Values of a side that tests go through. A permutation test deals them out a thousand times.
const MAX_TESTED_VALUES: usize = 50_000;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A measure of packets.
    Measure(Measure),
    /// One stage, or several that one of the runs cannot tell apart.
    Stages(StageSet),
}

impl Quantity {
    /// For people: `round trip`, `local queue`.
    pub fn name(self) -> String {
        match self {
            Quantity::Measure(measure) => measure.name().replace('_', " "),
            Quantity::Stages(stages) => stages.name(),
        }
    }

    /// For programs: `round_trip`, `forward_path+return_path`.
    pub fn key(self) -> String {
        match self {
            Quantity::Measure(measure) => measure.name().to_owned(),
            Quantity::Stages(stages) => stages.key(),
        }
    }

    /// What its values count.
    pub fn dimension(self) -> Dimension {
        match self {
            Quantity::Measure(measure) => measure.dimension().unwrap_or(Dimension::NUMBER),
            Quantity::Stages(_) => Dimension::TIME,
        }
    }

    /// Does it count nanoseconds?
    pub fn is_time(self) -> bool {
        self.dimension() == Dimension::TIME
    }
}

/// One side of a pair.
pub(super) struct Side<'a> {
    data: &'a dyn Data,
    streams: &'a [usize],
    residence: Residence,
    /// One of so many packets is taken.
    pub(super) thinned: usize,
}

/// For each trial, its values in order of time; NaN for a packet without.
pub(super) type Trials = Vec<Vec<f64>>;

impl<'a> Side<'a> {
    /// With this many packets in all, read by this residence.
    pub(super) fn new(
        data: &'a dyn Data,
        streams: &'a [usize],
        residence: Residence,
        packets: u64,
    ) -> Self {
        Self {
            data,
            streams,
            residence,
            thinned: packets.div_ceil(MAX_VALUES).max(1) as usize,
        }
    }

    /// Values of its trials, each with what its random numbers are drawn from where it was simulated.
    pub(super) fn series<'b>(&self, trials: &'b Trials) -> Vec<Series<'b>> {
        let seeds = self
            .streams
            .iter()
            .map(|&stream| self.data.streams()[stream].seed);
        let each = trials.iter().zip(seeds);
        each.map(|(values, seed)| Series { values, seed }).collect()
    }

    /// The same with every packet.
    pub(super) const fn every(&self) -> Self {
        Self {
            thinned: 1,
            ..*self
        }
    }

    /// The values of a measure; why there is none.
    pub(super) fn measure(&self, measure: Measure) -> Result<Trials, String> {
        let of = |&stream: &usize| match values(self.data, stream, measure, self.residence) {
            Ok(Values::Packets(mut values)) => {
                let mut thinner = Thinner::new(self.thinned, stream);
                values.retain(|_| thinner.takes());
                Ok(values)
            }
            Ok(_) => Err(format!("{measure} is no measure of single packets")),
            Err(MeasureUnavailable(why)) => Err(why),
        };
        let each: Vec<Result<Vec<f64>, String>> = self.streams.iter().map(of).collect();
        if measure.is_of_some_trials() && each.iter().any(Result::is_ok) {
            return Ok(each.into_iter().map(Result::unwrap_or_default).collect());
        }
        each.into_iter().collect()
    }

    /// The values of stages, for each of these.
    pub(super) fn stages(&self, sets: &[StageSet]) -> Vec<Trials> {
        let mut found = vec![Trials::new(); sets.len()];
        for &stream in self.streams {
            found.iter_mut().for_each(|trials| trials.push(Vec::new()));
            let mut thinner = Thinner::new(self.thinned, stream);
            let facts = RecordFacts {
                residence: self.residence,
                ..self.data.facts(stream).unwrap_or_default()
            };
            self.data.records(stream, &mut |record| {
                if !thinner.takes() {
                    return;
                }
                let parts = anatomy::parts(record, &facts);
                for (set, trials) in sets.iter().zip(&mut found) {
                    if let Some(values) = trials.last_mut() {
                        values.push(within(*set, &parts));
                    }
                }
            });
        }
        found
    }
}

/// The values of a measure in a stream, read by this residence: where the reflector ends says what network and host are, and
/// only what is the same in both runs is compared.
pub(super) fn values(
    data: &dyn Data,
    stream: usize,
    measure: Measure,
    residence: Residence,
) -> Result<Values, MeasureUnavailable> {
    use Measure::{Delay, Host, IpdvOf, Network, PdvOf, Stage};
    let is_by_residence = matches!(
        measure,
        Network | Host | Delay | Stage(_) | IpdvOf(_) | PdvOf(_)
    );
    match data.facts(stream) {
        Some(own) if is_by_residence && own.known_residence() != residence => {
            let facts = RecordFacts { residence, ..own };
            measure.of_each(&facts, |take| data.records(stream, take))
        }
        _ => data.values(stream, measure),
    }
}

/// As many of them as tests go through.
pub(super) fn few(trials: &[Vec<f64>]) -> Trials {
    let all: usize = trials.iter().map(Vec::len).sum();
    let each = all.div_ceil(MAX_TESTED_VALUES).max(1);
    let thin = |(at, values): (usize, &Vec<f64>)| {
        let mut thinner = Thinner::new(each, at);
        let kept = values.iter().copied().filter(|_| thinner.takes());
        kept.collect()
    };
    trials.iter().enumerate().map(thin).collect()
}

/// How long the packet was in these stages; NaN where its stamps do not tell.
fn within(set: StageSet, parts: &[(StageSet, Nanos)]) -> f64 {
    let inside = || parts.iter().filter(|(stages, _)| set.covers(*stages));
    let covered: usize = inside().map(|(stages, _)| stages.len()).sum();
    if covered < set.len() {
        return f64::NAN;
    }
    inside().map(|(_, ns)| *ns as f64).sum()
}

/// One of each so many packets, at random: what comes at regular intervals is met as often as it is there.
struct Thinner {
    each: usize,
    at: usize,
    chosen: usize,
    random: SplitMix,
}

impl Thinner {
    fn new(each: usize, stream: usize) -> Self {
        Self {
            each,
            at: 0,
            chosen: 0,
            random: SplitMix::new(SEED.wrapping_add(stream as u64)),
        }
    }

    fn takes(&mut self) -> bool {
        if self.each == 1 {
            return true;
        }
        if self.at == 0 {
            self.chosen = self.random.below(self.each);
        }
        let takes = self.at == self.chosen;
        self.at = (self.at + 1) % self.each;
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_so_many_is_taken_and_nothing_periodic_is_missed() {
        let mut thinner = Thinner::new(10, 0);
        let taken: Vec<usize> = (0..10_000).filter(|_| thinner.takes()).collect();
        assert_eq!(taken.len(), 1_000);
        assert!(taken.iter().enumerate().all(|(group, at)| at / 10 == group));
        let periodic = taken.iter().filter(|&at| at % 10 == 3).count();
        assert!((60..140).contains(&periodic), "{periodic}");
    }
}
