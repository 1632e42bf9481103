//! What tells classes apart: where they are re-marked, leave the path of the first class and come back,
//! where nobody answers them, and where they are lost.

use super::hop::{ClassPath, Hop, Share};
use super::{End, Said};
use delaylab_model::dscp::Dscp;
use delaylab_model::{Nanos, SECOND};
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
        /// From this hop on they are missing.
        from: u8,
        /// What is missing there.
        first: Share,
        /// What is missing at the last hop that tells of the path: the target, unless it may limit its errors.
        last: Share,
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
    /// The path of a class does not come to the target.
    NotReached {
        /// The class.
        class: Dscp,
        /// How it ends.
        end: End,
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
    let mut found: Vec<Finding> = paths.iter().filter_map(not_reached).collect();
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

fn not_reached(path: &ClassPath) -> Option<Finding> {
    (!path.reaches_target()).then_some(Finding::NotReached {
        class: path.class,
        end: path.end,
    })
}

fn refused(path: &ClassPath) -> Option<Finding> {
    if matches!(path.end, End::Refused(_)) {
        return None;
    }
    let from = path.hops.iter().position(|hop| hop.refused() > 0)?;
    let hops = &path.hops[from..];
    let routers = hops.iter().flat_map(|hop| &hop.routers);
    let by = routers.max_by_key(|router| router.refused())?;
    let (&said, _) = by.refused.iter().max_by_key(|&(_, count)| count)?;
    Some(Finding::Refused {
        class: path.class,
        ttl: hops[0].ttl,
        by: by.address,
        said,
        share: Share {
            packets: hops.iter().map(Hop::refused).sum(),
            of: hops.iter().map(|hop| hop.sent).sum(),
        },
    })
}

/// Each change of a value along the hops that tell it: what it was, becomes, and between which hops.
fn changes(path: &ClassPath, value: fn(u8) -> u8) -> Vec<(u8, u8, u8, u8)> {
    let mut known = (value(path.traffic_class), 0);
    let mut found = Vec::new();
    for hop in &path.hops {
        let Some(seen) = hop.seen().map(value) else {
            continue;
        };
        if seen != known.0 {
            found.push((known.0, seen, known.1, hop.ttl));
        }
        known = (seen, hop.ttl);
    }
    found
}

fn remarked(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let dscp = |byte| Dscp::from_traffic_class(byte << 2).0;
    let changes = changes(path, |byte| byte >> 2).into_iter();
    changes.map(move |(from, to, after, at)| Finding::Remarked {
        class: path.class,
        from: dscp(from),
        to: dscp(to),
        after,
        at,
    })
}

fn ecn_changed(path: &ClassPath) -> impl Iterator<Item = Finding> + '_ {
    let changes = changes(path, |byte| byte & 3).into_iter();
    changes.map(move |(from, to, after, at)| Finding::EcnChanged {
        class: path.class,
        from,
        to,
        after,
        at,
    })
}

/// Do these hops have no address in common, although both answer?
fn differ(one: &Hop, other: &Hop) -> bool {
    let mut routers = other.at_place();
    answer_at_place(one) && answer_at_place(other) && !routers.any(|router| one.has(router.address))
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

/// Loss of the path is loss at the target, and at every hop that answers at all from somewhere on. What is missing at the
/// target alone may be a limit on its errors, and is then no loss.
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
        .filter(|hop| hop.answered() > 0)
        .peekable();
    let last = answering.peek().copied();
    let losing: Vec<&Hop> = answering.take_while(|hop| hop.unanswered() > 0).collect();
    let alone =
        last.is_none_or(|hop| hop.unanswered() == 0 || missing.exceeds(Share::missing(hop)));
    let limits = alone && interval < ERRORS_EVERY && answers_by_errors(target);
    let first = losing.last().copied();
    let ends = match limits {
        true => first.zip(last),
        false => Some((first.unwrap_or(target), target)),
    };
    let lost = ends.map(|(first, last)| Finding::Lost {
        class,
        from: first.ttl,
        first: Share::missing(first),
        last: Share::missing(last),
    });
    let limited = limits.then(|| Finding::TargetLimits {
        class,
        after: last.map_or(0, |hop| hop.ttl),
        missing,
    });
    lost.into_iter().chain(limited).collect()
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
