//! A run in one table by the factors that somebody asks for, whatever else was varied.

use super::digest::{Digest, DigestRow};
use super::{RunData, Ways};
use delaylab_lab::EXACT_LIMIT;
use delaylab_model::distinct::originals;
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
    /// records of the run are read. Simulations that repeat another one exactly count once.
    ///
    /// # Errors
    /// The run has no such factor.
    pub fn digest_by(&self, run: &Run, by: &[String]) -> Result<Digest, NoFactor> {
        let rows = self.rows_by(run, by)?;
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

    fn rows_by<'a>(&'a self, run: &'a Run, by: &[String]) -> Result<Vec<Row<'a>>, NoFactor> {
        let probes = self.probes();
        let trials = run.trials().iter();
        let originals = originals(trials.map(|row| (row.trial, row.facts.trace_hash)));
        let mut rows = BTreeMap::<Vec<usize>, Row<'a>>::new();
        let counting = run.trials().iter();
        for stream in counting.filter(|row| originals.get(&row.trial) == Some(&row.trial)) {
            let mut levels = Vec::new();
            let mut place = Vec::new();
            for name in by {
                let (level, at) = self.level_of(stream, name, &probes)?;
                levels.push(level);
                place.push(at);
            }
            let row = rows.entry(place).or_insert_with(|| Row {
                levels,
                streams: Vec::new(),
            });
            row.streams.push(stream);
        }
        Ok(rows.into_values().collect())
    }

    /// Its level of this factor, and where that stands in the order of the design.
    fn level_of<'a>(
        &self,
        stream: &'a TrialRow,
        name: &str,
        probes: &[&str],
    ) -> Result<(&'a str, usize), NoFactor> {
        if name == PROBE {
            let at = probes.iter().position(|probe| *probe == stream.probe_name);
            return Ok((&stream.probe_name, at.unwrap_or(usize::MAX)));
        }
        let level = level_of(&stream.factors, name).ok_or_else(|| NoFactor {
            asked: name.to_owned(),
            known: (stream.factors.iter().map(|(factor, _)| factor.clone()))
                .chain([PROBE.to_owned()])
                .collect(),
        })?;
        let levels = self.levels.iter().find(|(factor, _)| factor == name);
        let at = levels.and_then(|(_, levels)| levels.iter().position(|it| it.is_same(level)));
        Ok((&level.label, at.unwrap_or(usize::MAX)))
    }
}
