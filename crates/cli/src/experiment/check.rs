//! `delaylab check`.

use super::list::are_runs_in;
use super::{choose, progress::levels};
use crate::args::experiment::CheckArgs;
use crate::exit::Failed;
use crate::terminal;
use delaylab_lab::experiment::{self, Extent, Resolved};
use delaylab_lab::finding::Finding;
use delaylab_model::experiment::{Order, WorldName};
use delaylab_model::units::format_duration;
use delaylab_runner::expected::{EarlierRun, Expected};
use delaylab_runner::resolve;
use delaylab_runner::worlds;
use delaylab_view::json::Measured;
use delaylab_view::published::check::{self, Config, Document};
use delaylab_view::words::plural;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;

/// Combinations that are listed one by one.
const LISTED: usize = 12;

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<(), Failed> {
    let experiment = resolve::experiment(&args.choice.experiment)?;
    let choices = choose::choices(&args.choice);
    let resolved = choose::resolve(&experiment, &choices, &args.runs)?;
    let earlier = earlier(&resolved, args)?;
    // The last thing: it may change what this process is.
    let lacks = worlds::prepare_and_list_missing(&resolved);
    if args.json {
        let document = document(&resolved, &earlier, &lacks);
        return terminal::document(&document, config(args, resolved.seed));
    }
    let style = terminal::style(&io::stdout(), false);
    terminal::print(style.glyphs(for_people(&resolved, &earlier, &lacks)))
}

/// The run that was named, or else the newest one of the same form.
fn earlier(resolved: &Resolved, args: &CheckArgs) -> Result<EarlierRun, Failed> {
    let open = |run: &str| choose::run(run, &args.runs);
    let Some(named) = args.from.as_deref() else {
        // One that was not asked for need not be whole.
        let opened = |run: &str| {
            let warn = |failed: Failed| terminal::warn(failed.message);
            open(run).map_err(warn).ok()
        };
        return Ok(match are_runs_in(&args.runs)? {
            true => EarlierRun::newest(resolved, &args.runs, opened),
            false => EarlierRun::None,
        });
    };
    let run = open(named)?;
    choose::say_not_complete(&run);
    let expected = Expected::by(&run, resolved).ok_or_else(|| {
        Failed::usage(format!(
            "--from {named}: this run judged no finding of `{}`. Name a run of the same experiment (`delaylab list` shows \
             them), or leave --from out",
            resolved.name
        ))
    })?;
    Ok(EarlierRun::Run(expected))
}

/// Columns that the name of a finding has at least.
const ID: usize = 8;

/// How the order of trials came about; ends before the seed.
fn order(resolved: &Resolved) -> &'static str {
    match resolved.order {
        _ if resolved.planned.len() == 1 => "seed",
        Order::Interleaved => "their order is drawn with seed",
        Order::AsWritten => "in the order of the file, seed",
    }
}

fn for_people(resolved: &Resolved, earlier: &EarlierRun, lacks: &[String]) -> String {
    let expected = earlier.expected();
    let mut text = format!("{}: {}\n", resolved.name, resolved.title);
    let extent = resolved.extent();
    let _ = writeln!(
        text,
        "{} in {}, {}; {} {}",
        trials(resolved, extent),
        resolved.world,
        duration(resolved, extent),
        order(resolved),
        resolved.seed
    );
    let combinations = resolved.planned.iter().filter(|p| p.repeat == 0);
    if !resolved.factors.is_empty() {
        let _ = writeln!(text, "\nCombinations, in the order of the first repeat:");
    }
    let combinations = combinations.filter(|planned| !planned.factors.is_empty());
    for planned in combinations.clone().take(LISTED) {
        let _ = writeln!(text, "  {}", levels(&planned.factors));
    }
    let others = combinations.count().saturating_sub(LISTED);
    if others > 0 {
        let _ = writeln!(text, "  and {others} more (--json lists every trial)");
    }
    for skipped in &resolved.skipped {
        for refusal in &skipped.refusals {
            let _ = writeln!(text, "skipped: case {}: {refusal}", skipped.case);
        }
    }
    for warning in warnings(resolved) {
        let _ = writeln!(text, "warning: {warning}");
    }
    for lack in lacks {
        let _ = writeln!(text, "warning: it cannot run here: {lack}");
    }
    if !resolved.findings.is_empty() {
        let _ = writeln!(text, "\nFindings it judges:");
    }
    let ids = resolved.findings.iter();
    let widest = ids.map(|finding| finding.id.chars().count()).max();
    let id = widest.unwrap_or(0).max(ID);
    for finding in &resolved.findings {
        let _ = writeln!(text, "  {:<id$} {}", finding.id, finding.says);
        let _ = writeln!(text, "  {:<id$} {}", "", finding.text);
        if let Some(why) = not_applicable(finding, resolved) {
            let _ = writeln!(text, "  {:<id$} – not applicable: {why}", "");
        } else if let Some(line) = expected.and_then(|expected| expected.line(finding)) {
            let _ = writeln!(text, "  {:<id$} {line}", "");
        }
    }
    if let Some(basis) = earlier.basis() {
        let _ = writeln!(text, "\nExpected: {basis}");
    }
    if !resolved.figures.is_empty() {
        let _ = writeln!(text, "\nFigures of the source that it draws:");
    }
    for figure in &resolved.figures {
        let _ = writeln!(text, "  {}", figure.title);
    }
    text
}

/// What may not be what was meant, each once.
fn warnings(resolved: &Resolved) -> BTreeSet<String> {
    let advice = resolved
        .planned
        .iter()
        .flat_map(|planned| worlds::advice(resolved.world, &planned.trial));
    let advice = advice.map(|advice| advice.to_string());
    advice
        .chain(idle_servers(resolved))
        .chain(endless_repeats(resolved))
        .chain(unrepeated(resolved))
        .collect()
}

/// Probes that send too few packets for the stop rule.
fn endless_repeats(resolved: &Resolved) -> impl Iterator<Item = String> {
    let trials = resolved.planned.iter().map(|planned| &planned.trial);
    let stops = |probe| resolved.stop.as_ref()?.too_few_packets(probe);
    trials.flat_map(|trial| &trial.probes).filter_map(stops)
}

/// Findings that one repeat leaves open.
fn unrepeated(resolved: &Resolved) -> impl Iterator<Item = String> {
    let findings = resolved.findings.iter();
    findings.filter_map(|finding| {
        let why = experiment::needs_repeats(&finding.check, resolved)?;
        let applies = not_applicable(finding, resolved).is_none();
        applies.then(|| format!("finding {}: {why}: set design.repeats", finding.id))
    })
}

/// Servers that are asked in no trial: a sweep may well ask others in one.
fn idle_servers(resolved: &Resolved) -> Vec<String> {
    let trials = resolved.planned.iter().map(|planned| &planned.trial);
    let idle = trials.map(|trial| trial.path.idle_servers(&trial.probes));
    let idle = idle.reduce(|all, one| all.intersection(&one).copied().collect());
    let sentence = |name: &str| {
        format!("path.server.{name}: no probe asks it, and what it is set to has no effect")
    };
    idle.unwrap_or_default().into_iter().map(sentence).collect()
}

/// Why a finding cannot be judged by these trials; `None` where it can, as far as that is known before they run.
fn not_applicable(finding: &Finding, resolved: &Resolved) -> Option<String> {
    experiment::not_applicable(&finding.check, resolved, &worlds::kept_series)
}

/// With a stop rule, as many as there may be; with a procedure, as many as it expects.
fn trials(resolved: &Resolved, extent: Extent) -> String {
    let trials = plural(extent.trials as u64, "trial");
    match (&resolved.procedure, &resolved.stop) {
        (Some(_), _) => format!("about {trials}, as the procedure decides,"),
        (None, Some(_)) => format!("at most {trials}"),
        (None, None) => trials,
    }
}

/// `about 31 s`, or at least that where round trips come on top; where there is nothing else, what decides.
fn duration(resolved: &Resolved, extent: Extent) -> String {
    let trials = &resolved.planned;
    if trials.iter().any(|planned| planned.trial.is_endless()) {
        return "until it is stopped".to_owned();
    }
    let estimate = extent.length;
    if estimate.length == 0 {
        return "as long as its round trips take".to_owned();
    }
    let word = if estimate.at_least {
        "at least"
    } else {
        "about"
    };
    let simulated = match resolved.world {
        WorldName::Sim => " of simulated time",
        WorldName::Live | WorldName::Testbed => "",
    };
    format!("{word} {}{simulated}", format_duration(estimate.length))
}

fn config(args: &CheckArgs, seed: u64) -> Config<'_> {
    let choice = &args.choice;
    let set = |(path, value): &(String, String)| format!("{path}={value}");
    Config {
        experiment: &choice.experiment,
        world: choice.world.map(WorldName::name),
        quick: choice.quick,
        target: choice.target.as_deref(),
        port: choice.port,
        measured: choice.measured.as_deref(),
        set: choice.sets.iter().map(set).collect(),
        seed,
        from: args.from.as_deref(),
    }
}

fn document<'a>(
    resolved: &'a Resolved,
    earlier: &'a EarlierRun,
    lacks: &'a [String],
) -> Document<'a> {
    let nothing = || earlier.nothing().unwrap_or_default().to_owned();
    let run = earlier.expected();
    let expected = check::Expectation {
        from: Measured::or(run.map(Expected::run), nothing),
        of: &|finding: &Finding| match run {
            Some(run) => Measured::or(run.forecast(finding), || run.no_forecast(finding)),
            None => Measured::Missing(nothing()),
        },
    };
    let not_applicable = |finding: &Finding| not_applicable(finding, resolved);
    Document::new(
        resolved,
        warnings(resolved),
        lacks,
        not_applicable,
        &expected,
    )
}
