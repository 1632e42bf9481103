//! The command line: what can be typed, and nothing else.
//!
//! `--help`, the man page and the completions all come from these types. Arguments that no other command shares may stand with
//! what the command does.

pub mod bench;
pub mod calibrate;
pub mod cells;
pub mod compare;
pub mod experiment;
pub mod explain;
mod guide;
pub mod import;
pub mod load;
pub mod ping;
pub mod reflect;
pub mod serve;
pub mod server;
pub mod testbed;
pub mod trace;
pub mod values;

use crate::{doctor, verify};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use delaylab_view::published::{EXPERIMENT, Listed, PUBLISHED};
use std::ffi::OsString;

/// A laboratory for network delay: measure it, divide it into stages, attribute it to causes.
#[derive(Debug, Parser)]
#[command(
    name = "delaylab",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 fine, 1 unreachable or a condition of --fail-if holds, 2 usage, 3 environment or privilege, 4 internal."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Ping(Box<ping::PingArgs>),
    Trace(Box<trace::TraceArgs>),
    Reflect(Box<reflect::ReflectArgs>),
    Doctor(doctor::DoctorArgs),
    List(experiment::ListArgs),
    Check(experiment::CheckArgs),
    Run(Box<experiment::RunArgs>),
    Resume(experiment::ResumeArgs),
    Merge(experiment::MergeArgs),
    Report(experiment::ReportArgs),
    Explain(explain::ExplainArgs),
    Calibrate(calibrate::CalibrateArgs),
    Predict(calibrate::PredictArgs),
    Serve(serve::ServeArgs),
    Compare(compare::CompareArgs),
    Verify(verify::VerifyArgs),
    Import(import::ImportArgs),
    Bench(Box<bench::BenchArgs>),
    Cells(Box<cells::CellsArgs>),
    Testbed(testbed::TestbedArgs),
    /// Print a completion script for a shell
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the man page (roff) of delaylab or of one of its commands
    Man {
        /// Which command, as `testbed up`; none is delaylab itself.
        command: Vec<String>,
    },
    /// Print a JSON Schema of what delaylab writes, or of an experiment file
    Schema {
        /// Which document.
        #[arg(value_parser = published())]
        document: &'static Listed,
    },
}

/// The page of the guide that says more of each command, in the repository's folder `docs`.
const PAGES: &[(&str, &str)] = &[
    ("ping", "ping.md"),
    ("trace", "trace.md"),
    ("reflect", "reflect.md"),
    ("doctor", "doctor.md"),
    ("list", "experiments.md"),
    ("check", "experiments.md"),
    ("run", "experiments.md"),
    ("resume", "experiments.md"),
    ("merge", "clusters.md"),
    ("report", "experiments.md"),
    ("explain", "explain.md"),
    ("calibrate", "calibrate.md"),
    ("predict", "calibrate.md"),
    ("serve", "serve.md"),
    ("compare", "compare.md"),
    ("verify", "experiments.md"),
    ("import", "import.md"),
    ("bench", "bench.md"),
    ("cells", "cells.md"),
    ("testbed", "testbed.md"),
    ("completions", "first-measurement.md"),
    ("man", "first-measurement.md"),
    ("schema", "json.md"),
];

/// The command line as it is shown and read: the help of each command ends with its page of the guide.
pub fn command() -> clap::Command {
    guide::linked(Cli::command(), PAGES)
}

/// What was typed. What cannot be read is said, and the process ends.
pub fn typed() -> Cli {
    let words: Vec<OsString> = std::env::args_os().collect();
    read(&words).unwrap_or_else(|error| error.exit())
}

/// What these words mean.
fn read(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command
        .try_get_matches_from_mut(words)
        .map_err(|error| with_name(error, words, &mut command))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The same error; where a word is no UTF-8, which `clap` does not name, one that names it.
fn with_name(error: clap::Error, words: &[OsString], command: &mut clap::Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return error;
    }
    let wrong = words.iter().filter(|word| word.to_str().is_none());
    let wrong: Vec<String> = wrong.map(|word| format!("{word:?}")).collect();
    let typed = words.get(1).and_then(|word| word.to_str());
    let asked = typed.and_then(|name| command.find_subcommand(name));
    let mut asked = asked.unwrap_or(command).clone();
    let message = format!(
        "{} is not UTF-8, and names of experiments and runs must be: rename it, or make a link to it",
        wrong.join(" or ")
    );
    asked.error(ErrorKind::InvalidUtf8, message)
}

/// The name of a published schema. Help says what prints it.
fn published() -> impl TypedValueParser<Value = &'static Listed> {
    let all = || PUBLISHED.iter().chain([EXPERIMENT]);
    let names = all()
        .map(|listed| PossibleValue::new(listed.name).help(format!("`{}`", listed.printed_by)));
    PossibleValuesParser::new(names).try_map(move |name| {
        let named = all().find(|listed| listed.name == name);
        named.ok_or("no document")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStringExt;

    fn words(typed: &[&[u8]]) -> Vec<OsString> {
        let all = [&b"delaylab"[..]].into_iter().chain(typed.iter().copied());
        all.map(|word| OsString::from_vec(word.to_vec())).collect()
    }

    /// What a process that probes is called in a run follows from its command.
    #[test]
    fn every_command_probes_or_does_not() {
        use delaylab_explain::causes::roles::PROBING_COMMANDS;
        let others = [
            "trace",
            "reflect",
            "doctor",
            "list",
            "check",
            "merge",
            "report",
            "explain",
            "calibrate",
            "predict",
            "serve",
            "compare",
            "verify",
            "import",
            "testbed",
            "completions",
            "man",
            "schema",
        ];
        let known: BTreeSet<&str> = PROBING_COMMANDS.into_iter().chain(others).collect();
        let command = command();
        let all: BTreeSet<&str> = command.get_subcommands().map(|it| it.get_name()).collect();
        assert_eq!(all, known);
    }

    /// Help is read in any locale.
    #[test]
    fn help_is_ascii() {
        let mut commands = vec![command()];
        while let Some(mut one) = commands.pop() {
            let help = one.render_long_help().to_string();
            let others: String = help.chars().filter(|c| !c.is_ascii()).collect();
            assert_eq!(others, "", "{}", one.get_name());
            commands.extend(one.get_subcommands().cloned());
        }
    }

    #[test]
    fn a_name_that_is_no_utf8_is_named() {
        for typed in [
            &[&b"run"[..], b"\xff.toml"][..],
            &[b"check", b"\xff.toml"],
            &[b"report", b"\xff.toml"],
            &[b"explain", b"\xff.toml"],
            &[b"compare", b"latest", b"\xff.toml"],
        ] {
            let said = read(&words(typed)).unwrap_err().to_string();
            assert!(said.contains("\"\\xFF.toml\" is not UTF-8"), "{said}");
            let usage = format!("Usage: delaylab {}", String::from_utf8_lossy(typed[0]));
            assert!(said.contains(&usage), "{said}");
        }
        // What is written may have any name.
        read(&words(&[b"report", b"latest", b"-o", b"\xff.html"])).unwrap();
    }
}
