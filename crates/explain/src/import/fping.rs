//! Output of `fping`: `-c`, `-l`, `-C`, `-e`, with or without `-D`, lines and summary.
//!
//! ```text
//! [1795305885.69265] 10.0.0.1 : [0], 64 bytes, 0.090 ms (0.090 avg, 0% loss)
//! 10.0.0.2 : [0], timed out (NaN avg, 100% loss)
//! 10.0.0.1 : duplicate for [0], 64 bytes, 0.12 ms
//! 10.0.0.1 : xmt/rcv/%loss = 20/20/0%, min/avg/max = 22.6/23.0/23.4       standard error
//! 10.0.0.1 : 22.9 22.4 - 22.7                                             -C, standard error
//! 10.0.0.1 is alive (0.082 ms)                                            -e
//! ```
//!
//! Bytes are of the ICMP message in version 5 and of the IP packet before, so no size is taken from
//! them. With `-D` a line begins with the real time at which fping read the reply.

use super::by_line::by_line;
use super::decimal;
use super::figure::{Figure, PrintedSummary};
use super::fping_targets::{Said, Targets};
use super::packets::Reply;
use super::text::{after, head, leading_number, stamp};
use super::{Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules};
use delaylab_model::{MILLISECOND, Nanos};

pub static FORMAT: Format = Format {
    name: "fping",
    command: "fping -D -c 100 TARGET > FILE 2>&1",
    looks: "lines such as `10.0.0.1 : [0], 64 bytes, 0.090 ms (0.090 avg, 0% loss)`",
    signs: &["xmt/rcv/%loss", "is alive", "timed out (", "fping"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| {
        let (_, line) = stamp(line);
        let said = split(line).and_then(|(name, rest)| Some((name, said(rest, None)?)));
        said.or_else(|| alive(line, None)).is_some()
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let line = |call: &mut Call, line: &str, _: &mut Imported| call.line(line);
    Ok(by_line(input, &FORMAT, Call::default(), line, Call::finish))
}

#[derive(Default)]
struct Call {
    targets: Targets,
    /// ICMP errors, which name no packet.
    errors: u64,
}

impl Call {
    fn line(&mut self, line: &str) -> bool {
        let (read_at, line) = stamp(line);
        let said = split(line).and_then(|(name, rest)| Some((name, said(rest, read_at)?)));
        if let Some((name, said)) = said.or_else(|| alive(line, read_at)) {
            self.targets.take(name, said);
        } else if line.starts_with("ICMP ") && line.contains(" for ICMP Echo sent to ") {
            self.errors += 1;
        } else {
            return line.starts_with('[');
        }
        true
    }

    fn finish(self, imported: &mut Imported) {
        if self.errors > 0 {
            imported.warn(format!(
                "{} ICMP errors name no packet: the packets that they are about stand as timed out",
                self.errors
            ));
        }
        let advice = ", which goes to standard error (`2>&1` keeps it)";
        self.targets.finish(advice, imported);
        let undated = |it: &ImportedStream| it.clock == Clock::MadeUp && !it.records.is_empty();
        if imported.streams.iter().any(undated) {
            imported.warn("the file has no time stamps (`fping -D` prints them): absolute times are made up from sequence numbers, a second apart");
        }
    }
}

/// What the rest of a line says of its target.
fn said(rest: &str, read_at: Option<Nanos>) -> Option<Said> {
    let copy = rest.strip_prefix("duplicate for [");
    if let Some(numbered) = copy.or_else(|| rest.strip_prefix('[')) {
        let seq = leading_number(numbered)?;
        let behind = after(numbered, "], ")?;
        if behind.starts_with("timed out") {
            return Some(Said::TimedOut(seq));
        }
        let reply = reply(after(behind, " bytes, ")?.split(' ').next()?, read_at);
        return Some(match copy {
            Some(_) => Said::Copy(seq, reply),
            None => Said::Reply(seq, reply),
        });
    }
    if let Some(rest) = rest.strip_prefix("xmt/rcv/%") {
        let (percent_of, totals) = rest.split_once(" = ")?;
        return Some(Said::Summary(totals_said(percent_of, totals)?));
    }
    let times = rest.split(' ').map(|word| match word {
        "-" => Some(None),
        word => decimal::time(word, MILLISECOND).map(Some),
    });
    Some(Said::List(times.collect::<Option<Vec<_>>>()?))
}

fn reply(time: &str, read_at: Option<Nanos>) -> Reply {
    Reply {
        round_trip: decimal::time(time, MILLISECOND),
        read_at,
        ..Reply::default()
    }
}

/// `20/15/25%, outage(ms) = 500, min/avg/max = 22.5/24.3/46.2`. With copies fping has more replies than
/// packets, and says the share that returned.
fn totals_said(percent_of: &str, text: &str) -> Option<PrintedSummary> {
    let mut parts = text.split(", ");
    let mut counts = parts.next()?.split('/');
    let mut said = PrintedSummary::default();
    for (what, word) in [(Figure::Sent, "xmt"), (Figure::Received, "rcv")] {
        let value: u64 = counts.next()?.parse().ok()?;
        said.count(what, value, format!("{word} {value}"));
    }
    let loss = counts.next().filter(|_| percent_of == "loss");
    if let Some(loss) = loss.and_then(|loss| decimal::number(loss.trim_end_matches('%'))) {
        said.percent(Figure::LossShare, loss, format!("{}% loss", loss.value));
    }
    let mut times = parts.filter_map(|part| part.strip_prefix("min/avg/max = "));
    let are_times = times.next().is_none_or(|values| said.min_avg_max(values));
    are_times.then_some(said)
}

/// `name : rest`; names are padded to the same width.
fn split(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" : ")?;
    Some((name.trim_end(), rest.trim_end()))
}

/// `10.0.0.1 is alive (0.082 ms)`
fn alive(line: &str, read_at: Option<Nanos>) -> Option<(&str, Said)> {
    if let Some(name) = line.strip_suffix(" is unreachable") {
        return Some((name, Said::Alive(None)));
    }
    let (name, time) = line.split_once(" is alive (")?;
    let time = time.strip_suffix(" ms)")?;
    Some((name, Said::Alive(Some(reply(time, read_at)))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, Imported, check};
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::{MILLISECOND, SECOND};

    fn text(text: &str) -> Imported {
        import::read(text.as_bytes(), None).unwrap()
    }

    /// Of each stream how many were answered, how many lost, and how many copies there are.
    fn counts(imported: &Imported) -> Vec<(usize, usize, u64)> {
        let streams = imported.streams.iter();
        let counts = streams.map(|stream| {
            let is = |outcome| move |record: &Record| record.outcome == outcome;
            let number = |outcome| stream.records.iter().filter(is(outcome)).count();
            let copies = stream.records.counts().duplicate;
            (number(Outcome::Ok), number(Outcome::Lost), copies)
        });
        counts.collect()
    }

    #[test]
    fn a_date_in_front_of_a_line_is_no_name() {
        for stamps in [
            ["2026-11-23 12:32:05", "2026-11-23 12:32:06"],
            ["2026-11-23T13:32:05+0100", "2026-11-23T13:32:06+0100"],
            ["Mon Nov 23 12:32:05 2026", "Mon Nov 23 12:32:06 2026"],
        ] {
            let lines = [0, 1].map(|seq| {
                let stamp = stamps[seq];
                format!("[{stamp}] 10.0.0.1 : [{seq}], 64 bytes, 0.09 ms (0.09 avg, 0% loss)\n")
            });
            let imported = text(&lines.concat());
            assert_eq!(imported.streams[0].name, "10.0.0.1");
            assert_eq!(counts(&imported), [(2, 0, 0)]);
            let first = imported.streams[0].records.get(0).unwrap();
            assert_eq!(first.t_recv, Some(1_795_437_125 * SECOND));
        }
        let unknown = text("[noon] 10.0.0.1 : [0], 64 bytes, 0.09 ms (0.09 avg, 0% loss)\n");
        assert_eq!(unknown.streams[0].name, "10.0.0.1");
        let first = unknown.streams[0].records.get(0).unwrap();
        assert_eq!(first.round_trip(), Some(9 * MILLISECOND / 100));
    }

    const ANSWERED: &str = "10.0.0.1 : [0], 64 bytes, 0.10 ms (0.10 avg, 0% loss)\n\
        10.0.0.1 : [1], 64 bytes, 0.10 ms (0.10 avg, 0% loss)\n";
    const ALL_CAME: &str = "10.0.0.1 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 0.10/0.10/0.10\n";
    const TIMED_OUT: &str = "10.0.0.1 : [0], timed out (NaN avg, 100% loss)\n\
        10.0.0.1 : [1], timed out (NaN avg, 100% loss)\n";
    const NONE_CAME: &str = "10.0.0.1 : xmt/rcv/%loss = 2/0/100%\n";

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let (came, lost) = ((2, 0, 0), (0, 2, 0));
        for (lines, expected) in [
            ([ANSWERED, ALL_CAME, TIMED_OUT, NONE_CAME], [came, lost]),
            ([TIMED_OUT, NONE_CAME, ANSWERED, ALL_CAME], [lost, came]),
            ([ALL_CAME, ANSWERED, ALL_CAME, ANSWERED], [came, came]),
            ([NONE_CAME, TIMED_OUT, NONE_CAME, TIMED_OUT], [lost, lost]),
            ([ANSWERED, "", ANSWERED, ""], [came, came]),
        ] {
            let imported = text(&lines.concat());
            assert_eq!(counts(&imported), expected, "{lines:?}");
            assert_eq!(check(&imported), [], "{lines:?}");
        }
        let alive = "10.0.0.1 is alive (0.08 ms)\n";
        assert_eq!(counts(&text(&alive.repeat(2))), [(1, 0, 0); 2]);
        let list = "10.0.0.1 : 22.9 - 22.7\n";
        assert_eq!(counts(&text(&list.repeat(2))), [(2, 1, 0); 2]);
    }

    /// Without -q a copy has a line as its reply has.
    #[test]
    fn a_copy_begins_no_call() {
        let copy = ANSWERED.lines().nth(1).unwrap();
        let imported = text(&format!("{ANSWERED}{copy}\n{ALL_CAME}"));
        assert_eq!(counts(&imported), [(2, 0, 1)]);
        let late = format!(
            "{}{ANSWERED}",
            TIMED_OUT.lines().next().unwrap().to_owned() + "\n"
        );
        assert_eq!(counts(&text(&late)), [(2, 0, 0)]);
    }
}
