//! `delaylab compare`.

use crate::args::compare::CompareArgs;
use crate::args::supplied;
use crate::exit::{Exit, Failed};
use crate::experiment::choose;
use crate::output;
use crate::terminal;
use delaylab_figure::quantile_shift;
use delaylab_figure::svg;
use delaylab_runner::run_folder::{shortest, whole};
use delaylab_store::run::Run;
use delaylab_view::compare::Compared;
use delaylab_view::compare::json::Document;
use delaylab_view::compare::stored::TwoRuns;
use delaylab_view::json::to_line;
use delaylab_web::html;
use std::io;
use std::path::Path;

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<(), Failed> {
    let open = |name| choose::run(name, &args.runs);
    let [a, b] = [open(&args.a)?, open(&args.b)?];
    let compared = compared(&a, &b, args)?;
    if let Some(path) = &args.output {
        write(&compared, path)?;
    }
    if args.json {
        terminal::document(&Document::new(&compared, &supplied()))?;
    } else if !args.output.as_deref().is_some_and(output::is_stdout) {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(delaylab_terminal::compare::render(&compared, &style))?;
        if let Some(path) = &args.output {
            terminal::print(format!("\n{}\n", path.display()))?;
        }
    }
    if compared.has_failed() {
        return Err(Failed::new(Exit::Unreachable, compared.failures()));
    }
    Ok(())
}

fn compared(a: &Run, b: &Run, args: &CompareArgs) -> Result<Compared, Failed> {
    let two = TwoRuns::new([a, b]);
    let full = args.json || args.output.is_some();
    let folders = [a, b].map(|run| shortest(run.folder()));
    let compared = two.compared(folders, &args.measure, full);
    let mut compared = compared.map_err(Failed::usage)?;
    for limit in &args.fail_if {
        let held = two.held(limit);
        let held = held.map_err(|why| Failed::usage(format!("--fail-if '{limit}': {why}")))?;
        compared.limits.extend(held);
    }
    compared.strict = args.strict;
    [a, b].into_iter().try_for_each(whole)?;
    Ok(compared)
}

/// The file's name says what is written.
fn write(compared: &Compared, path: &Path) -> Result<(), Failed> {
    if output::is_stdout(path) {
        return terminal::write(html::comparison(compared));
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let content = match extension {
        Some("html" | "htm") => html::comparison(compared).into_bytes(),
        Some("json") => to_line(&Document::new(compared, &supplied())).into_bytes(),
        Some("svg") => figure(compared)?.into_bytes(),
        _ => {
            return Err(Failed::usage(format!(
                "{}: its name must end in .html, .json or .svg",
                path.display()
            )));
        }
    };
    output::write(path, &content)
}

fn figure(compared: &Compared) -> Result<String, Failed> {
    let Some(drawing) = quantile_shift::drawing(compared) else {
        return Err(Failed::usage("there is no shift to draw"));
    };
    svg::draw(&drawing).map_err(|error| Failed::new(Exit::Internal, error))
}
