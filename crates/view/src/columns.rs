//! The one list of a record's columns. JSON, NDJSON, CSV and the schema all read it, so they
//! cannot drift apart.

use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, ClockEvent, Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::anatomy;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::net::IpAddr;

/// A column of a record: its name, what it means, and how to read it.
pub struct Column {
    /// Its name in every format. Times and durations end in `_ns`.
    pub name: &'static str,
    /// What it means, in a sentence.
    pub about: &'static str,
    /// What its values are.
    kind: Kind,
    read: fn(&Record, &RecordFacts) -> Value,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A whole number that is always there.
    Number,
    /// A whole number, or null where it is not known.
    MaybeNumber,
    /// An IP address, or null.
    MaybeAddress,
    /// A text, or null.
    MaybeText,
    /// A [`Method`].
    Method,
    /// An [`IcmpReason`], or null.
    MaybeIcmp,
    /// An [`Outcome`].
    Outcome,
    /// A [`ClockEvent`].
    ClockEvent,
}

/// One value of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Not known: null in JSON, empty in CSV.
    Null,
    /// A whole number.
    Number(i64),
    /// A word from a fixed set.
    Word(&'static str),
    /// An IP address.
    Address(IpAddr),
    /// What a server answered.
    Answer(Answer),
}

impl<T: Into<i64>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, |number| Value::Number(number.into()))
    }
}

/// One [`Column`] a line: name, kind, how to read it, what it means.
macro_rules! columns {
    ($($name:literal $kind:ident |$record:pat_param, $facts:pat_param| $value:expr, $about:literal;)*) => {
        &[$(Column {
            name: $name,
            about: $about,
            kind: Kind::$kind,
            read: |$record, $facts| $value,
        }),*]
    };
}

/// Every column, in the order of the files. The last four are worked out from the others.
#[rustfmt::skip]
pub const COLUMNS: &[Column] = columns! {
    "trial" Number |r, _| Value::Number(r.trial.into()), "Which trial of the run.";
    "probe" Number |r, _| Value::Number(r.probe.into()), "Which probe of the trial.";
    "seq" Number |r, _| Value::Number(r.seq as i64), "Which packet of the probe, from 0.";
    "method" Method |r, _| Value::Word(r.method.name()), "How it asked.";
    "dscp" Number |r, _| Value::Number(r.dscp.into()), "DSCP as sent, 0 to 63.";
    "ip_size" MaybeNumber |r, _| r.ip_size.into(), "Bytes of the IP packet; null for tcp.";
    "t_intended_ns" Number |r, _| Value::Number(r.t_intended), "When the schedule wanted it sent (CLOCK_MONOTONIC).";
    "t_send_ns" MaybeNumber |r, _| r.t_send.into(), "User space, just before the send call.";
    "t_sched_ns" MaybeNumber |r, _| r.t_sched.into(), "Kernel: entering the queueing discipline.";
    "t_tx_ns" MaybeNumber |r, _| r.t_tx.into(), "Kernel: handed to the driver. tcp: the request's last byte.";
    "t_tx_hw_ns" MaybeNumber |r, _| r.t_tx_hw.into(), "The NIC put it on the wire (NIC clock).";
    "r_rx_ns" MaybeNumber |r, _| r.r_rx.into(), "Arrived in the reflector's kernel (clock: facts.reflector_clock).";
    "r_user_ns" MaybeNumber |r, _| r.r_user.into(), "Read by the reflector's process.";
    "r_tx_ns" MaybeNumber |r, _| r.r_tx.into(), "The reply was handed to the reflector's driver.";
    "t_rx_ns" MaybeNumber |r, _| r.t_rx.into(), "Kernel: the reply arrived. tcp: its last byte.";
    "t_rx_hw_ns" MaybeNumber |r, _| r.t_rx_hw.into(), "The NIC took it from the wire (NIC clock).";
    "t_recv_ns" MaybeNumber |r, _| r.t_recv.into(), "User space: the reply was read.";
    "cpu" MaybeNumber |r, _| r.cpu.into(), "CPU on which the prober ran when it sent.";
    "r_dscp" MaybeNumber |r, _| r.r_dscp.into(), "DSCP as the reflector saw it.";
    "reply_dscp" MaybeNumber |r, _| r.reply_dscp.into(), "DSCP of the reply as read here.";
    "reply_ecn" MaybeNumber |r, _| r.reply_ecn.into(), "ECN bits of the reply as read here.";
    "reply_ttl" MaybeNumber |r, _| r.reply_ttl.into(), "TTL or hop limit of the reply as read here.";
    "reflector_seq" MaybeNumber |r, _| r.reflector_seq.into(), "The reflector's own count of this session's packets, from 0.";
    "copies" Number |r, _| Value::Number(r.copies.into()), "Copies of the reply beyond the first.";
    "reorder_extent" Number |r, _| Value::Number(r.reorder_extent.into()), "RFC 4737 extent; 0 is in order.";
    "retransmits" MaybeNumber |r, _| r.retransmits.into(), "TCP segments retransmitted between request and reply.";
    "outcome" Outcome |r, _| Value::Word(r.outcome.name()), "How it ended.";
    "refused_by" MaybeAddress |r, _| r.refused_by.map_or(Value::Null, Value::Address), "Who refused it.";
    "icmp" MaybeIcmp |r, _| r.icmp.map_or(Value::Null, |icmp| Value::Word(icmp.name())), "What the ICMP error says that refused it.";
    "icmp_type" MaybeNumber |r, _| r.icmp_type.into(), "Type of that error: of ICMPv6 where refused_by is an IPv6 address.";
    "icmp_code" MaybeNumber |r, _| r.icmp_code.into(), "Code of that error.";
    "path_mtu" MaybeNumber |r, _| r.path_mtu.into(), "What would have fit where it was too long, in bytes of an IP packet.";
    "errno" MaybeNumber |r, _| r.errno.into(), "Error number of a local error.";
    "clock_event" ClockEvent |r, _| Value::Word(r.clock_event.name()), "What happened to this host's clocks meanwhile.";
    "response_ns" MaybeNumber |r, _| r.response().into(), "t_recv − t_intended: what the user waits.";
    "round_trip_ns" MaybeNumber |r, _| r.round_trip().into(), "t_recv − t_send: what ping prints.";
    "network_ns" MaybeNumber |r, f| anatomy::network(r, f).into(), "t_rx − t_tx − residence in the reflector. Servers: to t_first, and with the TCP handshake.";
    "host_ns" MaybeNumber |r, f| anatomy::host(r, f).into(), "response − network: both ends. Servers: this host alone.";
};

/// What a packet has besides where a server is asked. The two bounds are worked out from the others.
#[rustfmt::skip]
const OF_SERVERS: &[Column] = columns! {
    "t_begin_ns" MaybeNumber |r, _| r.t_begin.into(), "Servers: when work on it began, where a connection had to be made first.";
    "t_resolved_ns" MaybeNumber |r, _| r.t_resolved.into(), "Servers: the name has been resolved.";
    "t_connected_ns" MaybeNumber |r, _| r.t_connected.into(), "Servers: the TCP handshake made for it is over.";
    "t_secured_ns" MaybeNumber |r, _| r.t_secured.into(), "Servers: the TLS handshake made for it is over.";
    "t_ack_ns" MaybeNumber |r, _| r.t_ack.into(), "Kernel: the far kernel acknowledged the request's last byte.";
    "t_first_ns" MaybeNumber |r, _| r.t_first.into(), "Kernel: the first byte of a server's reply arrived.";
    "least_round_trip_ns" MaybeNumber |r, _| r.least_round_trip.into(), "The shortest round trip that the kernel has seen on its connection so far.";
    "answer" MaybeText |r, _| r.answer.map_or(Value::Null, Value::Answer), "What a server answered: an HTTP status, a DNS response code (with +TC where the answer was truncated), open or closed.";
    "reply_bytes" MaybeNumber |r, _| Value::from(r.reply_bytes.map(|bytes| bytes as i64)), "Bytes of a server's reply, heads included.";
    "connection" MaybeNumber |r, _| r.connection.into(), "Which of the probe's connections carried it, from 0.";
    "server_least_ns" MaybeNumber |r, _| r.server().map(|bounds| bounds.least).into(), "The server took no less: t_first − t_ack.";
    "server_most_ns" MaybeNumber |r, _| r.server().map(|bounds| bounds.most).into(), "The server took no more: t_first − t_tx − the shortest round trip.";
    "answer_ttl" MaybeNumber |r, _| r.answer_ttl.into(), "dns: for how many seconds the answer may be kept, the least of its records.";
    "server_says_ns" MaybeNumber |r, _| r.server_says.into(), "What the server says that it took itself: the longest duration in Server-Timing of a reply by HTTP/1.1.";
};

/// Of those, what a packet of the method tcp has as well: its far kernel acknowledges it, too.
const OF_STREAMS: [&str; 5] = [
    "t_ack_ns",
    "t_first_ns",
    "least_round_trip_ns",
    "server_least_ns",
    "server_most_ns",
];

/// Those of every packet, and behind them those of packets that ask a server.
pub fn all() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(OF_SERVERS)
}

/// Those of a packet of this method.
fn of_method(method: Method) -> impl Iterator<Item = &'static Column> {
    let has = move |column: &&Column| {
        method.asks_server() || method.is_stream() && OF_STREAMS.contains(&column.name)
    };
    COLUMNS.iter().chain(OF_SERVERS.iter().filter(has))
}

impl Column {
    /// This column's value in one record.
    pub fn read(&self, record: &Record, facts: &RecordFacts) -> Value {
        (self.read)(record, facts)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = match self.kind {
            Kind::Number => json_schema!({ "type": "integer" }),
            Kind::MaybeNumber => json_schema!({ "type": ["integer", "null"] }),
            Kind::MaybeText => json_schema!({ "type": ["string", "null"] }),
            Kind::MaybeAddress => json_schema!({ "type": ["string", "null"] }),
            Kind::Method => generator.subschema_for::<Method>(),
            Kind::MaybeIcmp => generator.subschema_for::<Option<IcmpReason>>(),
            Kind::Outcome => generator.subschema_for::<Outcome>(),
            Kind::ClockEvent => generator.subschema_for::<ClockEvent>(),
        };
        schema.insert("description".to_owned(), self.about.into());
        schema
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_none(),
            Value::Number(number) => serializer.serialize_i64(*number),
            Value::Word(word) => serializer.serialize_str(word),
            Value::Address(address) => serializer.collect_str(address),
            Value::Answer(answer) => serializer.collect_str(answer),
        }
    }
}

/// A record as a JSON object of every column.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The packet.
    pub record: &'a Record,
    /// How to read it.
    pub facts: &'a RecordFacts,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in of_method(self.record.method) {
            map.serialize_entry(column.name, &column.read(self.record, self.facts))?;
        }
        map.end()
    }
}

impl JsonSchema for Row<'_> {
    fn schema_name() -> Cow<'static, str> {
        "RoundTrip".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for column in all() {
            properties.insert(column.name.to_owned(), column.schema(generator).into());
        }
        let required: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
        json_schema!({
            "description": "One packet. What was not stamped is null, never zero. What is not required is there where a server is asked, and some of it by tcp.",
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_times_say_their_unit() {
        let names: BTreeSet<_> = all().map(|column| column.name).collect();
        assert_eq!(names.len(), all().count());
        let is_time = |name: &str| name.starts_with("t_") || name.ends_with("_rx");
        assert!(
            names
                .iter()
                .all(|name| !is_time(name) || name.ends_with("_ns"))
        );
    }

    #[test]
    fn an_unstamped_packet_has_nulls_not_zeros() {
        let record = Record::due(0, 0, 7, Method::Udp, 5);
        let row = Row {
            record: &record,
            facts: &RecordFacts::default(),
        };
        let json = serde_json::to_value(row).unwrap();
        assert_eq!(json["seq"], 7);
        assert_eq!(json["t_intended_ns"], 5);
        assert_eq!(json["outcome"], "lost");
        assert!(json.get("t_ack_ns").is_none());
        for name in [
            "t_send_ns",
            "t_recv_ns",
            "response_ns",
            "network_ns",
            "refused_by",
        ] {
            assert!(json[name].is_null(), "{name}");
        }
    }
}
