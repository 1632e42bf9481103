//! Routers between the hosts: each link between two routers is a network of its own, each host too.
//!
//! A link between routers leads through a soft switch of its own (`wire-…`), or is queued for at the
//! routers' own interfaces where the queues are the kernel's. What a class or a load is routed by is a
//! firewall mark, respectively the address of its sender, and a rule for that.

use super::{Builder, Host, Inside, Layout, SoftDevice, kernel_discipline};
use delaylab_model::dscp::Dscp;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use delaylab_topology::network::{NodeId, PortId, other_end};
use delaylab_topology::{Ends, Routes};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// What makes a router of a namespace.
const ROUTES: [(&str, &str); 6] = [
    ("net.ipv4.ip_forward", "1"),
    // What comes back takes another way than what goes.
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    // Every hop answers a path trace.
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
];

/// What decides the way besides the destination, at one router.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// The sender: a load that is routed by name.
    Sender(Ipv4Addr),
    /// The code point.
    Class(u8),
}

/// Routing tables of our own are counted from here: beyond 255, the last of the kernel's.
const FIRST_TABLE: u32 = 1_000;

/// The addresses of a link's two ends.
fn link_address(port: PortId) -> Ipv4Addr {
    Ipv4Addr::new(10, 83, (port / 2) as u8, 1 + (port % 2) as u8)
}

impl Builder<'_> {
    /// Lays it out.
    pub(super) fn routed(mut self, trial: &Trial) -> Result<Layout, Refusal> {
        for (node, number) in self.host_nodes().zip(1_u8..) {
            self.add_host(node, Ipv4Addr::new(10, 82, number, 2));
        }
        for node in 0..self.network.nodes.len() as NodeId {
            if !self.network.is_host(node) {
                let place = self.place_of[node as usize];
                for (key, value) in ROUTES {
                    self.inside(place, Inside::Sysctl(key, value));
                }
            }
        }
        for at in (0..self.network.ports.len()).step_by(2) {
            self.link(at as PortId)?;
        }
        self.routes(trial);
        self.remark();
        Ok(self.layout())
    }

    fn link(&mut self, port: PortId) -> Result<(), Refusal> {
        let (from, to) = {
            let port = &self.network.ports[port as usize];
            (port.from, port.to)
        };
        let name = self.interface(port);
        let [near, far] = [from, to].map(|node| self.place_of[node as usize]);
        let hosts = [from, to].map(|node| self.host_of.get(&node).copied());
        if let Some(number) = hosts[0].or(hosts[1]) {
            self.cable(near, far, &name);
            self.host_link(number, [near, far], &name);
            return Ok(());
        }
        let ends = [(near, port), (far, other_end(port))];
        for (place, port) in ends {
            let address = link_address(port);
            self.ip(place, format!("addr add {address}/30 dev {name}"));
        }
        let sections = [from, to].map(|node| self.switch_section(node));
        if kernel_discipline(&sections[0]).is_none() {
            // That of the other is the same, or refused.
            return self.wire(port, [near, far], &name, &sections[0]);
        }
        self.cable(near, far, &name);
        for ((place, port), section) in ends.into_iter().zip(&sections) {
            if let Some(discipline) = kernel_discipline(section) {
                self.kernel_queue(discipline, section, port, place, &name)?;
            }
        }
        self.neighbours([near, far], port, &name, self.structure.cables.len() - 1, 0);
        Ok(())
    }

    /// A host's link to its router: the host's network, and its way to all others.
    fn host_link(&mut self, number: usize, places: [usize; 2], name: &str) {
        let (_, Host { place, address }) = self.structure.hosts[number].clone();
        let [a, b, c, _] = address.octets();
        let gateway = Ipv4Addr::new(a, b, c, 1);
        let router = if places[0] == place {
            places[1]
        } else {
            places[0]
        };
        self.ip(place, format!("addr add {address}/24 dev {name}"));
        self.ip(place, format!("route add default via {gateway} dev {name}"));
        self.ip(router, format!("addr add {gateway}/24 dev {name}"));
        let [x, y] = self.structure.cables[self.structure.cables.len() - 1].clone();
        let (host_end, router_end) = if x.place == place { (x, y) } else { (y, x) };
        self.know(place, gateway, router_end.mac, name);
        self.know(router, address, host_end.mac, name);
    }

    /// A soft switch between two routers.
    fn wire(
        &mut self,
        port: PortId,
        [near, far]: [usize; 2],
        name: &str,
        section: &delaylab_model::path::Switch,
    ) -> Result<(), Refusal> {
        let wire = self.structure.places.len();
        let mut place = format!("wire-{name}");
        while self.structure.places.contains(&place) {
            place.push('-');
        }
        self.structure.places.push(place);
        // In the wire its two ends need two names.
        let names = ["near", "far"];
        let first = self.structure.cables.len();
        for (router, inner) in [near, far].into_iter().zip(names) {
            let ends = [self.end(router, name), self.end(wire, inner)];
            self.structure.cables.push(ends);
        }
        self.neighbours([near, far], port, name, first, 1);
        // What leaves the wire by its near port is what the far router sends.
        let ports = [other_end(port), port].map(|port| self.port_settings(port, false));
        let mut settings = self.device(section, ports.to_vec())?;
        for (end, egress) in [(first, 0), (first + 1, 1)] {
            let mac = self.structure.cables[end][0].mac;
            settings.table.insert(mac, egress);
        }
        settings.floods = true;
        self.devices.push(SoftDevice {
            place: wire,
            interfaces: names.map(str::to_owned).to_vec(),
            settings,
        });
        Ok(())
    }

    /// Routers know each other. The far router's end is in the same cable as the near
    /// one's, or in the one `behind` it.
    fn neighbours(
        &mut self,
        [near, far]: [usize; 2],
        port: PortId,
        name: &str,
        cable: usize,
        behind: usize,
    ) {
        let near_mac = self.structure.cables[cable][0].mac;
        let far_mac = self.structure.cables[cable + behind][1 - behind].mac;
        self.know(near, link_address(other_end(port)), far_mac, name);
        self.know(far, link_address(port), near_mac, name);
    }

    /// Classes are changed as they leave for a host: no other router sees it. A packet is changed once: it is accepted then,
    /// or the next rule would take it for a packet of its new class.
    fn remark(&mut self) {
        let class = |name: &str| name.parse::<Dscp>().unwrap_or_default().code_point();
        let remarks = self.path.remark.iter();
        let remarks: Vec<_> = remarks
            .map(|(from, to)| format!("ip dscp {} ip dscp set {} accept", class(from), class(to)))
            .collect();
        if remarks.is_empty() {
            return;
        }
        let last: BTreeSet<_> = self.built.probes.iter().map(|ends| ends.to).collect();
        let routers: BTreeMap<usize, BTreeSet<String>> =
            last.into_iter().fold(BTreeMap::new(), |mut routers, host| {
                let port = self.network.of_node[host as usize][0];
                let place = self.place_of[self.network.ports[port as usize].to as usize];
                let name = self.interface(port);
                routers.entry(place).or_default().insert(name);
                routers
            });
        for (place, interfaces) in routers {
            let rules: Vec<_> = interfaces
                .iter()
                .flat_map(|name| {
                    remarks
                        .iter()
                        .map(move |rule| format!("oifname \"{name}\" {rule}"))
                })
                .collect();
            self.filter(place, "delaylab-remark", "postrouting", &rules);
        }
    }

    /// Rules for packets, at this hook.
    fn filter(&mut self, place: usize, table: &str, hook: &str, rules: &[String]) {
        let rules = rules.join("; ");
        self.inside(place, Inside::Nft(format!(
            "table ip {table} {{ chain classes {{ type filter hook {hook} priority mangle; {rules}; }} ; }}"
        )));
    }

    fn routes(&mut self, trial: &Trial) {
        let network = self.network;
        let mut ways = Routes::new(network);
        let routers: Vec<_> = (0..network.nodes.len() as NodeId)
            .filter(|&node| !network.is_host(node))
            .collect();
        // By destination alone.
        let mut plain = BTreeMap::new();
        for &router in &routers {
            for host in self.host_nodes() {
                let way = ways.path(router, host, None, 0);
                if let Some(first) = way.and_then(|way| way.first().copied()) {
                    plain.insert((router, host), first);
                }
            }
        }
        // What flows say of their ways back, and out where neither class nor load says it.
        let mut special: BTreeSet<(NodeId, By, NodeId, PortId)> = BTreeSet::new();
        let classes = trial.probes.iter().map(|probe| (probe.dscp, false));
        let probes = classes.zip(&self.built.probes);
        let loads = trial.loads.iter().zip(&self.built.loads);
        let loads = loads.flat_map(|(load, streams)| {
            let by = (load.class.0, load.route.is_some());
            streams.iter().map(move |ends| (by, ends))
        });
        for ((class, by_name), ends) in probes.chain(loads) {
            let Ends {
                from,
                to,
                out,
                back,
            } = ends;
            let mut along = |from, to, via: &Option<String>| {
                let way = via
                    .as_ref()
                    .and_then(|via| ways.path(from, to, Some(via), 0));
                let ports = way.unwrap_or_default().into_iter();
                ports.filter(|&port| !network.is_host(network.ports[port as usize].from))
            };
            for port in along(*to, *from, back) {
                plain.insert((network.ports[port as usize].from, *from), port);
            }
            for port in along(*from, *to, out) {
                let router = network.ports[port as usize].from;
                if by_name {
                    let sender = self.structure.hosts[self.host_of[from]].1.address;
                    special.insert((router, By::Sender(sender), *to, port));
                } else if routed_class(trial, class) {
                    special.insert((router, By::Class(class.code_point()), *to, port));
                } else {
                    plain.insert((router, *to), port);
                }
            }
        }
        for (&(router, host), &port) in &plain {
            if !self.is_attached(port) {
                self.route(router, host, port, None);
            }
        }
        self.special_routes(&special, &plain);
    }

    /// Does the port lead to a host? Then its router has a route for it already.
    fn is_attached(&self, port: PortId) -> bool {
        self.network.is_host(self.network.ports[port as usize].to)
    }

    fn route(&mut self, router: NodeId, host: NodeId, port: PortId, table: Option<u32>) {
        let place = self.place_of[router as usize];
        let address = self.structure.hosts[self.host_of[&host]].1.address;
        let via = link_address(other_end(port));
        let table = table.map_or(String::new(), |table| format!(" table {table}"));
        self.ip(place, format!("route add {address} via {via}{table}"));
    }

    /// A table for each class and sender that has a way of its own, at each router where it has.
    fn special_routes(
        &mut self,
        special: &BTreeSet<(NodeId, By, NodeId, PortId)>,
        plain: &BTreeMap<(NodeId, NodeId), PortId>,
    ) {
        let mut tables: BTreeMap<(NodeId, By), u32> = BTreeMap::new();
        let mut marks: BTreeMap<NodeId, BTreeSet<u8>> = BTreeMap::new();
        for (router, by, host, port) in special {
            if self.is_attached(*port) || plain.get(&(*router, *host)) == Some(port) {
                // A rule that changes nothing still must win over a class that has one.
                if matches!(by, By::Class(_)) || self.is_attached(*port) {
                    continue;
                }
            }
            let next = FIRST_TABLE + tables.len() as u32;
            let is_new = !tables.contains_key(&(*router, by.clone()));
            let table = *tables.entry((*router, by.clone())).or_insert(next);
            let place = self.place_of[*router as usize];
            if is_new {
                // Senders before classes.
                let (priority, selector) = match by {
                    By::Sender(address) => (100, format!("from {address}")),
                    By::Class(code) => {
                        marks.entry(*router).or_default().insert(*code);
                        (200, format!("fwmark {}", mark_of(*code)))
                    }
                };
                let words = format!("rule add priority {priority} {selector} lookup {table}");
                self.ip(place, words);
            }
            self.route(*router, *host, *port, Some(table));
        }
        for (router, codes) in marks {
            let place = self.place_of[router as usize];
            let rules: Vec<_> = codes
                .into_iter()
                .map(|code| format!("ip dscp {code} meta mark set {}", mark_of(code)))
                .collect();
            self.filter(place, "delaylab", "prerouting", &rules);
        }
    }
}

/// Never zero, which is no mark.
const fn mark_of(code: u8) -> u32 {
    1 + code as u32
}

fn routed_class(trial: &Trial, class: Dscp) -> bool {
    let mut classes = trial.path.route.keys();
    classes.any(|name| name.parse() == Ok(class))
}
