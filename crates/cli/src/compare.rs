//! `delaylab compare`.

use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::choose;
use crate::head;
use crate::output;
use crate::terminal;
use delaylab_figure::quantile_shift;
use delaylab_figure::svg;
use delaylab_runner::resolve;
use delaylab_runner::run_folder::{fail_if_damaged, shortest};
use delaylab_store::run::Run;
use delaylab_view::compare::Compared;
use delaylab_view::compare::benchmark::Benchmarks;
use delaylab_view::compare::json::{Config, Document};
use delaylab_view::compare::stored::TwoRuns;
use delaylab_web::html;
use std::io;
use std::path::Path;

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<(), Failed> {
    let form = args.output.as_deref().map(|path| form(path, args.json));
    let form = form.transpose()?;
    let open = |name| choose::run(name, &args.runs);
    let [a, b] = [open(&args.a)?, open(&args.b)?];
    let compared = compared(&a, &b, args)?;
    if let Some((path, form)) = args.output.as_deref().zip(form) {
        write(&compared, args, path, form)?;
    }
    if args.json {
        terminal::document(&Document::new(&compared), config(args))?;
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
    let resolved = [a, b].map(resolve::of_run);
    let [of_a, of_b] = resolved.each_ref().map(Option::as_ref);
    let mut compared = match Benchmarks::of_runs([(a, of_a), (b, of_b)]) {
        Ok(found) => {
            of_results(args)?;
            two.benchmarks(folders, found)
        }
        Err(why) if two.are_benchmarks() => {
            [a, b].into_iter().try_for_each(fail_if_damaged)?;
            return Err(Failed::usage(why));
        }
        Err(_) => {
            let compared = two.compared(folders, &args.measure, full);
            compared.map_err(Failed::usage)?
        }
    };
    for limit in &args.fail_if {
        let held = two.held(limit);
        let held = held.map_err(|why| Failed::usage(format!("--fail-if '{limit}': {why}")))?;
        compared.limits.extend(held);
    }
    compared.strict = args.strict;
    [a, b].into_iter().try_for_each(fail_if_damaged)?;
    Ok(compared)
}

/// An error where what is asked for is about packets.
fn of_results(args: &CompareArgs) -> Result<(), Failed> {
    let why = match (args.fail_if.is_empty(), args.measure.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => "--fail-if judges",
        (true, false) => "--measure chooses measures of",
    };
    Err(Failed::usage(format!(
        "{why} packets, and of two benchmarks the results are compared: leave it out"
    )))
}

/// What is written into a file.
#[derive(Clone, Copy)]
enum Form {
    Page,
    Document,
    Figure,
}

/// The file's name says which, before anything is read; standard output gets a page.
fn form(path: &Path, json: bool) -> Result<Form, Failed> {
    if output::is_stdout(path) {
        return match json {
            true => Err(Failed::usage(
                "--json and -o - both write to standard output: leave one of them out",
            )),
            false => Ok(Form::Page),
        };
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Ok(Form::Page),
        Some("json") => Ok(Form::Document),
        Some("svg") => Ok(Form::Figure),
        _ => Err(Failed::usage(format!(
            "{}: its name must end in .html, .json or .svg",
            path.display()
        ))),
    }
}

fn config(args: &CompareArgs) -> Config<'_> {
    Config {
        a: &args.a,
        b: &args.b,
        measures: args.measure.iter().map(|measure| measure.name()).collect(),
        fail_if: args.fail_if.iter().map(ToString::to_string).collect(),
        strict: args.strict,
    }
}

fn write(compared: &Compared, args: &CompareArgs, path: &Path, form: Form) -> Result<(), Failed> {
    let content = match form {
        Form::Page => html::comparison(compared),
        Form::Document => head::to_line(&Document::new(compared), config(args)),
        Form::Figure => figure(compared)?,
    };
    if output::is_stdout(path) {
        return terminal::write(content);
    }
    output::write(path, content.as_bytes())
}

fn figure(compared: &Compared) -> Result<String, Failed> {
    if compared.benchmark.is_some() {
        return Err(Failed::usage(
            "two benchmarks have no shift to draw: -o FILE.html shows their results",
        ));
    }
    let Some(drawing) = quantile_shift::drawing(compared) else {
        return Err(Failed::usage("there is no shift to draw"));
    };
    svg::draw(&drawing).map_err(|error| Failed::new(Exit::Internal, error))
}
