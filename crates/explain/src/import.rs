//! What people already have, read as records: output of other tools, tables, and captures.
//!
//! | module | holds |
//! |---|---|
//! | `imported` | what a file gives: streams of records, what the peer said of them, warnings |
//! | `figure` | what a peer's summary can say |
//! | `check` | [`check`]: the peer's summary against its own samples |
//! | `format` | what a format is |
//! | `hops` | routers on the way to a target, and the target |
//! | `input` | a file as it comes: unpacked, line by line |
//! | `records`, `rows` | the packets of a stream, a few bytes each |
//! | `text`, `icmp_words`, `decimal`, `date`, `packets`, `placed`, `order`, `json`, `xml`, `mtr`, `fping_targets` | what several formats need |
//! | each other | one format |
//!
//! A format is a file with a `FORMAT`, and its line in `FORMATS` below: help, messages and tests
//! read that list.
//!
//! A file is recognised by its content, never by its name. What is whole of a file that was cut
//! short is read, and a warning says so; JSON cut short is an error, because nothing of it can be
//! trusted. No bytes make a reader panic.

mod atlas;
mod by_line;
mod capture;
mod check;
mod cisco;
mod date;
mod decimal;
mod delaylab;
mod error;
mod figure;
mod flent;
mod flowmon;
mod format;
mod fping;
mod fping_json;
mod fping_targets;
mod hops;
mod hping3;
mod icmp_words;
mod imported;
mod input;
mod iperf3;
mod iperf3_text;
mod irtt;
mod irtt_text;
mod json;
mod mikrotik;
mod mtr;
mod mtr_csv;
mod mtr_json;
mod mtr_raw;
mod mtr_report;
mod mtr_xml;
mod nping;
mod omnet;
mod options;
mod order;
mod owping;
mod packet;
mod packets;
mod ping;
mod placed;
mod pscheduler;
mod records;
mod rows;
mod rrd;
mod sockperf;
mod table;
mod text;
mod traceroute;
mod windows;
mod xml;

pub use check::{Disagreement, check, shown};
pub use error::ImportError;
pub use figure::{Delay, Figure, PrintedFigure, Statistic};
pub use format::{Format, Rules};
pub use hops::Hop;
pub use imported::{Clock, Imported, ImportedStream};
pub use input::Input;
pub use options::Options;
pub use records::Records;

/// Every format; the first that recognises a file reads it.
static FORMATS: &[&Format] = &[
    &capture::FORMAT,
    &delaylab::FORMAT,
    &irtt::FORMAT,
    &iperf3::FORMAT,
    &mtr_json::FORMAT,
    &fping_json::FORMAT,
    &atlas::FORMAT,
    &pscheduler::FORMAT,
    &flent::FORMAT,
    &mtr_xml::FORMAT,
    &flowmon::FORMAT,
    &rrd::FORMAT,
    &mtr_csv::FORMAT,
    &mtr_report::FORMAT,
    &mtr_raw::FORMAT,
    &sockperf::FORMAT,
    &omnet::FORMAT,
    &owping::FORMAT,
    &iperf3_text::FORMAT,
    &irtt_text::FORMAT,
    &nping::FORMAT,
    &hping3::FORMAT,
    &fping::FORMAT,
    &cisco::FORMAT,
    &mikrotik::FORMAT,
    &windows::FORMAT,
    &ping::FORMAT,
    &traceroute::FORMAT,
    // Anything with numbers: the last.
    &table::FORMAT,
];

/// Reads a whole file that is in memory. `format` says of which format it is; without one its
/// content does.
///
/// # Errors
///
/// As [`read_from`].
pub fn read(bytes: &[u8], format: Option<&'static Format>) -> Result<Imported, ImportError> {
    read_from(Input::new(bytes)?, &format.into())
}

/// Reads a file.
///
/// # Errors
///
/// [`ImportError`]: the file is empty, of no known format, cut short where nothing can be kept, or
/// holds neither a packet nor a figure.
pub fn read_from(input: Input<'_>, options: &Options) -> Result<Imported, ImportError> {
    let head = input.head();
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty);
    }
    let table = options.of_a_table().then_some(&table::FORMAT);
    let recognised = || Format::all().find(|format| (format.is)(head));
    let format = options.format.or(table).or_else(recognised);
    let Some(format) = format else {
        let nearest = Format::nearest(head);
        if json::is(head) {
            json::whole(&input.bytes()?)?;
        }
        return Err(ImportError::Unrecognised { nearest });
    };
    let mut imported = (format.read)(input, options)?;
    imported.say_one_way();
    check::recompute(&mut imported);
    let empty = imported.streams.iter().all(|it| it.records.is_empty());
    match &imported.strange {
        // Its figures may be of another program that prints similar ones.
        Some((line, text)) if empty => Err(ImportError::NotUnderstood {
            format,
            line: *line,
            text: text.clone(),
        }),
        _ if empty && imported.said.is_empty() => Err(ImportError::Nothing { format }),
        _ => Ok(imported),
    }
}

#[cfg(test)]
mod testing {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Reads the output of two calls, each of which becomes a stream with this number of packets.
    pub fn of_two_calls(text: &str, packets: usize) -> Imported {
        let imported = read(text.as_bytes(), None).unwrap();
        let lengths = imported.streams.iter().map(|it| it.records.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [packets; 2]);
        assert_eq!(check(&imported), []);
        imported
    }
}
