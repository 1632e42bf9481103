//! JSON of `irtt client` (`-o FILE`; its own format 1).
//!
//! irtt stamps in user space at both ends, with the wall clock, the monotonic clock or both. Its round
//! trip is without the server's time: `receive − send − (server send − server receive)`. Here the
//! record's times are the client's monotonic clock where the file has it; the server's stamps stand
//! as far behind `t_send` as irtt's own send delay says, so that its one-way delays come out of the
//! record as irtt printed them. Nobody knows how far the two clocks are apart.

use super::decimal::{LARGEST, Number, Time};
use super::figure::{Delay, Figure, PrintedSummary, Statistic};
use super::{
    Clock, Format, ImportError, Imported, ImportedStream, Input, Options, Rules, json, order,
};
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::units::format_duration;
use serde::Deserialize;

pub static FORMAT: Format = Format {
    name: "irtt",
    command: "irtt client -o FILE TARGET",
    looks: "keys `round_trips` and `stats`",
    signs: &[r#""round_trips""#, "irtt"],
    rules: Rules {
        copies_in_records: false,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    json::has(bytes, "irtt")
}

#[derive(Deserialize)]
struct Document {
    version: Version,
    config: Config,
    stats: Stats,
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct Version {
    irtt: String,
}

#[derive(Deserialize)]
struct Config {
    remote_address: String,
    #[serde(default)]
    ip_version: String,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    length: u32,
    interval: Nanos,
    #[serde(default)]
    dscp: u8,
}

#[derive(Deserialize)]
struct Stats {
    packets_sent: u64,
    packets_received: u64,
    duplicates: u64,
    packet_loss_percent: f64,
    duration: Nanos,
    rtt: Option<Spread>,
    send_delay: Option<Spread>,
    receive_delay: Option<Spread>,
    ipdv_round_trip: Option<Spread>,
    server_processing_time: Option<Spread>,
}

#[derive(Deserialize)]
struct Spread {
    n: u64,
    min: Nanos,
    max: Nanos,
    mean: Nanos,
    median: Option<Nanos>,
    stddev: Nanos,
}

#[derive(Deserialize)]
struct RoundTrip {
    seqno: u64,
    lost: String,
    timestamps: Timestamps,
}

#[derive(Deserialize)]
struct Timestamps {
    client: Ends,
    #[serde(default)]
    server: Ends,
}

#[derive(Deserialize, Default)]
struct Ends {
    #[serde(default)]
    send: Stamp,
    #[serde(default)]
    receive: Stamp,
}

/// Of the wall clock and of the monotonic one; what a file lacks is `None`, and so is what is no time.
#[derive(Deserialize, Default, Clone, Copy)]
struct Stamp {
    #[serde(default, deserialize_with = "believable")]
    wall: Option<Nanos>,
    #[serde(default, deserialize_with = "believable")]
    monotonic: Option<Nanos>,
}

fn believable<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Nanos>, D::Error> {
    Ok(Option::<Nanos>::deserialize(from)?.filter(|time| (0..=LARGEST).contains(time)))
}

impl Stamp {
    /// How much later than another, by the clock that both have; the monotonic one is the better.
    fn since(self, earlier: Stamp) -> Option<Nanos> {
        let difference = |later: Option<Nanos>, earlier: Option<Nanos>| Some(later? - earlier?);
        difference(self.monotonic, earlier.monotonic).or(difference(self.wall, earlier.wall))
    }
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = &input.bytes()?;
    let document: Document = json::read(bytes, &FORMAT)?;
    let mut imported = Imported::new(&FORMAT);
    imported.version = Some(document.version.irtt.clone());
    let headers = headers::of_datagrams(document.config.ip_version == "IPv6");
    let size = document.config.params.length.checked_add(headers);
    let records = records(&document, size);
    let stamped = records.iter().any(|record| record.r_rx.is_some());
    if !stamped {
        imported
            .warn("the server did not stamp (`--tstamp`): its own time is within the round trips");
    }
    let clock = clock(&document.round_trips);
    let target = &document.config.remote_address;
    imported.streams.push(ImportedStream {
        size,
        clock,
        records: records.into(),
        facts: facts(stamped),
        ..ImportedStream::new(target, target, Method::Udp)
    });
    said(&mut imported, &document.stats);
    if stamped {
        imported.say_without_server(0);
        imported.round_trip = Some("with the server's time");
        if let Some(server) = &document.stats.server_processing_time {
            let mean = format_duration(server.mean);
            imported.warn(format!(
                "round trips of the run have the time in irtt's server in them, {mean} on average; irtt's own are without it"
            ));
        }
    }
    Ok(imported)
}

/// irtt's server stamps when it has read a request and before it sends the reply.
fn facts(stamped: bool) -> RecordFacts {
    if !stamped {
        return RecordFacts::default();
    }
    RecordFacts {
        reflector_clock: ReflectorClock::Unrelated,
        residence: Residence::ToUser,
    }
}

fn clock(round_trips: &[RoundTrip]) -> Clock {
    let sends = || round_trips.iter().map(|trip| trip.timestamps.client.send);
    if !sends().any(|send| send.monotonic.is_some()) {
        return Clock::RealTime;
    }
    let offset = |send: Stamp| Some(send.wall? - send.monotonic?);
    Clock::Own {
        realtime_offset: sends().find_map(offset),
    }
}

fn records(document: &Document, size: Option<u32>) -> Vec<Record> {
    let interval = document.config.params.interval.clamp(0, LARGEST);
    let mut records: Vec<Record> = Vec::with_capacity(document.round_trips.len());
    // What irtt calls its DSCP is the whole byte: `--dscp=0xb8` is EF.
    let (dscp, _) = Dscp::from_traffic_class(document.config.params.dscp);
    for trip in &document.round_trips {
        let mut record = record(trip, size, dscp);
        if record.t_send.is_none() {
            let next = records
                .last()
                .map_or(0, |before| before.t_intended.saturating_add(interval));
            record.t_intended = next.min(LARGEST);
        }
        records.push(record);
    }
    order::mark(&mut records);
    records
}

fn record(trip: &RoundTrip, size: Option<u32>, dscp: Dscp) -> Record {
    let Timestamps { client, server } = &trip.timestamps;
    let t_send = client.send.monotonic.or(client.send.wall);
    let round_trip = client.receive.since(client.send);
    let t_recv = t_send
        .zip(round_trip)
        .map(|(send, round_trip)| send + round_trip);
    let lost = trip.lost != "false" || t_recv.is_none();
    // The server's two stamps are put where irtt's own delays are: by the wall clocks, or else (no
    // wall clock, no common one) in the middle of what the server did not take.
    let residence = server.send.since(server.receive);
    let send_delay = match (server.receive.wall, client.send.wall) {
        (Some(there), Some(here)) => Some(there - here),
        _ => residence
            .zip(round_trip)
            .map(|(residence, trip)| (trip - residence) / 2),
    };
    let r_rx = t_send.zip(send_delay).map(|(send, delay)| send + delay);
    Record {
        dscp: dscp.code_point(),
        ip_size: size,
        t_send,
        t_recv: t_recv.filter(|_| !lost),
        r_rx,
        r_user: r_rx
            .zip(residence)
            .map(|(arrived, residence)| arrived + residence),
        outcome: if lost { Outcome::Lost } else { Outcome::Ok },
        ..Record::due(0, 0, trip.seqno, Method::Udp, t_send.unwrap_or(0))
    }
}

fn said(imported: &mut Imported, stats: &Stats) {
    // It counts copies as received, and its file does not say whose they are (result.go).
    let received = stats.packets_received.saturating_sub(stats.duplicates);
    let word = match stats.duplicates {
        0 => "packets_received",
        _ => "packets_received less duplicates",
    };
    let mut said = PrintedSummary::default();
    said.counts([
        (Figure::Sent, "packets_sent", Some(stats.packets_sent)),
        (Figure::Received, word, Some(received)),
        (Figure::Copies, "duplicates", Some(stats.duplicates)),
    ]);
    let loss = Number {
        value: stats.packet_loss_percent / 100.0,
        step: 1e-9,
    };
    let printed = format!("packet_loss_percent {}", stats.packet_loss_percent);
    said.say(Figure::LossShare, loss, Unit::Share, printed);
    say_time(&mut said, Figure::Duration, "duration", stats.duration);
    say_spreads(&mut said, stats);
    imported.sum_up(0, said);
}

fn say_time(said: &mut PrintedSummary, what: Figure, word: &str, nanos: Nanos) {
    said.time(what, Time { nanos, step: 1 }, format!("{word} {nanos}"));
}

/// What it says of each of its delays.
fn say_spreads(said: &mut PrintedSummary, stats: &Stats) {
    let spreads = [
        (Delay::RoundTrip, "rtt", &stats.rtt),
        (Delay::Send, "send_delay", &stats.send_delay),
        (Delay::Receive, "receive_delay", &stats.receive_delay),
        (Delay::Variation, "ipdv_round_trip", &stats.ipdv_round_trip),
        (
            Delay::Server,
            "server_processing_time",
            &stats.server_processing_time,
        ),
    ];
    for (delay, word, spread) in spreads {
        let Some(spread) = spread.as_ref().filter(|spread| spread.n > 0) else {
            continue;
        };
        let values = [
            (Statistic::Min, "min", Some(spread.min)),
            (Statistic::Mean, "mean", Some(spread.mean)),
            (Statistic::Median, "median", spread.median),
            (Statistic::Max, "max", Some(spread.max)),
            (Statistic::Deviation, "stddev", Some(spread.stddev)),
        ];
        for (statistic, name, value) in values {
            if let Some(value) = value {
                let what = Figure::Of(delay, statistic);
                say_time(said, what, &format!("{word} {name}"), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import::{self, check};

    #[test]
    fn copies_are_no_disagreement() {
        let sample = include_str!("../../tests/data/import/irtt.json");
        let with_a_copy = sample
            .replace(r#""packets_received": 8"#, r#""packets_received": 9"#)
            .replace(r#""duplicates": 0"#, r#""duplicates": 1"#);
        assert_ne!(with_a_copy, sample);
        let imported = import::read(with_a_copy.as_bytes(), None).unwrap();
        assert_eq!(check(&imported), []);
        // Its delays are still held against those of its packets.
        let wrong = with_a_copy.replace(r#""mean": 23881008"#, r#""mean": 23881010"#);
        let imported = import::read(wrong.as_bytes(), None).unwrap();
        assert_eq!(check(&imported).len(), 1);
    }
}
