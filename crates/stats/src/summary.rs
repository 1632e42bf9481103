//! The summary of a trial: what `ping` prints at its end and what a report begins with.
//!
//! [`SummaryBuilder`] takes records one by one. It keeps a compact
//! row of each answered one up to a limit, and beyond it spills to log-linear histograms, so memory
//! stays flat. Counts, moments, intervals of means and the worst few are exact in both.

pub mod answers;
mod builder;
mod figures;
mod irregular;
pub mod refusals;
mod rows;
mod server;

pub use crate::band::AnatomyAt;
pub use crate::histogram::Histogram;
pub use crate::interval::Interval;
pub use crate::sample::Distribution;
pub use crate::variation::Variation;
pub use answers::Retransmitted;
pub use builder::SummaryBuilder;
pub use figures::{Figure, is_whole};
pub use irregular::Irregular;
pub use refusals::ErrorReply;
pub use server::{BoundsAt, ServerTime};

use crate::anatomy::{self, Part};
use delaylab_model::Nanos;
use delaylab_model::record::{Answer, ClockEvent, Outcome, Record};
use schemars::JsonSchema;
use serde::Serialize;

/// How packets ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// Handed to the kernel.
    pub sent: u64,
    /// Answered in time with what was sent.
    pub received: u64,
    /// Sent and never answered; those that were refused are among them.
    pub lost: u64,
    /// Answered after the time-out.
    pub late: u64,
    /// Extra copies of replies.
    pub duplicate: u64,
    /// Replies that came after a later packet's (RFC 4737).
    pub reordered: u64,
    /// Slots that the sender gave up: nothing was sent.
    pub skipped: u64,
    /// Sent, and still under way when the probe was stopped: neither answered nor lost.
    pub under_way: u64,
    /// Answered with other bytes.
    pub corrupt: u64,
    /// Of those lost, how many an error came for: `refusals` says why, and from whom.
    pub refused: u64,
    /// The send call failed.
    pub local_error: u64,
    /// Packets under way while the clock was set.
    pub clock_step: u64,
    /// Packets under way while the host was suspended.
    pub clock_suspend: u64,
    /// Packets of which reading the clock took long.
    pub clock_slow_read: u64,
}

impl Counts {
    /// How this packet ended.
    pub fn count(&mut self, record: &Record) {
        self.sent += u64::from(record.t_send.is_some());
        self.duplicate += u64::from(record.copies);
        self.reordered += u64::from(record.reorder_extent > 0);
        // An error is not an answer.
        self.lost += u64::from(record.outcome == Outcome::Refused);
        *match record.outcome {
            Outcome::Ok => &mut self.received,
            Outcome::Lost => &mut self.lost,
            Outcome::Late => &mut self.late,
            Outcome::Corrupt => &mut self.corrupt,
            Outcome::Refused => &mut self.refused,
            Outcome::LocalError => &mut self.local_error,
            Outcome::Skipped if record.is_under_way() => &mut self.under_way,
            Outcome::Skipped => &mut self.skipped,
        } += 1;
        match record.clock_event {
            ClockEvent::None => {}
            ClockEvent::Step => self.clock_step += 1,
            ClockEvent::Suspend => self.clock_suspend += 1,
            ClockEvent::SlowClockRead => self.clock_slow_read += 1,
        }
    }

    /// Adds packets of which only the numbers are known.
    pub const fn add(&mut self, sent: u64, lost: u64) {
        self.sent = self.sent.saturating_add(sent);
        self.lost = self.lost.saturating_add(lost);
        self.received = self.received.saturating_add(sent.saturating_sub(lost));
    }

    /// Answered with what was sent, in time or after the time-out.
    pub const fn answered(&self) -> u64 {
        self.received + self.late
    }

    /// Sent, and known to be answered or lost: what the share of lost packets is of.
    pub const fn ended(&self) -> u64 {
        self.sent.saturating_sub(self.under_way)
    }
}

/// One of the worst responses.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// The packet.
    pub record: Record,
    /// Where its time went.
    pub parts: Vec<Part>,
    /// Its network part.
    pub network_ns: Option<Nanos>,
    /// Its host part.
    pub host_ns: Option<Nanos>,
}

/// The whole summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How packets ended.
    pub counts: Counts,
    /// Why packets were refused, by whom, and how many each; the most frequent first.
    pub refusals: Vec<(ErrorReply, u64)>,
    /// What the path did to packets other than delaying or losing them.
    pub irregular: Irregular,
    /// What servers answered, and how many each; the most frequent first.
    pub answers: Vec<(Answer, u64)>,
    /// TCP segments that this host sent again; `None` where no record tells.
    pub retransmitted: Option<Retransmitted>,
    /// Requests that the far kernel acknowledged, and to which no reply came.
    pub acknowledged_only: u64,
    /// t_recv − t_intended.
    pub response: Option<Distribution>,
    /// t_recv − t_send.
    pub round_trip: Option<Distribution>,
    /// Mean of the round trips without the longest 5 %: what responsiveness is made of.
    pub trimmed_round_trip: Option<f64>,
    /// t_rx − t_tx − residence.
    pub network: Option<Distribution>,
    /// response − network.
    pub host: Option<Distribution>,
    /// Responses of the packets of which the stamps tell no network, and so no host.
    pub without_network: Option<Distribution>,
    /// t_send − t_intended, of every packet sent, answered or not: how late the sender was.
    pub lateness: Option<Distribution>,
    /// One-way delay r_rx − t_tx, where the clocks are one or bounded.
    pub forward: Option<Distribution>,
    /// One-way delay t_rx − r_tx, where the clocks are one or bounded.
    pub back: Option<Distribution>,
    /// How long the server took, where one was asked over TCP.
    pub server: Option<ServerTime>,
    /// Of the round trip.
    pub variation: Variation,
    /// At p50, p90, p99, p99.9 and max.
    pub anatomy: Vec<AnatomyAt>,
    /// Of all that were answered.
    pub mean_anatomy: Option<AnatomyAt>,
    /// The worst few responses, worst first.
    pub worst: Vec<Worst>,
    /// Of the round trip.
    pub histogram: Option<Histogram>,
    /// Share of round trips within ±500 µs of their mean (source 002, finding 2), 0 to 1. Where quantiles are not exact
    /// it is of bins; `None` where these are wider than the bound.
    pub within_500us: Option<f64>,
    /// `None`: quantiles are exact. Else the largest error of those that are not, relative to the
    /// value (to PDV itself for its quantiles, unless the minimum delay fell after the spill). An
    /// interquartile range is a difference of two such values, the histogram's bins are filled with
    /// them, and a band of the anatomy may be wider by as much at both ends.
    pub quantile_error: Option<f64>,
    /// When the first packet was due, on the clock of its records; 0 without packets.
    pub start: Nanos,
    /// Time from then to the last event.
    pub span_ns: Nanos,
}

impl Summary {
    /// Where the time goes at this quantile of the response.
    pub fn anatomy_at(&self, label: &str) -> Option<&AnatomyAt> {
        self.anatomy.iter().find(|at| at.label == label)
    }

    /// Where only some of the answered packets have a network and a host: how many, of how many, and the responses of
    /// the others.
    pub fn untold(&self) -> Option<(u64, u64, &Distribution)> {
        let told = self.network.as_ref()?.count;
        let others = self.without_network.as_ref()?;
        Some((told, told + others.count, others))
    }

    /// Leaves out what took the two clocks to compare, which they turned out not to do: as if they had been
    /// unrelated from the beginning.
    pub fn withdraw_one_way(&mut self) {
        self.forward = None;
        self.back = None;
        let anatomies = self.anatomy.iter_mut().chain(&mut self.mean_anatomy);
        let parts = anatomies.map(|at| &mut at.parts);
        for parts in parts.chain(self.worst.iter_mut().map(|worst| &mut worst.parts)) {
            anatomy::join_ways(parts);
        }
    }
}
