//! Output of `nping`: icmp, udp, tcp and whole tcp connections.
//!
//! ```text
//! Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-23 12:32 UTC
//! SENT (0.0070s) ICMP [10.77.1.2 > 10.77.2.2 Echo request (type=8/code=0) id=37872 seq=1] IP [ttl=64 … iplen=28 ]
//! RCVD (0.0327s) ICMP [10.77.2.2 > 10.77.1.2 Echo reply (type=0/code=0) id=37872 seq=1] IP [ttl=63 … iplen=28 ]
//! SENT (0.0132s) TCP 10.77.1.2:3921 > 10.77.2.2:9000 S ttl=64 id=37384 iplen=40  seq=3636432274 win=1480
//! SENT (0.0013s) Starting TCP Handshake > 10.77.2.2:9000
//! RCVD (0.0013s) Handshake with 10.77.2.2:9000 completed
//! Max rtt: 25.731ms | Min rtt: 0.025ms | Avg rtt: 3.701ms
//! Raw packets sent: 10 (280B) | Rcvd: 7 (324B) | Lost: 3 (30.00%)
//! ```
//!
//! Times are since the start, to 0.1 ms; a round trip is the difference of two. The start is known to
//! the minute. Its own round trips are of the captured packets, and up to some 0.1 ms shorter. It reads one reply each time
//! it looks, and prints replies up to a second late where more have come. A reply
//! belongs to the last request of the same number, which nping may use twice or leave out, or where
//! there are no numbers to the last request.

use super::by_line::by_call;
use super::decimal::{self, Time};
use super::figure::{Delay, Figure, PrintedFigure, PrintedSummary, Statistic};
use super::packets::{Frame, Packets, Reply};
use super::text::{after, head, leading_number, word_after};
use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, date};
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use delaylab_model::units::format_duration;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use std::collections::HashMap;

pub static FORMAT: Format = Format {
    name: "nping",
    command: "nping --icmp -c 100 TARGET > FILE",
    looks: "lines such as `SENT (0.0070s) ICMP […]` and `RCVD (0.0327s) ICMP […]`",
    signs: &["Nping", "SENT (", "RCVD ("],
    rules: Rules {
        slack: 200 * MICROSECOND,
        ..Rules::USUAL
    },
    is,
    read,
};

/// Beyond its own maximum by more than that, a reply was printed late.
const LATE: Nanos = 300 * MICROSECOND;

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let mut lines = head.lines();
    lines.any(|line| line.starts_with("Starting Nping ") || Event::read(line).is_some())
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_call(input, &FORMAT, Call::begun_by, Call::line, Call::finish);
    Ok(imported)
}

/// A line of a packet.
struct Event<'a> {
    sent: bool,
    at: Time,
    what: &'a str,
}

impl<'a> Event<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let sent = line.starts_with("SENT (");
        let rest = line
            .strip_prefix("SENT (")
            .or_else(|| line.strip_prefix("RCVD ("))?;
        let (at, what) = rest.split_once("s) ")?;
        let at = decimal::time(at, SECOND)?;
        Some(Self { sent, at, what })
    }

    /// The echo's number.
    fn seq(&self) -> Option<u64> {
        let rest = after(self.what, "Echo ")?;
        word_after(rest, "seq=").and_then(leading_number)
    }

    /// What an ICMP message says: `ICMP [10.77.2.2 > 10.77.1.2 Port 9 unreachable (type=3/code=3) ]`.
    fn reason(&self) -> Option<IcmpReason> {
        let (kind, code) = word_after(self.what, "(type=")?.split_once("/code=")?;
        let is_v6 = self.what.starts_with("ICMPv6");
        Some(IcmpReason::from_code(
            kind.parse().ok()?,
            code.parse().ok()?,
            is_v6,
        ))
    }

    /// Whose address stands first: `ICMP [10.77.2.2 > …`, `TCP 10.77.2.2:9000 > …`.
    fn from(&self) -> &str {
        let (before, _) = self.what.split_once(" > ").unwrap_or_default();
        let from = before.rsplit([' ', '[']).next().unwrap_or_default();
        from.split_once(':').map_or(from, |(host, port)| {
            // An IPv6 address has more than one colon.
            if port.contains(':') { from } else { host }
        })
    }

    fn to(&self) -> &str {
        let (_, behind) = self.what.split_once(" > ").unwrap_or_default();
        behind.split([' ', ']']).next().unwrap_or_default()
    }
}

#[derive(Default)]
struct Call {
    version: Option<String>,
    /// When it began, as it says that.
    began: Option<String>,
    target: String,
    method: Method,
    size: Option<u32>,
    packets: Packets,
    /// The last request of each number.
    numbers: HashMap<u64, u64>,
    /// When each was sent.
    sent: Vec<Time>,
    /// Round trips of errors and the like count in what nping says.
    errors: u64,
    said: PrintedSummary,
}

impl Call {
    /// `Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-23 12:32 UTC`
    fn begun_by(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("Starting Nping ")?;
        Some(Self {
            version: rest.split(' ').next().map(str::to_owned),
            began: rest.split_once(" at ").map(|(_, at)| at.to_owned()),
            ..Self::default()
        })
    }

    fn line(&mut self, line: &str) -> bool {
        if let Some(event) = Event::read(line) {
            if event.sent {
                self.request(&event);
            } else {
                self.reply(&event);
            }
            return true;
        }
        if line.starts_with("Max rtt: ") {
            self.times(line);
            return true;
        }
        if let Some(rest) = line
            .strip_prefix("Raw packets sent: ")
            .or_else(|| line.strip_prefix("TCP connection attempts: "))
        {
            let behind = |word| after(rest, word).and_then(leading_number);
            self.said.counts([
                (Figure::Sent, "sent", leading_number(rest)),
                (Figure::Received, "Rcvd", behind("Rcvd: ")),
                (Figure::Lost, "Lost", behind("Lost: ")),
            ]);
            return true;
        }
        line.trim().is_empty()
            || line.starts_with("Nping done: ")
            || line.starts_with("WARNING: ")
            || line.starts_with("Statistics for host ")
            || line.starts_with(" |_ ")
    }

    fn request(&mut self, event: &Event<'_>) {
        let seq = self.sent.len() as u64;
        if let Some(number) = event.seq() {
            self.numbers.insert(number, seq);
        }
        if self.target.is_empty() {
            self.target = event.to().to_owned();
            self.method = match event.what.split(' ').next() {
                Some("UDP") => Method::Udp,
                Some("TCP" | "Starting") => Method::Tcp,
                _ => Method::Icmp,
            };
            let size = word_after(event.what, "iplen=");
            self.size = size.and_then(|size| size.parse().ok());
        }
        self.sent.push(event.at);
        self.packets.unanswered_since(seq, Some(event.at.nanos));
    }

    fn reply(&mut self, event: &Event<'_>) {
        let seq = match event.seq() {
            Some(number) => self.numbers.get(&number).copied(),
            None => (self.sent.len() as u64).checked_sub(1),
        };
        let sent = |seq: u64| self.sent.get(usize::try_from(seq).ok()?).copied();
        let Some((seq, sent)) = seq.and_then(|seq| Some((seq, sent(seq)?))) else {
            return;
        };
        let refused = event.what.starts_with("ICMP") && event.seq().is_none();
        if refused || event.what.starts_with("Possible TCP RST") {
            self.errors += 1;
            let by = event.from().parse().ok();
            self.packets.refused_because(seq, by, event.reason(), None);
            return;
        }
        let round_trip = Time {
            nanos: (event.at.nanos - sent.nanos).max(0),
            // The difference of two that were rounded.
            step: 2 * event.at.step,
        };
        let ttl = word_after(event.what, "ttl=");
        let reply = Reply {
            round_trip: Some(round_trip),
            ttl: ttl.and_then(|ttl| ttl.parse().ok()),
            sent_at: Some(sent.nanos),
            ..Reply::default()
        };
        self.packets.reply(seq, reply);
    }

    /// `Max rtt: 25.731ms | Min rtt: 0.025ms | Avg rtt: 3.701ms`
    fn times(&mut self, line: &str) {
        for part in line.split(" | ") {
            let Some((word, value)) = part.split_once(" rtt: ") else {
                continue;
            };
            let statistic = match word {
                "Max" => Statistic::Max,
                "Min" => Statistic::Min,
                _ => Statistic::Mean,
            };
            let time = decimal::time(value.trim_end_matches("ms"), MILLISECOND);
            self.said.round_trip(statistic, time, part.to_owned());
        }
    }

    /// Did neither the head of a call nor anything that it prints come?
    fn is_empty(&self) -> bool {
        let has_begun = self.version.is_some();
        !has_begun && self.packets.is_empty() && self.said.figures.is_empty()
    }

    fn finish(mut self, imported: &mut Imported) {
        if self.is_empty() {
            return;
        }
        let frame = Frame {
            size: self.size,
            ..Frame::of_target(self.target, self.method)
        };
        let began: Option<Nanos> = self.began.as_deref().and_then(date::local);
        if let (Some(at), None) = (self.began, began) {
            imported.warn(format!("when nping began is not understood: {at}"));
        }
        imported.version = self.version.or(imported.version.take());
        imported.began = imported.began.or(began);
        let place = imported.streams.len();
        let (_, copies) = self.packets.answered();
        let mut stream = self.packets.finish(frame, imported);
        stream.clock = Clock::Own {
            realtime_offset: began,
        };
        if self.errors == 0 {
            leave_out_late(&mut stream, &self.said.figures, imported);
        }
        imported.streams.push(stream);
        imported.warn("nping prints times to 0.1 ms, and its start to the minute");
        if self.said.figures.is_empty() {
            imported.warn("nping's summary is missing: the file ends before nping did");
        }
        // Its times are of errors that came back, too, and its counts also of copies.
        let (counts_errors, counts_copies) = (self.errors > 0, copies > 0);
        self.said.figures.retain(|said| match said.what {
            Figure::Sent => true,
            Figure::Received | Figure::Lost => !counts_errors && !counts_copies,
            _ => !counts_errors,
        });
        imported.sum_up(place, self.said);
    }
}

/// Takes the round trips off replies that were printed late.
fn leave_out_late(stream: &mut ImportedStream, said: &[PrintedFigure], imported: &mut Imported) {
    let longest = Figure::Of(Delay::RoundTrip, Statistic::Max);
    let Some(longest) = said.iter().find(|said| said.what == longest) else {
        return;
    };
    let longest = longest.value as Nanos;
    let is_late = |trip: Nanos| trip > longest.saturating_add(LATE);
    let late = |record: &Record| record.round_trip().is_some_and(is_late);
    let count = stream.records.iter().filter(late).count() as u64;
    if count == 0 {
        return;
    }
    let records = stream.records.iter().map(|record| match late(&record) {
        true => Record {
            t_recv: None,
            reorder_extent: 0,
            ..record
        },
        false => record,
    });
    stream.records = records.collect();
    stream.repeats.retain(|&trip| !is_late(trip));
    imported.warn(format!(
        "nping printed {} late, beyond its own maximum of {}: their round trips are left out. It reads one reply at a time, and those \
         that it has not read when it ends count as lost",
        plural_of_reply(count),
        format_duration(longest)
    ));
}

fn plural_of_reply(count: u64) -> String {
    match count {
        1 => "1 reply".to_owned(),
        count => format!("{count} replies"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use delaylab_model::icmp::IcmpReason;

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let sample = include_str!("../../tests/data/import/nping-icmp.txt");
        let once = import::read(sample.as_bytes(), None).unwrap();
        let later = sample.replacen(" UTC", " -0100", 1);
        let twice = import::read(format!("{sample}{later}").as_bytes(), None).unwrap();
        let [first, second] = twice.streams.as_slice() else {
            panic!("{:?}", twice.streams);
        };
        assert_eq!(first, &once.streams[0]);
        assert_eq!(second.records.len(), first.records.len());
        assert_ne!(second.clock, first.clock);
        assert_eq!(
            (twice.began, import::check(&twice)),
            (once.began, Vec::new())
        );
    }

    #[test]
    fn what_stands_above_a_call_is_no_call() {
        let sample = include_str!("../../tests/data/import/nping-icmp.txt");
        let once = import::read(sample.as_bytes(), None).unwrap();
        let text = format!("# nping --icmp -c 10 10.77.2.2\n{sample}");
        let mut imported = import::read(text.as_bytes(), None).unwrap();
        imported
            .warnings
            .retain(|it| !it.contains("not understood"));
        assert_eq!(imported.streams, once.streams);
        assert_eq!(imported.warnings, once.warnings);
    }

    #[test]
    fn an_error_says_why() {
        let imported = import::read(
            b"Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-23 12:32 UTC\n\
              SENT (0.0070s) UDP 10.77.1.2:53 > 10.77.2.2:9 ttl=64 id=14568 iplen=28\n\
              RCVD (0.0327s) ICMP [10.77.2.2 > 10.77.1.2 Port 9 unreachable (type=3/code=3) ] IP [ttl=63 id=1 iplen=56 ]\n",
            None,
        )
        .unwrap();
        let record = imported.streams[0].records.get(0).unwrap();
        assert_eq!(record.refused_by, "10.77.2.2".parse().ok());
        assert_eq!(record.icmp, Some(IcmpReason::PortUnreachable));
    }

    /// The second reply was read when the third request went.
    #[test]
    fn replies_that_were_printed_late_have_no_round_trip() {
        let line = |kind: &str, at: &str, seq: u64| {
            let echo = if kind == "SENT" {
                "request (type=8"
            } else {
                "reply (type=0"
            };
            format!(
                "{kind} ({at}s) ICMP [10.0.0.1 > 10.0.0.2 Echo {echo}/code=0) id=1 seq={seq}] IP [ttl=64 id=1 iplen=28 ]\n"
            )
        };
        let text = [
            "Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-23 12:32 UTC\n".to_owned(),
            line("SENT", "0.0100", 1),
            line("RCVD", "0.0101", 1),
            line("SENT", "0.0600", 2),
            line("SENT", "0.1100", 3),
            line("RCVD", "0.1101", 2),
            "Max rtt: 0.052ms | Min rtt: 0.015ms | Avg rtt: 0.022ms\n".to_owned(),
            "Raw packets sent: 3 (84B) | Rcvd: 2 (56B) | Lost: 1 (33.33%)\n".to_owned(),
        ];
        let imported = import::read(text.concat().as_bytes(), None).unwrap();
        let records = imported.streams[0].records.iter();
        let ends: Vec<_> = records
            .map(|record| (record.answered(), record.round_trip()))
            .collect();
        assert_eq!(ends, [(true, Some(100_000)), (true, None), (false, None)]);
        let said = "nping printed 1 reply late, beyond its own maximum of 52.0 µs";
        let mut warnings = imported.warnings.iter();
        assert!(
            warnings.any(|it| it.starts_with(said)),
            "{:?}",
            imported.warnings
        );
        assert_eq!(import::check(&imported), []);
        assert!(imported.said.iter().all(|said| said.ours.is_some()));
    }

    #[test]
    fn a_zone_by_its_letters_is_not_guessed() {
        let sample = include_str!("../../tests/data/import/nping-icmp.txt");
        let utc = import::read(sample.as_bytes(), None).unwrap();
        assert!(utc.began.is_some());
        let local = sample.replacen(" UTC", " CST", 1);
        let local = import::read(local.as_bytes(), None).unwrap();
        assert_eq!(local.began, None);
        let named = local.warnings.iter().any(|it| it.ends_with("13:04 CST"));
        assert!(named, "{:?}", local.warnings);
    }
}
