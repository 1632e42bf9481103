//! The stop rule of a design, parsed: when repeats have made an interval narrow enough.

use crate::finding::check::{Check, Claim, Kind, LevelSet, LevelText, Selector, Statistic, Value};
use crate::finding::data::PROBE;
use delaylab_model::experiment::StopRule;
use delaylab_model::probe::Probe;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use delaylab_stats::summary::SummaryBuilder;
#[cfg(feature = "runs")]
use delaylab_stats::{student, summary::Figure};

/// A statistic and the precision at which to stop repeating.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
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

    /// Student's interval applies because each repeat has its own random numbers, so that the values are independent.
    #[cfg(feature = "runs")]
    fn is_narrow(&self, values: &[f64]) -> bool {
        let count = values.len();
        if count < 2 {
            return false;
        }
        let n = count as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        error * student::two_sided(0.95, count as u32 - 1) <= self.within * mean.abs()
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
