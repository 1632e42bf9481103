//! A run in one table by the factors that somebody asks for, whatever else was varied.

use super::digest::{Digest, DigestRow};
use super::{RunData, Ways};
use delaylab_lab::EXACT_LIMIT;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::level_of;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::summary::SummaryBuilder;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::{BTreeMap, BTreeSet};

/// What tells probes apart, beside the factors.
const PROBE: &str = "probe";

/// The run was not varied by this.
#[derive(Debug, thiserror::Error)]
#[error("the run has no factor `{asked}`: it has {}", known.join(", "))]
pub struct NoFactor {
    asked: String,
    known: Vec<String>,
}

/// The trials of one row of the table.
struct Row<'a> {
    levels: Vec<&'a str>,
    streams: Vec<&'a TrialRow>,
}

impl RunData {
    /// A row for each combination of levels of these factors, or of `probe`; what else was varied is taken together. All
    /// records of the run are read. Simulations that repeat another one of their row exactly count once.
    ///
    /// # Errors
    /// The run has no such factor.
    pub fn digest_by(&self, run: &Run, by: &[String]) -> Result<Digest, NoFactor> {
        let rows = self.rows_by(run.trials(), by)?;
        let delay = self.shown_delay();
        let row_of: BTreeMap<(u32, u16), usize> = (0..)
            .zip(&rows)
            .flat_map(|(at, row)| row.streams.iter().map(move |it| ((it.trial, it.probe), at)))
            .collect();
        let mut summaries: Vec<_> = rows
            .iter()
            .map(|row| {
                let facts = row.streams.iter().map(|stream| stream.facts.records);
                SummaryBuilder::new(RecordFacts::shared(facts), EXACT_LIMIT)
            })
            .collect();
        run.scan(None, |row, record| {
            if let Some(&at) = row_of.get(&(row.trial, row.probe)) {
                summaries[at].push(record);
            }
        });
        let rows = rows.iter().zip(summaries).map(|(row, summary)| {
            let levels = row.levels.iter().map(|&level| level.to_owned()).collect();
            let trials: BTreeSet<u32> = row.streams.iter().map(|stream| stream.trial).collect();
            let ways = Ways::new(row.streams.iter().map(|stream| stream.method.is_one_way()));
            DigestRow::new(levels, trials.len(), &summary.finish(), delay, ways)
        });
        Ok(Digest {
            rows: rows.collect(),
            factors: by.to_vec(),
            delay: delay.name(self.ways()),
            left_out: 0,
        })
    }

    fn rows_by<'a>(
        &'a self,
        trials: &'a [TrialRow],
        by: &[String],
    ) -> Result<Vec<Row<'a>>, NoFactor> {
        let probes = self.probes();
        let mut rows = BTreeMap::<Vec<(usize, &str)>, Vec<&TrialRow>>::new();
        let mut distinct = Distinct::new();
        for stream in trials {
            let levels = by.iter().map(|name| self.level_of(stream, name, &probes));
            let levels = levels.collect::<Result<Vec<_>, _>>()?;
            let of = (levels.clone(), stream.probe);
            let counts = distinct.is_first(stream.facts.trace_hash, of);
            let streams = rows.entry(levels).or_default();
            streams.extend(counts.then_some(stream));
        }
        let row = |(levels, streams): (Vec<(usize, &'a str)>, _)| Row {
            levels: levels.into_iter().map(|(_, level)| level).collect(),
            streams,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Where its level of this factor stands in the order of the design, and the level.
    fn level_of<'a>(
        &'a self,
        stream: &'a TrialRow,
        name: &str,
        probes: &[&str],
    ) -> Result<(usize, &'a str), NoFactor> {
        if name == PROBE {
            let at = probes.iter().position(|probe| *probe == stream.probe_name);
            return Ok((at.unwrap_or(usize::MAX), &stream.probe_name));
        }
        let level = level_of(&stream.factors, name).ok_or_else(|| NoFactor {
            asked: name.to_owned(),
            known: (stream.factors.iter().map(|(factor, _)| factor.clone()))
                .chain([PROBE.to_owned()])
                .collect(),
        })?;
        let levels = self.levels.iter().find(|(factor, _)| factor == name);
        let mut levels = (0..).zip(levels.into_iter().flat_map(|(_, levels)| levels));
        let known = levels.find(|(_, it)| it.is_same(level));
        let (at, level) = known.unwrap_or((usize::MAX, level));
        Ok((at, &level.label))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::trial_row;
    use delaylab_model::plan::Level;
    use delaylab_model::trial::ProbeFacts;

    fn row(trial: u32, factors: [(&str, &str); 2], trace_hash: u64) -> TrialRow {
        TrialRow {
            trial,
            position: trial,
            facts: ProbeFacts {
                trace_hash: Some(trace_hash),
                ..ProbeFacts::default()
            },
            factors: factors
                .map(|(name, level)| (name.to_owned(), Level::named(level)))
                .to_vec(),
            ..trial_row()
        }
    }

    /// The wait changes nothing that happens, and neither does the third condition.
    #[test]
    fn a_level_that_changes_nothing_has_its_row() {
        let conditions = [("quiet", 1), ("busy", 2), ("also quiet", 1)];
        let combinations = ["1ms", "4ms"]
            .into_iter()
            .flat_map(|wait| conditions.map(|(condition, hash)| (wait, condition, hash)));
        let trials: Vec<TrialRow> = (0..)
            .zip(combinations)
            .map(|(trial, (wait, condition, hash))| {
                row(trial, [("wait", wait), ("condition", condition)], hash)
            })
            .collect();
        let run = RunData::default();
        let rows = run.rows_by(&trials, &["condition".to_owned(), "wait".to_owned()]);
        assert_eq!(rows.unwrap().len(), 6);
        let by_wait = run.rows_by(&trials, &["wait".to_owned()]).unwrap();
        let trials = by_wait.iter().map(|row| {
            let trials = row.streams.iter().map(|stream| stream.trial);
            (row.levels[0], trials.collect::<Vec<_>>())
        });
        let expected = [("1ms", vec![0, 1]), ("4ms", vec![3, 4])];
        assert_eq!(trials.collect::<Vec<_>>(), expected);
    }
}
