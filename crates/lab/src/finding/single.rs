//! Checks a limit against the packets of one probe while they arrive, for `delaylab ping --fail-if`.
//!
//! The language is that of checks and of `compare --fail-if`, as far as it fits one probe: a statistic or a share of
//! a measure of packets, compared with a value. The answer is about exactly these packets, without an interval: the
//! statistic has the value that the summary prints.

use super::check::{Bound, Kind, Limit, Value};
use super::dimension::Dimension;
use super::measure::{Measure, Reader};
use super::values::Values;
use super::verdict::Verdict;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use schemars::JsonSchema;
use serde::Serialize;
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
    /// Responses of the answered packets that do not have the measure, if it is a part of the response.
    without: Vec<f64>,
    /// Records that arrived before that of an earlier packet, by sequence number. They wait, because delay
    /// variation is computed between neighbours.
    early: BTreeMap<u64, Record>,
    next: u64,
    /// The measure is between two clocks, which turned out not to be comparable.
    is_withdrawn: bool,
}

/// A condition on the packets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Condition")]
pub struct Answer {
    /// As it would be written again.
    pub condition: String,
    /// The statistic; null where no packet has its measure.
    pub value: Option<f64>,
    /// What it is compared with.
    pub bound: f64,
    /// Of both: `ns`, `B`, `1` for a share or a plain number.
    pub unit: String,
    /// Values that the statistic is of.
    pub count: u64,
    /// Does the condition hold? `true`, `false` or `undecided`.
    pub verdict: Verdict,
    /// Does it make the command fail? So does one that is undecided.
    pub failed: bool,
    /// The same in words.
    pub reason: String,
}

impl Answer {
    /// Leaves it open, for this reason: then the command fails.
    pub fn leave_undecided(&mut self, reason: String) {
        self.verdict = Verdict::Undecided;
        self.failed = true;
        self.reason = reason;
    }
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
        let remedy = match limit.bound {
            Bound::Value(_) => None,
            Bound::Change(_) => Some("the bound without a sign"),
            Bound::Share(_) => Some("a value with its unit"),
        };
        if let Some(remedy) = remedy {
            return Err(format!(
                "a change is between two runs, and this is one: write {remedy}"
            ));
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
            without: Vec::new(),
            early: BTreeMap::new(),
            next: 0,
            is_withdrawn: false,
        })
    }

    /// Starts again without packets. `facts`: how to read the records that follow.
    pub fn begin(&mut self, facts: &RecordFacts) {
        self.facts = *facts;
        self.reader = Reader::new(self.measure, *facts);
        self.values.clear();
        self.without.clear();
        self.early.clear();
        self.next = 0;
        self.is_withdrawn = false;
    }

    /// Drops the values if the measure is a one-way delay, because the two clocks turned out not to be comparable.
    pub fn withdraw_one_way(&mut self) {
        if self.measure.is_between_clocks() {
            self.values.clear();
            self.without.clear();
            self.early.clear();
            self.is_withdrawn = true;
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
        let value = self.reader.value(record);
        self.values.push(value);
        if value.is_nan() && record.answered() && is_part_of_response(self.measure) {
            let response = record.response();
            self.without.extend(response.map(|ns| ns as f64));
        }
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
        let least = self.values.iter().copied().reduce(f64::min);
        let read = self.reader.finish(self.values);
        let mut values = match &read {
            Ok(Values::Packets(values)) => values.clone(),
            _ => Vec::new(),
        };
        values.retain(|value| !value.is_nan());
        let count = values.len() as u64;
        if self.measure.counts_ones(self.functional) {
            values.retain(|value| *value > 0.0);
        }
        let value = self.functional.value(&mut values);
        let holds = |value: f64| self.limit.beyond.holds(value, bound);
        let beyond = value.map(holds);
        let without = std::mem::take(&mut self.without);
        let least = least.filter(|_| is_above_least(self.measure));
        let is_open = beyond == Some(false)
            && !without.is_empty()
            && may_hold(self.functional, least, &values, &without, holds);
        let longest = without.iter().copied().fold(0.0, f64::max);
        let may_hold = is_open.then_some((without.len(), longest));
        let shown = |value: f64| match dimension {
            Dimension::NUMBER if self.limit.statistic.is_share() => {
                format!("{} %", super::dimension::format_number(value * 100.0))
            }
            dimension => dimension.format(value),
        };
        let reason = match (value, &read, may_hold) {
            (Some(value), _, Some((missing, longest))) => format!(
                "it cannot be judged: it is {} of the {count} packets that have it; the stamps do not tell it of {missing} \
                 others, whose responses took up to {}",
                shown(value),
                Dimension::TIME.format(longest)
            ),
            (Some(value), _, None) => {
                format!("it is {}{}", shown(value), too_few(self.functional, count))
            }
            _ if self.is_withdrawn => {
                "it is not known: the clocks of the two ends cannot be compared".to_owned()
            }
            (None, Err(why), _) => format!("it is not known: {}", why.0),
            (None, Ok(_), _) if count > 0 => {
                format!("it is not known: {count} is too few values for it")
            }
            (None, Ok(_), _) => format!("it is not known: {}", self.measure.why_none()),
        };
        let verdict = match (beyond, may_hold) {
            (Some(true), _) => Verdict::True,
            (Some(false), None) => Verdict::False,
            (Some(false), Some(_)) | (None, _) => Verdict::Undecided,
        };
        Answer {
            condition: self.limit.to_string(),
            value,
            bound,
            unit: dimension.to_string(),
            count,
            verdict,
            failed: verdict != Verdict::False,
            reason,
        }
    }
}

/// Is each packet's value no longer than its response?
const fn is_part_of_response(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Network | Measure::Host | Measure::Delay | Measure::Stage(_) | Measure::PdvOf(_)
    )
}

/// Is it what a delay is above the least one?
const fn is_above_least(measure: Measure) -> bool {
    matches!(measure, Measure::PdvOf(_))
}

/// May a condition hold that does not, with the packets that do not have the measure? They may have had none of it, or as much as
/// their response took. One that had none is the least one, above which all are.
fn may_hold(
    functional: Functional,
    least: Option<f64>,
    values: &[f64],
    without: &[f64],
    holds: impl Fn(f64) -> bool,
) -> bool {
    let holds_with = |part| {
        let missing = without.iter().map(|response| response * part);
        let mut all = match least {
            None => values.iter().copied().chain(missing).collect(),
            Some(least) => {
                let known = values.iter().map(|value| value + least);
                above_least(known.chain(missing).collect())
            }
        };
        functional.value(&mut all).is_some_and(&holds)
    };
    is_monotone(functional) && [0.0, 1.0].into_iter().any(holds_with)
}

fn above_least(mut values: Vec<f64>) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter_mut().for_each(|value| *value -= least);
    values
}

/// Does a longer value always move this statistic the same way?
fn is_monotone(functional: Functional) -> bool {
    functional.is_among_values() || matches!(functional, Functional::Share { .. })
}

/// A note that a quantile of so few values is only the largest or the smallest one; else empty.
fn too_few(functional: Functional, count: u64) -> String {
    match functional {
        Functional::Quantile(q) if !carries(count, q) => {
            let which = if q < 0.5 { "smallest" } else { "largest" };
            format!(", the {which} of {count}: too few for this quantile")
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
    use delaylab_model::trial::{ReflectorClock, Residence};

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
        assert_eq!(found("count(lost) > 9"), (Some(10.0), true));
        assert_eq!(found("count(lost) > 10"), (Some(10.0), false));
        // Neighbours across a loss have none.
        assert_eq!(found("max(ipdv) > 1us"), (Some(1000.0), false));
        assert_eq!(found("count(ipdv) < 1"), (Some(80.0), false));
    }

    /// The probe was stopped: what was still under way is neither answered nor lost.
    #[test]
    fn packets_under_way_are_not_lost() {
        let limit = Limit::parse("lost > 1%").unwrap();
        let mut watched = LimitCheck::new(&limit).unwrap();
        watched.begin(&RecordFacts::default());
        for seq in 0..100 {
            let mut record = Record::due(0, 0, seq, Method::Icmp, 1000);
            record.t_send = Some(1000);
            record.outcome = Outcome::Skipped;
            if seq < 20 {
                record.t_recv = Some(2000);
                record.outcome = Outcome::Ok;
            }
            watched.push(&record);
        }
        let answer = watched.finish();
        assert_eq!(
            (answer.value, answer.failed),
            (Some(0.0), false),
            "{}",
            answer.reason
        );
        assert_eq!(answer.count, 20);
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
        assert_eq!(
            of_one("p50(ipdv) > 1s"),
            "it is not known: no two of these packets in a row were answered"
        );
    }

    #[test]
    fn what_could_not_be_sent_is_not_said_to_be_unanswered() {
        let mut watched = LimitCheck::new(&Limit::parse("lost > 1%").unwrap()).unwrap();
        watched.begin(&RecordFacts::default());
        let mut record = Record::due(0, 0, 0, Method::Icmp, 1000);
        record.outcome = Outcome::LocalError;
        watched.push(&record);
        let why = "it is not known: none of these packets could be sent";
        assert_eq!(watched.finish().reason, why);
    }

    /// A delay there is the forward path by another name.
    #[test]
    fn what_is_between_clocks_that_cannot_be_compared_is_not_judged() {
        let judged = |limit: &str| {
            let mut watched = LimitCheck::new(&Limit::parse(limit).unwrap()).unwrap();
            watched.begin(&RecordFacts {
                reflector_clock: ReflectorClock::Same,
                residence: Residence::ToDriver,
            });
            for seq in 0..50 {
                let mut record = Record::due(0, 0, seq, Method::Udp, 0);
                (record.t_send, record.t_sched, record.t_tx) = (Some(0), Some(1), Some(2));
                (record.r_rx, record.r_user, record.r_tx) = (Some(100), Some(101), Some(102));
                (record.t_rx, record.t_recv) = (Some(200), Some(201));
                record.outcome = Outcome::Ok;
                watched.push(&record);
            }
            watched.withdraw_one_way();
            watched.finish()
        };
        for measure in [
            "delay",
            "forward_path",
            "ipdv(delay)",
            "pdv(delay)",
            "pdv(return_path)",
        ] {
            let answer = judged(&format!("max({measure}) > 1s"));
            assert!(answer.failed && answer.value.is_none(), "{measure}");
            let why = "it is not known: the clocks of the two ends cannot be compared";
            assert_eq!(answer.reason, why, "{measure}");
        }
        assert_eq!(judged("max(network) > 1s").value, Some(196.0));
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

    /// Of 400 packets every fifth lacks the stamps for the network; its response takes `slow`.
    fn with_stamps_missing(limit: &str, slow: i64) -> Answer {
        let mut watched = LimitCheck::new(&Limit::parse(limit).unwrap()).unwrap();
        watched.begin(&RecordFacts::default());
        for seq in 0..400 {
            let mut record = Record::due(0, 0, seq, Method::Icmp, 0);
            (record.t_send, record.outcome) = (Some(0), Outcome::Ok);
            record.t_recv = Some(slow);
            if seq % 5 != 0 {
                (record.t_tx, record.t_rx, record.t_recv) =
                    (Some(0), Some(1_000_000), Some(2_000_000));
            }
            watched.push(&record);
        }
        watched.finish()
    }

    #[test]
    fn a_tail_that_the_packets_without_a_stamp_may_have_is_not_judged() {
        for limit in [
            "max(network) > 15ms",
            "p90(network) > 15ms",
            "mean(network) > 15ms",
            "share(network > 15ms) > 10%",
            "share(network < 15ms) < 90%",
            "max(pdv(network)) > 15ms",
        ] {
            let slow = with_stamps_missing(limit, 200_000_000);
            assert!(
                slow.failed && slow.reason.contains("cannot be judged"),
                "{limit}: {}",
                slow.reason
            );
            assert!(
                slow.value.is_some() && slow.reason.contains("200 ms"),
                "{}",
                slow.reason
            );
            let quick = with_stamps_missing(limit, 2_500_000);
            assert!(!quick.failed, "{limit}: {}", quick.reason);
        }
        // The least of all may be among them: 1 ms of the others is above it then.
        let judged = with_stamps_missing("max(pdv(network)) > 0.5ms", 900_000);
        assert!(judged.failed, "{}", judged.reason);
        // They may have spent no time in the network, too.
        for limit in ["min(network) < 0.5ms", "p10(network) < 0.5ms"] {
            let judged = with_stamps_missing(limit, 2_500_000);
            assert!(judged.failed, "{limit}: {}", judged.reason);
        }
        for limit in [
            "min(network) > 15ms",
            "p50(network) > 15ms",
            "max(response) > 1s",
        ] {
            let judged = with_stamps_missing(limit, 200_000_000);
            assert!(!judged.failed, "{limit}: {}", judged.reason);
        }
    }
}
