//! `delaylab list`.

use crate::args::experiment::{ListArgs, RUNS};
use crate::exit::{Exit, Failed};
use crate::terminal;
use delaylab_lab::experiment::Experiment;
use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_model::shell::quoted;
use delaylab_store::index::Index;
use delaylab_store::run::READ_AS_OWNER;
use delaylab_terminal::style::Style;
use delaylab_view::published::list::{self, Config, Document, Run};
use delaylab_view::words::plural;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;

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
        let config = Config {
            runs: args.runs.display().to_string(),
        };
        terminal::document(&listed, config)?;
    } else {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(for_people(&listed, &style))?;
    }
    match wrong(&listed.runs, &args.runs) {
        None => Ok(()),
        Some(sentence) => Err(Failed::environment(sentence)),
    }
}

/// What is wrong with one of the runs, and what to do about it: damage before what this user may not read.
fn wrong(runs: &[Run], directory: &Path) -> Option<String> {
    let first = |what: fn(&Run) -> &Option<String>| {
        let mut found = runs
            .iter()
            .filter_map(|run| Some((run, what(run).as_ref()?)));
        let (run, what) = found.next()?;
        Some(format!("{}: {what}", run.folder))
    };
    let damaged = first(|run| &run.damage).map(|damage| {
        let directory = quoted(&directory.display().to_string());
        format!("{damage}. `delaylab verify {directory}` looks at every file of every run")
    });
    damaged.or_else(|| {
        let unreadable = first(|run| &run.unreadable)?;
        Some(format!("{unreadable}. {READ_AS_OWNER}"))
    })
}

fn runs(args: &ListArgs) -> Result<Vec<Run>, Failed> {
    let directory = &args.runs;
    if !are_runs_in(directory)? {
        return Ok(Vec::new());
    }
    let entries = Index::open(directory).and_then(|index| index.list());
    let entries = entries.map_err(Failed::environment)?;
    Ok(entries.into_iter().map(Run::from).collect())
}

/// Is this directory there? The usual one need not be: the first run makes it.
///
/// # Errors
/// It is not there and was named, or is no directory, or cannot be looked at.
pub fn are_runs_in(directory: &Path) -> Result<bool, Failed> {
    match directory.metadata() {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(no_runs_in(directory, Exit::Usage, &"it is not a directory")),
        Err(error) if error.kind() == ErrorKind::NotFound && directory == Path::new(RUNS) => {
            Ok(false)
        }
        Err(error) => {
            let exit = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Exit::Usage,
                _ => Exit::Environment,
            };
            Err(no_runs_in(directory, exit, &error))
        }
    }
}

fn no_runs_in(directory: &Path, exit: Exit, why: &dyn Display) -> Failed {
    let directory = directory.display();
    let message =
        format!("cannot look for runs in {directory}: {why}. Name the directory that has them");
    Failed::new(exit, message)
}

fn for_people(listed: &Document, style: &Style) -> String {
    let mut text = String::from(
        "Experiments (delaylab run NAME; --quick for a first look)  [worlds, the default first]\n",
    );
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
        let (state, what) = match (&run.damage, &run.unreadable) {
            (Some(damage), _) => ("damaged", damage.clone()),
            (None, Some(unreadable)) => ("not read", unreadable.clone()),
            (None, None) => {
                let trials = plural(run.trials, "trial");
                let records = plural(run.records, "record");
                let flawed = match run.invalid {
                    0 => String::new(),
                    some => format!(" ({some} invalid)"),
                };
                (run.state, format!("{trials}{flawed}, {records}"))
            }
        };
        text += &format!("  {:<44} {state:<9} {what}\n", run.folder);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_store::index::Entry;
    use delaylab_store::overview::Overview;

    fn run(folder: &str, damage: Option<&str>) -> Run {
        Run::from(Entry {
            folder: folder.to_owned(),
            name: None,
            world: None,
            started_utc: None,
            partial: None,
            trials: 1,
            records: 10,
            damage: damage.map(str::to_owned),
            overview: Overview::default(),
        })
    }

    #[test]
    fn what_this_user_may_not_read_is_no_damage() {
        let denied = run(
            "theirs",
            Some("manifest.json: may not be read by this user"),
        );
        assert_eq!(
            denied.reasons["name"],
            "manifest.json: may not be read by this user"
        );
        let closed = "experiment.toml: may not be read by this user";
        assert_eq!(run("closed", Some(closed)).reasons["name"], closed);
        let damaged = run("torn", Some("records.parquet: missing"));
        assert_eq!((&denied.damage, &damaged.unreadable), (&None, &None));
        let other_file = "environment.json does not say it";
        assert_eq!(damaged.reasons["name"], other_file);
        let whole = run("whole", None);
        let sentence = |runs: &[Run]| wrong(runs, Path::new("runs"));
        assert_eq!(sentence(std::slice::from_ref(&whole)), None);
        let runs = [whole, denied, damaged];
        assert_eq!(
            sentence(&runs).as_deref(),
            Some(
                "torn: records.parquet: missing. `delaylab verify runs` looks at every file of every run"
            )
        );
        assert_eq!(
            sentence(&runs[..2]).as_deref(),
            Some(
                "theirs: manifest.json: may not be read by this user. Read the run as the user that it belongs to, or let \
                 this user read its files (chmod)"
            )
        );
        let listed = Document {
            experiments: Vec::new(),
            runs: runs.into(),
        };
        let said = for_people(&listed, &Style::PLAIN);
        let states = ["whole", "theirs", "torn"].map(|folder| {
            let line = said
                .lines()
                .find(|line| line.trim_start().starts_with(folder));
            line.and_then(|line| line.get(47..57)).unwrap_or_default()
        });
        assert_eq!(states, ["complete  ", "not read  ", "damaged   "]);
    }
}
