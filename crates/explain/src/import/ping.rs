//! Output of `ping`: iputils, busybox, BSD and macOS.
//!
//! ```text
//! PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.                       iputils, counts from 1
//! PING 10.0.0.1 (10.0.0.1): 56 data bytes                              busybox, BSD: from 0
//! [1795306027.232112] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=23.8 ms (DUP!)
//! [1795306027.415983] no answer yet for icmp_seq=2                     -O
//! Request timeout for icmp_seq 2                                       macOS
//! From 10.0.0.9 icmp_seq=3 Destination Host Unreachable
//! 20 packets transmitted, 9 received, +1 duplicates, +1 errors, 55% packet loss, time 1956ms
//! rtt min/avg/max/mdev = 22.146/23.308/23.780/0.435 ms
//! round-trip min/avg/max/stddev = 0.121/11.892/23.664/1.234 ms
//! ```
//!
//! Words are translated, numbers and their order are not: `64 バイト応答 送信元 10.0.0.1: icmp_seq=1 ttl=63 時間=23.8ミリ秒`,
//! `已发送 4 个包， 已接收 4 个包, 0% packet loss, time 3014ms`.
//!
//! With `-D` a line begins with the real time at which ping read the reply (iputils, ping_common.c).

use super::by_line::by_call;
use super::decimal::{self, Time};
use super::figure::{Figure, PrintedSummary, Statistic};
use super::icmp_words;
use super::order::Unwrap;
use super::packets::{Frame, Packets, Reply};
use super::text::{after, begins_with_digit, has, head, leading_number, stamp, word_after};
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

pub static FORMAT: Format = Format {
    name: "ping",
    command: "ping -D -O -c 100 TARGET > FILE",
    looks: "lines such as `64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=23.8 ms`",
    signs: &[
        "icmp_seq",
        "bytes from",
        "packets transmitted",
        "PING",
        "rtt min/avg/max",
    ],
    rules: Rules {
        deviation_by_n: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        let (_, line) = stamp(line);
        line.starts_with("PING ")
            || line.starts_with("PING6(")
            || is_reply(line)
            || has(line, " packets transmitted, ")
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_call(input, &FORMAT, Run::begun_by, Run::line, Run::finish);
    Ok(imported)
}

/// One call of ping.
#[derive(Default)]
struct Run {
    target: String,
    size: Option<u32>,
    first: Option<u64>,
    packets: Packets,
    numbers: Unwrap,
    last: Option<u64>,
    /// Replies that iputils does not count as received (ping_common.c, `gather_statistics`).
    bad_checksums: u64,
    /// Errors that name no packet.
    nameless: u64,
    totals: Option<Totals>,
    times: Vec<(&'static str, Statistic, Time)>,
    times_said: bool,
    /// ns-3 makes its summary of whole milliseconds.
    whole_milliseconds: bool,
    /// Have lines stamps that do not say when that was?
    has_vague_stamps: bool,
}

/// `20 packets transmitted, 9 received, …`
#[derive(Default)]
struct Totals {
    sent: u64,
    received: u64,
    said: Vec<(Figure, u64, String)>,
    loss: Option<decimal::Number>,
    took: Option<Time>,
}

impl Run {
    /// The first line of a call says whom it asks, and with how many bytes.
    fn begun_by(line: &str) -> Option<Self> {
        let (_, line) = stamp(line);
        let by_ipv6 = line.strip_prefix("PING6(");
        if let Some(sizes) = by_ipv6.or_else(|| line.strip_prefix("PING(")) {
            let target = line.rsplit("--> ").next().unwrap_or_default();
            return Some(Self {
                target: target.to_owned(),
                size: leading_number(sizes).and_then(|size| u32::try_from(size).ok()),
                first: Some(0),
                ..Self::default()
            });
        }
        let rest = line.strip_prefix("PING ")?;
        // ns-3: `PING 10.1.1.2 - 56 bytes of data; 84 bytes including ICMP and IPv4 headers.`
        if let Some((target, sizes)) = rest.split_once(" - ") {
            let whole = after(sizes, "; ").and_then(leading_number);
            return Some(Self {
                target: target.to_owned(),
                whole_milliseconds: true,
                size: whole.and_then(|size| u32::try_from(size).ok()),
                first: Some(0),
                ..Self::default()
            });
        }
        // An address of IPv6 by its name: `PING localhost(localhost (::1)) 56 data bytes`.
        let (target, behind) = rest.split_once('(')?;
        let (address, behind) = behind.split_once(')')?;
        let address = address.rsplit('(').next().unwrap_or_default();
        let behind = behind.trim_start_matches(')');
        // With -I: ` from 10.0.0.2 eth0: 56(84) bytes`.
        let from = behind.strip_prefix(" from ");
        let (from, sizes) = match from.and_then(|from| from.split_once(": ")) {
            Some((from, sizes)) => (Some(from), sizes),
            None => (None, behind),
        };
        // `PING ::1(::1) 56 data bytes` is iputils, which has an interface in front of a colon, or a blank; others have
        // the bracket or the address.
        let counts_from_one = match from {
            Some(from) => from.contains(' '),
            None => !sizes.starts_with(':'),
        };
        let payload = leading_number(sizes.trim_start_matches([':', ' ']));
        let scoped = address.split('%').next().unwrap_or_default();
        let headers = headers::of_datagrams(scoped.parse::<Ipv6Addr>().is_ok());
        Some(Self {
            target: target.trim().to_owned(),
            size: payload
                .and_then(|payload| u32::try_from(payload.checked_add(headers.into())?).ok()),
            first: Some(u64::from(counts_from_one)),
            ..Self::default()
        })
    }

    /// Takes a line; false where it says nothing that is known.
    fn line(&mut self, line: &str) -> bool {
        let whole = line.len();
        let (read_at, line) = stamp(line);
        self.has_vague_stamps |= read_at.is_none() && line.len() < whole;
        if begins_as_reply(line) || has(line, " bytes from ") || is_reply(line) {
            self.bytes_from(line, read_at)
        } else if line.starts_with("wrong data byte") {
            if let Some(seq) = self.last {
                self.packets.corrupt(seq);
            }
            true
        } else if line.starts_with("ping: ") || line.starts_with("ping6: ") {
            self.nameless += 1;
            true
        } else if has(line, " packets transmitted, ") || is_totals(line) {
            self.totals = Totals::read(line);
            self.totals.is_some()
        } else if has(line, "min/avg/max") || times_by_place(line).is_some() {
            self.read_times(line)
        } else if let Some(seq) =
            sequence(line).filter(|_| !begins_with_digit(line) && !has_ttl(line))
        {
            self.no_reply(seq, line);
            true
        } else {
            no_matter(line)
        }
    }

    fn bytes_from(&mut self, line: &str, read_at: Option<Nanos>) -> bool {
        let Some(seq) = sequence(line) else {
            // BSD: `92 bytes from 10.0.0.9: Destination Host Unreachable`, and the header of whose.
            self.nameless += 1;
            return true;
        };
        let seq = self.numbers.whole(seq);
        let ttl = word_after(line, "ttl=").or_else(|| word_after(line, "hlim="));
        let round_trip = trip(line).map(|word| decimal::time(&word, MILLISECOND));
        if round_trip == Some(None) {
            return false;
        }
        self.packets.reply(
            seq,
            Reply {
                round_trip: round_trip.flatten(),
                read_at,
                ttl: ttl.and_then(|ttl| ttl.parse().ok()),
                ..Reply::default()
            },
        );
        if line.ends_with(')') && has(line, "(BAD CHECKSUM!)") {
            self.packets.corrupt(seq);
            self.bad_checksums += 1;
        }
        self.last = Some(seq);
        true
    }

    /// `From 10.0.0.9 icmp_seq=3 Destination Host Unreachable`, or that nothing has come so far. In whatever language, the
    /// address of who sent an error stands in front of the number.
    fn no_reply(&mut self, seq: u64, line: &str) {
        let seq = self.numbers.whole(seq);
        // What is in brackets behind the number says more of the error.
        let from = line.split(" icmp_").next().unwrap_or_default();
        let mut words = from.split([' ', '(', ')']);
        let by: Option<IpAddr> = words.find_map(|word| word.trim_end_matches(':').parse().ok());
        if by.is_none() && !line.starts_with("From ") {
            self.packets.unanswered(seq);
            return;
        }
        // A redirect is advice, and the packet goes on.
        if !has(line, "Redirect") {
            let (icmp, path_mtu) = (icmp_words::reason(line), icmp_words::path_mtu(line));
            self.packets.refused_because(seq, by, icmp, path_mtu);
        }
    }

    /// `rtt min/avg/max/mdev = a/b/c/d ms, pipe 4`, or a progress line of iputils (`ewma`), which is
    /// not the end.
    fn read_times(&mut self, line: &str) -> bool {
        if has(line, "packets, ") {
            return true;
        }
        self.times_said = true;
        let Some(times) = times_by_place(line) else {
            return false;
        };
        self.times.extend(times);
        true
    }

    /// Did neither the head of a call nor anything that it prints come?
    fn is_empty(&self) -> bool {
        let has_begun = self.first.is_some();
        let has_figures = self.totals.is_some() || self.times_said;
        !has_begun && !has_figures && self.packets.is_empty()
    }

    /// Adds its stream and what it said. What stands above a call, as a prompt, or what `ping -v` says of its sockets,
    /// is none.
    fn finish(self, imported: &mut Imported) {
        if self.is_empty() {
            return;
        }
        let stream = imported.streams.len();
        let answered = self.counted();
        self.warn(imported);
        let mut totals = self.totals.unwrap_or_default();
        let complete = totals.sent == 0 || totals.received == answered;
        totals.count_too(self.bad_checksums);
        let gaps = totals.sent.saturating_sub(1).max(1);
        let period = totals.took.map_or(SECOND, |took| {
            took.nanos / Nanos::try_from(gaps).unwrap_or(1)
        });
        let frame = Frame {
            size: self.size,
            first: self.first,
            sent: (totals.sent > 0).then_some(totals.sent),
            fill: complete,
            period,
            ..Frame::of_target(self.target, Method::Icmp)
        };
        let packets = self.packets.finish(frame, imported);
        if packets.clock == Clock::MadeUp && !packets.records.is_empty() {
            warn_of_made_up_times(self.has_vague_stamps, imported);
        }
        imported.streams.push(packets);
        let mut said = totals.summary();
        for (word, statistic, mut time) in self.times {
            if self.whole_milliseconds {
                time.step = time.step.max(MILLISECOND);
            }
            said.round_trip(statistic, time, format!("{word} {} ms", milliseconds(time)));
        }
        imported.sum_up(stream, said);
    }

    /// Answers that its summary counts.
    fn counted(&self) -> u64 {
        let (answered, _) = self.packets.answered();
        answered.saturating_sub(self.bad_checksums)
    }

    fn warn(&self, imported: &mut Imported) {
        let answered = self.counted();
        match &self.totals {
            None => imported.warn("ping's summary is missing: the file ends before ping did, and packets after the last line are unknown"),
            Some(totals) if totals.received != answered && answered == 0 => imported.warn(format!(
                "the file has only ping's summary, for {} replies, and no line for any (ping -q and -f print none)",
                totals.received
            )),
            Some(totals) if totals.received != answered => imported.warn(format!(
                "ping says that {} replies came and the file has lines for {answered}: packets without a line were left out, not counted as lost",
                totals.received
            )),
            Some(totals) if totals.received > 0 && !self.times_said && self.packets.timed() => {
                imported.warn("ping's last line, with its round-trip times, is missing");
            }
            Some(_) => {}
        }
        if self.nameless > 0 {
            imported.warn(format!(
                "{}, an error or a number that is none: left out",
                match self.nameless {
                    1 => "1 line names no packet".to_owned(),
                    lines => format!("{lines} lines name no packet"),
                }
            ));
        }
    }
}

fn warn_of_made_up_times(has_vague_stamps: bool, imported: &mut Imported) {
    let why = match has_vague_stamps {
        true => "has time stamps without a year or with a zone by its letters, which are not read",
        false => "has no time stamps (`ping -D` prints them)",
    };
    imported.warn(format!(
        "the file {why}: absolute times are made up from sequence numbers"
    ));
}

/// In the order in which they stand, and with their other names.
const STATISTICS: [(&str, Statistic); 6] = [
    ("min", Statistic::Min),
    ("avg", Statistic::Mean),
    ("max", Statistic::Max),
    ("mdev", Statistic::Deviation),
    ("stddev", Statistic::Deviation),
    ("std-dev", Statistic::Deviation),
];

/// `rtt min/avg/max/mdev = a/b/c/d ms`, in whatever language: three words or four, and as many values.
fn times_by_place(line: &str) -> Option<Vec<(&'static str, Statistic, Time)>> {
    let (words, values) = line.split_once(" = ")?;
    let words: Vec<&str> = words.rsplit(' ').next()?.split('/').collect();
    let values: Vec<&str> = values.split(' ').next()?.split('/').collect();
    if words.len() != values.len() || !matches!(words.len(), 3 | 4) {
        return None;
    }
    let each = STATISTICS.into_iter().zip(words).zip(values);
    let each = each.map(|((at_place, word), value)| {
        let named = STATISTICS.into_iter().find(|(known, _)| *known == word);
        let (word, statistic) = named.unwrap_or(at_place);
        Some((word, statistic, decimal::time(value, MILLISECOND)?))
    });
    each.collect()
}

/// As ping prints it.
fn milliseconds(time: Time) -> String {
    let digits = if time.step >= MILLISECOND { 0 } else { 3 };
    format!("{:.digits$}", time.nanos as f64 / MILLISECOND as f64)
}

impl Totals {
    fn read(line: &str) -> Option<Self> {
        let mut totals = Totals::default();
        let mut received = None;
        for part in line.split(", ") {
            let (value, word) = part.trim_start_matches('+').split_once(' ')?;
            let what = match word.trim_start_matches("packets ") {
                "transmitted" => Figure::Sent,
                "received" => Figure::Received,
                "duplicates" => Figure::Copies,
                "errors" => Figure::Errors,
                "packet loss" => {
                    totals.loss = decimal::number(value.trim_end_matches('%'));
                    continue;
                }
                took if value == "time" => {
                    totals.took = decimal::time(took.trim_end_matches("ms"), MILLISECOND);
                    continue;
                }
                _ => continue,
            };
            let count = value.parse().ok()?;
            match what {
                Figure::Sent => totals.sent = count,
                Figure::Received => received = Some(count),
                _ => {}
            }
            totals.said.push((what, count, part.to_owned()));
        }
        let Some(received) = received else {
            return Self::by_place(line, totals.took);
        };
        totals.received = received;
        Some(totals)
    }

    /// In a language that is not known: sent, received, what may be between, and the share that was lost.
    fn by_place(line: &str, took: Option<Time>) -> Option<Self> {
        // A comma without a space is a decimal one.
        let parts = line.split('，').flat_map(|part| part.split(", "));
        let mut parts = parts.map(str::trim);
        let (sent, received) = (parts.next()?, parts.next()?);
        let counts = [(Figure::Sent, sent), (Figure::Received, received)];
        let said = counts.map(|(what, part)| Some((what, only_number(part)?, part.to_owned())));
        let loss = parts.find(|part| part.contains('%'))?;
        let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let loss = loss.split(|c| !number(c)).find(|text| !text.is_empty())?;
        Some(Self {
            sent: only_number(sent)?,
            received: only_number(received)?,
            said: said.into_iter().collect::<Option<_>>()?,
            loss: decimal::number(&loss.replace(',', ".")),
            took,
        })
    }

    fn summary(self) -> PrintedSummary {
        let mut summary = PrintedSummary::default();
        for (what, value, printed) in self.said {
            summary.count(what, value, printed);
        }
        if let Some(loss) = self.loss {
            let printed = format!("{}% packet loss", loss.value);
            summary.percent(Figure::LossShare, loss, printed);
        }
        if let Some(took) = self.took {
            let printed = format!("time {} ms", milliseconds(took));
            summary.time(Figure::Duration, took, printed);
        }
        summary
    }

    /// Replies that came with a bad checksum are replies here, and its share of lost packets has them in it.
    fn count_too(&mut self, bad_checksums: u64) {
        if bad_checksums == 0 {
            return;
        }
        self.received += bad_checksums;
        self.loss = None;
        for (what, value, _) in &mut self.said {
            if *what == Figure::Received {
                *value = self.received;
            }
        }
    }
}

/// `64 bytes from …`: most lines of most files.
fn begins_as_reply(line: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit();
    line.trim_start_matches(digits).starts_with(" bytes from ")
}

/// A reply in whatever language: `64 octets de 192.0.2.7 : icmp_seq=1 ttl=117 temps=12,3 ms`.
fn is_reply(line: &str) -> bool {
    let (_, line) = stamp(line);
    begins_with_digit(line)
        && sequence(line).is_some()
        && (has(line, " bytes from ") || has_ttl(line))
}

/// Replies have their time to live, and errors do not: what stands before the number may be cut off.
fn has_ttl(line: &str) -> bool {
    has(line, "ttl=") || has(line, "hlim=")
}

/// The round trip of a reply: the number behind the last `=`, where letters in whatever alphabet stand behind it.
fn trip(line: &str) -> Option<Cow<'_, str>> {
    let (before, behind) = line.rsplit_once('=')?;
    let end = behind.find(|c: char| c.is_whitespace() || c.is_alphabetic())?;
    let (digits, unit) = behind.split_at(end);
    let is_other = ["ttl", "hlim", "seq", "req"]
        .iter()
        .any(|key| before.ends_with(key));
    if is_other || !begins_with_digit(digits) || !unit.trim_start().starts_with(char::is_alphabetic)
    {
        return None;
    }
    Some(match digits.find(',') {
        Some(_) => Cow::Owned(digits.replace(',', ".")),
        None => Cow::Borrowed(digits),
    })
}

/// `4 paquets transmis, 4 reçus, 0 % perte de paquets, temps 3004 ms`
fn is_totals(line: &str) -> bool {
    let mut parts = line.split([',', '，']);
    let count = |part: Option<&str>| part.and_then(only_number).is_some();
    count(parts.next()) && count(parts.next()) && parts.any(|part| part.contains('%'))
}

/// The whole number of a text that has no other.
fn only_number(text: &str) -> Option<u64> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let number = numbers.find(|digits| !digits.is_empty())?;
    let is_only = numbers.all(str::is_empty);
    number.parse().ok().filter(|_| is_only)
}

/// `icmp_seq=7`, `icmp_seq 7`, `icmp_req=7` of old iputils, `seq=7`
fn sequence(line: &str) -> Option<u64> {
    let rest = after(line, "icmp_seq")
        .or_else(|| after(line, "icmp_req"))
        .and_then(|rest| rest.strip_prefix(['=', ' ']))
        .or_else(|| after(line, " seq="))?;
    leading_number(rest)
}

/// Lines that carry nothing: blank ones, the dots of `-f`, the rule above the summary, warnings, and
/// the header that BSD prints of a packet that came back.
fn no_matter(line: &str) -> bool {
    line.starts_with("---")
        || line.starts_with("WARNING: ")
        || line.starts_with("pipe ")
        || line.starts_with("Vr HL TOS")
        || line.starts_with(" 4  5  ")
        || line.chars().all(|c| matches!(c, '.' | ' ' | '\u{8}' | 'E'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::{self, check};
    use delaylab_model::record::Outcome;

    fn text(text: &str) -> Imported {
        import::read(text.as_bytes(), None).unwrap()
    }

    fn round_trips(imported: &Imported) -> Vec<Option<Nanos>> {
        let records = imported.streams[0].records.iter();
        records.map(|record| record.round_trip()).collect()
    }

    #[test]
    fn stamps_that_a_script_puts_before_lines_are_times() {
        let line = |stamp: &str, seq: u64| {
            format!("{stamp}64 bytes from 10.0.0.2: icmp_seq={seq} ttl=57 time=10.5 ms\n")
        };
        let lines = |stamps: [&str; 2]| line(stamps[0], 1) + &line(stamps[1], 2);
        let dated = text(&lines(["2026-11-29 12:00:00 ", "2026-11-29 12:00:05 "]));
        let due = dated.streams[0].records.iter().map(|it| it.t_intended);
        let due: Vec<Nanos> = due.collect();
        assert_eq!(due[1] - due[0], 5 * SECOND);
        assert_eq!(dated.streams[0].clock, Clock::RealTime);
        let head = "Nov 29 12:00:00 PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n";
        let by_ts = text(&(head.to_owned() + &lines(["Nov 29 12:00:00 ", "Nov 29 12:00:05 "])));
        assert_eq!(
            (by_ts.streams.len(), by_ts.streams[0].records.len()),
            (1, 2)
        );
        let mut warnings = by_ts.warnings.iter();
        let says = "time stamps without a year";
        assert!(warnings.any(|it| it.contains(says)), "{:?}", by_ts.warnings);
    }

    #[test]
    fn words_of_any_alphabet() {
        let japanese = text(
            "PING 8.8.8.8 (8.8.8.8) 56(84) バイトのデータ\n\
             64 バイト応答 送信元 8.8.8.8: icmp_seq=1 ttl=116 時間=7.72ミリ秒\n\
             64 バイト応答 送信元 8.8.8.8: icmp_seq=2 ttl=116 時間=7.92ミリ秒\n\
             \n\
             --- 8.8.8.8 ping 統計 ---\n\
             送信パケット数 3, 受信パケット数 2, 33% packet loss, time 2004ms\n\
             rtt 最小/平均/最大/mdev = 7.720/7.820/7.920/0.100 ms\n",
        );
        let chinese = text(
            "PING 1.1.1.1 (1.1.1.1) 56(84) 字节的数据。\n\
             64 字节，来自 1.1.1.1: icmp_seq=1 ttl=52 时间=7.72 毫秒\n\
             64 字节，来自 1.1.1.1: icmp_seq=2 ttl=52 时间=7.92 毫秒\n\
             \n\
             --- 1.1.1.1 ping 统计 ---\n\
             已发送 3 个包， 已接收 2 个包, 33.3333% packet loss, time 2004ms\n\
             rtt min/avg/max/mdev = 7.720/7.820/7.920/0.100 ms\n",
        );
        for imported in [japanese, chinese] {
            let trips = round_trips(&imported);
            assert_eq!(trips, [Some(7_720_000), Some(7_920_000), None]);
            assert_eq!(
                (imported.said.len(), imported.streams[0].size),
                (8, Some(84))
            );
            assert_eq!(imported.strange, None);
            assert!(
                check(&imported)
                    .iter()
                    .all(|it| it.what == Figure::LossShare)
            );
            let whole = |it: &String| !it.contains("summary is missing");
            assert!(
                imported.warnings.iter().all(whole),
                "{:?}",
                imported.warnings
            );
        }
    }

    #[test]
    fn errors_that_came_back_are_errors_in_any_language() {
        let by: Option<IpAddr> = Some(IpAddr::from([10, 0, 0, 9]));
        for (line, outcome, by) in [
            (
                "Von 10.0.0.9 icmp_seq=1 Zielhost nicht erreichbar",
                Outcome::Refused,
                by,
            ),
            (
                "De gw.example (10.0.0.9) icmp_seq=1 Hôte inaccessible",
                Outcome::Refused,
                by,
            ),
            (
                "From gateway icmp_seq=1 Destination Host Unreachable",
                Outcome::Refused,
                None,
            ),
            ("noch keine Antwort für icmp_seq=1", Outcome::Lost, None),
            ("Request timeout for icmp_seq 1", Outcome::Lost, None),
        ] {
            let head = "PING 10.0.0.1 (10.0.0.1) 56(84) Bytes an Daten.\n";
            let reply = "64 Bytes von 10.0.0.1: icmp_seq=2 ttl=63 Zeit=1.00 ms\n";
            let imported = text(&format!("{head}{line}\n{reply}"));
            let first = imported.streams[0].records.get(0).unwrap();
            assert_eq!((first.outcome, first.refused_by), (outcome, by), "{line}");
            assert_eq!(imported.strange, None, "{line}");
        }
        // The beginning of a reply is no error.
        let cut = text(
            "PING 10.0.0.1 (10.0.0.1) 56(84) octets\n64 octets de 10.0.0.1 : icmp_seq=1 tt\n\
                        64 octets de 10.0.0.1 : icmp_seq=2 ttl=63 temps=1,00 ms\n",
        );
        assert!(cut.strange.is_some());
    }

    #[test]
    fn what_is_behind_the_ttl_is_no_round_trip() {
        assert_eq!(trip("64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 tim"), None);
        assert_eq!(
            trip("64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 (DUP!)"),
            None
        );
        let copy = "64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=23,8 ms (DUP!)";
        assert_eq!(trip(copy).as_deref(), Some("23.8"));
    }

    #[test]
    fn a_head_says_the_size_and_the_first_number() {
        for (head, size, first) in [
            ("10.0.0.1 (10.0.0.1) 56(84) bytes of data.", 84, 1),
            (
                "10.0.0.1 (10.0.0.1) from 10.0.0.2 eth0: 56(84) bytes of data.",
                84,
                1,
            ),
            (
                "10.0.0.1 (10.0.0.1) from 10.0.0.2 : 56(84) bytes of data.",
                84,
                1,
            ),
            ("::1(::1) 56 data bytes", 104, 1),
            ("localhost(localhost (::1)) 56 data bytes", 104, 1),
            (
                "fe80::1%eth0(fe80::1%eth0) from fe80::2%eth0 eth0: 56 data bytes",
                104,
                1,
            ),
            ("a (10.0.0.1): 56 data bytes", 84, 0),
            ("a (10.0.0.1) from 10.0.0.2: 56 data bytes", 84, 0),
            ("a (::1) from ::2: 56 data bytes", 104, 0),
        ] {
            let run = Run::begun_by(&format!("PING {head}")).unwrap();
            assert_eq!((run.size, run.first), (Some(size), Some(first)), "{head}");
        }
    }

    #[test]
    fn a_date_in_front_of_the_head_is_no_part_of_it() {
        let imported = text(
            "[2026-11-23 12:32:05] PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n\
             [2026-11-23 12:32:05] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=1.00 ms\n",
        );
        let stream = &imported.streams[0];
        assert_eq!(
            (stream.target.as_str(), stream.size),
            ("10.0.0.1", Some(84))
        );
        let read = stream.records.get(0).unwrap().t_recv;
        assert_eq!(read, Some(1_795_437_125 * SECOND));
    }

    #[test]
    fn deviations_have_several_names() {
        let imported = text(
            "PING6(56=40+8+8 bytes) ::1 --> ::1\n\
             16 bytes from ::1, icmp_req=0 hlim=64 time=0.120 ms\n\
             1 packets transmitted, 1 packets received, 0.0% packet loss\n\
             round-trip min/avg/max/std-dev = 0.120/0.120/0.120/0.000 ms\n",
        );
        assert_eq!((imported.said.len(), imported.strange.clone()), (7, None));
        assert_eq!(round_trips(&imported), [Some(120_000)]);
    }

    #[test]
    fn what_stands_above_a_call_is_no_call() {
        let sample = include_str!("../../tests/data/import/ping.txt");
        let once = text(sample);
        for (above, is_strange) in [
            ("$ ping -c 50 -i 0.05 10.77.2.1\n", true),
            ("Fri Nov 27 12:32:05 UTC 2026\n", true),
            (
                "ping: sock4.fd: 3 (socktype: SOCK_RAW), sock6.fd: 4 (socktype: SOCK_RAW)\n\n",
                false,
            ),
        ] {
            let mut imported = text(&format!("{above}{sample}"));
            assert_eq!(imported.strange.is_some(), is_strange, "{above}");
            imported
                .warnings
                .retain(|it| !it.contains("not understood"));
            assert_eq!(imported.warnings, once.warnings, "{above}");
            assert_eq!(imported.streams, once.streams, "{above}");
        }
    }

    /// iputils does not count it as received.
    #[test]
    fn a_bad_checksum_hides_no_loss() {
        let imported = text(
            "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n\
             64 bytes from 10.0.0.1: icmp_seq=1 ttl=63 time=1.00 ms\n\
             64 bytes from 10.0.0.1: icmp_seq=2 ttl=63 time=1.00 ms (BAD CHECKSUM!)\n\
             \n\
             --- 10.0.0.1 ping statistics ---\n\
             3 packets transmitted, 1 received, +1 corrupted, 66.6667% packet loss, time 2000ms\n\
             rtt min/avg/max/mdev = 1.000/1.000/1.000/0.000 ms\n",
        );
        let outcomes = imported.streams[0].records.iter().map(|it| it.outcome);
        assert_eq!(
            outcomes.collect::<Vec<_>>(),
            [Outcome::Ok, Outcome::Corrupt, Outcome::Lost]
        );
        assert_eq!(check(&imported), []);
    }
}
