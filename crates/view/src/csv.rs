//! One CSV row a packet, under the names of [`columns::all`]. What is not known is empty.

use crate::columns::{self, Value};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::Sink;
use std::io::{self, Write};

/// Writes a header row, then one row a packet, in flat memory.
pub struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
    facts: RecordFacts,
    field: Vec<u8>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes to `out`, through a buffer of its own.
    pub fn new(out: W) -> Self {
        Self {
            out: csv::Writer::from_writer(out),
            facts: RecordFacts::default(),
            field: Vec::new(),
        }
    }

    /// Hands on what is in the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn write_value(&mut self, value: Value) -> io::Result<()> {
        self.field.clear();
        match value {
            Value::Null => {}
            Value::Number(number) => write!(self.field, "{number}")?,
            Value::Word(word) => self.field.extend_from_slice(word.as_bytes()),
            Value::Address(address) => write!(self.field, "{address}")?,
            Value::Answer(answer) => write!(self.field, "{answer}")?,
        }
        Ok(self.out.write_field(&self.field)?)
    }
}

impl<W: Write> Sink for CsvWriter<W> {
    fn begin(&mut self, _probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.facts = *facts;
        Ok(self
            .out
            .write_record(columns::all().map(|column| column.name))?)
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        for column in columns::all() {
            self.write_value(column.read(record, &self.facts))?;
        }
        Ok(self.out.write_record(None::<&[u8]>)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::columns::Row;
    use crate::samples::full;

    #[test]
    fn a_row_holds_what_the_json_holds() {
        let sample = full();
        let mut text = Vec::new();
        let mut writer = CsvWriter::new(&mut text);
        writer.begin(0, &sample.facts.records).unwrap();
        for record in &sample.records {
            writer.record(record).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        let mut reader = ::csv::Reader::from_reader(text.as_slice());
        let names = reader.headers().unwrap().clone();
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), sample.records.len());
        for (row, record) in rows.iter().zip(&sample.records) {
            let json = serde_json::to_value(Row {
                record,
                facts: &sample.facts.records,
            })
            .unwrap();
            let json = json.as_object().unwrap();
            let known = |name: &str| names.iter().any(|known| known == name);
            assert!(json.keys().all(|name| known(name)));
            for (name, field) in names.iter().zip(row) {
                // What only servers have is empty.
                let same = match json.get(name) {
                    None | Some(serde_json::Value::Null) => String::new(),
                    Some(serde_json::Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                assert_eq!(field, same, "{name}");
            }
        }
    }
}
