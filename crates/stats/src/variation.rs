//! Delay variation by every definition in use, from one pass over the round trips D.
//!
//! | figure | definition here |
//! |---|---|
//! | IPDV | D(i) − D(i−1) of packets with consecutive numbers, both answered; undefined across a loss (RFC 3393) |
//! | PDV | D(i) − min D (RFC 5481 §4.2) |
//! | RFC 3550 | J += (\|D(i) − D(i−1)\| − J)/16 from J = 0, in order of arrival, across losses (§6.4.1); the last J |
//! | sd | standard deviation of D, ddof 1 (seeds 000 and 002) |
//! | mdev | √(mean D² − (mean D)²), as iputils' ping has it, here without its rounding to whole µs |
//! | Y.1541 | Q(1 − 10⁻³) − min: p99.9 of PDV |
//! | MAPDV2 | G.1020: a running mean M += (D − M)/16; how far D lies above M, and how far below, each in a running mean of the same kind; the sum of the two |
//!
//! IPDV is never taken across two probes or two trials. Late replies are answers.

use crate::loglinear::LogLinear;
use crate::moments::Moments;
use crate::sample::Values;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Delay variation of the round trip. `None` where there are too few packets for it: a quantile needs one packet beyond it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Variation {
    /// IPDV (RFC 3393): pairs of consecutive packets that were both answered.
    pub ipdv_count: u64,
    /// Mean IPDV, signed.
    pub ipdv_mean_ns: Option<f64>,
    /// Standard deviation of IPDV.
    pub ipdv_sd_ns: Option<f64>,
    /// Interquartile range of IPDV.
    pub ipdv_iqr_ns: Option<Nanos>,
    /// Mean |IPDV|.
    pub ipdv_abs_mean_ns: Option<f64>,
    /// PDV (RFC 5481), D − min D: median.
    pub pdv_p50_ns: Option<Nanos>,
    /// PDV: p99.
    pub pdv_p99_ns: Option<Nanos>,
    /// PDV: p99.9.
    pub pdv_p999_ns: Option<Nanos>,
    /// RFC 3550 §6.4.1 interarrival jitter.
    pub rfc3550_ns: Option<f64>,
    /// Standard deviation of the distribution.
    pub sd_ns: Option<f64>,
    /// ping's mdev.
    pub mdev_ns: Option<f64>,
    /// Y.1541: Q(1 − 10⁻³) − min.
    pub y1541_ns: Option<Nanos>,
    /// G.1020 MAPDV2.
    pub mapdv2_ns: Option<f64>,
}

/// Running figures of all that variation needs beyond the distribution of D.
#[derive(Debug, Clone)]
pub(crate) struct VariationTally {
    ipdv: IpdvTally,
    ipdv_abs_sum: i128,
    arrivals: Option<Arrivals>,
}

/// What the distribution of D gives.
pub(crate) struct Delays<'a> {
    pub(crate) moments: &'a Moments,
    /// Median, p99 and p99.9 of PDV.
    pub(crate) pdv: [Option<Nanos>; 3],
}

impl VariationTally {
    /// Beyond `limit` values quantiles come from histograms.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            ipdv: IpdvTally::new(limit),
            ipdv_abs_sum: 0,
            arrivals: None,
        }
    }

    /// Takes one record, with its round trip where it was answered.
    pub(crate) fn push(&mut self, record: &Record, round_trip: Option<Nanos>) {
        for ipdv in self.ipdv.take(record, round_trip) {
            self.ipdv_abs_sum += i128::from(ipdv.unsigned_abs());
        }
        if let Some(delay) = round_trip {
            match &mut self.arrivals {
                Some(arrivals) => arrivals.push(delay),
                None => self.arrivals = Some(Arrivals::first(delay)),
            }
        }
    }

    pub(crate) const fn is_spilled(&self) -> bool {
        self.ipdv.values.is_spilled()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.ipdv.pending.heap_bytes() + self.ipdv.values.heap_bytes()
    }

    pub(crate) fn finish(&self, delays: &Delays) -> Variation {
        let moments = delays.moments;
        let arrivals = self.arrivals.as_ref().filter(|_| moments.count() > 1);
        let [pdv_p50_ns, pdv_p99_ns, pdv_p999_ns] = delays.pdv;
        let ipdv = self.ipdv.finish();
        let abs_mean = || self.ipdv_abs_sum as f64 / ipdv.count as f64;
        Variation {
            ipdv_count: ipdv.count,
            ipdv_mean_ns: ipdv.mean,
            ipdv_sd_ns: ipdv.sd,
            ipdv_iqr_ns: ipdv.iqr,
            ipdv_abs_mean_ns: (ipdv.count > 0).then(abs_mean),
            pdv_p50_ns,
            pdv_p99_ns,
            pdv_p999_ns,
            rfc3550_ns: arrivals.map(|arrivals| arrivals.jitter),
            sd_ns: moments.sd(1),
            mdev_ns: moments.sd(0).filter(|_| moments.count() > 1),
            y1541_ns: pdv_p999_ns,
            mapdv2_ns: arrivals.map(|arrivals| arrivals.above + arrivals.below),
        }
    }
}

fn iqr(values: &Values, count: u64) -> Option<Nanos> {
    let mut order = values.order();
    let quarters = order.quantile(0.75)?.wrapping_sub(order.quantile(0.25)?);
    (count >= 4).then_some(quarters)
}

/// IPDV (RFC 3393), signed, of one delay that packets have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ipdv {
    /// Pairs of packets that follow each other and both have the delay.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation, ddof 1.
    pub sd: Option<f64>,
    /// Interquartile range.
    pub iqr: Option<Nanos>,
}

impl From<&Variation> for Ipdv {
    /// Of the round trip.
    fn from(variation: &Variation) -> Self {
        Self {
            count: variation.ipdv_count,
            mean: variation.ipdv_mean_ns,
            sd: variation.ipdv_sd_ns,
            iqr: variation.ipdv_iqr_ns,
        }
    }
}

/// Running figures of [`Ipdv`].
#[derive(Debug, Clone)]
pub struct IpdvTally {
    pending: Neighbours,
    moments: Moments,
    values: Values,
    limit: usize,
}

impl IpdvTally {
    /// Beyond `limit` values quantiles come from histograms.
    pub fn new(limit: usize) -> Self {
        Self {
            pending: Neighbours::default(),
            moments: Moments::default(),
            values: Values::default(),
            limit,
        }
    }

    /// Takes one record, with its delay where it has one.
    pub fn push(&mut self, record: &Record, delay: Option<Nanos>) {
        self.take(record, delay).for_each(drop);
    }

    /// As [`push`](Self::push); what is returned are the IPDVs, which count when they are read.
    fn take(&mut self, record: &Record, delay: Option<Nanos>) -> impl Iterator<Item = Nanos> {
        let (moments, values, limit) = (&mut self.moments, &mut self.values, self.limit);
        let ipdvs = self.pending.meet(record, delay);
        ipdvs.inspect(move |&ipdv| {
            moments.push(ipdv);
            values.push(ipdv, limit);
        })
    }

    /// What they are.
    pub fn finish(&self) -> Ipdv {
        let count = self.moments.count();
        Ipdv {
            count,
            mean: self.moments.mean(),
            sd: self.moments.sd(1),
            iqr: iqr(&self.values, count),
        }
    }
}

/// Figures that depend on the order of arrival.
#[derive(Debug, Clone)]
struct Arrivals {
    last: Nanos,
    jitter: f64,
    mean: f64,
    above: f64,
    below: f64,
}

/// A running mean with the weight 1/16, as RFC 3550 and G.1020 have it.
fn follow(mean: &mut f64, value: f64) {
    *mean += (value - *mean) / 16.0;
}

impl Arrivals {
    fn first(delay: Nanos) -> Self {
        Self {
            last: delay,
            jitter: 0.0,
            mean: delay as f64,
            above: 0.0,
            below: 0.0,
        }
    }

    fn push(&mut self, delay: Nanos) {
        let step = delay.wrapping_sub(self.last).unsigned_abs();
        follow(&mut self.jitter, step as f64);
        let deviation = delay as f64 - self.mean;
        if deviation > 0.0 {
            follow(&mut self.above, deviation);
        } else {
            follow(&mut self.below, -deviation);
        }
        follow(&mut self.mean, delay as f64);
        self.last = delay;
    }
}

/// Packets that wait for the record of the one before or behind them.
///
/// Records come in order of completion: a lost packet's comes a time-out after those of its
/// neighbours. Each waits until both have come. Beyond the limit the oldest stop waiting, which
/// costs an IPDV only if the packet that they waited for was answered after all.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    /// By trial, probe and number.
    waiting: BTreeMap<(u32, u16, u64), Waiting>,
}

const MAX_WAITING: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    round_trip: Option<Nanos>,
    /// Neighbours that have not come yet.
    awaits: u8,
}

impl Neighbours {
    /// Takes a packet, with its round trip where it was answered, and returns the IPDVs that it
    /// completes: with the one before, and of the one behind.
    pub fn meet(
        &mut self,
        record: &Record,
        round_trip: Option<Nanos>,
    ) -> impl Iterator<Item = Nanos> + use<> {
        let at = |seq| (record.trial, record.probe, seq);
        let seq = record.seq;
        let before = seq.checked_sub(1).map(|seq| self.visit(at(seq)));
        let behind = seq.checked_add(1).map(|seq| self.visit(at(seq)));
        // At the ends of the numbers there is no neighbour to wait for.
        let missing = [before, behind].into_iter().flatten();
        let awaits = missing.filter(Option::is_none).count() as u8;
        if awaits > 0 {
            self.wait(at(seq), Waiting { round_trip, awaits });
        }
        let before = before.flatten().and_then(|waiting| waiting.round_trip);
        let behind = behind.flatten().and_then(|waiting| waiting.round_trip);
        let with_before = round_trip.zip(before).map(|(d, b)| d.wrapping_sub(b));
        let of_behind = round_trip.zip(behind).map(|(d, b)| b.wrapping_sub(d));
        [with_before, of_behind].into_iter().flatten()
    }

    /// A waiting packet learns that its neighbour has come, and goes once both have.
    fn visit(&mut self, key: (u32, u16, u64)) -> Option<Waiting> {
        let waiting = self.waiting.get_mut(&key)?;
        waiting.awaits -= 1;
        let seen = *waiting;
        if seen.awaits == 0 {
            self.waiting.remove(&key);
        }
        Some(seen)
    }

    fn wait(&mut self, key: (u32, u16, u64), waiting: Waiting) {
        self.waiting.insert(key, waiting);
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_first();
        }
    }

    fn heap_bytes(&self) -> usize {
        self.waiting.len() * size_of::<((u32, u16, u64), Waiting)>()
    }
}

/// Delays above a fixed origin, for quantiles of PDV that are as exact, relative to PDV itself, as
/// those of the delay are to the delay.
#[derive(Debug, Clone)]
pub(crate) struct AboveOrigin {
    origin: Nanos,
    counts: LogLinear,
}

impl AboveOrigin {
    pub(crate) fn new(origin: Nanos) -> Self {
        Self {
            origin,
            counts: LogLinear::default(),
        }
    }

    pub(crate) fn push(&mut self, delay: Nanos) {
        self.counts.push(delay.wrapping_sub(self.origin));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.counts.heap_bytes()
    }

    /// The quantile of the delay.
    pub(crate) fn quantile(&self, q: f64) -> Option<Nanos> {
        let above = self.counts.quantile(q)?;
        Some(self.origin.wrapping_add(above))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Gaussian;
    use delaylab_model::method::Method;
    use proptest::prelude::*;

    fn record(seq: u64) -> Record {
        Record::due(0, 0, seq, Method::Udp, 0)
    }

    fn tally(delays: &[(u64, Option<Nanos>)]) -> VariationTally {
        let mut tally = VariationTally::new(usize::MAX);
        for &(seq, delay) in delays {
            tally.push(&record(seq), delay);
        }
        tally
    }

    fn finish(tally: &VariationTally, delays: &[(u64, Option<Nanos>)]) -> Variation {
        let moments: Moments = delays.iter().filter_map(|&(_, delay)| delay).collect();
        tally.finish(&Delays {
            moments: &moments,
            pdv: [None; 3],
        })
    }

    fn variation(delays: &[(u64, Option<Nanos>)]) -> Variation {
        finish(&tally(delays), delays)
    }

    #[test]
    fn ipdv_is_undefined_across_a_loss() {
        let delays = [
            (0, Some(100)),
            (1, Some(130)),
            (2, None),
            (3, Some(90)),
            (4, Some(80)),
        ];
        let variation = variation(&delays);
        assert_eq!(variation.ipdv_count, 2);
        assert_eq!(variation.ipdv_mean_ns, Some(10.0));
        assert_eq!(variation.ipdv_abs_mean_ns, Some(20.0));
        assert_eq!(variation.ipdv_sd_ns, Some(800_f64.sqrt()));
    }

    #[test]
    fn ipdv_is_never_taken_across_trials_or_probes() {
        let mut tally = VariationTally::new(usize::MAX);
        for (trial, probe, seq, delay) in [(0, 0, 0, 100), (1, 0, 1, 900), (0, 1, 1, 500)] {
            let record = Record {
                trial,
                probe,
                ..record(seq)
            };
            tally.push(&record, Some(delay));
        }
        assert_eq!(tally.ipdv.finish().count, 0);
        tally.push(&record(1), Some(130));
        assert_eq!(tally.ipdv.finish().mean, Some(30.0));
    }

    /// By hand: J after |30|, |−40|, |−10|.
    #[test]
    fn rfc3550_by_hand() {
        let delays = [(0, Some(100)), (1, Some(130)), (2, Some(90)), (3, Some(80))];
        let mut jitter = 0.0;
        for step in [30.0, 40.0, 10.0] {
            jitter += (step - jitter) / 16.0;
        }
        assert_eq!(variation(&delays).rfc3550_ns, Some(jitter));
    }

    #[test]
    fn mapdv2_by_hand() {
        let delays = [(0, Some(160)), (1, Some(320)), (2, Some(10))];
        // Above by 160: P = 10, M = 170. Below by 160: N = 10.
        assert_eq!(variation(&delays).mapdv2_ns, Some(20.0));
    }

    #[test]
    fn mdev_has_ddof_0() {
        let delays = [(0, Some(2)), (1, Some(4)), (2, Some(6))];
        let variation = variation(&delays);
        assert_eq!(variation.mdev_ns, Some((8.0_f64 / 3.0).sqrt()));
        assert_eq!(variation.sd_ns, Some(2.0));
    }

    #[test]
    fn one_packet_has_no_variation() {
        let expected = Variation::default();
        assert_eq!(variation(&[(0, Some(5))]), expected);
        assert_eq!(variation(&[]), expected);
    }

    #[test]
    fn gaussian_identities() {
        let mut noise = Gaussian::new(7);
        let delays: Vec<_> = (0..200_000)
            .map(|seq| (seq, Some((1e6 + 1e4 * noise.next()).round() as Nanos)))
            .collect();
        let variation = variation(&delays);
        let close = |found: Option<f64>, expected: f64| {
            assert!(
                (found.unwrap() / expected - 1.0).abs() < 0.01,
                "{found:?} {expected}"
            );
        };
        close(variation.sd_ns, 1e4);
        close(variation.ipdv_sd_ns, 2_f64.sqrt() * 1e4);
        close(
            variation.ipdv_abs_mean_ns,
            2e4 / std::f64::consts::PI.sqrt(),
        );
        // The quartiles of a normal distribution are 0.6745 sd from its middle.
        close(
            variation.ipdv_iqr_ns.map(|iqr| iqr as f64),
            2.0 * 0.674_49 * 2_f64.sqrt() * 1e4,
        );
    }

    #[test]
    fn the_waiting_room_is_bounded() {
        let mut neighbours = Neighbours::default();
        for seq in 0..100_000 {
            // Every third record never comes: its neighbours wait for it.
            if seq % 3 != 0 {
                let _ = neighbours.meet(&record(seq), Some(1));
            }
        }
        assert!(neighbours.waiting.len() <= MAX_WAITING);
    }

    proptest! {
        #[test]
        fn ipdv_does_not_depend_on_the_order_of_completion(
            delays in proptest::collection::vec(proptest::option::of(0_i64..1_000_000), 1..60),
            order in Just(()).prop_perturb(|(), mut random| random.next_u64()),
        ) {
            let in_order: Vec<_> = (0..).zip(delays).collect();
            let mut shuffled = in_order.clone();
            let mut noise = Gaussian::new(order);
            shuffled.sort_by_cached_key(|_| (noise.uniform() * 1e9) as u64);
            let (left, right) = (tally(&in_order), tally(&shuffled));
            prop_assert_eq!(left.ipdv.moments, right.ipdv.moments);
            let expected: Moments = (in_order.windows(2))
                .filter_map(|pair| Some(pair[1].1? - pair[0].1?))
                .collect();
            prop_assert_eq!(left.ipdv.moments, expected);
        }
    }
}
