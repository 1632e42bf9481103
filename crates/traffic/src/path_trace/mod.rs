//! A path trace: which packet with which TTL and class is due, what came of it, and when a class has
//! seen its path.
//!
//! | module | holds |
//! |---|---|
//! | [`hop`] | what came from each hop, by class |
//! | [`compare`] | where classes are re-marked, part and meet again, lose |
//!
//! Classes go side by side: at each hop their packets take turns, so that a change of the path in time
//! is not mistaken for a difference between them.
//!
//! **Pace.** Routers answer so many packets a second and no more (RFC 1812 §4.3.2.8; Linux one a second,
//! after six). So packets to one hop, of whatever class, stand [`Settings::interval`] apart, while those
//! to different hops are under way together, [`Settings::gap`] apart.
//!
//! **How far.** A class looks [`AHEAD`] hops beyond the last that it knows of, and no further than
//! another class found the target, unless it is not there. It ends at the target, where all its packets are
//! refused, behind [`Settings::give_up`] silent hops, or at [`Settings::max_ttl`].

pub mod compare;
pub mod hop;

use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::{Carrier, Method};
use delaylab_model::request::Question;
use delaylab_wire::icmp_error::Reason;
use delaylab_wire::mpls;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use std::net::IpAddr;

/// So many hops are asked of which nothing is known yet.
pub const AHEAD: u8 = 4;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Settings {
    /// The classes to compare; the others are compared with the first.
    #[serde(skip)]
    pub classes: Vec<Dscp>,
    /// ECN bits of every packet.
    pub ecn: u8,
    /// The first hop asked.
    pub first_ttl: u8,
    /// The last hop to ask.
    pub max_ttl: u8,
    /// Packets to each hop of each class.
    pub queries: u32,
    /// From a packet to one hop to the next packet there.
    #[serde(rename = "interval_ns")]
    pub interval: Nanos,
    /// From one packet to the next.
    #[serde(rename = "gap_ns")]
    pub gap: Nanos,
    /// An answer later than this is late.
    #[serde(rename = "timeout_ns")]
    pub timeout: Nanos,
    /// Behind this many silent hops nothing is looked for.
    pub give_up: u8,
    /// How many packets may be under way together.
    #[serde(skip)]
    pub at_once: AtOnce,
}

impl Settings {
    /// The first and the last hop.
    ///
    /// # Errors
    /// These settings ask for no packet, or for too many.
    fn hops(&self) -> Result<(u8, u8), SettingsError> {
        if self.classes.is_empty() {
            return Err(SettingsError::NoClass);
        }
        let (first, last) = (self.first_ttl.max(1), self.max_ttl);
        if first > last {
            return Err(SettingsError::FirstBehindLast { first, last });
        }
        let hops = u64::from(last - first) + 1;
        let most = hops * self.classes.len() as u64 * u64::from(self.queries);
        match most > u16::MAX.into() {
            true => Err(SettingsError::TooMany(most)),
            false => Ok((first, last)),
        }
    }
}

/// How many packets may be under way together. Those of one flow have the same ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AtOnce {
    /// As many as are due.
    #[default]
    Many,
    /// One to each hop: a target takes a second SYN for a part of the connection that the first one opens.
    OneAHop,
    /// One in all: a host has one connection at a time between the same two ports.
    One,
}

/// What the packets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packets {
    /// Packets that this host writes as a whole, by raw sockets: routers' quotes of them are read from the IP header on.
    Crafted {
        /// udp, icmp or tcp.
        method: Method,
        /// Bytes behind the UDP or ICMP header.
        payload: u32,
    },
    /// The kernel's own TCP handshakes with the target's port.
    Handshakes,
    /// Questions to a name server by UDP.
    Questions(Question),
}

impl Packets {
    /// What they are, as programs read it.
    pub const fn name(&self) -> &'static str {
        match self {
            Packets::Crafted { method, .. } => match method.carrier() {
                Carrier::Icmp => "echo-request",
                Carrier::Tcp => "syn",
                Carrier::Udp => "datagram",
            },
            Packets::Handshakes => "handshake",
            Packets::Questions(_) => "question",
        }
    }

    /// Are they the first packets of TCP connections?
    pub const fn are_tcp(&self) -> bool {
        match self {
            Packets::Crafted { method, .. } => method.is_stream(),
            Packets::Handshakes => true,
            Packets::Questions(_) => false,
        }
    }

    /// Bytes behind the UDP or ICMP header, where they are asked for.
    pub const fn payload(&self) -> u32 {
        match self {
            Packets::Crafted { payload, .. } => *payload,
            Packets::Handshakes | Packets::Questions(_) => 0,
        }
    }

    /// Can it be read with which class they arrived at a hop? The kernel keeps quotes of IP headers for raw sockets.
    pub const fn tell_class(&self) -> bool {
        matches!(self, Packets::Crafted { .. })
    }
}

/// Settings that no path trace can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No class at all.
    #[error("no class to trace")]
    NoClass,
    /// The first hop is behind the last.
    #[error("the first hop ({first}) is behind the last ({last})")]
    FirstBehindLast {
        /// [`Settings::first_ttl`].
        first: u8,
        /// [`Settings::max_ttl`].
        last: u8,
    },
    /// Packets are told apart by 16 bits.
    #[error("{0} packets at most; a path trace has room for 65535. Ask for fewer of each hop")]
    TooMany(u64),
}

/// A packet to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Which packet, from 1.
    pub number: u16,
    /// Index of its class.
    pub class: usize,
    /// TTL or hop limit.
    pub ttl: u8,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send a packet, now.
    Send(Due),
    /// Wait for answers, until then at the most.
    Wait(Nanos),
    /// Nothing is left to do.
    Done,
}

/// What answered a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Said {
    /// An ICMP error.
    Error(Reason),
    /// An echo reply.
    EchoReply,
    /// Its datagram came back.
    Datagram,
    /// SYN and ACK.
    Open,
    /// RST.
    Closed,
    /// A name server's answer.
    Replied,
}

impl Said {
    /// Does it say, coming from this address, that the packet arrived at the target? Firewalls on the way reject
    /// packets with the errors of a host, and a host with those of a firewall: only the address tells them apart.
    pub fn is_arrival(self, from: IpAddr, target: IpAddr) -> bool {
        match self {
            Said::Error(Reason::TtlExceeded) => false,
            Said::Error(_) => from == target,
            _ => true,
        }
    }

    /// Does it say, coming from this address, that the packet came no further, although it is not at the target?
    pub fn is_refusal(self, from: IpAddr, target: IpAddr) -> bool {
        !self.is_hop() && !self.is_arrival(from, target)
    }

    /// Does it say that the packet was on its way?
    pub const fn is_hop(self) -> bool {
        matches!(self, Said::Error(Reason::TtlExceeded))
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// When it arrived.
    pub at: Nanos,
    /// Who sent it.
    pub from: IpAddr,
    /// What it says.
    pub said: Said,
    /// TOS or traffic class byte of the packet as it arrived there, and its TTL: from the quote.
    pub seen: Option<QuotedMarks>,
    /// MPLS labels that the packet arrived there with.
    pub labels: Vec<mpls::Entry>,
    /// TTL or hop limit of the answer as it arrived here.
    pub reply_ttl: Option<u8>,
    /// TOS or traffic class byte of the answer as it arrived here.
    pub reply_traffic_class: Option<u8>,
}

/// A packet as a router saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuotedMarks {
    /// TOS or traffic class byte.
    pub traffic_class: u8,
    /// TTL or hop limit.
    pub ttl: u8,
}

/// A packet and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Index of its class.
    pub class: usize,
    /// TTL or hop limit.
    pub ttl: u8,
    /// When it was sent.
    pub sent_at: Nanos,
    /// The answer that came in time.
    pub answer: Option<Answer>,
    /// Did an answer come after its time-out?
    pub late: bool,
    /// The error number of its send call; `None`: it was sent.
    pub not_sent: Option<i32>,
    given_up: bool,
}

impl Packet {
    const fn is_open(&self) -> bool {
        self.answer.is_none() && !self.given_up
    }

    /// From its send call to the arrival of its answer.
    pub fn round_trip(&self) -> Option<Nanos> {
        self.answer.as_ref().map(|answer| answer.at - self.sent_at)
    }
}

/// How the path of a class ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the target, with its distance in hops; at most, where that is the first hop asked.
    Target(u8),
    /// Every packet with this TTL or a larger one is refused.
    Refused(u8),
    /// Behind this hop nothing answers, as far as it was worth asking; the one before the first hop asked: nothing does at all.
    Silent(u8),
    /// Not at the last hop that was asked for.
    Beyond(u8),
    /// Nothing is known behind this hop: the path trace was stopped before it had asked.
    Stopped(u8),
}

impl End {
    /// The last hop that there is something to say of.
    pub const fn last_hop(self) -> u8 {
        match self {
            End::Target(ttl)
            | End::Refused(ttl)
            | End::Silent(ttl)
            | End::Beyond(ttl)
            | End::Stopped(ttl) => ttl,
        }
    }
}

/// What one class knows of its path.
#[derive(Debug, Clone)]
struct ClassState {
    /// Packets sent, by TTL.
    sent: Vec<u32>,
    /// Is there an answer, or was one given up, by TTL?
    resolved: Vec<bool>,
    /// The furthest hop that a packet came to, as an answer says; 0 is none.
    heard: u8,
    /// The nearest TTL with which a packet arrived.
    target: Option<u8>,
    /// The nearest TTL with which one was refused.
    refused: Option<u8>,
}

impl ClassState {
    fn new(max_ttl: u8) -> Self {
        let hops = usize::from(max_ttl) + 1;
        Self {
            sent: vec![0; hops],
            resolved: vec![false; hops],
            heard: 0,
            target: None,
            refused: None,
        }
    }

    /// A refusal is an end where no packet comes further: a hop may refuse some and forward others.
    fn end(&self) -> Option<End> {
        let refused = self.refused.filter(|&ttl| ttl > self.heard);
        let target = self.target.map(End::Target);
        target.or(refused.map(End::Refused))
    }

    /// The last hop up to which every hop is resolved.
    fn settled(&self, first_ttl: u8) -> u8 {
        let from = usize::from(first_ttl);
        let known = self.resolved[from..].iter().take_while(|known| **known);
        (from + known.count() - 1) as u8
    }
}

/// The path trace under way.
#[derive(Debug, Clone)]
pub struct PathTrace {
    settings: Settings,
    target: IpAddr,
    courses: Vec<ClassState>,
    packets: Vec<Packet>,
    /// Packets under way, by index, in the order in which they were sent.
    open: VecDeque<usize>,
    /// When each hop may be asked again, by TTL.
    hop_free: Vec<Nanos>,
    free: Nanos,
}

impl PathTrace {
    /// To this target with these settings, from now on.
    pub fn new(settings: Settings, target: IpAddr, now: Nanos) -> Result<Self, SettingsError> {
        let (first, last) = settings.hops()?;
        Ok(Self {
            target,
            courses: vec![ClassState::new(last); settings.classes.len()],
            packets: Vec::new(),
            open: VecDeque::new(),
            hop_free: vec![now; usize::from(last) + 1],
            free: now,
            settings: Settings {
                first_ttl: first,
                ..settings
            },
        })
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: Nanos) -> Step {
        self.give_up_until(now);
        let (ready, next_at) = self.candidates(now);
        match ready {
            Some((class, ttl)) if now >= self.free => Step::Send(self.send(class, ttl, now)),
            Some(_) => Step::Wait(self.free),
            None => {
                let given_up = self.open.front().map(|&at| self.times_out(at));
                match [next_at, given_up].into_iter().flatten().min() {
                    Some(at) => Step::Wait(at),
                    None => Step::Done,
                }
            }
        }
    }

    /// The packet is about to be sent; this is the last clock reading before.
    pub fn sent(&mut self, number: u16, at: Nanos) {
        if let Some(packet) = self.packets.get_mut(usize::from(number).wrapping_sub(1)) {
            packet.sent_at = at;
        }
    }

    /// The send call of the packet failed with this error number: nothing is waited for.
    pub fn not_sent(&mut self, number: u16, errno: i32) {
        let index = usize::from(number).wrapping_sub(1);
        if let Some(packet) = self.packets.get_mut(index) {
            packet.not_sent = Some(errno);
            self.open.retain(|&open| open != index);
            self.give_up(index);
        }
    }

    /// An answer to the packet with this number. Returns whether there was one to answer.
    pub fn answered(&mut self, number: u16, answer: Answer) -> bool {
        let index = usize::from(number).wrapping_sub(1);
        let Some(packet) = self.packets.get_mut(index) else {
            return false;
        };
        if !packet.is_open() {
            packet.late |= packet.given_up;
            return false;
        }
        if answer.at - packet.sent_at > self.settings.timeout {
            // Its time-out has come, although nobody has looked yet.
            packet.late = true;
            return false;
        }
        let (course, ttl) = (&mut self.courses[packet.class], packet.ttl);
        course.resolved[usize::from(ttl)] = true;
        let nearest = |known: Option<u8>| Some(known.map_or(ttl, |known| known.min(ttl)));
        if answer.said.is_refusal(answer.from, self.target) {
            course.refused = nearest(course.refused);
        } else {
            course.heard = course.heard.max(ttl);
        }
        if answer.said.is_arrival(answer.from, self.target) {
            course.target = nearest(course.target);
        }
        packet.answer = Some(answer);
        self.open.retain(|&open| open != index);
        true
    }

    /// Nothing more is sent or waited for: packets under way are forgotten. The last thing to be told.
    pub fn stop(&mut self) {
        let open = std::mem::take(&mut self.open);
        let mut index = 0;
        self.packets.retain(|_| {
            index += 1;
            !open.contains(&(index - 1))
        });
    }

    /// What was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where the packets go.
    pub const fn target(&self) -> IpAddr {
        self.target
    }

    /// Every packet, in the order in which they were sent.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// How the path of a class ends, as far as is known.
    pub fn end(&self, class: usize) -> End {
        let course = &self.courses[class];
        course.end().unwrap_or_else(|| {
            let (last, settled) = self.known(course);
            match settled.max(last) {
                settled if settled - last >= self.settings.give_up => End::Silent(last),
                settled if settled == self.settings.max_ttl => End::Beyond(settled),
                _ => End::Stopped(last),
            }
        })
    }

    /// The last hop that answers, or the one before the first that is asked; and that up to which every hop is resolved.
    fn known(&self, course: &ClassState) -> (u8, u8) {
        let first = self.settings.first_ttl;
        let last = course.heard.max(first - 1);
        (last, course.settled(first))
    }

    fn times_out(&self, index: usize) -> Nanos {
        self.packets[index]
            .sent_at
            .saturating_add(self.settings.timeout)
    }

    fn give_up_until(&mut self, now: Nanos) {
        while let Some(&index) = self.open.front()
            && self.times_out(index) <= now
        {
            self.open.pop_front();
            self.give_up(index);
        }
    }

    fn give_up(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        packet.given_up = true;
        self.courses[packet.class].resolved[usize::from(packet.ttl)] = true;
    }

    /// The packet that is next, if its hop may be asked now; else when one may. Hops that were asked least
    /// often come first, the nearest of them before the others, and classes take turns.
    fn candidates(&self, now: Nanos) -> (Option<(usize, u8)>, Option<Nanos>) {
        let classes = self.courses.len();
        let mut best = None;
        let mut next_at = None;
        for (class, course) in self.courses.iter().enumerate() {
            for ttl in self.settings.first_ttl..=self.horizon(course) {
                let sent = course.sent[usize::from(ttl)];
                if sent >= self.settings.queries || (sent > 0 && ttl > self.worth_repeating(course))
                {
                    continue;
                }
                let free = self.hop_free[usize::from(ttl)];
                if free > now {
                    next_at = Some(next_at.map_or(free, |at: Nanos| at.min(free)));
                } else if !self.is_busy(ttl) {
                    // The first class looks for the path; the others follow where it has been.
                    let moved = if sent == 0 {
                        0
                    } else {
                        usize::from(ttl) + sent as usize
                    };
                    let turn = (class + moved) % classes;
                    let rank = (sent, ttl, turn);
                    if best.is_none_or(|(known, _)| rank < known) {
                        best = Some((rank, class));
                    }
                }
            }
        }
        (best.map(|((_, ttl, _), class)| (class, ttl)), next_at)
    }

    /// Must a packet to this hop wait for the answer to another?
    fn is_busy(&self, ttl: u8) -> bool {
        let mut open = self.open.iter();
        match self.settings.at_once {
            AtOnce::Many => false,
            AtOnce::OneAHop => open.any(|&index| self.packets[index].ttl == ttl),
            AtOnce::One => open.next().is_some(),
        }
    }

    /// The last hop to ask of.
    fn horizon(&self, course: &ClassState) -> u8 {
        if let Some(end) = course.end() {
            return end.last_hop();
        }
        let (last, settled) = self.known(course);
        if settled.saturating_sub(last) >= self.settings.give_up {
            return last;
        }
        let ahead = settled.saturating_add(AHEAD).min(self.settings.max_ttl);
        let elsewhere = self.courses.iter().filter_map(|other| other.target).max();
        match elsewhere {
            Some(target) if settled < target => ahead.min(target),
            _ => ahead,
        }
    }

    /// The last hop that is worth a second packet. What is behind it has not answered the first.
    fn worth_repeating(&self, course: &ClassState) -> u8 {
        course.end().map_or(course.heard, End::last_hop)
    }

    fn send(&mut self, class: usize, ttl: u8, now: Nanos) -> Due {
        let index = self.packets.len();
        self.packets.push(Packet {
            class,
            ttl,
            sent_at: now,
            answer: None,
            late: false,
            not_sent: None,
            given_up: false,
        });
        self.open.push_back(index);
        self.courses[class].sent[usize::from(ttl)] += 1;
        self.hop_free[usize::from(ttl)] = now + self.settings.interval;
        self.free = now + self.settings.gap;
        Due {
            // Settings leave room for every packet.
            number: (index + 1) as u16,
            class,
            ttl,
        }
    }
}

#[cfg(test)]
mod tests;
