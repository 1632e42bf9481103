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
use super::figure::{Figure, Statistic};
use super::order::Unwrap;
use super::packets::{Frame, Packets, Reply};
use super::{Format, ImportError, Imported, Input, Options, Rules, json};
use delaylab_model::MILLISECOND;
use delaylab_model::method::Method;
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
    let mut targets: Vec<Target> = Vec::new();
    json::each(input, &mut imported, |_, document| {
        for (kind, event) in document.as_object().into_iter().flatten() {
            if let Some(host) = json::text(event, "host") {
                Target::named(&mut targets, host).take(kind, event);
            }
        }
    })?;
    if !targets.is_empty() {
        imported.warn("fping --json has no times of day: absolute times are made up from sequence numbers, a second apart");
    }
    for target in targets {
        target.finish(&mut imported);
    }
    Ok(imported)
}

struct Target {
    name: String,
    packets: Packets,
    numbers: Unwrap,
    list: Vec<Value>,
    summary: Option<Value>,
}

impl Target {
    fn named<'a>(targets: &'a mut Vec<Target>, name: &str) -> &'a mut Target {
        let known = targets.iter().position(|target| target.name == name);
        let at = known.unwrap_or_else(|| {
            targets.push(Target {
                name: name.to_owned(),
                packets: Packets::new(),
                numbers: Unwrap::default(),
                list: Vec::new(),
                summary: None,
            });
            targets.len() - 1
        });
        &mut targets[at]
    }

    fn take(&mut self, kind: &str, event: &Value) {
        let seq = json::whole_number(event, "seq");
        match (kind, seq) {
            ("resp", Some(seq)) => {
                let reply = Reply {
                    round_trip: json::time(event, "rtt", MILLISECOND),
                    ttl: json::whole_number(event, "ttl"),
                    ..Reply::default()
                };
                self.packets.reply(self.numbers.whole(seq), reply);
            }
            ("timeout", Some(seq)) => self.packets.unanswered(self.numbers.whole(seq)),
            ("vSum", _) => {
                let values = event.get("values").and_then(Value::as_array);
                self.list = values.cloned().unwrap_or_default();
            }
            ("summary", _) => self.summary = Some(event.clone()),
            _ => {}
        }
    }

    fn finish(mut self, imported: &mut Imported) {
        // The lines say more than the list at the end; with -q there are no lines.
        let listed = !self.list.is_empty();
        if self.packets.is_empty() {
            for (seq, value) in (0..).zip(&self.list) {
                let round_trip = decimal::any_time(&value.to_string(), MILLISECOND);
                self.packets.answered_or_not(seq, round_trip);
            }
        }
        if self.summary.is_none() && !listed {
            imported.warn(
                "fping's summary is missing: without it nobody can say whether the file is whole",
            );
        }
        let frame = Frame {
            first: (!self.packets.is_empty()).then_some(0),
            fill: true,
            ..Frame::of_target(self.name, Method::Icmp)
        };
        let stream = self.packets.add(frame, imported);
        if let Some(summary) = self.summary {
            said(imported, stream, &summary);
        }
    }
}

fn said(imported: &mut Imported, stream: usize, summary: &Value) {
    for (what, key) in [(Figure::Sent, "xmt"), (Figure::Received, "rcv")] {
        if let Some(value) = json::whole_number(summary, key) {
            let printed = format!("{key} {value}");
            imported.say_count(stream, what, value, printed);
        }
    }
    let times = [
        (Statistic::Min, "rttMin"),
        (Statistic::Mean, "rttAvg"),
        (Statistic::Max, "rttMax"),
    ];
    for (statistic, key) in times {
        if let Some(mut time) = json::time(summary, key, MILLISECOND) {
            // It prints three digits that count, and no zeros behind them.
            time.step = time.step.max(time.nanos / 100);
            let printed = format!("{key} {}", json::digits(summary, key).unwrap_or_default());
            imported.say_round_trip(stream, statistic, time, printed);
        }
    }
}
