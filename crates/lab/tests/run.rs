//! Runs on a world whose time is its own: the same bytes on any number of threads, after an
//! interruption too, and repeats until a statistic is known.

use delaylab_lab::experiment::sequential::Figures;
use delaylab_lab::experiment::{
    Choices, Experiment, FactorialPlan, Resolved, SequentialPlan, Source,
};
use delaylab_lab::run::{
    EndedTrial, Ending, LabError, Laboratory, Left, Progress, StopMeans, TrialOutcome,
};
use delaylab_model::method::Method;
use delaylab_model::noise::Unwatched;
use delaylab_model::plan::{Plan, Unit};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::series::SeriesPoint;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{ProbeFacts, Trial};
use delaylab_model::world::{Clock, FailureKind, Sink, TrialFacts, World, WorldError};
use delaylab_stats::random::SplitMix;
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

const TEXT: &str = r#"name = "toy"
world = "sim"
[[probe]]
name = "echo"
method = "udp"
pacing = { every = "1ms" }
count = 50
[sweep]
size = { set = "probe.echo.payload", to = ["64B", "128B", "256B"] }
[design]
repeats = 4
"#;

fn resolve(text: &str) -> Resolved {
    let source = Source {
        name: "toy.toml".to_owned(),
        text: text.to_owned(),
    };
    let experiment = Experiment::read(source).unwrap();
    let honours_all = |_: &Trial| Vec::new();
    experiment
        .resolve(&Choices::default(), &honours_all)
        .unwrap()
}

/// Delays are drawn from the trial's seed; larger packets vary more.
#[derive(Clone)]
struct Toy {
    threads: usize,
    /// Fails in this trial.
    fails: Option<u32>,
    /// The user asks to stop during this trial.
    stopped_in: Option<(u32, Stop)>,
}

/// Packets 10, 11 and 12 are under way in it.
const UNWATCHED: Unwatched = Unwatched {
    cpu: 0,
    start: 10_050_000,
    end: 12_000_001,
};

impl World for Toy {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        if let Some((_, stop)) = self.stopped_in.as_ref().filter(|(id, _)| *id == trial.id) {
            stop.ask();
        }
        if self.fails == Some(trial.id) {
            return Err(WorldError::new(FailureKind::Usage, "it failed"));
        }
        // Trials end in another order than they begin.
        std::thread::sleep(Duration::from_millis(u64::from(7 * trial.id % 5)));
        let mut random = SplitMix::new(trial.seed);
        sink.begin(0, &Default::default()).unwrap();
        for seq in 0..50 {
            let mut record = Record::due(trial.id, 0, seq, Method::Udp, 1_000_000 * seq as i64);
            let spread = f64::from(trial.probes[0].payload);
            let delay = 100_000.0 + 100.0 * spread * random.uniform();
            record.t_send = Some(record.t_intended);
            record.t_recv = Some(record.t_intended + delay as i64);
            record.outcome = Outcome::Ok;
            sink.record(&record).unwrap();
        }
        sink.rows((&point(trial.id)).into()).unwrap();
        Ok(TrialFacts::from(vec![ProbeFacts {
            simulated: Some(50_000_000),
            trace_hash: Some(random.next() ^ u64::from(trial.probes[0].payload)),
            flaws: vec!["it is a toy".to_owned(); usize::from(trial.id == 1)],
            noise_sources: vec!["a toy's".to_owned()],
            unwatched: vec![UNWATCHED; usize::from(trial.id == 2)],
            ..ProbeFacts::default()
        }]))
    }

    fn parallelism(&self) -> usize {
        self.threads
    }

    fn another(&self) -> Option<Box<dyn World>> {
        Some(Box::new(self.clone()))
    }

    fn clock(&self) -> Clock {
        Clock::Simulated
    }
}

fn point(trial: u32) -> SeriesPoint {
    SeriesPoint {
        trial,
        series: "backlog".into(),
        of: "s1→s2".into(),
        unit: Unit::Cells,
        t: 0,
        length: 50_000_000,
        min: 0.0,
        mean: f64::from(trial),
        max: 100.0,
    }
}

/// Notes which trials ended, in the order in which it is told.
#[derive(Default)]
struct Told(Vec<u32>);

impl Progress for Told {
    fn ended(&mut self, ended: &EndedTrial<'_>, done: usize, left: Left) {
        self.0.push(ended.planned.trial.id);
        assert!(done >= self.0.len());
        assert!(left.is_some());
    }
}

fn create(runs: &Path) -> RunWriter {
    let new = NewRun {
        name: "toy",
        world: "sim",
        started: Some(SystemTime::UNIX_EPOCH),
        experiment: TEXT,
        environment: &json!({}),
    };
    RunWriter::create(runs, &new).unwrap()
}

fn toy(threads: usize) -> Toy {
    Toy {
        threads,
        fails: None,
        stopped_in: None,
    }
}

fn carry_out(
    world: &mut Toy,
    writer: &RunWriter,
    plan: &mut dyn Plan<Observation = TrialOutcome>,
    stop: &Stop,
) -> (Result<Ending, LabError>, Vec<u32>) {
    let mut told = Told::default();
    let mut laboratory = Laboratory {
        world,
        writer: Some(writer),
        done: 0,
        stop,
        stop_means: StopMeans::default(),
        watch: None,
    };
    let ending = laboratory.carry_out(plan, &mut told);
    (ending, told.0)
}

fn factorial(done: &BTreeSet<u32>) -> FactorialPlan<TrialOutcome> {
    FactorialPlan::new(resolve(TEXT).planned, done, usize::MAX)
}

/// Every table of a run.
fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    ["records", "trials", "series", "noise", "clock_reads"]
        .map(|table| std::fs::read(folder.join(format!("{table}.parquet"))).unwrap())
        .to_vec()
}

fn finish(writer: RunWriter) -> Vec<Vec<u8>> {
    bytes(&writer.finish(&json!([])).unwrap().folder)
}

fn whole(threads: usize) -> (Vec<u32>, Vec<Vec<u8>>) {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut plan = factorial(&BTreeSet::new());
    let (ending, told) = carry_out(&mut toy(threads), &writer, &mut plan, &Stop::default());
    assert_eq!(ending.unwrap(), Ending::Complete);
    (told, finish(writer))
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_in_the_order_of_the_plan() {
    let one = whole(1);
    assert_eq!(one.0, (0..12).collect::<Vec<_>>());
    for threads in [2, 3, 20] {
        assert!(whole(threads) == one, "{threads} threads");
    }
}

/// As a session that cannot be set up because the user asked to stop meanwhile.
#[test]
fn a_trial_that_fails_once_a_stop_was_asked_for_is_a_stop() {
    let stop = Stop::default();
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut failing = Toy {
        threads: 1,
        fails: Some(0),
        stopped_in: Some((0, stop.clone())),
    };
    let mut plan = factorial(&BTreeSet::new());
    let (ending, told) = carry_out(&mut failing, &writer, &mut plan, &stop);
    assert_eq!((ending.unwrap(), told), (Ending::Interrupted, Vec::new()));
}

#[test]
fn a_trial_in_simulated_time_has_no_date_and_its_own_length() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    carry_out(
        &mut toy(2),
        &writer,
        &mut factorial(&BTreeSet::new()),
        &Stop::default(),
    )
    .0
    .unwrap();
    let run = Run::open(&writer.finish(&json!([])).unwrap().folder).unwrap();
    for row in run.trials() {
        assert_eq!((row.started_utc, row.duration), (None, 50_000_000));
        assert_eq!(row.position, row.trial);
        assert_eq!(row.valid, row.trial != 1);
        assert!(row.facts.trace_hash.is_some());
        assert_eq!(run.series(Some(row.trial)), [point(row.trial)]);
    }
    // Repeats have random numbers of their own, combinations of one repeat the same.
    let seeds = |of: fn(&(u32, u64)) -> u64| {
        let rows = run.trials().iter().map(|row| (row.repeat, row.seed));
        rows.map(|row| of(&row)).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(seeds(|row| row.1), 4);
    assert_eq!(seeds(|row| row.1 ^ u64::from(row.0).rotate_left(48)), 4);
}

#[test]
fn packets_have_no_noise_where_nothing_was_watched() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let (world, plan) = (&mut toy(2), &mut factorial(&BTreeSet::new()));
    let (ending, _) = carry_out(world, &writer, plan, &Stop::default());
    ending.unwrap();
    let run = Run::open(&writer.finish(&json!([])).unwrap().folder).unwrap();
    let mut without = Vec::new();
    run.for_each_noised(None, |noised| {
        if noised.noise_ns.is_none() {
            without.push((noised.record.trial, noised.record.seq));
        }
    });
    assert_eq!(without, [(2, 10), (2, 11), (2, 12)]);
}

#[test]
fn what_was_recorded_before_a_failure_stays_and_the_rest_follows() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut failing = Toy {
        threads: 3,
        fails: Some(5),
        stopped_in: None,
    };
    let mut plan = factorial(&BTreeSet::new());
    let (ending, told) = carry_out(&mut failing, &writer, &mut plan, &Stop::default());
    let Err(LabError::World(error)) = ending else {
        panic!("{ending:?}");
    };
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (FailureKind::Usage, "it failed")
    );
    assert_eq!(told, (0..5).collect::<Vec<_>>());
    let folder = writer.folder().to_owned();
    drop(writer);

    let (writer, resumed) = RunWriter::resume(&folder).unwrap();
    assert!(!resumed.done.contains(&5));
    let mut plan = factorial(&resumed.done);
    let (ending, _) = carry_out(&mut toy(3), &writer, &mut plan, &Stop::default());
    assert_eq!(ending.unwrap(), Ending::Complete);
    assert!(finish(writer) == whole(1).1);
}

#[test]
fn a_run_that_is_stopped_is_resumed_to_the_same_bytes() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut plan = factorial(&BTreeSet::new());
    let stop = Stop::default();
    let mut stopped = Toy {
        stopped_in: Some((plan.next_trials()[4].trial.id, stop.clone())),
        ..toy(2)
    };
    let mut plan = factorial(&BTreeSet::new());
    let (ending, told) = carry_out(&mut stopped, &writer, &mut plan, &stop);
    assert_eq!(ending.unwrap(), Ending::Interrupted);
    assert!(told.len() < 12);
    let folder = writer.folder().to_owned();
    drop(writer);

    let (writer, resumed) = RunWriter::resume(&folder).unwrap();
    let mut plan = factorial(&resumed.done);
    let (ending, rest) = carry_out(&mut toy(2), &writer, &mut plan, &Stop::default());
    assert_eq!(ending.unwrap(), Ending::Complete);
    assert_eq!(rest.len() + resumed.done.len(), 12);
    assert!(finish(writer) == whole(1).1);
}

const STOPS: &str = r#"stop = { of = "mean(response)", within = "0.6%", at_most = 12 }"#;

fn sequential(done: BTreeMap<u32, Figures>) -> SequentialPlan {
    let resolved = resolve(&TEXT.replace("repeats = 4", STOPS));
    assert_eq!(resolved.planned.len(), 3 * 12);
    SequentialPlan::new(resolved.planned, resolved.stop.unwrap(), done, usize::MAX)
}

/// How often each size was repeated.
fn repeats(folder: &Path) -> Vec<usize> {
    let run = Run::open(folder).unwrap();
    let of = |size: &str| {
        let rows = run.trials().iter();
        rows.filter(|row| row.factors[0].1.label == size).count()
    };
    ["64B", "128B", "256B"].map(of).to_vec()
}

#[test]
fn combinations_are_repeated_until_each_is_known_well_enough() {
    let mut all = Vec::new();
    for threads in [1, 3] {
        let runs = tempfile::tempdir().unwrap();
        let writer = create(runs.path());
        let mut plan = sequential(BTreeMap::new());
        let (ending, _) = carry_out(&mut toy(threads), &writer, &mut plan, &Stop::default());
        assert_eq!(ending.unwrap(), Ending::Complete);
        let folder = writer.finish(&json!([])).unwrap().folder;
        all.push((repeats(&folder), bytes(&folder)));
    }
    assert!(all[0] == all[1]);
    let repeats = &all[0].0;
    assert!(repeats.is_sorted(), "{repeats:?}");
    assert!(repeats[0] >= 2 && repeats[0] < repeats[2], "{repeats:?}");
}

#[test]
fn copies_of_a_simulation_are_no_repeats() {
    let mut plan = sequential(BTreeMap::new());
    let alike = |trial: u32, trace_hash| {
        let figures = vec![vec![(
            "response_mean_ns".to_owned(),
            Some(1e6 + f64::from(trial)),
        )]];
        let figures = Figures {
            trace_hash,
            of_probes: figures,
        };
        (trial, figures)
    };
    // Within 0.6 % of each other from the second on.
    let others: BTreeMap<_, _> = (0..9).map(|trial| alike(trial, None)).collect();
    assert!(sequential(others).next_trials().is_empty());
    // One of the first round is to be repeated: the rounds after it do not make up for it.
    let mut without: BTreeMap<_, _> = (0..9).map(|trial| alike(trial, None)).collect();
    without.remove(&1);
    let again = sequential(without).next_trials();
    assert_eq!(again.iter().map(|it| it.trial.id).collect::<Vec<_>>(), [1]);
    let copies: BTreeMap<_, _> = (0..9).map(|trial| alike(trial, Some(7))).collect();
    assert_eq!(sequential(copies).next_trials().len(), 3);
    assert_eq!(plan.next_trials().len(), 3);
}

#[test]
fn precision_that_was_asked_for_and_not_reached_is_said() {
    let missed = |apart: f64, trace_hash: Option<u64>| {
        let planned = resolve(&TEXT.replace("repeats = 4", STOPS)).planned;
        let done = planned.iter().map(|planned| {
            let apart = match planned.factors[0].1.label.as_str() {
                "128B" => apart,
                _ => 0.001,
            };
            let value = 1e6 * (1.0 + apart * f64::from(planned.repeat % 2));
            let figures = Figures {
                trace_hash,
                of_probes: vec![vec![("response_mean_ns".to_owned(), Some(value))]],
            };
            (planned.trial.id, figures)
        });
        let mut plan = sequential(done.collect());
        assert!(plan.next_trials().is_empty());
        plan.missed()
    };
    assert_eq!(missed(0.001, None), None);
    let said = missed(0.05, None).unwrap();
    for part in [
        "design.stop: mean(response) is within ±1.6",
        " after 12 repeats, not within ±0.60",
        ", of 1 of 3 combinations of levels (size 128B); about ",
        " would do: raise `at_most`",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Of what repeats itself exactly no repeat tells more.
    assert_eq!(missed(0.05, Some(7)), None);
}

#[test]
fn a_sequential_run_that_was_resumed_takes_the_same_decisions() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut failing = Toy {
        threads: 1,
        fails: Some(4),
        stopped_in: None,
    };
    let (ending, _) = carry_out(
        &mut failing,
        &writer,
        &mut sequential(BTreeMap::new()),
        &Stop::default(),
    );
    ending.unwrap_err();
    let folder = writer.folder().to_owned();
    drop(writer);

    let (writer, _) = RunWriter::resume(&folder).unwrap();
    let run = Run::open(&folder).unwrap();
    let seen = run.trials().iter();
    let seen = seen
        .map(|row| {
            let figures = Figures {
                trace_hash: row.facts.trace_hash,
                of_probes: vec![row.figures.clone()],
            };
            (row.trial, figures)
        })
        .collect();
    let (ending, _) = carry_out(
        &mut toy(2),
        &writer,
        &mut sequential(seen),
        &Stop::default(),
    );
    ending.unwrap();
    let resumed = finish(writer);

    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut plan = sequential(BTreeMap::new());
    carry_out(&mut toy(1), &writer, &mut plan, &Stop::default())
        .0
        .unwrap();
    assert!(resumed == finish(writer));
}
