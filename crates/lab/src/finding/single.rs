//! Checks a limit against the packets of one probe while they arrive, for `delaylab ping --fail-if`.
//!
//! The language is that of checks and of `compare --fail-if`, as far as it fits one probe: a statistic or a share of
//! a measure of packets, compared with a value. The answer is about exactly these packets, without an interval: the
//! statistic has the value that the summary prints.

use super::check::{Bound, Kind, Limit, Value};
use super::dimension::Dimension;
use super::measure::{DelayOf, Measure, Reader};
use super::values::Values;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::anatomy::Stage;
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use std::collections::BTreeMap;

/// A limit, and the measure's value of each packet so far (8 bytes each).
#[derive(Debug, Clone)]
pub struct LimitCheck {
    limit: Limit,
    measure: Measure,
    functional: Functional,
    facts: RecordFacts,
    reader: Reader,
    values: Vec<f64>,
    /// Records that arrived before that of an earlier packet, by sequence number. They wait, because delay
    /// variation is computed between neighbours.
    early: BTreeMap<u64, Record>,
    next: u64,
}

/// The result of checking a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The limit as text, in normal form.
    pub limit: String,
    /// Value of the statistic; `None` if no packet has the measure.
    pub value: Option<f64>,
    /// The unit of value and bound: `ns`, `1` for a share or a plain number.
    pub unit: String,
    /// The bound.
    pub bound: f64,
    /// Number of values from which the statistic is computed.
    pub count: u64,
    /// Whether the forbidden condition holds. Also true if the statistic is unknown, because it might hold.
    pub failed: bool,
    /// Explanation, a clause.
    pub reason: String,
}

impl LimitCheck {
    /// Prepares to check a limit.
    ///
    /// # Errors
    /// Why the packets of one probe are not enough to check it.
    pub fn new(limit: &Limit) -> Result<Self, String> {
        if !limit.each.is_empty() || !limit.statistic.selectors.is_empty() {
            return Err(
                "one probe has no factors to select by: leave `for each` and `|` out".to_owned(),
            );
        }
        if !matches!(limit.bound, Bound::Value(_)) {
            return Err(
                "a change is between two runs, and this is one: write the bound without a sign"
                    .to_owned(),
            );
        }
        let (functional, measure) = match &limit.statistic.kind {
            Kind::Of(functional, measure) => (*functional, *measure),
            Kind::Share(measure, beyond, bound) => {
                let Value::Number(number) = &**bound else {
                    return Err("the bound of a share must be a number here".to_owned());
                };
                let functional = Functional::Share {
                    beyond: *beyond,
                    bound: number.value,
                };
                (functional, *measure)
            }
            Kind::On(..) => return Err("one probe has no factor to fit a line over".to_owned()),
        };
        if measure.is_of_flow() || measure.is_of_trial() || measure == Measure::PeriodicCause {
            return Err(format!("packets have no {measure}: it is of a run"));
        }
        let facts = RecordFacts::default();
        Ok(Self {
            limit: limit.clone(),
            measure,
            functional,
            facts,
            reader: Reader::new(measure, facts),
            values: Vec::new(),
            early: BTreeMap::new(),
            next: 0,
        })
    }

    /// Starts again without packets. `facts`: how to read the records that follow.
    pub fn begin(&mut self, facts: &RecordFacts) {
        self.facts = *facts;
        self.reader = Reader::new(self.measure, *facts);
        self.values.clear();
        self.early.clear();
        self.next = 0;
    }

    /// Drops the values if the measure is a one-way delay, because the two clocks turned out not to be comparable.
    pub fn withdraw_one_way(&mut self) {
        use DelayOf::Stage as OfStage;
        let stage = match self.measure {
            Measure::Stage(stage)
            | Measure::IpdvOf(OfStage(stage))
            | Measure::PdvOf(OfStage(stage)) => stage,
            _ => return,
        };
        if matches!(stage, Stage::ForwardPath | Stage::ReturnPath) {
            self.values.clear();
            self.early.clear();
        }
    }

    /// Adds one packet. Packets come nearly in the order of their sequence numbers.
    pub fn push(&mut self, record: &Record) {
        if record.seq != self.next {
            self.early.insert(record.seq, *record);
            return;
        }
        self.take(record);
        while let Some(record) = self.early.remove(&self.next) {
            self.take(&record);
        }
    }

    fn take(&mut self, record: &Record) {
        self.next = record.seq + 1;
        self.values.push(self.reader.value(record));
    }

    /// The result for all packets so far.
    pub fn finish(mut self) -> Answer {
        for record in std::mem::take(&mut self.early).into_values() {
            self.take(&record);
        }
        let of_measure = self.measure.dimension();
        let of_values = of_measure.filter(|_| !self.functional.is_number());
        let dimension = of_values.unwrap_or(Dimension::NUMBER);
        let bound = self.limit.bound.number().value;
        let read = self.reader.finish(self.values);
        let mut values = match &read {
            Ok(Values::Packets(values)) => values.clone(),
            _ => Vec::new(),
        };
        values.retain(|value| !value.is_nan());
        let count = values.len() as u64;
        let value = self.functional.value(&mut values);
        let beyond = value.map(|value| self.limit.beyond.holds(value, bound));
        let shown = |value: f64| match dimension {
            Dimension::NUMBER if self.limit.statistic.is_share() => {
                format!("{} %", super::dimension::format_number(value * 100.0))
            }
            dimension => dimension.format(value),
        };
        let reason = match (value, &read) {
            (Some(value), _) => {
                format!("it is {}{}", shown(value), too_few(self.functional, count))
            }
            (None, Err(why)) => format!("it is not known: {}", why.0),
            (None, Ok(_)) if count > 0 => {
                format!("it is not known: {count} is too few values for it")
            }
            (None, Ok(_)) => "it is not known: no packet was answered".to_owned(),
        };
        Answer {
            limit: self.limit.to_string(),
            value,
            unit: unit(dimension),
            bound,
            count,
            failed: beyond.unwrap_or(true),
            reason,
        }
    }
}

fn unit(dimension: Dimension) -> String {
    match dimension {
        Dimension::NUMBER => "1".to_owned(),
        dimension => dimension.to_string(),
    }
}

/// A note that a high quantile of so few values is only the largest one; else empty.
fn too_few(functional: Functional, count: u64) -> String {
    match functional {
        Functional::Quantile(q) if !carries(count, q) => {
            format!(", the largest of {count}: too few for this quantile")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;

    /// Round trips of 1 to 100 µs, the last packet first; every tenth is lost.
    fn answer(limit: &str) -> Result<Answer, String> {
        let limit = Limit::parse(limit).map_err(|error| error.to_string())?;
        let mut watched = LimitCheck::new(&limit)?;
        watched.begin(&RecordFacts::default());
        for seq in (0..100).rev() {
            let mut record = Record::due(0, 0, seq, Method::Icmp, 1000);
            record.t_send = Some(1000);
            if seq % 10 != 9 {
                record.t_recv = Some(1000 + 1000 * (seq as i64 + 1));
                record.outcome = Outcome::Ok;
            }
            watched.push(&record);
        }
        Ok(watched.finish())
    }

    #[test]
    fn statistics_are_those_of_the_summary() {
        let found = |limit| {
            let answer = answer(limit).unwrap();
            (answer.value, answer.failed)
        };
        assert_eq!(found("max(round_trip) > 99us"), (Some(99_000.0), false));
        assert_eq!(found("max(round_trip) >= 99us"), (Some(99_000.0), true));
        assert_eq!(found("p50(round_trip) > 40us"), (Some(49_000.0), true));
        assert_eq!(found("lost > 5%"), (Some(0.1), true));
        assert_eq!(found("lost > 10%"), (Some(0.1), false));
        assert_eq!(
            found("share(round_trip > 90us) > 50%"),
            (Some(9.0 / 90.0), false)
        );
        assert_eq!(found("count(round_trip) < 95"), (Some(90.0), true));
        // Neighbours across a loss have none.
        assert_eq!(found("max(ipdv) > 1us"), (Some(1000.0), false));
        assert_eq!(found("count(ipdv) < 1"), (Some(80.0), false));
    }

    #[test]
    fn what_is_not_known_has_not_passed() {
        let network = answer("p99(network) > 5ms").unwrap();
        assert!(network.failed && network.value.is_none());
        assert!(
            network.reason.contains("a stamp for it is missing"),
            "{}",
            network.reason
        );
        let few = answer("p99(round_trip) > 5ms").unwrap();
        assert!(
            !few.failed && few.reason.contains("the largest of 90"),
            "{}",
            few.reason
        );
    }

    #[test]
    fn what_one_packet_does_not_tell_is_said_as_it_is() {
        let of_one = |limit: &str| {
            let mut watched = LimitCheck::new(&Limit::parse(limit).unwrap()).unwrap();
            watched.begin(&RecordFacts::default());
            let mut record = Record::due(0, 0, 0, Method::Icmp, 1000);
            record.t_send = Some(1000);
            record.t_recv = Some(2000);
            record.outcome = Outcome::Ok;
            watched.push(&record);
            watched.finish().reason
        };
        assert_eq!(
            of_one("sd(response) > 1s"),
            "it is not known: 1 is too few values for it"
        );
        let variation = of_one("p50(ipdv) > 1s");
        assert!(variation.contains("and one was answered"), "{variation}");
    }

    #[test]
    fn what_one_probe_cannot_answer_is_said_before() {
        for (limit, why) in [
            ("p99(network) > +10%", "two runs"),
            ("for each size: p99(network) > 1ms", "no factors"),
            ("p99(network | size=64B) > 1ms", "no factors"),
            ("max(backlog) > 1kB", "it is of a run"),
        ] {
            let refused = answer(limit).unwrap_err();
            assert!(refused.contains(why), "{limit}: {refused}");
        }
    }
}
