//! Trials that ended in an outage: from some packet on nothing was answered any more. Losses in a row are one event and not many, so
//! that no interval of a share can tell them from chance; that the state changed, the row says itself.
//!
//! What could not be sent, and what came back with other bytes, was not answered either.

use delaylab_lab::finding::Data;
use delaylab_model::Nanos;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::units::{format_duration, format_share};
use delaylab_model::words::all_of;
use delaylab_stats::outage::{self, Outage, RARE};
use delaylab_stats::summary::Counts;

// Chosen by hand, each of them.

/// An outage is at least this many times as long as any row of losses of either side behind which packets were answered: where
/// losses come in rows, some trials end within one.
const TIMES_AS_LONG: u64 = 4;
/// A side has an outage that the other one has not where it lost this many times as much of its packets so.
const TIMES_AS_MUCH: u64 = 4;
/// Dead trials and those that ended so are as likely in either side if they are fewer than one of this many.
const MANY: usize = 10;
/// Of fewer packets it is no news that none was answered.
const FEW: u64 = 3;
/// As many silent trials are no ends of long rows.
const SEVERAL: usize = 3;

/// How packets that had their turn, and were waited for, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endings {
    /// With what was sent, in time or late.
    pub answered: u64,
    /// Those of them that were answered after their time-out.
    pub late: u64,
    /// Sent and never answered.
    pub lost: u64,
    /// Answered with other bytes.
    pub corrupt: u64,
    /// The send call failed.
    pub unsent: u64,
}

impl From<Counts> for Endings {
    fn from(counts: Counts) -> Self {
        Self {
            answered: counts.answered(),
            late: counts.late,
            lost: counts.lost,
            corrupt: counts.corrupt,
            unsent: counts.local_error,
        }
    }
}

impl Endings {
    /// These and those.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            late: self.late + other.late,
            lost: self.lost + other.lost,
            corrupt: self.corrupt + other.corrupt,
            unsent: self.unsent + other.unsent,
        }
    }

    pub(super) const fn all(self) -> u64 {
        self.answered + self.lost + self.corrupt + self.unsent
    }

    /// Was none of them answered, and are they more than a few?
    pub(super) const fn is_silent(self) -> bool {
        self.answered == 0 && self.all() >= FEW
    }

    /// How likely it is by chance that none of these was answered, where others were; `None` of a few, and where that is not so.
    pub(super) fn p_of_silence(self, others: Self) -> Option<f64> {
        let both = self.and(others);
        let lost = both.all() - both.answered;
        let [all, lost, own] = [both.all(), lost, self.all()].map(|count| count as usize);
        let is_silent = self.is_silent() && others.answered > 0;
        is_silent.then(|| outage::all_lost_by_chance(all, lost, own))
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

/// Which of these p-values are significant at a false discovery rate of [`RARE`] (Benjamini and Hochberg 1995): with R of m found to be,
/// those of less than R/m of it. `None` is not tested, and is not significant.
pub(super) fn significant(p_values: &[Option<f64>]) -> Vec<bool> {
    let mut ranked: Vec<f64> = p_values.iter().flatten().copied().collect();
    ranked.sort_by(f64::total_cmp);
    let each = RARE / p_values.len() as f64;
    let is_rare = |(before, chance): &(usize, &f64)| **chance < each * (before + 1) as f64;
    let most = ranked.iter().enumerate().rev().find(is_rare);
    let is_one = |chance: &Option<f64>| chance.zip(most).is_some_and(|(it, (_, most))| it <= *most);
    p_values.iter().map(is_one).collect()
}

/// One stream of packets in one trial.
struct Trial {
    ends: Endings,
    /// Packets before the first that was answered; 0 where none was.
    first: u64,
    /// Packets of the longest row of losses between two that were answered.
    over: u64,
    /// In which it ended, where it was answered before.
    outage: Option<Outage>,
}

impl Trial {
    fn new(data: &dyn Data, stream: usize) -> Self {
        let mut counts = Counts::default();
        let mut packets: Vec<(Nanos, bool)> = Vec::new();
        let mut late = Late::default();
        data.records(stream, &mut |record| {
            counts.count(record);
            late.push(record);
            if record.ended() || record.outcome == Outcome::LocalError {
                packets.push((record.t_intended, record.answered()));
            }
        });
        let mut trial = Self::from_packets(Endings::from(counts), packets);
        trial.outage = trial.outage.filter(|outage| !late.lasts_over(outage));
        trial
    }

    fn from_packets(ends: Endings, packets: Vec<(Nanos, bool)>) -> Self {
        let rows = outage::at_both_ends(packets);
        let is_alive = ends.answered > 0;
        Self {
            ends,
            first: if is_alive { rows.first as u64 } else { 0 },
            over: rows.between as u64,
            outage: rows.outage.filter(|_| is_alive),
        }
    }

    /// Was nothing answered at its end?
    fn ends_silent(&self) -> bool {
        self.ends.answered == 0 || self.outage.is_some()
    }
}

/// Packets that are answered after their time-out are waited for until a trial ends: the last ones less long than those before.
#[derive(Default)]
struct Late {
    /// When packets were due, the first and the last.
    due: Option<(Nanos, Nanos)>,
    /// When the last one that was answered was due, and how long that took where it was too long.
    answered: Option<(Nanos, Option<Nanos>)>,
    /// The shortest response that was too long: the time-out is no longer.
    shortest: Option<Nanos>,
}

impl Late {
    fn push(&mut self, record: &Record) {
        let at = record.t_intended;
        let (first, last) = self.due.unwrap_or((at, at));
        self.due = Some((first.min(at), last.max(at)));
        let is_late = record.outcome == Outcome::Late;
        let long = record.response().filter(|_| is_late);
        self.shortest = self.shortest.into_iter().chain(long).min();
        if record.answered() && self.answered.is_none_or(|(last, _)| last <= at) {
            self.answered = Some((at, long));
        }
    }

    /// May all packets of an outage have been on the way still, as long as the one before was? The last packets are waited for until
    /// their time-out. In a queue that grows the first that is missing takes somewhat longer than the last that came.
    fn lasts_over(&self, outage: &Outage) -> bool {
        let long = self.answered.and_then(|(_, long)| long);
        let lasted = self.due.map(|(first, last)| last - first - outage.from);
        let waited = lasted.zip(self.shortest);
        let waited = waited.map(|(lasted, timeout)| lasted + timeout);
        long.zip(waited)
            .is_some_and(|(long, waited)| waited <= long + long / 8)
    }
}

/// Packets of the longest row of losses behind which packets were answered. A row with which a trial begins goes on with the
/// outage in which the trial before it ended.
fn longest_over(trials: &[Trial]) -> u64 {
    let before = std::iter::once(false).chain(trials.iter().map(Trial::ends_silent));
    let each = trials.iter().zip(before);
    let each = each.map(|(trial, is_same)| trial.over.max(if is_same { 0 } else { trial.first }));
    each.max().unwrap_or(0)
}

/// The outages of some trials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outages {
    /// Trials.
    pub trials: usize,
    /// How their packets ended.
    pub ends: Endings,
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
    /// Of these streams of A and of B.
    pub(super) fn of_both(data: [&dyn Data; 2], streams: [&[usize]; 2]) -> [Self; 2] {
        Self::of_trials(&[0, 1].map(|side| {
            let each = streams[side].iter();
            let trials: Vec<Trial> = each.map(|&stream| Trial::new(data[side], stream)).collect();
            trials
        }))
    }

    fn of_trials(both: &[Vec<Trial>; 2]) -> [Self; 2] {
        let over = both.iter().map(|side| longest_over(side)).max();
        let least = TIMES_AS_LONG * over.unwrap_or(0);
        both.each_ref().map(|side| Self::of_at_least(least, side))
    }

    /// Those of this many packets at least.
    fn of_at_least(least: u64, trials: &[Trial]) -> Self {
        let answered = trials.iter().filter(|trial| trial.ends.answered > 0);
        let alive = answered.fold(Endings::default(), |sum, trial| sum.and(trial.ends));
        // A side that is never answered at all is said to be that.
        let is_silent = |trial: &&Trial| {
            let chance = trial.ends.p_of_silence(alive);
            chance.is_some_and(|chance| trials.len() as f64 * chance < RARE)
        };
        let mut dead: Vec<&Trial> = trials.iter().filter(is_silent).collect();
        if dead.len() < SEVERAL {
            dead.retain(|trial| trial.ends.all() >= least);
        }
        let ended = trials.iter().filter_map(|trial| trial.outage);
        let ended: Vec<Outage> = ended.filter(|it| it.packets as u64 >= least).collect();
        let in_dead: u64 = dead.iter().map(|trial| trial.ends.all()).sum();
        let in_ended: u64 = ended.iter().map(|outage| outage.packets as u64).sum();
        Self {
            trials: trials.len(),
            ends: (trials.iter()).fold(Endings::default(), |sum, trial| sum.and(trial.ends)),
            dead: dead.len(),
            ended: ended.len(),
            // The first of those that are as long.
            longest: ended.into_iter().rev().max_by_key(|outage| outage.packets),
            packets: in_dead + in_ended,
        }
    }

    /// These and those.
    pub(super) fn and(self, other: &Self) -> Self {
        let longest = [other.longest, self.longest].into_iter().flatten();
        Self {
            trials: self.trials + other.trials,
            ends: self.ends.and(other.ends),
            dead: self.dead + other.dead,
            ended: self.ended + other.ended,
            longest: longest.max_by_key(|outage| outage.packets),
            packets: self.packets + other.packets,
        }
    }

    /// Were there any, and not in a trial of very many?
    pub(super) const fn is_any(&self) -> bool {
        let bad = self.dead + self.ended;
        bad > 0 && bad * MANY >= self.trials
    }

    /// Did it lose far more of its packets in outages than the other one?
    pub(super) const fn is_worse_than(&self, other: &Self) -> bool {
        // Shares, without their divisors.
        let (own, its) = (
            self.packets * other.ends.all(),
            other.packets * self.ends.all(),
        );
        self.is_any() && other.ends.all() > 0 && own >= TIMES_AS_MUCH * its
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

/// The same in a sentence, with what both lose: behind what an interval says of that, where one tells.
pub(super) fn change(both: &[Outages; 2], lost: [f64; 2], told: Option<&str>) -> Option<String> {
    let side = worse(both)?;
    let [own, its] = [side, 1 - side].map(|side| format_share(lost[side]));
    let [name, other] = [side, 1 - side].map(|side| ["A", "B"][side]);
    let (words, neither) = (words(both)?, both[side].ends.neither(name));
    Some(match told {
        Some(told) => format!("{told}; {words}{neither}."),
        None => format!("{words}: {name} loses {own} of its packets and {other} {its}{neither}."),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_stats::random::SplitMix;

    fn trial(count: i64, lost: impl FnMut(&i64) -> bool) -> Trial {
        let lost: Vec<bool> = (0..count).collect::<Vec<_>>().iter().map(lost).collect();
        let number = lost.iter().filter(|&&lost| lost).count() as u64;
        let ends = Endings {
            answered: count as u64 - number,
            lost: number,
            ..Endings::default()
        };
        let due = (0..).map(|n| n * 5_000_000);
        Trial::from_packets(ends, due.zip(lost.iter().map(|lost| !lost)).collect())
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
        let plain = || trial(400, |_| false);
        let of = |lost: fn(&i64) -> bool, other: Trial| {
            Outages::of_trials(&[vec![trial(400, lost)], vec![other]])[0].longest
        };
        let died: fn(&i64) -> bool = |n| *n >= 153;
        assert_eq!(of(died, plain()), outage(0));
        let with_another = |n: &i64| *n >= 153 || (20..40).contains(n);
        assert_eq!(of(with_another, plain()), outage(20));
        // It came back, it is short, or losses are like that.
        assert_eq!(of(|n| (153..399).contains(n), plain()), None);
        assert_eq!(of(|n| *n >= 396, plain()), None);
        assert_eq!(of(|n| n % 50 >= 20, plain()), None);
        // Be it in another trial.
        assert_eq!(of(died, trial(400, |n| (20..82).contains(n))), None);
    }

    #[test]
    fn where_many_are_silent_none_is_hidden_by_how_many_there_are() {
        // Five of five lost beside five answered.
        let five = Endings {
            lost: 5,
            ..Endings::default()
        };
        let answered = Endings {
            answered: 5,
            ..Endings::default()
        };
        let chance = five.p_of_silence(answered).unwrap();
        assert_eq!(significant(&[Some(chance); 3]), [true; 3]);
        let one_of_three = [Some(chance), None, Some(1.0)];
        assert_eq!(significant(&one_of_three), [false; 3]);
        assert_eq!(significant(&[Some(0.0), None]), [true, false]);
        assert!(significant(&[]).is_empty());
        assert_eq!(answered.p_of_silence(five), None);
    }

    #[test]
    fn an_outage_may_last_for_several_trials() {
        let plain = || (0..10).map(|_| trial(400, |_| false)).collect();
        let mut out: Vec<Trial> = plain();
        out[3] = trial(400, |n| *n >= 160);
        let three_dead = || (0..3).map(|_| trial(400, |_| true));
        out.splice(4..7, three_dead());
        out[7] = trial(400, |n| *n < 160);
        let both = Outages::of_trials(&[plain(), out]);
        assert_eq!((both[1].dead, both[1].ended, worse(&both)), (3, 1, Some(1)));
        // Several dead trials are no ends of rows that the other side has, too.
        let mut interrupted: Vec<Trial> = plain();
        interrupted[0] = trial(400, |n| (50..151).contains(n));
        let mut dead: Vec<Trial> = plain();
        dead.splice(4..7, three_dead());
        assert_eq!(worse(&Outages::of_trials(&[interrupted, dead])), Some(1));
    }

    #[test]
    fn a_trial_of_many_is_as_likely_one_of_the_other_side() {
        let side =
            |dead: i64| -> Vec<Trial> { (0..20).map(|n| trial(100, |_| n < dead)).collect() };
        for (dead, expected) in [(1, None), (2, Some(1))] {
            let both = Outages::of_trials(&[side(0), side(dead)]);
            assert_eq!(worse(&both), expected, "{dead}");
        }
    }

    /// Losses in rows of this length on average, as Gilbert's model has them.
    fn in_rows(count: i64, share: f64, mean: f64, random: &mut SplitMix) -> Trial {
        let end = 1.0 / mean;
        let begin = share * end / (1.0 - share);
        let mut is_lost = random.uniform() < share;
        trial(count, |_| {
            let now = is_lost;
            is_lost = match now {
                true => random.uniform() >= end,
                false => random.uniform() < begin,
            };
            now
        })
    }

    #[test]
    fn trials_that_end_within_a_row_as_others_do_are_no_outage() {
        let mut random = SplitMix::new(7);
        for (trials, packets, share, mean) in [
            (20, 300, 0.02, 10.0),
            (10, 500, 0.02, 20.0),
            (20, 30, 0.02, 20.0),
        ] {
            let mut side = || -> Vec<Trial> {
                let trial = |_| in_rows(packets, share, mean, &mut random);
                (0..trials).map(trial).collect()
            };
            let found = (0..40).map(|_| Outages::of_trials(&[side(), side()]));
            let differ = found.filter(|both| worse(both).is_some()).count();
            assert!(differ <= 2, "{trials} of {packets}: {differ}");
        }
    }
}
