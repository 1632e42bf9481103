//! Why a load could not be started, each with its remedy.

use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Server;
use delaylab_model::world::FailureKind;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a load could not be started. Nothing has been sent.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing takes it.
    #[error("load: nothing listens on {target}. {}", start(*.server))]
    NothingListens {
        /// Where.
        target: SocketAddr,
        /// What should.
        server: Server,
    },
    /// There is no way there.
    #[error("load: cannot reach {target}: {source}. {}", start(*.server))]
    Unreachable {
        /// Where.
        target: SocketAddr,
        /// What should listen there.
        server: Server,
        /// What the kernel said.
        source: io::Error,
    },
    /// The connection was closed where an answer was due.
    #[error(
        "load: {target} closed the connection without an answer. Either it takes no load without {}; or it admits other \
         addresses only (--allow); or it has no free connection: try again",
        if *.with_key { "another key (is it the one that `delaylab reflect` there was given?)" }
        else { "a key (give it with --key-file, or start `delaylab reflect --open --allow …` there)" }
    )]
    WrongKey {
        /// Where.
        target: SocketAddr,
        /// Was a key used?
        with_key: bool,
    },
    /// What listens there is something else.
    #[error("load: {target} answers, but not as {} does. {}", name(*.server), start(*.server))]
    NotOurs {
        /// Where.
        target: SocketAddr,
        /// What should listen there.
        server: Server,
    },
    /// It accepts the connection, and that is all.
    #[error(
        "load: {target} accepts the connection and says nothing in {waited_s} s: it is something else than {}, or it stands \
         still. {}",
        name(*.server),
        start(*.server)
    )]
    Silent {
        /// Where.
        target: SocketAddr,
        /// What should listen there.
        server: Server,
        /// Seconds.
        waited_s: u64,
    },
    /// It closed the connection where an answer was due.
    #[error("load: {target} closed the connection without an answer. Is it {} that listens there?", name(*.server))]
    Closed {
        /// Where.
        target: SocketAddr,
        /// What should listen there.
        server: Server,
    },
    /// It answers over tcp and not over udp.
    #[error(
        "load: {target} answers by TCP, and not by UDP. Open this port for UDP, too, in the firewalls there and on the way"
    )]
    NoUdp {
        /// Where.
        target: SocketAddr,
    },
    /// It said no.
    #[error("load: {target} refused: {text}")]
    Refused {
        /// Who.
        target: SocketAddr,
        /// Its words, safe to print.
        text: String,
    },
    /// It knows of no load that it should send.
    #[error(
        "load: {target} takes load, but its delaylab is too old to send any. Update `delaylab reflect` there, or \
         leave out the load that comes down (--load up)"
    )]
    SendsNone {
        /// Who.
        target: SocketAddr,
    },
    /// A setting that cannot be honoured.
    #[error(transparent)]
    Setting(#[from] Refusal),
    /// A socket could not be made or set up.
    #[error("load: cannot set up a socket: {what}: {source}")]
    Socket {
        /// Which step.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// Its thread could not be started, or not get to where its sockets belong.
    #[error("load: cannot start a generator: {0}")]
    Thread(io::Error),
}

/// The connection has ended, at the other end's wish.
pub(super) fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

fn name(server: Server) -> &'static str {
    match server {
        Server::Reflector => "`delaylab reflect --accept-load`",
        Server::Iperf3 => "`iperf3 -s`",
    }
}

fn start(server: Server) -> &'static str {
    match server {
        Server::Reflector => {
            "Start `delaylab reflect --accept-load` there, or name the port with --load-port, or another \
             server with --load-server"
        }
        Server::Iperf3 => {
            "Start `iperf3 -s` there, or name its port: --load-server iperf3://HOST:PORT"
        }
    }
}

impl LoadError {
    /// What the kernel said when the connection was made.
    pub(super) fn connecting(target: SocketAddr, server: Server, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::ConnectionRefused {
            return LoadError::NothingListens { target, server };
        }
        LoadError::Unreachable {
            target,
            server,
            source,
        }
    }

    /// What a question came to that was not answered, or not as it should be.
    pub(super) fn asking(
        target: SocketAddr,
        server: Server,
        waited: Duration,
        error: &io::Error,
    ) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::WouldBlock | Kind::TimedOut => LoadError::Silent {
                target,
                server,
                waited_s: waited.as_secs(),
            },
            _ if is_end(error) => LoadError::Closed { target, server },
            _ => LoadError::NotOurs { target, server },
        }
    }

    /// Makes an error of what the kernel said about this step of setting a socket up.
    pub(super) fn socket(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| LoadError::Socket { what, source }
    }

    /// Its kind, for exit codes.
    pub fn failure(&self) -> FailureKind {
        match self {
            LoadError::NothingListens { .. }
            | LoadError::Unreachable { .. }
            | LoadError::Silent { .. }
            | LoadError::Closed { .. }
            | LoadError::NoUdp { .. }
            | LoadError::NotOurs { .. } => FailureKind::Unreachable,
            LoadError::WrongKey { .. }
            | LoadError::Refused { .. }
            | LoadError::SendsNone { .. }
            | LoadError::Setting(_) => FailureKind::Usage,
            LoadError::Socket { .. } | LoadError::Thread(_) => FailureKind::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn silence_is_no_answer() {
        let target = "192.0.2.1:8863".parse().unwrap();
        let said = |kind: io::ErrorKind| {
            let (server, waited) = (Server::Reflector, Duration::from_secs(5));
            LoadError::asking(target, server, waited, &kind.into()).to_string()
        };
        for silent in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            assert!(
                said(silent).contains("says nothing in 5 s"),
                "{}",
                said(silent)
            );
        }
        assert!(said(io::ErrorKind::UnexpectedEof).contains("closed the connection"));
        assert!(said(io::ErrorKind::InvalidData).contains("answers, but not as"));
    }
}
