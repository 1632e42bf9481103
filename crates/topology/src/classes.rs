//! What a path makes of traffic classes: which queue, which way, and what a class becomes.

use crate::network::Network;
use delaylab_model::dscp::Dscp;
use delaylab_model::path::Path;
use delaylab_model::refusal::{Refusal, refuse};

/// Class queues from the first that is served on: what `[path.queue]` and `[path.switch.weights]` name.
pub const QUEUES: [&str; 4] = ["network-control", "expedited", "best-effort", "scavenger"];

/// The class queue that a class has by itself (RFC 4594), or by the path's word.
pub fn queue_of(path: &Path, class: Dscp) -> u8 {
    let entries = path.queue.iter();
    let mut said = entries.filter(|(name, _)| name.parse() == Ok(class));
    if let Some((_, queue)) = said.next() {
        return QUEUES.iter().position(|name| name == queue).unwrap_or(2) as u8;
    }
    match class.code_point() {
        48..=63 => 0,
        40..=47 => 1,
        1 | 8 => 3,
        _ => 2,
    }
}

/// The class that a class has become when it arrives: the last switch may have changed it.
pub fn remarked(path: &Path, class: Dscp) -> Dscp {
    let of_this = |name: &String| name.parse() == Ok(class);
    let rule = path.remark.iter().find(|(name, _)| of_this(name));
    rule.and_then(|(_, to)| to.parse().ok()).unwrap_or(class)
}

/// The way that this class takes.
pub(crate) fn class_route(path: &Path, class: Dscp) -> Option<&String> {
    let entries = path.route.iter();
    let mut same = entries.filter(|(name, _)| name.parse() == Ok(class));
    same.next().map(|(_, route)| route)
}

/// Every class and class queue that `[path.queue]` and `[path.remark]` name is one.
///
/// # Errors
/// Names the field of the first that is not.
pub fn known_classes(path: &Path) -> Result<(), Refusal> {
    for (class, to) in &path.remark {
        let field = format!("path.remark.{class}");
        known_class(&field, class)?;
        known_class(&field, to)?;
    }
    for (class, queue) in &path.queue {
        let field = format!("path.queue.{class}");
        known_class(&field, class)?;
        if !QUEUES.contains(&queue.as_str()) {
            let what = format!(
                "there is no queue `{queue}`: there are {}",
                QUEUES.join(", ")
            );
            return refuse(field, what);
        }
    }
    Ok(())
}

fn known_class(field: &str, name: &str) -> Result<(), Refusal> {
    let class = name.parse::<Dscp>();
    class.map_or_else(|error| refuse(field, error.to_string()), |_| Ok(()))
}

/// Every class of `[path.route]` is one, and every link is there.
pub(crate) fn known_routes(path: &Path, network: &Network) -> Result<(), Refusal> {
    for (class, link) in &path.route {
        let field = format!("path.route.{class}");
        known_class(&field, class)?;
        if !network.ports.iter().any(|port| port.link == *link) {
            return refuse(field, format!("there is no link `{link}`"));
        }
    }
    Ok(())
}
