//! What the columns of a table are: by their names, by `--columns`, or by their first values.

use super::line::Shape;
use super::marks::{self, Mark};
use super::outcome::{self, About};
use super::unit;
use crate::import::{Options, date};
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, Nanos};

/// A column.
pub struct Column {
    pub name: String,
    pub role: Role,
    /// What stands before the decimals of its numbers, where they tell.
    pub mark: Option<Mark>,
}

/// What a column says of a packet.
#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    /// Its delay, there and back or one way.
    Delay(Unit, Method),
    /// When it was sent.
    Sent(Unit),
    /// When its reply was read.
    Read(Unit),
    /// Its number.
    Seq,
    /// Of which stream it is.
    Stream,
    /// Whether it was answered.
    Outcome(About),
    /// The reply's TTL.
    Ttl,
    /// Bytes of its IP packet.
    Size,
    /// Nothing that is read.
    Unread,
}

impl Role {
    pub const fn is_delay(self) -> bool {
        matches!(self, Role::Delay(..))
    }
}

/// What a column's numbers count.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    /// So many nanoseconds each.
    Is(Nanos),
    /// So many nanoseconds each, since 1970.
    Epoch(Nanos),
    /// They are dates.
    Date,
    /// They are dates whose time of day is in another column, which has [`Unit::TimeOfDay`].
    Day,
    /// They are times of day.
    TimeOfDay,
}

/// What a name means before its unit is known.
#[derive(Clone, Copy)]
enum Meaning {
    Delay(Method),
    Sent,
    Read,
    Is(Role),
}

/// Rows of [`NAMES`], a line each.
macro_rules! names {
    ($($meaning:expr, $names:literal;)*) => {
        [$(($meaning, $names)),*]
    };
}

/// What columns are called, each name in lower case.
const NAMES: [(Meaning, &str); 12] = names! {
    Meaning::Delay(Method::Icmp), "rtt round_trip roundtrip round_trip_time latency delay ping response_time response ping_time rtt_val lat";
    Meaning::Delay(Method::Frame), "owd one_way_delay oneway one_way";
    Meaning::Sent, "time timestamp t ts date datetime epoch unix unixtime unix_time sent sent_at send_time t_send start when";
    Meaning::Read, "received received_at recv recv_time t_recv rx_time";
    Meaning::Is(Role::Seq), "seq sequence n icmp_seq packet index number no i seqno";
    Meaning::Is(Role::Stream), "host target dst destination address addr stream server ip name";
    Meaning::Is(Role::Outcome(About::Answered)), "ok success answered alive";
    Meaning::Is(Role::Outcome(About::Status)), "status outcome result";
    Meaning::Is(Role::Outcome(About::Lost)), "lost loss error";
    Meaning::Is(Role::Outcome(About::Timeout)), "timeout";
    Meaning::Is(Role::Ttl), "ttl hop_limit hlim";
    Meaning::Is(Role::Size), "size ip_size packet_size size_b size_bytes ip_bytes";
};

/// A name as its meaning and its unit: `RTT (ms)`, `rtt_ms`, `latency-us`.
fn meaning(name: &str) -> Option<(Meaning, Option<Nanos>)> {
    let lower = name.trim().to_lowercase();
    let plain: String = lower
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    let plain = plain.trim_matches('_');
    let known = |name: &str| {
        let is_one = |(_, names): &&(_, &str)| names.split(' ').any(|known| known == name);
        let of = NAMES.iter().find(is_one);
        of.map(|(meaning, _)| *meaning)
    };
    if let Some(meaning) = known(plain) {
        return Some((meaning, None));
    }
    let (before, behind) = plain.rsplit_once('_')?;
    let unit = unit::by_name(behind)?;
    Some((known(before.trim_end_matches('_'))?, Some(unit)))
}

/// Is it a name of something?
pub fn is_known(name: &str) -> bool {
    meaning(name).is_some()
}

/// Is it a name of a delay?
pub fn is_delay(name: &str) -> bool {
    matches!(meaning(name), Some((Meaning::Delay(_), _)))
}

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
    let rows: Vec<&str> = shape.rows(start).collect();
    for at in 0..columns.len() {
        if outcome::may_be_setting(&columns[at]) && outcome::is_setting(shape, columns, at, &rows) {
            columns[at].role = Role::Unread;
        }
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
