//! The file that packets are written to, or standard output.
//!
//! A file that can no longer be written does not end the measurement: what was found is still summed up, and said,
//! and the command ends with a failure that tells how much is stored. Where standard output has gone, nobody listens
//! any more, and the run ends.

use crate::terminal;
use delaylab_model::load::Direction;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::Sink;
use delaylab_view::csv::CsvWriter;
use delaylab_view::format::Format;
use delaylab_view::json::ping::Document;
use delaylab_view::json::{Config, Head, UnderLoad, WithHead, write};
use delaylab_view::ping::Ping;
use delaylab_view::stream::StreamWriter;
use std::io::{self, BufWriter, Write};

/// Bytes kept back, so that not every packet is a system call.
const BUFFER: usize = 1 << 16;

enum Writer<'a> {
    /// Nothing but lines for people, if any.
    Nothing,
    Json(Box<dyn Write + Send>, Vec<Record>),
    Stream(StreamWriter<'a, Box<dyn Write + Send>>),
    Csv(CsvWriter<Box<dyn Write + Send>>),
}

/// Where packets are stored.
pub struct Storage<'a> {
    writer: Writer<'a>,
    /// The file's name; `None` for standard output.
    file: Option<String>,
    /// Why the file can no longer be written.
    failed: Option<io::Error>,
    /// Packets so far, and as many as are certainly in the file.
    offered: u64,
    stored: u64,
}

impl<'a> Storage<'a> {
    /// Of this format, if any, into `data`. `head`: what ran.
    pub fn new(
        format: Option<Format>,
        data: Box<dyn Write + Send>,
        file: Option<String>,
        head: Head<'a, Config<'a>>,
    ) -> Self {
        let data: Box<dyn Write + Send> = Box::new(BufWriter::with_capacity(BUFFER, data));
        let writer = match format {
            None => Writer::Nothing,
            Some(Format::Json) => Writer::Json(data, Vec::new()),
            Some(Format::Stream) => Writer::Stream(StreamWriter::new(data, head)),
            Some(Format::Csv) => Writer::Csv(CsvWriter::new(data)),
        };
        Self {
            writer,
            file,
            failed: None,
            offered: 0,
            stored: 0,
        }
    }

    /// The first record of a probe is about to come.
    pub fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.write(|writer| match writer {
            Writer::Nothing | Writer::Json(..) => Ok(()),
            Writer::Stream(stream) => stream.begin(probe, facts),
            Writer::Csv(csv) => csv.begin(probe, facts),
        })
    }

    /// Takes a packet that has ended.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        self.offered += 1;
        self.write(|writer| match writer {
            Writer::Nothing => Ok(()),
            Writer::Json(_, records) => {
                records.push(*record);
                Ok(())
            }
            Writer::Stream(stream) => stream.record(record),
            Writer::Csv(csv) => csv.record(record),
        })
    }

    /// Hands on what is kept back.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write(|writer| match writer {
            Writer::Nothing | Writer::Json(..) => Ok(()),
            Writer::Stream(stream) => stream.flush(),
            Writer::Csv(csv) => csv.flush(),
        })?;
        if self.failed.is_none() && matches!(self.writer, Writer::Stream(_) | Writer::Csv(_)) {
            self.stored = self.offered;
        }
        Ok(())
    }

    /// The records of a document so far; a part of the run is over.
    pub fn take_records(&mut self) -> Vec<Record> {
        match &mut self.writer {
            Writer::Json(_, records) => std::mem::take(records),
            Writer::Nothing | Writer::Stream(_) | Writer::Csv(_) => Vec::new(),
        }
    }

    /// Writes what comes last: documents with these packets, and with parts under load, of which it is known which way
    /// they go.
    pub fn finish(
        &mut self,
        ping: &Ping<'_>,
        records: &[Record],
        parts: Vec<(Option<Direction>, UnderLoad<'_>)>,
        head: Head<'_, Config<'_>>,
    ) -> io::Result<()> {
        self.write(|writer| match writer {
            Writer::Nothing => Ok(()),
            Writer::Json(out, _) => {
                let document = Document::new(ping, records);
                let document = (parts.into_iter()).fold(document, |document, (way, part)| {
                    document.under_load(way, part)
                });
                write(&WithHead::new(head, &document), &mut *out)?;
                out.flush()
            }
            Writer::Stream(stream) => stream.summary(ping),
            Writer::Csv(csv) => csv.flush(),
        })
    }

    /// Writes as long as nothing has failed. A file that fails is said once and left alone from then on.
    fn write(&mut self, write: impl FnOnce(&mut Writer<'a>) -> io::Result<()>) -> io::Result<()> {
        if self.failed.is_some() {
            return Ok(());
        }
        match (write(&mut self.writer), &self.file) {
            (Err(error), Some(file)) => {
                terminal::say(format!(
                    "delaylab: cannot write {file}: {error}. Packets are still measured, and no longer stored"
                ));
                self.failed = Some(error);
                Ok(())
            }
            (written, _) => written,
        }
    }

    /// What is not stored, and why; `None` where all is.
    pub fn lacks(&self) -> Option<String> {
        let (error, file) = (self.failed.as_ref()?, self.file.as_deref()?);
        let kept = match self.writer {
            Writer::Json(..) => "it is not a whole document".to_owned(),
            _ => format!(
                "it has at least the first {} of {} packets",
                self.stored, self.offered
            ),
        };
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull => ". Make room, or write elsewhere",
            _ => "",
        };
        Some(format!("cannot write {file}: {error}: {kept}{remedy}"))
    }
}
