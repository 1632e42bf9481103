//! What came from each hop, by class.

use super::{Answer, End, Packet, PathTrace, Said};
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_wire::mpls;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The path of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassPath {
    /// Which class.
    pub class: Dscp,
    /// Its TOS or traffic class byte as sent.
    pub traffic_class: u8,
    /// Every hop from the first that was asked, to the end.
    pub hops: Vec<Hop>,
    /// How it ends.
    pub end: End,
    /// Packets that were due, on whatever hop.
    pub due: u64,
    /// Those of them that this host did not send, by the error number of the send call.
    pub not_sent: BTreeMap<i32, u64>,
}

/// One hop of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// How far it is.
    pub ttl: u8,
    /// Packets sent.
    pub sent: u64,
    /// Of these, answered after the time-out, and so not among the answers.
    pub late: u64,
    /// Who answered, the one with most answers first.
    pub routers: Vec<Router>,
}

/// One address at one hop of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router {
    /// From where it answers.
    pub address: IpAddr,
    /// What it said, last.
    pub said: Said,
    /// Packets that it refused, by what it said; those of the target are not among them.
    pub refused: BTreeMap<Said, u64>,
    /// Round trips, the shortest first.
    pub round_trips: Vec<Nanos>,
    /// TOS or traffic class bytes of packets as they arrived there, and of how many.
    pub seen: BTreeMap<u8, u64>,
    /// MPLS label stacks with which they arrived there, and of how many.
    pub labels: BTreeMap<Vec<mpls::Entry>, u64>,
}

impl Router {
    /// That which answers so, and of which nothing is known yet.
    const fn new(answer: &Answer) -> Self {
        Self {
            address: answer.from,
            said: answer.said,
            refused: BTreeMap::new(),
            round_trips: Vec::new(),
            seen: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }

    /// Packets that it refused.
    pub fn refused(&self) -> u64 {
        self.refused.values().sum()
    }
}

/// Where packets go round until their hop limit runs out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The first hop of it.
    pub first: u8,
    /// The last: behind it comes the first again.
    pub last: u8,
    /// Who answers at these hops; one that never does is left out.
    pub addresses: Vec<IpAddr>,
}

/// How many standard errors are no chance where many shares are compared: those of each hop of a path.
pub(super) const CLEARLY: f64 = 3.0;

/// A part of a number of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub packets: u64,
    /// Of how many.
    pub of: u64,
}

impl Share {
    /// Of the packets to this hop, those that were not answered in time.
    pub fn missing(hop: &Hop) -> Self {
        Self {
            packets: hop.unanswered(),
            of: hop.sent,
        }
    }

    /// From 0 to 1.
    pub fn fraction(self) -> f64 {
        self.packets as f64 / self.of.max(1) as f64
    }

    /// Is it clearly more than the other: by two standard errors of the difference?
    pub fn exceeds(self, other: Self) -> bool {
        self.exceeds_by(other, 2.0)
    }

    /// Is it more than the other by this many standard errors of the difference?
    pub fn exceeds_by(self, other: Self, errors: f64) -> bool {
        let [of, than] = [self, other].map(|each| each.of.max(1) as f64);
        let all = (self.packets + other.packets) as f64 / (of + than);
        let error = (all * (1.0 - all) * (1.0 / of + 1.0 / than)).sqrt();
        self.fraction() - other.fraction() > errors * error
    }
}

impl ClassPath {
    /// Of every class of a path trace.
    pub fn of_every_class(trace: &PathTrace) -> Vec<Self> {
        let classes = trace.settings().classes.iter().enumerate();
        classes
            .map(|(index, &class)| {
                let end = trace.end(index);
                let packets = trace.packets().iter();
                let packets = packets.filter(|packet| packet.class == index);
                let mut not_sent = BTreeMap::new();
                for errno in packets.clone().filter_map(|packet| packet.not_sent) {
                    *not_sent.entry(errno).or_default() += 1;
                }
                let ttls = trace.settings().first_ttl..=end.last_hop();
                Self {
                    class,
                    traffic_class: class.traffic_class(trace.settings().ecn),
                    hops: ttls.map(|ttl| Hop::new(trace, index, ttl)).collect(),
                    end,
                    due: packets.count() as u64,
                    not_sent,
                }
            })
            .collect()
    }

    /// The hop so far away, if it is on the path.
    pub fn hop(&self, ttl: u8) -> Option<&Hop> {
        self.hops.iter().find(|hop| hop.ttl == ttl)
    }

    /// Do packets go round? Then hops repeat, up to the last that answers and twice at least.
    pub fn round(&self) -> Option<Round> {
        match self.end {
            End::Target(_) | End::Refused(_) => None,
            End::Silent(_) | End::Beyond(_) | End::Stopped(_) => {
                let mut lengths = 2..=self.hops.len() / 2;
                lengths.find_map(|length| self.round_of(length))
            }
        }
    }

    fn round_of(&self, length: usize) -> Option<Round> {
        // `None`: one of the two answers nothing.
        let again = |at: usize| {
            let (hop, later) = (&self.hops[at], &self.hops[at + length]);
            let mut routers = later.at_place().peekable();
            let both = hop.at_place().next().is_some() && routers.peek().is_some();
            both.then(|| routers.any(|router| hop.has(router.address)))
        };
        let from_behind = (0..self.hops.len() - length).rev();
        let pairs = from_behind.map(|at| (at, again(at)));
        let round = pairs.take_while(|&(_, again)| again != Some(false));
        let repeated: Vec<usize> = round.filter_map(|(at, again)| again.map(|_| at)).collect();
        let &first = repeated.last()?;
        let whose = |at: usize| {
            let mut turns = self.hops[at..].iter().step_by(length);
            turns.find_map(|hop| hop.at_place().next())
        };
        let routers = (first..first + length).filter_map(whose);
        let addresses: Vec<IpAddr> = routers.map(|router| router.address).collect();
        // One router alone may answer for what is behind it.
        let several = addresses.iter().any(|address| *address != addresses[0]);
        (repeated.len() >= length && several).then(|| Round {
            first: self.hops[first].ttl,
            last: self.hops[first + length - 1].ttl,
            addresses,
        })
    }

    /// Was any packet sent at all?
    pub fn is_sent(&self) -> bool {
        self.not_sent.values().sum::<u64>() < self.due
    }

    /// Does it end at the target?
    pub fn reaches_target(&self) -> bool {
        matches!(self.end, End::Target(_))
    }

    /// Does clearly more of what is sent come back from behind this hop than from it? Then it limits its answers, and
    /// what is missing is no loss.
    pub fn limits_answers(&self, hop: &Hop) -> bool {
        let mut open: Vec<&Hop> = Vec::new();
        // A hop of which no packet was waited for leaves nothing unanswered.
        for each in self.hops.iter().rev().filter(|hop| hop.sent > 0) {
            let limits = each.answers_less_than(&open);
            if each.ttl == hop.ttl {
                return limits;
            }
            if !limits {
                open.push(each);
            }
        }
        false
    }
}

impl Hop {
    fn new(trace: &PathTrace, class: usize, ttl: u8) -> Self {
        let ours = |packet: &&Packet| {
            packet.class == class && packet.ttl == ttl && packet.not_sent.is_none()
        };
        let mut hop = Self {
            ttl,
            sent: 0,
            late: 0,
            routers: Vec::new(),
        };
        for packet in trace.packets().iter().filter(ours) {
            hop.sent += 1;
            hop.late += u64::from(packet.late);
            if let Some(answer) = &packet.answer {
                hop.take(answer, answer.at - packet.sent_at, trace.target());
            }
        }
        // The sort is stable: of equals, the one that answered first stays first.
        hop.routers
            .sort_by_key(|router| std::cmp::Reverse(router.round_trips.len()));
        for router in &mut hop.routers {
            router.round_trips.sort_unstable();
        }
        hop
    }

    fn take(&mut self, answer: &Answer, round_trip: Nanos, target: IpAddr) {
        let known = self.routers.iter().position(|r| r.address == answer.from);
        let index = known.unwrap_or(self.routers.len());
        if known.is_none() {
            self.routers.push(Router::new(answer));
        }
        let router = &mut self.routers[index];
        router.said = answer.said;
        if answer.said.is_refusal(answer.from, target) {
            *router.refused.entry(answer.said).or_default() += 1;
        }
        router.round_trips.push(round_trip);
        if let Some(seen) = answer.seen {
            *router.seen.entry(seen.traffic_class).or_default() += 1;
        }
        if !answer.labels.is_empty() {
            *router.labels.entry(answer.labels.clone()).or_default() += 1;
        }
    }

    /// Packets answered in time.
    pub fn answered(&self) -> u64 {
        let routers = self.routers.iter();
        routers.map(|router| router.round_trips.len() as u64).sum()
    }

    /// Packets refused, which are among those answered.
    pub fn refused(&self) -> u64 {
        self.routers.iter().map(Router::refused).sum()
    }

    /// Those that packets came to with this TTL. One nearer by may refuse packets that were to come here.
    pub fn at_place(&self) -> impl Iterator<Item = &Router> {
        let routers = self.routers.iter();
        routers.filter(|router| router.refused() < router.round_trips.len() as u64)
    }

    /// Packets without an answer in time.
    pub fn unanswered(&self) -> u64 {
        self.sent - self.answered()
    }

    /// The TOS or traffic class byte that most packets had when they arrived there.
    pub fn seen(&self) -> Option<u8> {
        let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
        for (&byte, count) in self.routers.iter().flat_map(|router| &router.seen) {
            *counts.entry(byte).or_default() += count;
        }
        let most = counts.into_iter().max_by_key(|&(_, count)| count);
        most.map(|(byte, _)| byte)
    }

    /// Does it answer clearly less than the hops behind it do, which do not limit their answers? Where packets are
    /// lost, one hop is a little worse than another by chance.
    fn answers_less_than(&self, behind: &[&Self]) -> bool {
        if self.answered() == 0 {
            return behind.iter().any(|hop| hop.answered() > 0);
        }
        let missing = Share::missing(self);
        let lost = behind.iter().any(|hop| hop.unanswered() > 0);
        let together = Share {
            packets: 0,
            of: behind.iter().map(|hop| hop.sent).sum(),
        };
        let mut each = behind.iter().map(|hop| Share::missing(hop));
        each.any(|other| missing.exceeds_by(other, CLEARLY))
            || !lost && together.of > 0 && missing.exceeds(together)
    }

    /// Does this address answer here?
    pub fn has(&self, address: IpAddr) -> bool {
        self.routers.iter().any(|router| router.address == address)
    }
}
