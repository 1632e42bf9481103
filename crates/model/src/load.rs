//! Load beside the probes: what competes with them for the path.

use crate::Picos;
use crate::quantity::{Class, Duration, Rate, Size};
use crate::refusal::Refusal;
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
    crate::named! {
        Tcp "tcp";
        Cbr "cbr";
        Poisson "poisson";
        OnOff "on-off";
        Replay "replay";
        Transfers "transfers";
    }

    /// What real hosts keep over time of a stream of this kind.
    pub const fn series_of_hosts(self) -> &'static [&'static str] {
        match self {
            LoadKind::Tcp | LoadKind::Transfers => &["cwnd", "srtt", "goodput", "load_retransmits"],
            LoadKind::Cbr | LoadKind::Poisson | LoadKind::OnOff | LoadKind::Replay => &["offered"],
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
    crate::named! {
        Up "up";
        Down "down";
    }
}

/// Traffic in addition to the probes.
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
    /// A random stagger from `stagger` to this is drawn for each repeat, the same at all levels of factors.
    pub stagger_to: Option<Duration>,
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
    /// The longest that may be drawn, or the one that is given.
    pub fn longest_stagger(&self) -> Option<Duration> {
        self.stagger_to.or(self.stagger)
    }

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
            stagger_to: None,
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

    /// A field that means nothing for a load of this kind, and would be ignored.
    pub fn out_of_place(&self) -> Option<Refusal> {
        use LoadKind::{Cbr, OnOff, Poisson, Replay, Tcp, Transfers};
        // What each kind heeds. Of transfers `payload` is refused where they are read, with what to say in its place.
        let tcp: &[LoadKind] = &[Tcp, Transfers];
        let rated: &[LoadKind] = &[Tcp, Transfers, Cbr, Poisson, OnOff];
        let fields = [
            ("rate", self.rate.is_some(), rated),
            ("payload", self.payload.is_some(), rated),
            ("bytes", self.bytes.is_some(), &[Transfers]),
            ("gap", self.gap.is_some(), &[Transfers]),
            ("rounds", self.rounds.is_some(), &[Transfers]),
            ("barrier", self.barrier.is_some(), &[Transfers]),
            ("congestion_control", self.congestion_control.is_some(), tcp),
            ("window", self.window.is_some(), tcp),
            ("tcp", self.tcp.is_some(), tcp),
            ("on", self.on.is_some(), &[OnOff]),
            ("off", self.off.is_some(), &[OnOff]),
            ("file", self.file.is_some(), &[Replay]),
        ];
        let strange =
            |(_, given, kinds): &(&str, bool, &[LoadKind])| *given && !kinds.contains(&self.kind);
        let (name, _, kinds) = fields.into_iter().find(strange)?;
        let kinds: Vec<_> = kinds
            .iter()
            .map(|kind| format!("{:?}", kind.name()))
            .collect();
        let kind = self.kind.name();
        let reason = format!(
            "means nothing for a load of kind {kind:?}: leave it out; it goes with {}",
            kinds.join(", ")
        );
        Some(Refusal::new(name, reason))
    }
}

/// Why [`Load::second_direction`] is a mistake.
pub const SECOND_DIRECTION: &str =
    "`direction` turns the usual way round: name the ends or leave `direction` out";
const fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_field_of_another_kind_is_refused_and_says_whose_it_is() {
        // By kind, in that order: where the field belongs.
        for (field, belongs) in [
            ("rate = \"1Mbit/s\"", "tcpo-x"),
            ("payload = \"100B\"", "tcpo-x"),
            ("congestion_control = \"reno\"", "t----x"),
            ("window = \"1MB\"", "t----x"),
            ("tcp = { sack = true }", "t----x"),
            ("on = \"1s\"", "---o--"),
            ("off = \"1s\"", "---o--"),
            ("file = \"a.csv\"", "----r-"),
            ("bytes = \"1kB\"", "-----x"),
            ("gap = \"1s\"", "-----x"),
            ("rounds = 3", "-----x"),
            ("barrier = false", "-----x"),
        ] {
            for (kind, mark) in LoadKind::ALL.into_iter().zip(belongs.chars()) {
                let belongs = mark != '-';
                let name = kind.name();
                let load: Load =
                    toml::from_str(&format!("name = \"l\"\nkind = \"{name}\"\n{field}")).unwrap();
                let refused = load.out_of_place();
                assert_eq!(refused.is_none(), belongs, "{field} of {name}: {refused:?}");
                let named = field.split(' ').next();
                assert!(refused.is_none_or(|refused| Some(&*refused.field) == named));
            }
        }
    }
}
