//! One JSON document at the end of `delaylab trace --json`, and its JSON Schema.
//!
//! As in `ping`: whole nanoseconds, names of times end in `_ns`, what is not known is null.

use super::{Traced, name, quantile, words};
use crate::json::{Measured, Published, Reasons, with_reasons};
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_stats::quantile::carries;
use delaylab_traffic::path_trace::compare::Finding;
use delaylab_traffic::path_trace::hop::{ClassPath, Hop, Router};
use delaylab_traffic::path_trace::{End, Packet, Packets, Settings};
use delaylab_wire::mpls::Entry;
use schemars::JsonSchema;
use serde::Serialize;

/// The whole document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Was it stopped before its end?
    pub stopped: bool,
    /// The path of each class, in the order asked for.
    pub paths: Vec<Path<'a>>,
    /// What tells the classes apart, and what to know of the figures.
    pub findings: Vec<Found>,
    /// The findings in words.
    pub sentence: String,
    /// Every packet, in the order in which they were sent.
    pub packets: Vec<Row<'a>>,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/trace/2";
    const TITLE: &'static str = "delaylab trace";
}

/// The settings as resolved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The target as named by the user.
    pub target: &'a str,
    /// The address that it resolved to.
    pub address: String,
    /// The port; null for icmp.
    pub port: Option<u16>,
    /// How it asks.
    pub method: Method,
    /// What its packets are: `datagram`, `echo-request` or `syn`, each written as a whole; `handshake`: a SYN of the kernel's
    /// own TCP; `question`: one to a name server, by UDP.
    pub packets: &'static str,
    /// The name and the type asked for; null unless `packets` are questions.
    pub question: Option<String>,
    /// Bytes behind the UDP or ICMP header, where they can be chosen; else 0.
    pub payload: u32,
    /// The classes, by name.
    pub classes: Vec<String>,
    #[serde(flatten)]
    settings: &'a Settings,
}

/// The path of one class.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Path<'a> {
    /// Its name.
    pub class: String,
    /// Its DSCP as sent.
    pub dscp: u8,
    /// How it ends: `target`, `refused`, `silent`, `beyond` (not at the last hop asked), `stopped` (nothing is known behind it).
    pub end: &'static str,
    /// The last hop. A target at `first_ttl` may be nearer.
    pub last_hop: u8,
    /// Its hops.
    pub hops: Vec<HopOf<'a>>,
}

/// One hop.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HopOf<'a> {
    /// Its distance in hops: the TTL, or hop limit, of the packets that it answers.
    pub ttl: u8,
    /// Packets sent.
    pub sent: u64,
    /// Packets answered in time.
    pub answered: u64,
    /// Packets not answered in time, those answered late included.
    pub unanswered: u64,
    /// Packets answered after the time-out.
    pub late: u64,
    /// Packets that a hop refused, which are among those answered; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Is clearly more answered from behind it? Then what it leaves unanswered is no loss of the path.
    pub limits_answers: bool,
    /// Who answers, the most frequent first.
    pub routers: Vec<RouterOf<'a>>,
}

/// Who answers at a hop.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RouterOf<'a> {
    /// The address from which it answers.
    pub address: String,
    /// Its name; null where none was looked for or found.
    pub name: Option<&'a str>,
    /// What its last answer said.
    pub said: &'static str,
    /// From the send call to the arrival in this host's kernel.
    pub round_trip: RoundTrip,
    /// With which marks packets arrived there, and how many; empty where it quotes none.
    pub seen: Vec<SeenOf>,
    /// With which MPLS label stacks they arrived there, and how many.
    pub labels: Vec<StackOf<'a>>,
}

/// Round trips by their quantiles.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RoundTrip {
    /// How many.
    pub count: u64,
    /// The shortest; null without any.
    pub min_ns: Option<Nanos>,
    /// The median; null without any.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile; null under 100 values.
    pub p99_ns: Measured<Nanos>,
    /// The longest; null without any.
    pub max_ns: Option<Nanos>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// The marks of packets as they arrived somewhere.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SeenOf {
    /// DSCP.
    pub dscp: u8,
    /// Name of the DSCP.
    pub class: String,
    /// ECN bits.
    pub ecn: u8,
    /// On how many packets.
    pub packets: u64,
}

/// A label stack.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StackOf<'a> {
    /// Its labels, the top first.
    pub stack: &'a [Entry],
    /// On how many packets.
    pub packets: u64,
}

/// A finding.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    /// `re-marked`, `ecn-changed`, `parts`, `distance`, `ignored`, `spread`, `lost`, `target-limits`, `limited`,
    /// `not-sent`, `not-reached`, `not-known` (whether the target is reached), `refused` (some of the packets).
    pub kind: &'static str,
    /// The class that it is about; null: all.
    pub class: Option<String>,
    /// The last hop before it; 0 is this host; null where that makes no sense.
    pub after: Option<u8>,
    /// The first hop that shows it; null where none does.
    pub hop: Option<u8>,
    /// In words.
    pub sentence: String,
}

/// One packet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Row<'a> {
    /// Its class.
    pub class: String,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// CLOCK_MONOTONIC just before its send call.
    pub t_send_ns: Nanos,
    /// CLOCK_MONOTONIC at which the answer arrived; null: none came in time.
    pub t_rx_ns: Option<Nanos>,
    /// `t_rx_ns` less `t_send_ns`; null without an answer in time.
    pub round_trip_ns: Option<Nanos>,
    /// Did an answer come after the time-out?
    pub late: bool,
    /// The error number of its send call, where that failed; left out where it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Who answered; null without an answer in time.
    pub from: Option<String>,
    /// What the answer said; null without one in time.
    pub said: Option<&'a str>,
    /// DSCP of the packet as it arrived there; null where the answer does not quote it.
    pub seen_dscp: Option<u8>,
    /// ECN bits of the packet as it arrived there; null in the same way.
    pub seen_ecn: Option<u8>,
    /// Its TTL as it arrived there; more than 1 where hops are hidden; null in the same way.
    pub seen_ttl: Option<u8>,
    /// MPLS labels that it arrived with.
    pub labels: &'a [Entry],
    /// DSCP of the answer; null where the kernel did not say it.
    pub reply_dscp: Option<u8>,
    /// ECN bits of the answer; null in the same way.
    pub reply_ecn: Option<u8>,
    /// TTL or hop limit of the answer; null in the same way.
    pub reply_ttl: Option<u8>,
}

impl<'a> Document<'a> {
    /// Of a path trace.
    pub fn new(traced: &'a Traced<'a>) -> Self {
        let packets = traced.trace.packets().iter();
        let findings = traced.findings.iter();
        let words = words::words(traced);
        Self {
            stopped: traced.stopped,
            paths: traced.paths.iter().map(|p| Path::new(p, traced)).collect(),
            findings: findings.map(|found| Found::new(found, traced)).collect(),
            sentence: words.verdict,
            packets: packets.map(|packet| Row::new(packet, traced)).collect(),
        }
    }
}

impl<'a> Config<'a> {
    /// Of a path trace.
    pub fn new(traced: &Traced<'a>) -> Self {
        let settings = traced.trace.settings();
        Self {
            target: traced.target,
            address: traced.address.ip().to_string(),
            port: traced.method.has_port().then_some(traced.address.port()),
            method: traced.method,
            packets: traced.packets.name(),
            question: match traced.packets {
                Packets::Questions(question) => Some(question.to_string()),
                Packets::Crafted { .. } | Packets::Handshakes => None,
            },
            payload: traced.packets.payload(),
            classes: settings.classes.iter().map(Dscp::to_string).collect(),
            settings,
        }
    }
}

impl<'a> Path<'a> {
    fn new(path: &'a ClassPath, traced: &Traced<'a>) -> Self {
        let hops = path.hops.iter();
        Self {
            class: path.class.to_string(),
            dscp: path.class.code_point(),
            end: match path.end {
                End::Target(_) => "target",
                End::Refused(_) => "refused",
                End::Silent(_) => "silent",
                End::Beyond(_) => "beyond",
                End::Stopped(_) => "stopped",
            },
            last_hop: path.end.last_hop(),
            hops: hops.map(|hop| HopOf::new(hop, path, traced)).collect(),
        }
    }
}

impl<'a> HopOf<'a> {
    fn new(hop: &'a Hop, path: &ClassPath, traced: &Traced<'a>) -> Self {
        let routers = hop.routers.iter();
        Self {
            ttl: hop.ttl,
            sent: hop.sent,
            answered: hop.answered(),
            unanswered: hop.unanswered(),
            late: hop.late,
            refused: Some(hop.refused()).filter(|&refused| refused > 0),
            limits_answers: path.limits_answers(hop),
            routers: routers.map(|r| RouterOf::new(r, traced)).collect(),
        }
    }
}

impl<'a> RouterOf<'a> {
    fn new(router: &'a Router, traced: &Traced<'a>) -> Self {
        let labels = router.labels.iter();
        Self {
            address: router.address.to_string(),
            name: traced.names.get(&router.address).map(String::as_str),
            said: name(router.said),
            round_trip: RoundTrip::new(&router.round_trips),
            seen: router.seen.iter().map(SeenOf::new).collect(),
            labels: labels
                .map(|(stack, &packets)| StackOf { stack, packets })
                .collect(),
        }
    }
}

impl RoundTrip {
    fn new(round_trips: &[Nanos]) -> Self {
        let count = round_trips.len() as u64;
        let at = |q| quantile(round_trips, q);
        let p99 = at(0.99).filter(|_| carries(count, 0.99));
        with_reasons!(Self {
            count,
            min_ns: at(0.0),
            p50_ns: at(0.5),
            p99_ns: Measured::or(p99, || "fewer than 100 values".to_owned()),
            max_ns: at(1.0),
        })
    }
}

impl SeenOf {
    fn new((&byte, &packets): (&u8, &u64)) -> Self {
        let (dscp, ecn) = Dscp::from_traffic_class(byte);
        Self {
            dscp: dscp.code_point(),
            class: dscp.to_string(),
            ecn,
            packets,
        }
    }
}

impl Found {
    fn new(finding: &Finding, traced: &Traced<'_>) -> Self {
        let (kind, class, after, hop) = match finding {
            Finding::Remarked {
                class, after, at, ..
            } => ("re-marked", Some(class), Some(*after), Some(*at)),
            Finding::EcnChanged {
                class, after, at, ..
            } => ("ecn-changed", Some(class), Some(*after), Some(*at)),
            Finding::Parts {
                class, after, at, ..
            } => ("parts", Some(class), Some(*after), Some(*at)),
            Finding::Ignored { class, ttl, .. } => ("ignored", Some(class), None, Some(*ttl)),
            Finding::Spread { class, ttl, .. } => ("spread", Some(class), None, Some(*ttl)),
            Finding::Lost { class, from, .. } => ("lost", Some(class), None, Some(*from)),
            Finding::TargetLimits { class, after, .. } => {
                ("target-limits", Some(class), Some(*after), None)
            }
            Finding::Limited { .. } => ("limited", None, None, None),
            Finding::NotSent { class, .. } => ("not-sent", Some(class), None, None),
            Finding::NotReached {
                class, end, round, ..
            } => {
                let kind = match (end, round) {
                    (End::Stopped(_), None) => "not-known",
                    _ => "not-reached",
                };
                (kind, Some(class), Some(end.last_hop()), None)
            }
            Finding::Refused { class, ttl, .. } => ("refused", Some(class), None, Some(*ttl)),
            Finding::Distance { class, .. } => ("distance", Some(class), None, None),
        };
        Self {
            kind,
            class: class.map(Dscp::to_string),
            after,
            hop,
            sentence: words::one(finding, traced),
        }
    }
}

impl<'a> Row<'a> {
    fn new(packet: &'a Packet, traced: &Traced<'_>) -> Self {
        let answer = packet.answer.as_ref();
        let seen = answer.and_then(|answer| answer.seen);
        let seen_marks = seen.map(|seen| Dscp::from_traffic_class(seen.traffic_class));
        let reply = answer.and_then(|answer| answer.reply_traffic_class);
        let reply_marks = reply.map(Dscp::from_traffic_class);
        let labels = answer.map_or(&[][..], |answer| &answer.labels);
        Self {
            class: traced.trace.settings().classes[packet.class].to_string(),
            ttl: packet.ttl,
            t_send_ns: packet.sent_at,
            t_rx_ns: answer.map(|answer| answer.at),
            round_trip_ns: packet.round_trip(),
            late: packet.late,
            errno: packet.not_sent,
            from: answer.map(|answer| answer.from.to_string()),
            said: answer.map(|answer| name(answer.said)),
            seen_dscp: seen_marks.map(|(dscp, _)| dscp.code_point()),
            seen_ecn: seen_marks.map(|(_, ecn)| ecn),
            seen_ttl: seen.map(|seen| seen.ttl),
            labels,
            reply_dscp: reply_marks.map(|(dscp, _)| dscp.code_point()),
            reply_ecn: reply_marks.map(|(_, ecn)| ecn),
            reply_ttl: answer.and_then(|answer| answer.reply_ttl),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::trace::samples::{Sample, samples};
    use serde_json::Value;

    fn document(sample: &Sample) -> Value {
        let traced = sample.traced();
        crate::json::valid(&Document::new(&traced), Config::new(&traced))
    }

    #[test]
    fn every_document_keeps_to_the_schema() {
        for (_, sample) in samples() {
            document(&sample);
        }
    }

    #[test]
    fn the_schema_refuses_what_we_never_write() {
        let validator = crate::json::validator::<Document<'_>>();
        let (_, sample) = samples().remove(0);
        let good = document(&sample);
        for (pointer, bad) in [
            ("/schema", Value::from("delaylab/trace/1")),
            ("/paths/0/hops/0/sent", Value::Null),
            ("/packets/0/t_send_ns", Value::from("soon")),
        ] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = bad;
            assert!(!validator.is_valid(&document), "{pointer}");
        }
    }

    #[test]
    fn findings_are_there_in_words_too() {
        let (_, sample) = samples().remove(0);
        let document = document(&sample);
        let kinds = document["findings"].as_array().unwrap().iter();
        let kinds: Vec<_> = kinds.map(|found| found["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["re-marked", "parts", "limited"]);
        assert_eq!(document["findings"][0]["class"], "ef");
        assert_eq!(document["findings"][0]["after"], 2);
        assert_eq!(
            document["paths"][0]["hops"][2]["routers"][0]["labels"][0]["stack"][0]["label"],
            24_001
        );
    }
}
