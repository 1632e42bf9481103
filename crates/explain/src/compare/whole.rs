//! Several pairs as one: where packets are lost first, then where delay changes most. A mean over pairs stands beside
//! that, in documents alone and only where every pair has an interval: a mean over those that have one hides the
//! pairs that went from answered to lost.
//!
//! In the mean every pair weighs the same, however many packets it has. Absolute shifts are averaged as they are, relative ones as ratios (their geometric mean). Intervals of
//! the mean come from those of the pairs (Zou and Donner 2008, "MOVER"): ends of independent pairs add up
//! as squares; probes that ran beside each other may be late together, so theirs add up as they are.

use super::figures::{PairFigures, Silent};
use super::looks::is_clear;
use super::outage;
use super::pairs::varied;
use super::unanswered::unanswered;
use super::unsure_loss::{WORTH_LOSS, unsure_loss};
use super::verdict::Kind;
use super::words::{change, is_told_by, name, shown, statistic_name};
use delaylab_lab::finding::Measure;
use delaylab_model::interval::Interval;
use delaylab_model::plan::Factor;
use delaylab_model::units::{format_share, format_signed_share};
use delaylab_model::words::{a_few, capitalised};
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::two_samples::Shift;

/// All pairs together; each weighs the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// How many pairs.
    pub pairs: usize,
    /// How many of them differ.
    pub differ: usize,
    /// How many are undecided.
    pub undecided: usize,
    /// In how many packets of A alone were ever answered.
    pub never_answered_b: usize,
    /// In how many packets of B alone were ever answered.
    pub never_answered_a: usize,
    /// Of the headline.
    pub shifts: Vec<MeanShift>,
    /// In a sentence.
    pub text: String,
}

/// The shift of a statistic over pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanShift {
    /// `mean`, `p5`, `p50`, `p90`, `p99`, `p99.9`.
    pub statistic: Functional,
    /// Mean of B − A, in the headline's unit; null unless every pair has an interval of it.
    pub difference: Option<Averaged>,
    /// Geometric mean of B/A, less 1.
    pub relative: Option<Averaged>,
}

/// An average over pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averaged {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Over how many pairs.
    pub pairs: usize,
}

impl Whole {
    pub(super) fn new(pairs: &[PairFigures], headline: Measure, looks: usize) -> Self {
        let first = pairs.iter().find_map(|pair| pair.figures(headline));
        let statistics = first.map_or_else(Vec::new, |figures| {
            let shifts = figures.shifts.iter();
            shifts.map(|shift| shift.statistic).collect()
        });
        let shifts = statistics.into_iter();
        let shifts = shifts.map(|f| mean_shift(f, pairs, headline)).collect();
        let count = |kind| {
            pairs
                .iter()
                .filter(|pair| pair.verdict.kind == kind)
                .count()
        };
        let silent = |side| {
            let silent = pairs.iter().filter(|pair| pair.silent == Some(side));
            silent.count()
        };
        let mut whole = Self {
            pairs: pairs.len(),
            differ: count(Kind::Differs),
            undecided: count(Kind::Undecided),
            never_answered_b: silent(Silent::B),
            never_answered_a: silent(Silent::A),
            shifts,
            text: String::new(),
        };
        whole.text = Words::new(pairs, headline, looks).text(&whole);
        whole
    }
}

/// Pairs that are named in one sentence.
const MAX_NAMED_PAIRS: usize = 3;
/// From here on a change that may be chance is worth a word: 5 %, as a natural logarithm of a ratio. Chosen by hand.
const WORTH_LN_RATIO: f64 = 0.05;
/// What people notice: the worst of these is what a pair is known for.
const NOTICED: [Functional; 3] = [
    Functional::Quantile(0.99),
    Functional::Quantile(0.9),
    Functional::Quantile(0.5),
];
/// A change of a quantile without an interval is worth a word from a doubling on, as a logarithm.
const WORTH_UNBOUNDED_LN_RATIO: f64 = std::f64::consts::LN_2;

/// The sentences.
struct Words<'a> {
    pairs: &'a [PairFigures],
    headline: Measure,
    looks: usize,
    varied: Vec<String>,
}

/// How far a pair has moved.
struct Move<'a> {
    pair: &'a PairFigures,
    shift: &'a Shift,
    /// As [`change`](super::words::change).
    by: f64,
}

impl<'a> Words<'a> {
    fn new(pairs: &'a [PairFigures], headline: Measure, looks: usize) -> Self {
        Self {
            pairs,
            headline,
            looks,
            varied: varied(pairs.iter().map(|figures| figures.pair.named())),
        }
    }

    /// What changes, where most, and in how many pairs anything does.
    fn text(&self, whole: &Whole) -> String {
        let (clear, perhaps_unanswered) = self.unanswered();
        let mut changes: Vec<_> = [self.silence(whole), self.loss(), clear, self.delay()]
            .into_iter()
            .flatten()
            .collect();
        let perhaps = self.perhaps_loss();
        if !changes.is_empty() {
            changes.extend(perhaps.clone());
        }
        let first = match changes.is_empty() {
            true => self.nothing(whole),
            false => format!("{}.", changes.join("; ")),
        };
        let first = capitalised(&first);
        let hidden = match changes.is_empty() {
            true => {
                let perhaps = perhaps.map(|perhaps| format!(" But {perhaps}."));
                perhaps.unwrap_or_default() + &self.hidden()
            }
            false => String::new(),
        };
        let dead = match changes.is_empty() && self.never_answered().len() == whole.pairs {
            true => String::new(),
            false => self.dead(whole),
        };
        format!(
            "{first} {}{hidden}{perhaps_unanswered}{}{dead}",
            self.count(whole),
            self.untold()
        )
    }

    /// Pairs of which neither side is answered.
    fn never_answered(&self) -> Vec<String> {
        let dead = self.pairs.iter().filter(|pair| pair.is_never_answered());
        dead.map(|pair| self.label(pair)).collect()
    }

    /// ` Neither run is answered in 2 of 12 pairs (case FIFO, streams 4; …).`: nothing has changed there, and nothing works.
    fn dead(&self, whole: &Whole) -> String {
        let dead = self.never_answered();
        if dead.is_empty() {
            return String::new();
        }
        let named = a_few(&dead, MAX_NAMED_PAIRS);
        let (count, of) = (dead.len(), whole.pairs);
        format!(" Neither run is answered in {count} of {of} pairs ({named}).")
    }

    fn label(&self, pair: &PairFigures) -> String {
        pair.pair.label(&self.varied)
    }

    /// `B is never answered in 2 of 12 pairs (case FIFO, streams 4; …)`.
    fn silence(&self, whole: &Whole) -> Option<String> {
        let said = [Silent::B, Silent::A].into_iter().filter_map(|side| {
            let silent = self.pairs.iter().filter(|pair| pair.silent == Some(side));
            let silent: Vec<_> = silent.map(|pair| self.label(pair)).collect();
            if silent.is_empty() {
                return None;
            }
            let named = a_few(&silent, MAX_NAMED_PAIRS);
            let (letter, other) = match side {
                Silent::A => ("A", "B"),
                Silent::B => ("B", "A"),
            };
            Some(format!(
                "{letter} is never answered in {} of {} pairs, where {other} is ({named})",
                silent.len(),
                whole.pairs,
            ))
        });
        let said: Vec<_> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Of the pairs that both answer.
    fn loss(&self) -> Option<String> {
        let told = self.pairs.iter();
        let told = told.filter(|pair| pair.loss_differs(self.looks) && pair.silent.is_none());
        let by = |pair: &&PairFigures| pair.loss.difference().unwrap_or(0.0);
        let told: Vec<_> = told.collect();
        let most = told.iter().copied().max_by(|a, b| by(a).total_cmp(&by(b)));
        let least = told.iter().copied().min_by(|a, b| by(a).total_cmp(&by(b)));
        let rises = most.filter(|pair| by(pair) > 0.0);
        let falls = least.filter(|pair| by(pair) < 0.0);
        let moved = [("rises", rises), ("falls", falls)];
        let moved = moved.into_iter().filter_map(|(verb, pair)| {
            let pair = pair?;
            let [a, b] = [pair.loss.a?, pair.loss.b?].map(format_share);
            Some(format!("{verb} from {a} to {b} in {}", self.label(pair)))
        });
        let moved: Vec<_> = moved.collect();
        if !moved.is_empty() {
            return Some(format!("loss {}", moved.join(" and ")));
        }
        // As much is lost in all, and not in the same way.
        let changed = told.iter();
        let mut changed = changed.filter_map(|pair| Some((pair, outage::words(&pair.outages)?)));
        let (pair, words) = changed.next()?;
        Some(format!("in {} {words}", self.label(pair)))
    }

    /// The largest change of how many packets could not be sent, came back with other bytes or were late: as one that is clear, where
    /// any is, or in a sentence of its own.
    fn unanswered(&self) -> (Option<String>, String) {
        let changes = self.pairs.iter();
        let changes = changes.filter_map(|pair| Some((pair, unanswered(pair)?)));
        let most = changes.max_by(|one, other| one.1.order(&other.1));
        match most {
            Some((pair, change)) if change.is_clear => {
                let said = format!("{} ({})", change.words, self.label(pair));
                (Some(said), String::new())
            }
            Some((pair, change)) => {
                let said = format!(" In {}, {}.", self.label(pair), change.words);
                (None, said)
            }
            None => (None, String::new()),
        }
    }

    /// The largest change of loss that may be chance, where it is worth a word, and what would tell.
    fn perhaps_loss(&self) -> Option<String> {
        let judged = self.pairs.iter();
        let judged = judged.filter(|pair| pair.verdict.kind != Kind::Undecided);
        let changes = judged.filter_map(|pair| Some((pair, unsure_loss(pair, self.looks)?)));
        let (pair, unsure) = changes.max_by(|x, y| x.1.by.total_cmp(&y.1.by))?;
        Some(unsure.words(&format!(" in {}", self.label(pair))))
    }

    /// Of the statistics that moved those that people notice, else any. A clear one of which they say nothing, because it goes
    /// the other way or much further, is noticed, too.
    fn moves(&self, pair: &'a PairFigures, told: bool) -> Vec<Move<'a>> {
        let shifts = pair
            .figures(self.headline)
            .map_or(&[][..], |figures| &figures.shifts);
        let moves = shifts
            .iter()
            .filter(|shift| is_clear(shift, self.looks) == told);
        let moves = moves.filter_map(|shift| {
            let by = change(self.headline, shift)?;
            Some(Move { pair, shift, by })
        });
        let (noticed, others): (Vec<_>, Vec<_>) =
            moves.partition(|moved| NOTICED.contains(&moved.shift.statistic));
        let is_said = |other: &Move<'_>| {
            let mut noticed = noticed.iter();
            noticed.any(|moved| is_told_by(moved.by, other.by))
        };
        let is_all = noticed.is_empty();
        let others: Vec<_> = others
            .into_iter()
            .filter(|other| is_all || told && !is_said(other))
            .collect();
        noticed.into_iter().chain(others).collect()
    }

    /// `response rises most in case FQ-CoDel, streams 4: p50 from 20.9 ms to 798 ms (+3720 %), …`.
    fn delay(&self) -> Option<String> {
        let told = self.pairs.iter().flat_map(|pair| self.moves(pair, true));
        let (up, down): (Vec<_>, Vec<_>) = told.partition(|moved| moved.by > 0.0);
        let most = |moves: Vec<Move<'a>>| {
            let mut moves = moves;
            moves.sort_by(|a, b| b.by.abs().total_cmp(&a.by.abs()));
            moves.into_iter().next()
        };
        let (up, down) = (most(up), most(down));
        let name = name(self.headline);
        match (up, down) {
            (Some(up), Some(down)) => Some(format!(
                "{name} rises most in {}, and falls most in {}",
                self.moved(&up),
                self.moved(&down)
            )),
            (Some(up), None) => Some(format!("{name} rises, most in {}", self.moved(&up))),
            (None, Some(down)) => Some(format!("{name} falls, most in {}", self.moved(&down))),
            (None, None) => None,
        }
    }

    fn moved(&self, moved: &Move<'_>) -> String {
        let ends = self.ends(moved);
        let carried = moved.pair.carried_words(", ", self.headline, moved.shift);
        format!("{}: {ends}{carried}", self.label(moved.pair))
    }

    /// `p50 from 20.9 ms to 798 ms (+3720 %)`.
    fn ends(&self, moved: &Move<'_>) -> String {
        let Shift {
            a, b, statistic, ..
        } = moved.shift;
        let [from, to] =
            [a, b].map(|end| end.map_or_else(String::new, |x| shown(self.headline, x)));
        let share = a.zip(*b).filter(|(a, _)| *a > 0.0);
        let share = share.map_or_else(String::new, |(a, b)| {
            format!(" ({})", format_signed_share(b / a - 1.0))
        });
        format!("{} from {from} to {to}{share}", statistic_name(*statistic))
    }

    /// Nothing is told to differ.
    fn nothing(&self, whole: &Whole) -> String {
        let name = name(self.headline);
        if self.never_answered().len() == whole.pairs {
            return "Neither run is answered in any pair.".to_owned();
        }
        let undecided = self.undecided();
        match whole.undecided {
            all if all == whole.pairs => match self.largest_loss(&undecided) {
                Some((pair, ends)) => {
                    let label = self.label(pair);
                    format!("Undecided whether loss ({ends} in {label}) or {name} differs.")
                }
                None => format!("Undecided whether {name} or loss differs."),
            },
            0 => format!("No difference in {name} or loss is seen in any pair."),
            _ => format!("No difference in {name} or loss is seen in any pair that is decided."),
        }
    }

    fn count(&self, whole: &Whole) -> String {
        let unknown = match whole.undecided {
            0 => String::new(),
            1 => ", 1 is undecided".to_owned(),
            some => format!(", {some} are undecided"),
        };
        format!("{} of {} pairs differ{unknown}.", whole.differ, whole.pairs)
    }

    /// Where repeats differ much, a large change is no more than chance may do: the reader is to know that it is there.
    fn hidden(&self) -> String {
        let pairs = self.pairs.iter();
        let pairs = pairs.filter(|pair| pair.verdict.kind == Kind::NoDifference);
        let moves = pairs.flat_map(|pair| self.moves(pair, false));
        let moves = moves.filter(|moved| match &moved.shift.absolute {
            Ok(_) => moved.by.abs() >= WORTH_LN_RATIO,
            Err(_) => moved.by.abs() >= WORTH_UNBOUNDED_LN_RATIO,
        });
        let most = moves.max_by(|a, b| a.by.abs().total_cmp(&b.by.abs()));
        most.map_or_else(String::new, |moved| {
            format!(
                " The largest change may be chance: in {}, {}.",
                self.label(moved.pair),
                self.ends(&moved)
            )
        })
    }

    fn undecided(&self) -> Vec<&'a PairFigures> {
        let pairs = self.pairs.iter();
        pairs
            .filter(|pair| pair.verdict.kind == Kind::Undecided)
            .collect()
    }

    /// A pair without an interval may be the one that moved most. Where all are undecided, its loss is said first.
    fn untold(&self) -> String {
        let unknown = self.undecided();
        let loss = self.largest_loss(&unknown);
        if loss.is_some() && unknown.len() == self.pairs.len() {
            return String::new();
        }
        let loss = loss.map(|(pair, ends)| (pair, format!("loss {ends}")));
        let change = loss.or_else(|| self.largest_move(&unknown));
        change.map_or_else(String::new, |(pair, change)| {
            let label = self.label(pair);
            format!(" Of the undecided pairs, the largest change is in {label}: {change}.")
        })
    }

    /// The largest change of a quantile of these pairs.
    fn largest_move(&self, pairs: &[&'a PairFigures]) -> Option<(&'a PairFigures, String)> {
        let moves = pairs.iter().flat_map(|pair| self.moves(pair, false));
        let most = moves.max_by(|a, b| a.by.abs().total_cmp(&b.by.abs()));
        most.filter(|moved| moved.by != 0.0)
            .map(|moved| (moved.pair, self.ends(&moved)))
    }

    /// `from 0 % to 22 %`: of pairs without a verdict, the largest change of loss, where it is worth a word: it says more than any quantile
    /// of the packets that were answered.
    fn largest_loss(&self, pairs: &[&'a PairFigures]) -> Option<(&'a PairFigures, String)> {
        let ends = pairs.iter().filter_map(|pair| {
            let (a, b) = (pair.loss.a?, pair.loss.b?);
            Some((*pair, a, b))
        });
        let (pair, a, b) = ends.max_by(|x, y| (x.2 - x.1).abs().total_cmp(&(y.2 - y.1).abs()))?;
        ((b - a).abs() >= WORTH_LOSS).then(|| {
            let [a, b] = [a, b].map(format_share);
            (pair, format!("from {a} to {b}"))
        })
    }
}

/// What a pair says of a statistic: value, and how far the ends of its interval are.
struct PairShift<'a> {
    factors: &'a [Factor],
    value: f64,
    down: f64,
    up: f64,
}

fn mean_shift(statistic: Functional, pairs: &[PairFigures], headline: Measure) -> MeanShift {
    let each = |told: &dyn Fn(&Shift) -> Option<[f64; 3]>| {
        let told = pairs.iter().filter_map(|pair| {
            let shifts = &pair.figures(headline)?.shifts;
            let shift = shifts.iter().find(|shift| shift.statistic == statistic)?;
            let [value, low, high] = told(shift)?;
            let is_finite = [value, low, high].iter().all(|end| end.is_finite());
            is_finite.then_some(PairShift {
                factors: &pair.pair.factors,
                value,
                down: value - low,
                up: high - value,
            })
        });
        let told: Vec<_> = told.collect();
        (told.len() == pairs.len()).then(|| mean(&told)).flatten()
    };
    let difference = each(&|shift| {
        let bounds = of_confidence(&shift.absolute)?;
        Some([shift.difference()?, bounds.low, bounds.high])
    });
    let relative = each(&|shift| {
        let bounds = of_confidence(&shift.relative)?;
        let [value, low, high] = [shift.difference()? / shift.a?, bounds.low, bounds.high];
        Some([value, low, high].map(f64::ln_1p))
    });
    let relative = relative.map(|logarithm| Averaged {
        value: logarithm.value.exp_m1(),
        interval: logarithm.interval.map(f64::exp_m1),
        ..logarithm
    });
    MeanShift {
        statistic,
        difference,
        relative,
    }
}

/// A side without a steady level has ends of its packets, which no mean is of.
fn of_confidence(interval: &Result<Bounds, String>) -> Option<&Bounds> {
    let bounds = interval.as_ref().ok();
    bounds.filter(|bounds| bounds.packets.is_none())
}

/// `None` without any.
fn mean(told: &[PairShift<'_>]) -> Option<Averaged> {
    let count = told.len() as f64;
    let value = told.iter().map(|told| told.value).sum::<f64>() / count;
    let reach = |end: fn(&PairShift<'_>) -> f64| {
        let beside = told.chunk_by(|a, b| a.factors == b.factors);
        let squares = beside.map(|probes| probes.iter().map(end).sum::<f64>().powi(2));
        squares.sum::<f64>().sqrt() / count
    };
    let (low, high) = (
        value - reach(|told| told.down),
        value + reach(|told| told.up),
    );
    (!told.is_empty()).then(|| Averaged {
        value,
        interval: Interval::new(low, high),
        pairs: told.len(),
    })
}
