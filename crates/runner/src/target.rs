//! Where a probe goes.

use crate::error::RunnerError;
use delaylab_kernel::interfaces;
use delaylab_model::family::Family;
use delaylab_model::trial::Server;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Resolves a name or address, of this family.
///
/// # Errors
/// The name has no address, or one of a group.
pub fn lookup(name: &str, port: u16, family: Family) -> Result<SocketAddr, RunnerError> {
    let mut addresses = addresses(name, port)?;
    let wanted = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let found = addresses.find(wanted).ok_or_else(|| {
        let (family, other) = match family {
            Family::V6 => ("IPv6", "-6"),
            Family::Any | Family::V4 => ("IPv4", "-4"),
        };
        RunnerError::unreachable(format!(
            "`{name}` has no {family} address: leave {other} out"
        ))
    })?;
    if found.ip().is_multicast() || found.ip() == IpAddr::from([255, 255, 255, 255]) {
        let message = format!(
            "`{name}` is a group address: one probe would bring many answers. Name one host"
        );
        return Err(RunnerError::usage(message));
    }
    Ok(found)
}

/// Do probes to this target go over IPv6? A name that does not resolve is said later.
pub fn is_v6(target: &str, family: Family) -> bool {
    lookup(target, 0, family).is_ok_and(|address| address.is_ipv6())
}

/// All addresses of a name.
fn addresses(name: &str, port: u16) -> Result<impl Iterator<Item = SocketAddr>, RunnerError> {
    // An IPv6 address may be written in brackets, as in a URL.
    let bare = name
        .strip_prefix('[')
        .and_then(|n| n.strip_suffix(']'))
        .unwrap_or(name);
    let addresses = (bare, port).to_socket_addrs().map_err(|error| {
        let remedy = port_behind(name).map_or_else(
            || "Check the name, or use an address".to_owned(),
            |(host, port)| format!("The port is an option: {host} --port {port}"),
        );
        RunnerError::unreachable(format!("cannot resolve `{name}`: {error}. {remedy}"))
    })?;
    // An IPv4 address in IPv6's form is that of IPv4: what is known of it holds for both.
    Ok(addresses.map(|address| match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }))
}

/// A host, and the port that was written behind it: of `HOST:PORT` or `[ADDRESS]:PORT`. An IPv6 address alone has none.
pub fn port_behind(name: &str) -> Option<(&str, u16)> {
    let (host, port) = name.rsplit_once(':')?;
    let is_host = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
    port.parse()
        .ok()
        .filter(|_| is_host)
        .map(|port| (host, port))
}

/// A host that takes load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadServer {
    /// What listens there.
    pub server: Server,
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// Where load goes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoadChoice {
    /// To this server; `None`: to the target.
    pub server: Option<LoadServer>,
    /// To this port of the target; `None`: to the one where `delaylab reflect` takes load.
    pub port: Option<u16>,
}

impl LoadChoice {
    /// Does it go to a `delaylab reflect` other than the target?
    pub(crate) fn is_to_reflector(&self) -> bool {
        let server = self.server.as_ref();
        server.is_some_and(|at| at.server == Server::Reflector)
    }
}

/// The same address, at this port.
pub const fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// Where the packets of a resumed run go that went to this address: of one that is of a link, by the interface that the name says
/// now, as numbers of interfaces change when the machine starts again.
pub(crate) fn with_current_interface(name: &str, original: SocketAddr) -> SocketAddr {
    let is_of_a_link = |ip| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let same = |address: &SocketAddr| address.ip() == original.ip();
    let now = addresses(name, original.port()).ok();
    let now = now.filter(|_| is_of_a_link(original.ip()));
    now.and_then(|mut now| now.find(same)).unwrap_or(original)
}

/// What to know where a name no longer has this address, to which the packets of a resumed run go. One that cannot be
/// resolved now is not needed.
pub(crate) fn moved(name: &str, original: SocketAddr) -> Option<String> {
    let now: Vec<IpAddr> = addresses(name, 0)
        .ok()?
        .map(|address| address.ip())
        .collect();
    let then = original.ip();
    let other = now.first().filter(|_| !now.contains(&then))?;
    Some(format!(
        "`{name}` is {other} now: packets go to {then}, as when the run began. For {other}, begin another run"
    ))
}

/// Is this one of this host's own addresses?
pub fn is_this_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified() || interfaces::with_address(address).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::world::FailureKind;

    #[test]
    fn addresses_resolve_to_themselves() {
        assert_eq!(
            lookup("127.0.0.1", 5, Family::Any).unwrap(),
            "127.0.0.1:5".parse().unwrap()
        );
        assert_eq!(
            lookup("[::1]", 5, Family::V6).unwrap(),
            "[::1]:5".parse().unwrap()
        );
        assert_eq!(
            lookup("127.0.0.1", 5, Family::V6).unwrap_err().kind,
            FailureKind::Unreachable
        );
        for group in [
            "224.0.0.1",
            "::ffff:224.0.0.1",
            "[::ffff:255.255.255.255]",
            "ff02::1",
        ] {
            let refused = lookup(group, 5, Family::Any).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Usage, "{group}");
        }
        assert_eq!(
            lookup("::ffff:127.0.0.1", 5, Family::V4).unwrap(),
            "127.0.0.1:5".parse().unwrap()
        );
    }

    #[test]
    fn a_name_that_has_another_address_now_is_named() {
        let moved = |then: &str| moved("127.0.0.1", then.parse().unwrap());
        assert_eq!(moved("127.0.0.1:7007"), None);
        let said = moved("192.0.2.1:7007").unwrap();
        assert!(said.starts_with("`127.0.0.1` is 127.0.0.1 now: packets go to 192.0.2.1"));
    }

    #[test]
    fn the_interface_of_a_link_is_that_of_today() {
        let then: SocketAddr = "[fe80::1%77]:9".parse().unwrap();
        assert_eq!(
            with_current_interface("fe80::1%1", then),
            "[fe80::1%1]:9".parse().unwrap()
        );
        assert_eq!(with_current_interface("fe80::2%1", then), then);
        let other = "192.0.2.1:9".parse().unwrap();
        assert_eq!(with_current_interface("127.0.0.1", other), other);
    }

    #[test]
    fn a_port_behind_the_host_is_pointed_to() {
        for (name, remedy) in [
            ("127.0.0.1:9911", "127.0.0.1 --port 9911"),
            ("[::1]:9911", "[::1] --port 9911"),
            ("no-such-host.invalid", "Check the name"),
            ("::1::2", "Check the name"),
        ] {
            let error = lookup(name, 5, Family::Any).unwrap_err();
            assert!(error.message.contains(remedy), "{}", error.message);
        }
    }

    #[test]
    fn loopback_is_this_host_and_a_documentation_address_is_not() {
        let own = |address: &str| is_this_host(address.parse().unwrap());
        assert!(own("127.0.0.1") && own("127.0.0.2") && own("::1") && own("::ffff:127.0.0.1"));
        for other in [
            "192.0.2.1",
            "2001:db8::1",
            "224.0.0.1",
            "::ffff:224.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!own(other), "{other}");
        }
    }
}
