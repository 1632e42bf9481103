//! What people already have, read as records: output of other tools, and captures.
//!
//! | module | holds |
//! |---|---|
//! | `imported` | what a file gives: streams of records, what the peer said of them, warnings |
//! | `figure` | what a peer's summary can say |
//! | `check` | [`check`]: the peer's summary against its own samples |
//! | `ping`, `fping`, `irtt`, `irtt_text`, `sockperf`, `mtr_raw`, `mtr_json`, `mtr_csv`, `mtr_report`, `iperf3`, `capture` | one format each |
//! | `text`, `decimal`, `packets`, `order`, `json`, `mtr` | what several formats need |
//!
//! A file is recognised by its content, never by its name. What is whole of a file that was cut
//! short is read, and a warning says so; JSON cut short is an error, because nothing of it can be
//! trusted. No bytes make a reader panic.

mod capture;
mod check;
mod decimal;
mod error;
mod figure;
mod fping;
mod imported;
mod iperf3;
mod irtt;
mod irtt_text;
mod json;
mod mtr;
mod mtr_csv;
mod mtr_json;
mod mtr_raw;
mod mtr_report;
mod order;
mod packets;
mod ping;
mod sockperf;
mod text;

pub use check::{Disagreement, check, ours, shown};
pub use error::ImportError;
pub use figure::{Delay, Figure, Said, Statistic};
pub use imported::{Clock, Imported, Stream};

use std::fmt;

/// What can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Output of `ping`: iputils, busybox, BSD and macOS.
    Ping,
    /// Output of `fping`.
    Fping,
    /// JSON of `irtt client`.
    Irtt,
    /// Text of `irtt client`.
    IrttText,
    /// Text or full log of `sockperf`.
    Sockperf,
    /// `mtr --raw`.
    MtrRaw,
    /// `mtr --json`.
    MtrJson,
    /// `mtr --csv`.
    MtrCsv,
    /// `mtr --report` and `--report-wide`.
    MtrReport,
    /// `iperf3 --json`.
    Iperf3,
    /// A capture: pcap or pcapng.
    Capture,
}

/// What a reader makes of a file: nothing is looked up, the bytes are all there is.
type Read = fn(&[u8]) -> Result<Imported, ImportError>;

/// A format, how it is told, and what makes a file of it.
struct Reader {
    format: Format,
    name: &'static str,
    /// The command whose output it is.
    command: &'static str,
    /// Is this file of this format?
    is: fn(&[u8]) -> bool,
    read: Read,
}

/// Every format; the first that recognises a file reads it.
#[rustfmt::skip]
const READERS: &[Reader] = &[
    Reader { format: Format::Capture, name: "capture", command: "tcpdump -i INTERFACE -s 128 -w FILE", is: capture::is, read: capture::read },
    Reader { format: Format::Irtt, name: "irtt", command: "irtt client -o FILE TARGET", is: irtt::is, read: irtt::read },
    Reader { format: Format::Iperf3, name: "iperf3", command: "iperf3 -c TARGET -J > FILE", is: iperf3::is, read: iperf3::read },
    Reader { format: Format::MtrJson, name: "mtr --json", command: "mtr --json -c 100 TARGET > FILE", is: mtr_json::is, read: mtr_json::read },
    Reader { format: Format::MtrCsv, name: "mtr --csv", command: "mtr --csv -c 100 TARGET > FILE", is: mtr_csv::is, read: mtr_csv::read },
    Reader { format: Format::MtrReport, name: "mtr --report", command: "mtr --report -c 100 TARGET > FILE", is: mtr_report::is, read: mtr_report::read },
    Reader { format: Format::MtrRaw, name: "mtr --raw", command: "mtr --raw -c 100 TARGET > FILE", is: mtr_raw::is, read: mtr_raw::read },
    Reader { format: Format::Sockperf, name: "sockperf", command: "sockperf ping-pong -i TARGET --full-log FILE", is: sockperf::is, read: sockperf::read },
    Reader { format: Format::IrttText, name: "irtt text", command: "irtt client TARGET > FILE", is: irtt_text::is, read: irtt_text::read },
    Reader { format: Format::Fping, name: "fping", command: "fping -D -c 100 TARGET > FILE 2>&1", is: fping::is, read: fping::read },
    Reader { format: Format::Ping, name: "ping", command: "ping -D -O -c 100 TARGET > FILE", is: ping::is, read: ping::read },
];

impl Format {
    /// Every format that can be read.
    pub fn all() -> impl Iterator<Item = Format> {
        READERS.iter().map(|reader| reader.format)
    }

    /// The name in flags and messages.
    pub fn name(self) -> &'static str {
        self.reader().map_or("", |reader| reader.name)
    }

    /// A command that makes such a file.
    pub fn command(self) -> &'static str {
        self.reader().map_or("", |reader| reader.command)
    }

    fn reader(self) -> Option<&'static Reader> {
        READERS.iter().find(|reader| reader.format == self)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads a whole file. `hint` says of which format it is; without one its content does.
///
/// # Errors
///
/// [`ImportError`]: the file is empty, of no known format, cut short where nothing can be kept, or
/// holds neither a packet nor a figure.
pub fn read(bytes: &[u8], hint: Option<Format>) -> Result<Imported, ImportError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty);
    }
    let reader = match hint {
        Some(format) => format.reader(),
        None => READERS.iter().find(|reader| (reader.is)(bytes)),
    };
    let Some(reader) = reader else {
        json::whole(bytes)?;
        return Err(ImportError::Unrecognised);
    };
    let imported = (reader.read)(bytes)?;
    let nothing = imported.said.is_empty()
        && imported
            .streams
            .iter()
            .all(|stream| stream.records.is_empty());
    if nothing {
        return Err(ImportError::Nothing {
            format: reader.format,
        });
    }
    Ok(imported)
}
