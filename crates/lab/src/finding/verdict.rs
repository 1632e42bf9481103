//! The result of a check with everything needed to recompute it by hand: the content of `findings.json`.

use delaylab_model::interval::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The data say yes.
    True,
    /// The data say no. A result like any other.
    False,
    /// The data do not say.
    #[serde(alias = "cannot_tell")]
    Undecided,
    /// It is about a factor, a level or a measure that this run does not have: no data of it could say.
    NotApplicable,
}

impl Verdict {
    /// Name of the verdict, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::True => "true",
            Verdict::False => "false",
            Verdict::Undecided => "undecided",
            Verdict::NotApplicable => "not applicable",
        }
    }

    /// Its name in files.
    pub fn id(self) -> String {
        self.name().replace(' ', "_")
    }

    /// All verdicts, in the order in which counts of them are shown.
    pub const ALL: [Self; 4] = [
        Verdict::True,
        Verdict::False,
        Verdict::Undecided,
        Verdict::NotApplicable,
    ];

    /// Swaps true and false; leaves other verdicts unchanged.
    #[must_use]
    pub const fn not(self) -> Self {
        match self {
            Verdict::True => Verdict::False,
            Verdict::False => Verdict::True,
            Verdict::Undecided | Verdict::NotApplicable => self,
        }
    }

    /// The verdict on a conjunction: false if any part is, else not applicable if any is, else undecided if any is.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        verdicts
            .into_iter()
            .fold(Verdict::True, |all, next| match (all, next) {
                (Verdict::False, _) | (_, Verdict::False) => Verdict::False,
                (Verdict::NotApplicable, _) | (_, Verdict::NotApplicable) => Verdict::NotApplicable,
                (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
                _ => Verdict::True,
            })
    }

    /// The verdict on a claim at several levels. Levels to which it does not apply are ignored, unless all are such.
    pub fn wherever_applicable(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let mut applicable = verdicts
            .into_iter()
            .filter(|verdict| *verdict != Verdict::NotApplicable)
            .peekable();
        match applicable.peek() {
            Some(_) => Verdict::all(applicable),
            None => Verdict::NotApplicable,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A finding and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Its number: where it was claimed.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The claim as a comparison of statistics, as written.
    pub check: String,
    /// Of all parts together to which the claim applies: false if any is, else undecided if any is.
    pub verdict: Verdict,
    /// Why, in plain words.
    pub reason: String,
    /// One for each combination of levels that `for each` names; one without it.
    pub parts: Vec<Part>,
}

/// A finding at some levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The levels that `for each` fixed. None without it.
    pub levels: Vec<FixedLevel>,
    /// Of the whole claim here.
    pub verdict: Verdict,
    /// Why, in plain words.
    pub reason: String,
    /// Every statistic that was evaluated.
    pub statistics: Vec<Evaluated>,
    /// Every two values that were compared.
    pub comparisons: Vec<Compared>,
}

/// A factor and its level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixedLevel {
    /// The factor.
    pub factor: String,
    /// The level, as the experiment file has it.
    pub level: String,
}

/// As a check selects it: `wait=1ms`.
impl fmt::Display for FixedLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.factor, self.level)
    }
}

/// The ends of a 95 % interval; `None` where there is none, or nothing bounds it on that side.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenEnds", into = "WrittenEnds")]
pub struct Ends {
    /// The lower one.
    pub low: Option<f64>,
    /// The upper one.
    pub high: Option<f64>,
}

impl Ends {
    /// Those of these that are finite.
    pub fn finite(low: f64, high: f64) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        Self {
            low: finite(low),
            high: finite(high),
        }
    }
}

/// As they are written: as an interval, as in all documents.
#[derive(Serialize, Deserialize, JsonSchema)]
struct WrittenEnds {
    /// The 95 % interval; null where there is none, or nothing bounds it.
    interval: Option<Interval>,
    /// Its lower end, as older versions wrote it.
    #[serde(default, skip_serializing)]
    low: Option<f64>,
    /// Its upper end, as older versions wrote it.
    #[serde(default, skip_serializing)]
    high: Option<f64>,
}

impl From<WrittenEnds> for Ends {
    fn from(
        WrittenEnds {
            interval,
            low,
            high,
        }: WrittenEnds,
    ) -> Self {
        Self {
            low: interval.and_then(|interval| interval.low).or(low),
            high: interval.and_then(|interval| interval.high).or(high),
        }
    }
}

impl From<Ends> for WrittenEnds {
    fn from(Ends { low, high }: Ends) -> Self {
        Self {
            interval: Interval::bounded(
                low.unwrap_or(f64::NEG_INFINITY),
                high.unwrap_or(f64::INFINITY),
            ),
            low: None,
            high: None,
        }
    }
}

/// A statistic and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluated {
    /// As the check has it, with the levels that `for each` fixed.
    pub statistic: String,
    /// Null where there are too few values.
    pub value: Option<f64>,
    /// Of the value and its interval: `ns`, `B`, `ns/B`, `1` for a plain number or a share.
    pub unit: String,
    /// Of the 95 % interval.
    #[serde(flatten)]
    pub ends: Ends,
    /// Why an end is missing; null where none is.
    pub no_interval: Option<String>,
    /// How many values it is made of.
    pub count: u64,
    /// How many independent values would say as much; null where that makes no sense or the streams are too short to tell.
    pub effective: Option<f64>,
    /// Of how many independent trials: simulations that have the same random numbers count as one.
    pub trials: usize,
    /// What else a reader needs: the bound of a share, the points of a fit; null where nothing.
    pub note: Option<String>,
}

/// What two values were compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonScale {
    /// Left less right.
    Difference,
    /// Left over right.
    Ratio,
}

/// Two values and how they compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// The comparison, as the check writes it.
    pub comparison: String,
    /// Whether their difference or their ratio was judged.
    pub by: ComparisonScale,
    /// Left value; null where it could not be had.
    pub left: Option<f64>,
    /// Right value; null where it could not be had.
    pub right: Option<f64>,
    /// Unit of the two values.
    pub unit: String,
    /// Their difference or ratio; null where it could not be had.
    pub value: Option<f64>,
    /// Unit of the difference or ratio.
    pub value_unit: String,
    /// Of its 95 % interval, or of where it surely is.
    #[serde(flatten)]
    pub ends: Ends,
    /// True where all of the interval is above this; null where any is.
    pub above: Option<f64>,
    /// True where all of the interval is below this; null where any is.
    pub below: Option<f64>,
    /// Repeats of a trial differ by more than their packets allow for, so the interval is made of
    /// trials and not of packets.
    pub repeats_differ: bool,
    /// The interval is made of whole trials, each as one value: a trial has one number of it, or its packets are too few
    /// or resemble each other too much.
    #[serde(default)]
    pub of_trials: bool,
    /// About how many packets more would settle it, in the same proportions; null where it is
    /// settled, or packets alone would not.
    pub more_packets: Option<u64>,
    /// About how many repeats more would settle it, where packets would not; else null.
    #[serde(default)]
    pub more_repeats: Option<u64>,
    /// How long those packets or repeats would take with all else that the run has, nanoseconds of the run's clock; null without.
    #[serde(default)]
    pub more_time_ns: Option<u64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in plain words.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::*;

    #[test]
    fn all_of_several() {
        assert_eq!(Verdict::all([True, True]), True);
        assert_eq!(Verdict::all([True, Undecided]), Undecided);
        assert_eq!(Verdict::all([Undecided, False, True]), False);
        assert_eq!(Verdict::all([]), True);
        assert_eq!(True.not(), False);
        assert_eq!(Undecided.not(), Undecided);
        assert_eq!(Verdict::all([NotApplicable, Undecided]), NotApplicable);
        assert_eq!(Verdict::all([NotApplicable, False]), False);
        assert_eq!(NotApplicable.not(), NotApplicable);
    }

    #[test]
    fn levels_to_which_a_claim_does_not_apply_do_not_count() {
        assert_eq!(
            Verdict::wherever_applicable([NotApplicable, True, NotApplicable]),
            True
        );
        assert_eq!(
            Verdict::wherever_applicable([NotApplicable, Undecided, True]),
            Undecided
        );
        assert_eq!(Verdict::wherever_applicable([NotApplicable]), NotApplicable);
    }

    #[test]
    fn an_interval_is_written_as_an_object_and_read_as_older_versions_wrote_it_too() {
        let ends = Ends {
            low: Some(1.0),
            high: None,
        };
        let text = serde_json::to_string(&ends).unwrap_or_default();
        assert_eq!(text, r#"{"interval":{"low":1.0,"high":null,"level":0.95}}"#);
        let read = |text: &str| serde_json::from_str::<Ends>(text).ok();
        assert_eq!(read(&text), Some(ends));
        // As older versions wrote them.
        assert_eq!(read(r#"{"low":1.0,"high":null}"#), Some(ends));
        let text = serde_json::to_string(&Ends::default()).unwrap_or_default();
        assert_eq!(text, r#"{"interval":null}"#);
        assert_eq!(read(&text), Some(Ends::default()));
    }

    #[test]
    fn what_older_versions_wrote_is_read() {
        fn read(text: &str) -> serde_json::Result<Verdict> {
            serde_json::from_str(text)
        }
        assert_eq!(read("\"cannot_tell\"").ok(), Some(Undecided));
        for verdict in Verdict::ALL {
            let text = serde_json::to_string(&verdict).unwrap_or_default();
            assert_eq!(text, format!("\"{}\"", verdict.id()));
            assert_eq!(read(&text).ok(), Some(verdict));
        }
    }
}
