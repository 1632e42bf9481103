//! `ping` of Windows, in whatever language.
//!
//! ```text
//! Pinging example.org [192.0.2.7] with 32 bytes of data:
//! Reply from 192.0.2.7: bytes=32 time=12ms TTL=117
//! Antwort von 192.0.2.7: Bytes=32 Zeit<1ms TTL=117
//! Réponse de 2001:db8::7 : temps=12 ms
//! Request timed out.
//! Reply from 192.0.2.1: Destination host unreachable.
//!
//! Ping statistics for 192.0.2.7:
//!     Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),
//!     Minimum = 11ms, Maximum = 13ms, Average = 12ms
//! ```
//!
//! Words are translated, the structure is not: below a line that has an address and ends with a colon
//! each line up to the next blank one is a packet. What is behind the last `=` or `<` before `TTL=` is
//! its round trip in whole milliseconds. A line with an address and no round trip is an error that came
//! back; any other is a packet that was not answered. The summary's numbers stand in one order:
//! sent, received, lost; minimum, maximum, mean. Errors that came back are among those received. With -t
//! Control-Break prints a summary, and packets go on behind it. Where the first line is missing, packets begin with the
//! first reply: before it may stand a prompt, or a date.

use super::by_line::by_call;
use super::decimal::Time;
use super::figure::{Figure, PrintedSummary, Statistic};
use super::icmp_words;
use super::packets::{Frame, Packets, Reply};
use super::text::{head, leading_number, word_after};
use super::{Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::MILLISECOND;
use delaylab_model::headers;
use delaylab_model::method::Method;
use std::collections::BTreeSet;
use std::net::IpAddr;

pub static FORMAT: Format = Format {
    name: "ping of Windows",
    command: "ping -n 100 TARGET > FILE",
    looks: "lines such as `Reply from 192.0.2.7: bytes=32 time=12ms TTL=117`, in any language",
    signs: &["TTL=", "ms TTL", "Minimum ="],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        let ipv4 = line.contains("TTL=") && !line.contains("_seq") && trip(line).is_some();
        ipv4 || (is_share(line) && (three(line).is_some() || !line.contains('=')))
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_call(input, &FORMAT, Call::begun_by, Call::line, Call::finish);
    Ok(imported)
}

/// One call of ping.
#[derive(Default)]
struct Call {
    target: String,
    size: Option<u32>,
    packets: Packets,
    sent: u64,
    /// The blank line behind the packets has come.
    ended: bool,
    below: bool,
    /// Lines of packets without a round trip.
    unanswered: BTreeSet<String>,
    refused: u64,
    /// `… = 4, … = 3, … = 1 (25% …)`: sent, received and lost.
    counts: Option<[u64; 3]>,
    times: Vec<u64>,
}

impl Call {
    /// `Pinging example.org [192.0.2.7] with 32 bytes of data:`
    fn begun_by(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let colon = line.strip_suffix(':').or_else(|| line.strip_suffix('：'))?;
        let address = address(colon)?;
        let words = || colon.split_whitespace();
        let payload = words().find_map(|word| word.parse::<u32>().ok())?;
        let headers = headers::of_datagrams(address.is_ipv6());
        // The name stands before the address in brackets.
        let bracket = words().position(|word| word.starts_with('['));
        let name = bracket.and_then(|at| words().nth(at.checked_sub(1)?));
        Some(Self {
            target: name.map_or_else(|| address.to_string(), str::to_owned),
            size: payload.checked_add(headers),
            ..Self::default()
        })
    }

    /// Takes a line; false where it says nothing that is known.
    fn line(&mut self, line: &str) -> bool {
        if line.trim().is_empty() {
            self.ended |= self.sent > 0;
            return true;
        }
        if self.ended && self.goes_on_with(line) {
            (self.ended, self.counts) = (false, None);
            self.times.clear();
        }
        if let Some(values) = three(line) {
            // `Sent = 4, Received = 3, Lost = 1` stands before the times, whose unit may be in any alphabet.
            if self.counts.is_none() && !line.contains("ms") {
                self.counts = Some(values);
            } else {
                self.times = values.to_vec();
            }
            self.ended = true;
        } else if is_share(line) {
            self.ended = true;
        } else if self.target.is_empty() && self.sent == 0 && trip(line).is_none() {
            return false;
        } else if !self.ended {
            self.packet(line);
        } else {
            // The name above the summary, Control-C, a heading: what ends with a colon or is short.
            let line = line.trim_end();
            return line.ends_with([':', '：']) || line.starts_with("Control") || line == "^C";
        }
        true
    }

    /// Is this the line of a packet, behind a summary?
    fn goes_on_with(&self, line: &str) -> bool {
        trip(line).is_some() || self.unanswered.contains(line.trim_end())
    }

    fn packet(&mut self, line: &str) {
        let seq = self.sent;
        self.sent += 1;
        if let Some((round_trip, below)) = trip(line) {
            self.below |= below;
            let ttl = word_after(line, "TTL=").and_then(leading_number);
            self.packets.reply(
                seq,
                Reply {
                    round_trip: Some(round_trip),
                    ttl: ttl.and_then(|ttl| u8::try_from(ttl).ok()),
                    ..Reply::default()
                },
            );
            if self.target.is_empty() {
                self.target = address(line).map_or_else(String::new, |it| it.to_string());
            }
            return;
        }
        // There are few kinds of them.
        if self.unanswered.len() < 16 {
            self.unanswered.insert(line.trim_end().to_owned());
        }
        if let Some(by) = address(line) {
            self.refused += 1;
            let (icmp, path_mtu) = (icmp_words::reason(line), icmp_words::path_mtu(line));
            self.packets.refused_because(seq, Some(by), icmp, path_mtu);
        } else {
            self.packets.unanswered(seq);
        }
    }

    fn warn(&self, imported: &mut Imported) {
        if self.counts.is_none() {
            imported.warn("ping's summary is missing: the file ends before ping did");
        }
        if self.below {
            imported.warn("round trips below 1 ms are printed as `<1ms`: they stand as 0.5 ms");
        }
        if self.sent > 0 {
            imported.warn("ping of Windows prints neither times of day nor parts of a millisecond: absolute times are made up from sequence numbers, a second apart");
        }
    }

    fn finish(self, imported: &mut Imported) {
        let has_figures = self.counts.is_some() || !self.times.is_empty();
        if self.target.is_empty() && self.sent == 0 && !has_figures {
            return;
        }
        self.warn(imported);
        let frame = Frame {
            size: self.size,
            first: Some(0),
            ..Frame::of_target(self.target, Method::Icmp)
        };
        let (answered, _) = self.packets.answered();
        let stream = self.packets.add(frame, imported);
        let mut said = PrintedSummary::default();
        if let Some([sent, received, lost]) = self.counts {
            let errors = match received == answered + self.refused {
                true => self.refused,
                false => 0,
            };
            let counts = [sent, received - errors, lost.saturating_add(errors)];
            let figures = [Figure::Sent, Figure::Received, Figure::Lost];
            for (what, value) in figures.into_iter().zip(counts) {
                said.count(what, value, format!("{what} = {value}"));
            }
        }
        let statistics = [
            ("minimum", Statistic::Min),
            ("maximum", Statistic::Max),
            ("mean", Statistic::Mean),
        ];
        for ((word, statistic), value) in statistics.into_iter().zip(self.times) {
            let printed = format!("{word} = {value}ms");
            said.round_trip(statistic, milliseconds(value), printed);
        }
        imported.sum_up(stream, said);
    }
}

fn milliseconds(value: u64) -> Option<Time> {
    let nanos = i64::try_from(value).ok()?.checked_mul(MILLISECOND)?;
    (nanos <= super::decimal::LARGEST).then_some(Time {
        nanos,
        step: MILLISECOND,
    })
}

/// The three numbers of a line of the summary. The share that was lost stands behind them or in the next
/// line.
fn three(line: &str) -> Option<[u64; 3]> {
    if line.contains("TTL=") || address(line).is_some() {
        return None;
    }
    let counts = line.split('(').next()?;
    let values = counts.split('=').skip(1).map(str::trim_start);
    let values: Option<Vec<u64>> = values.map(leading_number).collect();
    values?.try_into().ok()
}

/// `(25% Verlust),`
fn is_share(line: &str) -> bool {
    let percent = line.split_once('(').and_then(|(_, it)| it.split_once('%'));
    percent.is_some_and(|(number, _)| number.trim().parse::<u64>().is_ok())
}

/// The round trip of a reply, and whether it is only known to be less than that.
fn trip(line: &str) -> Option<(Time, bool)> {
    let before = line.split("TTL=").next()?.trim_end();
    let has_ttl = before.len() < line.trim_end().len();
    // `…: time=12ms` is all that there is of IPv6.
    if !has_ttl && !address(line).is_some_and(|by| by.is_ipv6()) {
        return None;
    }
    let at = before.rfind(['=', '<'])?;
    let below = before[at..].starts_with('<');
    let digits = before[at + 1..].trim_start();
    let value = leading_number(digits)?;
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    // A unit of its own, in whatever alphabet, and nothing behind it.
    if unit.trim().is_empty() || unit.trim().contains(char::is_whitespace) {
        return None;
    }
    let time = milliseconds(value)?;
    let half = Time {
        nanos: time.nanos / 2,
        ..time
    };
    Some(if below { (half, true) } else { (time, false) })
}

/// The first address of a line.
fn address(line: &str) -> Option<IpAddr> {
    let other = |c: char| !(c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '%'));
    line.split(other).find_map(|word| {
        let word = word.split('%').next().unwrap_or_default();
        let bare = word.strip_suffix(':').unwrap_or(word);
        let bare = bare.strip_suffix('.').unwrap_or(bare);
        let address: IpAddr = word.parse().or_else(|_| bare.parse()).ok()?;
        Some(address)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, Figure, check};

    const HEAD: &str = "\nPinging 192.0.2.7 with 32 bytes of data:\n";
    const REPLY: &str = "Reply from 192.0.2.7: bytes=32 time=12ms TTL=117\n";
    const LOST: &str = "Request timed out.\n";

    fn summary(sent: u64, received: u64, lost: u64) -> String {
        format!(
            "\nPing statistics for 192.0.2.7:\n\
             \x20   Packets: Sent = {sent}, Received = {received}, Lost = {lost} (0% loss),\n\
             Approximate round trip times in milli-seconds:\n\
             \x20   Minimum = 12ms, Maximum = 12ms, Average = 12ms\n"
        )
    }

    #[test]
    fn packets_go_on_behind_a_summary() {
        let break_off = format!("{}Control-Break\n", summary(3, 2, 1));
        let lines = format!("{HEAD}{REPLY}{LOST}{REPLY}{break_off}{LOST}{REPLY}");
        for (end, said) in [(summary(5, 3, 2), 6), (String::new(), 0)] {
            let imported = import::read(format!("{lines}{end}").as_bytes(), None).unwrap();
            let counts = imported.streams[0].records.counts();
            assert_eq!((counts.answered(), counts.lost), (3, 2));
            assert_eq!((imported.said.len(), check(&imported)), (said, Vec::new()));
            assert_eq!(imported.strange, None);
        }
    }

    #[test]
    fn a_prompt_and_a_date_are_no_packets() {
        let console = "Microsoft Windows [Version 10.0.19045.3803]\n\
             (c) Microsoft Corporation. All rights reserved.\n\
             \n\
             C:\\Users\\me>ping 192.0.2.7\n";
        let date = "Fri 11/27/2026 12:32:05.12 \n";
        for above in [console, date] {
            let text = format!("{above}{HEAD}{REPLY}{LOST}{REPLY}{}", summary(3, 2, 1));
            let imported = import::read(text.as_bytes(), None).unwrap();
            assert_eq!(imported.streams.len(), 1);
            let counts = imported.streams[0].records.counts();
            assert_eq!((counts.answered(), counts.lost), (2, 1));
            assert_eq!(imported.strange.unwrap().0, 1);
            let missing = imported.warnings.iter().any(|it| it.contains("missing"));
            assert!(!missing, "{:?}", imported.warnings);
        }
    }

    #[test]
    fn without_its_first_line_packets_begin_with_a_reply() {
        let text = format!("{REPLY}{LOST}{REPLY}{}", summary(3, 2, 1));
        let imported = import::read(text.as_bytes(), None).unwrap();
        let counts = imported.streams[0].records.counts();
        assert_eq!((counts.answered(), counts.lost), (2, 1));
        assert_eq!((imported.strange.clone(), check(&imported)), (None, vec![]));
    }

    /// Windows counts them as received.
    #[test]
    fn errors_that_came_back_are_no_disagreement() {
        let error = "Reply from 192.0.2.1: Destination host unreachable.\n";
        let text = format!("{HEAD}{REPLY}{error}{LOST}{}", summary(3, 2, 1));
        let imported = import::read(text.as_bytes(), None).unwrap();
        assert_eq!(check(&imported), []);
        let received = imported.said.iter().find(|it| it.what == Figure::Received);
        assert_eq!(received.unwrap().value, 1.0);
    }
}
