//! Shifts, tests and loss of a pair.

use super::asked::{ComparisonRequest, SEED, SERVER};
use super::carried::{self, Carried};
use super::outage::{Outages, significant};
use super::pairs::Pair;
use super::values::{Quantity, Side, Trials, few};
use super::verdict::Verdict;
use super::words::statistic_name;
use delaylab_lab::EXACT_LIMIT;
use delaylab_lab::finding::{Data, Measure};
use delaylab_model::trial::{RecordFacts, ReflectorClock};
use delaylab_stats::anatomy::StageSet;
use delaylab_stats::functional::{Beyond, Functional};
use delaylab_stats::quantile::carries;
use delaylab_stats::summary::{Counts, Summary, SummaryBuilder};
use delaylab_stats::two_samples::{self, Distance, MannWhitney, SHIFTS, Series, Shift};

/// What changed in one pair.
#[derive(Debug, Clone)]
pub struct PairFigures {
    /// Which.
    pub pair: Pair,
    /// It is of handshakes that `ping` made during its requests. They show what the network takes; what is said of all pairs leaves them
    /// out.
    pub is_auxiliary: bool,
    /// How packets ended, in A and in B.
    pub counts: [Counts; 2],
    /// The share of packets that were never answered.
    pub loss: Shift,
    /// Trials from some packet of which on nothing was answered any more, of A and of B.
    pub outages: [Outages; 2],
    /// The side that is never answered, where the other one is and that is no chance, allowing for all pairs.
    pub silent: Option<Silent>,
    /// Not all trials of both runs measure the time in the reflector up to the same moment: network includes it in both.
    pub joins_reflector: bool,
    /// Does another tool's summary stand for packets that have no records, in A and in B?
    pub from_summary: [bool; 2],
    /// By how much one way may differ for no other reason than that the hosts' clocks do: the largest error of each side, ns.
    pub clock_error: f64,
    /// What both have, and what one has of which the other one lost everything.
    pub figures: Vec<Figures>,
    /// What one of them lacks, and why.
    pub missing: Vec<(Quantity, String)>,
    /// Of the headline; `None` where one of them has no values of it.
    pub tests: Option<Tests>,
    /// At the mean and at each quantile.
    pub carried: Vec<Carried>,
    /// Shifts of the headline at many quantiles, where they were asked for.
    pub curve: Vec<Point>,
    /// The headline's value at each share of the packets, of A and of B, where that was asked for.
    pub distributions: [Vec<AtShare>; 2],
    /// One of so many packets stands for all of them in shifts and tests, in A and in B.
    pub thinned: [usize; 2],
    /// In a sentence.
    pub verdict: Verdict,
}

/// Shifts of a quantity.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Of what.
    pub quantity: Quantity,
    /// Values in A and in B.
    pub counts: (u64, u64),
    /// Of mean, p5, p50, p90, p99 and p99.9.
    pub shifts: Vec<Shift>,
}

/// Tests of the headline.
#[derive(Debug, Clone, PartialEq)]
pub struct Tests {
    /// Packets of A and of B that they went through.
    pub counts: (u64, u64),
    /// Mann and Whitney's.
    pub mann_whitney: MannWhitney,
    /// Kolmogorov and Smirnov's.
    pub kolmogorov_smirnov: Distance,
    /// Wasserstein's distance.
    pub wasserstein: Distance,
}

/// A quantile of the headline.
#[derive(Debug, Clone)]
pub struct Point {
    /// 0 to 1.
    pub quantile: f64,
    /// How far it moved.
    pub shift: Shift,
}

/// A value that so many packets have at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtShare {
    /// 0 to 1.
    pub share: f64,
    /// In the headline's unit.
    pub value: f64,
}

/// Quantiles of the figure: denser where tails are.
const CURVE: [f64; 17] = [
    0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999,
];

/// The side that is never answered where the other one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// A alone.
    A,
    /// B alone.
    B,
}

impl Silent {
    /// The side of which nothing was answered, and how likely that is by chance.
    fn with_p([a, b]: &[Outages; 2]) -> Option<(Self, f64)> {
        let chance = |own: &Outages, other: &Outages| own.ends.p_of_silence(other.ends);
        let of_a = chance(a, b).map(|chance| (Silent::A, chance));
        of_a.or_else(|| chance(b, a).map(|chance| (Silent::B, chance)))
    }
}

/// Says of each pair which side is never answered, where that is no chance.
pub(super) fn find_silent(pairs: &mut [PairFigures]) {
    let found = pairs.iter().map(|pair| Silent::with_p(&pair.outages));
    let (sides, p_values): (Vec<_>, Vec<_>) = found.map(Option::unzip).unzip();
    let is_significant = significant(&p_values);
    for (pair, (side, is_significant)) in
        pairs.iter_mut().zip(sides.into_iter().zip(is_significant))
    {
        pair.silent = side.filter(|_| is_significant);
    }
}

impl PairFigures {
    /// Of this measure.
    pub fn figures(&self, measure: Measure) -> Option<&Figures> {
        let mut all = self.figures.iter();
        all.find(|figures| figures.quantity == Quantity::Measure(measure))
    }

    /// The stages that a shift of the response is made of; `None` where the records around it do not move as it does. Those of p5
    /// are kept nowhere: if the median moved as far, it is of the same stages.
    pub(super) fn carried_at(&self, measure: Measure, shift: &Shift) -> Option<&Carried> {
        let at = match shift.statistic {
            Functional::Quantile(q) if q < 0.5 => "p50".to_owned(),
            statistic => statistic_name(statistic),
        };
        let mut carried = self.carried.iter();
        let carried = carried.find(|carried| carried.at == at && measure == Measure::Response);
        carried.filter(|carried| carried.moves_by(shift.difference().unwrap_or(0.0)))
    }

    /// After this separator, those stages; empty where they do not say.
    pub(super) fn carried_words(&self, separator: &str, measure: Measure, shift: &Shift) -> String {
        let carried = self.carried_at(measure, shift);
        let words = carried.map(|carried| carried.words(shift.difference().unwrap_or(0.0)));
        let words = words.filter(|words| !words.is_empty());
        words.map_or_else(String::new, |words| format!("{separator}{words}"))
    }

    /// Was no packet of either answered, of more than a few?
    pub(super) fn is_never_answered(&self) -> bool {
        self.outages.iter().all(|side| side.ends.is_silent())
    }

    /// Is one side never answered, or far less so to the end of trials than the other one?
    pub(super) fn is_outage(&self) -> bool {
        let [a, b] = &self.outages;
        self.silent.is_some() || a.is_worse_than(b) || b.is_worse_than(a)
    }
}

/// The figures of a pair without what depends on other pairs: [`super::compare`] fills in `silent` and `verdict`.
pub(super) fn compare_pair(
    pair: &Pair,
    data: [&dyn Data; 2],
    request: &ComparisonRequest,
) -> PairFigures {
    let facts = pair.facts(data);
    let shared = RecordFacts::shared(facts.clone());
    let said = [0, 1].map(|side| ImportedSummary::new(data[side], &pair.streams[side]));
    let summaries =
        [0, 1].map(|side| summary(data[side], &pair.streams[side], shared, &said[side]));
    let carried = carried::at_every_quantile(&summaries[0], &summaries[1]);
    let packets = [0, 1].map(|side: usize| total(&summaries[side].counts));
    let residence = shared.known_residence();
    let side = |side: usize| Side::new(data[side], &pair.streams[side], residence, packets[side]);
    let sides = [0, 1].map(side);
    let streams = pair.streams.each_ref().map(Vec::as_slice);
    let outages = Outages::of_both(data, streams);
    let mut found = PairFigures {
        counts: summaries.map(|summary| summary.counts),
        loss: loss(&sides),
        silent: None,
        from_summary: said.each_ref().map(|said| !said.streams.is_empty()),
        outages,
        joins_reflector: facts
            .iter()
            .any(|facts| facts.known_residence() != residence),
        clock_error: [0, 1]
            .map(|side| clock_error(data[side], &pair.streams[side]))
            .iter()
            .sum(),
        figures: Vec::new(),
        missing: Vec::new(),
        tests: None,
        carried,
        curve: Vec::new(),
        distributions: [Vec::new(), Vec::new()],
        thinned: sides.each_ref().map(|side| side.thinned),
        verdict: Verdict::default(),
        is_auxiliary: pair.is_auxiliary(data),
        pair: pair.clone(),
    };
    for &measure in &request.measures {
        found.measure(measure, &sides, request);
        if measure == Measure::RoundTrip && found.from_summary != [false; 2] {
            found
                .figures
                .extend(summary_figures(measure, &sides, &said));
        }
    }
    if request.full {
        found.stages(&sides);
    }
    found
}

/// The largest error of one way that the clocks of these streams may have, ns. It is the same for all packets of a trial, so that no
/// interval has it.
fn clock_error(data: &dyn Data, streams: &[usize]) -> f64 {
    let facts = streams.iter().filter_map(|&stream| data.facts(stream));
    let errors = facts.map(|facts| match facts.reflector_clock {
        ReflectorClock::Bounded { error_ns } => error_ns as f64,
        _ => 0.0,
    });
    errors.fold(0.0, f64::max)
}

/// Every packet that had its turn.
fn total(counts: &Counts) -> u64 {
    counts.sent + counts.skipped + counts.local_error
}

fn summary(
    data: &dyn Data,
    streams: &[usize],
    facts: RecordFacts,
    said: &ImportedSummary<'_>,
) -> Summary {
    let mut builder = SummaryBuilder::new(facts, EXACT_LIMIT);
    for &stream in streams {
        data.records(stream, &mut |record| builder.push(record));
    }
    for &stream in &said.streams {
        let count = |name| data.summary_figure(stream, name).unwrap_or(0.0) as u64;
        builder.count(count("sent"), count("lost"));
    }
    builder.finish()
}

/// Figures of another tool's summary, of a side of whose packets there is no record.
struct ImportedSummary<'a> {
    data: &'a dyn Data,
    /// Streams that have a summary and no packets.
    streams: Vec<usize>,
}

impl<'a> ImportedSummary<'a> {
    fn new(data: &'a dyn Data, streams: &[usize]) -> Self {
        let streams = streams.iter().copied();
        let is_known = |stream, name| data.summary_figure(stream, name).is_some();
        let is_said = |&stream: &usize| ["sent", "lost"].iter().all(|it| is_known(stream, it));
        Self {
            data,
            streams: streams.filter(is_said).collect(),
        }
    }

    /// A figure of the round trip; several of them are of several summaries, and there is none of all.
    fn round_trip(&self, statistic: &str) -> Option<f64> {
        match self.streams.as_slice() {
            [only] => self
                .data
                .summary_figure(*only, &format!("round_trip_{statistic}_ns")),
            _ => None,
        }
    }
}

/// Statistics of round trips that summaries of tools have, and what they are called there.
const SUMMARY_STATISTICS: [(Functional, &str); 6] = [
    (Functional::Min, "min"),
    (Functional::Mean, "mean"),
    (Functional::Quantile(0.5), "p50"),
    (Functional::Quantile(0.9), "p90"),
    (Functional::Quantile(0.99), "p99"),
    (Functional::Max, "max"),
];

/// The round trip's statistics where a side has a summary alone, next to those of the other side's packets: without intervals, which
/// need packets of both.
fn summary_figures(
    measure: Measure,
    sides: &[Side<'_>; 2],
    said: &[ImportedSummary<'_>; 2],
) -> Option<Figures> {
    let packets = sides.each_ref().map(|side| {
        let values = side.measure(measure).unwrap_or_default().concat();
        let known = values.into_iter().filter(|value| !value.is_nan());
        known.collect::<Vec<f64>>()
    });
    let value = |side: usize, (statistic, name): (Functional, &str)| {
        let measured = || statistic.value(&mut packets[side].clone());
        said[side].round_trip(name).or_else(measured)
    };
    let none = || Err("figures of another tool have no packets".to_owned());
    let shifts = SUMMARY_STATISTICS.map(|one| Shift {
        statistic: one.0,
        a: value(0, one),
        b: value(1, one),
        absolute: none(),
        relative: none(),
        apart: None,
        levels: None,
    });
    let shifts = shifts.into_iter();
    let shifts: Vec<_> = shifts.filter(|it| it.a.or(it.b).is_some()).collect();
    (!shifts.is_empty()).then_some(Figures {
        quantity: Quantity::Measure(measure),
        counts: (0, 0),
        shifts,
    })
}

fn slices(trials: &Trials) -> Vec<&[f64]> {
    trials.iter().map(Vec::as_slice).collect()
}

/// The share of packets that were lost.
pub(super) const LOST: Functional = Functional::Share {
    beyond: Beyond::More,
    bound: 0.0,
};

/// Of every packet: a loss is a bit, and rare.
fn loss(sides: &[Side<'_>; 2]) -> Shift {
    let of = |side: &Side<'_>| side.every().measure(Measure::Lost).unwrap_or_default();
    let [a, b] = sides.each_ref().map(of);
    let [a, b] = [sides[0].series(&a), sides[1].series(&b)];
    two_samples::shift(LOST, &a, &b, SEED)
}

impl PairFigures {
    fn measure(&mut self, measure: Measure, sides: &[Side<'_>; 2], request: &ComparisonRequest) {
        let quantity = Quantity::Measure(measure);
        let [a, b] = sides.each_ref().map(|side| side.measure(measure));
        let has_some =
            |side: &Result<Trials, String>| side.as_ref().is_ok_and(|side| count(side) > 0);
        if measure == SERVER && request.headline != measure && ![&a, &b].into_iter().any(has_some) {
            // Most probes ask no server: that they have none of it is no news.
            return;
        }
        match (a, b) {
            (Ok(a), Ok(b)) => {
                self.compare(quantity, &a, &b, sides);
                if measure == request.headline {
                    self.tests = tests(&a, &b);
                }
                if measure == request.headline && request.full {
                    self.curve = points(&sides[0].series(&a), &sides[1].series(&b));
                    self.distributions = [&a, &b].map(distribution);
                }
            }
            (Err(why), Err(_)) => self.missing.push((quantity, why)),
            (Err(why), Ok(_)) => self.missing.push((quantity, format!("A: {why}"))),
            (Ok(_), Err(why)) => self.missing.push((quantity, format!("B: {why}"))),
        }
    }

    /// Where both tell more than one apart.
    fn stages(&mut self, sides: &[Side<'_>; 2]) {
        let mean = self.carried.first().map_or(&[][..], |mean| &mean.stages);
        let sets: Vec<StageSet> = mean.iter().map(|[a, _]| a.stages).collect();
        if sets.len() < 2 {
            return;
        }
        let [a, b] = sides.each_ref().map(|side| side.stages(&sets));
        for ((set, a), b) in sets.iter().zip(&a).zip(&b) {
            self.compare(Quantity::Stages(*set), a, b, sides);
        }
    }

    fn compare(&mut self, quantity: Quantity, a: &Trials, b: &Trials, sides: &[Side<'_>; 2]) {
        let counts = (count(a), count(b));
        let silent = match counts {
            (0, _) => Some(("A", self.counts[0])),
            (_, 0) => Some(("B", self.counts[1])),
            _ => None,
        };
        // What one of them has stays to be seen where the other one lost everything.
        if counts != (0, 0) {
            self.figures.push(Figures {
                quantity,
                counts,
                shifts: shifts(&SHIFTS, &sides[0].series(a), &sides[1].series(b)),
            });
        }
        if let Some((silent, counts)) = silent {
            let why = match counts.answered() {
                0 if self.is_never_answered() => "no packet of either run was answered".to_owned(),
                0 => format!("no packet of {silent} was answered"),
                _ => format!("no packet of {silent} has {}", quantity.name()),
            };
            self.missing.push((quantity, why));
        }
    }
}

/// In steps of a percent, and further out in the tail.
fn distribution(trials: &Trials) -> Vec<AtShare> {
    let values = trials.iter().flatten().copied();
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let shares = (0..100).map(|percent| f64::from(percent) / 100.0);
    let tail = [0.995, 0.998, 0.999, 0.9995, 0.9999, 1.0];
    let at = |share: f64| {
        let rank = (share * values.len() as f64).ceil() as usize;
        let value = *values.get(rank.max(1) - 1)?;
        Some(AtShare { share, value })
    };
    shares.chain(tail).filter_map(at).collect()
}

/// Values that are there.
fn count(trials: &Trials) -> u64 {
    let values = trials.iter().flatten();
    values.filter(|value| !value.is_nan()).count() as u64
}

/// Shifts of these statistics. A quantile that the values of a side do not carry would be their largest one under another
/// name, so it has no value there.
fn shifts(statistics: &[Functional], a: &[Series<'_>], b: &[Series<'_>]) -> Vec<Shift> {
    let count = |side: &[Series<'_>]| {
        let values = side.iter().flat_map(|series| series.values);
        values.filter(|value| !value.is_nan()).count() as u64
    };
    let counts = [count(a), count(b)];
    let mut shifts = two_samples::shifts(statistics, a, b, SEED);
    for shift in &mut shifts {
        let Functional::Quantile(q) = shift.statistic else {
            continue;
        };
        for (value, count) in [&mut shift.a, &mut shift.b].into_iter().zip(counts) {
            *value = value.filter(|_| carries(count, q));
        }
    }
    shifts
}

fn tests(a: &Trials, b: &Trials) -> Option<Tests> {
    let [a, b] = [a, b].map(|side| few(side));
    let found = two_samples::compare(&slices(&a), &slices(&b), SEED).ok()?;
    Some(Tests {
        counts: found.counts,
        mann_whitney: found.mann_whitney,
        kolmogorov_smirnov: found.kolmogorov_smirnov,
        wasserstein: found.wasserstein,
    })
}

fn points(a: &[Series<'_>], b: &[Series<'_>]) -> Vec<Point> {
    let shifts = shifts(&CURVE.map(Functional::Quantile), a, b);
    let points = CURVE.into_iter().zip(shifts);
    points
        .map(|(quantile, shift)| Point { quantile, shift })
        .collect()
}
