//! The stages of a response, computed anew from a record's stamps: the tests' own reading of the
//! record's definition.

use super::run::Record;
use std::collections::BTreeMap;

/// The points of a response in their order, and the stage that ends at each.
const STAGES: [&str; 7] = [
    "schedule slip",
    "send stack",
    "local queue",
    "forward path",
    "reflector",
    "return path",
    "receive wake-up",
];

/// Stages in ns by name. Where a stamp is missing its two neighbours are one, with both names.
pub fn stages(record: &Record) -> BTreeMap<String, i64> {
    let ends = [
        record.t_send_ns,
        record.t_sched_ns,
        record.t_tx_ns,
        record.r_rx_ns,
        record.r_tx_ns,
        record.t_rx_ns,
        record.t_recv_ns,
    ];
    let mut stages = BTreeMap::new();
    let mut from = record.t_intended_ns;
    let mut names: Vec<&str> = Vec::new();
    for (name, end) in STAGES.into_iter().zip(ends) {
        names.push(name);
        if let Some(end) = end {
            stages.insert(names.join(" + "), end - from);
            names.clear();
            from = end;
        }
    }
    stages
}
