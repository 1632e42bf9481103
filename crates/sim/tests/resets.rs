//! A switch that was reset is as it was before anything came.

use crate::common::{every, probe, run, trial};
use delaylab_model::Nanos;

/// Of packets every 2 ms, those sent in the 100 ms behind a reset that do not come back; 40 Mbit/s were sent to a line of
/// 10 Mbit/s until shortly before.
fn lost_after_a_reset(switch: &str) -> Vec<u64> {
    let path = format!(
        r#"
[path]
topology = "many-to-one"
rate = "100Mbit/s"
[path.line]
b1 = {{ rate = "10Mbit/s" }}
[path.switch]
{switch}
reset = {{ at = "500ms", lasts = "100ms" }}
"#
    );
    let mut echo = probe("echo", 64, every(2_000_000), 350);
    echo.timeout = 50_000_000;
    let flood = probe("flood", 1_472, every(300_000), 1_600);
    let taken = run(&trial(&path, vec![echo, flood]));
    let up: Nanos = 600_000_000;
    let behind = taken.records.iter().filter(|record| {
        record.probe == 0 && record.seq as Nanos * 2_000_000 >= up && record.response().is_none()
    });
    behind.map(|record| record.seq).collect()
}

#[test]
fn what_was_queued_leaves_no_trace() {
    for switch in [
        "",
        // Its shaper knows when what it gave up would have left.
        "discipline = \"cake\"\ncake = { rate = \"10Mbit/s\" }",
        // Its average and its probability are those of a full queue.
        "discipline = \"red\"\nbuffer = \"500packets\"",
        "discipline = \"pie\"\nbuffer = \"500packets\"",
        "discipline = \"codel\"",
    ] {
        let lost = lost_after_a_reset(switch);
        assert!(lost.is_empty(), "{switch}: {lost:?}");
    }
}
