//! `mtr --raw`: every packet and reply, a line each.
//!
//! ```text
//! x HOP SEQ          sent, with this many hops less one
//! h HOP ADDRESS      who answers there
//! d HOP NAME         its name
//! p HOP µs SEQ       answered
//! ```
//!
//! Each hop is a stream. Versions before 0.88 have no `x` lines and no sequence numbers.

use super::by_line::by_line;
use super::decimal;
use super::packets::{Frame, Packets};
use super::text::head;
use super::{Format, Hop, ImportError, Imported, ImportedStream, Input, Options, Rules};
use delaylab_model::MICROSECOND;
use delaylab_model::method::Method;
use std::collections::BTreeMap;

pub static FORMAT: Format = Format {
    name: "mtr --raw",
    command: "mtr --raw -c 100 TARGET > FILE",
    looks: "lines such as `x 0 33000` and `p 0 1234 33000`",
    signs: &[],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let mut lines = head.lines().filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| fields(line).is_some())
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let take = |hops: &mut BTreeMap<u8, Asked>, line: &str, _: &mut Imported| {
        let taken = |(kind, hop, rest): (char, u8, Vec<&str>)| {
            hops.entry(hop).or_insert_with(Asked::new).line(kind, &rest)
        };
        line.is_empty() || fields(line).is_some_and(taken)
    };
    Ok(by_line(input, &FORMAT, BTreeMap::new(), take, finish))
}

fn finish(hops: BTreeMap<u8, Asked>, imported: &mut Imported) {
    imported.warn("mtr --raw has no times of day: absolute times are made up from sequence numbers, a second apart");
    imported.warn("mtr --raw has no end: a packet without a reply was lost, or the file ends before its reply");
    if let Some(beyond) = beyond_target(&hops) {
        imported.warn(beyond);
    }
    for (number, hop) in hops {
        hop.finish(number, imported);
    }
}

/// Kind, hop and what follows.
fn fields(line: &str) -> Option<(char, u8, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let mut kind = words.next()?.chars();
    let (kind, None) = (kind.next()?, kind.next()) else {
        return None;
    };
    let hop = words.next()?.parse().ok()?;
    let rest: Vec<_> = words.collect();
    ("xhpdtmy".contains(kind) && !rest.is_empty()).then_some((kind, hop, rest))
}

/// mtr asks for a few more hops than there are before it knows how many those are.
fn beyond_target(hops: &BTreeMap<u8, Asked>) -> Option<String> {
    let mut all = hops.iter().filter(|(_, hop)| !hop.address.is_empty());
    let (_, last) = all.next_back()?;
    let same: Vec<_> = hops
        .iter()
        .filter(|(_, hop)| hop.address == last.address)
        .collect();
    let &(&first, _) = same.first().filter(|_| same.len() > 1)?;
    let target = u16::from(first) + 1;
    Some(format!(
        "hops after {target} were answered by the target too: mtr asked for them before it knew how far it is"
    ))
}

/// What was asked of a hop.
struct Asked {
    address: String,
    packets: Packets,
    /// mtr numbers packets over all hops: here is each one's place among those of this hop.
    places: BTreeMap<u64, u64>,
}

impl Asked {
    const fn new() -> Self {
        Self {
            address: String::new(),
            packets: Packets::new(),
            places: BTreeMap::new(),
        }
    }

    fn line(&mut self, kind: char, rest: &[&str]) -> bool {
        let number = |index: usize| rest.get(index).and_then(|word| word.parse().ok());
        match kind {
            'x' => {
                let Some(seq) = number(0) else { return false };
                // The numbers begin anew from 33000 when they are used up: the newest is meant.
                let place = self.packets.next();
                self.places.insert(seq, place);
                self.packets.unanswered(place);
            }
            'p' => {
                let Some(round_trip) = decimal::time(rest[0], MICROSECOND) else {
                    return false;
                };
                let place = number(1).and_then(|seq: u64| self.places.get(&seq).copied());
                let place = place.unwrap_or_else(|| self.packets.next());
                self.packets.reply(place, round_trip.into());
            }
            'h' => self.address = rest[0].to_owned(),
            _ => {}
        }
        true
    }

    fn finish(self, number: u8, imported: &mut Imported) {
        if self.packets.is_empty() {
            return;
        }
        let number = u64::from(number) + 1;
        let name = format!("hop {number}");
        let frame = Frame {
            target: self.address,
            first: Some(0),
            ..Frame::new(name, Method::Icmp)
        };
        let stream = self.packets.finish(frame, imported);
        imported.streams.push(ImportedStream {
            hop: Some(Hop::new(number, "")),
            ..stream
        });
    }
}
