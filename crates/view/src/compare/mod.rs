//! `delaylab compare`: what changed between two runs.
//!
//! | module | holds |
//! |---|---|
//! | `mod.rs` | what every face of it is made from |
//! | [`benchmark`] | what procedures of the device benchmark found in both |
//! | [`stored`] | made from two runs on disk |
//! | `rows.rs` | its tables: what stands in them, as text |
//! | [`json`] | for programs |

pub mod benchmark;
pub mod json;
pub mod rows;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod stored;

use crate::words::to_the_second;
use benchmark::Benchmarks;
use delaylab_explain::compare::circumstances::Difference;
use delaylab_explain::compare::limits::{LimitResult, Outcome};
use delaylab_explain::compare::{Comparison, PairFigures};
use delaylab_lab::finding::Measure;
use delaylab_lab::finding::data::HANDSHAKE;
use delaylab_model::words::all_of;
use schemars::JsonSchema;
use serde::Serialize;

/// So many differences stand with both values in front of what came out.
const FEW: usize = 2;
/// So many stand there by their names.
const NAMED: usize = 4;

/// Another seed is what repeats differ by, and that there are more packets is no reason for their delays.
fn matters(difference: &Difference) -> bool {
    let what = difference.what.as_str();
    !(what == "seed" || what == "design.repeats" || what.ends_with(".count"))
}

/// `path.rate changed from 1Gbit/s to 5Mbit/s`.
fn in_words(difference: &Difference) -> String {
    let Difference { what, a, b } = difference;
    match (a, b) {
        (Some(a), Some(b)) => format!("{what} changed from {a} to {b}"),
        (None, Some(b)) => format!("{what} set to {b} in B alone"),
        (Some(a), None) => format!("{what} set to {a} in A alone"),
        (None, None) => what.clone(),
    }
}

/// What was set differently: a few with both values, more by their names. Empty without any.
fn setup(differences: &[Difference]) -> String {
    let set: Vec<_> = differences.iter().filter(|d| matters(d)).collect();
    if set.is_empty() {
        return String::new();
    }
    if set.len() <= FEW {
        let words: Vec<_> = set.into_iter().map(in_words).collect();
        return format!("{}: ", words.join(" and "));
    }
    let mut names: Vec<_> = set.iter().take(NAMED).map(|d| d.what.clone()).collect();
    match set.len() - names.len() {
        0 => {}
        more => names.push(format!("{more} more")),
    }
    format!("The runs differ in {}: ", all_of(&names))
}

/// As the names of the two runs stay.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// What changed between two runs, ready to be shown.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The two runs.
    pub sides: [Side; 2],
    /// What changed.
    pub comparison: Comparison,
    /// What a procedure of the device benchmark found in both: its trials are no conditions then.
    pub benchmark: Option<Benchmarks>,
    /// What else differs.
    pub differences: Vec<Difference>,
    /// What must not be.
    pub limits: Vec<LimitResult>,
    /// Does a limit that cannot be told fail, too?
    pub strict: bool,
}

/// One of the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// The experiment's name.
    pub name: String,
    /// Where it is.
    pub folder: String,
    /// The world that carried it out.
    pub world: String,
    /// When it began; null where that is not known.
    #[serde(rename = "started_utc")]
    pub started: Option<String>,
    /// What to check before trusting its figures.
    #[serde(rename = "warnings")]
    pub problems: Vec<String>,
    /// Of its trials, which are not what their experiment meant: in a clause, of which the verdict is made.
    #[serde(skip)]
    pub flawed: Option<String>,
}

impl Side {
    /// When it began, for people.
    pub fn when(&self) -> String {
        let started = self.started.as_deref();
        started.map_or_else(|| "at an unknown time".to_owned(), to_the_second)
    }
}

impl Compared {
    /// Is something as it must not be?
    pub fn has_failed(&self) -> bool {
        self.limits.iter().any(|held| self.fails(held))
    }

    /// The conditions that make the command fail, each with its outcome; empty without any.
    pub fn failures(&self) -> String {
        let failed = self.limits.iter().filter(|held| self.fails(held));
        let failed =
            failed.map(|held| format!("--fail-if '{}': {}", held.limit, held.outcome.words()));
        let mut each: Vec<String> = failed.collect();
        each.dedup();
        each.join("; ")
    }

    /// Does this outcome make the command fail?
    pub fn fails(&self, held: &LimitResult) -> bool {
        match held.outcome {
            Outcome::Failed => true,
            Outcome::Undecided => self.strict,
            Outcome::Passed => false,
        }
    }

    /// What came out, of the only pair or of all of them, behind what was set differently.
    pub fn verdict(&self) -> String {
        let Comparison { whole, pairs, .. } = &self.comparison;
        let first = pairs.first().map_or("", |pair| &pair.verdict.text);
        let text = whole.as_ref().map_or(first, |whole| &whole.text);
        let benchmark = self.benchmark.as_ref().map(Benchmarks::verdict);
        let text = benchmark.as_deref().unwrap_or(text);
        let text = match setup(&self.differences) {
            setup if setup.is_empty() => text.to_owned(),
            setup => setup + &uncapitalised(text),
        };
        self.flaws() + &text
    }

    /// `Of B, 1 of 3 trials is invalid. `, of each side that has such.
    fn flaws(&self) -> String {
        let each = ["A", "B"].iter().zip(&self.sides);
        let each = each.filter_map(|(name, side)| Some((name, side.flawed.as_ref()?)));
        each.map(|(name, flawed)| format!("Of {name}, {flawed}. "))
            .collect()
    }

    /// What to read before trusting the figures, of both.
    pub fn problems(&self) -> Vec<String> {
        let each = ["A", "B"].iter().zip(&self.sides);
        each.flat_map(|(name, side)| side.problems.iter().map(move |p| format!("{name}: {p}")))
            .collect()
    }

    /// What is not compared, or not as a reader may expect, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let comparison = &self.comparison;
        let mut notes = Vec::new();
        if self.sides[0].folder == self.sides[1].folder {
            notes.push("A and B are the same run.".to_owned());
        }
        if let Some(benchmark) = &self.benchmark {
            notes.extend(benchmark.notes());
            return notes;
        }
        for (name, alone) in ["A", "B"].iter().zip(&comparison.alone) {
            if !alone.is_empty() {
                notes.push(format!("Only {name} has {}.", alone.join("; ")));
            }
        }
        for (name, pooled) in ["A", "B"].iter().zip(&comparison.pooled) {
            if !pooled.is_empty() {
                let names = pooled.join(" and ");
                notes.push(format!(
                    "Only {name} varies {names}: its levels are pooled here."
                ));
            }
        }
        for pair in &comparison.pairs {
            let [a, b] = &pair.pair.probes;
            if a != b {
                notes.push(format!("The probe is {a} in A and {b} in B."));
            }
        }
        let beside = comparison.pairs.iter().filter(|pair| pair.is_auxiliary);
        if (1..comparison.pairs.len()).contains(&beside.count()) {
            notes.push(format!(
                "Handshakes that ping made during its requests (probe {HANDSHAKE}) show what the network takes. They are left out \
                 of what is said of both runs, and of conditions that do not name this probe."
            ));
        }
        let of_side = |side: usize| comparison.pairs.iter().any(|pair| pair.from_summary[side]);
        let said = match [0, 1].map(of_side) {
            [false, false] => None,
            [true, false] => Some("A has"),
            [false, true] => Some("B has"),
            [true, true] => Some("A and B have"),
        };
        if let Some(said) = said {
            notes.push(format!(
                "{said} figures of another tool and no packets: delays have no intervals, and those of loss take losses to be \
                 independent of each other."
            ));
        }
        let of_network = |pair: &PairFigures| {
            let mut both = [Measure::Network, Measure::Host].into_iter();
            both.any(|measure| pair.figures(measure).is_some())
        };
        let mut pairs = comparison.pairs.iter();
        if pairs.any(|pair| pair.joins_reflector && of_network(pair)) {
            notes.push(
                "Not all trials measure the time in the reflector in the same way: network includes the reflector in \
                 both runs, and host does not."
                    .to_owned(),
            );
        }
        let thinned = comparison.pairs.iter().flat_map(|pair| pair.thinned);
        if let Some(most) = thinned.max().filter(|&most| most > 1) {
            notes.push(format!(
                "In the largest series, shifts are estimated from one packet in {most}, drawn at random; counts, \
                 loss and conditions use every packet."
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_explain::compare::Quantity;

    fn changed(names: &[&str]) -> Vec<Difference> {
        let names = names.iter();
        let each = names.map(|what| Difference {
            what: (*what).to_owned(),
            a: Some("1".to_owned()),
            b: Some("2".to_owned()),
        });
        each.collect()
    }

    /// A change is named in the first sentence, together with however many others.
    #[test]
    fn what_was_set_differently_is_named() {
        assert_eq!(setup(&changed(&["seed"])), "");
        assert_eq!(setup(&changed(&["probe.ping.count"])), "");
        assert_eq!(
            setup(&changed(&["path.rate", "seed"])),
            "path.rate changed from 1 to 2: "
        );
        assert_eq!(
            setup(&changed(&["path.rate", "class"])),
            "path.rate changed from 1 to 2 and class changed from 1 to 2: "
        );
        assert_eq!(
            setup(&changed(&["path.rate", "class", "buffer"])),
            "The runs differ in path.rate, class and buffer: "
        );
        assert_eq!(
            setup(&changed(&["a", "b", "c", "d", "e", "f"])),
            "The runs differ in a, b, c, d and 2 more: "
        );
    }

    #[test]
    fn that_network_includes_the_reflector_is_said() {
        let mut compared = samples::import();
        let says = "network includes the reflector in both";
        let is_said = |compared: &Compared| compared.notes().iter().any(|note| note.contains(says));
        // Of the import nothing is known of the network.
        assert!(!is_said(&compared));
        let pair = &mut compared.comparison.pairs[0];
        pair.figures[0].quantity = Quantity::Measure(Measure::Network);
        assert!(is_said(&compared));
    }

    #[test]
    fn a_path_that_died_is_marked() {
        let mut pair = samples::import().comparison.pairs[0].clone();
        let differs = |pair: &PairFigures| {
            (
                rows::loss(pair, 4).is_clear,
                json::Pair::new(pair, Measure::RoundTrip, 4)
                    .shift
                    .loss
                    .differs,
            )
        };
        assert_eq!(differs(&pair), (false, false));
        let died = &mut pair.outages[1];
        (died.ended, died.packets) = (1, 200);
        assert_eq!(differs(&pair), (true, true));
    }

    #[test]
    fn figures_that_few_packets_have_say_how_many() {
        let mut pair = samples::import().comparison.pairs[0].clone();
        let marked = |pair: &PairFigures| {
            let rows = rows::most(pair, 4).into_iter();
            rows.filter(|row| row.quantity.contains("(n = ")).count()
        };
        assert_eq!(marked(&pair), 0);
        pair.figures[0].counts = (5, 2);
        assert_eq!(marked(&pair), 1);
        assert!(rows::most(&pair, 4)[1].quantity.ends_with(" (n = 5 and 2)"));
    }

    #[test]
    fn packets_that_were_neither_answered_nor_lost_are_counted() {
        let mut pair = samples::import().comparison.pairs[0].clone();
        let before = rows::counts(&pair);
        (pair.counts[1].local_error, pair.counts[0].corrupt) = (3, 2);
        assert_eq!(
            rows::counts(&pair),
            before
                + "; could not be sent: 0 in A, 3 in B; came back with other bytes: 2 in A, 0 in B"
        );
    }
}
