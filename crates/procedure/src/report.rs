//! What every procedure gives: tables, figures and clauses, enough to print it without knowing it.

use crate::at_size::{AtSize, all_found, found_by_size};
use crate::setup::Setup;
use delaylab_model::Nanos;
use delaylab_model::units::format_duration;
use schemars::JsonSchema;
use serde::Serialize;

/// What a procedure found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The procedure's name.
    pub procedure: String,
    /// What it measures, for a heading.
    pub title: String,
    /// Sections that define it: `RFC 2544 §26.1`.
    pub sections: Vec<String>,
    /// In the format that the RFC asks for; the first is the result.
    pub tables: Vec<Table>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// What the RFC asks for, and whether it was so.
    pub conformance: Vec<Clause>,
    /// Sentences to read before trusting the figures.
    pub notes: Vec<String>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column or an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    /// What it holds.
    pub name: String,
    /// Its unit; null of names and counts.
    pub unit: Option<String>,
    /// What its figures tell.
    #[serde(skip)]
    pub role: Role,
}

/// What the figures of a column tell: so results of two runs are compared without a look at names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// What was found, or what it was found at.
    #[default]
    Result,
    /// How much was lost, or how often the device did not come back.
    Loss,
    /// How far repeats were apart, or the frames of one.
    Spread,
    /// How much was measured.
    Effort,
    /// What the medium carries, which is known without a measurement.
    Medium,
}

impl Column {
    /// A name, and a unit unless it is empty.
    pub fn new(name: &str, unit: &str) -> Self {
        Self::from((name, unit, Role::Result))
    }
}

impl From<(&str, &str)> for Column {
    fn from((name, unit): (&str, &str)) -> Self {
        Self::new(name, unit)
    }
}

impl From<(&str, &str, Role)> for Column {
    fn from((name, unit, role): (&str, &str, Role)) -> Self {
        Self {
            name: name.to_owned(),
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
            role,
        }
    }
}

/// What stands in a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Not known.
    Nothing,
    /// A whole number.
    Count(u64),
    /// A number; never NaN.
    Number(f64),
    /// A name or a remark.
    Text(String),
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() {
            Cell::Number(number)
        } else {
            Cell::Nothing
        }
    }
}

impl From<Nanos> for Cell {
    fn from(time: Nanos) -> Self {
        Cell::Number(time as f64)
    }
}

impl From<bool> for Cell {
    fn from(is_so: bool) -> Self {
        Cell::Text(if is_so { "yes" } else { "no" }.to_owned())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Nothing, Into::into)
    }
}

/// The mean of a count over repeats, as times are given: a sum would grow with how often a trial is repeated.
pub fn per_repeat(count: u64, repeats: usize) -> Cell {
    (count as f64 / repeats.max(1) as f64).into()
}

/// The name of the column that says why a row has no figures, or what to know of them: sentences, where others have figures and
/// words.
pub const REMARK: &str = "remark";

/// The name of the column that tables of results by frame size begin with.
pub const FRAME_SIZE: &str = "frame size";

/// A table with a row for each frame size that was found, or why it was not.
pub fn by_size<F, C: Copy + Into<Column>>(
    title: &str,
    columns: &[C],
    sizes: &[AtSize<F>],
    row: impl Fn(&F) -> Vec<Cell>,
) -> Table {
    rows_by_size(title, columns, sizes, |found| vec![row(found)])
}

/// A table with several rows for each frame size that was found, or one with why it was not. A row may end with a remark of
/// its own.
pub fn rows_by_size<F, C: Copy + Into<Column>>(
    title: &str,
    columns: &[C],
    sizes: &[AtSize<F>],
    rows: impl Fn(&F) -> Vec<Vec<Cell>>,
) -> Table {
    let width = columns.len();
    let of_size = |at: &AtSize<F>| {
        let found = at.found.as_ref();
        let mut rows = found.map_or_else(|| vec![Vec::new()], &rows);
        for cells in &mut rows {
            if cells.len() <= width {
                cells.resize(width, Cell::Nothing);
                let why = at.why.as_ref().map(ToString::to_string);
                cells.push(why.unwrap_or_default().into());
            }
            cells.insert(0, Cell::Count(u64::from(at.size)));
        }
        rows
    };
    let first = [Column::new(FRAME_SIZE, "B")].into_iter();
    let columns = first.chain(columns.iter().map(|&column| column.into()));
    Table {
        title: title.to_owned(),
        columns: columns.chain([Column::new(REMARK, "")]).collect(),
        rows: sizes.iter().flat_map(of_size).collect(),
    }
}

/// What is drawn: lines over one axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The axis to the right.
    pub x: Column,
    /// The axis upwards.
    pub y: Column,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// What it is called in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl Figure {
    /// Over the frame size, without lines.
    pub(crate) fn over_size(title: &str, y: (&str, &str)) -> Self {
        Self::new(title, (FRAME_SIZE, "B"), y)
    }

    /// Without lines.
    pub fn new(title: &str, x: (&str, &str), y: (&str, &str)) -> Self {
        Self {
            title: title.to_owned(),
            x: Column::new(x.0, x.1),
            y: Column::new(y.0, y.1),
            lines: Vec::new(),
        }
    }

    /// With this line; points that are not numbers are left out.
    #[must_use]
    pub fn line(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter();
        let points = points.filter(|(x, y)| x.is_finite() && y.is_finite());
        self.lines.push(Line {
            name: name.to_owned(),
            points: points.collect(),
        });
        self
    }

    /// With a line of a point for each frame size that has one.
    pub(crate) fn points<F>(
        self,
        name: &str,
        sizes: &[AtSize<F>],
        of: impl Fn(&F) -> Option<f64>,
    ) -> Self {
        let found = found_by_size(sizes);
        self.line(
            name,
            found.filter_map(|(size, found)| Some((f64::from(size), of(found)?))),
        )
    }

    /// With a line for each frame size.
    #[must_use]
    pub fn line_by_size<F, P: IntoIterator<Item = (f64, f64)>>(
        self,
        sizes: &[AtSize<F>],
        points: impl Fn(&F) -> P,
    ) -> Self {
        found_by_size(sizes).fold(self, |figure, (size, found)| {
            figure.line(&format!("{size} B"), points(found))
        })
    }
}

/// Whether something is as an RFC asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// It is.
    Yes,
    /// It is done, but shorter or less often.
    Shortened,
    /// It does not concern this set-up.
    NotApplicable,
    /// It is not.
    No,
}

/// What an RFC asks for, and whether it was so.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Clause {
    /// `RFC 2544`.
    pub rfc: String,
    /// `§26.1`.
    pub section: String,
    /// What it asks for, in our words.
    pub says: String,
    /// Whether it was so.
    pub holds: Holds,
    /// What shows that it was so, or why not.
    #[serde(rename = "reason")]
    pub why: String,
}

/// Why a clause about what was found does not apply.
const NOTHING: &str = "nothing was measured";

impl Clause {
    /// Of this section of an RFC, written `RFC 2544 §26.1`.
    pub fn new(section: &str, says: &str, holds: Holds, why: impl Into<String>) -> Self {
        let (rfc, section) = section.split_once(" §").unwrap_or((section, ""));
        Self {
            rfc: rfc.to_owned(),
            section: format!("§{section}"),
            says: says.to_owned(),
            holds,
            why: why.into(),
        }
    }

    /// Something that lasts at least so long.
    pub fn lasts(section: &str, says: &str, is: Nanos, least: Nanos) -> Self {
        let (holds, why) = if is >= least {
            (Holds::Yes, format_duration(is))
        } else {
            let (is, least) = (format_duration(is), format_duration(least));
            (Holds::Shortened, format!("{is} instead of {least}"))
        };
        Self::new(section, says, holds, why)
    }

    /// Something that what was found says: how it was so, or why not.
    pub fn measured<F>(
        section: &str,
        says: &str,
        sizes: &[AtSize<F>],
        judge: impl FnOnce() -> Result<String, String>,
    ) -> Self {
        let (holds, why) = match judge() {
            Ok(how) => (Holds::Yes, how),
            Err(why) => (Holds::No, why),
        };
        Self::new(section, says, holds, why).of_found(sizes)
    }

    /// This, if something was found at all.
    pub fn of_found<F>(self, sizes: &[AtSize<F>]) -> Self {
        if sizes.iter().any(|at| at.found.is_some()) {
            return self;
        }
        Self {
            holds: Holds::NotApplicable,
            why: NOTHING.to_owned(),
            ..self
        }
    }

    /// Something that is done at least so often at every frame size of which something was found.
    pub fn times<F>(
        section: &str,
        says: &str,
        sizes: &[AtSize<F>],
        times: impl Fn(&F) -> usize,
        least: usize,
    ) -> Self {
        let (holds, why) = match all_found(sizes).map(times).min() {
            None => (Holds::NotApplicable, NOTHING.to_owned()),
            Some(is) if is >= least => (Holds::Yes, times_in_words(is)),
            Some(is) => {
                let why = format!("{} instead of {least}", times_in_words(is));
                (Holds::Shortened, why)
            }
        };
        Self::new(section, says, holds, why)
    }
}

fn times_in_words(times: usize) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// Are there figures of all frame sizes of RFC 2544? Those that are not done yet may still come.
fn every_size<F>(setup: &Setup, sizes: &[AtSize<F>]) -> Clause {
    let list = |what: &str, is_so: &dyn Fn(u32) -> bool| {
        let listed = crate::setup::SIZES.into_iter().filter(|&size| is_so(size));
        let names = Vec::from_iter(listed.map(|size| size.to_string()));
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let is_missing = |size| sizes.iter().any(|at| at.size == size && at.is_missing());
    let without = list("without", &|size| !setup.sizes.contains(&size));
    let why = Vec::from_iter(
        without
            .into_iter()
            .chain(list("no figures of", &is_missing)),
    );
    let (holds, why) = match why.is_empty() {
        true => (Holds::Yes, "all of them".to_owned()),
        false => (Holds::Shortened, why.join("; ")),
    };
    let says = "Ethernet sizes from 64 to 1518 bytes";
    Clause::new("RFC 2544 §9.1", says, holds, why)
}

/// Are there figures of all frame sizes that were asked for? Those that are not done yet may still come.
pub(crate) fn figures_of_all<F>(section: &str, sizes: &[AtSize<F>]) -> Clause {
    let missing = sizes.iter().filter(|at| at.is_missing());
    let missing = Vec::from_iter(missing.map(|at| format!("{} B", at.size)));
    let says = "figures of every frame size that was asked for";
    Clause::measured(section, says, sizes, || match missing.is_empty() {
        true => Ok("all of them".to_owned()),
        false => Err(format!("none of {}", missing.join(", "))),
    })
}

/// What RFC 2544 asks of every trial.
pub fn clauses_of_trials<F>(setup: &Setup, sizes: &[AtSize<F>]) -> Vec<Clause> {
    let effort = &setup.effort;
    let second = delaylab_model::SECOND;
    vec![
        every_size(setup, sizes),
        Clause::lasts(
            "RFC 2544 §23",
            "wait for frames that are still on their way",
            effort.drain,
            2 * second,
        ),
        Clause::lasts(
            "RFC 2544 §23",
            "let the device settle between trials",
            effort.settle,
            5 * second,
        ),
        Clause::new(
            "RFC 2544 §21",
            "bursts of frames as well",
            Holds::NotApplicable,
            "constant rate; procedures of their own send bursts",
        ),
    ]
}
