//! Text and full log of `sockperf`.
//!
//! ```text
//! test was performed using the following parameters: --mps=200 --burst=1 … --msg-size=14 --time=1
//! sockperf: [Valid Duration] RunTime=0.540 sec; SentMessages=109; ReceivedMessages=109
//! sockperf: ====> avg-latency=65.955 (std-dev=82.226)
//! sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
//! sockperf: ---> percentile 99.000 =  123.901
//! packet, txTime(sec), rxTime(sec), latency(usec)
//! 0, 2.408151947, 2.408316343, 82.198
//! ------------------------------
//! ```
//!
//! sockperf calls half of a round trip its latency; with `--full-rtt` it says `avg-rtt` and means all of it. The log has no row for a message that was lost;
//! with `--mps` the time at which the others were sent tells which slots are empty.

use super::by_line::by_turns;
use super::decimal::{self, LARGEST};
use super::figure::{Delay, Figure, PrintedSummary, Statistic};
use super::text::{after, begins_with_digit, head, leading_number, word_after};
use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, order};
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{MICROSECOND, Nanos, SECOND};

const HEADER: &str = "packet, txTime(sec), rxTime(sec)";

pub static FORMAT: Format = Format {
    name: "sockperf",
    command: "sockperf ping-pong -i TARGET --full-log FILE",
    looks: "lines such as `sockperf: Summary: Latency is 95.268 usec`",
    signs: &["sockperf"],
    rules: Rules {
        copies_in_records: false,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes)
        .lines()
        .any(|line| line.starts_with("sockperf: ") || line.starts_with(HEADER))
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let line = |heard: &mut Heard, line: &str| heard.line(&without_colours(line));
    let imported = by_turns(input, &FORMAT, Heard::ends_before, line, Heard::finish);
    Ok(imported)
}

/// With what the text begins, and the log, which may stand in one file.
const VERSION: &str = "== version #";
const PARAMETERS: &str = "test was performed using";

/// What a call prints.
#[derive(Default)]
struct Heard {
    version: Option<String>,
    target: String,
    method: Option<Method>,
    payload: Option<u32>,
    /// Messages a second, where a number of them was asked for.
    rate: Option<u64>,
    sent: Option<u64>,
    dropped: u64,
    /// (sent, read)
    rows: Vec<(Nanos, Nanos)>,
    in_rows: bool,
    /// What it says of is the whole round trip.
    full: bool,
    percentiles: usize,
    least: bool,
    has_parameters: bool,
    has_log: bool,
    log_ended: bool,
    said: PrintedSummary,
}

impl Heard {
    /// Does the line begin another call? Of one there is one of each beginning, and one table of messages.
    fn ends_before(&self, line: &str) -> bool {
        if begins_with_digit(line) {
            return false;
        }
        (self.log_ended || self.in_rows) && line.starts_with(HEADER)
            || self.has_parameters && line.starts_with(PARAMETERS)
            || self.version.is_some() && line.contains(VERSION)
    }

    /// Takes a line; false where it says nothing that is known.
    fn line(&mut self, line: &str) -> bool {
        if self.in_rows {
            return self.row(line);
        }
        let Some(text) = line.strip_prefix("sockperf: ") else {
            return self.outside(line);
        };
        if let Some(version) = text.strip_prefix(VERSION) {
            self.version = version.split(' ').next().map(str::to_owned);
        } else if text.starts_with("[Valid Duration]") {
            self.sent = word_after(text, "SentMessages=").and_then(|word| word.parse().ok());
            let received = word_after(text, "ReceivedMessages=").and_then(|word| word.parse().ok());
            for (what, word, value) in [
                (Figure::Sent, "SentMessages", self.sent),
                (Figure::Received, "ReceivedMessages", received),
            ] {
                if let Some(value) = value {
                    self.said.count(what, value, format!("{word}={value}"));
                }
            }
        } else if let Some(rest) = after(text, "avg-latency=") {
            self.average("avg-latency", rest);
        } else if let Some(rest) = after(text, "avg-rtt=") {
            self.full = true;
            self.average("avg-rtt", rest);
        } else if let Some(counts) = text.strip_prefix("# dropped messages = ") {
            self.counts(counts);
        } else if let Some(rest) = text.strip_prefix("---> ") {
            return self.observation(rest);
        }
        true
    }

    fn outside(&mut self, line: &str) -> bool {
        if line.starts_with(HEADER) {
            self.in_rows = true;
            self.has_log = true;
        } else if line.starts_with(PARAMETERS) {
            self.has_parameters = true;
            self.rate = word_after(line, "--mps=").and_then(|word| word.parse().ok());
            let payload = word_after(line, "--msg-size=");
            self.payload = payload.and_then(|word| word.parse().ok());
            self.has_log = true;
        } else if let Some(address) = after(line, "IP = ") {
            let port = after(line, "PORT = ").and_then(leading_number);
            let host = address.split(' ').next().unwrap_or_default();
            self.target = port.map_or(host.to_owned(), |port| format!("{host}:{port}"));
            self.method = Some(if line.contains("# TCP") {
                Method::Tcp
            } else {
                Method::Udp
            });
        } else {
            return line.is_empty() || line.starts_with("---") || line.starts_with("sockperf[");
        }
        true
    }

    /// `17; # duplicated messages = 0; # out-of-order messages = 0`
    fn counts(&mut self, text: &str) {
        self.dropped = leading_number(text).unwrap_or(0);
        let counts = [
            (Figure::Lost, "dropped", Some(text)),
            (
                Figure::Copies,
                "duplicated",
                after(text, "duplicated messages = "),
            ),
            (
                Figure::Reordered,
                "out-of-order",
                after(text, "out-of-order messages = "),
            ),
        ];
        for (what, word, rest) in counts {
            if let Some(value) = rest.and_then(leading_number) {
                let printed = format!("{word} messages = {value}");
                self.said.count(what, value, printed);
            }
        }
    }

    /// `<MAX> observation =  893.862`, `percentile 99.999 =  893.862`
    fn observation(&mut self, text: &str) -> bool {
        let Some((name, value)) = text.split_once(" = ") else {
            return false;
        };
        let (name, value) = (name.trim(), value.trim());
        let statistic = match name {
            "<MAX> observation" => Statistic::Max,
            "<MIN> observation" => {
                self.least = true;
                Statistic::Min
            }
            name => {
                let Some(share) = name.strip_prefix("percentile ").and_then(decimal::number) else {
                    return false;
                };
                self.percentiles += 1;
                Statistic::Quantile(share.value / 100.0)
            }
        };
        self.say(statistic, name, value);
        true
    }

    /// `65.955 (std-dev=82.226)`; comes before every observation.
    fn average(&mut self, word: &str, text: &str) {
        let mean = text.split(' ').next().unwrap_or_default();
        let deviation = word_after(text, "std-dev=").unwrap_or_default();
        self.say(Statistic::Mean, word, mean);
        self.say(Statistic::Deviation, "std-dev", deviation);
    }

    fn say(&mut self, statistic: Statistic, word: &str, value: &str) {
        let delay = match self.full {
            true => Delay::RoundTrip,
            false => Delay::HalfRoundTrip,
        };
        let (time, printed) = (
            decimal::time(value, MICROSECOND),
            format!("{word} {value} usec"),
        );
        self.said.time(Figure::Of(delay, statistic), time, printed);
    }

    /// `0, 2.408151947, 2.408316343, 82.198`
    fn row(&mut self, line: &str) -> bool {
        if line.starts_with("---") {
            self.in_rows = false;
            self.log_ended = true;
            return true;
        }
        let mut fields = line
            .split(", ")
            .skip(1)
            .map(|field| decimal::time(field.trim(), SECOND));
        match (fields.next().flatten(), fields.next().flatten()) {
            (Some(sent), Some(read)) if read.nanos >= sent.nanos => {
                self.rows.push((sent.nanos, read.nanos));
                true
            }
            _ => false,
        }
    }

    fn finish(mut self, imported: &mut Imported) {
        self.rows.sort_unstable();
        let stream = imported.streams.len();
        imported.sum_up(stream, std::mem::take(&mut self.said));
        imported.version = self.version.take().or(imported.version.take());
        let method = self.method.unwrap_or(Method::Udp);
        if self.has_log && !self.log_ended {
            imported.warn("the log's last line is missing: the file ends before the log did");
        }
        if self.percentiles > 0 && !self.least || !self.has_log && self.percentiles == 0 {
            imported.warn("sockperf's summary is not whole: the file ends before it did");
        }
        if !self.has_log {
            imported.warn(
                "the file has only sockperf's summary: `--full-log FILE` writes every message",
            );
        } else if self.method.is_none() {
            imported.warn("a full log does not say whether it is of udp or tcp: udp is assumed");
        }
        let size = (method == Method::Udp)
            .then(|| self.payload?.checked_add(headers::of_datagrams(false)))
            .flatten();
        let records = self.records(method, size, imported);
        let name = match self.target.as_str() {
            "" => "sockperf",
            target => target,
        };
        imported.streams.push(ImportedStream {
            size,
            clock: Clock::Own {
                realtime_offset: None,
            },
            records: records.into(),
            ..ImportedStream::new(name, &self.target, method)
        });
    }

    fn records(&self, method: Method, size: Option<u32>, imported: &mut Imported) -> Vec<Record> {
        let slots = self.slots();
        if slots.is_none() && self.dropped > 0 && !self.rows.is_empty() {
            imported.warn(format!(
                "sockperf lost {} messages and its log does not say which: they have no record",
                self.dropped
            ));
        }
        let slotted = slots.is_some();
        let seqs = slots.unwrap_or_else(|| (0..self.rows.len() as u64).collect());
        let mut records: Vec<Record> = Vec::with_capacity(self.rows.len());
        for (&seq, &(sent, read)) in seqs.iter().zip(&self.rows) {
            let next = records.last().map_or(0, |before| before.seq + 1);
            for lost in next..seq {
                let due = sent.saturating_sub(self.after(seq - lost));
                records.push(Record::due(0, 0, lost, method, due));
            }
            records.push(Record {
                t_send: Some(sent),
                t_recv: Some(read),
                outcome: Outcome::Ok,
                ..Record::due(0, 0, seq, method, sent)
            });
        }
        // Lost after the last that came back, within what was sent.
        if let (Some(last), Some(sent), true) = (records.last().copied(), self.sent, slotted) {
            let missing = self
                .dropped
                .saturating_sub(records.len() as u64 - self.rows.len() as u64);
            for lost in
                (last.seq + 1..sent).take(usize::try_from(missing.min(MOST_LOST)).unwrap_or(0))
            {
                let due = last
                    .t_intended
                    .saturating_add(self.after(lost - last.seq))
                    .min(LARGEST);
                records.push(Record::due(0, 0, lost, method, due));
            }
        }
        records.iter_mut().for_each(|record| record.ip_size = size);
        order::mark(&mut records);
        records
    }

    /// The slot of each row by its time of sending, if that is plausible: each row has one of its own,
    /// and no more are empty than messages were lost.
    fn slots(&self) -> Option<Vec<u64>> {
        let period = self
            .period()
            .filter(|_| self.dropped > 0 && self.dropped <= MOST_LOST)?;
        let first = self.rows.first()?.0;
        let slot =
            |&(sent, _): &(Nanos, Nanos)| u64::try_from((sent - first + period / 2) / period).ok();
        let slots: Vec<u64> = self.rows.iter().map(slot).collect::<Option<_>>()?;
        let rising = slots.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising {
            return None;
        }
        let empty = slots.last()? + 1 - slots.len() as u64;
        (empty <= self.dropped).then_some(slots)
    }

    fn period(&self) -> Option<Nanos> {
        let rate = Nanos::try_from(self.rate?).ok()?;
        SECOND.checked_div(rate).filter(|&period| period > 0)
    }

    fn after(&self, slots: u64) -> Nanos {
        let slots = Nanos::try_from(slots).unwrap_or(0);
        self.period().unwrap_or(0).saturating_mul(slots)
    }
}

/// More lost messages than this are not believed.
const MOST_LOST: u64 = 1_000_000;

/// The line without terminal colours (`ESC [ … m`).
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = behind.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::testing::of_two_calls;
    use crate::import::{self, ImportedStream};

    /// The times of each are since its own start.
    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let log = include_str!("../../tests/data/import/sockperf-loss.csv");
        let rows = &log[log.find("packet, ").unwrap()..];
        // Text and log of one call.
        let text = include_str!("../../tests/data/import/sockperf.txt");
        let both = text.to_owned() + include_str!("../../tests/data/import/sockperf.csv");
        for (call, packets) in [(log, 55), (rows, 38), (text, 0), (&both, 22)] {
            let once = import::read(call.as_bytes(), None).unwrap();
            let twice = of_two_calls(&call.repeat(2), packets);
            let delays = |stream: &ImportedStream| {
                let records = stream.records.iter();
                records.map(|it| it.round_trip()).collect::<Vec<_>>()
            };
            for stream in &twice.streams {
                assert_eq!(delays(stream), delays(&once.streams[0]));
            }
            let of_second = twice.said.iter().filter(|said| said.stream == 1);
            assert_eq!(of_second.count(), once.said.len());
        }
    }
}
