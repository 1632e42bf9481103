//! What `explain` says of runs and files of which everything is known.
//!
//! | module | tests |
//! |---|---|
//! | [`calibrate`] | simulated paths are found again |
//! | [`import`] | files that other tools wrote |
//! | [`import_broken`] | files that were cut, changed or made up |
//! | [`why`] | causes of late packets in simulated runs |
#![allow(clippy::unwrap_used)]

mod calibrate;
mod import;
mod import_broken;
mod why;
