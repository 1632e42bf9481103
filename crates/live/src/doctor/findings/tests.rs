//! A host that lacks nothing has no finding; each lack is one.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::doctor::{Access, ClockCheck, NoiseFloor, WakeUp};
use delaylab_kernel::host_info::{Availability, HostInfo, Synchronisation};
use delaylab_model::SECOND;
use delaylab_model::method::Method;

fn spread(p50: Nanos) -> Spread {
    Spread {
        count: 500,
        min: p50 / 2,
        p50,
        p99: p50 * 2,
        max: p50 * 9,
    }
}

fn row(setting: Setting, p50: Nanos) -> WakeUp {
    WakeUp {
        setting,
        lateness: Some(spread(p50)),
        round_p50: vec![p50],
        round_p99: Vec::new(),
        refused: None,
    }
}

/// A host that lacks nothing.
fn healthy() -> Checkup {
    let delivered = SOFTWARE.map(|point| (point, Delivery::Delivered)).to_vec();
    Checkup {
        host: HostInfo {
            kernel: Some("6.18".into()),
            cpu_model: None,
            cpus: Some(4),
            virtualised: false,
            clock_source: Some("tsc".into()),
            clock_sources: vec!["tsc".into(), "hpet".into()],
            synchronisation: Some(Synchronisation {
                synchronised: true,
                max_error: 400_000,
            }),
            ping_group_range: Some((0, 10)),
            tracefs: Availability::Yes,
            netem: Availability::Yes,
            ptp_clocks: vec!["ice".into()],
        },
        stamps: vec![MethodStamps {
            method: Method::Udp,
            family: "IPv4".into(),
            result: Ok(delivered),
        }],
        clock: ClockCheck {
            read: spread(20),
            negative_steps: 0,
        },
        wakeups: vec![row(Setting::Default, 2_000)],
        best_setting: Setting::Default,
        noise: vec![NoiseFloor {
            cpu: 1,
            length: SECOND,
            threshold: 5_000,
            gaps: None,
            total: 0,
            cost: 22,
        }],
        access: Access {
            icmp_datagram: true,
            icmp_raw: true,
            stamp_port: true,
            fifo: true,
            lock_memory: true,
            cpu_dma_latency: true,
            cpuset: Some(2),
            nic_stamping: true,
            ..Access::default()
        },
        findings: Vec::new(),
    }
}

fn not_ok(checkup: &Checkup) -> Vec<Finding> {
    find(checkup)
        .into_iter()
        .filter(|finding| finding.state != FindingState::Ok)
        .collect()
}

#[test]
fn a_healthy_host_has_nothing_to_do() {
    assert_eq!(not_ok(&healthy()), []);
}

#[test]
fn each_lack_is_one_finding_with_its_cost() {
    type Lack = (&'static str, fn(&mut Checkup));
    let lacks: [Lack; 17] = [
        ("udp over IPv4", |c| c.stamps[0].result = Err("no".into())),
        ("udp over IPv4", |c| {
            c.stamps[0].result = Ok(vec![(StampPoint::TTx, Delivery::Missing)])
        }),
        ("icmp sockets", |c| {
            (c.access.icmp_datagram, c.access.icmp_raw) = (false, false)
        }),
        ("NIC stamps", |c| c.host.ptp_clocks.clear()),
        ("NIC stamps", |c| c.access.nic_stamping = false),
        ("clock reads", |c| c.clock.negative_steps = 1),
        ("clock reads", |c| c.clock.read = spread(2_000)),
        ("real time", |c| c.host.synchronisation = None),
        ("CPUs", |c| c.host.cpus = Some(1)),
        ("noise floor", |c| c.noise[0].total = SECOND / 10),
        ("hardware", |c| c.host.virtualised = true),
        ("SCHED_FIFO", |c| c.access.fifo = false),
        ("memory lock", |c| c.access.lock_memory = false),
        ("own cpuset", |c| c.access.cpuset = Some(1)),
        ("leftovers", |c| c.access.leftovers.push("/x".into())),
        ("STAMP port 862", |c| c.access.stamp_port = false),
        ("STAMP port 862", |c| c.access.stamp_port_in_use = true),
    ];
    for (name, lack) in lacks {
        let mut checkup = healthy();
        lack(&mut checkup);
        let found = not_ok(&checkup);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!(found[0].name, name);
        assert!(found[0].cost.is_some(), "{name}");
    }
}

#[test]
fn only_what_measured_better_is_recommended() {
    let mut checkup = healthy();
    checkup
        .wakeups
        .extend([row(Setting::FineSlack, 2_000), row(Setting::Fifo, 1_000)]);
    assert_eq!(not_ok(&checkup), []);
    checkup.best_setting = Setting::Fifo;
    let remedy = not_ok(&checkup)[0].remedy.clone().unwrap();
    assert!(
        remedy.ends_with("measured better here, 1.00 µs late at the median, 2.00 µs at p99"),
        "{remedy}"
    );
}
