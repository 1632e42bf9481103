//! Reads an experiment file and checks all of it, before the user's choices apply.

use super::check::{check, overlay_keys};
use super::diagnostic::{Diagnostics, Source};
use super::exclusive::written_together;
use super::file::Experiment;
use super::sections::Header;
use super::tree::parse;

impl Experiment {
    /// Reads a file and checks it for each world that it names, in the full form and the short form.
    ///
    /// # Errors
    /// Everything that is wrong with it, where it is written.
    pub fn read(source: Source) -> Result<Self, Diagnostics> {
        Self::read_as(source, false)
    }

    /// Reads the file of a run, which an older version may have written: a finding whose check this version refuses is no error.
    ///
    /// # Errors
    /// Whatever else is wrong with it.
    pub fn read_recorded(source: Source) -> Result<Self, Diagnostics> {
        Self::read_as(source, true)
    }

    /// The same of a run that is only looked at: its replays' files may have changed since.
    #[must_use]
    pub fn only_read(mut self) -> Self {
        self.header.resolved.traces.clear();
        self
    }

    fn read_as(source: Source, recorded: bool) -> Result<Self, Diagnostics> {
        let shown = |problems| Diagnostics::new(problems, std::slice::from_ref(&source));
        let root = parse(&source.text, 0).map_err(shown)?;
        let mut problems = Vec::new();
        let header = Header::read(&root, &mut problems);
        problems.extend(overlay_keys(&root));
        problems.extend(written_together(&root));
        let (Some(header), true) = (header, problems.is_empty()) else {
            return Err(shown(problems));
        };
        let experiment = Self {
            source: source.clone(),
            root,
            header,
            recorded,
        };
        for world in experiment.worlds() {
            for quick in [false, true] {
                if !quick || experiment.has_quick(world) {
                    let base = experiment.base(world, quick);
                    let sources = std::slice::from_ref(&source);
                    problems.extend(check(&base, sources, recorded));
                }
            }
        }
        if problems.is_empty() {
            problems.extend(experiment.unknown_names());
        }
        if problems.is_empty() {
            Ok(experiment)
        } else {
            Err(shown(problems))
        }
    }
}
