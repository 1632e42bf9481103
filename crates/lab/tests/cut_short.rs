//! Trials that count with what is recorded of them, and that their process could not end: what is known of them then.

use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Resolved, Source};
use delaylab_lab::run::cut_short::{CutShort, Lacks};
use delaylab_lab::run::{EndedTrial, Ending, Laboratory, Left, Progress, StopMeans, TrialOutcome};
use delaylab_lab::stored::not_recorded;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{ProbeFacts, Trial};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const TEXT: &str = r#"name = "ping"
world = "live"
[path]
target = "192.0.2.1"
[[probe]]
name = "echo"
method = "icmp"
pacing = { every = "1ms" }
count = 50
"#;

fn resolve(text: &str) -> Resolved {
    let source = Source {
        name: "ping.toml".to_owned(),
        text: text.to_owned(),
    };
    let experiment = Experiment::read(source).unwrap();
    let honours_all = |_: &Trial| Vec::new();
    experiment
        .resolve(&Choices::default(), &honours_all)
        .unwrap()
}

/// Its trial comes to its end, and its tables find no place.
struct NoRoomForTables {
    parts: PathBuf,
}

impl World for NoRoomForTables {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        sink.begin(0, &Default::default()).unwrap();
        for seq in 0..50 {
            let mut record = Record::due(trial.id, 0, seq, Method::Icmp, 1_000_000 * seq as i64);
            record.t_send = Some(record.t_intended);
            record.t_recv = Some(record.t_intended + 100_000);
            record.outcome = Outcome::Ok;
            sink.record(&record).unwrap();
        }
        fs::rename(&self.parts, self.parts.with_extension("away")).unwrap();
        Ok(TrialFacts::from(vec![ProbeFacts {
            noise_sources: vec!["a watch".to_owned()],
            warnings: vec!["it is a toy".to_owned()],
            path_mtu: Some(1492),
            ..ProbeFacts::default()
        }]))
    }
}

struct Silent;

impl Progress for Silent {
    fn ended(&mut self, ended: &EndedTrial<'_>, _: usize, _: Left) {
        assert!(ended.not_stored.is_some());
    }
}

fn create(runs: &Path, environment: &Value) -> RunWriter {
    let new = NewRun {
        name: "ping",
        world: "live",
        started: Some(SystemTime::UNIX_EPOCH),
        experiment: TEXT,
        environment,
    };
    RunWriter::create(runs, &new).unwrap()
}

/// The row of a trial whose process could not make its tables, once another one did. `gone`: how many of its records are
/// not there; `lacks`: what it is said to lack.
fn ended_later(gone: usize, lacks: Lacks<'_>) -> TrialRow {
    let others = Some("not in the run: case up");
    let end = |trial: CutShort<'_>| trial.end(0, lacks, others).unwrap();
    let run = run_ended_later(&resolve(TEXT), &json!({}), gone, end);
    let row = &run.trials()[0];
    assert_eq!(row.figure("sent"), Some(50.0));
    row.clone()
}

/// A run of the first trial alone, of which `gone` records are not there and which `end` ends.
fn run_ended_later(
    resolved: &Resolved,
    environment: &Value,
    gone: usize,
    end: impl FnOnce(CutShort<'_>),
) -> Run {
    let first = &resolved.planned[0];
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path(), environment);
    let mut world = NoRoomForTables {
        parts: writer.folder().join("parts"),
    };
    let mut plan: FactorialPlan<TrialOutcome> =
        FactorialPlan::new(vec![first.clone()], &BTreeSet::new(), usize::MAX);
    let mut laboratory = Laboratory {
        world: &mut world,
        writer: Some(&writer),
        done: 0,
        stop: &Stop::default(),
        stop_means: StopMeans::Over,
        watch: None,
    };
    let ending = laboratory.carry_out(&mut plan, &mut Silent).unwrap();
    assert_eq!(ending, Ending::Complete);
    let partial = writer.folder().to_owned();
    drop(writer);
    fs::rename(world.parts.with_extension("away"), world.parts).unwrap();
    let note = partial.join("trial-0.begun.json");
    let noted = fs::read_to_string(&note).unwrap();
    assert!(noted.contains("\"records\":50"), "{noted}");
    let counted = format!("\"records\":{}", 50 + gone);
    fs::write(note, noted.replace("\"records\":50", &counted)).unwrap();

    let (writer, resumed) = RunWriter::resume(&partial).unwrap();
    assert_eq!(resumed.cut_short, [0].into());
    let trial = CutShort::open(&writer, first).unwrap();
    assert_eq!(trial.packets(), 50);
    end(trial);
    Run::open(&writer.finish(&json!([])).unwrap().folder).unwrap()
}

const KILLED: Lacks<'_> = Lacks::Packets("it was killed");

#[test]
fn a_trial_that_is_all_recorded_has_what_it_ended_with() {
    let row = ended_later(0, KILLED);
    assert!(row.valid, "{:?}", row.facts.flaws);
    assert_eq!(row.facts.noise_sources, ["a watch"]);
    assert_eq!(row.facts.path_mtu, Some(1492));
    let warnings = ["it is a toy", "not in the run: case up"];
    assert_eq!(row.facts.warnings, warnings);
}

/// What was said of its end is of packets that are not there.
#[test]
fn a_trial_that_lacks_records_is_cut_short() {
    let row = ended_later(1, KILLED);
    assert!(!row.valid);
    let flaw = &row.facts.flaws[0];
    assert!(flaw.starts_with("cut short at "), "{flaw}");
    assert!(flaw.ends_with(" after 50 packets: it was killed"), "{flaw}");
    assert!(row.facts.noise_sources.is_empty());
    assert_eq!(row.facts.warnings, ["not in the run: case up"]);
}

/// How it ended could not be stored, and every packet is there: it is valid, and has what its packets tell.
#[test]
fn a_trial_that_lacks_no_packet_is_not_cut_short() {
    let row = ended_later(1, Lacks::Others(&[]));
    assert!(row.valid, "{:?}", row.facts.flaws);
    assert!(row.facts.noise_sources.is_empty());
    let [lacks, others] = row.facts.warnings.as_slice() else {
        panic!("{:?}", row.facts.warnings);
    };
    assert!(lacks.starts_with("not everything"), "{lacks}");
    assert_eq!(others, "not in the run: case up");
}

/// What made it invalid is said as it was: no packet is missing.
#[test]
fn a_flawed_trial_that_lacks_no_packet_is_not_cut_short() {
    let flaws = ["the connection ended".to_owned()];
    let row = ended_later(1, Lacks::Others(&flaws));
    assert!(!row.valid);
    assert_eq!(row.facts.flaws, flaws);
}

/// Its process ended between two of its parts: none of them was cut short, and one is not there.
#[test]
fn what_is_not_in_a_ping_is_said_of_its_run() {
    let resolved = resolve(&format!("{TEXT}[design]\nrepeats = 2\n"));
    let of_ping = json!({ "live": { "as_it_stands": true } });
    for (environment, warning, says) in [
        (&of_ping, None, Some("not in the run: 1 trial")),
        (&of_ping, Some("not in the run: 1 trial"), None),
        (&json!({}), None, None),
    ] {
        let end = |trial: CutShort<'_>| trial.end(0, Lacks::Others(&[]), warning).unwrap();
        let run = run_ended_later(&resolved, environment, 0, end);
        assert_eq!(not_recorded(&run, &resolved).as_deref(), says);
    }
}
