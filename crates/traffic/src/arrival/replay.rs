//! Packets when a file says, in lines of `time,size` with their units: `1.5ms,64B`.
//!
//! Times are from the start of the load and never go back. Blank lines, lines that begin with `#` and
//! `time,size` above the first packet are passed over.

use super::Packet;
use delaylab_model::load::ReplayTrace;
use delaylab_model::units::{UnitError, parse_duration, parse_size};
use delaylab_model::{PICOS_PER_NANO, Picos};

/// A line that cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ReplayError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Not two fields.
    #[error("write `time,size`, like `1.5ms,64B`")]
    Fields,
    /// A field that is not a time or a size.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Later than the clock goes.
    #[error("the time is beyond 213 days")]
    TooLate,
    /// Larger than any packet.
    #[error("the size is beyond 4294967295 bytes")]
    TooLarge,
    /// Earlier than the line before.
    #[error("the time is before that of the line above")]
    Backwards,
}

/// Reads a file's text: the packets in the order of their times.
///
/// # Errors
/// Names the first line that is no packet.
pub fn parse(text: &str) -> Result<ReplayTrace, ReplayError> {
    let mut packets: Vec<Packet> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_header = packets.is_empty() && line == "time,size";
        if line.is_empty() || line.starts_with('#') || is_header {
            continue;
        }
        let at_line = |reason| ReplayError {
            line: index + 1,
            reason,
        };
        let packet = packet(line).map_err(at_line)?;
        if packets.last().is_some_and(|last| packet.at < last.at) {
            return Err(at_line(Reason::Backwards));
        }
        packets.push(packet);
    }
    Ok(packets.into())
}

/// The packets of a file, one after the other. Copies share them.
#[derive(Debug, Clone)]
pub struct Replay {
    packets: ReplayTrace,
    used: usize,
    start: Picos,
}

impl Replay {
    /// Packets in the order of their times, which are from `start`.
    pub const fn new(packets: ReplayTrace, start: Picos) -> Self {
        Self {
            packets,
            used: 0,
            start,
        }
    }
}

fn packet(line: &str) -> Result<Packet, Reason> {
    let (time, size) = line.split_once(',').ok_or(Reason::Fields)?;
    let nanos = parse_duration(time)?.unsigned_abs();
    let bytes = parse_size(size)?;
    Ok(Packet {
        at: nanos.checked_mul(PICOS_PER_NANO).ok_or(Reason::TooLate)?,
        bytes: u32::try_from(bytes).map_err(|_| Reason::TooLarge)?,
    })
}

impl Iterator for Replay {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        let packet = self.packets.get(self.used)?;
        self.used += 1;
        Some(Packet {
            at: self.start.checked_add(packet.at)?,
            bytes: packet.bytes,
        })
    }
}
