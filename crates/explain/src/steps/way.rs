//! One number for each size, and what the detector finds in them.

use super::{Direction, FASTEST, Power, Way};
use crate::one_way::{MOST_OF_THEM, StampPoints, one_way};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_stats::functional::Functional;
use delaylab_stats::steps::{
    CELL_BITS, CELL_PAYLOAD, Detection, Doubt, PerSize, Point, Settings, Verdict, detect_cells,
};
use delaylab_stats::{anatomy, skew};
use std::collections::BTreeMap;

/// What an answered packet has, ns; NaN where it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    sent: Nanos,
    round_trip: f64,
    /// From driver to driver. The time in the host that answers is in it.
    there_and_back: f64,
    /// From driver to driver without the time in the host that answers, where that is known.
    network: f64,
    forward: f64,
    back: f64,
}

/// One delay of a sample.
type Of = fn(&Sample) -> f64;

/// The samples of each size.
type Samples = BTreeMap<u32, Vec<Sample>>;

impl Sample {
    /// `None` of a packet that was not answered.
    pub(super) fn from_record(record: &Record, facts: &RecordFacts) -> Option<Self> {
        let round_trip = record.answered().then(|| record.round_trip())??;
        let or_nan = |ns: Option<Nanos>| ns.map_or(f64::NAN, |ns| ns as f64);
        let is_apart =
            facts.reflector_clock != ReflectorClock::None && facts.residence != Residence::Unknown;
        let [forward, back] = one_way(record, facts, StampPoints::Kernel);
        Some(Self {
            sent: record.t_send.unwrap_or(record.t_intended),
            round_trip: round_trip as f64,
            there_and_back: or_nan(record.t_rx.zip(record.t_tx).map(|(rx, tx)| rx - tx)),
            network: or_nan(anatomy::network(record, facts).filter(|_| is_apart)),
            forward,
            back,
        })
    }
}

/// There and back, and each direction where most packets have it.
pub(super) fn of_samples(samples: &Samples, clock: ReflectorClock, seed: u64) -> Vec<Way> {
    let all = || samples.values().flatten();
    let most_have = |of: fn(&Sample) -> f64| {
        let there = all().filter(|sample| of(sample).is_finite()).count();
        there > 0 && there as f64 >= MOST_OF_THEM * all().count() as f64
    };
    // One of them for all sizes: packets too small for the reflector's stamps would seem slower than larger ones. Both have the label of
    // the network: what the reflector takes does not grow with size by cells.
    let measures: [(Of, _); 2] = [
        (|sample| sample.network, "network"),
        (|sample| sample.there_and_back, "network"),
    ];
    let round_trip: (Of, _) = (|sample| sample.round_trip, "round trip");
    let of_most = measures.into_iter().find(|&(of, _)| most_have(of));
    let (of, measure) = of_most.unwrap_or(round_trip);
    let plain = |of: fn(&Sample) -> f64| {
        let delays = |samples: &Vec<Sample>| samples.iter().map(of).collect();
        let of_size = samples
            .iter()
            .map(|(&size, samples)| (size, delays(samples)));
        of_size.collect::<BTreeMap<u32, Vec<f64>>>()
    };
    let mut ways: Vec<Way> = way((Direction::Both, measure), &plain(of), seed)
        .into_iter()
        .collect();
    let directions: [(Direction, Of); 2] = [
        (Direction::Forward, |sample| sample.forward),
        (Direction::Return, |sample| sample.back),
    ];
    for (direction, of) in directions {
        if clock == ReflectorClock::None || !most_have(of) {
            continue;
        }
        let delays = if clock == ReflectorClock::Unrelated {
            less_skew(samples, of, seed)
        } else {
            Some(plain(of))
        };
        let of_size = delays.and_then(|delays| way((direction, "one-way delay"), &delays, seed));
        ways.extend(of_size);
    }
    ways
}

/// One-way delays by two clocks that drift apart, less what they drift; an offset makes no difference to
/// steps. `None` where the drift cannot be told.
fn less_skew(
    samples: &Samples,
    of: fn(&Sample) -> f64,
    seed: u64,
) -> Option<BTreeMap<u32, Vec<f64>>> {
    let flat = samples.iter();
    let mut flat: Vec<(Nanos, u32, f64)> = flat
        .flat_map(|(&size, samples)| samples.iter().map(move |s| (s.sent, size, of(s))))
        .filter(|(.., delay)| delay.is_finite())
        .collect();
    flat.sort_unstable_by_key(|&(sent, size, _)| (sent, size));
    let (times, delays): (Vec<Nanos>, Vec<f64>) = flat.iter().map(|s| (s.0, s.2)).unzip();
    let found = skew::estimate(&times, &delays, seed).ok()?;
    let mut by_size: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((_, size, _), delay) in flat.iter().zip(found.delays_ns) {
        by_size.entry(*size).or_default().push(delay);
    }
    Some(by_size)
}

/// `None` where no packet counts.
fn way(
    (direction, measure): (Direction, &'static str),
    delays: &BTreeMap<u32, Vec<f64>>,
    seed: u64,
) -> Option<Way> {
    let of = |per_size: PerSize| {
        let samples = delays
            .iter()
            .map(|(&size, delays)| (size, delays.as_slice()));
        let points = per_size.points(samples);
        (per_size, roughness(&points), points)
    };
    // Of equals the minimum: in a simulation all sizes may meet the same traffic, so that the mean is as smooth, and yet the queue
    // that packets met, which grows with their cells, is in it.
    let both = [of(PerSize::Minimum), of(PerSize::TrimmedMean)];
    let (per_size, _, points) = both.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    if points.is_empty() {
        return None;
    }
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let detection = detect_cells(&points, &settings);
    let found = matches!(detection.verdict, Verdict::Steps(_));
    let power = (!found).then(|| power(&detection, direction, &settings));
    Some(Way {
        direction,
        measure,
        per_size,
        packets: delays.values().flatten().filter(|d| d.is_finite()).count(),
        points,
        detection,
        power: power.flatten(),
    })
}

impl Way {
    /// The line, or the stairs, that were found, by their corners; empty where neither was.
    pub fn fitted(&self) -> Vec<Point> {
        let used = &self.detection.sizes;
        let Some((&first, &last)) = used.first().zip(used.last()) else {
            return Vec::new();
        };
        let at = |size: u32, delay_ns: f64| Point { size, delay_ns };
        match &self.detection.verdict {
            Verdict::Steps(found) => {
                let jump = found.jump.map(|jump| jump.at);
                let rises = |size: &u32| {
                    (size + found.offset).is_multiple_of(found.width) || jump == Some(*size)
                };
                let risers = (first + 1..=last).filter(rises);
                let corners = risers.flat_map(|size| [size - 1, size]);
                let all = [first].into_iter().chain(corners).chain([last]);
                all.map(|size| at(size, found.delay(size))).collect()
            }
            Verdict::Line(line) => [first, last]
                .map(|size| at(size, line.intercept_ns + line.slope * f64::from(size)))
                .to_vec(),
            Verdict::Constant(constant) => [first, last]
                .map(|size| at(size, constant.delay_ns))
                .to_vec(),
            Verdict::CannotTell(_) => Vec::new(),
        }
    }
}

/// Where there are cells, delay has a slope over sizes that reach over this number of them, wherever a cell begins.
const CELLS_IN_A_SLOPE: u32 = 2;

/// `None` where too little is known.
fn power(detection: &Detection, direction: Direction, settings: &Settings) -> Option<Power> {
    let width = f64::from(CELL_PAYLOAD);
    let found_ns = detection.power(CELL_PAYLOAD, settings)?.least_ns;
    let (slope, most) = match &detection.verdict {
        Verdict::Line(line) => (line.slope, Some(line.slope_interval.1)),
        Verdict::Constant(constant) => (0.0, Some(constant.slope_interval.1)),
        Verdict::CannotTell(Doubt::Noise { width, step_ns, .. }) => {
            (step_ns / f64::from(*width), None)
        }
        Verdict::Steps(_) | Verdict::CannotTell(_) => return None,
    };
    // Over fewer sizes cells may rise at an end, where a slope does not show them.
    let ends = detection.sizes.first().zip(detection.sizes.last());
    let reach = ends.map_or(0, |(first, last)| last - first);
    let shows = reach >= CELLS_IN_A_SLOPE * CELL_PAYLOAD;
    let by_slope = most.filter(|_| shows).map(|most| width * most.max(0.0));
    let lowest = f64::from(direction.count()) * f64::from(CELL_BITS) / FASTEST * 1e9;
    Some(Power {
        found_ns,
        excluded_ns: found_ns.into_iter().chain(by_slope).reduce(f64::min),
        wanted_ns: (width * slope).max(lowest),
    })
}

/// The median difference of neighbouring sizes: noise, whether there are steps or not.
fn roughness(points: &[Point]) -> f64 {
    let pairs = points.iter().zip(points.iter().skip(1));
    let mut differences: Vec<f64> = pairs
        .map(|(a, b)| (a.delay_ns - b.delay_ns).abs())
        .collect();
    Functional::Quantile(0.5)
        .value(&mut differences)
        .unwrap_or(0.0)
}
