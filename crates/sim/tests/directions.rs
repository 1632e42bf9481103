//! Loads that come down fill the queues of the way back.

use crate::common::{Taken, every, mean, probe, run, trial};
use delaylab_model::record::Record;

/// Four TCP streams this way across a trunk, beside a probe every 10 ms for two seconds.
fn across(direction: &str) -> Taken {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = 4
direction = "{direction}"
[path]
topology = "pairs-on-a-trunk"
rate = "10Mbit/s"
propagation = "1ms"
[path.switch]
buffer = "64kB"
"#
    );
    run(&trial(
        &sections,
        vec![probe("echo", 100, every(10_000_000), 200)],
    ))
}

/// The mean time there and back, once the queue has had time to fill.
fn there_and_back(taken: &Taken) -> [f64; 2] {
    let settled = || taken.records.iter().filter(|record| record.seq >= 100);
    let there = |record: &Record| Some((record.r_rx? - record.t_tx?) as f64);
    let back = |record: &Record| Some((record.t_rx? - record.r_tx?) as f64);
    [
        mean(&settled().filter_map(there).collect::<Vec<_>>()),
        mean(&settled().filter_map(back).collect::<Vec<_>>()),
    ]
}

#[test]
fn each_way_has_a_queue_of_its_own() {
    let [there, back] = there_and_back(&across("up"));
    assert!(there > 10e6 && back < 6e6, "{there} {back}");
    let down = across("down");
    let [there, back] = there_and_back(&down);
    assert!(there < 6e6 && back > 10e6, "{there} {back}");
    let goodput = down.series_of("load_goodput", "bulk", 500_000_000).0;
    assert!((8e6..10e6).contains(&goodput), "{goodput}");
}
