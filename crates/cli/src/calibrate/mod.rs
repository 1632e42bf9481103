//! `delaylab calibrate` and `delaylab predict`.
//!
//! `modelled.rs` follows the run of a model and writes its files.

mod modelled;

use crate::args::calibrate::{CalibrateArgs, MeasuredRunArgs, PredictArgs};
use crate::exit::{Exit, Failed};
use crate::experiment::{choose, run as run_command};
use crate::head::to_line;
use crate::output;
use crate::terminal;
use delaylab_explain::calibrate::change;
use delaylab_explain::calibrate::overlay::{self, Pair};
use delaylab_explain::calibrate::prediction::predicted;
use delaylab_lab::experiment::Resolved;
use delaylab_runner::measured_path::MeasuredPath;
use delaylab_runner::modelled::{ModelRun, again, resolved};
use delaylab_runner::options::RunOptions;
use delaylab_terminal::calibration::{calibration_text, prediction_text};
use delaylab_terminal::style::Style;
use delaylab_view::calibration::{
    Calibrated, Calibration, Config, Prediction, PredictionConfig, Predictions,
};
use delaylab_web::html::{calibration_page, prediction_page};
use std::io;

/// Runs `delaylab calibrate`.
pub fn run(args: &CalibrateArgs) -> Result<(), Failed> {
    let measured = measured(&args.of)?;
    let text = match measured.model("model") {
        Ok(text) => text,
        Err(why) => return without_model(&measured, &args.of, &why),
    };
    let model = modelled::run(
        &measured,
        &text,
        &[],
        &options(&args.of),
        is_quiet(&args.of),
    )?;
    let pairs = pairs(&measured, &model);
    let shown = calibrated(&measured, &model, &pairs);
    let document = to_line(&Calibration::new(&shown), config(&args.of));
    let page = calibration_page(&shown);
    let files = modelled::write(&model, &text, "calibration", &document, &page)?;
    show(&document, &args.of, |style| {
        calibration_text(&shown, &files, style)
    })?;
    identified(&measured, &args.of)
}

/// The run, calibrated, and what a reader has to know of it.
fn measured(of: &MeasuredRunArgs) -> Result<MeasuredPath, Failed> {
    let run = choose::run(&of.run, &of.runs)?;
    choose::say_not_complete(&run);
    let measured = MeasuredPath::read(&run)?;
    run.problems().iter().for_each(terminal::warn);
    Ok(measured)
}

/// How models are simulated.
fn options(of: &MeasuredRunArgs) -> RunOptions {
    RunOptions {
        threads: of.threads,
        ..run_command::options()
    }
}

const fn is_quiet(of: &MeasuredRunArgs) -> bool {
    of.quiet || of.json
}

/// What is shown of a path and its model.
fn calibrated<'a>(
    measured: &'a MeasuredPath,
    model: &'a ModelRun,
    pairs: &'a [Pair],
) -> Calibrated<'a> {
    Calibrated {
        run: &measured.name,
        model: Some(&model.name),
        found: &measured.found,
        pairs,
    }
}

fn config(of: &MeasuredRunArgs) -> Config<'_> {
    Config {
        run: &of.run,
        strict: of.strict,
    }
}

fn prediction_config(args: &PredictArgs) -> PredictionConfig<'_> {
    let set = |(path, value): &(String, String)| format!("{path}={value}");
    PredictionConfig {
        run: &args.of.run,
        strict: args.of.strict,
        set: args.sets.iter().map(set).collect(),
    }
}

/// Prints one or the other. A program that wants both has them of one execution: each simulates, and keeps what it simulated.
fn show(
    document: &str,
    of: &MeasuredRunArgs,
    text: impl Fn(&Style) -> String,
) -> Result<(), Failed> {
    let style = terminal::style(&io::stdout(), false);
    if let Some(file) = &of.text_file {
        output::write_text(file, &text(&style))?;
    }
    if of.json {
        terminal::write(document)
    } else {
        terminal::print(text(&style))
    }
}

/// With `--strict` the model may assume nothing.
fn identified(measured: &MeasuredPath, of: &MeasuredRunArgs) -> Result<(), Failed> {
    let unknown = measured.found.unknown.iter();
    let assumed: Vec<_> = unknown
        .filter(|unknown| unknown.assumed)
        .map(|unknown| unknown.what)
        .collect();
    if !of.strict || assumed.is_empty() {
        return Ok(());
    }
    let why = format!(
        "{} does not identify: {}",
        measured.name,
        assumed.join("; ")
    );
    Err(Failed::new(Exit::Unreachable, why))
}

/// Runs `delaylab predict`.
pub fn predict(args: &PredictArgs) -> Result<(), Failed> {
    let measured = measured(&args.of)?;
    let (options, is_quiet) = (options(&args.of), is_quiet(&args.of));
    let wrong = |why: String| Failed::new(Exit::Unreachable, why);
    let before = measured.model("model").map_err(wrong)?;
    let after = measured.model("predicted").map_err(wrong)?;
    // What is wrong with a change is said before anything is simulated.
    let plain = resolved(&after, &[], None)?;
    let changed = resolved(&after, &args.sets, None);
    let changed = changed.map_err(|failed| match is_of_no_stream(&plain, &args.sets) {
        true => Failed::from(failed).and(ANOTHER_STREAM),
        false => Failed::from(failed),
    })?;
    if let Some(why) = change::refusal(&plain, &changed, &measured.resolved) {
        return Err(Failed::usage(why));
    }
    let model = modelled::run(&measured, &before, &[], &options, is_quiet)?;
    let pairs = pairs(&measured, &model);
    // The folder of the unchanged model is one of `delaylab calibrate`.
    let shown = calibrated(&measured, &model, &pairs);
    let document = to_line(&Calibration::new(&shown), config(&args.of));
    let page = calibration_page(&shown);
    modelled::write(&model, &before, "calibration", &document, &page)?;
    let changed = modelled::run(&measured, &after, &args.sets, &options, is_quiet)?;
    let again = again(&measured, &args.sets, &options)?;
    let groups = predicted(&measured.found, pairs, &changed.groups, &again);
    if groups.is_empty() {
        return Err(Failed::usage(
            "nothing can be compared: after the change there is no combination of levels and probe that was measured",
        ));
    }
    let shown = Prediction {
        run: &measured.name,
        model: &changed.name,
        sets: &args.sets,
        found: &measured.found,
        groups: &groups,
    };
    let document = to_line(&Predictions::new(&shown), prediction_config(args));
    let page = prediction_page(&shown);
    let files = modelled::write(&changed, &after, "prediction", &document, &page)?;
    show(&document, &args.of, |style| {
        prediction_text(&shown, &files, style)
    })?;
    identified(&measured, &args.of)
}

/// What to do for a flow that the run did not have.
const ANOTHER_STREAM: &str = "help: `predict` changes what the run had, and adds no probe and no load. For another flow, add it to a \
     copy of the `model.toml` that `delaylab calibrate` wrote, from and to hosts of its own; then `delaylab run COPY` and \
     `delaylab compare MODEL-RUN latest`";

/// Is a change of a probe or a load that the run did not have?
fn is_of_no_stream(plain: &Resolved, sets: &[(String, String)]) -> bool {
    let trials = || plain.planned.iter().map(|planned| &planned.trial);
    let has = |section: &str, name: &str| match section {
        "probe" => trials().any(|trial| trial.probes.iter().any(|probe| probe.name == name)),
        "load" => trials().any(|trial| trial.loads.iter().any(|load| load.name == name)),
        _ => true,
    };
    let mut paths = sets.iter().map(|(path, _)| path.split('.'));
    paths.any(|mut path| {
        let (section, name) = (path.next().unwrap_or_default(), path.next());
        name.is_none_or(|name| name != "*" && !has(section, name.trim_matches(['"', '\''])))
            && ["probe", "load"].contains(&section)
    })
}

fn pairs(measured: &MeasuredPath, model: &ModelRun) -> Vec<Pair> {
    overlay::pairs(overlay::groups(&measured.seen), &model.groups)
}

/// What is known is shown all the same.
fn without_model(measured: &MeasuredPath, of: &MeasuredRunArgs, why: &str) -> Result<(), Failed> {
    let shown = Calibrated {
        run: &measured.name,
        model: None,
        found: &measured.found,
        pairs: &[],
    };
    let document = to_line(&Calibration::new(&shown), config(of));
    show(&document, of, |style| calibration_text(&shown, &[], style))?;
    Err(Failed::new(
        Exit::Unreachable,
        format!("no model of {}: {why}", measured.name),
    ))
}
