//! Tables of values by levels of factors, as in a printed source. Cells are expressions of the check language.

use super::measured::Measured;
use super::plan::point;
use super::select::{Selection, levels};
use crate::finding::check::Value;
use crate::finding::data::{Data, StreamInfo};
use delaylab_model::experiment::FigureSection;
use delaylab_model::plan::Level;

/// A table of computed values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tabulated {
    /// Head of each column except the first: its level (empty without a factor of columns), and its expression.
    pub heads: Vec<(String, String)>,
    /// One row for each level of the factor of rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Label of the row's level; empty without a factor of rows.
    pub level: String,
    /// One cell for each head.
    pub cells: Vec<Cell>,
}

/// A formatted value, or why there is none.
pub type Cell = Result<String, String>;

/// Computes a table figure. `order`: factors with their levels in the order of the experiment; it sets the order
/// of rows and columns.
///
/// # Errors
/// What the run lacks, as a clause.
pub fn tabulate(
    asked: &FigureSection,
    data: &dyn Data,
    order: &[(String, Vec<Level>)],
) -> Result<Tabulated, String> {
    let grid = Grid::new(asked, data)?;
    let streams = grid.streams()?;
    let rows = of_factor(asked.rows.as_ref(), &streams, order)?;
    let columns = of_factor(asked.columns.as_ref(), &streams, order)?;
    let heads = columns.iter().flat_map(|column| {
        let texts = asked.values.iter().cloned();
        texts.map(|text| (label(column.as_ref()), text))
    });
    let row = |row: &Option<Level>| Row {
        level: label(row.as_ref()),
        cells: grid.cells(row.as_ref(), &columns),
    };
    Ok(Tabulated {
        heads: heads.collect(),
        rows: rows.iter().map(row).collect(),
    })
}

/// A table figure with its parsed expressions and selectors.
struct Grid<'a> {
    asked: &'a FigureSection,
    values: Vec<Value>,
    selection: Selection,
    measured: Measured<'a>,
}

impl<'a> Grid<'a> {
    fn new(asked: &'a FigureSection, data: &'a dyn Data) -> Result<Self, String> {
        let parsed = |text: &String| Value::parse(text).map_err(|error| error.to_string());
        let selection = asked.levels.as_deref().map(Selection::parse).transpose();
        Ok(Self {
            asked,
            values: asked.values.iter().map(parsed).collect::<Result<_, _>>()?,
            selection: selection
                .map_err(|error| error.to_string())?
                .unwrap_or_default(),
            measured: Measured::new(data),
        })
    }

    /// The selected streams.
    fn streams(&self) -> Result<Vec<StreamInfo>, String> {
        let all = self.measured.streams();
        let chosen = self.selection.streams(all)?.into_iter();
        Ok(chosen.map(|index| all[index].clone()).collect())
    }

    /// The cells of a row: each expression at the level of each column.
    fn cells(&self, row: Option<&Level>, columns: &[Option<Level>]) -> Vec<Cell> {
        let at_row = and(self.selection.clone(), self.asked.rows.as_deref(), row);
        let of_column = |column: &Option<Level>| {
            let at = and(
                at_row.clone(),
                self.asked.columns.as_deref(),
                column.as_ref(),
            );
            let cell = |value| {
                let value = point(value, &at, &self.measured, "there are too few values");
                let (value, dimension) = value.map_err(|why| why.reason)?;
                Ok(dimension.format(value))
            };
            self.values.iter().map(cell).collect::<Vec<Cell>>()
        };
        columns.iter().flat_map(of_column).collect()
    }
}

fn label(level: Option<&Level>) -> String {
    level.map_or_else(String::new, |level| level.label.clone())
}

/// The levels of a factor; without a factor, one `None` that stands for all streams.
fn of_factor(
    factor: Option<&String>,
    streams: &[StreamInfo],
    order: &[(String, Vec<Level>)],
) -> Result<Vec<Option<Level>>, String> {
    let Some(factor) = factor else {
        return Ok(vec![None]);
    };
    let mut levels = levels(factor, streams);
    if levels.is_empty() {
        return Err(format!("this run has no factor `{factor}`"));
    }
    if let Some((_, known)) = order.iter().find(|(name, _)| name == factor) {
        levels.sort_by_key(|level| known.iter().position(|other| other == level));
    }
    Ok(levels.into_iter().map(Some).collect())
}

fn and(selection: Selection, factor: Option<&str>, level: Option<&Level>) -> Selection {
    match factor.zip(level) {
        Some((factor, level)) => selection.and(factor, level),
        None => selection,
    }
}
