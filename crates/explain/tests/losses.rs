//! What is said of packets that were lost: how many in a row, and why.

use crate::causes::{carry_out, explain_in};
use delaylab_explain::causes::slow::Baseline;
use delaylab_explain::causes::{self, Explanation};
use delaylab_explain::compare::{ComparisonRequest, compare};
use delaylab_lab::stored::Stored;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::{ProbeFacts, RecordFacts, ReflectorClock, Residence, Trial};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};

const FACTS: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Unrelated,
    residence: Residence::ToDriver,
};
const EXPERIMENT: &str = r#"
name = "losses"
title = "Packets that are lost"
world = "sim"

[[probe]]
name = "first"
method = "udp"
payload = "64B"
pacing = { every = "5ms" }
duration = "2s"

[[probe]]
name = "second"
method = "udp"
payload = "64B"
pacing = { every = "5ms" }
duration = "2s"

[path]
topology = "two-hosts"
framing = "ethernet"
rate = "100Mbit/s"
"#;

/// Two probes of 400 packets; what becomes of packets of the first and of each of the second, and what the world says of
/// the first.
struct Lossy {
    first: Outcome,
    ends: fn(u64) -> Outcome,
    warnings: Vec<String>,
    answers: fn(u64) -> Option<Answer>,
}

impl Default for Lossy {
    fn default() -> Self {
        Self {
            first: Outcome::Ok,
            ends: |_| Outcome::Ok,
            warnings: Vec::new(),
            answers: |_| None,
        }
    }
}

impl World for Lossy {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, _: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        sink.begin(0, &FACTS).unwrap();
        sink.begin(1, &FACTS).unwrap();
        for seq in 0..400 {
            for probe in 0..2 {
                let due = seq as Nanos * 5 * MILLISECOND;
                let mut record = Record::due(0, probe, seq, Method::Udp, due);
                record.outcome = if probe == 0 {
                    self.first
                } else {
                    (self.ends)(seq)
                };
                let is_sent = record.outcome != Outcome::LocalError;
                record.t_send = is_sent.then_some(due + 10 * MICROSECOND);
                record.answer = (self.answers)(seq).filter(|_| probe == 1);
                match record.outcome {
                    Outcome::Ok | Outcome::Late => record.t_recv = Some(due + MILLISECOND),
                    Outcome::Refused => {
                        record.icmp = Some(IcmpReason::Prohibited);
                        record.refused_by = Some("10.82.0.2".parse().unwrap());
                    }
                    _ => {}
                }
                sink.record(&record).unwrap();
            }
        }
        let facts = |warnings: &[String]| ProbeFacts {
            records: FACTS,
            warnings: warnings.to_vec(),
            ..ProbeFacts::default()
        };
        Ok(TrialFacts::from(vec![facts(&self.warnings), facts(&[])]))
    }
}

fn explain(ends: fn(u64) -> Outcome, warnings: &[&str]) -> Explanation {
    let warnings = warnings.iter().map(|warning| (*warning).to_owned());
    let warnings = warnings.collect();
    let mut lossy = Lossy {
        ends,
        warnings,
        ..Lossy::default()
    };
    explain_in(&mut lossy, EXPERIMENT, 1)
}

/// What a world says of the path of a trial stands in the row of its first probe.
#[test]
fn the_queue_that_dropped_packets_is_named_for_every_probe_of_its_trial() {
    let each_tenth = |seq| {
        if seq % 10 == 0 {
            Outcome::Lost
        } else {
            Outcome::Ok
        }
    };
    let found = explain(
        each_tenth,
        &["packets were dropped at s1→s2: the buffer was full"],
    );
    assert_eq!(
        found.some_lost_answer(),
        "40 of 800 packets were lost (5.0 %), the largest share in probe second (10 %): the queue of s1→s2 dropped packets (the \
         buffer was full)."
    );
    assert_eq!(found.outage_warning(), None);
}

/// The host's stamps of packets that nothing answered would tell nothing, and what was run is the ping that says why.
#[test]
fn what_only_answers_would_show_is_left_out_without_any() {
    let unknown = |found: Explanation| -> Vec<String> {
        let unknown = found.unknown.into_iter();
        unknown.map(|unknown| unknown.what).collect()
    };
    let apart = "host and network apart, for every packet".to_owned();
    assert!(unknown(explain(|_| Outcome::Ok, &[])).contains(&apart));
    let mut silent = Lossy {
        first: Outcome::Lost,
        ends: |_| Outcome::Lost,
        ..Lossy::default()
    };
    assert_eq!(
        unknown(explain_in(&mut silent, EXPERIMENT, 1)),
        [
            "which process or interrupt had the CPU",
            "where in the network"
        ]
    );
}

/// A rule that rejects packets answers few of them: kernels limit the errors that they send.
#[test]
fn errors_are_named_where_most_packets_get_none() {
    let rejected = |seq: u64| match seq {
        0..175 => Outcome::Ok,
        seq if seq % 30 == 1 => Outcome::Refused,
        _ => Outcome::Lost,
    };
    let found = explain(rejected, &[]);
    assert_eq!(
        found.some_lost_answer(),
        "225 of 800 packets were lost (28 %), the largest share in probe second (56 %), no answer to 225 in a row (from 875 ms \
         to the end): 8 ICMP errors came (administratively prohibited, from 10.82.0.2)."
    );
    let warning = found.outage_warning().unwrap();
    assert_eq!(format!("{warning}."), found.some_lost_answer());
}

/// A ping counts answers that came too late apart.
#[test]
fn answers_that_came_too_late_are_counted_apart() {
    let late = |seq| if seq < 30 { Outcome::Late } else { Outcome::Ok };
    let found = explain(late, &[]);
    assert_eq!(
        (found.answered, found.too_late, found.handshakes),
        (800, 30, (0, 0))
    );
}

/// A ping prints them in its summary.
#[test]
fn answers_that_are_not_what_was_asked_for_are_counted() {
    let mut world = Lossy {
        answers: |seq| match seq {
            0..60 => Some(Answer::Closed),
            60..80 => Some(Answer::Status(404)),
            80..200 => Some(Answer::Status(200)),
            _ => None,
        },
        ..Lossy::default()
    };
    let found = explain_in(&mut world, EXPERIMENT, 1);
    let says = "80 of 200 answers were not what was asked for: 60 × closed (RST), 20 × 404.";
    assert!(found.answer().contains(says), "{}", found.answer());
    world.answers = |_| Some(Answer::Open);
    let found = explain_in(&mut world, EXPERIMENT, 1);
    assert_eq!(found.irregular_answer(), "");
}

/// What `explain` calls an outage to the end of a trial, and the packets of it, `compare` calls so.
#[test]
fn an_outage_is_one_to_explain_and_to_compare() {
    let runs = tempfile::tempdir().unwrap();
    let carried_out = |name: &str, ends: fn(u64) -> Outcome| {
        let mut world = Lossy {
            ends,
            ..Lossy::default()
        };
        carry_out(&runs.path().join(name), EXPERIMENT, 1, ("live", &mut world))
    };
    let (whole, _) = carried_out("a", |_| Outcome::Ok);
    type Case = (&'static str, fn(u64) -> Outcome, Option<usize>);
    let cases: [Case; 5] = [
        ("b", |seq| gone(seq, 153), Some(247)),
        ("c", |seq| gone(seq, 390), Some(10)),
        ("d", |seq| gone(seq, 395), Some(5)),
        ("e", |seq| gone(seq, 396), None),
        // What was never sent is no loss.
        (
            "f",
            |seq| {
                if seq < 300 {
                    Outcome::Ok
                } else {
                    Outcome::LocalError
                }
            },
            None,
        ),
    ];
    for (name, ends, packets) in cases {
        let (run, resolved) = carried_out(name, ends);
        let explained = causes::explain(&run, Some(&resolved), Baseline::Best);
        let outage = explained.losses.and_then(|losses| losses.outage);
        let found = outage.map(|outage| outage.row.packets);
        assert_eq!(found, packets, "{name}");
        let compared = compare(
            &Stored::new(&whole),
            &Stored::new(&run),
            &ComparisonRequest::usual(),
        )
        .unwrap();
        let longest = compared
            .pairs
            .iter()
            .filter_map(|pair| pair.outages[1].longest);
        let found = longest.map(|outage| outage.packets).max();
        assert_eq!(found, packets, "{name}");
    }
}

fn gone(seq: u64, from: u64) -> Outcome {
    match seq < from {
        true => Outcome::Ok,
        false => Outcome::Lost,
    }
}
