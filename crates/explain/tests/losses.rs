//! What is said of packets that were lost: how many in a row, and why.

use crate::causes::{carry_out, explain_in};
use delaylab_explain::causes::slow::Baseline;
use delaylab_explain::causes::{self, Explanation, blackouts, losses};
use delaylab_explain::compare::{ComparisonRequest, compare};
use delaylab_lab::finding::Data;
use delaylab_lab::stored::Stored;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::{
    LossDirection, LostInHost, ProbeFacts, RecordFacts, ReflectorClock, Residence, Trial,
};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_store::run::Run;
use std::fs;

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
    /// Where packets of the second were lost.
    way: Option<LossDirection>,
    answers: fn(u64) -> Option<Answer>,
    /// When packets are due.
    due: fn(u64) -> Nanos,
    /// It does not say when answers came.
    untimed: bool,
}

impl Default for Lossy {
    fn default() -> Self {
        Self {
            first: Outcome::Ok,
            ends: |_| Outcome::Ok,
            warnings: Vec::new(),
            way: None,
            answers: |_| None,
            due: |seq| seq as Nanos * 5 * MILLISECOND,
            untimed: false,
        }
    }
}

impl World for Lossy {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        sink.begin(0, &FACTS).unwrap();
        sink.begin(1, &FACTS).unwrap();
        for seq in 0..400 {
            for probe in 0..2 {
                let due = (self.due)(seq);
                let mut record = Record::due(trial.id, probe, seq, Method::Udp, due);
                record.outcome = if probe == 0 {
                    self.first
                } else {
                    (self.ends)(seq)
                };
                let is_sent = record.outcome != Outcome::LocalError;
                record.t_send = is_sent.then_some(due + 10 * MICROSECOND);
                record.answer = (self.answers)(seq).filter(|_| probe == 1);
                match record.outcome {
                    Outcome::Ok | Outcome::Late => {
                        let came = due + MILLISECOND;
                        record.t_recv = Some(came).filter(|_| !self.untimed);
                    }
                    Outcome::Refused => {
                        record.icmp = Some(IcmpReason::Prohibited);
                        record.refused_by = Some("10.82.0.2".parse().unwrap());
                    }
                    _ => {}
                }
                sink.record(&record).unwrap();
            }
        }
        let facts = |warnings: &[String], loss| ProbeFacts {
            records: FACTS,
            warnings: warnings.to_vec(),
            loss,
            ..ProbeFacts::default()
        };
        let [first, second] = [facts(&self.warnings, None), facts(&[], self.way)];
        Ok(TrialFacts::from(vec![first, second]))
    }
}

/// Another world for each trial.
struct EachTrial(Vec<Lossy>);

impl World for EachTrial {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        self.0[trial.id as usize].run(trial, sink)
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

/// A queue that is longer than the time-out, and fills up in the end: most packets that count as lost were not dropped.
#[test]
fn packets_that_waited_longer_than_their_time_out_are_told_from_those_that_were_dropped() {
    let late = |timeout: &str, duration: &str| {
        let text = format!(
            r#"
name = "late"
title = "A queue longer than the time-out"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "200B"
pacing = {{ poisson = "10ms" }}
duration = "{duration}"
timeout = "{timeout}"

[[load]]
name = "cbr"
kind = "cbr"
rate = "16Mbit/s"
payload = "972B"

[path]
topology = "pairs-on-a-trunk"
rate = "1Gbit/s"
propagation = "10us"

[path.line]
trunk = {{ rate = "10Mbit/s" }}

[path.switch]
buffer = "2MB"
"#
        );
        super::causes::explain(&text, 1).some_lost_answer()
    };
    let dropped = "the queue of s1→s2 dropped packets (the buffer was full)";
    // It is full after 2.5 s, and packets wait for 1.6 s then.
    let said = late("300ms", "4s");
    let (waited, others) = said
        .split_once("; of the others, ")
        .unwrap_or_else(|| panic!("{said}"));
    assert!(
        waited.contains(" waited in the queue of s1→s2 for up to 1.6")
            && waited.ends_with("their time-out of 300 ms"),
        "{said}"
    );
    assert_eq!(others, format!("{dropped}."));
    let said = late("20s", "4s");
    assert!(said.ends_with(&format!(": {dropped}.")), "{said}");
    let said = late("300ms", "2s");
    assert!(
        !said.contains(dropped) && said.contains(": they waited in the queue of s1→s2"),
        "{said}"
    );
}

/// It is no queue's doing, whatever else was dropped.
#[test]
fn loss_that_was_asked_for_is_a_reason_of_its_own() {
    let first = |seq| match seq {
        0 => Outcome::Lost,
        _ => Outcome::Ok,
    };
    let asked = "packets were dropped at s1→s2: `impair.loss` asks for it";
    let found = explain(
        first,
        &[asked, "packets were dropped at s1→s2: the buffer was full"],
    );
    let lost = found.some_lost_answer();
    let says = ": packets were lost on the way to the queue of s1→s2, as `impair.loss` asks; the queue of s1→s2 dropped \
                packets (the buffer was full).";
    assert!(lost.ends_with(says), "{lost}");
}

/// What is known of one trial says nothing of the packets of another one.
#[test]
fn each_reason_has_its_count_and_stands_for_its_own_trials() {
    let tenth = |seq| match seq % 10 {
        0 => Outcome::Lost,
        _ => Outcome::Ok,
    };
    let lossy = |ends, warnings: &[&str], lost_there| Lossy {
        ends,
        warnings: warnings.iter().map(|it| (*it).to_owned()).collect(),
        way: Some(LossDirection {
            forward: lost_there,
            back: 0,
            unknown: 0,
            answered_later: 0,
            in_host: LostInHost::default(),
        }),
        ..Lossy::default()
    };
    let damaged = "packets were damaged at s1→s2: `impair.corrupt` asks for it";
    let reset = "packets were dropped at s1→s2: the switch was reset";
    let mut world = EachTrial(vec![
        lossy(|seq| gone(seq, 390), &[reset], 10),
        lossy(tenth, &[], 40),
        lossy(tenth, &[reset, damaged], 40),
    ]);
    let cases = "[sweep]\nrate = { set = \"path.rate\", to = [\"100Mbit/s\", \"10Mbit/s\", \"1Mbit/s\"] }\n";
    let lost = explain_in(&mut world, &[EXPERIMENT, cases].concat(), 1).some_lost_answer();
    let says = ": 40 where packets were damaged on the way to the queue of s1→s2, as `impair.corrupt` asks or the queue of \
                s1→s2 dropped packets (the switch was reset); 10 where the queue of s1→s2 dropped packets (the switch was \
                reset); 40 did not come to the reflector.";
    assert!(lost.ends_with(says), "{lost}");
}

/// Nor is it another reason if none of them was answered.
#[test]
fn the_queue_that_dropped_every_packet_of_a_probe_is_its_reason() {
    let dropped = &["packets were dropped at s1→s2: the buffer was full"];
    let found = explain(|_| Outcome::Lost, dropped);
    assert_eq!(
        found.lost_answer(),
        "Every packet of probe second was lost (400): the queue of s1→s2 dropped packets (the buffer was full)."
    );
}

/// They are no losses and no answers.
#[test]
fn corrupt_replies_and_packets_that_could_not_be_sent_are_said() {
    let ends = |seq| match seq {
        10 => Outcome::Lost,
        20..140 => Outcome::Corrupt,
        200..203 => Outcome::LocalError,
        _ => Outcome::Ok,
    };
    let found = explain(ends, &[]);
    let lost = found.some_lost_answer();
    assert!(lost.contains("no valid answer to 120 in a row"), "{lost}");
    assert_eq!(
        found.irregular_answer(),
        "This host could not send 3 of 800 packets. 120 of 797 packets were answered with a corrupt reply: replies came with other \
         bytes than were sent."
    );
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

/// Delays are those of the few packets that are left.
#[test]
fn what_lost_almost_everything_comes_before_delays() {
    let few = |seq: u64| match seq {
        0..10 => Outcome::Ok,
        _ => Outcome::Lost,
    };
    let found = explain(few, &[]);
    let (answer, lost) = (found.answer(), found.some_lost_answer());
    assert!(!lost.is_empty() && answer.starts_with(&lost), "{answer}");
}

/// What to know of losses before trusting a run is kept with its trials.
#[test]
fn no_record_is_read_to_know_of_outages_and_errors() {
    let runs = tempfile::tempdir().unwrap();
    let known = |name: &str, mut world: Lossy| {
        let runs = runs.path().join(name);
        let (run, resolved) = carry_out(&runs, EXPERIMENT, 1, ("live", &mut world));
        let explained = causes::explain(&run, Some(&resolved), Baseline::Best);
        let records = run.folder().join("records.parquet");
        let whole = fs::read(&records).unwrap();
        fs::write(
            &records,
            [&whole[..4], &[0xff; 400], &whole[404..]].concat(),
        )
        .unwrap();
        let run = Run::open_as_it_is(run.folder()).unwrap();
        assert_eq!(
            losses::outage_warning(&run, Some(&resolved)),
            explained.outage_warning()
        );
        let blackouts = blackouts::find(&run, Some(&resolved));
        assert_eq!(blackouts, explained.blackouts);
        assert_eq!(run.problems(), Vec::<String>::new());
        // It says so when they are read.
        run.for_each_record(None, |_| {});
        assert_eq!(run.problems().len(), 1);
        (explained.outage_warning(), blackouts::warnings(&blackouts))
    };
    let ends: fn(u64) -> Outcome = |seq| match seq {
        0..175 => Outcome::Ok,
        seq if seq % 30 == 1 => Outcome::Refused,
        _ => Outcome::Lost,
    };
    let some = Lossy {
        ends,
        ..Lossy::default()
    };
    let (outage, lost) = known("some", some);
    assert!(
        outage
            .unwrap()
            .contains("no answer to 225 in a row (from 875 ms to the end): 8 ICMP errors")
    );
    assert_eq!(lost, Vec::<String>::new());
    let refused = Lossy {
        ends: |_| Outcome::Refused,
        ..Lossy::default()
    };
    let (outage, lost) = known("refused", refused);
    let says = "every packet of probe second was lost (400): ICMP errors came instead of replies (administratively \
                prohibited, from 10.82.0.2)";
    assert_eq!((outage, lost), (None, vec![says.to_owned()]));
}

/// As of runs of older versions, which kept less.
#[test]
fn an_outage_that_was_not_kept_is_found_in_the_records() {
    let runs = tempfile::tempdir().unwrap();
    // Packets are not in the order in which they are due: what came one after the other is not known at once.
    let mut world = Lossy {
        ends: |seq| gone(seq, 153),
        due: |seq| match seq {
            0 => 7 * MILLISECOND,
            seq => seq as Nanos * 5 * MILLISECOND,
        },
        ..Lossy::default()
    };
    let (run, resolved) = carry_out(runs.path(), EXPERIMENT, 1, ("live", &mut world));
    let kept = run
        .trials()
        .iter()
        .map(|row| row.facts.unanswered.is_some());
    assert_eq!(kept.collect::<Vec<_>>(), [false, false]);
    let warning = losses::outage_warning(&run, Some(&resolved)).unwrap();
    assert!(
        warning.contains("no answer to 247 in a row (from 760 ms to the end)"),
        "{warning}"
    );
    let explained = causes::explain(&run, Some(&resolved), Baseline::Best);
    assert_eq!(explained.outage_warning(), Some(warning));
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
    // Packets in a row, to explain and to compare.
    type Case = (&'static str, fn(u64) -> Outcome, [Option<usize>; 2]);
    let cases: [Case; 5] = [
        ("b", |seq| gone(seq, 153), [Some(247); 2]),
        ("c", |seq| gone(seq, 390), [Some(10); 2]),
        ("d", |seq| gone(seq, 395), [Some(5); 2]),
        ("e", |seq| gone(seq, 396), [None; 2]),
        // What was never sent is no loss, but it was not answered, as it was in the other run.
        (
            "f",
            |seq| {
                if seq < 300 {
                    Outcome::Ok
                } else {
                    Outcome::LocalError
                }
            },
            [None, Some(100)],
        ),
    ];
    for (name, ends, [to_explain, to_compare]) in cases {
        let (run, resolved) = carried_out(name, ends);
        let explained = causes::explain(&run, Some(&resolved), Baseline::Best);
        let outage = explained.losses.and_then(|losses| losses.outage);
        let found = outage.map(|outage| outage.span.packets);
        assert_eq!(found, to_explain, "{name}");
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
        assert_eq!(found, to_compare, "{name}");
    }
}

/// Of packets that were answered, lost, still under way, and could not be sent.
#[test]
fn a_row_knows_how_many_records_it_has() {
    let runs = tempfile::tempdir().unwrap();
    let mut world = Lossy {
        ends: |seq| match seq % 4 {
            0 => Outcome::Ok,
            1 => Outcome::Lost,
            2 => Outcome::LocalError,
            _ => Outcome::Skipped,
        },
        ..Lossy::default()
    };
    let (run, _) = carry_out(runs.path(), EXPERIMENT, 1, ("live", &mut world));
    let data = Stored::new(&run);
    let mut records = 0;
    data.records(1, &mut |_| records += 1);
    assert_eq!((data.packets(1), records), (400, 400));
}

fn gone(seq: u64, from: u64) -> Outcome {
    match seq < from {
        true => Outcome::Ok,
        false => Outcome::Lost,
    }
}

/// A server that takes 2 ms, and a handshake that takes 1 ms; by the probes' methods.
#[derive(Default)]
struct Server {
    /// The request that is lost.
    loses: Option<u64>,
    /// Of requests none is answered, and each is acknowledged after so long.
    acknowledges: Option<Nanos>,
    /// Requests do not get there.
    is_away: bool,
    /// A queue dropped packets.
    drops: bool,
}

impl World for Server {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        for (probe, index) in trial.probes.iter().zip(0..) {
            sink.begin(index, &FACTS).unwrap();
            for seq in 0..200 {
                let due = seq as Nanos * 5 * MILLISECOND;
                let mut record = Record::due(trial.id, index, seq, probe.method, due);
                let takes = match probe.method {
                    Method::TcpConnect => MILLISECOND,
                    _ => 2 * MILLISECOND,
                };
                record.t_send = Some(due);
                record.t_recv = Some(due + takes + seq as Nanos % 7 * MICROSECOND);
                record.outcome = Outcome::Ok;
                if probe.method != Method::TcpConnect && self.loses == Some(seq) {
                    (record.t_recv, record.outcome) = (None, Outcome::Lost);
                }
                if probe.method != Method::TcpConnect
                    && (self.is_away || self.acknowledges.is_some())
                {
                    (record.t_recv, record.outcome) = (None, Outcome::Lost);
                    record.t_tx = record.t_send;
                    record.t_ack = self.acknowledges.map(|after| due + after);
                }
                sink.record(&record).unwrap();
            }
        }
        let dropped = "20 packets were dropped at s1→s2: the buffer was full".to_owned();
        let facts = ProbeFacts {
            records: FACTS,
            warnings: Vec::from_iter(self.drops.then_some(dropped)),
            ..ProbeFacts::default()
        };
        Ok(TrialFacts::from(vec![facts; trial.probes.len()]))
    }
}

/// Replies that are corrupt are no losses, however close together they are.
#[test]
fn a_stretch_of_corrupt_replies_is_none_of_losses() {
    let runs = tempfile::tempdir().unwrap();
    let mut world = Lossy {
        ends: |seq| match seq {
            3 => Outcome::Lost,
            150..190 if seq % 2 == 0 => Outcome::Corrupt,
            _ => Outcome::Ok,
        },
        ..Lossy::default()
    };
    let (run, resolved) = carry_out(runs.path(), EXPERIMENT, 1, ("sim", &mut world));
    let said = causes::explain(&run, Some(&resolved), Baseline::Best).some_lost_answer();
    assert!(
        said.starts_with("1 of 800 packets was lost (0.12 %)"),
        "{said}"
    );
    assert!(!said.contains("of them among"), "{said}");
}

/// Only those of a trial in which a server is asked are evidence about its requests.
#[test]
fn handshakes_that_are_all_a_trial_has_were_asked_for() {
    let probe = |name: &str, method: &str| {
        format!(
            "[[probe]]\nname = \"{name}\"\nmethod = \"{method}\"\npacing = {{ every = \"5ms\" }}\nduration = \"1s\"\n"
        )
    };
    let one = probe("ask", "http").replace("duration", "url = \"http://192.0.2.1/\"\nduration");
    let head =
        "name = \"asks\"\ntitle = \"Asks\"\nworld = \"live\"\n[path]\ntarget = \"192.0.2.1\"\n";
    let apart = "[[case]]\nname = \"http\"\nset = { \"probe.ask.method\" = \"http\", \"probe.ask.url\" = \"http://192.0.2.1/\" }\n\
                 [[case]]\nname = \"handshake\"\nset = { \"probe.ask.port\" = 80 }\n";
    let either = probe("ask", "tcp-connect");
    let found = explain_in(&mut Server::default(), &[head, &either, apart].concat(), 1);
    assert_eq!(found.handshakes, (0, 0));
    let levels: Vec<_> = found.slow.conditions.iter().map(|it| &*it.label).collect();
    assert_eq!(levels, ["case http", "case handshake"], "{found:#?}");
    assert_eq!(found.effects.len(), 1, "{:#?}", found.effects);
    let two = probe("hand", "tcp-connect").replace("duration", "port = 80\nduration");
    let mut lossy = Server {
        loses: Some(100),
        ..Server::default()
    };
    let found = explain_in(&mut lossy, &[head, &one, &two].concat(), 1);
    assert_eq!(found.handshakes, (200, 200));
    let lost = found.some_lost_answer();
    assert!(
        lost.starts_with("1 of 400 packets and handshakes was lost (0.25 %)"),
        "{lost}"
    );
}

/// Files of other tools may have a mark for each packet and no time of any.
#[test]
fn an_answer_without_a_time_is_one() {
    let mut lossy = Lossy {
        ends: |seq| match seq % 10 {
            4 => Outcome::Lost,
            _ => Outcome::Ok,
        },
        untimed: true,
        ..Lossy::default()
    };
    let found = explain_in(&mut lossy, EXPERIMENT, 1);
    assert_eq!((found.sent, found.answered, found.untimed), (800, 760, 760));
    assert_eq!(
        found.late_answer(),
        "Nothing says when answers came: whether any was late is not known."
    );
    let losses = found.losses.as_ref().unwrap();
    assert_eq!(
        (losses.lost, losses.outage.is_none()),
        (40, true),
        "{losses:?}"
    );
}

/// Whatever is wrong is behind the far kernel that acknowledged them.
#[test]
fn requests_that_were_acknowledged_came_there() {
    let ask = "name = \"asks\"\ntitle = \"Asks\"\nworld = \"live\"\n[path]\ntarget = \"192.0.2.1\"\n\
               [[probe]]\nname = \"ask\"\nmethod = \"http\"\npacing = { every = \"5ms\" }\nurl = \"http://192.0.2.1/\"\n\
               duration = \"1s\"\n";
    let said = |mut world: Server| explain_in(&mut world, ask, 1).lost_answer();
    for drops in [false, true] {
        let acknowledged = said(Server {
            acknowledges: Some(30 * MICROSECOND),
            drops,
            ..Server::default()
        });
        assert!(
            acknowledged.contains(": all 200 requests were acknowledged, 30.0 µs after being sent (median), so that they arrived; the server"),
            "{acknowledged}"
        );
    }
    let away = said(Server {
        is_away: true,
        ..Server::default()
    });
    assert!(
        away.contains("nothing that the run recorded says why"),
        "{away}"
    );
}
