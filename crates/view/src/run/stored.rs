//! A run on disk as its faces need it, in one pass over its records.

use super::alike;
use super::figures_alone::FiguresAlone;
use super::findings::shown;
use super::measured;
use super::noise_totals::NoiseTotals;
use super::parts::{PartContent, Parts};
use super::resumed;
use super::series::Everything;
use super::split::splits;
use super::{
    Disturbance, FindingShown, Happening, Head, RunData, RunDataBuilder, RunStream, Sweep,
};
use crate::words::{
    WHOLE_SHARD, partial, partial_as_it_stands, partial_without_packets, plural, to_the_second,
};
use delaylab_explain::causes::slow::Baseline;
use delaylab_explain::causes::{self, Explanation, blackouts, losses};
use delaylab_explain::steps::{Gatherer, Member, Way};
use delaylab_lab::EXACT_LIMIT;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::finding::Judged;
use delaylab_lab::procedure;
use delaylab_lab::stored::{missed_precision, not_recorded};
use delaylab_model::distinct::originals;
use delaylab_model::experiment::FigureSection;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::plan::{Level, compare_combinations};
use delaylab_model::request::Request;
use delaylab_model::shell::quoted;
use delaylab_model::trial::Dropped;
use delaylab_procedure::Report;
use delaylab_procedure::bench::is_step;
use delaylab_stats::steps::LEAST_SIZES;
use delaylab_store::killed::Remedy;
use delaylab_store::run::{Noised, Run, State};
use delaylab_store::trial_row::TrialRow;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

/// Everything that its page shows: what [`data`] has, figures of its parts, and why packets were late. That reads the
/// records again, at the same time.
pub fn in_full(run: &Run, resolved: Option<&Resolved>, folder: &str) -> RunData {
    let figures = resolved.map_or(&[][..], |resolved| &resolved.figures);
    let (explanation, data) = thread::scope(|scope| {
        let explanation = scope.spawn(|| causes::explain(run, resolved, Baseline::Best));
        let data = read(run, resolved, folder, figures);
        let explanation = explanation.join();
        (
            explanation.unwrap_or_else(|panic| resume_unwind(panic)),
            data,
        )
    });
    let mut data = RunData {
        explanation: Some(explanation),
        ..data
    };
    if let Some(outage) = data
        .explanation
        .as_ref()
        .and_then(Explanation::outage_warning)
    {
        data.problems.insert(0, outage);
    }
    if let Some(part) = resolved.and_then(|resolved| resolved.measured.as_ref()) {
        add_measured(&mut data, part);
    }
    data
}

/// Adds what the run in this folder has for each part that asks for it.
fn add_measured(data: &mut RunData, folder: &str) {
    let asked = measured::asked(data);
    if asked.is_empty() {
        return;
    }
    data.measured_in = Some(PathBuf::from(folder));
    match Run::open(Path::new(folder)) {
        Ok(run) => {
            data.problems.extend(unchecked(&run, folder));
            measured::add(data, read(&run, None, folder, &asked));
        }
        // Who writes a report is told by an error before.
        Err(error) if error.is_denied() => data.problems.push(format!(
            "the measured part in {folder} may not be read here: `delaylab serve` reads nothing outside of the directory that \
             it serves, and `delaylab report` does"
        )),
        Err(error) => {
            let problem = format!("the measured part cannot be read: {error}");
            data.problems.push(problem);
        }
    }
}

/// The problems of [`in_full`], of a run that is complete and whose files were held against its manifest: by what was kept of
/// its trials, so that no record of this version is read. `None` where only reading all of it tells.
pub fn problems_alone(run: &Run, resolved: Option<&Resolved>, folder: &str) -> Option<Vec<String>> {
    let asks_for_measured = resolved.is_some_and(|resolved| {
        let mut figures = resolved.figures.iter();
        resolved.measured.is_some() && figures.any(|figure| figure.measured.is_some())
    });
    if run.state() == State::Partial || !run.is_checked() || asks_for_measured {
        return None;
    }
    let rows = in_order_of_running(run);
    let originals = originals(rows.iter().map(|row| (row.trial, row.facts.trace_hash)));
    let outage = losses::outage_warning(run, resolved);
    let others = problems(run, resolved, &rows, folder, 0, &originals);
    Some(outage.into_iter().chain(others).collect())
}

/// What is shown of it beside another one. What cannot be read is among the problems.
///
/// `folder` is where the run is, as the reader would write it; `resolved` its experiment, if that can
/// be read.
pub fn data(run: &Run, resolved: Option<&Resolved>, folder: &str) -> RunData {
    read(run, resolved, folder, &[])
}

fn read(
    run: &Run,
    resolved: Option<&Resolved>,
    folder: &str,
    figures: &[FigureSection],
) -> RunData {
    let rows = in_order_of_running(run);
    let is_search = resolved.is_some_and(|resolved| resolved.procedure.is_some());
    let levels = resolved.map_or(&[][..], |resolved| &resolved.factors);
    let streams = rows.iter().map(|row| stream(row, is_search));
    let mut pass = Pass::new(streams.collect(), levels, figures, &rows);
    let unfinished = run.scan_noised(None, |_, noised| pass.push(noised));
    if run.environment()["imported"].is_object() {
        pass.count_said(&rows);
    }
    let trials = rows.iter().map(|row| (row.trial, row.facts.trace_hash));
    let originals = originals(trials);
    let is_copy = |trial: u32| originals.get(&trial).is_some_and(|first| *first != trial);
    let (noise, marked) = noise(run, &is_copy);
    let mut data = pass.builder.finish(RunData {
        head: head(run, resolved, folder),
        environment: environment(run.environment()),
        skipped: resolved.map(skipped).unwrap_or_default(),
        splits: resolved.map_or_else(Vec::new, |resolved| splits(run, resolved)),
        benchmark: benchmark(run, resolved),
        sweeps: sweeps(pass.gatherer, resolved),
        findings: findings(run, resolved),
        noise: noise.finish(&pass.disturbed),
        clock_reads: (run.clock_reads(None).into_iter())
            .filter(|bin| !is_copy(bin.trial))
            .collect(),
        problems: problems(run, resolved, &rows, folder, unfinished, &originals),
        notes: notes(&rows),
        levels: levels.to_vec(),
        ..RunData::default()
    });
    let mut trials = data.trials.iter();
    let has_packets = trials.any(|trial| {
        let of = (trial.stream.trial, trial.stream.probe);
        trial.summary.counts.sent > 0 && pass.with_packets.contains(&of)
    });
    data.figures_alone = (!has_packets).then(|| FiguresAlone::new(&rows)).flatten();
    mark(&mut data, &marked);
    let series = Everything::read(run, resolved);
    data.series = series.by_combination(&data.trials);
    data.parts = pass.parts.finish(&data, run, &series);
    for part in &mut data.parts {
        if let Ok(PartContent::Run(part)) = &mut part.shown {
            mark(part, &marked);
        }
    }
    data
}

/// What one pass over the records of a run gives.
struct Pass {
    builder: RunDataBuilder,
    parts: Parts,
    gatherer: Gatherer,
    /// How many packets met noise, by who had their CPU.
    disturbed: BTreeMap<String, u64>,
    /// Of which trial and probe the record before was.
    open: Option<(u32, u16)>,
    /// Trials and probes with records.
    with_packets: BTreeSet<(u32, u16)>,
}

impl Pass {
    fn new(
        streams: Vec<RunStream>,
        levels: &[(String, Vec<Level>)],
        figures: &[FigureSection],
        rows: &[TrialRow],
    ) -> Self {
        Self {
            parts: Parts::new(figures, &streams, levels, EXACT_LIMIT),
            builder: RunDataBuilder::new(streams, levels, EXACT_LIMIT),
            gatherer: Gatherer::new(rows.iter().map(member)),
            disturbed: BTreeMap::new(),
            open: None,
            with_packets: BTreeSet::new(),
        }
    }

    fn push(&mut self, noised: Noised<'_>) {
        let record = noised.record;
        let of = (record.trial, record.probe);
        let before = self.open.replace(of);
        if let Some((over, _)) = before.filter(|(trial, _)| *trial != record.trial) {
            self.builder.end_trial(over);
            self.parts.end_trial(over);
        }
        if before != Some(of) {
            self.with_packets.insert(of);
        }
        if let Some(who) = noised.noise_who {
            *self.disturbed.entry(who.to_owned()).or_default() += 1;
        }
        let disturbance = Disturbance {
            ns: noised.noise_ns,
            who: noised.noise_who,
        };
        self.builder.push(record, disturbance);
        self.parts.push(record, disturbance);
        self.gatherer.push(record);
    }

    /// Counts what another tool says of streams of whose packets there is no record.
    fn count_said(&mut self, rows: &[TrialRow]) {
        for row in rows {
            let of = (row.trial, row.probe);
            let said = row.sent_and_lost();
            if let Some((sent, lost)) = said.filter(|_| !self.with_packets.contains(&of)) {
                self.builder.count(row.trial, row.probe, sent, lost);
            }
        }
    }
}

/// All noise of a run but of trials that are copies, and those events that panels mark.
fn noise(run: &Run, is_copy: &dyn Fn(u32) -> bool) -> (NoiseTotals, Vec<NoiseEvent>) {
    let mut noise = NoiseTotals::default();
    // Most of what was seen is others on the CPU, which no panel marks.
    let mut marked = Vec::new();
    run.for_each_noise(None, |event| {
        if !is_copy(event.trial) {
            noise.add(event);
        }
        if Happening::of_noise(event.kind).is_some() {
            marked.push(event.clone());
        }
    });
    (noise, marked)
}

/// Shows what happened to the host in the panels of the trials in which it did.
fn mark(data: &mut RunData, events: &[NoiseEvent]) {
    let mut panels_of: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for trial in &data.trials {
        let panels = panels_of.entry(trial.stream.trial).or_default();
        panels.extend(trial.panel);
    }
    for event in events {
        for &at in panels_of.get(&event.trial).into_iter().flatten() {
            if let Some(panel) = data.panels.get_mut(at) {
                panel.sketch.disturbed(event);
            }
        }
    }
}

/// Those that have the sizes to look for steps.
fn sweeps(gatherer: Gatherer, resolved: Option<&Resolved>) -> Vec<Sweep> {
    let levels = resolved.map_or(&[][..], |resolved| &resolved.factors);
    let mut sweeps = gatherer.finish(resolved.map_or(0, |resolved| resolved.seed));
    let enough = |way: &Way| way.points.len() >= LEAST_SIZES;
    sweeps.retain(|sweep| sweep.ways.iter().any(enough));
    sweeps.sort_by(|a, b| compare_combinations(&a.factors, &b.factors, levels));
    sweeps
}

/// What the run's procedure found, if it is one.
pub fn benchmark(run: &Run, resolved: Option<&Resolved>) -> Option<Report> {
    let resolved = resolved?;
    let section = resolved.procedure.as_ref()?;
    let again = run.again().ok()?;
    procedure::result(section, &resolved.planned, again).ok()
}

fn in_order_of_running(run: &Run) -> Vec<TrialRow> {
    let mut rows = run.trials().to_vec();
    rows.sort_by_key(|row| (row.position, row.probe));
    rows
}

/// Of a search the steps stand apart from its factors.
fn stream(row: &TrialRow, is_search: bool) -> RunStream {
    let factors = row.factors.iter().cloned();
    let (steps, factors) = factors.partition(|(name, _)| is_search && is_step(name));
    RunStream {
        trial: row.trial,
        probe: row.probe,
        name: row.probe_name.clone(),
        frames: row.method.is_one_way(),
        factors,
        steps,
        to_utc: row.started_utc.map(|_| row.facts.realtime_offset),
        repeat: row.repeat,
        facts: row.facts.records,
        trace_hash: row.facts.trace_hash,
    }
}

fn member(row: &TrialRow) -> Member {
    Member {
        trial: row.trial,
        probe: row.probe,
        name: row.probe_name.clone(),
        factors: row.factors.clone(),
        facts: row.facts.records,
        trace_hash: row.facts.trace_hash,
    }
}

/// Cases that the world could not honour, and why.
fn skipped(resolved: &Resolved) -> Vec<(String, String)> {
    let cases = resolved
        .skipped
        .iter()
        .map(|skipped| (format!("case {}", skipped.case), skipped.why().join("; ")));
    cases.collect()
}

/// Where it was asked; of servers also for what, where that is one thing.
fn target(run: &Run, resolved: Option<&Resolved>) -> Option<String> {
    let host = run.environment()["target"].as_str()?;
    let trials = resolved.iter().flat_map(|resolved| &resolved.planned);
    let probes = trials.flat_map(|planned| &planned.trial.probes);
    let requests = probes.filter_map(|probe| probe.request.as_ref());
    let asked: BTreeSet<_> = requests
        .filter(|request| !matches!(request, Request::Connect { .. }))
        .map(Request::to_string)
        .collect();
    Some(match asked.first() {
        Some(request) if asked.len() == 1 => format!("{request} ({host})"),
        _ => host.to_owned(),
    })
}

/// What was asked, and where.
pub fn head(run: &Run, resolved: Option<&Resolved>, folder: &str) -> Head {
    let text = |of: fn(&Resolved) -> &String| resolved.map(of).cloned().unwrap_or_default();
    Head {
        name: run.name().unwrap_or("run").to_owned(),
        title: text(|resolved| &resolved.title),
        about: text(|resolved| &resolved.about),
        world: run.world().unwrap_or("unknown world").to_owned(),
        target: target(run, resolved),
        host: host(&run.environment()["host"]),
        seed: resolved.map(|resolved| resolved.seed),
        started: to_the_second(run.started_utc().unwrap_or("at an unknown time")),
        // What cannot be read cannot be run, and an imported run was another program's.
        repeat: resolved.map_or_else(String::new, |_| {
            let file = format!("{folder}/experiment.toml");
            format!("delaylab run {}", quoted(&file))
        }),
        folder: folder.to_owned(),
    }
}

/// `2 × AMD EPYC, Linux 6.18.44, virtual machine`.
fn host(of: &Value) -> String {
    let text = |key: &str| of[key].as_str().filter(|text| !text.is_empty());
    let processors = match (of["cpus"].as_u64(), text("cpu_model")) {
        (Some(count), Some(model)) => Some(format!("{count} × {model}")),
        (Some(count), None) => Some(plural(count, "processor")),
        (None, model) => model.map(str::to_owned),
    };
    let kernel = text("kernel").map(|kernel| format!("Linux {kernel}"));
    let is_virtual = of["virtualised"].as_bool() == Some(true);
    let is_virtual = is_virtual.then(|| "virtual machine".to_owned());
    let words: Vec<_> = processors
        .into_iter()
        .chain(kernel)
        .chain(is_virtual)
        .collect();
    words.join(", ")
}

/// What to know of a run that is not complete; `None`: it is.
pub fn not_complete(run: &Run, folder: &str) -> Option<String> {
    if run.is_whole_shard() {
        return Some(WHOLE_SHARD.to_owned());
    }
    Some(match run.remedy()? {
        Remedy::EndAsItStands => partial_as_it_stands(folder),
        Remedy::Remove => partial_without_packets(folder),
        Remedy::Continue => partial(folder),
    })
}

/// What a reader has to know of a run that nothing can be held against; `None`: its files are what was recorded.
pub fn unchecked(run: &Run, folder: &str) -> Option<String> {
    let unchecked = !run.is_checked() && run.state() == State::Complete;
    unchecked.then(|| {
        format!(
            "{folder} has no manifest.json, which older versions did not write: nothing says whether its files are what was \
             recorded"
        )
    })
}

/// `unfinished`: records of trials that are under way, or were interrupted.
fn problems(
    run: &Run,
    resolved: Option<&Resolved>,
    rows: &[TrialRow],
    folder: &str,
    unfinished: u64,
    originals: &BTreeMap<u32, u32>,
) -> Vec<String> {
    let mut problems: Vec<String> = unchecked(run, folder).into_iter().collect();
    let blackouts = blackouts::find(run, resolved);
    problems.extend(blackouts::warnings(&blackouts));
    problems.extend(run.problems());
    problems.extend(resumed::differences(run.environment()));
    problems.extend(resolved.and_then(|resolved| missed_precision(run, resolved)));
    problems.extend(resolved.and_then(|resolved| not_recorded(run, resolved)));
    let copies = originals.iter().filter(|(trial, first)| trial != first);
    let copies = copies.count() as u64;
    if copies > 0 {
        let are = if copies == 1 {
            "repeats the simulation of another one exactly and is"
        } else {
            "repeat the simulation of another one exactly and are"
        };
        problems.push(format!(
            "{copies} of {} trials {are} not counted again (same trace_hash): nothing in them is random, or what was varied \
             changes nothing",
            originals.len()
        ));
    }
    if let Some(warning) = not_complete(run, folder) {
        problems.push(warning);
        if unfinished > 0 {
            let records = plural(unfinished, "record");
            problems.push(format!(
                "{records} of trials that are not complete are left out"
            ));
        }
    }
    let facts = rows.iter().map(|row| &row.facts);
    let warnings = facts.flat_map(|facts| facts.flaws.iter().chain(&facts.warnings));
    let warnings = warnings
        .filter(|warning| chosen(warning).is_none() && !blackouts::is_reason(&blackouts, warning));
    for warning in alike::merged(warnings.cloned()) {
        if !problems.contains(&warning) {
            problems.push(warning);
        }
    }
    problems
}

/// What such a warning says of packets that a queue discipline chose to drop, which is what it is for, or that were lost
/// because the experiment asks for it.
fn chosen(warning: &str) -> Option<Dropped<'_>> {
    Dropped::read(warning).filter(Dropped::is_chosen)
}

/// What is worth knowing, and no reason to doubt a figure.
fn notes(rows: &[TrialRow]) -> Vec<String> {
    let warnings = rows.iter().flat_map(|row| &row.facts.warnings);
    let mut by_port = BTreeMap::<&str, BTreeSet<&str>>::new();
    let mut asked = Vec::new();
    for dropped in warnings.filter_map(|warning| chosen(warning)) {
        if dropped.is_configured() {
            asked.push(dropped);
        } else {
            by_port.entry(dropped.port).or_default().insert(dropped.why);
        }
    }
    let ports = by_port.into_iter().map(|(port, disciplines)| {
        let disciplines: Vec<_> = disciplines.into_iter().collect();
        format!(
            "at {port}, {} dropped packets to keep the queue short",
            disciplines.join(", ")
        )
    });
    ports.chain(Dropped::reasons(asked)).collect()
}

fn findings(run: &Run, resolved: Option<&Resolved>) -> Vec<FindingShown> {
    let claims = resolved.map_or(&[][..], |resolved| &resolved.findings);
    let judged = run.findings().cloned().unwrap_or_default();
    let judged: Vec<Judged> = serde_json::from_value(judged).unwrap_or_default();
    judged.iter().map(|judged| shown(judged, claims)).collect()
}

/// The tree of facts as names and values: `host.kernel`.
fn environment(tree: &Value) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    flatten("", tree, &mut pairs);
    pairs
}

fn flatten(prefix: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    let below = |key: &str| {
        if prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{prefix}.{key}")
        }
    };
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                flatten(&below(key), value, pairs);
            }
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            let words: Vec<_> = items.iter().map(word).collect();
            pairs.push((prefix.to_owned(), words.join(" ")));
        }
        Value::Array(items) => {
            for (item, number) in items.iter().zip(1..) {
                match item["name"].as_str() {
                    // A measure of a condition.
                    Some(name) => pairs.push((below(name), word(&item["state"]))),
                    None => flatten(&below(&number.to_string()), item, pairs),
                }
            }
        }
        Value::Null => {}
        scalar => pairs.push((prefix.to_owned(), word(scalar))),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(entries) => {
            let words: Vec<_> = entries.values().map(word).collect();
            words.join(": ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_that_another_was_made_of_are_facts_of_it() {
        let tree = json!({
            "merged": [{ "run": "a.partial", "shard": "1/2", "host": { "kernel": "6.1" } }],
            "conditions": { "quiet": [{ "name": "governor", "state": "applied" }] },
        });
        let facts = environment(&tree);
        for (name, word) in [
            ("merged.1.run", "a.partial"),
            ("merged.1.shard", "1/2"),
            ("merged.1.host.kernel", "6.1"),
            ("conditions.quiet.governor", "applied"),
        ] {
            assert!(
                facts.contains(&(name.to_owned(), word.to_owned())),
                "{facts:?}"
            );
        }
    }
}
