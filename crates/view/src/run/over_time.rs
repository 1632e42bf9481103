//! Delays over time as quantiles of stretches, in flat memory: where most packets lie, and how that changes.

use delaylab_model::{MICROSECOND, Nanos};
use delaylab_stats::loglinear::Sparse;
use std::collections::BTreeMap;

/// Delays of each stretch of time, counted.
#[derive(Debug, Clone, PartialEq)]
pub struct OverTime {
    width: Nanos,
    stretches: BTreeMap<Nanos, Counts>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    last: Nanos,
    unanswered: u64,
    answered: Sparse,
}

/// Quantiles of the delays of one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Where the stretch begins.
    pub from: Nanos,
    /// When its last packet was due.
    pub to: Nanos,
    /// p5, p25, p50, p75 and p95, within half a percent; `None` where nothing was answered.
    pub delays: Option<[Nanos; 5]>,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets that were not.
    pub unanswered: u64,
}

impl Default for OverTime {
    fn default() -> Self {
        Self {
            width: MICROSECOND,
            stretches: BTreeMap::new(),
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.last = self.last.max(other.last);
        self.unanswered += other.unanswered;
        self.answered.merge(&other.answered);
    }

    fn packets(&self) -> u64 {
        self.answered.count() + self.unanswered
    }
}

impl OverTime {
    /// Takes a packet that was due then; `None` where it was not answered. Of more than `most` stretches pairs are put together.
    pub(super) fn push(&mut self, t: Nanos, delay: Option<Nanos>, most: usize) {
        let stretch = self.stretches.entry(t.div_euclid(self.width)).or_default();
        stretch.last = stretch.last.max(t);
        match delay {
            Some(delay) => stretch.answered.push(delay),
            None => stretch.unanswered += 1,
        }
        while self.stretches.len() > most {
            self.width = self.width.saturating_mul(2);
            for (index, counts) in std::mem::take(&mut self.stretches) {
                let pair = self.stretches.entry(index.div_euclid(2)).or_default();
                pair.add(&counts);
            }
        }
    }

    /// Stretches in order, `most` of them at most, each of at least this number of packets where there are as many: of answered
    /// ones, unless half of them or all were lost.
    pub fn quantiles(&self, most: usize, packets: u64) -> Vec<Quantiles> {
        let all: u64 = self.stretches.values().map(Counts::packets).sum();
        let least = packets.max(all.div_ceil(most.max(1) as u64));
        let mut shown = Vec::new();
        let mut open: Option<(Nanos, Counts)> = None;
        for (index, counts) in &self.stretches {
            let from = index.saturating_mul(self.width);
            let (_, sum) = open.get_or_insert_with(|| (from, Counts::default()));
            sum.add(counts);
            let answered = sum.answered.count();
            let is_full = answered == 0 || answered >= packets || sum.packets() >= 2 * packets;
            if sum.packets() >= least && is_full {
                shown.extend(open.take());
            }
        }
        // What is left at the end is too little by itself.
        match (open.take(), shown.last_mut()) {
            (Some((_, rest)), Some((_, last))) => last.add(&rest),
            (Some(rest), None) => shown.push(rest),
            (None, _) => {}
        }
        shown
            .iter()
            .map(|(from, sum)| quantiles(*from, sum))
            .collect()
    }
}

fn quantiles(from: Nanos, counts: &Counts) -> Quantiles {
    let at = |q| counts.answered.quantile(q).unwrap_or(0);
    let answered = counts.answered.count();
    Quantiles {
        from,
        to: counts.last,
        delays: (answered > 0).then(|| [0.05, 0.25, 0.5, 0.75, 0.95].map(at)),
        answered,
        unanswered: counts.unanswered,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND;

    const STRETCHES: usize = 128;

    #[test]
    fn a_step_is_where_it_happened_and_nothing_is_lost() {
        let mut over = OverTime::default();
        for k in 0..10_000_i64 {
            let delay = if k < 5_000 { 1 } else { 3 } * MILLISECOND + k % 100;
            over.push(k * MILLISECOND, (k % 10 != 0).then_some(delay), STRETCHES);
        }
        assert!(over.stretches.len() <= STRETCHES);
        let shown = over.quantiles(50, 20);
        assert!((25..=50).contains(&shown.len()), "{}", shown.len());
        let counted: u64 = shown.iter().map(|one| one.answered + one.unanswered).sum();
        assert_eq!(counted, 10_000);
        for one in &shown {
            let median = one.delays.unwrap()[2];
            let expected = match one.to < 4_900 * MILLISECOND {
                true => 1,
                false if one.from > 5_100 * MILLISECOND => 3,
                false => continue,
            };
            assert!((median - expected * MILLISECOND).abs() < 20_000, "{median}");
        }
    }

    #[test]
    fn much_loss_makes_no_more_stretches() {
        let mut over = OverTime::default();
        for k in 0..10_000_i64 {
            over.push(
                k * MILLISECOND,
                (k % 50 == 0).then_some(MILLISECOND),
                STRETCHES,
            );
        }
        assert!(over.quantiles(30, 20).len() <= 30);
    }

    /// Of 20 packets of which one is lost, 19 have no p5.
    #[test]
    fn a_stretch_has_enough_answers_unless_half_is_lost() {
        let stretches = |lost: i64| {
            let mut over = OverTime::default();
            for k in 0..200_i64 {
                over.push(k * MILLISECOND, (k % 20 >= lost).then_some(k), STRETCHES);
            }
            over.quantiles(50, 20)
        };
        let few = stretches(1);
        assert!(few.len() == 9 && few.iter().all(|one| one.answered >= 20));
        let mut sent = stretches(19).into_iter();
        assert!(sent.all(|one| one.answered + one.unanswered >= 40));
    }

    #[test]
    fn a_stretch_without_answers_has_no_quantiles() {
        let mut over = OverTime::default();
        over.push(5, None, STRETCHES);
        let shown = over.quantiles(50, 20);
        assert_eq!(
            (shown.len(), shown[0].delays, shown[0].unanswered),
            (1, None, 1)
        );
        assert_eq!(OverTime::default().quantiles(50, 20), []);
    }
}
