//! Which known period a found one is.

use super::Period;

/// A process that returns may be met only every second, third, … time.
const MOST_SKIPPED: u32 = 10;
/// It may act several times a period.
const MOST_TIMES: u32 = 4;
/// This share of the sets of periods that have nothing to do with the one found may have one that is related to it.
const BY_CHANCE: f64 = 0.05;
/// The longest period of processes is about this many times the shortest.
const SPREAD: f64 = 100.0;
/// A known period is not more exact than this.
const TOLERANCE: f64 = 0.001;
/// And this where a small difference of it is what is seen.
const BEAT_TOLERANCE: f64 = 1e-4;

/// How a known period relates to the one found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They are the same.
    Same,
    /// The one found is so many times the known one: the process is met every so many times.
    EveryNth(u32),
    /// The known one is so many times the one found: the process acts so many times a period.
    TimesAPeriod(u32),
    /// Probes are on a grid, and the process meets them several times in a row whenever it comes round
    /// to the same place of their grid: the one found is the time that this takes.
    Beat,
}

/// A known period that may be the cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Its name.
    pub name: String,
    /// The period by that name, ns.
    pub period_ns: f64,
    /// How it relates to the one found.
    pub relation: Relation,
}

/// Which of these known periods (ns) the found one may be, the closest relation first. Periods match
/// that are within three standard errors or 0.1 %, whichever is more. A relation is tried only where few periods that have
/// nothing to do with the one found would have it, or a closer one: at most one of twenty sets of them.
pub fn matching(period: &Period, known: &[(&str, f64)]) -> Vec<Match> {
    let tolerance = (3.0 * period.error).max(TOLERANCE);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() <= tolerance;
    // A period that has nothing to do with it is within the tolerance of one relation by chance: of all that differ, those.
    let mut periods: Vec<f64> = known.iter().map(|known| known.1).collect();
    periods.sort_by(f64::total_cmp);
    periods.dedup_by(|a, b| near(*a, *b));
    let tries = BY_CHANCE * SPREAD.ln() / (2.0 * tolerance * periods.len() as f64);
    let most = |relations: u32| (tries as u32).clamp(1, relations);
    let of = |&(name, known): &(&str, f64)| {
        let relation = (1..=most(MOST_SKIPPED))
            .find(|&n| near(period.period_ns, f64::from(n) * known))
            .map(Relation::EveryNth)
            .or_else(|| {
                let times =
                    (2..=most(MOST_TIMES)).find(|&n| near(f64::from(n) * period.period_ns, known));
                times.map(Relation::TimesAPeriod)
            })
            .or_else(|| beats(period, known).then_some(Relation::Beat))?;
        Some(Match {
            name: name.to_owned(),
            period_ns: known,
            relation: match relation {
                Relation::EveryNth(1) => Relation::Same,
                other => other,
            },
        })
    };
    let mut matches: Vec<Match> = known.iter().filter_map(of).collect();
    matches.sort_by_key(|found| match found.relation {
        Relation::Same => 1,
        Relation::EveryNth(n) | Relation::TimesAPeriod(n) => n,
        Relation::Beat => u32::MAX,
    });
    matches
}

/// Is the frequency found what is between the grid's and the nearest multiple of this one's?
fn beats(period: &Period, known: f64) -> bool {
    let Some(grid) = period.grid_ns else {
        return false;
    };
    let times = (known / grid).round();
    let found = 1.0 / period.period_ns;
    let beat = (times / known - 1.0 / grid).abs();
    let unsure = 3.0 * period.error * found + BEAT_TOLERANCE * times / known;
    times >= 1.0 && (beat - found).abs() <= unsure
}
