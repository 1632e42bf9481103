//! Finished trials made by hand, for the tests of every face.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::json::SystemInfo;
use crate::ping::Ping;
use delaylab_live::load::{Amount, Received, StreamReport};
use delaylab_model::load::{Direction, LoadKind};
use delaylab_model::method::Method;
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::record::{ClockEvent, Outcome, Record};
use delaylab_model::trial::{
    Delivery, LossDirection, ProbeFacts, ProbeRun, RecordFacts, ReflectorClock, Residence,
    StampPoint,
};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_store::run::State;
use delaylab_store::trial_row::TrialRow;
use delaylab_store::verify::{Mismatch, Verified};

const START: Nanos = 1_000 * SECOND;
const INTERVAL: Nanos = 10 * MILLISECOND;

/// A trial with all that is needed to show it.
pub struct Sample {
    pub run: ProbeRun,
    pub facts: ProbeFacts,
    pub records: Vec<Record>,
    pub summary: Summary,
}

/// A trial as runs keep it, without levels and figures.
pub fn trial_row() -> TrialRow {
    TrialRow {
        trial: 0,
        probe: 0,
        probe_name: "echo".to_owned(),
        method: Method::Udp,
        repeat: 0,
        position: 0,
        started_utc: None,
        duration: 0,
        host: HostCondition::Normal,
        seed: 0,
        valid: true,
        warmup: 0,
        facts: ProbeFacts::default(),
        factors: Vec::new(),
        figures: Vec::new(),
    }
}

impl Sample {
    pub fn ping(&self) -> Ping<'_> {
        Ping {
            target: "10.0.0.2",
            run: &self.run,
            facts: &self.facts,
            summary: &self.summary,
            handshakes: None,
            conditions: &[],
        }
    }

    fn new(method: Method, facts: ProbeFacts, records: Vec<Record>) -> Self {
        let mut probe = Probe::new("ping", method);
        probe.pacing = Pacing::Every {
            interval_ns: INTERVAL,
        };
        probe.count = Some(records.len() as u64);
        let target = "10.0.0.2:8620".parse().unwrap();
        let run = ProbeRun {
            trial: 0,
            index: 0,
            target,
            probe,
            host: HostCondition::Normal,
            seed: 7,
        };
        let mut summary = SummaryBuilder::new(facts.records, records.len());
        records.iter().for_each(|record| summary.push(record));
        let summary = summary.finish();
        Self {
            run,
            facts,
            records,
            summary,
        }
    }
}

pub fn system_info() -> SystemInfo {
    SystemInfo {
        kernel: Some("Linux 6.12.0".to_owned()),
        cpu: Some("Example CPU".to_owned()),
        cpus: Some(2),
        clock_source: None,
    }
}

/// Every stamp, and one clock: prober and reflector on one kernel.
pub fn full() -> Sample {
    let mut records: Vec<_> = (0..500).map(|seq| answered(Method::Udp, seq)).collect();
    for record in &mut records {
        let t_tx = record.t_tx.unwrap();
        record.r_rx = Some(t_tx + 6_200);
        record.r_user = Some(t_tx + 9_000);
        record.r_tx = Some(t_tx + 9_700);
        record.reflector_seq = Some(record.seq as u32);
        record.r_dscp = Some(0);
    }
    lose(&mut records[17]);
    lose(&mut records[400]);
    records[50].copies = 1;
    records[60].reorder_extent = 2;
    records[70].outcome = Outcome::Late;
    records[80].clock_event = ClockEvent::SlowClockRead;
    let records_facts = RecordFacts {
        reflector_clock: ReflectorClock::Same,
        residence: Residence::ToDriver,
    };
    let mut facts = facts(
        records_facts,
        &[StampPoint::TTxHw, StampPoint::TRxHw],
        Delivery::Off,
    );
    facts.loss = Some(LossDirection {
        forward: 1,
        back: 1,
        ..LossDirection::default()
    });
    facts.warnings.push(
        "The CPU's clock frequency changes while it measures: figures under 10 µs move with it."
            .to_owned(),
    );
    Sample::new(Method::Udp, facts, records)
}

/// Kernel stamps here, none from the target.
pub fn icmp() -> Sample {
    let records = (0..500).map(|seq| answered(Method::Icmp, seq)).collect();
    let absent = [StampPoint::RRx, StampPoint::RUser, StampPoint::RTx];
    Sample::new(
        Method::Icmp,
        facts(RecordFacts::default(), &absent, Delivery::Unsupported),
        records,
    )
}

/// Two clock reads a packet and nothing else.
pub fn no_kernel_stamps() -> Sample {
    let mut records: Vec<_> = (0..500).map(|seq| answered(Method::Udp, seq)).collect();
    for record in &mut records {
        (record.t_sched, record.t_tx, record.t_rx) = (None, None, None);
    }
    Sample::new(
        Method::Udp,
        facts(RecordFacts::default(), &StampPoint::ALL, Delivery::Missing),
        records,
    )
}

/// A foreign STAMP reflector on a synchronised clock; some slots given up, some packets refused.
pub fn bounded() -> Sample {
    let mut records: Vec<_> = (0..300).map(|seq| answered(Method::Stamp, seq)).collect();
    for record in &mut records {
        let t_tx = record.t_tx.unwrap();
        record.r_rx = Some(t_tx + 6_200);
        record.r_user = Some(t_tx + 9_000);
    }
    for record in &mut records[10..13] {
        lose(record);
        record.outcome = Outcome::Refused;
    }
    lose(&mut records[20]);
    records[20].t_send = None;
    records[20].outcome = Outcome::Skipped;
    let records_facts = RecordFacts {
        reflector_clock: ReflectorClock::Bounded { error_ns: 20_000 },
        residence: Residence::ToUser,
    };
    let facts = facts(records_facts, &[StampPoint::RTx], Delivery::Missing);
    Sample::new(Method::Stamp, facts, records)
}

/// Nobody answers.
pub fn all_lost() -> Sample {
    let mut records: Vec<_> = (0..5).map(|seq| answered(Method::Udp, seq)).collect();
    records.iter_mut().for_each(lose);
    let absent = [
        StampPoint::RRx,
        StampPoint::RUser,
        StampPoint::RTx,
        StampPoint::TRx,
    ];
    Sample::new(
        Method::Udp,
        facts(RecordFacts::default(), &absent, Delivery::Missing),
        records,
    )
}

/// One packet and its reply.
pub fn one() -> Sample {
    let absent = [StampPoint::RRx, StampPoint::RUser, StampPoint::RTx];
    let facts = facts(RecordFacts::default(), &absent, Delivery::Unsupported);
    Sample::new(Method::Icmp, facts, vec![answered(Method::Icmp, 0)])
}

pub fn samples() -> [(&'static str, Sample); 6] {
    [
        ("full", full()),
        ("icmp", icmp()),
        ("no_kernel_stamps", no_kernel_stamps()),
        ("bounded", bounded()),
        ("all_lost", all_lost()),
        ("one", one()),
    ]
}

/// A reply whose stages vary with `seq` in a fixed way; every hundredth wakes its reader late.
pub fn answered(method: Method, seq: u64) -> Record {
    let vary = |range: u64, step: u64| (seq * step % range) as Nanos;
    let mut record = Record::due(0, 0, seq, method, START + seq as Nanos * INTERVAL);
    let t_send = record.t_intended + 1_500 + vary(700, 37);
    let t_sched = t_send + 4_000 + vary(900, 61);
    let t_tx = t_sched + 800 + vary(300, 17);
    let t_rx = t_tx + 14_000 + vary(3_000, 131);
    let wake_up = if seq % 100 == 99 {
        960_000 + vary(9_000, 7)
    } else {
        38_000 + vary(20_000, 211)
    };
    record.ip_size = Some(84);
    record.t_send = Some(t_send);
    record.t_sched = Some(t_sched);
    record.t_tx = Some(t_tx);
    record.t_rx = Some(t_rx);
    record.t_recv = Some(t_rx + wake_up);
    record.cpu = Some(1);
    record.reply_dscp = Some(0);
    record.reply_ecn = Some(0);
    record.reply_ttl = Some(64);
    record.outcome = Outcome::Ok;
    record
}

pub fn lose(record: &mut Record) {
    let sent = *record;
    *record = Record::due(
        sent.trial,
        sent.probe,
        sent.seq,
        sent.method,
        sent.t_intended,
    );
    record.ip_size = sent.ip_size;
    record.t_send = sent.t_send;
    record.t_sched = sent.t_sched;
    record.t_tx = sent.t_tx;
}

fn facts(records: RecordFacts, absent: &[StampPoint], how: Delivery) -> ProbeFacts {
    let delivery = |point: StampPoint| match point {
        _ if absent.contains(&point) => how,
        StampPoint::TTxHw | StampPoint::TRxHw => Delivery::Off,
        _ => Delivery::Delivered,
    };
    ProbeFacts {
        records,
        stamps: StampPoint::ALL
            .into_iter()
            .map(|point| (point, delivery(point)))
            .collect(),
        realtime_offset: 1_712_344_678 * SECOND,
        ..ProbeFacts::default()
    }
}

/// The same packets, each changed in the same way.
pub fn changed(sample: &Sample, change: impl Fn(&mut Record)) -> Sample {
    let mut later = full();
    later.records.clone_from(&sample.records);
    let mut builder = SummaryBuilder::new(later.facts.records, later.records.len());
    for record in &mut later.records {
        change(record);
        builder.push(record);
    }
    later.summary = builder.finish();
    later
}

/// Puts these stamps off by `ns`.
pub fn put_off<const N: usize>(ns: Nanos, stamps: [&mut Option<Nanos>; N]) {
    for stamp in stamps {
        *stamp = stamp.map(|t| t + ns);
    }
}

/// The same packets, `ns` longer on the way there.
pub fn delayed(sample: &Sample, ns: i64) -> Sample {
    changed(sample, |record| {
        put_off(
            ns,
            [
                &mut record.r_rx,
                &mut record.r_user,
                &mut record.r_tx,
                &mut record.t_rx,
                &mut record.t_recv,
            ],
        );
    })
}

/// A TCP stream that loaded the path.
pub fn streams() -> Vec<StreamReport> {
    vec![StreamReport {
        name: "tcp".to_owned(),
        kind: LoadKind::Tcp,
        direction: Direction::Up,
        lasted: Some(10_000_000_000),
        congestion_control: Some("cubic".to_owned()),
        default_congestion_control: true,
        due: None,
        sent: Amount {
            packets: 0,
            bytes: 12_500_000,
        },
        received: Some(Received {
            amount: Amount {
                packets: 0,
                bytes: 12_500_000,
            },
            ..Received::default()
        }),
        held_back: 0,
        retransmits: Some(3),
        round_trips: vec![20_000_000; 10],
        failed: None,
    }]
}

/// A run whose files were looked at.
pub fn verified(files: Option<u64>, wrong: &[(&str, &str)]) -> Verified {
    let wrong = wrong.iter().map(|(file, why)| Mismatch {
        file: (*file).to_owned(),
        why: (*why).to_owned(),
    });
    Verified {
        folder: "runs/a".into(),
        state: State::Complete,
        files,
        bytes: 1234,
        wrong: wrong.collect(),
    }
}
