//! `delaylab merge`.

use super::run::{carry_out, options};
use crate::args::experiment::MergeArgs;
use crate::exit::Failed;
use crate::stop::catch_stop;
use delaylab_runner::shard;
use delaylab_store::resolve::resolve_run;

/// Runs the command.
pub fn run(args: &MergeArgs) -> Result<(), Failed> {
    let runs = &args.shown.output;
    let mut folders = Vec::new();
    for shard in &args.shards {
        let folder = resolve_run(shard, runs).map_err(Failed::usage)?;
        // Patterns of a shell overlap, and links lead to the same shard.
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    catch_stop()?;
    let ready = shard::merge(&folders, &options(), runs)?;
    carry_out(ready, false, &args.shown)?.show(&args.shown)
}
