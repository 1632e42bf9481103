//! Round-robin databases of SmokePing, as `rrdtool` exports them: `xport`, its JSON, `dump` and `fetch`.
//!
//! ```text
//! <xport><meta><start>1700000000</start><step>300</step>…<legend><entry>median</entry>…</legend></meta>
//!  <data><row><t>1700000000</t><v>1.2e-02</v>…</row>
//! { "about": "…", "meta": {"start": 1700000000, "step": 300, "legend": ["median", …]}, "data": [[0.012, null], …] }
//! <rrd>…<step>300</step>…<ds><name> median </name>…<rra><cf>AVERAGE</cf><pdp_per_row>1</pdp_per_row>…<row><v>…
//!                   uptime            loss            median          ping1 …
//! 1700000300: NaN 0.0000000000e+00 1.2e-02 1.1e-02 …
//! ```
//!
//! Source: rrdtool's xport, dump and fetch; SmokePing's Smokeping.pm (`loss`, `median`, `ping1` to `pingN`, in
//! seconds, sorted by their size). The pings of a step become its packets, spread evenly over it, because
//! neither their order nor their times are kept; without them the median is one. Of a dump the finest
//! averages are read.

use super::decimal;
use super::packets::{Frame, Packets, Reply};
use super::text::head;
use super::xml::{Part, Parts, warn_if_cut};
use super::{Format, ImportError, Imported, Input, Options, Rules, json};
use delaylab_model::method::Method;
use delaylab_model::{Nanos, SECOND};
use serde_json::Value;

pub static FORMAT: Format = Format {
    name: "SmokePing RRD",
    command: "rrdtool fetch FILE.rrd AVERAGE, or rrdtool xport --json, or rrdtool dump",
    looks: "columns `median`, `loss` and `ping1` to `pingN`",
    signs: &["<xport>", "<rrd>", "pdp_per_row", "median", "rrdtool"],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    head.contains("<xport>")
        || head.contains("<rrd>")
        || (json::is(bytes) && head.contains("RRDtool"))
        || heading(&head).is_some()
}

/// The names above what `fetch` prints.
fn heading(head: &str) -> Option<Vec<String>> {
    let mut lines = head.lines();
    let names: Vec<String> = lines
        .next()?
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let blank = lines.next()?.trim().is_empty();
    let known = names
        .iter()
        .any(|name| Column::named(name) != Column::Other);
    (blank && known).then_some(names)
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    let start = head(input.head());
    let mut data = Data::default();
    if json::is(input.head()) {
        let document: Value = json::read(&input.bytes()?, &FORMAT)?;
        data.json(&document);
    } else if start.contains("<xport>") || start.contains("<rrd>") {
        let bytes = input.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = if start.contains("<xport>") {
            data.xport(&text)
        } else {
            data.dump(&text)
        };
        warn_if_cut(whole, &mut imported);
    } else {
        let mut text = input.lines();
        while let Some((_, line)) = text.next() {
            data.fetched(line);
        }
        text.warn_if_cut(&mut imported);
        if data.rows.is_empty() {
            imported.warn("no line has a value");
        }
    }
    data.finish(&mut imported)?;
    Ok(imported)
}

/// What a column of SmokePing holds.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Loss,
    Median,
    Ping,
    Other,
}

impl Column {
    fn named(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        let number = name.strip_prefix("ping");
        if number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit())) {
            Self::Ping
        } else if name == "median" {
            Self::Median
        } else if name == "loss" {
            Self::Loss
        } else {
            Self::Other
        }
    }
}

#[derive(Default)]
struct Data {
    names: Vec<String>,
    step: Nanos,
    rows: Vec<(Nanos, Vec<Option<f64>>)>,
}

impl Data {
    fn json(&mut self, document: &Value) {
        let meta = document.get("meta").unwrap_or(&Value::Null);
        let seconds = |key| meta.get(key).and_then(Value::as_i64).unwrap_or(0);
        let names = json::items(meta, "legend").filter_map(Value::as_str);
        self.names = names.map(str::to_owned).collect();
        self.step = at(seconds("step"));
        for (row, index) in json::items(document, "data").zip(0..) {
            let values = row.as_array().into_iter().flatten();
            let time = at(seconds("start").saturating_add(seconds("step").saturating_mul(index)));
            self.rows.push((time, values.map(Value::as_f64).collect()));
        }
    }

    /// Was it whole?
    fn xport(&mut self, text: &str) -> bool {
        let (mut tag, mut start, mut row, mut time) = ("", 0, Vec::new(), None);
        for part in Parts::new(text) {
            match part {
                Part::Open(name, _) => tag = name,
                Part::Text(value) => match tag {
                    "start" => start = at(value.parse().unwrap_or(0)),
                    "step" => self.step = at(value.parse().unwrap_or(0)),
                    "entry" => self.names.push(value.to_owned()),
                    "t" => time = value.parse().ok().map(at),
                    "v" => row.push(value.parse().ok()),
                    _ => {}
                },
                Part::Close("row") => {
                    let count = Nanos::try_from(self.rows.len()).unwrap_or(0);
                    let made = start.saturating_add(self.step.saturating_mul(count));
                    let time = time.take().unwrap_or(made);
                    self.rows.push((time, std::mem::take(&mut row)));
                }
                Part::Close("xport") => return true,
                _ => {}
            }
        }
        false
    }

    /// Was it whole? The first archive of averages of every step is the finest.
    fn dump(&mut self, text: &str) -> bool {
        let (mut tag, mut row, mut time) = ("", Vec::new(), None);
        let (mut average, mut finest, mut done, mut in_archive) = (false, false, false, false);
        for part in Parts::new(text) {
            match part {
                Part::Open(name, _) => {
                    tag = name;
                    in_archive |= name == "rra";
                }
                Part::Text(value) => match tag {
                    "step" if !in_archive => self.step = at(value.trim().parse().unwrap_or(0)),
                    "name" if !in_archive => self.names.push(value.trim().to_owned()),
                    "cf" => average = value.trim() == "AVERAGE",
                    "pdp_per_row" => finest = value.trim() == "1",
                    "v" => row.push(value.trim().parse().ok()),
                    _ => {}
                },
                // `2023-11-14 22:15:00 UTC / 1700000100`
                Part::Comment(when) => {
                    let seconds = when.rsplit(" / ").next().and_then(|it| it.parse().ok());
                    time = seconds.map(at);
                }
                Part::Close("row") => {
                    let values = std::mem::take(&mut row);
                    if let (true, Some(time)) = (average && finest && !done, time) {
                        self.rows.push((time, values));
                    }
                }
                Part::Close("rra") => done |= average && finest,
                Part::Close("rrd") => return true,
                _ => {}
            }
        }
        false
    }

    fn fetched(&mut self, line: &str) {
        let Some((time, values)) = line.split_once(':') else {
            if self.names.is_empty() {
                self.names = line.split_whitespace().map(str::to_owned).collect();
            }
            return;
        };
        let Ok(time) = time.trim().parse() else {
            return;
        };
        let values = values.split_whitespace().map(|value| value.parse().ok());
        self.rows.push((at(time), values.collect()));
        if let [.., (before, _), (last, _)] = self.rows.as_slice() {
            self.step = last.saturating_sub(*before);
        }
    }

    fn finish(self, imported: &mut Imported) -> Result<(), ImportError> {
        let columns: Vec<Column> = self.names.iter().map(|name| Column::named(name)).collect();
        let pings = columns.contains(&Column::Ping);
        let kind = if pings { Column::Ping } else { Column::Median };
        if !columns.contains(&kind) {
            return Err(ImportError::Table(format!(
                "the export has no column `median` or `ping1` of SmokePing; it has {}",
                self.names.join(", ")
            )));
        }
        let mut packets = Packets::new();
        let each = columns.iter().filter(|&&column| column == kind).count();
        let apart = self.step / Nanos::try_from(each.max(1)).unwrap_or(1);
        for (time, values) in &self.rows {
            let of = |kind: Column| {
                let values = columns.iter().zip(values);
                values
                    .filter(move |(column, _)| **column == kind)
                    .map(|(_, value)| number(*value))
            };
            let lost = of(Column::Loss).flatten().next();
            // A step without any value was not measured.
            if of(kind).flatten().next().is_none() && lost.is_none_or(|lost| lost == 0.0) {
                continue;
            }
            // The value of a step is stamped with its end.
            let mut sent = time.saturating_sub(self.step);
            for value in of(kind) {
                let reply = Reply {
                    round_trip: value.and_then(|value| decimal::float_time(value, SECOND)),
                    sent_at: Some(sent),
                    ..Reply::default()
                };
                packets.answered_or_not(packets.next(), reply);
                sent = sent.saturating_add(apart);
            }
        }
        imported.warn(if pings {
            "SmokePing keeps the round trips of a step sorted by size: their order and times within a step are made up"
        } else {
            "the export has medians and no pings: a record is the median of a step, not a packet"
        });
        packets.add(Frame::new("smokeping".to_owned(), Method::Icmp), imported);
        Ok(())
    }
}

fn number(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value >= 0.0)
}

fn at(seconds: i64) -> Nanos {
    seconds.clamp(0, decimal::LARGEST / SECOND) * SECOND
}
