//! The table of trials: a row for each trial and probe, with its factors and the summary's figures.

use crate::table::cell::Utc;
use crate::table::{self, BadColumn, Column, Row, columns};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::plan::{Factor, Level};
use delaylab_model::probe::{HostCondition, is_warm};
use delaylab_model::table::TableRow;
use delaylab_model::trial::{LossDirection, LostInHost, ProbeFacts};
use delaylab_model::words::each_once;
use delaylab_stats::summary::is_whole;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// One probe of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRow {
    /// The trial's number in the run.
    pub trial: u32,
    /// Which probe of the trial.
    pub probe: u16,
    /// Its name in the experiment.
    pub probe_name: String,
    /// How it asked.
    pub method: Method,
    /// Which repeat of this combination of levels, from 0.
    pub repeat: u32,
    /// When it had its turn: the first trial has 0.
    pub position: u32,
    /// When it started: nanoseconds since 1970, UTC. `None`: on a simulated clock.
    pub started_utc: Option<Nanos>,
    /// How long it took, on the clock of its world.
    pub duration: Nanos,
    /// The state that the host was put in.
    pub host: HostCondition,
    /// The trial's seed.
    pub seed: u64,
    /// May its figures be used?
    pub valid: bool,
    /// So many packets at the start are left out of its figures.
    pub warmup: u64,
    /// How to read its records, and what else the world said.
    pub facts: ProbeFacts,
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// The summary's figures: each name is a column.
    pub figures: Vec<(String, Option<f64>)>,
}

impl TrialRow {
    /// Does this packet of its probe count in figures? See [`is_warm`].
    pub const fn counts(&self, seq: u64) -> bool {
        is_warm(seq, self.warmup)
    }

    /// A figure by its name; `None` where the row has no such figure, or does not know it.
    pub fn figure(&self, name: &str) -> Option<f64> {
        *value_of(&self.figures, name)?
    }

    /// How many packets were sent, and how many of them were lost, where it has both.
    pub fn sent_and_lost(&self) -> Option<(u64, u64)> {
        let count = |name| self.figure(name).filter(|count| *count >= 0.0);
        let (sent, lost) = (count("sent")? as u64, count("lost")? as u64);
        (sent > 0 && lost <= sent).then_some((sent, lost))
    }
}

/// The columns that every trial has.
#[derive(Debug, Clone, Default)]
struct Fixed {
    trial: u32,
    probe: u16,
    probe_name: String,
    method: Method,
    repeat: u32,
    position: u32,
    started_utc: Option<Utc>,
    duration_ns: Nanos,
    realtime_offset: Option<Nanos>,
    host_condition: String,
    seed: u64,
    valid: bool,
    warmup: u64,
    /// One a line.
    noise_sources: Option<String>,
    /// JSON.
    ran: Option<String>,
    /// JSON.
    processes: Option<String>,
    /// JSON.
    negotiated: Option<String>,
    /// JSON.
    resolved: Option<String>,
    /// One a line.
    warnings: Option<String>,
    /// One a line.
    flaws: Option<String>,
    /// JSON.
    record_facts: String,
    /// JSON.
    stamps: String,
    lost_forward: Option<u64>,
    lost_back: Option<u64>,
    lost_somewhere: Option<u64>,
    lost_answered_later: Option<u64>,
    lost_reflector_buffer: Option<u64>,
    lost_reflector_limit: Option<u64>,
    lost_own_buffer: Option<u64>,
    /// JSON.
    unanswered: Option<String>,
    path_mtu: Option<u32>,
    strays: u64,
    rejected: u64,
    lost_load: Option<u64>,
    /// JSON.
    switch_lateness: Option<String>,
    /// In hexadecimal.
    trace_hash: Option<String>,
}

impl Row for Fixed {
    const TABLE: &'static str = crate::folder::TRIALS;
    const COLUMNS: &'static [Column<Self>] = columns! { Fixed:
        trial probe probe_name method repeat position started_utc duration_ns realtime_offset
        host_condition seed valid warmup noise_sources ran processes negotiated resolved warnings flaws record_facts stamps
        lost_forward lost_back lost_somewhere lost_answered_later lost_reflector_buffer lost_reflector_limit lost_own_buffer unanswered path_mtu strays rejected lost_load switch_lateness trace_hash
    };
}

impl TableRow for Fixed {
    const IS_OPTIONAL: bool = false;
    type Key<'a> = (u32, u16);

    fn key(&self) -> Self::Key<'_> {
        (self.trial, self.probe)
    }
}

impl From<&TrialRow> for Fixed {
    fn from(row: &TrialRow) -> Self {
        let facts = &row.facts;
        Fixed {
            trial: row.trial,
            probe: row.probe,
            probe_name: row.probe_name.clone(),
            method: row.method,
            repeat: row.repeat,
            position: row.position,
            started_utc: row.started_utc.map(Utc),
            duration_ns: row.duration,
            realtime_offset: row.started_utc.map(|_| facts.realtime_offset),
            host_condition: word(&row.host),
            seed: row.seed,
            valid: row.valid,
            warmup: row.warmup,
            noise_sources: lines(&facts.noise_sources),
            ran: (!facts.ran.is_empty()).then(|| json(&facts.ran)),
            processes: (!facts.processes.is_empty()).then(|| json(&facts.processes)),
            negotiated: (!facts.negotiated.is_empty()).then(|| json(&facts.negotiated)),
            resolved: (!facts.resolved.is_empty()).then(|| json(&facts.resolved)),
            warnings: lines(&facts.warnings),
            flaws: lines(&facts.flaws),
            record_facts: json(&facts.records),
            stamps: json(&facts.stamps),
            lost_forward: facts.loss.map(|loss| loss.forward),
            lost_back: facts.loss.map(|loss| loss.back),
            lost_somewhere: facts.loss.map(|loss| loss.unknown),
            lost_answered_later: facts.loss.map(|loss| loss.answered_later),
            lost_reflector_buffer: facts.loss.map(|loss| loss.in_host.reflector_buffer),
            lost_reflector_limit: facts.loss.map(|loss| loss.in_host.reflector_limit),
            lost_own_buffer: facts.loss.map(|loss| loss.in_host.own_buffer),
            unanswered: facts.unanswered.as_ref().map(json),
            path_mtu: facts.path_mtu,
            strays: facts.strays,
            rejected: facts.rejected,
            lost_load: facts.lost_load,
            switch_lateness: facts.switch_lateness.as_ref().map(json),
            trace_hash: facts.trace_hash.map(|hash| format!("{hash:016x}")),
        }
    }
}

impl Fixed {
    /// `None` where one of its texts cannot be read.
    fn row(self) -> Option<TrialRow> {
        let loss = |forward| {
            Some(LossDirection {
                forward,
                back: self.lost_back?,
                unknown: self.lost_somewhere?,
                answered_later: self.lost_answered_later.unwrap_or(0),
                in_host: LostInHost {
                    reflector_buffer: self.lost_reflector_buffer.unwrap_or(0),
                    reflector_limit: self.lost_reflector_limit.unwrap_or(0),
                    own_buffer: self.lost_own_buffer.unwrap_or(0),
                },
            })
        };
        Some(TrialRow {
            trial: self.trial,
            probe: self.probe,
            probe_name: self.probe_name,
            method: self.method,
            repeat: self.repeat,
            position: self.position,
            started_utc: self.started_utc.map(|utc| utc.0),
            duration: self.duration_ns,
            host: from_word(&self.host_condition)?,
            seed: self.seed,
            valid: self.valid,
            warmup: self.warmup,
            facts: ProbeFacts {
                records: from_json(&self.record_facts)?,
                stamps: from_json(&self.stamps)?,
                realtime_offset: self.realtime_offset.unwrap_or(0),
                loss: self.lost_forward.and_then(loss),
                unanswered: from_json(self.unanswered.as_deref().unwrap_or("null"))?,
                path_mtu: self.path_mtu,
                strays: self.strays,
                rejected: self.rejected,
                noise_sources: from_lines(self.noise_sources),
                unwatched: Vec::new(),
                ran: from_json(self.ran.as_deref().unwrap_or("[]"))?,
                processes: from_json(self.processes.as_deref().unwrap_or("[]"))?,
                negotiated: from_json(self.negotiated.as_deref().unwrap_or("[]"))?,
                resolved: from_json(self.resolved.as_deref().unwrap_or("[]"))?,
                warnings: from_lines(self.warnings),
                flaws: from_lines(self.flaws),
                lost_load: self.lost_load,
                switch_lateness: from_json(self.switch_lateness.as_deref().unwrap_or("null"))?,
                trace_hash: from_hex(self.trace_hash.as_deref())?,
                simulated: self.started_utc.is_none().then_some(self.duration_ns),
            },
            factors: Vec::new(),
            figures: Vec::new(),
        })
    }
}

/// `None` where it is no number.
fn from_hex(text: Option<&str>) -> Option<Option<u64>> {
    match text {
        None => Some(None),
        Some(text) => u64::from_str_radix(text, 16).ok().map(Some),
    }
}

/// `None` without any.
fn lines(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn from_lines(text: Option<String>) -> Vec<String> {
    let text = text.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The name that serde gives a variant.
fn word(value: &impl Serialize) -> String {
    json(value).trim_matches('"').to_owned()
}

fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// Plain data without maps: this cannot fail.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// What the name of a factor's column begins with.
const FACTOR: &str = "factor_";

/// Rows as a batch: the columns that all have, then factors, then figures, as they first appear. It is what is stored, with
/// every figure as a fraction.
pub(crate) fn batch(rows: &[TrialRow]) -> Result<RecordBatch, ArrowError> {
    batch_with(rows, |_| false)
}

/// The same for programs: counts and times between stamps are integers, as in all tables.
pub(crate) fn typed_batch(rows: &[TrialRow]) -> Result<RecordBatch, ArrowError> {
    batch_with(rows, is_whole)
}

fn batch_with(rows: &[TrialRow], whole: fn(&str) -> bool) -> Result<RecordBatch, ArrowError> {
    let fixed: Vec<Fixed> = rows.iter().map(Fixed::from).collect();
    let fixed = table::batch(&table::schema::<Fixed>(), &fixed)?;
    let mut fields: Vec<Arc<Field>> = fixed.schema().fields().to_vec();
    let mut arrays = fixed.columns().to_vec();
    for (name, array) in factor_columns(rows)
        .into_iter()
        .chain(figure_columns(rows, whole))
    {
        if fields.iter().any(|field| *field.name() == name) {
            let message = format!("two columns would have the name `{name}`");
            return Err(ArrowError::SchemaError(message));
        }
        fields.push(Arc::new(Field::new(name, array.data_type().clone(), true)));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn factor_columns(rows: &[TrialRow]) -> Vec<(String, ArrayRef)> {
    let factors = rows.iter().flat_map(|row| &row.factors);
    let names = each_once(factors.map(|(name, _)| name.as_str()));
    let columns = names.into_iter().flat_map(|name| {
        let levels = || rows.iter().map(|row| value_of(&row.factors, name));
        let labels = StringArray::from_iter(levels().map(|level| Some(level?.label.as_str())));
        let values = Float64Array::from_iter(levels().map(|level| level?.value));
        let units = StringArray::from_iter(levels().map(|level| Some(word(&level?.unit?))));
        let column = |end: &str, array| (format!("{FACTOR}{name}{end}"), array);
        [
            column("", Arc::new(labels) as ArrayRef),
            column("_value", Arc::new(values)),
            column("_unit", Arc::new(units)),
        ]
    });
    columns.collect()
}

fn figure_columns(rows: &[TrialRow], whole: fn(&str) -> bool) -> Vec<(String, ArrayRef)> {
    let figures = rows.iter().flat_map(|row| &row.figures);
    let names = each_once(figures.map(|(name, _)| name.as_str()));
    let columns = names.into_iter().map(|name| {
        let figures = rows.iter().map(|row| *value_of(&row.figures, name)?);
        let array: ArrayRef = match whole(name) {
            // What other tools print in milliseconds is not always one in nanoseconds.
            true => Arc::new(Int64Array::from_iter(
                figures.map(|figure| Some(figure?.round() as i64)),
            )),
            false => Arc::new(Float64Array::from_iter(figures)),
        };
        (name.to_owned(), array)
    });
    columns.collect()
}

fn value_of<'a, T>(pairs: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let pair = pairs.iter().find(|(known, _)| known == name);
    pair.map(|(_, value)| value)
}

/// The schema of the columns that every trial has.
pub(crate) fn known_schema() -> SchemaRef {
    table::schema::<Fixed>()
}

/// Why rows of trials cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialRowError {
    #[error(transparent)]
    Column(#[from] BadColumn),
    #[error("the texts of trial {0} cannot be read")]
    Texts(u32),
}

/// The rows of a batch that [`batch`] made.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<TrialRow>, TrialRowError> {
    let mut fixed: Vec<Fixed> = Vec::new();
    table::read_into(batch, &mut fixed)?;
    let rows = fixed.into_iter().enumerate().map(|(at, fixed)| {
        let trial = fixed.trial;
        let mut row = fixed.row().ok_or(TrialRowError::Texts(trial))?;
        row.factors = factors_at(batch, at);
        row.figures = figures_at(batch, at);
        Ok(row)
    });
    rows.collect()
}

/// A factor's label is a text that is followed by its value and its unit.
fn factors_at(batch: &RecordBatch, at: usize) -> Vec<Factor> {
    let schema = batch.schema();
    let factors = schema.fields().iter().filter_map(|field| {
        let name = field.name().strip_prefix(FACTOR)?;
        let value = batch.column_by_name(&format!("{FACTOR}{name}_value"))?;
        let unit = batch.column_by_name(&format!("{FACTOR}{name}_unit"))?;
        let label = text_at(batch.column_by_name(field.name())?, at)?;
        let level = Level {
            label,
            value: number_at(value, at),
            unit: text_at(unit, at).and_then(|unit| from_word(&unit)),
        };
        Some((name.to_owned(), level))
    });
    factors.collect()
}

/// Every other column of fractions is a figure.
fn figures_at(batch: &RecordBatch, at: usize) -> Vec<(String, Option<f64>)> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let figures = columns.filter(|(field, _)| {
        *field.data_type() == DataType::Float64 && !field.name().starts_with(FACTOR)
    });
    figures
        .map(|(field, column)| (field.name().clone(), number_at(column, at)))
        .collect()
}

fn text_at(column: &ArrayRef, at: usize) -> Option<String> {
    let texts = column.as_string_opt::<i32>()?;
    texts.is_valid(at).then(|| texts.value(at).to_owned())
}

fn number_at(column: &ArrayRef, at: usize) -> Option<f64> {
    let numbers = column.as_primitive_opt::<Float64Type>()?;
    numbers.is_valid(at).then(|| numbers.value(at))
}
