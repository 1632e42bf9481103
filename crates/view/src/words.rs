//! Numbers and names in words, the same on the terminal, on a page and in a figure.

pub use delaylab_model::words::{either, plural};

use delaylab_model::shell::quoted;
use delaylab_stats::anatomy::StageSet;

/// What stands for a figure that is not known.
pub const UNKNOWN: &str = "–";

/// A figure as it is shown, where it is known.
pub fn or_unknown<T>(figure: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| UNKNOWN.to_owned(), shown)
}

/// Both ends of an interval: `+0.90 ms to +1.50 ms`, and `+1.20 ms, both ends` where they differ by less than is printed.
pub fn both_ends([low, high]: [f64; 2], shown: impl Fn(f64) -> String) -> String {
    let end = |value: f64| match value.is_infinite() {
        true => "no end".to_owned(),
        false => shown(value),
    };
    let (from, to) = (end(low), end(high));
    match from == to && low.is_finite() {
        true => format!("{from}, both ends"),
        false => format!("{from} to {to}"),
    }
}

/// What to know of a run in this folder that is not complete.
pub fn partial(folder: &str) -> String {
    format!(
        "the run is in progress, or was interrupted: `delaylab resume {}` continues it then",
        quoted(folder)
    )
}

/// The same of a run whose trial counts with what is recorded of it, as that of a ping does.
pub fn partial_as_it_stands(folder: &str) -> String {
    format!(
        "the run is in progress, or was interrupted: `delaylab resume {}` makes a complete run of what is recorded then",
        quoted(folder)
    )
}

/// The same of a run that is to be what is recorded of it, and of which nothing is: it cannot be resumed.
pub fn partial_without_packets(folder: &str) -> String {
    format!(
        "the run is in progress, or was interrupted before a packet was recorded: remove {} then",
        quoted(folder)
    )
}

/// What to know of a shard whose trials are all recorded.
pub const WHOLE_SHARD: &str = "this is a shard: all of its trials are recorded, and `delaylab merge` makes one run of it and the others";

/// A share of 1 in per cent, in four columns at most: `0%`, `<1%`, `4%`, `>99%`, `100%`.
pub fn short_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.5 => "<1%".to_owned(),
        p if (99.5..100.0).contains(&p) => ">99%".to_owned(),
        p if !p.is_finite() => UNKNOWN.to_owned(),
        p if p.abs() < 0.5 => "0%".to_owned(), // never "-0%"
        p => format!("{p:.0}%"),
    }
}

/// When something began, to the second: `2026-01-02T03:04:05Z` of `2026-01-02T03:04:05.678901234Z`.
pub fn to_the_second(utc: &str) -> String {
    match utc.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => utc.to_owned(),
    }
}

/// `2026-11-21T13:45:00.25Z` as people read it: `2026-11-21 13:45:00`.
pub fn date_and_time(utc: &str) -> String {
    utc.chars().take(19).collect::<String>().replace('T', " ")
}

/// The name of what an interval covers: of many merged stages, the first and the last.
pub fn short_name(stages: StageSet) -> String {
    const LONG: usize = 30;
    let name = stages.name();
    match (stages.iter().next(), stages.iter().last()) {
        (Some(first), Some(last)) if name.chars().count() > LONG => {
            format!("{} to {}", first.name(), last.name())
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_short_and_never_round_to_a_lie() {
        assert_eq!(short_percent(0.0), "0%");
        assert_eq!(short_percent(-0.001), "0%");
        assert_eq!(short_percent(f64::NAN), "–");
        assert_eq!(short_percent(0.001), "<1%");
        assert_eq!(short_percent(0.998), ">99%");
        assert_eq!(short_percent(1.0), "100%");
    }
}
