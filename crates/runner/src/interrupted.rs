//! A run that was interrupted, taken up again.

use crate::assignment::Assignment;
use crate::error::RunnerError;
use crate::options::RunOptions;
use crate::run::{self, CarriedOut, ReadyRun};
use crate::{resolve, shard, target};
use delaylab_lab::experiment::{Resolved, Source};
use delaylab_model::experiment::WorldName;
use delaylab_store::resume::{ResumeError, Resumed};
use delaylab_store::writer::RunWriter;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A run that was interrupted.
pub struct Interrupted {
    writer: RunWriter,
    source: Source,
    recorded: Resumed,
}

impl Interrupted {
    /// The run in this folder.
    ///
    /// # Errors
    /// It is complete, of another format, or cannot be read.
    pub fn open(folder: &Path) -> Result<Self, ResumeError> {
        let (writer, recorded) = RunWriter::resume(folder)?;
        let source = Source {
            name: folder.join("experiment.toml").display().to_string(),
            text: recorded.experiment.clone(),
        };
        Ok(Self {
            writer,
            source,
            recorded,
        })
    }

    /// Parts that cannot be read, where they are kept now.
    pub fn damaged(&self) -> &[PathBuf] {
        &self.recorded.damaged
    }

    /// Does it count with what is recorded of it, as a ping does? Then no other trial is carried out.
    pub fn counts_as_it_stands(&self) -> bool {
        self.recorded.counts_as_it_stands()
    }

    /// Is it a ping of which nothing is recorded?
    pub fn lacks_everything(&self) -> bool {
        self.recorded.lacks_everything()
    }

    /// Its experiment.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn resolved(&self) -> Result<Resolved, RunnerError> {
        let again = resolve::again(self.source.clone(), &self.recorded.environment);
        Ok(again?)
    }

    /// Ends it, and the trials that count with what is recorded of them.
    ///
    /// # Errors
    /// What is recorded cannot be read, or the trials cannot be made part of the run.
    pub fn end(self, resolved: Resolved) -> Result<CarriedOut, RunnerError> {
        CarriedOut::end_interrupted(resolved, self.writer)
    }

    /// What is left of it. What `options` leave open is as it was when the run began.
    ///
    /// # Errors
    /// It was begun with a key and there is none, by another version, or its experiment or trials cannot be read.
    pub fn remaining(self, options: RunOptions) -> Result<RemainingTrials, RunnerError> {
        let environment = &self.recorded.environment;
        let folder = self.writer.folder();
        let options = RunOptions {
            share: shard::of_run(folder, environment)?.map(Assignment::Shard),
            ..options
        };
        let options = options.filled_in_from(environment)?;
        let resolved = self.resolved()?;
        let done = self.recorded.done.clone();
        let any_left = run::any_left(&resolved, &options, &done, folder)?;
        if resolved.world == WorldName::Sim && any_left {
            shard::same_version(folder, environment)?;
        }
        Ok(RemainingTrials {
            writer: self.writer,
            resolved,
            options,
            done,
            any_left,
        })
    }
}

/// What is left of an interrupted run.
pub struct RemainingTrials {
    writer: RunWriter,
    resolved: Resolved,
    options: RunOptions,
    done: BTreeSet<u32>,
    any_left: bool,
}

impl RemainingTrials {
    /// What to know where a name no longer has the address to which packets went, and go.
    pub fn moved(&self) -> Vec<String> {
        if !self.any_left {
            return Vec::new();
        }
        let began_at = &self.options.original_addresses;
        let load_host = self.options.load.server.as_ref().map(|server| &server.host);
        let names = [
            (self.resolved.target.as_ref(), began_at.target),
            (load_host, began_at.load),
        ];
        let moved = names.into_iter();
        moved
            .filter_map(|(name, at)| target::moved(name?, at?))
            .collect()
    }

    /// Opens its world. For a testbed, see [`ReadyRun::create`].
    ///
    /// # Errors
    /// The world cannot be opened, or may not send what the experiment asks for.
    pub fn into_ready(self) -> Result<ReadyRun, RunnerError> {
        let (options, done) = (&self.options, &self.done);
        ReadyRun::resume(self.resolved, options, self.writer, done, self.any_left)
    }
}
