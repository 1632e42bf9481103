//! `mtr --csv`: a report.
//!
//! ```text
//! Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,
//! MTR.0.95,1795305927,OK,10.0.0.1,1,10.0.0.254,0.00,5,0,0.09,0.10,0.09,0.15,0.02
//! ```

use super::text::{Strange, Text, head};
use super::{Format, ImportError, Imported, mtr};

pub fn is(bytes: &[u8]) -> bool {
    head(bytes)
        .lines()
        .any(|line| line.starts_with("Mtr_Version,"))
}

pub fn read(bytes: &[u8]) -> Result<Imported, ImportError> {
    let text = Text::new(bytes);
    let mut imported = mtr::report(Format::MtrCsv);
    let mut strange = Strange::default();
    let mut header: Vec<String> = Vec::new();
    for (number, line) in text.lines().filter(|(_, line)| !line.is_empty()) {
        // A reader of CSV costs more than all else here: none for files of other tools.
        if header.is_empty() && !line.contains("Mtr_Version") {
            strange.note(number, line);
            continue;
        }
        let fields = fields(line);
        if fields.first().is_some_and(|first| first == "Mtr_Version") {
            header = fields;
            continue;
        }
        let at = |name: &str| {
            header
                .iter()
                .position(|column| column == name)
                .and_then(|index| fields.get(index))
        };
        let (Some(hop), Some(address)) = (at("Hop").and_then(|hop| hop.parse().ok()), at("Ip"))
        else {
            strange.note(number, line);
            continue;
        };
        let version =
            at("Mtr_Version").map(|version| version.trim_start_matches("MTR.").to_owned());
        imported.version = version;
        imported.streams.push(mtr::hop(hop, address));
        for (column, value) in header.iter().zip(&fields) {
            mtr::say(&mut imported, column, value);
        }
    }
    text.warn_if_cut(&mut imported);
    strange.warn(&mut imported);
    Ok(imported)
}

fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(line.as_bytes());
    let row = reader
        .records()
        .next()
        .and_then(Result::ok)
        .unwrap_or_default();
    row.iter().map(str::to_owned).collect()
}
