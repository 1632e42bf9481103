//! Any table of delays: CSV and its kin with whatever separator, or numbers line by line.
//!
//! ```text
//! time,host,rtt_ms          names in the first line, or in `--columns`
//! 2026-11-23T12:32:05Z,a,12.3
//! 1795437125.5;12,3         decimal comma, where the separator is another or quotes stand around it: see `marks`
//! 0.0123                    one number a line, with `--unit s`
//! ```
//!
//! | column | names | values |
//! |---|---|---|
//! | delay | `rtt`, `round_trip`, `latency`, `delay`, `ping`, `response_time`; `owd`, `one_way_delay` | a number; what stands for none was lost |
//! | time of sending | `time`, `timestamp`, `t`, `ts`, `date`, `epoch`, `sent` | ISO 8601, since 1970 in s, ms, µs or ns, or what the name says |
//! | time of reading | `received`, `recv` | the same |
//! | sequence number | `seq`, `sequence`, `n`, `icmp_seq`, `packet`, `index` | gaps in it were lost |
//! | stream | `host`, `target`, `dst`, `address`, `stream` | a name |
//! | outcome | `lost`, `loss`, `error`; `ok`, `success`; `status`, `outcome`, `result` | truths, shares, codes and words: see `outcome` |
//! | TTL | `ttl`, `hop_limit` | |
//! | size | `size`, `ip_size`, `packet_size` | bytes of the IP packet |
//!
//! A unit stands behind a name (`rtt_ms`, `rtt (ms)`), behind a value (`12.3 ms`) or in `--unit`. A
//! number without one is asked about, not guessed.

mod arrivals;
mod column;
mod columns;
mod line;
mod marks;
mod numbers;
mod outcome;
#[cfg(test)]
mod tests;
mod unit;

use self::arrivals::Arrivals;
use self::column::{Column, Role, Unit};
use self::line::{Cells, Shape};
use self::marks::Mark;
use self::numbers::Numbers;
use self::outcome::{Ending, Said};
use super::decimal::{self, Time};
use super::packets::{Frame, Packets, Reply};
use super::text::{Strange, head};
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules, date};
use delaylab_model::method::Method;
use delaylab_model::words::plural;
use delaylab_model::{Nanos, SECOND};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many words that are not understood are named.
const NAMED: usize = 4;

pub static FORMAT: Format = Format {
    name: "table",
    command: "any CSV or list of numbers; --columns and --unit say what they are",
    looks: "a line for each packet with the same number of values, such as `1795437125.5,12.3`",
    signs: &["rtt", "latency", "delay", "timestamp"],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    Shape::recognise(&head(bytes), &[]).is_some()
}

fn read(input: Input<'_>, options: &Options) -> Result<Imported, ImportError> {
    let start = head(input.head());
    let Some(shape) = Shape::recognise(&start, &options.columns) else {
        return Err(ImportError::Table(line::why_no_table(&start)));
    };
    let mut columns = columns::decide(&shape, options).map_err(ImportError::Table)?;
    columns::leave_out_settings(&mut columns, &shape, &start);
    columns::decide_marks(&mut columns, &shape, &start).map_err(ImportError::Table)?;
    let mut text = input.lines();
    let mut imported = Imported::new(&FORMAT);
    let mut strange = Strange::default();
    let mut table = Table::new(&columns);
    table.below_zero = is_one_way_below_zero(&shape, &columns, &start);
    let mut take = |number: usize, line: &str| {
        if !table.row(&shape, line) {
            strange.note(number, line);
        }
    };
    let mut heading = shape.has_heading;
    // Packets are taken as they went. Where they stand the other way round, all lines have to be kept.
    let turned = is_newest_first(&shape, &columns, &start);
    let mut kept = Vec::new();
    while let Some((number, line)) = text.next() {
        if line::is_comment(line) || std::mem::take(&mut heading) {
            continue;
        }
        match turned {
            true => kept.push((number, line.to_owned())),
            false => take(number, line),
        }
    }
    for (number, line) in kept.iter().rev() {
        take(*number, line);
    }
    if turned {
        imported.warn("the newest row is the first: read from the last row on");
    }
    warn_of_unread(&columns, &mut imported);
    table.finish(&mut imported);
    text.warn_if_cut(&mut imported);
    strange.warn(&mut imported);
    Ok(imported)
}

fn warn_of_unread(columns: &[Column], imported: &mut Imported) {
    let unread = columns.iter().filter(|column| column.role == Role::Unread);
    let unread: Vec<_> = unread.map(|column| column.name.as_str()).collect();
    if !unread.is_empty() {
        imported.warn(format!("columns not read: {}", unread.join(", ")));
    }
}

/// Do the times of the first rows only fall?
fn is_newest_first(shape: &Shape, columns: &[Column], start: &str) -> bool {
    let table = Table::new(columns);
    let rows = shape.rows(start);
    let rows = rows.filter_map(|line| table.facts(shape, line));
    let times: Vec<Nanos> = rows.filter_map(|row| row.sent_at.or(row.read_at)).collect();
    times.is_sorted_by(|one, next| one >= next) && times.first() > times.last()
}

/// Are one-way delays of the first rows less than 0, other than a -1? Then clocks differ, and a -1 is a delay as well.
fn is_one_way_below_zero(shape: &Shape, columns: &[Column], start: &str) -> bool {
    let is_below = |(column, cell): (&Column, &str)| match column.role {
        Role::Delay(unit, Method::Frame) => {
            let delay = delay(cell, unit, column.mark);
            delay.is_some_and(|delay| delay.nanos < 0) && !is_minus_one(cell, column.mark)
        }
        _ => false,
    };
    start.lines().any(|line| {
        let cells = Cells::new(line, shape.separator);
        columns.iter().zip(cells).any(is_below)
    })
}

/// The packets of each stream and column of delays.
struct Table<'a> {
    columns: &'a [Column],
    /// Are there more columns of delays than one?
    several: bool,
    /// Have clocks made one-way delays less than 0?
    below_zero: bool,
    streams: Vec<Rows>,
    by_name: HashMap<String, usize>,
    numbered: bool,
    /// Columns of outcomes, and words in them that are not understood, of rows that have a delay.
    unknown: BTreeSet<(&'a str, String)>,
    /// Columns of times, in how many rows they are not understood, and the first.
    untimed: BTreeMap<&'a str, (u64, String)>,
    /// Columns of delays, how many rows of them have a comma that may be a decimal one or not, and the first.
    doubtful: BTreeMap<&'a str, (u64, String)>,
}

/// The rows of a stream.
struct Rows {
    name: String,
    method: Method,
    packets: Packets,
    numbers: Numbers,
    arrivals: Arrivals,
}

/// What a row says.
#[derive(Default)]
struct Row<'a> {
    sent_at: Option<Nanos>,
    read_at: Option<Nanos>,
    seq: Option<u64>,
    stream: &'a str,
    /// By its column of outcomes.
    outcome: Option<Ending>,
    /// A column of outcomes, and its word that is not understood.
    unknown: Option<(usize, &'a str)>,
    /// A column of times, and its cell that is not understood.
    untimed: Option<(usize, String)>,
    /// What the last digit of its times counts.
    step: Nanos,
    ttl: Option<u8>,
    size: Option<u32>,
}

impl Row<'_> {
    /// The time that was read of a cell. One that is not understood is kept in mind.
    fn time(&mut self, column: usize, cell: &str, read: Option<Time>) -> Option<Nanos> {
        if read.is_none() && !line::stands_for_none(cell.trim()) {
            self.untimed = Some((column, cell.chars().take(40).collect()));
        }
        let time = read?;
        self.step = self.step.max(time.step);
        Some(time.nanos)
    }
}

impl<'a> Table<'a> {
    fn new(columns: &'a [Column]) -> Self {
        let delays = columns.iter().filter(|it| it.role.is_delay());
        Self {
            columns,
            several: delays.count() > 1,
            below_zero: false,
            streams: Vec::new(),
            by_name: HashMap::new(),
            numbered: columns.iter().any(|column| column.role == Role::Seq),
            unknown: BTreeSet::new(),
            untimed: BTreeMap::new(),
            doubtful: BTreeMap::new(),
        }
    }

    /// Takes a row; false where a cell is nothing that its column can have.
    fn row(&mut self, shape: &Shape, line: &str) -> bool {
        let Some(row) = self.facts(shape, line) else {
            return false;
        };
        let columns = self.columns;
        if let Some((column, cell)) = &row.untimed {
            let name = columns[*column].name.as_str();
            let first = || (0, cell.clone());
            self.untimed.entry(name).or_insert_with(first).0 += 1;
        }
        let mut taken = true;
        for (column, cell) in columns.iter().zip(Cells::new(line, shape.separator)) {
            let Role::Delay(unit, method) = column.role else {
                continue;
            };
            let name = if self.several { &column.name } else { "" };
            let at = self.stream(row.stream, name, method);
            taken &= self.packet(at, &row, cell, unit, column.mark);
            // Semicolons stand between the cells of those who have decimal commas.
            if column.mark.is_none() && shape.separator != Some(';') && marks::is_doubtful(cell) {
                let first = || (0, cell.to_owned());
                let doubtful = self.doubtful.entry(&column.name).or_insert_with(first);
                doubtful.0 += 1;
            }
        }
        taken
    }

    fn facts<'t>(&self, shape: &Shape, line: &'t str) -> Option<Row<'t>> {
        let mut row = Row::default();
        let (mut day, mut time_of_day) = ("", None);
        let mut count = 0;
        for (column, cell) in self.columns.iter().zip(Cells::new(line, shape.separator)) {
            let at = count;
            count += 1;
            let mark = column.mark;
            match column.role {
                Role::Sent(Unit::Day) => day = cell,
                Role::Sent(Unit::TimeOfDay) => time_of_day = Some((at, cell)),
                Role::Sent(unit) => {
                    let time = row.time(at, cell, moment(cell, unit, mark));
                    row.sent_at = time.or(row.sent_at);
                }
                Role::Read(unit) => {
                    row.read_at = row.time(at, cell, moment(cell, unit, mark));
                }
                // One without a number stands behind those before it.
                Role::Seq if line::stands_for_none(cell) => {}
                Role::Seq => row.seq = Some(whole_number(cell, mark)?),
                Role::Stream => row.stream = cell,
                Role::Ttl => row.ttl = cell.parse().ok(),
                Role::Size => {
                    let size = whole_number(cell, mark);
                    row.size = size.and_then(|size| size.try_into().ok());
                }
                Role::Outcome(about) => match outcome::said(cell, about) {
                    Said::Nothing => {}
                    Said::Ended(ending) => row.outcome = row.outcome.max(Some(ending)),
                    Said::Unknown => row.unknown = Some((at, cell)),
                },
                Role::Delay(..) | Role::Unread => {}
            }
        }
        if let Some((at, time)) = time_of_day.filter(|(_, time)| !line::stands_for_none(time)) {
            let whole = format!("{day} {time}");
            let time = row.time(at, &whole, moment(&whole, Unit::Date, None));
            row.sent_at = time.or(row.sent_at);
        }
        (count == self.columns.len()).then_some(row)
    }

    fn stream(&mut self, name: &str, column: &str, method: Method) -> usize {
        let same = |known: &str| {
            let rest = known.strip_prefix(name);
            rest.is_some_and(|rest| rest.trim_start() == column)
        };
        // Most rows are of the stream of the row before.
        if let Some(first) = self.streams.first()
            && self.streams.len() == 1
            && same(&first.name)
        {
            return 0;
        }
        let full = if name.is_empty() || column.is_empty() {
            format!("{name}{column}")
        } else {
            format!("{name} {column}")
        };
        if let Some(&at) = self.by_name.get(&full) {
            return at;
        }
        self.by_name.insert(full.clone(), self.streams.len());
        self.streams.push(Rows {
            name: full,
            method,
            packets: Packets::new(),
            numbers: Numbers::default(),
            arrivals: Arrivals::default(),
        });
        self.streams.len() - 1
    }

    fn packet(
        &mut self,
        at: usize,
        row: &Row<'_>,
        cell: &str,
        unit: Unit,
        mark: Option<Mark>,
    ) -> bool {
        let rows = &mut self.streams[at];
        let seq = match row.seq {
            Some(seq) => rows.numbers.whole(seq),
            None => rows.packets.next(),
        };
        let packets = &mut rows.packets;
        let is_lost = matches!(row.outcome, Some(Ending::Lost | Ending::Refused))
            || line::stands_for_none(cell);
        let told = match is_lost {
            true => None,
            false => delay(cell, unit, mark),
        };
        if told.is_none() && !is_lost {
            return false;
        }
        // Tools have -1 for what was lost. Only one-way delays are less than 0 otherwise, by clocks that differ.
        let is_one_way = rows.method == Method::Frame;
        let means_lost = is_minus_one(cell, mark) && !(is_one_way && self.below_zero);
        let is_delay = |told: &Time| !means_lost && (told.nanos >= 0 || is_one_way);
        let Some(round_trip) = told.filter(is_delay) else {
            packets.unanswered_since(seq, row.sent_at);
            packets.sized(seq, row.size);
            if row.outcome == Some(Ending::Refused) {
                packets.refused(seq, None);
            }
            return is_lost || means_lost;
        };
        let arrived = match row.sent_at {
            Some(sent_at) => Some(sent_at + round_trip.nanos),
            None => row.read_at,
        };
        rows.arrivals.note(arrived, row.step + round_trip.step);
        packets.reply(
            seq,
            Reply {
                round_trip: Some(round_trip),
                read_at: row.read_at,
                sent_at: row.sent_at,
                ttl: row.ttl,
            },
        );
        packets.sized(seq, row.size);
        if row.outcome == Some(Ending::Corrupt) {
            packets.corrupt(seq);
        }
        // A delay was measured, whatever the word means.
        if let Some((column, word)) = row.unknown
            && self.unknown.len() <= NAMED
        {
            let word = word.chars().take(40).collect();
            self.unknown
                .insert((self.columns[column].name.as_str(), word));
        }
        true
    }

    /// What of the rows is not understood, or may be otherwise than its table means.
    fn warn(&self, imported: &mut Imported) {
        for (column, (rows, first)) in &self.untimed {
            let rows = plural(*rows, "row");
            imported.warn(format!(
                "`{column}` is not understood in {rows}, the first is `{first}`: their packets stand where their order puts them. \
                 Write times as 2026-11-23 12:32:05 +01:00, or as seconds since 1970"
            ));
        }
        for (column, (rows, first)) in &self.doubtful {
            let read = first.replace(',', ".");
            imported.warn(format!(
                "`{column}` has {} such as `{first}`, and none of its first numbers tells whether its commas stand before decimals or between thousands: \
                 it is read as {read}. Where that is wrong, write numbers without commas between thousands",
                plural(*rows, "number")
            ));
        }
        if !self.unknown.is_empty() {
            let named = self.unknown.iter().take(NAMED);
            let named = named.map(|(column, word)| format!("`{column}` {word}"));
            let more = match self.unknown.len() > NAMED {
                true => " and others",
                false => "",
            };
            imported.warn(format!(
                "outcomes that are not understood: {}{more}. Their packets have a delay and count as answered",
                named.collect::<Vec<_>>().join(", ")
            ));
        }
        let copies = self.streams.iter().map(|rows| rows.packets.answered().1);
        let copies: u64 = copies.sum();
        if copies > 0 {
            let rows = if copies == 1 { "row has" } else { "rows have" };
            imported.warn(format!(
                "{copies} {rows} a number that was answered before, and count as copies. Import several runs that stand in one table one by one"
            ));
        }
    }

    fn finish(self, imported: &mut Imported) {
        self.warn(imported);
        let times = self.columns.iter().map(|column| column.role);
        let times = times.filter_map(|role| match role {
            Role::Sent(unit) | Role::Read(unit) => Some(unit),
            _ => None,
        });
        let own = times.clone().any(|unit| matches!(unit, Unit::Is(_)));
        let dated = times.clone().count() > 0;
        for rows in self.streams {
            let frame = Frame {
                target: rows.name.clone(),
                fill: self.numbered,
                period: SECOND,
                ..Frame::new(rows.name, rows.method)
            };
            let mut made = rows.packets.finish(frame, imported);
            if let Some(records) = rows.arrivals.reordered(&made.records) {
                made.records = records;
            }
            if made.clock == Clock::RealTime && own {
                made.clock = Clock::Own {
                    realtime_offset: None,
                };
            }
            imported.streams.push(made);
        }
        if !dated {
            imported.warn("the table has no column of times: absolute times are made up from the order of its rows, a second apart");
        }
    }
}

/// A date, or a number since 1970 or since some start.
fn moment(cell: &str, unit: Unit, mark: Option<Mark>) -> Option<Time> {
    match unit {
        Unit::Is(unit) | Unit::Epoch(unit) => number(cell, unit, mark),
        Unit::Date => Some(Time {
            nanos: date::local(cell)?,
            step: date::step(cell),
        }),
        // Neither is a time without the other.
        Unit::Day | Unit::TimeOfDay => None,
    }
}

/// A delay, in the unit that stands behind it or else in that of its column.
fn delay(cell: &str, unit: Unit, mark: Option<Mark>) -> Option<Time> {
    let (Unit::Is(unit) | Unit::Epoch(unit)) = unit else {
        return None;
    };
    if let Some(time) = number(cell, unit, mark) {
        return Some(time);
    }
    let end = cell.rfind(|c: char| c.is_ascii_digit() || c == '.')? + 1;
    let own = unit::by_name(cell[end..].trim())?;
    number(cell[..end].trim_start_matches('<'), own, mark)
}

fn number(cell: &str, unit: Nanos, mark: Option<Mark>) -> Option<Time> {
    decimal::any_time(&marks::with_point(cell, mark)?, unit)
}

/// `7`, or `7.0` of tables in which some number of the column was missing. A comma that may be either stands between
/// thousands.
fn whole_number(cell: &str, mark: Option<Mark>) -> Option<u64> {
    let mark = mark.or_else(|| Mark::told_by(cell));
    let number = mark.unwrap_or(Mark::Point).with_point(cell)?;
    let (whole, behind) = number.split_once('.').unwrap_or((&number, ""));
    let is_whole = behind.bytes().all(|byte| byte == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

/// What stands for a packet that was lost, with whatever unit: `-1`, `-1.0`, `-1 ms`.
fn is_minus_one(cell: &str, mark: Option<Mark>) -> bool {
    if !cell.starts_with('-') {
        return false;
    }
    let end = cell.rfind(|c: char| c.is_ascii_digit());
    let digits = marks::with_point(&cell[..end.map_or(0, |end| end + 1)], mark);
    digits.is_some_and(|digits| digits.parse().is_ok_and(|number: f64| number == -1.0))
}
