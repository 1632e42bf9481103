//! How fast the simulator is, and what it takes: `speed SETUP FLOWS SECONDS [STAGGER]`. Prints one line
//! of JSON. `make accept ONLY=simulation` calls it.
//!
//! | set-up | |
//! |---|---|
//! | `packets` | the dumbbell that is compared with ns-3's: FIFO, packets, TCP as in ns-3 |
//! | `fifo`, `per-vc`, `efci` | experiments/atm-response-time's switches: cells, AAL5, TCP of 1995, hosts with costs |
//!
//! An echo every 5 ms beside so many TCP flows, for so many simulated seconds; flow i starts at i times
//! the stagger (100ms). All statistics are on: records feed a summary, series and hops are taken. CPU
//! and wall time are those of the simulation and its statistics; building the network is apart.
#![allow(clippy::expect_used)] // what it cannot do ends it

use delaylab_model::load::Load;
use delaylab_model::method::Method;
use delaylab_model::path::Path;
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{RecordFacts, Trial};
use delaylab_model::world::Sink;
use delaylab_sim::engine::{Engine, Serving};
use delaylab_sim::event_set::Tournament;
use delaylab_sim::world::simulate;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use serde::Deserialize;
use std::error::Error;
use std::time::Instant;
use std::{env, fs, io};

type Outcome<T> = Result<T, Box<dyn Error>>;

const ECHOES_A_SECOND: u64 = 200;
/// Echoes before ns-3's first one, at 0.5 s.
const WARM_UP: u64 = 100;
/// As `delaylab run` has it: beyond it a summary's quantiles come from histograms.
const EXACT_LIMIT: usize = 200_000;

const PACKETS: &str = r#"
[[load]]
name = "bulk"
kind = "tcp"
congestion_control = "ns-3"
window = "65536B"
payload = "8192B"
[path]
topology = "pairs-on-a-trunk"
framing = "ppp"
rate = "155.52Mbit/s"
propagation = "5us"
mtu = "9188B"
[path.switch]
discipline = "fifo"
buffer = "624000B"
"#;

const CELLS: &str = r#"
[[load]]
name = "ttcp"
kind = "tcp"
congestion_control = "reno-1995"
window = "64KiB"
[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "5us"
[path.host]
per_packet = "150us"
per_byte = "60ns"
[path.switch]
latency = "12us"
"#;

const SHARED_FIFO: &str = "discipline = \"fifo\"\nbuffer = \"13000cells\"\npool = \"shared\"";
const PER_VC: &str = "discipline = \"per-flow\"\nbuffer = \"13000cells\"\npool = \"shared\"";
const EFCI: &str = "discipline = \"efci\"\nthreshold = \"500cells\"\nbuffer = \"unlimited\"\n[path.abr]\npreset = \"eprca-1995\"";

/// `[path]` and `[[load]]` of an experiment file.
#[derive(Deserialize)]
struct Sections {
    path: Path,
    load: Vec<Load>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [setup, flows, seconds, stagger @ ..] = arguments.as_slice() else {
        return Err("usage: speed packets|fifo|per-vc|efci FLOWS SECONDS [STAGGER]".into());
    };
    let stagger = stagger.first().map_or("100ms", String::as_str);
    let trial = trial(setup, flows.parse()?, seconds.parse()?, stagger)?;
    let mut engine = Engine::<Tournament>::new(&trial, Serving::Lazy)?;
    let setup_s = cpu_seconds()?;
    let began = Instant::now();
    let mut statistics = Statistics::default();
    simulate(&mut engine, &trial, &mut statistics, &Stop::default())?;
    let summary = statistics.summary.take().ok_or("no probe")?.finish();
    let times = [
        ("setup_s", setup_s),
        ("cpu_s", cpu_seconds()? - setup_s),
        ("wall_s", began.elapsed().as_secs_f64()),
    ];
    let mut figures = figures(&engine, &statistics, &summary);
    figures.extend(times.map(|(name, seconds)| (name, format!("{seconds:.6}"))));
    figures.push(("peak_kib", peak_kib()?.to_string()));
    let members: Vec<_> = figures
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    println!("{{{}}}", members.join(", "));
    Ok(())
}

fn trial(setup: &str, flows: u32, seconds: u64, stagger: &str) -> Outcome<Trial> {
    let (text, payload) = match setup {
        "packets" => (PACKETS.to_owned(), 1024),
        "fifo" => (format!("{CELLS}{SHARED_FIFO}"), 64),
        "per-vc" => (format!("{CELLS}{PER_VC}"), 64),
        "efci" => (format!("{CELLS}{EFCI}"), 64),
        _ => return Err(format!("there is no set-up `{setup}`").into()),
    };
    let flows = format!("kind = \"tcp\"\nstreams = {flows}\nstagger = \"{stagger}\"");
    let sections: Sections = toml::from_str(&text.replace("kind = \"tcp\"", &flows))?;
    Ok(Trial {
        id: 0,
        target: None,
        probes: vec![echo(payload, seconds)],
        loads: sections.load,
        path: sections.path,
        host: HostCondition::Normal,
        seed: 1,
    })
}

fn echo(payload: u32, seconds: u64) -> Probe {
    let mut probe = Probe::new("echo", Method::Udp);
    probe.payload = payload;
    probe.pacing = Pacing::Every {
        interval_ns: 1_000_000_000 / ECHOES_A_SECOND as i64,
    };
    probe.count = Some(seconds * ECHOES_A_SECOND);
    probe.timeout = 1_000_000_000;
    probe
}

/// What `delaylab run` keeps of a trial without its files.
#[derive(Default)]
struct Statistics {
    summary: Option<SummaryBuilder>,
    hops: u64,
    points: u64,
}

impl Sink for Statistics {
    fn begin(&mut self, _: u16, facts: &RecordFacts) -> io::Result<()> {
        self.summary = Some(SummaryBuilder::new(*facts, EXACT_LIMIT));
        Ok(())
    }
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if let Some(summary) = self.summary.as_mut().filter(|_| record.seq >= WARM_UP) {
            summary.push(record);
        }
        Ok(())
    }
    fn rows(&mut self, rows: Rows<'_>) -> io::Result<()> {
        match rows {
            Rows::Hops(hops) => self.hops += hops.len() as u64,
            Rows::Series(points) => self.points += points.len() as u64,
            _ => {}
        }
        Ok(())
    }
}

/// Names, and values as JSON has them.
fn figures(
    engine: &Engine<Tournament>,
    statistics: &Statistics,
    summary: &Summary,
) -> Vec<(&'static str, String)> {
    let response = summary.response.as_ref();
    let micros = |nanos: Option<f64>| nanos.map_or("null".into(), |ns| format!("{:.3}", ns / 1e3));
    vec![
        ("hops", engine.counts.hops.to_string()),
        ("events", engine.counts.events.to_string()),
        ("lost", engine.lost_load().to_string()),
        ("taken", (statistics.hops + statistics.points).to_string()),
        ("echo_mean_us", micros(response.map(|times| times.mean))),
        (
            "echo_max_us",
            micros(response.map(|times| times.max as f64)),
        ),
        ("trace_hash", format!("\"{:016x}\"", engine.trace_hash())),
    ]
}

/// Of this process, which has one thread. The kernel counts nanoseconds, and brings its count up to date
/// when a thread yields.
fn cpu_seconds() -> Outcome<f64> {
    std::thread::yield_now();
    let text = fs::read_to_string("/proc/self/schedstat")?;
    let nanos: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanos as f64 / 1e9)
}

/// The most memory that it has had.
fn peak_kib() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(number.ok_or("no VmHWM")?.parse()?)
}
