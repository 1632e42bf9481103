//! Path traces that never happened.
#![allow(clippy::unwrap_used, missing_docs)]

use super::Traced;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::path_trace::{
    Answer, AtOnce, Packets, PathTrace, QuotedMarks, Said, Settings, Step,
};
use delaylab_wire::icmp_error::Reason;
use delaylab_wire::mpls::Entry;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// A path trace with all that it is shown with.
pub struct Sample {
    trace: PathTrace,
    method: Method,
    packets: Packets,
    target: &'static str,
    address: SocketAddr,
    names: BTreeMap<IpAddr, String>,
}

impl Sample {
    pub fn traced(&self) -> Traced<'_> {
        Traced::new(
            self.target,
            self.address,
            self.method,
            &self.packets,
            &self.trace,
            &self.names,
        )
    }
}

/// What an invented network does with a packet: who answers, what, having seen which class, with which
/// labels.
struct Fate {
    from: String,
    said: Said,
    seen: Option<u8>,
    labels: Vec<Entry>,
}

impl Fate {
    fn answer(self, at: Nanos, ttl: u8) -> Answer {
        Answer {
            at,
            from: self.from.parse().unwrap(),
            said: self.said,
            seen: self.seen.map(|traffic_class| QuotedMarks {
                traffic_class,
                ttl: 1,
            }),
            labels: self.labels,
            reply_ttl: Some(64 - ttl),
            reply_traffic_class: Some(0),
        }
    }
}

fn class(name: &str) -> Dscp {
    name.parse().unwrap()
}

fn hop(from: impl Into<String>, seen: Dscp) -> Fate {
    Fate {
        from: from.into(),
        said: Said::Error(Reason::TtlExceeded),
        seen: Some(seen.traffic_class(0)),
        labels: Vec::new(),
    }
}

fn says(reason: Reason, fate: Fate) -> Fate {
    Fate {
        said: Said::Error(reason),
        ..fate
    }
}

fn settings(classes: &[&str]) -> Settings {
    Settings {
        classes: classes.iter().map(|name| class(name)).collect(),
        ecn: 0,
        first_ttl: 1,
        max_ttl: 30,
        queries: 3,
        interval: SECOND,
        gap: 2 * MILLISECOND,
        timeout: SECOND,
        give_up: 5,
        at_once: AtOnce::Many,
    }
}

fn run(
    classes: &[&str],
    target: &str,
    net: impl FnMut(Dscp, u8, u16) -> Option<Fate>,
) -> PathTrace {
    run_with(settings(classes), target, net)
}

fn run_with(
    settings: Settings,
    target: &str,
    mut net: impl FnMut(Dscp, u8, u16) -> Option<Fate>,
) -> PathTrace {
    let mut trace = PathTrace::new(settings, target.parse().unwrap(), 0).unwrap();
    let mut now = 0;
    loop {
        match trace.next(now) {
            Step::Done => return trace,
            Step::Wait(until) => now = until,
            Step::Send(due) => {
                let class = trace.settings().classes[due.class];
                let Some(fate) = net(class, due.ttl, due.number) else {
                    continue;
                };
                let took = Nanos::from(due.ttl) * 731_000 + Nanos::from(due.number % 7) * 41_000;
                assert!(trace.answered(due.number, fate.answer(now + took, due.ttl)));
            }
        }
    }
}

fn label(label: u32, cos: u8) -> Entry {
    Entry {
        label,
        cos,
        bottom: true,
        ttl: 1,
    }
}

/// ef is cleared behind hop 2, cs1 takes another way, hop 4 answers little.
fn classes(classes: &[&str], prefix: &str) -> PathTrace {
    let by = |n: u8| format!("{prefix}{n}");
    let settings = Settings {
        queries: 8,
        ..settings(classes)
    };
    run_with(settings, &by(99), |sent, ttl, number| {
        let seen = if sent == class("ef") && ttl > 2 {
            class("be")
        } else {
            sent
        };
        match ttl {
            3 if sent == class("cs1") => Some(hop(by(13), seen)),
            3 => Some(Fate {
                labels: vec![label(24_001, 0)],
                ..hop(by(3), seen)
            }),
            4 => number.is_multiple_of(4).then(|| hop(by(4), seen)),
            1 | 2 => Some(hop(by(ttl), seen)),
            _ => Some(says(Reason::PortUnreachable, hop(by(99), seen))),
        }
    })
}

/// Hops as far as `heard` answer, of those asked.
pub fn heard_up_to(first_ttl: u8, max_ttl: u8, heard: u8) -> (PathTrace, SocketAddr) {
    let settings = Settings {
        first_ttl,
        max_ttl,
        ..settings(&["be"])
    };
    let trace = run_with(settings, TARGET, |sent, ttl, _| {
        (ttl <= heard).then(|| hop(format!("10.9.0.{ttl}"), sent))
    });
    (trace, "10.9.0.99:80".parse().unwrap())
}

/// Hops as far as `be` and `ef` say answer these classes, and behind the fourth a target that quotes nothing.
pub fn answered_up_to(be: u8, ef: u8) -> (PathTrace, SocketAddr) {
    let trace = run(&["be", "ef"], TARGET, |sent, ttl, _| match ttl {
        5.. => Some(Fate {
            said: Said::EchoReply,
            seen: None,
            ..hop(TARGET, sent)
        }),
        _ => {
            let heard = if sent == class("be") { be } else { ef };
            (ttl <= heard).then(|| hop(format!("10.9.0.{ttl}"), sent))
        }
    });
    (trace, "10.9.0.99:33434".parse().unwrap())
}

/// Stopped while the packets to hop 3 and to hops behind the fourth are under way.
fn stopped() -> PathTrace {
    let classes = ["be", "ef"];
    let settings = Settings {
        interval: 20 * MILLISECOND,
        ..settings(&classes)
    };
    let mut trace = PathTrace::new(settings, TARGET.parse().unwrap(), 0).unwrap();
    let mut now = 0;
    while now < 60 * MILLISECOND {
        match trace.next(now) {
            Step::Done => return trace,
            Step::Wait(until) => now = until,
            Step::Send(due) if ![1, 2, 4].contains(&due.ttl) => {}
            Step::Send(due) => {
                let fate = hop(format!("10.9.0.{}", due.ttl), class(classes[due.class]));
                assert!(trace.answered(due.number, fate.answer(now + MILLISECOND, due.ttl)));
            }
        }
    }
    trace.stop();
    trace
}

pub const fn crafted(method: Method) -> Packets {
    let payload = 32;
    Packets::Crafted { method, payload }
}

/// Of most of them.
const TARGET: &str = "10.9.0.99";

/// Each with its name.
pub fn samples() -> Vec<(&'static str, Sample)> {
    let v4 = |trace, target: &'static str| Sample {
        trace,
        method: Method::Udp,
        packets: crafted(Method::Udp),
        target,
        address: "10.9.0.99:33434".parse().unwrap(),
        names: BTreeMap::new(),
    };
    let named = [("10.9.0.1", "gw"), ("10.9.0.99", "server")];
    let named = named.map(|(address, name)| (address.parse().unwrap(), format!("{name}.example")));
    let same = run(&["be"], TARGET, |sent, ttl, _| match ttl {
        1..=3 => Some(hop(format!("10.9.0.{ttl}"), sent)),
        _ => Some(Fate {
            said: Said::EchoReply,
            seen: None,
            ..hop("10.9.0.99", sent)
        }),
    });
    // What the kernel reads for others has no header to quote.
    let asked = |said| {
        run(&["be", "ef"], TARGET, |sent, ttl, _| {
            let (from, said) = match ttl {
                1 | 2 => (format!("10.9.0.{ttl}"), Said::Error(Reason::TtlExceeded)),
                _ => ("10.9.0.99".to_owned(), said),
            };
            Some(Fate {
                said,
                seen: None,
                ..hop(from, sent)
            })
        })
    };
    let ends = run(&["be", "ef", "af41"], TARGET, |sent, ttl, _| {
        let refused = sent == class("af41") && ttl == 3;
        match ttl {
            2 if sent == class("ef") => None,
            3 if refused => Some(says(Reason::Prohibited, hop("10.9.0.3", sent))),
            1..=3 => Some(hop(format!("10.9.0.{ttl}"), sent)),
            _ => None,
        }
    });
    // A firewall on hop 2.
    let rejected = run(&["ef"], TARGET, |sent, ttl, _| match ttl {
        1 | 2 => Some(hop(format!("10.9.0.{ttl}"), sent)),
        _ => Some(says(Reason::PortUnreachable, hop("10.9.0.2", sent))),
    });
    // It refuses one packet of several.
    let some = run(&["be"], TARGET, |sent, ttl, number| match ttl {
        3 if number == 3 => Some(says(Reason::Prohibited, hop("10.9.0.2", sent))),
        1..=3 => Some(hop(format!("10.9.0.{ttl}"), sent)),
        _ => Some(says(Reason::PortUnreachable, hop(TARGET, sent))),
    });
    // The target's own firewall.
    let own = run(&["be"], TARGET, |sent, ttl, _| match ttl {
        1..=3 => Some(hop(format!("10.9.0.{ttl}"), sent)),
        _ => Some(says(Reason::Prohibited, hop(TARGET, sent))),
    });
    let partly = run(&["ef"], TARGET, |sent, ttl, number| {
        let seen = if number == 2 { class("cs1") } else { sent };
        match ttl {
            1..=3 => Some(hop(format!("10.9.0.{ttl}"), seen)),
            _ => Some(says(Reason::PortUnreachable, hop(TARGET, seen))),
        }
    });
    // `-f 6`, where the target is four hops away.
    let from_six = Settings {
        first_ttl: 6,
        ..settings(&["be"])
    };
    let behind = run_with(from_six, TARGET, |sent, _, _| {
        Some(says(Reason::PortUnreachable, hop(TARGET, sent)))
    });
    let round = run(&["be"], TARGET, |sent, ttl, _| {
        let router = if ttl < 2 { ttl } else { 2 + ttl % 2 };
        Some(hop(format!("10.9.0.{router}"), sent))
    });
    let refused = run(&["be", "ef"], TARGET, |sent, ttl, _| match ttl {
        1 | 2 => Some(hop(format!("10.9.0.{ttl}"), sent)),
        _ if sent == class("ef") => Some(says(Reason::Prohibited, hop("10.9.0.13", sent))),
        _ => Some(says(Reason::NoRoute, hop("10.9.0.3", sent))),
    });
    vec![
        (
            "classes",
            v4(classes(&["be", "ef", "cs1"], "10.9.0."), "10.9.0.99"),
        ),
        (
            "same",
            Sample {
                method: Method::Icmp,
                packets: crafted(Method::Icmp),
                names: named.into(),
                ..v4(same, "server.example")
            },
        ),
        ("ends", v4(ends, "10.9.0.99")),
        ("rejected", v4(rejected, TARGET)),
        ("some", v4(some, TARGET)),
        ("own", v4(own, TARGET)),
        ("partly", v4(partly, TARGET)),
        ("behind", v4(behind, TARGET)),
        ("round", v4(round, TARGET)),
        ("refused", v4(refused, TARGET)),
        ("stopped", v4(stopped(), TARGET)),
        (
            "v6",
            Sample {
                address: "[2001:db8:0:12::99]:33434".parse().unwrap(),
                ..v4(
                    classes(&["be", "ef", "cs1", "af41"], "2001:db8:0:12::"),
                    "2001:db8:0:12::99",
                )
            },
        ),
        (
            "page",
            Sample {
                method: Method::Http,
                packets: Packets::Handshakes,
                address: "10.9.0.99:443".parse().unwrap(),
                ..v4(asked(Said::Open), "https://server.example/")
            },
        ),
        (
            "name",
            Sample {
                method: Method::Dns,
                packets: Packets::Questions("example.org".parse().unwrap()),
                address: "10.9.0.99:53".parse().unwrap(),
                ..v4(asked(Said::Error(Reason::PortUnreachable)), "10.9.0.99")
            },
        ),
        (
            "nobody",
            v4(run(&["be", "ef"], TARGET, |_, _, _| None), "10.9.0.99"),
        ),
    ]
}
