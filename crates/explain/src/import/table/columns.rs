//! What the columns of a table are: by their names, by `--columns`, or by their first values.

use super::column::{Column, Meaning, Role, Unit, meaning};
use super::line::{self, Shape};
use super::marks::{self, Mark};
use super::outcome::{self, About};
use super::unit;
use crate::import::text::begins_with_digit;
use crate::import::{Options, date};
use delaylab_model::{MILLISECOND, Nanos};

/// The columns of a table.
///
/// # Errors
///
/// What has to be said of them, and by which flag.
pub fn decide(shape: &Shape, options: &Options) -> Result<Vec<Column>, String> {
    let width = shape.first.len();
    let mut columns = if options.columns.is_empty() && shape.names.is_empty() {
        unnamed(shape, options)?
    } else {
        let names = if options.columns.is_empty() {
            &shape.names
        } else {
            &options.columns
        };
        if names.len() != width {
            return Err(format!(
                "`--columns` names {} columns and a row has {width}: {}. Name each, with `-` for one without meaning",
                names.len(),
                shape.first.join(" ")
            ));
        }
        let asked = !options.columns.is_empty();
        let named = names.iter().zip(&shape.first);
        named
            .map(|(name, value)| column(name, value, asked, options))
            .collect::<Result<_, _>>()?
    };
    pair_dates(&mut columns, &shape.first);
    if columns.iter().any(|column| column.role.is_delay()) {
        return Ok(columns);
    }
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    Err(format!(
        "no column of the table is known to be a delay ({}). Say what they are with `--columns`, one name for each, such as `--columns {}`",
        names.join(", "),
        example(width)
    ))
}

/// A date and a time of day in columns of their own are one time.
fn pair_dates(columns: &mut [Column], first: &[String]) {
    let place = |is: fn(&str) -> bool| {
        let mut values = columns.iter().zip(first);
        values.position(|(column, value)| column.role == Role::Sent(Unit::Date) && is(value))
    };
    if let (Some(day), Some(time)) = (place(date::is_day), place(date::is_time_of_day)) {
        columns[day].role = Role::Sent(Unit::Day);
        columns[time].role = Role::Sent(Unit::TimeOfDay);
    }
}

/// Leaves out what only looks like an outcome by its name: `start` are the first lines of the table.
pub fn leave_out_settings(columns: &mut [Column], shape: &Shape, start: &str) {
    let rows = shape.whole_rows(start, columns.len());
    for at in 0..columns.len() {
        let is_of_timeouts = columns[at].role == Role::Outcome(About::Timeout);
        if is_of_timeouts && is_setting(columns, at, &rows) {
            columns[at].role = Role::Unread;
        }
    }
}

/// Is a column `timeout` how long a tool waited? It has one number in all of these rows, which is no truth: not 0, nor a
/// 1 in rows that have no delay.
fn is_setting(columns: &[Column], at: usize, rows: &[Vec<&str>]) -> bool {
    let [first, others @ ..] = rows else {
        return false;
    };
    let is_number = begins_with_digit(first[at]);
    let is_constant = !others.is_empty() && others.iter().all(|row| row[at] == first[at]);
    let has_delay = |row: &Vec<&str>| {
        let mut cells = columns.iter().zip(row);
        cells.any(|(column, cell)| column.role.is_delay() && !line::stands_for_none(cell))
    };
    is_number
        && is_constant
        && match outcome::number(first[at]) {
            Some(number) if number.value == 0.0 => false,
            Some(number) if number.value == 1.0 => rows.iter().any(has_delay),
            _ => true,
        }
}

/// Fills in the mark of each column whose first numbers tell it: `start` are the first lines of the table.
///
/// # Errors
///
/// Its numbers tell both.
pub fn decide_marks(columns: &mut [Column], shape: &Shape, start: &str) -> Result<(), String> {
    let rows = shape.whole_rows(start, columns.len());
    for (at, column) in columns.iter_mut().enumerate() {
        if has_numbers(column.role) {
            column.mark = mark_of(&column.name, rows.iter().map(|row| row[at]))?;
        }
    }
    Ok(())
}

const fn has_numbers(role: Role) -> bool {
    match role {
        Role::Delay(..) | Role::Seq | Role::Size => true,
        Role::Sent(unit) | Role::Read(unit) => matches!(unit, Unit::Is(_) | Unit::Epoch(_)),
        Role::Stream | Role::Outcome(_) | Role::Ttl | Role::Unread => false,
    }
}

fn mark_of<'a>(name: &str, cells: impl Iterator<Item = &'a str>) -> Result<Option<Mark>, String> {
    let mut told = cells.filter_map(|cell| Some((Mark::told_by(cell)?, cell)));
    let Some((mark, first)) = told.next() else {
        return Ok(None);
    };
    match told.find(|(other, _)| *other != mark) {
        None => Ok(Some(mark)),
        Some((_, other)) => Err(format!(
            "in column `{name}`, `{first}` and `{other}` have decimals behind different marks. Write all of its numbers in the same way"
        )),
    }
}

/// A line of names for a table of this width.
fn example(width: usize) -> String {
    let names = ["time", "rtt_ms"].into_iter().chain(std::iter::repeat("-"));
    let names: Vec<_> = match width {
        1 => vec!["rtt_ms"],
        _ => names.take(width).collect(),
    };
    names.join(",")
}

fn column(name: &str, value: &str, asked: bool, options: &Options) -> Result<Column, String> {
    let role = match meaning(name) {
        Some((meaning, unit)) => role(name, meaning, unit, value, options)?,
        None if asked && name != "-" => {
            return Err(format!(
                "`--columns` does not know `{name}`: it takes time, received, rtt, one_way_delay (with _s, _ms, _us or _ns), seq, target, outcome, lost, ttl, size, and `-` for a column without meaning"
            ));
        }
        None => Role::Unread,
    };
    Ok(Column {
        name: name.to_owned(),
        role,
        mark: None,
    })
}

fn role(
    name: &str,
    meaning: Meaning,
    unit: Option<Nanos>,
    value: &str,
    options: &Options,
) -> Result<Role, String> {
    Ok(match meaning {
        // `timeout_ms` is for how long a tool waited.
        Meaning::Is(Role::Outcome(_)) if unit.is_some() => Role::Unread,
        Meaning::Is(role) => role,
        Meaning::Delay(method) => {
            let own = has_unit(value).then_some(MILLISECOND);
            let unit = unit.or(options.unit).or(own).ok_or_else(|| {
                format!(
                    "column `{name}` does not say what its numbers count (the first is {value}). Say so with `--unit ms` (or s, us, ns)"
                )
            })?;
            Role::Delay(Unit::Is(unit), method)
        }
        Meaning::Sent => Role::Sent(moment(name, unit, value)?),
        Meaning::Read => Role::Read(moment(name, unit, value)?),
    })
}

/// Does a unit stand behind the number?
fn has_unit(value: &str) -> bool {
    let end = value.rfind(|c: char| c.is_ascii_digit());
    end.is_some_and(|end| unit::by_name(value[end + 1..].trim()).is_some())
}

fn moment(name: &str, unit: Option<Nanos>, value: &str) -> Result<Unit, String> {
    let Some(number) = marks::number(value) else {
        return Ok(Unit::Date);
    };
    let epoch = date::unit_of_epoch(number);
    match (epoch, unit) {
        (Some(epoch), None) => Ok(Unit::Epoch(epoch)),
        (Some(epoch), Some(unit)) if epoch == unit => Ok(Unit::Epoch(epoch)),
        (_, Some(unit)) => Ok(Unit::Is(unit)),
        (None, None) => Err(format!(
            "column `{name}` does not say what its times count (the first is {value}, which is not since 1970). Name its unit with `--columns`: `time_s`, `time_ms`, `time_us` or `time_ns`"
        )),
    }
}

/// Without names: times since 1970 and dates are when packets were sent, and one other column can only be the
/// delay.
fn unnamed(shape: &Shape, options: &Options) -> Result<Vec<Column>, String> {
    let is_moment = |value: &str| {
        let epoch = marks::number(value).map(date::unit_of_epoch);
        epoch.map_or_else(|| date::local(value).is_some(), |unit| unit.is_some())
    };
    let moments: Vec<bool> = shape.first.iter().map(|value| is_moment(value)).collect();
    let others = moments.iter().filter(|&&moment| !moment).count();
    if others != 1 || moments.len() - others > 1 {
        return Err(format!(
            "the table has {} columns and no line of names: {}. Say what they are with `--columns`, such as `--columns {}`",
            shape.first.len(),
            shape.first.join(" "),
            example(shape.first.len())
        ));
    }
    let all = moments.iter().zip(&shape.first);
    all.map(|(&moment, value)| {
        let name = if moment { "time" } else { "rtt" };
        column(name, value, false, options)
    })
    .collect()
}
