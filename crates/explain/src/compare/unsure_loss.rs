//! A change of loss that may be chance. Where repeats differ much it can be large, and who reads that nothing differs is to
//! know of it.

use super::figures::PairFigures;
use super::looks::towards_zero;
use super::words::of_losses;
use delaylab_model::units::format_share;
use delaylab_stats::two_samples::Shift;

/// A change of loss is mentioned if it is at least this share of all packets. Chosen by hand, as the next one.
pub(super) const WORTH_LOSS: f64 = 0.05;
/// A change that doubles or halves the loss is mentioned if it is at least this share of all packets.
const WORTH_DOUBLED: f64 = 0.001;

/// From A's share to B's, and what would tell.
pub(super) struct UnsureLoss {
    a: f64,
    b: f64,
    /// By how much it changes, 0 to 1.
    pub(super) by: f64,
    /// How many times as much data would tell, and data of what.
    more: Option<(f64, &'static str)>,
    /// Why there is no interval, where there is none: then not even chance says how far it goes.
    pub(super) why: Option<String>,
}

/// The change of a pair's loss, where it may be chance and is worth a word.
pub(super) fn unsure_loss(pair: &PairFigures, looks: usize) -> Option<UnsureLoss> {
    let (a, b) = (pair.loss.a?, pair.loss.b?);
    (is_worth_a_word(a, b) && !pair.loss_differs(looks)).then(|| UnsureLoss {
        a,
        b,
        by: (b - a).abs(),
        more: times_the_data(&pair.loss, looks),
        why: pair.loss.absolute.as_ref().err().map(|why| of_losses(why)),
    })
}

/// Is the change from this share of all packets to that one large enough?
pub(super) fn is_worth_a_word(a: f64, b: f64) -> bool {
    let by = (b - a).abs();
    by >= WORTH_LOSS || by >= WORTH_DOUBLED && a.max(b) >= 2.0 * a.min(b)
}

impl UnsureLoss {
    /// `loss from 0 % to 13 % in probe web may be chance: 3 times as many repeats would tell`, with where it is.
    pub(super) fn words(&self, place: &str) -> String {
        if let Some(why) = &self.why {
            let [a, b] = [self.a, self.b].map(format_share);
            return format!("undecided whether loss, {a} in A and {b} in B, differs{place}: {why}");
        }
        let more = self.more.map_or_else(String::new, |(times, what)| {
            format!(": {times} times as many {what} would tell")
        });
        let [a, b] = [self.a, self.b].map(format_share);
        format!("loss from {a} to {b}{place} may be chance{more}")
    }
}

/// How many times as much data would tell this difference from chance, if it stays what it is, and what there must be more
/// of. `None` where no interval says.
fn times_the_data(shift: &Shift, looks: usize) -> Option<(f64, &'static str)> {
    let (difference, reach) = towards_zero(shift, looks)?;
    // An interval shrinks with the root of what it is made of.
    let times = (reach / difference).powi(2).ceil();
    let what = match shift.absolute.as_ref().ok()?.from_packets < 1.0 {
        true => "repeats",
        false => "packets",
    };
    (times > 1.0 && times.is_finite()).then_some((times, what))
}
