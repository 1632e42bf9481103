//! `ping` of MikroTik's RouterOS, 5 to 7.
//!
//! ```text
//!   SEQ HOST                                     SIZE TTL TIME  STATUS
//!     0 192.0.2.7                                  56 117 4ms
//!     1 192.0.2.7                                  56 117 4ms541us
//!     2 192.0.2.7                                                timeout
//!     3 192.0.2.1                                  84  64 1ms   host unreachable
//!     sent=4 received=2 packet-loss=50% min-rtt=4ms avg-rtt=4ms270us max-rtt=4ms541us
//! ```
//!
//! Source: help.mikrotik.com, *Ping*. The table's head is printed anew every twenty lines, with a summary so far. Version 5
//! has no SEQ. A call begins behind a prompt, or where SEQ is 0 again.

use super::by_line::by_line;
use super::decimal::Time;
use super::figure::{Figure, PrintedSummary, Statistic};
use super::icmp_words;
use super::order::Unwrap;
use super::packets::{Frame, Packets, Reply};
use super::text::{head, leading_number};
use super::{Format, ImportError, Imported, Input, Options, Rules, decimal};
use delaylab_model::method::Method;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use std::net::IpAddr;

pub static FORMAT: Format = Format {
    name: "ping of MikroTik",
    command: "/ping TARGET count=100",
    looks: "a line `SEQ HOST SIZE TTL TIME STATUS`",
    signs: &["SEQ HOST", "packet-loss=", "min-rtt="],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let mut lines = head.lines();
    lines.any(|line| {
        is_heading(line) || line.trim_start().starts_with("sent=") && line.contains("packet-loss=")
    })
}

fn is_heading(line: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    words.ends_with(&["HOST", "SIZE", "TTL", "TIME", "STATUS"])
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let line = |call: &mut Call, line: &str, imported: &mut Imported| {
        if call.ends_before(line) {
            let next = Call {
                numbered: call.numbered,
                ..Call::default()
            };
            std::mem::replace(call, next).finish(imported);
        }
        call.line(line)
    };
    Ok(by_line(input, &FORMAT, Call::default(), line, Call::finish))
}

#[derive(Default)]
struct Call {
    target: String,
    size: Option<u32>,
    packets: Packets,
    numbers: Unwrap,
    numbered: bool,
    summary: Vec<(String, String)>,
}

impl Call {
    /// Does the line begin another call?
    fn ends_before(&self, line: &str) -> bool {
        let line = line.trim_start();
        let is_first = self.numbered && line.starts_with("0 ");
        let over = self.packets.next() > 1 || !self.summary.is_empty();
        let begins_anew = is_first && over && !self.numbers.is_at_a_turn();
        !self.packets.is_empty() && (is_prompt(line) || begins_anew)
    }

    fn line(&mut self, line: &str) -> bool {
        if is_heading(line) {
            self.numbered |= line.contains("SEQ");
            return true;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => true,
            // Printed again with every heading: the last one is of all.
            [first, ..] if first.starts_with("sent=") => {
                let pairs = words.iter().filter_map(|word| word.split_once('='));
                self.summary = pairs
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect();
                true
            }
            _ if is_prompt(line.trim_start()) => true,
            words => self.packet(words).is_some(),
        }
    }

    fn packet(&mut self, words: &[&str]) -> Option<()> {
        let mut words = words.iter().copied();
        let seq = if self.numbered {
            self.numbers.whole(words.next()?.parse().ok()?)
        } else {
            self.packets.next()
        };
        let host = words.next()?;
        let rest: Vec<&str> = words.collect();
        let status = rest
            .iter()
            .find(|word| word.starts_with(char::is_alphabetic));
        let time = rest.iter().find_map(|word| duration(word));
        match (time, status) {
            (Some(round_trip), None) => {
                let ttl = rest.get(1).and_then(|ttl| ttl.parse().ok());
                self.size = self
                    .size
                    .or(rest.first().and_then(|size| size.parse().ok()));
                let reply = Reply {
                    round_trip: Some(round_trip),
                    ttl,
                    ..Reply::default()
                };
                self.packets.reply(seq, reply);
                host.clone_into(&mut self.target);
            }
            (None, Some(&"timeout")) => {
                self.packets.unanswered(seq);
                if self.target.is_empty() {
                    host.clone_into(&mut self.target);
                }
            }
            (_, Some(_)) => {
                let by: Option<IpAddr> = host.parse().ok();
                let icmp = icmp_words::reason(&rest.join(" "));
                self.packets.refused_because(seq, by, icmp, None);
            }
            (None, None) => return None,
        }
        Some(())
    }

    fn finish(self, imported: &mut Imported) {
        if self.packets.is_empty() && self.summary.is_empty() {
            return;
        }
        if self.summary.is_empty() {
            imported.warn("ping's summary is missing: the file ends before ping did");
        }
        imported.warn("ping of MikroTik prints no times of day: absolute times are made up from sequence numbers, a second apart");
        let frame = Frame {
            size: self.size,
            ..Frame::of_target(self.target, Method::Icmp)
        };
        let stream = self.packets.add(frame, imported);
        let mut said = PrintedSummary::default();
        for (key, value) in self.summary {
            let printed = format!("{key}={value}");
            match key.as_str() {
                "sent" => said.count(Figure::Sent, leading_number(&value), printed),
                "received" => said.count(Figure::Received, leading_number(&value), printed),
                "packet-loss" => {
                    let share = decimal::number(value.trim_end_matches('%'));
                    said.percent(Figure::LossShare, share, printed);
                }
                "min-rtt" => said.round_trip(Statistic::Min, duration(&value), printed),
                "avg-rtt" => said.round_trip(Statistic::Mean, duration(&value), printed),
                "max-rtt" => said.round_trip(Statistic::Max, duration(&value), printed),
                _ => {}
            }
        }
        imported.sum_up(stream, said);
    }
}

/// The prompt, and the command behind it.
fn is_prompt(line: &str) -> bool {
    line.starts_with(['[', '>'])
}

/// `4ms`, `4ms541us`, `1s200ms`: what the last part counts is the step.
fn duration(word: &str) -> Option<Time> {
    let nanos = decimal::go_duration(word)?;
    let step: Nanos = if word.ends_with("us") {
        MICROSECOND
    } else if word.ends_with("ms") {
        MILLISECOND
    } else {
        SECOND
    };
    Some(Time { nanos, step })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use crate::import::testing::of_two_calls;
    use delaylab_model::icmp::IcmpReason;

    #[test]
    fn an_error_says_why() {
        let sample = include_str!("../../tests/data/import/mikrotik.txt");
        for (words, reason) in [
            ("host unreachable", IcmpReason::HostUnreachable),
            ("TTL exceeded", IcmpReason::TtlExceeded),
        ] {
            let text = sample.replace("host unreachable", words);
            let imported = import::read(text.as_bytes(), None).unwrap();
            let record = imported.streams[0].records.get(3).unwrap();
            assert_eq!(record.icmp, Some(reason));
        }
    }

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let sample = include_str!("../../tests/data/import/mikrotik.txt");
        let once = import::read(sample.as_bytes(), None).unwrap();
        let unnumbered = "[admin@MikroTik] > ping 192.0.2.7 count=1\n\
            HOST                                     SIZE TTL TIME  STATUS\n\
            192.0.2.7                                  56 117 4ms\n\
            sent=1 received=1 packet-loss=0% min-rtt=4ms avg-rtt=4ms max-rtt=4ms\n";
        for (call, length) in [(sample, 5), (unnumbered, 1)] {
            of_two_calls(&call.repeat(2), length);
        }
        let (head, lines) = sample.split_once('\n').unwrap();
        let again = import::read(format!("{head}\n{head}\n{lines}").as_bytes(), None).unwrap();
        assert_eq!(again.streams, once.streams);
    }
}
