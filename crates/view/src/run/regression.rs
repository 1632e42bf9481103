//! Least, mean and largest delay of frames as linear functions of what was varied (source 001): on each
//! factor by itself, and on all of them with their interactions.

use super::{RunData, TrialData, Ways};
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, level_of, levels_in_words};
use delaylab_stats::regression::{Model, Regression};
use delaylab_stats::summary::Distribution;
use std::collections::BTreeMap;

/// Levels that a factor has at least, for a line through them to say anything.
const LEVELS: usize = 3;

/// A model that was fitted to the trials of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// `min`, `mean` or `max` of the delay.
    pub statistic: &'static str,
    /// The other factors' levels, which its trials share. Empty where there are none.
    pub group: String,
    /// The factors in it.
    pub model: String,
    /// How many trials and probes.
    pub observations: usize,
    /// Share of the variance that it explains.
    pub r2: f64,
    /// One for each term.
    pub terms: Vec<Term>,
    /// Of each observation: what the model says, and what is left, in nanoseconds.
    pub residuals: Vec<(f64, f64)>,
    /// p of the hypothesis that the residuals have one variance (Breusch and Pagan, by Koenker).
    pub even: Option<f64>,
    /// p of the hypothesis that the model is linear: lack of fit, or RESET without repeats.
    pub linear: Option<f64>,
}

/// A coefficient.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// `constant`, `size`, `size × threshold`.
    pub name: String,
    /// Nanoseconds for each unit of its factors: bytes, or the whole of a share.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// How much its variance is inflated by what the other terms say too, factors centred.
    pub inflation: Option<f64>,
}

/// A number of a distribution of delays.
type Statistic = (&'static str, fn(&Distribution) -> f64);

const STATISTICS: [Statistic; 3] = [
    ("min", |delay| delay.min as f64),
    ("mean", |delay| delay.mean),
    ("max", |delay| delay.max as f64),
];

/// Every model of this run's trials. Only runs of frames have any.
pub fn regressions(run: &RunData) -> Vec<Fitted> {
    if run.ways() != Ways::OneWay {
        return Vec::new();
    }
    let numeric = numeric(run);
    let mut all = Vec::new();
    for (group, trials) in groups(run, &numeric) {
        for statistic in STATISTICS {
            for name in &numeric {
                all.extend(fit(&trials, &[name], &group, statistic));
            }
            if numeric.len() > 1 {
                let names: Vec<_> = numeric.iter().map(String::as_str).collect();
                all.extend(fit(&trials, &names, &group, statistic));
            }
        }
    }
    all
}

/// Factors with numbers for levels, and enough of them.
fn numeric(run: &RunData) -> Vec<String> {
    let mut levels = BTreeMap::<&str, Vec<u64>>::new();
    let mut order = Vec::new();
    for (name, level) in run.trials.iter().flat_map(|trial| &trial.stream.factors) {
        if let Some(value) = level.value {
            let seen = levels.entry(name).or_default();
            if seen.is_empty() {
                order.push(name.clone());
            }
            if !seen.contains(&value.to_bits()) {
                seen.push(value.to_bits());
            }
        }
    }
    order.retain(|name| levels[name.as_str()].len() >= LEVELS);
    order
}

/// Trials by the levels of the factors that are no numbers, and by probe: what one adds to another's
/// delay is no scatter.
fn groups<'a>(run: &'a RunData, numeric: &[String]) -> Vec<(String, Vec<&'a TrialData>)> {
    let mut groups: Vec<(String, Vec<&TrialData>)> = Vec::new();
    let several = run.trials.iter().any(|trial| trial.stream.probe > 0);
    let mut distinct = Distinct::new();
    for trial in &run.trials {
        // Copies of a simulation would be observations that nothing stands behind.
        if !distinct.is_first(trial.stream.trace_hash, trial.stream.probe) {
            continue;
        }
        let other = |(name, _): &&Factor| !numeric.contains(name);
        let others = trial.stream.factors.iter().filter(other);
        let label = levels_in_words(others, several.then_some(&trial.stream.name));
        match groups.iter_mut().find(|(known, _)| *known == label) {
            Some((_, trials)) => trials.push(trial),
            None => groups.push((label, vec![trial])),
        }
    }
    groups
}

fn fit(
    trials: &[&TrialData],
    names: &[impl AsRef<str>],
    group: &str,
    (statistic, of): Statistic,
) -> Option<Fitted> {
    let mut factors = vec![Vec::new(); names.len()];
    let mut delays = Vec::new();
    for trial in trials {
        let values: Option<Vec<f64>> = names
            .iter()
            .map(|name| value(trial, name.as_ref()))
            .collect();
        if let (Some(values), Some(delay)) = (values, &trial.summary.round_trip) {
            factors
                .iter_mut()
                .zip(values)
                .for_each(|(column, value)| column.push(value));
            delays.push(of(delay));
        }
    }
    let regression = model(names).fit(&factors, &delays).ok()?;
    let fitted = regression.fitted.iter().copied();
    Some(Fitted {
        statistic,
        group: group.to_owned(),
        model: names
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join(" × "),
        observations: delays.len(),
        r2: regression.fit.r2,
        terms: terms(&regression),
        residuals: fitted.zip(regression.residuals.iter().copied()).collect(),
        even: regression.heteroscedasticity().map(|test| test.p),
        linear: regression
            .lack_of_fit()
            .or_else(|| regression.reset())
            .map(|test| test.p),
    })
}

fn value(trial: &TrialData, name: &str) -> Option<f64> {
    level_of(&trial.stream.factors, name)?.value
}

/// A constant, each factor, and each pair of them.
fn model(names: &[impl AsRef<str>]) -> Model {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    let count = names.len();
    let mut model = Model::new(names).constant();
    for factor in 0..count {
        model = model.linear(factor);
    }
    for first in 0..count {
        for second in first + 1..count {
            model = model.interaction(&[first, second]);
        }
    }
    model
}

fn terms(regression: &Regression) -> Vec<Term> {
    let inflation = regression.inflation();
    let named = regression.terms.iter().zip(&regression.fit.coefficients);
    let term = |(at, (name, coefficient)): (
        usize,
        (&String, &delaylab_stats::regression::Coefficient),
    )| Term {
        name: name.clone(),
        value: coefficient.value,
        interval: coefficient.inference.map(|inference| inference.interval),
        inflation: inflation
            .iter()
            .find(|of| of.term == at)
            .and_then(|of| of.centred),
    };
    named.enumerate().map(term).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::sizes;

    #[test]
    fn packets_have_none_and_frames_have_those_of_their_factors() {
        let mut run = sizes();
        assert_eq!(regressions(&run), []);
        run.trials
            .iter_mut()
            .for_each(|trial| trial.stream.frames = true);
        let found = regressions(&run);
        assert!(!found.is_empty());
        for fitted in &found {
            assert!(fitted.model.contains("size"), "{fitted:?}");
            assert_eq!(fitted.terms[0].name, "constant");
            assert!((0.0..=1.0).contains(&fitted.r2), "{fitted:?}");
            assert_eq!(fitted.observations, fitted.residuals.len());
            // A model with a constant leaves nothing on average.
            let rest: f64 = fitted.residuals.iter().map(|(_, residual)| residual).sum();
            let size: f64 = fitted.residuals.iter().map(|(value, _)| value.abs()).sum();
            assert!(rest.abs() <= 1e-9 * size, "{fitted:?}");
        }
        // Each trial of a group is in each of its models.
        let statistics: Vec<_> = found.iter().map(|fitted| fitted.statistic).collect();
        for statistic in ["min", "mean", "max"] {
            let of = found.iter().filter(|fitted| fitted.statistic == statistic);
            let observations: usize = of.map(|fitted| fitted.observations).sum();
            assert_eq!(observations % run.trials.len(), 0, "{statistics:?}");
        }
    }

    #[test]
    fn what_one_probe_adds_is_no_scatter_of_another() {
        let mut run = sizes();
        run.trials
            .iter_mut()
            .for_each(|trial| trial.stream.frames = true);
        let alone = groups(&run, &numeric(&run)).len();
        for trial in run.trials.iter_mut().step_by(3) {
            trial.stream.probe = 1;
            trial.stream.name = "b".to_owned();
        }
        assert!(groups(&run, &numeric(&run)).len() > alone);
    }
}
