//! What a run said, as a program reads it.

use serde::Deserialize;
use serde_json::Value;

/// A packet's record. Times are nanoseconds of CLOCK_MONOTONIC; the names are those of the schema.
#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    pub seq: u64,
    pub ip_size: Option<u32>,
    pub t_intended_ns: i64,
    pub t_send_ns: Option<i64>,
    pub t_sched_ns: Option<i64>,
    pub t_tx_ns: Option<i64>,
    pub r_rx_ns: Option<i64>,
    pub r_user_ns: Option<i64>,
    pub r_tx_ns: Option<i64>,
    pub t_rx_ns: Option<i64>,
    pub t_recv_ns: Option<i64>,
    pub dscp: u8,
    pub r_dscp: Option<u8>,
    pub reply_dscp: Option<u8>,
    pub reply_ecn: Option<u8>,
    pub reply_ttl: Option<u8>,
    pub reflector_seq: Option<u32>,
    pub copies: u16,
    pub reorder_extent: u32,
    pub outcome: String,
    pub response_ns: Option<i64>,
    pub round_trip_ns: Option<i64>,
    pub network_ns: Option<i64>,
    pub host_ns: Option<i64>,
}

/// A whole run: the document of `ping --json`.
#[derive(Debug)]
pub struct Run {
    /// As it was printed.
    pub document: Value,
    /// Its `round_trips`, by number.
    pub records: Vec<Record>,
}

impl Run {
    /// Reads the document of `ping --json`.
    pub fn from_document(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).unwrap();
        let records = Vec::deserialize(&document["round_trips"]).unwrap();
        Self::new(document, records)
    }

    /// Reads the lines of `ping --json-stream`; the last of them is the document.
    pub fn from_lines(lines: &[String]) -> Self {
        let parsed: Vec<Value> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of_type = |name: &'static str| parsed.iter().filter(move |line| line["type"] == name);
        let records = of_type("round_trip").map(|line| Record::deserialize(line).unwrap());
        let document = of_type("summary").next().unwrap().clone();
        Self::new(document, records.collect())
    }

    /// Records come as they end.
    fn new(document: Value, mut records: Vec<Record>) -> Self {
        records.sort_by_key(|record| record.seq);
        Self { document, records }
    }

    /// A count of `stats`.
    pub fn count(&self, name: &str) -> u64 {
        self.document["stats"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("stats.{name} is {}", self.document["stats"][name]))
    }

    /// `stats.loss_direction`: forward, back, unknown.
    pub fn loss_direction(&self) -> [u64; 3] {
        let direction = &self.document["stats"]["loss_direction"];
        ["forward", "back", "unknown"].map(|name| {
            direction[name]
                .as_u64()
                .unwrap_or_else(|| panic!("{direction}"))
        })
    }

    /// Sentences of `flaws` or `warnings`.
    pub fn said(&self, name: &str) -> String {
        self.document[name].to_string()
    }

    /// How a stamp is said to have come.
    pub fn delivery(&self, stamp: &str) -> &str {
        self.document["stamps"][stamp].as_str().unwrap()
    }

    /// The sequence numbers of records with this outcome.
    pub fn with_outcome(&self, outcome: &str) -> Vec<u64> {
        let records = self.records.iter();
        let records = records.filter(|record| record.outcome == outcome);
        records.map(|record| record.seq).collect()
    }

    /// All were sent and answered in time, once, in order and with the bytes that were sent.
    pub fn assert_all_received(&self, sent: u64) {
        let count = |name| self.count(name);
        assert_eq!(
            (count("sent"), count("received")),
            (sent, sent),
            "{:#?}",
            self.records
        );
        for name in [
            "lost",
            "late",
            "corrupt",
            "refused",
            "local_error",
            "duplicate",
            "skipped",
        ] {
            assert_eq!(count(name), 0, "{name}");
        }
        assert_eq!(self.with_outcome("ok").len() as u64, sent);
    }
}
