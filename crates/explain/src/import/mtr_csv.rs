//! `mtr --csv`: a report.
//!
//! ```text
//! Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,
//! MTR.0.95,1795305927,OK,10.0.0.1,1,10.0.0.254,0.00,5,0,0.09,0.10,0.09,0.15,0.02
//! ```

use super::text::head;
use super::{Format, ImportError, Imported, Input, Options, Rules, decimal, mtr};
use delaylab_model::SECOND;

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

fn line(head: &mut mtr::Head, line: &str, imported: &mut Imported) -> bool {
    if line.is_empty() {
        return true;
    }
    let header = &mut head.columns;
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
    let began = at("Start_Time").and_then(|start| decimal::time(start, SECOND));
    let began = began.map(|began| began.nanos);
    mtr::add(imported, mtr::hop(hop, address, target), began);
    for (column, value) in head.columns.iter().zip(&fields) {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use delaylab_model::SECOND;

    #[test]
    fn calls_are_dated_and_told_apart() {
        let first = include_str!("../../tests/data/import/mtr.csv");
        let later = first.replace("1795305927", "1795309527");
        let text = first.to_owned() + &later;
        let imported = import::read(text.as_bytes(), None).unwrap();
        assert_eq!(imported.began, Some(1_795_305_927 * SECOND));
        let names = imported.streams.iter().map(|it| it.name.as_str());
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "hop 1 10.77.1.254",
                "hop 2 10.77.2.1",
                "hop 1 10.77.1.254 from 2026-11-22T01:05:27Z",
                "hop 2 10.77.2.1 from 2026-11-22T01:05:27Z",
            ]
        );
    }
}
