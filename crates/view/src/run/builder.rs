//! Records in, one by one; a [`RunData`] out.

use super::groups::{self, Groups, OpenGroup};
use super::panels::Layout;
use super::sketch::Room;
use super::stream::probe_names;
use super::{Panel, RunData, RunStream, ShownDelay, Sketch, TrialData, Ways};
use crate::words::plural;
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::{Factor, Level, levels_in_words};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use std::collections::BTreeMap;

/// What else ran on the prober's CPU while a packet was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disturbance<'a> {
    /// For how long; `None` where nobody looked.
    pub ns: Option<Nanos>,
    /// Who had it longest.
    pub who: Option<&'a str>,
}

/// Answered records of all panels, or of all groups, that are held as they are, each about 110 B: those of a run of
/// hundreds of combinations do not take more than those of one with few.
const HELD: usize = 1 << 21;
/// And of one group: there may be many.
const HELD_BY_GROUP: usize = 50_000;

/// How many one of `among` may hold: `most`, or its part of [`HELD`] where that is less.
fn share(most: usize, among: usize) -> usize {
    most.min(HELD / among.max(1))
}

/// Takes the records of a run one by one and makes a [`RunData`], in memory that does not grow with
/// their number.
#[derive(Debug)]
pub struct RunDataBuilder {
    layout: Layout,
    streams: Vec<Open>,
    panels: Vec<OpenPanel>,
    groups: Groups,
    open_groups: Vec<OpenGroup>,
    /// Beside `streams`.
    counts: Vec<Counts>,
    /// The stream of each trial and probe.
    index: BTreeMap<(u32, u16), usize>,
    /// Records that belong to no stream.
    homeless: u64,
}

#[derive(Debug)]
struct Open {
    stream: RunStream,
    summary: Progress,
}

#[derive(Debug)]
enum Progress {
    Open(Box<SummaryBuilder>),
    Done(Box<Summary>),
}

impl Progress {
    fn end(&mut self) {
        if let Progress::Open(builder) = self {
            *self = Progress::Done(Box::new(builder.finish()));
        }
    }

    fn finish(mut self) -> Summary {
        self.end();
        match self {
            Progress::Done(summary) => *summary,
            Progress::Open(builder) => builder.finish(),
        }
    }
}

#[derive(Debug)]
struct OpenPanel {
    sketch: Sketch,
    streams: usize,
    /// Where it has more than one stream; else that stream's summary is the panel's.
    summary: Option<SummaryBuilder>,
}

impl RunDataBuilder {
    /// For these streams, in the order in which they ran; `levels` says how the levels of factors follow each other where
    /// they are names. Beyond `exact_limit` answered records a stream or panel takes its quantiles from histograms
    /// ([`SummaryBuilder::new`]).
    pub fn new(
        streams: Vec<RunStream>,
        levels: &[(String, Vec<Level>)],
        exact_limit: usize,
    ) -> Self {
        let ways = Ways::new(streams.iter().map(|stream| stream.frames));
        Self::showing(ShownDelay::of(ways), streams, levels, exact_limit)
    }

    /// The same of a part of a run, which shows what the whole shows.
    pub(super) fn showing(
        shown: ShownDelay,
        streams: Vec<RunStream>,
        levels: &[(String, Vec<Level>)],
        exact_limit: usize,
    ) -> Self {
        let layout = Layout::new(&streams, levels);
        let groups = Groups::new(&streams, levels);
        let counts = counts(&streams, &groups, &layout);
        let of_panel = share(exact_limit, layout.panels.len());
        let room = Room::among(layout.panels.len());
        let members = layout.members().into_iter();
        let panels = members
            .map(|members| {
                let sketch = Sketch::new(shown, room);
                OpenPanel::new(&streams, &members, &counts, sketch, of_panel)
            })
            .collect();
        let open_groups = open_groups(&streams, &groups, &layout, &counts);
        let index = streams.iter().zip(0..);
        let index = index.map(|(stream, at)| ((stream.trial, stream.probe), at));
        let index = index.collect();
        let open = |stream: RunStream| Open {
            summary: Progress::Open(Box::new(SummaryBuilder::new(stream.facts, exact_limit))),
            stream,
        };
        Self {
            index,
            layout,
            streams: streams.into_iter().map(open).collect(),
            panels,
            groups,
            open_groups,
            counts,
            homeless: 0,
        }
    }

    /// Takes one record. Those of a trial's probe come together, about in order. Packets that warm up
    /// are for the caller to leave out.
    pub fn push(&mut self, record: &Record, disturbance: Disturbance<'_>) {
        let place = self.index.get(&(record.trial, record.probe));
        let Some(&at) = place else {
            self.homeless += 1;
            return;
        };
        let Progress::Open(summary) = &mut self.streams[at].summary else {
            self.homeless += 1;
            return;
        };
        summary.push(record);
        if let Some(panel) = self.layout.panel_of[at].filter(|_| self.counts[at].in_panel) {
            let panel = &mut self.panels[panel];
            panel.sketch.push(record, disturbance);
            if let Some(summary) = &mut panel.summary {
                summary.push(record);
            }
        }
        if self.counts[at].in_group {
            self.open_groups[self.groups.group_of[at]].push(record);
        }
    }

    /// Takes packets of a probe of which only the numbers are known.
    pub fn count(&mut self, trial: u32, probe: u16, sent: u64, lost: u64) {
        let Some(&at) = self.index.get(&(trial, probe)) else {
            return;
        };
        if let Progress::Open(summary) = &mut self.streams[at].summary {
            summary.count(sent, lost);
        }
        let panel = self.layout.panel_of[at];
        let panel = panel.and_then(|panel| self.panels[panel].summary.as_mut());
        if let Some(summary) = panel {
            summary.count(sent, lost);
        }
        self.open_groups[self.groups.group_of[at]].count(sent, lost);
    }

    /// Sums a trial up and frees its records' memory. No record of it may follow.
    pub fn end_trial(&mut self, trial: u32) {
        let range = (trial, 0)..=(trial, u16::MAX);
        for (_, &at) in self.index.range(range) {
            self.streams[at].summary.end();
        }
    }

    /// `run` with its trials and panels, its clock reads summed over trials, and a sentence more for
    /// records without a trial.
    pub fn finish(self, mut run: RunData) -> RunData {
        let panel_of = &self.layout.panel_of;
        let trials = self.streams.into_iter().zip(panel_of);
        let trials = trials.map(|(open, &panel)| TrialData {
            stream: open.stream,
            panel,
            summary: open.summary.finish(),
        });
        run.trials = trials.collect();
        let panels = self.panels.into_iter().zip(&self.layout.panels);
        run.panels = panels
            .zip(self.layout.members())
            .filter_map(|((open, factors), members)| {
                let first = members.first().and_then(|&first| run.trials.get(first));
                open.finish(factors, first)
            })
            .collect();
        let groups = self.open_groups.into_iter().zip(&self.groups.keys);
        run.groups = groups
            .zip(self.groups.members())
            .filter_map(|((open, key), members)| {
                let panel = members.first().and_then(|&member| panel_of[member]);
                let elsewhere = groups::elsewhere(&members, &run.trials, &run.panels);
                open.finish(key, panel, elsewhere)
            })
            .collect();
        run.clock_reads = summed(&run.clock_reads);
        if self.homeless > 0 {
            let records = plural(self.homeless, "record");
            run.problems
                .push(format!("{records} left out: no trial of the run has them."));
        }
        run
    }
}

/// Where a stream counts: not beside one that is the same simulation.
#[derive(Debug, Clone, Copy)]
struct Counts {
    in_panel: bool,
    in_group: bool,
}

fn counts(streams: &[RunStream], groups: &Groups, layout: &Layout) -> Vec<Counts> {
    let (mut of_panels, mut of_groups) = (Distinct::new(), Distinct::new());
    let places = streams.iter().zip(&layout.panel_of).zip(&groups.group_of);
    places
        .map(|((stream, panel), group)| Counts {
            in_panel: panel.is_some()
                && of_panels.is_first(stream.trace_hash, (*panel, stream.probe)),
            in_group: of_groups.is_first(stream.trace_hash, (*group, stream.probe)),
        })
        .collect()
}

/// Bins of the same edges are one, whichever trials they are of.
fn summed(bins: &[ClockReads]) -> Vec<ClockReads> {
    let mut sums: BTreeMap<(Nanos, Nanos), ClockReads> = BTreeMap::new();
    for bin in bins {
        let edges = (bin.from_ns, bin.to_ns);
        let sum = sums.entry(edges).or_insert(ClockReads { count: 0, ..*bin });
        sum.count += bin.count;
    }
    sums.into_values().collect()
}

fn open_groups(
    streams: &[RunStream],
    groups: &Groups,
    layout: &Layout,
    counts: &[Counts],
) -> Vec<OpenGroup> {
    let several = probe_names(streams).len() > 1;
    let limit = share(HELD_BY_GROUP, groups.keys.len());
    let room = Room::among(groups.keys.len());
    let open = |members: Vec<usize>| {
        // A panel has the streams of one group.
        let shared = members.iter().any(|&at| layout.panel_of[at].is_some());
        let facts = RecordFacts::shared(members.iter().map(|&at| streams[at].facts));
        let counted = members.iter().filter(|&&at| counts[at].in_group);
        OpenGroup::new(
            counted.count(),
            facts,
            shared,
            several.then_some(room),
            limit,
        )
    };
    groups.members().into_iter().map(open).collect()
}

impl OpenPanel {
    fn new(
        streams: &[RunStream],
        members: &[usize],
        counts: &[Counts],
        sketch: Sketch,
        exact_limit: usize,
    ) -> Self {
        let members = members.iter().filter(|&&at| counts[at].in_panel);
        let members = members.map(|&at| &streams[at]);
        let streams = members.clone().count();
        let facts = RecordFacts::shared(members.map(|stream| stream.facts));
        Self {
            sketch,
            streams,
            summary: (streams > 1).then(|| SummaryBuilder::new(facts, exact_limit)),
        }
    }

    /// `None` where it has no stream; else with the first of them.
    fn finish(self, factors: &[Factor], first: Option<&TrialData>) -> Option<Panel> {
        let only = || first.map(|trial| trial.summary.clone());
        let pooled = self.summary.map(|summary| summary.finish());
        Some(Panel {
            label: levels_in_words(factors, None),
            factors: factors.to_vec(),
            trials: self.streams,
            summary: pooled.or_else(only)?,
            sketch: self.sketch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{answered, lose};
    use delaylab_model::method::Method;
    use delaylab_model::plan::Level;

    fn stream(trial: u32, condition: &str) -> RunStream {
        RunStream {
            trial,
            probe: 0,
            name: "echo".to_owned(),
            frames: false,
            factors: vec![("condition".to_owned(), Level::named(condition))],
            steps: Vec::new(),
            to_utc: None,
            repeat: 0,
            facts: RecordFacts::default(),
            trace_hash: None,
        }
    }

    fn record(trial: u32, seq: u64) -> Record {
        Record {
            trial,
            ..answered(Method::Udp, seq)
        }
    }

    #[test]
    fn copies_of_a_simulation_are_pooled_once() {
        let same = |trial, hash| RunStream {
            trace_hash: Some(hash),
            ..stream(trial, "quiet")
        };
        let streams = vec![same(0, 7), same(1, 7), same(2, 7), same(3, 8)];
        let mut builder = RunDataBuilder::new(streams, &[], 1_000);
        for trial in 0..4 {
            (0..100).for_each(|seq| builder.push(&record(trial, seq), Disturbance::default()));
            builder.end_trial(trial);
        }
        let run = builder.finish(RunData::default());
        let panel = &run.panels[0];
        assert_eq!((panel.trials, panel.summary.counts.received), (2, 200));
        let group = &run.groups[0];
        assert_eq!((group.trials, group.summary.counts.received), (2, 200));
        // Each trial still has its own figures.
        assert!(
            run.trials
                .iter()
                .all(|trial| trial.summary.counts.received == 100)
        );
    }

    #[test]
    fn trials_stay_apart_and_panels_pool_them() {
        let streams = vec![stream(0, "quiet"), stream(1, "normal"), stream(2, "quiet")];
        let mut builder = RunDataBuilder::new(streams, &[], 1_000);
        for trial in 0..3 {
            for seq in 0..100 + u64::from(trial) {
                builder.push(&record(trial, seq), Disturbance::default());
            }
            let mut lost = record(trial, 999);
            lose(&mut lost);
            builder.push(&lost, Disturbance::default());
            builder.end_trial(trial);
        }
        builder.push(&record(0, 0), Disturbance::default());
        builder.push(&record(7, 0), Disturbance::default());
        let bin = |trial, count| ClockReads {
            trial,
            from_ns: 20,
            to_ns: 30,
            count,
        };
        let run = builder.finish(RunData {
            clock_reads: vec![bin(0, 5), bin(1, 7)],
            ..RunData::default()
        });
        assert_eq!(run.clock_reads, [bin(0, 12)]);
        let sent: Vec<_> = run.trials.iter().map(|t| t.summary.counts.sent).collect();
        assert_eq!(sent, [101, 102, 103]);
        let panels: Vec<_> = run
            .panels
            .iter()
            .map(|p| (p.label.as_str(), p.trials, p.summary.counts.received))
            .collect();
        assert_eq!(
            panels,
            [("condition normal", 1, 101), ("condition quiet", 2, 202)]
        );
        assert_eq!(run.panels[0].summary, run.trials[1].summary);
        assert_eq!(run.problems.len(), 1);
        assert!(
            run.problems[0].starts_with("2 records"),
            "{:?}",
            run.problems
        );
    }
}
