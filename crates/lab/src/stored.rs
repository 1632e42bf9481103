//! A run on disk as findings need it.

use crate::finding::data::counted_clock_reads;
use crate::finding::{Data, Measure, NotThere, StreamInfo, Values};
use delaylab_model::noise::ClockReads;
use delaylab_model::record::Record;
use delaylab_store::run::Run;
use std::collections::BTreeMap;

/// Records of a trial are kept together up to so many in all; beyond, they are read again for each
/// measure, and only the measure's values are kept.
const KEEP: u64 = 500_000;

/// The measurements of a run on disk.
pub struct Stored<'a> {
    run: &'a Run,
    streams: Vec<StreamInfo>,
    records: Option<BTreeMap<(u32, u16), Vec<Record>>>,
    clock_reads: Vec<ClockReads>,
}

impl<'a> Stored<'a> {
    /// Reads a run of half a million records or fewer at once, and of a larger one what is asked for.
    pub fn new(run: &'a Run) -> Self {
        let info = |row: &delaylab_store::trial_row::TrialRow| StreamInfo {
            trial: row.trial,
            probe: row.probe_name.clone(),
            repeat: row.repeat,
            factors: row.factors.clone(),
        };
        Self {
            run,
            streams: run.trials().iter().map(info).collect(),
            records: (run.record_count() <= KEEP).then(|| all_records(run)),
            clock_reads: run.clock_reads(None),
        }
    }
}

fn all_records(run: &Run) -> BTreeMap<(u32, u16), Vec<Record>> {
    let mut all = BTreeMap::<_, Vec<Record>>::new();
    run.for_each_record(None, |record| {
        all.entry((record.trial, record.probe))
            .or_default()
            .push(*record);
    });
    all
}

impl Data for Stored<'_> {
    fn streams(&self) -> &[StreamInfo] {
        &self.streams
    }

    fn values(&self, stream: usize, measure: Measure) -> Result<Values, NotThere> {
        let nothing = || NotThere("there is no such stream".to_owned());
        let row = self.run.trials().get(stream).ok_or_else(nothing)?;
        if measure == Measure::ClockReads {
            let of_trial = self.clock_reads.iter().filter(|bin| bin.trial == row.trial);
            return counted_clock_reads(of_trial);
        }
        let facts = &row.facts.records;
        let wanted = |record: &Record| record.probe == row.probe && record.seq >= row.warmup;
        if let Some(records) = &self.records {
            let kept = records.get(&(row.trial, row.probe)).map(Vec::as_slice);
            let kept = kept.unwrap_or_default().iter();
            return measure.of_records(kept.filter(|record| wanted(record)), facts);
        }
        measure.of_each(facts, |take| {
            self.run.for_each_record(Some(row.trial), |record| {
                if wanted(record) {
                    take(record);
                }
            });
        })
    }
}
