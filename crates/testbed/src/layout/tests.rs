#![allow(clippy::unwrap_used)]

use super::*;
use delaylab_model::dscp::Dscp;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::method::Method;
use delaylab_model::path::{
    CoDel, Impair, Link, NearEmpty, Node, NodeKind, Pool, Reset, TokenBucket, Topology,
};
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::quantity::{Class, Duration, Limit, Rate, Share, Size};
use delaylab_switch::settings::Kind as QueueKind;
use std::collections::BTreeSet;

fn probe(class: &str) -> Probe {
    Probe {
        dscp: class.parse().unwrap(),
        ..Probe::new(class, Method::Icmp)
    }
}

fn trial(topology: Topology, probes: &[&str], change: impl FnOnce(&mut Trial)) -> Trial {
    let mut trial = Trial {
        id: 0,
        target: None,
        probes: probes.iter().map(|class| probe(class)).collect(),
        loads: Vec::new(),
        path: Path {
            topology: Some(topology),
            rate: Some(Rate(10_000_000)),
            ..Path::default()
        },
        host: HostCondition::Normal,
        seed: 1,
    };
    change(&mut trial);
    trial
}

fn words(layout: &Layout) -> Vec<String> {
    layout
        .structure
        .steps("x")
        .iter()
        .map(Step::to_string)
        .collect()
}

#[test]
fn what_no_packet_survives_is_refused_before_anything_is_built() {
    let refused = |change: fn(&mut Switch)| {
        let trial = trial(Topology::TwoHosts, &["be"], |trial| {
            change(trial.path.switch.get_or_insert_default());
        });
        let refusals = refusals::refusals(&trial);
        refusals
            .into_iter()
            .map(|refusal| refusal.field)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        refused(|switch| switch.buffer = Some(Limit::Bytes(83))),
        ["path.switch.buffer"]
    );
    assert!(refused(|switch| switch.buffer = Some(Limit::Bytes(2000))).is_empty());
    assert_eq!(
        refused(|switch| {
            switch.impair = Some(Impair {
                loss: Share::of_percent(200),
                ..Impair::default()
            });
        }),
        ["path.switch.impair.loss"]
    );
    assert!(
        refused(|switch| {
            switch.impair = Some(Impair {
                duplicate: Share::WHOLE,
                ..Impair::default()
            });
        })
        .is_empty()
    );
}

/// As simulations refuse it.
#[test]
fn what_has_no_effect_is_refused() {
    let refused = |change: &dyn Fn(&mut Trial)| {
        let trial = trial(Topology::TwoHosts, &["be"], |trial| {
            trial.probes[0].count = Some(10);
            let switch = trial.path.switch.get_or_insert_default();
            switch.discipline = Some(Discipline::Priority);
            change(trial);
        });
        let refusals = refusals::refusals(&trial).into_iter();
        refusals.map(|refusal| refusal.field).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(refused(&|_| ()), none);
    let with_load = |trial: &mut Trial, room| {
        trial.path.switch.get_or_insert_default().buffer = Some(Limit::Bytes(room));
        trial.loads.push(Load {
            payload: Some(Size(1000)),
            rate: Some(Rate(1_000_000)),
            ..Load::new("cbr", LoadKind::Cbr)
        });
    };
    assert_eq!(
        refused(&|trial| with_load(trial, 83)),
        ["path.switch.buffer"]
    );
    assert_eq!(refused(&|trial| with_load(trial, 2000)), none);
    assert_eq!(
        refused(&|trial| {
            let switch = trial.path.switch.get_or_insert_default();
            switch.queue_buffer = Some(Limit::Bytes(83));
        }),
        ["path.switch.queue_buffer"]
    );
    let reset = |trial: &mut Trial, at| {
        let lasts = Duration(1_000_000);
        trial.path.switch.get_or_insert_default().reset = Some(Reset {
            at: Duration(at),
            lasts,
        });
    };
    // Ten packets, one a second.
    assert_eq!(
        refused(&|trial| reset(trial, 10_000_000_000)),
        ["path.switch.reset"]
    );
    assert_eq!(refused(&|trial| reset(trial, 5_000_000_000)), none);
    // In a closed loop it is not known when all is over.
    assert_eq!(
        refused(&|trial| {
            trial.probes[0].pacing = Pacing::Wait { wait_ns: 1_000_000 };
            reset(trial, 10_000_000_000);
        }),
        none
    );
    assert_eq!(
        refused(&|trial| {
            trial.loads.push(Load {
                start: Some(Duration(10_000_000_000)),
                ..Load::new("bulk", LoadKind::Tcp)
            });
        }),
        ["load.bulk.start"]
    );
}

/// As the findings of an experiment are checked before it runs.
#[test]
fn series_are_foretold_of_the_queues_that_are_seen() {
    let kept = |topology, discipline| {
        let trial = trial(topology, &["be"], |trial| {
            trial.path.switch.get_or_insert_default().discipline = Some(discipline);
        });
        let kept = kept_series(&trial).into_iter();
        let kept = kept.map(|kept| format!("{} of {}", kept.series, kept.of));
        kept.collect::<BTreeSet<_>>()
    };
    let soft = kept(Topology::TwoHosts, Discipline::Fifo);
    assert!(soft.contains("backlog of s1→b1") && soft.contains("utilisation of s1→b1"));
    assert!(!soft.contains("backlog of a1→s1"), "{soft:?}");
    let kernel = kept(Topology::TwoHosts, Discipline::KernelTbf);
    assert!(kernel.contains("backlog of s1→b1") && !kernel.contains("utilisation of s1→b1"));
    let routed = kept(Topology::TwoPaths, Discipline::Fifo);
    assert!(routed.contains("backlog of s1→s2 congested") && !routed.contains("backlog of s2→b1"));
}

#[test]
fn every_interface_has_a_name_and_an_address_of_its_own() {
    for topology in [
        Topology::FatTree,
        Topology::LeafSpine,
        Topology::TwoPaths,
        Topology::Chain,
    ] {
        let trial = trial(topology, &["be", "ef"], |_| ());
        let layout = lay_out(&trial).unwrap();
        let ends = || layout.structure.cables.iter().flatten();
        let names: BTreeSet<_> = ends().map(|end| (end.place, &end.interface)).collect();
        let macs: BTreeSet<_> = ends().map(|end| end.mac).collect();
        let all = layout.structure.cables.len() * 2;
        assert_eq!((names.len(), macs.len()), (all, all), "{topology:?}");
        assert!(ends().all(|end| end.interface.len() <= LONGEST_NAME));
        let addresses: BTreeSet<_> = layout
            .structure
            .hosts
            .iter()
            .map(|(_, host)| host.address)
            .collect();
        assert_eq!(addresses.len(), layout.structure.hosts.len());
    }
}

#[test]
fn the_same_trial_is_laid_out_the_same() {
    let made = || {
        let trial = trial(Topology::TwoPaths, &["be", "ef"], |trial| {
            trial
                .path
                .route
                .insert("ef".to_owned(), "control".to_owned());
        });
        lay_out(&trial).unwrap()
    };
    assert_eq!(made(), made());
}

#[test]
fn what_is_made_is_what_is_taken_down() {
    let layout = lay_out(&trial(Topology::Chain, &["be"], |_| ())).unwrap();
    let of = |verb: &str, steps: Vec<Step>| -> BTreeSet<String> {
        let words = steps.iter().map(Step::to_string);
        let found = words.filter_map(|step| Some(step.strip_prefix(verb)?.to_owned()));
        found.collect()
    };
    let made = of("ip netns add ", layout.structure.steps("x"));
    assert_eq!(made.len(), layout.structure.places.len());
    assert_eq!(made, of("ip netns del ", layout.structure.undo("x")));
}

#[test]
fn classes_are_routed_by_mark_and_loads_by_sender() {
    let trial = trial(Topology::TwoPaths, &["be", "ef"], |trial| {
        trial
            .path
            .route
            .insert("ef".to_owned(), "control".to_owned());
        trial.loads.push(bulk("ef"));
    });
    let layout = lay_out(&trial).unwrap();
    let words = words(&layout);
    let has = |part: &str| words.iter().any(|step| step.contains(part));
    let mark = 1 + Dscp::new(46).unwrap().code_point();
    assert!(
        has(&format!("ip dscp 46 meta mark set {mark}")),
        "{words:#?}"
    );
    assert!(has(&format!("rule add priority 200 fwmark {mark} lookup")));
    // Whatever its class, and before the classes' rules.
    let sender = layout.structure.hosts[layout.loads[0][0][0]].1.address;
    assert!(has(&format!("rule add priority 100 from {sender} lookup")));
}

/// The words of the table that re-marks.
fn remarking(layout: &Layout) -> Vec<String> {
    let words = words(layout).into_iter();
    words
        .filter(|step| step.contains("delaylab-remark"))
        .collect()
}

/// A kernel goes on to the next rule with the packet that a rule has changed.
#[test]
fn classes_are_re_marked_once() {
    let trial = trial(Topology::TwoPaths, &["be", "ef"], |trial| {
        let class = str::to_owned;
        trial.path.remark = [(class("ef"), class("be")), (class("be"), class("ef"))].into();
    });
    let tables = remarking(&lay_out(&trial).unwrap());
    let [table] = &tables[..] else {
        panic!("{tables:#?}")
    };
    assert_eq!(table.matches("dscp set").count(), 4, "{table}");
    assert_eq!(table.matches("dscp set 46 accept;").count(), 2, "{table}");
    assert_eq!(table.matches("dscp set 0 accept;").count(), 2, "{table}");
}

fn node(name: &str, kind: NodeKind) -> Node {
    Node {
        name: name.to_owned(),
        kind,
        switch: None,
        host: None,
    }
}

fn link(name: &str, from: &str, to: &str) -> Link {
    Link {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        rate: None,
        propagation: None,
        framing: None,
        mtu: None,
    }
}

#[test]
fn classes_are_re_marked_where_they_leave_for_a_host() {
    let trial = trial(Topology::Routed, &["ef"], |trial| {
        let path = &mut trial.path;
        path.topology = None;
        path.node = vec![
            node("a", NodeKind::Host),
            node("near", NodeKind::Router),
            node("far", NodeKind::Router),
            node("b", NodeKind::Host),
        ];
        path.link = vec![
            link("first", "a", "near"),
            link("between", "near", "far"),
            link("the-last-link-of-all", "far", "b"),
        ];
        path.remark.insert("ef".to_owned(), "be".to_owned());
    });
    let layout = lay_out(&trial).unwrap();
    let [_, (_, last)] = &layout.structure.hosts[..] else {
        panic!("{:?}", layout.structure.hosts)
    };
    let interface = &layout.structure.end_of(last).unwrap().interface;
    let tables = remarking(&layout);
    assert_eq!(tables.len(), 1, "{tables:#?}");
    let there = format!("oifname \"{interface}\"");
    assert!(tables[0].contains(&there), "{there}: {tables:#?}");
}

/// An interface has the parameters of its namespace from the time at which it was made.
#[test]
fn parameters_are_there_before_the_interfaces_are() {
    let words = words(&lay_out(&trial(Topology::TwoPaths, &["be"], |_| ())).unwrap());
    let first = words.iter().position(|step| step.contains("link add"));
    let last = words.iter().rposition(|step| step.contains("sysctl"));
    assert!(last < first, "{words:#?}");
    for key in ["rp_filter", "send_redirects"] {
        let written = format!("default.{key}=0");
        assert!(words.iter().any(|step| step.contains(&written)), "{key}");
    }
}

/// Nodes and links as they are listed.
fn listed(nodes: &[Node], links: &[(&str, &str, &str)]) -> Trial {
    trial(Topology::Routed, &["be"], |trial| {
        trial.path.topology = None;
        trial.path.node = nodes.to_vec();
        let links = links.iter();
        trial.path.link = links.map(|(name, from, to)| link(name, from, to)).collect();
        (trial.probes[0].from, trial.probes[0].to) = (Some("a".to_owned()), Some("b".to_owned()));
    })
}

fn refused(trial: &Trial) -> Vec<String> {
    let refusals = refusals::refusals(trial).into_iter();
    refusals.map(|refusal| refusal.field).collect()
}

#[test]
fn each_router_has_its_own_queues_or_is_refused() {
    let with = |near: Switch, far: Switch| {
        let mut nodes = [
            node("a", NodeKind::Host),
            node("b", NodeKind::Host),
            node("r1", NodeKind::Router),
            node("r2", NodeKind::Router),
        ];
        (nodes[2].switch, nodes[3].switch) = (Some(near), Some(far));
        listed(
            &nodes,
            &[("a", "a", "r1"), ("m", "r1", "r2"), ("b", "r2", "b")],
        )
    };
    let queue = |discipline, packets| Switch {
        discipline: Some(discipline),
        buffer: Some(Limit::Packets(packets)),
        ..Switch::default()
    };
    let [short, long] = [10, 20].map(|packets| queue(Discipline::Fifo, packets));
    let differ = with(short.clone(), long);
    assert_eq!(refused(&differ), ["path.node.r1.switch"]);
    let kernel = |packets| queue(Discipline::KernelTbf, packets);
    assert_eq!(
        refused(&with(kernel(10), short.clone())),
        ["path.node.r1.switch"]
    );
    assert!(refused(&with(short.clone(), short)).is_empty());
    let words = words(&lay_out(&with(kernel(10), kernel(20))).unwrap());
    for (place, limit) in [("r1", 15_140), ("r2", 30_280)] {
        let queue = format!(
            "tc -n x-{place} qdisc replace dev m parent 1:1 handle 10: bfifo limit {limit}"
        );
        assert!(words.contains(&queue), "{queue}: {words:#?}");
    }
}

#[test]
fn a_host_has_one_link() {
    let nodes = [
        node("a", NodeKind::Host),
        node("b", NodeKind::Host),
        node("c", NodeKind::Host),
        node("s", NodeKind::Switch),
        node("t", NodeKind::Switch),
    ];
    let links = [
        ("1", "a", "s"),
        ("2", "b", "s"),
        ("3", "s", "t"),
        ("4", "c", "s"),
        ("5", "c", "t"),
    ];
    assert!(refused(&listed(&nodes, &links[..4])).is_empty());
    for links in [&links[..3], &links] {
        assert_eq!(refused(&listed(&nodes, links)), ["path.node.c"]);
    }
}

/// Words of `ip`, names that are there already, and names that others are given.
#[test]
fn links_may_be_called_anything() {
    let names = [
        "mtu",
        "up",
        "lo",
        "bridge",
        "all",
        "link0",
        "a-link-with-a-long-name",
    ];
    let hosts = ["a", "b", "c", "d", "e", "f", "g"];
    let mut nodes = hosts.map(|name| node(name, NodeKind::Host)).to_vec();
    nodes.push(node("s", NodeKind::Switch));
    let links: Vec<_> = names
        .into_iter()
        .zip(hosts)
        .map(|(name, host)| (name, host, "s"))
        .collect();
    let layout = lay_out(&listed(&nodes, &links)).unwrap();
    let cables = layout.structure.cables.iter();
    let found: Vec<_> = cables.map(|[end, _]| end.interface.as_str()).collect();
    assert_eq!(
        found,
        ["mtu", "up", "link2", "link3", "link4", "link5", "link6"]
    );
    let words = words(&layout);
    let has = |part: &str| words.iter().any(|step| step.contains(part));
    assert!(has("link add name mtu mtu 1500 address") && has("peer name mtu mtu 1500"));
    assert!(has("link set dev up up"));
}

#[test]
fn bridges_of_the_kernel_form_no_loop() {
    let mut trial = trial(Topology::LeafSpine, &["be"], |_| ());
    assert!(refused(&trial).is_empty());
    trial.path.switch = Some(Switch {
        discipline: Some(Discipline::KernelTbf),
        ..Switch::default()
    });
    assert_eq!(refused(&trial), ["path.switch.discipline"]);
}

/// tbf drops what is larger than its bucket.
#[test]
fn a_bucket_of_the_kernel_has_room_for_a_frame() {
    let refused = |discipline, burst| {
        let trial = trial(Topology::TwoHosts, &["be"], |trial| {
            trial.path.switch = Some(Switch {
                discipline: Some(discipline),
                burst: Some(Size(burst)),
                ..Switch::default()
            });
        });
        refused(&trial)
    };
    assert_eq!(refused(Discipline::KernelTbf, 1513), ["path.switch.burst"]);
    assert!(refused(Discipline::KernelTbf, 1514).is_empty());
    assert!(refused(Discipline::KernelHtb, 1000).is_empty());
}

#[test]
fn queues_of_the_kernel_are_made_anew() {
    let trial = trial(Topology::TwoHosts, &["be"], |trial| {
        trial.path.switch = Some(Switch {
            discipline: Some(Discipline::KernelTbf),
            ..Switch::default()
        });
    });
    let layout = lay_out(&trial).unwrap();
    let steps = layout.structure.fresh_queues("x", &layout.kernel_ports);
    let fresh: Vec<_> = steps.iter().map(Step::to_string).collect();
    let (removed, made) = fresh.split_at(2);
    assert_eq!(
        removed,
        [
            "tc -n x-s1 qdisc del dev a1 root",
            "tc -n x-s1 qdisc del dev b1 root"
        ]
    );
    let tc: Vec<_> = words(&layout)
        .into_iter()
        .filter(|step| step.starts_with("tc"))
        .collect();
    assert_eq!(made, tc);
}

/// netem and fq_codel count packets, the first those that are under way as well, the second their memory too.
#[test]
fn buffers_hold_packets_where_the_kernel_counts_them() {
    let section = Switch {
        buffer: Some(Limit::Bytes(64 << 10)),
        latency: Some(Duration(10_000_000)),
        ..Switch::default()
    };
    for (discipline, expected) in [
        (
            Discipline::KernelFqCodel,
            "fq_codel limit 43 memory_limit 176128",
        ),
        // 125 kB are 83 packets of the largest size.
        (
            Discipline::KernelNetem,
            "rate 100000000bit limit 126 delay 10000us",
        ),
    ] {
        let path = Path::default();
        let words =
            kernel_queue::commands(discipline, &section, &path, "x", 100_000_000, 1500).unwrap();
        let last = words.last().unwrap();
        assert!(last.ends_with(expected), "{last}");
    }
}

/// By the same sections as `fq-codel`.
#[test]
fn the_kernels_fq_codel_is_set_as_it_is_written() {
    let written = |change: &dyn Fn(&mut Switch)| {
        let mut section = Switch::default();
        change(&mut section);
        let which = Discipline::KernelFqCodel;
        let path = Path::default();
        let words = kernel_queue::commands(which, &section, &path, "x", 100_000_000, 1500);
        words.map(|words| words.last().unwrap().clone())
    };
    let codel = |target, interval| CoDel {
        target: Duration(target),
        interval: Duration(interval),
    };
    let words = written(&|section| {
        section.codel = Some(codel(20_000_000, 200_000_000));
        section.quantum = Some(Size(300));
        section.near_empty = Some(NearEmpty::All);
    });
    let words = words.unwrap();
    let expected = " target 20000us interval 200000us quantum 300";
    assert!(words.ends_with(expected), "{words}");
    let refused = |change: &dyn Fn(&mut Switch)| written(change).unwrap_err().field;
    let codel_of =
        |target, interval| refused(&move |section| section.codel = Some(codel(target, interval)));
    assert_eq!(codel_of(7_000_000, 5_000_000), "path.switch.codel.target");
    assert_eq!(codel_of(500, 5_000_000), "path.switch.codel.target");
    assert_eq!(
        refused(&|section| section.quantum = Some(Size(200))),
        "path.switch.quantum"
    );
}

#[test]
fn what_no_queue_of_the_kernel_has_is_refused() {
    let refused_with = |discipline, change: &dyn Fn(&mut Switch)| {
        refused(&trial(Topology::TwoHosts, &["be"], |trial| {
            let switch = trial.path.switch.get_or_insert_default();
            switch.discipline = Some(discipline);
            change(switch);
        }))
    };
    let with_tbf = |change: &dyn Fn(&mut Switch)| refused_with(Discipline::KernelTbf, change);
    assert_eq!(
        with_tbf(&|switch| switch.alpha = Some(Share::WHOLE)),
        ["path.switch.alpha"]
    );
    assert_eq!(
        with_tbf(&|switch| switch.pool = Some(Pool::Shared)),
        ["path.switch.pool"]
    );
    assert!(with_tbf(&|switch| switch.pool = Some(Pool::Output)).is_empty());
    // What another discipline of the sweep is set by.
    assert!(with_tbf(&|switch| switch.quantum = Some(Size(1514))).is_empty());
    let weigh = |name: &'static str| {
        refused_with(Discipline::KernelHtb, &|switch| {
            switch.weights.insert(name.to_owned(), 2);
        })
    };
    assert_eq!(weigh("best"), ["path.switch.weights"]);
    assert!(weigh("best-effort").is_empty());
}

/// A ring in which each class goes the long way round.
#[test]
fn tables_of_many_routers_and_classes_are_none_of_the_kernels() {
    let classes = ["ef", "cs1", "cs2", "cs3", "cs4", "cs5", "cs6"];
    let trial = trial(Topology::Routed, &classes, |trial| {
        let path = &mut trial.path;
        path.topology = None;
        let routers: Vec<_> = (0..60).map(|router| format!("r{router}")).collect();
        path.node = vec![node("a", NodeKind::Host), node("b", NodeKind::Host)];
        let nodes = routers.iter().map(|name| node(name, NodeKind::Router));
        path.node.extend(nodes);
        path.link = vec![link("to-a", "a", "r0"), link("to-b", "r1", "b")];
        let next = routers.iter().cycle().skip(1);
        let links = routers.iter().zip(next);
        let links = links.map(|(from, to)| link(&format!("{from}-{to}"), from, to));
        path.link.extend(links);
        let far = "r30-r31".to_owned();
        path.route = classes.map(|class| (class.to_owned(), far.clone())).into();
    });
    let tables: BTreeSet<u32> = words(&lay_out(&trial).unwrap())
        .iter()
        .filter_map(|step| step.rsplit_once(" lookup ")?.1.parse().ok())
        .collect();
    assert!(tables.len() > 155, "{}", tables.len());
    // Unspecified, default, main and local.
    assert!(
        [0, 253, 254, 255]
            .iter()
            .all(|table| !tables.contains(table))
    );
}

/// By the congested way.
fn bulk(class: &str) -> Load {
    Load {
        class: Class(class.parse().unwrap()),
        route: Some("congested".to_owned()),
        ..Load::new("bulk", LoadKind::Tcp)
    }
}

#[test]
fn a_sender_goes_one_way() {
    let trial = trial(Topology::TwoPaths, &["be"], |trial| {
        let mut load = bulk("be");
        (load.from, load.to) = (Some("a1".to_owned()), Some("b1".to_owned()));
        trial.path.pairs = Some(1);
        trial.loads.push(load);
    });
    let refusal = lay_out(&trial).unwrap_err();
    assert_eq!(refusal.field, "load.bulk.route");
}

#[test]
fn cells_are_bytes_to_a_switch_of_frames() {
    let trial = trial(Topology::TwoHosts, &["be"], |trial| {
        trial.path.framing = Some(Framing::Aal5);
        trial.path.switch = Some(Switch {
            buffer: Some(delaylab_model::quantity::Limit::Cells(100)),
            ..Switch::default()
        });
    });
    let layout = lay_out(&trial).unwrap();
    assert_eq!(layout.structure.mtu, 9188);
    assert_eq!(layout.devices[0].settings.queues.memory.size.bytes, 5300);
}

/// A soft switch between links of this framing.
fn framed(framing: Framing, change: impl FnOnce(&mut Switch)) -> Trial {
    trial(Topology::TwoHosts, &["be"], |trial| {
        trial.path.framing = Some(framing);
        change(trial.path.switch.get_or_insert_default());
    })
}

fn queues_of(trial: &Trial) -> Settings {
    lay_out(trial).unwrap().devices[0].settings.queues.clone()
}

#[test]
fn a_buffer_holds_as_many_cells_by_default_as_in_simulations() {
    let settings = queues_of(&framed(Framing::Aal5, |_| ()));
    assert_eq!(settings.memory.size.bytes, 13_000 * 53);
    assert_eq!(settings.memory.size.items, u64::MAX);
    let of_frames = queues_of(&framed(Framing::Ethernet, |_| ()));
    assert_eq!(of_frames.memory.size.items, 1000);
}

#[test]
fn each_limit_may_be_in_cells() {
    let trial = framed(Framing::Aal5, |switch| {
        switch.discipline = Some(Discipline::Priority);
        switch.queue_buffer = Some(Limit::Cells(1000));
    });
    assert_eq!(queues_of(&trial).queue_share.bytes, 53_000);
}

/// CoDel leaves alone what the largest packet takes in cells.
#[test]
fn the_largest_packet_has_the_bytes_of_its_cells() {
    let settings = queues_of(&framed(Framing::Aal5, |switch| {
        switch.discipline = Some(Discipline::CoDel)
    }));
    let QueueKind::CoDel(codel) = settings.kind else {
        panic!("codel was asked for")
    };
    // 9188 bytes and a trailer of 8, 48 bytes a cell.
    assert_eq!(codel.largest, 192 * CELL);
}

/// Of frames the IP packet and a header, which a link of this framing may not have; of cells all.
#[test]
fn token_buckets_count_by_framing() {
    let shaped = |framing, header| {
        framed(framing, |switch| {
            switch.shaper = Some(TokenBucket {
                rate: Rate(6_000_000),
                burst: Size(10_000),
                ceil: None,
                ceil_burst: None,
                header,
            });
        })
    };
    let uncounted = |framing| {
        let settings = queues_of(&shaped(framing, None));
        settings.shaper.unwrap().uncounted
    };
    assert_eq!(uncounted(Framing::Ethernet), 24);
    assert_eq!(uncounted(Framing::Ppp), -12);
    assert_eq!(uncounted(Framing::Aal5), 0);
    let with_header = shaped(Framing::Aal5, Some(Size(14)));
    assert_eq!(refused(&with_header), ["path.switch.shaper"]);
    let cake = framed(Framing::Aal5, |switch| {
        switch.discipline = Some(Discipline::Cake)
    });
    assert_eq!(refused(&cake), ["path.switch.discipline"]);
}

#[test]
fn nobody_pauses_on_a_pair_of_veth() {
    let trial = trial(Topology::TwoHosts, &["be"], |trial| {
        trial.path.switch = Some(Switch {
            flow_control: Some(delaylab_model::path::FlowControl {
                kind: delaylab_model::path::FlowControlKind::Pfc,
                priorities: Vec::new(),
                xoff: delaylab_model::quantity::Size(40_000),
                xon: None,
                headroom: None,
                quanta: None,
                response: None,
            }),
            ..Switch::default()
        });
    });
    let refusals = refusals::refusals(&trial);
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].field, "path.switch.flow_control");
    assert!(refusals[0].reason.contains("world sim"));
}

#[test]
fn a_bucket_holds_a_frame_and_what_a_stall_collects() {
    assert_eq!(kernel_queue::least_burst(10_000_000, 1500), 1514 + 162);
    assert_eq!(kernel_queue::least_burst(100_000_000, 1500), 1514 + 1625);
}
