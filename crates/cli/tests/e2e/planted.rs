//! A delay of known length is planted; it shows in its own stage, to 5 %, and in no other.
//!
//! Each delay is planted several times in a run, and the medians count: what else this machine does
//! in the meantime may spoil one of them. "No other" is to the same 5 % of the planted length, against
//! what that stage is in the run's other records.

use crate::harness::forwarder::{Forwarder, delays};
use crate::harness::netns::{B4, Pair};
use crate::harness::process::{
    Process, Reflector, Stream, allowed, before_others, measure, measure_by, ping,
};
use crate::harness::run::{Record, Run};
use crate::harness::stages::stages;
use crate::harness::{in_one_of_three, median};
use crate::or_skip;
use delaylab_kernel::clock;
use delaylab_model::{MILLISECOND, SECOND};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;

/// Delays planted in a run, and the stage in which they belong.
struct Planted {
    stage: &'static str,
    /// ns by packet.
    lengths: BTreeMap<u64, i64>,
}

impl Planted {
    fn assert_found(&self, run: &Run, what: &str) {
        let (with, without): (Vec<&Record>, Vec<&Record>) = run
            .records
            .iter()
            .partition(|record| self.lengths.contains_key(&record.seq));
        assert_eq!(with.len(), self.lengths.len(), "{what}: all are recorded");
        let typical = typical(&without);
        let bound = median(self.lengths.values().copied().collect()) / 20;
        for (stage, &typical) in &typical {
            let errors: Vec<i64> = with
                .iter()
                .map(|record| self.error(record, stage, typical))
                .collect();
            let error = median(errors.iter().map(|error| error.abs()).collect());
            assert!(
                error <= bound,
                "{what}: {stage} is wrong by {error} ns, bound {bound}; each: {errors:?}; planted: {:?}",
                self.lengths
            );
        }
    }

    /// Where the delay was planted: stage − planted. Elsewhere: how far it is from the usual.
    fn error(&self, record: &Record, stage: &str, typical: i64) -> i64 {
        let stages = stages(record);
        let found = stages
            .get(stage)
            .unwrap_or_else(|| panic!("seq {} has no {stage}: {stages:?}", record.seq));
        let expected = if stage == self.stage {
            self.lengths[&record.seq]
        } else {
            typical
        };
        found - expected
    }
}

/// Medians of the stages of records that have every stamp that the run has.
fn typical(records: &[&Record]) -> BTreeMap<String, i64> {
    let each: Vec<_> = records.iter().map(|record| stages(record)).collect();
    let most = each.iter().map(BTreeMap::len).max().unwrap();
    let whole: Vec<_> = each.iter().filter(|stages| stages.len() == most).collect();
    let names = whole[0].keys().cloned();
    names
        .map(|name| {
            let values = whole.iter().map(|stages| stages[&name]).collect();
            (name, median(values))
        })
        .collect()
}

const INTERVAL: i64 = 300 * MILLISECOND;
const PACKETS: u64 = 14;

fn on_grid(method: &str, port: u16) -> Stream {
    let words = format!("127.0.0.1 --method {method} --port {port} -i 300ms -c {PACKETS}");
    Stream::start(None, &words)
}

/// Every other packet from the fourth on, and when it is due: the record of the first comes once the
/// second was answered.
fn slots(stream: &mut Stream) -> impl Iterator<Item = (u64, i64)> + use<> {
    let start = stream.next_record().t_intended_ns;
    (3..PACKETS - 1)
        .step_by(2)
        .map(move |seq| (seq, start + INTERVAL * i64::try_from(seq).unwrap()))
}

/// Stops a process between the two times. Returns the time when it could go on.
fn stop(process: &Process, from: i64, to: i64) -> i64 {
    assert!(clock::monotonic() < from, "the test itself is too late");
    clock::sleep_until(from).unwrap();
    process.signal(Signal::SIGSTOP);
    clock::sleep_until(to).unwrap();
    process.signal(Signal::SIGCONT)
}

fn for_each_at_once(methods: &[&str], test: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for method in methods {
            let test = &test;
            scope.spawn(move || test(method));
        }
    });
}

fn path_before(reflector: &Reflector, method: &str, out: i64, back: i64) -> Forwarder {
    let open = if method == "tcp" {
        Forwarder::tcp
    } else {
        Forwarder::udp
    };
    open(reflector.port_of(method), delays(out, back))
}

/// Delays are found to a few hundred microseconds: the machine is theirs alone.
mod alone {
    use super::*;

    #[test]
    fn before_the_send_call() {
        let reflector = Reflector::local();
        for_each_at_once(&allowed(&["icmp", "udp", "tcp", "stamp"]), |method| {
            let mut stream = on_grid(method, reflector.port_of(method));
            let lengths = slots(&mut stream).map(|(seq, due)| {
                let go_on = stop(
                    &stream.process,
                    due - 20 * MILLISECOND,
                    due + 60 * MILLISECOND,
                );
                (seq, go_on - due)
            });
            let planted = Planted {
                stage: "schedule slip",
                lengths: lengths.collect(),
            };
            planted.assert_found(&stream.finish(), method);
        });
    }

    #[test]
    fn in_the_reflectors_user_space() {
        for_each_at_once(&["udp", "tcp", "stamp"], |method| {
            let reflector = Reflector::local();
            let mut stream = on_grid(method, reflector.port_of(method));
            let go_on: BTreeMap<u64, i64> = slots(&mut stream)
                .map(|(seq, due)| {
                    let (from, to) = (due - 20 * MILLISECOND, due + 60 * MILLISECOND);
                    (seq, stop(&reflector.process, from, to))
                })
                .collect();
            let run = stream.finish();
            let arrived = |seq: u64| run.records[usize::try_from(seq).unwrap()].r_rx_ns.unwrap();
            let planted = Planted {
                stage: "reflector",
                lengths: go_on
                    .into_iter()
                    .map(|(seq, at)| (seq, at - arrived(seq)))
                    .collect(),
            };
            planted.assert_found(&run, method);
        });
    }

    #[test]
    fn before_the_reply_is_read() {
        for_each_at_once(&["udp", "tcp", "stamp"], |method| {
            let reflector = Reflector::local();
            let path = path_before(&reflector, method, 50 * MILLISECOND, 50 * MILLISECOND);
            let mut stream = on_grid(method, path.port);
            // Sent at once, answered 100 ms later, read when the prober may go on.
            let go_on: BTreeMap<u64, i64> = slots(&mut stream)
                .map(|(seq, due)| {
                    let (from, to) = (due + 30 * MILLISECOND, due + 200 * MILLISECOND);
                    (seq, stop(&stream.process, from, to))
                })
                .collect();
            let run = stream.finish();
            let arrived = |seq: u64| run.records[usize::try_from(seq).unwrap()].t_rx_ns.unwrap();
            let planted = Planted {
                stage: "receive wake-up",
                lengths: go_on
                    .into_iter()
                    .map(|(seq, at)| (seq, at - arrived(seq)))
                    .collect(),
            };
            planted.assert_found(&run, method);
        });
    }

    /// The same run with and without the delays of the path: the difference is what was planted.
    #[test]
    fn on_the_path_out_and_back() {
        const OUT: i64 = 20 * MILLISECOND;
        const BACK: i64 = 30 * MILLISECOND;
        let reflector = Reflector::local();
        for_each_at_once(&["udp", "tcp", "stamp"], |method| {
            let through = |out, back| {
                let path = path_before(&reflector, method, out, back);
                let words = format!(
                    "127.0.0.1 --method {method} --port {} -i 60ms -c 25",
                    path.port
                );
                let run = measure(None, &words);
                run.assert_all_received(25);
                let clock = &run.document["facts"]["reflector_clock"];
                assert_eq!(
                    clock, "same",
                    "{method}: forward and return can be told apart"
                );
                typical(&run.records.iter().collect::<Vec<_>>())
            };
            let (idle, delayed) = (through(0, 0), through(OUT, BACK));
            for (stage, idle) in idle {
                let planted = match stage.as_str() {
                    "forward path" => OUT,
                    "return path" => BACK,
                    _ => 0,
                };
                let grown = delayed[&stage] - idle;
                let bound = if planted > 0 { planted } else { OUT } / 20;
                assert!(
                    (grown - planted).abs() <= bound,
                    "{method}: {stage} has grown by {grown} ns, planted {planted}, bound {bound}"
                );
            }
        });
    }

    /// A token bucket of one packet before the wire: packet k of a burst waits for k packets.
    #[test]
    fn in_the_senders_queue() {
        const RATE: i64 = 1_000_000;
        const ETHERNET: i64 = 14;
        const SLIP: &str = "schedule slip";
        let pair = or_skip!(Pair::new(1500));
        let _reflector = Reflector::inside_before_others(&pair.b);
        let (ip_size, burst, bursts) = (1000, 8, 6);
        let frame = ip_size + ETHERNET;
        or_skip!(
            pair.a
                .qdisc(&format!("tbf rate {RATE}bit burst {frame}b limit 1000000"))
        );
        for method in ["icmp", "udp", "stamp"] {
            let words = format!(
                "{B4} --method {method} --ip-size {ip_size}B --burst {burst} -i 150ms -c {}",
                burst * bursts
            );
            in_one_of_three(|| {
                // A burst that another program cuts in two is none.
                let run = measure_by(before_others(&ping(Some(&pair.a), &words)));
                run.assert_all_received(burst * bursts);
                // The first burst finds the bucket as the set-up and ARP left it.
                let records = run.records.iter().filter(|record| record.seq >= burst);
                let kth = |k| {
                    records
                        .clone()
                        .filter(move |record| record.seq % burst == k)
                };
                let usual = typical(&kth(0).collect::<Vec<_>>());
                for k in 1..burst {
                    let planted = i64::try_from(k).unwrap() * frame * 8 * SECOND / RATE;
                    let all = kth(k).map(stages);
                    let whole: Vec<_> = all.filter(|it| it.len() == usual.len()).collect();
                    let median_of =
                        |stage: &str| median(whole.iter().map(|stages| stages[stage]).collect());
                    // What the send calls before it take, packet k waits for them and not in the queue. Slow ones take half a
                    // millisecond.
                    let slip = median_of(SLIP) - usual[SLIP];
                    for (stage, usual) in &usual {
                        let found = median_of(stage);
                        let expected = match stage.as_str() {
                            "local queue" => planted - slip,
                            SLIP if slip < planted / 4 => found,
                            _ => *usual,
                        };
                        if (found - expected).abs() > planted / 20 {
                            return Err(format!(
                                "{method}: {stage} of packet {k} is {found} ns, not {expected}"
                            ));
                        }
                    }
                }
                Ok(())
            });
        }
    }
}
