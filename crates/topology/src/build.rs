//! A trial's path as a network with flows in it.

use crate::classes::known_routes;
use crate::flows::{Ends, MOST_FLOWS, Site};
use crate::framing::{framing_of, mtu};
use crate::line::known_lines;
use crate::listed::listed;
use crate::named::{known_counts, named};
use crate::network::Network;
use crate::servers::known_servers;
use delaylab_model::path::{Framing, Path};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;

/// A network, and the flows in it.
#[derive(Debug)]
pub struct Built {
    /// Nodes and links.
    pub network: Network,
    /// Of each probe.
    pub probes: Vec<Ends>,
    /// Of each stream of each load.
    pub loads: Vec<Vec<Ends>>,
    /// How packets are put on every link.
    pub framing: Framing,
    /// Largest IP packet.
    pub mtu: u32,
}

/// Nodes and links of a topology by name, or as they are listed.
fn site(path: &Path, flows: u64) -> Result<Site, Refusal> {
    match path.topology {
        Some(topology) => named(topology, path, flows),
        None => {
            known_counts(None, path)?;
            listed(path)
        }
    }
}

/// Builds what a trial asks for.
///
/// # Errors
/// Names the field that cannot be honoured.
pub fn build(trial: &Trial) -> Result<Built, Refusal> {
    let path = &trial.path;
    let flows = count_flows(trial)?;
    let mtu = mtu(path)?;
    let site = site(path, flows)?;
    few_ports(&site.network)?;
    known_lines(path, &site.network)?;
    known_routes(path, &site.network)?;
    known_servers(trial, &site.network)?;
    let (probes, loads) = site.flows(trial)?;
    Ok(Built {
        network: site.network,
        probes,
        loads,
        framing: framing_of(path),
        mtu,
    })
}

fn count_flows(trial: &Trial) -> Result<u64, Refusal> {
    let mut flows = trial.probes.len() as u64;
    if flows > u64::from(u16::MAX) {
        return refuse("probe", format!("{flows} probes: at most {}", u16::MAX));
    }
    for load in &trial.loads {
        flows += u64::from(load.streams);
        if flows > MOST_FLOWS {
            let field = format!("load.{}.streams", load.name);
            return refuse(field, format!("{flows} flows: at most {MOST_FLOWS}"));
        }
    }
    Ok(flows)
}

/// Ports are counted in 16 bits.
fn few_ports(network: &Network) -> Result<(), Refusal> {
    for (node, ports) in network.nodes.iter().zip(&network.of_node) {
        if ports.len() > usize::from(u16::MAX) {
            let what = format!(
                "`{}` would have {} ports: at most {}",
                node.name,
                ports.len(),
                u16::MAX
            );
            return refuse("path", what);
        }
    }
    Ok(())
}
