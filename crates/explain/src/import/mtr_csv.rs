//! `mtr --csv`: a report.
//!
//! ```text
//! Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,
//! MTR.0.95,1795305927,OK,10.0.0.1,1,10.0.0.254,0.00,5,0,0.09,0.10,0.09,0.15,0.02
//! ```

use super::text::head;
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
    Ok(mtr::by_line(input, &FORMAT, line))
}

fn line(header: &mut Vec<String>, line: &str, imported: &mut Imported) -> bool {
    if line.is_empty() {
        return true;
    }
    // A reader of CSV costs more than all else here: none for files of other tools.
    if header.is_empty() && !line.contains("Mtr_Version") {
        return false;
    }
    let fields = fields(line);
    if fields.first().is_some_and(|first| first == "Mtr_Version") {
        *header = fields;
        return true;
    }
    let at = |name: &str| {
        let index = header.iter().position(|column| column == name)?;
        fields.get(index)
    };
    let (Some(hop), Some(address)) = (at("Hop").and_then(|hop| hop.parse().ok()), at("Ip")) else {
        return false;
    };
    let version = at("Mtr_Version").map(|version| version.trim_start_matches("MTR.").to_owned());
    imported.version = version;
    let target = at("Host").map_or("", String::as_str);
    imported.streams.push(mtr::hop(hop, address, target));
    for (column, value) in header.iter().zip(&fields) {
        mtr::say(imported, column, value);
    }
    true
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
