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
use super::decimal::{self, Number};
use super::figure::{Figure, Statistic, min_avg_max};
use super::packets::{Frame, Packets, Reply};
use super::text::{after, head, leading_number, stamp};
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::method::Method;
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
        match split(line) {
            Some((_, rest)) => Line::read(rest).is_some(),
            None => alive(line).is_some(),
        }
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let line = |call: &mut Call, line: &str, _: &mut Imported| call.line(line);
    Ok(by_line(input, &FORMAT, Call::default(), line, Call::finish))
}

#[derive(Default)]
struct Call {
    targets: Vec<Target>,
    /// ICMP errors, which name no packet.
    errors: u64,
}

impl Call {
    fn line(&mut self, line: &str) -> bool {
        let (read_at, line) = stamp(line);
        if let Some((name, what)) =
            split(line).and_then(|(name, rest)| Some((name, Line::read(rest)?)))
        {
            Target::named(&mut self.targets, name).take(what, read_at);
        } else if let Some((name, reply)) = alive(line) {
            Target::named(&mut self.targets, name).take(reply, read_at);
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
        for target in self.targets {
            target.finish(imported);
        }
    }
}

/// What a line says of its target.
enum Line<'a> {
    Reply(u64, &'a str),
    Lost(u64),
    /// `20/15/25%, min/avg/max = 22.5/24.3/46.2`
    Totals(Totals),
    /// `22.9 - 23.0`
    List(Vec<Option<decimal::Time>>),
}

struct Totals {
    sent: u64,
    received: u64,
    loss: Option<Number>,
    times: Vec<(Statistic, decimal::Time, String)>,
}

impl<'a> Line<'a> {
    fn read(rest: &'a str) -> Option<Self> {
        if let Some(rest) = rest
            .strip_prefix('[')
            .or_else(|| rest.strip_prefix("duplicate for ["))
        {
            let seq = leading_number(rest)?;
            let behind = after(rest, "], ")?;
            if behind.starts_with("timed out") {
                return Some(Line::Lost(seq));
            }
            let time = after(behind, " bytes, ")?.split(' ').next()?;
            return Some(Line::Reply(seq, time));
        }
        if let Some(rest) = rest.strip_prefix("xmt/rcv/%") {
            let (percent_of, totals) = rest.split_once(" = ")?;
            return Some(Line::Totals(Totals::read(percent_of, totals)?));
        }
        let times = rest.split(' ').map(|word| match word {
            "-" => Some(None),
            word => decimal::time(word, MILLISECOND).map(Some),
        });
        Some(Line::List(times.collect::<Option<Vec<_>>>()?))
    }
}

impl Totals {
    /// `20/15/25%, outage(ms) = 500, min/avg/max = 22.5/24.3/46.2`. With copies fping has more replies than
    /// packets, and says the share that returned.
    fn read(percent_of: &str, text: &str) -> Option<Self> {
        let mut parts = text.split(", ");
        let mut counts = parts.next()?.split('/');
        let mut totals = Totals {
            sent: counts.next()?.parse().ok()?,
            received: counts.next()?.parse().ok()?,
            loss: (counts.next())
                .filter(|_| percent_of == "loss")
                .and_then(|loss| decimal::number(loss.trim_end_matches('%'))),
            times: Vec::new(),
        };
        if let Some(values) = parts.find_map(|part| part.strip_prefix("min/avg/max = ")) {
            totals.times = min_avg_max(values)?;
        }
        Some(totals)
    }
}

/// What is known of one target.
struct Target {
    name: String,
    packets: Packets,
    totals: Option<Totals>,
    list: Option<Vec<Option<decimal::Time>>>,
}

impl Target {
    fn named<'a>(targets: &'a mut Vec<Target>, name: &str) -> &'a mut Target {
        let known = targets.iter().position(|target| target.name == name);
        let index = known.unwrap_or_else(|| {
            targets.push(Target {
                name: name.to_owned(),
                packets: Packets::new(),
                totals: None,
                list: None,
            });
            targets.len() - 1
        });
        &mut targets[index]
    }

    fn take(&mut self, line: Line, read_at: Option<Nanos>) {
        match line {
            Line::Reply(seq, time) => {
                let round_trip = decimal::time(time, MILLISECOND);
                let reply = Reply {
                    round_trip,
                    read_at,
                    ..Reply::default()
                };
                self.packets.reply(seq, reply);
            }
            Line::Lost(seq) => self.packets.unanswered(seq),
            // -Q prints totals again and again: the last ones are of all.
            Line::Totals(totals) => self.totals = Some(totals),
            Line::List(list) => self.list = Some(list),
        }
    }

    fn finish(mut self, imported: &mut Imported) {
        // The lines say more than the list at the end; with -q there are no lines.
        let listed = self.list.is_some();
        if let Some(list) = self.list.take().filter(|_| self.packets.is_empty()) {
            for (seq, round_trip) in (0..).zip(list) {
                self.packets.answered_or_not(seq, round_trip);
            }
        }
        let silent = self.packets.is_empty();
        if self.totals.is_none() && !listed {
            imported.warn("fping's summary is missing: it goes to standard error (`2>&1` keeps it), and without it nobody can say whether the file is whole");
        } else if silent {
            imported.warn(
                "the file has only fping's summary and no line for any packet (-q prints none)",
            );
        }
        let frame = Frame {
            first: (!silent).then_some(0),
            fill: !silent,
            ..Frame::of_target(self.name, Method::Icmp)
        };
        let stream = imported.streams.len();
        let packets = self.packets.finish(frame, imported);
        if packets.clock == Clock::MadeUp && !packets.records.is_empty() {
            imported.warn("the file has no time stamps (`fping -D` prints them): absolute times are made up from sequence numbers, a second apart");
        }
        imported.streams.push(packets);
        if let Some(totals) = self.totals {
            totals_said(imported, stream, totals);
        }
    }
}

fn totals_said(imported: &mut Imported, stream: usize, totals: Totals) {
    for (what, word, value) in [
        (Figure::Sent, "xmt", totals.sent),
        (Figure::Received, "rcv", totals.received),
    ] {
        let printed = format!("{word} {value}");
        imported.say_count(stream, what, value, printed);
    }
    if let Some(loss) = totals.loss {
        let printed = format!("{}% loss", loss.value);
        imported.say_percent(stream, Figure::LossShare, loss, printed);
    }
    for (statistic, time, printed) in totals.times {
        imported.say_round_trip(stream, statistic, time, printed);
    }
}

/// `name : rest`; names are padded to the same width.
fn split(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(" : ")?;
    Some((name.trim_end(), rest.trim_end()))
}

/// `10.0.0.1 is alive (0.082 ms)`
fn alive(line: &str) -> Option<(&str, Line<'_>)> {
    if let Some(name) = line.strip_suffix(" is unreachable") {
        return Some((name, Line::Lost(0)));
    }
    let (name, time) = line.split_once(" is alive (")?;
    let time = time.strip_suffix(" ms)")?;
    Some((name, Line::Reply(0, time)))
}
