//! Results of RIPE Atlas: ping and traceroute, as an array, one, or a line each.
//!
//! ```text
//! {"fw": 5020, "type": "ping", "msm_id": 1001, "prb_id": 165, "dst_addr": "193.0.14.129", "timestamp": 1612345678,
//!  "sent": 3, "rcvd": 2, "size": 32, "ttl": 58, "result": [{"rtt": 20.1}, {"x": "*"}, {"rtt": 20.3, "dup": 1}]}
//! {"type": "traceroute", "prb_id": 165, "dst_addr": "…", "timestamp": 1612345678,
//!  "result": [{"hop": 1, "result": [{"from": "10.0.0.1", "rtt": 0.6, "ttl": 64, "size": 68}, {"x": "*"}]}]}
//! ```
//!
//! Source: atlas.ripe.net/docs/apis/measurement-result-format, firmware 4400 to 5000. Results of
//! firmware 1 have figures and no packets. The packets of a result are a second apart, as probes send
//! them (`interval`); a probe and its target are a stream, and of traceroutes each hop.

use super::decimal::{self, Time};
use super::packets::{Frame, Packets, Reply};
use super::{Format, Hop, ImportError, Imported, Input, Options, Rules, json};
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use serde_json::Value;
use std::collections::HashMap;

pub static FORMAT: Format = Format {
    name: "RIPE Atlas",
    command: "curl 'https://atlas.ripe.net/api/v2/measurements/ID/results/?format=txt' > FILE",
    looks: "keys `prb_id`, `msm_id` and `result` of a ping or traceroute",
    signs: &[r#""prb_id""#, r#""msm_id""#, r#""dst_addr""#],
    rules: Rules {
        open_ended: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    json::has_all(bytes, &["prb_id", "msm_id"])
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    let mut streams = Streams::default();
    let mut results = Vec::new();
    // As text they are a tenth of what they are as values.
    let mut keep = |result: &Value| results.push((moment(result), result.to_string()));
    json::each(input, &mut imported, |_, document| match document {
        // An array within a line.
        Value::Array(more) => more.iter().for_each(&mut keep),
        result => keep(&result),
    })?;
    // They come in any order.
    results.sort_by_key(|(moment, _)| *moment);
    for (_, result) in results {
        // It was written just now.
        if let Ok(result) = serde_json::from_str(&result) {
            streams.take(&result, &mut imported);
        }
    }
    streams.finish(&mut imported);
    Ok(imported)
}

#[derive(Default)]
struct Streams {
    all: Vec<Probe>,
    by_name: HashMap<String, usize>,
}

/// What a probe measured of a target, or of a hop on the way.
struct Probe {
    name: String,
    target: String,
    hop: Option<Hop>,
    method: Method,
    size: Option<u32>,
    packets: Packets,
}

impl Streams {
    fn take(&mut self, result: &Value, imported: &mut Imported) {
        if let Some(version) = json::digits(result, "fw") {
            imported.version = Some(version);
        }
        match (json::text(result, "type"), result.get("result")) {
            (Some("traceroute"), Some(Value::Array(hops))) => self.traceroute(result, hops),
            (Some("ping") | None, Some(Value::Array(packets))) => self.ping(result, packets),
            (Some("ping") | None, None) => {
                imported.warn("results of firmware 1 have figures and no packets: left out")
            }
            (kind, _) => imported.warn(format!(
                "results of type {} have no round trips: left out",
                kind.unwrap_or("unknown")
            )),
        }
    }

    fn ping(&mut self, result: &Value, packets: &[Value]) {
        let apart = json::digits(result, "interval")
            .and_then(|it| decimal::time(&it, MILLISECOND))
            .map_or(SECOND, |time| time.nanos);
        let ttl = json::whole_number(result, "ttl");
        let headers = headers::of_datagrams(is_ipv6(result));
        let payload: Option<u32> = json::whole_number(result, "size");
        let size = payload.and_then(|payload| payload.checked_add(headers));
        let at = self.stream(result, None, Method::Icmp, size);
        let probe = &mut self.all[at];
        let began = moment(result);
        let first = probe.packets.next();
        for packet in packets {
            // Not each entry is a packet: some are copies.
            let index = Nanos::try_from(probe.packets.next() - first).unwrap_or(Nanos::MAX);
            let sent_at = began.map(|began| began.saturating_add(apart.saturating_mul(index)));
            probe.packet(packet, sent_at, ttl);
        }
    }

    fn traceroute(&mut self, result: &Value, hops: &[Value]) {
        let method = match json::text(result, "proto") {
            Some("ICMP") => Method::Icmp,
            Some("TCP") => Method::Tcp,
            _ => Method::Udp,
        };
        let began = moment(result);
        for hop in hops {
            let (Some(number), Some(Value::Array(packets))) =
                (hop.get("hop").and_then(Value::as_u64), hop.get("result"))
            else {
                continue;
            };
            let at = self.stream(result, Some(number), method, None);
            let probe = &mut self.all[at];
            for packet in packets {
                if let Some(from) = json::text(packet, "from") {
                    from.clone_into(&mut probe.target);
                }
                probe.packet(packet, began, json::whole_number(packet, "ttl"));
            }
        }
    }

    fn stream(
        &mut self,
        result: &Value,
        hop: Option<u64>,
        method: Method,
        size: Option<u32>,
    ) -> usize {
        let probe = json::digits(result, "prb_id").unwrap_or_default();
        let target = json::text(result, "dst_addr")
            .or_else(|| json::text(result, "addr"))
            .or_else(|| json::text(result, "dst_name"))
            .unwrap_or_default();
        let name = match hop {
            Some(hop) => format!("probe {probe} to {target} hop {hop}"),
            None => format!("probe {probe} to {target}"),
        };
        if let Some(&at) = self.by_name.get(&name) {
            return at;
        }
        self.by_name.insert(name.clone(), self.all.len());
        self.all.push(Probe {
            name,
            hop: hop.map(|number| Hop {
                number,
                from: probe,
                to: target.to_owned(),
            }),
            target: target.to_owned(),
            method,
            size,
            packets: Packets::new(),
        });
        self.all.len() - 1
    }

    fn finish(self, imported: &mut Imported) {
        for probe in self.all {
            let frame = Frame {
                target: probe.target,
                size: probe.size,
                ..Frame::new(probe.name, probe.method)
            };
            let stream = probe.packets.add(frame, imported);
            imported.streams[stream].hop = probe.hop;
        }
    }
}

impl Probe {
    /// `{"rtt": 20.1}`, `{"x": "*"}`, `{"error": "…"}`, `{"rtt": 20.1, "err": "H"}`.
    fn packet(&mut self, packet: &Value, sent_at: Option<Nanos>, ttl: Option<u8>) {
        let round_trip = trip(packet);
        // A copy is of the packet before.
        if packet.get("dup").is_some()
            && let Some(last) = self.packets.next().checked_sub(1)
        {
            self.packets.reply(last, round_trip.into());
            return;
        }
        // A reply that came after the probe had given up on its packet stands with `late`.
        if packet.get("late").is_some() {
            return;
        }
        let seq = self.packets.next();
        let reply = Reply {
            round_trip,
            sent_at,
            ttl,
            ..Reply::default()
        };
        self.packets.answered_or_not(seq, reply);
        if round_trip.is_none() && packet.get("error").is_some() {
            self.packets.refused(seq, None);
        }
    }
}

fn trip(packet: &Value) -> Option<Time> {
    let time = json::time(packet, "rtt", MILLISECOND)?;
    (time.nanos >= 0).then_some(time)
}

fn moment(result: &Value) -> Option<Nanos> {
    let seconds = json::digits(result, "timestamp")?;
    decimal::time(&seconds, SECOND).map(|time| time.nanos)
}

fn is_ipv6(result: &Value) -> bool {
    result.get("af").and_then(Value::as_u64) == Some(6)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn results_are_in_the_order_of_time() {
        let result = |at: u64, rtt: f64| {
            format!(
                r#"{{"type": "ping", "msm_id": 1, "prb_id": 2, "dst_addr": "192.0.2.7", "timestamp": {at}, "result": [{{"rtt": {rtt}}}]}}"#
            )
        };
        let text = [result(1_612_345_738, 20.5), result(1_612_345_678, 10.5)].join("\n");
        let imported = super::super::read((text + "\n").as_bytes(), None).unwrap();
        let records = imported.streams[0].records.iter();
        let trips: Vec<_> = records.map(|it| it.round_trip()).collect();
        assert_eq!(trips, [Some(10_500_000), Some(20_500_000)]);
    }

    #[test]
    fn a_copy_takes_no_time_of_the_packets_behind_it() {
        let text = r#"{"type": "ping", "msm_id": 1, "prb_id": 2, "dst_addr": "192.0.2.7", "timestamp": 1612345678,
            "result": [{"rtt": 20.1}, {"rtt": 20.2, "dup": 1}, {"rtt": 20.3}, {"x": "*"}]}"#;
        let imported = super::super::read(text.as_bytes(), None).unwrap();
        let records: Vec<_> = imported.streams[0].records.iter().collect();
        let began = 1_612_345_678 * SECOND;
        let sent = records.iter().map(|record| record.t_intended - began);
        assert_eq!(sent.collect::<Vec<_>>(), [0, SECOND, 2 * SECOND]);
    }
}
