//! What is said of conditions that are none of them slow, and of the one in which packets were late most.
#![allow(clippy::unwrap_used)]

use super::against::hold;
use super::*;

const MS: f64 = 1e6;

/// All of its time is the network's.
fn condition(probe: &str, label: &str, ms: f64, against_ns: Option<f64>) -> Combination {
    Combination {
        probe: probe.to_owned(),
        label: label.to_owned(),
        usual_ns: ms * MS,
        mean_ns: ms * MS,
        against_ns,
        spent: vec![Spent {
            component: Component::Stages(StageSet::BOTH_WAYS),
            ns: ms * MS,
        }],
        ..Combination::default()
    }
}

fn answer(baseline: BaselineKind, conditions: Vec<Combination>) -> String {
    let slow = Slow {
        conditions,
        baseline,
    };
    slow.answer()
}

#[test]
fn what_was_not_compared_is_not_called_the_best() {
    let two = |probes: [&str; 2], against: Option<f64>| -> Vec<Combination> {
        let of = |(probe, label, ms): (&str, &str, f64)| condition(probe, label, ms, against);
        let [a, b] = probes;
        [(b, "size 2B", 50.0), (a, "size 1B", 45.0)]
            .map(of)
            .to_vec()
    };
    let goes = "100 % of the response of size 2B is time in the network, in both directions: 50.0 ms of 50.0 ms on average.";
    for (baseline, probes, against, expected) in [
        (
            BaselineKind::Idle,
            ["a", "a"],
            None,
            "The minimum delay of the path is not known: there is nothing to compare with. ",
        ),
        (
            BaselineKind::Idle,
            ["a", "a"],
            Some(44e6),
            "No combination is slow against the minimum delay of its path. ",
        ),
        (
            BaselineKind::Best,
            ["a", "a"],
            None,
            "No combination is slow against the best one (45.0 ms to 50.0 ms). ",
        ),
        (
            BaselineKind::Run,
            ["a", "a"],
            None,
            "The baseline has no packet that was answered: there is nothing to compare with. ",
        ),
        // Each is the only one of its probe.
        (BaselineKind::Best, ["a", "b"], None, ""),
    ] {
        let said = answer(baseline, two(probes, against));
        assert_eq!(said, format!("{expected}{goes}"));
    }
    let mut three = two(["a", "b"], None);
    three.push(condition("b", "size 1B", 49.0, None));
    let said = answer(BaselineKind::Best, three);
    assert_eq!(
        said,
        format!("No combination is slow against the best of its probe. {goes}")
    );
}

/// What late packets add is no part of the mean that is divided: it is said next to it.
#[test]
fn a_mean_without_late_packets_is_not_called_that_of_all() {
    let mut one = condition("a", "size 1B", 1.28, None);
    one.mean_ns = 1.285 * MS;
    let network = "100 % of the response is time in the network, in both directions: 1.28 ms of 1.28 ms on average";
    let said = answer(BaselineKind::Best, vec![one.clone()]);
    assert_eq!(said, format!("{network}."));
    one.mean_ns = 2.78 * MS;
    let said = answer(BaselineKind::Best, vec![one.clone()]);
    assert_eq!(
        said,
        format!("{network} of packets that were not late (2.78 ms of all).")
    );
    let mut slow = condition("a", "size 2B", 12.8, None);
    slow.hold_against(&one, Against::Combination(one.label.clone()));
    let said = words::against(&slow);
    assert_eq!(
        said,
        "It takes 10 times as long as size 1B (1.28 ms; 2.78 ms with its late packets)."
    );
}

/// The best of those that are like it is no reference where it is far slower than the best of all.
#[test]
fn what_is_slow_itself_is_no_reference() {
    let of = |label: &str, ms: f64, host: HostCondition| Combination {
        host,
        ..condition("large", label, ms, None)
    };
    let held = |both_ms: f64| {
        let mut all = vec![
            of("idle", 21.0, HostCondition::Quiet),
            of("both busy", both_ms, HostCondition::Stressed),
            of("path busy", 301.0, HostCondition::Stressed),
        ];
        hold(&mut all, Baseline::Best);
        all.pop().unwrap().against
    };
    let against = |label: &str| Against::Combination(label.to_owned());
    assert_eq!(held(220.0), against("idle"));
    assert_eq!(held(30.0), against("both busy"));
}

#[test]
fn what_is_in_no_condition_is_part_of_the_whole() {
    let late = |excess_ms: f64| OfCause {
        what: LateCause::Server,
        packets: 1,
        excess_ns: excess_ms * MS,
    };
    let with = |excess_ms: f64| Combination {
        late: vec![late(excess_ms)],
        ..condition("a", "size 1B", 1.0, None)
    };
    let share = |excess_ms: [f64; 2], all_ms: f64| {
        let slow = Slow {
            conditions: excess_ms.map(with).to_vec(),
            ..Slow::default()
        };
        let (_, share) = slow.worst_in(&[&LateCause::Server], all_ms * MS).unwrap();
        share
    };
    assert_eq!(share([10.0, 0.0], 100.0), 0.1);
    // The same simulation under two levels.
    assert_eq!(share([10.0, 10.0], 10.0), 0.5);
}

#[test]
fn what_is_late_in_no_condition_may_have_others_beside_it() {
    let what = LateCause::Queue {
        port: "s1→b1".into(),
    };
    assert!(Slow::default().others_may_fill(&what));
    assert!(!Slow::default().is_shaped(&what));
}

/// A request that makes its connection crosses the network twice.
#[test]
fn the_handshake_is_a_part_of_what_the_network_takes() {
    let of = |connect: f64, both: f64| {
        let spent = [
            (StageSet::only(Stage::Connect), connect),
            (StageSet::BOTH_WAYS, both),
            (StageSet::only(Stage::Server), 3.8),
        ];
        let spent = spent.map(|(stages, ms)| Spent {
            component: Component::Stages(stages),
            ns: ms * MS,
        });
        let usual_ns = spent.iter().map(|one| one.ns).sum();
        let condition = Combination {
            usual_ns,
            mean_ns: usual_ns,
            spent: spent.to_vec(),
            ..Combination::default()
        };
        answer(BaselineKind::Best, vec![condition])
    };
    assert_eq!(
        of(4.4, 4.3),
        "70 % of the response is time in the network, in connect and both directions: 8.70 ms of 12.5 ms on average; 30 % is time in the server: 3.80 ms."
    );
    // One of them alone is much longer.
    assert_eq!(
        of(100.0, 4.3),
        "93 % of the response is time in the network (connect): 100 ms of 108 ms on average."
    );
}
