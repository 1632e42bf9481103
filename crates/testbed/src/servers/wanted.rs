//! What a trial wants of its servers.

use crate::layout::Structure;
use delaylab_model::path::server::{needs_server, page_size};
use delaylab_model::path::{HostServer, Path, Software};
use delaylab_model::probe::Probe;
use delaylab_model::request::{HttpRequest, Request};
use delaylab_model::trial::Trial;
use delaylab_model::world::{Refusal, refuse};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// The largest page that is made.
const MOST_PAGE: u64 = 64 << 20;
/// More workers than anyone means to have.
const MOST_WORKERS: u32 = 256;

/// A server and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// What it is.
    pub server: HostServer,
    /// Its namespace.
    pub place: usize,
    /// Its address.
    pub address: Ipv4Addr,
    /// The address of the server that it asks in its turn.
    pub forward: Option<Ipv4Addr>,
}

/// All servers of a trial, and what they are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Which, and where.
    pub servers: Vec<Placed>,
    /// The last segments of the paths of all pages that are asked for, which say how large they are.
    pub pages: BTreeSet<String>,
    /// The hosts of all URLs, which certificates are for.
    pub names: BTreeSet<String>,
}

impl Wanted {
    /// Of a trial that is not refused.
    pub fn of(trial: &Trial, structure: &Structure) -> Self {
        let host = |name: &String| {
            let mut hosts = structure.hosts.iter();
            hosts.find(|(known, _)| known == name).map(|(_, host)| host)
        };
        let servers = trial.path.server.iter().filter_map(|server| {
            let forward = server.forward.as_ref();
            let forward = forward.and_then(|name| host(&named(&trial.path, name)?.at));
            let host = host(&server.at)?;
            Some(Placed {
                server: server.clone(),
                place: host.place,
                address: host.address,
                forward: forward.map(|host| host.address),
            })
        });
        Self {
            servers: servers.collect(),
            pages: pages(trial)
                .map(|http| last_segment(http).to_owned())
                .collect(),
            names: pages(trial).map(|http| http.url.host.clone()).collect(),
        }
    }
}

fn named<'a>(path: &'a Path, name: &str) -> Option<&'a HostServer> {
    path.server.iter().find(|server| server.name == name)
}

fn pages(trial: &Trial) -> impl Iterator<Item = &HttpRequest> {
    let requests = trial
        .probes
        .iter()
        .filter_map(|probe| probe.request.as_ref());
    requests.filter_map(|request| match request {
        Request::Http(http) => Some(http),
        _ => None,
    })
}

fn last_segment(http: &HttpRequest) -> &str {
    let path = http.url.path.split('?').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

/// Servers that cannot be had, and requests that nobody would answer. That their hosts are there is known.
pub fn refusals(trial: &Trial) -> Vec<Refusal> {
    let servers = trial.path.server.iter();
    let servers = servers.filter_map(|server| of_server(server, &trial.path).err());
    let probes = trial.probes.iter();
    servers
        .chain(probes.filter_map(|probe| of_probe(probe, trial).err()))
        .collect()
}

fn of_server(server: &HostServer, path: &Path) -> Result<(), Refusal> {
    let field = |name: &str| format!("path.server.{}.{name}", server.name);
    if server.think.is_some() && server.software != Software::Delaylab {
        let what = format!(
            "{} takes as long as it takes: a think time is for delaylab's own server",
            server.software
        );
        return refuse(field("think"), what);
    }
    if !(1..=MOST_WORKERS).contains(&server.workers()) {
        return refuse(
            field("workers"),
            format!("1 to {MOST_WORKERS} work at once"),
        );
    }
    let others = path.server.iter().filter(|other| other.name != server.name);
    let shares = |other: &HostServer| {
        other.at == server.at
            && other
                .software
                .ports()
                .iter()
                .any(|&port| server.has_port(port))
    };
    if let Some(other) = others.into_iter().find(|other| shares(other)) {
        let what = format!(
            "`{}` has its port on the same host: put them on two hosts",
            other.name
        );
        return refuse(field("at"), what);
    }
    let Some(forward) = &server.forward else {
        return match server.software {
            Software::Haproxy => refuse(
                field("forward"),
                "a proxy asks another server: name it, as in `forward = \"web\"`",
            ),
            _ => Ok(()),
        };
    };
    if !server.software.forwards() {
        let what = format!("{} asks nobody: leave it out", server.software);
        return refuse(field("forward"), what);
    }
    match named(path, forward) {
        None => refuse(
            field("forward"),
            format!("no [[path.server]] is called `{forward}`"),
        ),
        Some(other) if other.name == server.name => {
            refuse(field("forward"), "a server that asks itself never answers")
        }
        Some(other) if !other.has_port(server.software.ports()[0]) => {
            let what = format!("`{forward}` does not answer what {} asks", server.software);
            refuse(field("forward"), what)
        }
        Some(_) => Ok(()),
    }
}

fn of_probe(probe: &Probe, trial: &Trial) -> Result<(), Refusal> {
    if let Some(Request::Http(http)) = &probe.request
        && page_size(&http.url.path) > MOST_PAGE
    {
        let what = format!("its page is larger than {} MiB", MOST_PAGE >> 20);
        return refuse(format!("probe.{}.url", probe.name), what);
    }
    if !needs_server(probe.method) || trial.path.server_of(probe).is_some() {
        return Ok(());
    }
    let what = match &probe.to {
        Some(host) => format!(
            "no server of `{host}` has the port: write [[path.server]] with `at = \"{host}\"` and a `software` that has it"
        ),
        None => format!(
            "{} asks a server: write [[path.server]], and its host as `to` or its name in the URL",
            probe.method
        ),
    };
    refuse(format!("probe.{}.method", probe.name), what)
}
