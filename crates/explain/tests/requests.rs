//! Requests to a server, with handshakes beside them, of which every stamp is known: late because of the server or of the network, on new
//! connections, and lost.

use crate::causes::carry_out;
use delaylab_explain::causes::{self, Cause, Explanation, slow::Baseline};
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::{ProbeFacts, RecordFacts, Trial};
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_stats::anatomy::{Place, Stage, StageSet};
use delaylab_stats::attribution::LateCause;

/// Requests every 20 ms, and a handshake every 100 ms.
const REQUESTS: u64 = 200;
const HANDSHAKES: u64 = 40;
/// One way through the network, and what the server takes.
const WAY: Nanos = 5 * MILLISECOND;
const THINKS: Nanos = 3 * MILLISECOND;

/// What happens to requests.
#[derive(Default)]
struct Served {
    /// Each 20th one takes the server so much longer.
    server_takes: Nanos,
    /// Something on the way back holds all packets for so long, from when the reply to each 20th one comes.
    network_holds: Nanos,
    /// Each has a connection of its own, by TLS, and the server does nothing from 1 s on for half a second.
    stops_tls: bool,
    /// How each 20th one ends; the next one has to make a connection.
    ends: Option<Outcome>,
    /// The kernel there acknowledges those.
    acknowledges: bool,
    /// Packets that came and were no replies.
    rejected: u64,
    warnings: Vec<String>,
    /// Requests are questions by UDP.
    is_dns: bool,
}

fn is_one(seq: u64) -> bool {
    seq % 20 == 10
}

impl Served {
    /// When something that comes to the way back then has passed it.
    fn passed(&self, at: Nanos) -> Nanos {
        let each = 20 * 20 * MILLISECOND;
        // The reply to the first of those.
        let first = 10 * 20 * MILLISECOND + WAY + THINKS;
        let since = (at - first).rem_euclid(each);
        let left = if at >= first {
            self.network_holds - since
        } else {
            0
        };
        at + left.max(0) + WAY
    }

    fn request(&self, seq: u64, method: Method) -> Record {
        let due = seq as Nanos * 20 * MILLISECOND;
        let mut record = Record::due(0, 0, seq, method, due);
        record.outcome = Outcome::Ok;
        let mut at = due;
        let is_first = seq == 0;
        let renews = seq > 0 && is_one(seq - 1) && self.ends.is_some();
        if renews || self.stops_tls {
            record.t_begin = Some(at);
            at = self.passed(at + WAY);
            record.t_connected = Some(at);
        }
        if self.stops_tls {
            let there = at + WAY;
            let stopped = (1_000 * MILLISECOND..1_500 * MILLISECOND).contains(&there);
            let answers = if stopped { 1_500 * MILLISECOND } else { there };
            at = answers + WAY;
            record.t_secured = Some(at);
        }
        record.t_send = Some(at);
        record.t_sched = Some(at + MICROSECOND);
        let sent = at + 2 * MICROSECOND;
        record.t_tx = Some(sent);
        if is_one(seq)
            && let Some(end) = self.ends
        {
            record.outcome = end;
            record.t_ack = self.acknowledges.then_some(sent + 2 * WAY);
            return record;
        }
        let more = if is_one(seq) { self.server_takes } else { 0 };
        // It varies a little.
        let thinks = THINKS + more + seq as Nanos % 7 * 10 * MICROSECOND;
        let back = self.passed(sent + WAY + thinks);
        // The acknowledgement comes with the reply.
        let by_tcp = method != Method::Dns;
        record.t_ack = by_tcp.then_some(if is_first { sent + 2 * WAY } else { back });
        record.t_first = by_tcp.then_some(back);
        record.t_rx = Some(back);
        record.t_recv = Some(back + 50 * MICROSECOND);
        record.least_round_trip = by_tcp.then_some(2 * WAY);
        record.connection = by_tcp.then_some(0);
        record
    }

    fn handshake(&self, seq: u64) -> Record {
        let due = seq as Nanos * 100 * MILLISECOND + 19 * MILLISECOND;
        let mut record = Record::due(0, 1, seq, Method::TcpConnect, due);
        record.t_send = Some(due);
        record.t_connected = Some(self.passed(due + WAY));
        record.t_recv = record.t_connected.map(|at| at + 50 * MICROSECOND);
        record.outcome = Outcome::Ok;
        record
    }

    fn explained(mut self) -> Explanation {
        let (request, to) = match self.is_dns {
            true => ("dns", "question = \"example.org\""),
            false => ("http", "url = \"http://192.0.2.1/\""),
        };
        let handshakes = match self.is_dns {
            true => "",
            false => {
                "[[probe]]\nname = \"handshake\"\nmethod = \"tcp-connect\"\nport = 80\npacing = { every = \"100ms\" }\nduration = \"4s\"\n"
            }
        };
        let text = format!(
            "name = \"asks\"\ntitle = \"Asks\"\nworld = \"live\"\n[path]\ntarget = \"192.0.2.1\"\n\
             [[probe]]\nname = \"ask\"\nmethod = \"{request}\"\npacing = {{ every = \"20ms\" }}\n{to}\nduration = \"4s\"\n{handshakes}"
        );
        let runs = tempfile::tempdir().unwrap();
        let (run, resolved) = carry_out(runs.path(), &text, 1, ("live", &mut self));
        causes::explain(&run, Some(&resolved), Baseline::Best)
    }
}

impl World for Served {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        let records = RecordFacts::default();
        for (index, probe) in (0..).zip(&trial.probes) {
            sink.begin(index, &records).unwrap();
            let of = |seq| match probe.method {
                Method::TcpConnect => self.handshake(seq),
                method => self.request(seq, method),
            };
            let count = match probe.method {
                Method::TcpConnect => HANDSHAKES,
                _ => REQUESTS,
            };
            (0..count).for_each(|seq| sink.record(&of(seq)).unwrap());
        }
        let of_requests = ProbeFacts {
            records,
            rejected: self.rejected,
            warnings: self.warnings.clone(),
            ..ProbeFacts::default()
        };
        let mut facts = vec![of_requests];
        facts.resize(trial.probes.len(), ProbeFacts::default());
        Ok(TrialFacts::from(facts))
    }
}

/// The cause that cost most, and its share of the excess delay.
fn first(found: &Explanation) -> (&Cause, f64) {
    let cause = found.causes.first().unwrap();
    (cause, found.share_of_excess(cause))
}

/// Handshakes meanwhile are as short as ever, or wait as well.
#[test]
fn handshakes_meanwhile_tell_a_slow_server_from_a_network_that_holds_packets() {
    let server = Served {
        server_takes: 90 * MILLISECOND,
        ..Served::default()
    };
    let found = server.explained();
    let (cause, share) = first(&found);
    assert_eq!(cause.what, LateCause::Server, "{:#?}", found.causes);
    assert_eq!((cause.packets, share), (10, 1.0));
    let evidence = cause.evidence.join("; ");
    assert!(
        evidence.contains("of those at the time of each, 0 % were late"),
        "{evidence}"
    );

    let network = Served {
        network_holds: 90 * MILLISECOND,
        ..Served::default()
    };
    let found = network.explained();
    let (cause, _) = first(&found);
    let stages = StageSet::BOTH_WAYS;
    assert_eq!(
        cause.what,
        LateCause::Network { stages },
        "{:#?}",
        found.causes
    );
    let share = found.share_of(Place::Network);
    assert!(share > 0.9, "{share}");
}

/// The kernel makes connections while the server does nothing.
#[test]
fn connections_that_are_made_meanwhile_name_a_server_that_stops_in_tls() {
    let found = Served {
        stops_tls: true,
        ..Served::default()
    };
    let found = found.explained();
    let (cause, share) = first(&found);
    assert_eq!(cause.what, LateCause::Server, "{:#?}", found.causes);
    assert!(share > 0.9, "{share}");
    assert_eq!(cause.stages[0].0, StageSet::only(Stage::Tls));
}

/// The next request makes a connection, which the others have.
#[test]
fn a_connection_that_has_to_be_made_is_no_delay_of_the_network() {
    let renewed = |ends: Outcome, warnings: &[&str]| {
        let world = Served {
            ends: Some(ends),
            warnings: warnings.iter().map(|one| (*one).to_owned()).collect(),
            ..Served::default()
        };
        world.explained()
    };
    let found = renewed(
        Outcome::Refused,
        &["10 requests failed: the server reset the connection"],
    );
    let (cause, _) = first(&found);
    let busy = |busy| LateCause::NewConnection { busy };
    assert_eq!(cause.what, busy(false), "{:#?}", found.causes);
    assert_eq!(cause.packets, 10);
    let answer = found.late_answer();
    assert!(
        answer.ends_with("Of this excess delay, 100 % arose in the server, 100 % because it had ended connections and new ones had to be made."),
        "{answer}"
    );
    let evidence = cause.evidence.join("; ");
    assert!(
        evidence.ends_with("10 requests failed (the server reset the connection)"),
        "{evidence}"
    );
    let lost = found.some_lost_answer();
    assert!(
        lost.ends_with(": 10 requests failed (the server reset the connection)."),
        "{lost}"
    );
    // One that is never answered keeps its connection.
    let found = renewed(Outcome::Lost, &[]);
    assert_eq!(first(&found).0.what, busy(true), "{:#?}", found.causes);
}

#[test]
fn why_some_requests_were_lost_is_said_where_others_were_answered() {
    let lost = |world: Served| {
        let found = Served {
            ends: Some(Outcome::Lost),
            ..world
        };
        found.explained().some_lost_answer()
    };
    let said = lost(Served {
        acknowledges: true,
        ..Served::default()
    });
    assert_eq!(
        said,
        "10 of 240 packets and handshakes were lost (4.2 %), the largest share in probe ask (5.0 %): all 10 requests were \
         acknowledged, 10.0 ms after being sent (median), so that they arrived: the server did not answer them, or its replies were \
         lost on the way back."
    );
    // The queue may have dropped their replies.
    let dropped = "20 packets were dropped at s2→s1: the buffer was full";
    let drops = |acknowledges| Served {
        acknowledges,
        warnings: vec![dropped.to_owned()],
        ..Served::default()
    };
    let queue = "the queue of s2→s1 dropped packets (the buffer was full)";
    let both = format!("{}; {queue}.", said.trim_end_matches('.'));
    assert_eq!(lost(drops(true)), both);
    assert!(lost(drops(false)).contains(queue));
    // They did not arrive.
    let said = lost(Served::default());
    assert!(said.ends_with("in probe ask (5.0 %)."), "{said}");
    let said = lost(Served {
        is_dns: true,
        rejected: 10,
        ..Served::default()
    });
    assert_eq!(
        said,
        "10 of 200 packets were lost (5.0 %): 10 packets that came were not taken for replies (malformed, or to another question)."
    );
}

/// A connection for each request is no advice where there is none at all.
#[test]
fn questions_by_udp_are_to_be_asked_by_tcp() {
    let late = |is_dns| {
        let world = Served {
            is_dns,
            // All that are under way together are late.
            network_holds: 90 * MILLISECOND,
            ..Served::default()
        };
        let found = world.explained();
        let unclear = found.causes.iter();
        let mut unclear = unclear.filter(|cause| matches!(cause.what, LateCause::Unclear { .. }));
        unclear.next().map(|cause| cause.remedy.clone())
    };
    let remedy = late(true).unwrap();
    assert!(
        remedy.contains("`--transport tcp`") && !remedy.contains("--fresh"),
        "{remedy}"
    );
}
