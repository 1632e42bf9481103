//! Data files of `flent` (`.flent.gz`): the pings of a test under load, and its rates.
//!
//! ```text
//! {"version": 4, "metadata": {"TIME": "2026-11-21T13:45:00.000000Z", "HOST": "192.0.2.7", "STEP_SIZE": 0.2, …},
//!  "x_values": [0.0, 0.2, …],
//!  "results": {"Ping (ms) ICMP": [20.1, null, …], "TCP download::1": [9.5, …]},
//!  "raw_values": {"Ping (ms) ICMP": [{"seq": 1, "t": 1763732700.1, "val": 20.1}, …]}}
//! ```
//!
//! Source: flent's resultset.py, formats 1 to 4. A series whose name begins with `Ping` is a stream, in
//! milliseconds: its raw values where there are some, and else what flent made of them at each step.
//! Others are rates where `SERIES_META` says so, or says nothing and flent's tests have them in Mbit/s.

use super::decimal;
use super::packets::{Frame, Packets, Reply};
use super::text::head;
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules, date, json};
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::series::SeriesPoint;
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
    let time = json::text(metadata, "T0").or_else(|| json::text(metadata, "TIME"));
    imported.began = time.and_then(date::local);
    let target = json::text(metadata, "HOST").unwrap_or_default();
    let series = Series {
        began: imported.began,
        step: json::time(metadata, "STEP_SIZE", SECOND).map_or(SECOND / 5, |step| step.nanos),
        times: document
            .get("x_values")
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice),
    };
    let raw = document.get("raw_values").and_then(Value::as_object);
    let results = document.get("results").and_then(Value::as_object);
    for (name, values) in results.into_iter().flatten() {
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        if name.starts_with("Ping") {
            let raw = raw.and_then(|raw| raw_of(raw, name));
            pings(&mut imported, target, name, values, raw, &series);
        } else if let Some(scale) = rate_of(metadata, name) {
            rates(&mut imported, name, values, scale, &series);
        } else {
            imported.warn(format!("{name} is no rate: left out"));
        }
    }
    Ok(imported)
}

/// When the values of a series are of.
struct Series<'a> {
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

fn raw_of<'a>(raw: &'a Map<String, Value>, name: &str) -> Option<&'a [Value]> {
    let values = raw.get(name)?.as_array()?;
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
    for value in raw.unwrap_or_default() {
        let seq = value.get("seq").and_then(Value::as_u64);
        let seq = seq.unwrap_or_else(|| packets.next());
        let reply = Reply {
            round_trip: json::time(value, "val", MILLISECOND),
            // flent takes the time stamp of the line that ping printed.
            read_at: json::time(value, "t", SECOND).map(|time| time.nanos),
            ..Reply::default()
        };
        packets.reply(seq, reply);
    }
    if raw.is_none() {
        imported.warn(format!(
            "{name} has no raw values: its records are flent's values at each step, not packets"
        ));
        for (index, value) in values.iter().enumerate() {
            let at = Some(series.at(index));
            let seq = packets.next();
            match decimal::any_time(&value.to_string(), MILLISECOND) {
                round_trip @ Some(_) => packets.reply(
                    seq,
                    Reply {
                        round_trip,
                        sent_at: at,
                        ..Reply::default()
                    },
                ),
                None => packets.unanswered_since(seq, at),
            }
        }
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
    let kind: Arc<str> = "goodput".into();
    for (index, value) in values.iter().enumerate() {
        let Some(rate) = value.as_f64().filter(|rate| rate.is_finite()) else {
            continue;
        };
        let rate = rate * scale;
        imported.series.push(SeriesPoint {
            trial: 0,
            series: Arc::clone(&kind),
            of: Arc::clone(&of),
            unit: Unit::BitsPerSecond,
            t: series.at(index),
            length: series.step,
            min: rate,
            mean: rate,
            max: rate,
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::read;

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
