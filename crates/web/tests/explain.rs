//! Runs that something is wrong with: each is explained in plain sentences, with no figure that is none.

use delaylab_explain::causes;
use delaylab_model::method::Method;
use delaylab_model::probe::HostCondition;
use delaylab_model::record::{ClockEvent, Outcome, Record};
use delaylab_model::trial::{ProbeFacts, RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_stats::summary::SummaryBuilder;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{NewRun, RunWriter};
use delaylab_terminal::style::Style;
use delaylab_view::explain::json;
use delaylab_view::run::{Head, stored};
use delaylab_web::html;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const PACKETS: u64 = 2_000;

/// What is known of every record here.
const FACTS: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

/// A packet each millisecond, with every stamp; the reflector makes one in a hundred late.
fn packet(seq: u64) -> Record {
    let due = SECOND + seq as Nanos * MILLISECOND;
    let mut at = due;
    let mut after = |stage: Nanos| {
        at += stage + (seq * 7919 % 13) as Nanos * 100;
        Some(at)
    };
    let late = if seq % 100 == 50 { 3 * MILLISECOND } else { 0 };
    let mut record = Record::due(0, 0, seq, Method::Udp, due);
    record.t_send = after(2 * MICROSECOND);
    record.t_tx = after(5 * MICROSECOND);
    record.r_rx = after(9 * MICROSECOND);
    record.r_user = after(20 * MICROSECOND + late);
    record.r_tx = after(5 * MICROSECOND);
    record.t_rx = after(9 * MICROSECOND);
    record.t_recv = after(20 * MICROSECOND);
    record.cpu = Some(0);
    record.ip_size = Some(84);
    record.outcome = Outcome::Ok;
    record
}

pub fn packets() -> Vec<Record> {
    (0..PACKETS).map(packet).collect()
}

fn lose(record: &mut Record) {
    record.r_rx = None;
    record.r_user = None;
    record.r_tx = None;
    record.t_rx = None;
    record.t_recv = None;
    record.outcome = Outcome::Lost;
}

/// Writes them as a finished run of one trial.
pub fn write(runs: &Path, records: &[Record]) -> PathBuf {
    write_trials(runs, &[records])
}

/// Writes a finished run of these trials.
pub fn write_trials(runs: &Path, trials: &[&[Record]]) -> PathBuf {
    write_begun(runs, Some(SystemTime::UNIX_EPOCH), trials)
}

/// The same of one that began then.
pub fn write_begun(runs: &Path, started: Option<SystemTime>, trials: &[&[Record]]) -> PathBuf {
    write_of("name = \"broken\"\n", runs, started, trials)
}

/// The same of this experiment.
pub fn write_of(
    experiment: &str,
    runs: &Path,
    started: Option<SystemTime>,
    trials: &[&[Record]],
) -> PathBuf {
    let new = NewRun {
        name: "broken",
        world: "live",
        started,
        experiment,
        environment: &serde_json::json!({}),
    };
    let run = RunWriter::create(runs, &new).unwrap();
    for (number, records) in (0..).zip(trials) {
        let mut trial = run.begin_trial(number).unwrap();
        trial.records(records).unwrap();
        let row = row(number, records);
        trial.finish(&[row], &|_| (None, None)).unwrap();
    }
    run.finish(&serde_json::json!([])).unwrap().folder
}

fn row(trial: u32, records: &[Record]) -> TrialRow {
    let mut builder = SummaryBuilder::new(FACTS, usize::MAX);
    records.iter().for_each(|record| builder.push(record));
    let figures = builder.finish().figures();
    TrialRow {
        trial,
        probe: 0,
        probe_name: "echo".to_owned(),
        method: Method::Udp,
        repeat: 0,
        position: 0,
        started_utc: None,
        duration: PACKETS as Nanos * MILLISECOND,
        host: HostCondition::Normal,
        seed: 1,
        valid: true,
        warmup: 0,
        facts: ProbeFacts {
            records: FACTS,
            ..ProbeFacts::default()
        },
        factors: Vec::new(),
        figures,
    }
}

/// Explains the run on every face; what the terminal's says.
fn told(folder: &Path) -> String {
    told_on(folder, true)
}

/// The same, without a page where that is to be left out: to draw it is what takes long.
fn told_on(folder: &Path, with_page: bool) -> String {
    let run = Run::open_as_it_is(folder).unwrap();
    let found = causes::explain(&run, None, causes::slow::Baseline::Best);
    let text = delaylab_terminal::explain::render(&Head::default(), &found, &Style::PLAIN);
    let document = serde_json::to_string(&json::document("run", &found)).unwrap();
    let data = stored::in_full(&run, None, "run");
    let page = if with_page {
        html::page(&data)
    } else {
        String::new()
    };
    let page = without_packed(page.split("<script>").next().unwrap());
    for (face, said) in [
        ("terminal", text.as_str()),
        ("json", &document),
        ("page", &page),
    ] {
        for none in ["NaN", "inf ", "Infinity"] {
            assert!(!said.contains(none), "{face}: {none}\n{said}");
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In the base64 of a figure's data there may be any three letters.
fn without_packed(page: &str) -> String {
    let mut pieces = page.split("<script type=\"application/gzip\"");
    let first = pieces.next().unwrap_or_default().to_owned();
    let behind = pieces.filter_map(|piece| Some(piece.split_once("</script>")?.1));
    behind.fold(first, |kept, piece| kept + piece)
}

fn told_of(records: &[Record]) -> String {
    let runs = tempfile::tempdir().unwrap();
    told(&write(runs.path(), records))
}

#[test]
fn whole_runs_are_explained() {
    let text = told_of(&packets());
    assert!(
        text.contains("100 % arose in the reflector on this host"),
        "{text}"
    );
}

#[test]
fn without_answers_a_sentence_says_so() {
    let mut all_lost = packets();
    all_lost.iter_mut().for_each(lose);
    let cases = [
        (
            all_lost,
            "No packet was answered: there is nothing to explain.",
        ),
        (
            Vec::new(),
            "No complete trial has a packet: there is nothing to explain.",
        ),
    ];
    for (records, expected) in cases {
        let text = told_of(&records);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn one_packet_is_not_late() {
    let text = told_of(&packets()[50..51]);
    assert!(
        text.contains("1 packet sent, 1 answered") && text.contains("No packet was late"),
        "{text}"
    );
}

/// What nobody stamped is not put down to anybody.
#[test]
fn missing_columns_are_said() {
    let mut records = packets();
    for record in &mut records {
        let whole = *record;
        lose(record);
        record.t_tx = None;
        record.t_recv = whole.t_recv;
        record.outcome = Outcome::Ok;
    }
    let text = told_of(&records);
    assert!(
        text.contains("do not say whether a host or the network is why"),
        "{text}"
    );
}

/// The clock is set back by a second while a packet is under way: that one is the clock's, and no other is late by it.
#[test]
fn a_clock_that_is_set_in_the_middle_is_named() {
    let mut records = packets();
    let (before, after) = records.split_at_mut(1_000);
    let step = |stamp: &mut Option<Nanos>| *stamp = stamp.map(|at| at + SECOND);
    for record in after {
        record.t_intended += SECOND;
        let stamps = [
            &mut record.t_send,
            &mut record.t_tx,
            &mut record.r_rx,
            &mut record.r_user,
        ];
        stamps.into_iter().for_each(step);
        [&mut record.r_tx, &mut record.t_rx, &mut record.t_recv]
            .into_iter()
            .for_each(step);
    }
    let under_way = &mut before[999];
    step(&mut under_way.t_rx);
    step(&mut under_way.t_recv);
    under_way.clock_event = ClockEvent::Step;
    let text = told_of(&records);
    assert!(
        text.contains("1 packet (0.05 %) under way when the clock was set or the host suspended"),
        "{text}"
    );
    assert!(
        text.contains("20 of 2000 packets were late (1.0 %), by 3.00 ms on average"),
        "{text}"
    );
    // Nor is the second by which it was set in the stages of late packets.
    assert!(text.contains("reflector 26.2 us 3.00 ms 100%"), "{text}");
}

/// A page is made at one look in `looks_a_page`.
fn what_is_whole_is_left(looks_a_page: usize) {
    let runs = tempfile::tempdir().unwrap();
    let folder = write(runs.path(), &packets()[..400]);
    let mut turn = 0;
    let mut look = || {
        turn += 1;
        told_on(&folder, turn % looks_a_page == 0);
    };
    let entries = fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        look();
        fs::remove_file(path).unwrap();
        look();
        fs::write(path, &bytes).unwrap();
    }
    assert!(told(&folder).contains("100 % arose in the reflector on this host"));
}

#[test]
fn damaged_and_missing_files_leave_what_is_whole() {
    what_is_whole_is_left(3);
}

/// With a page of each, in `make test-all`.
mod long {
    #[test]
    fn damaged_and_missing_files_leave_what_is_whole_on_every_page() {
        super::what_is_whole_is_left(1);
    }
}
