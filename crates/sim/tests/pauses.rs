//! A switch that pauses holds what comes, and hops say so.

use crate::common::{every, probe, run, trial};
use delaylab_model::Nanos;
use delaylab_model::hop::{Direction, Hop};

const EVERY: Nanos = 20_000_000;
const LASTS: Nanos = 4_000_000;

/// What is held has waited since it came: the waits of a packet are all that it takes longer than one that is not held.
#[test]
fn what_is_held_waits_from_when_it_came() {
    let path = r#"
[path]
topology = "chain"
hops = 2
rate = "1Gbit/s"
propagation = "10us"
[path.switch]
latency = "30us"
pause = { every = "20ms", lasts = "4ms" }
"#;
    let taken = run(&trial(
        path,
        vec![probe("echo", 160, every(1_300_000), 300)],
    ));
    let forward = |hop: &&Hop| hop.direction == Direction::Forward;
    let took = |seq: u64| {
        let record = taken.records.iter().find(|record| record.seq == seq);
        let record = record.unwrap_or_else(|| panic!("no packet {seq}"));
        record.r_rx.unwrap_or(0) - record.t_tx.unwrap_or(0)
    };
    let least = (0..300).map(took).min().unwrap_or(0);
    let mut held = 0;
    for seq in 0..300 {
        let hops = taken.hops.iter().filter(forward);
        let hops: Vec<&Hop> = hops.filter(|hop| hop.seq == seq).collect();
        let waits = hops.iter().map(|hop| hop.t_dequeue - hop.t_enqueue);
        let longer = took(seq) - least;
        // Each stamp is a whole nanosecond.
        assert!(
            (waits.sum::<Nanos>() - longer).abs() <= 4,
            "{hops:?}, {longer}"
        );
        let first = hops.first().map_or(0, |hop| hop.t_enqueue % EVERY);
        held += u64::from(first > EVERY - LASTS);
    }
    assert!((50..70).contains(&held), "{held} of 300");
}
