//! Turns a comparison into arithmetic on statistics of selected streams.

use super::NoValue;
use super::measured::Measured;
use super::select::{self, Selection};
use super::steps;
use crate::finding::back_to_back::NO_FRAMES;
use crate::finding::check::{Fit, Kind, Operator, Statistic, Value};
use crate::finding::data::StreamInfo;
use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;
use crate::finding::values::Values;
use delaylab_stats::functional::{Beyond, Functional};
use delaylab_stats::least_squares;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A statistic of a measure in selected streams.
pub(super) struct Leaf {
    pub(super) functional: Functional,
    pub(super) measure: Measure,
    /// For each stream, the index of its trial and its values.
    pub(super) values: Vec<(usize, Rc<Values>)>,
    pub(super) streams: Vec<usize>,
    pub(super) dimension: Dimension,
    /// The statistic as text, with all selectors that apply.
    pub(super) text: String,
    pub(super) note: Option<String>,
    /// Whether its value is only used as a point of a fit.
    pub(super) only_in_fit: bool,
}

/// A fit through the values of several leaves.
pub(super) struct FitPlan {
    pub(super) fit: Fit,
    pub(super) x: Vec<f64>,
    /// Index of the leaf for each x.
    pub(super) leaves: Vec<usize>,
    pub(super) dimension: Dimension,
    pub(super) text: String,
}

/// Arithmetic on leaves and fits, which are given by index.
pub(super) enum Term {
    Constant(f64),
    Leaf(usize),
    Fit(usize),
    Negative(Box<Term>),
    Binary(Operator, Box<Term>, Box<Term>),
}

/// The leaves and fits of one comparison.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) leaves: Vec<Leaf>,
    pub(super) fits: Vec<FitPlan>,
}

/// A term and its dimension, or why it cannot be computed.
type Planned = Result<(Term, Dimension), NoValue>;

impl Plan {
    /// The value of each leaf from all data; NaN where it has none.
    pub(super) fn points(&self) -> Vec<f64> {
        let points = self.leaves.iter().map(Leaf::point);
        points.map(|point| point.unwrap_or(f64::NAN)).collect()
    }

    pub(super) fn term(
        &mut self,
        value: &Value,
        within: &Selection,
        measured: &Measured<'_>,
    ) -> Planned {
        match value {
            Value::Number(number) => Ok((Term::Constant(number.value), number.dimension)),
            Value::Negative(inner) => {
                let (term, dimension) = self.term(inner, within, measured)?;
                Ok((term.negative(), dimension))
            }
            Value::Binary(operator, a, b) => {
                let a = self.term(a, within, measured)?;
                let b = self.term(b, within, measured)?;
                binary(*operator, a, b)
            }
            Value::Statistic(statistic) => self.statistic(statistic, within, measured),
        }
    }

    fn statistic(
        &mut self,
        statistic: &Statistic,
        within: &Selection,
        measured: &Measured<'_>,
    ) -> Planned {
        let selection = within.within(&statistic.selectors);
        match &statistic.kind {
            Kind::On(fit, of, factor) => self.fit(*fit, of, factor, &selection, measured),
            _ => {
                let (index, dimension) = self.leaf(statistic, &selection, measured, false)?;
                Ok((Term::Leaf(index), dimension))
            }
        }
    }

    fn leaf(
        &mut self,
        statistic: &Statistic,
        selection: &Selection,
        measured: &Measured<'_>,
        only_in_fit: bool,
    ) -> Result<(usize, Dimension), NoValue> {
        let (functional, measure, bound) = asked(statistic, selection, measured)?;
        let streams = selection.streams_of(measure, measured.streams());
        let streams = streams.map_err(NoValue::not_applicable)?;
        let same = |leaf: &Leaf| {
            (leaf.functional, leaf.measure) == (functional, measure) && leaf.streams == streams
        };
        if let Some(index) = self.leaves.iter().position(same) {
            self.leaves[index].only_in_fit &= only_in_fit;
            return Ok((index, self.leaves[index].dimension));
        }
        let values = measured.values(&streams, measure);
        let values = values.map_err(|why| match may_come(measure, &why) {
            true => NoValue::unknown(why),
            false => NoValue::not_applicable(why),
        })?;
        let counts = counted_in(measure, &values);
        let note = match (bound, &counts) {
            (Some(bound), Ok(counts)) => bound.note(measure, *counts)?,
            _ => None,
        };
        let pooled = pooled(measure, functional, &streams, measured.streams());
        let notes: Vec<String> = note.into_iter().chain(pooled).collect();
        let dimension = match functional.is_number() {
            true => Dimension::NUMBER,
            false => counts?,
        };
        self.leaves.push(Leaf {
            functional,
            measure,
            values: each_as_judged(measure, values, functional),
            streams,
            dimension,
            text: written(statistic, selection),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            only_in_fit,
        });
        Ok((self.leaves.len() - 1, dimension))
    }

    fn fit(
        &mut self,
        fit: Fit,
        of: &Statistic,
        factor: &str,
        selection: &Selection,
        measured: &Measured<'_>,
    ) -> Planned {
        let selection = selection.within(&of.selectors);
        let measure = of.measure();
        let chosen = selection.streams_of(measure, measured.streams());
        let chosen = chosen.map_err(NoValue::not_applicable)?;
        let streams = measured.streams();
        let chosen: Vec<_> = chosen
            .into_iter()
            .map(|index| streams[index].clone())
            .collect();
        let levels = select::levels(factor, &chosen);
        if levels.is_empty() {
            return Err(NoValue::not_applicable(format!(
                "this run has no factor `{factor}`"
            )));
        }
        if let Some(why) = fit.unfit(factor, &levels) {
            return Err(NoValue::not_applicable(why));
        }
        let mut plan = FitPlan {
            fit,
            x: Vec::new(),
            leaves: Vec::new(),
            dimension: Dimension::NUMBER,
            text: written_fit(fit, of, factor, &selection),
        };
        for level in &levels {
            plan.x.push(level.value.unwrap_or(f64::NAN));
            let (leaf, y) = self.leaf(of, &selection.and(factor, level), measured, true)?;
            plan.leaves.push(leaf);
            let x = select::dimension(level);
            plan.dimension = match fit {
                Fit::Slope => y.per(x),
                Fit::R2 => Dimension::NUMBER,
                Fit::Steps => Dimension::SIZE,
            };
        }
        let dimension = plan.dimension;
        self.fits.push(plan);
        Ok((Term::Fit(self.fits.len() - 1), dimension))
    }
}

/// Would more packets, or longer trials, give the measure to a run that lacks it for this reason?
fn may_come(measure: Measure, why: &str) -> bool {
    measure.is_of_enough_packets() || (measure == Measure::BackToBack && why != NO_FRAMES)
}

/// That a statistic is of several ports or flows, of which an idle one counts as much as a full one; `None` where it is of one,
/// or of what is found in any of them.
fn pooled(
    measure: Measure,
    functional: Functional,
    chosen: &[usize],
    streams: &[StreamInfo],
) -> Option<String> {
    if !measure.is_of_flow() || functional.is_found() {
        return None;
    }
    let names = chosen.iter().map(|&index| streams[index].probe.as_str());
    let names: BTreeSet<&str> = names.collect();
    let count = names.len();
    (count > 1).then(|| format!("of {count} ports or flows together: `of` names one"))
}

/// Dimension of a measure; a series has its own. An error, a clause, if streams differ.
fn counted_in(measure: Measure, values: &[(usize, Rc<Values>)]) -> Result<Dimension, String> {
    let of = |values: &(usize, Rc<Values>)| match &*values.1 {
        Values::OverTime(stretches) => stretches.dimension,
        _ => measure.dimension().unwrap_or(Dimension::NUMBER),
    };
    let mut dimensions = values.iter().map(of);
    let first = dimensions.next().unwrap_or(Dimension::NUMBER);
    match dimensions.find(|other| *other != first) {
        None => Ok(first),
        Some(other) => Err(format!(
            "{measure} counts {first} here and {other} there: select one with `of`"
        )),
    }
}

/// Converts series to the form that the statistic needs: one number for a measure of the trial (its peak), stretches
/// as if they were packets for count, min, max and mean, or else values weighted by how long each held. Of the count of a
/// 0-or-1 measure of packets it makes one number for each stream: how many are 1.
fn each_as_judged(
    measure: Measure,
    values: Vec<(usize, Rc<Values>)>,
    functional: Functional,
) -> Vec<(usize, Rc<Values>)> {
    let flat = |(trial, values): (usize, Rc<Values>)| match &*values {
        Values::OverTime(stretches) if measure.is_number_of_trial() => {
            (trial, Rc::new(Values::Trial(stretches.peak())))
        }
        Values::OverTime(stretches) => {
            let held = || Values::Held {
                values: stretches.held().to_vec(),
                means: stretches.means().to_vec(),
            };
            let flat = stretches.values(&functional.basis());
            (trial, Rc::new(flat.map_or_else(held, Values::Packets)))
        }
        Values::Packets(packets) if measure.counts_ones(functional) => {
            let ones = packets.iter().filter(|value| **value > 0.0).count();
            (trial, Rc::new(Values::Trial(ones as f64)))
        }
        _ => (trial, values),
    };
    values.into_iter().map(flat).collect()
}

fn binary(operator: Operator, a: (Term, Dimension), b: (Term, Dimension)) -> Planned {
    let dimension = match operator {
        Operator::Times => a.1.times(b.1),
        Operator::Over => a.1.per(b.1),
        Operator::Plus | Operator::Minus => common(&a, &b)?,
    };
    let term = match (a.0, b.0) {
        (Term::Constant(a), Term::Constant(b)) => Term::Constant(operator.apply(a, b)),
        (a, b) => Term::Binary(operator, Box::new(a), Box::new(b)),
    };
    Ok((term, dimension))
}

/// The common dimension of two terms that are added or compared. A constant zero fits any dimension.
pub(super) fn common(a: &(Term, Dimension), b: &(Term, Dimension)) -> Result<Dimension, String> {
    let zero = |term: &Term| matches!(term, Term::Constant(0.0));
    match (a, b) {
        _ if a.1 == b.1 || zero(&b.0) => Ok(a.1),
        _ if zero(&a.0) => Ok(b.1),
        _ => {
            let unit = [a.1, b.1].into_iter().find(|it| *it != Dimension::NUMBER);
            let is_plain = [a.1, b.1].contains(&Dimension::NUMBER);
            let advice = unit.filter(|_| is_plain);
            let advice = advice.map_or(String::new(), |unit| {
                format!(": give the number its unit, as in `1{unit}`")
            });
            Err(format!("{} cannot be compared with {}{advice}", a.1, b.1))
        }
    }
}

/// What a statistic asks for; of a share, with its bound.
type Asked = (Functional, Measure, Option<ShareBound>);

struct ShareBound {
    value: f64,
    dimension: Dimension,
    is_computed: bool,
}

impl ShareBound {
    /// A note for the reader: the bound, if it is computed. An error, a clause, if it is not of what the measure counts.
    fn note(&self, measure: Measure, counts: Dimension) -> Result<Option<String>, NoValue> {
        if self.dimension != counts && self.value != 0.0 {
            let bound = self.dimension;
            let why = format!("{measure} counts {counts}, its bound {bound}");
            return Err(NoValue::not_applicable(why));
        }
        let note = || format!("the bound is {}", counts.format(self.value));
        Ok(self.is_computed.then(note))
    }
}

fn asked(
    statistic: &Statistic,
    selection: &Selection,
    measured: &Measured<'_>,
) -> Result<Asked, NoValue> {
    let share = |beyond, bound| Functional::Share { beyond, bound };
    match &statistic.kind {
        // Treat the mean of a 0-or-1 measure as a share: its interval is correct even if no packet or trial has a 1, or
        // all have (with 0 of 1000, up to 3 in 1000 are possible).
        Kind::Of(Functional::Mean, measure) if measure.is_yes_or_no() => {
            Ok((share(Beyond::More, 0.0), *measure, None))
        }
        Kind::Of(functional, measure) => Ok((*functional, *measure, None)),
        Kind::Share(measure, beyond, bound) => {
            let too_few = "there are too few packets for the bound of a share";
            let (value, dimension) = point(bound, selection, measured, too_few)?;
            let bound = ShareBound {
                value,
                dimension,
                is_computed: !matches!(**bound, Value::Number(_)),
            };
            Ok((share(*beyond, value), *measure, Some(bound)))
        }
        Kind::On(..) => Err(NoValue::unknown("a fit has no distribution")),
    }
}

/// A value from all data, without an interval. Used for the bound of a share, whose error is far smaller than
/// that of the share, and for cells of tables. `too_few`: the reason where there is none.
pub(super) fn point(
    value: &Value,
    selection: &Selection,
    measured: &Measured<'_>,
    too_few: &str,
) -> Result<(f64, Dimension), NoValue> {
    let mut plan = Plan::default();
    let (term, dimension) = plan.term(value, selection, measured)?;
    let values = plan.points();
    let fits = plan.fits.iter();
    let fits: Vec<f64> = fits.map(|fit| fit.statistic(&fit.pick(&values))).collect();
    let value = term.value(&values, &fits);
    if value.is_nan() {
        Err(NoValue::unknown(too_few))
    } else {
        Ok((value, dimension))
    }
}

impl Leaf {
    /// The smallest and the largest possible value.
    pub(super) fn possible(&self) -> (f64, f64) {
        let [least, most] = self.measure.range_of(self.functional);
        (least, most)
    }

    /// The functional of all values pooled.
    pub(super) fn point(&self) -> Option<f64> {
        let numbers = self.numbers_of_trials();
        if let Some(held) = self.held() {
            return self.functional.of_weighted(&held);
        }
        match (self.functional, self.counted()) {
            (Functional::Count, _) if !numbers.is_empty() => Some(numbers.iter().sum()),
            (_, None) if !numbers.is_empty() => self.functional.value(&mut numbers.clone()),
            (_, Some(bins)) => self.functional.of_counted(&bins),
            (_, None) => self.functional.value(&mut self.packets()),
        }
    }

    /// The numbers of the trials, for a measure of the whole trial; else empty.
    pub(super) fn numbers_of_trials(&self) -> Vec<f64> {
        let numbers = self
            .values
            .iter()
            .filter_map(|(_, values)| match &**values {
                Values::Trial(number) => Some(*number),
                _ => None,
            });
        numbers.collect()
    }

    /// The values of all packets, pooled, without NaN.
    fn packets(&self) -> Vec<f64> {
        let streams = self
            .values
            .iter()
            .filter_map(|(_, values)| match &**values {
                Values::Packets(packets) => Some(packets),
                _ => None,
            });
        streams.flatten().copied().filter(|x| !x.is_nan()).collect()
    }

    /// Values of a series with how long each held, pooled over trials; `None` if the leaf has no held values.
    pub(super) fn held(&self) -> Option<Vec<(f64, f64)>> {
        let mut pooled = Vec::new();
        for (_, values) in &self.values {
            match &**values {
                Values::Held { values, .. } => pooled.extend_from_slice(values),
                _ => return None,
            }
        }
        pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // Trials share the same bins: add the times of equal values.
        pooled.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0.0 };
            same
        });
        Some(pooled).filter(|pooled| !pooled.is_empty())
    }

    /// Histogram bins of all trials, pooled; `None` if the leaf does not have histograms.
    pub(super) fn counted(&self) -> Option<Vec<(f64, u64)>> {
        let mut pooled = Vec::new();
        for (_, values) in &self.values {
            match &**values {
                Values::Counted(bins) => pooled.extend_from_slice(bins),
                _ => return None,
            }
        }
        pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Some(pooled)
    }
}

impl FitPlan {
    /// The values of this fit's leaves, taken from the values of all leaves.
    pub(super) fn pick(&self, leaves: &[f64]) -> Vec<f64> {
        self.leaves.iter().map(|&leaf| leaves[leaf]).collect()
    }

    /// The statistic of the fit through `y`, one value for each x; NaN if there is no fit.
    pub(super) fn statistic(&self, y: &[f64]) -> f64 {
        match (least_squares::line(&self.x, y), self.fit) {
            (Ok(fit), Fit::R2) => fit.r2,
            (Ok(fit), Fit::Slope) => fit.coefficients[1].value,
            (_, Fit::Steps) => steps::width(&steps::detection(&self.x, y, 0)).unwrap_or(f64::NAN),
            _ => f64::NAN,
        }
    }
}

impl Term {
    /// The term with the other sign. Of a constant it is a constant, as arithmetic on constants is: comparisons with one
    /// are judged otherwise.
    fn negative(self) -> Self {
        match self {
            Term::Constant(value) => Term::Constant(-value),
            term => Term::Negative(Box::new(term)),
        }
    }

    /// Value of the term for these values of leaves and fits.
    pub(super) fn value(&self, leaves: &[f64], fits: &[f64]) -> f64 {
        match self {
            Term::Constant(value) => *value,
            Term::Leaf(index) => leaves[*index],
            Term::Fit(index) => fits[*index],
            Term::Negative(inner) => -inner.value(leaves, fits),
            Term::Binary(operator, a, b) => {
                operator.apply(a.value(leaves, fits), b.value(leaves, fits))
            }
        }
    }
}

/// The statistic as text, with all selectors that apply.
fn written(statistic: &Statistic, selection: &Selection) -> String {
    let mut written = statistic.clone();
    written.selectors = selection.selectors().to_vec();
    written.to_string()
}

fn written_fit(fit: Fit, of: &Statistic, factor: &str, selection: &Selection) -> String {
    let mut inner = of.clone();
    inner.selectors.clear();
    let whole = Statistic {
        kind: Kind::On(fit, Box::new(inner), factor.to_owned()),
        selectors: selection.selectors().to_vec(),
        of: of.of,
    };
    whole.to_string()
}
