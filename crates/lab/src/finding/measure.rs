//! The measures that findings can use, and how to read them from records.
//!
//! A measure is a column of the record, a stage of the anatomy, or computed from them. Measures that a run
//! keeps in other tables (series over time, the cost of a clock read) have names here too, but their values
//! come from [`Data`](super::data::Data).

use super::dimension::Dimension;
use super::values::{MeasureUnavailable, Values};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::anatomy::{self, Stage, StageSet};
use delaylab_stats::functional::Functional;
use std::collections::BTreeMap;
use std::fmt;

/// A quantity with a value for each packet, each moment, each transfer or each trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // described by `about`
pub enum Measure {
    Response,
    RoundTrip,
    Network,
    Host,
    Delay,
    Ipdv,
    Pdv,
    /// As `Ipdv` and `Pdv`, but of another delay than the round trip.
    IpdvOf(DelayOf),
    PdvOf(DelayOf),
    Stage(Stage),
    Lost,
    Copies,
    ReorderExtent,
    Retransmits,
    IpSize,
    Dscp,
    RDscp,
    ReplyDscp,
    ReplyEcn,
    ReplyTtl,
    Cpu,
    PeriodicCause,
    ClockReads,
    Backlog,
    PeakBacklog,
    Acr,
    Cwnd,
    Srtt,
    Goodput,
    Offered,
    LoadRetransmits,
    Utilisation,
    Fairness,
    Paused,
    Marks,
    Drops,
    LostLoad,
    Fct,
    LoadGoodput,
    BackToBack,
    Valid,
}

/// A delay whose variation is a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // as the measures of these names
pub enum DelayOf {
    Response,
    Network,
    Host,
    Delay,
    Stage(Stage),
}

use Measure::*;

/// Rows of `VARIATIONS`: `ipdv` and `pdv` of each delay, from the delay's name.
macro_rules! variations {
    ($($name:literal $delay:expr,)*) => {
        [$(
            (
                IpdvOf($delay),
                concat!("ipdv(", $name, ")"),
                concat!("of ", $name, ": D(i) − D(i−1), undefined across a loss"),
            ),
            (
                PdvOf($delay),
                concat!("pdv(", $name, ")"),
                concat!("of ", $name, ": D(i) − the least D of the trial"),
            ),
        )*]
    };
}

/// Variations of delays other than the round trip: measure, name, description.
const VARIATIONS: [(Measure, &str, &str); 32] = variations! {
    "response" DelayOf::Response,
    "network" DelayOf::Network,
    "host" DelayOf::Host,
    "delay" DelayOf::Delay,
    "schedule_slip" DelayOf::Stage(Stage::ScheduleSlip),
    "send_stack" DelayOf::Stage(Stage::SendStack),
    "local_queue" DelayOf::Stage(Stage::LocalQueue),
    "forward_path" DelayOf::Stage(Stage::ForwardPath),
    "reflector" DelayOf::Stage(Stage::Reflector),
    "return_path" DelayOf::Stage(Stage::ReturnPath),
    "receive_wakeup" DelayOf::Stage(Stage::ReceiveWakeup),
    "resolve" DelayOf::Stage(Stage::Resolve),
    "connect" DelayOf::Stage(Stage::Connect),
    "tls" DelayOf::Stage(Stage::Tls),
    "server" DelayOf::Stage(Stage::Server),
    "transfer" DelayOf::Stage(Stage::Transfer),
};

/// Rows of `TABLE`, a line each.
macro_rules! measures {
    ($($measure:expr, $name:literal, $about:literal;)*) => {
        &[$(($measure, $name, $about)),*]
    };
}

/// All other measures: measure, name, description.
const TABLE: &[(Measure, &str, &str)] = measures! {
    Response, "response", "t_recv − t_intended: what the user waits";
    RoundTrip, "round_trip", "t_recv − t_send: what ping prints";
    Network, "network", "t_rx − t_tx − residence";
    Host, "host", "response − network, at both ends";
    Delay, "delay", "one-way delay there, r_rx − t_tx; of frames t_rx − t_send";
    Ipdv, "ipdv", "of the round trip: D(i) − D(i−1), undefined across a loss";
    Pdv, "pdv", "of the round trip: D(i) − the least D of the trial";
    Stage(Stage::ScheduleSlip), "schedule_slip", "t_send − t_intended";
    Stage(Stage::SendStack), "send_stack", "t_sched − t_send";
    Stage(Stage::LocalQueue), "local_queue", "t_tx − t_sched";
    Stage(Stage::ForwardPath), "forward_path", "r_rx − t_tx";
    Stage(Stage::Reflector), "reflector", "the residence";
    Stage(Stage::ReturnPath), "return_path", "t_rx − r_tx";
    Stage(Stage::ReceiveWakeup), "receive_wakeup", "t_recv − t_rx";
    Stage(Stage::Resolve), "resolve", "servers: the name is looked up";
    Stage(Stage::Connect), "connect", "servers: the TCP handshake";
    Stage(Stage::Tls), "tls", "servers: the TLS handshake";
    Stage(Stage::Server), "server", "servers: t_first − t_ack, where the stamps tell";
    Stage(Stage::Transfer), "transfer", "servers: t_rx − t_first";
    Lost, "lost", "1 for a packet that was sent and never answered, else 0";
    Copies, "copies", "copies of the reply beyond the first";
    ReorderExtent, "reorder_extent", "how many packets too late a reply came (RFC 4737)";
    Retransmits, "retransmits", "TCP segments sent again in the interval";
    IpSize, "ip_size", "bytes of the IP packet";
    Dscp, "dscp", "DSCP as sent";
    RDscp, "r_dscp", "DSCP as the reflector saw it";
    ReplyDscp, "reply_dscp", "DSCP of the reply";
    ReplyEcn, "reply_ecn", "ECN bits of the reply";
    ReplyTtl, "reply_ttl", "TTL or hop limit of the reply";
    Cpu, "cpu", "where the prober ran";
    PeriodicCause, "periodic_cause", "1 for an excursion that a periodic process caused, 0 for any other";
    ClockReads, "clock_reads", "the cost of a clock read";
    Backlog, "backlog", "what waits in the queue, over time";
    PeakBacklog, "peak_backlog", "the most that waits in a queue at any time of a trial, a number each trial";
    Acr, "acr", "allowed cell rate, over time";
    Cwnd, "cwnd", "congestion window, over time";
    Srtt, "srtt", "round-trip time of a tcp load, as its TCP smooths it, over time";
    Goodput, "goodput", "payload of a tcp load that got through, over time";
    LoadGoodput, "load_goodput", "payload of all streams of a load over TCP that got through, over time";
    Fct, "fct", "flow completion time: from what an application has to send to its last byte read, of each transfer";
    Offered, "offered", "IP packets that a udp load sent, over time";
    LoadRetransmits, "load_retransmits", "segments that a tcp load sent again, over time";
    Utilisation, "utilisation", "share of the link in use, over time";
    Fairness, "fairness", "Jain's index of what the streams of a load received, where there are two or more, over time";
    Paused, "paused", "1 while flow control stops a port, or a priority of it, over time";
    Marks, "marks", "how many cells or packets left a queue marked by it, a number each trial";
    Drops, "drops", "how many cells or packets a queue dropped, a number each trial";
    LostLoad, "lost_load", "cells or packets that the load lost, a number each trial";
    BackToBack, "back_to_back", "frames of all ports up to the first that was lost, a number each trial";
    Valid, "valid", "1 for a trial that is what its experiment meant, else 0";
};

/// Alternative names of measures.
const ALIASES: [(&str, Measure); 4] = [
    ("forward", Stage(Stage::ForwardPath)),
    ("return", Stage(Stage::ReturnPath)),
    ("receive_wake_up", Stage(Stage::ReceiveWakeup)),
    ("rtt", RoundTrip),
];

impl Measure {
    /// Every measure, except variations of delays other than the round trip.
    pub fn all() -> impl Iterator<Item = Measure> + Clone {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Measure, &'static str, &'static str) {
        let mut rows = TABLE.iter().chain(&VARIATIONS);
        rows.find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }

    /// For `ipdv` and `pdv`: the same variation of `delay`. `None` for other measures, or if `delay` is not a delay.
    pub fn variation_of(self, delay: Measure) -> Option<Measure> {
        let of = match delay {
            RoundTrip => return matches!(self, Ipdv | Pdv).then_some(self),
            Response => DelayOf::Response,
            Network => DelayOf::Network,
            Host => DelayOf::Host,
            Delay => DelayOf::Delay,
            Stage(stage) => DelayOf::Stage(stage),
            _ => return None,
        };
        match self {
            Ipdv => Some(IpdvOf(of)),
            Pdv => Some(PdvOf(of)),
            _ => None,
        }
    }

    /// The name in checks.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Description, a clause.
    pub fn about(self) -> &'static str {
        self.row().2
    }

    /// The measure with this name or alternative name.
    pub fn named(name: &str) -> Option<Measure> {
        let alias = ALIASES.iter().find(|alias| alias.0 == name);
        let mut rows = TABLE.iter().chain(&VARIATIONS);
        let row = rows.find(|row| row.1 == name);
        row.map(|row| row.0).or(alias.map(|alias| alias.1))
    }

    /// Dimension of the values; `None` if it depends on the data.
    pub const fn dimension(self) -> Option<Dimension> {
        match self {
            Response | RoundTrip | Network | Host | Delay | Ipdv | Pdv | IpdvOf(_) | PdvOf(_)
            | Stage(_) | ClockReads | Srtt | Fct => Some(Dimension::TIME),
            IpSize => Some(Dimension::SIZE),
            Acr | Goodput | LoadGoodput | Offered => Some(Dimension::RATE),
            Backlog | PeakBacklog | Cwnd | Marks | Drops => None,
            _ => Some(Dimension::NUMBER),
        }
    }

    /// Is it a series over time, of a port or a flow?
    pub const fn is_series(self) -> bool {
        matches!(
            self,
            Backlog
                | Acr
                | Cwnd
                | Srtt
                | Goodput
                | LoadGoodput
                | Offered
                | LoadRetransmits
                | Utilisation
                | Fairness
                | Paused
                | Marks
                | Drops
        )
    }

    /// The smallest possible value, 0; `None` for a measure that may be negative, such as a difference of neighbours or a delay
    /// between two clocks. What is above the least delay is not.
    pub const fn least(self) -> Option<f64> {
        match self {
            Ipdv | IpdvOf(_) | Delay | Stage(_) => None,
            _ => Some(0.0),
        }
    }

    /// The largest possible value, 1, of what is a share or yes and no; `None` for any other.
    pub const fn most(self) -> Option<f64> {
        match self {
            Lost | PeriodicCause | Valid | Utilisation | Fairness | Paused => Some(1.0),
            _ => None,
        }
    }

    /// The least and the largest value that this statistic of it can have; infinite where nothing bounds it. Min, max, mean and quantiles are
    /// never beyond the values.
    pub fn range_of(self, functional: Functional) -> [f64; 2] {
        let (mut least, mut most) = functional.range();
        if functional.is_among_values() {
            least = self.least().map_or(least, |of_values| of_values.max(least));
            most = self.most().map_or(most, |of_values| of_values.min(most));
        }
        [least, most]
    }

    /// Is it of a port or flow (factor `of`), rather than of a probe's packets?
    pub const fn is_of_flow(self) -> bool {
        self.is_series() || matches!(self, Fct | PeakBacklog)
    }

    /// The measure from whose stored values it is computed: itself, except `Backlog` for `PeakBacklog`.
    #[must_use]
    pub const fn kept_as(self) -> Measure {
        match self {
            PeakBacklog => Backlog,
            _ => self,
        }
    }

    /// Is it one number for each trial, or for each port in a trial?
    pub const fn is_number_of_trial(self) -> bool {
        matches!(
            self,
            LostLoad | BackToBack | Valid | PeakBacklog | Marks | Drops
        )
    }

    /// Is it 1 or 0 for each packet or trial?
    pub const fn is_yes_or_no(self) -> bool {
        matches!(self, Lost | PeriodicCause | Valid)
    }

    /// Is this statistic of it how many packets are 1, such as those that were lost, and not how many there are?
    pub fn counts_ones(self, functional: Functional) -> bool {
        functional == Functional::Count && self.is_yes_or_no()
    }

    /// Is it between stamps of two clocks, those of the two ends?
    pub const fn is_between_clocks(self) -> bool {
        let of = match self {
            Delay => DelayOf::Delay,
            Stage(stage) => DelayOf::Stage(stage),
            IpdvOf(of) | PdvOf(of) => of,
            _ => return false,
        };
        matches!(
            of,
            DelayOf::Delay | DelayOf::Stage(Stage::ForwardPath | Stage::ReturnPath)
        )
    }

    /// Why packets that can have it have none of it, a clause.
    pub(super) const fn why_none(self) -> &'static str {
        match self {
            PeriodicCause => "none of these packets was far later than the others",
            Ipdv | IpdvOf(_) => "no two of these packets in a row were answered",
            Lost => "none of these packets could be sent",
            // No answer is needed for these.
            IpSize | Cpu => "none of these packets has it",
            _ => "none of these packets was answered",
        }
    }

    /// Can a trial lack it although others have it: because its packets ask no server, or are too few to tell?
    pub fn is_of_some_trials(self) -> bool {
        self.is_of_server() || self.is_of_enough_packets()
    }

    /// Can more packets give it to a trial that lacks it?
    pub(super) const fn is_of_enough_packets(self) -> bool {
        matches!(self, PeriodicCause)
    }

    /// Is it a stage of a server's answer, which probes that ask none do not have?
    pub fn is_of_server(self) -> bool {
        matches!(self, Stage(stage) if StageSet::OF_SERVERS.contains(stage))
    }

    /// May probes of this method have it? Whether they do, their stamps decide.
    pub fn may_be_of(self, method: Method) -> bool {
        match self {
            BackToBack => method.is_one_way(),
            _ if self == Retransmits || self.is_of_server() => {
                method.is_stream() || method.asks_server()
            }
            _ => true,
        }
    }

    /// Is it of the whole trial, rather than of each probe or series?
    pub const fn is_of_trial(self) -> bool {
        matches!(self, ClockReads) || (self.is_number_of_trial() && !self.is_of_flow())
    }

    /// One value for each record of a stream in order of sequence; an error if no answered packet has one.
    pub fn of_records<'a>(
        self,
        records: impl Iterator<Item = &'a Record>,
        facts: &RecordFacts,
    ) -> Result<Values, MeasureUnavailable> {
        self.of_each(facts, |take| records.for_each(take))
    }

    /// As [`of_records`](Self::of_records), for records that `each` hands over one by one.
    pub fn of_each(
        self,
        facts: &RecordFacts,
        each: impl FnOnce(&mut dyn FnMut(&Record)),
    ) -> Result<Values, MeasureUnavailable> {
        let mut reader = Reader::new(self, *facts);
        let mut values = Vec::new();
        each(&mut |record| values.push(reader.value(record)));
        reader.finish(values)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads one measure from the records of one stream, in order of sequence.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    measure: Measure,
    facts: RecordFacts,
    /// Sequence number and delay of the previous packet, if it has a delay.
    before: Option<(u64, Nanos)>,
    /// Whether any packet had the delay whose variation is read.
    has_delay: bool,
    least: Nanos,
    /// Merged stages that contain the wanted stage, with the number of packets: a stamp between is missing.
    merged: BTreeMap<StageSet, u64>,
    answered: u64,
}

impl Reader {
    pub(super) fn new(measure: Measure, facts: RecordFacts) -> Self {
        Self {
            measure,
            facts,
            before: None,
            has_delay: false,
            least: Nanos::MAX,
            merged: BTreeMap::new(),
            answered: 0,
        }
    }

    /// The value of the next record; NaN if it has none. For `pdv`, the delay before its minimum is subtracted.
    pub(super) fn value(&mut self, record: &Record) -> f64 {
        self.answered += u64::from(record.answered());
        let found = match self.measure {
            Lost if record.is_under_way() => None,
            Lost => record.t_send.map(|_| i64::from(record.t_recv.is_none())),
            IpSize => record.ip_size.map(i64::from),
            Dscp => Some(i64::from(record.dscp)),
            Cpu => record.cpu.map(i64::from),
            _ if !record.answered() => None,
            _ => self.of_answered(record),
        };
        if matches!(self.measure, Ipdv | IpdvOf(_)) {
            return self.ipdv(record, found);
        }
        found.map_or(f64::NAN, |value| value as f64)
    }

    fn of_answered(&mut self, record: &Record) -> Option<i64> {
        match self.measure {
            RoundTrip | Ipdv => record.round_trip(),
            Pdv => record.round_trip().map(|delay| self.above_least(delay)),
            IpdvOf(of) => self.delay(record, of),
            PdvOf(of) => (self.delay(record, of)).map(|delay| self.above_least(delay)),
            Response => self.delay(record, DelayOf::Response),
            Network => self.delay(record, DelayOf::Network),
            Host => self.delay(record, DelayOf::Host),
            Delay => self.delay(record, DelayOf::Delay),
            Stage(stage) => self.delay(record, DelayOf::Stage(stage)),
            Copies => Some(i64::from(record.copies)),
            ReorderExtent => Some(i64::from(record.reorder_extent)),
            Retransmits => record.retransmits.map(i64::from),
            RDscp => record.r_dscp.map(i64::from),
            ReplyDscp => record.reply_dscp.map(i64::from),
            ReplyEcn => record.reply_ecn.map(i64::from),
            ReplyTtl => record.reply_ttl.map(i64::from),
            _ => None,
        }
    }

    fn delay(&mut self, record: &Record, of: DelayOf) -> Option<Nanos> {
        match of {
            DelayOf::Response => record.response(),
            DelayOf::Network => anatomy::network(record, &self.facts),
            DelayOf::Host => anatomy::host(record, &self.facts),
            // A tester is at both ends of a one-way path, so `t_recv` − `t_send` is the one-way delay.
            DelayOf::Delay if record.method.is_one_way() => record.round_trip(),
            DelayOf::Delay => self.stage(record, Stage::ForwardPath),
            DelayOf::Stage(stage) => self.stage(record, stage),
        }
    }

    /// Tracks the smallest delay. `finish` subtracts it, because only then it is known.
    fn above_least(&mut self, delay: Nanos) -> Nanos {
        self.least = self.least.min(delay);
        delay
    }

    /// The time of one stage; `None` if a missing stamp merges it with its neighbours.
    fn stage(&mut self, record: &Record, stage: Stage) -> Option<Nanos> {
        let parts = anatomy::parts(record, &self.facts);
        let (set, ns) = *parts.iter().find(|(set, _)| set.contains(stage))?;
        if set.len() == 1 {
            return Some(ns);
        }
        *self.merged.entry(set).or_default() += 1;
        None
    }

    fn ipdv(&mut self, record: &Record, delay: Option<Nanos>) -> f64 {
        let before = self.before;
        self.has_delay |= delay.is_some();
        self.before = delay.map(|delay| (record.seq, delay));
        match (before, delay) {
            (Some((seq, before)), Some(now)) if seq + 1 == record.seq => (now - before) as f64,
            _ => f64::NAN,
        }
    }

    pub(super) fn finish(self, mut values: Vec<f64>) -> Result<Values, MeasureUnavailable> {
        if matches!(self.measure, Pdv | PdvOf(_)) {
            values
                .iter_mut()
                .for_each(|value| *value -= self.least as f64);
        }
        // If all packets of a trial were lost, or no two in a row were answered, return NaN values instead of an error: other
        // trials still count.
        let elsewhere = self.measure.is_of_trial() || self.measure.is_of_flow();
        let all_lost = self.answered == 0 && !elsewhere;
        if all_lost || self.has_delay || values.iter().any(|value| !value.is_nan()) {
            return Ok(Values::Packets(values));
        }
        Err(MeasureUnavailable(self.why_not()))
    }

    fn why_not(&self) -> String {
        let measure = self.measure;
        if measure.is_of_trial() || measure.is_of_flow() {
            return format!("this run kept no {measure}");
        }
        if let Some((set, _)) = self.merged.iter().max_by_key(|(_, count)| **count) {
            return format!(
                "{measure} was only seen as part of \"{set}\": a stamp between is missing"
            );
        }
        format!(
            "no packet has {measure} ({}): a stamp for it is missing",
            measure.about()
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::record::Outcome;
    use delaylab_model::trial::{ReflectorClock, Residence};

    /// Round trips of 100, 120, lost, 90, 95 ns, sent 1 ns late.
    fn records() -> Vec<Record> {
        let delays = [Some(100), Some(120), None, Some(90), Some(95)];
        let record = |(seq, delay): (u64, &Option<i64>)| {
            let mut record = Record::due(0, 0, seq, Method::Udp, 1000 * seq as i64);
            let t_send = record.t_intended + 1;
            record.t_send = Some(t_send);
            record.ip_size = Some(64);
            if let Some(delay) = delay {
                record.t_tx = Some(t_send + 2);
                record.t_rx = Some(t_send + delay - 5);
                record.t_recv = Some(t_send + delay);
                record.outcome = Outcome::Ok;
            }
            record
        };
        (0..).zip(&delays).map(record).collect()
    }

    fn values(measure: Measure) -> Result<Vec<Option<f64>>, String> {
        let records = records();
        match measure.of_records(records.iter(), &RecordFacts::default()) {
            Ok(Values::Packets(values)) => Ok(values
                .into_iter()
                .map(|value| Some(value).filter(|value| !value.is_nan()))
                .collect()),
            Ok(other) => panic!("{other:?}"),
            Err(MeasureUnavailable(why)) => Err(why),
        }
    }

    #[test]
    fn packets_keep_their_places() {
        let some = |values: [i64; 5]| {
            Ok(values
                .map(|value| (value >= 0).then_some(value as f64))
                .to_vec())
        };
        assert_eq!(values(RoundTrip), some([100, 120, -1, 90, 95]));
        assert_eq!(values(Response), some([101, 121, -1, 91, 96]));
        assert_eq!(values(Ipdv), some([-1, 20, -1, -1, 5]));
        assert_eq!(values(Pdv), some([10, 30, -1, 0, 5]));
        assert_eq!(values(Lost), some([0, 0, 1, 0, 0]));
        let network = |of: fn(DelayOf) -> Measure| values(of(DelayOf::Network));
        assert_eq!(network(IpdvOf), some([-1, 20, -1, -1, 5]));
        assert_eq!(network(PdvOf), some([10, 30, -1, 0, 5]));
        let wake_ups = values(IpdvOf(DelayOf::Stage(Stage::ReceiveWakeup)));
        assert_eq!(wake_ups, some([-1, 0, -1, -1, 0]));
        assert_eq!(values(Network), some([93, 113, -1, 83, 88]));
        assert_eq!(values(Stage(Stage::ReceiveWakeup)), some([5, 5, -1, 5, 5]));
        assert_eq!(values(IpSize), some([64; 5]));
    }

    #[test]
    fn what_is_not_there_says_why() {
        let merged = values(Stage(Stage::SendStack)).unwrap_err();
        assert!(
            merged.contains("part of \"send stack + local queue\""),
            "{merged}"
        );
        let merged = values(Delay).unwrap_err();
        assert!(merged.contains("network incl. reflector"), "{merged}");
        let missing = values(ReplyTtl).unwrap_err();
        assert!(missing.contains("TTL or hop limit"), "{missing}");
        let unkept = values(ClockReads).unwrap_err();
        assert_eq!(unkept, "this run kept no clock_reads");
    }

    /// Of a trial that loses every second packet nothing is missing but neighbours.
    #[test]
    fn packets_without_neighbours_have_no_variation_and_hinder_no_others() {
        let mut records = records();
        (records[0].t_recv, records[0].outcome) = (None, Outcome::Lost);
        (records[3].t_recv, records[3].outcome) = (None, Outcome::Lost);
        let of = |measure: Measure| measure.of_records(records.iter(), &RecordFacts::default());
        let Ok(Values::Packets(values)) = of(Ipdv) else {
            panic!("not there");
        };
        assert!(values.len() == 5 && values.iter().all(|value| value.is_nan()));
        // What no packet has a stamp for is not there, whatever was answered.
        assert!(of(IpdvOf(DelayOf::Stage(Stage::SendStack))).is_err());
    }

    #[test]
    fn one_way_delay_needs_one_clock() {
        let mut records = records();
        for record in &mut records {
            record.r_rx = record.t_tx.map(|t| t + 40);
            record.r_tx = record.t_tx.map(|t| t + 45);
        }
        let facts = RecordFacts {
            reflector_clock: ReflectorClock::Same,
            residence: Residence::ToDriver,
        };
        let Ok(Values::Packets(delays)) = Delay.of_records(records.iter(), &facts) else {
            panic!("not there");
        };
        assert_eq!(delays[0], 40.0);
    }

    #[test]
    fn every_measure_has_one_name() {
        let variations = VARIATIONS.iter().map(|row| row.0);
        for measure in Measure::all().chain(variations) {
            assert_eq!(Measure::named(measure.name()), Some(measure));
        }
        assert_eq!(Ipdv.variation_of(RoundTrip), Some(Ipdv));
        assert_eq!(Ipdv.variation_of(Lost), None);
        for measure in Measure::all() {
            let variation = Pdv.variation_of(measure).filter(|found| *found != Pdv);
            assert_eq!(
                variation.map(Measure::name),
                variation.map(|_| format!("pdv({measure})")).as_deref()
            );
        }
        assert_eq!(Measure::named("forward"), Some(Stage(Stage::ForwardPath)));
        assert_eq!(Measure::named("latency"), None);
    }
}
