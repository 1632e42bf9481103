//! Whether a change of the model means what it means in the measured run's experiment.
//!
//! A model has two switches and three links a way, whatever the measured path has. What it knows of the minimum delay and of
//! the hosts stands at one link and at each host, so a key of the whole path would do something else than in the experiment:
//!
//! | key | in the experiment | in the model |
//! |---|---|---|
//! | `path.propagation` | of every link | of the links next to the bottleneck, on top of the minimum delay |
//! | `latency` of a switch | in place of the measured one | on top of the minimum delay, which has the measured one in it |
//! | `path.host.per_packet`, `path.host.per_byte` | of every host | of no host: each has its own |
//! | `path.rate` | of each link without one of its own | of the bottleneck |
//! | `path.switch.…` | of each switch without one of its own | of both |
//!
//! The first three are refused, the others where the experiment's own path differs from that. A refusal names the key that works.

use delaylab_lab::experiment::Resolved;
use delaylab_model::path::ACCESS;
use delaylab_topology::build;
use delaylab_topology::network::Port;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// What the minimum delay is in a model.
const MINIMUM: &str = "path.link.bottleneck.propagation";

/// Why a change of `model` cannot be predicted as it is written, with the key that works. `None` where each of its keys does
/// to the model what it does in the `measured` experiment.
pub fn refusal(model: &Resolved, changed: &Resolved, measured: &Resolved) -> Option<String> {
    let [before, after] = [model, changed].map(path_of);
    let differs = |place: &[&str]| at(&before, place) != at(&after, place);
    if differs(&["propagation"]) {
        return Some(format!(
            "`path.propagation` does not change the model's minimum delay, it adds to it on the other links: set `{MINIMUM}`"
        ));
    }
    if let Some(key) = latency(&after) {
        return Some(format!(
            "`{key}` adds to the model's minimum delay, which contains the time through switches: set `{MINIMUM}`"
        ));
    }
    for cost in ["per_packet", "per_byte"] {
        if differs(&["host", cost]) {
            return Some(format!(
                "`path.host.{cost}` changes no host of the model, each has costs of its own: set `path.node.a1.host.{cost}` \
                 and those of the other hosts"
            ));
        }
    }
    if differs(&["rate"]) && !is_the_bottlenecks(measured) {
        return Some(
            "`path.rate` is the bottleneck's in the model, and not the bottleneck's alone in the run's experiment: set \
             `path.link.bottleneck.rate`"
                .to_owned(),
        );
    }
    let (node, key) = own_switch(&path_of(measured), |key| differs(&["switch", key]))?;
    Some(format!(
        "`path.switch.{key}` is of both switches in the model, and `{node}` of the run's experiment has its own: set \
         `path.node.s1.switch.{key}` (there) or `path.node.s2.switch.{key}` (back)"
    ))
}

fn path_of(resolved: &Resolved) -> Table {
    let experiment: Option<Table> = resolved.toml.parse().ok();
    match experiment.and_then(|mut experiment| experiment.remove("path")) {
        Some(Value::Table(path)) => path,
        _ => Table::new(),
    }
}

fn at<'a>(table: &'a Table, place: &[&str]) -> Option<&'a Value> {
    let (first, rest) = place.split_first()?;
    let value = table.get(*first)?;
    match rest {
        [] => Some(value),
        rest => at(value.as_table()?, rest),
    }
}

/// The nodes that have settings of their own as a switch.
fn switches(path: &Table) -> impl Iterator<Item = (&str, &Table)> {
    let nodes = path.get("node").and_then(Value::as_array);
    nodes.into_iter().flatten().filter_map(|node| {
        let name = node.get("name").and_then(Value::as_str)?;
        Some((name, node.get("switch").and_then(Value::as_table)?))
    })
}

/// The key of a switch's latency: models are written without.
fn latency(path: &Table) -> Option<String> {
    if at(path, &["switch", "latency"]).is_some() {
        return Some("path.switch.latency".to_owned());
    }
    let mut own = switches(path).filter(|(_, switch)| switch.contains_key("latency"));
    own.next()
        .map(|(name, _)| format!("path.node.{name}.switch.latency"))
}

/// A node and one of its own settings that `is_changed` for all switches.
fn own_switch(experiment: &Table, is_changed: impl Fn(&str) -> bool) -> Option<(String, String)> {
    switches(experiment).find_map(|(name, switch)| {
        let key = switch.keys().find(|key| is_changed(key))?;
        Some((name.to_owned(), key.clone()))
    })
}

/// Is `path.rate` of one link alone, and no other slower? Where delaylab did not build the path it can only be the model's.
fn is_the_bottlenecks(measured: &Resolved) -> bool {
    let Some(trial) = measured.planned.first().map(|planned| &planned.trial) else {
        return true;
    };
    let Ok(built) = build(trial) else {
        return true;
    };
    let path = &trial.path;
    let has_its_own = |port: &&Port| {
        let line = |name: &str| path.line.get(name).is_some_and(|line| line.rate.is_some());
        let ends = [port.from, port.to];
        let of_host = ends.into_iter().any(|node| built.network.is_host(node));
        let mut links = path.link.iter().filter(|link| link.name == port.link);
        links.any(|link| link.rate.is_some()) || line(&port.link) || (of_host && line(ACCESS))
    };
    let (own, shared): (Vec<&Port>, Vec<&Port>) = built.network.ports.iter().partition(has_its_own);
    let links: BTreeSet<&str> = shared.iter().map(|port| port.link.as_str()).collect();
    let slowest = own.iter().map(|port| port.rate).min();
    let rate = shared.first().map(|port| port.rate);
    links.len() == 1 && slowest.is_none_or(|slowest| rate.is_some_and(|rate| rate <= slowest))
}
