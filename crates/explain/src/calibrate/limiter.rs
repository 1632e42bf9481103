//! What limits the bottleneck: a link that sends each packet at its rate, a token bucket that holds what waits, or a
//! policer that drops and holds nothing.
//!
//! A link takes as much longer for a larger packet as its rate says, also without load; through a bucket that is full a packet
//! passes at once, whatever its size. So the slope of the minimum delay in size, compared with the rate under
//! overflow, tells a link from a shaper, unless other links have as much: then what passed at once after a rest does, which is
//! a packet before a link and the burst before a shaper. Where lines are slow the burst passes at the line's rate: a shaper's
//! packets then leave faster at first than later, which those of a link never do. A policer loses packets while those that it
//! takes wait for nothing.

use super::Calibration;
use super::buffer::{Buffer, Counts};
use super::line::{Estimate, Line};
use super::passage::{Overflow, Passage, Ways};
use super::rate::Rate;
use delaylab_model::path::Framing;

/// From this share of the rate's time for a byte on, the slope is that of a link with this rate.
const LINK: f64 = 0.9;
/// Below it is taken to be a shaper's where the interval leaves both open.
const BETWEEN: f64 = 0.6;
/// More of the largest packets than this pass no link at once after a rest.
const AT_ONCE_BY_A_LINK: f64 = 2.0;
/// A packet that a policer takes waits for less than this share of the largest packet's time; in a queue that overflows
/// three of four wait longer than one.
const AT_ONCE: f64 = 0.25;
/// What the kernel counts of an Ethernet frame beyond the IP packet: its header.
const HEADER: f64 = 14.0;
/// What [`super::line::on_the_wire`] adds to an IP packet in such a frame.
const ETHERNET: f64 = 38.0;

/// What limits the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limiter {
    /// A link: it sends every packet at its rate.
    Link,
    /// A token bucket with a queue.
    Shaper(Bucket),
    /// A token bucket without one.
    Policer(Bucket),
}

impl Limiter {
    /// The name in words and in documents.
    pub const fn name(&self) -> &'static str {
        match self {
            Limiter::Link => "link",
            Limiter::Shaper(_) => "shaper",
            Limiter::Policer(_) => "policer",
        }
    }
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bucket {
    /// Bytes that pass at once after a rest. `None`: never seen.
    pub burst: Option<Estimate>,
    /// A second bucket, at whose rate packets leave until the first is empty.
    pub ceiling: Option<Ceiling>,
    /// The line behind the bucket, where packets left at its rate until the bucket was empty.
    pub line: Option<LineRate>,
}

/// The rate of a line behind a bucket, in nanoseconds a byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineRate {
    /// A byte that the bucket counts.
    pub counted: f64,
    /// A byte on the wire.
    pub on_the_wire: f64,
}

/// The higher of two rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// Nanoseconds a byte.
    pub ns_per_byte: f64,
    /// Bytes that pass at once.
    pub burst: f64,
}

impl Ceiling {
    /// In bits a second.
    pub fn bits_per_second(&self) -> f64 {
        8e9 / self.ns_per_byte
    }
}

/// Which kind it is, and whether the run tells it for certain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The likelier of both.
    pub is_link: bool,
    /// It could be either.
    pub is_open: bool,
    /// The slope as a share of what a byte takes at the rate.
    pub share: f64,
}

impl Verdict {
    /// By the minimum delay's slope, and the rate under overflow. `None` without a line.
    pub(super) fn by_slope(forward: Option<&Line>, ways: Ways, rate: &Rate) -> Option<Self> {
        let slope = forward?.slope;
        let all = |slope: f64| slope / rate.ns_per_byte.value;
        let value = ways.there() * all(slope.value);
        let (low, high) = slope.interval.unwrap_or((slope.value, slope.value));
        let (low, high) = (ways.least_there() * all(low), all(high));
        let is_open = high >= LINK && (low < BETWEEN || (BETWEEN..LINK).contains(&value));
        Some(Self {
            is_link: value >= if is_open { BETWEEN } else { LINK },
            is_open,
            share: value,
        })
    }

    /// The same where the slope leaves room for a link, by what passed at once after a rest.
    pub(super) fn by_burst(self, ways: Ways, overflows: &[Overflow], rate: &Rate) -> Self {
        if !self.is_link && !self.is_open {
            return self;
        }
        let most = AT_ONCE_BY_A_LINK * packet(overflows);
        // A bucket is empty when the first packet waits. What a rate that varies adds comes with later ones.
        let each = departures(overflows, rate);
        let within = |first| burst(&each, first, packet(overflows))?.interval;
        let Some((early, later)) = within(FIRST_DEPARTURES).zip(within(DEPARTURES)) else {
            return self;
        };
        let (low, high) = (early.0.min(later.0), early.1.min(later.1));
        if low > most {
            return self.decided(false);
        }
        // Of a line of the way there alone, the slope says as much.
        match ways == Ways::Together && high <= 2.0 * most {
            true => self.decided(true),
            false => self,
        }
    }

    /// The same beyond doubt.
    const fn decided(self, is_link: bool) -> Self {
        Self {
            is_link,
            is_open: false,
            ..self
        }
    }

    /// The same where it may be a link, by whether packets leave faster at first than later, in every trial. `counted`: with
    /// packets as large as a bucket counts them.
    pub(super) fn by_rates(self, counted: &[Overflow]) -> Self {
        let late = Rate::late(counted).filter(|_| self.is_link || self.is_open);
        let is_shaper = late.is_some_and(|late| {
            let mut each = counted.iter();
            each.all(|overflow| rise(overflow, &late, 0.0).is_some())
        });
        match is_shaper {
            true => self.decided(false),
            false => self,
        }
    }
}

/// Bytes of each packet on the wire that a token bucket does not count.
pub(super) fn uncounted(framing: Framing) -> f64 {
    match framing {
        Framing::Ethernet => ETHERNET - HEADER,
        Framing::Aal5 | Framing::Aal5Llc | Framing::Ppp => 0.0,
    }
}

impl Overflow {
    /// The same with packets as large as a bucket counts them.
    pub(super) fn counted(&self, less: f64) -> Self {
        let mut counted = self.clone();
        for passage in &mut counted.passages {
            passage.wire -= less;
        }
        counted.least[0] += less * counted.least[1];
        counted
    }

    /// What passed from the first loss to the last, and its nanoseconds a byte.
    fn between_losses(&self) -> Option<(f64, Vec<&Passage>)> {
        let mut lost = self.passages.iter().filter(|one| one.out.is_none());
        let first = lost.next()?.sent;
        let last = lost.next_back()?.sent;
        let within = |passage: &&Passage| (first..last).contains(&passage.sent);
        let taken = self.passages.iter().filter(|one| one.out.is_some());
        let taken: Vec<&Passage> = taken.filter(within).collect();
        let bytes: f64 = taken.iter().map(|passage| passage.wire).sum();
        Some(((last - first) / bytes, taken))
    }

    /// Does it lose packets although those that pass do not wait? Their bytes over the time from the first loss to
    /// the last.
    fn policed(&self) -> Option<f64> {
        let (byte, taken) = self.between_losses()?;
        let largest = super::largest(self.passages.iter());
        let mut waits: Vec<f64> = taken.iter().filter_map(|one| self.waited(one)).collect();
        waits.sort_by(f64::total_cmp);
        let three_quarters = waits.get(waits.len() * 3 / 4)?;
        (*three_quarters < AT_ONCE * largest * byte).then_some(byte)
    }
}

/// Trials of which this share of a rate is tried around the first estimate, and in how many steps each way.
const AROUND: f64 = 0.01;
const STEPS: i32 = 50;

/// A policer's rate and bucket, where every trial that loses packets has one.
pub(super) fn policer(overflows: &[Overflow]) -> Option<(Rate, Bucket)> {
    let rates: Option<Vec<f64>> = overflows.iter().map(Overflow::policed).collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let first = rates.iter().sum::<f64>() / rates.len() as f64;
    let Tried {
        byte,
        rates,
        bucket,
    } = tried(overflows, first).filter(|tried| tried.bucket.explains())?;
    let bytes: f64 = overflows
        .iter()
        .flat_map(|overflow| &overflow.passages)
        .filter(|one| one.out.is_some())
        .map(|one| one.wire)
        .sum();
    let rate = Rate {
        ns_per_byte: Estimate {
            value: byte,
            interval: Some(rates),
        },
        busy: byte * bytes,
        bytes,
    };
    let each = overflows.iter();
    let bucket =
        bucket.spread(each.filter_map(|overflow| bucket_of(std::slice::from_ref(overflow), byte)));
    let burst = Estimate {
        value: bucket.limit(),
        interval: Some(bucket.interval),
    };
    let bucket = Bucket {
        burst: Some(burst),
        ..Bucket::default()
    };
    Some((rate, bucket))
}

/// The rate whose bucket fewest packets contradict.
struct Tried {
    /// In nanoseconds a byte.
    byte: f64,
    /// The least and the most of those that hardly more contradict, and half a step: the rates between are not tried.
    rates: (f64, f64),
    bucket: Buffer,
}

/// Tries rates around this one.
fn tried(overflows: &[Overflow], first: f64) -> Option<Tried> {
    let tried =
        (-STEPS..=STEPS).map(|step| first * (1.0 + AROUND * f64::from(step) / f64::from(STEPS)));
    let each = tried.filter_map(|byte| Some((byte, bucket_of(overflows, byte)?)));
    let all: Vec<(f64, Buffer)> = each.collect();
    let fewest = all
        .iter()
        .map(|(_, one)| one.contradict)
        .fold(1.0, f64::min);
    let within = |most: f64| {
        let within = all.iter().filter(move |(_, one)| one.contradict <= most);
        within.collect::<Vec<_>>()
    };
    let best = within(fewest);
    let &&(byte, bucket) = best.get(best.len() / 2)?;
    let hardly_worse = within(bucket.by_chance());
    let half_a_step = first * AROUND / f64::from(2 * STEPS);
    Some(Tried {
        byte,
        rates: (
            hardly_worse.first()?.0 - half_a_step,
            hardly_worse.last()?.0 + half_a_step,
        ),
        bucket,
    })
}

/// Is there a bucket that tells what passed from what was dropped?
pub(super) fn explained_by_a_bucket(overflow: &Overflow) -> bool {
    let around = overflow.between_losses().map(|(byte, _)| byte);
    let around = around.filter(|byte| byte.is_finite() && *byte > 0.0);
    around
        .and_then(|byte| tried(std::slice::from_ref(overflow), byte))
        .is_some_and(|tried| tried.bucket.explains())
}

/// The bucket that tells what passed from what was dropped: what stood in a queue without a limit at this rate, if it took
/// what passed.
fn bucket_of(overflows: &[Overflow], byte: f64) -> Option<Buffer> {
    let mut found = Vec::new();
    for overflow in overflows {
        let mut level = Level::default();
        let largest = super::largest(overflow.passages.iter());
        for passage in &overflow.passages {
            let stands = level.at(passage.sent, byte);
            found.push(super::backlog::Standing {
                stream: passage.stream,
                flood: passage.stream == overflow.flood,
                wire: passage.wire,
                bytes: stands,
                packets: 0.0,
                waited: passage.out.map(|_| 0.0),
                largest,
            });
            if passage.out.is_some() {
                level.bytes += passage.wire;
            }
        }
    }
    Buffer::counting(&found, Counts::Bytes)
}

/// Bytes that have come and not yet left at a rate: what is missing in a bucket of that rate.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    bytes: f64,
    at: f64,
}

impl Level {
    fn at(&mut self, now: f64, byte: f64) -> f64 {
        self.bytes = (self.bytes - (now - self.at).max(0.0) / byte).max(0.0);
        self.at = self.at.max(now);
        self.bytes
    }
}

/// How much was missing in a shaper's bucket when a packet had waited and left: all of it. Between the two is
/// what stands in the queue.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// When.
    at: f64,
    /// Bytes that were missing beyond those that stood.
    missing: f64,
    /// Bytes that had left.
    left: f64,
    /// And packets.
    packets: f64,
}

/// Departures that tell a bucket's size: later ones differ by what the rate is off by.
const DEPARTURES: usize = 200;
/// The first of them tell whether there is one at all.
const FIRST_DEPARTURES: usize = 20;
/// A packet has waited that is this many of the largest packets' times late.
const WAITED: f64 = 1.0;

fn samples(overflow: &Overflow, byte: f64) -> Vec<Sample> {
    let largest = super::largest(overflow.passages.iter());
    let taken = overflow.passages.iter().filter_map(|passage| {
        let came = passage.sent + overflow.undisturbed(passage.wire);
        Some((came, passage.out?, passage.wire))
    });
    let taken: Vec<(f64, f64, f64)> = taken.collect();
    let came = taken.iter().map(|&(came, _, wire)| (came, wire, None));
    let left = taken
        .iter()
        .map(|&(came, out, wire)| (out.max(came), -wire, Some(out - came)));
    let mut events: Vec<_> = came.chain(left).collect();
    // What comes and leaves at one time comes first.
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut level, mut stands) = (Level::default(), 0.0);
    let (mut gone, mut packets) = (0.0, 0.0);
    let mut samples = Vec::new();
    for (at, wire, waited) in events {
        let missing = level.at(at, byte);
        stands += wire;
        let Some(waited) = waited else {
            level.bytes += wire;
            continue;
        };
        gone -= wire;
        packets += 1.0;
        if waited > WAITED * largest * byte {
            samples.push(Sample {
                at,
                missing: missing - stands,
                left: gone,
                packets,
            });
        }
    }
    samples
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A shaper's rate and bucket. `less`: bytes of each packet on the wire that it does not count.
pub(super) fn shaper(
    overflows: &[Overflow],
    forward: Option<&Line>,
    ways: Ways,
    less: f64,
) -> Option<(Rate, Bucket)> {
    let [all, late] = [Rate::estimate(overflows)?, Rate::late(overflows)?];
    let lines = forward.map_or(0.0, |line| line.slope.value * ways.there());
    if let Some(bucket) = two_rates(overflows, &late, lines, less) {
        return Some((late, bucket));
    }
    let bucket = Bucket {
        burst: burst(&departures(overflows, &all), DEPARTURES, packet(overflows)),
        ..Bucket::default()
    };
    Some((all, bucket))
}

/// What each trial tells of a bucket of this rate.
fn departures(overflows: &[Overflow], rate: &Rate) -> Vec<Vec<Sample>> {
    let each = overflows.iter();
    each.map(|overflow| samples(overflow, rate.ns_per_byte.value))
        .collect()
}

/// Bytes that pass at once after a rest, by the first departures of each trial. `packet`: the largest of all trials.
fn burst(each: &[Vec<Sample>], first: usize, packet: f64) -> Option<Estimate> {
    let missing = |samples: &Vec<Sample>| {
        let first = samples.iter().take(first).map(|one| one.missing);
        median(first.collect())
    };
    largest(each.iter().filter_map(missing), packet)
}

/// The largest packet of all trials.
fn packet(overflows: &[Overflow]) -> f64 {
    let all = overflows.iter().flat_map(|overflow| &overflow.passages);
    super::largest(all)
}

/// The largest of the trials' values: a bucket that was not full when a trial began looks smaller, and so does one before
/// late stamps. It is between them, give or take a packet, since what passes passes whole.
fn largest(each: impl Iterator<Item = f64>, packet: f64) -> Option<Estimate> {
    let mut each: Vec<f64> = each.map(|bytes| bytes.max(0.0)).collect();
    each.sort_by(f64::total_cmp);
    let (least, most) = (*each.first()?, *each.last()?);
    Some(Estimate {
        value: most,
        interval: Some(((least - packet).max(0.0), most + packet)),
    })
}

/// The first of two rates is at least this much above the second, and seen for so many departures.
const HIGHER: f64 = 1.05;
const AT_FIRST: usize = 20;
/// A line takes for a byte no more than all lines together, of which the slope may be off by this share.
const OFF: f64 = 0.01;

/// What waited after a rest left faster than later.
struct Rise {
    /// Nanoseconds a byte at first.
    first: LineRate,
    /// Bytes that pass at once at that rate.
    burst: f64,
    /// The bucket of the lower rate.
    plateau: f64,
}

/// The bucket where packets leave faster at first than later: at the rate of the line, unless all `lines` together take less for
/// a byte; then it is a ceiling.
fn two_rates(overflows: &[Overflow], late: &Rate, lines: f64, less: f64) -> Option<Bucket> {
    let each = overflows.iter();
    let rises: Vec<Rise> = each.filter_map(|one| rise(one, late, less)).collect();
    if rises.len() * 2 <= overflows.len() {
        return None;
    }
    let of_all = |of: fn(&Rise) -> f64| median(rises.iter().map(of).collect());
    let first = LineRate {
        counted: of_all(|rise| rise.first.counted)?,
        on_the_wire: of_all(|rise| rise.first.on_the_wire)?,
    };
    let is_line = first.on_the_wire <= lines * (1.0 + OFF);
    let ceiling = Ceiling {
        ns_per_byte: first.counted,
        burst: of_all(|rise| rise.burst)?.max(0.0),
    };
    Some(Bucket {
        burst: largest(rises.iter().map(|rise| rise.plateau), packet(overflows)),
        ceiling: (!is_line).then_some(ceiling),
        line: is_line.then_some(first),
    })
}

fn rise(overflow: &Overflow, late: &Rate, less: f64) -> Option<Rise> {
    let byte = late.ns_per_byte.value;
    let all = samples(overflow, byte);
    let middle = all.iter().skip(all.len() / 2).take(DEPARTURES);
    let plateau = median(middle.map(|one| one.missing).collect())?;
    let packet = super::largest(overflow.passages.iter());
    let until = all
        .iter()
        .position(|one| one.missing >= plateau - packet)
        .filter(|&until| until >= AT_FIRST)?;
    let (first, last) = (all[0], all[until]);
    let (took, left) = (last.at - first.at, last.left - first.left);
    let counted = took / left;
    if counted * HIGHER > byte {
        return None;
    }
    let at_first = samples(overflow, counted);
    let within = at_first.iter().filter(|one| one.at < last.at);
    Some(Rise {
        first: LineRate {
            counted,
            on_the_wire: took / (left + less * (last.packets - first.packets)),
        },
        burst: median(within.map(|one| one.missing).collect())?,
        plateau,
    })
}

impl Limiter {
    /// The shaper's or the policer's bucket.
    pub const fn bucket(&self) -> Option<&Bucket> {
        match self {
            Self::Shaper(bucket) | Self::Policer(bucket) => Some(bucket),
            Self::Link => None,
        }
    }

    /// Nanoseconds a byte of the higher of two rates, a ceiling's or the line's.
    pub(super) fn first_rate(&self) -> Option<f64> {
        let Bucket { ceiling, line, .. } = self.bucket()?;
        let ceiling = ceiling.map(|ceiling| ceiling.ns_per_byte);
        ceiling.or(line.map(|line| line.counted))
    }
}

impl Calibration {
    /// The shaper's or the policer's bucket.
    pub fn bucket(&self) -> Option<&Bucket> {
        self.limiter.as_ref()?.bucket()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What links carry, there and back together: of a byte there 80 ns.
    fn line() -> Line {
        let known = |value| Estimate {
            value,
            interval: None,
        };
        Line {
            constant: known(0.0),
            slope: known(160.0),
            r2: 1.0,
            farthest: 0.0,
            points: Vec::new(),
            packets: 100,
        }
    }

    /// Packets of 1000 bytes come faster than the links carry: the first 300 leave at this rate, the others at 10 Mbit/s.
    fn flood(first: f64) -> Overflow {
        let mut out = 0.0;
        let passages = (0..600).map(|at| {
            out += 1000.0 * if at < 300 { first } else { 800.0 };
            Passage {
                stream: 0,
                wire: 1000.0,
                sent: f64::from(at) * 40_000.0,
                out: Some(out),
            }
        });
        Overflow {
            passages: passages.collect(),
            flood: 0,
            least: [0.0, 0.0],
            ways: Ways::Together,
        }
    }

    /// A rate that lines may have is no ceiling. Where only the sum of both ways is known, the lines there have half of its slope.
    #[test]
    fn what_a_line_may_carry_is_no_ceiling_whichever_ways_are_known() {
        let found = |first: f64, ways: Ways| {
            let (rate, bucket) = shaper(&[flood(first)], Some(&line()), ways, 0.0).unwrap();
            assert!((rate.ns_per_byte.value - 800.0).abs() < 1.0, "{rate:?}");
            let ceiling = bucket.ceiling.map(|ceiling| ceiling.ns_per_byte.round());
            (ceiling, bucket.line.map(|line| line.counted.round()))
        };
        assert_eq!(found(80.0, Ways::Together), (None, Some(80.0)));
        assert_eq!(found(80.0, Ways::Apart), (None, Some(80.0)));
        assert_eq!(found(160.0, Ways::Together), (Some(160.0), None));
        assert_eq!(found(160.0, Ways::Apart), (None, Some(160.0)));
        assert_eq!(found(200.0, Ways::Apart), (Some(200.0), None));
    }

    /// A link's packets leave at one rate; those that a shaper lets pass at the line's rate after a rest do not.
    #[test]
    fn what_leaves_faster_at_first_is_no_link() {
        let link = Verdict {
            is_link: true,
            is_open: false,
            share: 1.0,
        };
        let shaper = Verdict {
            is_link: false,
            ..link
        };
        for (first, verdict) in [(800.0, link), (720.0, shaper), (560.0, shaper)] {
            let found = link.by_rates(&[flood(first), flood(first)]);
            assert_eq!(found, verdict, "{first}");
        }
        assert_eq!(link.by_rates(&[flood(720.0), flood(800.0)]), link);
    }
}
