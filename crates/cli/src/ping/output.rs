//! What a user sees and a program reads of a run.

use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::terminal;
use crate::tui::Tui;
use delaylab_lab::pipeline::Consumer;
use delaylab_lab::run::Watch;
use delaylab_live::load::StreamReport;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::{ProbeFacts, ProbeRun, RecordFacts};
use delaylab_model::world::Sink;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_report::csv::CsvWriter;
use delaylab_report::format::{Format, format_of};
use delaylab_report::json::{Document, Head, SystemInfo, UnderLoad};
use delaylab_report::line::{LineWriter, Live};
use delaylab_report::ping::Ping;
use delaylab_report::stream::StreamWriter;
use delaylab_report::style::Style;
use delaylab_report::terminal::asked;
use delaylab_report::working::Working;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Answered packets whose delays are kept as they are; beyond, quantiles come from histograms and
/// memory stays flat.
const EXACT_LIMIT: usize = 200_000;
/// Packets further apart than this get a line each.
const LINES_FROM: Nanos = 50 * MILLISECOND;
/// The live line is drawn this often.
const LIVE_EVERY: Duration = Duration::from_millis(200);
/// Responses that the live line's median is of.
const LIVE_WINDOW: usize = 99;

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

enum Writer<'a> {
    /// Lines for people, if any.
    Lines,
    Json(Box<dyn Write + Send>, Vec<Record>),
    Stream(StreamWriter<'a, Box<dyn Write + Send>>),
    Csv(CsvWriter<Box<dyn Write + Send>>),
}

/// What has been written so far.
pub struct Written<'a> {
    shown: Shown<'a>,
    writer: Writer<'a>,
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
        match &mut self.writer {
            Writer::Lines | Writer::Json(..) => Ok(()),
            Writer::Stream(stream) => stream.begin(probe, facts),
            Writer::Csv(csv) => csv.begin(probe, facts),
        }
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
        match &mut self.writer {
            Writer::Lines | Writer::Json(..) => Ok(()),
            Writer::Stream(stream) => stream.flush(),
            Writer::Csv(csv) => csv.flush(),
        }
    }
}

impl<'a> Written<'a> {
    /// Nothing yet. Takes the terminal where a live view was asked for.
    ///
    /// # Errors
    /// Where that cannot be had.
    pub fn new(output: Output, shown: Shown<'a>) -> Result<Self, Failed> {
        let head = || {
            Head::new(
                &shown.args.target,
                shown.run,
                shown.system_info,
                shown.supplied,
            )
        };
        let data: Box<dyn Write + Send> = Box::new(BufWriter::with_capacity(1 << 16, output.data));
        let summary_to_stdout = output.format.is_none() || !output.data_is_stdout;
        let writer = match output.format {
            None => Writer::Lines,
            Some(Format::Json) => Writer::Json(data, Vec::new()),
            Some(Format::Stream) => Writer::Stream(StreamWriter::new(data, head())),
            Some(Format::Csv) => Writer::Csv(CsvWriter::new(data)),
        };
        let show_live = !shown.args.quiet && !shown.args.tui && io::stderr().is_terminal();
        let tui = shown.args.tui.then(|| live_view(shown)).transpose()?;
        Ok(Self {
            shown,
            writer,
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
        let wanted = !self.shown.args.quiet && !self.shown.args.tui;
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
            writeln!(io::stdout(), "{line}")?;
        }
        match &mut self.writer {
            Writer::Lines => Ok(()),
            // The summary alone was asked for.
            Writer::Json(..) if self.shown.args.quiet => Ok(()),
            Writer::Json(_, records) => {
                records.push(*record);
                Ok(())
            }
            Writer::Stream(stream) => stream.record(record),
            Writer::Csv(csv) => csv.record(record),
        }
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

    /// A part of the run is over, and another begins.
    pub fn end_part(&mut self) -> Part {
        let records = match &mut self.writer {
            Writer::Json(_, records) => std::mem::take(records),
            Writer::Lines | Writer::Stream(_) | Writer::Csv(_) => Vec::new(),
        };
        self.part += 1;
        if let Some(tui) = &self.tui {
            begin_part(tui, self.part, self.shown);
        }
        Part {
            summary: self.summary.finish(),
            records,
            start: self.first_due.take().unwrap_or(0),
        }
    }

    /// The run is over, which had a part without load and one under it: writes both. Tells whether anything
    /// was answered.
    pub fn finish_under_load(
        mut self,
        idle: &Part,
        idle_facts: &ProbeFacts,
        loaded_facts: &ProbeFacts,
        streams: &[StreamReport],
        shown: Shown<'_>,
    ) -> io::Result<bool> {
        self.leave_terminal()?;
        let loaded = self.end_part();
        let load: Vec<_> = shown
            .args
            .loads
            .iter()
            .map(|load| load.name.as_str())
            .collect();
        let load = load.join(", ");
        let working = Working {
            idle: idle.ping(idle_facts, shown),
            loaded: loaded.ping(loaded_facts, shown),
            load: &load,
            streams,
        };
        if let Writer::Json(out, _) = &mut self.writer {
            let target = &shown.args.target;
            let head = Head::new(target, shown.run, shown.system_info, shown.supplied);
            Document::new(head, &working.idle, &idle.records)
                .under_load(UnderLoad::new(&working, &loaded.records))
                .write(&mut *out)?;
            out.flush()?;
        }
        if self.summary_to_stdout {
            let style = terminal::style(&io::stdout(), shown.args.verbose);
            if self.lines.is_some() && self.any {
                writeln!(io::stdout())?;
            }
            print_summary(&working.idle, &style)?;
            let text = delaylab_report::terminal::working_latency(&working, &style);
            let mut out = io::stdout().lock();
            writeln!(out, "{text}")?;
            out.flush()?;
        }
        Ok(self.answered > 0)
    }

    /// The run is over: writes the rest and the summary. Tells whether anything was answered.
    pub fn finish(mut self, facts: &ProbeFacts, shown: Shown<'_>) -> io::Result<bool> {
        self.leave_terminal()?;
        let summary = self.summary.finish();
        let ping = Ping {
            target: &shown.args.target,
            run: shown.run,
            facts,
            summary: &summary,
            start: self.first_due.unwrap_or(0),
        };
        match self.writer {
            Writer::Lines => {}
            Writer::Json(mut out, records) => {
                let head = Head::new(
                    &shown.args.target,
                    shown.run,
                    shown.system_info,
                    shown.supplied,
                );
                Document::new(head, &ping, &records).write(&mut out)?;
                out.flush()?;
            }
            Writer::Stream(stream) => drop(stream.finish(&ping)?),
            Writer::Csv(csv) => csv.finish()?,
        }
        if self.summary_to_stdout {
            let style = terminal::style(&io::stdout(), shown.args.verbose);
            if self.lines.is_some() && self.any {
                writeln!(io::stdout())?;
            }
            print_summary(&ping, &style)?;
        }
        Ok(self.answered > 0)
    }
}

fn live_view(shown: Shown<'_>) -> Result<Tui, Failed> {
    let tui = Tui::open(format!("delaylab ping {}", shown.args.target))?;
    begin_part(&tui, 0, shown);
    Ok(tui)
}

/// The first part of a run, or its part under load.
fn begin_part(tui: &Tui, part: u32, shown: Shown<'_>) {
    let mut detail = asked(&shown.args.target, shown.run).join(", ");
    if !shown.args.loads.is_empty() {
        detail += if part == 0 { ", idle" } else { ", under load" };
    }
    tui.begin_trial(part, detail, std::slice::from_ref(&shown.run.probe));
}

/// What came of a part of a run.
pub struct Part {
    summary: Summary,
    records: Vec<Record>,
    start: Nanos,
}

impl Part {
    fn ping<'a>(&'a self, facts: &'a ProbeFacts, shown: Shown<'a>) -> Ping<'a> {
        Ping {
            target: &shown.args.target,
            run: shown.run,
            facts,
            summary: &self.summary,
            start: self.start,
        }
    }
}

fn print_summary(ping: &Ping<'_>, style: &Style) -> io::Result<()> {
    let text = delaylab_report::terminal::summary(ping, style);
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// The status line on standard error, drawn over itself.
struct LiveLine {
    state: Live,
    recent: Vec<Nanos>,
    next: usize,
    began: Instant,
    drawn: Option<Instant>,
    style: Style,
}

impl LiveLine {
    fn new() -> Self {
        Self {
            state: Live::default(),
            recent: Vec::with_capacity(LIVE_WINDOW),
            next: 0,
            began: Instant::now(),
            drawn: None,
            style: terminal::style(&io::stderr(), false),
        }
    }

    fn take(&mut self, record: &Record) {
        self.state.sent += u64::from(record.t_send.is_some());
        self.state.received += u64::from(record.outcome == Outcome::Ok);
        self.state.lost += u64::from(record.outcome == Outcome::Lost);
        let Some(response) = record.response() else {
            return;
        };
        self.state.latest = Some(response);
        if self.recent.len() < LIVE_WINDOW {
            self.recent.push(response);
        } else {
            self.recent[self.next % LIVE_WINDOW] = response;
        }
        self.next += 1;
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.drawn.is_some_and(|at| at.elapsed() < LIVE_EVERY) {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        let mut sorted = self.recent.clone();
        sorted.sort_unstable();
        self.state.p50 = sorted.get(sorted.len() / 2).copied();
        self.state.rate = self.state.sent as f64 / self.began.elapsed().as_secs_f64().max(1e-3);
        write!(io::stderr(), "\r\x1b[K{}", self.state.line(&self.style))
    }

    fn wipe(&mut self) -> io::Result<()> {
        if self.drawn.take().is_some() {
            write!(io::stderr(), "\r\x1b[K")?;
        }
        Ok(())
    }
}
