//! Delays of a run over time, however long it is: a chunk for every few dozen records is kept, with
//! its least and largest, and what is shown of any stretch of time is made of those; of a short stretch,
//! of the records themselves. So no extreme is lost, at any zoom.

use delaylab_model::Nanos;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::record::Record;
use delaylab_model::words::each_once;
use delaylab_store::run::Run;
use delaylab_view::run::marks::Place;
use delaylab_view::run::sketch::{EndToEnd, both_ranges};
use delaylab_view::run::{Happening, Mark, Marks, ShownDelay, Ways};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Records of a chunk at first.
const CHUNK: u64 = 64;
/// Chunks of a probe at most: then each takes twice as many records.
const CHUNKS: usize = 1 << 18;
/// Chunks for each cell that is shown; with fewer, the records of all are read.
const CHUNKS_A_CELL: usize = 2;
/// Cells at most.
const CELLS: usize = 4_000;

/// Stretches of a window of which each has at most one mark of a kind.
const MARKS: Nanos = 200;

/// The columns that it takes.
const COLUMNS: [&str; 9] = [
    "trial",
    "probe",
    "seq",
    "t_intended",
    "t_send",
    "t_recv",
    "outcome",
    "copies",
    "clock_event",
];

/// The delays of every probe over time, trials end to end.
#[derive(Debug)]
pub(super) struct Timeline {
    /// Which these are, as on the run's page.
    delay: ShownDelay,
    /// By their names: what one combination of levels calls its first probe, another may have as its second. `None` until
    /// something of it is recorded.
    probes: Vec<(String, Option<Probe>)>,
    /// Which of them each probe of each trial is.
    place_of: BTreeMap<(u32, u16), usize>,
    /// Noise that is marked, whatever the probe.
    noise: Vec<NoiseEvent>,
}

#[derive(Debug)]
struct Probe {
    chunks: Vec<Chunk>,
    /// Records of a chunk.
    size: u64,
    time: EndToEnd,
    /// What happened to the clocks, in order.
    clock: Vec<Mark>,
}

/// A few records of one probe of one trial, next to each other in the table.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    trial: u32,
    rows: [u64; 2],
    /// The first and the last of their times.
    t: [Nanos; 2],
    /// What is added to `t_intended` of a record of this trial.
    shift: Nanos,
    counts: Counts,
}

/// What came of some packets.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    range: Option<(Nanos, Nanos)>,
    sum: i128,
    answered: u64,
    unanswered: u64,
}

impl Counts {
    fn from_record(record: &Record, shown: ShownDelay) -> Self {
        let delay = shown.of_record(record);
        Self {
            range: delay.map(|ns| (ns, ns)),
            sum: delay.unwrap_or(0).into(),
            answered: delay.is_some().into(),
            unanswered: delay.is_none().into(),
        }
    }

    fn add(&mut self, other: &Counts) {
        self.range = both_ranges(self.range, other.range);
        self.sum += other.sum;
        self.answered += other.answered;
        self.unanswered += other.unanswered;
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window<'a> {
    /// The name of a probe; `None`: the first.
    pub(super) probe: Option<&'a str>,
    /// From and to, in nanoseconds of the timeline; `None`: from the beginning, to the end.
    pub(super) range: [Option<Nanos>; 2],
    pub(super) cells: usize,
}

/// What is shown of a stretch of time.
#[derive(Debug, Default, Serialize)]
pub(super) struct Stretch {
    from_s: f64,
    to_s: f64,
    end_s: f64,
    packets: u64,
    trials: String,
    cells: Cells,
    marks: Vec<Marked>,
    /// Whether anything of the probe is recorded.
    is_begun: bool,
    /// `None` where a trial ran on a simulated clock.
    clock: Option<Clock>,
}

/// What the wall clock was: at the first of these times and as long after it as till the next.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Clock {
    t_s: Vec<f64>,
    /// Seconds since 1970.
    utc_s: Vec<f64>,
}

/// What happened to the host: the longest of a stretch, and how many there were.
#[derive(Debug, Serialize)]
struct Marked {
    t_s: f64,
    kind: Happening,
    length_ns: Option<Nanos>,
    count: u64,
}

/// Cells in which packets were sent, in order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Cells {
    pub(super) t_s: Vec<f64>,
    min_ns: Vec<Option<Nanos>>,
    max_ns: Vec<Option<Nanos>>,
    mean_ns: Vec<Option<f64>>,
    unanswered: Vec<u64>,
}

impl Cells {
    fn push(&mut self, t_s: f64, counts: &Counts) {
        self.t_s.push(t_s);
        self.min_ns.push(counts.range.map(|(least, _)| least));
        self.max_ns.push(counts.range.map(|(_, largest)| largest));
        let mean = (counts.answered > 0).then(|| counts.sum as f64 / counts.answered as f64);
        self.mean_ns.push(mean);
        self.unanswered.push(counts.unanswered);
    }
}

/// Cells of equal length, filled in any order.
#[derive(Debug)]
pub(super) struct Grid {
    delay: ShownDelay,
    start: Nanos,
    width: Nanos,
    cells: BTreeMap<Nanos, Counts>,
}

impl Grid {
    /// Of cells so long, in nanoseconds, from `start` on.
    pub(super) fn new(delay: ShownDelay, start: Nanos, width: Nanos) -> Self {
        Self {
            delay,
            start,
            width: width.max(1),
            cells: BTreeMap::new(),
        }
    }

    /// One record, due at `t`.
    pub(super) fn push(&mut self, t: Nanos, record: &Record) {
        if record.ended() {
            self.add(t, &Counts::from_record(record, self.delay));
        }
    }

    fn add(&mut self, t: Nanos, counts: &Counts) {
        let place = (t - self.start).div_euclid(self.width);
        self.cells.entry(place).or_default().add(counts);
    }

    fn packets(&self) -> u64 {
        let sent = |counts: &Counts| counts.answered + counts.unanswered;
        self.cells.values().map(sent).sum()
    }

    /// Forgets all cells but those of the last stretch of this length.
    pub(super) fn keep_last(&mut self, length: Nanos) {
        if let Some((last, _)) = self.cells.last_key_value() {
            let first = last - length / self.width + 1;
            self.cells = self.cells.split_off(&first);
        }
    }

    /// Its cells, each at the middle of its time.
    pub(super) fn cells(&self) -> Cells {
        let mut cells = Cells::default();
        for (place, counts) in &self.cells {
            let middle = self.start + place * self.width + self.width / 2;
            cells.push(seconds(middle), counts);
        }
        cells
    }
}

fn seconds(t: Nanos) -> f64 {
    t as f64 / 1e9
}

impl Timeline {
    /// Of every record of the run, in one pass.
    pub(super) fn read(run: &Run) -> Self {
        let names = run.trials().iter();
        let names = names.map(|row| ((row.trial, row.probe), row.probe_name.as_str()));
        let frames = run.trials().iter().map(|row| row.method.is_one_way());
        let delay = ShownDelay::of(Ways::new(frames));
        let mut timeline = Self::for_probes(&names.collect(), delay);
        let mut row = 0;
        run.for_each_record_in(0..u64::MAX, &COLUMNS, |record| {
            timeline.push(row, record);
            row += 1;
        });
        run.for_each_noise(None, |event| {
            if Happening::of_noise(event.kind).is_some() {
                timeline.noise.push(event.clone());
            }
        });
        timeline
    }

    /// Without any record, of the probes of trials that have these names.
    fn for_probes(names: &BTreeMap<(u32, u16), &str>, delay: ShownDelay) -> Self {
        let each = each_once(names.values().copied());
        let place = |name: &str| each.iter().position(|known| *known == name);
        let places = names.iter();
        let places = places.filter_map(|(&key, &name)| Some((key, place(name)?)));
        Self {
            delay,
            place_of: places.collect(),
            probes: each.iter().map(|name| ((*name).to_owned(), None)).collect(),
            noise: Vec::new(),
        }
    }

    fn push(&mut self, row: u64, record: &Record) {
        let Some(&place) = self.place_of.get(&(record.trial, record.probe)) else {
            return;
        };
        let probe = self.probes[place].1.get_or_insert_default();
        let t = probe.time.due(record);
        probe.clock.extend(Mark::from_record(record, t));
        if record.ended() {
            let counts = Counts::from_record(record, self.delay);
            probe.push(row, t, record, counts);
        }
    }

    /// The names of the run's probes.
    pub(super) fn probes(&self) -> BTreeSet<&str> {
        self.probes.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// What is shown of this window. Of a probe of which nothing is recorded yet, nothing.
    pub(super) fn shown(&self, run: &Run, window: Window<'_>) -> Stretch {
        let mut probes = self.probes.iter();
        let place = match window.probe {
            Some(name) => probes.position(|(known, _)| known == name),
            None => Some(0),
        };
        let probe = place.and_then(|place| self.probes.get(place)?.1.as_ref());
        let Some(probe) = probe else {
            return Stretch::default();
        };
        let end = probe
            .chunks
            .iter()
            .map(|chunk| chunk.t[1])
            .max()
            .unwrap_or(0);
        let [from, to] = window.range;
        let (from, to) = (from.unwrap_or(0), to.unwrap_or(end));
        let (from, to) = (from.clamp(0, end), to.clamp(0, end));
        let to = to.max(from);
        let cells = window.cells.clamp(1, CELLS);
        let mut grid = Grid::new(self.delay, from, (to - from) / cells as Nanos + 1);
        let inside = probe.inside(from, to);
        let (width, are_few) = (grid.width, inside.len() < cells * CHUNKS_A_CELL);
        // One that lasts longer than a cell would be drawn where it begins. There are no more of these than cells.
        let is_read = |chunk: &&Chunk| are_few || chunk.t[1] - chunk.t[0] > width;
        let read: Vec<Chunk> = inside.iter().filter(is_read).copied().collect();
        records(run, &read, |t, record| {
            let own = self.place_of.get(&(record.trial, record.probe)).copied();
            if own == place && (from..=to).contains(&t) {
                grid.push(t, record);
            }
        });
        for chunk in inside.iter().filter(|chunk| !is_read(chunk)) {
            grid.add(chunk.t[0].max(from), &chunk.counts);
        }
        let cells = grid.cells();
        Stretch {
            is_begun: true,
            clock: wall_clock(run, probe.near(from, to)),
            from_s: seconds(from),
            to_s: seconds(to),
            end_s: seconds(end),
            packets: grid.packets(),
            trials: trials(inside),
            cells,
            marks: self.marks(probe, from, to),
        }
    }

    /// What happened to the host in a stretch of time.
    fn marks(&self, probe: &Probe, from: Nanos, to: Nanos) -> Vec<Marked> {
        let places = places(&probe.chunks);
        let mark = |event: &NoiseEvent| Mark::from_noise(event, *places.get(&event.trial)?);
        let noise = self.noise.iter().filter_map(mark);
        let mut marks = Marks::of_width((to - from) / MARKS + 1);
        let all = noise.chain(probe.clock.iter().cloned());
        all.filter(|mark| (from..=to).contains(&mark.t))
            .for_each(|mark| marks.push(mark));
        let marked = |mark: &Mark| Marked {
            t_s: seconds(mark.t),
            kind: mark.kind,
            length_ns: mark.length,
            count: mark.count,
        };
        marks.iter().map(marked).collect()
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            size: CHUNK,
            time: EndToEnd::default(),
            clock: Vec::new(),
        }
    }
}

impl Probe {
    fn push(&mut self, row: u64, t: Nanos, record: &Record, counts: Counts) {
        let fresh = Chunk {
            trial: record.trial,
            rows: [row, row + 1],
            t: [t, t],
            shift: t - record.t_intended,
            counts,
        };
        match self.chunks.last_mut() {
            Some(last) if last.trial == fresh.trial && last.rows() < self.size => last.join(&fresh),
            _ => self.chunks.push(fresh),
        }
        if self.chunks.len() > CHUNKS {
            self.thin();
        }
    }

    /// Makes one of each two chunks of a trial.
    fn thin(&mut self) {
        self.size *= 2;
        let mut thinned: Vec<Chunk> = Vec::with_capacity(CHUNKS / 2 + 1);
        for chunk in &self.chunks {
            match thinned.last_mut() {
                Some(last)
                    if last.trial == chunk.trial && last.rows() + chunk.rows() <= self.size =>
                {
                    last.join(chunk)
                }
                _ => thinned.push(*chunk),
            }
        }
        self.chunks = thinned;
    }

    /// Those [`Self::inside`]; where there is none, the last one before, or else the first.
    fn near(&self, from: Nanos, to: Nanos) -> &[Chunk] {
        let inside = self.inside(from, to);
        if !inside.is_empty() {
            return inside;
        }
        let before = self.chunks.partition_point(|chunk| chunk.t[0] <= from);
        let last = before.saturating_sub(1);
        self.chunks.get(last..=last).unwrap_or_default()
    }

    /// The chunks that have something of this stretch. They are in order, but for records that were due
    /// a little earlier than those before them.
    fn inside(&self, from: Nanos, to: Nanos) -> &[Chunk] {
        let first = self.chunks.partition_point(|chunk| chunk.t[1] < from);
        let end = self.chunks.partition_point(|chunk| chunk.t[0] <= to);
        self.chunks.get(first..end).unwrap_or_default()
    }
}

impl Chunk {
    fn rows(&self) -> u64 {
        self.rows[1] - self.rows[0]
    }

    fn join(&mut self, next: &Chunk) {
        self.rows[1] = next.rows[1];
        self.t = [self.t[0].min(next.t[0]), self.t[1].max(next.t[1])];
        self.counts.add(&next.counts);
    }
}

/// Hands over the records of these chunks, and those between them, each with its time.
fn records(run: &Run, chunks: &[Chunk], mut take: impl FnMut(Nanos, &Record)) {
    let places = places(chunks);
    for rows in stretches(chunks) {
        run.for_each_record_in(rows, &COLUMNS, |record| {
            if let Some(place) = places.get(&record.trial) {
                take(record.t_intended + place.shift, record);
            }
        });
    }
}

/// Where each of their trials stands, as far as it is in them.
fn places(chunks: &[Chunk]) -> BTreeMap<u32, Place> {
    let mut places: BTreeMap<u32, Place> = BTreeMap::new();
    for trial in chunks.chunk_by(|a, b| a.trial == b.trial) {
        let end = trial.iter().map(|chunk| chunk.t[1]).max();
        places.entry(trial[0].trial).or_insert(Place {
            shift: trial[0].shift,
            start: trial[0].t[0],
            end: end.unwrap_or(trial[0].t[1]),
        });
    }
    places
}

/// What the wall clock was in these, trial by trial.
fn wall_clock(run: &Run, chunks: &[Chunk]) -> Option<Clock> {
    let rows = run.trials().iter();
    let known = rows.filter(|row| row.started_utc.is_some());
    let to_utc: BTreeMap<u32, Nanos> = known
        .map(|row| (row.trial, row.facts.realtime_offset))
        .collect();
    let mut clock = Clock::default();
    for chunk in chunks
        .chunk_by(|a, b| a.trial == b.trial)
        .map(|trial| trial[0])
    {
        let further = to_utc.get(&chunk.trial)? - chunk.shift;
        clock.t_s.push(seconds(chunk.t[0]));
        clock.utc_s.push(seconds(chunk.t[0] + further));
    }
    Some(clock)
}

/// Their rows, those that touch together.
fn stretches(chunks: &[Chunk]) -> Vec<Range<u64>> {
    let mut stretches: Vec<Range<u64>> = Vec::new();
    for chunk in chunks {
        match stretches.last_mut() {
            Some(last) if last.end == chunk.rows[0] => last.end = chunk.rows[1],
            _ => stretches.push(chunk.rows[0]..chunk.rows[1]),
        }
    }
    stretches
}

fn trials(chunks: &[Chunk]) -> String {
    match (chunks.first(), chunks.last()) {
        (Some(first), Some(last)) if first.trial == last.trial => format!("trial {}", first.trial),
        (Some(first), Some(last)) => format!("trials {} to {}", first.trial, last.trial),
        _ => "no packet was sent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::SECOND;
    use delaylab_model::method::Method;
    use delaylab_model::noise::NoiseKind;

    /// The second probe of two cases is not the same.
    #[test]
    fn probes_are_told_apart_by_their_names() {
        let probes = [
            (0, 0, "echo"),
            (0, 1, "icmp"),
            (1, 0, "echo"),
            (1, 1, "udp"),
        ];
        let names = probes.map(|(trial, probe, name)| ((trial, probe), name));
        let mut timeline = Timeline::for_probes(&names.into(), ShownDelay::Response);
        for (row, (trial, probe, _)) in (0..).zip(probes) {
            let mut record = Record::due(trial, probe, 0, Method::Udp, 0);
            record.t_send = Some(0);
            timeline.push(row, &record);
        }
        let trials = |name: &str| {
            let mut probes = timeline.probes.iter();
            let (_, probe) = probes.find(|(own, _)| own == name).unwrap();
            let chunks = probe.as_ref().unwrap().chunks.iter();
            chunks.map(|chunk| chunk.trial).collect::<Vec<_>>()
        };
        assert_eq!(
            [trials("echo"), trials("icmp"), trials("udp")],
            [vec![0, 1], vec![0], vec![1]]
        );
    }

    #[test]
    fn noise_after_the_last_packet_is_not_drawn_into_the_next_trial() {
        let names = [0, 1].map(|trial| ((trial, 0), "echo"));
        let mut timeline = Timeline::for_probes(&names.into(), ShownDelay::Response);
        for (row, (trial, t)) in (0..).zip([(0, 0), (0, 10), (1, 100), (1, 110)]) {
            let mut record = Record::due(trial, 0, 0, Method::Udp, t * SECOND);
            record.t_send = Some(record.t_intended);
            timeline.push(row, &record);
        }
        timeline.noise = [5, 15].map(|t| gap(0, t * SECOND)).into();
        let probe = timeline.probes[0].1.as_ref().unwrap();
        let marks = |from: Nanos, to| timeline.marks(probe, from * SECOND, to * SECOND).len();
        assert_eq!([marks(0, 20), marks(4, 6), marks(11, 20)], [1, 1, 0]);
    }

    fn gap(trial: u32, start: Nanos) -> NoiseEvent {
        NoiseEvent {
            trial,
            start,
            length: SECOND / 10,
            cpu: None,
            kind: NoiseKind::SentinelGap,
            who: None,
            pid: None,
            preempted: None,
        }
    }
}
