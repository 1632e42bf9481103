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

use super::decimal;
use super::packets::{Frame, Packets, Reply};
use super::text::{Strange, head};
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
    let mut text = input.lines();
    let mut imported = Imported::new(&FORMAT);
    let mut strange = Strange::default();
    let mut vectors: BTreeMap<u64, Vector> = BTreeMap::new();
    let mut last = None;
    while let Some((number, line)) = text.next() {
        if let Some((id, name, columns)) = declared(line) {
            last = Some(id);
            let vector = Vector {
                name,
                columns: columns.to_owned(),
                unit: None,
                other: false,
                packets: Packets::new(),
            };
            vectors.insert(id, vector);
        } else if let Some(unit) = line.strip_prefix("attr unit ") {
            if let Some(vector) = last.and_then(|id| vectors.get_mut(&id)) {
                vector.unit = time_unit(unit.trim());
                vector.other = vector.unit.is_none();
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            if value(line, &mut vectors).is_none() {
                strange.note(number, line);
            }
        } else if !no_matter(line) {
            strange.note(number, line);
        }
    }
    let left = vectors.values().filter(|it| it.unit().is_none()).count();
    if left > 0 {
        imported.warn(format!("{left} vectors are of no delays: left out"));
    }
    for vector in vectors.into_values() {
        if vector.unit().is_none() || vector.packets.is_empty() {
            continue;
        }
        let stream = imported.streams.len();
        let frame = Frame::new(stream, vector.name, Method::Udp);
        let mut made = vector.packets.finish(frame, &mut imported);
        made.clock = Clock::Own {
            realtime_offset: None,
        };
        imported.streams.push(made);
    }
    imported.warn("times are those of the simulation");
    text.warn_if_cut(&mut imported);
    strange.warn(&mut imported);
    Ok(imported)
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
