//! Pages: a run, a comparison or a calibrated path as one file that needs nothing else, and the server of runs.
//!
//! | module | holds |
//! |---|---|
//! | [`html`] | pages |
//! | [`serve`] | runs as pages, on a port of this host |
//!
//! But for [`serve`], nothing here opens a socket or a file.
#![forbid(unsafe_code)]

pub mod html;
pub mod serve;
