//! The anatomy of a response: the stages that add up to it exactly.
//!
//! Where a stamp is missing, the stages on both sides of it merge into one [`StageSet`] that says
//! so. The reflector's stamps count as [`RecordFacts`] has it: where its residence ends, and
//! whether its clock compares with the prober's. With an unrelated clock the residence is still a
//! length of its own, and the two ways through the network are one part; with no clock, or no
//! known residence, the reflector is part of the network.

use crate::passage::Passage;
pub use crate::stage::{Part, Place, Stage, StageSet};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;

/// The parts of one response, in order. They add up to it exactly. Empty where there was no reply.
pub fn parts(record: &Record, facts: &RecordFacts) -> Vec<(StageSet, Nanos)> {
    let Some(passage) = Passage::from_record(record, facts) else {
        return Vec::new();
    };
    let parts = passage.parts();
    parts.iter().map(|(set, ns)| (set, ns as Nanos)).collect()
}

/// `t_rx − t_tx − residence`, by the trial's residence. With none known it includes the reflector.
/// `None` where the record lacks a stamp that the trial's definition needs.
pub fn network(record: &Record, facts: &RecordFacts) -> Option<Nanos> {
    Passage::from_record(record, facts)?.network(facts)
}

/// `response − network`: both ends.
pub fn host(record: &Record, facts: &RecordFacts) -> Option<Nanos> {
    Passage::from_record(record, facts)?.host(facts)
}

/// Is what answers told from the network by the far kernel's acknowledgement alone? So for servers of any make, and for reflectors
/// by tcp that stamp nothing.
pub fn is_of_server(record: &Record, facts: &RecordFacts) -> bool {
    crate::passage::is_told_by_acknowledgement(record, facts)
}

/// Two anatomies in the parts that both tell apart: what one of them merged is merged in the other.
pub fn in_common(a: &[Part], b: &[Part]) -> Vec<[Part; 2]> {
    let mut sets: Vec<StageSet> = Vec::new();
    for part in a.iter().chain(b) {
        let (touched, apart): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|set| set.touches(part.stages));
        let joined = touched.iter().flat_map(|set| set.iter());
        sets = apart;
        sets.push(joined.chain(part.stages.iter()).collect());
    }
    sets.sort_by_key(|set| set.iter().next());
    let part = |parts: &[Part], stages: StageSet| {
        let within = parts.iter().filter(|part| stages.covers(part.stages));
        Part {
            stages,
            ns: within.map(|part| part.ns).sum(),
        }
    };
    let both = |&stages: &StageSet| [part(a, stages), part(b, stages)];
    sets.iter().map(both).collect()
}

/// Makes one part of the ways there and back, between which only the reflector's clock tells.
pub(crate) fn join_ways(parts: &mut Vec<Part>) {
    let with = |parts: &[Part], stage| parts.iter().position(|part| part.stages.contains(stage));
    let there = with(parts, Stage::ForwardPath);
    let back = with(parts, Stage::ReturnPath);
    if let (Some(there), Some(back)) = (there, back)
        && there != back
    {
        let back = parts.remove(back);
        let way = &mut parts[there];
        way.stages = way.stages.iter().chain(back.stages.iter()).collect();
        way.ns += back.ns;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::trial::{ReflectorClock, Residence};
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    const CLOCKS: [ReflectorClock; 4] = [
        ReflectorClock::None,
        ReflectorClock::Same,
        ReflectorClock::Bounded { error_ns: 5 },
        ReflectorClock::Unrelated,
    ];
    const RESIDENCES: [Residence; 3] = [Residence::Unknown, Residence::ToUser, Residence::ToDriver];

    fn facts(reflector_clock: ReflectorClock, residence: Residence) -> RecordFacts {
        RecordFacts {
            reflector_clock,
            residence,
        }
    }

    /// Stages of 1, 2, 4, … ns; the reflector's process reads at 3 of its 16 ns.
    fn full() -> Record {
        let mut record = Record::due(0, 0, 0, Method::Udp, 1000);
        record.t_send = Some(1001);
        record.t_sched = Some(1003);
        record.t_tx = Some(1007);
        record.r_rx = Some(1015);
        record.r_user = Some(1018);
        record.r_tx = Some(1031);
        record.t_rx = Some(1063);
        record.t_recv = Some(1127);
        record
    }

    fn named(record: &Record, facts: &RecordFacts) -> Vec<(String, Nanos)> {
        let parts = parts(record, facts).into_iter();
        parts.map(|(set, ns)| (set.name(), ns)).collect()
    }

    fn expect(record: &Record, facts: &RecordFacts, expected: &[(&str, Nanos)]) {
        let expected: Vec<_> = (expected.iter())
            .map(|&(name, ns)| (name.to_owned(), ns))
            .collect();
        assert_eq!(named(record, facts), expected);
    }

    #[test]
    fn one_clock_tells_every_stage_apart() {
        let expected = [
            ("schedule slip", 1),
            ("send stack", 2),
            ("local queue", 4),
            ("forward path", 8),
            ("reflector", 16),
            ("return path", 32),
            ("receive wake-up", 64),
        ];
        for clock in [ReflectorClock::Same, CLOCKS[2]] {
            expect(&full(), &facts(clock, Residence::ToDriver), &expected);
        }
        let to_driver = facts(ReflectorClock::Same, Residence::ToDriver);
        assert_eq!(network(&full(), &to_driver), Some(40));
        assert_eq!(host(&full(), &to_driver), Some(87));
    }

    #[test]
    fn the_residence_ends_where_the_facts_say() {
        let to_user = facts(ReflectorClock::Same, Residence::ToUser);
        let names = named(&full(), &to_user);
        assert_eq!(names[4], ("reflector".to_owned(), 3));
        assert_eq!(names[5], ("return path".to_owned(), 45));
        assert_eq!(network(&full(), &to_user), Some(53));
    }

    #[test]
    fn an_unrelated_clock_tells_the_residence_only() {
        let unrelated = facts(ReflectorClock::Unrelated, Residence::ToDriver);
        let mut record = full();
        for stamp in [&mut record.r_rx, &mut record.r_user, &mut record.r_tx] {
            *stamp = stamp.map(|time| time - 999_999_999_999);
        }
        let names = named(&record, &unrelated);
        assert_eq!(names[3], ("forward + return path".to_owned(), 40));
        assert_eq!(names[4], ("reflector".to_owned(), 16));
        assert_eq!(network(&record, &unrelated), Some(40));
        record.t_rx = None;
        let names = named(&record, &unrelated);
        assert_eq!(
            names[3],
            ("forward + return path + receive wake-up".to_owned(), 104)
        );
        assert_eq!(network(&record, &unrelated), None);
    }

    #[test]
    fn joined_ways_are_those_of_an_unrelated_clock() {
        let parts_of = |record: &Record, clock, residence| -> Vec<Part> {
            let parts = parts(record, &facts(clock, residence)).into_iter();
            parts
                .map(|(stages, ns)| Part {
                    stages,
                    ns: ns as f64,
                })
                .collect()
        };
        let mut without_stamps = full();
        (without_stamps.t_tx, without_stamps.t_rx) = (None, None);
        let mut answered = full();
        answered.r_tx = None;
        for record in [full(), without_stamps, answered] {
            for residence in [Residence::ToDriver, Residence::ToUser] {
                let mut parts = parts_of(&record, CLOCKS[2], residence);
                join_ways(&mut parts);
                let unrelated = parts_of(&record, ReflectorClock::Unrelated, residence);
                assert_eq!(parts, unrelated);
                join_ways(&mut parts);
                assert_eq!(parts, unrelated);
            }
        }
    }

    #[test]
    fn without_reflector_stamps_the_network_includes_it() {
        for facts in [
            facts(ReflectorClock::None, Residence::Unknown),
            facts(ReflectorClock::Same, Residence::Unknown),
        ] {
            assert_eq!(
                named(&full(), &facts)[3],
                ("network incl. reflector".to_owned(), 56)
            );
            assert_eq!(network(&full(), &facts), Some(56));
        }
    }

    #[test]
    fn a_missing_stamp_merges_its_neighbours() {
        let same = facts(ReflectorClock::Same, Residence::ToDriver);
        let mut record = full();
        record.t_send = None;
        record.t_tx = None;
        record.t_rx = None;
        let expected = [
            ("schedule slip + send stack", 3),
            ("local queue + forward path", 12),
            ("reflector", 16),
            ("return path + receive wake-up", 96),
        ];
        expect(&record, &same, &expected);
        let mut record = full();
        record.r_tx = None;
        assert_eq!(
            named(&record, &same)[4],
            ("reflector + return path".to_owned(), 48)
        );
        // The trial's definition needs r_tx: this record has no network, rather than another one.
        assert_eq!(network(&record, &same), None);
    }

    #[test]
    fn in_common_is_what_both_tell_apart() {
        let same = facts(ReflectorClock::Same, Residence::ToDriver);
        let mut echo = full();
        echo.t_sched = None;
        let means = |record: &Record, facts: &RecordFacts| -> Vec<Part> {
            let parts = parts(record, facts).into_iter();
            let mean = |(stages, ns)| Part {
                stages,
                ns: ns as f64,
            };
            parts.map(mean).collect()
        };
        let one = means(&full(), &same);
        let other = means(&echo, &RecordFacts::default());
        let names_and_means: Vec<_> = in_common(&one, &other)
            .iter()
            .map(|[a, b]| (a.stages.name(), a.ns, b.ns))
            .collect();
        let expected = [
            ("schedule slip", 1.0),
            ("send stack + local queue", 6.0),
            ("network incl. reflector", 56.0),
            ("receive wake-up", 64.0),
        ];
        assert_eq!(
            names_and_means,
            expected.map(|(name, ns)| (name.to_owned(), ns, ns))
        );
        assert!(in_common(&[], &[]).is_empty());
    }

    #[test]
    fn user_space_alone_gives_two_parts_and_no_reply_none() {
        let mut record = Record::due(0, 0, 0, Method::Icmp, 10);
        assert!(parts(&record, &RecordFacts::default()).is_empty());
        record.t_send = Some(15);
        record.t_recv = Some(40);
        let rest = StageSet::OF_PACKETS.without(StageSet::only(Stage::ScheduleSlip));
        assert_eq!(
            parts(&record, &RecordFacts::default()),
            [(StageSet::only(Stage::ScheduleSlip), 5), (rest, 25)]
        );
        assert_eq!(host(&record, &RecordFacts::default()), None);
    }

    fn any_record(stamp: impl Strategy<Value = i64> + Clone) -> impl Strategy<Value = Record> {
        let stamps = proptest::collection::vec(option::of(stamp.clone()), 7);
        (stamp.clone(), stamps, stamp).prop_map(|(t_intended, stamps, t_recv)| {
            let mut record = Record::due(0, 0, 0, Method::Stamp, t_intended);
            record.t_send = stamps[0];
            record.t_sched = stamps[1];
            record.t_tx = stamps[2];
            record.r_rx = stamps[3];
            record.r_user = stamps[4];
            record.r_tx = stamps[5];
            record.t_rx = stamps[6];
            record.t_recv = Some(t_recv);
            record
        })
    }

    fn any_facts() -> impl Strategy<Value = RecordFacts> {
        (select(&CLOCKS[..]), select(&RESIDENCES[..]))
            .prop_map(|(clock, residence)| facts(clock, residence))
    }

    proptest! {
        #[test]
        fn parts_add_up_and_cover_each_stage_once(
            record in any_record(-1_000_000_000_000_i64..1_000_000_000_000),
            facts in any_facts(),
        ) {
            let parts = parts(&record, &facts);
            let sum: Nanos = parts.iter().map(|(_, ns)| ns).sum();
            prop_assert_eq!(Some(sum), record.response());
            for stage in Stage::ALL {
                let there = usize::from(StageSet::OF_PACKETS.contains(stage));
                prop_assert_eq!(parts.iter().filter(|(set, _)| set.contains(stage)).count(), there);
            }
            if let Some(network) = network(&record, &facts) {
                prop_assert_eq!(host(&record, &facts), Some(sum - network));
            }
        }

        #[test]
        fn in_common_keeps_both_sums_and_each_stage_once(
            a in any_record(0_i64..1_000_000), of_a in any_facts(),
            b in any_record(0_i64..1_000_000), of_b in any_facts(),
        ) {
            let means = |record: &Record, facts: &RecordFacts| -> Vec<Part> {
                let parts = parts(record, facts).into_iter();
                parts.map(|(stages, ns)| Part { stages, ns: ns as f64 }).collect()
            };
            let both = in_common(&means(&a, &of_a), &means(&b, &of_b));
            for (side, record) in [&a, &b].into_iter().enumerate() {
                let sum: f64 = both.iter().map(|pair| pair[side].ns).sum();
                prop_assert_eq!(sum, record.response().unwrap() as f64);
            }
            for stage in Stage::ALL {
                let there = usize::from(StageSet::OF_PACKETS.contains(stage));
                prop_assert_eq!(both.iter().filter(|pair| pair[0].stages.contains(stage)).count(), there);
            }
        }

        #[test]
        fn no_stamp_panics(record in any_record(any::<i64>()), facts in any_facts()) {
            let sum = parts(&record, &facts).iter().fold(0_i64, |sum, (_, ns)| sum.wrapping_add(*ns));
            prop_assert_eq!(Some(sum), record.t_recv.map(|t| t.wrapping_sub(record.t_intended)));
            let _ = (network(&record, &facts), host(&record, &facts));
        }
    }
}
