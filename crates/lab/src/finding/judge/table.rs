//! Values of the check language by levels of factors: the tables that a source prints.

use super::measured::Measured;
use super::plan::point;
use super::select::{Selection, levels};
use crate::finding::check::Value;
use crate::finding::data::{Data, StreamInfo};
use delaylab_model::experiment::FigureSection;
use delaylab_model::plan::Level;

/// A table of what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tabulated {
    /// The head of each column but the first: its level, where there is a factor of columns, and its value.
    pub heads: Vec<(String, String)>,
    /// A row for each level.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The level.
    pub level: String,
    /// A cell for each head.
    pub cells: Vec<Cell>,
}

/// A value as it reads, or why there is none.
pub type Cell = Result<String, String>;

/// The table that was asked for; `order` says how the levels of factors follow each other where they are
/// names.
///
/// # Errors
/// A sentence: what the run lacks.
pub fn tabulate(
    asked: &FigureSection,
    data: &dyn Data,
    order: &[(String, Vec<Level>)],
) -> Result<Tabulated, String> {
    let measured = Measured::new(data);
    let parsed = |text: &String| Value::parse(text).map_err(|error| error.to_string());
    let values: Vec<Value> = asked.values.iter().map(parsed).collect::<Result<_, _>>()?;
    let selection = asked.levels.as_deref().map(Selection::parse).transpose();
    let selection = selection
        .map_err(|error| error.to_string())?
        .unwrap_or_default();
    let streams = measured.streams();
    let chosen: Vec<StreamInfo> = selection
        .streams(streams)?
        .into_iter()
        .map(|i| streams[i].clone())
        .collect();
    let rows = of_factor(asked.rows.as_ref(), &chosen, order)?;
    let columns = of_factor(asked.columns.as_ref(), &chosen, order)?;
    let cell = |row: &Option<Level>, column: &Option<Level>, value: &Value| {
        let at = and(selection.clone(), asked.rows.as_deref(), row.as_ref());
        let at = and(at, asked.columns.as_deref(), column.as_ref());
        let (value, dimension) = point(value, &at, &measured)?;
        Ok(dimension.format(value))
    };
    let label =
        |level: &Option<Level>| level.as_ref().map_or_else(String::new, |l| l.label.clone());
    let of_column = |column: &Option<Level>| {
        let level = label(column);
        let texts = asked.values.iter().cloned();
        texts.map(|text| (level.clone(), text)).collect::<Vec<_>>()
    };
    let of_row = |row: &Option<Level>| {
        let each = columns.iter();
        let cells = each.flat_map(|column| values.iter().map(|value| cell(row, column, value)));
        Row {
            level: label(row),
            cells: cells.collect(),
        }
    };
    Ok(Tabulated {
        heads: columns.iter().flat_map(of_column).collect(),
        rows: rows.iter().map(of_row).collect(),
    })
}

/// Its levels; without a factor all is one.
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
