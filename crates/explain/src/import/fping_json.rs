//! `fping --json`: a document a line.
//!
//! ```text
//! {"resp": {"host": "10.0.0.1", "seq": 0, "size": 64, "rtt": 5.12}}
//! {"timeout": {"host": "10.0.0.1", "seq": 1}}
//! {"summary": {"host": "10.0.0.1", "xmt": 3, "rcv": 3, "loss": 0, "rttMin": 5.12, "rttAvg": 5.13, "rttMax": 5.14}}
//! {"vSum": {"host": "10.0.0.1", "values": [5.12, null, 5.14]}}
//! ```
//!
//! Source: fping 5.5, doc/fping-json.md. What it does not name is to be ignored.

use super::decimal;
use super::figure::{Figure, PrintedSummary, Statistic};
use super::fping_targets::{Said, Targets};
use super::packets::Reply;
use super::{Format, ImportError, Imported, Input, Options, Rules, json};
use delaylab_model::MILLISECOND;
use serde_json::Value;

pub static FORMAT: Format = Format {
    name: "fping --json",
    command: "fping --json -c 100 TARGET > FILE",
    looks: r#"lines such as `{"resp": {"host": "10.0.0.1", "seq": 0, "size": 64, "rtt": 5.12}}`"#,
    signs: &[r#""resp""#, r#""rttAvg""#, r#""vSum""#],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    let of_a_packet = |kind| json::has_all(bytes, &[kind, "host"]);
    of_a_packet("resp") || of_a_packet("timeout") || of_a_packet("vSum") || of_a_packet("rttAvg")
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(&FORMAT);
    let mut targets = Targets::default();
    json::each(input, &mut imported, |_, document: Value| {
        for (kind, event) in document.as_object().into_iter().flatten() {
            if let (Some(host), Some(said)) = (json::text(event, "host"), said(kind, event)) {
                targets.take(host, said);
            }
        }
    })?;
    targets.finish("", &mut imported);
    if !imported.streams.is_empty() {
        imported.warn("fping --json has no times of day: absolute times are made up from sequence numbers, a second apart");
    }
    Ok(imported)
}

/// What an event says of its host.
fn said(kind: &str, event: &Value) -> Option<Said> {
    let seq = || json::whole_number(event, "seq");
    Some(match kind {
        "resp" => {
            let reply = Reply {
                round_trip: json::time(event, "rtt", MILLISECOND),
                ttl: json::whole_number(event, "ttl"),
                ..Reply::default()
            };
            Said::Reply(seq()?, reply)
        }
        "timeout" => Said::TimedOut(seq()?),
        "vSum" => {
            let values = event.get("values").and_then(Value::as_array)?.iter();
            let times = values.map(|value| decimal::any_time(&value.to_string(), MILLISECOND));
            Said::List(times.collect())
        }
        "summary" => Said::Summary(figures(event)),
        _ => return None,
    })
}

fn figures(summary: &Value) -> PrintedSummary {
    let mut said = PrintedSummary::default();
    let counts = [(Figure::Sent, "xmt"), (Figure::Received, "rcv")];
    said.counts(counts.map(|(what, key)| (what, key, json::whole_number(summary, key))));
    let times = [
        (Statistic::Min, "rttMin"),
        (Statistic::Mean, "rttAvg"),
        (Statistic::Max, "rttMax"),
    ];
    for (statistic, key) in times {
        // It leaves zeros at the end out.
        let time = json::time(summary, key, MILLISECOND).map(decimal::of_three_digits);
        let printed = format!("{key} {}", json::digits(summary, key).unwrap_or_default());
        said.round_trip(statistic, time, printed);
    }
    said
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use crate::import::testing::of_two_calls;

    #[test]
    fn a_further_call_is_a_stream_of_its_own() {
        let sample = include_str!("../../tests/data/import/fping.json");
        let twice = of_two_calls(&sample.repeat(2), 4);
        let once = import::read(sample.as_bytes(), None).unwrap();
        assert_eq!(twice.streams[0].records, once.streams[0].records);
    }
}
