//! What a run cannot identify: why not, and what would.

use super::Calibration;
use super::limiter::Limiter;
use super::line::Estimate;
use super::passage::Ways;
use super::probes::Differing;
use super::queue::Order;
use super::run_trials::{ProbeStream, RunTrials};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::units::{format_duration_f64, format_share};
use delaylab_model::words::either;
use schemars::JsonSchema;
use serde::Serialize;

/// Slopes of the two ways that differ by more are those of two kinds of links.
const SAME: f64 = 0.05;

/// Something that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// What is not known.
    pub what: &'static str,
    /// Why, as a sentence.
    #[serde(rename = "reason")]
    pub why: String,
    /// What would identify it, as a sentence; empty where nothing here does.
    pub remedy: &'static str,
    /// The model has an assumption in its place, and another would fit what was measured too.
    pub assumed: bool,
}

impl Unknown {
    /// It leaves something out, but the model assumes nothing in its place that changes what it does.
    const fn harmless(mut self) -> Self {
        self.assumed = false;
        self
    }
}

const RUN: &str = "`delaylab run calibration` has such trials.";

/// Everything that the trials leave open.
pub(super) fn list(seen: &RunTrials, found: &Calibration) -> Vec<Unknown> {
    let lists = [
        no_sweep(seen, found),
        differing(found),
        one_sum(found),
        no_stamps(found),
        random_loss(seen),
        no_overflow(seen, found),
        where_lines_are(found),
        slower_there(found),
        link_or_shaper(found),
        line_or_ceiling(found),
        burst(found),
        buffer(found),
        discipline(found),
    ];
    lists.into_iter().flatten().collect()
}

fn unknown(what: &'static str, why: impl Into<String>, remedy: &'static str) -> Option<Unknown> {
    Some(Unknown {
        what,
        why: why.into(),
        remedy,
        assumed: true,
    })
}

fn no_sweep(seen: &RunTrials, found: &Calibration) -> Option<Unknown> {
    const WHAT: &str = "delay without load, and the hosts' costs";
    if found.forward.is_some() {
        return None;
    }
    if found.trials[0] == 0 {
        return unknown(WHAT, "No trial is without load and without loss.", RUN);
    }
    let unloaded = seen.usable().filter(|trial| trial.is_unloaded());
    let packets = unloaded
        .flat_map(|trial| &trial.streams)
        .flat_map(|stream| stream.records.iter().map(move |record| (stream, record)));
    let answered: Vec<_> = packets.filter(|(_, record)| record.answered()).collect();
    let none_has = |stamp: fn(&ProbeStream, &Record) -> Option<Nanos>| {
        !answered.is_empty()
            && answered
                .iter()
                .all(|(stream, record)| stamp(stream, record).is_none())
    };
    // Which needs the other.
    if none_has(ProbeStream::network) {
        let which = match none_has(ProbeStream::sent) {
            true => "left this host",
            false => "were in the network: one of their stamps is missing",
        };
        return unknown(
            WHAT,
            format!("Nothing says when packets {which}."),
            "`delaylab doctor` says what this host can stamp, and by what interfaces and methods.",
        );
    }
    let why = "Trials without load have packets of one size alone, or fewer than 20 of each.";
    unknown(WHAT, why, RUN)
}

fn differing(found: &Calibration) -> Option<Unknown> {
    let Differing {
        taken,
        probes: [fast, slow],
        size,
        takes,
    } = found.differing.as_ref()?;
    let [fast_takes, slow_takes] = takes.map(format_duration_f64);
    unknown(
        "the probes' lines",
        format!(
            "They differ: at {size} B on the wire {fast} takes {fast_takes} and {slow} {slow_takes}. Minimum delay and \
             model are those of {taken}, for all probes. What stood before a packet is not known: no buffer and no \
             discipline."
        ),
        "Probes between the same two hosts.",
    )
}

fn one_sum(found: &Calibration) -> Option<Unknown> {
    if found.ways == Ways::Apart {
        return None;
    }
    unknown(
        "the two directions",
        "The reflector's stamps are not on this host's clock: only the sum of there and back is known. Loss and \
         waiting are taken to be on the way there.",
        "Use delaylab's reflector with method udp or stamp, on a host whose clock is known to a bound of 20 µs.",
    )
}

fn no_stamps(found: &Calibration) -> Option<Unknown> {
    found.forward.as_ref()?;
    let lines = found.hosts.lines();
    let missing = lines
        .iter()
        .filter(|(_, line)| line.is_none())
        .map(|(name, _)| *name);
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return None;
    }
    unknown(
        "some of the hosts' costs",
        format!("No stamps tell what these cost: {}.", missing.join("; ")),
        "delaylab's reflector stamps at both of its ends; `delaylab doctor` says what this host can stamp.",
    )
}

fn no_overflow(seen: &RunTrials, found: &Calibration) -> Option<Unknown> {
    if found.rate.is_some() {
        return None;
    }
    if let Some(sent) = nothing_came_back(seen) {
        return unknown(
            "rate, buffer and discipline",
            format!("Nothing came back: all {sent} packets were lost."),
            "`delaylab ping` and `delaylab trace` to the same target: does it answer, and how far do packets come?",
        );
    }
    let loaded = seen.usable().any(|trial| trial.loads > 0);
    let mut why = match (found.trials[1], loaded) {
        (0, _) if lost_at_random(seen).is_some() => {
            "What was lost does not depend on what waits, so no buffer overflowed."
        }
        (0, true) => "When each packet of a [[load]] came out is not known, and no probe overflowed the buffer.",
        (0, false) => "No trial lost so much that a buffer must have overflowed.",
        _ => "The probes that lost packets never kept the bottleneck busy.",
    }
    .to_owned();
    // All of it may be the way there's.
    let slope = found.forward.as_ref().map(|line| line.slope.value);
    if let Some(slope) = slope.filter(|slope| *slope > 0.0) {
        let least = 8e3 / slope;
        why += &format!(" No link on the way is slower than {least:.3} Mbit/s, by the slope.");
    }
    unknown("rate, buffer and discipline", why, RUN)
}

fn random_loss(seen: &RunTrials) -> Option<Unknown> {
    let share = lost_at_random(seen)?;
    unknown(
        "random loss",
        format!(
            "{} of the packets are lost, whether others wait or not. The model loses none of them.",
            format_share(share)
        ),
        "",
    )
}

/// Share of the packets lost in trials that lose at random; `None` where none does.
fn lost_at_random(seen: &RunTrials) -> Option<f64> {
    let random = seen.usable().filter(|trial| trial.random_loss);
    let streams: Vec<&ProbeStream> = random.flat_map(|trial| &trial.streams).collect();
    let sent: usize = streams.iter().map(|stream| stream.sent_count()).sum();
    let lost: usize = streams.iter().map(|stream| stream.lost()).sum();
    (sent > 0).then(|| lost as f64 / sent as f64)
}

/// How many packets were sent, where all of them were lost.
fn nothing_came_back(seen: &RunTrials) -> Option<usize> {
    let streams = || seen.usable().flat_map(|trial| &trial.streams);
    let sent: usize = streams().map(ProbeStream::sent_count).sum();
    let lost: usize = streams().map(ProbeStream::lost).sum();
    (sent > 0 && lost == sent).then_some(sent)
}

const DIFFER: &str = "links that differ by direction";

/// The way back of a link, where only the sum of both ways is known: twice its own is the least that two of its kind have.
fn slower_there(found: &Calibration) -> Option<Unknown> {
    let byte = found.rate.as_ref()?.ns_per_byte.value;
    let both = found.forward.as_ref()?.slope.value;
    let is_link = matches!(found.limiter, Some(Limiter::Link));
    if found.ways == Ways::Apart || !is_link || both >= 2.0 * (1.0 - SAME) * byte {
        return None;
    }
    let why = format!(
        "A byte takes {both:.1} ns there and back, less than {byte:.1} ns twice. The model's links are the same both ways."
    );
    unknown(DIFFER, why, "")
}

fn where_lines_are(found: &Calibration) -> Option<Unknown> {
    let [there, back] = [found.forward.as_ref()?.slope, found.back.as_ref()?.slope];
    if may_be_the_same(there, back) {
        return None;
    }
    let [there, back] = [there.value, back.value];
    // Compared with what the bottleneck takes for a byte, lines that take next to nothing do not differ.
    let byte = found
        .rate
        .as_ref()
        .map_or(0.0, |rate| rate.ns_per_byte.value);
    if (there - back).abs() <= SAME * there.abs().max(byte) {
        return None;
    }
    unknown(
        DIFFER,
        format!(
            "A byte takes {there:.1} ns there and {back:.1} ns back. The model's links are the same both ways."
        ),
        "",
    )
}

/// Have their intervals something in common?
fn may_be_the_same(a: Estimate, b: Estimate) -> bool {
    let [a, b] = [a, b].map(|one| one.interval.unwrap_or((one.value, one.value)));
    a.0 <= b.1 && b.0 <= a.1
}

fn link_or_shaper(found: &Calibration) -> Option<Unknown> {
    found.rate.as_ref()?;
    let why = match found.verdict {
        Some(verdict) if verdict.is_open => format!(
            "Without load a byte takes {} of its time at the rate, with an interval that allows for both a link \
             and a token bucket.",
            format_share(verdict.share)
        ),
        None if found.differing.is_some() => {
            "The flood's minimum delay is not that of the other probes.".to_owned()
        }
        None if found.limiter.is_none() => {
            "Nothing is known of how the minimum delay depends on size.".to_owned()
        }
        _ => return None,
    };
    unknown(
        "a link or a shaper",
        why,
        "Packets of more sizes without load, or more of each.",
    )
}

/// Both let the burst pass faster than what follows it.
fn line_or_ceiling(found: &Calibration) -> Option<Unknown> {
    let line = found.bucket()?.line?.on_the_wire;
    let why = format!(
        "After a rest packets left at {:.3} Mbit/s on the wire, which the slope allows a line. The model has a line of that \
         rate; a ceiling of the shaper on a faster line would look the same.",
        8e3 / line
    );
    unknown("a line or a ceiling", why, "")
}

fn burst(found: &Calibration) -> Option<Unknown> {
    if found.bucket()?.burst.is_some() {
        return None;
    }
    unknown(
        "burst",
        "No packet that waited was seen after a rest.",
        "A rest before each flood, longer than the burst takes at the rate.",
    )
}

fn buffer(found: &Calibration) -> Option<Unknown> {
    found.rate.as_ref().filter(|_| found.differing.is_none())?;
    if matches!(found.limiter, Some(Limiter::Policer(_))) {
        return None;
    }
    match &found.buffer {
        None => unknown(
            "buffer",
            "Fewer than 20 packets were dropped.",
            "More load, or a longer trial.",
        ),
        Some(buffer) if buffer.drops_early() => unknown(
            "buffer",
            format!(
                "It drops before it is full: for {} of what was dropped there was room. It holds {} or more.",
                format_share(buffer.early),
                buffer.amount(buffer.between.0)
            ),
            "A flood too short for the queue's control to act: some milliseconds at several times the rate.",
        ),
        Some(_) => None,
    }
}

/// A queue with tail drop has a limit that tells what it took from what it dropped. CoDel has none.
fn fifo_or_codel(found: &Calibration) -> Option<Unknown> {
    let contradicted = found.buffer.filter(|buffer| buffer.is_contradicted());
    let why = "A flood that does not listen fills a CoDel queue too, until it drops often enough.";
    let why = contradicted.map_or_else(
        || why.to_owned(),
        |buffer| {
            let share = format_share(buffer.contradict);
            format!(
                "{why} {share} of the packets contradict the limit of a FIFO. The model takes fifo."
            )
        },
    );
    let open = unknown(
        "FIFO or CoDel in its first seconds",
        why,
        "Longer trials, or TCP during the probes: CoDel keeps the delay near its target of 5 ms.",
    );
    match contradicted {
        Some(_) => open,
        None => open.map(Unknown::harmless),
    }
}

/// The disciplines that do what was seen, and which of them the model has.
fn open(found: &Calibration) -> String {
    let candidates = found.candidates();
    format!(
        "Not distinguished by this run: {}; delays differ among them. The model takes {}.",
        either(candidates),
        candidates.first().unwrap_or(&"fifo")
    )
}

fn discipline(found: &Calibration) -> Option<Unknown> {
    found.rate.as_ref().filter(|_| found.differing.is_none())?;
    if matches!(found.limiter, Some(Limiter::Policer(_))) {
        return None;
    }
    let early = found.buffer.is_some_and(|buffer| buffer.drops_early());
    let Some(queue) = &found.queue else {
        return unknown(
            "discipline",
            "Too few packets of other flows met a queue: a single flow looks the same in all.",
            "A second probe during the flood, from a host or port of its own.",
        );
    };
    match (queue.order, early) {
        (Order::First, false) => fifo_or_codel(found),
        (Order::First, true) => unknown(
            "CoDel, RED or PIE",
            format!("One queue that drops early. {}", open(found)),
            "TCP during the probes, and the delay at several loads.",
        ),
        (Order::PerFlow, _) => unknown(
            "which fair queue",
            open(found),
            "Several floods at once, of different packet sizes and classes: how they share tells.",
        ),
        (Order::Classes, _) => {
            let [least, most] = queue.of_flows.map(format_share);
            unknown(
                "priority, or a queue for each class",
                format!(
                    "Packets of one flow wait for {most} of what stands before them, those of another for {least}. {}",
                    open(found)
                ),
                "Several floods at once, of different classes: how they share tells.",
            )
        }
        (Order::Neither, _) => unknown(
            "discipline",
            format!(
                "Packets of other flows wait for {} of what stands before them: neither one queue nor one a flow.",
                format_share(queue.waited_for)
            ),
            "",
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::buffer::{Buffer, Counts};
    use super::super::line::Line;
    use super::super::queue::Queue;
    use super::super::rate::Rate;
    use super::*;
    use crate::calibrate::calibrate;
    use crate::calibrate::overlay::groups;
    use crate::calibrate::run_trials::Trial;
    use delaylab_model::method::Method;
    use delaylab_model::path::Framing;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::{RecordFacts, ReflectorClock};

    /// A link of 10 Mbit/s with a queue of which this was seen.
    fn found(order: Order, early: f64, contradict: f64) -> Calibration {
        Calibration {
            rate: Some(Rate {
                ns_per_byte: Estimate {
                    value: 800.0,
                    interval: None,
                },
                busy: 1e9,
                bytes: 1.25e6,
            }),
            limiter: Some(Limiter::Link),
            buffer: Some(Buffer {
                counts: Counts::Bytes,
                between: (63_990.0, 64_010.0),
                interval: (62_500.0, 65_500.0),
                packets: [12_000, 4_000],
                contradict,
                early,
            }),
            queue: Some(Queue {
                order,
                waited_for: 1.0,
                of_flows: [1.0, 1.0],
                packets: 100,
            }),
            ..calibrate(&RunTrials::default())
        }
    }

    #[test]
    fn a_limit_that_many_contradict_is_no_certain_fifo() {
        let certain = found(Order::First, 0.0, 0.05);
        assert!(!discipline(&certain).unwrap().assumed);
        assert_eq!(certain.candidates(), ["fifo"]);
        let contradicted = found(Order::First, 0.0, 0.24);
        let open = discipline(&contradicted).unwrap();
        assert!(
            open.assumed && open.why.contains("24 % of the packets contradict"),
            "{open:?}"
        );
        assert_eq!(contradicted.candidates(), ["fifo", "codel"]);
    }

    #[test]
    fn directions_differ_where_their_intervals_do() {
        let line = |slope: f64, half: f64| Line {
            constant: Estimate {
                value: 90.0,
                interval: None,
            },
            slope: Estimate {
                value: slope,
                interval: Some((slope - half, slope + half)),
            },
            r2: 0.01,
            farthest: 12.0,
            points: Vec::new(),
            packets: 100,
        };
        let differ = |there: Line, back: Line| {
            where_lines_are(&Calibration {
                forward: Some(there),
                back: Some(back),
                ..calibrate(&RunTrials::default())
            })
        };
        // Loopback: a byte takes next to nothing.
        assert_eq!(differ(line(-0.001, 0.004), line(0.001, 0.004)), None);
        assert_eq!(differ(line(800.0, 50.0), line(890.0, 50.0)), None);
        let open = differ(line(800.0, 5.0), line(890.0, 5.0)).unwrap();
        assert!(
            open.why.contains("800.0 ns there and 890.0 ns back"),
            "{open:?}"
        );
    }

    /// A trial of which each packet ended so.
    fn trial(outcomes: &[Outcome]) -> Trial {
        let record = |&outcome: &Outcome| Record {
            outcome,
            ..Record::due(0, 0, 0, Method::Udp, 0)
        };
        let stream = ProbeStream {
            probe: "echo".to_owned(),
            method: Method::Udp,
            facts: RecordFacts::default(),
            warmup: 0,
            records: outcomes.iter().map(record).collect(),
        };
        Trial {
            factors: Vec::new(),
            loads: 0,
            flawed: false,
            random_loss: false,
            streams: vec![stream],
        }
    }

    /// A closed port refuses every packet: none of them was answered either. What this host did not send was not lost.
    #[test]
    fn a_run_without_an_answer_says_so() {
        for outcome in [Outcome::Lost, Outcome::Refused] {
            let outcomes = [vec![outcome; 30], vec![Outcome::LocalError; 5]].concat();
            let answered = Trial {
                flawed: true,
                ..trial(&[Outcome::Ok])
            };
            let seen = RunTrials {
                framing: Framing::Ethernet,
                trials: vec![trial(&outcomes), answered],
            };
            let said = calibrate(&seen).unknown;
            let open = said.iter().find(|one| one.what.starts_with("rate"));
            assert!(
                open.unwrap().why.contains("all 30 packets were lost"),
                "{said:?}"
            );
        }
    }

    #[test]
    fn packets_that_were_not_sent_are_none_of_those_lost() {
        let outcomes = [
            vec![Outcome::Ok; 80],
            vec![Outcome::Lost; 15],
            vec![Outcome::Refused; 5],
            vec![Outcome::LocalError; 100],
        ];
        let seen = RunTrials {
            framing: Framing::Ethernet,
            trials: vec![trial(&outcomes.concat())],
        };
        assert!(seen.trials[0].overflows() && !seen.trials[0].is_unloaded());
        assert_eq!(groups(&seen)[0].packets, [100, 20]);
    }

    /// Of what is left out nothing is taken, not even what cannot be known of it.
    #[test]
    fn flawed_trials_hide_nothing_of_the_others() {
        let known = |clock: ReflectorClock, flawed: bool| {
            let mut one = trial(&[Outcome::Ok]);
            one.streams[0].facts.reflector_clock = clock;
            Trial { flawed, ..one }
        };
        let ways = |flawed: bool| {
            let trials = vec![
                known(ReflectorClock::Same, false),
                known(ReflectorClock::None, flawed),
            ];
            calibrate(&RunTrials::from_trials(Framing::Ethernet, trials)).ways
        };
        assert_eq!(ways(true), Ways::Apart);
        assert_eq!(ways(false), Ways::Together);
    }

    #[test]
    fn a_buffer_that_counts_packets_is_said_in_packets() {
        let mut found = found(Order::First, 0.9, 0.0);
        found.buffer = found.buffer.map(|buffer| Buffer {
            counts: Counts::Packets,
            between: (120.0, 121.0),
            ..buffer
        });
        let open = buffer(&found).unwrap();
        assert!(
            open.why.ends_with("It holds 120 packets or more."),
            "{open:?}"
        );
    }

    #[test]
    fn one_queue_that_drops_early_is_not_only_codel() {
        let found = found(Order::First, 0.9, 0.0);
        let open = discipline(&found).unwrap();
        assert!(open.assumed, "{open:?}");
        assert!(
            open.why
                .contains("Not distinguished by this run: codel, red or pie;"),
            "{open:?}"
        );
        assert!(open.why.ends_with("The model takes codel."), "{open:?}");
    }

    #[test]
    fn fair_queues_are_not_said_to_do_the_same() {
        for (early, taken) in [(0.0, "per-flow"), (0.9, "fq-codel")] {
            let found = found(Order::PerFlow, early, 0.0);
            let open = discipline(&found).unwrap();
            assert!(open.assumed && !open.why.contains("the same"), "{open:?}");
            assert!(
                open.why.ends_with(&format!("The model takes {taken}.")),
                "{open:?}"
            );
            for candidate in found.candidates() {
                assert!(open.why.contains(candidate), "{candidate}: {open:?}");
            }
        }
    }
}
