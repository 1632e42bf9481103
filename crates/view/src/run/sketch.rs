//! What is kept of a panel's records, in flat memory: every delay (to a known error), the least and
//! the largest in each stretch of time, and the worst few packets.

use super::Disturbance;
use super::OverTime;
use super::marks::{Mark, Marks, Place};
use super::shown_delay::ShownDelay;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::record::Record;
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_stats::cumulative::Cumulative;
use delaylab_stats::loglinear::LogLinear;
use std::collections::BTreeMap;

/// Panels that may have all the [`Room`] there is; of more each has less.
const ROOMY: usize = 24;

/// How much is kept of a panel's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// Delays kept as they are; beyond, they are counted in bins, which take less.
    pub(super) exact: usize,
    /// Stretches of time at most.
    buckets: usize,
    /// Those that have quantiles.
    stretches: usize,
}

impl Room {
    /// As much as is drawn: there are more buckets than a figure has columns of pixels.
    const WHOLE: Room = Room {
        exact: 10_000,
        buckets: 1_024,
        stretches: 128,
    };

    /// Of so many panels, of which a figure draws a few: all together do not take more than those that are drawn would, down to
    /// what still tells one from another.
    pub(super) fn among(panels: usize) -> Self {
        let part = |most: usize, least: usize| (most * ROOMY / panels.max(ROOMY)).max(least);
        Room {
            exact: part(Self::WHOLE.exact, 500),
            buckets: part(Self::WHOLE.buckets, 64),
            stretches: part(Self::WHOLE.stretches, 16),
        }
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// The worst packets that are kept.
const WORST: usize = 200;

/// What is kept of a panel's records.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    shown: ShownDelay,
    delays: DelaySketch,
    time: EndToEnd,
    /// What happened to the host.
    marks: Marks,
    /// Where each trial stands.
    places: BTreeMap<u32, Place>,
    /// Where each probe of each trial begins, in order.
    begins: Vec<Begun>,
}

/// Of responses.
impl Default for Sketch {
    fn default() -> Self {
        Self::new(ShownDelay::Response, Room::default())
    }
}

impl Sketch {
    /// Of the delay that is shown.
    pub(super) fn new(shown: ShownDelay, room: Room) -> Self {
        Self {
            shown,
            delays: DelaySketch {
                room,
                ..DelaySketch::default()
            },
            time: EndToEnd::default(),
            marks: Marks::default(),
            places: BTreeMap::new(),
            begins: Vec::new(),
        }
    }

    /// Takes one record. Those of a trial's probe come together, about in order.
    pub fn push(&mut self, record: &Record, disturbance: Disturbance<'_>) {
        let t = self.time.due(record);
        let shift = t.saturating_sub(record.t_intended);
        self.begin(record, t, shift);
        let place = self.places.entry(record.trial).or_insert(Place {
            shift,
            start: t,
            end: t,
        });
        // Further probes of the trial stand behind its first, which is where its noise is shown.
        if place.shift == shift {
            place.end = place.end.max(t);
        }
        if let Some(mark) = Mark::from_record(record, t) {
            self.marks.push(mark);
        }
        let delay = self.shown.of_record(record);
        self.delays.push(record, t, delay, disturbance);
    }

    /// What is kept of the delay that is shown.
    pub const fn shown(&self) -> &DelaySketch {
        &self.delays
    }

    /// Takes what disturbed the host, once the records of its trial are there. Of trials that are
    /// elsewhere, and of what others did, nothing is kept.
    pub(super) fn disturbed(&mut self, event: &NoiseEvent) {
        let place = self.places.get(&event.trial);
        if let Some(mark) = place.and_then(|place| Mark::from_noise(event, *place)) {
            self.marks.push(mark);
        }
    }

    /// What happened to the host, in order of time: time in the panel's trials, end to end.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter()
    }

    fn begin(&mut self, record: &Record, t: Nanos, shift: Nanos) {
        let of = (record.trial, record.probe);
        if self.begins.last().is_none_or(|last| last.of != of) {
            self.begins.push(Begun { of, t, shift });
        }
    }

    /// Of each probe of each trial, in order: which trial, from when on it is shown, what was added to its clock.
    pub(super) fn begins(&self) -> impl Iterator<Item = (u32, Nanos, Nanos)> {
        let begins = self.begins.iter();
        begins.map(|begun| (begun.of.0, begun.t, begun.shift))
    }

    /// How far its time reaches: all trials, end to end.
    pub fn length(&self) -> Nanos {
        let buckets = self.delays.series();
        buckets.map(|bucket| bucket.last).max().unwrap_or(0)
    }
}

/// What is kept of one delay of a panel's records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DelaySketch {
    /// Of answered packets.
    pub delays: Delays,
    /// What bounds the shares of them.
    pub cumulative: Cumulative,
    /// Quantiles in stretches of time, trials end to end.
    pub over_time: OverTime,
    series: Series,
    /// Worst first.
    worst: Vec<Excursion>,
    room: Room,
}

impl DelaySketch {
    fn push(
        &mut self,
        record: &Record,
        t: Nanos,
        delay: Option<Nanos>,
        disturbance: Disturbance<'_>,
    ) {
        if record.ended() {
            self.series.push(t, delay, self.room.buckets);
            self.over_time.push(t, delay, self.room.stretches);
        }
        if let Some(delay) = delay {
            self.delays.push(delay, self.room.exact);
            self.cumulative.push(record.trial, delay);
            self.keep_if_bad(record, t, delay, disturbance);
        }
    }

    fn keep_if_bad(
        &mut self,
        record: &Record,
        t: Nanos,
        delay: Nanos,
        disturbance: Disturbance<'_>,
    ) {
        let place = self.worst.partition_point(|kept| kept.delay >= delay);
        if place >= WORST {
            return;
        }
        self.worst.truncate(WORST - 1);
        let excursion = Excursion {
            trial: record.trial,
            probe: record.probe,
            seq: record.seq,
            t,
            delay,
            noise_ns: disturbance.ns,
            noise_who: disturbance.who.map(str::to_owned),
        };
        self.worst.insert(place, excursion);
    }

    /// Over time, trials end to end: stretches in which packets were sent, in order.
    pub fn series(&self) -> impl Iterator<Item = &Bucket> {
        self.series.buckets.values()
    }

    /// The worst packets of those beyond `bound`, worst first; [`Delays::count_beyond`] says how many
    /// there were.
    pub fn excursions(&self, bound: Nanos) -> &[Excursion] {
        let beyond = self.worst.partition_point(|kept| kept.delay > bound);
        &self.worst[..beyond]
    }
}

/// Where a probe of a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begun {
    /// Trial and probe.
    of: (u32, u16),
    /// In the time that is shown.
    t: Nanos,
    /// What was added to the trial's clock.
    shift: Nanos,
}

/// Time in a panel's trials, as if each had begun when the one before ended: other trials ran in
/// between, or, in a simulation, each began at zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EndToEnd {
    /// The trial and probe under way, and when its first packet was due.
    current: Option<(u32, u16, Nanos)>,
    /// Where the one under way began.
    start: Nanos,
    /// The latest so far.
    end: Nanos,
}

impl EndToEnd {
    /// When this record was due.
    pub fn due(&mut self, record: &Record) -> Nanos {
        let first = match self.current {
            Some((trial, probe, first)) if (trial, probe) == (record.trial, record.probe) => first,
            _ => {
                self.current = Some((record.trial, record.probe, record.t_intended));
                self.start = self.end;
                record.t_intended
            }
        };
        let since = record.t_intended.saturating_sub(first).max(0);
        let t = self.start.saturating_add(since);
        self.end = self.end.max(t);
        t
    }
}

/// A packet that came back much later than most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excursion {
    /// Its trial.
    pub trial: u32,
    /// Its probe.
    pub probe: u16,
    /// Its number.
    pub seq: u64,
    /// When it was due: time in the panel's trials, end to end.
    pub t: Nanos,
    /// How long it took.
    pub delay: Nanos,
    /// For how long of that something else had the prober's CPU; `None` where nobody looked.
    pub noise_ns: Option<Nanos>,
    /// Who had it longest.
    pub noise_who: Option<String>,
}

/// Any number of delays: as they are up to a limit, beyond it within 0.2 % of their distance from the
/// middle of the first of them, so that a small spread on a long delay stays visible, whatever a few of them took.
#[derive(Debug, Clone, PartialEq)]
pub enum Delays {
    /// In the order in which they came.
    Exact(Vec<Nanos>),
    /// Counted by distance.
    Binned {
        /// The median of the first delays.
        origin: Nanos,
        /// Distances from it.
        distances: LogLinear,
    },
}

impl Default for Delays {
    fn default() -> Self {
        Delays::Exact(Vec::new())
    }
}

impl Delays {
    /// Beyond `exact` delays they are counted.
    pub(super) fn push(&mut self, delay: Nanos, exact: usize) {
        match self {
            Delays::Exact(delays) if delays.len() < exact => delays.push(delay),
            Delays::Exact(delays) => {
                let origin = middle(delays.clone());
                let mut distances = LogLinear::default();
                let every = delays.iter().chain([&delay]);
                every.for_each(|delay| distances.push(delay.saturating_sub(origin)));
                *self = Delays::Binned { origin, distances };
            }
            Delays::Binned { origin, distances } => distances.push(delay.saturating_sub(*origin)),
        }
    }

    /// Calls `take` with delays and how often each occurred.
    pub fn for_each(&self, mut take: impl FnMut(Nanos, u64)) {
        match self {
            Delays::Exact(delays) => delays.iter().for_each(|&delay| take(delay, 1)),
            Delays::Binned { origin, distances } => {
                let bins = distances.iter();
                bins.for_each(|(distance, count)| take(origin.saturating_add(distance), count));
            }
        }
    }

    /// How many lie beyond `bound`.
    pub fn count_beyond(&self, bound: Nanos) -> u64 {
        let mut beyond = 0;
        self.for_each(|delay, count| beyond += if delay > bound { count } else { 0 });
        beyond
    }
}

/// The median, or the value above it; 0 of none.
fn middle(mut delays: Vec<Nanos>) -> Nanos {
    delays.sort_unstable();
    delays.get(delays.len() / 2).copied().unwrap_or(0)
}

/// What happened in one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// When its first packet was due: time in the panel's trials, end to end.
    pub first: Nanos,
    /// When its last packet was due.
    pub last: Nanos,
    /// The least and the largest delay; `None` where nothing was answered.
    pub range: Option<(Nanos, Nanos)>,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets that were not.
    pub unanswered: u64,
}

impl Bucket {
    fn new(t: Nanos, delay: Option<Nanos>) -> Self {
        Self {
            first: t,
            last: t,
            range: delay.map(|delay| (delay, delay)),
            answered: u64::from(delay.is_some()),
            unanswered: u64::from(delay.is_none()),
        }
    }

    /// Both together: extremes stay extremes.
    #[must_use]
    pub fn and(&self, other: &Bucket) -> Bucket {
        Bucket {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            range: both_ranges(self.range, other.range),
            answered: self.answered + other.answered,
            unanswered: self.unanswered + other.unanswered,
        }
    }
}

/// The range that holds both.
pub fn both_ranges(
    one: Option<(Nanos, Nanos)>,
    other: Option<(Nanos, Nanos)>,
) -> Option<(Nanos, Nanos)> {
    match (one, other) {
        (Some((low, high)), Some((l, h))) => Some((low.min(l), high.max(h))),
        (known, unknown) => known.or(unknown),
    }
}

/// Stretches of equal length; twice as long each time that there are too many.
#[derive(Debug, Clone, PartialEq)]
struct Series {
    width: Nanos,
    buckets: BTreeMap<Nanos, Bucket>,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            width: MICROSECOND,
            buckets: BTreeMap::new(),
        }
    }
}

impl Series {
    fn push(&mut self, t: Nanos, delay: Option<Nanos>, most: usize) {
        add(
            &mut self.buckets,
            t.div_euclid(self.width),
            Bucket::new(t, delay),
        );
        while self.buckets.len() > most {
            self.width = self.width.saturating_mul(2);
            for (index, bucket) in std::mem::take(&mut self.buckets) {
                add(&mut self.buckets, index.div_euclid(2), bucket);
            }
        }
    }
}

fn add(buckets: &mut BTreeMap<Nanos, Bucket>, index: Nanos, bucket: Bucket) {
    let place = buckets.entry(index);
    place
        .and_modify(|there| *there = there.and(&bucket))
        .or_insert(bucket);
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::noise::NoiseKind;
    use delaylab_model::record::Outcome;
    use delaylab_model::{MILLISECOND, SECOND};
    use proptest::prelude::*;

    fn record(seq: u64, t: Nanos, round_trip: Option<Nanos>) -> Record {
        let mut record = Record::due(0, 0, seq, Method::Udp, t);
        record.t_send = Some(t);
        record.outcome = Outcome::Lost;
        if let Some(delay) = round_trip {
            record.t_recv = Some(t + delay);
            record.outcome = Outcome::Ok;
        }
        record
    }

    fn sketch(records: &[(Nanos, Option<Nanos>)]) -> Sketch {
        let mut sketch = Sketch::new(ShownDelay::RoundTrip, Room::default());
        for (seq, &(t, delay)) in (0..).zip(records) {
            sketch.push(&record(seq, t, delay), Disturbance::default());
        }
        sketch
    }

    #[test]
    fn what_is_under_way_at_the_end_is_no_loss() {
        let mut sketch = sketch(&[(0, Some(MILLISECOND)), (MILLISECOND, None)]);
        let unanswered = |sketch: &Sketch| {
            let buckets = sketch.shown().series();
            buckets.map(|it| it.unanswered).sum::<u64>()
        };
        assert_eq!(unanswered(&sketch), 1);
        let mut under_way = record(2, 2 * MILLISECOND, None);
        under_way.outcome = Outcome::Skipped;
        sketch.push(&under_way, Disturbance::default());
        assert_eq!(unanswered(&sketch), 1);
    }

    #[test]
    fn of_many_panels_each_keeps_less() {
        assert_eq!(Room::among(1), Room::WHOLE);
        assert_eq!(Room::among(ROOMY), Room::WHOLE);
        let many = Room::among(5_000);
        let records: Vec<_> = (0..20_000).map(|k| (k * MILLISECOND, Some(k))).collect();
        let mut sketch = Sketch::new(ShownDelay::RoundTrip, many);
        for (seq, &(t, delay)) in (0..).zip(&records) {
            sketch.push(&record(seq, t, delay), Disturbance::default());
        }
        assert!(sketch.shown().series().count() <= 64);
        assert!(matches!(sketch.shown().delays, Delays::Binned { .. }));
        let packets: u64 = sketch.shown().series().map(|bucket| bucket.answered).sum();
        assert_eq!(packets, 20_000);
    }

    #[test]
    fn many_delays_keep_their_distances() {
        let mut delays = Delays::default();
        let origin = 163 * MILLISECOND;
        (0..200_000).for_each(|k| delays.push(origin + k % 1_000, 10_000));
        assert!(matches!(delays, Delays::Binned { .. }));
        let mut counted = 0;
        delays.for_each(|delay, count| {
            assert!((origin..origin + 1_001).contains(&delay), "{delay}");
            counted += count;
        });
        assert_eq!(counted, 200_000);
        assert_eq!(delays.count_beyond(origin + 499), 100_000);
    }

    /// It may wait for an address to be resolved, or for a cold cache.
    #[test]
    fn a_slow_first_packet_does_not_hide_how_the_others_differ() {
        let usual = 200 * MICROSECOND;
        let mut delays = Delays::default();
        delays.push(usual + 3 * MILLISECOND, 10_000);
        (0..20_000).for_each(|k| delays.push(usual + k % 1_000, 10_000));
        let (mut distinct, mut error) = (0, 0);
        delays.for_each(|delay, _| {
            distinct += 1;
            let is_usual = delay < 2 * usual;
            error = error.max(if is_usual { delay - usual - 999 } else { 0 });
        });
        assert!(distinct > 500, "{distinct}");
        assert!(error <= 1, "{error}");
        assert_eq!(delays.count_beyond(usual + 499), 10_001);
    }

    #[test]
    fn trials_stand_end_to_end() {
        let mut time = EndToEnd::default();
        let mut at = |trial, t| {
            let record = Record::due(trial, 0, 0, Method::Udp, t);
            time.due(&record)
        };
        assert_eq!([at(0, 5_000), at(0, 5_100), at(0, 5_050)], [0, 100, 50]);
        assert_eq!([at(1, 9_000), at(1, 9_010)], [100, 110]);
        assert_eq!(at(2, 0), 110, "a simulated trial begins at zero again");
    }

    #[test]
    fn noise_after_the_last_packet_is_not_drawn_into_the_next_trial() {
        let mut sketch = Sketch::new(ShownDelay::RoundTrip, Room::default());
        for (trial, begins) in [(0, 0), (1, 100 * SECOND)] {
            for t in [0, SECOND] {
                let packet = Record::due(trial, 0, 0, Method::Udp, begins + t);
                sketch.push(&packet, Disturbance::default());
            }
        }
        for (t, marks) in [(0, 1), (SECOND / 2, 2), (SECOND, 3), (3 * SECOND / 2, 3)] {
            sketch.disturbed(&NoiseEvent {
                trial: 0,
                start: t,
                length: 30 * MILLISECOND,
                cpu: None,
                kind: NoiseKind::SentinelGap,
                who: None,
                pid: None,
                preempted: None,
            });
            assert_eq!(sketch.marks().count(), marks, "{t}");
        }
    }

    proptest! {
        // More stretches than are kept in half of the cases.
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn nothing_is_lost_over_time(
            mut records in prop::collection::vec((0..10_000 * MILLISECOND, prop::option::of(1..MILLISECOND)), 1..2 * Room::WHOLE.buckets),
        ) {
            records.sort_unstable();
            let sketch = sketch(&records);
            let every: Vec<_> = sketch.shown().series().collect();
            prop_assert!(every.len() <= Room::WHOLE.buckets);
            let answered = records.iter().filter_map(|(_, delay)| *delay);
            let largest = every.iter().filter_map(|bucket| Some(bucket.range?.1)).max();
            let least = every.iter().filter_map(|bucket| Some(bucket.range?.0)).min();
            prop_assert_eq!(largest, answered.clone().max());
            prop_assert_eq!(least, answered.clone().min());
            let packets: u64 = every.iter().map(|b| b.answered + b.unanswered).sum();
            prop_assert_eq!(packets, records.len() as u64);
            for pair in every.windows(2) {
                prop_assert!(pair[0].last < pair[1].first, "in order and apart");
            }
        }
    }

    proptest! {
        #[test]
        fn the_worst_are_kept(delays in prop::collection::vec(1..MILLISECOND, 1..800), bound in 1..MILLISECOND) {
            let records: Vec<_> = (0..).zip(&delays).map(|(t, &delay)| (t, Some(delay))).collect();
            let sketch = sketch(&records);
            let sketch = sketch.shown();
            let mut expected: Vec<_> = delays.iter().copied().filter(|&delay| delay > bound).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(sketch.delays.count_beyond(bound), expected.len() as u64);
            expected.truncate(WORST);
            let kept: Vec<_> = sketch.excursions(bound).iter().map(|e| e.delay).collect();
            prop_assert_eq!(kept, expected);
        }
    }
}
