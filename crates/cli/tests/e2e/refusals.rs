//! ICMP errors instead of answers: each kind is named with its sender, and its packet is lost.

use crate::harness::netns::Namespace;
use crate::harness::process::{Ran, delaylab};
use crate::or_skip;
use serde_json::Value;
use std::process::Command;

/// A prober, a router whose second link takes 1400 B, and a target behind it.
struct Routed {
    prober: Namespace,
    router: Namespace,
    target: Namespace,
}

const TARGET: [&str; 2] = ["10.234.2.3", "fd00:234:2::3"];
const ROUTER: [&str; 2] = ["10.234.1.2", "fd00:234:1::2"];
/// Networks that the router has no route to, and hosts that are not on its second link.
const NOWHERE: [&str; 2] = ["198.51.100.1", "2001:db8::1"];
const NOBODY: [&str; 2] = ["10.234.2.9", "fd00:234:2::9"];

impl Routed {
    fn new() -> Result<Self, String> {
        let routed = Self {
            prober: Namespace::new('p')?,
            router: Namespace::new('r')?,
            target: Namespace::new('t')?,
        };
        let name = |end: &Namespace| end.name.clone();
        let (p, r, t) = (
            name(&routed.prober),
            name(&routed.router),
            name(&routed.target),
        );
        routed.prober.ip(&format!(
            "link add side netns {p} type veth peer name near netns {r}"
        ))?;
        routed.target.ip(&format!(
            "link add side mtu 1400 netns {t} type veth peer name far mtu 1400 netns {r}"
        ))?;
        for (end, link, net, host) in [
            (&routed.prober, "side", 1, 1),
            (&routed.router, "near", 1, 2),
            (&routed.router, "far", 2, 2),
            (&routed.target, "side", 2, 3),
        ] {
            end.ip(&format!("addr add 10.234.{net}.{host}/24 dev {link}"))?;
            end.ip(&format!(
                "addr add fd00:234:{net}::{host}/64 dev {link} nodad"
            ))?;
            end.ip("link set lo up")?;
            end.ip(&format!("link set {link} up"))?;
        }
        for (end, net) in [(&routed.prober, 1), (&routed.target, 2)] {
            end.ip(&format!("route add default via 10.234.{net}.2"))?;
            end.ip(&format!("-6 route add default via fd00:234:{net}::2"))?;
        }
        let settings = [
            "net.ipv4.ip_forward=1",
            "net.ipv6.conf.all.forwarding=1",
            // Every error is sent, and a missing neighbour is known soon.
            "net.ipv4.icmp_ratelimit=0",
            "net.ipv6.icmp.ratelimit=0",
            "net.ipv4.neigh.far.retrans_time_ms=50",
            "net.ipv6.neigh.far.retrans_time_ms=50",
        ];
        call(routed.router.command("sysctl").arg("-qw").args(settings))?;
        Ok(routed)
    }

    /// Lets the router refuse what is for the target with these words of nft.
    fn reject(&self, v4: &str, v6: &str) -> Result<(), String> {
        let rules = format!(
            "table inet refuse {{\nchain gate {{\ntype filter hook forward priority 0\n\
             ip daddr {} reject {v4}\nip6 daddr {} reject {v6}\n}}\n}}",
            TARGET[0], TARGET[1]
        );
        call(self.router.command("nft").arg(rules))
    }

    fn ping(&self, words: &str) -> Ran {
        let mut command = delaylab(Some(&self.prober));
        command.arg("ping").args(words.split_whitespace());
        Ran::to_end(&mut command)
    }

    /// Pings with `words` and holds the document and the text against what is expected.
    fn refuses(&self, target: &str, words: &str, expected: &Expected<'_>) {
        let words = format!("{target} -c 1 -W 4s {words}");
        let ran = self.ping(&format!("{words} --json"));
        assert_eq!(ran.code, 1, "{words}: {}", ran.stderr);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let stats = &document["stats"];
        let counts = ["sent", "received", "lost", "refused"].map(|name| stats[name].as_u64());
        assert_eq!(counts, [Some(1), Some(0), Some(1), Some(1)], "{words}");
        let packet = &document["round_trips"][0];
        for of in [packet, &stats["refusals"][0]] {
            assert_eq!(of["icmp"], expected.icmp, "{words}");
            let codes = [&of["icmp_type"], &of["icmp_code"]].map(Value::as_u64);
            assert_eq!(codes, expected.code.map(Some), "{words}");
            assert_eq!(of["path_mtu"].as_u64(), expected.mtu, "{words}");
        }
        assert_eq!(packet["refused_by"], expected.from, "{words}");
        let text = self.ping(&words).stdout;
        let line = format!("seq=0 {}, from {}", expected.text, expected.from);
        let count = format!("100 % lost, 1 ICMP error ({}, from", expected.text);
        let text = text.replace('\n', " ");
        assert!(
            text.contains(&line) && text.contains(&count),
            "{words}: {text}"
        );
    }
}

struct Expected<'a> {
    icmp: &'a str,
    code: [u64; 2],
    from: &'a str,
    mtu: Option<u64>,
    text: &'a str,
}

fn call(command: &mut Command) -> Result<(), String> {
    let ran = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if ran.status.success() {
        Ok(())
    } else {
        Err(said)
    }
}

#[test]
fn each_error_is_named_with_who_sent_it() {
    let routed = or_skip!(Routed::new());
    let [ttl, no_route, nobody] = [
        ("ttl_exceeded", [[11, 0], [3, 0]], "TTL exceeded"),
        ("no_route", [[3, 0], [1, 0]], "no route to the network"),
        ("host_unreachable", [[3, 1], [1, 3]], "host unreachable"),
    ];
    for (at, from) in ROUTER.into_iter().enumerate() {
        // In this order: after any other error a kernel waits for a second before it says that there is no route.
        for (target, words, (icmp, codes, text)) in [
            (NOWHERE[at], "", no_route),
            (NOBODY[at], "", nobody),
            (TARGET[at], "-t 1", ttl),
        ] {
            let code = codes[at];
            let mtu = None;
            routed.refuses(
                target,
                words,
                &Expected {
                    icmp,
                    code,
                    from,
                    mtu,
                    text,
                },
            );
        }
    }
}

#[test]
fn a_firewall_is_not_the_target() {
    let routed = or_skip!(Routed::new());
    or_skip!(routed.reject("with icmp admin-prohibited", "with icmpv6 admin-prohibited"));
    for (at, from) in ROUTER.into_iter().enumerate() {
        let expected = Expected {
            icmp: "prohibited",
            code: [[3, 13], [1, 1]][at],
            from,
            mtu: None,
            text: "administratively prohibited",
        };
        routed.refuses(TARGET[at], "", &expected);
        // Sessions say so, too, before a single packet was probed.
        for method in ["udp", "stamp"] {
            let ran = routed.ping(&format!("{} --method {method} -c 1", TARGET[at]));
            let said = format!("{from} says administratively prohibited");
            assert!(
                ran.code == 1 && ran.stderr.contains(&said),
                "{method}: {}",
                ran.stderr
            );
        }
    }
}

/// nft's own default says "port unreachable", in the router's name: that is not a host where nothing listens.
#[test]
fn a_port_is_refused_by_its_host_or_on_the_way() {
    let routed = or_skip!(Routed::new());
    let said = |method: &str| {
        routed
            .ping(&format!("{} --method {method} -c 1", TARGET[0]))
            .stderr
    };
    assert!(
        said("udp").contains("nothing listens on this udp port"),
        "{}",
        said("udp")
    );
    or_skip!(routed.reject("", ""));
    for method in ["udp", "tcp"] {
        let said = said(method);
        assert!(said.contains("10.234.1.2 says port unreachable"), "{said}");
    }
    let http = routed.ping(&format!("http://{}/ -c 1", TARGET[0])).stderr;
    let who = "10.234.1.2 says port unreachable. `delaylab trace 10.234.2.3` shows";
    assert!(http.contains(who), "{http}");
    for (at, from) in ROUTER.into_iter().enumerate() {
        let expected = Expected {
            icmp: "port_unreachable",
            code: [[3, 3], [1, 4]][at],
            from,
            mtu: None,
            text: "port unreachable",
        };
        routed.refuses(TARGET[at], "", &expected);
    }
}

#[test]
fn what_would_have_fit_is_said() {
    let routed = or_skip!(Routed::new());
    for (at, from) in ROUTER.into_iter().enumerate() {
        let ran = routed.ping(&format!(
            "{} -c 3 -i 60ms -M do --ip-size 1450B",
            TARGET[at]
        ));
        let text = &ran.stdout;
        assert_eq!(ran.code, 1, "{text}{}", ran.stderr);
        let first = format!("seq=0 fragmentation needed: MTU 1400 B, from {from}");
        // An IPv6 socket goes on as it was: only the next one that is opened knows.
        let later = ["seq=2 not sent: longer than the path MTU of 1400 B", &first][at];
        let path = "path MTU    1400 B";
        for expected in [&first, later, path] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
    // TCP and the others learn who refuses them while they connect.
    let ran = routed.ping(&format!("{} --method tcp -t 1 -c 1", TARGET[0]));
    assert!(
        ran.stderr.contains("10.234.1.2 says TTL exceeded"),
        "{}",
        ran.stderr
    );
}
