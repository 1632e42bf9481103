//! Figures of parts of a run, as its experiment asks for them: each is made from a run of that part alone.

use super::series::Everything;
use super::{Disturbance, RunData, RunDataBuilder, RunStream, ShownDelay, Ways};
use delaylab_lab::finding::{Selection, StreamInfo, Tabulated, tabulate};
use delaylab_lab::stored::Stored;
use delaylab_model::experiment::{Draw, FigureSection};
use delaylab_model::plan::Level;
use delaylab_model::record::Record;
use delaylab_store::run::Run;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// A figure of a part of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What was asked.
    pub asked: FigureSection,
    /// What it is made from, or why the run has no such part.
    pub shown: Result<PartContent, String>,
}

/// What a figure of a part is made from.
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// That part alone.
    Run(Box<RunData>),
    /// Its table.
    Table(Tabulated),
}

/// A part whose records are still coming.
#[derive(Debug)]
struct Open {
    asked: FigureSection,
    /// `None`: a table, which is made once all is there.
    part: Result<Option<OpenPart>, String>,
}

#[derive(Debug)]
struct OpenPart {
    /// Trials and probes.
    members: BTreeSet<(u32, u16)>,
    builder: RunDataBuilder,
}

/// All parts that are to be drawn.
#[derive(Debug)]
pub(super) struct Parts(Vec<Open>);

impl Parts {
    /// Of a run with these streams; the rest is as for [`RunDataBuilder::new`].
    pub(super) fn new(
        figures: &[FigureSection],
        streams: &[RunStream],
        levels: &[(String, Vec<Level>)],
        exact_limit: usize,
    ) -> Self {
        let ways = Ways::new(streams.iter().map(|stream| stream.frames));
        let shown = ShownDelay::of(ways);
        let open = |streams: Vec<RunStream>| OpenPart {
            members: streams.iter().map(|s| (s.trial, s.probe)).collect(),
            builder: RunDataBuilder::showing(shown, streams, levels, exact_limit),
        };
        let each = figures.iter().map(|asked| Open {
            asked: asked.clone(),
            part: match asked.draw {
                Draw::Table => Ok(None),
                _ => members(asked, streams).map(|streams| Some(open(streams))),
            },
        });
        Self(each.collect())
    }

    fn open(&mut self) -> impl Iterator<Item = &mut OpenPart> {
        let parts = self.0.iter_mut().map(|open| open.part.as_mut());
        parts.filter_map(|part| part.ok()?.as_mut())
    }

    /// As [`RunDataBuilder::push`].
    pub(super) fn push(&mut self, record: &Record, disturbance: Disturbance<'_>) {
        let is_of = |part: &&mut OpenPart| part.members.contains(&(record.trial, record.probe));
        self.open()
            .filter(is_of)
            .for_each(|part| part.builder.push(record, disturbance));
    }

    /// As [`RunDataBuilder::end_trial`].
    pub(super) fn end_trial(&mut self, trial: u32) {
        self.open().for_each(|part| part.builder.end_trial(trial));
    }

    /// The parts, of a run whose facts they share.
    pub(super) fn finish(self, whole: &RunData, run: &Run, series: &Everything<'_>) -> Vec<Part> {
        let stored = OnceCell::new();
        let table = |asked: &FigureSection| {
            let data = stored.get_or_init(|| Stored::new(run));
            tabulate(asked, data, &whole.levels).map(PartContent::Table)
        };
        let finish = |asked: &FigureSection, part: OpenPart| {
            let mut run = part.builder.finish(RunData {
                head: whole.head.clone(),
                levels: whole.levels.clone(),
                shown: Some(whole.shown_delay()),
                against: asked.against.clone(),
                statistics: asked.statistics.clone(),
                beside_probes: asked.series.clone().filter(|_| asked.draw == Draw::ByProbe),
                ..RunData::default()
            });
            run.series = series.by_combination(&run.trials);
            let kind = asked.series.as_ref();
            run.series
                .retain(|shown| kind.is_none_or(|kind| *kind == shown.series));
            if run.beside_probes.is_some() {
                for shown in &mut run.series {
                    shown.held = series.held(shown);
                }
            }
            PartContent::Run(Box::new(run))
        };
        let each = self.0.into_iter();
        each.map(|Open { asked, part }| Part {
            shown: match part {
                Ok(Some(part)) => Ok(finish(&asked, part)),
                Ok(None) => table(&asked),
                Err(why) => Err(why),
            },
            asked,
        })
        .collect()
    }
}

/// The streams that a figure is of; why there are none.
fn members(asked: &FigureSection, streams: &[RunStream]) -> Result<Vec<RunStream>, String> {
    let Some(levels) = &asked.levels else {
        return Ok(streams.to_vec());
    };
    let selection = Selection::parse(levels).map_err(|error| error.to_string())?;
    let infos: Vec<StreamInfo> = streams.iter().map(info).collect();
    let chosen = selection.streams(&infos)?.into_iter();
    Ok(chosen.map(|index| streams[index].clone()).collect())
}

fn info(stream: &RunStream) -> StreamInfo {
    StreamInfo {
        trial: stream.trial,
        probe: stream.name.clone(),
        series: None,
        repeat: stream.repeat,
        factors: stream.levels().cloned().collect(),
        trace_hash: stream.trace_hash,
        seed: None, // what is chosen does not depend on it
    }
}
