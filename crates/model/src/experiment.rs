//! The sections of an experiment file, each as a type. How they become trials is `lab`'s.

use crate::bench::ProcedureSection;
use crate::load::Load;
use crate::method::Method;
use crate::path::Path;
use crate::probe::{DontFragment, Family, Fill, HostCondition, StampRequest, WaitMode};
use crate::quantity::{Class, Duration, Share, Size};
use crate::request::{Close, DnsTransport, HttpVersion, Verb};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Where trials are carried out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum WorldName {
    /// Real hosts and a real path.
    #[default]
    Live,
    /// Namespaces on this machine.
    Testbed,
    /// Discrete-event simulation.
    Sim,
}

impl WorldName {
    crate::named! {
        Live "live";
        Testbed "testbed";
        Sim "sim";
    }

    /// The world of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|world| world.name() == name)
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// When packets are due. One of `every`, `poisson`, `wait` and `load`; `burst` goes with `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacingSection {
    /// Open loop, start to start. One a second by default.
    pub every: Option<Duration>,
    /// Open loop with exponential gaps of this mean.
    pub poisson: Option<Duration>,
    /// Closed loop: this long after the previous reply.
    pub wait: Option<Duration>,
    /// Packets at once, `every` so often.
    pub burst: Option<u32>,
    /// frame: share of the line rate.
    pub load: Option<Share>,
}

/// What a summary leaves out at the start: packets, or the packets due in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// So many packets.
    Packets(u64),
    /// Packets due before this.
    Time(Duration),
}

/// What fills a payload: `"zeros"` (compressible), `"random"` (incompressible, from the run's seed), or bytes in
/// hexadecimal that are repeated, `"0xff00"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillText(pub Fill);

/// Where in its interval the first frame is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// At its start: streams of the same interval always meet in the same order.
    Fixed,
    /// Anywhere, drawn for each trial: ports of a tester know nothing of each other.
    Random,
}

/// `[[probe]]`: a stream of packets. All probes run at once. Defaults are `ping`'s.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSection {
    /// Its name in paths, selectors and the report.
    pub name: String,
    /// How it asks. icmp by default.
    #[serde(default)]
    pub method: Method,
    /// Bytes of the IP packet.
    pub ip_size: Option<Size>,
    /// Bytes of payload, instead. 56 by default.
    pub payload: Option<Size>,
    /// frame: bytes with the frame check sequence, instead.
    pub frame_size: Option<Size>,
    /// tcp: bytes of the response.
    pub reply_payload: Option<Size>,
    /// Traffic class on the way out.
    #[serde(default)]
    pub class: Class,
    /// ECN bits on the way out, 0 to 3.
    pub ecn: Option<u8>,
    /// TTL or hop limit on the way out.
    pub ttl: Option<u8>,
    /// Whether routers may fragment.
    #[serde(default)]
    pub dont_fragment: DontFragment,
    /// What fills the payload. Random by default.
    pub fill: Option<FillText>,
    /// When packets are due.
    #[serde(default)]
    pub pacing: PacingSection,
    /// Stop after this many packets.
    pub count: Option<u64>,
    /// Stop after so long. With both, whichever comes first.
    pub duration: Option<Duration>,
    /// live: no end of its own; the run is over when it is stopped. In place of `count` and `duration`, in a run of one
    /// trial.
    #[serde(default)]
    pub until_stopped: bool,
    /// Leave these out of summaries and findings: a count of packets, or (open loop) a duration.
    pub warmup: Option<Warmup>,
    /// A later answer is late. One second by default.
    pub timeout: Option<Duration>,
    /// How to wait for what comes next.
    #[serde(default)]
    pub wait_mode: WaitMode,
    /// Which stamps to ask the kernel for.
    #[serde(default)]
    pub stamps: StampRequest,
    /// Leave by this interface.
    pub interface: Option<String>,
    /// http: what is asked for. Its host is the target where `path.target` names no other.
    pub url: Option<String>,
    /// http: how. GET by default.
    pub verb: Option<Verb>,
    /// http: which version. 1.1 by default, and with https what the server chooses of 2 and 1.1.
    pub http: Option<HttpVersion>,
    /// http, dns by TCP and TLS: a connection for each request. Kept by default.
    pub fresh: Option<bool>,
    /// https, dns by TLS: a PEM file with the authorities whose certificates are believed. Those of this host by default.
    pub ca_file: Option<String>,
    /// https, dns by TLS: do not verify certificates.
    pub insecure: Option<bool>,
    /// http: fields of the request's head, such as `"Accept-Encoding: gzip"`.
    #[serde(default)]
    pub headers: Vec<String>,
    /// dns: the name and the type asked for, `"example.org AAAA"`. `*.example.org` is another name in each question, which
    /// no cache knows.
    pub question: Option<String>,
    /// dns: what carries it. udp by default.
    pub transport: Option<DnsTransport>,
    /// dns by TLS: the name that the server's certificate is to have. The target's by default.
    pub tls_name: Option<String>,
    /// tcp-connect, dns: the port of the server.
    pub port: Option<u16>,
    /// tcp-connect: how its connection is ended. fin by default.
    pub close: Option<Close>,
    /// Sending node or port.
    pub from: Option<String>,
    /// Receiving node or port.
    pub to: Option<String>,
    /// frame: the VLAN of an 802.1Q tag.
    pub vlan: Option<u16>,
    /// frame: IP inside, 4 by default.
    #[serde(default)]
    pub family: Family,
    /// frame: the first is due so long after the trial's start.
    pub start: Option<Duration>,
    /// frame: where in its interval the first is due. At its start by default.
    pub phase: Option<Phase>,
    /// frame: how far the clock of the sending port may be from nominal; each trial draws one. `"100ppm"` is
    /// what IEEE 802.3 allows, 0 the default.
    pub clock_tolerance: Option<Share>,
}

/// `[host]`: the measuring host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSection {
    /// The state to put it in.
    #[serde(default)]
    pub condition: HostCondition,
}

/// A value that a path may be set to.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // TOML's own kinds
pub enum Value {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

/// Evenly spaced levels, both ends included.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelRange {
    /// First level.
    pub from: Value,
    /// No level is above.
    pub to: Value,
    /// Distance of levels.
    pub step: Value,
}

/// A level of a factor, or several of them.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // named after what it holds
pub enum Levels {
    One(Value),
    Range(LevelRange),
}

/// A factor of `[sweep]`.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// What it varies: a dotted path, as in `probe.echo.pacing.wait`; `*` means each.
    pub set: String,
    /// Its levels. An empty list takes the factor away, as in one world or in the short form.
    pub to: Vec<Levels>,
}

/// `[[case]]`: values that belong together. Cases are the levels of one factor, `case`.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The level's name.
    pub name: String,
    /// Dotted paths and what to set them to.
    #[serde(default)]
    pub set: BTreeMap<String, Setting>,
}

/// What a case sets: a value, or a list of them where the field is one.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // named after what it holds
pub enum Setting {
    One(Value),
    Several(Vec<Value>),
}

/// In which order trials are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each repeat is all combinations in an order drawn from the seed, so that a drift of the
    /// machine is not taken for an effect.
    #[default]
    Interleaved,
    /// As the levels are written, the last factor fastest.
    AsWritten,
}

/// Repeat until an interval is narrow enough.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// A statistic of a measure, as in a finding: `p50(response)`.
    pub of: String,
    /// Half-width of its interval at 95 %, relative to it.
    pub within: Share,
    /// Give up after this many repeats.
    pub at_most: u32,
}

/// `[design]`: how the factors become trials.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// How often each combination is carried out. Once by default.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// When to stop repeating.
    pub stop: Option<StopRule>,
    /// Device benchmark: the procedure that looks for the next trial, instead of a design.
    pub procedure: Option<ProcedureSection>,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            repeats: 1,
            order: Order::default(),
            stop: None,
            procedure: None,
        }
    }
}

/// `[[finding]]`: a claim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingSection {
    /// Its number: where it was claimed.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The claim as a comparison of statistics.
    pub check: String,
    /// The numbers that its source gives, in words, to be read next to those of the run.
    #[serde(default)]
    pub printed: Option<String>,
}

/// `[[figure]]`: a figure of a part of the run, as the source of the experiment has it. Reports show these
/// before all others, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSection {
    /// By which the report and its files call it.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Which figure.
    pub draw: Draw,
    /// Of which trials and probes: `condition=quiet, wait in [0ms, 1ms]`, as in findings. All by default.
    #[serde(default, rename = "where")]
    pub levels: Option<String>,
    /// Of `draw = "delay_against_size"`: a factor of quantities in the place of the size.
    #[serde(default)]
    pub against: Option<String>,
    /// Of `draw = "delay_against_size"`: which lines; the first has its points of single trials too. The mean and the
    /// minimum by default.
    #[serde(default)]
    pub statistics: Vec<DelayStatistic>,
    /// Of `draw = "series"`: which one, such as `backlog`. All by default. Of `draw = "by_probe"`: a series of times,
    /// such as `srtt`, that is a line next to those of the probes. None by default.
    #[serde(default)]
    pub series: Option<String>,
    /// Of `draw = "table"`: the factor that has a row for each level.
    #[serde(default)]
    pub rows: Option<String>,
    /// Of `draw = "table"`: the factor that has columns for each level. None by default.
    #[serde(default)]
    pub columns: Option<String>,
    /// Of `draw = "table"`: what stands in each cell, in the language of checks: `sd(ipdv)`.
    #[serde(default)]
    pub values: Vec<String>,
    /// Of `draw = "table"`: what the source prints, by level of the rows: all values of the first column's
    /// level, then those of the second's.
    #[serde(default)]
    pub printed: BTreeMap<String, Vec<String>>,
    /// What the source's own figure shows, in words.
    #[serde(default)]
    pub shows: Option<String>,
    /// Of `draw = "delay_against_size"`, `"by_probe"` and `"table"`: of which trials and probes of the measured part it
    /// is too, as `where` says it of this run. `""` is all of it.
    #[serde(default)]
    pub measured: Option<String>,
}

/// `[measured]`: another run that is the measured part of this one. Figures that have `measured` show both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSection {
    /// The run's folder. A run records where it was.
    pub run: Option<String>,
}

/// A number of the delays of some trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DelayStatistic {
    /// The least.
    Min,
    /// The average.
    Mean,
    /// The largest.
    Max,
}

impl DelayStatistic {
    /// What a figure calls it.
    pub const fn name(self) -> &'static str {
        match self {
            DelayStatistic::Min => "minimum",
            DelayStatistic::Mean => "mean",
            DelayStatistic::Max => "maximum",
        }
    }
}

/// The figures that may be drawn of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Values by levels of one or two factors, next to those that the source prints.
    Table,
    /// How often each delay occurred, late ones in a bin of their own.
    Distribution,
    /// Cumulative distributions by probe.
    ByProbe,
    /// Delay against the size of packets.
    DelayAgainstSize,
    /// What a regression leaves of the delay of frames.
    RegressionResiduals,
    /// Where the time goes at each quantile.
    Anatomy,
    /// Queues, rates and windows over time.
    Series,
    /// Round trips over the run.
    TimeSeries,
}

impl Draw {
    // Also in the names of files of `report --svg`.
    crate::named! {
        Table "table";
        Distribution "distribution";
        ByProbe "by_probe";
        DelayAgainstSize "delay_against_size";
        RegressionResiduals "regression_residuals";
        Anatomy "anatomy";
        Series "series";
        TimeSeries "time_series";
    }
}

/// What a file that a run wrote tells those who resume it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvedSection {
    /// It is the short form of its experiment.
    #[serde(default)]
    pub quick: bool,
    /// The SHA-256 digest of each file that a load replays.
    #[serde(default)]
    pub traces: BTreeMap<String, String>,
}

/// The sections that a world or the short form may have instead or in addition.
///
/// Tables are merged key by key; probes, loads, nodes, links and findings by name; `pacing`, cases
/// and lists of levels are replaced.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)] // the sections' types say it
pub struct Sections {
    pub probe: Vec<ProbeSection>,
    pub load: Vec<Load>,
    pub path: Path,
    pub host: HostSection,
    /// Factor's name → what it varies. Fully crossed.
    pub sweep: BTreeMap<String, Sweep>,
    pub case: Vec<Case>,
    pub design: Design,
    pub finding: Vec<FindingSection>,
    pub figure: Vec<FigureSection>,
    pub measured: MeasuredSection,
}

impl<'de> Deserialize<'de> for FillText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for FillText {
    fn schema_name() -> Cow<'static, str> {
        "Fill".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "zeros, random, or bytes in hexadecimal that are repeated, as in 0xff00.",
            "type": "string",
            "pattern": "^(zeros|random|0x([0-9a-fA-F]{2})+)$",
        })
    }
}

struct WarmupVisitor;

impl Visitor<'_> for WarmupVisitor {
    type Value = Warmup;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count of packets, or a duration with its unit, like \"2s\"")
    }

    fn visit_i64<E: de::Error>(self, packets: i64) -> Result<Warmup, E> {
        u64::try_from(packets)
            .map(Warmup::Packets)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(packets), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Warmup, E> {
        text.parse().map(Warmup::Time).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WarmupVisitor)
    }
}

impl JsonSchema for Warmup {
    fn schema_name() -> Cow<'static, str> {
        "Warmup".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A count of packets, or (open loop) a duration with its unit.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }],
        })
    }
}
