//! What tells classes apart: where they are re-marked, leave the path of the first class and come back,
//! where nobody answers them, and where they are lost.

use super::hop::{CLEARLY, ClassPath, Hop, Round, Share};
use super::{End, Said};
use delaylab_model::dscp::Dscp;
use delaylab_model::{Nanos, SECOND};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Something to tell of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// From one hop to another a class's DSCP changes.
    Remarked {
        /// The class, as sent.
        class: Dscp,
        /// What it was.
        from: Dscp,
        /// What it becomes.
        to: Dscp,
        /// The last hop that saw it as it was; 0 is this host.
        after: u8,
        /// The first that saw it changed.
        at: u8,
        /// In how many of the packets there, where some are as they were.
        share: Option<Share>,
    },
    /// From one hop to another the ECN bits change.
    EcnChanged {
        /// The class, as sent.
        class: Dscp,
        /// What they were.
        from: u8,
        /// What they become.
        to: u8,
        /// The last hop that saw them as they were; 0 is this host.
        after: u8,
        /// The first that saw them changed.
        at: u8,
        /// In how many of the packets there, where some are as they were.
        share: Option<Share>,
    },
    /// A class takes another path than the first class.
    Parts {
        /// The class.
        class: Dscp,
        /// The first class.
        from: Dscp,
        /// The last hop that both have; 0 is this host.
        after: u8,
        /// The first hop that differs.
        at: u8,
        /// Where it is back on the first class's path.
        meets: Option<Meeting>,
        /// Did each of the two see one address there, twice at least? Else the route may have changed, or
        /// packets be spread.
        certain: bool,
    },
    /// A hop answers other classes at its place, and this one never.
    Ignored {
        /// The class.
        class: Dscp,
        /// The hop.
        ttl: u8,
        /// A class that it does answer.
        unlike: Dscp,
    },
    /// Packets of one flow are answered by several routers at a hop.
    Spread {
        /// The class.
        class: Dscp,
        /// The hop.
        ttl: u8,
        /// How many.
        routers: usize,
    },
    /// Packets are lost on the way to the target.
    Lost {
        /// The class.
        class: Dscp,
        /// From this hop on they are missing, and clearly more than before it.
        from: u8,
        /// What is missing there.
        first: Share,
        /// What is missing at the last hop that tells of the path, or the last before clearly more is missing.
        last: Share,
        /// That hop, where it is not the target: that may limit its errors, or clearly more is missing further on.
        until: Option<u8>,
    },
    /// The target leaves more packets without an answer than the hops before it, and answers by errors, which hosts limit.
    TargetLimits {
        /// The class.
        class: Dscp,
        /// The last hop before it that answers; 0 is this host.
        after: u8,
        /// What is missing at the target.
        missing: Share,
    },
    /// Hops leave packets without an answer that hops behind them answer.
    Limited {
        /// The hops that answer some.
        some: Vec<u8>,
        /// The hops that answer none.
        none: Vec<u8>,
    },
    /// This host did not send packets of a class.
    NotSent {
        /// The class.
        class: Dscp,
        /// The error number of the send calls.
        errno: i32,
        /// How many.
        share: Share,
    },
    /// The path of a class does not come to the target.
    NotReached {
        /// The class.
        class: Dscp,
        /// How it ends.
        end: End,
        /// Who refuses its packets, and what it says.
        refused: Option<(IpAddr, Said)>,
        /// Where its packets go round.
        round: Option<Round>,
    },
    /// A hop refuses some packets of a class, and forwards others.
    Refused {
        /// The class.
        class: Dscp,
        /// The nearest TTL with which packets were refused.
        ttl: u8,
        /// Who refuses them.
        by: IpAddr,
        /// What it says.
        said: Said,
        /// How many, of those that were to come so far or further.
        share: Share,
    },
    /// The target is not as far for a class as for the first.
    Distance {
        /// The class.
        class: Dscp,
        /// How far.
        hops: u8,
        /// The first class.
        from: Dscp,
        /// How far for it.
        but: u8,
    },
}

/// Where a class that has left the path is back on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// The hop of the class.
    pub ttl: u8,
    /// Who answers there.
    pub address: IpAddr,
}

/// At more than one a second hosts leave errors out, Linux behind a burst of six (`icmp_ratelimit`).
const ERRORS_EVERY: Nanos = SECOND;

/// Everything to tell, the worst first. `interval` is that of packets to one hop.
pub fn findings(paths: &[ClassPath], interval: Nanos) -> Vec<Finding> {
    let Some((first, others)) = paths.split_first() else {
        return Vec::new();
    };
    let mut found: Vec<Finding> = paths.iter().flat_map(not_sent).collect();
    found.extend(paths.iter().filter_map(not_reached));
    found.extend(paths.iter().filter_map(refused));
    found.extend(paths.iter().flat_map(remarked));
    found.extend(paths.iter().flat_map(ecn_changed));
    found.extend(others.iter().filter_map(|path| parts(first, path)));
    found.extend(others.iter().filter_map(|path| distance(first, path)));
    found.extend(paths.iter().flat_map(|path| lost(path, interval)));
    found.extend(paths.iter().flat_map(|path| ignored(path, paths)));
    found.extend(paths.iter().flat_map(spread));
    found.extend(limited(paths));
    found
}

fn not_sent(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let not_sent = path.not_sent.iter();
    not_sent.map(|(&errno, &packets)| Finding::NotSent {
        class: path.class,
        errno,
        share: Share {
            packets,
            of: path.due,
        },
    })
}

fn not_reached(path: &ClassPath) -> Option<Finding> {
    // Nothing was looked for.
    if !path.is_sent() {
        return None;
    }
    let refused = match path.end {
        End::Refused(ttl) => path.hop(ttl).map(std::slice::from_ref).and_then(refuser),
        End::Target(_) => return None,
        End::Silent(_) | End::Beyond(_) | End::Stopped(_) => None,
    };
    Some(Finding::NotReached {
        class: path.class,
        end: path.end,
        refused,
        round: path.round(),
    })
}

/// Who refuses most packets to these hops, and what it says.
fn refuser(hops: &[Hop]) -> Option<(IpAddr, Said)> {
    let routers = hops.iter().flat_map(|hop| &hop.routers);
    let by = routers.max_by_key(|router| router.refused())?;
    let (&said, _) = by.refused.iter().max_by_key(|&(_, count)| count)?;
    Some((by.address, said))
}

fn refused(path: &ClassPath) -> Option<Finding> {
    if matches!(path.end, End::Refused(_)) {
        return None;
    }
    let from = path.hops.iter().position(|hop| hop.refused() > 0)?;
    let hops = &path.hops[from..];
    let (by, said) = refuser(hops)?;
    Some(Finding::Refused {
        class: path.class,
        ttl: hops[0].ttl,
        by,
        said,
        share: Share {
            packets: hops.iter().map(Hop::refused).sum(),
            of: hops.iter().map(|hop| hop.sent).sum(),
        },
    })
}

/// A change of a value on the way.
struct Change {
    from: u8,
    to: u8,
    after: u8,
    at: u8,
    share: Option<Share>,
}

/// On how many packets each value was.
type Values = BTreeMap<u8, u64>;

fn share_of(value: u8, values: &Values) -> Share {
    Share {
        packets: values.get(&value).copied().unwrap_or(0),
        of: values.values().sum(),
    }
}

fn together<'a>(all: impl Iterator<Item = &'a Values>) -> Values {
    let mut sum = Values::new();
    for (&value, packets) in all.flatten() {
        *sum.entry(value).or_default() += packets;
    }
    sum
}

/// The values that routers of a hop saw, and in how many packets.
fn values(hop: &Hop, value: fn(u8) -> u8) -> Values {
    let mut values = Values::new();
    for (&byte, packets) in hop.routers.iter().flat_map(|router| &router.seen) {
        *values.entry(value(byte)).or_default() += packets;
    }
    values
}

/// Each change of a value along the hops that tell it. Some packets alone may be changed: then their value is new at
/// a hop, and hops behind it see it again.
fn changes(path: &ClassPath, value: fn(u8) -> u8) -> Vec<Change> {
    let sent = value(path.traffic_class);
    let mut told = vec![(0, Values::from([(sent, 1)]))];
    let by_hop = path.hops.iter().map(|hop| (hop.ttl, values(hop, value)));
    told.extend(by_hop.filter(|(_, values)| !values.is_empty()));
    let mut found = Vec::new();
    let mut known = BTreeSet::from([sent]);
    let mut since = 0;
    for at in 1..told.len() {
        let (before, here) = (&told[since..at], &told[at]);
        let new = changes_at(here, before, &known);
        known.extend(here.1.keys());
        if !new.is_empty() {
            since = at;
        }
        found.extend(new);
    }
    found
}

/// What changes at this hop; `before` are those that tell of the path since the last change, and `known` are the
/// values that some hop saw.
fn changes_at(
    (at, here): &(u8, Values),
    before: &[(u8, Values)],
    known: &BTreeSet<u8>,
) -> Vec<Change> {
    let was = together(before.iter().map(|(_, values)| values));
    let mut found = Vec::new();
    for &to in here.keys() {
        let (now, then) = (share_of(to, here), share_of(to, &was));
        let all = now.packets == now.of;
        let whole = all && then.packets == 0;
        if !whole && known.contains(&to) && !now.exceeds_by(then, CLEARLY) {
            continue;
        }
        let less =
            |&value: &u8| share_of(value, &was).fraction() - share_of(value, here).fraction();
        let others = was.keys().copied().filter(|&value| value != to);
        let from = others.max_by(|one, other| less(one).total_cmp(&less(other)));
        // Of few packets, a hop before may have seen none by chance.
        let without = |values: &Values| whole || now.exceeds(share_of(to, values));
        let mut hops = before.iter().rev();
        let after = hops.find(|(_, values)| without(values));
        found.push(Change {
            from: from.unwrap_or(to),
            to,
            after: after.or(before.first()).map_or(0, |&(ttl, _)| ttl),
            at: *at,
            share: (!all).then_some(now),
        });
    }
    found
}

fn remarked(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let dscp = |byte| Dscp::from_traffic_class(byte << 2).0;
    let changes = changes(path, |byte| byte >> 2).into_iter();
    changes.map(move |change| Finding::Remarked {
        class: path.class,
        from: dscp(change.from),
        to: dscp(change.to),
        after: change.after,
        at: change.at,
        share: change.share,
    })
}

fn ecn_changed(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let changes = changes(path, |byte| byte & 3).into_iter();
    changes.map(move |change| Finding::EcnChanged {
        class: path.class,
        from: change.from,
        to: change.to,
        after: change.after,
        at: change.at,
        share: change.share,
    })
}

/// Do these hops have no address in common, although both answer?
fn differ(one: &Hop, other: &Hop) -> bool {
    let mut routers = other.at_place();
    answer_at_place(one) && answer_at_place(other) && !routers.any(|router| one.has(router.address))
}

/// Of the hops before the target, which is so far for all of these classes, how many were asked, and at how many of these each class
/// is answered: elsewhere their paths cannot be compared.
pub fn compared_before(target: u8, paths: &[ClassPath]) -> (usize, usize) {
    let hops = (1..target).filter_map(|ttl| {
        let of_each = paths.iter().map(|path| path.hop(ttl));
        of_each.collect::<Option<Vec<_>>>()
    });
    let answered: Vec<bool> = hops
        .map(|hops| hops.into_iter().all(answer_at_place))
        .collect();
    let known = answered.iter().filter(|known| **known).count();
    (answered.len(), known)
}

fn answer_at_place(hop: &Hop) -> bool {
    hop.at_place().next().is_some()
}

fn parts(first: &ClassPath, path: &ClassPath) -> Option<Finding> {
    let mut after = 0;
    for hop in &path.hops {
        let Some(other) = first.hop(hop.ttl) else {
            continue;
        };
        if differ(hop, other) {
            let agrees = |hop: &Hop| hop.at_place().count() == 1 && hop.answered() > 1;
            return Some(Finding::Parts {
                class: path.class,
                from: first.class,
                after,
                at: hop.ttl,
                meets: meeting(first, path, hop.ttl, after),
                certain: agrees(hop) && agrees(other),
            });
        }
        if answer_at_place(hop) && answer_at_place(other) {
            after = hop.ttl;
        }
    }
    None
}

/// The first hop of `path` from `at` on that `first` has as well, anywhere behind `after`.
fn meeting(first: &ClassPath, path: &ClassPath, at: u8, after: u8) -> Option<Meeting> {
    let on_first = |address| {
        let mut behind = first.hops.iter().filter(|hop| hop.ttl > after);
        behind.any(|hop| hop.has(address))
    };
    let hops = path.hops.iter().filter(|hop| hop.ttl >= at);
    let met = hops.flat_map(|hop| hop.at_place().map(move |r| (hop.ttl, r.address)));
    met.map(|(ttl, address)| Meeting { ttl, address })
        .find(|meeting| on_first(meeting.address))
}

fn distance(first: &ClassPath, path: &ClassPath) -> Option<Finding> {
    match (first.end, path.end) {
        (End::Target(but), End::Target(hops)) if but != hops => Some(Finding::Distance {
            class: path.class,
            hops,
            from: first.class,
            but,
        }),
        _ => None,
    }
}

/// Hops in rows: one begins where clearly more is missing than in the row before. What is missing before the first such hop may
/// be by chance, and is then left out.
fn rises<'a>(losing: &[&'a Hop]) -> Vec<Vec<&'a Hop>> {
    let missing = |row: &[&Hop]| Share {
        packets: row.iter().map(|hop| hop.unanswered()).sum(),
        of: row.iter().map(|hop| hop.sent).sum(),
    };
    let mut rows: Vec<Vec<&Hop>> = Vec::new();
    for &hop in losing {
        match rows.last_mut() {
            Some(row) if !Share::missing(hop).exceeds_by(missing(row), CLEARLY) => row.push(hop),
            _ => rows.push(vec![hop]),
        }
    }
    let by_chance = |row: &[&Hop]| {
        let lost = missing(row);
        !lost.exceeds_by(Share { packets: 0, ..lost }, CLEARLY)
    };
    if rows.len() > 1 && by_chance(&rows[0]) {
        rows.remove(0);
    }
    rows
}

/// Loss of the path is loss at the target, and at every hop from somewhere on that does not limit its answers. What
/// is missing at the target alone may be a limit on its errors, and is then no loss.
fn lost(path: &ClassPath, interval: Nanos) -> Vec<Finding> {
    let Some((target, before)) = path.hops.split_last().filter(|_| path.reaches_target()) else {
        return Vec::new();
    };
    let class = path.class;
    let missing = Share::missing(target);
    if missing.packets == 0 {
        return Vec::new();
    }
    let mut answering = before
        .iter()
        .rev()
        .filter(|hop| hop.answered() > 0 && !path.limits_answers(hop))
        .peekable();
    let last = answering.peek().copied();
    let mut losing: Vec<&Hop> = answering.take_while(|hop| hop.unanswered() > 0).collect();
    losing.reverse();
    let alone =
        last.is_none_or(|hop| hop.unanswered() == 0 || missing.exceeds(Share::missing(hop)));
    let limits = alone && interval < ERRORS_EVERY && answers_by_errors(target);
    if !limits {
        losing.push(target);
    }
    let rises = rises(&losing);
    let lost = rises.iter().zip(1..).filter_map(|(hops, number)| {
        let (first, last) = (hops.first()?, hops.last()?);
        Some(Finding::Lost {
            class,
            from: first.ttl,
            first: Share::missing(first),
            last: Share::missing(last),
            until: (limits || number < rises.len()).then_some(last.ttl),
        })
    });
    let limited = limits.then(|| Finding::TargetLimits {
        class,
        after: last.map_or(0, |hop| hop.ttl),
        missing,
    });
    lost.chain(limited).collect()
}

fn answers_by_errors(target: &Hop) -> bool {
    let mut routers = target.routers.iter();
    routers.all(|router| matches!(router.said, Said::Error(_)))
}

fn ignored(path: &ClassPath, paths: &[ClassPath]) -> Vec<Finding> {
    let hops = path.hops.iter();
    let ignored = hops.filter_map(|hop| Some((hop.ttl, answered_instead(path, hop, paths)?)));
    ignored
        .map(|(ttl, unlike)| Finding::Ignored {
            class: path.class,
            ttl,
            unlike,
        })
        .collect()
}

/// A class of which such a hop answers everything, where this hop answers nothing.
fn answered_instead(path: &ClassPath, hop: &Hop, paths: &[ClassPath]) -> Option<Dscp> {
    if hop.answered() > 0 || hop.sent < 2 {
        return None;
    }
    let whole = |hop: &Hop| hop.sent > 1 && hop.unanswered() == 0;
    let mut others = paths
        .iter()
        .filter(|other| are_together(path, other, hop.ttl));
    let other = others.find(|other| other.hop(hop.ttl).is_some_and(whole))?;
    Some(other.class)
}

/// Are both on one path where they were last seen before this hop, and where they are next? If not, they
/// are not asking the same router.
fn are_together(one: &ClassPath, other: &ClassPath, ttl: u8) -> bool {
    let both = |hop: &&Hop| {
        let theirs = other.hop(hop.ttl);
        answer_at_place(hop) && theirs.is_some_and(answer_at_place)
    };
    let apart = |hop: &Hop| other.hop(hop.ttl).is_some_and(|other| differ(hop, other));
    let before = one.hops.iter().rev().filter(|hop| hop.ttl < ttl).find(both);
    let behind = one.hops.iter().filter(|hop| hop.ttl > ttl).find(both);
    !before.is_some_and(apart) && !behind.is_some_and(apart)
}

fn spread(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let routers = path.hops.iter().map(|hop| (hop, hop.at_place().count()));
    let several = routers.filter(|&(_, routers)| routers > 1);
    several.map(|(hop, routers)| Finding::Spread {
        class: path.class,
        ttl: hop.ttl,
        routers,
    })
}

fn limited(paths: &[ClassPath]) -> Option<Finding> {
    let (mut some, mut none) = (Vec::new(), Vec::new());
    for path in paths {
        for hop in path.hops.iter().filter(|hop| path.limits_answers(hop)) {
            let mut of_all = paths.iter().filter_map(|path| path.hop(hop.ttl));
            if of_all.all(|hop| hop.answered() == 0) {
                none.push(hop.ttl);
            } else if hop.answered() > 0 {
                some.push(hop.ttl);
            }
        }
    }
    for ttls in [&mut some, &mut none] {
        ttls.sort_unstable();
        ttls.dedup();
    }
    (!some.is_empty() || !none.is_empty()).then_some(Finding::Limited { some, none })
}
