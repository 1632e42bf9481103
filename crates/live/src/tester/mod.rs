//! A tester: sends frames by some ports, takes them by others, and says what became of each
//! (RFC 2544). The ports are interfaces of this host, or of namespaces on it.
//!
//! | module | holds |
//! |---|---|
//! | `job` | what it is asked to do |
//! | `lines` | what the streams of a port ask of its line |
//! | [`port`] | an interface that frames go through, checked and opened |
//! | `sender` | every stream, by one thread, each frame at its time |
//! | `receiver` | every port, by one thread, each frame with the kernel's stamp |
//! | `overruns` | what a NIC had no room for |
//! | `drain` | how long is waited behind the last frame |
//! | [`error`] | why it could not begin |
//!
//! ```text
//! learning frames → streams → drain → records
//! ```

mod drain;
pub mod error;
mod job;
pub(crate) mod lines;
mod overruns;
pub mod port;
mod receiver;
mod sender;

pub use job::{FrameStream, Job};

use delaylab_kernel::clock;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{Delivery, ProbeFacts, RecordFacts, StampPoint};
use delaylab_model::world::Sink;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::tester::Ledger;
use delaylab_traffic::tester::self_check::SelfCheck;
use delaylab_wire::test_frame;
use drain::{Drain, Left};
use error::TesterError;
use port::{Opened, Port};
use receiver::Receiver;
use std::time::Duration;

/// Learning frames a port sends (RFC 2544 §23), and how long a switch has for them.
const LEARNING: usize = 3;
const LEARNED: Duration = Duration::from_millis(100);
/// From starting the threads to the first frame.
const HEAD_START: Nanos = 20 * MILLISECOND;
/// Streams of one tester have one; so testers on one network tell their frames apart.
const FIRST_TOKEN: u64 = 49_152;

/// Carries every stream out and hands the records over. The facts are in the order of the streams.
///
/// # Errors
/// See [`TesterError`].
pub fn carry_out(job: &Job, sink: &mut dyn Sink) -> Result<Vec<ProbeFacts>, TesterError> {
    let token = (FIRST_TOKEN + job.seed % (65_536 - FIRST_TOKEN)) as u16;
    let ports = job.ports();
    let open = |port: &Port| port.open(job.largest_frames(port).as_ref());
    let opened: Vec<Opened> = ports.iter().map(open).collect::<Result<_, _>>()?;
    let streams = sender::streams(job, &ports, token)?;
    for stream in &job.streams {
        sink.begin(stream.index, &RecordFacts::default())?;
    }
    learn(job, &ports, &opened, token)?;
    let quiet = job.streams.iter().map(|stream| stream.probe.timeout);
    let quiet = quiet.max().unwrap_or(0);
    let receiver = Receiver::start(&opened, token)?;
    let start = clock::monotonic() + HEAD_START;
    let sent = sender::send(streams, &opened, start, &job.stop)?;
    let drain = Drain {
        sent: clock::monotonic(),
        quiet,
    };
    let endless = drained(drain, &receiver, &job.stop).flaw();
    let received = receiver.finish();
    let mut ledgers = ledgers(job, sent);
    let mut misdirected = 0;
    for arrival in &received.arrivals {
        let number = usize::from(arrival.stream);
        let (Some(stream), Some(ledger)) = (job.streams.get(number), ledgers.get_mut(number))
        else {
            continue;
        };
        if ports[arrival.port].is(&stream.to) {
            let seq = u64::from(arrival.number);
            ledger.arrived(seq, arrival.t_rx, arrival.intact);
        } else {
            misdirected += 1;
        }
    }
    let mut facts = hand_over(job, &ledgers, &received, sink)?;
    if let (Some(first), true) = (facts.first_mut(), misdirected > 0) {
        first.warnings.push(format!(
            "the device floods: {misdirected} frames came out of ports that they were not for"
        ));
    }
    if let (Some(first), Some(flaw)) = (facts.first_mut(), endless) {
        first.flaws.push(flaw);
    }
    Ok(facts)
}

/// Each port says to each that it exchanges frames with where it is.
fn learn(job: &Job, ports: &[Port], opened: &[Opened], token: u16) -> Result<(), TesterError> {
    for stream in &job.streams {
        for (own, other) in [(&stream.to, &stream.from), (&stream.from, &stream.to)] {
            let frame = test_frame::learning(own.ends(other, token));
            let at = ports.iter().position(|port| port.is(own));
            let opened = at.and_then(|at| opened.get(at));
            for _ in 0..LEARNING {
                let sent = opened.map(|opened| opened.socket.send(&frame));
                sent.transpose().map_err(|error| own.cannot_send(error))?;
            }
        }
    }
    std::thread::sleep(LEARNED);
    Ok(())
}

/// Waits until nothing is left to wait for, or is stopped.
fn drained(drain: Drain, receiver: &Receiver, stop: &Stop) -> Left {
    const LOOK_EVERY: Nanos = 20 * MILLISECOND;
    loop {
        let left = drain.left(clock::monotonic(), receiver.last_frame());
        match left {
            Left::Time(left) if !stop.is_asked() => {
                let nap = left.min(LOOK_EVERY).unsigned_abs();
                std::thread::sleep(Duration::from_nanos(nap));
            }
            _ => return left,
        }
    }
}

fn ledgers(job: &Job, sent: Vec<Vec<sender::Sent>>) -> Vec<Ledger> {
    let fill = |(stream, sent): (&FrameStream, Vec<sender::Sent>)| {
        let mut ledger = Ledger::new(job.trial, stream.index, &stream.probe);
        for frame in sent {
            match frame.outcome {
                Ok(t_send) => ledger.sent(frame.t_intended, t_send),
                Err(errno) => ledger.not_sent(frame.t_intended, errno),
            };
        }
        ledger
    };
    job.streams.iter().zip(sent).map(fill).collect()
}

fn hand_over(
    job: &Job,
    ledgers: &[Ledger],
    received: &receiver::Received,
    sink: &mut dyn Sink,
) -> Result<Vec<ProbeFacts>, TesterError> {
    let offset = clock::realtime_offset();
    let mut all = Vec::new();
    for (stream, ledger) in job.streams.iter().zip(ledgers) {
        let mut check = SelfCheck::new(&stream.probe);
        for record in ledger.records() {
            if let Some(check) = &mut check {
                check.see(&record);
            }
            sink.record(&record)?;
        }
        let mut facts = ProbeFacts {
            stamps: stamps(ledger),
            realtime_offset: offset,
            strays: ledger.strays(),
            ..ProbeFacts::default()
        };
        let stopped = job.stop.is_asked();
        facts.flaws = check.map_or_else(Vec::new, |check| check.flaws(&stream.probe.name, stopped));
        all.push(facts);
    }
    if let Some(first) = all.first_mut() {
        first.rejected = received.foreign;
        first.flaws.extend(received.flaws());
    }
    Ok(all)
}

fn stamps(ledger: &Ledger) -> Vec<(StampPoint, Delivery)> {
    let any = ledger.records().any(|record| record.t_rx.is_some());
    let delivery = |point| match point {
        StampPoint::TRx if any => Delivery::Delivered,
        StampPoint::TRx => Delivery::Missing,
        _ => Delivery::Unsupported,
    };
    StampPoint::ALL
        .map(|point| (point, delivery(point)))
        .to_vec()
}
