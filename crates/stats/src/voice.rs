//! What a voice call over a path is worth: a mean opinion score of the worse direction.
//!
//! It is the simplified E-model that monitoring tools share, not ITU-T G.107: see [`mean_opinion_score`]. A call goes one
//! way at a time, so each direction is scored by its own delay and loss where they are known. What is only known of
//! the round trip is taken to be alike in both directions, and independent: half of the mean delay is each one's; variances
//! add up, so that each varies by 1/√2 of the round trip; a packet must survive both, so that each loses 1 − √(1 − loss).

use crate::summary::{Distribution, Summary};
use delaylab_model::MILLISECOND;
use delaylab_model::trial::LossDirection;
use std::cmp::Ordering;
use std::f64::consts::SQRT_2;

/// The score of the worse direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voice {
    /// 1 to 4.5.
    pub score: f64,
    /// Of which direction; `None` where both are alike in the two digits that are shown.
    pub worse: Option<Way>,
    /// Some of the loss is not known to be of one direction.
    pub loss_alike: bool,
    /// So are delays.
    pub delay_alike: bool,
}

/// A direction, seen from the prober.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the target.
    Out,
    /// From the target.
    Back,
}

impl Voice {
    /// Of a probe whose losses have these directions, where they are known. `None` without two packets in a row that were
    /// answered, but where so much is lost that delay and variation make no difference.
    pub fn new(summary: &Summary, loss: Option<LossDirection>) -> Option<Self> {
        let round_trip = summary.round_trip.as_ref()?.mean;
        let counts = &summary.counts;
        // What was still under way when the probe was stopped is not known to be lost.
        let ended = counts.ended().max(counts.received);
        let lost = Lost::new(ended, ended - counts.received, loss);
        let variation = match summary.variation.ipdv_abs_mean_ns {
            Some(variation) => variation / SQRT_2,
            None if lost.shares.into_iter().any(is_lost) => 0.0,
            None => return None,
        };
        let delay = |way: &Option<Distribution>| way.as_ref().map(|delays| delays.mean);
        let delays = [delay(&summary.forward), delay(&summary.back)];
        let score = |way: usize| {
            let delay = delays[way].unwrap_or(round_trip / 2.0);
            mean_opinion_score(delay, variation, lost.shares[way])
        };
        let [out, back] = [score(0), score(1)];
        Some(Self {
            score: out.min(back),
            worse: worse(out, back),
            loss_alike: lost.alike,
            delay_alike: delays.contains(&None),
        })
    }
}

/// Is a call with this share of loss the worst there is?
fn is_lost(loss: f64) -> bool {
    mean_opinion_score(0.0, 0.0, loss) <= 1.0
}

/// The direction with the lower score, where two digits tell them apart.
fn worse(out: f64, back: f64) -> Option<Way> {
    let shown = |score: f64| (score * 100.0).round();
    match shown(out).total_cmp(&shown(back)) {
        Ordering::Less => Some(Way::Out),
        Ordering::Greater => Some(Way::Back),
        Ordering::Equal => None,
    }
}

/// Shares that each direction loses. What comes late is lost for a call, and not known to be of one direction.
struct Lost {
    shares: [f64; 2],
    /// Is there any that is not known to be of one of them?
    alike: bool,
}

impl Lost {
    fn new(sent: u64, lost: u64, known: Option<LossDirection>) -> Self {
        let known = known.unwrap_or_default();
        let out = (known.forward + known.in_host.reflector_buffer).min(lost);
        let back = known.back + known.in_host.reflector_limit + known.in_host.own_buffer;
        let back = back.min(lost - out);
        let rest = lost - out - back;
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let survives = (1.0 - share(rest, sent - out - back)).max(0.0).sqrt();
        let shares = [share(out, sent), share(back, sent - out)];
        Self {
            shares: shares.map(|own| 1.0 - (1.0 - own) * survives),
            alike: rest > 0,
        }
    }
}

/// The mean opinion score of a voice call, by the simplified E-model that monitoring tools share;
/// not ITU-T G.107. The effective delay is the one-way delay, twice its variation (a de-jitter
/// buffer) and 10 ms for a codec; R = 93.2 less 1 for each 40 ms, more steeply from 160 ms, less
/// 2.5 for each percent lost; MOS = 1 + 0.035·R + 7·10⁻⁶·R·(R − 60)·(100 − R).
pub fn mean_opinion_score(one_way_ns: f64, variation_ns: f64, loss: f64) -> f64 {
    let effective = (one_way_ns + 2.0 * variation_ns) / MILLISECOND as f64 + 10.0;
    let delay_impairment = if effective < 160.0 {
        effective / 40.0
    } else {
        (effective - 120.0) / 10.0
    };
    let r = (93.2 - delay_impairment - 250.0 * loss).clamp(0.0, 100.0);
    // The cubic dips below 1 for the worst R.
    (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::summary::SummaryBuilder;
    use crate::testing::Gaussian;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::{LostInHost, RecordFacts, ReflectorClock, Residence};

    #[test]
    fn a_perfect_path_scores_well_and_a_lossy_one_badly() {
        let perfect = mean_opinion_score(0.0, 0.0, 0.0);
        assert!((4.3..4.5).contains(&perfect), "{perfect}");
        let satellite = mean_opinion_score(3e8, 0.0, 0.0);
        assert!(satellite < perfect - 0.3);
        assert_eq!(mean_opinion_score(0.0, 0.0, 1.0), 1.0);
    }

    #[test]
    fn directions_that_are_alike_in_what_is_shown_have_no_worse_one() {
        assert_eq!(worse(4.3312, 4.3349), None);
        assert_eq!(worse(4.32, 4.33), Some(Way::Out));
        assert_eq!(worse(4.33, 4.32), Some(Way::Back));
    }

    /// 100 packets, of which `lost` are not answered; by one clock 30 ms there and 10 ms back, or of unknown direction.
    fn summary(lost: u64, one_clock: bool) -> Summary {
        let mut facts = RecordFacts::default();
        if one_clock {
            facts.reflector_clock = ReflectorClock::Same;
            facts.residence = Residence::ToDriver;
        }
        let mut builder = SummaryBuilder::new(facts, usize::MAX);
        for seq in 0..100 {
            let mut record = Record::due(0, 0, seq, Method::Udp, 0);
            record.t_send = Some(0);
            record.outcome = Outcome::Lost;
            if seq >= lost {
                record.outcome = Outcome::Ok;
                record.t_tx = Some(0);
                record.r_rx = Some(30 * MILLISECOND);
                record.r_user = record.r_rx;
                record.r_tx = record.r_rx;
                record.t_rx = Some(40 * MILLISECOND);
                record.t_recv = record.t_rx;
            }
            builder.push(&record);
        }
        builder.finish()
    }

    /// No two packets in a row have a variation, and none could make it better or worse.
    #[test]
    fn a_call_that_is_lost_is_the_worst() {
        let without_variation = |lost: u64| {
            let mut summary = summary(lost, false);
            summary.variation.ipdv_abs_mean_ns = None;
            Voice::new(&summary, None).map(|voice| voice.score)
        };
        assert_eq!([70, 10].map(without_variation), [Some(1.0), None]);
    }

    #[test]
    fn a_direction_is_scored_by_its_own_loss() {
        let loss = LossDirection {
            forward: 20,
            ..LossDirection::default()
        };
        let voice = Voice::new(&summary(20, false), Some(loss)).unwrap();
        // 20 % cost 50 points.
        assert!(
            (voice.score - mean_opinion_score(20e6, 0.0, 0.2)).abs() < 1e-9,
            "{voice:?}"
        );
        assert_eq!((voice.worse, voice.loss_alike), (Some(Way::Out), false));
        assert!(voice.delay_alike);
        let back = LossDirection {
            forward: 5,
            back: 10,
            in_host: LostInHost {
                own_buffer: 5,
                ..LostInHost::default()
            },
            ..LossDirection::default()
        };
        let voice = Voice::new(&summary(20, false), Some(back)).unwrap();
        assert!(
            (voice.score - mean_opinion_score(20e6, 0.0, 15.0 / 95.0)).abs() < 1e-9,
            "{voice:?}"
        );
        assert_eq!(voice.worse, Some(Way::Back));
    }

    #[test]
    fn a_direction_is_scored_by_its_own_delay() {
        let voice = Voice::new(&summary(0, true), None).unwrap();
        assert!(
            (voice.score - mean_opinion_score(30e6, 0.0, 0.0)).abs() < 1e-9,
            "{voice:?}"
        );
        assert_eq!((voice.worse, voice.delay_alike), (Some(Way::Out), false));
        assert!(!voice.loss_alike, "nothing is lost");
    }

    #[test]
    fn what_nobody_can_place_is_alike_in_both_directions() {
        let voice = Voice::new(&summary(19, false), None).unwrap();
        assert!((voice.score - mean_opinion_score(20e6, 0.0, 0.1)).abs() < 1e-12);
        assert_eq!((voice.worse, voice.loss_alike), (None, true));
    }

    #[test]
    fn what_was_under_way_when_the_probe_was_stopped_is_not_lost() {
        let mut summary = summary(10, false);
        let score = |summary: &Summary| Voice::new(summary, None).unwrap();
        let (lost, under_way) = (score(&summary), {
            summary.counts.under_way = std::mem::take(&mut summary.counts.lost);
            score(&summary)
        });
        assert!(lost.loss_alike && lost.score < under_way.score);
        assert!(!under_way.loss_alike, "nothing is lost");
        assert!((under_way.score - mean_opinion_score(20e6, 0.0, 0.0)).abs() < 1e-12);
    }

    /// Each way varies by itself: the variation of round trips gives that of one way.
    #[test]
    fn variances_add_up() {
        let mut gaussian = Gaussian::new(7);
        let mut way = || -> Vec<f64> {
            let delays = (0..20_000).map(|_| 40e6 + 5e6 * gaussian.next());
            delays.collect()
        };
        let (there, back) = (way(), way());
        let variation = |delays: &[f64]| {
            let steps = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs());
            steps.sum::<f64>() / (delays.len() - 1) as f64
        };
        let round: Vec<f64> = there.iter().zip(&back).map(|(a, b)| a + b).collect();
        let (one, of_round) = (variation(&there), variation(&round) / SQRT_2);
        assert!((one / of_round - 1.0).abs() < 0.02, "{one} {of_round}");
    }
}
