//! What must not be in B: `p99(response) > +10%` (`delaylab_lab::finding::check::Limit` has the grammar).
//!
//! Three answers. With x the change from A to B and t its bound, for `>` (for `<`, mirrored):
//!
//! - **failed**: the estimate of x is beyond t, and its 95 % interval leaves out that nothing changed.
//!   Noise alone is to do that in 2.5 % of comparisons at t = 0, and less often beyond; by simulation in 0 to 2 % of
//!   four trials a side, whose own levels differ by 0 or 10 % (`examples/limits.rs`).
//!   A bound on the other side of zero asks for a change (`> -5%`: B must be 5 % shorter): there the
//!   interval must lie beyond the bound.
//! - **passed**: all of the interval is on the good side of t;
//! - **undecided**: anything else. Whoever wants no regression missed lets that fail, too.
//!
//! A bound of B's own value (`> 30ms`) has failed where all of the interval is beyond it; `max`, `min` and
//! `count` of B are taken as they are. Where B was not answered any more from some packet of a trial on, its losses in a row are no
//! chance: a limit of loss that B is beyond has failed. Where A was answered and nothing of B was, be it under one combination of the
//! levels that a limit is about, every limit of a delay has failed.
//!
//! A change that a table of the same comparison shows has the table's interval (`shifted`), also where that is of the logarithms of
//! trials' levels. A change relative to an A of 0 is judged as a difference from it.

mod answer;
mod shifted;
mod silence;

use super::asked::SEED;
use super::both::{Both, RUN, RUNS};
use answer::Question;
use delaylab_lab::finding::check::{
    Beyond, Bound, Check, Claim, Comparison, Kind, LevelSet, LevelText, Limit, Number, Relation,
    Selector, Span, Statistic, Value,
};
use delaylab_lab::finding::data::PROBE;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::verdict::{FixedLevel, Part};
use delaylab_lab::finding::{Data, Finding, Selection, judge};
use delaylab_model::interval::Interval;
use delaylab_model::units::format_share;
use delaylab_model::words::{each_once, plural};
use schemars::JsonSchema;
use serde::Serialize;
use silence::Silence;

/// Is it as it must not be?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// Yes.
    #[serde(rename = "true")]
    Failed,
    /// No.
    #[serde(rename = "false")]
    Passed,
    /// The data do not say.
    #[serde(rename = "undecided")]
    Undecided,
}

impl Outcome {
    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Outcome::Failed => "holds",
            Outcome::Passed => "does not hold",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A condition and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LimitResult {
    /// What must not be.
    #[serde(rename = "condition")]
    pub limit: String,
    /// The levels that its `for each` fixed.
    #[serde(skip)]
    pub levels: Vec<FixedLevel>,
    /// Does it hold? `true`, `false` or `undecided`.
    #[serde(rename = "verdict")]
    #[schemars(with = "String")]
    pub outcome: Outcome,
    /// Of `a` and `b`: `ns`, `1` for a share or a plain number.
    pub unit: String,
    /// The statistic in A; null where there are too few values, or A does not matter.
    pub a: Option<f64>,
    /// The statistic in B; null where there are too few values.
    pub b: Option<f64>,
    /// What was compared with the bound: B's own value, B − A, or (B − A)/A; null where it is not known.
    pub value: Option<f64>,
    /// The interval of that; null where there is none.
    pub interval: Option<Interval>,
    /// Of `value`, its interval and `bound`: that of `a` and `b`, or `1` for a change as a share of A.
    pub value_unit: String,
    /// The bound.
    pub bound: f64,
    /// In a sentence.
    pub reason: String,
    /// Which streams of packets of A and of B it is judged on; none where it is of series.
    #[serde(skip)]
    pub streams: [Vec<usize>; 2],
}

impl LimitResult {
    /// Is it undecided because nothing is a share of A's 0?
    fn is_share_of_nothing(&self) -> bool {
        let is_undecided = self.outcome == Outcome::Undecided && self.value.is_none();
        let is_of_a = self.a == Some(0.0) && self.b.is_some();
        is_undecided && is_of_a
    }

    /// Because of this, whatever was answered.
    fn fail(&mut self, silence: &str) {
        self.outcome = Outcome::Failed;
        self.reason = match self.value {
            Some(_) => format!("{silence}; of what was answered, {}", self.reason),
            None => silence.to_owned(),
        };
    }

    /// Because B's losses are those of an outage, whatever an interval says.
    fn fail_by_outage(&mut self, outage: &str) {
        self.outcome = Outcome::Failed;
        let [a, b] = [self.a, self.b].map(|value| value.map(format_share));
        let of_a = a.map_or_else(String::new, |a| format!(", {a} in A"));
        self.reason = format!("{} in B{of_a}: {outage}", b.unwrap_or_default());
    }
}

/// Holds a limit against both runs: once, or once for each level that `for each` names.
///
/// # Errors
/// Why it cannot be held against these runs at all: a factor, level or measure that they do not have.
pub fn evaluate(limit: &Limit, both: &Both<'_>) -> Result<Vec<LimitResult>, String> {
    let both = &match names_probe(limit) {
        true => both.clone(),
        false => both.primary(),
    };
    match limit.bound {
        Bound::Value(_) => return judged(limit, &both.each_by_itself()),
        Bound::Change(_) => return judged(limit, both),
        Bound::Share(_) => {}
    }
    let mut all = judged(limit, both)?;
    if all.iter().any(LimitResult::is_share_of_nothing) {
        // Any share of nothing is nothing: B is beyond it where it is beyond A.
        let by_difference = judged(&no_change(limit), both).unwrap_or_default();
        for (held, difference) in all.iter_mut().zip(by_difference) {
            if held.is_share_of_nothing() {
                (held.outcome, held.reason) = (difference.outcome, difference.reason);
            }
        }
    }
    Ok(all)
}

/// Does it say which probes it is about?
fn names_probe(limit: &Limit) -> bool {
    let selectors = selectors(&limit.statistic);
    let mut each = limit.each.iter();
    each.any(|each| each.factor == PROBE) || selectors.iter().any(|it| it.factor == PROBE)
}

/// Of the statistic, and of the one that a fit goes through.
fn selectors(statistic: &Statistic) -> Vec<Selector> {
    let inner = match &statistic.kind {
        Kind::On(_, inner, _) => selectors(inner),
        _ => Vec::new(),
    };
    let own = statistic.selectors.iter().cloned();
    own.chain(inner).collect()
}

/// The streams of packets that a limit is judged on under these levels: of B, or of a change of both runs.
fn judged_on(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> Vec<usize> {
    let selectors = match limit.bound {
        Bound::Value(_) => selectors(&in_run(&limit.statistic, RUNS[1])),
        Bound::Change(_) | Bound::Share(_) => selectors(&limit.statistic),
    };
    let selection = Selection::at(levels).within(&selectors);
    let (streams, measure) = (both.streams(), limit.statistic.measure());
    let chosen = selection.streams(streams).unwrap_or_default();
    let of_packets = |at: &usize| streams[*at].series.is_none() && streams[*at].can_have(measure);
    chosen.into_iter().filter(of_packets).collect()
}

/// `; pooled: 30 packets of ping, 30 of voip`; empty of one probe.
fn pooled(chosen: &[usize], both: &Both<'_>) -> String {
    let streams = both.streams();
    let probes = each_once(chosen.iter().map(|&at| streams[at].probe.as_str()));
    if probes.len() < 2 {
        return String::new();
    }
    let packets = |probe: &str| {
        let of_probe = chosen.iter().filter(|&&at| streams[at].probe == probe);
        of_probe.map(|&at| both.packets(at)).sum::<u64>()
    };
    let each = probes.iter().enumerate();
    let each = each.map(|(index, probe)| match (index, packets(probe)) {
        (0, count) => format!("{} of {probe}", plural(count, "packet")),
        (_, count) => format!("{count} of {probe}"),
    });
    format!("; pooled: {}", each.collect::<Vec<_>>().join(", "))
}

fn no_change(limit: &Limit) -> Limit {
    let measure = limit.statistic.measure().dimension();
    let dimension = measure.filter(|_| !limit.statistic.is_share());
    Limit {
        bound: Bound::Change(Number {
            value: 0.0,
            dimension: dimension.unwrap_or(Dimension::NUMBER),
            text: "+0".to_owned(),
        }),
        ..limit.clone()
    }
}

fn judged(limit: &Limit, both: &Both<'_>) -> Result<Vec<LimitResult>, String> {
    let check = as_check(limit);
    let finding = Finding {
        printed: None,
        id: limit.to_string(),
        says: String::new(),
        text: check.to_string(),
        check,
    };
    let judged = judge(&[finding], both, SEED);
    let parts = judged.into_iter().flat_map(|judged| judged.parts);
    let question = Question { limit };
    let answer = |part: Part| {
        let silence = Silence::new(limit, &part.levels, both);
        let tabled = shifted::bounds(limit, &part.levels, both);
        let judged_on = judged_on(limit, &part.levels, both);
        let mut held = question.answer(part, tabled.as_ref())?;
        held.reason += &pooled(&judged_on, both);
        held.streams = both.by_side(&judged_on);
        let is_undecided = held.outcome == Outcome::Undecided && question.is_beyond(&held);
        if let Some(outage) = silence.outage.filter(|_| is_undecided) {
            held.fail_by_outage(&outage);
        }
        if let Some(unanswered) = silence.unanswered {
            held.fail(&unanswered);
        }
        Ok(held)
    };
    parts.map(answer).collect()
}

/// The claim that is judged: what it says does not matter, its numbers do.
fn as_check(limit: &Limit) -> Check {
    let [a, b] = RUNS.map(|run| Value::Statistic(in_run(&limit.statistic, run)));
    let (relation, right) = match &limit.bound {
        Bound::Value(number) => (Relation::Is(Beyond::More), zero(number)),
        Bound::Share(number) => (about(number, true), a),
        // Of deviations, "more" would be judged by their ratio.
        Bound::Change(number) if number.dimension != Dimension::NUMBER => (about(number, false), a),
        Bound::Change(_) => (Relation::Is(Beyond::More), a),
    };
    let comparison = Comparison {
        first: b,
        rest: vec![(relation, right)],
    };
    Check {
        each: limit.each.clone(),
        claim: Claim::Compare(comparison),
    }
}

fn about(number: &Number, relative: bool) -> Relation {
    let within = Number {
        value: number.value.abs(),
        text: number.text.trim_start_matches(['+', '-']).to_owned(),
        ..number.clone()
    };
    Relation::About { within, relative }
}

fn zero(number: &Number) -> Value {
    Value::Number(Number {
        value: 0.0,
        text: "0".to_owned(),
        ..number.clone()
    })
}

fn in_run(statistic: &Statistic, run: &str) -> Statistic {
    let mut statistic = statistic.clone();
    statistic.selectors.push(Selector {
        factor: RUN.to_owned(),
        which: LevelSet::In(vec![LevelText::named(run)]),
        span: Span::default(),
    });
    statistic
}
