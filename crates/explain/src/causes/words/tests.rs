//! How causes read.

use super::remedy::{in_simulation, is_of_any_world};
use super::{answer, is_stall};
use crate::causes::roles::Role;
use crate::causes::testing::cause;
use crate::causes::{Cause, Explanation};
use delaylab_model::noise::{NoiseKind, TRACER};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::trains::Owner;

fn ran(name: &str, kind: NoiseKind) -> LateCause {
    LateCause::Ran {
        who: Owner::named(name),
        kind,
    }
}

fn network() -> LateCause {
    LateCause::Network {
        stages: StageSet::BOTH_WAYS,
    }
}

/// Of 1000 packets.
fn said(causes: Vec<Cause>) -> String {
    let late = causes.iter().map(|cause| cause.packets);
    answer(&Explanation {
        sent: 1_000,
        answered: 1_000,
        late: late.clone().sum(),
        events: late.sum(),
        excess_ns: causes.iter().map(|cause| cause.excess_ns).sum(),
        causes,
        ..Explanation::default()
    })
}

/// One rule for the answer, the evidence and the remedy.
#[test]
fn a_stop_that_few_packets_met_is_no_stall() {
    let watched = [TRACER.to_owned()];
    let (short, long) = (10.0 * 1e6, 10.0 * 5e6);
    assert!(!is_stall(&watched, 10, 1, short));
    assert!(is_stall(&watched, 10, 5, short));
    assert!(is_stall(&watched, 10, 0, long));
    assert!(!is_stall(&[], 10, 0, long));
}

#[test]
fn what_had_the_cpu_is_called_the_same_in_the_answer_and_in_its_headline() {
    for (name, kind, headline, share) in [
        (
            "cron",
            NoiseKind::Scheduled,
            "another process (cron) had the CPU",
            "another process (cron) had its CPU",
        ),
        (
            "eth0",
            NoiseKind::Interrupt,
            "eth0 (an interrupt) had the CPU",
            "eth0 (an interrupt) had its CPU",
        ),
        (
            "NET_RX",
            NoiseKind::Softirq,
            "NET_RX (a softirq) had the CPU",
            "NET_RX (a softirq) had its CPU",
        ),
        (
            "sentinel_gap",
            NoiseKind::SentinelGap,
            "something without a name had the CPU",
            "something without a name had its CPU",
        ),
        (
            "slow_clock_read",
            NoiseKind::SlowClockRead,
            "clock reads were slow",
            "clock reads were slow",
        ),
    ] {
        let cause = cause(ran(name, kind), 3, 9.0);
        assert_eq!(cause.headline(), headline);
        let said = said(vec![cause]);
        assert!(
            said.ends_with(&format!("the prober's host, 100 % while {share}.")),
            "{said}"
        );
    }
}

#[test]
fn the_run_s_own_load_is_counted_by_its_part_and_named_where_it_is_one_process() {
    let own = |name: &str, role: Role, packets: u64| Cause {
        role,
        ..cause(ran(name, NoiseKind::Scheduled), packets, 1.0)
    };
    let with = |own: Vec<Cause>| {
        let found = cause(network(), 1, 5.0);
        said(std::iter::once(found).chain(own).collect())
    };
    let left_out = |said: &str| {
        said.split_once(" Not in these figures: ")
            .map(|(_, left)| left.to_owned())
    };
    let one = with(vec![own("slices", Role::Stress, 3)]);
    assert_eq!(
        left_out(&one).as_deref(),
        Some(
            "3 packets (0.30 %) that delaylab's stress load (slices) delayed, as condition stressed asks."
        )
    );
    let several = with(vec![
        own("slices", Role::Stress, 3),
        own("memory", Role::Stress, 1),
        own("delaylab load", Role::Load, 1),
    ]);
    assert_eq!(
        left_out(&several).as_deref(),
        Some(
            "4 packets (0.40 %) that delaylab's stress load delayed, as condition stressed asks; 1 packet (0.10 %) that delaylab's \
             own load (delaylab load) delayed, as the experiment asks."
        )
    );
}

#[test]
fn packets_that_the_clock_was_set_under_do_not_hide_the_others() {
    let clock = || cause(LateCause::Clock, 3, 90.0);
    assert_eq!(
        said(vec![clock(), cause(network(), 1, 80.0)]),
        "1 of 1000 packets was late (0.10 %), by 80.0 ms. Of this excess delay, 100 % arose in the network. Not in these figures: \
         3 packets (0.30 %) under way when the clock was set or the host suspended (no delays)."
    );
    assert_eq!(
        said(vec![clock()]),
        "No packet was late but for these: 3 packets (0.30 %) under way when the clock was set or the host suspended (no delays)."
    );
}

#[test]
fn what_is_unclear_is_that_of_the_unclear_packets() {
    let unclear = |stages: StageSet| cause(LateCause::Unclear { stages }, 1, 30.0);
    let said = said(vec![
        cause(network(), 1, 40.0),
        unclear(StageSet::NETWORK_AND_SERVER),
        unclear(StageSet::only(Stage::Tls)),
    ]);
    assert!(
        said.ends_with("the stamps do not say whether the network or the server is why."),
        "{said}"
    );
}

#[test]
fn what_to_do_in_a_simulation_is_about_what_is_simulated() {
    let unclear = |stages: StageSet| LateCause::Unclear { stages };
    let merged = unclear(StageSet::span(Stage::LocalQueue, Stage::ForwardPath));
    for (what, one_way, begins) in [
        (
            ran("cron", NoiseKind::Scheduled),
            false,
            "It is a process of the simulated host",
        ),
        (
            ran("tick", NoiseKind::Interrupt),
            false,
            "It is what the model of that host draws",
        ),
        (
            LateCause::Others,
            false,
            "They are processes of the simulated host",
        ),
        (
            LateCause::Server,
            false,
            "It is what the model of that server takes",
        ),
        (
            merged.clone(),
            false,
            "The stamps do not tell the hosts from the network",
        ),
        (merged, true, "Test frames have no stamps in hosts"),
    ] {
        assert!(!is_of_any_world(&what), "{what:?}");
        let said = in_simulation(&what, one_way);
        assert!(said.starts_with(begins), "{what:?}: {said}");
    }
    assert!(is_of_any_world(&unclear(StageSet::NETWORK_AND_SERVER)));
}

#[test]
fn packets_that_missed_their_time_out_are_said_where_none_is_late() {
    let said = |too_late| {
        answer(&Explanation {
            sent: 400,
            answered: 400,
            too_late,
            ..Explanation::default()
        })
    };
    assert!(
        said(0).starts_with("No packet was late: none took"),
        "{}",
        said(0)
    );
    assert_eq!(
        said(52),
        "No packet took far longer than the others of its stream, though 52 of them came after their time-out."
    );
}
