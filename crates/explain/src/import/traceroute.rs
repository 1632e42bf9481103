//! `traceroute`, `tracert` of Windows, `paris-traceroute` and `scamper`: round trips to each hop.
//!
//! ```text
//! traceroute to 10.77.2.2 (10.77.2.2), 30 hops max, 60 byte packets
//! traceroute [(10.0.0.2:33456) -> (192.0.2.7:33457)], protocol udp, algo hopbyhop, duration 3 s
//! Tracing route to example.org [192.0.2.7]
//!  1  10.77.1.1 (10.77.1.1)  0.037 ms  0.002 ms  0.003 ms
//!  2  * 10.77.2.2  0.002 ms !H 10.77.3.1 0.004 ms
//!     10.77.4.1 (10.77.4.1)  0.005 ms                        BSD and macOS: of the same hop
//!   3     1 ms    <1 ms     *     192.0.2.7
//!  4  P(6, 6) 192.0.2.7 (192.0.2.7)  1.204/1.310/1.377/0.050 ms
//! ```
//!
//! Each hop is a stream: a number and `ms` behind it is a round trip, `*` a packet that was not
//! answered. paris-traceroute prints the summary of a hop instead, which becomes figures.

use super::by_line::by_line;
use super::decimal::{self, Time};
use super::figure::{PrintedSummary, Statistic};
use super::packets::{Frame, Packets};
use super::text::{after, head};
use super::{Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::MILLISECOND;
use delaylab_model::method::Method;

pub static FORMAT: Format = Format {
    name: "traceroute",
    command: "traceroute -q 10 TARGET > FILE",
    looks: "lines such as ` 1  10.77.1.1 (10.77.1.1)  0.037 ms  0.002 ms  *`",
    signs: &["traceroute", "hops max", "hops:", " ms  ", "* * *"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    // A heading in any language, and hop 1; or hop 1 at once.
    let mut first = lines.by_ref().take(4);
    first.any(|line| {
        line.starts_with("traceroute to ")
            || line.starts_with("traceroute6 to ")
            || line.starts_with("traceroute from ")
            || line.starts_with("traceroute [(")
            || Hop::read(line).is_some_and(|hop| hop.number == Some(1))
    })
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let route = Route {
        target: String::new(),
        method: Method::Udp,
        hops: Vec::new(),
        last: None,
    };
    let line = |route: &mut Route, line: &str, _: &mut Imported| route.line(line);
    Ok(by_line(input, &FORMAT, route, line, Route::finish))
}

struct Route {
    target: String,
    method: Method,
    hops: Vec<Stretch>,
    /// The number of the last hop.
    last: Option<u64>,
}

impl Route {
    fn line(&mut self, line: &str) -> bool {
        let hop = Hop::read(line);
        let numbered = hop.and_then(|hop| Some((hop.number.or(self.last)?, hop)));
        if let Some((number, hop)) = numbered {
            self.last = Some(number);
            Stretch::add(&mut self.hops, &self.target, number, hop);
        } else if let Some(heading) = heading(line, &mut self.method) {
            self.target = heading;
            self.last = None;
        } else {
            return no_matter(line, self.hops.is_empty());
        }
        true
    }

    fn finish(self, imported: &mut Imported) {
        imported.warn("a traceroute has no times of day: absolute times are made up from sequence numbers, a second apart");
        for hop in self.hops {
            hop.finish(self.method, imported);
        }
    }
}

/// Whom the heading names.
fn heading(line: &str, method: &mut Method) -> Option<String> {
    if let Some(rest) = line.strip_prefix("traceroute [(") {
        if line.contains("protocol icmp") {
            *method = Method::Icmp;
        }
        let (target, _) = after(rest, "-> (")?.split_once(')')?;
        return Some(target.to_owned());
    }
    if let Some(rest) = line.strip_prefix("traceroute from ") {
        return after(rest, " to ").map(|to| to.trim().to_owned());
    }
    if let Some(rest) = line
        .strip_prefix("traceroute to ")
        .or_else(|| line.strip_prefix("traceroute6 to "))
    {
        let target = rest.split([' ', ',']).next()?;
        return Some(target.to_owned());
    }
    // `Tracing route to example.org [192.0.2.7]`, in any language.
    let (before, behind) = line.split_once('[')?;
    let (address, _) = behind.split_once(']')?;
    address.parse::<std::net::IpAddr>().ok()?;
    *method = Method::Icmp;
    let name = before.split_whitespace().next_back();
    Some(name.unwrap_or(address).to_owned())
}

/// What tracert prints above its first and below its last hop, and traceroute of a hop beside.
fn no_matter(line: &str, above: bool) -> bool {
    let line = line.trim();
    line.is_empty() || above || line.ends_with('.') || line.starts_with("MPLS")
}

/// A line of a hop.
struct Hop<'a> {
    /// `None`: the line is a further one of the hop before, and begins with a blank.
    number: Option<u64>,
    answers: Vec<Answer<'a>>,
    summary: Option<Vec<Time>>,
}

enum Answer<'a> {
    From(&'a str),
    After(Time),
    None,
}

impl<'a> Hop<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        let number = words.peek()?.trim_end_matches(['.', ':']).parse().ok();
        if number.is_some() {
            words.next();
        } else if !line.starts_with([' ', '\t']) {
            return None;
        }
        let mut hop = Self {
            number,
            answers: Vec::new(),
            summary: None,
        };
        let mut last = "";
        let mut tells = false;
        while let Some(word) = words.next() {
            let bare = word.strip_suffix("ms").unwrap_or(word);
            let unit = bare.len() < word.len() || words.peek() == Some(&"ms");
            if word == "*" {
                hop.answers.push(Answer::None);
                tells = true;
            } else if let Some(time) = round_trip(bare).filter(|_| unit) {
                hop.answers.push(Answer::After(time));
                tells = true;
            } else if unit && bare.contains('/') {
                let values = bare
                    .split('/')
                    .map(|value| decimal::time(value, MILLISECOND));
                hop.summary = Some(values.collect::<Option<_>>()?);
                tells = true;
            } else if is_address(word) && word.trim_matches(['(', ')']) != last {
                last = word.trim_matches(['(', ')', '[', ']']);
                hop.answers.push(Answer::From(last));
            }
        }
        tells.then_some(hop)
    }
}

fn round_trip(word: &str) -> Option<Time> {
    let Some(below) = word.strip_prefix('<') else {
        return decimal::time(word, MILLISECOND);
    };
    let time = decimal::time(below, MILLISECOND)?;
    Some(Time {
        nanos: time.nanos / 2,
        ..time
    })
}

fn is_address(word: &str) -> bool {
    let bare = word.trim_matches(['(', ')', '[', ']']);
    bare.parse::<std::net::IpAddr>().is_ok()
}

/// What all lines of a hop say of it.
struct Stretch {
    target: String,
    number: u64,
    by: String,
    packets: Packets,
    summary: Option<Vec<Time>>,
}

impl Stretch {
    /// Several files in one, as of a loop around traceroute, have a hop more than once.
    fn add(all: &mut Vec<Self>, target: &str, number: u64, hop: Hop<'_>) {
        let known = all
            .iter()
            .position(|it| it.number == number && it.target == target);
        let at = known.unwrap_or_else(|| {
            all.push(Self {
                target: target.to_owned(),
                number,
                by: String::new(),
                packets: Packets::new(),
                summary: None,
            });
            all.len() - 1
        });
        let stretch = &mut all[at];
        stretch.summary = hop.summary.or(stretch.summary.take());
        for answer in hop.answers {
            let seq = stretch.packets.next();
            match answer {
                Answer::From(by) if stretch.by.is_empty() => stretch.by = by.to_owned(),
                Answer::From(_) => {}
                Answer::None => stretch.packets.unanswered(seq),
                Answer::After(time) => stretch.packets.reply(seq, time.into()),
            }
        }
    }

    fn finish(self, method: Method, imported: &mut Imported) {
        let name = if self.target.is_empty() {
            format!("hop {}", self.number)
        } else {
            format!("hop {} to {}", self.number, self.target)
        };
        let frame = Frame {
            target: self.by,
            ..Frame::new(name, method)
        };
        let stream = self.packets.add(frame, imported);
        imported.streams[stream].hop = Some(super::Hop::new(self.number, &self.target));
        // min/avg/max/stddev
        let statistics = [
            ("min", Statistic::Min),
            ("avg", Statistic::Mean),
            ("max", Statistic::Max),
            ("stddev", Statistic::Deviation),
        ];
        let times = self.summary.into_iter().flatten();
        let mut said = PrintedSummary::default();
        for ((word, statistic), time) in statistics.into_iter().zip(times) {
            let printed = format!("{word} {:.3} ms", time.nanos as f64 / MILLISECOND as f64);
            said.round_trip(statistic, time, printed);
        }
        imported.sum_up(stream, said);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;

    /// BSD begins a line where the address changes.
    #[test]
    fn a_line_without_a_number_is_of_the_hop_before() {
        let text = "traceroute to 192.0.2.7 (192.0.2.7), 64 hops max, 40 byte packets\n \
                    1  r0 (192.0.2.1)  1.1 ms  1.0 ms  1.2 ms\n \
                    2  r1 (192.0.2.2)  10.1 ms\n    \
                       r2 (192.0.2.3)  11.2 ms *\n";
        let imported = import::read(text.as_bytes(), None).unwrap();
        let packets = imported.streams.iter().map(|it| {
            let counts = it.records.counts();
            (it.records.len(), counts.answered())
        });
        assert_eq!(packets.collect::<Vec<_>>(), [(3, 3), (3, 2)]);
        assert_eq!(imported.strange, None);
    }
}
