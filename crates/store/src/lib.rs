//! Runs on disk: written a trial at a time, safe whenever the process or the machine stops, and
//! readable by any tool that reads Parquet.
//!
//! | module | holds |
//! |---|---|
//! | [`writer`] | [`writer::RunWriter`] and [`writer::TrialWriter`]: a run as it is recorded |
//! | [`known_trial`] | [`known_trial::KnownTrial`]: a trial of which everything is known beforehand |
//! | [`adopt`] | trials of one unfinished run, taken over by another |
//! | [`resume`] | taking up a run that was killed |
//! | [`begun`] | how a trial that is under way began |
//! | [`cut_short`] | trials that count with what is recorded of them |
//! | [`killed`] | what killed processes left among runs |
//! | [`run`] | [`run::Run`]: reading a run, finished or not, damaged or not |
//! | [`run::tail`] | the records of a run in progress, as they come |
//! | [`trial_row`] | [`trial_row::TrialRow`]: one probe of one trial, with its factors and figures |
//! | [`part`] | what one trial adds to the tables |
//! | [`frame`] | a small table in memory as CSV or Parquet |
//! | [`verify`] | is a run what was recorded? |
//! | [`index`] | the index of runs |
//! | [`overview`] | what came of a run, for a list |
//! | [`resolve`] | which run a word on the command line means |
//! | [`disk`] | the calls by which a run is written |
//! | [`whole_file`] | pages and figures: whole or not written |
//! | [`error`] | what can go wrong while a run is written, and what to do about it |
//!
//! Inside: `table` makes Arrow batches of rows, `journal` keeps the rows of a running trial, `seal` finds what is torn of one,
//! `parquet_file` and `parquet_source` write and read one Parquet file, `row_groups` encodes its columns, `content` reads its
//! bytes, `stamps` is how stamps stand in one, `trial_file` holds what a recorded trial left, `join` makes tables of that, `in_order` works on many of them at once,
//! `interrupted` keeps what was cut short apart, `unanswered` is what rows of trials keep of lost packets, `folder` knows the
//! names, `lock` lets one process at a time write, `durable` the order in which files become visible, `manifest` and `digest` what each file holds, `run_files` whether the files of a run still hold it, `shard` which runs wait to be merged, `mismatch` is a file
//! that holds something else, `regular` says which files are read at all, `temporary` names what is not whole yet.
#![forbid(unsafe_code)]

pub mod adopt;
mod all_columns;
pub mod begun;
mod content;
pub mod cut_short;
mod digest;
pub mod disk;
mod durable;
mod each;
pub mod error;
mod folder;
pub mod frame;
mod in_order;
pub mod index;
mod interrupted;
mod join;
mod journal;
pub mod killed;
pub mod known_trial;
mod latest;
mod lock;
mod manifest;
mod mismatch;
pub mod overview;
mod parquet_file;
mod parquet_source;
pub mod part;
mod regular;
pub mod resolve;
pub mod resume;
mod row_groups;
pub mod run;
mod run_files;
mod seal;
mod shard;
mod sorter;
mod stamps;
mod table;
mod temporary;
mod trial_file;
pub mod trial_row;
mod unanswered;
pub mod verify;
pub mod whole_file;
pub mod writer;
