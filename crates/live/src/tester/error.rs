//! Why a tester could not begin, or broke off.

use delaylab_model::world::FailureKind;
use delaylab_wire::EmitError;
use std::io;

/// Each names the interface or the stream, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TesterError {
    /// There is no interface of this name.
    #[error("there is no interface `{interface}`: `ip link` lists those that there are")]
    NoInterface {
        /// As it was asked for.
        interface: String,
    },
    /// It is there and switched off.
    #[error("interface `{interface}` is down: `ip link set {interface} up`")]
    Down {
        /// Which.
        interface: String,
    },
    /// It is up and nothing is at its other end.
    #[error(
        "interface `{interface}` has no peer (no carrier): is the cable in, is the other end up?"
    )]
    NoCarrier {
        /// Which.
        interface: String,
    },
    /// Frames do not fit.
    #[error(
        "a frame of {size} B does not fit interface `{interface}`, whose MTU is {mtu} B: \
         `ip link set {interface} mtu {needed}`"
    )]
    Mtu {
        /// Which.
        interface: String,
        /// What it takes.
        mtu: u32,
        /// The frame, with its check sequence.
        size: u32,
        /// What it would have to take.
        needed: u32,
    },
    /// Whole frames need a privilege.
    #[error("whole frames on `{interface}` need CAP_NET_RAW: be root, or see `delaylab doctor`")]
    NotPermitted {
        /// Which.
        interface: String,
    },
    /// Something else about it.
    #[error("interface `{interface}`: {source}")]
    Interface {
        /// Which.
        interface: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// A probe without frames.
    #[error("probe `{probe}` is not of frames")]
    NoFrames {
        /// Which.
        probe: String,
    },
    /// No place for a signature.
    #[error("probe `{probe}`: {source}")]
    TooSmall {
        /// Which.
        probe: String,
        /// What is missing.
        source: EmitError,
    },
    /// A thread could not be started.
    #[error("cannot start the tester's thread: {0}")]
    Thread(io::Error),
    /// The records were not taken.
    #[error(transparent)]
    Sink(#[from] io::Error),
}

impl TesterError {
    /// Its kind.
    pub fn failure(&self) -> FailureKind {
        match self {
            Self::NoInterface { .. }
            | Self::NoFrames { .. }
            | Self::TooSmall { .. }
            | Self::Mtu { .. } => FailureKind::Usage,
            Self::Down { .. } | Self::NoCarrier { .. } => FailureKind::Unreachable,
            Self::NotPermitted { .. }
            | Self::Interface { .. }
            | Self::Thread(_)
            | Self::Sink(_) => FailureKind::Environment,
        }
    }
}
