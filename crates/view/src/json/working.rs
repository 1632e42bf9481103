//! Working latency in `delaylab ping --json`.

use super::ping::Rows;
use super::{Interval, Measured, Reasons, Results, with_reasons};
use crate::working::{MedianGrowth, Working, on_its_own, round_trips_a_minute};
use delaylab_live::load::StreamReport;
use delaylab_model::Nanos;
use delaylab_model::load::Direction;
use delaylab_model::record::Record;
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
    pub shift: Option<Shift>,
    /// Bits of payload a second that arrived, of all streams each way; null without streams that way, and where what
    /// arrived of one of them is not known.
    pub goodput_bps: Goodput,
    /// The stage that grew most at the median response; null where the median did not grow by more than chance.
    pub grew: Option<Grew>,
    /// Which queue grew, as a sentence.
    pub sentence: String,
    /// What came of the packets.
    #[serde(flatten)]
    pub results: Results<'a>,
    /// Every packet.
    #[schemars(with = "Vec<crate::columns::Row>")]
    pub round_trips: Rows<'a>,
}

/// 60 s / mean round trip; null where nothing was answered.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct RoundTripsAMinute {
    /// Before the load.
    pub idle: Option<f64>,
    /// Under it.
    pub under_load: Option<f64>,
}

/// Round trips a minute, of means without the longest 5 %.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Responsiveness {
    /// Of the probes before the load.
    pub idle: Option<f64>,
    /// Of the probes under load: the draft's "foreign" responsiveness.
    pub probes: Option<f64>,
    /// Of TCP's own estimates on the connections of the load: the draft's "loaded" responsiveness; null without a
    /// TCP load.
    pub loads: Option<f64>,
    /// The mean of the two.
    pub under_load: Option<f64>,
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
    /// The interval of that, of the intervals of both medians (MOVER).
    pub interval: Measured<Interval>,
    /// Is it longer by more than chance?
    pub longer: bool,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Goodput of all streams each way.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Goodput {
    /// From this host to the other.
    pub up: Option<f64>,
    /// From the other to this.
    pub down: Option<f64>,
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
    pub duration_ns: Option<Nanos>,
    /// tcp: as the kernel says; null for others.
    pub congestion_control: Option<String>,
    /// Bytes of payload that its schedule wanted sent; null for tcp.
    pub due_bytes: Option<u64>,
    /// Bytes of payload sent; tcp: acknowledged by the receiving end.
    pub sent_bytes: u64,
    /// Packets sent; 0 for tcp.
    pub sent_packets: u64,
    /// Bytes that arrived; null where the other end no longer says.
    pub received_bytes: Option<u64>,
    /// Packets that were lost; tcp: segments that were sent again. Null where it is not known.
    pub lost: Option<u64>,
    /// Packets that came after a later one; null for tcp.
    pub reordered: Option<u64>,
    /// Packets that came again, and are counted nowhere else; null for tcp.
    pub duplicate: Option<u64>,
    /// Bits of payload a second that arrived; null where that is not known.
    pub goodput_bps: Option<f64>,
    /// Why it is not what was asked for.
    pub flaws: Vec<String>,
    /// What to check before trusting the figures.
    pub warnings: Vec<String>,
}

impl<'a> UnderLoad<'a> {
    /// Of both parts and the packets of the second.
    pub fn new(working: &Working<'a>, records: &'a [Record]) -> Self {
        let grew = working.growth().map(|growth| Grew {
            stage: growth.stages.key(),
            idle_ns: growth.idle_ns,
            under_load_ns: growth.loaded_ns,
        });
        Self {
            load: working.load,
            streams: working.streams.iter().map(LoadStream::new).collect(),
            responsiveness: Responsiveness {
                idle: on_its_own(working.idle.summary),
                probes: on_its_own(working.loaded.summary),
                loads: working.on_the_loads(),
                under_load: working.responsiveness(),
            },
            round_trips_a_minute: RoundTripsAMinute {
                idle: round_trips_a_minute(working.idle.summary),
                under_load: round_trips_a_minute(working.loaded.summary),
            },
            shift: working.median_growth().map(|growth| Shift {
                response: ResponseShift {
                    p50_ns: MedianShift::new(&growth),
                },
            }),
            goodput_bps: Goodput {
                up: working.goodput(Direction::Up),
                down: working.goodput(Direction::Down),
            },
            grew,
            sentence: working.verdict(),
            results: Results::of_ping(&working.loaded),
            round_trips: Rows {
                records,
                facts: &working.loaded.facts.records,
            },
        }
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
        Self {
            name: report.name.clone(),
            kind: report.kind.name(),
            direction: report.direction.name(),
            duration_ns: report.lasted,
            congestion_control: report.congestion_control.clone(),
            due_bytes: report.due.map(|due| due.bytes),
            sent_bytes: report.sent.bytes,
            sent_packets: report.sent.packets,
            received_bytes: received.map(|received| received.amount.bytes),
            lost: report.lost(),
            reordered: of_packets.map(|received| received.reordered),
            duplicate: of_packets.map(|received| received.copies),
            goodput_bps: report.goodput(),
            flaws: report.flaws(),
            warnings: report.warnings(),
        }
    }
}
