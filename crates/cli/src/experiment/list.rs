//! `delaylab list`.

use crate::args::experiment::{ListArgs, RUNS};
use crate::exit::{Exit, Failed};
use crate::terminal;
use delaylab_lab::experiment::Experiment;
use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_model::shell::quoted;
use delaylab_store::index::{Entry, Index};
use delaylab_terminal::style::Style;
use delaylab_view::list::{self, Document, Run};
use delaylab_view::words::plural;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;

fn listed(entry: Entry) -> Run {
    Run {
        state: entry.state().name(),
        folder: entry.folder,
        name: entry.name,
        world: entry.world,
        started_utc: entry.started_utc,
        trials: entry.trials,
        records: entry.records,
        damage: entry.damage,
    }
}

/// Runs the command.
pub fn run(args: &ListArgs) -> Result<(), Failed> {
    let experiments = catalogue().iter().map(|entry| {
        let experiment = Experiment::read(entry.source())?;
        Ok(list::Experiment {
            name: entry.name().to_owned(),
            title: experiment.title().to_owned(),
            worlds: experiment.worlds().into_iter().map(|w| w.name()).collect(),
        })
    });
    let listed = Document {
        experiments: experiments.collect::<Result<_, Failed>>()?,
        runs: runs(args)?,
    };
    if args.json {
        terminal::document(&listed)?;
    } else {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(for_people(&listed, &style))?;
    }
    let damaged = listed.runs.iter().find_map(|run| {
        let damage = run.damage.as_ref()?;
        Some(format!("{}: {damage}", run.folder))
    });
    damaged.map_or(Ok(()), |damage| {
        Err(Failed::environment(format!(
            "{damage}. `delaylab verify {}` looks at every file of every run",
            quoted(&args.output.display().to_string())
        )))
    })
}

fn runs(args: &ListArgs) -> Result<Vec<Run>, Failed> {
    let directory = &args.output;
    match directory.metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(no_runs_in(directory, Exit::Usage, &"it is not a directory")),
        // The first run makes it.
        Err(error) if error.kind() == ErrorKind::NotFound && directory == Path::new(RUNS) => {
            return Ok(Vec::new());
        }
        Err(error) => {
            let exit = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Exit::Usage,
                _ => Exit::Environment,
            };
            return Err(no_runs_in(directory, exit, &error));
        }
    }
    let entries = Index::open(directory).and_then(|index| index.list());
    let entries = entries.map_err(Failed::environment)?;
    Ok(entries.into_iter().map(listed).collect())
}

fn no_runs_in(directory: &Path, exit: Exit, why: &dyn Display) -> Failed {
    let directory = directory.display();
    Failed::new(exit, format!("cannot look for runs in {directory}: {why}"))
}

fn for_people(listed: &Document, style: &Style) -> String {
    let mut text = String::from("Experiments (delaylab run NAME; --quick for a first look)\n");
    for experiment in &listed.experiments {
        text += &format!(
            "  {:<22} {}  [{}]\n",
            experiment.name,
            style.glyphs(experiment.title.clone()),
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
