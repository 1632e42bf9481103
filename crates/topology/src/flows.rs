//! Where probes and loads go: from which host to which, and by which link.

use crate::classes::class_route;
use crate::network::{Network, NodeId};
use crate::routes::Routes;
use delaylab_model::dscp::Dscp;
use delaylab_model::load::{Direction, SECOND_DIRECTION};
use delaylab_model::path::{Path, Topology};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::trial::Trial;

/// More flows than anyone means to have; a slip of the pen makes more.
pub(crate) const MOST_FLOWS: u64 = 1_000_000;
/// Links of a way: cells count them in a byte.
const MOST_LINKS: usize = 255;

/// Where a flow goes, and the link that it must take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The host that sends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// A link on the way out.
    pub out: Option<String>,
    /// A link on the way back.
    pub back: Option<String>,
}

impl Ends {
    /// The other way round.
    fn turned(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            out: self.back,
            back: self.out,
        }
    }
}

/// A network and what is known of where flows go in it.
pub(crate) struct Site {
    pub(crate) network: Network,
    pub(crate) usual: Usual,
}

/// Where the flow of this number goes when the experiment does not say.
pub(crate) enum Usual {
    /// Pairs of hosts, one a flow, over again when there are more flows.
    Pairs(Vec<[NodeId; 2]>),
    /// Only where the experiment says.
    Said,
}

impl Site {
    /// Where each probe and each stream of each load goes.
    pub(crate) fn flows(&self, trial: &Trial) -> Result<(Vec<Ends>, Vec<Vec<Ends>>), Refusal> {
        let path = &trial.path;
        let mut routes = Routes::new(&self.network);
        let mut flow = 0..;
        let mut next = |said: [Option<&String>; 2], class, route, field: &str| {
            let ends = self.ends(path, flow.next().unwrap_or(0), said, class, route, field)?;
            check(&mut routes, &self.network, &ends, field).map(|()| ends)
        };
        let mut probes = Vec::new();
        for probe in &trial.probes {
            let field = format!("probe.{}", probe.name);
            let said = [probe.from.as_ref(), path.destination_of(probe)];
            probes.push(next(said, probe.dscp, None, &field)?);
        }
        let mut loads = Vec::new();
        for load in &trial.loads {
            let field = format!("load.{}", load.name);
            let said = [load.from.as_ref(), load.to.as_ref()];
            if let Some(second) = load.second_direction() {
                return refuse(format!("{field}.{second}"), SECOND_DIRECTION);
            }
            let ends = (0..load.streams).map(|_| {
                let ends = next(said, load.class.0, load.route.as_ref(), &field)?;
                Ok(match load.direction {
                    Direction::Up => ends,
                    Direction::Down => ends.turned(),
                })
            });
            loads.push(ends.collect::<Result<Vec<_>, _>>()?);
        }
        Ok((probes, loads))
    }

    fn ends(
        &self,
        path: &Path,
        flow: usize,
        said: [Option<&String>; 2],
        class: Dscp,
        route: Option<&String>,
        field: &str,
    ) -> Result<Ends, Refusal> {
        let usual = match &self.usual {
            Usual::Pairs(pairs) => Some(pairs[flow % pairs.len()]),
            Usual::Said => None,
        };
        let end = |which: usize, name: &str| match said[which] {
            Some(host) => self.network.host(host, &format!("{field}.{name}")),
            None => match usual {
                Some(pair) => Ok(pair[which]),
                None => refuse(
                    format!("{field}.{name}"),
                    "several hosts could be meant: name one of the nodes",
                ),
            },
        };
        let two_paths = path.topology == Some(Topology::TwoPaths);
        let out = route.or_else(|| class_route(path, class)).cloned();
        let ends = Ends {
            from: end(0, "from")?,
            to: end(1, "to")?,
            out: out.or_else(|| two_paths.then(|| "congested".to_owned())),
            back: two_paths.then(|| "return".to_owned()),
        };
        Ok(ends)
    }
}

/// Is there a way there and back, and not too long?
fn check(
    routes: &mut Routes<'_>,
    network: &Network,
    ends: &Ends,
    field: &str,
) -> Result<(), Refusal> {
    let ways = [
        (ends.from, ends.to, ends.out.as_deref()),
        (ends.to, ends.from, ends.back.as_deref()),
    ];
    for (from, to, via) in ways {
        let links = routes.path(from, to, via, 0).map(|path| path.len());
        let [a, b] = [from, to].map(|node| network.nodes[node as usize].name.as_str());
        check_links(links, (a, b), via).or_else(|why| refuse(field, why))?;
    }
    Ok(())
}

/// Why a way with this number of links between these nodes cannot be, if it cannot.
fn check_links(
    links: Option<usize>,
    (from, to): (&str, &str),
    via: Option<&str>,
) -> Result<(), String> {
    match links {
        None => {
            let by = via.map_or(String::new(), |via| format!(" by way of `{via}`"));
            Err(format!("no links lead from `{from}` to `{to}`{by}"))
        }
        Some(links) if links > MOST_LINKS => Err(format!(
            "from `{from}` to `{to}` are {links} links: at most {MOST_LINKS} links"
        )),
        Some(_) => Ok(()),
    }
}
