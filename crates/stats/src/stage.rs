//! The stages of a response and sets of them: the vocabulary of the anatomy.

use serde::Serialize;
use std::fmt;

/// A stage of a response, in the order in which a packet passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// `t_send − t_intended`; where a connection is made for the request, `t_begin − t_intended`.
    ScheduleSlip,
    /// Servers: the name is looked up, `t_resolved − t_begin`.
    Resolve,
    /// Servers: the TCP handshake, `t_connected` less what was before it.
    Connect,
    /// Servers: the TLS handshake, `t_secured − t_connected`.
    Tls,
    /// `t_sched − t_send`; where a connection is made for the request, from when it is there.
    SendStack,
    /// `t_tx − t_sched`.
    LocalQueue,
    /// `r_rx − t_tx`.
    ForwardPath,
    /// The residence, `r_tx − r_rx`.
    Reflector,
    /// Servers: from the request's last byte there to the reply's first, `t_first − t_ack`.
    Server,
    /// `t_rx − r_tx`; servers: up to the first byte.
    ReturnPath,
    /// Servers: from the reply's first byte to its last, `t_rx − t_first`.
    Transfer,
    /// `t_recv − t_rx`.
    ReceiveWakeup,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 12] = [
        Stage::ScheduleSlip,
        Stage::Resolve,
        Stage::Connect,
        Stage::Tls,
        Stage::SendStack,
        Stage::LocalQueue,
        Stage::ForwardPath,
        Stage::Reflector,
        Stage::Server,
        Stage::ReturnPath,
        Stage::Transfer,
        Stage::ReceiveWakeup,
    ];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::ScheduleSlip => "schedule slip",
            Stage::Resolve => "resolve",
            Stage::Connect => "connect",
            Stage::Tls => "TLS handshake",
            Stage::SendStack => "send stack",
            Stage::LocalQueue => "local queue",
            Stage::ForwardPath => "forward path",
            Stage::Reflector => "reflector",
            Stage::Server => "server",
            Stage::ReturnPath => "return path",
            Stage::Transfer => "transfer",
            Stage::ReceiveWakeup => "receive wake-up",
        }
    }

    /// The name in JSON and in files.
    pub const fn key(self) -> &'static str {
        match self {
            Stage::ScheduleSlip => "schedule_slip",
            Stage::Resolve => "resolve",
            Stage::Connect => "connect",
            Stage::Tls => "tls",
            Stage::SendStack => "send_stack",
            Stage::LocalQueue => "local_queue",
            Stage::ForwardPath => "forward_path",
            Stage::Reflector => "reflector",
            Stage::Server => "server",
            Stage::ReturnPath => "return_path",
            Stage::Transfer => "transfer",
            Stage::ReceiveWakeup => "receive_wakeup",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// Who has a packet while it is in some stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The host that asks.
    Prober,
    /// What is between the two drivers; without stamps of the reflector, the reflector in it.
    Network,
    /// The host that answers.
    Reflector,
    /// The server that answers, and all that is behind what acknowledges for it.
    Server,
    /// What looks names up.
    Resolver,
    /// Hosts and network, which the stamps do not separate.
    Unclear,
}

/// Stages that one measured interval covers: one, or several where a stamp between them is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StageSet(u16);

impl StageSet {
    /// Between t_tx and t_rx: the network, and the reflector in it.
    pub const NETWORK_AND_REFLECTOR: StageSet =
        StageSet(Stage::ForwardPath.bit() | Stage::Reflector.bit() | Stage::ReturnPath.bit());
    /// Both ways through the network, without the reflector.
    pub const BOTH_WAYS: StageSet = StageSet(Stage::ForwardPath.bit() | Stage::ReturnPath.bit());
    /// The handshake of TCP and both ways: all that the network takes of a request.
    pub const NETWORK: StageSet = StageSet(Self::BOTH_WAYS.0 | Stage::Connect.bit());
    /// Between the request and the reply of a server, where nothing tells the network from it.
    pub const NETWORK_AND_SERVER: StageSet = StageSet(Self::BOTH_WAYS.0 | Stage::Server.bit());
    /// What there is only where a server is asked.
    pub const OF_SERVERS: StageSet =
        StageSet(Self::SETUP.0 | Stage::Server.bit() | Stage::Transfer.bit());
    /// What there is where a host or a reflector answers.
    #[cfg(test)]
    pub const OF_PACKETS: StageSet =
        Self::span(Stage::ScheduleSlip, Stage::ReceiveWakeup).without(Self::OF_SERVERS);
    /// What it takes to have a connection.
    pub const SETUP: StageSet =
        StageSet(Stage::Resolve.bit() | Stage::Connect.bit() | Stage::Tls.bit());
    /// This host's.
    pub const HOST: StageSet = StageSet(
        Stage::ScheduleSlip.bit()
            | Stage::SendStack.bit()
            | Stage::LocalQueue.bit()
            | Stage::ReceiveWakeup.bit(),
    );

    /// Of a bit for each stage, in their order.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// This stage alone.
    pub const fn only(stage: Stage) -> Self {
        Self(stage.bit())
    }

    /// Both ends and all between them.
    pub const fn span(first: Stage, last: Stage) -> Self {
        let through_last = (last.bit() << 1) - 1;
        Self(through_last & !(first.bit() - 1))
    }

    /// Is this stage in it?
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & stage.bit() != 0
    }

    /// Is all of `other` in it?
    pub const fn covers(self, other: StageSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Does it share a stage with `other`?
    pub const fn touches(self, other: StageSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Without these stages.
    #[must_use]
    pub const fn without(self, other: StageSet) -> Self {
        Self(self.0 & !other.0)
    }

    /// How many stages.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// No stage at all.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Who has the packet in all of them.
    pub fn place(self) -> Place {
        let before = Self::HOST.without(Self::only(Stage::ReceiveWakeup));
        match self {
            _ if before.covers(self) || self == Self::only(Stage::ReceiveWakeup) => Place::Prober,
            _ if self == Self::only(Stage::Reflector) => Place::Reflector,
            _ if self == Self::only(Stage::Server) => Place::Server,
            _ if self == Self::only(Stage::Resolve) => Place::Resolver,
            Self::NETWORK_AND_REFLECTOR => Place::Network,
            _ if Self::NETWORK.covers(self) => Place::Network,
            _ => Place::Unclear,
        }
    }

    /// Its stages, in order.
    pub fn iter(self) -> impl Iterator<Item = Stage> {
        Stage::ALL
            .into_iter()
            .filter(move |&stage| self.contains(stage))
    }

    /// The name for people: `local queue`, `schedule slip + send stack`, `network incl. reflector`.
    pub fn name(self) -> String {
        let mut names = Vec::new();
        for stage in self.iter() {
            match stage {
                Stage::ForwardPath if self.covers(Self::NETWORK_AND_REFLECTOR) => {
                    names.push("network incl. reflector");
                }
                Stage::ForwardPath if self.covers(Self::NETWORK_AND_SERVER) => {
                    names.push("network and server");
                }
                Stage::ForwardPath if self.covers(Self::BOTH_WAYS) => {
                    names.push("forward + return path");
                }
                Stage::Reflector if self.covers(Self::NETWORK_AND_REFLECTOR) => {}
                Stage::Server if self.covers(Self::NETWORK_AND_SERVER) => {}
                Stage::ReturnPath if self.covers(Self::BOTH_WAYS) => {}
                _ => names.push(stage.name()),
            }
        }
        names.join(" + ")
    }

    /// The name in JSON: `schedule_slip`, `forward_path+return_path`.
    pub fn key(self) -> String {
        let keys: Vec<_> = self.iter().map(Stage::key).collect();
        keys.join("+")
    }
}

impl From<Stage> for StageSet {
    fn from(stage: Stage) -> Self {
        Self::only(stage)
    }
}

impl FromIterator<Stage> for StageSet {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        Self(stages.into_iter().fold(0, |bits, stage| bits | stage.bit()))
    }
}

impl fmt::Display for StageSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// One interval of a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// What it covers.
    pub stages: StageSet,
    /// How long it took; a mean where records were averaged.
    pub ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stage::*;

    #[test]
    fn each_stage_has_its_place_and_what_is_merged_across_is_unclear() {
        let places = Stage::ALL.map(|stage| StageSet::only(stage).place());
        use Place::*;
        let before = [Prober, Resolver, Network, Unclear, Prober, Prober];
        let after = [
            Network,
            Place::Reflector,
            Place::Server,
            Network,
            Unclear,
            Prober,
        ];
        assert_eq!(places, [before, after].concat()[..]);
        assert_eq!(StageSet::NETWORK_AND_SERVER.place(), Unclear);
        assert_eq!(StageSet::BOTH_WAYS.place(), Network);
        assert_eq!(StageSet::NETWORK_AND_REFLECTOR.place(), Network);
        for (first, last) in [(LocalQueue, ForwardPath), (Stage::Reflector, ReturnPath)] {
            assert_eq!(StageSet::span(first, last).place(), Unclear);
        }
    }

    #[test]
    fn names_say_what_was_merged() {
        for (set, name, key) in [
            (StageSet::only(LocalQueue), "local queue", "local_queue"),
            (
                [ScheduleSlip, SendStack].into_iter().collect(),
                "schedule slip + send stack",
                "schedule_slip+send_stack",
            ),
            (
                StageSet::NETWORK_AND_SERVER,
                "network and server",
                "forward_path+server+return_path",
            ),
            (
                StageSet::NETWORK_AND_REFLECTOR,
                "network incl. reflector",
                "forward_path+reflector+return_path",
            ),
            (
                StageSet::BOTH_WAYS,
                "forward + return path",
                "forward_path+return_path",
            ),
            (
                [Stage::Reflector, ReturnPath].into_iter().collect(),
                "reflector + return path",
                "reflector+return_path",
            ),
            (
                StageSet::span(LocalQueue, ReceiveWakeup).without(StageSet::OF_SERVERS),
                "local queue + network incl. reflector + receive wake-up",
                "local_queue+forward_path+reflector+return_path+receive_wakeup",
            ),
        ] {
            assert_eq!((set.name().as_str(), set.key().as_str()), (name, key));
            assert_eq!(set.iter().collect::<StageSet>(), set);
        }
    }

    #[test]
    fn a_span_is_its_ends_and_all_between() {
        for first in Stage::ALL {
            for last in Stage::ALL.into_iter().filter(|&last| last >= first) {
                let span: Vec<_> = StageSet::span(first, last).iter().collect();
                let expected: Vec<_> = (Stage::ALL.into_iter())
                    .filter(|&stage| first <= stage && stage <= last)
                    .collect();
                assert_eq!(span, expected);
            }
        }
    }
}
