//! Why a figure is missing, in words: the same on the terminal and in JSON.

use delaylab_model::method::Responder;
use delaylab_model::probe::Probe;
use delaylab_model::trial::{Delivery, ProbeFacts, ReflectorClock, Residence, StampPoint};

/// Payload in which udp and tcp have all stamps, without a key.
const ROOM_FOR_STAMPS: u32 = 44;

/// Where it was said what a probe does: reasons have the words of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenIn {
    /// On the command line of `ping`.
    PingOptions,
    /// In the file of an experiment.
    ExperimentFile,
}

impl WrittenIn {
    /// How stamps are switched off there.
    const fn no_stamps(self) -> &'static str {
        match self {
            Self::PingOptions => "--stamps none",
            Self::ExperimentFile => "stamps = \"none\"",
        }
    }
}

/// Why there is no `network`, and so no `host`, though packets were answered.
pub fn network(facts: &ProbeFacts, written: WrittenIn) -> String {
    undelivered(facts, &[StampPoint::TTx, StampPoint::TRx], written)
}

/// Why there is no one-way delay out.
pub fn forward(facts: &ProbeFacts, written: WrittenIn) -> String {
    one_way(facts, [StampPoint::TTx, StampPoint::RRx], written)
}

/// Why there is no one-way delay back, which begins where the residence ends.
pub fn back(facts: &ProbeFacts, written: WrittenIn) -> String {
    let end = match facts.records.residence {
        Residence::ToUser => StampPoint::RUser,
        _ => StampPoint::RTx,
    };
    one_way(facts, [StampPoint::TRx, end], written)
}

/// Why no reply has `r_tx`, the reflector's stamp of its departure, of one that could have it; `None` where some have it.
pub fn departure(facts: &ProbeFacts, probe: &Probe) -> Option<&'static str> {
    let delivered = (StampPoint::RTx, Delivery::Delivered);
    if facts.stamps.contains(&delivered) {
        return None;
    }
    match (probe.method.responder(), facts.records.residence) {
        (Some(Responder::Echo), Residence::Unknown) if probe.payload < ROOM_FOR_STAMPS => Some(
            "packets so small have no room for the reflector's stamps (-s 44B, with a key 60B)",
        ),
        (Some(Responder::Echo), Residence::Unknown) => Some(
            "what answers echoes packets and stamps none, or with a key they have no room (-s 60B)",
        ),
        (Some(Responder::Stamp), Residence::ToUser) => {
            Some("this reflector does not report when its replies left, as `delaylab reflect` does")
        }
        (_, Residence::ToDriver) => Some(
            "the reflector's kernel stamped no reply as it left, or the reports of it were lost",
        ),
        _ => None,
    }
}

/// Of a delay from one of these stamps to the other.
fn one_way(facts: &ProbeFacts, ends: [StampPoint; 2], written: WrittenIn) -> String {
    match facts.records.reflector_clock {
        ReflectorClock::None => "the reflector sends no stamps".to_owned(),
        ReflectorClock::Unrelated => "the two clocks are not synchronised".to_owned(),
        _ => undelivered(facts, &ends, written),
    }
}

/// Which of the stamps that it takes did not come.
fn undelivered(facts: &ProbeFacts, needed: &[StampPoint], written: WrittenIn) -> String {
    let is = |point: &StampPoint, how| facts.stamps.contains(&(*point, how));
    let missing = needed
        .iter()
        .filter(|point| !is(point, Delivery::Delivered));
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return "no answered packet has every stamp that it takes".to_owned();
    }
    if missing.iter().all(|point| is(point, Delivery::Off)) {
        return written.no_stamps().to_owned();
    }
    let names: Vec<_> = missing.iter().map(|point| point.name()).collect();
    format!("not delivered: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::trial::RecordFacts;

    #[test]
    fn a_missing_departure_has_its_reason() {
        let of = |method, payload, residence, delivery| {
            let mut probe = Probe::new("ping", method);
            probe.payload = payload;
            let facts = ProbeFacts {
                stamps: vec![(StampPoint::RTx, delivery)],
                records: RecordFacts {
                    reflector_clock: ReflectorClock::Same,
                    residence,
                },
                ..ProbeFacts::default()
            };
            departure(&facts, &probe).unwrap_or_default()
        };
        let (unknown, no) = (Residence::Unknown, Delivery::Unsupported);
        assert!(of(Method::Udp, 43, unknown, no).contains("have no room for the"));
        assert!(of(Method::Tcp, 44, unknown, no).starts_with("what answers echoes"));
        assert!(of(Method::Stamp, 100, Residence::ToUser, no).starts_with("this reflector"));
        let (to_driver, missing) = (Residence::ToDriver, Delivery::Missing);
        assert!(of(Method::Udp, 56, to_driver, missing).starts_with("the reflector's kernel"));
        assert_eq!(of(Method::Udp, 56, to_driver, Delivery::Delivered), "");
        assert_eq!(of(Method::Icmp, 56, unknown, no), "");
    }

    #[test]
    fn the_stamps_that_it_takes_are_named() {
        let mut facts = ProbeFacts {
            stamps: vec![
                (StampPoint::TTx, Delivery::Delivered),
                (StampPoint::TRx, Delivery::Missing),
            ],
            records: RecordFacts {
                reflector_clock: ReflectorClock::Same,
                residence: Residence::ToUser,
            },
            ..ProbeFacts::default()
        };
        let ping = WrittenIn::PingOptions;
        assert_eq!(network(&facts, ping), "not delivered: t_rx");
        assert_eq!(forward(&facts, ping), "not delivered: r_rx");
        assert_eq!(back(&facts, ping), "not delivered: t_rx, r_user");
        facts.records.reflector_clock = ReflectorClock::Unrelated;
        assert_eq!(back(&facts, ping), "the two clocks are not synchronised");
        facts.stamps = vec![
            (StampPoint::TTx, Delivery::Off),
            (StampPoint::TRx, Delivery::Off),
        ];
        assert_eq!(network(&facts, ping), "--stamps none");
        let experiment = network(&facts, WrittenIn::ExperimentFile);
        assert_eq!(experiment, "stamps = \"none\"");
    }
}
