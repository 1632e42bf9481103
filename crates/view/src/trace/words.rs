//! What a path trace found, in sentences.

use super::Traced;
use crate::words::plural;
use delaylab_model::dscp::{Dscp, ecn_name};
use delaylab_model::units::format_part;
use delaylab_model::words::{all_of, capitalised};
use delaylab_traffic::path_trace::compare::{Finding, Meeting, compared_before};
use delaylab_traffic::path_trace::hop::{ClassPath, Round, Router, Share};
use delaylab_traffic::path_trace::{End, Packets, Said};
use delaylab_wire::icmp_error::Reason;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What was found: first what tells classes apart, in one sentence; then what is behind the figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// What the path does to classes.
    pub verdict: String,
    /// What to know when reading the figures.
    pub notes: Vec<String>,
}

/// Of a path trace.
pub fn words(traced: &Traced<'_>) -> Words {
    let mut told = Vec::new();
    let mut notes = Vec::new();
    for (classes, finding) in merged(&traced.findings) {
        let text = sentence(&classes, &finding, traced);
        match finding {
            Finding::Limited { .. } | Finding::Spread { .. } | Finding::Ignored { .. } => {
                notes.push(text + ".");
            }
            Finding::NotSent { share, .. } if share.packets < share.of => notes.push(text + "."),
            _ => told.push(text),
        }
    }
    told.extend(what_holds(traced));
    told.extend(at_the_port(traced));
    let verdict = capital(told.join("; "));
    Words {
        verdict: if verdict.is_empty() {
            verdict
        } else {
            verdict + "."
        },
        notes: notes.into_iter().map(capital).collect(),
    }
}

/// One finding as a sentence, without its end.
pub fn one(finding: &Finding, traced: &Traced<'_>) -> String {
    let class = class_of(finding);
    sentence(&class.into_iter().collect::<Vec<_>>(), finding, traced)
}

/// Findings that differ in their class alone become one.
fn merged(findings: &[Finding]) -> Vec<(Vec<Dscp>, Finding)> {
    let mut found: Vec<(Vec<Dscp>, Finding)> = Vec::new();
    for finding in findings {
        let class = class_of(finding);
        let same = found.iter_mut().find(|(classes, known)| {
            let mut other = finding.clone();
            class.is_some() && !classes.is_empty() && {
                put_class(&mut other, classes[0]);
                other == *known
            }
        });
        match (same, class) {
            (Some((classes, _)), Some(class)) => classes.push(class),
            _ => found.push((class.into_iter().collect(), finding.clone())),
        }
    }
    found
}

/// The class that a finding is of, to read or to write.
macro_rules! class {
    ($finding:expr) => {
        match $finding {
            Finding::Remarked { class, .. }
            | Finding::EcnChanged { class, .. }
            | Finding::Parts { class, .. }
            | Finding::Ignored { class, .. }
            | Finding::Spread { class, .. }
            | Finding::Lost { class, .. }
            | Finding::TargetLimits { class, .. }
            | Finding::NotSent { class, .. }
            | Finding::NotReached { class, .. }
            | Finding::Refused { class, .. }
            | Finding::Distance { class, .. } => Some(class),
            Finding::Limited { .. } => None,
        }
    };
}

fn class_of(finding: &Finding) -> Option<Dscp> {
    class!(finding).copied()
}

fn put_class(finding: &mut Finding, other: Dscp) {
    // A class's first change is from itself.
    if let Finding::Remarked { class, from, .. } = finding
        && from == class
    {
        *from = other;
    }
    if let Some(class) = class!(finding) {
        *class = other;
    }
}

fn sentence(classes: &[Dscp], finding: &Finding, traced: &Traced<'_>) -> String {
    let names: Vec<String> = classes.iter().map(Dscp::to_string).collect();
    let who = all_of(&names);
    let many = classes.len() > 1;
    let (is, s) = if many { ("are", "") } else { ("is", "s") };
    match finding {
        Finding::Remarked {
            class,
            from,
            to,
            after,
            at,
            share,
        } => {
            let again = if from == class {
                String::new()
            } else {
                format!(" (by then {from})")
            };
            format!(
                "{who}{again} {is} re-marked to {to}{} {}",
                in_some(*share),
                between(*after, *at)
            )
        }
        Finding::EcnChanged {
            from,
            to,
            after,
            at,
            share,
            ..
        } => {
            let [from, to] = [from, to].map(|&ecn| ecn_name(ecn));
            let (some, place) = (in_some(*share), between(*after, *at));
            format!("the ECN bits of {who} become {to} instead of {from}{some} {place}")
        }
        Finding::Parts {
            from,
            after,
            meets,
            certain,
            ..
        } => {
            let leave = match (certain, many) {
                (true, _) => format!("leave{s}"),
                (false, true) => "seem to leave".to_owned(),
                (false, false) => "seems to leave".to_owned(),
            };
            format!(
                "{who} {leave} the path of {from} {}{}",
                behind(*after),
                back(meets.as_ref(), many, traced)
            )
        }
        Finding::Ignored { ttl, unlike, .. } => {
            format!("hop {ttl} does not answer {who}, although it does answer {unlike}")
        }
        Finding::Spread { ttl, routers, .. } => format!(
            "{routers} routers answer {who} at hop {ttl}: packets of one flow are spread, or the route changed"
        ),
        Finding::Lost {
            from,
            first,
            last,
            until,
            ..
        } => format!("{who} lose{s} {}", lost(*from, [*first, *last], *until)),
        Finding::TargetLimits {
            after, missing: at, ..
        } => {
            let hops = match after {
                0 => String::new(),
                _ => format!(", more than hop {after}"),
            };
            format!(
                "the target leaves {} of {who} without an answer{hops}: it may limit its errors, which is no loss; \
                 --method icmp, or -i 1s, tells",
                percent(*at)
            )
        }
        Finding::Limited { some, none } => limited(some, none),
        Finding::NotSent { errno, share, .. } => {
            let error = std::io::Error::from_raw_os_error(*errno);
            let some = match share.packets == share.of {
                true => "sends no packet".to_owned(),
                false => format!("does not send {}", percent(*share)),
            };
            format!("this host {some} of {who}: {error}")
        }
        Finding::NotReached {
            class,
            end,
            refused,
            round,
        } => {
            let why = match (refused, round) {
                (Some((by, said)), _) => {
                    let hop = hop_of(*class, *by, end.last_hop(), traced);
                    format!("{hop} says {}", refused_as(*said))
                }
                (None, Some(round)) => goes_round(round),
                (None, None) => why(*end, path_of(*class, traced)),
            };
            let (verb, es) = if many { ("do", "") } else { ("does", "es") };
            match (end, round) {
                (End::Stopped(_), None) => {
                    format!("whether {who} reach{es} the target is not known: {why}")
                }
                _ => format!("{who} {verb} not reach the target: {why}"),
            }
        }
        Finding::Refused {
            class,
            ttl,
            by,
            said,
            share,
        } => {
            let hop = hop_of(*class, *by, *ttl, traced);
            let says = refused_as(*said);
            format!("{hop} refuses {} of {who} and says {says}", percent(*share))
        }
        Finding::Distance {
            hops, from, but, ..
        } => format!(
            "the target is {} away for {who}, and {} for {from}",
            hops_to_target(*hops, traced),
            match is_at_most(*but, traced) {
                true => format!("at most {but}"),
                false => but.to_string(),
            }
        ),
    }
}

/// `until` is the hop of the last share, where that is not the target.
fn lost(from: u8, [first, last]: [Share; 2], until: Option<u8>) -> String {
    if !last.exceeds(first) {
        return format!("{} on the way, seen from hop {from} on", percent(last));
    }
    let until = until.map_or("the target".to_owned(), |hop| format!("hop {hop}"));
    let [first, last] = [first, last].map(percent);
    format!("{first} from hop {from} on, and {last} up to {until}")
}

/// `65.0 % (13 of 20)`.
fn percent(Share { packets, of }: Share) -> String {
    format!("{} ({packets} of {of})", format_part(packets, of))
}

/// ` in 11 of 30 packets`; of all of them, nothing.
fn in_some(share: Option<Share>) -> String {
    let some = share.map(|Share { packets, of }| format!(" in {packets} of {of} packets"));
    some.unwrap_or_default()
}

fn between(after: u8, at: u8) -> String {
    match after {
        0 => format!("between this host and hop {at}"),
        _ => format!("between hop {after} and {at}"),
    }
}

fn behind(after: u8) -> String {
    match after {
        0 => "from the first hop on".to_owned(),
        _ => format!("after hop {after}"),
    }
}

fn back(meets: Option<&Meeting>, many: bool, traced: &Traced<'_>) -> String {
    let verb = if many { "meet" } else { "meets" };
    match meets {
        Some(meeting) if meeting.address == traced.address.ip() => {
            format!(" and {verb} it again only at the target")
        }
        Some(Meeting { ttl, address }) => {
            let are = if many { "are" } else { "is" };
            format!(" and {are} back on it at hop {ttl} ({address})")
        }
        None => String::new(),
    }
}

fn limited(some: &[u8], none: &[u8]) -> String {
    let hops = |ttls: &[u8]| {
        let names: Vec<String> = ttls.iter().map(u8::to_string).collect();
        let s = if ttls.len() == 1 { "" } else { "s" };
        format!("hop{s} {}", all_of(&names))
    };
    let some_part = || {
        format!(
            "{} answer{} only some of the packets, and hops behind answer more: that is a limit on answers, not loss",
            hops(some),
            if some.len() == 1 { "s" } else { "" }
        )
    };
    let none_part = || {
        let (verb, it) = match none {
            [_] => ("answers", "it"),
            _ => ("answer", "them"),
        };
        format!(
            "{} {verb} no packet but forward{} them: hops behind {it} answer",
            hops(none),
            if none.len() == 1 { "s" } else { "" }
        )
    };
    match (some, none) {
        (_, []) => some_part(),
        ([], _) => none_part(),
        _ => format!("{}; {}", some_part(), none_part()),
    }
}

fn why(end: End, path: Option<&ClassPath>) -> String {
    let hops = path.map_or(&[][..], |path| &path.hops);
    let answering = hops.iter().rfind(|hop| hop.answered() > 0);
    match (end, answering.map(|hop| hop.ttl)) {
        (End::Stopped(_), None) => "stopped before a hop answered".to_owned(),
        (End::Stopped(_), Some(last)) => format!("stopped behind hop {last}"),
        (End::Beyond(ttl), Some(last)) if last == ttl => {
            format!("it is more than {} away", plural(ttl.into(), "hop"))
        }
        (End::Beyond(ttl), last) => {
            let silent = silent_behind(last, hops.first().map_or(1, |hop| hop.ttl));
            format!("{silent} up to hop {ttl}, the last that was asked")
        }
        (End::Silent(before), last) => silent_behind(last, before + 1),
        (End::Target(ttl), _) => format!("hop {ttl}"),
        (End::Refused(ttl), _) => format!("hop {ttl} refuses it"),
    }
}

/// Behind the last hop that answers, or from the first that was asked on.
fn silent_behind(last: Option<u8>, first: u8) -> String {
    match (last, first) {
        (Some(last), _) => format!("no hop behind hop {last} answers"),
        (None, 1) => "no hop answers at all".to_owned(),
        (None, first) => format!("no hop from hop {first} on answers"),
    }
}

fn goes_round(round: &Round) -> String {
    let addresses: Vec<String> = round.addresses.iter().map(IpAddr::to_string).collect();
    format!(
        "packets go round between hop {} and hop {} ({})",
        round.first,
        round.last,
        addresses.join(", ")
    )
}

/// `hop 2 (192.0.2.1)`, where that address is first met: a firewall lets a packet's hop limit run out before it
/// rejects the packet, and so answers at the next distance, too.
fn hop_of(class: Dscp, address: IpAddr, ttl: u8, traced: &Traced<'_>) -> String {
    let path = path_of(class, traced);
    let first = path.and_then(|path| path.hops.iter().find(|hop| hop.has(address)));
    let hop = first.map_or(ttl, |hop| hop.ttl);
    format!("hop {hop} ({address})")
}

fn path_of<'a>(class: Dscp, traced: &'a Traced<'_>) -> Option<&'a ClassPath> {
    traced.paths.iter().find(|path| path.class == class)
}

/// Is it the target that answers here?
fn is_target(router: &Router, traced: &Traced<'_>) -> bool {
    let said = router.said;
    said.is_arrival(router.address, traced.trace.target())
}

/// Why somebody refuses a packet.
fn refused_as(said: Said) -> String {
    match said {
        Said::Error(Reason::NoRoute) => "that there is no route".to_owned(),
        Said::Error(Reason::HostUnreachable) => "that the host is unreachable".to_owned(),
        Said::Error(Reason::Prohibited) => "that it is prohibited".to_owned(),
        Said::Error(Reason::PortUnreachable) => "that the port is unreachable".to_owned(),
        Said::Error(Reason::ProtocolUnreachable) => "that the protocol is unreachable".to_owned(),
        Said::Error(Reason::TooBig { mtu: 0 }) => "that packets are too big".to_owned(),
        Said::Error(Reason::TooBig { mtu }) => {
            format!("that packets are too big: {mtu} B would fit")
        }
        Said::Error(Reason::Other { kind, code }) => format!("ICMP type {kind}, code {code}"),
        other => super::name(other).to_owned(),
    }
}

/// What the classes have in common, where nothing speaks against it.
fn what_holds(traced: &Traced<'_>) -> Vec<String> {
    let found = |test: fn(&Finding) -> bool| traced.findings.iter().any(test);
    if !traced.is_reached() {
        return Vec::new();
    }
    let parts = found(|finding| matches!(finding, Finding::Parts { .. }));
    let remarked = found(|finding| {
        matches!(
            finding,
            Finding::Remarked { .. } | Finding::EcnChanged { .. }
        )
    });
    let names: Vec<String> = traced.paths.iter().map(|p| p.class.to_string()).collect();
    let (who, many) = (all_of(&names), names.len() > 1);
    let hops: BTreeSet<u8> = traced.paths.iter().map(|p| p.end.last_hop()).collect();
    let last = hops.iter().next().copied().unwrap_or(0);
    let way = if parts || hops.len() > 1 {
        None
    } else if many {
        Some(whether_the_same(&who, last, traced))
    } else {
        Some(format!(
            "the target is {} away",
            hops_to_target(last, traced)
        ))
    };
    // Where no hop can tell the class, nothing is said of it.
    let mut told = match !remarked && traced.packets.tell_class() {
        true => unchanged(last, traced),
        false => Vec::new(),
    };
    match way {
        // What the sentence is about is said once.
        Some(way) if !told.is_empty() && (!many || way.starts_with(&who)) => {
            let rest = told[0].strip_prefix(&format!("{who} ")).filter(|_| many);
            told[0] = format!("{way}, and {}", rest.unwrap_or(&told[0]));
        }
        Some(way) => told.insert(0, way),
        None => {}
    }
    told
}

/// Do classes with the same distance to the target take the same path, as far as hops tell?
fn whether_the_same(who: &str, target: u8, traced: &Traced<'_>) -> String {
    let both = match traced.paths.len() {
        2 => "both",
        _ => "all of them",
    };
    let hops = hops_to_target(target, traced);
    let unknown = |why: &str| {
        format!(
            "whether {who} take the same path to the target, {hops} away, is not known: no hop before it {why}"
        )
    };
    match compared_before(target, &traced.paths) {
        (0, _) if target > 1 => unknown("was asked"),
        (asked, known) if known == asked => {
            format!("{who} take the same path, {hops} to the target")
        }
        (_, 0) => unknown(&format!("answers {both}")),
        (asked, known) => format!(
            "{who} take the same path as far as hops answer {both} ({known} of {asked}), {hops} to the target"
        ),
    }
}

/// Up to where classes are as they were sent, as far as hops tell.
fn unchanged(target: u8, traced: &Traced<'_>) -> Vec<String> {
    let reported = traced.paths.iter().map(|path| {
        let mut hops = path.hops.iter().rev();
        let last = hops.find(|hop| hop.seen().is_some()).map(|hop| hop.ttl);
        (path.class.to_string(), last)
    });
    let (known, unknown): (Vec<_>, Vec<_>) = reported.partition(|(_, last)| last.is_some());
    let all = |classes: &[(String, Option<u8>)]| {
        all_of(&Vec::from_iter(
            classes.iter().map(|(class, _)| class.clone()),
        ))
    };
    let who = all(&known);
    let (is, s) = if known.len() > 1 {
        ("are", "")
    } else {
        ("is", "s")
    };
    let as_sent = known
        .iter()
        .filter_map(|(_, last)| *last)
        .min()
        .map(|ttl| match ttl {
            _ if ttl >= target => format!("{who} arrive{s} there unchanged"),
            _ => {
                format!("{who} {is} unchanged up to hop {ttl}, the last hop that reports the class")
            }
        });
    let nothing = "no hop reports the class that it received";
    let not_told = match (known.len(), unknown.len()) {
        (_, 0) => None,
        (0, _) => Some(nothing.to_owned()),
        _ => Some(format!("{nothing} of {}", all(&unknown))),
    };
    as_sent.into_iter().chain(not_told).collect()
}

/// `4 hops`, or `at most 6 hops`.
fn hops_to_target(hops: u8, traced: &Traced<'_>) -> String {
    let most = if is_at_most(hops, traced) {
        "at most "
    } else {
        ""
    };
    format!("{most}{}", plural(hops.into(), "hop"))
}

/// Where the first hop asked (`-f`) is the target already, it may be nearer.
fn is_at_most(hops: u8, traced: &Traced<'_>) -> bool {
    hops > 1 && hops == traced.trace.settings().first_ttl
}

/// What the target says of the port that is asked for, to those that came there.
fn at_the_port(traced: &Traced<'_>) -> Vec<String> {
    let mut told: Vec<(Said, Vec<Dscp>)> = Vec::new();
    for path in &traced.paths {
        let End::Target(ttl) = path.end else { continue };
        let routers = path.hop(ttl).into_iter().flat_map(|hop| &hop.routers);
        for router in routers.filter(|router| is_target(router, traced)) {
            match told.iter_mut().find(|(said, _)| *said == router.said) {
                Some((_, classes)) if classes.contains(&path.class) => {}
                Some((_, classes)) => classes.push(path.class),
                None => told.push((router.said, vec![path.class])),
            }
        }
    }
    let several = told.len() > 1;
    let words = told.into_iter().filter_map(|(said, classes)| {
        let words = port_words(said, traced)?;
        let classes: Vec<String> = classes.iter().map(Dscp::to_string).collect();
        Some(match several {
            true => format!("{words} for {}", all_of(&classes)),
            false => words,
        })
    });
    words.collect()
}

/// `None`: nothing that was asked.
fn port_words(said: Said, traced: &Traced<'_>) -> Option<String> {
    let port = traced.address.port();
    match said {
        Said::Open => Some(format!("port {port} is open (SYN-ACK)")),
        Said::Closed => Some(format!("nothing listens on port {port} (RST)")),
        Said::Replied => Some("the name server answers".to_owned()),
        Said::Error(Reason::PortUnreachable) => match traced.packets {
            // TCP itself says by RST that nothing listens (RFC 9293 §3.10.7.1).
            packets if packets.are_tcp() => Some(format!(
                "a firewall at the target rejects port {port} (port unreachable)"
            )),
            Packets::Questions(_) => Some(format!(
                "nothing listens on UDP port {port} (port unreachable)"
            )),
            _ if !traced.method.has_port() => Some(target_says(said)),
            // A port where nothing listens is what datagrams are sent to.
            Packets::Crafted { .. } | Packets::Handshakes => None,
        },
        Said::Error(Reason::ProtocolUnreachable) => {
            Some("the target says that it does not speak this protocol".to_owned())
        }
        Said::Error(Reason::TtlExceeded) | Said::EchoReply | Said::Datagram => None,
        Said::Error(_) => Some(target_says(said)),
    }
}

fn target_says(said: Said) -> String {
    format!("the target says {}", refused_as(said))
}

/// The names of classes stay as they are written.
fn capital(text: String) -> String {
    let is_name = text
        .split([' ', ','])
        .next()
        .is_some_and(|word| word.parse::<Dscp>().is_ok());
    if is_name { text } else { capitalised(&text) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::trace::samples::{answered_up_to, crafted, heard_up_to, samples};
    use delaylab_model::method::Method;
    use std::collections::BTreeMap;

    fn verdict(name: &str) -> String {
        let found = samples().into_iter().find(|(known, _)| *known == name);
        let (_, sample) = found.expect("a sample of this name");
        words(&sample.traced()).verdict
    }

    #[test]
    fn a_hop_that_refuses_some_packets_is_named_with_their_share() {
        assert_eq!(
            verdict("some"),
            "Hop 2 (10.9.0.2) refuses 17 % (1 of 6) of be and says that it is prohibited; \
             the target is 4 hops away, and be arrives there unchanged."
        );
    }

    #[test]
    fn a_target_that_refuses_is_reached() {
        assert_eq!(
            verdict("own"),
            "The target is 4 hops away, and be arrives there unchanged; the target says that it is prohibited."
        );
    }

    #[test]
    fn a_re_mark_of_some_packets_is_none_of_all() {
        assert_eq!(
            verdict("partly"),
            "ef is re-marked to cs1 in 1 of 3 packets between this host and hop 2; the target is 4 hops away."
        );
    }

    #[test]
    fn a_target_that_the_first_packet_reaches_may_be_nearer() {
        assert_eq!(
            verdict("behind"),
            "The target is at most 6 hops away, and be arrives there unchanged."
        );
    }

    /// Silence is no agreement, and what one class's hops do not report those of the other do.
    #[test]
    fn what_no_hop_answers_is_not_called_the_same() {
        let said = |be: u8, ef: u8| {
            let (trace, address) = answered_up_to(be, ef);
            let (packets, names) = (crafted(Method::Udp), BTreeMap::new());
            let traced = Traced::new("a", address, Method::Udp, &packets, &trace, &names);
            words(&traced).verdict
        };
        assert!(said(4, 4).starts_with(
            "be and ef take the same path, 5 hops to the target, and are unchanged up to hop 4,"
        ));
        let partly = "be and ef take the same path as far as hops answer both (2 of 4), 5 hops to the target, and are \
                      unchanged up to hop 2,";
        assert!(said(4, 2).starts_with(partly), "{}", said(4, 2));
        let nothing = "Whether be and ef take the same path to the target, 5 hops away, is not known: no hop before it \
                       answers both; ";
        let none = "no hop reports the class that it received.";
        assert_eq!(said(0, 0), nothing.to_owned() + none);
        let one = "be is unchanged up to hop 4, the last hop that reports the class; no hop reports the class that it \
                   received of ef.";
        assert_eq!(said(4, 0), nothing.to_owned() + one);
    }

    #[test]
    fn packets_that_go_round_are_not_too_far_to_go() {
        assert_eq!(
            verdict("round"),
            "be does not reach the target: packets go round between hop 2 and hop 3 (10.9.0.2, 10.9.0.3)."
        );
    }

    /// What happens to one class is not said of another that ends at the same distance.
    #[test]
    fn each_class_is_refused_by_its_own_hop() {
        assert_eq!(
            verdict("refused"),
            "be does not reach the target: hop 3 (10.9.0.3) says that there is no route; \
             ef does not reach the target: hop 3 (10.9.0.13) says that it is prohibited."
        );
    }

    #[test]
    fn packets_that_were_not_sent_are_said_with_the_reason() {
        let (_, sample) = samples().remove(0);
        for (packets, said) in [
            (
                30,
                "this host sends no packet of ef: Operation not permitted",
            ),
            (
                3,
                "this host does not send 10 % (3 of 30) of ef: Operation not permitted",
            ),
        ] {
            let not_sent = Finding::NotSent {
                class: "ef".parse().unwrap(),
                errno: 1,
                share: Share { packets, of: 30 },
            };
            let text = one(&not_sent, &sample.traced());
            assert!(text.starts_with(said), "{text}");
        }
    }

    #[test]
    fn loss_is_said_up_to_the_hop_that_shows_it() {
        let (_, sample) = samples().remove(0);
        let share = |packets| Share { packets, of: 100 };
        for (until, hop) in [(None, "the target"), (Some(4), "hop 4")] {
            let lost = Finding::Lost {
                class: "be".parse().unwrap(),
                from: 2,
                first: share(10),
                last: share(40),
                until,
            };
            let text = one(&lost, &sample.traced());
            assert!(
                text.ends_with(&format!("(40 of 100) up to {hop}")),
                "{text}"
            );
        }
    }

    /// A silent hop at the end says nothing of what is behind it, nor does one that was not asked.
    #[test]
    fn silence_is_said_of_hops_that_were_asked() {
        let said = |first_ttl, max_ttl, heard| {
            let (trace, address) = heard_up_to(first_ttl, max_ttl, heard);
            let names = BTreeMap::new();
            let packets = Packets::Handshakes;
            let method = Method::TcpConnect;
            let traced = Traced::new("a", address, method, &packets, &trace, &names);
            words(&traced).verdict
        };
        let not_reached = "be does not reach the target: ";
        for (asked, why) in [
            ((1, 5, 5), "it is more than 5 hops away."),
            (
                (1, 5, 4),
                "no hop behind hop 4 answers up to hop 5, the last that was asked.",
            ),
            (
                (2, 4, 0),
                "no hop from hop 2 on answers up to hop 4, the last that was asked.",
            ),
            ((1, 30, 4), "no hop behind hop 4 answers."),
            ((1, 30, 0), "no hop answers at all."),
            ((5, 30, 0), "no hop from hop 5 on answers."),
        ] {
            let (first_ttl, max_ttl, heard) = asked;
            let verdict = said(first_ttl, max_ttl, heard);
            assert_eq!(verdict, not_reached.to_owned() + why, "{asked:?}");
        }
    }

    #[test]
    fn what_a_stop_left_unknown_is_not_denied() {
        assert_eq!(
            verdict("stopped"),
            "Whether be and ef reach the target is not known: stopped behind hop 4."
        );
    }

    /// Only of UDP it says that nothing listens.
    #[test]
    fn a_port_that_is_unreachable_by_tcp_is_rejected_by_a_firewall() {
        let (_, sample) = samples()
            .into_iter()
            .find(|(name, _)| *name == "name")
            .unwrap();
        let syn = Packets::Crafted {
            method: Method::Tcp,
            payload: 0,
        };
        for (packets, said) in [
            (syn, "a firewall at the target rejects port 53"),
            (
                Packets::Handshakes,
                "a firewall at the target rejects port 53",
            ),
            (
                Packets::Questions(". NS".parse().unwrap()),
                "nothing listens on UDP port 53",
            ),
        ] {
            let traced = Traced {
                packets: &packets,
                ..sample.traced()
            };
            let verdict = words(&traced).verdict;
            assert!(
                verdict.ends_with(&format!("; {said} (port unreachable).")),
                "{verdict}"
            );
        }
    }

    #[test]
    fn what_a_router_rejects_has_not_reached_the_target() {
        assert_eq!(
            verdict("rejected"),
            "ef does not reach the target: hop 2 (10.9.0.2) says that the port is unreachable."
        );
    }
}
