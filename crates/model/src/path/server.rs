//! A server of any make at a host of a path that is built: what probes of method `http`, `dns` and `tcp-connect` ask there.

use crate::path::Path;
use crate::probe::Probe;
use crate::quantity::{Duration, Size};
use crate::request::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Bytes of a page whose path says no size.
const PAGE_SIZE: u64 = 1024;

/// `[[path.server]]`: a server at a host, on the usual ports of what it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostServer {
    /// Its name in URLs (`http://web/10KiB`) and in `forward`.
    pub name: String,
    /// The host that it is on.
    pub at: String,
    /// What it is. delaylab's own by default, which is the only one in `sim`.
    #[serde(default)]
    pub software: Software,
    /// delaylab: how long it works on each request. Nothing by default.
    pub think: Option<Duration>,
    /// How many requests it works on at once: processes of nginx, threads of the others. 1 by default: others wait.
    pub workers: Option<u32>,
    /// nginx, haproxy, unbound: the name of the server that it asks in its turn. Without one nginx has pages, and
    /// unbound answers every name.
    pub forward: Option<String>,
}

/// The programs that can be a server.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Software {
    /// Delaylab's own: pages and names after a think time, that many at once. What a simulation has.
    #[default]
    Delaylab,
    /// A web server, by HTTP on port 80 and by HTTPS on port 443; pages under `/gzip/` are compressed for each request
    /// that accepts it.
    Nginx,
    /// A web server, by HTTP on port 80.
    Apache,
    /// A proxy of HTTP on port 80.
    Haproxy,
    /// A name server on port 53.
    Unbound,
}

impl Software {
    crate::named! {
        Delaylab "delaylab";
        Nginx "nginx";
        Apache "apache";
        Haproxy "haproxy";
        Unbound "unbound";
    }

    /// The TCP ports on which it listens.
    pub const fn ports(self) -> &'static [u16] {
        match self {
            Software::Delaylab => &[53, 80],
            Software::Nginx => &[80, 443],
            Software::Apache | Software::Haproxy => &[80],
            Software::Unbound => &[53],
        }
    }

    /// Can it ask another server in its turn?
    pub const fn forwards(self) -> bool {
        !matches!(self, Software::Delaylab | Software::Apache)
    }
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl HostServer {
    /// How many requests it works on at once.
    pub fn workers(&self) -> u32 {
        self.workers.unwrap_or(1)
    }

    /// Does it listen on this port?
    pub fn has_port(&self, port: u16) -> bool {
        self.software.ports().contains(&port)
    }
}

/// The last segment of a path, without the query.
pub fn page_name(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

/// The bytes of the page of this path: its last segment says how many, as in `/10KiB`; else 1 KiB.
pub fn page_size(path: &str) -> u64 {
    page_name(path)
        .parse()
        .map_or(PAGE_SIZE, |Size(bytes)| bytes)
}

impl Path {
    /// The server of this name.
    pub fn server_named(&self, name: &str) -> Option<&HostServer> {
        self.server.iter().find(|server| server.name == name)
    }

    /// The server that a probe asks: the one of its URL's host, or at its destination and port.
    pub fn server_of(&self, probe: &Probe) -> Option<&HostServer> {
        let request = probe.request.as_ref()?;
        let named = match request {
            Request::Http(http) => self.server_named(&http.url.host),
            _ => None,
        };
        let there = |server: &&HostServer| {
            Some(&server.at) == probe.to.as_ref() && server.has_port(request.port())
        };
        named.or_else(|| self.server.iter().find(there))
    }

    /// The servers that none of these probes asks, and no server that one of them asks.
    pub fn idle_servers<'a>(&'a self, probes: &[Probe]) -> BTreeSet<&'a str> {
        let mut idle: BTreeSet<&str> = self.server.iter().map(|server| &*server.name).collect();
        for probe in probes {
            let mut asked = self.server_of(probe);
            // Each is left once: servers that ask each other in a ring end the way, too.
            while let Some(server) = asked.filter(|server| idle.remove(&*server.name)) {
                asked = server
                    .forward
                    .as_ref()
                    .and_then(|next| self.server_named(next));
            }
        }
        idle
    }

    /// The host that a probe goes to where the file names it: by `to`, or by the server that it asks.
    pub fn destination_of<'a>(&'a self, probe: &'a Probe) -> Option<&'a String> {
        let by_server = || Some(&self.server_of(probe)?.at);
        probe.to.as_ref().or_else(by_server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;
    use crate::request::Close;

    #[test]
    fn the_end_of_a_path_says_how_large_its_page_is() {
        for (path, size) in [
            ("/", PAGE_SIZE),
            ("/10KiB", 10 << 10),
            ("/gzip/1MiB?a=2B", 1 << 20),
            ("/20B/about", PAGE_SIZE),
            ("", PAGE_SIZE),
        ] {
            assert_eq!(page_size(path), size, "{path}");
        }
    }

    #[test]
    fn a_server_is_idle_that_nobody_asks_nor_is_asked_through_another() {
        let server = |name: &str, at: &str, forward: Option<&str>| HostServer {
            name: name.to_owned(),
            at: at.to_owned(),
            software: Software::Nginx,
            think: None,
            workers: None,
            forward: forward.map(str::to_owned),
        };
        let path = Path {
            server: vec![
                server("front", "b1", Some("behind")),
                server("behind", "b2", None),
                server("alone", "b3", Some("front")),
            ],
            ..Path::default()
        };
        let mut probe = Probe::new("page", Method::Http);
        probe.to = Some("b1".to_owned());
        assert_eq!(path.idle_servers(&[]).len(), 3);
        probe.request = Some(Request::Connect {
            port: 80,
            close: Close::default(),
        });
        assert_eq!(Vec::from_iter(path.idle_servers(&[probe])), ["alone"]);
    }
}
