//! Switches with buffers at their inputs, and a crossbar from there to the output ports.

use crate::common::{every, probe, run, trial};
use delaylab_model::trial::Trial;

/// Four hosts that send cells to four others, each to each at random, together 95 % of every line.
fn uniform(switch: &str) -> Trial {
    let mut sections = String::from(
        "[path]\nframing = \"aal5\"\nrate = \"155.52Mbit/s\"\n[[path.node]]\nname = \"s\"\nkind = \"switch\"\n",
    );
    sections += &format!("[path.node.switch]\nbuffer = \"unlimited\"\n{switch}\n");
    for host in ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"] {
        sections += &format!(
            "[[path.node]]\nname = \"{host}\"\nkind = \"host\"\n[[path.link]]\nname = \"{host}\"\nfrom = \"{host}\"\nto = \"s\"\n"
        );
    }
    for (from, to) in (1..=4).flat_map(|from| (1..=4).map(move |to| (from, to))) {
        // Packets of one cell: 40 bytes of IP.
        sections += &format!(
            "[[load]]\nname = \"l{from}{to}\"\nkind = \"poisson\"\nrate = \"27.876Mbit/s\"\npayload = \"12B\"\nfrom = \"a{from}\"\nto = \"b{to}\"\n"
        );
    }
    let mut echo = probe("echo", 12, every(1_000_000), 100);
    (echo.from, echo.to) = (Some("a1".into()), Some("b1".into()));
    trial(&sections, vec![echo])
}

fn used(switch: &str) -> f64 {
    let taken = run(&uniform(switch));
    assert!(taken.counts.dropped.is_empty());
    let ports = ["s→b1", "s→b2", "s→b3", "s→b4"];
    let of = |port| taken.series_of("utilisation", port, 20_000_000).0;
    ports.map(of).iter().sum::<f64>() / 4.0
}

#[test]
fn head_of_line_blocking_is_that_of_karol_and_queues_for_each_output_have_none() {
    // Table I of Karol et al.: 0.6553 of four outputs. 30,000 cells an input: 2 %.
    let fifo = used("crossbar = { scheduler = \"fifo\" }");
    let pim = used("crossbar = { scheduler = \"pim\" }");
    let islip = used("discipline = \"per-flow\"\ncrossbar = { scheduler = \"islip\" }");
    let outputs = used("");
    println!(
        "95 % offered: FIFO inputs pass {fifo:.4}, PIM {pim:.4}, iSLIP {islip:.4}, output buffers {outputs:.4}"
    );
    assert!((fifo / 0.6553 - 1.0).abs() < 0.02, "{fifo}");
    for all in [pim, islip] {
        assert!(
            (all / outputs - 1.0).abs() < 0.005 && outputs > 0.94,
            "{all} {outputs}"
        );
    }
}

#[test]
fn a_crossbar_costs_a_cell_at_an_empty_switch_nothing() {
    let alone = |crossbar: &str| {
        let sections = format!(
            "[path]\ntopology = \"chain\"\nhops = 3\nframing = \"aal5\"\nrate = \"155.52Mbit/s\"\nswitch = {{ latency = \"12us\", {crossbar} }}"
        );
        run(&trial(
            &sections,
            vec![probe("echo", 2048, every(5_000_000), 20)],
        ))
        .responses(0, 0)
    };
    let with = alone("discipline = \"per-flow\", crossbar = { scheduler = \"pim\" }");
    let without = alone("discipline = \"per-flow\"");
    assert_eq!(with.len(), 20);
    for (one, other) in with.iter().zip(&without) {
        // The fraction of a picosecond that a line carries on is lost where a cell comes from elsewhere.
        assert!((one - other).abs() <= 1.0, "{one} {other}");
    }
}
