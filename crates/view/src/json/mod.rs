//! What commands print for programs: one document at the end, or lines as they come, and the JSON Schema of each.
//!
//! | module | holds |
//! |---|---|
//! | `document.rs` | what all have in common: their envelope, intervals, levels of factors |
//! | [`ping`], [`run`] | of a ping, of a run |
//! | `results.rs`, `stats.rs` | results of the packets of one probe, in a ping as in a trial of a run |
//! | `figures.rs` | names of figures, and numbers that are counts |
//! | `working.rs` | what came of them under load |
//! | `config.rs` | what was asked for, and of which host |
//!
//! Whole nanoseconds for single values, numbers for means; names of times end in `_ns`. Never NaN:
//! what is not known is null, and where we know why, `reasons` in the same object says so under
//! the field's name.

mod config;
mod document;
mod figures;
pub mod ping;
mod results;
pub mod run;
mod stats;
#[cfg(test)]
mod testing;
mod working;

pub use config::{Config, SystemInfo};
pub use delaylab_model::interval::Interval;
pub use document::{
    Head, Levels, Measured, Published, Reasons, WithHead, levels, line_schema, reasons, schema,
    to_line, write,
};
pub(crate) use document::{NeverMissing, schema_of, seed, some_seed, whole, with_reasons};
pub(crate) use figures::figure;
pub use figures::{Amount, ByFigure, Figures};
pub use results::{Facts, Results};
pub(crate) use stats::stage_times;
pub use stats::{StageTime, Stats};
#[cfg(test)]
pub(crate) use testing::{valid, validator};
pub use working::UnderLoad;
