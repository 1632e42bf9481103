//! `delaylab explain`.

use crate::args::explain::{ExplainArgs, IDLE};
use crate::exit::Failed;
use crate::experiment::choose;
use crate::output;
use crate::terminal;
use delaylab_explain::causes;
use delaylab_explain::causes::slow::{Baseline, Slow};
use delaylab_lab::stored::{missed_precision, not_recorded};
use delaylab_runner::resolve;
use delaylab_runner::run_folder::{fail_if_damaged, shortest};
use delaylab_view::explain::json::{self, Config};
use delaylab_view::run::stored;
use std::io;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Result<(), Failed> {
    let run = choose::run(&args.run, &args.runs)?;
    let resolved = resolve::of_run(&run);
    let other = other(args)?;
    let baseline = match (&other, args.baseline.is_some()) {
        (Some(other), _) => Baseline::Run(other),
        (None, true) => Baseline::Idle,
        (None, false) => Baseline::Best,
    };
    let found = causes::explain(&run, resolved.as_ref(), baseline);
    fail_if_damaged(&run)?;
    let folder = shortest(run.folder());
    let experiment = resolved.as_ref();
    let missed = experiment.and_then(|experiment| missed_precision(&run, experiment));
    let missing = experiment.and_then(|experiment| not_recorded(&run, experiment));
    let problems = run.problems().into_iter().chain(missed).chain(missing);
    problems.for_each(terminal::warn);
    let head = stored::head(&run, resolved.as_ref(), &folder);
    let style = terminal::style(&io::stdout(), args.verbose);
    let text = || delaylab_terminal::explain::render(&head, &found, &style);
    if let Some(file) = &args.text_file {
        output::write_text(file, &text())?;
    }
    if args.json {
        let config = Config {
            run: &args.run,
            baseline: args.baseline.as_deref(),
        };
        return terminal::document(&json::document(&folder, &found), config);
    }
    terminal::print(text())
}

/// What the run that it is to be held against says, if it is one.
fn other(args: &ExplainArgs) -> Result<Option<Slow>, Failed> {
    let named = args.baseline.as_deref().filter(|named| *named != IDLE);
    let Some(named) = named else {
        return Ok(None);
    };
    let run = choose::run(named, &args.runs)?;
    let baseline = causes::baseline(&run, resolve::of_run(&run).as_ref());
    fail_if_damaged(&run)?;
    Ok(Some(baseline))
}
