//! What there is to show: a ping, a run, a comparison, a path trace, as data and as documents for programs. Terminal,
//! pages and figures are made from these, and say nothing of their own.
//!
//! | module | holds |
//! |---|---|
//! | [`ping`] | a finished trial of one probe |
//! | [`working`] | a ping without load and one under it: which queue grew |
//! | [`run`] | a run; records in, one by one, in flat memory |
//! | [`both_runs`] | two runs of the same experiment: where they differ |
//! | [`compare`] | `delaylab compare`: what changed between two runs |
//! | [`explain`] | why packets of a run were late |
//! | [`calibration`] | a calibrated path, and what a change would make of it |
//! | [`trace`] | a path trace |
//! | [`benchmark`] | what a procedure of the device benchmark found, as words and as Markdown |
//! | [`json`] | one JSON document at the end, and its JSON Schema |
//! | [`published`] | **the** list of all documents, with their schemas; and a file for each that is only a document |
//! | [`columns`] | **the** list of a record's columns: JSON, NDJSON and CSV all read it |
//! | [`stream`] | NDJSON: one line a packet as soon as its record is whole |
//! | [`csv`] | one CSV row a packet |
//! | [`latex`] | a table for a paper |
//! | [`mod@format`] | the format that a file's name asks for |
//! | `samples` (a feature) | results made by hand, for tests of what shows them |
//! | [`words`], [`missing`] | numbers and names in words; why a figure is missing |
//!
//! Nothing here opens a socket, reads a clock or knows a terminal: records and facts go in. Files are read by
//! [`run::stored`] and [`compare::stored`] alone, those of the run that they are handed.
#![forbid(unsafe_code)]

pub mod benchmark;
pub mod both_runs;
pub mod calibration;
pub mod columns;
pub mod compare;
pub mod csv;
pub mod explain;
pub mod format;
pub mod json;
pub mod latex;
pub mod missing;
pub mod ping;
pub mod published;
pub mod run;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod stream;
pub mod trace;
pub mod words;
pub mod working;
