//! What cannot be built, by the name of its field.

use super::kernel_features::{Feature, features_of};
use super::kernel_queue::largest_frame;
use super::{is_routed, kernel_discipline};
use crate::layout::switched::MOST_HOSTS;
use delaylab_model::path::{
    ACCESS, Discipline, Impair, PacketDiscard, Path, Pool, Switch, Topology,
};
use delaylab_model::quantity::{Duration, Share};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;
use delaylab_topology::classes::known_classes;
use delaylab_topology::framing::{frames_that_fit, in_cells};
use delaylab_topology::network::Kind;
use delaylab_topology::pointless::{of_a_late_load, of_a_useless_switch};
use delaylab_topology::queues::{in_section, switch_section};
use delaylab_topology::time::in_time;
use delaylab_topology::{self as topology, Built};

/// Namespaces and links of one testbed: more would keep this machine busy with building.
const MOST_PLACES: usize = 64;
const MOST_LINKS: usize = 250;

/// The nodes, links and flows of a trial.
pub(super) fn build(trial: &Trial) -> Result<Built, Refusal> {
    if trial.path.topology == Some(Topology::SwitchLoopback) {
        return refuse(
            "path.topology",
            "a host that asks itself never sends a packet: `switch-loopback` is for the world sim",
        );
    }
    topology::build(trial)
}

/// Every field of the trial that the testbed cannot honour.
pub fn refusals(trial: &Trial) -> Vec<Refusal> {
    let built = match of_the_path(&trial.path).and_then(|()| build(trial)) {
        Ok(built) => built,
        Err(refusal) => return vec![refusal],
    };
    let checks = [
        of_the_size(&built),
        of_the_hosts(&built),
        of_the_queues(&trial.path),
        of_the_lines(&trial.path, &built),
        of_the_probes(trial, &built),
        of_the_loads(trial, &built),
        of_the_switches(&trial.path, &built),
        of_the_pointless(trial, &built),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

fn of_the_path(path: &Path) -> Result<(), Refusal> {
    const TARGET: &str = "a testbed has its own hosts: leave it out, or run the live world";
    const ABR: &str = "real TCP and UDP are no ABR sources: run it in the world sim";
    const SHAPER: &str = "hosts here send as they please: give it under [in.sim.path]";
    const HOST: &str = "hosts here cost what they cost: give it under [in.sim.path.host]";
    let not_here = &[
        ("target", path.target.is_some(), TARGET),
        ("abr", path.abr.is_some(), ABR),
        ("shaper", path.shaper.is_some(), SHAPER),
        ("host", path.host.is_some(), HOST),
    ];
    none_given("path", not_here)
}

/// Refuses the first of these fields that is given, for the reason that stands behind it.
fn none_given(section: &str, fields: &[(&str, bool, &str)]) -> Result<(), Refusal> {
    match fields.iter().find(|(_, given, _)| *given) {
        Some((field, _, reason)) => refuse(format!("{section}.{field}"), *reason),
        None => Ok(()),
    }
}

fn of_the_size(built: &Built) -> Result<(), Refusal> {
    let network = &built.network;
    let hosts = (0..network.nodes.len() as u32).filter(|&node| network.is_host(node));
    let (nodes, links) = (network.nodes.len(), network.ports.len() / 2);
    if nodes > MOST_PLACES || links > MOST_LINKS || hosts.count() > MOST_HOSTS {
        let what = format!(
            "{nodes} nodes and {links} links: a testbed has at most {MOST_PLACES} nodes and {MOST_LINKS} \
             links. The world sim has more"
        );
        return refuse("path", what);
    }
    Ok(())
}

/// A host has one interface, by whose address the others know it.
fn of_the_hosts(built: &Built) -> Result<(), Refusal> {
    let network = &built.network;
    for (id, node) in (0..).zip(&network.nodes) {
        let links = network.of_node[id as usize].len();
        if network.is_host(id) && links != 1 {
            let why =
                format!("has {links} links: a host of a testbed has one. The world sim has others");
            return refuse(format!("path.node.{}", node.name), why);
        }
    }
    Ok(())
}

/// Between a host and its router is a cable.
fn of_the_lines(path: &Path, built: &Built) -> Result<(), Refusal> {
    let network = &built.network;
    let is_a_hosts = |name: &str| {
        name == ACCESS
            || network
                .named(name)
                .is_some_and(|node| network.is_host(node))
    };
    match path
        .line
        .keys()
        .find(|name| is_routed(path) && is_a_hosts(name))
    {
        None => Ok(()),
        Some(name) => refuse(
            format!("path.line.{name}"),
            "hosts are connected to routers by cables without rate or propagation: give it under [in.sim.path]",
        ),
    }
}

fn of_the_queues(path: &Path) -> Result<(), Refusal> {
    const REMARK: &str = "routers re-mark: use the topology routed or two-paths";
    const ROUTE: &str =
        "switches know one way to each host: use the topology two-paths, or routers";
    known_classes(path)?;
    let switched = !is_routed(path);
    let of_routers = &[
        ("remark", switched && !path.remark.is_empty(), REMARK),
        ("route", switched && !path.route.is_empty(), ROUTE),
    ];
    none_given("path", of_routers)
}

fn of_the_probes(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    for probe in &trial.probes {
        let field = |name: &str| format!("probe.{}.{name}", probe.name);
        if let Some(refusal) = probe.refuse_frames() {
            return Err(refusal.within(&format!("probe.{}", probe.name)));
        }
        frames_that_fit(probe, built.mtu)?;
        if probe.method.is_one_way() && is_routed(&trial.path) {
            let why = "routers drop frames of a tester: its addresses lead nowhere. Use a topology of switches";
            return refuse(field("method"), why);
        }
    }
    match trial.probes.iter().find(|probe| probe.interface.is_some()) {
        Some(probe) => refuse(
            format!("probe.{}.interface", probe.name),
            "hosts here have one interface each: use `from`",
        ),
        None => Ok(()),
    }
}

/// A load that is routed by name is told apart by its sender.
fn of_the_loads(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    for (load, streams) in trial.loads.iter().zip(&built.loads) {
        let Some(route) = &load.route else {
            continue;
        };
        let field = format!("load.{}.route", load.name);
        if !is_routed(&trial.path) {
            return refuse(
                field,
                "only routers have several ways: use the topology two-paths",
            );
        }
        let mut others = trial.loads.iter().zip(&built.loads);
        let differs = others.any(|(other, ends)| {
            other.route.as_ref() != Some(route)
                && ends
                    .iter()
                    .any(|e| streams.iter().any(|s| s.from == e.from))
        });
        let probed = built
            .probes
            .iter()
            .any(|e| streams.iter().any(|s| s.from == e.from));
        if differs || probed {
            return refuse(
                field,
                "its sender sends something else too, which would go the same way: give it a host of its own",
            );
        }
    }
    Ok(())
}

fn of_the_switches(path: &Path, built: &Built) -> Result<(), Refusal> {
    for (id, node) in (0..).zip(&built.network.nodes) {
        if let Kind::Switch(section) = &node.kind {
            let checked = of_a_switch(section, path, built).and_then(|()| match is_routed(path) {
                true => of_a_wire(section, id, built),
                false => of_a_bridge(section, id, built),
            });
            let under = switch_section(path, &node.name);
            checked.map_err(|refusal| in_section(refusal, &under))?;
        }
    }
    Ok(())
}

/// Between two routers is one soft switch, which has one setting for what both of them send.
fn of_a_wire(section: &Switch, router: u32, built: &Built) -> Result<(), Refusal> {
    let network = &built.network;
    let ports = network.of_node[router as usize].iter();
    for port in ports.map(|&port| &network.ports[port as usize]) {
        let Kind::Switch(other) = &network.nodes[port.to as usize].kind else {
            continue;
        };
        let are_of_the_kernel = [section, other].map(|one| kernel_discipline(one).is_some());
        if are_of_the_kernel != [true; 2] && section != &**other {
            let why = format!(
                "is not that of the router at the other end of link `{}`, and one soft switch queues for both: give \
                 both the same, or a queue of the kernel each, or run it in the world sim",
                port.link
            );
            return refuse("path.switch", why);
        }
    }
    Ok(())
}

/// A bridge of the kernel sends frames to addresses that it has not seen by every port.
fn of_a_bridge(section: &Switch, switch: u32, built: &Built) -> Result<(), Refusal> {
    if kernel_discipline(section).is_none() || built.network.is_without_loops(switch) {
        return Ok(());
    }
    let why = "the kernel's bridges would send frames round and round where links form a loop: use a soft switch, \
               like \"fifo\", or routers";
    refuse("path.switch.discipline", why)
}

/// Loads, resets and queues that would have no effect.
fn of_the_pointless(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    for load in &trial.loads {
        of_a_late_load(trial, load)?;
    }
    for node in &built.network.nodes {
        if let Kind::Switch(section) = &node.kind {
            let under = switch_section(&trial.path, &node.name);
            of_a_useless_switch(trial, built, section, &under)?;
        }
    }
    Ok(())
}

/// Shares of packets to which something is done.
fn of_impairments(impair: Impair) -> Result<(), Refusal> {
    let shares = [
        ("loss", impair.loss),
        ("duplicate", impair.duplicate),
        ("corrupt", impair.corrupt),
        ("reorder", impair.reorder),
        ("flood", impair.flood),
    ];
    let why = "is more than all packets: 100 % is the most";
    let too_much = shares.map(|(name, share)| (name, share > Share::WHOLE, why));
    none_given("path.switch.impair", &too_much)
}

/// By the names of fields under `path.switch`.
fn of_a_switch(section: &Switch, path: &Path, built: &Built) -> Result<(), Refusal> {
    if section.flow_control.is_some() {
        let why = "kernels do not ask for a pause on a pair of veth: run it in the world sim, or give it under \
                   [in.sim.path.switch]";
        return refuse("path.switch.flow_control", why);
    }
    in_time("path.switch.latency", section.latency)?;
    of_impairments(section.impair.unwrap_or_default())?;
    match kernel_discipline(section) {
        Some(discipline) => {
            of_soft_switches_alone(section)?;
            of_a_kernel_queue(discipline, section, path, built)
        }
        None => of_a_soft_switch(section, path, built),
    }
}

/// What no queue of the kernel does.
fn of_soft_switches_alone(section: &Switch) -> Result<(), Refusal> {
    const RESET: &str = "the kernel's queues are not reset: use a soft switch, like \"fifo\"";
    const PAUSE: &str = "the kernel's queues do not pause: use a soft switch, like \"fifo\"";
    const BUCKET: &str = "the kernel's queues have a bucket of the link's `rate` and `burst`: use a soft switch, \
                          like \"fifo\"";
    let not_there = &[
        ("reset", section.reset.is_some(), RESET),
        ("pause", section.pause.is_some(), PAUSE),
        ("shaper", section.shaper.is_some(), BUCKET),
        ("policer", section.policer.is_some(), BUCKET),
    ];
    none_given("path.switch", not_there)
}

fn of_a_soft_switch(section: &Switch, path: &Path, built: &Built) -> Result<(), Refusal> {
    const NO_SOURCES: &str = "tells ABR sources or neighbours what to do, and real hosts are neither: run it in the world sim";
    const WHOLE: &str =
        "frames are forwarded whole here, also where cells are charged: leave it out";
    const NO_CROSSBAR: &str =
        "moves cells, and frames are forwarded whole here: run it in the world sim";
    let discipline = section.discipline.unwrap_or(Discipline::Fifo);
    if let Some(why) = section.pause.and_then(|pause| pause.problem()) {
        return refuse("path.switch.pause", why);
    }
    let asks_others = matches!(
        discipline,
        Discipline::Efci | Discipline::ExplicitRate | Discipline::Credit
    );
    let discards = section.packet_discard.unwrap_or_default() != PacketDiscard::None;
    let not_there = &[
        ("discipline", asks_others, NO_SOURCES),
        ("packet_discard", discards, WHOLE),
        ("crossbar", section.crossbar.is_some(), NO_CROSSBAR),
    ];
    none_given("path.switch", not_there)?;
    super::queues(section, path, built.framing).map(drop)
}

fn of_a_kernel_queue(
    discipline: Discipline,
    section: &Switch,
    path: &Path,
    built: &Built,
) -> Result<(), Refusal> {
    const NO_DELAY: &str = "the kernel's queues add no propagation: leave it out, or use a soft switch (like \"fifo\")";
    const NO_CELLS: &str =
        "the kernel's queues charge frames and no cells: use a soft switch (like \"fifo\")";
    let delayed = built.network.ports.iter().any(|port| port.propagation > 0);
    let not_of_the_kernel = &[
        ("propagation", delayed, NO_DELAY),
        ("framing", in_cells(built.framing), NO_CELLS),
    ];
    none_given("path", not_of_the_kernel)?;
    of_what_no_kernel_has(section)?;
    of_the_kernels_bucket(discipline, section, built)?;
    of_the_kernels_impairments(discipline, section)?;
    let rate = path.rate.map_or(0, |rate| rate.0);
    super::kernel_queue::commands(discipline, section, path, "x", rate.max(1), built.mtu)?;
    match features_of(discipline).iter().find(|it| !it.is_there()) {
        Some(Feature { name, module, .. }) => refuse(
            "path.switch.discipline",
            format!(
                "this kernel has no {name} (try `modprobe {module}`): use a soft switch, like \"fifo\" or \"fq-codel\""
            ),
        ),
        None => Ok(()),
    }
}

fn of_the_kernels_bucket(
    discipline: Discipline,
    section: &Switch,
    built: &Built,
) -> Result<(), Refusal> {
    const NO_CLASSES: &str =
        "there are no class queues here: use kernel-htb or a soft switch (like \"wfq\")";
    const NO_BUCKET: &str = "netem has no bucket that could leave at once: use kernel-tbf";
    let [netem, htb] = [Discipline::KernelNetem, Discipline::KernelHtb].map(|it| it == discipline);
    let (queues, burst) = (section.queue_buffer.is_some(), section.burst.is_some());
    let not_there = &[
        ("queue_buffer", queues && !htb, NO_CLASSES),
        ("burst", burst && netem, NO_BUCKET),
    ];
    none_given("path.switch", not_there)?;
    let frame = largest_frame(built.mtu);
    // htb lets the bucket go below zero.
    if let Some(burst) = section.burst.filter(|burst| !htb && burst.0 < frame) {
        let why = format!(
            "{} B have no room for a frame of {frame} B, which tbf then drops: raise it, or set a smaller `path.mtu`",
            burst.0
        );
        return refuse("path.switch.burst", why);
    }
    Ok(())
}

fn of_the_kernels_impairments(discipline: Discipline, section: &Switch) -> Result<(), Refusal> {
    const NO_MORE: &str = "netem is asked for loss, duplication and corruption here: use a soft switch (like \"fifo\")";
    const QUEUES: &str =
        "tbf and htb queue and do nothing else: use kernel-netem or a soft switch (like \"fifo\")";
    let netem = discipline == Discipline::KernelNetem;
    let latency = section.latency.is_some_and(|Duration(latency)| latency > 0);
    let impair = section.impair.unwrap_or_default();
    let is_more = impair.flood > Share(0) || impair.reorder > Share(0);
    let not_there = &[
        ("latency", !netem && latency, QUEUES),
        ("impair", !netem && impair != Impair::default(), QUEUES),
        ("impair", netem && is_more, NO_MORE),
    ];
    none_given("path.switch", not_there)
}

/// What other disciplines are set by may stand beside a queue of the kernel, so that a sweep need set `discipline` alone; what
/// would be another buffer or another kind of switch may not.
fn of_what_no_kernel_has(section: &Switch) -> Result<(), Refusal> {
    let pool = section.pool.unwrap_or(Pool::Output);
    let discard = section.packet_discard.unwrap_or_default();
    let given = [
        ("pool", pool != Pool::Output),
        ("alpha", section.alpha.is_some()),
        ("crossbar", section.crossbar.is_some()),
        ("explicit_rate", section.explicit_rate.is_some()),
        ("packet_discard", discard != PacketDiscard::None),
    ];
    let why = "the kernel's queues have a buffer at each output port and nothing else: leave it out, or use a soft switch \
               (like \"fifo\")";
    none_given(
        "path.switch",
        &given.map(|(field, is_given)| (field, is_given, why)),
    )
}
