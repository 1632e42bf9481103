//! `delaylab explain`.

use crate::args::explain::ExplainArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::{choose, conclude};
use crate::terminal;
use delaylab_explain::why;
use delaylab_report::explain::{json, terminal as page};
use delaylab_report::run::stored;
use std::io;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Result<(), Failed> {
    let run = choose::run_with_packets(&args.run, &args.runs)?;
    let resolved = choose::of_run(&run);
    let levels = resolved.as_ref().map_or(&[][..], |known| &known.factors);
    let found = why::of(&run, levels);
    let folder = conclude::shortest(run.folder());
    for problem in run.problems() {
        terminal::say(format!("warning: {problem}"));
    }
    if args.json {
        let text = serde_json::to_string_pretty(&json::document(&folder, &found));
        let text = text.map_err(|error| Failed::new(Exit::Internal, error.to_string()))?;
        return terminal::print(text + "\n");
    }
    let head = stored::head(&run, resolved.as_ref(), &folder);
    let style = terminal::style(&io::stdout(), args.verbose);
    terminal::print(page::page(&head, &found, &style))
}
