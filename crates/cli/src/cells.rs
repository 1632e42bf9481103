//! `delaylab cells`: a sweep of packet sizes as an experiment, and in a sentence what it says of the line.

use crate::args::cells::CellsArgs;
use crate::args::experiment::ShownArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::choose;
use crate::experiment::run::{options, record};
use crate::{key, terminal};
use delaylab_lab::experiment::{Choices, Experiment, Source};
use delaylab_model::experiment::WorldName;
use delaylab_model::family::Family;
use delaylab_model::method::Responder;
use delaylab_model::units::write_duration;
use delaylab_runner::options::RunOptions;
use delaylab_runner::resolve::drawn_seed;
use delaylab_runner::target;
use delaylab_stats::steps::{CELL_PAYLOAD, LEAST_SIZES};
use delaylab_view::published::cells::{Cells, Config, Document};
use std::io;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

/// In a sweep as long as this, width and overhead are right on 97 of 100 paths even where the delay of a
/// size errs by half a step (`delaylab_stats`, `examples/steps.rs`).
const CELLS: u32 = 5;
/// Every size is measured so often, in another order each time: what changes meanwhile changes all alike.
/// Beginning and ending a trial takes about 20 ms, so no oftener.
const REPEATS: u32 = 2;
/// IP and ICMP headers, and 12 bytes.
const LEAST_ICMP: u32 = 12;
/// What a udp probe needs for all stamps, without a key and with one.
const LEAST_UDP: [u32; 2] = [44, 60];
/// Ethernet pads smaller IP packets to this (RFC 894): their delay does not rise with size.
const LEAST_ON_ETHERNET: u32 = 46;
/// From the smallest to the largest packet: two cells, which are more sizes than a search for steps needs.
const LEAST_RANGE: u32 = 2 * CELL_PAYLOAD;
const _: () = assert!(LEAST_RANGE as usize >= LEAST_SIZES);
/// Larger packets hardly any line takes.
const LARGEST: u32 = 9188;

/// Runs the command.
pub fn run(args: &CellsArgs) -> Result<(), Failed> {
    let key = key::read(args.key_file.as_deref())?;
    let key = key.filter(|_| args.method.takes_key() || args.key_file.is_some());
    let v6 = target::lookup(&args.target, 0, Family::Any)?.is_ipv6();
    let sizes = sizes(args, v6, key.is_some())?;
    let text = experiment(args, &sizes);
    if args.show_experiment {
        return terminal::print(&text);
    }
    let source = Source {
        name: "cells".to_owned(),
        text,
    };
    let experiment = Experiment::read(source)?;
    let choices = Choices {
        world: Some(WorldName::Live),
        seed: args.seed,
        drawn_seed: drawn_seed(),
        target: Some(args.target.clone()),
        ..Choices::default()
    };
    let options = RunOptions {
        port: args.port,
        key,
        allow_load: args.allow_load,
        ..options()
    };
    let quiet = args.quiet || args.json;
    let shown = ShownArgs::of_a_step(args.output.clone(), quiet, args.no_report);
    let resolved = choose::resolve(&experiment, &choices, &shown.output)?;
    let concluded = record(resolved, &options, &shown)?;
    if concluded.unless_unanswered().is_err() {
        return Err(Failed::new(Exit::Unreachable, unanswered(args)));
    }
    let cells = Cells {
        target: &args.target,
        method: args.method,
        run: &concluded.data,
        page: concluded.page_or_reason(),
        again: &|times| again(args, times),
    };
    if args.json {
        let seed = concluded.data.head.seed;
        terminal::document(&Document::new(&cells), config(args, &sizes, seed))?;
    } else {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(delaylab_terminal::cells::render(&cells, &style))?;
    }
    concluded.unless_without_page()
}

fn config<'a>(args: &'a CellsArgs, sizes: &RangeInclusive<u32>, seed: Option<u64>) -> Config<'a> {
    Config {
        target: &args.target,
        method: args.method,
        port: args.port,
        min_size_bytes: *sizes.start(),
        max_size_bytes: *sizes.end(),
        count: args.count.map(NonZeroU32::get),
        duration_ns: args.count.is_none().then_some(args.duration),
        after_reply_ns: args.wait,
        seed,
    }
}

fn unanswered(args: &CellsArgs) -> String {
    let target = &args.target;
    match args.method.responder() {
        Some(Responder::Echo) => format!(
            "{target} answers no udp probe. Is `delaylab reflect` running there, and on this --port?"
        ),
        _ => format!(
            "{target} answers no ping. Try the router at the other end of the line (`delaylab trace`), or \
             --method udp"
        ),
    }
}

/// What to type for so many times as many packets.
fn again(args: &CellsArgs, times: u32) -> String {
    let times = i64::from(times);
    match args.count {
        Some(count) => format!("--count {}", i64::from(count.get()) * times),
        None => format!(
            "--duration {}",
            write_duration(args.duration.saturating_mul(times))
        ),
    }
}

/// Of the IP packets.
fn sizes(args: &CellsArgs, v6: bool, with_key: bool) -> Result<RangeInclusive<u32>, Failed> {
    let payload = match args.method.responder() {
        Some(Responder::Echo) => LEAST_UDP[usize::from(with_key)],
        _ => LEAST_ICMP,
    };
    let headers = args.method.ip_size(v6, 0).unwrap_or(0);
    let least = (headers + payload).max(LEAST_ON_ETHERNET);
    let least = args.min_size.unwrap_or(least);
    if least > LARGEST - LEAST_RANGE {
        return Err(Failed::usage(format!(
            "--min-size {least}B: no more than {}B, so that steps of {CELL_PAYLOAD} B show up to {LARGEST} B",
            LARGEST - LEAST_RANGE
        )));
    }
    let five_cells = (least + CELLS * CELL_PAYLOAD).min(LARGEST);
    let most = args.max_size.unwrap_or(five_cells);
    if least < headers {
        return Err(Failed::usage(format!(
            "--min-size {least}B: the headers alone have {headers} B"
        )));
    }
    if most > LARGEST {
        return Err(Failed::usage(format!(
            "--max-size {most}B: no more than {LARGEST} B, and cells show best over a few of them"
        )));
    }
    if most < least + LEAST_RANGE {
        return Err(Failed::usage(format!(
            "from {least} B to {most} B is too little to see steps of {CELL_PAYLOAD} B: let --max-size be at \
             least {}B",
            least + LEAST_RANGE
        )));
    }
    Ok(least..=most)
}

/// The experiment file.
fn experiment(args: &CellsArgs, sizes: &RangeInclusive<u32>) -> String {
    let (least, most) = (sizes.start(), sizes.end());
    let trials = i64::from(most - least + 1) * i64::from(REPEATS);
    let long = match args.count {
        Some(count) => format!("count = {}", count.get().div_ceil(REPEATS)),
        None => {
            let each = (args.duration / trials).max(1_000_000);
            format!("duration = \"{}\"", write_duration(each / 1000 * 1000))
        }
    };
    format!(
        "name = \"cells\"
title = \"Cells on the way to a target\"
about = \"Delay against every size over a few cells: steps of 48 bytes are ATM.\"
world = \"live\"

[[probe]]
name = \"echo\"
method = \"{method}\"
ip_size = \"{least}B\"
pacing = {{ wait = \"{wait}\" }}
{long}

[sweep.size]
set = \"probe.echo.ip_size\"
to = [{{ from = \"{least}B\", to = \"{most}B\", step = \"1B\" }}]

[design]
repeats = {REPEATS}
",
        method = args.method.name(),
        wait = write_duration(args.wait),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn sizes_of(words: &str) -> Result<RangeInclusive<u32>, String> {
        let words = format!("delaylab cells 192.0.2.7 {words}");
        let args = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Cells(args) = args.command else {
            panic!("{words}");
        };
        sizes(&args, false, false).map_err(|failed| failed.message)
    }

    #[test]
    fn packets_are_no_larger_than_lines_take() {
        assert_eq!(sizes_of(""), Ok(46..=286));
        assert_eq!(sizes_of("--min-size 9000B"), Ok(9000..=LARGEST));
        for least in [9100_u32, u32::MAX] {
            let refused = sizes_of(&format!("--min-size {least}B")).unwrap_err();
            assert!(
                refused.contains(&format!("--min-size {least}B: no more than 9092B")),
                "{refused}"
            );
        }
    }
}
