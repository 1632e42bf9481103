//! Why a load could not be started, each with its remedy.

use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Server;
use delaylab_model::world::FailureKind;
use std::io;
use std::net::SocketAddr;

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
        "load: {target} closed the connection without an answer. Either it takes load from nobody without {}; or it admits other \
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

    /// Makes an error of what the kernel said about this step of setting a socket up.
    pub(super) fn socket(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| LoadError::Socket { what, source }
    }

    /// Its kind, for exit codes.
    pub fn failure(&self) -> FailureKind {
        match self {
            LoadError::NothingListens { .. }
            | LoadError::Unreachable { .. }
            | LoadError::NotOurs { .. } => FailureKind::Unreachable,
            LoadError::WrongKey { .. }
            | LoadError::Refused { .. }
            | LoadError::SendsNone { .. }
            | LoadError::Setting(_) => FailureKind::Usage,
            LoadError::Socket { .. } | LoadError::Thread(_) => FailureKind::Environment,
        }
    }
}
