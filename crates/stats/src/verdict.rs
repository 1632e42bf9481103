//! What dominates a response: host or network, and which stage, in one sentence.

use crate::anatomy::{Part, Place, Stage, StageSet};
use crate::summary::{AnatomyAt, ServerTime, Summary};
use delaylab_model::units::{format_duration_f64, format_share};
use std::fmt;

/// Why a TCP handshake may take long: no stamp tells the two reasons apart.
pub const SYNS_SENT_AGAIN: &str =
    "SYNs were sent again: lost on the way, or dropped by a server that accepts too slowly";
/// A share of the response that nothing else can exceed.
const MOST: f64 = 0.5;

/// Who takes most of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Both ends: all that is not network.
    Host,
    /// Between the two drivers, less the residence where it is known.
    Network,
    /// Neither: the server, or what it takes to have a connection to it.
    Part(StageSet),
    /// The stamps that would tell the two apart are missing.
    Unknown,
}

/// What dominates the responses around one quantile.
#[derive(Debug, Clone, PartialEq)]
pub struct Dominant {
    /// `p50` or `p99`.
    pub at: &'static str,
    /// Mean response there.
    pub response_ns: f64,
    /// Host or network, whichever takes more.
    pub side: Side,
    /// Its share of the response, 0 to 1; 0 where the side is unknown.
    pub side_share: f64,
    /// That is the least of it: stamps do not tell more.
    pub at_least: bool,
    /// Handshakes beside it took so long, which tells the server from the network, ns.
    pub by_handshakes: Option<f64>,
    /// The largest part.
    pub stages: StageSet,
    /// Its share of the response, 0 to 1.
    pub share: f64,
    /// Does `network` include the reflector?
    pub network_includes_reflector: bool,
    /// Does `host` include the reflector, as a stage of its own?
    pub host_includes_reflector: bool,
    /// Where the side is unknown: which stamps are missing.
    pub missing: Option<&'static str>,
    /// The handshake of TCP takes most, and its SYNs were sent again.
    pub syns_sent_again: bool,
}

/// What dominates at the median and in the tail. Displays as one or two plain sentences.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// At the median.
    pub median: Dominant,
    /// At p99, where there are packets enough for one (100).
    pub tail: Option<Dominant>,
}

/// What dominates this summary's responses; `None` where nothing was answered. Handshakes that were made beside requests, if
/// any, tell what the network takes.
pub fn dominant(summary: &Summary, handshakes: Option<&Summary>) -> Option<Verdict> {
    let find = |label: &str| {
        let found = Dominant::find(summary.anatomy_at(label)?)?;
        let found = match &summary.server {
            Some(server) => found.by_bounds(server),
            None => found,
        };
        Some(found.by_segments_sent_again(summary))
    };
    let median = find("p50")?;
    // Those in the tail may be there because the network was slow just then.
    let handshake = handshakes.and_then(|made| made.network.as_ref());
    let median = match handshake {
        Some(handshake) => median.by_handshakes(handshake.p50 as f64),
        None => median,
    };
    Some(Verdict {
        median,
        tail: find("p99"),
    })
}

impl Dominant {
    /// Of one anatomy; `None` where the response is not a positive time.
    fn find(anatomy: &AnatomyAt) -> Option<Self> {
        let response_ns = anatomy.response_ns;
        let largest = anatomy.parts.iter().max_by(|a, b| a.ns.total_cmp(&b.ns))?;
        if response_ns <= 0.0 {
            return None;
        }
        let (side, side_ns) = match anatomy.network_ns.zip(anatomy.host_ns) {
            _ if StageSet::OF_SERVERS.touches(anatomy.stages()) => of_server(anatomy),
            Some((network, host)) if network > host => (Side::Network, network),
            Some((_, host)) => (Side::Host, host),
            None => (Side::Unknown, 0.0),
        };
        Some(Self {
            at: anatomy.label,
            response_ns,
            side,
            side_share: side_ns / response_ns,
            at_least: false,
            by_handshakes: None,
            stages: largest.stages,
            share: largest.ns / response_ns,
            network_includes_reflector: has(&anatomy.parts, StageSet::NETWORK_AND_REFLECTOR),
            host_includes_reflector: has(&anatomy.parts, StageSet::only(Stage::Reflector)),
            missing: (side == Side::Unknown).then(|| missing(&anatomy.parts)),
            syns_sent_again: false,
        })
    }

    /// What a handshake takes is the network's, but where SYNs were sent again: those are lost on the way, or dropped by a
    /// server whose accept queue is full.
    fn by_segments_sent_again(self, summary: &Summary) -> Self {
        let again = summary.retransmitted.map_or(0, |again| again.requests);
        let here = match self.at {
            "p99" => 0.01,
            _ => 0.5,
        };
        let enough = again as f64 >= here * summary.counts.answered().max(1) as f64;
        let connect = StageSet::only(Stage::Connect);
        if self.stages != connect || self.share < MOST || !enough {
            return self;
        }
        Self {
            side: Side::Part(connect),
            side_share: self.share,
            syns_sent_again: true,
            ..self
        }
    }

    /// Where network and server are not told apart, what the server took at least and at most may tell all the same which of
    /// them takes most.
    fn by_bounds(self, server: &ServerTime) -> Self {
        if self.side != Side::Part(StageSet::NETWORK_AND_SERVER) {
            return self;
        }
        let Some(around) = server.around(self.at) else {
            return self;
        };
        match most_of(around.least, self.side_share - around.most) {
            None => self,
            Some((side, side_share)) => Self {
                side,
                side_share,
                at_least: true,
                ..self
            },
        }
    }

    /// Where not even bounds tell network and server apart: the far kernel answers handshakes at once, so that those made meanwhile
    /// show what the network takes.
    fn by_handshakes(self, handshake_ns: f64) -> Self {
        if self.side != Side::Part(StageSet::NETWORK_AND_SERVER) {
            return self;
        }
        let of_network = (handshake_ns / self.response_ns).min(self.side_share);
        match most_of(self.side_share - of_network, of_network) {
            None => self,
            Some((side, side_share)) => Self {
                side,
                side_share,
                by_handshakes: Some(handshake_ns),
                ..self
            },
        }
    }

    /// "the host takes 93 %".
    fn side_clause(&self) -> String {
        let who = match self.side {
            Side::Host if self.host_includes_reflector => "the hosts at both ends take",
            Side::Host => "the host takes",
            Side::Network if self.network_includes_reflector => {
                "the network, with the reflector in it, takes"
            }
            Side::Network => "the network takes",
            Side::Part(stages) => &taken_by(stages),
            Side::Unknown => return format!("{} takes {}", self.stages, format_share(self.share)),
        };
        let least = if self.at_least { "at least " } else { "" };
        format!("{who} {least}{}", format_share(self.side_share))
    }

    /// "; receive wake-up alone takes 61 %", where that is not what was just said.
    fn stage_clause(&self) -> String {
        let (stages, share) = (self.stages, format_share(self.share));
        let in_network = !stages.touches(NOT_NETWORK) || stages == StageSet::NETWORK_AND_REFLECTOR;
        if let Some(ns) = self.by_handshakes {
            return format!(", as handshakes show ({})", format_duration_f64(ns));
        }
        match self.side {
            _ if self.syns_sent_again => format!("; {SYNS_SENT_AGAIN}"),
            Side::Part(StageSet::SETUP) => format!("; {stages} alone takes {share}"),
            Side::Unknown | Side::Part(_) => String::new(),
            Side::Network if stages.covers(StageSet::BOTH_WAYS) => String::new(),
            Side::Network if in_network => format!("; {stages} alone takes {share}"),
            Side::Host if !in_network && !stages.touches(StageSet::OF_SERVERS) => {
                format!("; {stages} alone takes {share}")
            }
            _ => format!("; the largest single part is {stages}, with {share}"),
        }
    }
}

/// Of the server and the network the one that takes most of the response by these shares, and its own.
fn most_of(of_server: f64, of_network: f64) -> Option<(Side, f64)> {
    if of_server >= MOST {
        Some((Side::Part(StageSet::only(Stage::Server)), of_server))
    } else {
        (of_network >= MOST).then_some((Side::Network, of_network))
    }
}

/// What takes most of a response of a server: this host, the network, or a part that is neither.
fn of_server(anatomy: &AnatomyAt) -> (Side, f64) {
    let sides = [
        (Side::Host, anatomy.host_ns),
        (Side::Network, anatomy.network_ns),
    ];
    let sides = sides.into_iter().filter_map(|(side, ns)| Some((side, ns?)));
    // What is in the side's own figure, where there is one, is no part beside it.
    let others = anatomy
        .parts
        .iter()
        .filter(|part| match part.stages.place() {
            Place::Prober => anatomy.host_ns.is_none(),
            Place::Network => anatomy.network_ns.is_none(),
            _ => true,
        });
    let others = others.map(|part| (Side::Part(part.stages), part.ns));
    // Each handshake may take less than the server, and all of them more.
    let setup = anatomy.parts.iter();
    let setup = setup.filter(|part| StageSet::SETUP.covers(part.stages));
    let several = setup.clone().count() > 1;
    let setup = setup.map(|part| part.ns).sum();
    let setup = several.then_some((Side::Part(StageSet::SETUP), setup));
    let all = sides.chain(others).chain(setup);
    all.max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((Side::Unknown, 0.0))
}

/// "the server takes": who takes the time in these stages.
fn taken_by(stages: StageSet) -> String {
    match stages {
        StageSet::NETWORK_AND_SERVER => "the network and the server together take".to_owned(),
        StageSet::SETUP => "making a connection takes".to_owned(),
        _ if stages == StageSet::only(Stage::Resolve) => "looking the name up takes".to_owned(),
        _ if stages == StageSet::only(Stage::Connect) => "the handshake of TCP takes".to_owned(),
        _ => format!("the {stages} takes"),
    }
}

/// The stages that belong to the hosts.
const NOT_NETWORK: StageSet = StageSet::span(Stage::ScheduleSlip, Stage::ReceiveWakeup)
    .without(StageSet::BOTH_WAYS)
    .without(StageSet::only(Stage::Connect));

/// Which stamps are missing to tell host from network, as the merged parts show it.
fn missing(parts: &[Part]) -> &'static str {
    let merged = |a, b| {
        let mut parts = parts.iter();
        parts.any(|part| part.stages.contains(a) && part.stages.contains(b))
    };
    let no_tx = merged(Stage::LocalQueue, Stage::ForwardPath);
    let no_rx = merged(Stage::ReturnPath, Stage::ReceiveWakeup);
    match (no_tx, no_rx) {
        (true, true) => "no kernel stamps",
        (true, false) => "no kernel stamp of sending (t_tx)",
        (false, true) => "no kernel stamp of receiving (t_rx)",
        (false, false) => "too few replies carry the reflector's stamps",
    }
}

fn has(parts: &[Part], stages: StageSet) -> bool {
    parts.iter().any(|part| part.stages == stages)
}

impl fmt::Display for Dominant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let response = format_duration_f64(self.response_ns);
        let (side, stage) = (self.side_clause(), self.stage_clause());
        write!(f, "{side} of the {response} response{stage}")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "At the median, {}.", self.median)?;
        if let Some(tail) = &self.tail {
            write!(f, " At p99, {tail}.")?;
        }
        let tail = self.tail.as_ref().and_then(|tail| tail.missing);
        match (self.median.missing, tail) {
            (Some(missing), _) => write!(f, " Host and network cannot be separated: {missing}."),
            (None, Some(missing)) => {
                write!(
                    f,
                    " Host and network cannot be separated at p99: {missing}."
                )
            }
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::summary::SummaryBuilder;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};

    /// A response of 100 µs: slip 1, send stack 2, queue 3, there 4, reflector 5, back 6, wake-up
    /// the rest.
    fn record(seq: u64) -> Record {
        let mut record = Record::due(0, 0, seq, Method::Udp, 0);
        record.t_send = Some(1_000);
        record.t_sched = Some(3_000);
        record.t_tx = Some(6_000);
        record.r_rx = Some(10_000);
        record.r_tx = Some(15_000);
        record.t_rx = Some(21_000);
        record.t_recv = Some(100_000);
        record.outcome = Outcome::Ok;
        record
    }

    const SAME: RecordFacts = RecordFacts {
        reflector_clock: ReflectorClock::Same,
        residence: Residence::ToDriver,
    };
    const NONE: RecordFacts = RecordFacts {
        reflector_clock: ReflectorClock::None,
        residence: Residence::Unknown,
    };

    fn verdict(facts: RecordFacts, count: u64, change: impl Fn(&mut Record)) -> Option<Verdict> {
        let mut builder = SummaryBuilder::new(facts, 1000);
        for seq in 0..count {
            let mut record = record(seq);
            change(&mut record);
            builder.push(&record);
        }
        dominant(&builder.finish(), None)
    }

    fn sentence(facts: RecordFacts, change: impl Fn(&mut Record)) -> String {
        verdict(facts, 10, change).unwrap().to_string()
    }

    #[test]
    fn says_who_dominates() {
        assert_eq!(
            sentence(NONE, |_| {}),
            "At the median, the host takes 85 % of the 100 µs response; \
             receive wake-up alone takes 79 %."
        );
        assert_eq!(
            sentence(SAME, |_| {}),
            "At the median, the hosts at both ends take 90 % of the 100 µs response; \
             receive wake-up alone takes 79 %."
        );
    }

    #[test]
    fn says_when_the_network_includes_the_reflector() {
        let slow = |record: &mut Record| record.t_rx = Some(90_000);
        assert_eq!(
            sentence(NONE, slow),
            "At the median, the network, with the reflector in it, takes 84 % of the 100 µs response."
        );
        assert_eq!(
            sentence(SAME, slow),
            "At the median, the network takes 79 % of the 100 µs response; \
             return path alone takes 75 %."
        );
    }

    #[test]
    fn says_when_it_cannot_tell() {
        let blind = |record: &mut Record| (record.t_tx, record.t_rx) = (None, None);
        let text = sentence(NONE, blind);
        assert!(
            text.ends_with("Host and network cannot be separated: no kernel stamps."),
            "{text}"
        );
        let text = sentence(NONE, |record| record.t_tx = None);
        assert!(
            text.ends_with("no kernel stamp of sending (t_tx)."),
            "{text}"
        );
        let text = sentence(SAME, |record| record.r_tx = None);
        assert!(text.ends_with("the reflector's stamps."), "{text}");
    }

    #[test]
    fn connecting_takes_most_where_network_and_server_are_not_told_apart() {
        let text = sentence(NONE, |record| {
            record.method = Method::Http;
            (record.r_rx, record.r_tx) = (None, None);
            record.t_begin = Some(100);
            record.t_connected = Some(75_000);
            (record.t_send, record.t_sched) = (Some(75_100), Some(75_200));
            record.t_tx = Some(75_300);
            (record.t_first, record.t_rx) = (Some(99_000), Some(99_000));
        });
        assert_eq!(
            text,
            "At the median, the handshake of TCP takes 75 % of the 100 µs response."
        );
    }

    /// A kept connection whose server acknowledges with the reply.
    fn asked(seq: u64) -> Record {
        let mut record = record(seq);
        record.method = Method::Http;
        (record.r_rx, record.r_tx) = (None, None);
        (record.t_ack, record.t_first) = (Some(97_000), Some(97_000));
        (record.t_rx, record.t_recv) = (Some(97_000), Some(100_000));
        record
    }

    fn of(records: impl Iterator<Item = Record>) -> Summary {
        let mut builder = SummaryBuilder::new(NONE, 1000);
        records.for_each(|record| builder.push(&record));
        builder.finish()
    }

    #[test]
    fn handshakes_beside_requests_tell_the_server_from_the_network() {
        let requests = of((0..10).map(asked));
        let said = |handshake: Option<i64>| {
            let made = handshake.map(|ns| {
                of((0..10).map(|seq| {
                    let mut record = Record::due(0, 1, seq, Method::TcpConnect, 0);
                    (record.t_begin, record.t_send) = (Some(0), Some(0));
                    (record.t_connected, record.t_recv) = (Some(ns), Some(ns + 500));
                    record.outcome = Outcome::Ok;
                    record
                }))
            });
            dominant(&requests, made.as_ref()).unwrap().to_string()
        };
        assert_eq!(
            said(None),
            "At the median, the network and the server together take 91 % of the 100 µs response."
        );
        assert_eq!(
            said(Some(1_000)),
            "At the median, the server takes 90 % of the 100 µs response, as handshakes show (1.00 µs)."
        );
        assert_eq!(
            said(Some(85_000)),
            "At the median, the network takes 85 % of the 100 µs response, as handshakes show (85.0 µs)."
        );
    }

    #[test]
    fn handshakes_that_take_most_together_are_named_together() {
        let text = sentence(NONE, |record| {
            record.method = Method::Http;
            (record.r_rx, record.r_tx) = (None, None);
            record.t_begin = Some(0);
            (record.t_connected, record.t_secured) = (Some(30_000), Some(64_000));
            (record.t_send, record.t_sched) = (Some(64_100), Some(64_200));
            record.t_tx = Some(64_300);
            (record.t_ack, record.t_first) = (Some(65_000), Some(98_000));
            record.t_rx = Some(98_000);
        });
        assert_eq!(
            text,
            "At the median, making a connection takes 64 % of the 100 µs response; TLS handshake alone takes 34 %."
        );
    }

    /// The longest responses are those of which the acknowledgement came with the reply: what a few others say of the server is
    /// nothing of them.
    #[test]
    fn bounds_of_the_server_are_those_of_the_responses_at_the_quantile() {
        let of = |early: fn(u64) -> bool| {
            let found = verdict(NONE, 100, |record| {
                record.method = Method::Http;
                (record.r_rx, record.r_tx) = (None, None);
                let at = if early(record.seq) { 90_000 } else { 96_000 };
                record.t_ack = Some(if early(record.seq) { 10_000 } else { at });
                (record.t_first, record.t_rx) = (Some(at), Some(at));
                record.t_recv = Some(at + 4_000);
            });
            found.unwrap().tail.unwrap().to_string()
        };
        let few = of(|seq| seq < 2);
        assert!(
            few.starts_with("the network and the server together take 9"),
            "{few}"
        );
        let most = of(|seq| seq < 60);
        assert!(
            most.starts_with("the network and the server together take 9"),
            "{most}"
        );
    }

    #[test]
    fn a_handshake_whose_syns_were_sent_again_is_not_the_networks() {
        let of = |retransmits| {
            sentence(NONE, |record| {
                record.method = Method::TcpConnect;
                (record.r_rx, record.r_tx) = (None, None);
                record.t_connected = Some(98_000);
                (record.t_sched, record.t_tx, record.t_rx) = (None, None, None);
                record.retransmits = Some(retransmits);
            })
        };
        let usual = of(0);
        assert!(usual.contains("the network takes"), "{usual}");
        let again = of(1);
        assert!(
            again.starts_with("At the median, the handshake of TCP takes")
                && again.ends_with("; SYNs were sent again: lost on the way, or dropped by a server that accepts too slowly."),
            "{again}"
        );
    }

    #[test]
    fn a_large_part_of_the_other_side_is_not_called_alone() {
        let text = sentence(NONE, |record| {
            record.t_send = Some(30_000);
            record.t_sched = Some(31_000);
            record.t_tx = Some(31_000);
            record.t_rx = Some(72_000);
        });
        assert_eq!(
            text,
            "At the median, the host takes 59 % of the 100 µs response; \
             the largest single part is network incl. reflector, with 41 %."
        );
    }

    #[test]
    fn the_tail_needs_a_hundred_packets() {
        assert!(verdict(SAME, 99, |_| {}).unwrap().tail.is_none());
        let text = verdict(SAME, 100, |_| {}).unwrap().to_string();
        assert!(
            text.contains(". At p99, the hosts at both ends take 90 %"),
            "{text}"
        );
        assert_eq!(verdict(SAME, 0, |_| {}), None);
    }
}
