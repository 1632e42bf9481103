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

/// A date and a time of day, with whatever zone stands behind; without a zone that can be told, of
/// UTC. `2026-11-23 12:32 UTC`, `2026-11-23T12:32:05.123`.
pub fn local(text: &str) -> Option<Nanos> {
    let text = text.trim();
    if let Some(time) = iso(text) {
        return Some(time);
    }
    // As far as it has digits and what stands between them; the first blank is within it.
    let within = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | '/' | 'T' | ' ');
    let end = text.find(|c| !within(c)).unwrap_or(text.len());
    let civil = text[..end]
        .trim_end()
        .trim_end_matches(['-', 'T'])
        .replace('/', "-");
    let time: DateTime = civil.trim().parse().ok()?;
    bounded(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
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
        for none in ["", "noon", "2026-13-01 00:00", "9999999-01-01T00:00"] {
            assert_eq!(local(none), None, "{none}");
        }
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
