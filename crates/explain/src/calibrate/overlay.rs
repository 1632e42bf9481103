//! Measured and simulated distributions side by side, for each combination of levels and each probe.
//!
//! The model has no noise: to each simulated value the noise of some packet without load is added, drawn
//! from the run's seed, so that what hosts do now and then is in both.

use super::hosts::Noise;
use super::run_trials::{ProbeStream, RunTrials, Trial};
use crate::grouped::grouped;
use delaylab_model::plan::Factor;
use delaylab_model::probe::is_warm;
use delaylab_model::record::Record;
use delaylab_stats::quantile::rank;
use delaylab_stats::random::SplitMix;
use delaylab_stats::two_samples::wasserstein;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// What the user waits.
    Response,
    /// What the network takes; for frames, one way.
    Network,
}

impl Measure {
    /// Both.
    pub const ALL: [Measure; 2] = [Measure::Response, Measure::Network];

    /// Its name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Response => "response",
            Measure::Network => "network",
        }
    }

    fn value(self, stream: &ProbeStream, record: &Record) -> Option<i64> {
        match self {
            Measure::Response if stream.method.is_one_way() => None,
            Measure::Response => record.response(),
            Measure::Network => stream.network(record),
        }
    }
}

/// The quantiles that are compared.
pub const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// One distribution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// In nanoseconds, rising.
    pub values: Vec<f64>,
}

impl Distribution {
    fn from_values(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { values }
    }

    /// `None` without values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        rank(self.values.len(), q).map(|at| self.values[at])
    }
}

/// One probe at one combination of levels, in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// The probe.
    pub probe: String,
    /// Without load and loss.
    pub unloaded: bool,
    /// Packets sent behind the warm-up, and lost.
    pub packets: [usize; 2],
    /// By [`Measure::ALL`].
    pub delays: [Distribution; 2],
}

impl Group {
    /// Share of its packets that was lost; `None` without any.
    pub fn lost(&self) -> Option<f64> {
        let [sent, lost] = self.packets;
        (sent > 0).then(|| lost as f64 / sent as f64)
    }

    /// Its delays.
    pub fn delay(&self, measure: Measure) -> &Distribution {
        match measure {
            Measure::Response => &self.delays[0],
            Measure::Network => &self.delays[1],
        }
    }
}

/// The groups of a run, in the order of its trials; repeats together, flawed trials left out.
pub fn groups(seen: &RunTrials) -> Vec<Group> {
    let streams = seen.usable().flat_map(|trial| {
        let each = trial.streams.iter();
        each.map(move |stream| {
            let key = (trial.factors.as_slice(), stream.probe.as_str());
            (key, (trial, stream))
        })
    });
    let groups = grouped(streams).into_iter();
    groups
        .map(|((factors, probe), streams)| group(factors, probe, &streams))
        .collect()
}

fn group(factors: &[Factor], probe: &str, streams: &[(&Trial, &ProbeStream)]) -> Group {
    let counted = || {
        streams.iter().flat_map(|(_, stream)| {
            let own = stream
                .records
                .iter()
                .filter(|record| is_warm(record.seq, stream.warmup));
            own.map(move |record| (stream, record))
        })
    };
    let delays = Measure::ALL.map(|measure| {
        let answered = counted().filter(|(_, record)| record.answered());
        let values = answered.filter_map(|(stream, record)| measure.value(stream, record));
        Distribution::from_values(values.map(|ns| ns as f64).collect())
    });
    let sent = counted().filter(|(_, record)| record.outcome.was_sent());
    let lost = counted().filter(|(_, record)| record.outcome.is_lost());
    Group {
        factors: factors.to_vec(),
        probe: probe.to_owned(),
        unloaded: streams.iter().all(|(trial, _)| trial.is_unloaded()),
        packets: [sent.count(), lost.count()],
        delays,
    }
}

/// Adds noise to simulated groups. Frames cross no host.
pub fn add_noise(groups: &mut [Group], noise: &Noise, seed: u64) {
    let mut random = SplitMix::new(seed);
    for group in groups {
        let is_frames = group.delays[0].values.is_empty();
        for (delays, noise) in group
            .delays
            .iter_mut()
            .zip([&noise.response, &noise.network])
        {
            if noise.is_empty() || is_frames {
                continue;
            }
            let values = delays
                .values
                .iter()
                .map(|ns| ns + noise[random.below(noise.len())]);
            *delays = Distribution::from_values(values.collect());
        }
    }
}

/// A group of the measured run and the same of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// As measured.
    pub measured: Group,
    /// As simulated.
    pub model: Group,
}

/// How far a model is from what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Mean distance of the two quantile functions, in nanoseconds.
    pub wasserstein: f64,
    /// At each of [`QUANTILES`]: measured, simulated, in nanoseconds.
    pub quantiles: [[f64; 2]; QUANTILES.len()],
}

impl Distance {
    /// Simulated less measured, as a share of measured, at each of [`QUANTILES`].
    pub fn errors(&self) -> [f64; QUANTILES.len()] {
        self.quantiles
            .map(|[measured, model]| (model - measured) / measured)
    }
}

/// The groups that both have.
pub fn pairs(measured: Vec<Group>, model: &[Group]) -> Vec<Pair> {
    let label = |factors: &[Factor]| -> Vec<(String, String)> {
        let each = factors
            .iter()
            .map(|(name, level)| (name.clone(), level.label.clone()));
        let mut each: Vec<_> = each.collect();
        each.sort();
        each
    };
    let pair = |measured: Group| {
        let same = |group: &&Group| {
            group.probe == measured.probe && label(&group.factors) == label(&measured.factors)
        };
        let model = model.iter().find(same)?.clone();
        Some(Pair { measured, model })
    };
    measured.into_iter().filter_map(pair).collect()
}

impl Pair {
    /// `None` where one of them has no value.
    pub fn distance(&self, measure: Measure) -> Option<Distance> {
        let [measured, model] = [&self.measured, &self.model].map(|group| group.delay(measure));
        let at = |q| Some([measured.quantile(q)?, model.quantile(q)?]);
        let [p50, p90, p99] = QUANTILES.map(at);
        Some(Distance {
            wasserstein: wasserstein(&measured.values, &model.values)?,
            quantiles: [p50?, p90?, p99?],
        })
    }
}
