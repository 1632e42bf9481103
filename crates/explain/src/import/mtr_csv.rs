//! `mtr --csv`: a report.
//!
//! ```text
//! Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,
//! MTR.0.95,1795305927,OK,10.0.0.1,1,10.0.0.254,0.00,5,0,0.09,0.10,0.09,0.15,0.02
//! ```

use super::text::{Strange, head};
use super::{Format, ImportError, Imported, Input, Options, Rules, mtr};

pub static FORMAT: Format = Format {
    name: "mtr --csv",
    command: "mtr --csv -c 100 TARGET > FILE",
    looks: "a first line `Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,…`",
    signs: &["Mtr_Version"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes)
        .lines()
        .any(|line| line.starts_with("Mtr_Version,"))
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut text = input.lines();
    let mut imported = mtr::report(&FORMAT);
    let mut strange = Strange::default();
    let mut header: Vec<String> = Vec::new();
    while let Some((number, line)) = text.next() {
        if line.is_empty() {
            continue;
        }
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
    Ok(mtr::finish(imported))
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
