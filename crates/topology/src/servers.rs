//! Servers at hosts and the probes that ask them: what no world can honour.

use crate::network::Network;
use delaylab_model::path::server::page_size;
use delaylab_model::path::{HostServer, Path, Software};
use delaylab_model::probe::Probe;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::request::Request;
use delaylab_model::trial::Trial;

/// The largest page that is made.
const MOST_PAGE: u64 = 64 << 20;
/// More workers than anyone means to have.
const MOST_WORKERS: u32 = 256;

/// Is every server on a host, and asked for what it has?
pub(crate) fn known_servers(trial: &Trial, network: &Network) -> Result<(), Refusal> {
    for server in &trial.path.server {
        let field = format!("path.server.{}.at", server.name);
        network.host(&server.at, &field)?;
        of_server(server, &trial.path)?;
    }
    trial
        .probes
        .iter()
        .try_for_each(|probe| of_probe(probe, trial))
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
        let what = format!("{} asks no other server: leave it out", server.software);
        return refuse(field("forward"), what);
    }
    match path.server_named(forward) {
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
    if !probe.method.is_request() || trial.path.server_of(probe).is_some() {
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
