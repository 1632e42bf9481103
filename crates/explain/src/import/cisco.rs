//! `ping` of Cisco's IOS and IOS XE: an exclamation mark a reply.
//!
//! ```text
//! Sending 5, 100-byte ICMP Echos to 192.0.2.7, timeout is 2 seconds:
//! !!.!U
//! Success rate is 60 percent (3/5), round-trip min/avg/max = 1/2/4 ms
//! Reply to request 0 (4 ms)                                            verbose
//! Request 1 timed out
//! ```
//!
//! Source: Cisco, *Understand the Ping and Traceroute Commands*. `!` is a reply, `.` none; `U`, `Q`,
//! `M`, `?`, `&` are errors that came back; of IPv6 `@`, `A`, `B`, `H`, `N`, `P`, `R`, `S`, `T`, `X`, too. Only the verbose form has round trips. NX-OS and IOS XR
//! print what BSD's ping does.

use super::by_line::by_call;
use super::decimal;
use super::figure::{Figure, PrintedSummary};
use super::packets::{Frame, Packets, Reply};
use super::text::{after, head, leading_number, word_after};
use super::{Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::MILLISECOND;
use delaylab_model::method::Method;

pub static FORMAT: Format = Format {
    name: "ping of Cisco",
    command: "ping TARGET repeat 100 verbose",
    looks: "lines `Sending 5, 100-byte ICMP Echos to 192.0.2.7, …` and `!!!!!`",
    signs: &[
        "-byte ICMP Echos",
        "Success rate is",
        "Type escape sequence",
    ],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    head.contains("-byte ICMP Echos to ") || head.contains("Success rate is ")
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_call(input, &FORMAT, Call::begun_by, Call::line, Call::finish);
    Ok(imported)
}

#[derive(Default)]
struct Call {
    target: String,
    size: Option<u32>,
    packets: Packets,
    untimed: bool,
    counts: Option<(u64, u64)>,
    times: PrintedSummary,
}

impl Call {
    /// `Sending 5, 100-byte ICMP Echos to 192.0.2.7, timeout is 2 seconds:`
    fn begun_by(line: &str) -> Option<Self> {
        let target = word_after(line, " ICMP Echos to ")?;
        let size = after(line, ", ").and_then(leading_number);
        Some(Self {
            target: target.to_owned(),
            // Cisco's size is of the whole datagram.
            size: size.and_then(|size| u32::try_from(size).ok()),
            ..Self::default()
        })
    }

    fn line(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Reply to request ") {
            let time = word_after(rest, "(").and_then(|ms| decimal::time(ms, MILLISECOND));
            let (Some(seq), Some(round_trip)) = (leading_number(rest), time) else {
                return false;
            };
            self.packets.reply(seq, round_trip.into());
        } else if let Some(rest) = line.strip_prefix("Request ") {
            let Some(seq) = leading_number(rest) else {
                return false;
            };
            self.packets.unanswered(seq);
        } else if let Some(rest) = line.strip_prefix("Success rate is ") {
            return self.summary(rest);
        } else if self.is_of_marks(line) {
            self.untimed = true;
            line.chars().for_each(|mark| self.mark(mark));
        } else {
            return line.is_empty()
                || line.starts_with("Type escape")
                || line.starts_with("Packet sent with")
                || line.contains("#ping ")
                || line.contains(">ping ");
        }
        true
    }

    /// Letters that are marks of IPv6 alone may be a word where no call has begun.
    fn is_of_marks(&self, line: &str) -> bool {
        let has_begun = !self.target.is_empty();
        let is_mark = |mark| "!.UQM?&CI".contains(mark) || has_begun && "@ABHNPRSTX".contains(mark);
        !line.is_empty() && line.chars().all(is_mark)
    }

    fn mark(&mut self, mark: char) {
        let seq = self.packets.next();
        match mark {
            '!' => self.packets.reply(seq, Reply::default()),
            '.' => self.packets.unanswered(seq),
            _ => self.packets.refused(seq, None),
        }
    }

    /// `60 percent (3/5), round-trip min/avg/max = 1/2/4 ms`
    fn summary(&mut self, rest: &str) -> bool {
        let counts = word_after(rest, "(").and_then(|counts| counts.split_once('/'));
        let counts = counts.and_then(|(got, of)| Some((of.parse().ok()?, got.parse().ok()?)));
        self.counts = counts;
        let times = word_after(rest, "min/avg/max = ");
        times.is_none_or(|values| self.times.min_avg_max(values)) && counts.is_some()
    }

    fn finish(self, imported: &mut Imported) {
        if self.packets.is_empty() && self.counts.is_none() {
            return;
        }
        if self.untimed {
            imported.warn("ping of Cisco prints a mark for each packet and no round trip; its verbose form does");
        }
        if self.counts.is_none() {
            imported.warn("ping's summary is missing: the file ends before ping did");
        }
        imported.warn("ping of Cisco prints no times of day: absolute times are made up from sequence numbers, a second apart");
        let frame = Frame {
            size: self.size,
            first: Some(0),
            ..Frame::of_target(self.target, Method::Icmp)
        };
        let stream = self.packets.add(frame, imported);
        let mut said = PrintedSummary::default();
        if let Some((sent, received)) = self.counts {
            let printed = format!("({received}/{sent})");
            said.count(Figure::Sent, sent, printed.clone());
            said.count(Figure::Received, received, printed);
        }
        imported.sum_up(stream, said);
        imported.sum_up(stream, self.times);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use delaylab_model::record::Outcome::{Lost, Ok, Refused};

    #[test]
    fn marks_of_ipv6_are_errors_that_came_back() {
        let text = "Sending 5, 100-byte ICMP Echos to 2001:DB8::7, timeout is 2 seconds:\n\
                    !HA.!\n\
                    Success rate is 40 percent (2/5), round-trip min/avg/max = 1/2/4 ms\n";
        let imported = import::read(text.as_bytes(), None).unwrap();
        let outcomes = imported.streams[0].records.iter().map(|it| it.outcome);
        let expected = [Ok, Refused, Refused, Lost, Ok];
        assert_eq!(outcomes.collect::<Vec<_>>(), expected);
        assert_eq!(imported.strange, None);
    }
}
