//! `owping` and `twping`: summaries, a line a packet (`-v`), and owping's raw packets (`-R`).
//!
//! ```text
//! --- owping statistics from [192.0.2.1]:8915 to [192.0.2.7]:9270 ---
//! SID:    0a012817e00ef46a64d737e862a44f3a
//! first:  2019-02-13T11:54:19.387
//! 10 sent, 0 lost (0.000%), 0 duplicates
//! one-way delay min/median/max = 0.202/0.4/0.582 ms, (err=0.628 ms)
//! --- twping statistics from [192.0.2.1]:18760 to [192.0.2.7]:18799 ---
//! round-trip time min/median/max = 0.777/1/1.16 ms, (err=0.628 ms)
//! reflector processing time min/max = 0.00429/0.0329 ms
//! seq_no=0 delay=0.411 ms (sync, err=0.628 ms)                                 -v
//! seq_no=1 *LOST*
//! seq_no=0 fwd_delay=-0.874 ms bck_delay=1.98 ms delay=1.11 ms proc_delay=0.02 ms (err=0.6 ms)
//! 0 16172305034298462208 1 5.5e-05 16172305034300000000 1 6.1e-05 255          -R
//! ```
//!
//! Source: owamp 4 and 5, owping.c, twping.c and stats.c. A raw packet is its number, when it was sent, is that clock
//! synchronised, its error, the same of the receiver, and the TTL; times are seconds since 1900 in 2⁻³²
//! s, and 0 as that of the receiver is a packet that was lost. Other times have the unit of `-n`, and none where
//! that is seconds. Medians are of owping's buckets, 0.1 ms wide.

use super::by_line::by_turns;
use super::decimal::{self, Time};
use super::figure::{Delay, Figure, PrintedSummary, Statistic};
use super::packets::{Frame, Packets, Reply};
use super::text::{after, begins_with_digit, head, leading_number, word_after, words};
use super::{Format, ImportError, Imported, Input, Options, Rules, date};
use delaylab_model::method::Method;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};

pub static FORMAT: Format = Format {
    name: "owping",
    command: "owping -v -c 100 TARGET > FILE",
    looks: "lines such as `seq_no=0 delay=0.411 ms (sync, err=0.628 ms)`",
    signs: &["owping", "twping", "one-way delay", "seq_no=", "SID:"],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

/// From 1900 to 1970.
const ERA: i128 = 2_208_988_800;

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("--- owping statistics from ")
            || line.starts_with("--- twping statistics from ")
            || line.starts_with("seq_no=")
            || Raw::read(line).is_some()
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_turns(
        input,
        &FORMAT,
        Session::ends_before,
        Session::line,
        Session::finish,
    );
    Ok(imported)
}

/// Between whom.
struct Heading {
    two_way: bool,
    from: String,
    to: String,
}

impl Heading {
    fn read(line: &str) -> Option<Self> {
        let line = line.strip_prefix("--- ")?;
        let two_way = line.starts_with("twping ");
        let (_, between) = line.split_once(" from ")?;
        let (from, to) = between.trim_end_matches(" ---").split_once(" to ")?;
        Some(Self {
            two_way,
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }
}

/// A packet of `-R`.
struct Raw {
    seq: u64,
    sent: Nanos,
    arrived: Option<Nanos>,
    ttl: Option<u8>,
}

impl Raw {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [seq, sent, _, _, arrived, _, _, ttl] = words.as_slice() else {
            return None;
        };
        let arrived: u64 = arrived.parse().ok()?;
        Some(Self {
            seq: seq.parse().ok()?,
            sent: since_1970(sent.parse().ok()?)?,
            arrived: (arrived != 0).then(|| since_1970(arrived)).flatten(),
            ttl: ttl.parse().ok(),
        })
    }
}

/// Seconds since 1900 in 32.32 bits.
pub fn since_1970(stamp: u64) -> Option<Nanos> {
    let nanos = (i128::from(stamp) * i128::from(SECOND)) >> 32;
    let nanos = Nanos::try_from(nanos - ERA * i128::from(SECOND)).ok()?;
    (0..=decimal::LARGEST).contains(&nanos).then_some(nanos)
}

/// Packets one way, or there and back.
#[derive(Default)]
struct Session {
    heading: Option<Heading>,
    packets: Packets,
    /// The number of the first packet that has a time of day, and that time.
    dated: Option<(u64, Nanos)>,
    first: Option<Nanos>,
    said: PrintedSummary,
    counts: Option<(u64, u64)>,
}

impl Session {
    /// Does the line begin another session? Packets stand before the summary of theirs. Of raw packets of both directions
    /// nothing stands between: a number that comes again with another time of sending is of the second.
    fn ends_before(&self, line: &str) -> bool {
        let line = line.trim();
        if line.starts_with("--- ") {
            return self.heading.is_some() && Heading::read(line).is_some();
        }
        if line.starts_with("seq_no=") {
            return self.counts.is_some();
        }
        let Some((first, raw)) = self.dated.zip(Raw::read(line)) else {
            return false;
        };
        let known = match first {
            (seq, sent) if seq == raw.seq => Some(sent),
            _ => self.packets.sent_at(raw.seq),
        };
        known.is_some_and(|sent| sent != raw.sent)
    }

    fn line(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(heading) = Heading::read(line) {
            self.heading = Some(heading);
            return true;
        }
        if line.starts_with("seq_no=") {
            return self.packet(line);
        }
        if let Some(raw) = Raw::read(line) {
            self.raw(&raw);
            return true;
        }
        if let Some(first) = line.strip_prefix("first:") {
            self.first = date::local(first);
            return true;
        }
        if let Some((sent, rest)) = line.split_once(" sent, ") {
            return self.counts(sent, rest);
        }
        if let Some((what, values)) = line.split_once(" min/median/max = ") {
            return self.delays(what, values);
        }
        // Jitters are of percentiles of their own, hops and the rest no delays.
        const OTHER: &[&str] = words! {
            "SID:" "last:" "one-way jitter" "two-way jitter" "send jitter" "reflect jitter"
            "reflector processing" "hops" "send hops" "reflect hops" "TTL" "no reordering"
            "Percentiles:"
        };
        line.is_empty()
            || OTHER.iter().any(|other| line.starts_with(other))
            || line.contains("-reordering = ")
            || line.starts_with("Approximately ")
            || line.contains("hops take")
            || begins_with_digit(line) && line.ends_with(" ms")
            || line.starts_with("send")
            || line.starts_with("reflect")
    }

    /// `seq_no=0 delay=0.411 ms (sync, err=0.628 ms)`
    fn packet(&mut self, line: &str) -> bool {
        let Some(seq) = word_after(line, "seq_no=").and_then(leading_number) else {
            return false;
        };
        if line.contains("*LOST*") {
            self.packets.unanswered(seq);
            return true;
        }
        // twping has delays of each direction before that of both.
        let delay = after(line, " delay=").and_then(|rest| rest.split_once(' '));
        let delay = delay.and_then(|(value, behind)| time(value, unit_of(behind)));
        let Some(delay) = delay else { return false };
        self.packets.reply(seq, delay.into());
        true
    }

    fn raw(&mut self, raw: &Raw) {
        self.dated.get_or_insert((raw.seq, raw.sent));
        let reply = Reply {
            round_trip: raw.arrived.map(|arrived| Time {
                nanos: arrived - raw.sent,
                step: 1,
            }),
            sent_at: Some(raw.sent),
            ttl: raw.ttl,
            ..Reply::default()
        };
        self.packets.answered_or_not(raw.seq, reply);
    }

    /// `10`, `0 lost (0.000%), 0 duplicates`
    fn counts(&mut self, sent: &str, rest: &str) -> bool {
        let (Ok(sent), Some(lost)) = (sent.parse::<u64>(), leading_number(rest)) else {
            return false;
        };
        self.counts = Some((sent, lost));
        self.said.count(Figure::Sent, sent, format!("{sent} sent"));
        self.said.count(Figure::Lost, lost, format!("{lost} lost"));
        true
    }

    /// `one-way delay`, `0.202/0.4/0.582 ms, (err=0.628 ms)`
    fn delays(&mut self, what: &str, values: &str) -> bool {
        let delay = match what {
            "one-way delay" | "round-trip time" => Delay::RoundTrip,
            "send time" => Delay::Send,
            "reflect time" => Delay::Receive,
            _ => return false,
        };
        let Some((values, unit)) = values.split_once(' ') else {
            return false;
        };
        let unit = unit_of(unit);
        let names = [Statistic::Min, Statistic::Median, Statistic::Max];
        for (statistic, value) in names.into_iter().zip(values.split('/')) {
            // `nan` where nothing arrived.
            let Some(mut time) = time(value, unit) else {
                continue;
            };
            if statistic == Statistic::Median {
                time.step = time.step.max(MILLISECOND / 10);
            }
            let figure = Figure::Of(delay, statistic);
            self.said.time(figure, time, format!("{what} {value}"));
        }
        true
    }

    fn finish(self, imported: &mut Imported) {
        if self.heading.is_none() && self.packets.is_empty() && self.said.figures.is_empty() {
            return;
        }
        let stream = imported.streams.len();
        let two_way = self.heading.as_ref().is_some_and(|heading| heading.two_way);
        // The heading stands behind the packets, and may be missing: a session is called by its number.
        let name = format!("session {}", stream + 1);
        let target = self.heading.map_or_else(String::new, |heading| {
            format!("{} to {}", heading.from, heading.to)
        });
        if !two_way {
            imported.warn("owping's delays are one way, by the clocks of two hosts: they are as good as those are synchronised");
        }
        if self.packets.is_empty() {
            imported.warn("the file has only a summary and no packets (`-v` and `-R` print them)");
        }
        if self.counts.is_none() && self.dated.is_none() {
            imported.warn("the summary is missing: the file ends before its tool did");
        }
        let frame = Frame {
            target,
            fill: false,
            period: SECOND / 10,
            ..Frame::new(
                name,
                if two_way {
                    Method::Stamp
                } else {
                    Method::Frame
                },
            )
        };
        self.packets.add(frame, imported);
        if let Some(first) = self.first {
            let before = imported.began.unwrap_or(first);
            imported.began = Some(before.min(first));
        }
        imported.sum_up(stream, self.said);
    }
}

/// The unit with which a text begins.
fn unit_of(text: &str) -> Nanos {
    let units = [("ns", 1), ("us", MICROSECOND), ("ms", MILLISECOND)];
    let named = units.into_iter().find(|(name, _)| text.starts_with(name));
    named.map_or(SECOND, |(_, unit)| unit)
}

fn time(value: &str, unit: Nanos) -> Option<Time> {
    decimal::any_time(value, unit).map(decimal::of_three_digits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn round_trips(text: &str) -> Vec<Option<Nanos>> {
        let imported = super::super::read(text.as_bytes(), None).unwrap();
        let records = imported.streams[0].records.iter();
        records.map(|record| record.round_trip()).collect()
    }

    /// Its delays of one direction are by two clocks.
    #[test]
    fn a_round_trip_of_twping_is_that_of_both_directions() {
        let packets = "seq_no=0          fwd_delay=-0.874 ms bck_delay=1.98 ms delay=1.11 ms proc_delay=0.02 ms\t(err=0.6 ms)\n\
                       seq_no=1          *LOST*\n";
        assert_eq!(round_trips(packets), [Some(1_110_000), None]);
    }

    #[test]
    fn delays_have_the_unit_of_their_line() {
        let lines = "seq_no=0          delay=411 us\t(sync, err=628 us)\n\
                     seq_no=1          delay=1.23e+03 ms\t(unsync)\n\
                     seq_no=2          delay=0.000411 \t(unsync)\n\
                     seq_no=3          delay=4.11e+05 ns\t(unsync)\n";
        let delay = Some(411 * MICROSECOND);
        assert_eq!(
            round_trips(lines),
            [delay, Some(1_230 * MILLISECOND), delay, delay]
        );
    }

    /// `-R` prints the packets of one direction and then of the other, and nothing between.
    #[test]
    fn raw_packets_of_both_directions_are_two_streams() {
        const BEGAN: u64 = 16_788_979_056_430_284_800;
        let direction = |later: u64| {
            let packets = (0..3).map(|seq| {
                let sent = BEGAN + later + (seq << 30);
                let arrived = if seq == 1 { 0 } else { sent + (1 << 22) };
                format!("{seq} {sent} 1 5.5e-05 {arrived} 1 6.1e-05 250\n")
            });
            packets.collect::<String>()
        };
        // A copy has the time of its packet.
        let copy = direction(0).lines().next().unwrap().to_owned();
        let text = format!("{}{copy}\n{}", direction(0), direction(1 << 20));
        let imported = super::super::read(text.as_bytes(), None).unwrap();
        let streams = imported.streams.iter();
        let streams: Vec<_> = streams.map(|it| it.records.counts()).collect();
        let counts = streams.iter().map(|it| (it.answered(), it.duplicate));
        assert_eq!(counts.collect::<Vec<_>>(), [(2, 1), (2, 0)]);
    }

    #[test]
    fn a_broken_line_that_begins_a_session_is_said_to_be_broken() {
        let session =
            "seq_no=0 delay=0.411 ms (sync, err=0.628 ms)\n1 sent, 0 lost (0.000%), 0 duplicates\n";
        let text = format!("{session}seq_no=0 delay=x ms (sync, err=0.628 ms)\n{session}");
        let imported = super::super::read(text.as_bytes(), None).unwrap();
        let (number, line) = imported.strange.unwrap();
        assert_eq!(
            (number, line.as_str()),
            (3, "seq_no=0 delay=x ms (sync, err=0.628 ms)")
        );
    }
}
