//! Does a process run because the probe does?
//!
//! A reflector on this host, the softirq that carries the packets, whatever else is woken by them: each runs
//! a short time after a packet was sent, and after most of them. A process with a timer of its own is
//! found at any time between two packets. On a grid it may keep to one all the same, if its period is as
//! long as the interval: its times then vary less about when packets were due than about when
//! they were sent, and one that is woken varies less about the sending. One whose period is none of the probe's
//! has a timer of its own, even if it often runs just after a packet: it had to wait for the prober.
//!
//! The kernel says who woke whom, but only where that is recorded; times alone tell it here.

use crate::functional::Functional;
use crate::regularity;
use delaylab_model::{MICROSECOND, Nanos};

/// Fewer runs say nothing.
const LEAST_RUNS: usize = 10;
/// Runs begin within a stretch that is so long, at most, and at most this share of the usual time between packets.
const STRETCH: Nanos = 200 * MICROSECOND;
/// See [`STRETCH`].
const SHARE_OF_GAP: f64 = 0.1;
/// Before a packet is sent, the timer that wakes the prober runs.
const BEFORE: Nanos = 50 * MICROSECOND;
/// So many of the runs must be within it, beyond those that would be by chance.
const MOST_RUNS: f64 = 0.6;
/// And so many of the packets must have a run.
const MANY_PACKETS: f64 = 0.25;

/// Spreads that differ by less are about the same.
const ABOUT: f64 = 1.1;

/// A packet: when it was due, and when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// When the call to send it began.
    pub at: Nanos,
    /// When it was due.
    pub due: Nanos,
}

/// How a process follows the probe's packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Driven {
    /// From the sending of a packet to the run, ns: the median; below 0 before it.
    pub after_ns: f64,
    /// Share of its runs that follow a packet so.
    pub share: f64,
    /// Share of the packets that have such a run.
    pub packets: f64,
}

/// Does a process that ran at these times, stretch by stretch and each in rising order, run because packets were
/// sent? Those are of the same stretches, in order of sending. `reach`: the longest time from the sending of a packet
/// to the end of what it brings about, its response.
pub fn find(stretches: &[(&[Nanos], &[Sent])], reach: Nanos) -> Option<Driven> {
    let gaps = stretches.iter().flat_map(|(_, sent)| sent.windows(2));
    let mut gaps: Vec<f64> = gaps.map(|pair| (pair[1].at - pair[0].at) as f64).collect();
    let gap = Functional::Quantile(0.5).value(&mut gaps)?;
    let stretch = (STRETCH as f64).min(SHARE_OF_GAP * gap);
    let near: Vec<Near> = stretches
        .iter()
        .flat_map(|(starts, sent)| starts.iter().filter_map(|&start| nearest(start, sent)))
        .collect();
    let runs: usize = stretches.iter().map(|(starts, _)| starts.len()).sum();
    if runs < LEAST_RUNS {
        return None;
    }
    let mut after: Vec<f64> = (near.iter().map(|near| near.after as f64))
        .filter(|&after| after <= (reach + STRETCH) as f64)
        .collect();
    after.sort_unstable_by(f64::total_cmp);
    let (from, count) = densest(&after, stretch)?;
    let within = |near: &&Near| (from..=from + stretch).contains(&(near.after as f64));
    let inside: Vec<&Near> = near.iter().filter(within).collect();
    // Where packets are frequent, some of any process's runs follow one so soon.
    let mean_gap = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let chance = (stretch / mean_gap).min(0.9);
    let share = count as f64 / runs as f64;
    let packets: usize = stretches.iter().map(|(_, sent)| sent.len()).sum();
    let of_packets = followed(&inside) as f64 / packets.max(1) as f64;
    let enough = (share - chance) / (1.0 - chance) >= MOST_RUNS && of_packets >= MANY_PACKETS;
    let is_driven = enough && !has_own_timer(stretches) && keeps_to_sending(&inside);
    is_driven.then(|| Driven {
        after_ns: after[after.partition_point(|&each| each < from) + count / 2],
        share,
        packets: of_packets,
    })
}

/// A run and the packet that was sent last before it, or a moment later.
#[derive(Debug, Clone, Copy)]
struct Near {
    sent: Sent,
    after: Nanos,
    after_due: Nanos,
}

fn nearest(start: Nanos, sent: &[Sent]) -> Option<Near> {
    let next = sent.partition_point(|sent| sent.at <= start + BEFORE);
    let sent = *sent.get(next.checked_sub(1)?)?;
    Some(Near {
        sent,
        after: start - sent.at,
        after_due: start - sent.due,
    })
}

/// Where most of the values, in rising order, lie within a stretch of this length: its beginning and how many.
fn densest(values: &[f64], length: f64) -> Option<(f64, usize)> {
    let count = |from: usize| values.partition_point(|&v| v <= values[from] + length) - from;
    let best = (0..values.len()).max_by_key(|&from| count(from))?;
    Some((values[best], count(best)))
}

/// Packets that have a run.
fn followed(inside: &[&Near]) -> usize {
    let mut sent: Vec<Sent> = inside.iter().map(|near| near.sent).collect();
    sent.sort_unstable();
    sent.dedup();
    sent.len()
}

/// Each packet, or every second, third or fourth, has a run.
const MOST_SKIPPED: u32 = 4;
/// Packets that come at an interval have phases whose mean is at least so long.
const COHERENT: f64 = 0.5;

/// Does it run at an interval at which no packets are due?
fn has_own_timer(stretches: &[(&[Nanos], &[Sent])]) -> bool {
    let starts: Vec<Vec<Nanos>> = stretches
        .iter()
        .map(|(starts, _)| starts.to_vec())
        .collect();
    let Some(own) = regularity::find_period(&starts) else {
        return false;
    };
    // As long as what the period may be wrong by is a small part of it.
    let lasts = 0.1 * own.period_ns / (own.error_ns / own.period_ns).max(f64::MIN_POSITIVE);
    let longest = stretches.iter().max_by_key(|(_, sent)| sent.len());
    let due = longest.map_or(&[][..], |(_, sent)| sent);
    let first = due.first().map_or(0, |sent| sent.due);
    let due = due.iter().map(|sent| (sent.due - first) as f64);
    let due: Vec<f64> = due.take_while(|&due| due <= lasts).collect();
    let mut intervals = (1..=MOST_SKIPPED).map(|times| own.period_ns / f64::from(times));
    !intervals.any(|interval| regularity::mean_phase(&due, 1.0 / interval) >= COHERENT)
}

/// Do the runs vary about the sending no more than about when packets were due? Where both are about the same,
/// nothing speaks against it.
fn keeps_to_sending(inside: &[&Near]) -> bool {
    let spread = |of: &dyn Fn(&Near) -> Nanos| {
        let mut values: Vec<f64> = inside.iter().map(|near| of(near) as f64).collect();
        Functional::Iqr.value(&mut values).unwrap_or(0.0)
    };
    spread(&|near| near.after) <= ABOUT * spread(&|near| near.after_due)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;

    const MS: Nanos = 1_000_000;

    /// Packets about a millisecond apart for two seconds, sent 5 to 25 µs after they were due.
    fn packets(poisson: bool, random: &mut SplitMix) -> Vec<Sent> {
        let mut due = 0;
        let each = (0..2_000).map(|_| {
            let gap = if poisson { -random.uniform().ln() } else { 1.0 };
            due += (gap * 1e6) as Nanos;
            let slip = 5_000 + (random.uniform() * 20e3) as Nanos;
            Sent {
                at: due + slip,
                due,
            }
        });
        each.collect()
    }

    fn found(starts: &[Nanos], sent: &[Sent]) -> Option<Driven> {
        find(&[(starts, sent)], 100 * MICROSECOND)
    }

    #[test]
    fn what_answers_a_packet_is_driven_by_it() {
        for seed in 0..20 {
            let mut random = SplitMix::new(seed);
            let sent = packets(seed % 2 == 0, &mut random);
            let answer = |sent: &Sent| sent.at + 20_000 + (random.uniform() * 5e3) as Nanos;
            let starts: Vec<Nanos> = sent.iter().map(answer).collect();
            let driven = found(&starts, &sent).unwrap();
            assert!((20e3..25e3).contains(&driven.after_ns), "{driven:?}");
            assert!(driven.share > 0.9 && driven.packets > 0.9, "{driven:?}");
            // Of half of the packets it was not seen, and sometimes it does something else.
            let some: Vec<Nanos> = starts.iter().step_by(2).copied().collect();
            assert!(found(&some, &sent).is_some());
        }
    }

    /// Timers of every period, some as long as the interval or a multiple of it.
    #[test]
    fn a_timer_of_its_own_is_not() {
        for (seed, period) in (0..).zip([1.0, 2.0, 10.0, 100.0, 0.5, 1.7, 3.1, 7.3]) {
            for poisson in [true, false] {
                let mut random = SplitMix::new(seed);
                let sent = packets(poisson, &mut random);
                // The worst place: where an answer would be.
                let starts: Vec<Nanos> = (0..(2_000.0 / period) as i64)
                    .map(|k| 40_000 + (k as f64 * period * 1e6) as Nanos)
                    .map(|at| at + (random.uniform() * 2e3) as Nanos)
                    .collect();
                assert_eq!(found(&starts, &sent), None, "{period} {poisson}");
            }
        }
    }

    /// A timer whose process gets the CPU only once the prober has sent and waits.
    #[test]
    fn a_timer_that_waits_for_the_prober_is_not() {
        for seed in 0..20 {
            let mut random = SplitMix::new(seed);
            let sent = packets(true, &mut random);
            let starts: Vec<Nanos> = (0..700)
                .map(|k| k * 2_530_000)
                .filter_map(|due| {
                    let next = sent.iter().find(|sent| sent.at >= due)?;
                    let waits = random.uniform() < 0.9;
                    Some(if waits { next.at + 28_000 } else { due })
                })
                .collect();
            assert_eq!(found(&starts, &sent), None, "{seed}");
        }
    }

    #[test]
    fn chance_and_few_runs_are_not() {
        for seed in 0..100 {
            let mut random = SplitMix::new(seed);
            let sent = packets(true, &mut random);
            let at_random = (0..800).map(|_| (random.uniform() * 2e9) as Nanos);
            let mut starts: Vec<Nanos> = at_random.collect();
            starts.sort_unstable();
            assert_eq!(found(&starts, &sent), None, "{seed}");
        }
        assert_eq!(
            found(&[5 * MS; 4], &packets(false, &mut SplitMix::new(1))),
            None
        );
        assert_eq!(found(&[], &[]), None);
    }
}
