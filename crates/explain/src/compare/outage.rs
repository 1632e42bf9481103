//! Trials that ended in an outage: from some packet on nothing was answered any more. Losses in a row are one event and not many, so
//! that no interval of a share can tell them from chance; that the state changed, the row says itself.
//!
//! What could not be sent, and what came back with other bytes, was not answered either.

use delaylab_lab::finding::Data;
use delaylab_model::Nanos;
use delaylab_model::record::Outcome;
use delaylab_model::units::{format_duration, format_share};
use delaylab_model::words::all_of;
use delaylab_stats::outage::{self, Outage, RARE};
use delaylab_stats::summary::Counts;

/// An outage is at least this many times as long as any other row of losses in its trial, and a side has an outage that the
/// other one has not where it lost this many times as much of its packets so.
const TIMES: u64 = 4;
/// Fewer packets that are all of a trial may be lost by chance.
const FEW: u64 = 3;

/// How packets that had their turn, and were waited for, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// With what was sent, in time or late.
    pub answered: u64,
    /// Sent and never answered.
    pub lost: u64,
    /// Answered with other bytes.
    pub corrupt: u64,
    /// The send call failed.
    pub unsent: u64,
}

impl From<Counts> for Ends {
    fn from(counts: Counts) -> Self {
        Self {
            answered: counts.answered(),
            lost: counts.lost,
            corrupt: counts.corrupt,
            unsent: counts.local_error,
        }
    }
}

impl Ends {
    /// These and those.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            lost: self.lost + other.lost,
            corrupt: self.corrupt + other.corrupt,
            unsent: self.unsent + other.unsent,
        }
    }

    const fn all(self) -> u64 {
        self.answered + self.lost + self.corrupt + self.unsent
    }

    /// Was none of them answered, and are they too many for that to be chance?
    pub(super) const fn is_silent(self) -> bool {
        self.answered == 0 && self.all() >= FEW
    }

    /// Are all that were not answered lost?
    pub(super) const fn are_lost(self) -> bool {
        self.corrupt + self.unsent == 0
    }

    /// `all of its 2000 packets are lost`, of a side that was never answered.
    pub(super) fn words(self) -> String {
        let all = self.all();
        match self {
            Self { lost, .. } if lost == all => format!("all of its {all} packets are lost"),
            Self { unsent, .. } if unsent == all => {
                format!("none of its {all} packets could be sent")
            }
            Self { corrupt, .. } if corrupt == all => {
                format!("all of its {all} packets came back with other bytes")
            }
            _ => format!(
                "of its {all} packets {}",
                all_of(&self.each(|count| count.to_string()))
            ),
        }
    }

    /// `30 % of B's packets could not be sent`, and how else packets ended that were neither answered nor lost; empty
    /// where there were none.
    fn neither(self, side: &str) -> String {
        let shares = Self { lost: 0, ..self }.each(|count| {
            let share = format_share(count as f64 / self.all() as f64);
            format!("{share} of {side}'s packets")
        });
        shares.iter().map(|share| format!("; {share}")).collect()
    }

    fn each(self, shown: impl Fn(u64) -> String) -> Vec<String> {
        let each = [
            (self.lost, "are lost"),
            (self.unsent, "could not be sent"),
            (self.corrupt, "came back with other bytes"),
        ];
        let there = each.into_iter().filter(|(count, _)| *count > 0);
        there
            .map(|(count, what)| format!("{} {what}", shown(count)))
            .collect()
    }
}

/// One stream of packets in one trial.
struct Trial {
    ends: Ends,
    /// In which it ended, where it was answered before.
    outage: Option<Outage>,
}

impl Trial {
    fn new(data: &dyn Data, stream: usize) -> Self {
        let mut counts = Counts::default();
        let mut packets: Vec<(Nanos, bool)> = Vec::new();
        data.records(stream, &mut |record| {
            counts.count(record);
            if record.ended() || record.outcome == Outcome::LocalError {
                packets.push((record.t_intended, record.answered()));
            }
        });
        let ends = Ends::from(counts);
        let packets = Some(packets).filter(|_| ends.answered > 0);
        Self {
            ends,
            outage: packets.and_then(at_the_end),
        }
    }
}

/// The outages of some trials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outages {
    /// Trials.
    pub trials: usize,
    /// How their packets ended.
    pub ends: Ends,
    /// Trials of which no packet was answered, where others were, and which is no chance.
    pub dead: usize,
    /// Trials that ended in an outage; none of them is dead.
    pub ended: usize,
    /// The longest of those.
    pub longest: Option<Outage>,
    /// Packets that were not answered in outages, those of dead trials among them.
    pub packets: u64,
}

impl Outages {
    /// Of these streams.
    pub(super) fn new(data: &dyn Data, streams: &[usize]) -> Self {
        let each = streams.iter();
        let trials: Vec<Trial> = each.map(|&stream| Trial::new(data, stream)).collect();
        let answered = trials.iter().filter(|trial| trial.ends.answered > 0);
        let alive = answered.fold(Ends::default(), |sum, trial| sum.and(trial.ends));
        let share = 1.0 - alive.answered as f64 / alive.all().max(1) as f64;
        // A side that is never answered at all is said to be that. Else packets may be lost as often as in the other trials,
        // and all of a trial by chance.
        let is_dead = |trial: &&Trial| {
            let by_chance = trials.len() as f64 * share.powf(trial.ends.all() as f64);
            alive.answered > 0 && trial.ends.is_silent() && by_chance < RARE
        };
        let dead: Vec<&Trial> = trials.iter().filter(is_dead).collect();
        let ended: Vec<Outage> = trials.iter().filter_map(|trial| trial.outage).collect();
        let in_dead: u64 = dead.iter().map(|trial| trial.ends.all()).sum();
        let in_ended: u64 = ended.iter().map(|outage| outage.packets as u64).sum();
        Self {
            trials: trials.len(),
            ends: (trials.iter()).fold(Ends::default(), |sum, trial| sum.and(trial.ends)),
            dead: dead.len(),
            ended: ended.len(),
            // The first of those that are as long.
            longest: ended.into_iter().rev().max_by_key(|outage| outage.packets),
            packets: in_dead + in_ended,
        }
    }

    /// Were there any?
    pub(super) const fn is_any(&self) -> bool {
        self.dead + self.ended > 0
    }

    /// Did it lose far more of its packets in outages than the other one?
    pub(super) const fn is_worse_than(&self, other: &Self) -> bool {
        // Shares, without their divisors.
        let (own, its) = (
            self.packets * other.ends.all(),
            other.packets * self.ends.all(),
        );
        self.packets > 0 && other.ends.all() > 0 && own >= TIMES * its
    }

    /// `B is not answered any more from 900 ms on (247 packets in a row)`; empty where there was none.
    pub(super) fn words(&self, side: &str) -> String {
        let Self {
            trials,
            dead,
            ended,
            ..
        } = self;
        let of_ended = self.longest.map(|outage| {
            let from = format_duration(outage.from);
            let row = format!("{} packets in a row", outage.packets);
            match (trials, ended) {
                (1, _) => format!("{side} is not answered any more from {from} on ({row})"),
                (_, 1) => format!("{side} is not answered any more in 1 of {trials} trials, from {from} on ({row})"),
                _ => format!(
                    "{side} is not answered any more from some time on in {ended} of {trials} trials, in one of them from {from} on \
                     ({row})"
                ),
            }
        });
        let of_dead =
            (*dead > 0).then(|| format!("{side} is never answered in {dead} of {trials} trials"));
        let all: Vec<String> = of_dead.into_iter().chain(of_ended).collect();
        all.join("; ")
    }
}

/// The outage at the end of a trial: one that ended, or that is like other rows of losses, is no change of its state.
fn at_the_end(packets: Vec<(Nanos, bool)>) -> Option<Outage> {
    let longest = outage::longest(packets)?;
    (longest.to.is_none() && longest.packets >= TIMES as usize * longest.other).then_some(longest)
}

/// Which side has outages that the other one has not: 0 for A, 1 for B; `None` where neither has, or both have such outages.
fn worse([a, b]: &[Outages; 2]) -> Option<usize> {
    match (a.is_worse_than(b), b.is_worse_than(a)) {
        (false, true) => Some(1),
        (true, false) => Some(0),
        _ => None,
    }
}

/// The outages that one side has and the other one has not, as a clause.
pub(super) fn words(both: &[Outages; 2]) -> Option<String> {
    let side = worse(both)?;
    Some(both[side].words(["A", "B"][side]))
}

/// The same in a sentence, with what both lose.
pub(super) fn change(both: &[Outages; 2], lost: [f64; 2]) -> Option<String> {
    let side = worse(both)?;
    let [own, its] = [side, 1 - side].map(|side| format_share(lost[side]));
    let [name, other] = [side, 1 - side].map(|side| ["A", "B"][side]);
    Some(format!(
        "{}: {name} loses {own} of its packets and {other} {its}{}.",
        words(both)?,
        both[side].ends.neither(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(lost: impl Fn(i64) -> bool) -> Vec<(Nanos, bool)> {
        (0..400).map(|n| (n * 5_000_000, !lost(n))).collect()
    }

    #[test]
    fn an_outage_lasts_to_the_end_and_is_far_longer_than_other_losses() {
        let outage = |other| {
            Some(Outage {
                from: 765_000_000,
                packets: 247,
                to: None,
                other,
            })
        };
        assert_eq!(at_the_end(packets(|n| n >= 153)), outage(0));
        let with_another = packets(|n| n >= 153 || (20..40).contains(&n));
        assert_eq!(at_the_end(with_another), outage(20));
        // It came back, it is short, or losses are like that.
        assert_eq!(at_the_end(packets(|n| (153..399).contains(&n))), None);
        assert_eq!(at_the_end(packets(|n| n >= 396)), None);
        assert_eq!(at_the_end(packets(|n| n % 50 >= 20)), None);
    }
}
