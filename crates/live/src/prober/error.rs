//! Why a probe could not be started or could not go on, each with its remedy.

use crate::tester::error::TesterError;
use delaylab_kernel::privilege::setcap_of_installed;
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::{Method, Responder};
use delaylab_model::world::FailureKind;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Why a probe could not be started.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No privilege for ICMP.
    #[error(
        "no permission to send ICMP: neither is your group in net.ipv4.ping_group_range nor has \
         delaylab CAP_NET_RAW. Do one of:\n  sudo sysctl net.ipv4.ping_group_range='0 2147483647'\n  \
         {}\nor use --method udp against `delaylab reflect`",
        setcap_of_installed()
    )]
    NoIcmpPrivilege,
    /// No privilege for raw sockets.
    #[error(
        "no permission to open raw sockets: a path trace writes its packets and reads what routers quote \
         of them, IP header and all, and delaylab has no CAP_NET_RAW. Do\n  \
         {}\nor start it as root",
        setcap_of_installed()
    )]
    NoRawPrivilege,
    /// The socket could not be made or set up.
    #[error("cannot set up the {method} socket: {what}: {source}")]
    Socket {
        /// For which method.
        method: Method,
        /// Which step.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no such interface, or it may not be used.
    #[error("cannot use interface `{name}`: {source}. `ip -br link` lists the interfaces")]
    Interface {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no route.
    #[error(
        "{} is unreachable from this host: {source}. Look at `ip route get {}`{}",
        .target.ip(), .target.ip(),
        if .target.is_ipv6() { ", or, of a name, try -4" } else { "" }
    )]
    NoRoute {
        /// Where to.
        target: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A router or a host says that packets do not get there.
    #[error(
        "{} is unreachable: {by} says {}. `delaylab trace {}` shows how far packets get",
        .target.ip(), .reason.describe(*.path_mtu), .target.ip()
    )]
    Icmp {
        /// Where to.
        target: SocketAddr,
        /// Who says so.
        by: IpAddr,
        /// Why.
        reason: IcmpReason,
        /// What would fit, where that is why.
        path_mtu: Option<u32>,
    },
    /// Nothing listens there.
    #[error(
        "{target} refused: nothing listens on this {} port. Start `delaylab reflect` there, or name its port with --port",
        .method.carrier()
    )]
    NothingListens {
        /// How it was asked.
        method: Method,
        /// Where.
        target: SocketAddr,
    },
    /// A server of any make cannot be asked.
    #[error("cannot ask {target}: {why}")]
    Server {
        /// Where.
        target: SocketAddr,
        /// Why, and what to do.
        why: String,
    },
    /// No answer to the request for a session.
    #[error(
        "no answer from {target} ({method}) in {waited_s} s. Is `delaylab reflect` running there, \
         is the port open in its firewall{}?{}",
        key_question(*.with_key), clock_question(*.method, *.with_key)
    )]
    NoAnswer {
        /// How it was asked.
        method: Method,
        /// Where.
        target: SocketAddr,
        /// How long, in seconds.
        waited_s: Nanos,
        /// Was a key used?
        with_key: bool,
    },
    /// The other end closed its connection instead of an answer, as a reflector does to who lacks its key.
    #[error(
        "{target} closed the connection without an answer. Is it `delaylab reflect` that listens there{}? It may \
         also admit other addresses only (--allow), or have no free connection",
        key_question(*.with_key)
    )]
    Closed {
        /// Who.
        target: SocketAddr,
        /// Was a key used?
        with_key: bool,
    },
    /// The reflector refused the session.
    #[error("{target} refused the session: {text}")]
    Refused {
        /// Who.
        target: SocketAddr,
        /// Its words.
        text: String,
    },
    /// An echo server cannot do what was asked for.
    #[error(
        "{target} is a plain echo server: it knows no keys. Leave --key-file out, or start `delaylab reflect` there"
    )]
    PlainEchoWithKey {
        /// Who.
        target: SocketAddr,
    },
    /// What answers STAMP sends every packet back as it came.
    #[error(
        "{target} sends packets back unchanged: it is an echo server and no STAMP reflector. Use --method udp, or set --port \
         to that of a STAMP reflector"
    )]
    NoStamp {
        /// Who.
        target: SocketAddr,
    },
    /// A setting that this method cannot honour.
    #[error("{field}: {reason}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// NIC stamps were asked for and are not to be had.
    #[error("interface `{name}` cannot stamp in hardware: {source}. Use --stamps software")]
    NoHardwareStamps {
        /// The interface.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a probe could not go on. What was recorded until then has been handed over.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Send calls failed.
    #[error("cannot send to {}{}: {source}{}", .target.ip(), by(.interface.as_deref()), send_remedy(.source))]
    Send {
        /// Where to.
        target: SocketAddr,
        /// By which interface, where that is known.
        interface: Option<String>,
        /// What the kernel said.
        source: io::Error,
    },
    /// Its connection ended.
    #[error("the connection to {target} ended while it was probed: {why}")]
    Ended {
        /// Where to.
        target: SocketAddr,
        /// What ended it, and what to do.
        why: ConnectionEnd,
    },
    /// Its thread could not get to where its sockets belong.
    #[error("cannot enter the probe's network namespace: {0}")]
    Enter(io::Error),
    /// Receive calls failed.
    #[error("cannot receive: {0}")]
    Receive(io::Error),
    /// The records could not be written.
    #[error("cannot write the results: {0}")]
    Sink(io::Error),
    /// Frames could not be sent or taken.
    #[error(transparent)]
    Tester(#[from] TesterError),
}

/// What ended a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionEnd {
    /// Its peer closed it.
    #[error(
        "the reflector closed it. Is `delaylab reflect` still running there? It ends a session after --max-duration, \
         one that is silent for long, and one that takes no reply for 15 s"
    )]
    Closed,
    /// What came on it cannot be cut into replies any more.
    #[error(
        "what the peer sent cannot be read as replies: {0}. Is it `delaylab reflect`, and is nothing between that changes bytes?"
    )]
    Garbled(String),
    /// Nothing more could be sent on it.
    #[error(
        "nothing could be sent on it for {waited_s} s. Either its class gets nothing through (a class of higher priority or \
         a load fills the path), or the reflector stands still. Lower the load, or use --method udp, which loses packets \
         where tcp waits"
    )]
    Stuck {
        /// How long it was tried, in seconds.
        waited_s: u64,
    },
    /// TCP sent again and again, and nothing was acknowledged.
    #[error(
        "nothing was acknowledged any more. Is the path still there? `delaylab trace` shows how far packets get"
    )]
    Unacknowledged,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ConnectionEnd {
    /// From what a call on the connection returned, which may wait for `patience`.
    pub(super) fn from_error(error: &io::Error, patience: Duration) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::BrokenPipe | Kind::ConnectionReset | Kind::UnexpectedEof => ConnectionEnd::Closed,
            Kind::ConnectionAborted | Kind::NotConnected => ConnectionEnd::Closed,
            Kind::WouldBlock => ConnectionEnd::Stuck {
                waited_s: patience.as_secs(),
            },
            Kind::TimedOut => ConnectionEnd::Unacknowledged,
            _ => ConnectionEnd::Other(error.to_string()),
        }
    }

    /// The same as an error of a call: it is told from errors that pass by its kind.
    pub(super) fn into_error(self) -> io::Error {
        io::Error::new(io::ErrorKind::BrokenPipe, self)
    }

    /// What [`Self::into_error`] made.
    pub(super) fn found_in(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

// errno values of Linux.
const NO_DEVICE: i32 = 19;
pub(super) use delaylab_traffic::prober::MESSAGE_TOO_LONG;
const NETWORK_DOWN: i32 = 100;
pub(crate) const NO_BUFFERS: i32 = 105;
const NETWORK_UNREACHABLE: i32 = 101;

fn by(interface: Option<&str>) -> String {
    interface.map_or_else(String::new, |name| format!(" by `{name}`"))
}

fn send_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(MESSAGE_TOO_LONG) => {
            ": the packet does not fit the MTU and must not be fragmented. Use a smaller -s, or -M want"
        }
        Some(NETWORK_UNREACHABLE) => {
            ": the route is gone. Is its interface up? `ip -br link` shows it"
        }
        Some(NO_DEVICE | NETWORK_DOWN) => {
            ": the interface is gone or down. `ip -br link` shows its state"
        }
        _ => "",
    }
}

/// What to ask of the reflector's key when no answer comes.
fn key_question(with_key: bool) -> &'static str {
    match with_key {
        true => ", and is its key the same",
        false => ", and does it ask for a key (--key-file)",
    }
}

/// Keyed STAMP is not answered whose time is not the reflector's: what was captured would be answered again.
fn clock_question(method: Method, with_key: bool) -> &'static str {
    match (method.responder(), with_key) {
        (Some(Responder::Stamp), true) => {
            " And are both clocks within a minute of each other (else start it with --stamp-any-clock)?"
        }
        _ => "",
    }
}

impl OpenError {
    /// Makes an error of what the kernel said about this step of setting a socket up.
    pub(crate) fn socket(method: Method, what: &'static str) -> impl Fn(io::Error) -> Self + use<> {
        move |source| OpenError::Socket {
            method,
            what,
            source,
        }
    }

    /// This setting cannot be honoured.
    pub(crate) fn setting(field: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        OpenError::Setting { field, reason }
    }

    /// Its kind.
    pub fn failure(&self) -> FailureKind {
        match self {
            OpenError::NoIcmpPrivilege
            | OpenError::NoRawPrivilege
            | OpenError::Socket { .. }
            | OpenError::Interface { .. }
            | OpenError::NoHardwareStamps { .. } => FailureKind::Environment,
            OpenError::NoRoute { .. }
            | OpenError::Icmp { .. }
            | OpenError::NothingListens { .. }
            | OpenError::Server { .. }
            | OpenError::NoAnswer { .. }
            | OpenError::Closed { .. } => FailureKind::Unreachable,
            OpenError::Refused { .. }
            | OpenError::PlainEchoWithKey { .. }
            | OpenError::NoStamp { .. }
            | OpenError::Setting { .. } => FailureKind::Usage,
        }
    }
}

impl RunError {
    /// Names the interface by which packets went while it was there.
    pub(super) fn by_interface(mut self, name: Option<String>) -> Self {
        if let RunError::Send { interface, .. } = &mut self {
            *interface = name;
        }
        self
    }

    /// Its kind.
    pub fn failure(&self) -> FailureKind {
        match self {
            RunError::Open(error) => error.failure(),
            RunError::Send { source, .. } if source.raw_os_error() == Some(MESSAGE_TOO_LONG) => {
                FailureKind::Usage
            }
            RunError::Send { .. } | RunError::Receive(_) | RunError::Ended { .. } => {
                FailureKind::Unreachable
            }
            RunError::Tester(error) => error.failure(),
            RunError::Enter(_) | RunError::Sink(_) => FailureKind::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn clocks_that_differ_are_a_reason_for_keyed_stamp_alone() {
        let said = |method, with_key| {
            let no_answer = OpenError::NoAnswer {
                method,
                target: "192.0.2.1:862".parse().unwrap(),
                waited_s: 3,
                with_key,
            };
            no_answer.to_string().contains("--stamp-any-clock")
        };
        assert!(said(Method::Stamp, true));
        assert!(!said(Method::Stamp, false) && !said(Method::Udp, true));
    }
}
