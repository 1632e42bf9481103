//! Events that only one side has, such as losses: in each of its trials, and in none of the other side's.

use crate::comparison::{Part, Statistic};
use crate::functional::Basis;
use crate::outage;

/// Of fewer trials a side it may be chance which of them have any.
const TRIALS: usize = 3;
/// So rarely events of one law fall so by chance.
const RARE: f64 = 1e-4;

/// Packets of a side, and rows of packets one after the other that the share counts.
#[derive(Default)]
struct Events {
    packets: usize,
    rows: usize,
    /// Trials, and those that have any.
    trials: usize,
    with_any: usize,
}

/// Does each trial of one side have events, and none of the other side's?
pub(super) fn only_on_one_side(sides: &[Statistic<'_>; 2]) -> bool {
    let [Some(a), Some(b)] = sides.each_ref().map(of_side) else {
        return false;
    };
    let (with, without) = match a.rows > b.rows {
        true => (a, b),
        false => (b, a),
    };
    let are_enough = with.trials.min(without.trials) >= TRIALS;
    let is_one_sided = without.rows == 0 && with.rows > 0 && with.with_any == with.trials;
    // Fisher's exact test: how likely all of them are on that side.
    let chance =
        || outage::all_lost_by_chance(with.packets + without.packets, with.packets, with.rows);
    are_enough && is_one_sided && chance() < RARE
}

/// `None` of what is no share.
fn of_side(side: &Statistic<'_>) -> Option<Events> {
    let Basis::Share { beyond, bound } = side.statistic().basis() else {
        return None;
    };
    let mut events = Events::default();
    for Part { values, .. } in side.parts() {
        let known = values.iter().filter(|value| !value.is_nan());
        let flags: Vec<bool> = known.map(|&value| beyond.holds(value, bound)).collect();
        let rows = flags.chunk_by(|a, b| a == b).filter(|row| row[0]).count();
        events.packets += flags.len();
        events.rows += rows;
        events.trials += 1;
        events.with_any += usize::from(rows > 0);
    }
    Some(events)
}
