//! What a user sees and a program reads of a run.

use super::live_line::LiveLine;
use super::storage::Storage;
use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::terminal;
use crate::tui::Tui;
use delaylab_lab::finding::single::{Answer, Watched};
use delaylab_lab::pipeline::Consumer;
use delaylab_lab::run::Watch;
use delaylab_live::load::StreamReport;
use delaylab_model::load::Direction;
use delaylab_model::record::Record;
use delaylab_model::trial::{ProbeFacts, ProbeRun, RecordFacts, ReflectorClock};
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_report::format::{Format, format_of};
use delaylab_report::json::{SystemInfo, UnderLoad};
use delaylab_report::line::LineWriter;
use delaylab_report::ping::Ping;
use delaylab_report::terminal::asked;
use delaylab_report::visible::visible;
use delaylab_report::working::Working;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Answered packets whose delays are kept as they are; beyond, quantiles come from histograms and
/// memory stays flat.
const EXACT_LIMIT: usize = 200_000;
/// Packets further apart than this get a line each.
const LINES_FROM: Nanos = 50 * MILLISECOND;

/// What the run is, for every face.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// What was typed.
    pub args: &'a PingArgs,
    /// What it means.
    pub run: &'a ProbeRun,
    /// This host.
    pub system_info: &'a SystemInfo,
    /// The command line, word by word.
    pub supplied: &'a [String],
}

/// Where results go, opened before anything is sent.
pub struct Output {
    format: Option<Format>,
    /// For the format, or the summary where there is none.
    data: Box<dyn Write + Send>,
    data_is_stdout: bool,
}

impl Output {
    /// Opens what was asked for.
    pub fn new(args: &PingArgs) -> Result<Self, Failed> {
        let file = args
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"));
        let by_flag = if args.json {
            Some(Format::Json)
        } else if args.json_stream {
            Some(Format::Stream)
        } else if args.csv {
            Some(Format::Csv)
        } else {
            None
        };
        let by_name =
            |path: &Path| format_of(path).map_err(|error| Failed::usage(error.to_string()));
        let format = match (by_flag, file) {
            (None, Some(path)) => Some(by_name(path)?),
            (by_flag, _) => by_flag,
        };
        let data: Box<dyn Write + Send> = match file {
            None => Box::new(io::stdout()),
            Some(path) => {
                Box::new(File::create_new(path).map_err(|error| cannot_create(path, &error))?)
            }
        };
        Ok(Self {
            format,
            data,
            data_is_stdout: file.is_none(),
        })
    }
}

/// Results are never overwritten.
fn cannot_create(path: &Path, error: &io::Error) -> Failed {
    let remedy = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            ". Nothing measured is overwritten: name another file, or move this one"
        }
        io::ErrorKind::NotFound => ". Make the directory first",
        _ => "",
    };
    Failed::environment(format!("cannot create {}: {error}{remedy}", path.display()))
}

/// What has been written so far.
pub struct Written<'a> {
    shown: Shown<'a>,
    storage: Storage<'a>,
    conditions: Vec<Watched>,
    summary_to_stdout: bool,
    summary: SummaryBuilder,
    facts: RecordFacts,
    lines: Option<LineWriter>,
    live: Option<LiveLine>,
    tui: Option<Tui>,
    /// Parts that are over: the trial that records name.
    part: u32,
    first_due: Option<Nanos>,
    answered: u64,
    any: bool,
}

impl Consumer for Written<'_> {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.facts = *facts;
        self.summary = SummaryBuilder::new(*facts, EXACT_LIMIT);
        self.lines = self.wants_lines().then(|| self.line_writer());
        if let Some(tui) = &self.tui {
            tui.watcher().begins(self.part, probe, facts);
        }
        for condition in &mut self.conditions {
            condition.begin(facts);
        }
        self.storage.begin(probe, facts)
    }

    fn records(&mut self, records: &[Record]) -> io::Result<()> {
        for record in records {
            self.record(record)?;
        }
        if let Some(tui) = &self.tui {
            tui.watcher().records(records);
        }
        if let Some(live) = &mut self.live {
            live.draw()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.storage.flush()
    }
}

impl<'a> Written<'a> {
    /// Nothing yet. Takes the terminal where a live view was asked for.
    ///
    /// # Errors
    /// Where that cannot be had.
    pub fn new(output: Output, conditions: Vec<Watched>, shown: Shown<'a>) -> Result<Self, Failed> {
        let summary_to_stdout = output.format.is_none() || !output.data_is_stdout;
        let file = shown
            .args
            .output
            .as_deref()
            .filter(|_| !output.data_is_stdout);
        let file = file.map(|path| path.display().to_string());
        let storage = Storage::new(output.format, output.data, file, shown);
        let show_live = shown.args.quiet == 0 && !shown.args.tui && io::stderr().is_terminal();
        let tui = shown.args.tui.then(|| live_view(shown)).transpose()?;
        Ok(Self {
            shown,
            storage,
            conditions,
            summary_to_stdout,
            summary: SummaryBuilder::new(RecordFacts::default(), EXACT_LIMIT),
            facts: RecordFacts::default(),
            lines: None,
            live: show_live.then(LiveLine::new),
            tui,
            part: 0,
            first_due: None,
            answered: 0,
            any: false,
        })
    }

    fn wants_lines(&self) -> bool {
        let gap = self.shown.run.probe.pacing.mean_gap();
        let slow = gap.is_some_and(|gap| gap >= LINES_FROM);
        let slow = slow && self.shown.args.loads.is_empty();
        let asked = self.shown.args.timestamps;
        let wanted = self.shown.args.quiet == 0 && !self.shown.args.tui;
        self.summary_to_stdout && wanted && (slow || asked)
    }

    fn line_writer(&self) -> LineWriter {
        let offset = delaylab_kernel::clock::realtime_offset();
        LineWriter {
            style: terminal::style(&io::stdout(), self.shown.args.verbose),
            facts: self.facts,
            timeout: self.shown.run.probe.timeout,
            realtime_offset: self.shown.args.timestamps.then_some(offset),
        }
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.any = true;
        self.answered += u64::from(record.answered());
        let first = self.first_due.get_or_insert(record.t_intended);
        *first = (*first).min(record.t_intended);
        self.summary.push(record);
        if let Some(live) = &mut self.live {
            live.take(record);
        }
        if let Some(lines) = &self.lines {
            let line = lines.line(record);
            if let Some(live) = &mut self.live {
                live.wipe()?;
            }
            writeln!(io::stdout(), "{}", visible(&line))?;
        }
        for condition in &mut self.conditions {
            condition.push(record);
        }
        // With -q documents have the summary alone.
        self.storage.record(record, self.shown.args.quiet == 0)
    }

    /// What showed how it goes makes room for the summary.
    fn leave_terminal(&mut self) -> io::Result<()> {
        drop(self.tui.take());
        self.live.as_mut().map_or(Ok(()), LiveLine::wipe)
    }

    /// Was there any record?
    pub const fn any(&self) -> bool {
        self.any
    }

    /// A part of the run is over, of which this is known, and another begins, under this load; `None`: it was the last.
    pub fn end_part(&mut self, facts: &ProbeFacts, next: Option<&str>) -> Part {
        let records = self.storage.take_records();
        self.part += 1;
        if let (Some(tui), Some(load)) = (&self.tui, next) {
            begin_part(tui, self.part, &format!("under {load}"), self.shown);
        }
        Part {
            summary: self.summed(facts),
            records,
            start: self.first_due.take().unwrap_or(0),
        }
    }

    /// The run is over, which had a part without load and others under it: writes all.
    pub fn finish_under_load(
        mut self,
        idle: &Part,
        idle_facts: &ProbeFacts,
        loaded: &[PartUnderLoad],
        shown: Shown<'_>,
    ) -> io::Result<Ended> {
        self.leave_terminal()?;
        let answers = self.answers();
        let last = loaded.len().saturating_sub(1);
        let idle_ping = idle.ping(idle_facts, &[], shown);
        let working = loaded.iter().enumerate().map(|(at, part)| Working {
            idle: idle_ping,
            // The last one is held against the conditions.
            loaded: (part.part).ping(&part.facts, if at == last { &answers } else { &[] }, shown),
            load: &part.label,
            streams: &part.streams,
        });
        let working: Vec<_> = working.collect();
        let documents = working.iter().zip(loaded);
        let documents: Vec<_> = documents
            .map(|(working, part)| (part.way, UnderLoad::new(working, &part.part.records)))
            .collect();
        self.storage
            .finish_under_load(&idle_ping, &idle.records, documents, shown)?;
        if self.summary_to_stdout {
            let style = terminal::style(&io::stdout(), shown.args.verbose);
            if self.lines.is_some() && self.any {
                writeln!(io::stdout())?;
            }
            let text = if shown.args.quiet > 1 {
                delaylab_report::terminal::in_lines(&idle_ping, &working, &style)
            } else {
                let idle = delaylab_report::terminal::summary(&idle_ping, &style);
                let loaded = delaylab_report::terminal::working_latency(&working, &style);
                [idle, loaded].join("\n")
            };
            print(&text)?;
        }
        Ok(self.ended(answers))
    }

    /// The run is over: writes the rest and the summary.
    pub fn finish(mut self, facts: &ProbeFacts, shown: Shown<'_>) -> io::Result<Ended> {
        self.leave_terminal()?;
        let summary = self.summed(facts);
        let answers = self.answers();
        let ping = Ping {
            target: &shown.args.target,
            run: shown.run,
            facts,
            summary: &summary,
            start: self.first_due.unwrap_or(0),
            conditions: &answers,
        };
        self.storage.finish(&ping, shown)?;
        if self.summary_to_stdout {
            let style = terminal::style(&io::stdout(), shown.args.verbose);
            if self.lines.is_some() && self.any {
                writeln!(io::stdout())?;
            }
            self.say_which_lines(facts_of_lines(shown));
            print(&if shown.args.quiet > 1 {
                delaylab_report::terminal::in_one_line(&ping, &style)
            } else {
                delaylab_report::terminal::summary(&ping, &style)
            })?;
        }
        Ok(self.ended(answers))
    }

    /// The summary, and what conditions are held against, by what the end of the run has shown of the clocks.
    fn summed(&mut self, facts: &ProbeFacts) -> Summary {
        let mut summary = self.summary.finish();
        if facts.records.reflector_clock == ReflectorClock::Unrelated {
            summary.withdraw_one_way();
            let conditions = self.conditions.iter_mut();
            conditions.for_each(Watched::withdraw_one_way);
        }
        summary
    }

    fn answers(&mut self) -> Vec<Answer> {
        let conditions = std::mem::take(&mut self.conditions);
        conditions.into_iter().map(Watched::finish).collect()
    }

    fn ended(&self, answers: Vec<Answer>) -> Ended {
        Ended {
            answered: self.answered > 0,
            answers,
            not_stored: self.storage.lacks(),
        }
    }

    /// Where packets come too fast for a line each, and nobody asked for fewer lines, that is said.
    fn say_which_lines(&self, wanted: bool) {
        let packets = self.summary.counts().sent;
        if wanted && self.lines.is_none() && packets > 0 {
            terminal::say(format!(
                "0 of {packets} lines shown: packets less than 50 ms apart get none. -D shows them all, with the time of \
                 day; -q leaves this out"
            ));
        }
    }
}

/// What a finished run is judged by.
pub struct Ended {
    /// Was anything answered?
    pub answered: bool,
    /// What came of each `--fail-if`.
    pub answers: Vec<Answer>,
    /// What is not stored, and why.
    pub not_stored: Option<String>,
}

/// Would a user who asked for this expect a line a packet?
fn facts_of_lines(shown: Shown<'_>) -> bool {
    shown.args.quiet == 0 && !shown.args.tui
}

/// The conditions that the run is to be held against.
///
/// # Errors
/// Where one probe cannot answer them.
pub fn conditions(args: &PingArgs) -> Result<Vec<Watched>, Failed> {
    let limits = args.fail_if.iter();
    let watched = limits.map(|limit| {
        Watched::new(limit).map_err(|why| Failed::usage(format!("--fail-if '{limit}': {why}")))
    });
    watched.collect()
}

fn live_view(shown: Shown<'_>) -> Result<Tui, Failed> {
    let tui = Tui::open(format!("delaylab ping {}", shown.args.target))?;
    begin_part(&tui, 0, "idle", shown);
    Ok(tui)
}

/// The first part of a run, or one under load.
fn begin_part(tui: &Tui, part: u32, which: &str, shown: Shown<'_>) {
    let mut detail = asked(&shown.args.target, shown.run).join(", ");
    if !shown.args.loads.is_empty() {
        detail += &format!(", {which}");
    }
    tui.begin_trial(part, detail, std::slice::from_ref(&shown.run.probe));
}

/// What came of a part of a run.
pub struct Part {
    summary: Summary,
    records: Vec<Record>,
    start: Nanos,
}

/// The same of a part under load.
pub struct PartUnderLoad {
    /// The load as it was typed, and which part of it.
    pub label: String,
    /// Of a part that goes one way: which.
    pub way: Option<Direction>,
    /// What came of its packets.
    pub part: Part,
    /// How they are to be read.
    pub facts: ProbeFacts,
    /// What each stream did.
    pub streams: Vec<StreamReport>,
}

impl Default for Part {
    /// One without packets.
    fn default() -> Self {
        Self {
            summary: SummaryBuilder::new(RecordFacts::default(), 0).finish(),
            records: Vec::new(),
            start: 0,
        }
    }
}

impl Part {
    /// Was there any packet?
    pub fn any(&self) -> bool {
        self.summary.counts.sent > 0
    }

    fn ping<'a>(
        &'a self,
        facts: &'a ProbeFacts,
        conditions: &'a [Answer],
        shown: Shown<'a>,
    ) -> Ping<'a> {
        Ping {
            target: &shown.args.target,
            run: shown.run,
            facts,
            summary: &self.summary,
            start: self.start,
            conditions,
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", visible(text))?;
    out.flush()
}
