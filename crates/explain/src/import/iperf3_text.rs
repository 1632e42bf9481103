//! Text of `iperf3`, tcp and udp: rates over time, and what it says of jitter and loss.
//!
//! ```text
//! Connecting to host 10.77.2.2, port 5201
//! [  5] local 10.77.1.2 port 37074 connected to 10.77.2.2 port 5201
//! [ ID] Interval           Transfer     Bitrate         Retr  Cwnd
//! [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes
//! [  5]   0.00-3.00   sec  63.6 KBytes   174 Kbits/sec  0.008 ms  6/51 (12%)  receiver
//! [  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes          --bidir
//! [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes (omitted)      -O
//! [  5]   0.00-1.00   sec   128 KBytes   128 KBytes/sec   16    122 KBytes               -f K
//! ```
//!
//! What stands below a rule and a heading is of the whole test. Of udp, versions up to 3.1 print one line there, without
//! `sender` or `receiver`.
//!
//! Intervals are of its own side: where that sends, as the columns `Retr` and `Total Datagrams` say, a rate is of what it sent.
//! What the test carried is what the receiver says.
//!
//! It prints no packet and no round trip: figures and a series. Lines of sums (`[SUM]`) are of the others. A server
//! gives the same number to the connection of each test.

use super::decimal::{self, Number};
use super::figure::{Figure, PrintedSummary};
use super::text::{Strange, begins_with_digit, head, word_after, words};
use super::{Format, ImportError, Imported, ImportedStream, Input, Options, Rules};
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::{MILLISECOND, SECOND};
use std::sync::Arc;

pub static FORMAT: Format = Format {
    name: "iperf3 text",
    command: "iperf3 -c TARGET > FILE (with -J it says more)",
    looks: "lines such as `[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec`",
    signs: &["iperf", "bits/sec", "Bitrate", "Bandwidth"],
    rules: Rules {
        counts_records: false,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes)
        .lines()
        .any(|line| Part::read(line).is_some() || is_heading(line))
}

/// `[ ID] Interval …`, `[ ID][Role] Interval …`
fn is_heading(line: &str) -> bool {
    line.starts_with("[ ID]")
}

/// A line of an interval, or of all of it.
struct Part<'a> {
    id: &'a str,
    /// Does it send? Where it has a role (`TX-C`, `RX-S`), that says so.
    sends: Option<bool>,
    from: decimal::Time,
    to: decimal::Time,
    bytes: f64,
    rate: f64,
    rest: Vec<&'a str>,
}

impl<'a> Part<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let role = rest.strip_prefix('[').and_then(|role| role.split_once(']'));
        let sends = role.map(|(role, _)| role.starts_with("TX"));
        let rest = role.map_or(rest, |(_, rest)| rest);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [between, "sec", bytes, unit, rate, per, rest @ ..] = words.as_slice() else {
            return None;
        };
        let (from, to) = between.split_once('-')?;
        Some(Self {
            id: id.trim(),
            sends,
            from: decimal::time(from, SECOND)?,
            to: decimal::time(to, SECOND)?,
            bytes: decimal::number(bytes)?.value * scale(unit.strip_suffix("Bytes")?, 1024.0)?,
            rate: decimal::number(rate)?.value * rate_unit(per)?,
            rest: rest.to_vec(),
        })
    }
}

/// `Mbits/sec`, or `MBytes/sec` of `-f M` (units.c), in bits a second.
fn rate_unit(per: &str) -> Option<f64> {
    match per.strip_suffix("bits/sec") {
        Some(prefix) => scale(prefix, 1000.0),
        None => Some(8.0 * scale(per.strip_suffix("Bytes/sec")?, 1024.0)?),
    }
}

fn scale(prefix: &str, step: f64) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "K" => step,
        "M" => step * step,
        "G" => step * step * step,
        "T" => step * step * step * step,
        _ => return None,
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut text = input.lines();
    let mut imported = Imported::new(&FORMAT);
    let mut strange = Strange::default();
    let mut test = Test::default();
    while let Some((number, line)) = text.next() {
        if line.starts_with("iperf3: error - ") && test.ids.is_empty() {
            return Err(ImportError::PeerFailed {
                format: &FORMAT,
                reason: line.trim_start_matches("iperf3: error - ").to_owned(),
            });
        }
        if !test.line(line, &mut imported) {
            strange.note(number, line);
        }
    }
    imported.warn("iperf3's text has no packet and no round trip: there are no records; `iperf3 -J` of tcp has the kernel's round trips");
    if !test.is_done() {
        imported.warn("iperf3's summary is missing: the file ends before iperf3 did");
    }
    text.warn_if_cut(&mut imported);
    strange.warn(&mut imported);
    Ok(imported)
}

#[derive(Default)]
struct Test {
    /// Of each stream its number in the file, and whether it has ended.
    ids: Vec<(String, bool)>,
    udp: bool,
    /// Are its intervals of what it sends?
    sends: bool,
    /// Does the line before this one end the intervals? A rule stands between those of several streams, too.
    below_rule: bool,
    /// Are lines of all of the test?
    totals: bool,
}

impl Test {
    fn is_done(&self) -> bool {
        !self.ids.is_empty() && self.ids.iter().all(|&(_, done)| done)
    }

    fn line(&mut self, line: &str, imported: &mut Imported) -> bool {
        let is_rule = line.starts_with("- - - -") || line.starts_with("Test Complete");
        let below_rule = std::mem::replace(&mut self.below_rule, is_rule);
        if let Some(part) = Part::read(line) {
            if part.id != "SUM" {
                self.part(&part, imported);
            }
            return true;
        }
        if is_heading(line) {
            self.udp = line.contains("Datagrams");
            self.sends = match self.udp {
                true => !line.contains("Jitter"),
                false => line.contains("Retr"),
            };
            self.totals = below_rule;
            return true;
        }
        if let (Some(rest), Some(target)) =
            (line.strip_prefix('['), word_after(line, "connected to "))
        {
            let id = rest.split(']').next().unwrap_or_default().trim().to_owned();
            let port = line.rsplit(' ').next().unwrap_or_default();
            self.begin(&id, &format!("{target}:{port}"), imported);
            return true;
        }
        if let Some(version) = line.strip_prefix("iperf ") {
            let word = version.split(' ').next();
            let number = word.filter(|word| begins_with_digit(word));
            imported.version = number.map(str::to_owned).or(imported.version.take());
        }
        const OTHER: &[&str] = words! {
            "Connecting to host" "Control connection MSS" "Reverse mode" "- - - -" "iperf Done"
            "iperf " "Linux " "Time: " "Test Complete" "CPU Utilization" "Starting Test" "-----"
            "Server listening" "Accepted connection"
        };
        let line = line.trim_start();
        // Versions up to 3.1.3 divide by an interval of no time.
        let is_no_time = line.contains("nan ");
        line.is_empty()
            || OTHER.iter().any(|other| line.starts_with(other))
            // But no interval in other words.
            || (line.starts_with('[') && (!line.contains("/sec") || is_no_time))
            || line.starts_with('*')
            || line.contains("Cookie:")
            || line.contains("TCP MSS")
            || line.contains("_tcp_congestion ")
            || line.starts_with("iperf3: ")
    }

    /// The latest stream of this number.
    fn latest(&self, id: &str) -> Option<usize> {
        self.ids.iter().rposition(|(known, _)| known == id)
    }

    fn begin(&mut self, id: &str, target: &str, imported: &mut Imported) -> usize {
        let under_way = self.latest(id).filter(|&at| !self.ids[at].1);
        if let Some(at) = under_way {
            return at;
        }
        let name = format!("{target} socket {id}");
        let made = ImportedStream::new(name, target, Method::Tcp);
        imported.streams.push(made);
        self.ids.push((id.to_owned(), false));
        self.ids.len() - 1
    }

    fn part(&mut self, part: &Part<'_>, imported: &mut Imported) {
        let known = self.latest(part.id);
        let at = known.unwrap_or_else(|| self.begin(part.id, "", imported));
        if self.udp {
            imported.streams[at].method = Method::Udp;
        }
        let side = part.rest.last().copied();
        if side == Some("(omitted)") {
            return;
        }
        let has_side = matches!(side, Some("sender" | "receiver"));
        if !has_side && !self.totals {
            let rate = match part.sends.unwrap_or(self.sends) {
                true => "sent_rate",
                false => "goodput",
            };
            point(rate, part, at, imported);
            return;
        }
        self.ids[at].1 = true;
        // Of udp the sender says nothing that the receiver does not know better; of tcp it has the retransmissions.
        if side == Some("sender") && self.udp {
            return;
        }
        if side != Some("sender") {
            let is_carried = |what| matches!(what, Figure::Bytes | Figure::Throughput);
            let said = &mut imported.said;
            let mut known = said.iter().filter(|it| it.stream == at);
            // A server that sends does not know what arrived, and prints 0.
            if !self.udp
                && part.bytes == 0.0
                && known.any(|it| is_carried(it.what) && it.value > 0.0)
            {
                return;
            }
            said.retain(|it| it.stream != at || !is_carried(it.what));
        }
        self.said(part, at, imported);
    }

    fn said(&self, part: &Part<'_>, stream: usize, imported: &mut Imported) {
        let mut said = PrintedSummary::default();
        // Three digits that count.
        let three_digits = |value: f64| Number {
            value,
            step: value / 100.0,
        };
        let (bytes, rate) = (three_digits(part.bytes), three_digits(part.rate));
        let printed = format!("{} bytes", part.bytes);
        said.say(Figure::Bytes, bytes, Unit::Bytes, printed);
        let printed = format!("{} bits/sec", part.rate);
        said.say(Figure::Throughput, rate, Unit::BitsPerSecond, printed);
        match part.rest.as_slice() {
            [jitter, "ms", counts, ..] if self.udp => {
                if let Some(jitter) = decimal::time(jitter, MILLISECOND) {
                    let printed = format!("jitter {} ns", jitter.nanos);
                    said.time(Figure::Jitter, jitter, printed);
                }
                let (lost, sent) = counts.split_once('/').unwrap_or_default();
                for (what, value) in [(Figure::Lost, lost), (Figure::Sent, sent)] {
                    said.count(what, value.parse::<u64>().ok(), (*counts).to_owned());
                }
            }
            [again, "sender"] => {
                let value = again.parse::<u64>().ok();
                said.count(Figure::Retransmits, value, format!("Retr {again}"));
            }
            _ => {}
        }
        imported.sum_up(stream, said);
    }
}

fn point(rate: &str, part: &Part<'_>, stream: usize, imported: &mut Imported) {
    let of: Arc<str> = imported.streams[stream].name.as_str().into();
    let length = (part.to.nanos - part.from.nanos).max(0);
    let stretch = (part.from.nanos, length);
    imported.add_point((rate, &of), stretch, Unit::BitsPerSecond, Some(part.rate));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, Figure, ImportError, Imported};
    use delaylab_model::method::Method;

    fn text(text: &str) -> Imported {
        import::read(text.as_bytes(), None).unwrap()
    }

    fn is_whole(imported: &Imported) -> bool {
        let mut warnings = imported.warnings.iter();
        imported.strange.is_none() && !warnings.any(|it| it.contains("summary is missing"))
    }

    #[test]
    fn both_directions_at_once_are_two_streams() {
        let imported = text(
            "[  5] local 10.0.0.1 port 37074 connected to 10.0.0.2 port 5201\n\
             [  7] local 10.0.0.1 port 37076 connected to 10.0.0.2 port 5201\n\
             [ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd\n\
             [  5][TX-C]   0.00-1.01   sec  15.2 MBytes   127 Mbits/sec    0    786 KBytes\n\
             [  7][RX-C]   0.00-1.01   sec  10.2 MBytes   85 Mbits/sec\n\
             [  5][TX-C]   0.00-1.01   sec  15.2 MBytes   127 Mbits/sec    3             sender\n\
             [  7][RX-C]   0.00-1.01   sec  10.2 MBytes   85 Mbits/sec    4             sender\n",
        );
        assert!(is_whole(&imported), "{:?}", imported.warnings);
        assert_eq!((imported.streams.len(), imported.series.len()), (2, 2));
        let again = imported
            .said
            .iter()
            .filter(|it| it.what == Figure::Retransmits);
        let again: Vec<_> = again.map(|it| (it.stream, it.value)).collect();
        assert_eq!(again, [(0, 3.0), (1, 4.0)]);
    }

    /// The heading says of each test what it is of.
    #[test]
    fn a_test_of_tcp_after_one_of_udp_is_of_tcp() {
        let test = |port: u16, heading: &str, sender: &str, receiver: &str| {
            format!(
                "[  5] local 10.0.0.1 port 37074 connected to 10.0.0.2 port {port}\n\
                 [ ID] Interval           Transfer     Bitrate         {heading}\n\
                 [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  {sender}  sender\n\
                 [  5]   0.00-1.04   sec   120 KBytes  0.95 Mbits/sec  {receiver}  receiver\n"
            )
        };
        let udp = test(
            1,
            "Jitter    Lost/Total Datagrams",
            "0.000 ms  0/91 (0%)",
            "0.008 ms  6/91 (6.6%)",
        );
        let imported = text(&format!("{udp}{}", test(2, "Retr", "7", "")));
        let methods = imported.streams.iter().map(|it| it.method);
        assert_eq!(methods.collect::<Vec<_>>(), [Method::Udp, Method::Tcp]);
        let mut of_tcp = imported.said.iter().filter(|it| it.stream == 1);
        assert!(of_tcp.any(|it| (it.what, it.value) == (Figure::Retransmits, 7.0)));
    }

    #[test]
    fn rates_may_be_in_bytes() {
        let sample = include_str!("../../tests/data/import/iperf3-tcp.txt");
        let bits = text(sample);
        let bytes = text(&sample.replace("1.05 Mbits/sec", " 128 KBytes/sec"));
        assert!(is_whole(&bytes), "{:?}", bytes.warnings);
        assert_eq!(bytes.series.len(), bits.series.len());
        for (bytes, bits) in bytes.series.iter().zip(&bits.series) {
            assert!((bytes.mean / bits.mean - 1.0).abs() < 0.005);
        }
        assert_eq!(bytes.said.len(), bits.said.len());
    }

    #[test]
    fn an_interval_in_other_words_is_not_understood() {
        let sample = include_str!("../../tests/data/import/iperf3-tcp.txt");
        let text = sample.replace("Mbits/sec", "Mbaud/sec");
        let error = import::read(text.as_bytes(), None).unwrap_err();
        assert!(
            matches!(error, ImportError::NotUnderstood { line: 4, .. }),
            "{error}"
        );
    }

    /// iperf3 3.1.3.
    #[test]
    fn a_total_of_udp_may_have_no_side() {
        let imported = text(
            "Connecting to host 10.77.2.2, port 5201\n\
             [  4] local 10.77.1.2 port 56279 connected to 10.77.2.2 port 5201\n\
             [ ID] Interval           Transfer     Bandwidth       Total Datagrams\n\
             [  4]   0.00-1.00   sec   640 KBytes  5.24 Mbits/sec  80  \n\
             [  4]   1.00-2.00   sec   632 KBytes  5.18 Mbits/sec  79  \n\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n\
             [  4]   0.00-2.00   sec  1.24 MBytes  5.21 Mbits/sec  0.014 ms  3/159 (1.9%)  \n\
             [  4] Sent 159 datagrams\n\
             \n\
             iperf Done.\n",
        );
        assert!(is_whole(&imported), "{:?}", imported.warnings);
        assert_eq!(imported.series.len(), 2);
        let said = |what| {
            imported
                .said
                .iter()
                .find(|it| it.what == what)
                .unwrap()
                .value
        };
        assert_eq!((said(Figure::Lost), said(Figure::Sent)), (3.0, 159.0));
        assert_eq!(said(Figure::Jitter), 14_000.0);
    }

    #[test]
    fn what_it_says_more_with_v_is_known() {
        let imported = text(
            "iperf 3.12\n\
             Linux vm 6.18.44 #1 SMP PREEMPT_DYNAMIC x86_64\n\
             Control connection MSS 32768\n\
             Time: Sun, 29 Nov 2026 05:06:09 GMT\n\
             Connecting to host 127.0.0.1, port 5201\n\
             \x20     Cookie: yye57io3hey2b36k7oapocurzt6zxr4dvnwq\n\
             \x20     TCP MSS: 32768 (default)\n\
             [  5] local 127.0.0.1 port 36994 connected to 127.0.0.1 port 5201\n\
             Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 2 second test, tos 0\n\
             [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
             [  5]   0.00-1.00   sec  2.06 GBytes  17.7 Gbits/sec    9   2.00 MBytes       \n\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             Test Complete. Summary Results:\n\
             [ ID] Interval           Transfer     Bitrate         Retr\n\
             [  5]   0.00-1.00   sec  2.06 GBytes  17.7 Gbits/sec    9             sender\n\
             [  5]   0.00-1.00   sec  2.06 GBytes  17.7 Gbits/sec                  receiver\n\
             CPU Utilization: local/sender 21.6% (0.4%u/21.3%s), remote/receiver 41.1% (0.0%u/41.1%s)\n\
             snd_tcp_congestion bbr\n\
             rcv_tcp_congestion bbr\n\
             \n\
             iperf Done.\n",
        );
        assert!(is_whole(&imported), "{:?}", imported.warnings);
        assert_eq!((imported.series.len(), imported.said.len()), (1, 3));
    }

    /// With several streams a rule stands before each further interval, and a heading only above the totals.
    #[test]
    fn a_rule_between_intervals_is_no_end() {
        let interval = |from: u8| {
            let to = from + 1;
            format!(
                "[  5]   {from}.00-{to}.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes       \n\
                 [  7]   {from}.00-{to}.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes       \n\
                 [SUM]   {from}.00-{to}.00   sec   256 KBytes  2.10 Mbits/sec   32             \n\
                 - - - - - - - - - - - - - - - - - - - - - - - - -\n"
            )
        };
        let heading = "[ ID] Interval           Transfer     Bitrate         Retr";
        let total = |id: u8| {
            format!(
                "[  {id}]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec   60             sender\n"
            )
        };
        let (intervals, totals) = (interval(0) + &interval(1), total(5) + &total(7));
        let imported = text(&format!("{heading}  Cwnd\n{intervals}{heading}\n{totals}"));
        assert!(is_whole(&imported), "{:?}", imported.warnings);
        assert_eq!((imported.series.len(), imported.said.len()), (4, 6));
    }

    #[test]
    fn what_it_leaves_out_is_no_point() {
        let imported = text(
            "[  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec   16    122 KBytes       (omitted)\n\
             [  5]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec   16    122 KBytes\n\
             [  5]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec   16             sender\n",
        );
        assert_eq!(imported.series.len(), 1);
        assert_eq!((imported.series[0].mean, imported.strange), (2.1e6, None));
    }

    #[test]
    fn each_test_of_a_server_is_a_stream_of_its_own() {
        let test = |port: u16| {
            format!(
                "Accepted connection from 10.0.0.1, port {port}\n\
                 [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port {port}\n\
                 [ ID] Interval           Transfer     Bitrate\n\
                 [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec\n\
                 [  5]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec                  receiver\n"
            )
        };
        let imported = text(&format!("{}{}", test(1001), test(1002)));
        let targets = imported.streams.iter().map(|it| it.target.as_str());
        assert_eq!(
            targets.collect::<Vec<_>>(),
            ["10.0.0.1:1001", "10.0.0.1:1002"]
        );
        let names = imported.series.iter().map(|it| it.of.as_ref());
        let named = ["10.0.0.1:1001 socket 5", "10.0.0.1:1002 socket 5"];
        assert_eq!(names.collect::<Vec<_>>(), named);
        assert!(is_whole(&imported), "{:?}", imported.warnings);
    }
}
