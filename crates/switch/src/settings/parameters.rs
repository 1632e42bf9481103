//! The parameters of disciplines.

use super::read::{CAKE_RTT, Reader};
use super::{By, Counts, Weights};
use crate::buffer::Bound;
use crate::crossbar::scheduler;
use crate::discipline::{cake, codel, dual_pi2, fq_codel, pie, red};
use crate::token_bucket::{Limits as Buckets, Parameters};
use delaylab_model::path::{self, Discipline, Scheduler};
use delaylab_model::quantity::{Duration, Limit, Share, Size};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::{MILLISECOND, PICOS_PER_NANO, Picos};

/// What is not given.
const LARGEST: u32 = 1_514;
const QUANTUM: Size = Size(LARGEST as u64);
/// What the kernel counts of Ethernet's framing.
pub(super) const ETHERNET: u32 = 14;
const CELL: Size = Size(53);
/// The bucket of a ceiling: a frame.
const CEIL_BURST: Size = Size(1_600);
const CODEL: path::CoDel = path::CoDel {
    target: Duration(5 * MILLISECOND),
    interval: Duration(100 * MILLISECOND),
};
/// Queues that fq-codel hashes flows into.
const QUEUES: u32 = 1024;
/// Near a maximal match for 16 ports (Anderson et al. 1993).
const ITERATIONS: u32 = 4;
const RED: path::Red = path::Red {
    min: Limit::Packets(5),
    max: Limit::Packets(15),
    probability: Share(Share::WHOLE.0 / 10),
};

impl Reader<'_> {
    /// A shaper or a policer.
    pub(super) fn buckets(
        &self,
        field: &'static str,
        given: Option<path::TokenBucket>,
    ) -> Result<Option<Buckets>, Refusal> {
        let Some(given) = given else {
            return Ok(None);
        };
        let ceiling = given.ceil.map(|rate| Parameters {
            rate: rate.0,
            burst: given.ceil_burst.unwrap_or(CEIL_BURST).0,
        });
        let rate = Parameters {
            rate: given.rate.0,
            burst: given.burst.0,
        };
        let each = || std::iter::once(rate).chain(ceiling);
        if each().any(|bucket| bucket.rate == 0 || bucket.burst == 0) {
            return refuse(field, "nothing would pass: give more than 0");
        }
        if ceiling.is_none() && given.ceil_burst.is_some() {
            return refuse(field, "`ceil_burst` is the bucket of `ceil`: give both");
        }
        if ceiling.is_some_and(|ceiling| ceiling.rate < rate.rate) {
            return refuse(
                field,
                "`ceil` is the higher of the two rates: raise it above `rate`",
            );
        }
        if self.limits.counts == Counts::Cells && given.header.is_some() {
            return refuse(field, "cells are counted whole: leave `header` out");
        }
        Ok(Some(Buckets {
            rate,
            ceiling,
            uncounted: 0,
        }))
    }

    /// The way from input buffers.
    pub(super) fn crossbar(&self) -> Result<Option<scheduler::Parameters>, Refusal> {
        let Some(given) = self.switch.crossbar else {
            return Ok(None);
        };
        if self.limits.counts == Counts::Packets {
            return refuse("crossbar", "moves cells: the links must carry cells");
        }
        if !self.only_takes_turns() {
            let why = "each of its queues is served as fifo, per-flow, drr, priority, wrr or wfq: set `discipline` to one of them";
            return refuse("crossbar", why);
        }
        if self.switch.shaper.is_some() || self.switch.policer.is_some() {
            let why =
                "what waits at the inputs passes no token bucket: leave `shaper` and `policer` out";
            return refuse("crossbar", why);
        }
        if self.switch.queue_buffer.is_some() {
            let why = "class queues have no limits of their own at the inputs of a crossbar: leave it out";
            return refuse("queue_buffer", why);
        }
        if given.scheduler == Scheduler::Fifo && self.discipline != Discipline::Fifo {
            let why = "fifo is one queue an input, and `discipline` another: leave `discipline` out, or take \"pim\" or \"islip\"";
            return refuse("crossbar.scheduler", why);
        }
        match given.iterations.unwrap_or(ITERATIONS) {
            0 => refuse("crossbar.iterations", "nothing would cross: give 1 or more"),
            iterations => Ok(Some(scheduler::Parameters {
                scheduler: given.scheduler,
                iterations,
            })),
        }
    }

    /// Does its discipline say which queue is next, and no more?
    pub(super) const fn only_takes_turns(&self) -> bool {
        matches!(
            self.discipline,
            Discipline::Fifo
                | Discipline::PerFlow
                | Discipline::Drr
                | Discipline::Priority
                | Discipline::Wrr
                | Discipline::Wfq
        )
    }

    pub(super) fn weights(&self) -> Result<Weights, Refusal> {
        let given = &self.switch.weights;
        if given.is_empty() {
            return Ok(Weights::new(By::Flow, Vec::new()));
        }
        let mut of = vec![1; self.queues.len()];
        for (name, &weight) in given {
            let Some(number) = self.queues.iter().position(|queue| queue == name) else {
                let known = self.queues.join(", ");
                return refuse(
                    "weights",
                    format!("no queue is called {name:?}; there are: {known}"),
                );
            };
            of[number] = weight;
            if weight == 0 {
                return refuse(
                    "weights",
                    format!("{name:?} would never be served: give it 1"),
                );
            }
        }
        Ok(Weights::new(By::Queue, of))
    }

    /// The smallest quantum that serves an item a turn, or nearly.
    pub(crate) const fn item(&self) -> Size {
        match self.limits.counts {
            Counts::Cells => CELL,
            Counts::Packets => QUANTUM,
        }
    }

    pub(super) fn quantum(&self, default: Size) -> Result<u32, Refusal> {
        match u32::try_from(self.switch.quantum.unwrap_or(default).0) {
            Ok(0) => refuse("quantum", "nothing would be served: give a packet's size"),
            Ok(quantum) => Ok(quantum),
            Err(_) => refuse("quantum", "is more than 4 GiB: give a packet's size"),
        }
    }

    pub(super) fn credit(&self) -> Result<path::Credit, Refusal> {
        let Some(credit) = self.switch.credit else {
            let reason =
                "is missing: give n2 and n3 in cells, n3 = the channel's rate × the round trip";
            return refuse("credit", reason);
        };
        if self.limits.counts == Counts::Packets {
            return refuse(
                "discipline",
                "credit counts cells: the links must carry cells",
            );
        }
        if credit.n2 == 0 {
            return refuse("credit.n2", "a credit after every 0 cells: give 1 or more");
        }
        Ok(credit)
    }

    pub(super) fn codel(&self) -> Result<codel::Parameters, Refusal> {
        let codel = self.switch.codel.unwrap_or(CODEL);
        let target = picos("codel.target", codel.target)?;
        let interval = picos("codel.interval", codel.interval)?;
        if target >= interval {
            return refuse(
                "codel.target",
                "is not below the interval: 5 to 10 % of it is usual (RFC 8289)",
            );
        }
        Ok(codel::Parameters {
            target,
            interval,
            largest: 0,
        })
    }

    pub(super) fn fq_codel(&self) -> Result<fq_codel::Parameters, Refusal> {
        Ok(fq_codel::Parameters {
            codel: self.codel()?,
            quantum: self.quantum(QUANTUM)?,
            queues: QUEUES,
            near_empty: self.switch.near_empty.unwrap_or_default(),
        })
    }

    pub(super) fn pie(&self) -> Result<pie::Parameters, Refusal> {
        let given = self.switch.pie.unwrap_or_default();
        let or =
            |given: Option<Duration>, usual: i64| given.unwrap_or(Duration(usual * MILLISECOND));
        let mark_up_to = given.mark_up_to.unwrap_or(Share(Share::WHOLE.0 / 10));
        if mark_up_to > Share::WHOLE {
            return refuse("pie.mark_up_to", "is a probability: at most 100 %");
        }
        Ok(pie::Parameters {
            target: picos("pie.target", or(given.target, 15))?,
            update: picos("pie.update", or(given.update, 15))?,
            burst: picos("pie.burst", or(given.burst, 150))?,
            mark_up_to: mark_up_to.as_f64(),
        })
    }

    pub(super) fn cake(&self) -> Result<cake::Parameters, Refusal> {
        if self.limits.counts == Counts::Cells {
            return refuse(
                "discipline",
                "cake tells packets apart: the links must carry packets",
            );
        }
        let given = self.switch.cake.unwrap_or_default();
        if given.rate.is_some_and(|rate| rate.0 == 0) {
            return refuse("cake.rate", "nothing would pass: give more than 0");
        }
        let bytes = |given: Option<Size>, usual: u32| match u32::try_from(
            given.map_or(u64::from(usual), |size| size.0),
        ) {
            Ok(bytes) if bytes <= 65_535 => Ok(bytes),
            _ => refuse(
                "cake",
                "`overhead` and `mpu` are bytes of a packet: 65,535 at most",
            ),
        };
        let interval = picos("cake.rtt", given.rtt.unwrap_or(CAKE_RTT))?;
        Ok(cake::Parameters {
            rate: given.rate.map(|rate| rate.0),
            overhead: bytes(given.overhead, ETHERNET)?.into(),
            least: bytes(given.mpu, 0)?,
            tins: given.tins.unwrap_or_default(),
            isolation: given.isolation.unwrap_or_default(),
            target: (interval / 20).max(1),
            interval,
            largest: LARGEST,
            quantum: (self.switch.quantum)
                .map(|_| self.quantum(QUANTUM))
                .transpose()?,
        })
    }

    pub(super) fn dual_pi2(&self) -> Result<dual_pi2::Parameters, Refusal> {
        if self.limits.counts == Counts::Cells {
            return refuse(
                "discipline",
                "dualpi2 tells packets by their ECN bits: the links must carry packets",
            );
        }
        let given = self.switch.dualpi2.unwrap_or_default();
        let or =
            |given: Option<Duration>, us: i64| given.unwrap_or(Duration(us * MILLISECOND / 1000));
        let classic_share = given.classic_share.unwrap_or(Share(Share::WHOLE.0 / 10));
        if classic_share.0 == 0 || classic_share > Share::WHOLE {
            return refuse(
                "dualpi2.classic_share",
                "must be above 0 % and at most 100 %",
            );
        }
        let coupling = given.coupling.unwrap_or(2);
        if coupling == 0 {
            return refuse("dualpi2.coupling", "nothing would be coupled: 2 is usual");
        }
        let mark_from = picos("dualpi2.mark_from", or(given.mark_from, 800))?;
        let mark_all_from = picos("dualpi2.mark_all_from", or(given.mark_all_from, 1_200))?;
        if mark_from > mark_all_from {
            return refuse(
                "dualpi2.mark_from",
                "is above `mark_all_from`: lower it, or raise the other",
            );
        }
        let target = or(given.target, 15_000);
        let largest_rtt = or(given.largest_rtt, 100_000);
        // Figure 2 of the RFC; 16 ms are Linux's.
        let update = match (given.target, given.largest_rtt) {
            (None, None) => Duration(16 * MILLISECOND),
            _ => Duration(target.0.min(largest_rtt.0 / 3).max(1)),
        };
        Ok(dual_pi2::Parameters {
            target: picos("dualpi2.target", target)?,
            update: picos("dualpi2.update", given.update.unwrap_or(update))?,
            largest_rtt: picos("dualpi2.largest_rtt", largest_rtt)?,
            coupling: f64::from(coupling),
            mark_from,
            mark_all_from,
            classic_share: classic_share.as_f64(),
        })
    }

    /// As it is written, or as is usual for packets.
    fn written_red(&self) -> Result<path::Red, Refusal> {
        match (self.switch.red, self.limits.counts) {
            (Some(red), _) => Ok(red),
            (None, Counts::Packets) => Ok(RED),
            (None, Counts::Cells) => refuse("red", "is missing: give min, max and probability"),
        }
    }

    pub(super) fn red(&self) -> Result<red::Parameters, Refusal> {
        let red = self.written_red()?;
        let min = self.limits.within("red.min", red.min, self.size)?;
        let max = self.limits.within("red.max", red.max, self.size)?;
        let (min, max, unit) = same_unit(min, max)?;
        if min > max {
            return refuse(
                "red.min",
                "is above `red.max`: three times min is a usual max",
            );
        }
        let probability = red.probability;
        if probability.0 == 0 || probability > Share::WHOLE {
            return refuse("red.probability", "must be above 0 % and at most 100 %");
        }
        Ok(red::Parameters {
            probability: probability.as_f64(),
            ..red::Parameters::between(min, max, unit)
        })
    }
}

/// The limits of RED as numbers of one unit.
fn same_unit(min: Bound, max: Bound) -> Result<(u64, u64, red::Unit), Refusal> {
    let limited = |value: u64| value != u64::MAX;
    if limited(min.items) && limited(max.items) {
        Ok((min.items, max.items, red::Unit::Items))
    } else if limited(min.bytes) && limited(max.bytes) {
        Ok((min.bytes, max.bytes, red::Unit::Bytes))
    } else {
        refuse("red", "min and max must both be limits, of one unit")
    }
}

fn picos(field: &'static str, duration: Duration) -> Result<Picos, Refusal> {
    let nanos = Picos::try_from(duration.0).ok().filter(|nanos| *nanos > 0);
    let picos = nanos.and_then(|nanos| nanos.checked_mul(PICOS_PER_NANO));
    match picos {
        Some(picos) => Ok(picos),
        None => refuse(field, "must be above 0 and below 213 days"),
    }
}
