//! `delaylab merge`.

use super::run::{carry_out, catch_stop, options};
use crate::args::experiment::MergeArgs;
use crate::exit::Failed;
use delaylab_runner::shard;
use delaylab_store::resolve::resolve_run;
use std::path::PathBuf;

/// Runs the command.
pub fn run(args: &MergeArgs) -> Result<(), Failed> {
    let runs = &args.shown.output;
    let folder = |shard: &String| -> Result<PathBuf, Failed> {
        resolve_run(shard, runs).map_err(|error| Failed::usage(error.to_string()))
    };
    let folders = args
        .shards
        .iter()
        .map(folder)
        .collect::<Result<Vec<_>, _>>()?;
    catch_stop()?;
    let started = shard::merge(&folders, &options(), runs)?;
    carry_out(started, false, &args.shown)?.show(&args.shown)
}
