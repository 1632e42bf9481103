//! The host while it measures: conditions, and what disturbs a probe.
//!
//! | module | tests |
//! |---|---|
//! | [`condition`] | a condition leaves nothing behind |
//! | [`noise`] | what disturbs a probe is seen |
//!
//! The program runs itself: as its own helpers, as a process that holds a condition or disturbs a probe until it
//! is killed. A test changes the thread that it runs on, so each has a process of its own (`cargo nextest`), and
//! the machine to itself.

use delaylab_live::condition::run_helper_if_asked;
use libtest_mimic::{Arguments, Trial};
use std::error::Error;
use std::process::ExitCode;

mod condition;
mod noise;

type Failure = Box<dyn Error + Send + Sync>;
type Outcome = Result<(), Failure>;
type Test = fn() -> Outcome;

fn main() -> ExitCode {
    if let Some(code) = run_helper_if_asked() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match condition::role(&args).or_else(|| noise::role(&args)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => {
            condition::prepare();
            let mut arguments = Arguments::from_args();
            // On the first thread: a process with others may not have a cpuset.
            arguments.test_threads = Some(1);
            libtest_mimic::run(&arguments, tests()).exit_code()
        }
    }
}

fn tests() -> Vec<Trial> {
    let named = |module: &'static str| {
        move |(name, test): (&str, Test)| {
            let name = format!("{module}::alone::{name}");
            Trial::test(name, move || Ok(test().map_err(|error| error.to_string())?))
        }
    };
    let conditions = condition::TESTS.into_iter().map(named("condition"));
    let noises = noise::TESTS.into_iter().chain(noise::TRACED);
    conditions.chain(noises.map(named("noise"))).collect()
}
