//! Nodes and links one by one: `[[path.node]]` and `[[path.link]]`.

use crate::flows::{Site, Usual};
use crate::line::line;
use crate::network::{Kind, Network, NodeId};
use delaylab_model::path::{Link, Node, NodeKind, Path};
use delaylab_model::refusal::{Refusal, refuse};

/// Nodes and links as they are listed.
pub(crate) fn listed(path: &Path) -> Result<Site, Refusal> {
    if path.node.is_empty() {
        return refuse(
            "path.topology",
            "nothing says what is built: give a topology, like \"two-hosts\", or nodes and links",
        );
    }
    if let Some(name) = path.line.keys().next() {
        return refuse(
            format!("path.line.{name}"),
            "is for a topology by name: give it to the link, in [[path.link]]",
        );
    }
    let mut network = Network::default();
    for node in &path.node {
        add_node(&mut network, path, node)?;
    }
    for link in &path.link {
        add_link(&mut network, path, link)?;
    }
    let usual = usual(&network);
    Ok(Site { network, usual })
}

/// Between which hosts flows go that do not say so: only two leave no choice.
fn usual(network: &Network) -> Usual {
    let hosts: Vec<NodeId> = network.hosts().collect();
    match hosts[..] {
        [a, b] => Usual::Pairs(vec![[a, b]]),
        _ => Usual::Said,
    }
}

/// Namespaces, interfaces and files are called by it, and commands that are printed hold it.
fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_plain = (1..=64).contains(&name.len()) && name.chars().all(plain);
    if is_plain && !name.starts_with(['-', '.']) {
        return Ok(());
    }
    refuse(
        field,
        format!(
            "`{name}` cannot be a name: use up to 64 letters, digits, `-`, `_` and `.`, a letter, a digit or `_` first"
        ),
    )
}

fn add_node(network: &mut Network, path: &Path, node: &Node) -> Result<(), Refusal> {
    check_name("path.node", &node.name)?;
    if network.named(&node.name).is_some() {
        return refuse("path.node", format!("two nodes are called `{}`", node.name));
    }
    let kind = match node.kind {
        NodeKind::Host => {
            let base = path.host.clone().unwrap_or_default();
            Kind::Host(node.host.clone().unwrap_or_default().over(&base))
        }
        NodeKind::Switch | NodeKind::Router => {
            let base = path.switch.clone().unwrap_or_default();
            Kind::Switch(Box::new(
                node.switch.clone().unwrap_or_default().over(&base),
            ))
        }
    };
    network.node(&node.name, kind);
    Ok(())
}

fn add_link(network: &mut Network, path: &Path, link: &Link) -> Result<(), Refusal> {
    check_name("path.link", &link.name)?;
    let field = format!("path.link.{}", link.name);
    if network.ports.iter().any(|port| port.link == link.name) {
        let why = format!("two links are called `{}`", link.name);
        return refuse("path.link", why);
    }
    if link
        .framing
        .is_some_and(|framing| Some(framing) != path.framing)
    {
        return refuse(
            format!("{field}.framing"),
            "all links have one framing: give it under [path]",
        );
    }
    if link.mtu.is_some_and(|mtu| Some(mtu) != path.mtu) {
        return refuse(
            format!("{field}.mtu"),
            "all links have one MTU: give it under [path]",
        );
    }
    let end = |name: &str| match network.named(name) {
        Some(node) => Ok(node),
        None => refuse(field.clone(), format!("there is no node `{name}`")),
    };
    let (from, to) = (end(&link.from)?, end(&link.to)?);
    if from == to {
        return refuse(field, "a link has two ends");
    }
    let line = line(
        link.rate.or(path.rate),
        link.propagation.or(path.propagation),
        &field,
    )?;
    network.link(&link.name, from, to, line);
    Ok(())
}
