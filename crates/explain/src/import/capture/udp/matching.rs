//! By what the replies of a UDP flow are matched with its requests.

use super::Datagram;
use super::dns::Dns;
use super::irtt::Irtt;
use delaylab_model::method::Method;
use delaylab_model::record::Answer;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    Irtt,
    Dns,
    Echo(Echo),
    /// Nothing in them says it.
    Order,
}

/// What replies have of their requests: this number of the first bytes, at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    length: usize,
    at: usize,
}

/// What tells a request from the others, and is in its reply as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag<'a> {
    Number(u32),
    Question(u16, &'a [u8]),
    Bytes(&'a [u8]),
}

/// STAMP's number has the time behind it, or in authenticated packets zeros: the time of these stands further behind than
/// most captures reach.
const STAMP: [Echo; 2] = [Echo { length: 12, at: 24 }, Echo { length: 12, at: 48 }];

/// As much of the beginning of an echo is tried first, and so much more each time: what follows may be the reply's own.
const BEGINNING: usize = 8;
const STEP: usize = 4;
/// Beyond this, all of it.
const LONGEST: usize = 256;

impl Echo {
    const fn beginning(length: usize) -> Self {
        Self { length, at: 0 }
    }

    /// The bytes that a request and its reply have in common, in one or the other.
    fn common_bytes(self, payload: &[u8], is_request: bool) -> Option<&[u8]> {
        if self.at == 0 {
            return Some(&payload[..self.length.min(payload.len())]);
        }
        let at = if is_request { 0 } else { self.at };
        payload.get(at..at + self.length)
    }
}

impl Matching {
    /// How the replies of a flow are matched, and whether its first datagram is one.
    pub fn find(datagrams: &[Datagram]) -> (Self, bool) {
        if datagrams.iter().all(|it| Irtt::read(it.payload).is_some()) {
            let first = datagrams.first().and_then(|it| Irtt::read(it.payload));
            return (Self::Irtt, first.is_some_and(|irtt| irtt.reply));
        }
        for forward in [true, false] {
            if is_dns(datagrams, forward) {
                return (Self::Dns, !forward);
            }
        }
        for echo in STAMP {
            for forward in [true, false] {
                if Tally::count(datagrams, forward, echo).is_some_and(|tally| tally.is_echo()) {
                    return (Self::Echo(echo), !forward);
                }
            }
        }
        for forward in [true, false] {
            if let Some(echo) = echoed_beginning(datagrams, forward) {
                return (Self::Echo(echo), !forward);
            }
        }
        (Self::Order, false)
    }

    /// How its requests ask.
    pub const fn method(self) -> Method {
        match self {
            Self::Dns => Method::Dns,
            Self::Irtt | Self::Echo(_) | Self::Order => Method::Udp,
        }
    }

    /// What this datagram answers, if it is a reply that says so.
    pub fn answer(self, datagram: &Datagram) -> Option<Answer> {
        match self {
            Self::Dns => Dns::read(datagram.payload)?.answer,
            Self::Irtt | Self::Echo(_) | Self::Order => None,
        }
    }

    /// What tells this datagram, or its request, from the others.
    pub fn tag<'a>(self, datagram: &Datagram<'a>) -> Option<Tag<'a>> {
        match self {
            Self::Irtt => {
                let irtt = Irtt::read(datagram.payload)?;
                (!irtt.control).then_some(Tag::Number(irtt.seq))
            }
            Self::Dns => {
                let dns = Dns::read(datagram.payload)?;
                Some(Tag::Question(dns.id, dns.question))
            }
            Self::Echo(echo) => echo
                .common_bytes(datagram.payload, datagram.forward)
                .map(Tag::Bytes),
            Self::Order => None,
        }
    }
}

/// Are nearly all that go in this direction questions of DNS, and those that come back answers?
fn is_dns(datagrams: &[Datagram], forward: bool) -> bool {
    let is = |it: &&Datagram| {
        Dns::read(it.payload).is_some_and(|dns| dns.answer.is_some() == (it.forward != forward))
    };
    datagrams.iter().filter(is).count() * 10 >= datagrams.len() * 9
}

/// The fewest bytes that tell the requests, which go in this direction, from each other as well as all of them do, if most replies
/// begin with those of their request.
fn echoed_beginning(datagrams: &[Datagram], forward: bool) -> Option<Echo> {
    let requests = datagrams.iter().filter(|it| it.forward == forward);
    let different: BTreeSet<&[u8]> = requests.map(|it| it.payload).collect();
    let lengths = (BEGINNING..=LONGEST).step_by(STEP).chain([usize::MAX]);
    for echo in lengths.map(Echo::beginning) {
        let tally = Tally::count(datagrams, forward, echo)?;
        if tally.different * 10 >= different.len() * 9 {
            return tally.is_echo().then_some(echo);
        }
        // More bytes are those of no more requests.
        if tally.known * 2 < tally.replies {
            return None;
        }
    }
    None
}

/// How the beginnings of requests come back.
#[derive(Default)]
struct Tally {
    requests: usize,
    /// Beginnings of requests,
    different: usize,
    /// and those that as many requests have as most.
    alike: usize,
    replies: usize,
    /// Replies with the beginning of a request before them,
    known: usize,
    /// and those of them that are no more than there were such requests.
    echoes: usize,
}

impl Tally {
    /// Of the requests, which go in this direction, and their replies; `None` where they are too short.
    fn count(datagrams: &[Datagram], forward: bool, echo: Echo) -> Option<Self> {
        let mut tally = Self::default();
        // Of each beginning: requests, and those that have not been echoed.
        let mut begun: BTreeMap<&[u8], (usize, usize)> = BTreeMap::new();
        for datagram in datagrams {
            let is_request = datagram.forward == forward;
            let begins = echo.common_bytes(datagram.payload, is_request)?;
            if is_request {
                tally.requests += 1;
                let (requests, open) = begun.entry(begins).or_default();
                (*requests, *open) = (*requests + 1, *open + 1);
                continue;
            }
            tally.replies += 1;
            if let Some((_, open)) = begun.get_mut(begins) {
                tally.known += 1;
                tally.echoes += usize::from(*open > 0);
                *open = open.saturating_sub(1);
            }
        }
        tally.different = begun.len();
        let times = tally.times_each();
        let alike = begun.values().filter(|(requests, _)| *requests == times);
        tally.alike = alike.count();
        Some(tally)
    }

    /// How often each request is in the capture.
    fn times_each(&self) -> usize {
        (self.requests + self.different / 2) / self.different.max(1)
    }

    fn is_echo(&self) -> bool {
        self.tells_requests_apart() && self.echoes * 2 >= self.replies
    }

    /// Are requests told from each other, but for a few? On a bridge each is seen at several interfaces.
    fn tells_requests_apart(&self) -> bool {
        let once = self.requests * 10 <= self.different * 11;
        let at_interfaces = self.different >= 4 && (2..=4).contains(&self.times_each());
        once || at_interfaces && self.alike * 10 >= self.different * 8
    }
}
