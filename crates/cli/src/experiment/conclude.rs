//! The end of a run whose trials are all recorded: findings, tables, report.

use super::resumable::resumable;
use crate::args::experiment::ShownArgs;
use crate::exit::{Exit, Failed};
use crate::head::{supplied, system_info};
use crate::output;
use crate::terminal;
use delaylab_lab::finding::Judged;
use delaylab_model::shard::Shard;
use delaylab_model::shell::quoted;
use delaylab_runner::resolve;
use delaylab_runner::run::CarriedOut;
use delaylab_runner::run_folder::{self, PAGE, fail_if_damaged, shortest};
use delaylab_store::run::Run;
use delaylab_store::whole_file;
use delaylab_store::writer::Finished;
use delaylab_view::benchmark;
use delaylab_view::json::run::{Config, Line};
use delaylab_view::json::{Head, Measured};
use delaylab_view::run::{RunData, stored};
use delaylab_view::words::plural;
use delaylab_web::html;
use std::io;
use std::path::Path;

/// The file with what a procedure of the device benchmark found.
const BENCHMARK: &str = benchmark::FILE;

/// Why there is no page.
const NO_REPORT: &str = "--no-report";

/// A run that is over: what it came to, and where it is.
pub struct Concluded {
    /// All of it, as it is shown.
    pub data: RunData,
    /// Its findings.
    pub judged: Vec<Judged>,
    /// Where its page is, if it is to have one; or why that could not be written.
    page: Result<Option<String>, Failed>,
    /// Were the lines of its trials written?
    lines: Result<(), Failed>,
}

/// Judges the findings, gives the run its name and, if it is to have one, writes its page.
/// `lines`: were those of its trials written?
pub fn run(
    carried_out: CarriedOut,
    lines: Result<(), Failed>,
    with_page: bool,
) -> Result<Concluded, Failed> {
    let unfinished = carried_out.folder().to_owned();
    let finished = carried_out.finish().map_err(Failed::from);
    let (Finished { folder, warnings }, judged) = finished.map_err(|failed| {
        // Once it has its name, nothing is left to resume.
        match unfinished.exists() {
            true => resumable(failed, &unfinished.display().to_string()),
            false => failed,
        }
    })?;
    warnings.iter().for_each(terminal::warn);
    let data = data_for(&run_folder::open(&folder)?, with_page)?;
    let page = match with_page {
        true => put_in_run(&data, &folder).map(Some),
        false => write_benchmark(&data, &folder.join(BENCHMARK), replace).map(|()| None),
    };
    Ok(Concluded {
        data,
        judged,
        page,
        lines,
    })
}

/// Says where a shard is whose trials are all recorded.
///
/// # Errors
/// It cannot be printed.
pub fn shard(
    carried_out: &CarriedOut,
    shard: Shard,
    trials: usize,
    shown: &ShownArgs,
) -> Result<(), Failed> {
    let folder = shortest(carried_out.folder());
    if shown.json {
        let resolved = carried_out.resolved();
        let head = Head {
            system_info: &system_info(),
            config: Config {
                name: &resolved.name,
                title: &resolved.title,
                world: resolved.world.name(),
                target: None, // only simulations have shards
                seed: Some(resolved.seed),
            },
            supplied: &supplied(),
        };
        return terminal::line(&Line::shard(head, shard, trials, &folder));
    }
    terminal::print(of_shard(shard, trials, &folder))
}

/// Where it is, and how to merge it with the others.
fn of_shard(shard: Shard, trials: usize, folder: &str) -> String {
    let of = shard.count();
    let all = folder
        .rsplit_once(&format!("-shard-{}-of-{of}-", shard.number()))
        .map_or_else(
            || "SHARD…".to_owned(),
            // The shell is to expand what is behind the name.
            |(name, _)| format!("{}-shard-*-of-{of}-*", quoted(name)),
        );
    let are = if trials == 1 { "is" } else { "are" };
    let trials = plural(trials as u64, "trial");
    format!(
        "Shard {shard}: {trials} {are} recorded in {folder}\nWhen all {of} shards are recorded: delaylab merge {all}\n"
    )
}

/// Where the page of a run is, or why it has none.
pub fn page_or_reason(page: &Result<Option<String>, Failed>) -> Measured<&str> {
    match page {
        Ok(Some(page)) => Measured::Known(page),
        Ok(None) => Measured::Missing(NO_REPORT.to_owned()),
        Err(failed) => Measured::Missing(failed.message.clone()),
    }
}

impl Concluded {
    /// Where its page is, if it has one.
    fn page(&self) -> Option<&str> {
        self.page.as_ref().ok()?.as_deref()
    }

    /// Where its page is, or why it has none.
    pub fn page_or_reason(&self) -> Measured<&str> {
        page_or_reason(&self.page)
    }

    /// Prints it as was asked for.
    ///
    /// # Errors
    /// Where lines or its page could not be written, or nothing was answered, once the rest is shown.
    pub fn show(self, shown: &ShownArgs) -> Result<(), Failed> {
        if shown.json {
            // Behind half a line it would be read as the end of that.
            if self.lines.is_ok() {
                self.print_line()?;
            }
        } else {
            let style = terminal::style(&io::stdout(), shown.verbose);
            let page = self.page();
            terminal::print(delaylab_terminal::run::summary(&self.data, page, &style))?;
        }
        let answered = self.unless_unanswered();
        self.lines.and(self.page.map(drop)).and(answered)
    }

    /// Prints the last line of `--json`.
    fn print_line(&self) -> Result<(), Failed> {
        let head = Head {
            system_info: &system_info(),
            config: Config::new(&self.data),
            supplied: &supplied(),
        };
        let line = Line::run(head, &self.data, &self.judged, self.page_or_reason());
        terminal::line(&line)
    }

    /// An error where its page could not be written, to end with: what was measured needs no page.
    pub fn unless_without_page(self) -> Result<(), Failed> {
        self.page.map(drop)
    }

    /// An error where nothing was answered.
    pub fn unless_unanswered(&self) -> Result<(), Failed> {
        // A device that loses everything has been measured.
        if self.data.any_answered() || self.data.benchmark.is_some() {
            Ok(())
        } else {
            Err(Failed::new(Exit::Unreachable, "no packet was answered"))
        }
    }
}

/// The run as its page shows it.
pub fn run_data(run: &Run) -> RunData {
    stored::in_full(run, resolve::of_run(run).as_ref(), &shortest(run.folder()))
}

/// The run as the terminal shows it, alone or beside another one: without what only a page has, which takes longer
/// than all else.
pub fn terminal_data(run: &Run) -> RunData {
    stored::data(run, resolve::of_run(run).as_ref(), &shortest(run.folder()))
}

/// The run as it is shown, with or without a page.
///
/// # Errors
/// Something of it cannot be read.
pub fn data_for(run: &Run, with_page: bool) -> Result<RunData, Failed> {
    let data = if with_page {
        run_folder::fail_if_measured_part_damaged(resolve::of_run(run).as_ref())?;
        run_data(run)
    } else {
        terminal_data(run)
    };
    fail_if_damaged(run)?;
    Ok(data)
}

/// Writes the page of a run, and what a procedure found, into the run's folder. Where the page is.
///
/// # Errors
/// It cannot be written there, and how it is written elsewhere.
pub fn put_in_run(data: &RunData, folder: &Path) -> Result<String, Failed> {
    let page = folder.join(PAGE);
    let written = write_all(data, &page, &folder.join(BENCHMARK), replace);
    written.map_err(|Failed { exit, message }| {
        let run = quoted(&data.head.folder);
        let elsewhere =
            format!("{message}. Write it elsewhere: `delaylab report {run} -o FILE.html`");
        Failed::new(exit, elsewhere)
    })
}

/// The same where the user wants them: the page here, the other beside it under its name, as there may be those of other runs.
/// A report can be made again at any time: an older one gives way.
pub fn put_elsewhere(data: &RunData, page: &Path) -> Result<String, Failed> {
    let name = page.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".html").unwrap_or(&name);
    let benchmark = page.with_file_name(format!("{name}.{BENCHMARK}"));
    write_all(data, page, &benchmark, output::write)
}

/// How a file is written.
type Write = fn(&Path, &[u8]) -> Result<(), Failed>;

fn write_all(
    data: &RunData,
    page: &Path,
    benchmark: &Path,
    write: Write,
) -> Result<String, Failed> {
    write_benchmark(data, benchmark, write)?;
    write(page, html::page(data).as_bytes())?;
    Ok(page.display().to_string())
}

/// What a procedure of the device benchmark found, if the run is one.
fn write_benchmark(data: &RunData, path: &Path, write: Write) -> Result<(), Failed> {
    let text = data.benchmark.as_ref().map(benchmark::markdown);
    text.map_or(Ok(()), |text| write(path, text.as_bytes()))
}

/// Writes a file of a run's folder: a link in its place is not written through.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    whole_file::replace(path, bytes).map_err(|error| output::cannot_write(path, &error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_procedure::Report;

    #[test]
    fn what_two_benchmarks_found_stands_beside_their_pages() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        std::fs::write(path(BENCHMARK), "another's").unwrap();
        for name in ["a.html", "b-1.2", "b-1.3"] {
            let data = RunData {
                benchmark: Some(Report {
                    procedure: "throughput".to_owned(),
                    title: format!("Throughput {name}"),
                    sections: Vec::new(),
                    tables: Vec::new(),
                    figures: Vec::new(),
                    conformance: Vec::new(),
                    notes: Vec::new(),
                }),
                ..RunData::default()
            };
            put_elsewhere(&data, &path(name)).unwrap();
        }
        assert_eq!(read(BENCHMARK), "another's");
        for (page, stem) in [("a.html", "a"), ("b-1.2", "b-1.2"), ("b-1.3", "b-1.3")] {
            let found = read(&format!("{stem}.{BENCHMARK}"));
            assert!(
                found.starts_with(&format!("# Throughput {page}")),
                "{found}"
            );
        }
    }

    #[test]
    fn the_command_that_merges_shards_can_be_pasted() {
        let shard: Shard = "1/100".parse().unwrap();
        let said = of_shard(shard, 1, "my runs/sweep-shard-1-of-100-x");
        assert_eq!(
            said,
            "Shard 1/100: 1 trial is recorded in my runs/sweep-shard-1-of-100-x\n\
             When all 100 shards are recorded: delaylab merge 'my runs/sweep'-shard-*-of-100-*\n"
        );
        let said = of_shard(shard, 2, "elsewhere");
        assert!(
            said.contains("2 trials are recorded in elsewhere"),
            "{said}"
        );
    }
}
