//! What a user sees and a program reads of a run.

use super::created::CreatedFile;
use super::live_line::LiveLine;
use super::storage::Storage;
use crate::args::load;
use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::output;
use crate::terminal;
use crate::tui::Tui;
use delaylab_kernel::clock::{self, realtime_offset};
use delaylab_kernel::signals;
use delaylab_lab::finding::single::{Answer, LimitCheck};
use delaylab_lab::run::Watch;
use delaylab_model::load::Direction;
use delaylab_model::probe::Pacing;
use delaylab_model::record::Record;
use delaylab_model::stream_report::StreamReport;
use delaylab_model::trial::{ProbeFacts, ProbeRun, RecordFacts, ReflectorClock};
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_terminal::line::LineWriter;
use delaylab_terminal::ping::asked;
use delaylab_terminal::style::Style;
use delaylab_terminal::visible::visible;
use delaylab_view::format::{Format, format_of};
use delaylab_view::json::{Config, Head, SystemInfo, UnderLoad};
use delaylab_view::ping::{Handshakes, Ping};
use delaylab_view::working::Working;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// What writing to a terminal that was closed fails with: `EIO` of Linux.
const NO_TERMINAL: i32 = 5;
/// Packets further apart than this get a line each.
const LINES_FROM: Nanos = 50 * MILLISECOND;

/// What the run is, for every face.
#[derive(Debug, Clone, Copy)]
pub struct PingContext<'a> {
    /// What was typed.
    pub args: &'a PingArgs,
    /// What it means.
    pub run: &'a ProbeRun,
    /// This host.
    pub system_info: &'a SystemInfo,
    /// The command line, word by word.
    pub supplied: &'a [String],
}

impl<'a> PingContext<'a> {
    /// What documents say of it.
    fn head(self) -> Head<'a, Config<'a>> {
        Head {
            system_info: self.system_info,
            config: Config::new(self.args.target(), self.run),
            supplied: self.supplied,
        }
    }
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
            .filter(|path| !output::is_stdout(path));
        let by_flag = if args.json {
            Some(Format::Json)
        } else if args.json_stream {
            Some(Format::Stream)
        } else if args.csv {
            Some(Format::Csv)
        } else {
            None
        };
        let by_name = |path: &Path| format_of(path).map_err(Failed::usage);
        let format = match (by_flag, file) {
            (None, Some(path)) => Some(by_name(path)?),
            (by_flag, _) => by_flag,
        };
        let data: Box<dyn Write + Send> = match file {
            None => Box::new(io::stdout()),
            Some(path) => Box::new(CreatedFile::new(path)?),
        };
        Ok(Self {
            format,
            data,
            data_is_stdout: file.is_none(),
        })
    }
}

/// Writes what a ping measures: lines or documents as they come, and a summary at the end. It knows what it has written so far.
pub struct PingWriter<'a> {
    shown: PingContext<'a>,
    storage: Storage<'a>,
    conditions: Vec<LimitCheck>,
    summary_to_stdout: bool,
    /// Is standard output a terminal, as long as that is not closed?
    on_terminal: bool,
    facts: RecordFacts,
    lines: Option<LineWriter>,
    live: Option<LiveLine>,
    tui: Option<Tui>,
    /// The trial under way, without load if it is the first.
    part: u32,
    packets: u64,
    /// How many of them are of parts that are over.
    before_part: u64,
}

impl<'a> PingWriter<'a> {
    /// Nothing yet. Takes the terminal where a live view was asked for.
    ///
    /// # Errors
    /// Where that cannot be had.
    pub fn new(
        output: Output,
        conditions: Vec<LimitCheck>,
        shown: PingContext<'a>,
    ) -> Result<Self, Failed> {
        let summary_to_stdout = output.format.is_none() || !output.data_is_stdout;
        let file = shown
            .args
            .output
            .as_deref()
            .filter(|_| !output.data_is_stdout);
        let file = file.map(|path| path.display().to_string());
        let storage = Storage::new(output.format, output.data, file, shown.head());
        let show_live = shown.args.quiet == 0 && !shown.args.tui && terminal::can_redraw();
        let tui = shown.args.tui.then(|| live_view(shown)).transpose()?;
        Ok(Self {
            shown,
            storage,
            conditions,
            summary_to_stdout,
            on_terminal: io::stdout().is_terminal(),
            facts: RecordFacts::default(),
            lines: None,
            live: show_live.then(LiveLine::new),
            tui,
            part: 0,
            packets: 0,
            before_part: 0,
        })
    }

    /// Packets of a trial are about to come: they are read so.
    pub fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.facts = *facts;
        self.lines = self.wants_lines().then(|| self.line_writer());
        if let Some(tui) = &self.tui {
            tui.watcher().begins(self.part, probe, facts)?;
        }
        for condition in &mut self.conditions {
            condition.begin(facts);
        }
        self.storage.begin(probe, facts)
    }

    /// Some packets have ended.
    pub fn records(&mut self, records: &[Record]) -> io::Result<()> {
        for record in records {
            self.record(record)?;
        }
        if let Some(tui) = &self.tui {
            tui.watcher().records(records)?;
        }
        if let Some(live) = &mut self.live {
            live.draw();
        }
        Ok(())
    }

    /// Hands on what was kept back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.storage.flush()
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
        LineWriter {
            style: terminal::style(&io::stdout(), self.shown.args.verbose),
            facts: self.facts,
            timeout: self.shown.run.probe.timeout,
            stopping: None,
            realtime_offset: self.shown.args.timestamps.then(realtime_offset),
        }
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.packets += 1;
        // First: standard output may be gone, and the file is there.
        self.storage.record(record)?;
        if let Some(live) = &mut self.live {
            live.take(record);
        }
        if let Some(lines) = &mut self.lines {
            // The clocks move apart: at a suspend, and where the time of day is set.
            let offset = lines.realtime_offset.as_mut();
            offset
                .into_iter()
                .for_each(|offset| *offset = realtime_offset());
            lines.stopping = signals::stop().is_asked().then(clock::monotonic);
            let line = lines.line(record);
            if let Some(live) = &mut self.live {
                live.wipe();
            }
            if self
                .unless_closed(writeln!(io::stdout(), "{}", visible(&line)))?
                .is_none()
            {
                self.lines = None;
            }
        }
        for condition in &mut self.conditions {
            condition.push(record);
        }
        Ok(())
    }

    /// `None`: the terminal was closed, which ends the ping. It is whole all the same.
    fn unless_closed(&self, written: io::Result<()>) -> io::Result<Option<()>> {
        let stop = signals::stop();
        match written {
            Err(_) if stop.is_asked() => Ok(None),
            // The signal may come later, or to the shell alone.
            Err(error) if self.on_terminal && error.raw_os_error() == Some(NO_TERMINAL) => {
                stop.ask();
                Ok(None)
            }
            written => written.map(Some),
        }
    }

    /// What showed how it goes makes room for the summary.
    fn leave_terminal(&mut self) {
        drop(self.tui.take());
        if let Some(live) = &mut self.live {
            live.wipe();
        }
    }

    /// Was there any record?
    pub const fn any(&self) -> bool {
        self.packets > 0
    }

    /// How many packets there were.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// How many the part under way has, or the one that was over last.
    pub const fn packets_of_part(&self) -> u64 {
        self.packets - self.before_part
    }

    /// A trial begins, under this load, if any.
    pub fn begin_part(&mut self, trial: u32, load: Option<&str>) {
        self.part = trial;
        self.before_part = self.packets;
        self.facts = RecordFacts::default();
        if let Some(live) = &mut self.live {
            live.begin();
        }
        if let Some(tui) = &self.tui {
            let which = load.map_or_else(|| "idle".to_owned(), |load| format!("under {load}"));
            begin_part(tui, trial, &which, self.shown);
        }
    }

    /// What is known of the packets of the part under way.
    pub fn facts(&self) -> ProbeFacts {
        ProbeFacts {
            records: self.facts,
            ..ProbeFacts::default()
        }
    }

    /// A trial is over: what is known of its packets.
    pub fn end_part(&mut self, summary: Summary, facts: ProbeFacts) -> Part {
        if facts.records.reflector_clock == ReflectorClock::Unrelated {
            let conditions = self.conditions.iter_mut();
            conditions.for_each(LimitCheck::withdraw_one_way);
        }
        Part {
            load: String::new(),
            way: None,
            summary,
            facts,
            handshakes: None,
            streams: Vec::new(),
            records: self.storage.take_records(),
        }
    }

    /// The run is over, and these are its parts: writes the rest and the summary.
    pub fn finish(mut self, mut parts: Vec<Part>) -> io::Result<PingOutcome> {
        self.leave_terminal();
        let shown = self.shown;
        let asked = 1 + load::parts(&shown.args.loads).len();
        let answers = of_the_last_part(self.answers(), &parts, asked);
        let answered = each_was_answered(&parts);
        if parts.is_empty() {
            parts.push(Part::default());
        }
        let broken = parts.iter().flat_map(Part::flaws).collect();
        let last = parts.len() - 1;
        let pings = parts.iter().enumerate().map(|(at, part)| {
            // The last one is held against the conditions.
            part.ping(if at == last { &answers } else { &[] }, shown)
        });
        let pings: Vec<Ping<'_>> = pings.collect();
        let idle = pings[0];
        let loaded = pings.iter().zip(&parts).skip(1);
        let loaded: Vec<Working<'_>> = loaded
            .map(|(&loaded, part)| Working {
                idle,
                loaded,
                load: &part.load,
                streams: &part.streams,
            })
            .collect();
        let documents = loaded.iter().zip(&parts[1..]);
        let documents = documents
            .map(|(working, part)| (part.way, UnderLoad::new(working, &part.records)))
            .collect();
        // A program finds each condition in one place, whatever packets it is about.
        let documented = Ping {
            conditions: &answers,
            ..idle
        };
        self.storage
            .finish(&documented, &parts[0].records, documents, shown.head())?;
        if self.summary_to_stdout {
            let style = terminal::style(&io::stdout(), shown.args.verbose);
            if self.lines.is_some() && self.any() {
                self.unless_closed(writeln!(io::stdout()))?;
            }
            if loaded.is_empty() {
                self.say_which_lines(idle.summary.counts.sent);
            }
            self.unless_closed(print(&in_text(
                &idle,
                &loaded,
                shown.args.quiet > 1,
                &style,
            )))?;
        }
        Ok(PingOutcome {
            answered,
            answers,
            broken,
            not_stored: self.storage.lacks(),
        })
    }

    fn answers(&mut self) -> Vec<Answer> {
        let conditions = std::mem::take(&mut self.conditions);
        conditions.into_iter().map(LimitCheck::finish).collect()
    }

    /// Where packets come too fast for a line each, and nobody asked for fewer lines, that is said.
    fn say_which_lines(&self, packets: u64) {
        let wanted = self.shown.args.quiet == 0 && !self.shown.args.tui;
        if wanted && self.lines.is_none() && packets > 0 {
            let which = without_lines(self.shown.run.probe.pacing);
            terminal::say(format!(
                "0 of {packets} lines shown: {which} are not shown one by one. -D shows them all, with the time of day; -q \
                 leaves this note out"
            ));
        }
    }
}

/// Packets that get no line each. How far those of a closed loop are apart, only the path knows.
const fn without_lines(pacing: Pacing) -> &'static str {
    match pacing {
        Pacing::Wait { .. } => "packets that are sent less than 50 ms after a reply",
        _ => "packets less than 50 ms apart",
    }
}

/// Was anything answered, of each part of which it is known? Where it was stopped, packets may still be under way.
fn each_was_answered(parts: &[Part]) -> bool {
    let counts = parts.iter().map(|part| &part.summary.counts);
    let mut known = counts.filter(|counts| counts.ended() > 0).peekable();
    known.peek().is_some() && known.all(|counts| counts.answered() > 0)
}

/// Conditions are about the last part that was asked for: what an earlier one measured does not answer them, nor does one
/// whose load was not what was asked for.
fn of_the_last_part(mut answers: Vec<Answer>, parts: &[Part], asked: usize) -> Vec<Answer> {
    if asked > 1 && parts.len() < asked {
        for answer in &mut answers {
            (answer.value, answer.count) = (None, 0);
            let why = "it is not known: nothing was measured under this load";
            answer.leave_undecided(why.to_owned());
        }
    }
    let last = || parts.last().into_iter();
    let streams = last().flat_map(|part| &part.streams);
    let own = last().flat_map(|part| part.facts.flaws.iter().cloned());
    let flaws: Vec<String> = own.chain(streams.flat_map(StreamReport::flaws)).collect();
    if !flaws.is_empty() {
        let passed = answers.iter_mut().filter(|answer| !answer.failed);
        passed.for_each(|answer| {
            let flaws = flaws.join("; ");
            let why = format!("it cannot be judged: {flaws}; {}", answer.reason);
            answer.leave_undecided(why);
        });
    }
    answers
}

/// What a finished run is judged by.
pub struct PingOutcome {
    /// Was anything answered, of each part?
    pub answered: bool,
    /// What came of each `--fail-if`.
    pub answers: Vec<Answer>,
    /// Why a part is not valid, whatever became of its load.
    pub broken: Vec<String>,
    /// What is not stored, and why.
    pub not_stored: Option<String>,
}

/// The summary, of loads with what they did to it; or a line of each.
fn in_text(idle: &Ping<'_>, loaded: &[Working<'_>], in_lines: bool, style: &Style) -> String {
    use delaylab_terminal::ping::{in_lines as lines, in_one_line, summary, working_latency};
    match (loaded.is_empty(), in_lines) {
        (true, true) => in_one_line(idle, style),
        (true, false) => summary(idle, style),
        (false, true) => lines(idle, loaded, style),
        (false, false) => [summary(idle, style), working_latency(loaded, style)].join("\n"),
    }
}

/// The conditions that the run is to be held against.
///
/// # Errors
/// Where one probe cannot answer them.
pub fn conditions(args: &PingArgs) -> Result<Vec<LimitCheck>, Failed> {
    let limits = args.fail_if.iter();
    let watched = limits.map(|limit| {
        LimitCheck::new(limit).map_err(|why| Failed::usage(format!("--fail-if '{limit}': {why}")))
    });
    watched.collect()
}

fn live_view(shown: PingContext<'_>) -> Result<Tui, Failed> {
    Tui::open(format!("delaylab ping {}", shown.args.target()))
}

/// The first part of a run, or one under load.
fn begin_part(tui: &Tui, part: u32, which: &str, shown: PingContext<'_>) {
    let mut detail = asked(shown.args.target(), shown.run).join(", ");
    if !shown.args.loads.is_empty() {
        detail += &format!(", {which}");
    }
    tui.begin_trial(part, detail, std::slice::from_ref(&shown.run.probe));
}

/// The results of a trial.
pub struct Part {
    /// The load as it was typed, and which part of it; empty: none.
    pub load: String,
    /// Of a load that goes one way: which.
    pub way: Option<Direction>,
    /// Statistics of its packets.
    pub summary: Summary,
    /// How they are to be read.
    pub facts: ProbeFacts,
    /// Of handshakes that were made beside them: the same two.
    pub handshakes: Option<(Summary, ProbeFacts)>,
    /// What each stream of its load did.
    pub streams: Vec<StreamReport>,
    /// Its packets, for a document.
    pub records: Vec<Record>,
}

impl Default for Part {
    /// One without packets.
    fn default() -> Self {
        Self {
            load: String::new(),
            way: None,
            summary: SummaryBuilder::new(RecordFacts::default(), 0).finish(),
            facts: ProbeFacts::default(),
            handshakes: None,
            streams: Vec::new(),
            records: Vec::new(),
        }
    }
}

impl Part {
    /// Why it is not valid, whatever became of its load.
    fn flaws(&self) -> impl Iterator<Item = String> {
        let under = match self.load.as_str() {
            "" => String::new(),
            load => format!("under {load}: "),
        };
        let flaws = self.facts.flaws.iter();
        flaws.map(move |flaw| format!("{under}{flaw}"))
    }

    fn ping<'a>(&'a self, conditions: &'a [Answer], shown: PingContext<'a>) -> Ping<'a> {
        let handshakes = self.handshakes.as_ref();
        Ping {
            target: shown.args.target(),
            run: shown.run,
            facts: &self.facts,
            summary: &self.summary,
            handshakes: handshakes.map(|(summary, facts)| Handshakes { facts, summary }),
            conditions,
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", visible(text))?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_lab::finding::Verdict;
    use delaylab_model::load::LoadKind;
    use delaylab_model::stream_report::Amount;

    fn passed() -> Answer {
        Answer {
            condition: "p99(response) > 50ms".to_owned(),
            value: Some(2e6),
            unit: "ns".to_owned(),
            bound: 50e6,
            count: 100,
            verdict: Verdict::False,
            failed: false,
            reason: "it is 2.00 ms".to_owned(),
        }
    }

    #[test]
    fn a_part_without_load_answers_nothing_that_is_asked_of_load() {
        let idle = passed();
        let judged = |parts, asked| {
            let parts: Vec<Part> = (0..parts).map(|_| Part::default()).collect();
            of_the_last_part(vec![idle.clone()], &parts, asked)
        };
        // A ping without load, one under load, one up, down and both.
        for (parts, asked) in [(1, 1), (2, 2), (4, 4)] {
            assert_eq!(judged(parts, asked), std::slice::from_ref(&idle));
        }
        for (parts, asked) in [(1, 2), (1, 4), (2, 4), (3, 4)] {
            let [answer] = &judged(parts, asked)[..] else {
                panic!("one condition");
            };
            assert!(answer.failed && answer.value.is_none(), "{answer:?}");
            assert!(answer.reason.contains("under this load"), "{answer:?}");
        }
    }

    #[test]
    fn a_part_whose_load_was_not_there_answers_nothing() {
        let passed = passed();
        let broken = StreamReport {
            name: "bulk".to_owned(),
            kind: LoadKind::Tcp,
            direction: Direction::Up,
            lasted: Some(MILLISECOND),
            congestion_control: None,
            default_congestion_control: false,
            due: None,
            sent: Amount::default(),
            received: None,
            held_back: 0,
            retransmits: None,
            round_trips: Vec::new(),
            failed: Some("nothing takes it".to_owned()),
        };
        let parts = [
            Part::default(),
            Part {
                streams: vec![broken],
                ..Part::default()
            },
        ];
        let judged = of_the_last_part(vec![passed.clone()], &parts, 2);
        let said = &judged[0].reason;
        assert!(
            judged[0].failed && said.contains("nothing takes it"),
            "{said}"
        );
        // Nor does one whose connection ended, with or without a load.
        let ended = || ProbeFacts {
            flaws: vec!["the connection ended".to_owned()],
            ..ProbeFacts::default()
        };
        let idle_and_loaded = [
            Part::default(),
            Part {
                load: "tcp:4".to_owned(),
                facts: ended(),
                ..Part::default()
            },
        ];
        let judged = of_the_last_part(vec![passed.clone()], &idle_and_loaded, 2);
        assert!(judged[0].failed, "{}", judged[0].reason);
        let flaws: Vec<_> = idle_and_loaded.iter().flat_map(Part::flaws).collect();
        assert_eq!(flaws, ["under tcp:4: the connection ended"]);
        // The load of an earlier part says nothing of the last one.
        let [idle, loaded] = parts;
        assert_eq!(
            of_the_last_part(vec![passed.clone()], &[loaded, idle], 2),
            [passed]
        );
    }

    #[test]
    fn a_part_that_nothing_answered_is_not_made_up_for_by_another() {
        let part = |sent: u64, late: u64, under_way: u64| {
            let mut part = Part::default();
            let counts = &mut part.summary.counts;
            (counts.sent, counts.late, counts.under_way) = (sent, late, under_way);
            part
        };
        for (parts, answered) in [
            (vec![], false),
            (vec![part(5, 0, 0)], false),
            (vec![part(5, 5, 0)], true),
            (vec![part(5, 5, 0), part(5, 0, 0)], false),
            (vec![part(5, 5, 0), part(1, 0, 1)], true),
            (vec![part(1, 0, 1)], false),
        ] {
            assert_eq!(each_was_answered(&parts), answered);
        }
    }

    /// A round trip may take longer than packets that are shown are apart.
    #[test]
    fn packets_of_a_closed_loop_are_not_said_to_be_close() {
        assert!(without_lines(Pacing::Wait { wait_ns: 0 }).contains("after a reply"));
        let open = Pacing::Every { interval_ns: 1 };
        assert!(without_lines(open).contains("50 ms apart"));
    }
}
