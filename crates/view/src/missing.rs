//! Why a figure is missing, in words: the same on the terminal and in JSON.

use delaylab_model::trial::{Delivery, ProbeFacts, ReflectorClock, Residence, StampPoint};

/// Why there is no `network`, and so no `host`, though packets were answered.
pub fn network(facts: &ProbeFacts) -> String {
    undelivered(facts, &[StampPoint::TTx, StampPoint::TRx])
}

/// Why there is no one-way delay out.
pub fn forward(facts: &ProbeFacts) -> String {
    one_way(facts, StampPoint::TTx, StampPoint::RRx)
}

/// Why there is no one-way delay back, which begins where the residence ends.
pub fn back(facts: &ProbeFacts) -> String {
    let end = match facts.records.residence {
        Residence::ToUser => StampPoint::RUser,
        _ => StampPoint::RTx,
    };
    one_way(facts, StampPoint::TRx, end)
}

fn one_way(facts: &ProbeFacts, here: StampPoint, there: StampPoint) -> String {
    match facts.records.reflector_clock {
        ReflectorClock::None => "the reflector sends no stamps".to_owned(),
        ReflectorClock::Unrelated => "the two clocks are not synchronised".to_owned(),
        _ => undelivered(facts, &[here, there]),
    }
}

/// Which of the stamps that it takes did not come.
fn undelivered(facts: &ProbeFacts, needed: &[StampPoint]) -> String {
    let came = |point: &StampPoint| facts.stamps.contains(&(*point, Delivery::Delivered));
    let missing = needed.iter().filter(|point| !came(point));
    let names: Vec<_> = missing.map(|point| point.name()).collect();
    if names.is_empty() {
        return "no answered packet has every stamp that it takes".to_owned();
    }
    format!("not delivered: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::trial::RecordFacts;

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
        assert_eq!(network(&facts), "not delivered: t_rx");
        assert_eq!(forward(&facts), "not delivered: r_rx");
        assert_eq!(back(&facts), "not delivered: t_rx, r_user");
        facts.records.reflector_clock = ReflectorClock::Unrelated;
        assert_eq!(back(&facts), "the two clocks are not synchronised");
    }
}
