//! Trials that ended in an outage: from some packet on nothing was answered any more. Losses in a row are one event and not many, so
//! that no interval of a share can tell them from chance; that the state changed, the row says itself.

use delaylab_lab::finding::Data;
use delaylab_model::Nanos;
use delaylab_model::units::{format_duration, format_share};
use delaylab_stats::outage::{self, Outage};

/// It is at least this many times as long as any other row of losses in its trial.
const TIMES: usize = 4;
/// Fewer packets that are all of a trial may be lost by chance.
const FEW: usize = 3;

/// The outages of some trials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outages {
    /// Trials.
    pub trials: usize,
    /// Trials of which no packet was answered, where others were.
    pub dead: usize,
    /// Trials that ended in an outage; none of them is dead.
    pub ended: usize,
    /// The longest of those.
    pub longest: Option<Outage>,
}

impl Outages {
    /// Of these streams.
    pub(super) fn new(data: &dyn Data, streams: &[usize]) -> Self {
        let mut found = Self {
            trials: streams.len(),
            ..Self::default()
        };
        let mut answered = false;
        for &stream in streams {
            let mut packets: Vec<(Nanos, bool)> = Vec::new();
            data.records(stream, &mut |record| packets.extend(outage::packet(record)));
            let any = packets.iter().any(|(_, answered)| *answered);
            answered |= any;
            found.dead += usize::from(!any && packets.len() >= FEW);
            if let Some(outage) = Some(packets).filter(|_| any).and_then(at_the_end) {
                found.ended += 1;
                let longest = found
                    .longest
                    .filter(|known| known.packets >= outage.packets);
                found.longest = Some(longest.unwrap_or(outage));
            }
        }
        // A side that is never answered at all is said to be that.
        found.dead *= usize::from(answered);
        found
    }

    /// Were there any?
    pub(super) const fn is_any(&self) -> bool {
        self.dead + self.ended > 0
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
    (longest.to.is_none() && longest.packets >= TIMES * longest.other).then_some(longest)
}

/// What one side has and the other one has not, in a sentence, with what both lose; `None` where neither or both had outages.
pub(super) fn change([a, b]: &[Outages; 2], lost: [f64; 2]) -> Option<String> {
    let (side, other, found, [own, its]) = match (a.is_any(), b.is_any()) {
        (false, true) => ("B", "A", b, [lost[1], lost[0]]),
        (true, false) => ("A", "B", a, lost),
        _ => return None,
    };
    let (own, its) = (format_share(own), format_share(its));
    Some(format!(
        "{}: {side} loses {own} of its packets and {other} {its}.",
        found.words(side)
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
