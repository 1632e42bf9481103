//! What a person reads on a terminal or a page and what a program reads in a file: the faces of a
//! trial and of a run.
//!
//! | module | holds |
//! |---|---|
//! | [`ping`] | what every face of `delaylab ping` is made from |
//! | [`working`] | a ping without load and one under it: which queue grew |
//! | [`terminal`] | the summary at the end, for people |
//! | [`mod@line`] | one line a reply, and the live status line, while it runs |
//! | [`live`] | the live view of a measurement under way, on a whole terminal |
//! | [`calibration`] | a calibrated path, and what a change would make of it: terminal, JSON and page |
//! | [`columns`] | **the** list of a record's columns: JSON, NDJSON and CSV all read it |
//! | [`json`] | one JSON document at the end, and its JSON Schema |
//! | [`stream`] | NDJSON: one line a packet as soon as its record is whole |
//! | [`csv`] | one CSV row a packet |
//! | [`mod@format`] | the format that a file's name asks for |
//! | [`cells`] | `delaylab cells`: terminal and JSON |
//! | [`doctor`] | what `delaylab doctor` prints |
//! | [`run`] | what every face of a run is made from; records in, one by one, in flat memory |
//! | [`beside`] | two runs of the same experiment: where they differ |
//! | [`compare`] | `delaylab compare`: what changed between two runs, on the terminal and in JSON |
//! | [`benchmark`] | what a procedure of the device benchmark found, as Markdown |
//! | [`explain`] | why packets of a run were late |
//! | [`figure`] | the figures of a run: Vega-Lite specifications over tidy tables |
//! | [`html`] | a run as one page that needs nothing else |
//! | [`serve`] | runs as pages, on a port of this host |
//! | [`svg`] | its figures as SVG, drawn without a browser |
//! | [`run_terminal`] | its findings, trials and noise as tables on a terminal |
//! | [`trace`] | `delaylab trace`: terminal and JSON |
//! | [`import`] | `delaylab import`: JSON |
//! | [`verify`] | `delaylab verify`: terminal and JSON |
//! | [`style`], [`table`] | colour, glyphs and width; aligned columns |
//! | [`mod@visible`] | text from anywhere, safe to print |
//!
//! But for [`serve`], nothing here opens a socket, reads a clock or asks whether it writes to a terminal:
//! records and facts go in, text comes out. Files are read by [`run::stored`] alone, those of the run
//! that it is handed, and by [`serve`].
#![forbid(unsafe_code)]

// The samples of runs are written as a user of this crate would: its own tests share them.
#[cfg(test)]
extern crate self as delaylab_report;

pub mod benchmark;
pub mod beside;
pub mod calibration;
pub mod cells;
pub mod columns;
pub mod compare;
pub mod csv;
pub mod doctor;
pub mod explain;
pub mod figure;
pub mod format;
pub mod html;
pub mod import;
pub mod json;
pub mod line;
pub mod live;
mod missing;
pub mod ping;
pub mod run;
pub mod run_terminal;
pub mod serve;
pub mod stream;
pub mod style;
pub mod svg;
pub mod table;
pub mod terminal;
pub mod trace;
pub mod verify;
pub mod visible;
pub mod working;

#[cfg(test)]
mod samples;
