//! What stands in the tables of a comparison, as text.

use crate::words::{UNKNOWN, both_ends, or_unknown, plural, short_name};
use delaylab_explain::compare::circumstances::Difference;
use delaylab_explain::compare::limits::LimitResult;
use delaylab_explain::compare::looks::is_clear;
use delaylab_explain::compare::statistic_name;
use delaylab_explain::compare::{Figures, PairFigures, Quantity};
use delaylab_lab::finding::Measure;
use delaylab_model::units::{format_share, format_signed_duration, format_signed_share, sign};
use delaylab_model::words::each_once;
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::summary::Counts;
use delaylab_stats::two_samples::Shift;

/// A statistic of a quantity in both runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What was compared.
    pub quantity: String,
    /// Its statistic: `p50`, `mean`.
    pub statistic: String,
    /// In the first run.
    pub a: String,
    /// In the second.
    pub b: String,
    /// B − A.
    pub difference: String,
    /// Of the difference, at 95 %.
    pub interval: String,
    /// The difference as a share of A.
    pub share: String,
    /// Of the share.
    pub share_interval: String,
    /// It leaves out zero, however many figures are looked at.
    pub is_clear: bool,
}

impl Row {
    /// Of which nothing is known.
    pub fn unknown() -> Self {
        let unknown = || UNKNOWN.to_owned();
        Self {
            quantity: String::new(),
            statistic: String::new(),
            a: unknown(),
            b: unknown(),
            difference: unknown(),
            interval: unknown(),
            share: unknown(),
            share_interval: unknown(),
            is_clear: false,
        }
    }
}

/// What was lost, and every statistic of every quantity that moves at all, or is not zero.
pub fn all(pair: &PairFigures, looks: usize) -> Vec<Row> {
    let shown = pair.figures.iter().filter(|figures| !is_nothing(figures));
    let shown =
        shown.flat_map(|figures| with_counts(pair, figures, rows(figures, looks, |_| true)));
    [loss(pair, looks)].into_iter().chain(shown).collect()
}

/// The share of packets that were never answered.
pub fn loss(pair: &PairFigures, looks: usize) -> Row {
    let Shift { a, b, absolute, .. } = &pair.loss;
    let share = |share: Option<f64>| or_unknown(share, format_share);
    let difference = pair.loss.difference();
    Row {
        quantity: "lost".to_owned(),
        a: share(*a),
        b: share(*b),
        difference: or_unknown(difference, format_signed_share),
        interval: ends(absolute.as_ref().ok(), |end| {
            format_signed_share(end.clamp(-1.0, 1.0))
        }),
        is_clear: pair.loss_differs(looks),
        ..Row::unknown()
    }
}

/// The stage with the largest share of the shift that the verdict names; empty where none is known.
pub fn mostly_in(pair: &PairFigures, headline: Measure, looks: usize) -> String {
    let stage = pair.mostly_in(headline, looks);
    stage.map_or_else(String::new, short_name)
}

/// What was lost, every statistic of the first quantity, and of the other measures median and p99.
pub fn most(pair: &PairFigures, looks: usize) -> Vec<Row> {
    let measures = pair.figures.iter();
    let measures = measures.filter(|f| matches!(f.quantity, Quantity::Measure(_)));
    let shown = measures.enumerate().flat_map(|(at, figures)| {
        let rows = rows(figures, looks, |statistic| {
            let few = [0.5, 0.99].map(Functional::Quantile);
            at == 0 || few.contains(&statistic)
        });
        with_counts(pair, figures, rows)
    });
    [loss(pair, looks)].into_iter().chain(shown).collect()
}

/// `network (n = 5 and 2)` where most packets that were answered have none: that is not what all of them take.
fn with_counts(pair: &PairFigures, figures: &Figures, mut rows: Vec<Row>) -> Vec<Row> {
    let counts = [figures.counts.0, figures.counts.1];
    let are_few = |(count, of): (&u64, &Counts)| count * 2 < of.answered();
    if counts != [0, 0] && counts.iter().zip(&pair.counts).any(are_few) {
        let [a, b] = counts;
        rows.iter_mut()
            .take(1)
            .for_each(|row| row.quantity += &format!(" (n = {a} and {b})"));
    }
    rows
}

/// A stage that takes no time in either run.
fn is_nothing(figures: &Figures) -> bool {
    let ends = figures.shifts.iter().flat_map(|s| [s.a, s.b]);
    matches!(figures.quantity, Quantity::Stages(_)) && ends.flatten().all(|end| end == 0.0)
}

/// The rows of these figures, but for statistics that are not to be shown. `looks` is how many are looked at in all.
pub fn rows(figures: &Figures, looks: usize, shown: impl Fn(Functional) -> bool) -> Vec<Row> {
    let shifts = figures.shifts.iter();
    let shifts = shifts.filter(|shift| shown(shift.statistic));
    let row = |(at, shift): (usize, &Shift)| Row {
        quantity: if at == 0 {
            figures.quantity.name()
        } else {
            String::new()
        },
        ..row(figures.quantity, shift, looks)
    };
    shifts.enumerate().map(row).collect()
}

/// A quantile of the headline; a row of which nothing is known where a side has none.
pub fn of_quantile(pair: &PairFigures, headline: Measure, q: f64) -> Row {
    let figures = pair.figures(headline).into_iter();
    let mut found = figures.flat_map(|figures| rows(figures, 1, |f| f == Functional::Quantile(q)));
    found.next().unwrap_or_else(Row::unknown)
}

/// A shift of a quantity, of which only the statistic is named.
pub fn row(quantity: Quantity, shift: &Shift, looks: usize) -> Row {
    let own = |value: Option<f64>| or_unknown(value, |value| plain(quantity, value));
    let change = |value: f64| signed(quantity, value);
    let difference = shift.difference();
    let relative = shift.relative.as_ref().ok();
    let share = difference.zip(shift.a.filter(|&a| a > 0.0));
    Row {
        quantity: String::new(),
        statistic: statistic_name(shift.statistic),
        a: own(shift.a),
        b: own(shift.b),
        difference: or_unknown(difference, change),
        interval: ends(shift.absolute.as_ref().ok(), change),
        share: or_unknown(share, |(difference, a)| format_signed_share(difference / a)),
        share_interval: ends(relative, format_signed_share),
        is_clear: is_clear(shift, looks),
    }
}

/// Both ends, and of how many packets where a side has no steady level.
fn ends(bounds: Option<&Bounds>, shown: impl Fn(f64) -> String) -> String {
    or_unknown(bounds, |bounds| {
        let both = both_ends([bounds.low, bounds.high], shown);
        match bounds.packets {
            None => both,
            Some(share) => format!("{both} ({} of the packets)", format_share(share)),
        }
    })
}

fn plain(quantity: Quantity, value: f64) -> String {
    quantity.dimension().format(value)
}

/// A difference, with its sign.
pub fn signed(quantity: Quantity, value: f64) -> String {
    if quantity.is_time() {
        return format_signed_duration(value);
    }
    sign(value).to_owned() + &plain(quantity, value.abs())
}

/// B less A, by stage and quantile: heads, then a row a stage, the last the response.
pub fn stages(pair: &PairFigures) -> (Vec<&'static str>, Vec<(String, Vec<String>)>) {
    let carried = &pair.carried;
    let heads = carried.iter().map(|carried| carried.at).collect();
    let parts = carried.iter().flat_map(|carried| &carried.stages);
    let sets = each_once(parts.map(|[a, _]| a.stages));
    let moved = |set| {
        let mut parts = carried.iter().flat_map(|carried| &carried.stages);
        parts.any(|[a, b]| a.stages == set && (a.ns, b.ns) != (0.0, 0.0))
    };
    let cells = |set| {
        let cell = carried.iter().map(move |carried| {
            let mut parts = carried.stages.iter();
            let found = parts.find(|[a, _]| a.stages == set);
            found.map_or_else(String::new, |[a, b]| format_signed_duration(b.ns - a.ns))
        });
        cell.collect()
    };
    let sets = sets.into_iter().filter(|set| moved(*set));
    let rows = sets.map(|set| (short_name(set), cells(set)));
    let sum = carried
        .iter()
        .map(|c| format_signed_duration(c.difference()));
    let sum = ("response".to_owned(), sum.collect());
    (heads, rows.chain([sum]).collect())
}

/// `2000 packets of 4 trials in A, 2000 of 4 in B`, and how many ended in other ways than answered or lost.
pub fn counts(pair: &PairFigures) -> String {
    let [a, b] = &pair.pair.streams;
    let [sent_a, sent_b] = pair.counts.each_ref().map(|counts| counts.sent);
    let trials = plural(a.len() as u64, "trial");
    let packets = plural(sent_a, "packet");
    let sent = format!("{packets} of {trials} in A, {sent_b} of {} in B", b.len());
    let [a, b] = &pair.counts;
    let others = [
        ("could not be sent", [a.local_error, b.local_error]),
        ("came back with other bytes", [a.corrupt, b.corrupt]),
    ];
    let others = others.into_iter().filter(|(_, both)| *both != [0, 0]);
    let others = others.map(|(what, [a, b])| format!("; {what}: {a} in A, {b} in B"));
    sent + &others.collect::<String>()
}

/// The tests of the headline in a line; empty where there are none.
pub fn tests(pair: &PairFigures, headline: Measure) -> String {
    let Some(tests) = &pair.tests else {
        return String::new();
    };
    let quantity = Quantity::Measure(headline);
    let p = |p: &Result<f64, String>| match p {
        Ok(p) if *p < 0.001 => "p < 0.1 %".to_owned(),
        Ok(p) => format!("p = {}", format_share(*p)),
        Err(_) => "no p".to_owned(),
    };
    format!(
        "Mann-Whitney: B's {1} is the larger in {0} of packet pairs ({2}); Kolmogorov-Smirnov: D = {3} ({4}); \
         Wasserstein: {5} apart on average ({6})",
        format_share(tests.mann_whitney.share_less),
        quantity.name(),
        p(&tests.mann_whitney.p),
        format_share(tests.kolmogorov_smirnov.value),
        p(&tests.kolmogorov_smirnov.p),
        plain(quantity, tests.wasserstein.value),
        p(&tests.wasserstein.p),
    )
}

/// `wait=1ms: `, of each level that `for each` fixed.
pub fn levels(held: &LimitResult) -> String {
    let levels = held.levels.iter();
    levels.map(|level| format!("{level}: ")).collect()
}

/// `what`, in A, in B.
pub fn circumstance(difference: &Difference) -> [String; 3] {
    let end = |end: &Option<String>| or_unknown(end.as_deref(), str::to_owned);
    [
        difference.what.clone(),
        end(&difference.a),
        end(&difference.b),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_print_alike_are_one_number() {
        let of = |low, high, packets| {
            let bounds = Bounds {
                low,
                high,
                repeats_differ: false,
                degrees: 1000,
                from_packets: 1.0,
                packets,
            };
            ends(Some(&bounds), format_signed_duration)
        };
        assert_eq!(of(13.0e6, 13.6e6, None), "+13.0 ms to +13.6 ms");
        assert_eq!(of(13.3e6, 13.300_1e6, None), "+13.3 ms, both ends");
        let packets = of(13.3e6, 13.3e6, Some(0.9));
        assert_eq!(packets, "+13.3 ms, both ends (90 % of the packets)");
        let endless = of(f64::NEG_INFINITY, f64::INFINITY, None);
        assert_eq!(endless, "no end to no end");
    }
}
