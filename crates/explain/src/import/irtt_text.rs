//! Text of `irtt client`.
//!
//! ```text
//! [10.0.0.1:2112] [Connected] connection established
//! seq=0 rtt=23.84ms rd=74.9µs sd=23.77ms ipdv=n/a
//! DUP! seq=0                                                         the same reply again
//!                          Min     Mean   Median      Max  Stddev
//!                 RTT  23.73ms  23.88ms  23.86ms  24.04ms  95.9µs
//!    packets sent/received: 12/8 (33.33% loss)
//! ```
//!
//! Packets that have no line were lost. A round trip is without the server's time, if it stamped. What irtt says it
//! received has the copies in it (result.go).

use super::by_line::by_call;
use super::decimal::{self, Time};
use super::figure::{Delay, Figure, PrintedSummary, Statistic};
use super::packets::{Frame, Packets, Reply};
use super::text::{after, head, leading_number, word_after, words};
use super::{Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::{Nanos, SECOND};

pub static FORMAT: Format = Format {
    name: "irtt text",
    command: "irtt client TARGET > FILE",
    looks: "lines such as `[Connecting] connecting to …` and `seq=0 rtt=23.4ms`",
    signs: &["[Connecting]", "rd=", "IPDV"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        (line.starts_with("seq=") && line.contains(" rtt="))
            || line.contains("packets sent/received: ")
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let imported = by_call(input, &FORMAT, Heard::begun_by, Heard::line, Heard::finish);
    Ok(imported)
}

#[derive(Default)]
struct Heard {
    target: String,
    version: Option<String>,
    packets: Option<Packets>,
    counts: Option<(u64, u64)>,
    /// Replies beyond the first, which are among those received.
    copies: u64,
    loss: Option<decimal::Number>,
    length: Option<u32>,
    took: Option<Nanos>,
    ended: bool,
    spreads: Vec<(Figure, Time, String)>,
}

impl Heard {
    /// `[Connecting] connecting to 10.77.2.1`
    fn begun_by(line: &str) -> Option<Self> {
        let target = line.strip_prefix("[Connecting] connecting to ")?;
        Some(Self {
            target: target.to_owned(),
            ..Self::default()
        })
    }

    /// Takes a line; false where it says nothing that is known.
    fn line(&mut self, line: &str) -> bool {
        let trimmed = line.trim();
        if trimmed.starts_with("seq=") {
            return self.packet(trimmed);
        }
        if let Some(seq) = trimmed.strip_prefix("DUP! seq=") {
            // With -q copies have lines and first replies have none.
            if let (Some(seq), Some(packets)) = (leading_number(seq), &mut self.packets) {
                packets.reply(seq, Reply::default());
            }
            return true;
        }
        if let Some(target) = line
            .strip_prefix('[')
            .and_then(|line| line.split_once("] [Connected]"))
        {
            self.target = target.0.to_owned();
        } else if let Some(version) = trimmed.strip_prefix("irtt version: ") {
            self.version = Some(version.to_owned());
        } else if let Some(counts) = trimmed.strip_prefix("packets sent/received: ") {
            return self.read_counts(counts);
        } else if let Some(copies) = trimmed.strip_prefix("*** DUPLICATES: ") {
            self.copies = leading_number(copies).unwrap_or(0);
        } else if let Some(length) = trimmed.strip_prefix("packet length: ") {
            self.length = leading_number(length).and_then(|length| u32::try_from(length).ok());
        } else if let Some(took) = trimmed.strip_prefix("duration: ") {
            let wait = word_after(took, "(wait ").and_then(decimal::go_duration);
            let took = took.split(' ').next().and_then(decimal::go_duration);
            self.took = took.map(|took| took - wait.unwrap_or(0));
        } else if trimmed.starts_with("timer stats: ") {
            self.ended = true;
        } else if let Some((name, delay)) = spread(trimmed) {
            return self.read_spread(name, delay, &trimmed[name.len()..]);
        } else {
            return line.starts_with('[') || no_matter(trimmed);
        }
        true
    }

    fn packet(&mut self, line: &str) -> bool {
        let seq = after(line, "seq=").and_then(leading_number);
        let round_trip = word_after(line, "rtt=").and_then(rounded);
        let (Some(seq), Some(round_trip)) = (seq, round_trip) else {
            return false;
        };
        let packets = self.packets.get_or_insert_with(Packets::new);
        packets.reply(seq, round_trip.into());
        true
    }

    /// `12/8 (33.33% loss)`
    fn read_counts(&mut self, counts: &str) -> bool {
        let Some((sent, rest)) = counts.split_once('/') else {
            return false;
        };
        let (Ok(sent), Some(received)) = (sent.parse(), leading_number(rest)) else {
            return false;
        };
        self.counts = Some((sent, received));
        self.loss =
            word_after(rest, "(").and_then(|loss| decimal::number(loss.trim_end_matches('%')));
        true
    }

    /// Five columns; those of the first kind have a median, the others leave it out.
    fn read_spread(&mut self, name: &str, delay: Delay, values: &str) -> bool {
        use Statistic::{Deviation, Max, Mean, Median, Min};
        let words: Vec<_> = values.split_whitespace().collect();
        let columns: &[(Statistic, &str)] = match words.len() {
            5 => &[
                (Min, "Min"),
                (Mean, "Mean"),
                (Median, "Median"),
                (Max, "Max"),
                (Deviation, "Stddev"),
            ],
            4 => &[
                (Min, "Min"),
                (Mean, "Mean"),
                (Max, "Max"),
                (Deviation, "Stddev"),
            ],
            _ => return false,
        };
        for ((statistic, column), word) in columns.iter().zip(words) {
            let Some(time) = rounded(word) else {
                return false;
            };
            let what = Figure::Of(delay, *statistic);
            self.spreads
                .push((what, time, format!("{name} {column} {word}")));
        }
        true
    }

    /// Did neither the head of a call nor anything that it prints come?
    fn is_empty(&self) -> bool {
        let has_figures = self.counts.is_some() || !self.spreads.is_empty();
        self.target.is_empty() && self.packets.is_none() && !has_figures
    }

    fn finish(mut self, imported: &mut Imported) {
        if self.is_empty() {
            return;
        }
        imported.version = self.version.take().or(imported.version.take());
        let packets = self.packets.take().unwrap_or_default();
        let (answered, _) = packets.answered();
        self.warn(answered, imported);
        let stream = packets.add(self.frame(answered), imported);
        let mut figures = self.spreads.iter().map(|(what, ..)| what);
        let is_stamped = figures.any(|what| matches!(what, Figure::Of(Delay::Server, _)));
        imported.sum_up(stream, self.summary());
        if is_stamped {
            imported.say_without_server(stream);
            imported.round_trip = Some("without the server's time");
        }
    }

    /// How many packets were sent, and how many of them were answered, by its summary.
    fn sent_and_received(&self) -> Option<(u64, u64)> {
        let counts = self.counts;
        counts.map(|(sent, received)| (sent, received.saturating_sub(self.copies)))
    }

    fn warn(&self, answered: u64, imported: &mut Imported) {
        let counts = self.sent_and_received();
        if counts.is_none() || !self.ended {
            imported.warn("irtt's summary is missing or not whole: the file ends before irtt did");
        }
        if let Some((_, received)) = counts.filter(|(_, received)| *received != answered) {
            imported.warn(format!(
                "irtt says that {received} replies came and the file has lines for {answered} (-q prints none): packets without a line were left out, not counted as lost"
            ));
        }
        if answered > 0 {
            imported.warn("irtt's text has no times of day: absolute times are made up from sequence numbers; `irtt client -o FILE` writes every stamp");
        }
    }

    /// What is known of all packets. `answered`: how many replies have a line.
    fn frame(&self, answered: u64) -> Frame {
        let counts = self.sent_and_received();
        let sent = counts.map(|(sent, _)| sent);
        let gaps = Nanos::try_from(sent.unwrap_or(0).saturating_sub(1)).unwrap_or(0);
        let period = self
            .took
            .and_then(|took| took.checked_div(gaps))
            .filter(|&period| period > 0);
        // An IPv6 address is in brackets.
        let headers = headers::of_datagrams(self.target.starts_with('['));
        Frame {
            size: self.length.and_then(|length| length.checked_add(headers)),
            first: Some(0),
            sent,
            fill: counts.is_none_or(|(_, received)| received == answered),
            period: period.unwrap_or(SECOND),
            ..Frame::of_target(self.target.clone(), Method::Udp)
        }
    }

    fn summary(self) -> PrintedSummary {
        let counts = self.sent_and_received();
        let copies = Some(self.copies).filter(|&copies| copies > 0);
        let mut said = PrintedSummary::default();
        said.counts([
            (Figure::Sent, "packets sent", counts.map(|(sent, _)| sent)),
            (
                Figure::Received,
                "packets received",
                counts.map(|(_, received)| received),
            ),
            (Figure::Copies, "DUPLICATES:", copies),
        ]);
        if let Some(loss) = self.loss {
            said.percent(Figure::LossShare, loss, format!("{}% loss", loss.value));
        }
        for (what, time, printed) in self.spreads {
            said.time(what, time, printed);
        }
        said
    }
}

/// A duration as irtt rounds it: 7.55µs, 74.9µs, 192µs, 23.41ms, 401.2ms, 1.97s.
fn rounded(text: &str) -> Option<Time> {
    let nanos = decimal::go_duration(text)?;
    let step = match nanos {
        ..1_000 => 1,
        1_000..10_000 => 10,
        10_000..100_000 => 100,
        100_000..1_000_000 => 1_000,
        1_000_000..100_000_000 => 10_000,
        100_000_000..1_000_000_000 => 100_000,
        _ => 10_000_000,
    };
    Some(Time { nanos, step })
}

/// The name of a row of the table, and the delay that it is about.
fn spread(line: &str) -> Option<(&'static str, Delay)> {
    const ROWS: [(&str, Delay); 5] = [
        ("RTT", Delay::RoundTrip),
        ("send delay", Delay::Send),
        ("receive delay", Delay::Receive),
        ("IPDV (jitter)", Delay::Variation),
        ("server proc. time", Delay::Server),
    ];
    let of = |name: &str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(' '))
    };
    ROWS.into_iter().find(|(name, _)| of(name))
}

fn no_matter(line: &str) -> bool {
    const KNOWN: &[&str] = words! {
        "Min" "---" "send IPDV" "receive IPDV" "send call time" "timer error"
        "server packets received" "bytes sent/received" "late (out-of-order) pkts"
        "send/receive rate" "protocol version" "json format version" "go version"
    };
    line.is_empty() || KNOWN.iter().any(|known| line.starts_with(known))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, Imported, check};
    use delaylab_model::record::{Outcome, Record};

    fn text(text: &str) -> Imported {
        import::read(text.as_bytes(), None).unwrap()
    }

    fn outcomes(imported: &Imported, stream: usize) -> Vec<Outcome> {
        let records = imported.streams[stream].records.iter();
        records.map(|record| record.outcome).collect()
    }

    /// Of four packets two are answered, one of them twice.
    const WITH_A_COPY: &str = "[Connecting] connecting to 10.0.0.1\n\
        [10.0.0.1:2112] [Connected] connection established\n\
        seq=0 rtt=23.84ms rd=74.9µs sd=23.77ms ipdv=n/a\n\
        seq=2 rtt=23.84ms rd=74.9µs sd=23.77ms ipdv=n/a\n\
        DUP! seq=2\n\
        packets sent/received: 4/3 (50.00% loss)\n\
        *** DUPLICATES: 1 (33.33%)\n\
        timer stats: 0/4 (0.00%) missed, 0.29% error\n";

    #[test]
    fn a_copy_hides_no_loss() {
        let imported = text(WITH_A_COPY);
        assert_eq!(
            outcomes(&imported, 0),
            [Outcome::Ok, Outcome::Lost, Outcome::Ok, Outcome::Lost]
        );
        let copies = imported.streams[0].records.iter();
        assert_eq!(
            copies.map(|it: Record| it.copies).collect::<Vec<_>>(),
            [0, 0, 1, 0]
        );
        assert_eq!(check(&imported), []);
        assert_eq!(imported.warnings.len(), 1, "{:?}", imported.warnings);
    }

    #[test]
    fn what_stands_above_a_call_is_no_call() {
        let imported = text(&format!("$ irtt client 10.0.0.1\n{WITH_A_COPY}"));
        assert_eq!(imported.streams, text(WITH_A_COPY).streams);
        let missing = imported.warnings.iter().any(|it| it.contains("missing"));
        assert!(!missing, "{:?}", imported.warnings);
    }

    #[test]
    fn two_calls_in_one_file_are_two_streams() {
        let lost = WITH_A_COPY
            .replace("seq=2 rtt", "seq=1 rtt")
            .replace("DUP! seq=2", "DUP! seq=1");
        let imported = text(&format!("{WITH_A_COPY}{lost}"));
        assert_eq!(
            outcomes(&imported, 1),
            [Outcome::Ok, Outcome::Ok, Outcome::Lost, Outcome::Lost]
        );
        assert_eq!((imported.streams.len(), check(&imported)), (2, Vec::new()));
    }
}
