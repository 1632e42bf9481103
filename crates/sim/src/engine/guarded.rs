//! Flow control in an experiment: what each link needs to lose nothing, what each port is asked, and what cannot be.

use super::MOST_SERIES;
use super::flow_control::{Control, Paused};
use delaylab_model::path::{FlowControlKind, Framing, Path, Switch as SwitchSection};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;
use delaylab_switch::Settings;
use delaylab_switch::flow_control::{Limits, Link, Parameters, Set, response_of_the_standard};
use delaylab_topology::Built;
use delaylab_topology::classes::QUEUES;
use delaylab_topology::framing::{framing_of, wire};
use delaylab_topology::network::{NodeId, Port, PortId, other_end};
use delaylab_topology::queues::switch_settings;
use delaylab_topology::time::picos;

/// The largest frame that may be sent, in bytes on the wire.
fn largest(trial: &Trial, built: &Built) -> u32 {
    let frames = trial.probes.iter().filter_map(|probe| probe.frames);
    let sizes = frames.map(|frames| frames.ip_size());
    let ip_size = sizes.chain([built.mtu]).max().unwrap_or(built.mtu);
    wire(built.framing, ip_size).bytes
}

/// The link by which a switch asks for pauses from this port of its own: what comes by it, and by which settings.
pub(super) fn guarded_link(
    trial: &Trial,
    built: &Built,
    switch: NodeId,
    port: PortId,
) -> Option<(Parameters, Link)> {
    let section = built.network.switch(switch)?;
    let settings = switch_settings(section, &trial.path, built.framing).ok()?;
    let parameters = settings.flow_control?;
    let port = &built.network.ports[port as usize];
    let response = parameters.response;
    let link = Link {
        rate: port.rate,
        propagation: port.propagation,
        latency: picos(section.latency),
        response: response.unwrap_or_else(|| response_of_the_standard(port.rate)),
        largest: largest(trial, built),
    };
    Some((parameters, link))
}

/// The thresholds of each input of a switch.
pub(super) fn limits_of(
    trial: &Trial,
    built: &Built,
    switch: NodeId,
    settings: &Settings,
) -> Vec<(usize, Limits)> {
    if settings.flow_control.is_none() {
        return Vec::new();
    }
    let ports = built.network.of_node[switch as usize].iter().enumerate();
    let limits = ports.filter_map(|(input, &port)| {
        let (parameters, link) = guarded_link(trial, built, switch, port)?;
        Some((input, Limits::new(&parameters, &link)))
    });
    limits.collect()
}

/// Flow control at each port; nothing without it.
pub(super) fn controls_of(trial: &Trial, built: &Built) -> Vec<Control> {
    let common = trial.path.switch.as_ref();
    if common.is_none_or(|switch| switch.flow_control.is_none()) {
        return Vec::new();
    }
    let network = &built.network;
    let to_switch = |port: &&Port| !network.is_host(port.to);
    let pausable = network.ports.iter().filter(to_switch).count();
    let mut series = 0;
    let mut controls = Vec::new();
    for (id, port) in (0..).zip(&network.ports) {
        // Of a large network only what is between switches.
        let kept = series < MOST_SERIES && (pausable <= MOST_SERIES || !network.is_host(port.from));
        let paused = if kept {
            paused_of(trial, built, id)
        } else {
            Vec::new()
        };
        series += paused.len();
        let asks = guarded_link(trial, built, port.from, id);
        let (lasts, delay) = asks.map_or((0, 0), |(parameters, link)| {
            let delay = link.propagation + link.response;
            (link.pause(parameters.quanta), delay)
        });
        controls.push(Control::new(lasts, delay, paused));
    }
    controls
}

/// What can be paused of a port: the priorities that the switch at its end may stop, by name.
fn paused_of(trial: &Trial, built: &Built, id: PortId) -> Vec<Paused> {
    let name = built.network.port_name(id);
    let to = built.network.ports[id as usize].to;
    let Some((parameters, _)) = guarded_link(trial, built, to, other_end(id)) else {
        return Vec::new();
    };
    if parameters.kind == FlowControlKind::Pause {
        return vec![Paused::new(name.into(), Set::MAX)];
    }
    let classes = (0..).zip(QUEUES);
    let lossless = classes.filter(|(queue, _)| parameters.lossless >> queue & 1 == 1);
    lossless
        .map(|(queue, class)| Paused::new(format!("{name} {class}").into(), 1 << queue))
        .collect()
}

/// What goes with flow control.
pub(super) fn of_flow_control(
    path: &Path,
    section: &SwitchSection,
    under: &str,
) -> Result<(), Refusal> {
    let common = path.switch.as_ref();
    let common = common.and_then(|switch| switch.flow_control.as_ref());
    let kinds = [common, section.flow_control.as_ref()].map(|flow| flow.map(|flow| flow.kind));
    if kinds[0] != kinds[1] {
        let why = "neighbours need the same kind: give it under [path.switch], and to nodes only what differs";
        return refuse(format!("{under}.flow_control"), why);
    }
    if section.flow_control.is_none() {
        return Ok(());
    }
    if framing_of(path) != Framing::Ethernet {
        return refuse(
            "path.framing",
            "flow control is Ethernet's: leave the framing out",
        );
    }
    if path.shaper.is_some() {
        return refuse(
            "path.shaper",
            "a channel of constant rate does not stop for flow control: leave one of the two out",
        );
    }
    Ok(())
}

/// Each link of a switch with flow control, and by which settings; none without.
fn links_of(trial: &Trial, built: &Built, switch: NodeId) -> Vec<(String, Parameters, Link)> {
    let ports = built.network.of_node[switch as usize].iter();
    let links = ports.filter_map(|&port| {
        let (parameters, link) = guarded_link(trial, built, switch, port)?;
        let from = built.network.ports[port as usize].to;
        let name = built.network.nodes[from as usize].name.clone();
        Some((name, parameters, link))
    });
    links.collect()
}

/// A pause that lapses before it is asked for again stops nobody.
pub(super) fn of_the_quanta(
    trial: &Trial,
    built: &Built,
    switch: NodeId,
    under: &str,
) -> Result<(), Refusal> {
    for (from, parameters, link) in links_of(trial, built, switch) {
        let least = link.least_quanta();
        if u64::from(parameters.quanta) < least {
            let why = format!(
                "a pause would be over before it is asked for again, behind a frame of {} B to {from}: give {least} at least",
                link.largest
            );
            return refuse(format!("{under}.flow_control.quanta"), why);
        }
    }
    Ok(())
}

/// Where the headroom that is given is too small to lose nothing: which field, and what would be enough.
pub(super) fn small_headroom(
    trial: &Trial,
    built: &Built,
    switch: NodeId,
    under: &str,
) -> Option<Refusal> {
    let links = links_of(trial, built, switch).into_iter();
    let short = links.filter_map(|(from, parameters, link)| {
        let given = parameters.headroom?;
        let needed = link.headroom();
        (given < needed).then_some((needed, from, given))
    });
    let (needed, from, given) = short.max()?;
    let name = &built.network.nodes[switch as usize].name;
    Some(Refusal::new(
        format!("{under}.flow_control.headroom"),
        format!(
            "{given} B are too few to lose nothing: up to {needed} B come to {name} from {from} after XOFF. Leave it out to \
             have what each link needs"
        ),
    ))
}
