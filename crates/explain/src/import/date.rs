//! Dates as tools and tables have them, in nanoseconds since 1970.

use super::decimal;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A date with its offset from UTC, in ISO 8601: `2026-11-23T12:32:05.25+02:00`.
pub fn iso(text: &str) -> Option<Nanos> {
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    bounded(timestamp)
}

/// A date and a time of day; without a zone, of UTC. `2026-11-23 12:32 UTC`, `2026-11-23T12:32:05.123 +0100`,
/// `23.11.2026 12:32:05`, `Mon Nov 23 12:32:05 2026`. `None` where there are two ways to read it: `11/12/2026`, or a zone by its letters, such as `CST`.
pub fn local(text: &str) -> Option<Nanos> {
    let text = text.trim();
    if let Some(time) = iso(text) {
        return Some(time);
    }
    let (civil, zone) = text.split_at(end_of_time(text));
    let Ok(time) = year_first(civil).parse() else {
        // As of ctime(3).
        let time = DateTime::strptime("%a %b %d %H:%M:%S %Y", text).ok()?;
        return of_utc(time);
    };
    Some(of_utc(time)? - east_of_utc(zone.trim())?)
}

fn of_utc(time: DateTime) -> Option<Nanos> {
    bounded(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// As a date with its time of day, of UTC.
pub fn shown(nanos: Nanos) -> String {
    let time = jiff::Timestamp::from_nanosecond(nanos.into());
    time.map_or_else(|_| String::new(), |time| time.to_string())
}

/// Is it a date without a time of day?
pub fn is_day(text: &str) -> bool {
    decimal::begins_with_digit(text) && !text.contains(':')
}

/// Is it a time of day without a date?
pub fn is_time_of_day(text: &str) -> bool {
    let hours = text.split_once(':').map(|(hours, _)| hours);
    hours.is_some_and(|hours| matches!(hours.len(), 1 | 2) && hours.parse::<u8>().is_ok())
}

/// What the last digit of its time of day counts.
pub fn step(text: &str) -> Nanos {
    let civil = &text[..end_of_time(text)];
    let Some((_, minutes)) = civil.split_once(':') else {
        return 24 * 3600 * SECOND;
    };
    match minutes.split_once(['.', ',']) {
        Some((_, behind)) => (behind.bytes().take(9)).fold(SECOND, |step, _| step / 10),
        None if minutes.contains(':') => SECOND,
        None => 60 * SECOND,
    }
}

/// Where the time of day ends, or the date if there is none, and the zone begins.
fn end_of_time(text: &str) -> usize {
    let time = text.find(':').unwrap_or(0);
    let between = if time > 0 {
        [':', '.', ',']
    } else {
        ['-', '.', '/']
    };
    let end = text[time..].find(|c: char| !c.is_ascii_digit() && !between.contains(&c));
    end.map_or(text.len(), |end| time + end)
}

/// `23.11.2026` as `2026-11-23`. Where slashes stand between them, months and days cannot be told apart.
fn year_first(civil: &str) -> String {
    let (date, time) = civil.split_at(civil.find([' ', 'T']).unwrap_or(civil.len()));
    let parts: Vec<&str> = date.trim_end_matches(',').split('.').collect();
    match parts.as_slice() {
        [day, month, year] if year.len() == 4 => format!("{year}-{month:0>2}-{day:0>2}{time}"),
        _ => civil.replace('/', "-"),
    }
}

/// By how much a zone's clocks are ahead: `Z`, `UTC`, `+01:00`, `-0500`, `GMT+01`. A name behind that says no more.
fn east_of_utc(zone: &str) -> Option<Nanos> {
    let named = ["UTC", "GMT", "Z"].into_iter().find(|name| {
        let begin = zone.get(..name.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name))
    });
    let offset = zone.get(named.map_or(0, str::len)..)?;
    let offset = offset.split(' ').next()?;
    if offset.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match offset.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, offset.strip_prefix('-')?),
    };
    let digits = digits.replacen(':', "", 1);
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: Nanos = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        2 => (number, 0),
        _ => (number / 100, number % 100),
    };
    (hours <= 14 && minutes < 60).then_some(sign * (60 * hours + minutes) * 60 * SECOND)
}

fn bounded(timestamp: jiff::Timestamp) -> Option<Nanos> {
    let nanos = Nanos::try_from(timestamp.as_nanosecond()).ok()?;
    (nanos.abs() <= decimal::LARGEST).then_some(nanos)
}

/// What a number that is too large for anything but a time since 1970 counts: 2001 to 2065 in
/// seconds, milliseconds, microseconds or nanoseconds.
pub fn unit_of_epoch(number: f64) -> Option<Nanos> {
    const FIRST: f64 = 1e9;
    const LAST: f64 = 3e9;
    let units = [SECOND, MILLISECOND, MICROSECOND, 1];
    units.into_iter().find(|&unit| {
        let seconds = number * unit as f64 / SECOND as f64;
        (FIRST..LAST).contains(&seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_with_and_without_a_zone() {
        let noon = 1_795_437_125 * SECOND;
        assert_eq!(iso("2026-11-23T12:32:05Z"), Some(noon));
        assert_eq!(iso("2026-11-23T14:32:05+02:00"), Some(noon));
        assert_eq!(local("2026-11-23 12:32:05 UTC"), Some(noon));
        assert_eq!(local("2026-11-23T12:32:05.25"), Some(noon + SECOND / 4));
        assert_eq!(local("2026/11/23 12:32:05"), Some(noon));
        assert_eq!(local("2026-11-23 12:32 UTC"), Some(noon - 5 * SECOND));
        for offset in [
            "2026-11-23 13:32:05 +0100",
            "2026-11-23 13:32:05+01:00",
            "2026-11-23 07:32:05 -0500",
            "2026-11-23T07:32:05-0500",
            "2026-11-23 07:32:05.000 -05 EST",
            "2026/11/23 13:32:05 GMT+0100",
            "23.11.2026 12:32:05",
            "23.11.2026, 13:32:05 +01:00",
            "Mon Nov 23 12:32:05 2026",
        ] {
            assert_eq!(local(offset), Some(noon), "{offset}");
        }
        assert_eq!(local("1.2.2026 00:00"), local("2026-02-01"));
        assert_eq!(
            local("Mon Feb  2 00:00:00 2026"),
            local("2026-02-02 00:00:00")
        );
        for none in [
            "",
            "noon",
            "2026-13-01 00:00",
            "9999999-01-01T00:00",
            "11/23/2026 12:32:05",
            "12:32:05",
            "2026-11-23 12:32:05 CET",
            "2026-11-23 12:32:05 EST",
            "2026-11-23 12:32:05 PM",
        ] {
            assert_eq!(local(none), None, "{none}");
        }
        for (text, last) in [
            ("2026-11-23", 24 * 3600 * SECOND),
            ("2026-11-23 12:32 UTC", 60 * SECOND),
            ("23.11.2026 12:32:05 +01:00", SECOND),
            ("2026-11-23T12:32:05.250+01:00", MILLISECOND),
            ("2026-11-23T12:32:05,123456789Z", 1),
        ] {
            assert_eq!(step(text), last, "{text}");
        }
        assert!(is_day("2026-11-23") && !is_day("2026-11-23 12:32") && !is_day("-"));
        assert!(is_time_of_day("9:05:01.5") && !is_time_of_day("2026-11-23 12:32"));
    }

    #[test]
    fn a_time_since_1970_says_what_it_counts() {
        assert_eq!(unit_of_epoch(1.795e9), Some(SECOND));
        assert_eq!(unit_of_epoch(1.795e12), Some(MILLISECOND));
        assert_eq!(unit_of_epoch(1.795e15), Some(MICROSECOND));
        assert_eq!(unit_of_epoch(1.795e18), Some(1));
        assert_eq!(unit_of_epoch(12.5), None);
    }
}
