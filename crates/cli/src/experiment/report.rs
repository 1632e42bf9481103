//! `delaylab report`.

use super::{choose, conclude, export};
use crate::args::experiment::ReportArgs;
use crate::exit::{Exit, Failed};
use crate::output;
use crate::terminal;
use delaylab_figure::svg;
use delaylab_runner::run_folder::fail_if_damaged;
use delaylab_view::both_runs::BothRuns;
use delaylab_view::run::RunData;
use delaylab_web::html;
use std::io;
use std::path::Path;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<(), Failed> {
    let run = choose::run(&args.run, &args.runs)?;
    if let Some(other) = &args.compare_with {
        let other = choose::run(other, &args.runs)?;
        let [first, second] = [&run, &other].map(conclude::terminal_data);
        [&run, &other].into_iter().try_for_each(fail_if_damaged)?;
        return both_runs(&first, &second);
    }
    if args.figure.is_some() || args.table.is_some() {
        choose::say_not_complete(&run);
    }
    if let Some(name) = &args.table {
        return export::table(&run, name, args.output.as_deref());
    }
    let data = conclude::data_for(&run, true)?;
    if let Some(name) = &args.figure {
        return export::figure(&data, name, args.output.as_deref());
    }
    if let Some(directory) = &args.svg {
        write_figures(&data, directory)?;
    }
    if args.output.as_deref().is_some_and(output::is_stdout) {
        return terminal::write(html::page(&data));
    }
    let page = match &args.output {
        Some(page) => conclude::put_elsewhere(&data, page),
        None => conclude::put_in_run(&data, run.folder()),
    };
    let style = terminal::style(&io::stdout(), args.verbose);
    let shown = page.as_deref().ok();
    terminal::print(delaylab_terminal::run::summary(&data, shown, &style))?;
    // Last: the tables need no page.
    page.map(drop)
}

fn both_runs(first: &RunData, second: &RunData) -> Result<(), Failed> {
    if first.benchmark.is_some() && second.benchmark.is_some() {
        return Err(Failed::usage(
            "the trials of two benchmarks are steps of their searches, and no table is made of them: `delaylab compare` compares \
             what they found",
        ));
    }
    if BothRuns::new(first, second).rows.is_empty() {
        return Err(Failed::usage(format!(
            "{} and {} have no combination of factor levels and probe in common",
            first.head.folder, second.head.folder
        )));
    }
    let style = terminal::style(&io::stdout(), false);
    terminal::print(delaylab_terminal::run::both_runs(first, second, &style))
}

fn write_figures(data: &RunData, directory: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(directory).map_err(|error| output::cannot_write(directory, &error))?;
    let figures = svg::files(data);
    let figures = figures.map_err(|error| Failed::new(Exit::Internal, error))?;
    for (name, figure) in figures {
        output::write(&directory.join(name), figure.as_bytes())?;
    }
    Ok(())
}
