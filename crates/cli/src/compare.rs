//! `delaylab compare`.

use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::conclude::shortest;
use crate::terminal;
use delaylab_explain::compare::both::Both;
use delaylab_explain::compare::circumstances::{Circumstances, differences};
use delaylab_explain::compare::limits::{Held, held};
use delaylab_explain::compare::{Asked, compare};
use delaylab_lab::finding::Measure;
use delaylab_lab::stored::Stored;
use delaylab_report::compare::json::Document;
use delaylab_report::compare::{Compared, Side, terminal as shown};
use delaylab_report::figure::quantile_shift;
use delaylab_report::html;
use delaylab_report::svg::Artist;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::{Run, State};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<(), Failed> {
    let [a, b] = [open(&args.a, args)?, open(&args.b, args)?];
    let compared = compared(&a, &b, args)?;
    if let Some(path) = &args.output {
        write(&compared, path)?;
    }
    if args.json {
        terminal::print(document(&compared)?)?;
    } else if args.output.as_deref() != Some(Path::new("-")) {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(shown::render(&compared, &style))?;
        if let Some(path) = &args.output {
            terminal::print(format!("\n{}\n", path.display()))?;
        }
    }
    if compared.has_failed() {
        return Err(Failed::new(Exit::Unreachable, compared.failures()));
    }
    Ok(())
}

fn open(name: &str, args: &CompareArgs) -> Result<Run, Failed> {
    let folder = resolve_run(name, &args.runs).map_err(|error| Failed::usage(error.to_string()))?;
    Run::open(&folder).map_err(|error| Failed::environment(error.to_string()))
}

fn compared(a: &Run, b: &Run, args: &CompareArgs) -> Result<Compared, Failed> {
    let usage = |error: &dyn Display| Failed::usage(error.to_string());
    let around = [a, b].map(circumstances);
    let [in_a, in_b] = [a, b].map(Stored::new);
    let imported = around.iter().any(Circumstances::is_imported);
    let comparison =
        compare(&in_a, &in_b, &asked(args, imported)).map_err(|error| usage(&error))?;
    let both = Both::of(&in_a, &in_b).map_err(|error| usage(&error))?;
    let mut limits = Vec::<Held>::new();
    for limit in &args.fail_if {
        let of_limit = held(limit, &both);
        limits.extend(of_limit.map_err(|why| usage(&format!("--fail-if '{limit}': {why}")))?);
    }
    Ok(Compared {
        sides: [side(a), side(b)],
        comparison,
        differences: differences(&around[0], &around[1]),
        limits,
        strict: args.strict,
    })
}

/// What another tool measured has no schedule of its own: there the round trip is what both have.
fn asked(args: &CompareArgs, imported: bool) -> Asked {
    let Asked {
        mut measures,
        headline,
        ..
    } = Asked::usual();
    measures.retain(|measure| !(imported && *measure == Measure::Response));
    if !args.measure.is_empty() {
        measures.clone_from(&args.measure);
    }
    Asked {
        headline: measures.first().copied().unwrap_or(headline),
        measures,
        full: args.json || args.output.is_some(),
    }
}

fn circumstances(run: &Run) -> Circumstances {
    let experiment = run.experiment().and_then(|text| toml::from_str(text).ok());
    let conditions = run.trials().iter().map(|row| row.host.name().to_owned());
    let environment = run.environment().clone();
    let is_imported = environment["imported"].is_object();
    Circumstances {
        world: run.world().unwrap_or("unknown").to_owned(),
        conditions: conditions.filter(|_| !is_imported).collect(),
        environment,
        experiment: experiment.unwrap_or_default(),
    }
}

fn side(run: &Run) -> Side {
    let mut problems = run.problems();
    let folder = shortest(run.folder());
    if run.state() == State::Partial {
        problems.push(format!(
            "the run is not complete: `delaylab resume {folder}` goes on with it"
        ));
    }
    let invalid = run.trials().iter().filter(|row| !row.valid).count();
    if invalid > 0 {
        let all = run.trials().len();
        problems.push(format!(
            "{invalid} of {all} trials are not what the experiment meant, and are compared all the same"
        ));
    }
    Side {
        name: run.name().unwrap_or("run").to_owned(),
        folder,
        world: run.world().unwrap_or("unknown world").to_owned(),
        started: run.started_utc().unwrap_or("at an unknown time").to_owned(),
        problems,
    }
}

fn document(compared: &Compared) -> Result<Vec<u8>, Failed> {
    let supplied: Vec<String> = std::env::args().collect();
    let mut text = Vec::new();
    let written = Document::new(compared, &supplied).write(&mut text);
    written.map_err(|error| Failed::new(Exit::Internal, error.to_string()))?;
    Ok(text)
}

/// The file's name says what is written.
fn write(compared: &Compared, path: &Path) -> Result<(), Failed> {
    if path == Path::new("-") {
        return terminal::print(html::comparison(compared));
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let content = match extension {
        Some("html" | "htm") => html::comparison(compared).into_bytes(),
        Some("json") => document(compared)?,
        Some("svg") => figure(compared)?.into_bytes(),
        _ => {
            return Err(Failed::usage(format!(
                "{}: its name must end in .html, .json or .svg",
                path.display()
            )));
        }
    };
    std::fs::write(path, content)
        .map_err(|error| Failed::environment(format!("cannot write {}: {error}", path.display())))
}

fn figure(compared: &Compared) -> Result<String, Failed> {
    let Some(drawing) = quantile_shift::drawing(compared) else {
        return Err(Failed::usage("there is no shift to draw".to_owned()));
    };
    let drawn = Artist::new().and_then(|artist| artist.draw(&drawing.standalone()));
    drawn.map_err(|error| Failed::new(Exit::Internal, error.to_string()))
}
