//! Models of a stair that differ in how uneven its steps are, weighed by what the delays say of it.
//!
//! How far the levels lie from even steps, in squares weighted by noise and unevenness, has χ² with a
//! degree of freedom for each riser but one where the unevenness is the true one. So each value of χ² names an
//! unevenness, or none at all where the levels lie nearer: their distribution is the generalised
//! fiducial one (Hannig, Iyer, Lai and Lee 2016), and intervals from it are Student's where noise is low. Steps
//! between two bounds need wider ones than Student's, which [`wider`] allows for.

use crate::tail;

/// By how much more even steps weigh than χ² says, which makes intervals narrower on even steps. More would
/// make them too narrow where three steps differ by little more than noise.
const EVEN: f64 = 1.5;

/// One model's result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Component {
    /// Logarithm of the likelihood with the chance before.
    pub(super) likelihood: f64,
    /// Of the sum of all, or its logarithm.
    pub(super) weight: f64,
    pub(super) step: f64,
    pub(super) error: f64,
    pub(super) degrees: f64,
    /// What the fit leaves, weighted.
    pub(super) squares: f64,
    /// Standard deviation of the steps.
    pub(super) spread: f64,
    pub(super) slope: Option<f64>,
    pub(super) jump: Option<(usize, f64)>,
    pub(super) residual: f64,
}

/// Models alike in all but the unevenness.
pub(super) struct Family {
    /// From even steps to the most uneven.
    pub(super) members: Vec<Component>,
    /// Each level with a mean of its own.
    pub(super) free: Component,
    /// Risers that tell the unevenness, less one.
    pub(super) degrees: u32,
}

impl Family {
    /// The members with the logarithms of their weights, which add up to the family's likelihood.
    pub(super) fn weighed(self) -> Vec<Component> {
        let top = greatest(&self.members, |c| c.likelihood);
        let sum: f64 = (self.members.iter())
            .map(|c| (c.likelihood - top).exp())
            .sum();
        let whole = top + sum.ln();
        let shares = self.shares();
        let members = self.members.into_iter().zip(shares);
        let weigh = |(c, share): (Component, Option<f64>)| Component {
            weight: share.map_or(c.likelihood, |share| whole + share.ln()),
            ..c
        };
        members.map(weigh).collect()
    }

    /// Of each member by χ²; `None` where no two risers can be compared.
    fn shares(&self) -> Vec<Option<f64>> {
        let count = self.members.len();
        let within = self.free.degrees - f64::from(self.degrees);
        if self.degrees == 0 || within < 1.0 || count == 0 {
            return vec![None; count];
        }
        // The share of unevenness up to each.
        let up_to = |c: &Component| {
            let between = (c.squares - self.free.squares).max(0.0) / f64::from(self.degrees);
            let f = between * within / self.free.squares;
            tail::fisher(
                f * wider(self.degrees).powi(2),
                (self.degrees, within as u32),
            )
        };
        let up_to: Vec<f64> = self.members.iter().map(up_to).collect();
        let Some(most) = up_to.last().copied().filter(|most| *most > 0.0) else {
            let last = |i| Some(f64::from(u8::from(i + 1 == count)));
            return (0..count).map(last).collect();
        };
        let mut below = 0.0;
        let mut shares: Vec<f64> = (0..count)
            .map(|i| {
                let end = match i {
                    0 => up_to[0],
                    _ => up_to
                        .get(i + 1)
                        .map_or(most, |next| (up_to[i] + next) / 2.0),
                };
                let share = (end - below).max(0.0);
                below = end.max(below);
                share
            })
            .collect();
        shares[0] *= EVEN;
        let sum: f64 = shares.iter().sum();
        shares.into_iter().map(|share| Some(share / sum)).collect()
    }
}

/// By how much wider than Student's an interval must be that holds 95 % of means of steps drawn evenly
/// between two bounds, by simulation 1.49, 1.33, 1.21, 1.13 and 1.08 for two to six steps. Of two it is twice
/// as much, because steps are never as uneven as two that happen to be alike allow for.
fn wider(degrees: u32) -> f64 {
    match degrees {
        0 | 1 => 3.0,
        2 => 1.33,
        3 => 1.21,
        4 => 1.13,
        5 => 1.08,
        _ => 1.05,
    }
}

/// Those that make a difference, with weights in place of their logarithms, and the logarithm of the sum of
/// all weights.
pub(super) fn kept(all: &[Component]) -> (Vec<Component>, f64) {
    /// What weighs less than this beside the best, as a logarithm, makes no difference.
    const NEGLIGIBLE: f64 = -16.0;
    let top = greatest(all, |c| c.weight);
    let kept = all.iter().filter(|c| c.weight - top > NEGLIGIBLE);
    let kept: Vec<Component> = kept
        .map(|c| Component {
            weight: (c.weight - top).exp(),
            ..*c
        })
        .collect();
    let sum = top + total(&kept).ln();
    (kept, sum)
}

pub(super) fn greatest<'a>(
    components: impl IntoIterator<Item = &'a Component>,
    of: impl Fn(&Component) -> f64,
) -> f64 {
    (components.into_iter())
        .map(of)
        .fold(f64::NEG_INFINITY, f64::max)
}

fn total(components: &[Component]) -> f64 {
    components.iter().map(|c| c.weight).sum()
}

/// What these components weigh, of all.
pub(super) fn share(components: &[Component], these: impl Fn(&&Component) -> bool) -> f64 {
    let part: f64 = components.iter().filter(these).map(|c| c.weight).sum();
    part / total(components)
}

/// Of the mixture of Student's distributions.
pub(super) fn quantile(components: &[Component], share: f64) -> f64 {
    let total = total(components);
    let below = |value: f64| {
        let of = |c: &Component| {
            let t = (value - c.step) / c.error;
            // Wallace 1959: normal to within 0.1 % from 10 degrees on.
            let z = t * (1.0 - 1.0 / (4.0 * c.degrees)) / (1.0 + t * t / (2.0 * c.degrees)).sqrt();
            c.weight * tail::normal_below(z)
        };
        components.iter().map(of).sum::<f64>() / total
    };
    let ends = |sign: f64| {
        components
            .iter()
            .map(move |c| c.step + sign * 40.0 * c.error)
    };
    let mut low = ends(-1.0).fold(f64::INFINITY, f64::min);
    let mut high = ends(1.0).fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}
