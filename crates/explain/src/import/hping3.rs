//! Output of `hping3`: icmp, tcp and udp.
//!
//! ```text
//! HPING 10.77.2.2 (va 10.77.2.2): icmp mode set, 28 headers + 0 data bytes
//! len=28 ip=10.77.2.2 ttl=63 id=26447 icmp_seq=1 rtt=0.2 ms
//! len=40 ip=10.77.2.2 ttl=63 DF id=0 sport=9000 flags=RA seq=0 win=0 rtt=0.9 ms
//! DUP! len=28 ip=…                                                   the same reply again
//! ICMP Port Unreachable from ip=10.77.2.2 name=UNKNOWN
//! status=0 port=2100 seq=0                                           of the line above
//! 9 packets transmitted, 10 packets received, -11% packet loss
//! round-trip min/avg/max = 0.1/0.6/1.0 ms
//! ```
//!
//! Replies go to standard output and the summary to standard error, so that it may stand before
//! them. hping3 counts from 0. What it says it received has errors and copies in it.

use super::by_line::by_turns;
use super::decimal;
use super::figure::{Figure, PrintedSummary};
use super::icmp_words;
use super::order::Unwrap;
use super::packets::{Frame, Packets, Reply};
use super::text::{head, leading_number, word_after};
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::MILLISECOND;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use std::net::IpAddr;

pub static FORMAT: Format = Format {
    name: "hping3",
    command: "hping3 -c 100 --icmp TARGET > FILE 2>&1",
    looks: "lines such as `len=28 ip=10.0.0.1 ttl=63 id=26447 icmp_seq=1 rtt=0.2 ms`",
    signs: &["HPING", "hping", "len=", "rtt="],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        let reply = line.trim_start_matches("DUP! ").starts_with("len=") && line.contains(" rtt=");
        line.starts_with("HPING ") || line.ends_with(" hping statistic ---") || reply
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_turns(input, &FORMAT, Call::ends_before, Call::line, Call::finish);
    Ok(imported)
}

#[derive(Default)]
struct Call {
    target: String,
    method: Method,
    size: Option<u32>,
    packets: Packets,
    numbers: Unwrap,
    /// Who sent the error that the next line is about, and why.
    error: Option<(Option<IpAddr>, Option<IcmpReason>)>,
    /// Errors that name no packet.
    nameless: u64,
    sent: Option<u64>,
    times: PrintedSummary,
}

impl Call {
    /// Does the line begin another call? Of one there is one head and one summary, in whatever order.
    fn ends_before(&self, line: &str) -> bool {
        let has_head = !self.target.is_empty() && line.starts_with("HPING ");
        has_head || self.sent.is_some() && line.contains(" packets transmitted, ")
    }

    /// Takes a line; false where it says nothing that is known.
    fn line(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("HPING ") {
            return self.header(rest);
        }
        if let Some((sent, _)) = line.split_once(" packets transmitted, ") {
            self.sent = sent.parse().ok();
            return self.sent.is_some();
        }
        if let Some(times) = line.strip_prefix("round-trip min/avg/max = ") {
            return self.summary(times);
        }
        if let Some((_, from)) = line.split_once(" from ip=") {
            return self.error_from(line, from);
        }
        if line.starts_with("status=") {
            self.error_about(line);
            return true;
        }
        if line.trim_start_matches("DUP! ").starts_with("len=") {
            return self.reply(line);
        }
        line.is_empty() || line.ends_with(" hping statistic ---") || line.starts_with("name=")
    }

    /// `10.77.2.2 (va 10.77.2.2): icmp mode set, 28 headers + 0 data bytes`
    fn header(&mut self, rest: &str) -> bool {
        let Some((target, behind)) = rest.split_once(' ') else {
            return false;
        };
        self.target = target.to_owned();
        let how = behind.split_once("): ").map_or("", |(_, how)| how);
        self.method = if how.starts_with("icmp") {
            Method::Icmp
        } else if how.starts_with("udp") {
            Method::Udp
        } else {
            Method::Tcp
        };
        let mut counts = how.split(['+', ',']).filter_map(|part| {
            let count = part.trim().split(' ').next()?;
            count.parse::<u32>().ok()
        });
        self.size = counts
            .next()
            .zip(counts.next())
            .and_then(|(headers, data)| headers.checked_add(data));
        true
    }

    fn reply(&mut self, line: &str) -> bool {
        let seq = word_after(line, "icmp_seq=").or_else(|| word_after(line, " seq="));
        let seq = seq.and_then(leading_number);
        let time = word_after(line, "rtt=").and_then(|word| decimal::time(word, MILLISECOND));
        let (Some(seq), Some(time)) = (seq, time) else {
            return false;
        };
        let seq = self.numbers.whole(seq);
        let reply = Reply {
            round_trip: Some(time),
            ttl: word_after(line, "ttl=").and_then(|ttl| ttl.parse().ok()),
            ..Reply::default()
        };
        self.packets.reply(seq, reply);
        true
    }

    /// `ICMP Port Unreachable from ip=10.77.2.2 …`; which packet it is about may stand in the next line.
    fn error_from(&mut self, line: &str, from: &str) -> bool {
        let by = from.split(' ').next().and_then(|by| by.parse().ok());
        self.error = Some((by, icmp_words::reason(line)));
        if line.contains("status=") {
            self.error_about(line);
        } else if line.starts_with("TTL 0 ") {
            self.nameless += 1;
            self.error = None;
        }
        true
    }

    fn error_about(&mut self, line: &str) {
        let seq = word_after(line, "seq=").and_then(leading_number);
        match (self.error.take(), seq) {
            (Some((by, icmp)), Some(seq)) => {
                let seq = self.numbers.whole(seq);
                self.packets.refused_because(seq, by, icmp, None);
            }
            _ => self.nameless += 1,
        }
    }

    fn summary(&mut self, text: &str) -> bool {
        self.times.min_avg_max(text.trim_end_matches(" ms"))
    }

    fn finish(self, imported: &mut Imported) {
        if self.sent.is_none() {
            imported.warn("hping3's summary is missing: it goes to standard error (`2>&1` keeps it), and packets after the last reply are unknown");
        }
        if self.nameless > 0 {
            imported.warn(format!(
                "{} errors that came back name no packet: left out",
                self.nameless
            ));
        }
        let (answered, _) = self.packets.answered();
        let frame = Frame {
            size: self.size,
            first: Some(0),
            sent: self.sent,
            fill: true,
            ..Frame::of_target(self.target, self.method)
        };
        let place = imported.streams.len();
        let stream = self.packets.finish(frame, imported);
        if stream.clock == Clock::MadeUp && !stream.records.is_empty() {
            imported.warn("hping3 prints no times of day: absolute times are made up from sequence numbers, a second apart");
        }
        imported.streams.push(stream);
        let mut said = PrintedSummary::default();
        if let Some(sent) = self.sent {
            said.count(Figure::Sent, sent, format!("{sent} packets transmitted"));
        }
        imported.sum_up(place, said);
        // Without a reply it prints zeros.
        if answered > 0 {
            imported.sum_up(place, self.times);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use crate::import::testing::of_two_calls;
    use delaylab_model::icmp::IcmpReason;
    use delaylab_model::record::Outcome;

    #[test]
    fn an_error_says_why() {
        let sample = include_str!("../../tests/data/import/hping3-udp.txt");
        for (words, reason) in [
            ("Port Unreachable", IcmpReason::PortUnreachable),
            ("Network Unreachable", IcmpReason::NoRoute),
            ("Fragmentation Needed/DF set", IcmpReason::TooBig),
        ] {
            let text = sample.replace("Port Unreachable", words);
            let imported = import::read(text.as_bytes(), None).unwrap();
            let records = imported.streams[0].records.iter();
            let refused = records.filter(|it| it.outcome == Outcome::Refused);
            let reasons: Vec<_> = refused.map(|it| it.icmp).collect();
            assert_eq!(reasons, [Some(reason); 3]);
        }
    }

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let sample = include_str!("../../tests/data/import/hping3-icmp.txt");
        let once = import::read(sample.as_bytes(), None).unwrap();
        let (summary, lines) = sample.split_at(sample.find("HPING").unwrap());
        for twice in [sample.repeat(2), format!("{lines}{summary}").repeat(2)] {
            let twice = of_two_calls(&twice, 10);
            assert_eq!(twice.streams[0].records, once.streams[0].records);
        }
    }
}
