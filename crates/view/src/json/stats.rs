//! The summary under the names that the design fixes: `stats.response.p99_ns` and its like.

use super::{Interval, Measured, Reasons, with_reasons};
use crate::missing::{self, WrittenIn};
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::record::Answer;
use delaylab_model::trial::{LossDirection, ProbeFacts};
use delaylab_stats::anatomy::Part;
use delaylab_stats::remarks::Remarked;
use delaylab_stats::summary::{Counts, Histogram, Retransmitted};
use delaylab_stats::voice::Voice;
use delaylab_stats::{summary, verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::IpAddr;

/// Counts and distributions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Stats {
    /// t_recv − t_intended: what the user waits.
    pub response: Measured<Distribution>,
    /// t_recv − t_send: what ping prints.
    pub round_trip: Measured<Distribution>,
    /// t_rx − t_tx − residence in the reflector.
    pub network: Measured<Distribution>,
    /// response − network: both ends.
    pub host: Measured<Distribution>,
    /// Responses of the packets of which the stamps tell no network, and so no host; where others have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_network: Option<Distribution>,
    /// t_send − t_intended, of every packet sent: how late the sender was.
    pub lateness: Measured<Distribution>,
    /// One-way delay out, r_rx − t_tx.
    pub forward: Measured<Distribution>,
    /// One-way delay back, from the end of the residence to t_rx.
    pub back: Measured<Distribution>,
    /// How long the server took, where one was asked over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerTime>,
    /// How packets ended.
    #[serde(flatten)]
    pub counts: Counts,
    /// Why packets were refused and by whom, the most frequent first.
    pub refusals: Vec<RefusalCount>,
    /// What servers answered, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
    /// TCP segments that this host sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<Retransmitted>,
    /// Classes that did not arrive as they were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarked: Vec<Remarked>,
    /// In which direction packets were lost, where the reflector counts.
    pub loss_direction: Measured<LossDirection>,
    /// Delay variation of the round trip, by every definition in use.
    pub variation: Variation,
    /// Where the time goes, around each quantile of the response.
    pub anatomy: Vec<AnatomyAt>,
    /// The worst few responses, worst first.
    pub worst: Vec<Worst>,
    /// How often round trips have which length.
    pub histogram: Measured<Histogram>,
    /// Share of round trips within ±500 µs of their mean, 0 to 1.
    pub within_500us: Measured<f64>,
    /// The largest relative error of quantiles; null: they are exact.
    pub quantile_error: Option<f64>,
    /// From the first packet's intended send to the last event.
    pub span_ns: Nanos,
    /// What dominates, in a sentence or two.
    pub sentence: Measured<String>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl Stats {
    /// Of a finished trial of a probe that was written here, and what dominates it.
    pub fn new(
        summary: &summary::Summary,
        facts: &ProbeFacts,
        written: WrittenIn,
        sentence: Measured<String>,
    ) -> Self {
        let is_answered = summary.response.is_some();
        let known = |d: &Option<summary::Distribution>| d.as_ref().map(Distribution::new);
        let of_answered = |d, why: &dyn Fn(&ProbeFacts, WrittenIn) -> String| {
            Measured::or(known(d), || match is_answered {
                true => why(facts, written),
                false => unanswered(),
            })
        };
        let untold = || match summary.network {
            Some(_) => "packets around this quantile lack the stamps for it".to_owned(),
            None => missing::network(facts, written),
        };
        with_reasons!(Self {
            response: Measured::or(known(&summary.response), unanswered),
            round_trip: Measured::or(known(&summary.round_trip), unanswered),
            network: of_answered(&summary.network, &missing::network),
            host: of_answered(&summary.host, &missing::network),
            without_network: summary
                .untold()
                .map(|(_, _, others)| Distribution::new(others)),
            lateness: Measured::or(known(&summary.lateness), || "no packet was sent".to_owned()),
            forward: of_answered(&summary.forward, &missing::forward),
            back: of_answered(&summary.back, &missing::back),
            server: summary.server.as_ref().map(ServerTime::new),
            counts: summary.counts,
            refusals: summary.refusals.iter().map(RefusalCount::new).collect(),
            answers: summary.answers.iter().map(Answered::new).collect(),
            retransmitted: summary.retransmitted,
            remarked: summary.irregular.remarked(),
            loss_direction: Measured::or(facts.loss, || {
                "the reflector does not count packets".to_owned()
            }),
            variation: Variation::new(summary, facts),
            anatomy: (summary.anatomy.iter())
                .map(|at| AnatomyAt::new(at, &untold))
                .collect(),
            worst: summary
                .worst
                .iter()
                .map(|worst| Worst::new(worst, summary.start))
                .collect(),
            histogram: Measured::or(summary.histogram.clone(), unanswered),
            within_500us: Measured::or(summary.within_500us, || match summary.quantile_error {
                None => unanswered(),
                Some(_) => "packets are no longer kept one by one, and delays so long are not \
                            resolved to 500 µs"
                    .to_owned(),
            }),
            quantile_error: summary.quantile_error,
            span_ns: summary.span_ns,
            sentence,
        })
    }
}

/// How long the server took, between bounds: t_first − t_ack, and t_first − t_tx less the shortest round trip.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ServerTime {
    /// It took at least this long.
    pub least: Distribution,
    /// It took at most this long.
    pub most: Distribution,
    /// Responses of which `least` and `most` are one value, as far as stamps can tell.
    pub exact: u64,
    /// What the server says that it took itself (`Server-Timing`); null where it says nothing.
    pub says: Measured<Distribution>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl ServerTime {
    fn new(server: &summary::ServerTime) -> Self {
        let says = server.says.as_ref().map(Distribution::new);
        with_reasons!(Self {
            least: Distribution::new(&server.least),
            most: Distribution::new(&server.most),
            exact: server.told,
            says: Measured::or(says, || "no reply has `Server-Timing`".to_owned()),
        })
    }
}

/// What dominates responses of which nothing else is known.
pub(super) fn sentence(summary: &summary::Summary) -> Measured<String> {
    let verdict = verdict::dominant(summary, None);
    Measured::or(verdict.map(|verdict| verdict.to_string()), unanswered)
}

pub(super) fn unanswered() -> String {
    "no packet was answered".to_owned()
}

/// Errors that mean the same and come from the same sender.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub struct RefusalCount {
    /// How many packets.
    pub count: u64,
    /// What the ICMP error says; null where it was no ICMP error.
    pub icmp: Option<IcmpReason>,
    /// Type of that error, of ICMPv6 where `from` is an IPv6 address; null in the same way.
    pub icmp_type: Option<u8>,
    /// Code of that error; null in the same way.
    pub icmp_code: Option<u8>,
    /// Who sent it; null where the kernel did not say it.
    pub from: Option<IpAddr>,
    /// What would have fit, in bytes of an IP packet; null where the packet was not too long.
    pub path_mtu: Option<u32>,
}

impl RefusalCount {
    fn new((refusal, count): &(summary::ErrorReply, u64)) -> Self {
        Self {
            count: *count,
            icmp: refusal.reason,
            icmp_type: refusal.code.map(|(kind, _)| kind),
            icmp_code: refusal.code.map(|(_, code)| code),
            from: refusal.by,
            path_mtu: refusal.path_mtu,
        }
    }
}

/// Answers of servers that say the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answered {
    /// As in the packets' `answer`: `open`, `closed`, `404`, `NXDOMAIN`.
    pub answer: String,
    /// How many.
    pub count: u64,
}

impl Answered {
    fn new((answer, count): &(Answer, u64)) -> Self {
        Self {
            answer: answer.to_string(),
            count: *count,
        }
    }
}

/// The distribution of one measure. Quantiles are nearest rank; `sd_ns` divides by `count` − 1.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Smallest.
    pub min_ns: Nanos,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation; null under two values.
    pub sd_ns: Measured<f64>,
    /// Interquartile range, p75 − p25.
    pub iqr_ns: Nanos,
    /// Median.
    pub p50_ns: Nanos,
    /// 90th percentile; null under 10 values.
    pub p90_ns: Measured<Nanos>,
    /// 99th percentile; null under 100 values.
    pub p99_ns: Measured<Nanos>,
    /// 99.9th percentile; null under 1000 values.
    pub p999_ns: Measured<Nanos>,
    /// Largest.
    pub max_ns: Nanos,
    /// The 95 % interval of the mean, made for correlated data.
    pub mean_interval_ns: Measured<Interval>,
    /// The 95 % interval of the median.
    pub p50_interval_ns: Measured<Interval>,
    /// The 95 % interval of p99.
    pub p99_interval_ns: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl Distribution {
    fn new(d: &summary::Distribution) -> Self {
        let few = |least: u32| move || format!("fewer than {least} values");
        let interval = |interval: &summary::Interval| match interval {
            summary::Interval::Known { low, high } => Measured::Known(Interval::new(*low, *high)),
            summary::Interval::Refused { reason } => Measured::Missing(reason.clone()),
        };
        with_reasons!(Self {
            count: d.count,
            min_ns: d.min,
            mean_ns: d.mean,
            sd_ns: Measured::or(d.sd, || "fewer than two values".to_owned()),
            iqr_ns: d.iqr,
            p50_ns: d.p50,
            p90_ns: Measured::or(d.carried_p90(), few(10)),
            p99_ns: Measured::or(d.carried_p99(), few(100)),
            p999_ns: Measured::or(d.carried_p999(), few(1000)),
            max_ns: d.max,
            mean_interval_ns: interval(&d.mean_interval),
            p50_interval_ns: interval(&d.p50_interval),
            p99_interval_ns: interval(&d.p99_interval),
        })
    }
}

/// Delay variation of the round trip. Null where there are too few packets for it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Variation {
    #[serde(flatten)]
    figures: summary::Variation,
    /// Simplified E-model mean opinion score of the worse direction: not G.107.
    mos: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    reasons: Reasons,
}

impl Variation {
    fn new(summary: &summary::Summary, facts: &ProbeFacts) -> Self {
        let voice = Voice::new(summary, facts.loss);
        with_reasons!(Self {
            figures: summary.variation.clone(),
            mos: Measured::or(voice.map(|voice| voice.score), || {
                let why = match summary.round_trip {
                    Some(_) => "no two packets in a row were answered",
                    // What goes one way is not answered, whatever of it arrives.
                    None => "no round trip is known",
                };
                why.to_owned()
            }),
        })
    }
}

/// One interval of a response: a stage, or several where a stamp between them is missing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StageTime {
    /// The stages, joined by `+`.
    pub stage: String,
    /// How long; a mean where packets were averaged.
    pub time_ns: f64,
    /// Its share of the response, 0 to 1; null where that took no time.
    pub share: Option<f64>,
}

pub(crate) fn stage_times(parts: &[Part], response_ns: f64) -> Vec<StageTime> {
    let stage_time = |part: &Part| StageTime {
        stage: part.stages.key(),
        time_ns: part.ns,
        share: (response_ns > 0.0).then(|| part.ns / response_ns),
    };
    parts.iter().map(stage_time).collect()
}

/// Where the time goes: the response at a quantile, divided as the packets whose responses rank around it do on average.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AnatomyAt {
    /// p50, p90, p99, p99.9 or max.
    pub quantile: &'static str,
    /// Packets averaged.
    pub records: u64,
    /// Packets left out because they lack a stamp that most have.
    pub left_out: u64,
    /// The response at the quantile, as in its distribution; the stages add up to it.
    pub response_ns: f64,
    /// Network, as its mean share of the responses around; null without the stamps for it.
    pub network_ns: Measured<f64>,
    /// Host likewise, both ends.
    pub host_ns: Measured<f64>,
    /// In the order in which a packet passes them.
    pub stages: Vec<StageTime>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl AnatomyAt {
    /// `untold`: why stamps do not tell the network from the host.
    fn new(at: &summary::AnatomyAt, untold: &dyn Fn() -> String) -> Self {
        with_reasons!(Self {
            quantile: at.label,
            records: at.records,
            left_out: at.left_out,
            response_ns: at.response_ns,
            network_ns: Measured::or(at.network_ns, untold),
            host_ns: Measured::or(at.host_ns, untold),
            stages: stage_times(&at.parts, at.response_ns),
        })
    }
}

/// One of the worst responses.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Worst {
    /// Which packet.
    pub seq: u64,
    /// When it was due, from the start.
    pub at_ns: Nanos,
    /// t_recv − t_intended; null without a reply.
    pub response_ns: Option<Nanos>,
    /// Its network part; null without the stamps for it.
    pub network_ns: Option<Nanos>,
    /// Its host part, both ends; null in the same way.
    pub host_ns: Option<Nanos>,
    /// In the order in which a packet passes them.
    pub stages: Vec<StageTime>,
}

impl Worst {
    fn new(worst: &summary::Worst, start: Nanos) -> Self {
        let response_ns = worst.record.response();
        Self {
            seq: worst.record.seq,
            at_ns: worst.record.t_intended - start,
            response_ns,
            network_ns: worst.network_ns,
            host_ns: worst.host_ns,
            stages: stage_times(&worst.parts, response_ns.unwrap_or(0) as f64),
        }
    }
}
