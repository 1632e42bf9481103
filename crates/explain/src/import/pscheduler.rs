//! Results of perfSONAR's pScheduler: `rtt`, `latency` and `trace`, alone or with their task.
//!
//! ```text
//! {"succeeded": true, "sent": 5, "received": 5, "lost": 0, "min": "PT0.000227S", "mean": …, "max": …, "stddev": …,
//!  "roundtrips": [{"seq": 1, "ip": "192.0.2.7", "length": 64, "ttl": 64, "rtt": "PT0.000302S"}, …]}
//! {"succeeded": true, "packets-sent": 100, "packets-lost": 0, "max-clock-error": 0.5,
//!  "histogram-latency": {"0.12": 3, …},
//!  "raw-packets": [{"seq-num": 0, "src-ts": 16172305034298462208, "dst-ts": …, "ip-ttl": 255}, …]}
//! {"succeeded": true, "paths": [[{"ip": "10.0.0.1", "rtt": "PT0.0003S"}, {}, …]]}
//! ```
//!
//! Source: perfSONAR's pscheduler-test-rtt, -latency and -trace, result formats. A latency result without raw packets
//! has a histogram in ms: each of its values becomes as many records, of whose order nothing is known.

use super::decimal::{self, Time};
use super::figure::{Figure, PrintedSummary, Statistic};
use super::packets::{Frame, Packets, Reply};
use super::{Format, Hop, ImportError, Imported, Input, Options, Rules, date, json, owping};
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, SECOND};
use serde_json::Value;

pub static FORMAT: Format = Format {
    name: "pscheduler",
    command: "pscheduler task --format json rtt --dest TARGET > FILE",
    looks: "a key `roundtrips`, `histogram-latency`, `raw-packets` or `paths`",
    signs: &[
        r#""roundtrips""#,
        r#""histogram-latency""#,
        "pscheduler",
        r#""succeeded""#,
    ],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

/// More packets of a histogram than this are not believed.
const LARGEST_COUNT: u64 = 10_000_000;

fn is(bytes: &[u8]) -> bool {
    let keys = ["roundtrips", "histogram-latency", "raw-packets"];
    keys.iter().any(|key| json::has_all(bytes, &[key]))
        || json::has_all(bytes, &["succeeded", "paths"])
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    let mut failed = None;
    json::each(input, &mut imported, |imported, document| {
        failed = failed.take().or(result(&document, imported));
    })?;
    let empty = imported.streams.is_empty() && imported.said.is_empty();
    match failed {
        Some(reason) if empty => Err(ImportError::PeerFailed {
            format: &FORMAT,
            reason,
        }),
        _ => Ok(imported),
    }
}

/// Adds what a result says; the reason, if it failed. A run's own document has the result within.
fn result(document: &Value, imported: &mut Imported) -> Option<String> {
    let result = document
        .get("result")
        .and_then(|result| result.get("merged").or(Some(result)))
        .or_else(|| document.get("result-merged"))
        .unwrap_or(document);
    let began = ["start-time", "start"].iter().find_map(|key| {
        json::text(document, key)
            .or_else(|| json::text(document.get("run")?, key))
            .and_then(date::local)
    });
    imported.began = imported.began.or(began);
    let spec = document
        .get("test")
        .and_then(|test| test.get("spec"))
        .unwrap_or(&Value::Null);
    let target = json::text(spec, "dest").unwrap_or_default();
    if result.get("succeeded") == Some(&Value::Bool(false)) {
        let reason = json::text(result, "error").unwrap_or("it does not say why");
        return Some(reason.to_owned());
    }
    if let Some(trips) = result.get("roundtrips").and_then(Value::as_array) {
        round_trips(result, trips, target, imported);
    } else if let Some(paths) = result.get("paths").and_then(Value::as_array) {
        paths.iter().for_each(|path| trace(path, imported));
    } else {
        latency(result, target, imported);
    }
    None
}

/// `PT0.000302S`, `PT1M2.5S`
fn duration(value: &Value, key: &str) -> Option<Time> {
    let text = json::text(value, key)?.strip_prefix("PT")?;
    let text = text.strip_suffix('S')?;
    let (minutes, seconds) = text.split_once('M').unwrap_or(("0", text));
    let time = decimal::time(seconds, SECOND)?;
    let minutes = decimal::time(minutes, 60 * SECOND)?;
    Some(Time {
        nanos: time.nanos + minutes.nanos,
        ..time
    })
}

fn round_trips(result: &Value, trips: &[Value], target: &str, imported: &mut Imported) {
    let mut packets = Packets::new();
    let mut by = target;
    let mut size = None;
    for trip in trips {
        let seq = json::whole_number(trip, "seq").unwrap_or_else(|| packets.next());
        by = json::text(trip, "ip").unwrap_or(by);
        size = size.or(json::whole_number(trip, "length"));
        let reply = Reply {
            round_trip: duration(trip, "rtt"),
            ttl: json::whole_number(trip, "ttl"),
            ..Reply::default()
        };
        packets.answered_or_not(seq, reply);
    }
    let (answered, _) = packets.answered();
    let whole =
        json::whole_number(result, "received").is_none_or(|received: u64| received == answered);
    let name = if target.is_empty() { by } else { target };
    let frame = Frame {
        target: by.to_owned(),
        size,
        // Numbers are those of ping.
        first: Some(1),
        sent: json::whole_number(result, "sent").filter(|_| whole),
        fill: whole,
        ..Frame::new(name.to_owned(), Method::Icmp)
    };
    let stream = packets.add(frame, imported);
    imported.warn("pScheduler's round trips have no times of day: absolute times are made up from sequence numbers, a second apart");
    let keys = [
        (Figure::Sent, "sent"),
        (Figure::Received, "received"),
        (Figure::Lost, "lost"),
    ];
    let mut said = counts(result, keys);
    let times = [
        ("min", Statistic::Min),
        ("mean", Statistic::Mean),
        ("max", Statistic::Max),
    ];
    for (key, statistic) in times {
        let printed = format!("{key} {}", json::text(result, key).unwrap_or_default());
        said.round_trip(statistic, duration(result, key), printed);
    }
    imported.sum_up(stream, said);
}

fn counts(result: &Value, keys: [(Figure, &str); 3]) -> PrintedSummary {
    let mut said = PrintedSummary::default();
    said.counts(keys.map(|(what, key)| (what, key, json::whole_number(result, key))));
    said
}

/// A hop is a stream of one packet; what did not answer is an empty one.
fn trace(path: &Value, imported: &mut Imported) {
    for (hop, number) in path.as_array().into_iter().flatten().zip(1..) {
        let mut packets = Packets::new();
        packets.answered_or_not(0, duration(hop, "rtt").into());
        let frame = Frame {
            target: json::text(hop, "ip").unwrap_or_default().to_owned(),
            ..Frame::new(format!("hop {number}"), Method::Udp)
        };
        let stream = packets.add(frame, imported);
        imported.streams[stream].hop = Some(Hop::new(number, ""));
    }
    imported.warn("a trace has no times of day: absolute times are made up");
}

/// One way.
fn latency(result: &Value, target: &str, imported: &mut Imported) {
    let mut packets = Packets::new();
    let raw = result.get("raw-packets").and_then(Value::as_array);
    if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
        for packet in raw {
            one_way(packet, &mut packets);
        }
    } else if let Some(histogram) = result.get("histogram-latency").and_then(Value::as_object) {
        for (value, times) in histogram {
            let Some(delay) = decimal::any_time(value, MILLISECOND) else {
                continue;
            };
            let times = times
                .as_u64()
                .unwrap_or(0)
                .min(LARGEST_COUNT - packets.next().min(LARGEST_COUNT));
            for _ in 0..times {
                packets.reply(packets.next(), delay.into());
            }
        }
        for _ in 0..json::whole_number(result, "packets-lost")
            .unwrap_or(0)
            .min(LARGEST_COUNT)
        {
            packets.unanswered(packets.next());
        }
        imported.warn(
            "the result has a histogram and no packets: nothing is known of their order and times",
        );
    } else {
        return;
    }
    imported.warn("delays are one way, by the clocks of two hosts: they are as good as those are synchronised");
    let frame = Frame {
        period: SECOND / 10,
        ..Frame::of_target(target.to_owned(), Method::Frame)
    };
    let stream = packets.add(frame, imported);
    let keys = [
        (Figure::Sent, "packets-sent"),
        (Figure::Received, "packets-received"),
        (Figure::Lost, "packets-lost"),
    ];
    imported.sum_up(stream, counts(result, keys));
}

fn one_way(packet: &Value, packets: &mut Packets) {
    let seq = json::whole_number(packet, "seq-num").unwrap_or_else(|| packets.next());
    let stamp = |key| owping::since_1970(json::whole_number(packet, key).filter(|&at| at > 0)?);
    let sent_at = stamp("src-ts");
    let ends = stamp("dst-ts").zip(sent_at);
    let reply = Reply {
        round_trip: ends.map(|(arrived, sent)| Time {
            nanos: arrived - sent,
            step: 1,
        }),
        sent_at,
        ttl: json::whole_number(packet, "ip-ttl"),
        ..Reply::default()
    };
    packets.answered_or_not(seq, reply);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::read;

    #[test]
    fn a_loss_before_the_first_reply_stands_before_it() {
        let text = r#"{"succeeded": true, "sent": 3, "received": 2, "lost": 1, "roundtrips": [
            {"seq": 2, "ip": "192.0.2.7", "rtt": "PT0.0003S"}, {"seq": 3, "ip": "192.0.2.7", "rtt": "PT0.0003S"}]}"#;
        let imported = read(text.as_bytes(), None).unwrap();
        let records = imported.streams[0].records.iter();
        let packets: Vec<_> = records.map(|it| (it.seq, it.answered())).collect();
        assert_eq!(packets, [(0, false), (1, true), (2, true)]);
    }
}
