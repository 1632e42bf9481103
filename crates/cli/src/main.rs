//! `delaylab`: the face. It reads the command line, calls the layers below and ends with their code.
//!
//! | module | does |
//! |---|---|
//! | [`args`] | the command line |
//! | [`ping`], [`trace`], [`reflect`], [`doctor`] | commands for one question |
//! | [`experiment`] | commands for experiments: list, check, run, resume, merge, report |
//! | [`explain`] | why packets of a run were late |
//! | [`calibrate`] | a measured path as a model, and what would change |
//! | [`serve`] | runs as pages, on a port of this host |
//! | [`compare`] | what changed between two runs |
//! | [`verify`] | are the files of runs what was recorded? |
//! | [`import`] | runs of what other tools measured |
//! | [`mod@bench`] | device benchmarks, as experiments |
//! | [`cells`] | cells on a line: a sweep of sizes as an experiment, and the answer in a sentence |
//! | [`testbed`] | namespaces by hand |
//! | [`documents`] | completions, man pages, schemas |
//! | [`server_target`] | servers as they are typed: `HOST:PORT`, and URLs |
//! | [`head`] | what documents begin with: this host, what was asked for |
//! | [`key`], [`reflect_keys`], [`secret_file`] | keys, those of a reflector, and the files that hold them |
//! | [`exit`] | exit codes |
//! | [`output`] | files that the command line names, written whole |
//! | [`stop`] | Ctrl-C, and the end of the process that waits for this one |
//! | [`terminal`] | what the terminal can show, and printing |
//! | [`tui`] | the live view, on a thread of its own |
#![forbid(unsafe_code)]
// They panic where nobody can hear; `terminal` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bench;
mod calibrate;
mod cells;
mod compare;
mod doctor;
mod documents;
mod exit;
mod experiment;
mod explain;
mod head;
mod import;
mod key;
mod output;
mod ping;
mod reflect;
mod reflect_keys;
mod secret_file;
mod serve;
mod server_target;
mod stop;
mod terminal;
mod testbed;
mod trace;
mod tui;
mod verify;

use args::Command;
use exit::{Exit, Failed};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A stressed or guarded run starts this program again, as its own helper.
    if let Some(code) = delaylab_live::condition::run_helper_if_asked() {
        return code;
    }
    stop::end_with_parent_if_asked();
    let cli = args::typed();
    let done = match cli.command {
        Command::Ping(args) => ping::run(*args),
        Command::Trace(args) => trace::run(&args),
        Command::Reflect(args) => reflect::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::List(args) => experiment::list::run(&args),
        Command::Check(args) => experiment::check::run(&args),
        Command::Run(args) => experiment::run::run(&args),
        Command::Resume(args) => experiment::resume::run(&args),
        Command::Merge(args) => experiment::merge::run(&args),
        Command::Report(args) => experiment::report::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Predict(args) => calibrate::predict(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Cells(args) => cells::run(&args),
        Command::Testbed(args) => testbed::run(&args),
        Command::Completions { shell } => documents::completions(shell),
        Command::Man { command } => documents::man(&command),
        Command::Schema { document } => documents::schema(document),
    };
    let Failed { exit, message } = done.err().unwrap_or(Failed::new(Exit::Fine, ""));
    if !message.is_empty() {
        terminal::say(format!("delaylab: {message}"));
    }
    exit.into()
}
