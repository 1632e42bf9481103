//! Comparisons made by hand, for the tests of tables, page and document.
#![allow(clippy::unwrap_used, missing_docs)]

use super::{Compared, Side};
use delaylab_explain::compare::both::Both;
use delaylab_explain::compare::circumstances::Difference;
use delaylab_explain::compare::limits::evaluate;
use delaylab_explain::compare::{ComparisonRequest, compare};
use delaylab_lab::finding::{Limit, Samples, StreamInfo};
use delaylab_model::method::Method;
use delaylab_model::plan::Level;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_stats::random::SplitMix;

/// Every comparison, by name.
pub fn samples() -> [(&'static str, Compared); 4] {
    [
        ("queue", queue()),
        ("levels", levels()),
        ("import", import()),
        ("silent", silent()),
    ]
}

const ONE_CLOCK: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

fn packet(seq: u64, queue: i64, random: &mut SplitMix) -> Record {
    let mut noise = |mean: f64| (-random.uniform().ln() * mean) as i64;
    let mut record = Record::due(0, 0, seq, Method::Udp, seq as i64 * 1_000_000);
    let send = record.t_intended + noise(500.0);
    let tx = send + 3_000 + queue + noise(2_000.0);
    let there = tx + 100_000 + noise(20_000.0);
    let back = there + 10_000 + noise(1_000.0);
    let rx = back + 100_000 + noise(20_000.0);
    record.t_send = Some(send);
    (record.t_sched, record.t_tx) = (Some(send + 1_000), Some(tx));
    (record.r_rx, record.r_user, record.r_tx) = (Some(there), Some(there + 1), Some(back));
    (record.t_rx, record.t_recv) = (Some(rx), Some(rx + 5_000 + noise(3_000.0)));
    record.outcome = Outcome::Ok;
    record
}

/// One packet of `lost` is lost; 0: none.
fn records(packets: u64, queue: i64, lost: u64, seed: u64) -> Vec<Record> {
    let mut random = SplitMix::new(seed);
    let packet = |seq: u64| {
        let mut record = packet(seq, queue, &mut random);
        if lost > 0 && seq.is_multiple_of(lost) {
            record.outcome = Outcome::Lost;
            (record.t_rx, record.t_recv) = (None, None);
        }
        record
    };
    (0..packets).map(packet).collect()
}

fn stream(trial: u32, probe: &str, wait: Option<&str>) -> StreamInfo {
    let factor = wait.map(|wait| ("wait".to_owned(), Level::named(wait)));
    StreamInfo {
        trial,
        probe: probe.to_owned(),
        series: None,
        repeat: 0,
        factors: factor.into_iter().collect(),
        trace_hash: None,
        seed: None,
    }
}

fn one(probe: &str, records: Vec<Record>, facts: RecordFacts) -> Samples {
    let mut samples = Samples::default();
    samples.push(stream(0, probe, None), records, facts);
    samples
}

fn side(day: u32) -> Side {
    Side {
        flawed: None,
        name: "small".to_owned(),
        folder: format!("runs/small-2026010{day}T030405Z"),
        world: "live".to_owned(),
        started: Some(format!("2026-01-0{day}T03:04:05Z")),
        problems: Vec::new(),
    }
}

fn compared(a: &Samples, b: &Samples, limits: &[&str]) -> Compared {
    let asked = ComparisonRequest {
        full: true,
        ..ComparisonRequest::usual()
    };
    let both = Both::new(a, b).unwrap();
    let each = limits.iter().map(|text| Limit::parse(text).unwrap());
    let held = each.flat_map(|limit| evaluate(&limit, &both).unwrap());
    Compared {
        sides: [2, 3].map(side),
        comparison: compare(a, b, &asked).unwrap(),
        benchmark: None,
        differences: Vec::new(),
        limits: held.collect(),
        strict: false,
    }
}

/// A queue of 50 µs, and one packet in fifty lost.
fn queue() -> Compared {
    let a = one("echo", records(1050, 0, 0, 1), ONE_CLOCK);
    let b = one("echo", records(1050, 50_000, 50, 2), ONE_CLOCK);
    let limits = [
        "p99(response) > +10%",
        "p50(response) > +1ms",
        "p999(response) > +10%",
        "lost > 0.5%",
        "for each probe: p50(network) > +2us",
    ];
    let mut compared = compared(&a, &b, &limits);
    let setting = |what: &str, a: Option<&str>, b: &str| Difference {
        what: what.to_owned(),
        a: a.map(str::to_owned),
        b: Some(b.to_owned()),
    };
    compared.differences = vec![
        setting("kernel", Some("6.1.0"), "6.12.0"),
        setting(
            "path.queue",
            None,
            "pfifo of a name that is much too long for its third of the line",
        ),
    ];
    compared.sides[1].problems = vec!["2 trials are invalid".to_owned()];
    compared
}

/// Five levels, of which one is in each run alone.
fn levels() -> Compared {
    let run = |waits: &[&str], queue: i64, seed: u64| {
        let mut samples = Samples::default();
        for (trial, wait) in (0..).zip(waits) {
            let records = records(250, queue, 0, seed * 100 + u64::from(trial));
            samples.push(stream(trial, "echo", Some(wait)), records, ONE_CLOCK);
        }
        samples
    };
    let a = run(&["0ms", "1ms", "2ms", "3ms", "4ms"], 0, 1);
    let b = run(&["1ms", "2ms", "3ms", "4ms", "5ms"], 30_000, 2);
    compared(&a, &b, &["p90(response | wait=1ms) > +12%"])
}

/// What another tool measured in user space, and a run with every stamp.
pub fn import() -> Compared {
    let mut bare = records(300, 0, 0, 1);
    for record in &mut bare {
        (record.t_sched, record.t_tx, record.t_rx) = (None, None, None);
        (record.r_rx, record.r_user, record.r_tx) = (None, None, None);
    }
    let a = one("192.0.2.1", bare, RecordFacts::default());
    let b = one("echo", records(300, 0, 0, 2), ONE_CLOCK);
    compared(&a, &b, &[])
}

/// B answers nothing.
pub fn silent() -> Compared {
    let a = one("echo", records(200, 0, 0, 1), ONE_CLOCK);
    let b = one("echo", records(200, 0, 1, 2), ONE_CLOCK);
    let mut compared = compared(&a, &b, &["p99(response) > +10%", "p999(rtt) > 1s"]);
    compared.strict = true;
    compared
}
