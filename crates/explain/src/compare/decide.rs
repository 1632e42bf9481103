//! What came out of a pair, in a sentence, the size of the effect first.

use super::figures::{Figures, PairFigures, Silent, Tests};
use super::looks::{ALPHA, EFFECTIVE_TESTS_PER_PAIR, apart_from, is_clear, stretch, towards_zero};
use super::outage;
use super::unanswered::unanswered;
use super::unsure_loss::unsure_loss;
use super::values::Quantity;
use super::verdict::{Kind, Verdict};
use super::words::{change, how_sure, is_told_by, name, shown, statistic_name};
use delaylab_lab::finding::Measure;
use delaylab_model::units::{format_share, format_signed_share};
use delaylab_model::words::capitalised;
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::interval::MIN_BEYOND;
use delaylab_stats::two_samples::Shift;

/// The verdict on a pair, allowing for this many independent tests.
pub(super) fn decide(found: &PairFigures, headline: Measure, looks: usize) -> Verdict {
    let loss = of_loss(found, looks);
    let figures = found.figures(headline);
    let figures = figures.filter(|figures| figures.counts.0 > 0 && figures.counts.1 > 0);
    let delay = match figures {
        Some(figures) => Some(of_figures(headline, figures, found, looks)),
        // Where the packets went says why there is no delay.
        None if loss.is_some() => None,
        None => Some(unknown(found, headline)),
    };
    let unsure = unsure_loss(found, looks);
    let unanswered = unanswered(found);
    let is_changed = unanswered.as_ref().is_some_and(|change| change.is_clear);
    let is_unknown = unsure.as_ref().is_some_and(|unsure| unsure.why.is_some());
    let kind = match (&loss, &delay) {
        (Some(_), _) => Kind::Differs,
        _ if is_changed => Kind::Differs,
        // Without an interval it may be as large as it looks.
        (None, Some(delay)) if delay.kind == Kind::NoDifference && is_unknown => Kind::Undecided,
        (None, delay) => delay.as_ref().map(|delay| delay.kind).unwrap_or_default(),
    };
    let unsure = unsure.map(|unsure| format!("{}.", capitalised(&unsure.words(""))));
    let unanswered = unanswered.map(|unanswered| format!("{}.", unanswered.words));
    // A loss of which not even chance says how far it goes comes before delays of what was answered.
    let (unknown, perhaps) = match is_unknown {
        true => (unsure, None),
        false => (None, unsure),
    };
    let delay = delay.map(|delay| delay.text);
    let sentences = [loss, unknown, delay, perhaps, unanswered];
    let sentences: Vec<_> = sentences.into_iter().flatten().collect();
    Verdict {
        kind,
        text: sentences.join(" "),
    }
}

fn unknown(found: &PairFigures, headline: Measure) -> Verdict {
    if found.is_never_answered() {
        let [a, b] = found.outages.each_ref().map(|side| side.ends.words());
        return Verdict {
            kind: Kind::Undecided,
            text: format!("Neither run is answered: in A {a}, in B {b}."),
        };
    }
    let why = found.missing.iter();
    let mut why = why.filter(|(quantity, _)| *quantity == Quantity::Measure(headline));
    let why = why.next().map_or("there are no values", |(_, why)| why);
    let name = name(headline);
    Verdict {
        kind: Kind::Undecided,
        text: format!("Undecided whether {name} differs: {why}."),
    }
}

const MEDIAN: Functional = Functional::Quantile(0.5);
const TAIL: Functional = Functional::Quantile(0.99);

/// Of which statistic a verdict tells the shift, the first that is clear. Tails first: they are what users notice, and what a mean
/// hides. What the path takes without a queue where nothing else can be told.
const TOLD_FIRST: [Functional; 6] = [
    TAIL,
    MEDIAN,
    Functional::Mean,
    Functional::Quantile(0.9),
    Functional::Quantile(0.999),
    Functional::Quantile(0.05),
];

/// The shift that the verdict tells: the first clear one.
pub(super) fn told(shifts: &[Shift], looks: usize) -> Option<&Shift> {
    let in_order = TOLD_FIRST.iter();
    let mut in_order = in_order.filter_map(|&statistic| shift_of(shifts, statistic));
    in_order.find(|shift| is_clear(shift, looks))
}

pub(super) fn shift_of(shifts: &[Shift], statistic: Functional) -> Option<&Shift> {
    shifts.iter().find(|shift| shift.statistic == statistic)
}

impl PairFigures {
    /// The stage with the largest share of the shift that the verdict names; `None` where none is known.
    pub fn mostly_in(&self, measure: Measure, looks: usize) -> Option<StageSet> {
        let shift = told(&self.figures(measure)?.shifts, looks)?;
        let shares = self.carried_at(measure, shift)?.shares();
        shares.first().map(|(stages, _)| *stages)
    }
}

fn of_figures(measure: Measure, figures: &Figures, found: &PairFigures, looks: usize) -> Verdict {
    let shifts = &figures.shifts;
    if let Some(shift) = told(shifts, looks) {
        let carried = found.carried_words("; ", measure, shift);
        let median = shift_of(shifts, MEDIAN);
        let median = median.filter(|median| median.statistic != shift.statistic);
        return Verdict {
            kind: Kind::Differs,
            text: differs(measure, shift, &carried)
                + &median.map_or_else(String::new, |median| median_clause(measure, median, looks))
                + &further(measure, shift, shifts, looks)
                + &no_level(measure, shifts)
                + &unknown_tail(figures),
        };
    }
    let verdict = no_shift(measure, figures, found.tests.as_ref(), looks);
    Verdict {
        text: verdict.text + &of_parts(found, measure, looks),
        ..verdict
    }
}

/// ` B's p50 forward path is clearly 150 µs (7.1 %) longer than A's, at 95 % between 120 µs and 180 µs.`: the noise of a host may hide
/// in the whole what a part shows. Of stages, and of the network and the host, the largest change each that is clear. One way alone is
/// so only by more than the clocks of two hosts may be apart.
fn of_parts(found: &PairFigures, whole: Measure, looks: usize) -> String {
    if !matches!(whole, Measure::Response | Measure::RoundTrip) {
        return String::new();
    }
    let is_place = |quantity| {
        matches!(
            quantity,
            Quantity::Measure(Measure::Network | Measure::Host)
        )
    };
    let is_stage = |quantity| matches!(quantity, Quantity::Stages(_));
    let is_one_way = |quantity| match quantity {
        Quantity::Stages(set) => {
            set.contains(Stage::ForwardPath) != set.contains(Stage::ReturnPath)
        }
        Quantity::Measure(_) => false,
    };
    let all = found.figures.iter();
    let parts = all.filter(|figures| is_place(figures.quantity) || is_stage(figures.quantity));
    let parts: Vec<&Figures> = parts.collect();
    let looks = looks * (1 + parts.len());
    let is_of_clocks = |quantity, shift: &Shift| {
        let least = towards_zero(shift, looks).map_or(0.0, |(by, reach)| by - reach);
        found.clock_error > 0.0 && is_one_way(quantity) && least <= found.clock_error
    };
    let largest = |is_one: &dyn Fn(Quantity) -> bool| {
        let of = parts.iter().filter(|figures| is_one(figures.quantity));
        let clear =
            of.filter_map(|figures| Some((figures.quantity, told(&figures.shifts, looks)?)));
        let clear = clear.filter(|(quantity, shift)| !is_of_clocks(*quantity, shift));
        let by = |shift: &Shift| shift.difference().unwrap_or(0.0).abs();
        clear.max_by(|a, b| by(a.1).total_cmp(&by(b.1)))
    };
    // All of them are times, as this is.
    let time = Measure::Network;
    let said = [largest(&is_place), largest(&is_stage)];
    let said = said.into_iter().flatten().map(|(quantity, shift)| {
        format!(
            " B's {} {} is clearly {} than A's{}.",
            statistic_name(shift.statistic),
            quantity.name(),
            by(time, shift),
            interval(time, shift)
        )
    });
    said.collect()
}

/// `B's p99 response is 1.20 ms (34 %) longer than A's, at 95 % between 0.90 ms and 1.50 ms; 80 % of that
/// is in the local queue.`
fn differs(measure: Measure, shift: &Shift, carried: &str) -> String {
    let (statistic, name) = (statistic_name(shift.statistic), name(measure));
    let (by, interval) = (by(measure, shift), interval(measure, shift));
    format!("B's {statistic} {name} is {by} than A's{interval}{carried}.")
}

/// ` Its median is 20 µs (2.1 %) longer.`, or that no difference of it can be told, which may still be larger than the one that is.
fn median_clause(measure: Measure, median: &Shift, looks: usize) -> String {
    if is_clear(median, looks) {
        return format!(" The median is {}.", by(measure, median));
    }
    match seen(measure, median, looks) {
        Some(ClearDifference::Any) => " The median is the same.".to_owned(),
        Some(ClearDifference::Beyond(most)) => {
            format!(
                " No difference of the median can be shown; one of more than {most} would have been seen."
            )
        }
        None => String::new(),
    }
}

/// ` Its p99.9 is 45 ms (900 %) longer.`, or, where it goes the other way, ` Yet its p99.9 is 45 ms (90 %) shorter.`: of the clear
/// shifts of which the one in the sentence says nothing, the furthest each way. That of the median is said anyway.
fn further(measure: Measure, told: &Shift, shifts: &[Shift], looks: usize) -> String {
    let moved = |shift: &Shift| change(measure, shift).unwrap_or(0.0);
    let furthest = |is_other_way: bool| {
        let others = shifts.iter().filter(|shift| {
            let is_of_way = (moved(shift) * moved(told) < 0.0) == is_other_way;
            let is_said = shift.statistic == MEDIAN || is_told_by(moved(told), moved(shift));
            is_of_way && !is_said && is_clear(shift, looks)
        });
        others.max_by(|a, b| moved(a).abs().total_cmp(&moved(b).abs()))
    };
    let both = [(" Its", furthest(false)), (" Yet its", furthest(true))];
    let said = both.into_iter().filter_map(|(its, shift)| {
        let (name, by) = (statistic_name(shift?.statistic), by(measure, shift?));
        Some(format!("{its} {name} is {by}."))
    });
    said.collect()
}

/// ` B rises from 16.0 ms to 2.00 s within the trial: it has no steady level.`, where the medians differ clearly in spite of that.
fn no_level(measure: Measure, shifts: &[Shift]) -> String {
    let apart = shifts.iter().find_map(|shift| shift.apart);
    let drifts = apart.map(|apart| apart.drifts).unwrap_or_default();
    let said = ["A", "B"]
        .into_iter()
        .zip(drifts)
        .filter_map(|(side, drift)| {
            let drift = drift?;
            let verb = match drift.to > drift.from {
                true => "rises",
                false => "falls",
            };
            let [from, to] = [drift.from, drift.to].map(|value| shown(measure, value));
            Some(format!(
                " {side} {verb} from {from} to {to} within a trial: it has no steady level."
            ))
        });
    said.collect()
}

/// Nobody should take a p99 without an interval for one that has not moved.
fn unknown_tail(figures: &Figures) -> String {
    let tail = shift_of(&figures.shifts, TAIL);
    match tail.map(|tail| tail.absolute.is_err()) {
        Some(true) => format!(" There are {}.", too_few_for_tail(figures)),
        _ => String::new(),
    }
}

/// `too few packets to judge p99`, or too few that do not depend on each other, which longer trials have.
fn too_few_for_tail(figures: &Figures) -> &'static str {
    let least = figures.counts.0.min(figures.counts.1);
    match least as f64 * 0.01 < MIN_BEYOND {
        true => "too few packets to judge p99",
        false => "too few independent packets to judge p99",
    }
}

/// `1.20 ms (34 %) longer`.
fn by(measure: Measure, shift: &Shift) -> String {
    let difference = shift.difference().unwrap_or(0.0);
    let word = match (is_delay(measure), difference > 0.0) {
        (true, true) => "longer",
        (true, false) => "shorter",
        (false, true) => "larger",
        (false, false) => "smaller",
    };
    let share = shift.relative.as_ref().ok().and(shift.a);
    let share = share.map_or_else(String::new, |a| {
        format!(" ({})", format_share((difference / a).abs()))
    });
    format!("{}{share} {word}", shown(measure, difference.abs()))
}

/// `, at 95 % between 0.90 ms and 1.50 ms`, or of packets where a side has no steady level. Ends that differ by less than is printed
/// are not said to be two.
fn interval(measure: Measure, shift: &Shift) -> String {
    let Ok(bounds) = &shift.absolute else {
        return String::new();
    };
    let (near, far) = match shift.difference() {
        Some(difference) if difference < 0.0 => (-bounds.high, -bounds.low),
        _ => (bounds.low, bounds.high),
    };
    let repeats = if bounds.repeats_differ {
        " (from the spread of repeats)"
    } else {
        ""
    };
    let sure = how_sure(bounds.packets);
    let (near, far) = (shown(measure, near), shown(measure, far));
    match near == far {
        true => format!(", {sure} exact to the last digit{repeats}"),
        false => format!(", {sure} between {near} and {far}{repeats}"),
    }
}

const fn is_delay(measure: Measure) -> bool {
    use Measure::{Delay, Host, Network, Response, RoundTrip, Stage};
    matches!(
        measure,
        Response | RoundTrip | Network | Host | Delay | Stage(_)
    )
}

fn no_shift(measure: Measure, figures: &Figures, tests: Option<&Tests>, looks: usize) -> Verdict {
    let (shifts, name) = (&figures.shifts, name(measure));
    let mut known = shifts.iter().filter_map(Shift::difference).peekable();
    if known.peek().is_some() && known.all(|difference| difference == 0.0) {
        return Verdict {
            kind: Kind::NoDifference,
            text: format!("B's {name} equals A's in the mean and in every quantile."),
        };
    }
    let seen = |statistic, name: &str| {
        let most = shift_of(shifts, statistic).and_then(|shift| seen(measure, shift, looks))?;
        Some(match most {
            ClearDifference::Any => format!("in {name}"),
            ClearDifference::Beyond(most) => format!("of more than {most} in {name}"),
        })
    };
    let Some(median) = seen(MEDIAN, "the median") else {
        let why = shift_of(shifts, MEDIAN).and_then(|shift| shift.absolute.as_ref().err());
        let why = why.map_or("its interval has no end", String::as_str);
        return Verdict {
            kind: Kind::Undecided,
            text: format!("Undecided whether {name} differs: {why}."),
        };
    };
    let (a, b) = figures.counts;
    let within = match seen(TAIL, "p99") {
        Some(tail) => format!("one {median} or {tail} would have been seen."),
        None => {
            let few = too_few_for_tail(figures);
            format!("one {median} would have been seen; there are {few}.")
        }
    };
    Verdict {
        kind: Kind::NoDifference,
        text: format!(
            "No difference in {name} can be distinguished from chance, with {a} packets of A and {b} of B: {within}"
        ) + &tests.map_or_else(String::new, |tests| shape(tests, looks)),
    }
}

/// What no shift of a mean or quantile shows. Only a hint: p knows nothing of trials that differ, the intervals do. With many
/// pairs no p is small enough, and the smallest that there is must do.
fn shape(tests: &Tests, looks: usize) -> String {
    let distance = &tests.kolmogorov_smirnov;
    let by_chance = ALPHA * EFFECTIVE_TESTS_PER_PAIR as f64 / looks.max(1) as f64;
    match distance.p {
        Ok(p) if p <= by_chance.max(distance.least_p) => format!(
            " Yet their distributions may differ in shape, by as much as {} of the packets (Kolmogorov-Smirnov, \
             p = {}).",
            format_share(distance.value),
            format_share(p)
        ),
        _ => String::new(),
    }
}

/// Which difference lies outside of the interval.
enum ClearDifference {
    Any,
    /// One of more than this.
    Beyond(String),
}

fn seen(measure: Measure, shift: &Shift, looks: usize) -> Option<ClearDifference> {
    let far = |bounds: &Bounds, value: f64| {
        let reach = (value - bounds.low).max(bounds.high - value);
        value.abs() + stretch(bounds, looks) * reach
    };
    let told = |far: f64, shown: &dyn Fn(f64) -> String| match far {
        0.0 => Some(ClearDifference::Any),
        far => far.is_finite().then(|| ClearDifference::Beyond(shown(far))),
    };
    let difference = shift.difference()?;
    let apart = apart_from(shift, looks);
    if let (Ok(bounds), Some(a)) = (&shift.relative, shift.a) {
        return told(far(bounds, difference / a).min(apart / a), &format_share);
    }
    let bounds = shift.absolute.as_ref().ok()?;
    told(far(bounds, difference).min(apart), &|far| {
        shown(measure, far)
    })
}

/// `B loses 3.1 % of its packets and A 0.20 %: …`.
fn of_loss(found: &PairFigures, looks: usize) -> Option<String> {
    let loss = &found.loss;
    if let Some(silent) = found.silent {
        return Some(of_silence(found, silent));
    }
    let (a, b) = (loss.a?, loss.b?);
    let bounds = loss.absolute.as_ref().ok();
    let told = bounds.filter(|_| is_clear(loss, looks)).map(|bounds| {
        let [a, b] = [a, b].map(format_share);
        let [low, high] =
            [bounds.low, bounds.high].map(|end| format_signed_share(end.clamp(-1.0, 1.0)));
        let ends = match low == high {
            true => low,
            false => format!("between {low} and {high}"),
        };
        format!(
            "B loses {b} of its packets and A {a}: the difference is at 95 % {ends} of all packets"
        )
    });
    let change = outage::change(&found.outages, [a, b], told.as_deref());
    change.or_else(|| told.map(|told| told + "."))
}

/// `B is never answered: all of its 2000 packets are lost, and 0 % of A's.`
fn of_silence(found: &PairFigures, silent: Silent) -> String {
    let [a, b] = found.outages.each_ref().map(|side| side.ends);
    let (side, other, ends, lost) = match silent {
        Silent::A => ("A", "B", a, found.loss.b),
        Silent::B => ("B", "A", b, found.loss.a),
    };
    let (words, lost) = (ends.words(), format_share(lost.unwrap_or(0.0)));
    match ends.are_lost() {
        true => format!("{side} is never answered: {words}, and {lost} of {other}'s."),
        false => format!("{side} is never answered: {words}; {other} loses {lost}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_stats::two_samples::{Distance, MannWhitney};

    /// What the sentence tells, and where it says that is: not of another statistic.
    #[test]
    fn the_first_clear_shift_is_told() {
        let shift = |statistic, is_clear: bool| Shift {
            statistic,
            a: Some(1e6),
            b: Some(3e6),
            absolute: Ok(Bounds {
                low: if is_clear { 1.9e6 } else { -1e6 },
                high: 2.1e6,
                repeats_differ: false,
                degrees: 1000,
                from_packets: 1.0,
                packets: None,
            }),
            relative: Err(String::new()),
            apart: None,
            levels: None,
        };
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(Functional::Quantile);
        let of = |clear: &[Functional]| {
            let shifts = [p50, p99, p999].map(|f| shift(f, clear.contains(&f)));
            told(&shifts, EFFECTIVE_TESTS_PER_PAIR).map(|shift| shift.statistic)
        };
        assert_eq!(of(&[p50, p999]), Some(p50));
        assert_eq!(of(&[p50, p99, p999]), Some(p99));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn an_interval_within_the_last_digit_is_not_the_same_number_twice() {
        let of = |low, high, packets| {
            let shift = Shift {
                statistic: MEDIAN,
                a: Some(1e6),
                b: Some(14.3e6),
                absolute: Ok(Bounds {
                    low,
                    high,
                    repeats_differ: false,
                    degrees: 1000,
                    from_packets: 1.0,
                    packets,
                }),
                relative: Err(String::new()),
                apart: None,
                levels: None,
            };
            interval(Measure::Response, &shift)
        };
        let exact = of(13.3e6, 13.300_1e6, None);
        assert_eq!(exact, ", at 95 % exact to the last digit");
        let packets = of(13.3e6, 13.3e6, Some(0.9));
        assert_eq!(
            packets,
            ", for nine tenths of the packets exact to the last digit"
        );
        let wide = of(13.0e6, 13.6e6, None);
        assert_eq!(wide, ", at 95 % between 13.0 ms and 13.6 ms");
    }

    #[test]
    fn packets_that_depend_on_each_other_are_not_said_to_be_few() {
        let figures = |counts| Figures {
            quantity: Quantity::Measure(Measure::Response),
            counts,
            shifts: Vec::new(),
        };
        let few = too_few_for_tail(&figures((300, 100_000)));
        assert_eq!(few, "too few packets to judge p99");
        let many = too_few_for_tail(&figures((100_000, 100_000)));
        assert_eq!(many, "too few independent packets to judge p99");
    }

    /// No p is smaller than that of all deals none of which is as far apart. Of many values there are fewer deals.
    #[test]
    fn a_shape_is_hinted_at_however_many_pairs_there_are() {
        let distance = |p, least_p| Distance {
            value: 0.2,
            by_chance: None,
            p: Ok(p),
            least_p,
        };
        let tests = |p, least_p| Tests {
            counts: (1000, 1000),
            mann_whitney: MannWhitney {
                u: 0.0,
                share_less: 0.5,
                z: None,
                p: Ok(1.0),
            },
            kolmogorov_smirnov: distance(p, least_p),
            wasserstein: distance(1.0, least_p),
        };
        let is_said = |p, deals: u32, pairs| {
            let least_p = 1.0 / f64::from(deals + 1);
            !shape(&tests(p, least_p), EFFECTIVE_TESTS_PER_PAIR * pairs).is_empty()
        };
        for (deals, pairs) in [(1000, 1), (1000, 51), (1000, 200), (200, 12), (200, 51)] {
            let least_p = 1.0 / f64::from(deals + 1);
            assert!(is_said(least_p, deals, pairs), "{deals} {pairs}");
            assert!(!is_said(0.06, deals, pairs), "{deals} {pairs}");
        }
        assert!(!is_said(1.0 / 201.0, 1000, 12));
    }
}
