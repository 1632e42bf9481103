//! What a trial wants of its servers.

use crate::layout::Structure;
use delaylab_model::path::HostServer;
use delaylab_model::path::server::page_name;
use delaylab_model::request::{HttpRequest, Request};
use delaylab_model::trial::Trial;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// A server and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedServer {
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
    pub servers: Vec<PlacedServer>,
    /// The last segments of the paths of all pages that are asked for, which say how large they are.
    pub pages: BTreeSet<String>,
    /// The hosts of all URLs, which certificates are for.
    pub names: BTreeSet<String>,
}

impl Wanted {
    /// Of a trial that is not refused.
    pub fn from_trial(trial: &Trial, structure: &Structure) -> Self {
        let host = |name: &String| structure.host(name);
        let servers = trial.path.server.iter().filter_map(|server| {
            let forward = server.forward.as_ref();
            let forward = forward.and_then(|name| host(&trial.path.server_named(name)?.at));
            let host = host(&server.at)?;
            Some(PlacedServer {
                server: server.clone(),
                place: host.place,
                address: host.address,
                forward: forward.map(|host| host.address),
            })
        });
        Self {
            servers: servers.collect(),
            pages: pages(trial)
                .map(|http| page_name(&http.url.path).to_owned())
                .collect(),
            names: pages(trial).map(|http| http.url.host.clone()).collect(),
        }
    }
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
