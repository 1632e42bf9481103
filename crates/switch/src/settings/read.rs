//! From a file's `[path.switch]` to [`Settings`].

use super::limit::Limits;
use super::{Counts, Kind, Settings};
use crate::buffer::{Bound, Memory, Owner};
use crate::discard::Discard;
use crate::discipline::fifo::Mark;
use delaylab_model::path::{self, AbrMark, Discipline, Pool, RateAlgorithm};
use delaylab_model::quantity::{Duration, Limit, Share};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::{MILLISECOND, SECOND};

/// What is not given.
const PACKETS: Limit = Limit::Packets(1_000);
/// Of links that carry cells.
pub const BUFFER_OF_CELLS: Limit = Limit::Cells(13_000);
const FQ_CODEL: Limit = Limit::Packets(10_240);
/// What sch_cake holds at least.
const CAKE_LEAST: u64 = 4 << 20;
/// What it holds at most, even where that is less: packets of the largest size.
const CAKE_PACKETS: u64 = 10_240;
/// The largest frame of usual Ethernet, without its FCS.
const USUAL_FRAME: u32 = 1_514;
/// A usual round trip, of CAKE.
pub(super) const CAKE_RTT: Duration = Duration(100 * MILLISECOND);
const CONGESTED: Limit = Limit::Cells(500);

/// A switch and what it is read by.
pub(super) struct Reader<'a> {
    pub(super) switch: &'a path::Switch,
    pub(super) queues: &'a [&'a str],
    pub(super) limits: Limits,
    pub(super) discipline: Discipline,
    pub(super) size: Bound,
}

impl<'a> Reader<'a> {
    /// The buffer is read first: other settings are shares of it.
    pub(super) fn new(
        switch: &'a path::Switch,
        counts: Counts,
        queues: &'a [&'a str],
    ) -> Result<Self, Refusal> {
        let limits = Limits { counts };
        let discipline = switch.discipline.unwrap_or(Discipline::Fifo);
        let default = match (discipline, counts) {
            (Discipline::Cake, Counts::Packets) => {
                Limit::Bytes(cake_bytes(switch.cake.unwrap_or_default(), USUAL_FRAME))
            }
            _ => default_size(discipline, counts),
        };
        Ok(Self {
            size: limits.size("buffer", switch.buffer.unwrap_or(default))?,
            switch,
            queues,
            limits,
            discipline,
        })
    }

    pub(super) fn settings(&self) -> Result<Settings, Refusal> {
        self.nothing_ignored()?;
        Ok(Settings {
            kind: self.kind()?,
            memory: self.memory()?,
            queue_share: self.queue_share()?,
            discard: Discard::Cells,
            crossbar: self.crossbar()?,
            shaper: self.buckets("shaper", self.switch.shaper)?,
            policer: self.buckets("policer", self.switch.policer)?,
            flow_control: self.flow_control()?,
        })
    }

    /// The discipline that the section names, with its parameters.
    fn kind(&self) -> Result<Kind, Refusal> {
        if let Some(kind) = Kind::without_parameters(self.discipline) {
            return Ok(kind);
        }
        Ok(match self.discipline {
            Discipline::Efci => Kind::Fifo {
                mark: Some(Mark {
                    above: self.congested()?,
                    at: AbrMark::Departure,
                }),
            },
            Discipline::ExplicitRate => Kind::ExplicitRate {
                threshold: self.congested()?,
            },
            Discipline::Wrr => Kind::Wrr(self.weights()?),
            Discipline::Wfq => Kind::Wfq(self.weights()?),
            Discipline::Drr => Kind::Drr {
                quantum: self.quantum(self.item())?,
            },
            Discipline::Credit => Kind::Credit(self.credit()?),
            Discipline::Red => Kind::Red(self.red()?),
            Discipline::CoDel => Kind::CoDel(self.codel()?),
            Discipline::FqCoDel => Kind::FqCoDel(self.fq_codel()?),
            Discipline::Cake => Kind::Cake(self.cake()?),
            Discipline::Pie => Kind::Pie(self.pie()?),
            Discipline::DualPi2 => Kind::DualPi2(self.dual_pi2()?),
            // What else has no parameters is a queue of the kernel: a test reads each discipline.
            _ => {
                return refuse(
                    "discipline",
                    "is a queue of the kernel, which only a testbed has: use \"fifo\" here",
                );
            }
        })
    }

    /// What no discipline of a sweep would heed here.
    fn nothing_ignored(&self) -> Result<(), Refusal> {
        let tells_rates = self.discipline == Discipline::ExplicitRate;
        if self.switch.burst.is_some() && !self.discipline.is_of_the_kernel() {
            let why =
                "is of kernel-tbf and kernel-htb: give `shaper` its own `burst`, or leave it out";
            return refuse("burst", why);
        }
        match self.switch.explicit_rate {
            Some(_) if !tells_rates => {
                let why = "is of `discipline = \"explicit-rate\"`: give that, or leave it out";
                refuse("explicit_rate", why)
            }
            Some(RateAlgorithm::Erica) if self.switch.threshold.is_some() => {
                let why =
                    "erica measures the load, and not the queue: leave it out, or take \"eprca\"";
                refuse("threshold", why)
            }
            _ => Ok(()),
        }
    }

    /// Does it drop what is queued when something comes that does not fit?
    const fn makes_room(&self) -> bool {
        matches!(self.discipline, Discipline::FqCoDel | Discipline::Cake)
    }

    fn memory(&self) -> Result<Memory, Refusal> {
        let owner = match self.switch.flow_control {
            None => self.owner()?,
            Some(_) => Owner::Guarded,
        };
        if self.makes_room() && owner != Owner::Output {
            return refuse(
                "pool",
                "fq-codel and cake make room in their own queues: leave `pool` and `alpha` out",
            );
        }
        let share = self.share(owner)?;
        Ok(Memory {
            size: self.size,
            owner,
            share,
            longest_gives_way: self.isolates()
                && owner == Owner::Output
                && share == Bound::UNLIMITED,
        })
    }

    /// Has each flow a queue that its own packets alone may fill? Of cells, and of class queues, a full buffer refuses what
    /// arrives: the switches that have them do so, and where one class must not fill it, it has a `queue_buffer`.
    fn isolates(&self) -> bool {
        let of_flows = match self.discipline {
            Discipline::PerFlow | Discipline::Drr => true,
            Discipline::Wrr | Discipline::Wfq => {
                self.switch.weights.is_empty() && self.switch.queue_buffer.is_none()
            }
            _ => false,
        };
        of_flows && self.limits.counts == Counts::Packets
    }

    /// What each class queue gets.
    fn queue_share(&self) -> Result<Bound, Refusal> {
        let Some(limit) = self.switch.queue_buffer else {
            return Ok(Bound::UNLIMITED);
        };
        if !matches!(
            self.discipline,
            Discipline::Priority | Discipline::Wrr | Discipline::Wfq
        ) {
            return refuse(
                "queue_buffer",
                "is of class queues, which priority, wrr and wfq have: leave it out, or set `buffer`",
            );
        }
        self.limits.within("queue_buffer", limit, self.size)
    }

    fn owner(&self) -> Result<Owner, Refusal> {
        let alpha = self.switch.alpha;
        if alpha == Some(Share(0)) {
            return refuse("alpha", "no port would get anything: give more than 0 %");
        }
        match self.switch.pool {
            Some(Pool::Output | Pool::Input) if alpha.is_some() => refuse(
                "alpha",
                "is of a shared buffer: set `pool` to \"shared\", or leave `alpha` out",
            ),
            Some(Pool::Shared) | None if alpha.is_some() && self.size == Bound::UNLIMITED => {
                refuse(
                    "alpha",
                    "of an unlimited buffer limits nothing: limit `buffer`, or leave `alpha` out",
                )
            }
            Some(Pool::Output | Pool::Shared) if self.switch.crossbar.is_some() => refuse(
                "pool",
                "a crossbar has its buffers at the inputs: set `pool` to \"input\", or leave it out",
            ),
            None if alpha.is_some() && self.switch.crossbar.is_some() => refuse(
                "alpha",
                "is of a shared buffer, and a crossbar has one at each input: leave it out",
            ),
            None if self.switch.crossbar.is_some() => Ok(Owner::Input),
            Some(Pool::Input) => Ok(Owner::Input),
            Some(Pool::Shared) => Ok(Owner::Shared { alpha }),
            None if alpha.is_some() => Ok(Owner::Shared { alpha }),
            Some(Pool::Output) | None => Ok(Owner::Output),
        }
    }

    /// From where on a port gets no more.
    fn share(&self, owner: Owner) -> Result<Bound, Refusal> {
        let acts = matches!(self.discipline, Discipline::Efci | Discipline::ExplicitRate);
        match self.switch.threshold {
            Some(limit) if !acts => self.port_share(owner, limit),
            _ => Ok(Bound::UNLIMITED),
        }
    }

    fn port_share(&self, owner: Owner, limit: Limit) -> Result<Bound, Refusal> {
        if owner == Owner::Input {
            return refuse(
                "threshold",
                "an input port's buffer is shared by no rule: leave it out, or set another `pool`",
            );
        }
        if self.makes_room() {
            return refuse(
                "threshold",
                "fq-codel and cake know one limit: set `buffer` instead",
            );
        }
        self.limits.within("threshold", limit, self.size)
    }

    /// The threshold of efci and explicit-rate.
    pub(super) fn congested(&self) -> Result<Bound, Refusal> {
        let limit = match (self.switch.threshold, self.limits.counts) {
            (Some(Limit::Unlimited), _) => {
                return refuse("threshold", "would never be reached: give a limit");
            }
            (Some(limit), _) => limit,
            (None, Counts::Cells) => CONGESTED,
            (None, Counts::Packets) => {
                return refuse(
                    "threshold",
                    "is missing: from how many packets on does it act?",
                );
            }
        };
        self.limits.within("threshold", limit, self.size)
    }
}

/// How much is held if nothing is said.
const fn default_size(discipline: Discipline, counts: Counts) -> Limit {
    match (discipline, counts) {
        (Discipline::Efci | Discipline::ExplicitRate | Discipline::Credit, _) => Limit::Unlimited,
        (Discipline::FqCoDel, Counts::Packets) => FQ_CODEL,
        (_, Counts::Packets) => PACKETS,
        (_, Counts::Cells) => BUFFER_OF_CELLS,
    }
}

/// What the rate takes in four usual round trips; without a rate the most. `frame`: bytes of the largest, without its FCS.
pub(super) fn cake_bytes(cake: path::Cake, frame: u32) -> u64 {
    let most = CAKE_PACKETS * u64::from(frame);
    let round_trip = u128::try_from(cake.rtt.unwrap_or(CAKE_RTT).0).unwrap_or(0);
    let four = |bytes: u64| 4 * u128::from(bytes) * round_trip / u128::from(SECOND.unsigned_abs());
    let bytes = cake.rate.map(|rate| four(rate.0 / 8));
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.map_or(most, |bytes| bytes.max(CAKE_LEAST).min(most))
}
