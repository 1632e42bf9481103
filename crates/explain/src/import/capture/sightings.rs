//! Requests that a capture may have several times, and which reply answers which sight of them.
//!
//! A request passes one place after the other, and its reply comes back through them in the other order: sights nest. So a
//! reply answers the last sight of its request that none has answered. Where clocks of two places differ, sights
//! are one behind the other, and other requests between them.

use super::exchange::{Exchange, Reply};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Within this time it is not a further session that has the number of a request which waits for its reply.
const WAITS: Nanos = SECOND;
/// Of a few requests those that come again later than this were sent again.
const AT_ONCE: Nanos = 10 * MILLISECOND;
/// From this number on they are more than a few.
const MANY: usize = 4;
/// More sights of a request are not looked through.
const PLACES: usize = 8;

/// Requests by what tells them apart.
pub struct Sightings<T> {
    sights: Vec<Sight<T>>,
    latest: BTreeMap<T, usize>,
}

struct Sight<T> {
    tag: T,
    exchange: Exchange,
    /// The sight before it of the same tag,
    before: Option<usize>,
    /// and whether that had no reply when this came.
    nests: bool,
}

/// The requests of a flow, each once.
#[derive(Debug, Default)]
pub struct Sighted {
    /// Where the first sight of each counts: those whose numbers begin again are of another session.
    pub sessions: Vec<Vec<Exchange>>,
    /// Further sights.
    pub again: Vec<Exchange>,
    /// The hop limits say that places were passed in another order than the times do.
    pub contradicted: bool,
}

/// May a program send the same request again?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// Then it has a new number.
    Never,
    /// It may.
    Sometimes,
}

impl<T> Default for Sightings<T> {
    fn default() -> Self {
        Self {
            sights: Vec::new(),
            latest: BTreeMap::new(),
        }
    }
}

impl<T: Ord + Copy> Sightings<T> {
    pub fn ask(&mut self, tag: T, exchange: Exchange) {
        let before = self.latest.insert(tag, self.sights.len());
        let known = before.map(|at| &self.sights[at].exchange);
        let nests = known.is_some_and(|known| {
            known.waits() && exchange.sent.saturating_sub(known.sent) <= WAITS
        });
        self.sights.push(Sight {
            tag,
            exchange,
            before,
            nests,
        });
    }

    /// A reply; false if its request is not in the capture.
    pub fn answer(&mut self, tag: &T, time: Nanos, reply: Reply) -> bool {
        let Some(&latest) = self.latest.get(tag) else {
            return false;
        };
        if let Some(at) = self.place_of_waiting(tag) {
            self.sights[at].exchange.answer(time, reply);
        } else if let Some(at) = self.place_of_copy(latest, reply) {
            self.sights[at].exchange.answer_after_copy(time, reply);
        } else {
            // It is a copy, of whichever sight.
            self.sights[latest].exchange.answer(time, reply);
        }
        true
    }

    /// The sight to which a copy of the reply that the sight within it had was given: this reply has passed more hops.
    fn place_of_copy(&self, latest: usize, reply: Reply) -> Option<usize> {
        let outer = self.sights_of(latest).skip(1);
        let mut pairs = self.sights_of(latest).zip(outer);
        let found = pairs.find(|&(inner, outer)| {
            let [inner, outer] = [inner, outer].map(|at| &self.sights[at].exchange);
            inner.ttl < outer.ttl
                && inner.reply.ttl == outer.reply.ttl
                && reply.ttl < outer.reply.ttl
        });
        found.map(|(_, outer)| outer)
    }

    /// Does a request with this tag wait for its reply?
    pub fn waits(&self, tag: &T) -> bool {
        self.place_of_waiting(tag).is_some()
    }

    /// The last sight of a request that does.
    pub fn waiting(&mut self, tag: &T) -> Option<&mut Exchange> {
        let at = self.place_of_waiting(tag)?;
        Some(&mut self.sights[at].exchange)
    }

    fn place_of_waiting(&self, tag: &T) -> Option<usize> {
        let &latest = self.latest.get(tag)?;
        self.sights_of(latest)
            .find(|&at| self.sights[at].exchange.waits())
    }

    /// This sight and those of the same request that it is within.
    fn sights_of(&self, latest: usize) -> impl Iterator<Item = usize> + '_ {
        let outer = |&at: &usize| {
            let sight = &self.sights[at];
            sight.before.filter(|_| sight.nests)
        };
        std::iter::successors(Some(latest), outer).take(PLACES)
    }

    pub fn finish(mut self, repeats: Repeats) -> Sighted {
        let mut seen = Sighted::default();
        let (nested, contradicting, near) = self.nesting();
        let different = self.latest.len();
        // A few, or one that is far behind, are requests that were sent again.
        let is_whole_flow = nested * 2 >= different && (near || different >= MANY);
        let are_sights = repeats == Repeats::Never || is_whole_flow;
        seen.contradicted = are_sights && contradicting * 2 > nested;
        if seen.contradicted {
            return seen;
        }
        if are_sights {
            self.count_copies();
        }
        let mut kept = Vec::new();
        for sight in self.sights {
            match sight.nests && are_sights {
                true => seen.again.push(sight.exchange),
                false => kept.push((sight.tag, sight.exchange)),
            }
        }
        seen.sessions = if are_interleaved(&kept) {
            vec![first_of_each(kept, &mut seen.again)]
        } else if repeats == Repeats::Never && different > 1 {
            sessions(kept)
        } else {
            vec![kept.into_iter().map(|(_, exchange)| exchange).collect()]
        };
        seen
    }

    /// A reply is in the capture as often as its request: what is there more often is a copy, which is counted at the first sight.
    fn count_copies(&mut self) {
        let mut outermost: Vec<usize> = Vec::with_capacity(self.sights.len());
        // Of each outermost sight, how often request and replies are in the capture.
        let mut times = vec![(0_u32, 0_u32); self.sights.len()];
        for (at, sight) in self.sights.iter().enumerate() {
            let outer = sight.before.filter(|_| sight.nests);
            let first = outer.map_or(at, |outer| outermost[outer]);
            outermost.push(first);
            let (requests, replies) = &mut times[first];
            *requests += 1;
            *replies += u32::from(sight.exchange.answered.is_some());
            *replies += u32::from(sight.exchange.copies);
        }
        for (sight, (requests, replies)) in self.sights.iter_mut().zip(times) {
            let copies = replies.div_ceil(requests.max(1)).saturating_sub(1);
            sight.exchange.copies = u16::try_from(copies).unwrap_or(u16::MAX);
        }
    }

    /// How many sights came while the one before waited, how many of them contradict it, and whether all came at once.
    fn nesting(&self) -> (usize, usize, bool) {
        let (mut nested, mut contradicting, mut near) = (0, 0, true);
        for sight in self.sights.iter().filter(|sight| sight.nests) {
            let Some(outer) = sight.before.map(|at| &self.sights[at].exchange) else {
                continue;
            };
            nested += 1;
            contradicting += usize::from(contradict(outer, &sight.exchange));
            near &= sight.exchange.sent.saturating_sub(outer.sent) <= AT_ONCE;
        }
        (nested, contradicting, near)
    }
}

/// Was the outer of two sights nearer to the target than the inner one?
fn contradict(outer: &Exchange, inner: &Exchange) -> bool {
    let replies = outer.reply.ttl.zip(inner.reply.ttl);
    inner.ttl > outer.ttl || replies.is_some_and(|(outer, inner)| outer > inner)
}

/// Does nearly each request come again while new ones come? Those of a session that begins again come one behind the other.
fn are_interleaved<T: Ord + Copy>(requests: &[(T, Exchange)]) -> bool {
    let mut known = BTreeSet::new();
    let new: Vec<bool> = requests.iter().map(|(tag, _)| known.insert(*tag)).collect();
    let again = new.iter().filter(|new| !**new).count();
    let between = new.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    between >= MANY && again * 2 >= known.len() && between * 2 >= again
}

/// Of each request the sight that is furthest from the target, as far as hop limits say it, and else the first; adds the others to
/// those that were seen again.
fn first_of_each<T: Ord>(requests: Vec<(T, Exchange)>, again: &mut Vec<Exchange>) -> Vec<Exchange> {
    let mut first: BTreeMap<T, Exchange> = BTreeMap::new();
    for (tag, exchange) in requests {
        match first.entry(tag) {
            Entry::Vacant(place) => {
                place.insert(exchange);
            }
            Entry::Occupied(mut known) if exchange.ttl > known.get().ttl => {
                again.push(known.insert(exchange));
            }
            Entry::Occupied(_) => again.push(exchange),
        }
    }
    let mut first: Vec<Exchange> = first.into_values().collect();
    first.sort_by_key(|exchange| exchange.sent);
    first
}

/// A number that is there begins another session.
fn sessions<T: Ord>(requests: Vec<(T, Exchange)>) -> Vec<Vec<Exchange>> {
    let mut sessions = Vec::new();
    let mut session: BTreeMap<T, Exchange> = BTreeMap::new();
    for (tag, exchange) in requests {
        if session.contains_key(&tag) {
            sessions.push(std::mem::take(&mut session));
        }
        session.insert(tag, exchange);
    }
    sessions.push(session);
    let in_order = |session: BTreeMap<T, Exchange>| session.into_values().collect();
    sessions.into_iter().map(in_order).collect()
}
