//! ns-3's `FlowMonitor` (`SerializeToXmlFile`): each flow's counts and delays.
//!
//! ```text
//! <FlowMonitor><FlowStats>
//!  <Flow flowId="1" timeFirstTxPacket="+1e+09ns" delaySum="+2.4e+07ns" txBytes="1024" rxBytes="1024" txPackets="10"
//!        rxPackets="9" lostPackets="1" minDelay="+1e+06ns" maxDelay="+3e+06ns" …>
//! <Ipv4FlowClassifier><Flow flowId="1" sourceAddress="10.1.1.1" destinationAddress="10.1.1.2" protocol="17" …/>
//! ```
//!
//! Source: ns-3, flow-monitor.cc. It has figures and no packets. ns-3's own ping is read as `ping`, and a trace of times
//! and delays as a table.

use super::decimal::{self, Time};
use super::figure::{Figure, PrintedSummary, Statistic};
use super::text::head;
use super::xml::{Part, Parts, attribute, warn_if_cut};
use super::{Format, ImportError, Imported, ImportedStream, Input, Options, Rules};
use delaylab_model::method::Method;

pub static FORMAT: Format = Format {
    name: "ns-3 FlowMonitor",
    command: "flowmon.SerializeToXmlFile(FILE, true, true) in a simulation",
    looks: "tags `<FlowMonitor>` and `<Flow flowId=… delaySum=…>`",
    signs: &["<FlowMonitor", "flowId", "delaySum"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).contains("<FlowMonitor")
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = input.bytes()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut imported = Imported::new(&FORMAT);
    let mut flows: Vec<String> = Vec::new();
    let mut ended = false;
    for part in Parts::new(&text) {
        match part {
            Part::Open("Flow", attributes) => {
                let Some(id) = attribute(attributes, "flowId") else {
                    continue;
                };
                if attribute(attributes, "txPackets").is_some() {
                    flow(id, attributes, &mut imported);
                    flows.push(id.to_owned());
                } else if let Some(at) = flows.iter().position(|known| known == id) {
                    let to = attribute(attributes, "destinationAddress");
                    imported.streams[at].target = to.unwrap_or_default().to_owned();
                }
            }
            Part::Close("FlowMonitor") => ended = true,
            _ => {}
        }
    }
    imported.warn("FlowMonitor has figures and no packets; times are those of the simulation");
    warn_if_cut(ended, &mut imported);
    Ok(imported)
}

fn flow(id: &str, attributes: &str, imported: &mut Imported) {
    let stream = imported.streams.len();
    let made = ImportedStream::new(format!("flow {id}"), "", Method::Frame);
    imported.streams.push(made);
    let count = |key| attribute(attributes, key).and_then(|text| text.parse::<u64>().ok());
    let counts = [
        (Figure::Sent, "txPackets"),
        (Figure::Received, "rxPackets"),
        (Figure::Lost, "lostPackets"),
        (Figure::Bytes, "rxBytes"),
    ];
    let mut said = PrintedSummary::default();
    said.counts(counts.map(|(what, key)| (what, key, count(key))));
    let received = count("rxPackets").filter(|&count| count > 0);
    let mean = nanos(attributes, "delaySum")
        .zip(received)
        .and_then(|(sum, count)| decimal::float_time(sum.nanos as f64 / count as f64, 1));
    let times = [
        ("minDelay", Statistic::Min, nanos(attributes, "minDelay")),
        ("delaySum / rxPackets", Statistic::Mean, mean),
        ("maxDelay", Statistic::Max, nanos(attributes, "maxDelay")),
    ];
    for (word, statistic, time) in times {
        if let Some(time) = time.filter(|_| received.is_some()) {
            said.round_trip(statistic, time, format!("{word} {} ns", time.nanos));
        }
    }
    imported.sum_up(stream, said);
}

/// `+2.4e+07ns`
fn nanos(attributes: &str, key: &str) -> Option<Time> {
    let text = attribute(attributes, key)?.strip_suffix("ns")?;
    decimal::any_time(text, 1)
}
