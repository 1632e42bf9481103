//! Everything that is checked before a simulation, so that none breaks off on the way.

use super::explicit::of_erica;
use super::guarded::{of_flow_control, of_the_quanta, small_headroom};
use super::pointless::{faster_than_its_line, late_streams};
use super::sections::{DATAGRAM_HEADERS, arrivals, small_enough};
use super::set_up::of_the_channels;
use super::tcp_load::settings_of;
use delaylab_model::frames::Frames;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::path::{
    Discipline, Framing, HostCosts, Path, Software, Switch as SwitchSection,
};
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::quantity::{Duration, Limit, Share};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::request::{Request, Trust};
use delaylab_model::trial::Trial;
use delaylab_model::{Nanos, PICOS_PER_NANO};
use delaylab_switch::crossbar::MOST_PORTS;
use delaylab_topology::classes::known_classes;
use delaylab_topology::framing::{frames_that_fit, framing_of, in_cells};
use delaylab_topology::network::{Kind, Network};
use delaylab_topology::pointless::{of_a_late_load, of_a_useless_switch, small_bursts};
use delaylab_topology::queues::{in_section, switch_section, switch_settings};
use delaylab_topology::time::{in_time, picos};
use delaylab_topology::{Built, build};
use delaylab_traffic::abr::Parameters;
use delaylab_traffic::arrival::section::payload;

/// Every field of the trial that cannot be simulated.
pub fn refusals(trial: &Trial) -> Vec<Refusal> {
    let built = match build(trial) {
        Ok(built) => built,
        Err(refusal) => return vec![refusal],
    };
    let checks = [
        of_the_path(trial),
        of_the_servers(&trial.path),
        of_the_probes(trial, built.mtu),
        of_the_loads(trial, &built),
        of_the_switches(trial, &built),
    ];
    checks.into_iter().filter_map(Result::err).collect()
}

/// What can be simulated and may not be what was meant, by field.
pub fn advice(trial: &Trial) -> Vec<Refusal> {
    let Ok(built) = build(trial) else {
        return Vec::new();
    };
    let mut advice = faster_than_its_line(trial, &built);
    advice.extend(late_streams(trial));
    for node in &built.network.nodes {
        if let Kind::Switch(section) = &node.kind {
            let under = switch_section(&trial.path, &node.name);
            advice.extend(small_bursts(trial, &built, section, &under));
        }
    }
    let common = trial.path.switch.as_ref();
    if common.is_some_and(|switch| switch.flow_control.is_some()) {
        let nodes = (0..).zip(&built.network.nodes);
        advice.extend(nodes.filter_map(|(id, node)| {
            let under = switch_section(&trial.path, &node.name);
            small_headroom(trial, &built, id, &under)
        }));
    }
    advice
}

fn of_the_shaper(path: &Path) -> Result<(), Refusal> {
    match path.shaper {
        Some(shaper) if shaper.cbr.0 == 0 => {
            refuse("path.shaper.cbr", "nothing gets through a rate of zero")
        }
        Some(_) if path.abr.is_some() => refuse("path.shaper", "a channel is CBR or ABR, not both"),
        _ => Ok(()),
    }
}

fn of_the_path(trial: &Trial) -> Result<(), Refusal> {
    let path = &trial.path;
    if path.target.is_some() {
        return refuse(
            "path.target",
            "a simulation has no target: leave it out, or run the live world",
        );
    }
    if path.abr.is_some() && !in_cells(framing_of(path)) {
        return refuse("path.abr", "ABR is for ATM: give `framing = \"aal5\"` too");
    }
    of_the_shaper(path)?;
    if let Some(abr) = &path.abr {
        let rate = path.rate.map_or(u64::MAX, |rate| rate.0);
        Parameters::read(&abr.0, rate)?;
    }
    known_classes(path)
}

fn of_the_probes(trial: &Trial, mtu: u32) -> Result<(), Refusal> {
    for probe in &trial.probes {
        let field = |name: &str| format!("probe.{}.{name}", probe.name);
        if let Some(frames) = &probe.frames {
            of_frames(trial, probe, frames)?;
            frames_that_fit(probe, mtu)?;
            continue;
        }
        if let Some(request) = &probe.request {
            of_request(probe, request)?;
        }
        let size = probe.method.ip_size(false, probe.payload);
        if let Some(size) = size.filter(|&size| size > mtu) {
            let what = format!(
                "an IP packet of {size} B is over the MTU of {mtu} B, and the simulation has no fragments: raise path.mtu"
            );
            return refuse(field("payload"), what);
        }
        in_time(field("timeout"), Some(Duration(probe.timeout)))?;
        in_time(field("pacing"), Some(Duration(gap(probe.pacing))))?;
        // A count of slots, one after the other.
        let lasts = probe.expected_duration().unwrap_or(0);
        in_time(field("count"), Some(Duration(lasts)))?;
        if probe.count.is_none() && probe.duration.is_none() {
            let what = "a simulation is not stopped by hand: give a `count` or a `duration`";
            return refuse(field("until_stopped"), what);
        }
        if probe.interface.is_some() {
            return refuse(
                field("interface"),
                "simulated hosts have no interfaces by name: use `from`",
            );
        }
        if probe.ttl.is_some() {
            return refuse(field("ttl"), "nothing counts hops down in the simulation");
        }
    }
    Ok(())
}

/// What a simulated server cannot be asked.
fn of_request(probe: &Probe, request: &Request) -> Result<(), Refusal> {
    let trust = match request {
        Request::Connect { .. } => return Ok(()),
        Request::Http(http) => &http.trust,
        Request::Dns(dns) => &dns.trust,
    };
    let given = match trust {
        Trust::System => return Ok(()),
        Trust::File(_) => "ca_file",
        Trust::Anyone => "insecure",
    };
    let what = "simulated servers have no certificates that could be verified: leave it out";
    refuse(format!("probe.{}.{given}", probe.name), what)
}

/// Servers that are not simulated.
fn of_the_servers(path: &Path) -> Result<(), Refusal> {
    for server in &path.server {
        let field = |name: &str| format!("path.server.{}.{name}", server.name);
        if server.software != Software::Delaylab {
            let what = format!(
                "{} is a real program: simulate it by a `think` time under [[in.sim.path.server]] with `software = \"delaylab\"`",
                server.software
            );
            return refuse(field("software"), what);
        }
        in_time(field("think"), server.think)?;
    }
    Ok(())
}

/// What a tester cannot send, or not keep account of.
fn of_frames(trial: &Trial, probe: &Probe, frames: &Frames) -> Result<(), Refusal> {
    let field = |name: &str| format!("probe.{}.{name}", probe.name);
    if framing_of(&trial.path) != Framing::Ethernet {
        return refuse(
            field("method"),
            "frames are Ethernet's: leave path.framing out",
        );
    }
    if frames.vlan.is_some() {
        let what = "simulated switches know no tags: leave it out, or use the testbed";
        return refuse(field("vlan"), what);
    }
    if let Some(refusal) = probe.refuse_frames() {
        return Err(refusal.within(&format!("probe.{}", probe.name)));
    }
    in_time(field("timeout"), Some(Duration(probe.timeout)))?;
    in_time(field("start"), Some(Duration(frames.start)))?;
    in_time(field("count"), probe.expected_duration().map(Duration))
}

/// The longest from one packet to the next.
const fn gap(pacing: Pacing) -> Nanos {
    match pacing {
        Pacing::Every { interval_ns } | Pacing::Burst { interval_ns, .. } => interval_ns,
        Pacing::Poisson { mean_ns } => mean_ns,
        Pacing::Wait { wait_ns } => wait_ns,
        Pacing::Frames { .. } => 0,
    }
}

fn of_the_loads(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    let mtu = built.mtu;
    for load in &trial.loads {
        let field = |name: &str| format!("load.{}.{name}", load.name);
        if load.lead.is_some() {
            let what =
                "simulated load begins with the probes: leave the first packets out by `warmup`";
            return refuse(field("lead"), what);
        }
        in_time(field("start"), load.start)?;
        in_time(field("stagger"), load.longest_stagger())?;
        in_time(field("on"), load.on)?;
        in_time(field("off"), load.off)?;
        let last = picos(load.longest_stagger()).saturating_mul(u64::from(load.streams));
        in_time(
            field("stagger"),
            Nanos::try_from(last / PICOS_PER_NANO).ok().map(Duration),
        )?;
        let payload = payload(load);
        if let Some(refusal) = load.out_of_place() {
            return Err(refusal.within(&format!("load.{}", load.name)));
        }
        in_time(field("gap"), load.gap)?;
        of_a_late_load(trial, load)?;
        let is_tcp = matches!(load.kind, LoadKind::Tcp | LoadKind::Transfers);
        if !is_tcp && payload + u64::from(DATAGRAM_HEADERS) > u64::from(mtu) {
            return refuse(
                field("payload"),
                format!("does not fit into the MTU of {mtu} B"),
            );
        }
        if is_tcp {
            let ecn = settings_of(load, mtu)?.ecn;
            if ecn && in_cells(built.framing) {
                return Err(unseen_ecn(load));
            }
        } else {
            small_enough(load, mtu)?;
            arrivals(load, 0, 0)?;
        }
    }
    Ok(())
}

/// ECN where the network forwards cells.
fn unseen_ecn(load: &Load) -> Refusal {
    let by_option = load.tcp.and_then(|tcp| tcp.ecn) == Some(true);
    let (name, remedy) = if by_option {
        ("tcp.ecn", "leave it out")
    } else {
        ("congestion_control", "take another, like \"reno\"")
    };
    Refusal::new(
        format!("load.{}.{name}", load.name),
        "ECN is in the IP header, and a switch that forwards cells sees none: packets would be marked that no ATM switch marks",
    )
    .remedy(format!("{remedy}, or path.framing = \"ethernet\""))
}

fn of_the_switches(trial: &Trial, built: &Built) -> Result<(), Refusal> {
    let path = &trial.path;
    let nodes = built.network.nodes.iter().zip(&built.network.of_node);
    for (id, (node, ports)) in (0..).zip(nodes) {
        match &node.kind {
            Kind::Switch(section) => {
                of_a_switch(path, &node.name, section, (built.framing, ports.len()))?;
                of_a_useless_switch(trial, built, section, &switch_section(path, &node.name))?;
                of_the_quanta(trial, built, id, &switch_section(path, &node.name))?;
            }
            Kind::Host(costs) => of_a_host(costs, trial.host)?,
        }
    }
    of_the_rates(path, &built.network)?;
    // Only what is given can be wrong: where nothing is, nobody counts channels.
    let of_nodes = path.node.iter().map(|node| node.switch.as_ref());
    let mut sections = of_nodes.chain([path.switch.as_ref()]).flatten();
    let least = path.abr.is_some_and(|abr| abr.0.mcr.is_some());
    if least || sections.any(|section| section.erica.is_some()) {
        return of_the_channels(trial, built, |name| switch_section(path, name));
    }
    Ok(())
}

fn of_a_switch(
    path: &Path,
    name: &str,
    section: &SwitchSection,
    (framing, ports): (Framing, usize),
) -> Result<(), Refusal> {
    let under = switch_section(path, name);
    let field = |name: &str| format!("{under}.{name}");
    if let Some(why) = section.pause.and_then(|pause| pause.problem()) {
        return refuse(field("pause"), why);
    }
    in_time(field("latency"), section.latency)?;
    if section.impair.is_some() {
        return refuse(
            field("impair"),
            "is for the testbed's soft switch: simulated switches lose nothing by chance",
        );
    }
    let settings = switch_settings(section, path, framing);
    settings.map_err(|refusal| in_section(refusal, &under))?;
    of_erica(section, &under)?;
    of_flow_control(path, section, &under)?;
    if section.crossbar.is_some() && ports > MOST_PORTS {
        let why = format!("a crossbar has at most {MOST_PORTS} ports, and {name} has {ports}");
        return refuse(field("crossbar"), why);
    }
    let discipline = section.discipline;
    if matches!(
        discipline,
        Some(Discipline::Efci | Discipline::ExplicitRate)
    ) && path.abr.is_none()
    {
        return refuse(
            field("discipline"),
            "marks rates for ABR sources: give `path.abr`, as in `path.abr = \"eprca-1995\"`",
        );
    }
    let common = path.switch.as_ref().and_then(|switch| switch.discipline);
    if (discipline == Some(Discipline::Credit)) != (common == Some(Discipline::Credit)) {
        return refuse(
            field("discipline"),
            "credit is between all neighbours or none: give it, and `credit`, under [path.switch]",
        );
    }
    if discipline == Some(Discipline::Credit) {
        return of_credit(path, section, &under);
    }
    Ok(())
}

/// What goes with credit flow control.
fn of_credit(path: &Path, section: &SwitchSection, under: &str) -> Result<(), Refusal> {
    let common = path.switch.as_ref().and_then(|switch| switch.credit);
    if section.credit != common {
        return refuse(
            format!("{under}.credit"),
            "the same for all switches: give it under [path.switch]",
        );
    }
    if !matches!(section.buffer, None | Some(Limit::Unlimited)) {
        let why = "credit bounds what is held to n2 + n3 cells a channel: leave the buffer out";
        return refuse(format!("{under}.buffer"), why);
    }
    if section.threshold.is_some() {
        let why =
            "a port's share of its buffer would lose cells, which credit never does: leave it out";
        return refuse(format!("{under}.threshold"), why);
    }
    if section.reset.is_some() {
        let why = "a cell that a reset drops is never reported as forwarded, so that its credit is lost for good: leave it out";
        return refuse(format!("{under}.reset"), why);
    }
    if section.shaper.is_some() || section.policer.is_some() {
        let field = if section.shaper.is_some() {
            "shaper"
        } else {
            "policer"
        };
        let why =
            "what waits for credits is in no queue that a token bucket could be at: leave it out";
        return refuse(format!("{under}.{field}"), why);
    }
    if path.shaper.is_some() || path.abr.is_some() {
        let field = if path.abr.is_some() {
            "path.abr"
        } else {
            "path.shaper"
        };
        return refuse(field, "a channel with credit has no other contract");
    }
    Ok(())
}

/// Standard deviations of what is random in a host, as shares of means.
const WIDEST: Share = Share::of_percent(1000);

/// A CPU must have time for more than its daemons.
fn of_a_host(costs: &HostCosts, condition: HostCondition) -> Result<(), Refusal> {
    in_time("path.host.per_packet", costs.per_packet)?;
    in_time("path.host.per_byte", costs.per_byte)?;
    for wake_up in &costs.wake_up.0 {
        in_time("path.host.wake_up.after", Some(wake_up.after))?;
        in_time("path.host.wake_up.cost", Some(wake_up.cost))?;
    }
    let daemons = costs.daemon.iter();
    let spreads = (costs.wake_up.0.iter().map(|wake_up| wake_up.sd))
        .chain(costs.tick.map(|tick| tick.sd))
        .chain(costs.clock_read.map(|read| read.slow_sd))
        .chain(daemons.flat_map(|daemon| [daemon.every_sd, daemon.busy_sd]));
    if spreads.flatten().any(|spread| spread > WIDEST) {
        let reason = "a standard deviation is at most 1000 % of its mean";
        return refuse("path.host", reason);
    }
    if let Some(tick) = costs.tick {
        in_time("path.host.tick.every", Some(tick.every))?;
        in_time("path.host.tick.busy", Some(tick.busy))?;
        if tick.busy.0 >= tick.every.0 {
            let reason = "a tick ends before the next begins";
            return refuse("path.host.tick.busy", reason);
        }
    }
    if let Some(read) = costs.clock_read {
        in_time("path.host.clock_read.cost", Some(read.cost))?;
        in_time("path.host.clock_read.slow", read.slow)?;
        if read.slow_share.unwrap_or_default() > Share::WHOLE {
            let reason = "at most all reads are slow";
            return refuse("path.host.clock_read.slow_share", reason);
        }
    }
    let mut share = 0.0;
    let with_noise = costs.with_noise();
    let here = with_noise.daemon.iter();
    for daemon in here.filter(|daemon| daemon.runs_in(condition)) {
        in_time("path.host.daemon.every", Some(daemon.every))?;
        in_time("path.host.daemon.busy", Some(daemon.busy))?;
        share += daemon.busy.0 as f64 / daemon.every.0 as f64;
    }
    if share.is_nan() || share >= 1.0 {
        return refuse(
            "path.host.daemon",
            "daemons that are busy all the time leave none for packets",
        );
    }
    Ok(())
}

/// ABR sources fit the links that they are at.
fn of_the_rates(path: &Path, network: &Network) -> Result<(), Refusal> {
    let Some(abr) = &path.abr else {
        return Ok(());
    };
    for port in network
        .ports
        .iter()
        .filter(|port| network.is_host(port.from))
    {
        Parameters::read(&abr.0, port.rate)?;
    }
    Ok(())
}
