//! Vector files of OMNeT++ (`.vec`): vectors of delays.
//!
//! ```text
//! version 3
//! run General-0-20261121-13:45:00-1234
//! vector 12 Net.host.app[0] rtt:vector ETV
//! attr unit s
//! 12      42      1.002   0.0012                 vector, event number, time in s, value
//! ```
//!
//! Source: OMNeT++ Simulation Manual, *Result File Formats*. Read are vectors whose unit is one of time,
//! or, without a unit, whose name says that they are delays (`rtt`, `delay`, `latency`, `lifetime`); those are
//! in seconds. Time is that of the simulation.

use super::by_line::by_line;
use super::decimal;
use super::packets::{Frame, Packets, Reply};
use super::text::{begins_with_digit, head};
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules};
use delaylab_model::method::Method;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use std::collections::BTreeMap;

pub static FORMAT: Format = Format {
    name: "OMNeT++ vectors",
    command: "opp_run …, which leaves results/*.vec",
    looks: "lines such as `vector 12 Net.host.app[0] rtt:vector ETV`",
    signs: &["vector ", " ETV", "itervar", "attr "],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let mut lines = head.lines();
    lines
        .next()
        .is_some_and(|line| line.starts_with("version "))
        && head.contains("\nrun ")
        || head.lines().any(|line| declared(line).is_some())
}

/// `vector 12 Net.host.app[0] rtt:vector ETV`, of whose columns the last says what they are.
fn declared(line: &str) -> Option<(u64, String, &str)> {
    let rest = line.strip_prefix("vector ")?;
    let (id, rest) = rest.split_once(char::is_whitespace)?;
    let (names, columns) = rest.trim().rsplit_once(char::is_whitespace)?;
    let known = columns.bytes().all(|byte| b"ETV".contains(&byte)) && columns.ends_with('V');
    known.then_some(())?;
    Some((id.parse().ok()?, names.replace('"', ""), columns))
}

struct Vector {
    name: String,
    columns: String,
    unit: Option<Nanos>,
    /// It has a unit, and not of time.
    other: bool,
    packets: Packets,
}

impl Vector {
    fn unit(&self) -> Option<Nanos> {
        let name = self.name.to_lowercase();
        let words = ["rtt", "delay", "latency", "lifetime", "roundtrip"];
        let named = words.iter().any(|word| name.contains(word));
        self.unit.or((named && !self.other).then_some(SECOND))
    }
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let line = |file: &mut File, line: &str, _: &mut Imported| file.line(line);
    Ok(by_line(input, &FORMAT, File::default(), line, File::finish))
}

#[derive(Default)]
struct File {
    vectors: BTreeMap<u64, Vector>,
    /// The vector that was declared last.
    last: Option<u64>,
}

impl File {
    fn line(&mut self, line: &str) -> bool {
        if let Some((id, name, columns)) = declared(line) {
            self.last = Some(id);
            let vector = Vector {
                name,
                columns: columns.to_owned(),
                unit: None,
                other: false,
                packets: Packets::new(),
            };
            self.vectors.insert(id, vector);
        } else if let Some(unit) = line.strip_prefix("attr unit ") {
            if let Some(vector) = self.last.and_then(|id| self.vectors.get_mut(&id)) {
                vector.unit = time_unit(unit.trim());
                vector.other = vector.unit.is_none();
            }
        } else if begins_with_digit(line) {
            return value(line, &mut self.vectors).is_some();
        } else {
            return no_matter(line);
        }
        true
    }

    fn finish(self, imported: &mut Imported) {
        let left = self
            .vectors
            .values()
            .filter(|it| it.unit().is_none())
            .count();
        if left > 0 {
            imported.warn(format!("{left} vectors are of no delays: left out"));
        }
        for vector in self.vectors.into_values() {
            if vector.unit().is_none() || vector.packets.is_empty() {
                continue;
            }
            let frame = Frame::new(vector.name, Method::Udp);
            let mut made = vector.packets.finish(frame, imported);
            made.clock = Clock::Own {
                realtime_offset: None,
            };
            imported.streams.push(made);
        }
        imported.warn("times are those of the simulation");
    }
}

fn time_unit(name: &str) -> Option<Nanos> {
    Some(match name {
        "s" => SECOND,
        "ms" => MILLISECOND,
        "us" => MICROSECOND,
        "ns" => 1,
        _ => return None,
    })
}

fn value(line: &str, vectors: &mut BTreeMap<u64, Vector>) -> Option<()> {
    let mut words = line.split_whitespace();
    let vector = vectors.get_mut(&words.next()?.parse().ok()?)?;
    let (mut time, mut value) = (None, None);
    for column in vector.columns.bytes() {
        let word = words.next()?;
        match column {
            b'T' => time = Some(decimal::any_time(word, SECOND)?.nanos),
            b'V' => value = Some(word),
            _ => {}
        }
    }
    let Some(unit) = vector.unit() else {
        return Some(());
    };
    let reply = Reply {
        round_trip: Some(decimal::any_time(value?, unit)?),
        // A vector has its values when they are known, which is on arrival.
        read_at: time,
        ..Reply::default()
    };
    let seq = vector.packets.next();
    vector.packets.reply(seq, reply);
    Some(())
}

fn no_matter(line: &str) -> bool {
    let words = [
        "version", "run", "attr", "itervar", "config", "param", "par", "file", "scalar",
    ];
    let first = line.split_whitespace().next();
    first.is_none_or(|first| words.contains(&first))
}
