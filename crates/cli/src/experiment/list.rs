//! `delaylab list`.

use crate::args::experiment::ListArgs;
use crate::exit::{Exit, Failed};
use crate::terminal;
use delaylab_lab::experiment::Experiment;
use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_store::index::{Entry, Index};
use delaylab_view::words::plural;
use serde::Serialize;

/// What there is to run and to look at.
#[derive(Debug, Serialize)]
struct Listed {
    experiments: Vec<ListedExperiment>,
    runs: Vec<ListedRun>,
}

#[derive(Debug, Serialize)]
struct ListedExperiment {
    name: String,
    title: String,
    worlds: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct ListedRun {
    folder: String,
    name: Option<String>,
    world: Option<String>,
    started_utc: Option<String>,
    state: &'static str,
    trials: u64,
    records: u64,
    /// Which file is not what was recorded, where that was seen without reading the tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

impl From<Entry> for ListedRun {
    fn from(entry: Entry) -> Self {
        Self {
            folder: entry.folder,
            name: entry.name,
            world: entry.world,
            started_utc: entry.started_utc,
            state: entry.state.name(),
            trials: entry.trials,
            records: entry.records,
            damage: entry.damage,
        }
    }
}

/// Runs the command.
pub fn run(args: &ListArgs) -> Result<(), Failed> {
    let experiments = catalogue().iter().map(|entry| {
        let experiment = Experiment::read(entry.source())?;
        Ok(ListedExperiment {
            name: entry.name().to_owned(),
            title: experiment.title().to_owned(),
            worlds: experiment.worlds().into_iter().map(|w| w.name()).collect(),
        })
    });
    let listed = Listed {
        experiments: experiments.collect::<Result<_, Failed>>()?,
        runs: runs(args)?,
    };
    if args.json {
        let text = serde_json::to_string(&listed)
            .map_err(|error| Failed::new(Exit::Internal, error.to_string()))?;
        terminal::write(text + "\n")?;
    } else {
        terminal::print(for_people(&listed))?;
    }
    let damaged = listed.runs.iter().find_map(|run| {
        let damage = run.damage.as_ref()?;
        Some(format!("{}: {damage}", run.folder))
    });
    damaged.map_or(Ok(()), |damage| {
        Err(Failed::environment(format!(
            "{damage}. `delaylab verify {}` looks at every file of every run",
            args.output.display()
        )))
    })
}

fn runs(args: &ListArgs) -> Result<Vec<ListedRun>, Failed> {
    if !args.output.is_dir() {
        return Ok(Vec::new());
    }
    let entries = Index::open(&args.output).and_then(|index| index.list());
    let entries = entries.map_err(|error| Failed::environment(error.to_string()))?;
    Ok(entries.into_iter().map(ListedRun::from).collect())
}

fn for_people(listed: &Listed) -> String {
    let mut text = String::from("Experiments (delaylab run NAME; --quick for a first look)\n");
    for experiment in &listed.experiments {
        text += &format!(
            "  {:<22} {}  [{}]\n",
            experiment.name,
            experiment.title,
            experiment.worlds.join(", ")
        );
    }
    if !listed.runs.is_empty() {
        text += "\nRuns (delaylab report RUN)\n";
    }
    for run in &listed.runs {
        if let Some(damage) = &run.damage {
            text += &format!("  {:<44} damaged   {damage}\n", run.folder);
            continue;
        }
        text += &format!(
            "  {:<44} {:<9} {}, {}\n",
            run.folder,
            run.state,
            plural(run.trials, "trial"),
            plural(run.records, "record")
        );
    }
    text
}
