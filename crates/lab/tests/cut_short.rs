//! Trials that count with what is recorded of them, and that their process could not end: what is known of them then.

use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Resolved, Source};
use delaylab_lab::run::cut_short::{CutShort, Lacks};
use delaylab_lab::run::{EndedTrial, Ending, Laboratory, Left, Progress, StopMeans, TrialOutcome};
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{ProbeFacts, Trial};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
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

fn resolve() -> Resolved {
    let source = Source {
        name: "ping.toml".to_owned(),
        text: TEXT.to_owned(),
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

fn create(runs: &Path) -> RunWriter {
    let new = NewRun {
        name: "ping",
        world: "live",
        started: Some(SystemTime::UNIX_EPOCH),
        experiment: TEXT,
        environment: &json!({}),
    };
    RunWriter::create(runs, &new).unwrap()
}

/// The row of a trial whose process could not make its tables, once another one did. `lacks`: how many of its records are gone;
/// `or`: what it lacks then.
fn ended_later(lacks: usize, or: Lacks<'_>) -> TrialRow {
    let runs = tempfile::tempdir().unwrap();
    let resolved = resolve();
    let writer = create(runs.path());
    let mut world = NoRoomForTables {
        parts: writer.folder().join("parts"),
    };
    let mut plan: FactorialPlan<TrialOutcome> =
        FactorialPlan::new(resolved.planned.clone(), &BTreeSet::new(), usize::MAX);
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
    let counted = format!("\"records\":{}", 50 + lacks);
    fs::write(note, noted.replace("\"records\":50", &counted)).unwrap();

    let (writer, resumed) = RunWriter::resume(&partial).unwrap();
    assert_eq!(resumed.cut_short, [0].into());
    let trial = CutShort::open(&writer, &resolved.planned[0]).unwrap();
    assert_eq!(trial.packets(), 50);
    let others = Some("not in the run: case up");
    trial.end(0, or, others).unwrap();
    let run = Run::open(&writer.finish(&json!([])).unwrap().folder).unwrap();
    let row = &run.trials()[0];
    assert_eq!(row.figure("sent"), Some(50.0));
    row.clone()
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
