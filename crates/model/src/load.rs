//! Load beside the probes: what competes with them for the path.

use crate::Picos;
use crate::quantity::{Class, Duration, Rate, Size};
use crate::tcp::TcpOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// A packet of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When it is sent.
    pub at: Picos,
    /// How large it is.
    pub bytes: u32,
}

/// The packets of a replay's file in the order of their times, which are from the start of the load. Copies share them.
pub type ReplayTrace = Arc<[Packet]>;

/// How a load sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// As much as TCP gets through.
    Tcp,
    /// Packets at a constant rate.
    Cbr,
    /// Packets with exponential gaps.
    Poisson,
    /// Constant rate for `on`, nothing for `off`, in turn.
    OnOff,
    /// Packets when a file says.
    Replay,
    /// Transfers of a finite size over TCP, one after the other on each stream.
    Transfers,
}

impl LoadKind {
    /// What real hosts keep over time of a stream of this kind.
    pub const fn series_of_hosts(self) -> &'static [&'static str] {
        match self {
            LoadKind::Tcp | LoadKind::Transfers => &["cwnd", "srtt", "goodput", "load_retransmits"],
            LoadKind::Cbr | LoadKind::Poisson | LoadKind::OnOff | LoadKind::Replay => &["offered"],
        }
    }

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            LoadKind::Tcp => "tcp",
            LoadKind::Cbr => "cbr",
            LoadKind::Poisson => "poisson",
            LoadKind::OnOff => "on-off",
            LoadKind::Replay => "replay",
            LoadKind::Transfers => "transfers",
        }
    }
}

/// Which way a load goes, seen from the prober.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// As the probes' requests: from the prober to the reflector.
    #[default]
    Up,
    /// As the replies: from the reflector to the prober.
    Down,
}

impl Direction {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// Traffic beside the probes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Its name in paths and in the report.
    pub name: String,
    /// How it sends.
    pub kind: LoadKind,
    /// Which way it goes: up, as the probes' requests, or down, as the replies. Up by default.
    #[serde(default)]
    pub direction: Direction,
    /// Traffic class. Best effort by default.
    #[serde(default)]
    pub class: Class,
    /// How many at once; 0 is none. One by default.
    #[serde(default = "one")]
    pub streams: u32,
    /// Offered load of a stream; tcp: it sends no faster.
    pub rate: Option<Rate>,
    /// Bytes of payload of a packet.
    pub payload: Option<Size>,
    /// transfers: bytes of each.
    pub bytes: Option<Size>,
    /// transfers: from the end of one to the start of the next. None by default.
    pub gap: Option<Duration>,
    /// transfers: how many each stream has. As many as there is time for by default.
    pub rounds: Option<u32>,
    /// transfers: all streams begin the next together, when the slowest has ended. True by default.
    pub barrier: Option<bool>,
    /// tcp, transfers: congestion control, by the name that the world knows.
    pub congestion_control: Option<String>,
    /// tcp, transfers: largest window.
    pub window: Option<Size>,
    /// tcp and transfers, simulated: features of both ends. Kernels have their own.
    pub tcp: Option<TcpOptions>,
    /// How long after the probes it starts; stream i starts at i times `stagger` later.
    pub start: Option<Duration>,
    /// live, testbed: time from the start of the load to the first packet of the probes, so that the queue is full by then. Zero by
    /// default.
    pub lead: Option<Duration>,
    /// From the start of a stream to the start of the next.
    pub stagger: Option<Duration>,
    /// on-off: mean length of a burst.
    pub on: Option<Duration>,
    /// on-off: mean length of a silence.
    pub off: Option<Duration>,
    /// replay: the file with times and sizes.
    pub file: Option<String>,
    /// replay: what is in that file. It is read when the experiment is resolved; a world opens no file.
    #[serde(skip)]
    pub trace: Option<ReplayTrace>,
    /// Sending node.
    pub from: Option<String>,
    /// Receiving node.
    pub to: Option<String>,
    /// The way that it takes, whatever its class says.
    pub route: Option<String>,
}

impl Load {
    /// What its stream of this number, from 1, is called in series and sentences.
    pub fn stream_name(&self, number: u32) -> String {
        match self.streams {
            0 | 1 => self.name.clone(),
            _ => format!("{} {number}", self.name),
        }
    }

    /// One stream of best effort, with nothing else said of it.
    pub fn new(name: impl Into<String>, kind: LoadKind) -> Self {
        Self {
            name: name.into(),
            kind,
            direction: Direction::Up,
            class: Class::default(),
            streams: one(),
            rate: None,
            payload: None,
            bytes: None,
            gap: None,
            rounds: None,
            barrier: None,
            congestion_control: None,
            window: None,
            tcp: None,
            start: None,
            lead: None,
            stagger: None,
            on: None,
            off: None,
            file: None,
            trace: None,
            from: None,
            to: None,
            route: None,
        }
    }
}

impl Load {
    /// A field that says which way it goes beside `direction = "down"`, and so is a mistake there.
    pub fn second_direction(&self) -> Option<&'static str> {
        let fields = [
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("route", self.route.is_some()),
        ];
        let mut given = fields.into_iter().filter(|(_, given)| *given);
        let first = given.next().map(|(name, _)| name);
        first.filter(|_| self.direction == Direction::Down)
    }

    /// A field of transfers that a load of another kind has.
    pub fn out_of_place(&self) -> Option<&'static str> {
        let fields = [
            ("bytes", self.bytes.is_some()),
            ("gap", self.gap.is_some()),
            ("rounds", self.rounds.is_some()),
            ("barrier", self.barrier.is_some()),
        ];
        let mut given = fields.into_iter().filter(|(_, given)| *given);
        let first = given.next().map(|(name, _)| name);
        first.filter(|_| self.kind != LoadKind::Transfers)
    }
}

/// Why [`Load::second_direction`] is a mistake.
pub const SECOND_DIRECTION: &str =
    "`direction` turns the usual way round: name the ends or leave `direction` out";
/// Why [`Load::out_of_place`] is a mistake.
pub const OUT_OF_PLACE: &str = "goes with `kind = \"transfers\"`";

const fn one() -> u32 {
    1
}
