//! Data files of `flent` (`.flent.gz`): the pings of a test under load, and its rates.
//!
//! ```text
//! {"version": 4, "metadata": {"TIME": "2026-11-21T13:45:00.000000Z", "HOST": "192.0.2.7", "STEP_SIZE": 0.2, …},
//!  "x_values": [0.0, 0.2, …],
//!  "results": {"Ping (ms) ICMP": [20.1, null, …], "Ping (ms) avg": [20.3, …], "TCP download::1": [9.5, …]},
//!  "raw_values": {"Ping (ms) ICMP": [{"seq": 1.0, "t": 1763732700.1, "val": 20.1}, …],        ping
//!   "Ping (ms) UDP BE": [{"seq": 0, "t": 1763732700.1, "val": 20.1, "owd_up": 10.1, …},       irtt
//!                        {"seq": 1, "t": 1763732700.3, "lost": true, "lost_dir": "up"}, …],
//!   "Ping (ms) UDP EF": [{"dur": 0.2, "t": 1763732700.1, "val": 20.1}, …]}}                   netperf
//! ```
//!
//! Source: flent's resultset.py and runners.py, formats 1 to 4. A series whose name begins with `Ping` is a
//! stream, in milliseconds: its raw values where there are some, and else what flent made of them at each
//! step; but a mean of other series is none. ping's lost packets are gaps in `seq`. netperf's values are means
//! over `dur` seconds, and before format 4 transactions a second. Other series are rates where `SERIES_META`
//! says so, or says nothing and flent's tests have them in Mbit/s.

use super::decimal::{self, Time};
use super::order::Unwrap;
use super::packets::{Frame, Packets, Reply};
use super::text::head;
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules, date, json};
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use serde_json::{Map, Value};
use std::sync::Arc;

pub static FORMAT: Format = Format {
    name: "flent",
    command: "flent rrul -H TARGET",
    looks: "keys `x_values`, `results` and `raw_values`",
    signs: &[
        r#""x_values""#,
        r#""raw_values""#,
        "flent",
        r#""STEP_SIZE""#,
    ],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let head = head(bytes);
    let keys = [
        r#""x_values""#,
        r#""raw_values""#,
        r#""STEP_SIZE""#,
        r#""NETPERF_WRAPPER_VERSION""#,
        r#""FLENT_VERSION""#,
    ];
    json::is(bytes) && keys.iter().any(|key| head.contains(key))
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = input.bytes()?;
    let document: Value = json::read(&bytes, &FORMAT)?;
    let mut imported = Imported::new(&FORMAT);
    let metadata = document.get("metadata").unwrap_or(&Value::Null);
    imported.version = json::text(metadata, "FLENT_VERSION")
        .or_else(|| json::text(metadata, "NETPERF_WRAPPER_VERSION"))
        .map(str::to_owned);
    imported.began = began(&document, metadata);
    let target = json::text(metadata, "HOST").unwrap_or_default();
    let series = Series {
        version: json::whole_number(&document, "version").unwrap_or(1),
        began: imported.began,
        step: json::time(metadata, "STEP_SIZE", SECOND).map_or(SECOND / 5, |step| step.nanos),
        times: document
            .get("x_values")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice),
    };
    let results = document.get("results").and_then(Value::as_object);
    for (name, values) in results.into_iter().flatten() {
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        if name.starts_with("Ping") {
            if is_mean_of_others(metadata, name) {
                imported.warn(format!("{name} is a mean of other series: left out"));
                continue;
            }
            let raw = raw_of(&document, metadata, name).and_then(timed);
            pings(&mut imported, target, name, values, raw, &series);
        } else if let Some(scale) = rate_of(metadata, name) {
            rates(&mut imported, name, values, scale, &series);
        } else {
            imported.warn(format!("{name} is no rate: left out"));
        }
    }
    Ok(imported)
}

/// The raw values of a series. Format 1 has them elsewhere, if it has them.
fn raw_of<'a>(document: &'a Value, metadata: &'a Value, name: &str) -> Option<&'a Value> {
    let raw = document.get("raw_values").and_then(|raw| raw.get(name));
    raw.or_else(|| metadata.get("SERIES_META")?.get(name)?.get("RAW_VALUES"))
}

/// When the test began. Older versions say it in local time without a zone: raw values are since 1970, and tell by how
/// many quarters of an hour it is off.
fn began(document: &Value, metadata: &Value) -> Option<Nanos> {
    const STEP: Nanos = 900 * SECOND;
    let text = json::text(metadata, "T0").or_else(|| json::text(metadata, "TIME"))?;
    let began = date::local(text)?;
    let results = document.get("results").and_then(Value::as_object);
    let names = results.into_iter().flat_map(Map::keys);
    let pings = names.filter(|name| name.starts_with("Ping"));
    let values = pings.filter_map(|name| raw_of(document, metadata, name)?.as_array());
    let times = values
        .flatten()
        .filter_map(|value| json::time(value, "t", SECOND));
    let first = times.map(|time| time.nanos).min();
    let Some(first) = first.filter(|_| date::iso(text).is_none()) else {
        return Some(began);
    };
    let steps = (first - began + STEP / 2).div_euclid(STEP);
    Some(began + steps * STEP)
}

/// What all series of a file share: its format, and when their values are of.
struct Series<'a> {
    version: u64,
    began: Option<Nanos>,
    step: Nanos,
    times: &'a [Value],
}

impl Series<'_> {
    fn at(&self, index: usize) -> Nanos {
        let time = self.times.get(index).map(Value::to_string);
        let time = time.and_then(|time| decimal::any_time(&time, SECOND));
        let index = Nanos::try_from(index).unwrap_or(0);
        let since = time.map_or_else(|| self.step.saturating_mul(index), |time| time.nanos);
        self.began.unwrap_or(0).saturating_add(since)
    }
}

/// flent's `AverageRunner`, which asks no host.
fn is_mean_of_others(metadata: &Value, name: &str) -> bool {
    let of_series = metadata.get("SERIES_META").and_then(|all| all.get(name));
    let runner = of_series.and_then(|it| json::text(it, "RUNNER"));
    name.ends_with(" avg") || runner.is_some_and(|runner| runner.ends_with("AverageRunner"))
}

/// Raw values, if they are of packets.
fn timed(raw: &Value) -> Option<&[Value]> {
    let values = raw.as_array()?;
    let timed = |value: &Value| value.get("val").is_some() && value.get("t").is_some();
    values.iter().any(timed).then_some(values.as_slice())
}

fn pings(
    imported: &mut Imported,
    target: &str,
    name: &str,
    values: &[Value],
    raw: Option<&[Value]>,
    series: &Series<'_>,
) {
    let mut packets = Packets::new();
    take_raw(&mut packets, raw.unwrap_or_default(), name, series.version);
    if raw.is_some_and(|raw| raw.iter().any(is_over_an_interval)) {
        imported.warn(format!(
            "{name} is of netperf: its records are means over an interval each, not packets, and losses are unknown"
        ));
    }
    if raw.is_none() {
        imported.warn(format!(
            "{name} has no raw values: its records are flent's values at each step, not packets"
        ));
        take_steps(&mut packets, values, series);
    }
    let method = if name.contains("UDP") {
        Method::Udp
    } else {
        Method::Icmp
    };
    let frame = Frame {
        target: target.to_owned(),
        fill: raw.is_some(),
        period: series.step,
        ..Frame::new(name.to_owned(), method)
    };
    let mut packets = packets.finish(frame, imported);
    if raw.is_none() && series.began.is_none() {
        packets.clock = Clock::MadeUp;
    }
    imported.streams.push(packets);
}

/// Takes packets, or means over an interval, as their tool printed them.
fn take_raw(packets: &mut Packets, raw: &[Value], name: &str, version: u64) {
    let mut numbers = Unwrap::default();
    for value in raw {
        let is_lost = value.get("lost").and_then(Value::as_bool) == Some(true);
        if !is_lost && value.get("val").is_none() {
            // Figures of a socket.
            continue;
        }
        let seq = json::whole_number(value, "seq").map(|seq| numbers.whole(seq));
        let seq = seq.unwrap_or_else(|| packets.next());
        let at = json::time(value, "t", SECOND).map(|time| time.nanos);
        let reply = Reply {
            round_trip: round_trip(value, name, version).filter(|_| !is_lost),
            // flent takes the time stamp of the line that ping printed; of a lost one, the time of sending.
            read_at: at,
            ..Reply::default()
        };
        packets.answered_or_not(seq, reply);
    }
}

/// Takes flent's own value at each step.
fn take_steps(packets: &mut Packets, values: &[Value], series: &Series<'_>) {
    for (index, value) in values.iter().enumerate() {
        let reply = Reply {
            round_trip: decimal::any_time(&value.to_string(), MILLISECOND),
            sent_at: Some(series.at(index)),
            ..Reply::default()
        };
        packets.answered_or_not(packets.next(), reply);
    }
}

/// netperf gives a value for each interval, and its length.
fn is_over_an_interval(value: &Value) -> bool {
    value.get("dur").is_some()
}

/// The round trip of a raw value. Before format 4, netperf's are transactions a second.
fn round_trip(value: &Value, name: &str, version: u64) -> Option<Time> {
    if version >= 4 || !name.contains("UDP") || !is_over_an_interval(value) {
        return json::time(value, "val", MILLISECOND);
    }
    let rate = value.get("val")?.as_f64().filter(|&rate| rate > 0.0)?;
    decimal::float_time(1.0 / rate, SECOND)
}

/// Bits a second in the unit of a series; `None` if it is no rate. Older versions say no unit.
fn rate_of(metadata: &Value, name: &str) -> Option<f64> {
    let of_series = metadata.get("SERIES_META").and_then(|all| all.get(name));
    match of_series.and_then(|it| json::text(it, "UNITS")) {
        Some("Mbits/s" | "Mbit/s") => Some(1e6),
        Some("Kbits/s" | "Kbit/s") => Some(1e3),
        Some("bits/s" | "bit/s") => Some(1.0),
        Some(_) => None,
        // What Linux says of a connection has the name of its rate in front.
        None => {
            let is_rate = ["TCP", "UDP", "SCTP"].iter().any(|it| name.starts_with(it));
            (is_rate && !name.contains("::tcp_")).then_some(1e6)
        }
    }
}

fn rates(imported: &mut Imported, name: &str, values: &[Value], scale: f64, series: &Series<'_>) {
    let of: Arc<str> = name.into();
    for (index, value) in values.iter().enumerate() {
        let rate = value.as_f64().map(|rate| rate * scale);
        let stretch = (series.at(index), series.step);
        imported.add_point(("goodput", &of), stretch, Unit::BitsPerSecond, rate);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Imported, read};
    use delaylab_model::record::Outcome;
    use delaylab_model::{MILLISECOND, Nanos, SECOND};

    /// A file with a series of this name, of these raw values.
    fn with_raw(version: u8, name: &str, raw: &str) -> Imported {
        let text = format!(
            r#"{{"version": {version}, "metadata": {{"STEP_SIZE": 0.2}}, "x_values": [0.0],
                "results": {{"{name}": [20.0]}}, "raw_values": {{"{name}": [{raw}]}}}}"#
        );
        read(text.as_bytes(), None).unwrap()
    }

    /// Whether each was answered, and after how long.
    fn packets(imported: &Imported) -> Vec<(Outcome, Option<Nanos>)> {
        let records = imported.streams[0].records.iter();
        records.map(|it| (it.outcome, it.round_trip())).collect()
    }

    const ANSWERED: (Outcome, Option<Nanos>) = (Outcome::Ok, Some(20 * MILLISECOND));
    const LOST: (Outcome, Option<Nanos>) = (Outcome::Lost, None);

    #[test]
    fn what_irtt_lost_is_lost() {
        let imported = with_raw(
            4,
            "Ping (ms) UDP BE",
            r#"{"seq": 0, "t": 1, "val": 20}, {"seq": 1, "t": 1.2, "lost": true, "lost_dir": "up"},
               {"seq": 2, "t": 1.4, "val": 20}"#,
        );
        assert_eq!(packets(&imported), [ANSWERED, LOST, ANSWERED]);
        let lost = imported.streams[0].records.get(1).unwrap();
        assert_eq!(lost.t_intended, 6 * SECOND / 5);
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    }

    #[test]
    fn a_gap_in_the_numbers_of_ping_is_a_loss() {
        let imported = with_raw(
            4,
            "Ping (ms) ICMP",
            r#"{"seq": 65534.0, "t": 1, "val": 20.0}, {"seq": 65535.0, "t": 1.2, "val": 20.0},
               {"seq": 2.0, "t": 1.8, "val": 20.0}"#,
        );
        assert_eq!(
            packets(&imported),
            [ANSWERED, ANSWERED, LOST, LOST, ANSWERED]
        );
    }

    #[test]
    fn values_of_netperf_are_means_and_were_rates() {
        let name = "Ping (ms) UDP BE1";
        for (version, value) in [(2, 50), (3, 50), (4, 20)] {
            let raw = format!(
                r#"{{"dur": 0.2, "t": 1, "val": {value}.0}}, {{"dur": 0.2, "t": 1.2, "val": 0.0}}"#
            );
            let imported = with_raw(version, name, &raw);
            assert_eq!(packets(&imported)[0], ANSWERED, "{version}");
            let warned = imported.warnings.iter().any(|it| it.contains("netperf"));
            assert!(warned, "{:?}", imported.warnings);
        }
        let none = with_raw(3, name, r#"{"dur": 0.2, "t": 1, "val": 0.0}"#);
        assert_eq!(packets(&none), [LOST]);
    }

    #[test]
    fn a_time_without_a_zone_is_that_of_the_raw_values() {
        for (began, rate_at) in [
            ("2015-07-13T21:38:48.000000", 1_436_816_328 * SECOND),
            ("2015-07-14T01:08:48.000000", 1_436_816_328 * SECOND),
            ("2015-07-13T19:38:48.000000Z", 1_436_816_328 * SECOND),
            ("2015-07-13T21:38:48.000000Z", 1_436_823_528 * SECOND),
        ] {
            let text = format!(
                r#"{{"version": 2, "metadata": {{"T0": "{began}", "STEP_SIZE": 0.2}}, "x_values": [0.0],
                    "results": {{"Ping (ms) ICMP": [20.0], "TCP upload": [9.5]}},
                    "raw_values": {{"Ping (ms) ICMP": [{{"seq": 1.0, "t": 1436816328.05, "val": 20.0}}]}}}}"#
            );
            let imported = read(text.as_bytes(), None).unwrap();
            assert_eq!(imported.series[0].t, rate_at, "{began}");
        }
    }

    #[test]
    fn format_1_may_have_raw_values_elsewhere() {
        let text = r#"{"metadata": {"STEP_SIZE": 0.2, "NETPERF_WRAPPER_VERSION": "0.7", "SERIES_META": {"Ping (ms) UDP BE":
            {"RAW_VALUES": [{"dur": 0.2, "t": 1, "val": 50.0}]}}}, "x_values": [0.0, 0.2],
            "results": {"Ping (ms) UDP BE": [20.0, 20.0]}}"#;
        let imported = read(text.as_bytes(), None).unwrap();
        assert_eq!(packets(&imported), [ANSWERED]);
    }

    #[test]
    fn a_mean_of_other_series_is_no_stream() {
        let text = r#"{"version": 4, "metadata": {"STEP_SIZE": 0.2, "SERIES_META": {"Ping (ms) all":
            {"RUNNER": "AverageRunner", "UNITS": "ms"}}}, "x_values": [0.0, 0.2], "results":
            {"Ping (ms) ICMP": [20.0, 20.0], "Ping (ms) avg": [20.0, null], "Ping (ms) all": [20.0, null]},
            "raw_values": {"Ping (ms) avg": []}}"#;
        let imported = read(text.as_bytes(), None).unwrap();
        assert_eq!(imported.streams.len(), 1);
        assert_eq!(packets(&imported), [ANSWERED; 2]);
        let left_out = imported
            .warnings
            .iter()
            .filter(|it| it.ends_with("left out"));
        assert_eq!(left_out.count(), 2);
    }

    #[test]
    fn a_series_of_milliseconds_is_no_rate() {
        let text = r#"{"metadata": {"STEP_SIZE": 0.2, "SERIES_META": {"HTTP latency": {"UNITS": "ms"},
            "VoIP::bitrate": {"UNITS": "Kbits/s"}, "down": {"UNITS": "Mbits/s"}}},
            "x_values": [0.0], "results": {"Ping (ms) ICMP": [20.0], "HTTP latency": [25.0], "VoIP::bitrate": [64.0],
            "down": [9.5], "TCP upload": [4.5], "TCP upload::tcp_rtt": [21.0], "VoIP::delay": [2.0]}}"#;
        let imported = read(text.as_bytes(), None).unwrap();
        let mut rates: Vec<_> = imported
            .series
            .iter()
            .map(|it| (&*it.of, it.mean))
            .collect();
        rates.sort_unstable_by(|a, b| a.0.cmp(b.0));
        assert_eq!(
            rates,
            [
                ("TCP upload", 4.5e6),
                ("VoIP::bitrate", 64e3),
                ("down", 9.5e6)
            ]
        );
        let left_out = imported
            .warnings
            .iter()
            .filter(|it| it.ends_with("left out"));
        assert_eq!(left_out.count(), 3);
    }
}
