//! Follows the trials of a ping: packets as they come, parts as they end.

use super::output::{Part, PingWriter};
use crate::args::load::{self, UnderPart};
use crate::args::ping::PingArgs;
use crate::terminal;
use delaylab_kernel::signals;
use delaylab_lab::run::cut_short::{CutShort, Lacks};
use delaylab_lab::run::{EndedTrial, Left, Progress, Watch};
use delaylab_model::plan::Planned;
use delaylab_model::record::Record;
use delaylab_model::stream_report::StreamReport;
use delaylab_model::trial::{ProbeFacts, RecordFacts};
use delaylab_stats::summary::Summary;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Also after a panic of the thread that held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The probe that was asked for, among those of a trial.
const PROBE: u16 = 0;
/// The one of handshakes beside it, where there is one.
const HANDSHAKES: usize = 1;

/// Hands packets to what writes them.
pub struct PacketWatch<'a, 'w> {
    writer: &'a Mutex<PingWriter<'w>>,
    /// Why they can no longer be written.
    broken: Mutex<Option<io::Error>>,
}

impl<'a, 'w> PacketWatch<'a, 'w> {
    /// None has come yet.
    pub fn new(writer: &'a Mutex<PingWriter<'w>>) -> Self {
        Self {
            writer,
            broken: Mutex::new(None),
        }
    }

    /// Why they could no longer be written, and the run ended; `None`: they could.
    pub fn broken(self) -> Option<io::Error> {
        self.broken
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first error: what ends the trial says it again, in words alone.
    fn keep(&self, written: io::Result<()>) -> io::Result<()> {
        written.map_err(|error| {
            let said = io::Error::other(error.to_string());
            lock(&self.broken).get_or_insert(error);
            said
        })
    }
}

impl Watch for PacketWatch<'_, '_> {
    fn begins(&self, _trial: u32, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        if probe != PROBE {
            return Ok(());
        }
        let written = lock(self.writer).begin(probe, facts);
        self.keep(written)
    }

    fn records(&self, records: &[Record]) -> io::Result<()> {
        // What goes beside the probe is for who explains the run.
        let own: Vec<Record>;
        let records = match records.iter().all(|record| record.probe == PROBE) {
            true => records,
            false => {
                own = records
                    .iter()
                    .filter(|record| record.probe == PROBE)
                    .copied()
                    .collect();
                &own
            }
        };
        let written = lock(self.writer).records(records);
        self.keep(written)
    }

    fn flush(&self) -> io::Result<()> {
        let written = lock(self.writer).flush();
        self.keep(written)
    }

    fn not_stored(&self, error: &io::Error) {
        terminal::say(format!(
            "delaylab: {error}. Packets are still measured, and no longer stored"
        ));
    }
}

/// Keeps the results of each part: the one without load first, then one for each load.
pub struct PartProgress<'a, 'w> {
    writer: &'a Mutex<PingWriter<'w>>,
    under: Vec<UnderPart>,
    over: Vec<Part>,
    not_stored: Option<NotStored>,
}

/// What the run's folder lacks.
pub struct NotStored {
    /// Why.
    pub why: String,
    /// The parts that are not all stored, by their trial.
    parts: BTreeMap<u32, PartNotStored>,
}

/// A part of which not all is stored.
struct PartNotStored {
    /// Packets that it had.
    packets: u64,
    /// Why it is not what was meant, if so: how it ended is not stored.
    flaws: Vec<String>,
}

impl NotStored {
    /// Packets that the parts had.
    pub fn packets(&self) -> u64 {
        self.parts.values().map(|part| part.packets).sum()
    }

    /// What is not in the run of one of the parts.
    pub fn of(&self, stored: &CutShort<'_>) -> Lacks<'_> {
        match self.parts.get(&stored.id()) {
            Some(part) if stored.packets() >= part.packets => Lacks::Others(&part.flaws),
            _ => Lacks::Packets("what came after them could not be stored"),
        }
    }
}

impl<'a, 'w> PartProgress<'a, 'w> {
    /// None is over yet.
    pub fn new(writer: &'a Mutex<PingWriter<'w>>, args: &PingArgs) -> Self {
        Self {
            writer,
            under: load::parts(&args.loads),
            over: Vec::new(),
            not_stored: None,
        }
    }

    /// Those that are over, and what of them is not stored.
    pub fn over(self) -> (Vec<Part>, Option<NotStored>) {
        (self.over, self.not_stored)
    }

    /// The load of a trial; `None`: the first has none.
    fn load(&self, trial: u32) -> Option<&UnderPart> {
        self.under.get(usize::try_from(trial).ok()?.checked_sub(1)?)
    }

    fn end(
        &mut self,
        trial: u32,
        summary: Summary,
        facts: ProbeFacts,
        handshakes: Option<(Summary, ProbeFacts)>,
        streams: &[StreamReport],
    ) {
        let load = self.load(trial);
        let part = Part {
            load: load.map(|load| load.label.clone()).unwrap_or_default(),
            way: load.and_then(|load| load.way),
            handshakes,
            streams: streams.to_vec(),
            ..lock(self.writer).end_part(summary, facts)
        };
        self.over.push(part);
    }
}

impl Progress for PartProgress<'_, '_> {
    fn begins(&mut self, planned: &Planned, _done: usize, _left: Left) {
        let load = self.load(planned.trial.id);
        let mut writer = lock(self.writer);
        writer.begin_part(planned.trial.id, load.map(|load| load.label.as_str()));
    }

    fn ended(&mut self, ended: &EndedTrial<'_>, _done: usize, _left: Left) {
        let trial = ended.planned.trial.id;
        let (Some(row), Some(summary)) = (ended.rows.first(), ended.summaries.first()) else {
            return;
        };
        let mut facts = row.facts.clone();
        // What is of a stream stands there: the summary names its congestion control, and it has its own flaws and
        // warnings.
        let of_streams = ended
            .streams
            .iter()
            .flat_map(|stream| stream.flaws().into_iter().chain(stream.warnings()));
        let by_default = StreamReport::by_default(ended.streams);
        let of_streams: Vec<String> = of_streams.chain(by_default).collect();
        facts
            .warnings
            .retain(|warning| !of_streams.contains(warning));
        facts.flaws.retain(|flaw| !of_streams.contains(flaw));
        let handshakes = ended
            .summaries
            .get(HANDSHAKES)
            .zip(ended.rows.get(HANDSHAKES));
        let handshakes = handshakes.map(|(summary, row)| (summary.clone(), row.facts.clone()));
        self.end(trial, summary.clone(), facts, handshakes, ended.streams);
        if let Some(why) = ended.not_stored {
            let lacks = self.not_stored.get_or_insert_with(|| NotStored {
                why: why.to_owned(),
                parts: BTreeMap::new(),
            });
            let part = PartNotStored {
                packets: lock(self.writer).packets_of_part(),
                flaws: row.facts.flaws.clone(),
            };
            lacks.parts.insert(trial, part);
        }
        // A first part that is not valid is no baseline for load.
        if self.over.len() == 1 && !row.facts.flaws.is_empty() {
            signals::stop().ask();
        }
    }

    fn broke_off(&mut self, trial: u32, summaries: &[Summary]) {
        // A part under load without a packet has no results; the error says why.
        let any = |summary: &&Summary| trial == 0 || summary.counts.sent > 0;
        if let Some(summary) = summaries.first().filter(any) {
            let mut facts = lock(self.writer).facts();
            let irregular = summary.irregular.sentences(&[]);
            facts.warnings.extend(irregular);
            self.end(trial, summary.clone(), facts, None, &[]);
        }
    }
}
