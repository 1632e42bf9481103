//! Two runs on disk, compared.

use super::benchmark::Benchmarks;
use super::{Compared, Side};
use crate::run::stored::{not_complete, unchecked};
use delaylab_explain::compare::both::Both;
use delaylab_explain::compare::circumstances::{Circumstances, differences};
use delaylab_explain::compare::limits::{LimitResult, Outcome, evaluate};
use delaylab_explain::compare::{Comparison, ComparisonRequest, NothingInCommon, compare};
use delaylab_explain::flawed::Flawed;
use delaylab_lab::finding::check::Bound;
use delaylab_lab::finding::verdict::FixedLevel;
use delaylab_lab::finding::{Limit, Measure};
use delaylab_lab::stored::Stored;
use delaylab_stats::remarks::{Remarked, Remarks};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;

/// Two runs and what was measured in them, read once.
pub struct TwoRuns<'a> {
    runs: [&'a Run; 2],
    data: [Stored<'a>; 2],
    around: [Circumstances; 2],
}

impl<'a> TwoRuns<'a> {
    /// Reads both.
    pub fn new(runs: [&'a Run; 2]) -> Self {
        Self {
            runs,
            data: runs.map(Stored::new),
            around: runs.map(circumstances),
        }
    }

    /// What changed. `folders` is where they are, as the reader would write it; of no `measures` the usual
    /// ones are compared, in full with every stage and quantile.
    ///
    /// # Errors
    /// No probe under no combination of levels is in both.
    pub fn compared(
        &self,
        folders: [String; 2],
        measures: &[Measure],
        full: bool,
    ) -> Result<Compared, NothingInCommon> {
        let [a, b] = &self.data;
        let imported = self.around.iter().any(Circumstances::is_imported);
        let comparison = compare(a, b, &asked(measures, full, imported))?;
        Ok(self.around(folders, comparison, None))
    }

    /// Are both of a procedure of the device benchmark, as their experiments say?
    pub fn are_benchmarks(&self) -> bool {
        let is_one = |around: &Circumstances| {
            let design = around.experiment.get("design");
            design.is_some_and(|design| design.get("procedure").is_some())
        };
        self.around.iter().all(is_one)
    }

    /// What two benchmarks found. Which loads their searches tried depends on what was found, so that no trial of them is compared.
    pub fn benchmarks(&self, folders: [String; 2], found: Benchmarks) -> Compared {
        let comparison = Comparison {
            headline: ComparisonRequest::usual().headline,
            pairs: Vec::new(),
            whole: None,
            is_overview: false,
            alone: found.alone.clone(),
            pooled: Default::default(),
            looks: 0,
        };
        self.around(folders, comparison, Some(found))
    }

    fn around(
        &self,
        [in_a, in_b]: [String; 2],
        comparison: Comparison,
        benchmark: Option<Benchmarks>,
    ) -> Compared {
        Compared {
            sides: [side(self.runs[0], in_a), side(self.runs[1], in_b)],
            comparison,
            benchmark,
            differences: differences(&self.around[0], &self.around[1]),
            limits: Vec::new(),
            strict: false,
        }
    }

    /// Whether a limit holds, for each of its levels.
    ///
    /// # Errors
    /// A sentence: what it asks for is not there.
    pub fn held(&self, limit: &Limit) -> Result<Vec<LimitResult>, String> {
        let [a, b] = &self.data;
        let both = Both::new(a, b).map_err(|error| error.to_string())?;
        let mut all = evaluate(limit, &both)?;
        // Of B's own value A does not matter.
        let of_both = !matches!(limit.bound, Bound::Value(_));
        for (side, run) in self.runs.into_iter().enumerate() {
            if side == 0 && !of_both {
                continue;
            }
            let name = ["A", "B"][side];
            for held in all
                .iter_mut()
                .filter(|held| held.outcome == Outcome::Passed)
            {
                let rows = run.trials().iter().enumerate();
                let own = &held.streams[side];
                let judged = rows.filter(|(at, row)| match own.is_empty() {
                    true => is_at(row, &held.levels),
                    false => own.contains(at),
                });
                if let Some(flawed) = Flawed::of_rows(judged.map(|(_, row)| row)) {
                    held.outcome = Outcome::Undecided;
                    held.reason =
                        format!("of {name}, {flawed}; of what was measured, {}", held.reason);
                }
            }
        }
        Ok(all)
    }
}

/// Is a trial, as far as its factors tell, among those under these levels?
fn is_at(row: &TrialRow, levels: &[FixedLevel]) -> bool {
    levels.iter().all(|fixed| {
        let mut own = row.factors.iter();
        let own = own.find(|(name, _)| *name == fixed.factor);
        own.is_none_or(|(_, level)| level.label == fixed.level)
    })
}

/// What another tool measured has no schedule of its own: there the round trip is what both have.
fn asked(chosen: &[Measure], full: bool, imported: bool) -> ComparisonRequest {
    let usual = ComparisonRequest::usual();
    let mut measures = usual.measures;
    measures.retain(|measure| !(imported && *measure == Measure::Response));
    if !chosen.is_empty() {
        measures = chosen.to_vec();
    }
    ComparisonRequest {
        headline: measures.first().copied().unwrap_or(usual.headline),
        measures,
        // A single one is the headline.
        are_chosen: chosen.len() > 1,
        full,
    }
}

fn circumstances(run: &Run) -> Circumstances {
    let experiment = run.experiment().and_then(|text| toml::from_str(text).ok());
    let conditions = run.trials().iter().map(|row| row.host.name().to_owned());
    let environment = run.environment().clone();
    let is_imported = environment["imported"].is_object();
    Circumstances {
        world: run.world().unwrap_or("unknown").to_owned(),
        conditions: conditions.filter(|_| !is_imported).collect(),
        environment,
        experiment: experiment.unwrap_or_default(),
        remarked: remarked(run),
    }
}

/// Classes that were re-marked on the way; `None` where no packet says in which class it arrived.
fn remarked(run: &Run) -> Option<Vec<Remarked>> {
    let mut remarks = Remarks::default();
    run.scan(None, |_, record| {
        if record.answered() {
            remarks.push(record);
        }
    });
    remarks.is_known().then(|| remarks.found())
}

fn side(run: &Run, folder: String) -> Side {
    let mut problems: Vec<String> = unchecked(run, &folder).into_iter().collect();
    problems.extend(run.problems());
    problems.extend(not_complete(run, &folder));
    let flawed = Flawed::of_run(run);
    problems.extend(flawed.as_ref().map(Flawed::to_string));
    Side {
        flawed: flawed.as_ref().map(Flawed::count),
        name: run.name().unwrap_or("run").to_owned(),
        folder,
        world: run.world().unwrap_or("unknown world").to_owned(),
        started: run.started_utc().map(str::to_owned),
        problems,
    }
}
