//! An interrupted run, taken up again: what belongs to that, in its order.

use crate::error::RunnerError;
use crate::options::RunOptions;
use crate::run::{self, Started};
use crate::share::Share;
use crate::{resolve, shard, target};
use delaylab_lab::experiment::Resolved;
use delaylab_model::experiment::WorldName;
use delaylab_store::resume::Resumed;
use delaylab_store::writer::RunWriter;
use std::collections::BTreeSet;

/// An interrupted run that can go on.
pub struct Resumable {
    resolved: Resolved,
    options: RunOptions,
    writer: RunWriter,
    done: BTreeSet<u32>,
    any_left: bool,
}

impl Resumable {
    /// Of what [`RunWriter::resume`] opened, where no trial of it was `cut_short`: those end the run
    /// ([`Recorded::cut_short`](crate::run::Recorded::cut_short)). What `options` leave open is as the run was begun.
    ///
    /// # Errors
    /// It was begun with a key, and there is none; another version simulated it; or its experiment or what is recorded cannot be
    /// read.
    pub fn new(
        writer: RunWriter,
        resumed: Resumed,
        options: RunOptions,
    ) -> Result<Self, RunnerError> {
        let (folder, environment) = (writer.folder(), &resumed.environment);
        let options = RunOptions {
            share: shard::of_run(folder, environment)?.map(Share::Shard),
            ..options
        };
        let options = options.filled_in_from(environment)?;
        let resolved = resolve::of_resumed(folder, &resumed)?;
        let any_left = run::any_left(&resolved, &options, &resumed.done, folder)?;
        if any_left && resolved.world == WorldName::Sim {
            shard::same_version(folder, environment)?;
        }
        Ok(Self {
            resolved,
            options,
            writer,
            done: resumed.done,
            any_left,
        })
    }

    /// Of names that stand for other addresses than when the run began, a sentence each: packets go where they went.
    pub fn moved(&self) -> Vec<String> {
        let Self {
            resolved, options, ..
        } = self;
        let load_host = options.load.server.as_ref().map(|server| &server.host);
        let names = [
            (resolved.target.as_ref(), options.began_at.target),
            (load_host, options.began_at.load),
        ];
        let each = names.into_iter().filter(|_| self.any_left);
        each.filter_map(|(name, at)| target::moved(name?, at?))
            .collect()
    }

    /// Opens its world. For a testbed, see [`Started::create`].
    ///
    /// # Errors
    /// The world cannot be opened, may not send what the experiment asks for, or what is recorded cannot be read.
    pub fn start(self) -> Result<Started, RunnerError> {
        Started::resume(
            self.resolved,
            &self.options,
            self.writer,
            &self.done,
            self.any_left,
        )
    }
}
