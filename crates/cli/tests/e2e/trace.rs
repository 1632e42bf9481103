//! Paths by class, through routers that the test invents and through real ones.

use crate::harness::netns::Namespace;
use crate::harness::process::{DELAYLAB, Process, Ran, delaylab};
use crate::harness::routers::{AT_TARGET, Answer, OPEN_PORT, Packet, Routers, TARGET};
use crate::{or_skip, skip};
use delaylab_kernel::{clock, namespace};
use delaylab_model::SECOND;
use delaylab_wire::dns;
use delaylab_wire::mpls::Entry;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// `delaylab trace WORDS`.
fn trace(inside: &Namespace, words: &str) -> Ran {
    let mut command = delaylab(Some(inside));
    command.env("COLUMNS", "100").env("LC_ALL", "C.UTF-8");
    Ran::to_end(command.arg("trace").args(words.split_whitespace()))
}

/// The same as a document.
fn traced(inside: &Namespace, words: &str) -> Value {
    let ran = trace(inside, &format!("{words} -n --json"));
    assert_eq!(ran.stderr, "", "{words}");
    serde_json::from_str(&ran.stdout).unwrap()
}

const LABEL: Entry = Entry {
    label: 24_001,
    cos: 5,
    bottom: false,
    ttl: 1,
};
const INNER: Entry = Entry {
    label: 16,
    cos: 5,
    bottom: true,
    ttl: 1,
};

/// Five hops. ef is re-marked on the way to hop 3; cs1 comes by other routers at hops 3 and 4; hop 2 is
/// within an MPLS network; hop 4 says nothing to the others.
fn by_class(old: bool) -> impl Fn(Packet) -> Option<Answer> {
    move |packet| {
        let (ef, cs1) = (packet.is("ef"), packet.is("cs1"));
        let mut answer = match packet.ttl {
            4 if !cs1 => return None,
            3 | 4 if cs1 => packet.answered_by(10 + packet.ttl),
            ttl @ 1..=4 => packet.answered_by(ttl),
            _ => packet.answered_by(AT_TARGET),
        };
        if ef && packet.ttl >= 3 {
            answer.traffic_class = 0;
        }
        if packet.ttl == 2 {
            (answer.labels, answer.old) = (vec![LABEL, INNER], old);
        }
        Some(answer)
    }
}

/// What a path says of a hop: its routers, and the class that they saw.
fn hop(document: &Value, class: usize, ttl: usize) -> Vec<(String, Option<String>)> {
    let routers = &document["paths"][class]["hops"][ttl - 1]["routers"];
    let routers = routers.as_array().unwrap().iter();
    routers
        .map(|router| {
            let seen = router["seen"][0]["class"].as_str();
            let address = router["address"].as_str().unwrap();
            (address.to_owned(), seen.map(str::to_owned))
        })
        .collect()
}

fn kinds(document: &Value) -> Vec<&str> {
    let found = document["findings"].as_array().unwrap().iter();
    found.map(|found| found["kind"].as_str().unwrap()).collect()
}

/// What balances load by flow sees one, whatever the class.
#[test]
fn all_packets_are_of_one_flow() {
    let flows = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&flows);
    let routers = or_skip!(Routers::new(move |packet| {
        seen.lock().unwrap().insert(packet.flow);
        let by = if packet.ttl > 3 {
            AT_TARGET
        } else {
            packet.ttl
        };
        Some(packet.answered_by(by))
    }));
    for method in ["udp", "icmp", "tcp"] {
        let words = format!("{} --method {method} --class be,ef -i 20ms -q 5", TARGET[0]);
        let document = traced(&routers.inside, &words);
        assert_eq!(
            document["sentence"].as_str().unwrap().split(',').next(),
            Some("be and ef take the same path")
        );
        let packets = document["packets"].as_array().unwrap();
        assert!(
            packets
                .iter()
                .all(|packet| packet["round_trip_ns"].is_i64()),
            "{words}"
        );
        let flows = std::mem::take(&mut *flows.lock().unwrap());
        assert_eq!(flows.len(), 1, "{words}: {flows:?}");
    }
}

#[test]
fn people_read_what_is_the_same_once_and_what_differs_beside_it() {
    let routers = or_skip!(Routers::new(by_class(false)));
    let words = format!("{} --class be,ef,cs1 -n -i 20ms -q 2", TARGET[0]);
    let ran = trace(&routers.inside, &words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Figures differ each time, and with them the width of their columns.
    let figure = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let line = |line: &str| {
        let words = line.split_whitespace();
        let words = words.map(|word| if figure(word) { "0.0" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let text: Vec<String> = ran.stdout.lines().map(line).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn ends_that_are_not_the_target_say_so() {
    let routers = or_skip!(Routers::new(|packet| match packet.ttl {
        ttl if ttl >= 3 && packet.is("ef") => Some(Answer {
            refused: true,
            ..packet.answered_by(3)
        }),
        ttl @ ..=3 => Some(packet.answered_by(ttl)),
        _ => None,
    }));
    let words = format!("{} --class be,ef -n -i 20ms -q 2 -U 3", TARGET[0]);
    let ran = trace(&routers.inside, &words);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "be does not reach the target: no hop behind hop 3 answers",
        "ef does not reach the target: hop 3 (10.77.0.3) says that it is prohibited",
    ] {
        assert!(text.contains(said), "{}", ran.stdout);
    }
}

#[test]
fn ecn_that_is_bleached_is_seen() {
    let routers = or_skip!(Routers::new(|packet| {
        let by = if packet.ttl > 3 {
            AT_TARGET
        } else {
            packet.ttl
        };
        let mut answer = packet.answered_by(by);
        if packet.ttl > 1 {
            answer.traffic_class &= !3;
        }
        Some(answer)
    }));
    let words = format!("{} --ecn ect0 -i 20ms -q 2", TARGET[1]);
    let document = traced(&routers.inside, &words);
    assert_eq!(kinds(&document), ["ecn-changed"]);
    let text = document["findings"][0]["sentence"].as_str().unwrap();
    assert_eq!(
        text,
        "the ECN bits of be become not-ect instead of ect0 between hop 1 and 2"
    );
}

#[test]
fn a_stop_shows_what_is_known_by_then() {
    let (asks, asked) = mpsc::channel();
    let routers = or_skip!(Routers::new(move |packet| {
        let by = if packet.ttl > 3 {
            AT_TARGET
        } else {
            packet.ttl
        };
        let _ = asks.send(packet.ttl);
        Some(packet.answered_by(by))
    }));
    let mut command = delaylab(Some(&routers.inside));
    command.args(["trace", TARGET[0], "-n", "-q", "1000", "--json"]);
    let mut process = Process::start(command.stdout(Stdio::piped()));
    // A second after its first answer the target is asked again.
    let mut at_target = 0;
    while at_target < 2 {
        let ttl = asked.recv_timeout(Duration::from_secs(60));
        at_target += u32::from(ttl.expect("the target is asked twice") == 4);
    }
    process.signal(Signal::SIGINT);
    let stdout = process.child.stdout.take().unwrap();
    let document: Value = serde_json::from_reader(stdout).unwrap();
    assert_eq!(document["stopped"], true);
    assert_eq!(document["paths"][0]["end"], "target");
    assert!(process.child.wait().unwrap().success());
}

/// Root without its privileges.
#[test]
fn without_raw_sockets_it_says_what_to_do() {
    let routers = or_skip!(Routers::new(|_| None));
    let mut command = routers.inside.command("setpriv");
    command.args("--reuid 65534 --regid 65534 --clear-groups".split(' '));
    command.arg(DELAYLAB).args(["trace", TARGET[0]]);
    let ran = Ran::to_end(&mut command);
    if ran.code > 4 {
        skip!("user 65534 cannot run the binary: {}", ran.stderr.trim());
    }
    insta::assert_snapshot!(format!("{}{}= {}", ran.stdout, ran.stderr, ran.code));
}

#[test]
fn what_cannot_be_traced_is_refused() {
    for (words, why) in [
        ("192.0.2.1 -i 0.2", "write `0.2s` if that is what you mean"),
        ("192.0.2.1 --class be,gold", "`gold` is not a traffic class"),
        ("192.0.2.1 --class ef,46", "ef is there twice"),
        (
            "127.0.0.1 --method stamp",
            "possible values: icmp, udp, tcp",
        ),
        ("127.0.0.1 --method tcp -s 9B", "a SYN carries no payload"),
        ("127.0.0.1 -s 3B", "6 B at least"),
        (
            "127.0.0.1 -f 9 -m 8",
            "the first hop (9) is behind the last (8)",
        ),
        ("127.0.0.1 -q 9999", "65535"),
        ("224.0.0.1", "group address"),
        ("https://127.0.0.1/ -p 443", "the URL says the port"),
        (
            "https://127.0.0.1/ --method udp",
            "is asked by http, not by udp",
        ),
        ("ftp://127.0.0.1/", "`ftp` is not known"),
        ("127.0.0.1 --question a.b", "they go with --method dns"),
        (
            "127.0.0.1 --method dns --question a..b",
            "two dots in a row",
        ),
        (
            "127.0.0.1:80 --method tcp-connect -s 9B",
            "has the size that it needs",
        ),
        (
            "127.0.0.1:80 --method tcp-connect -w 2s",
            "Use -w 1s at most",
        ),
        (
            "127.0.0.1:80 --method http --ecn ect0",
            "TCP uses the ECN bits itself",
        ),
    ] {
        let mut command = delaylab(None);
        let ran = Ran::to_end(command.arg("trace").args(words.split(' ')));
        let privileges = ran.code == 3 && ran.stderr.contains("CAP_NET_RAW");
        assert!(
            privileges || ran.code == 2 && ran.stderr.contains(why),
            "{words}: {}",
            ran.stderr
        );
    }
}

/// a – r1 – r2 – b, and a – r1 – r3 – b for cs1: real kernels. r2 clears ef's mark.
struct Chain {
    a: Namespace,
    routers: [Namespace; 3],
    b: Namespace,
}

impl Chain {
    fn new() -> Result<Self, String> {
        let [a, r1, r2, r3, b] = ['a', 'r', 's', 't', 'b'].map(Namespace::new);
        let (a, r1, r2, r3, b) = (a?, r1?, r2?, r3?, b?);
        for (net, left, right) in [
            (1, &a, &r1),
            (2, &r1, &r2),
            (3, &r1, &r3),
            (4, &r2, &b),
            (5, &r3, &b),
        ] {
            left.ip(&format!(
                "link add net{net} type veth peer name net{net} netns {}",
                right.name
            ))?;
            for (end, last) in [(left, 1), (right, 2)] {
                end.ip(&format!("addr add 10.78.{net}.{last}/24 dev net{net}"))?;
                end.ip(&format!(
                    "addr add fd00:78:{net}::{last}/64 dev net{net} nodad"
                ))?;
                end.ip(&format!("link set net{net} up"))?;
                end.ip("link set lo up")?;
            }
        }
        let sysctl =
            "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0";
        for router in [&r1, &r2, &r3, &b] {
            run(router, "sysctl", &format!("-qw {sysctl}"))?;
        }
        for (v, net) in [("-4", "10.78."), ("-6", "fd00:78:")] {
            let at = |net_of: u8, last: u8| match v {
                "-4" => format!("{net}{net_of}.{last}"),
                _ => format!("{net}{net_of}::{last}"),
            };
            let all = if v == "-4" {
                "10.78.0.0/16"
            } else {
                "fd00:78::/32"
            };
            a.ip(&format!("{v} route add {all} via {}", at(1, 2)))?;
            r1.ip(&format!("{v} route add {all} via {}", at(2, 2)))?;
            r1.ip(&format!("{v} route add {all} via {} table 100", at(3, 2)))?;
            r1.ip(&format!("{v} rule add fwmark 1 table 100"))?;
            for (router, back, on) in [(&r2, at(2, 1), at(4, 2)), (&r3, at(3, 1), at(5, 2))] {
                router.ip(&format!("{v} route add {all} via {on}"))?;
                let home = if v == "-4" {
                    format!("{net}1.0/24")
                } else {
                    format!("{net}1::/64")
                };
                router.ip(&format!("{v} route add {home} via {back}"))?;
            }
            b.ip(&format!("{v} route add {all} via {}", at(4, 1)))?;
        }
        // What comes back keeps its class as well, but not its way.
        let mark = "add table inet t; add chain inet t p { type filter hook prerouting priority mangle; }; \
                    add rule inet t p iifname net1 ip dscp cs1 meta mark set 1; \
                    add rule inet t p iifname net1 ip6 dscp cs1 meta mark set 1";
        run(&r1, "nft", mark)?;
        let clear = "add table inet t; add chain inet t f { type filter hook forward priority mangle; }; \
                     add rule inet t f ip dscp ef ip dscp set cs0; add rule inet t f ip6 dscp ef ip6 dscp set cs0";
        run(&r2, "nft", clear)?;
        Ok(Self {
            a,
            routers: [r1, r2, r3],
            b,
        })
    }
}

fn run(inside: &Namespace, program: &str, words: &str) -> Result<(), String> {
    let done = inside
        .command(program)
        .args(words.split_whitespace())
        .output();
    let done = done.map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("`{program} {words}` failed: {}", said.trim()))
}

/// The ports where [`Servers`] are.
const WEB: u16 = 8080;
const NAMES: u16 = 53;

/// A web server that takes connections and no more, and a name server, of both families.
struct Servers {
    stop: Arc<AtomicBool>,
    names: Option<JoinHandle<()>>,
    _web: TcpListener,
}

impl Servers {
    fn new(inside: &Namespace) -> Self {
        let name = inside.name.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (made, making) = mpsc::channel();
        let names = std::thread::spawn(move || {
            let namespace = namespace::Namespace::open(&name).unwrap();
            namespace.enter().unwrap();
            made.send(TcpListener::bind(("::", WEB)).unwrap()).unwrap();
            let names = UdpSocket::bind(("::", NAMES)).unwrap();
            names
                .set_read_timeout(Some(Duration::from_millis(50)))
                .unwrap();
            let mut buffer = [0; 512];
            while !told.load(Ordering::Relaxed) {
                if let Ok((length, from)) = names.recv_from(&mut buffer)
                    && let Some(reply) = dns::reply(&buffer[..length], Ipv4Addr::LOCALHOST, 60, 0)
                {
                    names.send_to(&reply, from).unwrap();
                }
            }
        });
        Self {
            _web: making.recv().unwrap(),
            stop,
            names: Some(names),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(names) = self.names.take() {
            let _ = names.join();
        }
    }
}

/// What a path says of its end, and by whom the hops before it answer.
fn ends_with(document: &Value) -> (Vec<String>, String) {
    let hops = document["paths"][0]["hops"].as_array().unwrap();
    let router = |hop: &Value| hop["routers"][0].clone();
    let addresses = hops
        .iter()
        .map(|hop| match router(hop)["address"].as_str() {
            Some(address) => address.to_owned(),
            None => "-".to_owned(),
        });
    let said = router(hops.last().unwrap())["said"].to_string();
    (addresses.collect(), said.trim_matches('"').to_owned())
}

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    #[test]
    fn every_method_and_family_sees_what_happens_to_classes() {
        for old in [false, true] {
            let routers = or_skip!(Routers::new(by_class(old)));
            for (target, net) in [(TARGET[0], "10.77.0."), (TARGET[1], "fd00:77::")] {
                for method in ["udp", "icmp", "tcp --port 443", "tcp --port 80"] {
                    let words = format!(
                        "{target} --method {method} --class be,ef,cs1 -i 20ms -q 2 -w 300ms"
                    );
                    let document = traced(&routers.inside, &words);
                    let at = |class, ttl| hop(&document, class, ttl);
                    let one =
                        |by: u8, seen: &str| vec![(format!("{net}{by}"), Some(seen.to_owned()))];
                    assert_eq!(at(0, 1), one(1, "be"), "{words}");
                    assert_eq!(at(1, 2), one(2, "ef"), "{words}");
                    assert_eq!(at(1, 3), one(3, "be"), "{words}");
                    assert_eq!(at(2, 3), one(13, "cs1"), "{words}");
                    assert_eq!((at(0, 4), at(2, 4)), (vec![], one(14, "cs1")), "{words}");
                    let stack =
                        &document["paths"][1]["hops"][1]["routers"][0]["labels"][0]["stack"];
                    let told = |at: usize, name: &str| stack[at][name].clone();
                    assert_eq!(
                        (told(0, "label"), told(0, "cos"), told(0, "bottom")),
                        (24_001.into(), 5.into(), false.into()),
                        "{words}"
                    );
                    assert_eq!(
                        (told(1, "label"), told(1, "ttl"), told(1, "bottom")),
                        (16.into(), 1.into(), true.into())
                    );
                    // The target quotes datagrams alone.
                    let said = document["paths"][1]["hops"][4]["routers"][0]["said"]
                        .as_str()
                        .unwrap();
                    match method {
                        "udp" => assert_eq!((said, at(1, 5)), ("port-unreachable", one(99, "be"))),
                        "icmp" => assert_eq!(said, "echo-reply"),
                        _ if method.ends_with(&OPEN_PORT.to_string()) => assert_eq!(said, "open"),
                        _ => assert_eq!(said, "closed"),
                    }
                    assert_eq!(kinds(&document), ["re-marked", "parts"], "{words}");
                    assert_eq!(document["findings"][0]["after"], 2, "{words}");
                }
            }
        }
    }

    /// As Linux: six answers at once, then one a second.
    #[test]
    fn a_routers_limiter_is_not_taken_for_loss() {
        let limited = || {
            let mut credit = (0, 6 * SECOND);
            move |packet: Packet| {
                if packet.ttl != 2 {
                    let by = if packet.ttl > 3 {
                        AT_TARGET
                    } else {
                        packet.ttl
                    };
                    return Some(packet.answered_by(by));
                }
                let now = clock::monotonic();
                let full = if credit.0 == 0 {
                    SECOND * 6
                } else {
                    credit.1 + now - credit.0
                };
                credit = (now, full.min(6 * SECOND));
                (credit.1 >= SECOND).then(|| {
                    credit.1 -= SECOND;
                    packet.answered_by(2)
                })
            }
        };
        // Ten packets a hop: one more than the limiter would let pass of a burst.
        let words = format!("{} --class be,ef -q 5", TARGET[0]);
        let routers = or_skip!(Routers::new(limited()));
        let document = traced(&routers.inside, &words);
        assert_eq!(kinds(&document), Vec::<&str>::new(), "{document:#}");
        // At a rate above its limit, the output says that its silence is no loss; of a few packets that is not known.
        let routers = or_skip!(Routers::new(limited()));
        let words = format!("{} --class be,ef -q 20 -i 10ms -w 200ms", TARGET[0]);
        let ran = trace(&routers.inside, &words);
        let said = "that is a limit on answers, not loss";
        let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(said), "{}", ran.stdout);
        assert_eq!(ran.code, 0);
    }

    /// Two routers and a server behind them, asked as any user may ask them.
    #[test]
    fn the_path_to_a_server_is_found_by_its_own_protocol_and_without_privilege() {
        let chain = or_skip!(Chain::new());
        let _servers = Servers::new(&chain.b);
        let reject = "add table inet r; add chain inet r f { type filter hook forward priority filter; }; \
                      add rule inet r f tcp dport 81 reject with icmpx type admin-prohibited; \
                      add rule inet r f tcp dport 82 drop; add rule inet r f udp dport 54 reject with icmpx type admin-prohibited";
        or_skip!(run(&chain.routers[1], "nft", reject));
        // Traces follow each other: routers that limit their answers would have few left for the later ones.
        for each in chain.routers.iter().chain([&chain.b]) {
            let unlimited = "-qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0";
            or_skip!(run(each, "sysctl", unlimited));
        }
        let once = |words: &str| -> Option<(Value, i32)> {
            let mut command = chain.a.command("setpriv");
            command.args("--reuid 65534 --regid 65534 --clear-groups".split(' '));
            command
                .arg(DELAYLAB)
                .args(["trace", "-n", "--json", "-q", "2", "-i", "50ms"]);
            let ran = Ran::to_end(command.args(words.split(' ')));
            (ran.code <= 4).then(|| {
                assert_eq!(ran.stderr, "", "{words}");
                (serde_json::from_str(&ran.stdout).unwrap(), ran.code)
            })
        };
        // Of two handshakes one may be too late on a machine that has much to do: then what is said is the loss.
        let asked = |words: &str| {
            let loses = |(document, _): &(Value, i32)| {
                document["sentence"]
                    .as_str()
                    .is_some_and(|told| told.contains(" loses "))
            };
            let tries = std::iter::repeat_with(|| once(words)).take(3);
            let mut tries = tries.skip_while(|tried| tried.as_ref().is_some_and(loses));
            tries.next().unwrap_or_else(|| once(words))
        };
        let [v4, v6] = ["10.78.", "fd00:78:"];
        for (target, url, net, colons) in [
            ("10.78.4.2", "10.78.4.2", v4, "."),
            ("fd00:78:4::2", "[fd00:78:4::2]", v6, "::"),
        ] {
            let at = |hops: &[u8]| -> Vec<String> {
                let hops = hops.iter();
                hops.map(|hop| format!("{net}{hop}{colons}2")).collect()
            };
            for (words, hops, said, verdict) in [
                (
                    format!("http://{url}:{WEB}/page"),
                    &[1, 2, 4][..],
                    "open",
                    "The target is 3 hops away; port 8080 is open (SYN-ACK).",
                ),
                (
                    format!("https://{url}/"),
                    &[1, 2, 4],
                    "closed",
                    "The target is 3 hops away; nothing listens on port 443 (RST).",
                ),
                (
                    format!("{url}:{WEB} --method tcp-connect"),
                    &[1, 2, 4],
                    "open",
                    "The target is 3 hops away; port 8080 is open (SYN-ACK).",
                ),
                (
                    format!("dns://{url}/example.org"),
                    &[1, 2, 4],
                    "answer",
                    "The target is 3 hops away; the name server answers.",
                ),
                (
                    format!("{target} --method dns -p 55"),
                    &[1, 2, 4],
                    "port-unreachable",
                    "The target is 3 hops away; nothing listens on UDP port 55 (port unreachable).",
                ),
                (
                    format!("{target} --method dns -p 54"),
                    &[1, 2, 2],
                    "prohibited",
                    "says that it is prohibited.",
                ),
                (
                    format!("{target} --method http -p 81"),
                    &[1, 2, 2],
                    "prohibited",
                    "says that it is prohibited.",
                ),
                (
                    format!("tls://{url}:82/example.org -U 1 -w 300ms"),
                    &[1, 2],
                    "ttl-exceeded",
                    "be does not reach the target: no hop behind hop 2 answers.",
                ),
            ] {
                let Some((document, code)) = asked(&words) else {
                    skip!("user 65534 cannot run the binary");
                };
                let (addresses, last) = ends_with(&document);
                assert_eq!((addresses, last.as_str()), (at(hops), said), "{words}");
                let told = document["sentence"].as_str().unwrap();
                assert!(told.ends_with(verdict), "{words}: {told}");
                assert_eq!(code == 0, verdict.starts_with("The target"), "{words}");
                let packets = document["packets"].as_array().unwrap();
                let answered = packets.iter().filter(|packet| packet["said"].is_string());
                let trip = |packet: &Value| packet["round_trip_ns"].as_i64().unwrap();
                assert!(
                    answered
                        .clone()
                        .all(|packet| (1..SECOND).contains(&trip(packet)))
                );
                // ICMP errors and answers of UDP say how far they have come.
                let tells = |packet: &&Value| packet["said"] == "ttl-exceeded";
                assert!(
                    answered
                        .filter(tells)
                        .all(|packet| packet["reply_ttl"].is_u64())
                );
            }
        }
    }

    /// What balances load by flow sees one flow here, too.
    #[test]
    fn handshakes_and_questions_are_of_one_flow() {
        let flows = Arc::new(Mutex::new(BTreeSet::new()));
        let seen = Arc::clone(&flows);
        let routers = or_skip!(Routers::new(move |packet| {
            seen.lock().unwrap().insert((packet.class, packet.flow));
            let by = if packet.ttl > 3 {
                AT_TARGET
            } else {
                packet.ttl
            };
            Some(packet.answered_by(by))
        }));
        for target in [TARGET[0], TARGET[1]] {
            for method in ["tcp-connect -p 443", "http", "dns"] {
                let words = format!("{target} --method {method} --class be,ef -i 20ms -q 5");
                let document = traced(&routers.inside, &words);
                let verdict = document["sentence"].as_str().unwrap();
                assert!(
                    verdict.starts_with("be and ef take the same path, 4 hops"),
                    "{words}: {verdict}"
                );
                let flows = std::mem::take(&mut *flows.lock().unwrap());
                let ports: BTreeSet<_> = flows.iter().map(|(_, flow)| flow).collect();
                assert_eq!((flows.len(), ports.len()), (2, 1), "{words}: {flows:?}");
            }
        }
    }

    #[test]
    fn real_routers_say_the_same() {
        let chain = or_skip!(Chain::new());
        for (target, at) in [("10.78.4.2", "10.78."), ("fd00:78:4::2", "fd00:78:")] {
            for method in ["udp", "icmp", "tcp"] {
                let words = format!("{target} --method {method} --class be,ef,cs1 -q 2");
                let document = traced(&chain.a, &words);
                let address = |net: u8| {
                    if at == "10.78." {
                        format!("{at}{net}.2")
                    } else {
                        format!("{at}{net}::2")
                    }
                };
                let one = |net: u8, seen: &str| vec![(address(net), Some(seen.to_owned()))];
                for class in 0..3 {
                    assert_eq!(hop(&document, class, 1).len(), 1, "{document:#}");
                }
                assert_eq!(hop(&document, 0, 2), one(2, "be"), "{words}");
                assert_eq!(hop(&document, 1, 2), one(2, "ef"), "{words}");
                assert_eq!(hop(&document, 2, 2), one(3, "cs1"), "{words}");
                let expected: &[&str] = if method == "udp" {
                    assert_eq!(hop(&document, 1, 3), one(4, "be"), "{words}");
                    &["re-marked", "parts"]
                } else {
                    &["parts"]
                };
                assert_eq!(
                    kinds(&document),
                    expected,
                    "{words}: {}",
                    document["sentence"]
                );
            }
        }
    }

    /// From the first answer on the kernel knows the path's MTU; the hops are asked all the same, also by a trace
    /// that begins so.
    #[test]
    fn packets_too_big_for_a_later_link_say_which_hop_refuses_them() {
        let chain = or_skip!(Chain::new());
        for end in [&chain.routers[1], &chain.b] {
            or_skip!(end.ip("link set net4 mtu 1400"));
        }
        // The kernel's addresses of new links come into use one by one.
        let arrives = || trace(&chain.a, "fd00:78:4::2 -n -q 1 -w 200ms").code == 0;
        assert!(
            std::iter::repeat_with(arrives)
                .take(20)
                .any(|arrived| arrived)
        );
        for _ in 0..2 {
            let words = "fd00:78:4::2 -s 1450B -n -q 2 -i 100ms -w 500ms";
            let ran = trace(&chain.a, words);
            let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            let said = "be does not reach the target: hop 2 (fd00:78:2::2) says that packets are too big: 1400 B would fit.";
            assert!(shown.contains(said), "{}{}", ran.stdout, ran.stderr);
            assert!(shown.contains("1 fd00:78:1::2"), "{}", ran.stdout);
            assert_eq!(ran.code, 1);
        }
    }
}
