//! Throughput (RFC 2544 §26.1, RFC 1242 §3.17): the fastest rate at which as many frames come out as
//! went in.
//!
//! A binary search over the load, the same on every sending port, from the highest down. A buffer lets a
//! little more pass until it is full: of trials of t seconds, buffer / t too much.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found, found_by_size};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::setup::{LINE_RATE, Options, Setup, percent};
use delaylab_model::quantity::Share;
use delaylab_model::units::format_duration;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;

/// Two lines of the same rate may differ by so much: ±100 ppm each (IEEE 802.3).
const LINES_DIFFER: f64 = 2e-4;
/// Trials are to last so long (RFC 2544 §24).
const TRIAL: Nanos = 60 * SECOND;

/// Frames sent that did not come through, of all streams.
pub fn lost(trial: &FrameTrial) -> u64 {
    trial.streams.iter().map(|stream| stream.lost()).sum()
}

/// Frames sent, of all streams.
pub fn sent(trial: &FrameTrial) -> u64 {
    trial.streams.iter().map(|stream| stream.sent).sum()
}

/// Lost of those sent; 0 if none was.
pub fn loss_ratio(trial: &FrameTrial) -> f64 {
    lost(trial) as f64 / sent(trial).max(1) as f64
}

/// Frames a second that streams reached, together; `None` if one of them sent a single frame.
pub fn achieved_fps(trial: &FrameTrial) -> Option<f64> {
    let streams = trial.streams.iter();
    streams.map(|stream| stream.achieved_fps()).sum()
}

/// Frames a second that were sent at this load: never more than were asked for, and those where it is not known.
pub(crate) fn sent_fps(bench: &Bench<'_>, load: Share, trial: &FrameTrial) -> f64 {
    let asked = bench.fps_at(load);
    achieved_fps(trial).map_or(asked, |achieved| achieved.min(asked))
}

/// Frames a second of all streams that came out, where a buffer took in the rest until the trial was over; else `None`.
pub(crate) fn forwarded_fps(trial: &FrameTrial) -> Option<f64> {
    let streams = trial.streams.iter();
    let all = streams.map(|stream| Some((stream.achieved_fps()?, stream.forwarded_fps())));
    let all: Vec<(f64, Option<f64>)> = all.collect::<Option<_>>()?;
    let falls_behind = all.iter().any(|(_, forwarded)| forwarded.is_some());
    falls_behind.then(|| all.iter().map(|(sent, out)| out.unwrap_or(*sent)).sum())
}

/// Why a rate is not one that the device forwards: frames came out at this one.
pub(crate) fn not_sustained(forwarded_fps: f64) -> String {
    format!("not sustained: frames came out at {forwarded_fps:.1}/s")
}

/// A trial at one load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Of each sending port, as a share of the line rate, 0 to 1.
    pub load: f64,
    /// Lost of those sent, 0 to 1.
    pub loss_ratio: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Throughput {
    /// Of each sending port, in parts of 10⁹ of the line rate. 0: none passed without loss.
    pub load_e9: u64,
    /// Frames a second of all streams together at this load, as they were sent.
    pub fps: f64,
    /// From there to the least rate that did not pass, or to the highest that was asked for; at least the resolution. A share of
    /// the line rate, 0 to 1.
    pub within: f64,
    /// As sent, where a trial at this load was carried out.
    pub achieved_fps: Option<f64>,
    /// Frames a second as they came out, where those were fewer: a buffer took in the rest until the trial was over.
    pub forwarded_fps: Option<f64>,
    /// No load was tried beyond it.
    pub is_highest: bool,
    /// Copies that came out beyond the frames that went in, in all trials.
    pub duplicates: u64,
    /// Frames out of order, in all trials.
    pub reordered: u64,
    /// Frames with other bytes, in all trials. They count as lost.
    pub corrupt: u64,
    /// The trials of the search.
    pub points: Vec<Point>,
}

impl Throughput {
    /// Of each sending port.
    pub const fn load(&self) -> Share {
        Share(self.load_e9)
    }

    /// Adds a trial of the search at this load.
    fn add(&mut self, load: Share, trial: &FrameTrial) {
        self.points.push(Point {
            load: load.as_f64(),
            loss_ratio: loss_ratio(trial),
        });
        for stream in &trial.streams {
            self.duplicates += stream.duplicates;
            self.reordered += stream.reordered;
            self.corrupt += stream.corrupt;
        }
    }

    /// Before any trial: no load passed, and the search ends at this resolution.
    const fn unknown(within: f64) -> Self {
        Self {
            load_e9: 0,
            fps: 0.0,
            within,
            achieved_fps: None,
            forwarded_fps: None,
            is_highest: false,
            duplicates: 0,
            reordered: 0,
            corrupt: 0,
            points: Vec::new(),
        }
    }

    /// Why a longer trial would lose frames at this rate, where it is known.
    fn not_sustained(&self, theoretical_fps: f64) -> Option<String> {
        if self.fps > theoretical_fps * (1.0 + LINES_DIFFER) {
            return Some("not sustained: more than the lines carry".to_owned());
        }
        self.forwarded_fps.map(not_sustained)
    }
}

/// Finds the throughput, or takes the one that is known, for a procedure that offers it for longer or reckons with it as what
/// is forwarded: at most what the lines carry, and what came out. What the buffer takes in until the end of a short trial would overflow in a
/// longer one, and count as what that looks for. Where no load passed there is nothing to offer.
pub(crate) fn sustained(bench: &mut Bench<'_>) -> Result<Throughput, Stop> {
    let mut found = find(bench)?;
    if found.load_e9 == 0 {
        return Err(Stop::Unfit("no load passed without loss".to_owned()));
    }
    let (carried, forwarded) = (carried(bench).0, forwarded(&found).0);
    // Where the line is what forwards, its rate is known better.
    let most = match (forwarded as f64) < carried as f64 * (1.0 - LINES_DIFFER) {
        true => forwarded,
        false => carried,
    };
    if found.load_e9 > most {
        found.load_e9 = most;
        found.fps = found.fps.min(bench.fps_at(found.load()));
        found.is_highest = found.load() >= bench.options.top;
    }
    Ok(found)
}

/// The part of its load that came out.
fn forwarded(found: &Throughput) -> Share {
    let out = found.forwarded_fps.filter(|_| found.fps > 0.0);
    let share = out.map_or(1.0, |out| (out / found.fps).min(1.0));
    Share((found.load_e9 as f64 * share) as u64)
}

/// The load that the lines carry: less than the whole where several ports send to one.
fn carried(bench: &Bench<'_>) -> Share {
    let whole = bench.fps_at(Share::WHOLE);
    let carried = bench.setup.theoretical_fps(bench.size) / whole;
    Share((carried * Share::WHOLE.0 as f64) as u64)
}

/// Why a throughput that is the highest load says nothing of what more than that does.
pub(crate) fn at_the_highest(bench: &Bench<'_>, nothing: &str) -> Stop {
    let tried = bench.options.tried_up_to();
    match tried.filter(|_| bench.options.top < carried(bench)) {
        None => Stop::Unfit(format!("the throughput is the highest rate: {nothing}")),
        Some(tried) => Stop::Untried(format!(
            "the throughput may be higher: {tried} (design.procedure.top)"
        )),
    }
}

/// Finds the throughput, or takes the one that is known.
pub(crate) fn find(bench: &mut Bench<'_>) -> Result<Throughput, Stop> {
    let options = bench.options;
    let top = options.top;
    let known = options.throughput.iter().find(|at| at.0 == bench.size);
    let mut found = Throughput::unknown(options.resolution.as_f64());
    if let Some(&(_, load)) = known {
        found.load_e9 = load.0;
        found.fps = bench.fps_at(load);
    } else {
        search(bench, &mut found)?;
    }
    found.is_highest = found.load() >= top;
    Ok(found)
}

fn search(bench: &mut Bench<'_>, found: &mut Throughput) -> Result<(), Stop> {
    let (mut low, mut high) = (0, bench.options.top.0);
    let mut load = high;
    let mut too_fast = bench.fps_at(Share(high));
    loop {
        let offer = bench.at_load("throughput", Share(load), bench.setup.effort.trial);
        let trial = bench.trial(offer)?;
        found.add(Share(load), &trial);
        let fps = sent_fps(bench, Share(load), &trial);
        if lost(&trial) == 0 {
            low = load;
            (found.fps, found.achieved_fps) = (fps, achieved_fps(&trial));
            found.forwarded_fps = forwarded_fps(&trial);
        } else {
            (high, too_fast) = (load, fps);
        }
        if high - low <= bench.options.resolution.0 {
            found.load_e9 = low;
            let apart = (too_fast - found.fps).abs() / bench.fps_at(Share::WHOLE);
            found.within = found.within.max((apart * 1e5).round() / 1e5);
            return Ok(());
        }
        load = low + (high - low) / 2;
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 8] = [
    ("load", "% of line rate", Role::Result),
    ("throughput", "frames/s", Role::Result),
    ("theoretical maximum", "frames/s", Role::Medium),
    ("throughput", "bit/s", Role::Result),
    ("sent", "frames/s", Role::Result),
    ("duplicates", "", Role::Result),
    ("reordered", "", Role::Result),
    ("corrupt", "", Role::Result),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct ThroughputSteps;

impl Steps for ThroughputSteps {
    type Found = Throughput;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Throughput, Stop> {
        find(bench)
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<Throughput>]) -> Report {
        Report {
            procedure: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            sections: vec!["RFC 2544 §26.1".to_owned(), "RFC 1242 §3.17".to_owned()],
            tables: vec![table(setup, sizes)],
            figures: vec![figure(setup, sizes)],
            conformance: conformance(setup, options, sizes),
            notes: notes(sizes, setup.effort.trial),
        }
    }
}

fn table(setup: &Setup, sizes: &[AtSize<Throughput>]) -> Table {
    let mut table = report::by_size("Throughput", &COLUMNS, sizes, |found| {
        vec![
            percent(found.load().as_f64()).into(),
            found.fps.into(),
            Cell::Nothing,
            Cell::Nothing,
            found.achieved_fps.into(),
            found.duplicates.into(),
            found.reordered.into(),
            found.corrupt.into(),
        ]
    });
    for (row, at) in table.rows.iter_mut().zip(sizes) {
        let theoretical = setup.theoretical_fps(at.size);
        row[3] = theoretical.into();
        let bits = at.found.as_ref().map(|t| t.fps * f64::from(at.size) * 8.0);
        row[4] = bits.into();
        let why = at.found.as_ref().and_then(|t| t.not_sustained(theoretical));
        if let (Some(why), Some(remark)) = (why, row.last_mut()) {
            *remark = why.into();
        }
    }
    table
}

fn figure(setup: &Setup, sizes: &[AtSize<Throughput>]) -> Figure {
    let reached = found_by_size(sizes).map(|(size, found)| {
        let why = found.not_sustained(setup.theoretical_fps(size));
        (why.is_some(), (f64::from(size), found.fps))
    });
    let (beyond, reached): (Vec<_>, Vec<_>) = reached.partition(|(is_beyond, _)| *is_beyond);
    let points = |of: Vec<(bool, (f64, f64))>| of.into_iter().map(|(_, point)| point);
    let theory = setup.sizes.iter();
    let theory = theory.map(|&size| (f64::from(size), setup.theoretical_fps(size)));
    let any_beyond = !beyond.is_empty();
    let mut figure = Figure::over_size("Throughput by frame size", ("rate", "frames/s"))
        .line("theoretical maximum", theory)
        .line("throughput", points(reached));
    if any_beyond {
        figure = figure.line("not sustained", points(beyond));
    }
    figure
}

fn conformance(setup: &Setup, options: &Options, sizes: &[AtSize<Throughput>]) -> Vec<Clause> {
    let mut conformance = report::clauses_of_trials(setup, sizes);
    conformance.extend([
        Clause::lasts("RFC 2544 §24", "trials of 60 s", setup.effort.trial, TRIAL),
        fastest(setup, options, sizes),
        Clause::new(
            "RFC 8239 §2.2",
            "at most 99.98 % of line rate",
            if options.top <= LINE_RATE {
                Holds::Yes
            } else {
                Holds::No
            },
            format!("{} %", percent(options.top.as_f64())),
        ),
    ]);
    conformance
}

/// Is it the fastest rate, and how near to it?
fn fastest(setup: &Setup, options: &Options, sizes: &[AtSize<Throughput>]) -> Clause {
    let found = all_found(sizes);
    let cut_off = options.cut_off(found.clone().map(|found| found.load().as_f64()));
    let passes = "trials let the device's buffer pass for throughput";
    let short = (setup.effort.trial < TRIAL).then(|| passes.to_owned());
    let within = found.map(|found| found.within).reduce(f64::max);
    let within = percent(within.unwrap_or(options.resolution.as_f64()));
    let mut why = vec![format!("within {within} % of line rate")];
    why.extend(short.into_iter().chain(cut_off));
    Clause::new(
        "RFC 2544 §26.1",
        "the fastest rate without loss, against frame size with the theoretical line",
        match why.len() {
            1 => Holds::Yes,
            _ => Holds::Shortened,
        },
        why.join("; "),
    )
    .of_found(sizes)
}

/// What short trials do to a rate without loss: it may lie above what the line carries.
pub(crate) fn buffer_passes(trial: Nanos) -> Option<String> {
    (trial < TRIAL).then(|| {
        format!(
            "Trials of {} let the device's buffer pass for throughput: 1 kB of it adds {:.1} kbit/s.",
            format_duration(trial),
            8e9 / trial.max(1) as f64
        )
    })
}

fn notes(sizes: &[AtSize<Throughput>], trial: Nanos) -> Vec<String> {
    let found = || all_found(sizes);
    let mut notes: Vec<String> = buffer_passes(trial).into_iter().collect();
    if found().any(|t| t.duplicates > 0) {
        notes.push("The device sent frames twice.".to_owned());
    }
    if found().any(|t| t.reordered > 0) {
        notes.push("The device changed the order of frames.".to_owned());
    }
    if found().any(|t| t.corrupt > 0) {
        notes.push("The device changed frames; those count as lost.".to_owned());
    }
    if found().any(|t| t.load_e9 == 0) {
        notes.push("A frame size had loss at every load that was tried.".to_owned());
    }
    notes
}
