//! Runs on disk: whole, damaged, killed, and read by other tools.
//!
//! | module | tests |
//! |---|---|
//! | [`damage`] | files that are cut, missing or overwritten |
//! | [`faults`] | a disk that fails, a power cut at any moment, a clock that jumps |
//! | [`faulty_disk`] | is the disk that fails |
//! | [`full_disk`] | full disks and folders without permission |
//! | [`index`] | the index of runs |
//! | [`kill`] | a recording process that is killed |
//! | [`looking`] | what the server of runs reads |
//! | [`python`] | polars and DuckDB read a run |
//! | [`roundtrip`] | what is written is read back |
//! | [`harness`] | gives rows and runs to the others |
#![allow(clippy::unwrap_used)]

mod damage;
mod faults;
mod faulty_disk;
mod full_disk;
mod harness;
mod index;
mod kill;
mod looking;
mod python;
mod roundtrip;
