//! One network for all hosts: nodes between them forward by hardware address.

use super::{Builder, Layout, SoftDevice, kernel_discipline};
use delaylab_model::refusal::Refusal;
use delaylab_topology::Routes;
use delaylab_topology::network::{NodeId, PortId};
use std::net::Ipv4Addr;

/// Prefix length of the one network.
const PREFIX: u8 = 16;
/// Hosts of a testbed of which each knows each other's hardware address from the start.
pub const MOST_HOSTS: usize = 250;

/// The bridge of the kernel, in a switch that queues by the kernel.
pub(super) const BRIDGE: &str = "bridge";

impl Builder<'_> {
    /// Lays it out.
    pub(super) fn switched(mut self) -> Result<Layout, Refusal> {
        for (node, number) in self.host_nodes().zip(1_u8..) {
            self.add_host(node, Ipv4Addr::new(10, 82, 0, number));
        }
        for at in (0..self.network.ports.len()).step_by(2) {
            let port = &self.network.ports[at];
            let name = self.interface(at as PortId);
            let [from, to] = [port.from, port.to].map(|node| self.place_of[node as usize]);
            self.cable(from, to, &name);
        }
        self.addresses();
        for node in 0..self.network.nodes.len() as NodeId {
            if !self.network.is_host(node) {
                self.switch(node)?;
            }
        }
        Ok(self.layout())
    }

    /// The interface at the sending end of a port, and its hardware address.
    fn end_of(&self, port: PortId) -> &super::End {
        &self.structure.cables[port as usize / 2][port as usize % 2]
    }

    /// Every host knows every other.
    fn addresses(&mut self) {
        let ports = self
            .host_nodes()
            .map(|node| self.network.of_node[node as usize][0]);
        let ends: Vec<_> = ports.map(|port| self.end_of(port).clone()).collect();
        let hosts = self.structure.hosts.clone();
        for ((_, host), end) in hosts.iter().zip(&ends) {
            let words = format!("addr add {}/{PREFIX} dev {}", host.address, end.interface);
            self.ip(host.place, words);
            for ((_, other), far) in hosts.iter().zip(&ends) {
                if other.place != host.place {
                    self.know(host.place, other.address, far.mac, &end.interface);
                }
            }
        }
    }

    fn switch(&mut self, node: NodeId) -> Result<(), Refusal> {
        let section = self.switch_section(node);
        let place = self.place_of[node as usize];
        let ports = self.network.of_node[node as usize].clone();
        let interfaces: Vec<_> = ports
            .iter()
            .map(|&port| self.end_of(port).interface.clone())
            .collect();
        if let Some(discipline) = kernel_discipline(&section) {
            self.ip(
                place,
                format!("link add name {BRIDGE} type bridge stp_state 0"),
            );
            for (interface, &port) in interfaces.iter().zip(&ports) {
                self.ip(place, format!("link set dev {interface} master {BRIDGE}"));
                self.kernel_queue(discipline, &section, port, place, interface)?;
            }
            self.ip(place, format!("link set dev {BRIDGE} up"));
            return Ok(());
        }
        let settings = ports
            .iter()
            .map(|&port| {
                let to = self.network.ports[port as usize].to;
                self.port_settings(port, self.network.is_host(to))
            })
            .collect();
        let mut settings = self.device(&section, settings)?;
        let mut routes = Routes::new(self.network);
        for host in self.host_nodes() {
            let way = routes.path(node, host, None, 0);
            let Some(first) = way.and_then(|way| way.first().copied()) else {
                continue;
            };
            let own = self.network.of_node[host as usize][0];
            let mac = self.end_of(own).mac;
            let egress = self.network.ports[first as usize].egress;
            settings.table.insert(mac, egress);
        }
        settings.floods = self.network.is_without_loops(node);
        self.devices.push(SoftDevice {
            place,
            interfaces,
            settings,
        });
        Ok(())
    }
}
