//! Why a request has no reply, in words for people.

use super::dialogue::Broken;
use delaylab_traffic::prober::Refused;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// What made a request fail.
#[derive(Debug)]
pub(super) struct Failed {
    pub refused: Refused,
    /// In words for people.
    pub why: String,
    /// Were bytes wrong? Then it was answered, badly.
    pub corrupt: bool,
}

impl Failed {
    pub fn new(errno: i32, why: impl Into<String>) -> Self {
        Self {
            refused: Refused {
                by: None,
                icmp: None,
                info: 0,
                errno,
            },
            why: why.into(),
            corrupt: false,
        }
    }

    /// There is nowhere to ask.
    pub fn unreachable(why: impl Into<String>) -> Self {
        Self::new(errno::NO_HOST, why)
    }

    pub fn garbled(why: impl Into<String>) -> Self {
        Self {
            corrupt: true,
            ..Self::new(errno::PROTOCOL, why)
        }
    }

    /// There is no reply.
    pub fn broken(broken: Broken) -> Self {
        match broken {
            Broken::Garbled(why) => Self::garbled(why),
            Broken::Refused(why) => Self::new(errno::RESET, why),
        }
    }

    pub fn from_error(error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(errno::IO);
        let why = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "the server reset the connection".to_owned()
            }
            io::ErrorKind::TimedOut => {
                "TCP sent again and again, and nothing was acknowledged".to_owned()
            }
            _ => error.to_string(),
        };
        Self::new(errno, why)
    }
}

/// Why requests failed, and how many each, but for ICMP errors: those are told, with their senders, where refusals are.
#[derive(Debug, Default)]
pub(super) struct Failures(BTreeMap<String, u64>);

impl Failures {
    pub fn note(&mut self, failed: &Failed) {
        if failed.refused.icmp.is_none() {
            *self.0.entry(failed.why.clone()).or_default() += 1;
        }
    }

    /// A sentence each.
    pub fn told(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(why, count)| match count {
            1 => format!("1 request failed: {why}"),
            count => format!("{count} requests failed: {why}"),
        })
    }
}

/// errno values of Linux.
pub(super) mod errno {
    pub const IO: i32 = 5;
    pub const PROTOCOL: i32 = 71;
    pub const RESET: i32 = 104;
    pub const NO_HOST: i32 = 113;
}

/// Who says that packets do not get to the target, with what to do; `None` where that is no ICMP error.
pub(super) fn refused_on_the_way(refused: &Refused, target: IpAddr) -> Option<String> {
    let reason = refused.reason()?.describe(refused.path_mtu());
    Some(match refused.by {
        Some(by) if by == target => {
            format!("it says {reason}. Does its firewall let this port through?")
        }
        Some(by) => {
            format!("{by} says {reason}. `delaylab trace {target}` shows how far packets get")
        }
        None => reason,
    })
}

pub(super) const NO_TLS: &str =
    "the server closed the connection in the TLS handshake. Does it speak TLS on this port?";

/// What TLS refuses, with what to do.
pub(super) fn refused_by_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => {
                "its certificate has expired. To measure it all the same: --insecure".to_owned()
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "its certificate is of another name. Ask by that name (--resolve NAME:PORT:ADDRESS; dns: --tls-name NAME), or --insecure".to_owned()
            }
            Bad::UnknownIssuer => {
                "no authority that this host trusts has signed its certificate. Name the authority's file with --cacert, or --insecure"
                    .to_owned()
            }
            Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "its certificate is one that it has signed itself, as an authority would: --insecure".to_owned()
            }
            other => format!("its certificate is not accepted: {other}"),
        },
        rustls::Error::InvalidMessage(_) => {
            "what it sent is not TLS. Does it speak TLS on this port?".to_owned()
        }
        rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
            "the server speaks none of the protocols that were offered (ALPN). Is it another version (--http 1.1, --http 2)?".to_owned()
        }
        other => format!("TLS: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_is_named_with_what_to_do() {
        let ip = |text: &str| text.parse::<IpAddr>().ok();
        let target = ip("10.99.4.2").unwrap_or(IpAddr::from([0; 4]));
        let why = |by: Option<IpAddr>, icmp| {
            let refused = Refused {
                by,
                icmp,
                info: 0,
                errno: 111,
            };
            refused_on_the_way(&refused, target)
        };
        assert_eq!(
            why(ip("10.99.2.2"), Some([3, 3])).as_deref(),
            Some(
                "10.99.2.2 says port unreachable. `delaylab trace 10.99.4.2` shows how far packets get"
            )
        );
        assert_eq!(
            why(Some(target), Some([3, 13])).as_deref(),
            Some("it says administratively prohibited. Does its firewall let this port through?")
        );
        assert_eq!(why(ip("10.99.2.2"), None), None);
    }

    #[test]
    fn an_icmp_error_is_told_where_refusals_are_and_not_once_more() {
        let mut failures = Failures::default();
        let mut prohibited = Failed::unreachable("administratively prohibited");
        prohibited.refused.icmp = Some([3, 13]);
        failures.note(&prohibited);
        for _ in 0..2 {
            failures.note(&Failed::garbled("no HTTP"));
        }
        let told: Vec<_> = failures.told().collect();
        assert_eq!(told, ["2 requests failed: no HTTP"]);
    }
}
