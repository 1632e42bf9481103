//! Why a request has no reply, in words for people.

use super::dialogue::Broken;
use delaylab_traffic::prober::Refused;
use std::io;

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

/// errno values of Linux.
pub(super) mod errno {
    pub const IO: i32 = 5;
    pub const PROTOCOL: i32 = 71;
    pub const RESET: i32 = 104;
    pub const NO_HOST: i32 = 113;
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
                "nobody that this host trusts has signed its certificate. Name the authority's file with --cacert, or --insecure"
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
