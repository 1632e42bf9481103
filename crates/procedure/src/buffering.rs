//! Buffering (RFC 8239 §3.2, RFC 8238 §4): the buffer of a device under a slight overload.
//!
//! As a stream goes on, the highest latency rises until the first frame is dropped, and then stays flat.
//! So the longest stream without a drop is the inflection, and what was sent beyond what the receiving
//! port forwards up to there is the buffer. Who overloads whom is [`BufferingWay`]; with many to one each of n
//! streams sends 99.98 / n + 1 / n % of the receiving port's rate.

use crate::back_to_back::{Bursts, Search, at_the_cap};
use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found, found_by_size};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::setup::{Options, Setup, percent};
use crate::throughput;
use delaylab_model::Nanos;
use delaylab_model::bench::BufferingWay;
use delaylab_model::frames::FRAME_OVERHEAD;
use delaylab_model::quantity::Share;
use delaylab_stats::frames::{DelayFigures, FrameTrial};
use schemars::JsonSchema;
use serde::Serialize;

/// The highest latency of a stream of some length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LatencyAt {
    /// Frames of all streams together.
    pub frames: u64,
    /// In nanoseconds.
    pub highest_ns: Option<Nanos>,
    /// Frames dropped.
    pub lost: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Buffering {
    /// The longest streams without a drop, in frames of all streams together: up to the inflection.
    #[serde(flatten)]
    pub bursts: Bursts,
    /// Frames of the excess up to the inflection: what is held. `None` where streams were sent no faster than the ports
    /// forward.
    pub held_frames: Option<f64>,
    /// The same in bytes of frames with their check sequence.
    pub held_bytes: Option<f64>,
    /// The same from the highest latency less the least, as if each receiving port had held as much.
    pub held_bytes_by_latency: Option<f64>,
    /// Highest latency without a drop, in nanoseconds.
    pub highest_ns: Option<Nanos>,
    /// Relative standard deviation of the repeats.
    pub relative_sd: Option<f64>,
    /// By length, in the order of length.
    pub points: Vec<LatencyAt>,
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 8] = [
    ("frames up to the first drop", "frames", Role::Result),
    ("held", "frames", Role::Result),
    ("held", "B", Role::Result),
    ("held, by latency", "B", Role::Result),
    ("latency, max", "ns", Role::Result),
    ("relative sd of the buffer", "%", Role::Spread),
    ("repeats", "", Role::Effort),
    ("repeats at the longest stream", "", Role::Effort),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BufferingSteps;

/// Each stream's load. `None`: a sending port is not fast enough.
fn loads(setup: &Setup, options: &Options) -> Option<Vec<(usize, Share)>> {
    let of_line = |share| setup.load_of_egress(share);
    let (full, excess) = (options.top.as_f64(), options.excess.as_f64());
    let of_group = |group: Vec<usize>| {
        let each = of_line((full + excess) / group.len() as f64);
        group.into_iter().map(move |stream| (stream, each))
    };
    let is_pair = |group: &Vec<usize>| group.len() > 1;
    let of_pair = |group: Vec<usize>| [(group[0], of_line(full)), (group[1], of_line(excess))];
    let groups = setup.receiving().into_iter();
    let loads: Vec<(usize, Share)> = match options.way {
        BufferingWay::ManyToOne => groups.flat_map(of_group).collect(),
        // Streams to other receiving ports do not send.
        BufferingWay::Port => groups.filter(is_pair).take(1).flat_map(of_pair).collect(),
        BufferingWay::Pairs => groups.filter(is_pair).flat_map(of_pair).collect(),
    };
    (!loads.is_empty() && fit(setup, &loads)).then_some(loads)
}

/// Is no sending port to send faster than it can?
fn fit(setup: &Setup, loads: &[(usize, Share)]) -> bool {
    let fits = |&(of, _): &(usize, Share)| {
        let of_port = loads
            .iter()
            .filter(|(other, _)| setup.is_of_one_port(of, *other));
        of_port.map(|(_, load)| load.0).sum::<u64>() <= Share::WHOLE.0
    };
    loads.iter().all(fits)
}

fn highest(trial: &FrameTrial, of: fn(&DelayFigures) -> Nanos) -> Option<Nanos> {
    let delays = trial
        .streams
        .iter()
        .filter_map(|stream| stream.delay.as_ref());
    delays.map(of).max()
}

impl Steps for BufferingSteps {
    type Found = Buffering;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Buffering, Stop> {
        let Some(loads) = loads(bench.setup, bench.options) else {
            let why = "the sending ports cannot overload a receiving port this way";
            return Err(Stop::Untried(why.to_owned()));
        };
        let asked = bench.fps(&loads);
        let groups = bench.setup.receiving().into_iter();
        let loaded = groups.filter(|group| loads.iter().any(|load| group.contains(&load.0)));
        let ports = loaded.count() as f64;
        let forwarded = bench.setup.egress_fps(bench.size) * ports;
        let search = Search {
            phase: "buffering",
            paced: true,
            cap: (asked * bench.setup.effort.trial as f64 / 1e9).max(1.0) as u64,
            ..Search::at_full_rate(bench, &loads)
        };
        let (mut points, mut least_ns) = (Vec::<LatencyAt>::new(), None::<Nanos>);
        let bursts = search.bursts(bench, bench.setup.effort.repeats, |frames, trial| {
            points.push(LatencyAt {
                frames,
                highest_ns: highest(trial, |delay| delay.max),
                lost: throughput::lost(trial),
            });
            let least = trial.streams.iter().filter_map(|s| Some(s.delay?.min));
            least_ns = least.chain(least_ns).min();
        })?;
        points.sort_by_key(|point| point.frames);
        let inflection = bursts.frames;
        // The rates that were reached: what a sender may be off by is as much as the excess that is asked for. What is sent no
        // faster than it is forwarded fills no buffer.
        let sending = bursts.achieved_fps.unwrap_or(asked);
        let excess = (sending > forwarded).then(|| 1.0 - forwarded / sending);
        let size = f64::from(bench.size);
        let held_frames = inflection.zip(excess);
        let held_frames = held_frames.map(|(frames, excess)| frames.mean * excess);
        let passed = points.iter().filter(|point| point.lost == 0);
        let highest_ns = passed.filter_map(|point| point.highest_ns).max();
        let rate = bench.setup.egress_rate as f64 / 8.0;
        let of_line = size / (size + FRAME_OVERHEAD as f64);
        let by_latency = |highest: Nanos| {
            let queued = (highest - least_ns?) as f64 / 1e9;
            Some(queued * rate * of_line * ports)
        };
        Ok(Buffering {
            relative_sd: inflection.and_then(|frames| frames.relative_sd()),
            held_bytes: held_frames.map(|frames| frames * size),
            held_bytes_by_latency: inflection.and(highest_ns).and_then(by_latency),
            bursts,
            held_frames,
            highest_ns,
            points,
        })
    }

    fn report(&self, _: &Setup, options: &Options, sizes: &[AtSize<Buffering>]) -> Report {
        Report {
            procedure: "buffering".to_owned(),
            title: "Buffer under a slight overload".to_owned(),
            sections: vec!["RFC 8239 §3.2".to_owned(), "RFC 8238 §4".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance: vec![
                repeatability(sizes, |found| vec![found.bursts.agree()]),
                repeats_clause(sizes, |found| found.bursts.repeats.len()),
                report::figures_of_all("RFC 8239 §3.3", sizes),
                excess(options),
            ],
            notes: notes(sizes),
        }
    }
}

fn table(sizes: &[AtSize<Buffering>]) -> Table {
    report::by_size("Buffer", &COLUMNS, sizes, |found| {
        vec![
            found.bursts.frames.map(|frames| frames.mean).into(),
            found.held_frames.into(),
            found.held_bytes.into(),
            found.held_bytes_by_latency.into(),
            found.highest_ns.into(),
            found.relative_sd.map(|sd| sd * 100.0).into(),
            Cell::Count(found.bursts.repeats.len() as u64),
            found.bursts.count_at_cap(),
        ]
    })
}

fn figure(sizes: &[AtSize<Buffering>]) -> Figure {
    let figure = Figure::new("Maximum latency", ("stream", "frames"), ("latency", "ns"));
    figure.line_by_size(sizes, |found| {
        let points = found.points.iter();
        let points = points.filter_map(|p| Some((p.frames as f64, p.highest_ns? as f64)));
        points.collect::<Vec<_>>()
    })
}

/// How the receiving ports are overloaded.
fn excess(options: &Options) -> Clause {
    let way = match options.way {
        BufferingWay::Port => "one stream fills a receiving port, a second adds the excess",
        BufferingWay::Pairs => {
            "every receiving port is filled by one stream, a second adds the excess"
        }
        BufferingWay::ManyToOne => "every stream has an equal part of load and excess",
    };
    let excess = percent(options.excess.as_f64());
    Clause::new(
        "RFC 8239 §3.2",
        "an excess of 1 % on a receiving port, in four ways: buffer efficiency, a port, pairs of \
         ports, many to one",
        Holds::Shortened,
        format!("{excess} %, in one way: {way}"),
    )
}

fn notes(sizes: &[AtSize<Buffering>]) -> Vec<String> {
    let mut notes = Vec::new();
    let held = found_by_size(sizes);
    let held = held.filter_map(|(size, found)| Some((size, found.held_bytes?)));
    if let Some((size, bytes)) = held.max_by(|a, b| a.1.total_cmp(&b.1)) {
        notes.push(format!(
            "Most bytes were held as frames of {size} B: {bytes:.0} B."
        ));
    }
    notes.extend(at_the_cap(all_found(sizes).map(|found| &found.bursts)));
    notes
}

/// RFC 8239: repeats agree, of each thing that was found at a frame size.
pub(crate) fn repeatability<F>(
    sizes: &[AtSize<F>],
    agree: impl Fn(&F) -> Vec<Result<bool, &'static str>>,
) -> Clause {
    let says = "repeats differ by a relative standard deviation below 10 %";
    let missing = sizes.iter().filter(|at| at.is_missing());
    let missing = missing.map(|_| Err("a frame size has no figures"));
    let all = Vec::from_iter(all_found(sizes).flat_map(agree).chain(missing));
    let (holds, why) = match all.iter().find_map(|agree| agree.err()) {
        _ if all.contains(&Ok(false)) => (Holds::No, "a frame size varies more"),
        Some(why) => (Holds::NotApplicable, why),
        None => (Holds::Yes, "at every frame size"),
    };
    Clause::new("RFC 8239 §1.2", says, holds, why).of_found(sizes)
}

/// RFC 8239: say how often it was repeated, the least of what was found.
pub(crate) fn repeats_clause<F>(sizes: &[AtSize<F>], times: impl Fn(&F) -> usize) -> Clause {
    let says = "say how often it was repeated";
    Clause::times("RFC 8239 §3.3", says, sizes, times, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Spread;

    #[test]
    fn one_size_that_varies_is_enough_to_say_so() {
        let clause = |sizes: &[&[Option<u64>]]| {
            let sizes = sizes.iter().map(|repeats| {
                let frames = repeats.iter().map(|burst| burst.unwrap_or(200) as f64);
                let bursts = Bursts {
                    frames: Spread::new(frames).filter(|_| repeats.iter().any(Option::is_some)),
                    repeats: repeats.to_vec(),
                    cap: 200,
                    streams: 1,
                    achieved_fps: None,
                    calculated_fps: 1e3,
                };
                let found = (!repeats.is_empty()).then_some(bursts);
                AtSize {
                    size: 64,
                    why: (found.is_none()).then(|| Stop::Invalid("late".to_owned())),
                    found,
                    trials: 1,
                    invalid: 0,
                    left_out: 0,
                    alike: 0,
                }
            });
            repeatability(&Vec::from_iter(sizes), |found| vec![found.agree()]).holds
        };
        let (varies, alone) = (&[Some(100), Some(200), Some(60)][..], &[Some(7)][..]);
        let agrees = &[Some(7), Some(7)][..];
        // Longer than any that was tried, or as long as some repeats would have it.
        let (longer, nearly) = (&[None; 3][..], &[None, None, Some(190)][..]);
        assert_eq!(clause(&[varies, alone]), Holds::No);
        assert_eq!(clause(&[agrees, alone]), Holds::NotApplicable);
        assert_eq!(clause(&[agrees, agrees]), Holds::Yes);
        for undecided in [longer, nearly, &[]] {
            assert_eq!(clause(&[agrees, undecided]), Holds::NotApplicable);
        }
        assert_eq!(clause(&[&[None, None, Some(31)]]), Holds::No);
    }
}
