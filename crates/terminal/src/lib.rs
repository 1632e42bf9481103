//! What a person reads on a terminal: text made from what crate `view` has to show.
//!
//! | module | prints |
//! |---|---|
//! | [`ping`] | the summary of a ping |
//! | [`mod@line`] | one line a reply, and the live status line, while it runs |
//! | [`run`] | findings, trials and noise of a run |
//! | [`compare`], [`explain`], [`calibration`], [`trace`], [`cells`], [`verify`], [`doctor`] | what these commands say |
//! | [`bar`] | blocks for times |
//! | [`style`], [`table`], [`text`] | colour, glyphs and width; aligned columns; lines |
//! | [`mod@visible`] | text from anywhere, safe to print |
//!
//! Whether standard output is a terminal is the caller's to find out: nothing here asks.
#![forbid(unsafe_code)]

pub mod bar;
pub mod calibration;
pub mod cells;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod line;
pub mod ping;
pub mod run;
pub mod style;
pub mod table;
pub mod text;
pub mod trace;
pub mod verify;
pub mod visible;
