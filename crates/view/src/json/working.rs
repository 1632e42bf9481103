//! Working latency in `delaylab ping --json`.

use super::ping::Rows;
use super::stats::unanswered;
use super::{Interval, Measured, Reasons, Results, with_reasons};
use crate::working::{MedianGrowth, Working, on_its_own, round_trips_a_minute};
use delaylab_live::load::StreamReport;
use delaylab_model::Nanos;
use delaylab_model::load::{Direction, LoadKind};
use delaylab_model::record::Record;
use delaylab_stats::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// Results of the same probe while load was sent. What is next to this object is idle.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnderLoad<'a> {
    /// The load as typed.
    pub load: &'a str,
    /// What each stream did.
    pub streams: Vec<LoadStream>,
    /// 60 s / mean round trip, idle and under load.
    pub round_trips_a_minute: RoundTripsAMinute,
    /// Responsiveness as draft-ietf-ippm-responsiveness has it, of what there is.
    pub responsiveness: Responsiveness,
    /// By how much responses are longer than idle; null where nothing was answered in one of the two.
    pub shift: Measured<Shift>,
    /// Bits of payload a second that arrived, of all streams each way; null without streams that way, and where what
    /// arrived of one of them is not known.
    pub goodput_bps: Goodput,
    /// The stage that grew most at the median response; null where the median did not grow by more than chance.
    pub grew: Measured<Grew>,
    /// Which queue grew, as a sentence.
    pub sentence: String,
    /// What came of the packets.
    #[serde(flatten)]
    pub results: Results<'a>,
    /// Every packet.
    #[schemars(with = "Vec<crate::columns::Row>")]
    pub round_trips: Rows<'a>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// 60 s / mean round trip; null where nothing was answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RoundTripsAMinute {
    /// Before the load.
    pub idle: Measured<f64>,
    /// Under it.
    pub under_load: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Round trips a minute, of means without the longest 5 %.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Responsiveness {
    /// Of the probes before the load.
    pub idle: Measured<f64>,
    /// Of the probes under load: the draft's "foreign" responsiveness.
    pub probes: Measured<f64>,
    /// Of TCP's own estimates on the connections of the load: the draft's "loaded" responsiveness; null without a
    /// TCP load.
    pub loads: Measured<f64>,
    /// The mean of `probes` and `loads`; without `loads` that of the probes.
    pub under_load: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// How far measures moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Shift {
    /// The response.
    pub response: ResponseShift,
}

/// How far responses moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseShift {
    /// Their median.
    pub p50_ns: MedianShift,
}

/// How far the median moved, in nanoseconds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MedianShift {
    /// The median under load less the median idle.
    pub difference: Nanos,
    /// The interval of `difference`, of the intervals of both medians (MOVER).
    pub interval: Measured<Interval>,
    /// Is it longer by more than chance?
    pub longer: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Goodput of all streams each way.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Goodput {
    /// From this host to the other.
    pub up: Measured<f64>,
    /// From the other to this.
    pub down: Measured<f64>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A stage that grew.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Grew {
    /// The stages, joined by `+`.
    pub stage: String,
    /// Mean around the median response, idle.
    pub idle_ns: f64,
    /// The same under load.
    pub under_load_ns: f64,
}

/// What one stream did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Stream")]
pub struct LoadStream {
    /// Its load, and its number where there are several.
    pub name: String,
    /// tcp, cbr, poisson, on-off or replay.
    pub kind: &'static str,
    /// up: from this host to the other; down: from the other to this.
    pub direction: &'static str,
    /// How long it sent; null: it never began.
    pub duration_ns: Measured<Nanos>,
    /// tcp: as the kernel says; null for others.
    pub congestion_control: Measured<String>,
    /// Bytes of payload that its schedule wanted sent; null for tcp.
    pub due_bytes: Measured<u64>,
    /// Bytes of payload sent; tcp: acknowledged by the receiving end.
    pub sent_bytes: u64,
    /// Packets sent; 0 for tcp.
    pub sent_packets: u64,
    /// Bytes that arrived; null where the other end no longer says.
    pub received_bytes: Measured<u64>,
    /// Packets that were lost; tcp: segments that were sent again. Null where it is not known.
    pub lost: Measured<u64>,
    /// Packets that came after a later one; null for tcp.
    pub reordered: Measured<u64>,
    /// Packets that came again, and are counted nowhere else; null for tcp.
    pub duplicate: Measured<u64>,
    /// Bits of payload a second that arrived; null where that is not known.
    pub goodput_bps: Measured<f64>,
    /// Why it is not what was asked for.
    pub flaws: Vec<String>,
    /// What to check before trusting the figures.
    pub warnings: Vec<String>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

impl<'a> UnderLoad<'a> {
    /// Of both parts and the packets of the second.
    pub fn new(working: &Working<'a>, records: &'a [Record]) -> Self {
        let shift = working.median_growth().map(|growth| Shift {
            response: ResponseShift {
                p50_ns: MedianShift::new(&growth),
            },
        });
        let grew = working.growth().map(|growth| Grew {
            stage: growth.stages.key(),
            idle_ns: growth.idle_ns,
            under_load_ns: growth.loaded_ns,
        });
        with_reasons!(Self {
            load: working.load,
            streams: working.streams.iter().map(LoadStream::new).collect(),
            responsiveness: Responsiveness::new(working),
            round_trips_a_minute: RoundTripsAMinute::new(working),
            grew: Measured::or(grew, || match shift {
                Some(_) => "the median response did not grow by more than chance".to_owned(),
                None => unanswered_in_one(),
            }),
            shift: Measured::or(shift, unanswered_in_one),
            goodput_bps: Goodput::new(working),
            sentence: working.verdict(),
            results: Results::of_ping(&working.loaded),
            round_trips: Rows {
                records,
                facts: &working.loaded.facts.records,
            },
        })
    }
}

fn unanswered_in_one() -> String {
    "nothing was answered idle, or nothing under load".to_owned()
}

impl RoundTripsAMinute {
    fn new(working: &Working<'_>) -> Self {
        let of = |summary: &Summary| Measured::or(round_trips_a_minute(summary), unanswered);
        with_reasons!(Self {
            idle: of(working.idle.summary),
            under_load: of(working.loaded.summary),
        })
    }
}

impl Responsiveness {
    fn new(working: &Working<'_>) -> Self {
        let of = |summary: &Summary| Measured::or(on_its_own(summary), unanswered);
        with_reasons!(Self {
            idle: of(working.idle.summary),
            probes: of(working.loaded.summary),
            loads: Measured::or(working.on_the_loads(), || {
                "no load by TCP says its round trips".to_owned()
            }),
            under_load: Measured::or(working.responsiveness(), unanswered),
        })
    }
}

impl Goodput {
    fn new(working: &Working<'_>) -> Self {
        let of = |direction: Direction| {
            let mut streams = working.streams.iter();
            let is_sent = streams.any(|it| it.direction == direction && it.lasted.is_some());
            Measured::or(working.goodput(direction), || match is_sent {
                true => "of one of the streams it is not known what arrived".to_owned(),
                false => "no load was sent this way".to_owned(),
            })
        };
        with_reasons!(Self {
            up: of(Direction::Up),
            down: of(Direction::Down),
        })
    }
}

impl MedianShift {
    fn new(growth: &MedianGrowth) -> Self {
        let interval = growth.interval.map(|[low, high]| Interval::new(low, high));
        with_reasons!(Self {
            difference: growth.ns,
            interval: Measured::or(interval, || "a median has no interval".to_owned()),
            longer: growth.is_longer,
        })
    }
}

impl LoadStream {
    fn new(report: &StreamReport) -> Self {
        let received = report.received;
        let of_packets = received.filter(|_| report.due.is_some());
        let is_tcp = report.kind == LoadKind::Tcp;
        let not_said = || "the other end did not say what arrived".to_owned();
        let of_bytes = || match is_tcp {
            true => "TCP carries bytes, and puts them in order".to_owned(),
            false => not_said(),
        };
        with_reasons!(Self {
            name: report.name.clone(),
            kind: report.kind.name(),
            direction: report.direction.name(),
            duration_ns: Measured::or(report.lasted, || "it never began".to_owned()),
            congestion_control: Measured::or(report.congestion_control.clone(), || match is_tcp {
                true => "the kernel that sends did not say it".to_owned(),
                false => "it is not sent by TCP".to_owned(),
            }),
            due_bytes: Measured::or(report.due.map(|due| due.bytes), || {
                "TCP sends as much as it can, without a schedule".to_owned()
            }),
            sent_bytes: report.sent.bytes,
            sent_packets: report.sent.packets,
            received_bytes: Measured::or(received.map(|it| it.amount.bytes), not_said),
            lost: Measured::or(report.lost(), || not_lost(report)),
            reordered: Measured::or(of_packets.map(|it| it.reordered), of_bytes),
            duplicate: Measured::or(of_packets.map(|it| it.copies), of_bytes),
            goodput_bps: Measured::or(report.goodput(), || match report.lasted {
                Some(_) => not_said(),
                None => "it never began".to_owned(),
            }),
            flaws: report.flaws(),
            warnings: report.warnings(),
        })
    }
}

/// Why it is not known how many packets of a stream were lost, or segments sent again.
fn not_lost(report: &StreamReport) -> String {
    let why = match (report.kind, report.received) {
        (LoadKind::Tcp, _) => "the kernel that sends did not say it",
        (_, Some(_)) => {
            "the other end's buffer had no room for some packets, which may have been of other senders"
        }
        (_, None) => "the other end did not say what arrived",
    };
    why.to_owned()
}
