//! Procedures against a device of which everything is known.
#![allow(clippy::unwrap_used)]

mod device;
mod ends;
mod finds;
mod verdicts;
