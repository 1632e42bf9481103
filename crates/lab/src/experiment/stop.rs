//! The stop rule of a design, parsed: when repeats have made an interval narrow enough.

use crate::finding::check::{Check, Claim, Kind, LevelSet, LevelText, Selector, Statistic, Value};
use crate::finding::data::PROBE;
#[cfg(feature = "runs")]
use crate::finding::judge::two_digits;
use delaylab_model::experiment::StopRule;
use delaylab_model::probe::Probe;
use delaylab_model::trial::RecordFacts;
#[cfg(feature = "runs")]
use delaylab_model::trial::Trial;
#[cfg(feature = "runs")]
use delaylab_model::units::format_share;
#[cfg(feature = "runs")]
use delaylab_model::words::{a_few, plural};
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use delaylab_stats::summary::SummaryBuilder;
#[cfg(feature = "runs")]
use delaylab_stats::{interval::CONFIDENCE, student, summary::Figure};

/// A statistic and the precision at which to stop repeating.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
    /// The statistic as the rule has it.
    of: String,
    /// Name of the statistic among the figures of a trial's summary, such as `response_p50_ns`.
    figure: String,
    functional: Functional,
    /// The only probe to look at; `None`: all probes.
    probe: Option<String>,
    /// Largest half-width of the 95 % interval of the mean, as a share of the mean.
    within: f64,
    /// Smallest number of repeats of each combination, whatever the interval.
    at_least: u32,
}

impl Precision {
    /// Parses a rule. The error is a sentence: the text is not one statistic, a trial's summary lacks it, or
    /// it has selectors other than one probe.
    pub fn read(rule: &StopRule, at_least: u32) -> Result<Self, String> {
        let check = Check::parse(&format!("{} > 0", rule.of)).map_err(|error| error.sentence())?;
        let Some(statistic) = only_statistic(check) else {
            return Err(format!("`{}` is no statistic of a measure", rule.of));
        };
        let (figure, functional) = figure(&statistic)?;
        Ok(Self {
            of: rule.of.clone(),
            figure,
            functional,
            probe: only_probe(&statistic.selectors)?,
            within: rule.within.as_f64(),
            at_least: at_least.max(2),
        })
    }

    /// The only probe to look at; `None`: all probes.
    pub(super) fn probe(&self) -> Option<&str> {
        self.probe.as_deref()
    }

    /// The probes of a trial that are looked at, by their index.
    #[cfg(feature = "runs")]
    pub(super) fn probes(&self, trial: &Trial) -> Vec<usize> {
        let probes = trial.probes.iter().enumerate();
        let meant =
            probes.filter(|(_, probe)| self.probe().is_none_or(|meant| meant == probe.name));
        meant.map(|(index, _)| index).collect()
    }

    /// Why the trials of this probe never end the repeats: it sends too few packets for the quantile. A sentence; `None` where
    /// it may, or another probe is meant.
    pub fn too_few_packets(&self, probe: &Probe) -> Option<String> {
        let Functional::Quantile(q) = self.functional else {
            return None;
        };
        let is_meant = self.probe().is_none_or(|meant| meant == probe.name);
        let count = (probe.expected_packets()? - probe.warmup as f64).max(0.0);
        (is_meant && !carries(count as u64, q)).then(|| {
            let quantile = self.functional.name();
            let least = 1.0 / q.min(1.0 - q);
            format!(
                "design.stop: {quantile} needs {least:.0} answers in a trial; probe `{}` has about {count:.0}, and \
                 they never end the repeats",
                probe.name
            )
        })
    }

    /// The statistic among the figures of one probe in one trial; `None` if another probe is meant.
    #[cfg(feature = "runs")]
    pub(super) fn value(&self, probe: &str, figures: &[Figure]) -> Option<f64> {
        let is_meant = self.probe.as_deref().is_none_or(|meant| meant == probe);
        let figure = figures.iter().find(|(name, _)| *name == self.figure);
        figure.filter(|_| is_meant).and_then(|(_, value)| *value)
    }

    /// Is the interval of the mean of these values narrow enough, and that of all but the last as well? After each repeat
    /// it is looked at again: few repeats that happen to agree would end it otherwise. Those that are equal are so in every
    /// repeat.
    #[cfg(feature = "runs")]
    pub(super) fn is_reached(&self, values: &[f64]) -> bool {
        let Some((last, before)) = values.split_last() else {
            return false;
        };
        let are_equal = before.iter().all(|value| value == last);
        values.len() >= self.at_least as usize
            && self.is_narrow(values)
            && (are_equal || self.is_narrow(before))
    }

    #[cfg(feature = "runs")]
    fn is_narrow(&self, values: &[f64]) -> bool {
        self.reach(values).is_some_and(|reach| reach <= self.within)
    }

    /// Half the 95 % interval of the mean of these values, as a share of the mean; `None` of fewer than two. Student's interval
    /// applies because each repeat has its own random numbers, so that the values are independent.
    #[cfg(feature = "runs")]
    fn reach(&self, values: &[f64]) -> Option<f64> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let n = count as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half =
            (squares / (n - 1.0) / n).sqrt() * student::two_sided(CONFIDENCE, count as u32 - 1);
        Some(if half > 0.0 { half / mean.abs() } else { 0.0 })
    }

    /// What is missing from the precision asked for, of these combinations of levels with the values of their repeats; `all`: how
    /// many combinations there are. A sentence; `None` where nothing is.
    #[cfg(feature = "runs")]
    pub(super) fn missed(&self, combinations: &[(String, Vec<f64>)], all: usize) -> Option<String> {
        /// As many are named.
        const NAMED: usize = 4;
        let reach = |values: &Vec<f64>| self.reach(values).unwrap_or(f64::INFINITY);
        let missed = combinations
            .iter()
            .filter(|(_, values)| reach(values) > self.within);
        let missed: Vec<_> = missed.collect();
        let worst = missed.iter().map(|(_, values)| values);
        let worst = worst.max_by(|a, b| reach(a).total_cmp(&reach(b)))?;
        let mut names: Vec<&str> = missed.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        let of = match names.as_slice() {
            [""] => String::new(),
            _ => format!(
                ", of {} of {all} combinations of levels ({})",
                names.len(),
                a_few(&names, NAMED)
            ),
        };
        let (statistic, wanted) = (&self.of, format_share(self.within));
        let found = reach(worst);
        if !found.is_finite() {
            return Some(format!(
                "design.stop: {statistic} is not within ±{wanted}{of}: {} with a value",
                plural(worst.len() as u64, "repeat")
            ));
        }
        let repeats = worst.len() as f64 * (found / self.within).powi(2);
        Some(format!(
            "design.stop: {statistic} is within ±{} after {}, not within ±{wanted}{of}; about {} would do: raise `at_most`",
            format_share(found),
            plural(worst.len() as u64, "repeat"),
            two_digits(repeats)
        ))
    }
}

fn only_statistic(check: Check) -> Option<Statistic> {
    match check.claim {
        Claim::Compare(comparison) if check.each.is_empty() && comparison.rest.len() == 1 => {
            match comparison.first {
                Value::Statistic(statistic) => Some(statistic),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The name of a statistic in a trial's summary and its functional, or an error if the summary lacks it.
fn figure(statistic: &Statistic) -> Result<(String, Functional), String> {
    let found = match &statistic.kind {
        Kind::Of(function, measure) => {
            let measure = measure.to_string();
            // A summary calls the ways there and back without the `path` of a finding's stages.
            let measure = measure.strip_suffix("_path").unwrap_or(&measure);
            Some((format!("{measure}_{}_ns", function.name()), *function))
        }
        Kind::Share(..) | Kind::On(..) => None,
    };
    let figures = SummaryBuilder::new(RecordFacts::default(), 0)
        .finish()
        .figures();
    let is_there =
        |(name, _): &(String, Functional)| figures.iter().any(|(known, _)| known == name);
    found.filter(is_there).ok_or_else(|| {
        format!(
            "`{statistic}` is not in a trial's summary, which has min, mean, sd, iqr, p50, p90, p99, p999 \
             and max of response, round_trip, network, host, forward and return"
        )
    })
}

fn only_probe(selectors: &[Selector]) -> Result<Option<String>, String> {
    match selectors {
        [] => Ok(None),
        [selector] if selector.factor == PROBE => match &selector.which {
            LevelSet::In(levels) if levels.len() == 1 => Ok(levels.first().map(text)),
            _ => Err("name one probe, as in `| probe=echo`, or none".to_owned()),
        },
        _ => Err(
            "every combination of levels is repeated until its own interval is narrow enough: only \
             `probe` can be selected"
                .to_owned(),
        ),
    }
}

fn text(level: &LevelText) -> String {
    level.text.clone()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::quantity::Share;

    fn read(of: &str) -> Result<Precision, String> {
        let rule = StopRule {
            of: of.to_owned(),
            within: Share(50_000_000),
            at_most: 20,
        };
        Precision::read(&rule, 1)
    }

    #[test]
    fn a_statistic_of_the_summary_stops() {
        let stop = read("p50(response | probe=echo)").unwrap();
        let figures = [("response_p50_ns".to_owned(), Some(7.0))];
        assert_eq!(stop.value("echo", &figures), Some(7.0));
        assert_eq!(stop.value("other", &figures), None);
        for (of, figure) in [
            ("mean(round_trip)", "round_trip_mean_ns"),
            ("p50(forward)", "forward_p50_ns"),
            ("p99(return_path)", "return_p99_ns"),
        ] {
            assert_eq!(read(of).unwrap().figure, figure);
        }
    }

    #[test]
    fn a_quantile_of_too_few_packets_never_ends_the_repeats() {
        let why = |of: &str, count: u64| {
            let mut probe = Probe::new("echo", Method::Udp);
            (probe.count, probe.warmup) = (Some(count), 10);
            read(of).unwrap().too_few_packets(&probe)
        };
        assert_eq!(why("p999(response)", 1010), None);
        assert_eq!(why("p50(response)", 11), None);
        assert_eq!(why("max(response)", 11), None);
        assert_eq!(why("p999(response | probe=other)", 510), None);
        for (of, count, part) in [
            ("p999(response)", 510, "p999 needs 1000 answers in a trial"),
            ("p999(response)", 510, "probe `echo` has about 500"),
            ("p99(network | probe=echo)", 109, "has about 99"),
            ("p90(response)", 5, "has about 0"),
        ] {
            let said = why(of, count).unwrap();
            assert!(said.contains(part), "{of} {count}: {said}");
        }
    }

    #[test]
    fn others_say_why_not() {
        for (of, why) in [
            ("p75(response)", "not in a trial's summary"),
            ("share(response > 1ms)", "not in a trial's summary"),
            ("2 * p50(response)", "no statistic"),
            ("p50(response | size=64B)", "only `probe`"),
            ("p50(latency)", "there is no measure"),
        ] {
            let said = read(of).unwrap_err();
            assert!(said.contains(why), "{of}: {said}");
        }
    }

    #[test]
    fn what_is_missed_is_told_with_what_would_do() {
        let stop = read("mean(response)").unwrap();
        let missed = |values: &[(&str, &[f64])]| {
            let each = values.iter();
            let each: Vec<_> = each
                .map(|(name, values)| ((*name).to_owned(), values.to_vec()))
                .collect();
            stop.missed(&each, 6)
        };
        let narrow: &[f64] = &[100.0, 101.0, 100.0, 101.0];
        let wide: &[f64] = &[100.0, 120.0, 100.0, 120.0];
        assert_eq!(missed(&[("", narrow), ("rate 1Mbit/s", narrow)]), None);
        assert_eq!(
            missed(&[("", wide)]).unwrap(),
            "design.stop: mean(response) is within ±17 % after 4 repeats, not within ±5.0 %; about 45 would do: \
             raise `at_most`"
        );
        let two = missed(&[
            ("rate 1Mbit/s", narrow),
            ("rate 2Mbit/s", wide),
            ("rate 3Mbit/s", wide),
        ]);
        let of = ", of 2 of 6 combinations of levels (rate 2Mbit/s; rate 3Mbit/s); about 45";
        assert!(two.as_ref().unwrap().contains(of), "{two:?}");
        let none = missed(&[("rate 1Mbit/s", &[7.0])]);
        assert!(
            none.as_ref().unwrap().ends_with(": 1 repeat with a value"),
            "{none:?}"
        );
    }

    #[test]
    fn an_interval_of_five_percent_is_narrow_enough() {
        let stop = read("mean(response)").unwrap();
        assert!(!stop.is_reached(&[100.0]));
        assert!(stop.is_reached(&[100.0, 100.0]));
        // t(1) = 12.7: two values tell little.
        assert!(!stop.is_reached(&[100.0, 101.0]));
        // Two that happen to agree.
        assert!(!stop.is_reached(&[100.0, 100.5]));
        let settling = [100.0, 110.0, 105.0, 105.0, 105.0, 105.0];
        assert!(!stop.is_reached(&settling[..5]) && stop.is_reached(&settling));
        assert!(stop.is_reached(&[100.0, 100.5, 100.0]));
        assert!(stop.is_reached(&[100.0, 101.0, 100.0, 101.0]));
        assert!(!stop.is_reached(&[100.0, 120.0, 100.0, 120.0]));
    }
}
