//! STAMP (RFC 8762) with the extensions of RFC 8972 that tell more of a delay, and TWAMP-Light
//! reflectors, which know none of them.
//!
//! One test packet goes before the run: it shows whether there is a reflector, how its clock relates
//! to ours and whether it reports when its replies really left.

use super::channel::{FinalReport, FollowUp, ReflectorTime};
use super::datagram::{DatagramChannel, Format, FromReflector, Parsed};
use super::error::OpenError;
use super::exchange::exchange;
use super::least_payload::too_short;
use super::open::{self, Settings};
use super::session::{self, PATIENCE, bounded};
use super::socket::ProbeSocket;
use crate::clocks::HostClock;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::DatagramSocket;
use delaylab_model::method::Method;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::prober::epoch::Epoch;
use delaylab_traffic::prober::recounts::Recounts;
use delaylab_traffic::prober::sequence::{widen, widen_near};
use delaylab_wire::auth::Key;
use delaylab_wire::ntp::{ErrorEstimate, Format as TimeFormat};
use delaylab_wire::stamp::{self, Form, Reflector, Sender};
use delaylab_wire::stamp_tlv::{
    CLOCK_IDENTITY_LEN, ClassOfService, DirectMeasurement, FollowUpTelemetry, HEADER, Writer,
    is_authentic, kind, parse_clock_identity, understood,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Bytes of an HMAC TLV.
const HMAC_TLV: usize = HEADER + delaylab_wire::auth::TAG;
/// Replies remembered, to find whose departure a follow-up tells of, and follow-ups whose reply has not come.
const REMEMBERED: usize = 1024;
/// Packets after the last, and how long each is waited for.
const LAST_WORDS: u64 = 4;
const LAST_WORDS_FOR: Nanos = 200 * MILLISECOND;
/// Claimed where no daemon vouches for this host's real time.
const UNKNOWN_ERROR: u64 = SECOND as u64;

/// Opens a socket and tries the reflector.
pub fn open(settings: &Settings<'_>) -> Result<DatagramChannel<Stamp>, OpenError> {
    let payload = settings.probe().payload as usize;
    let key = settings.key.cloned();
    let layout = Layout::new(payload, key.is_some(), settings.probe().dscp.code_point())?;
    let socket = open::udp_socket(settings)?;
    let mut format = Stamp::new(layout, key, settings.run.seed as u16, settings.clock);
    let first = session::nonce().map_err(settings.failed("random numbers"))?;
    // Far enough from the end for no session to come to it.
    format.first = (first as u32) >> 1;
    let packet = settings.filled(payload);
    format.try_reflector(&socket, packet.clone(), settings)?;
    DatagramChannel::open(settings, socket, format, packet)
}

/// Which TLVs a packet of this size has. The same for every packet of a session.
#[derive(Debug, Clone, Copy)]
struct Layout {
    form: Form,
    dscp: u8,
    follow_up: bool,
    class: bool,
    clock: bool,
    counts: bool,
    /// Bytes of padding, TLV header included.
    padding: usize,
}

impl Layout {
    /// What fits, the most telling first.
    fn new(payload: usize, with_key: bool, dscp: u8) -> Result<Self, OpenError> {
        let form = if with_key {
            Form::Authenticated
        } else {
            Form::Unauthenticated
        };
        let base = form.size();
        let Some(room) = payload.checked_sub(base) else {
            let why = too_short(Method::Stamp, payload as u32, with_key);
            return Err(too_small(why.unwrap_or_default()));
        };
        // TLVs among which an HMAC TLV must be are of no use without room for it.
        let mut left = if with_key {
            room.saturating_sub(HMAC_TLV)
        } else {
            room
        };
        let mut take = |size: usize| {
            let fits = left >= size && fits_padding(left - size);
            left -= if fits { size } else { 0 };
            fits
        };
        let follow_up = take(HEADER + FollowUpTelemetry::LEN);
        let clock = take(HEADER + CLOCK_IDENTITY_LEN);
        let class = take(HEADER + ClassOfService::LEN);
        let counts = take(HEADER + DirectMeasurement::LEN);
        let any = follow_up || clock || class || counts;
        let padding = if any { left } else { room };
        if !fits_padding(padding) {
            let next = base + HEADER;
            return Err(too_small(format!(
                "a STAMP packet has {base} B, or {next} B and more: {payload} B has no room for a padding TLV"
            )));
        }
        Ok(Self {
            form,
            dscp,
            follow_up,
            class,
            clock,
            counts,
            padding,
        })
    }

    const fn any_tlv(&self) -> bool {
        self.follow_up || self.class || self.clock || self.counts
    }
}

/// Nothing, or at least a TLV header.
const fn fits_padding(left: usize) -> bool {
    left == 0 || left >= HEADER
}

fn too_small(reason: String) -> OpenError {
    OpenError::setting("payload", reason)
}

/// What a reflector has counted of a session's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Those that reached it. Where it does not tell them apart: those that it answered (RFC 8762 §4.3).
    arrived: u32,
    /// Those of them that it did not answer.
    refused: u32,
}

impl Counts {
    /// None if there were more before: some reflectors do not fill both counts at once, and some begin again.
    fn refused_since(self, before: Self) -> u32 {
        (self.refused.wrapping_sub(before.refused) as i32).max(0) as u32
    }
}

/// A STAMP Session-Sender's packets.
#[derive(Debug)]
pub struct Stamp {
    layout: Layout,
    key: Option<Key>,
    ssid: u16,
    error: ErrorEstimate,
    /// Our packet 0 has this number on the wire; those that tried the reflector have the numbers below it, the first of them
    /// the next one below, by which a testbed's switch knows it. It is random, as a packet of ours that comes back unchanged
    /// would else pass for the answer to packet 0: where a reflector repeats our number, our own packets have zeros.
    first: u32,
    /// How many of ours tried the reflector.
    tries: u32,
    /// The reflector's counts before our packet 0.
    before: Counts,
    /// The same before it began to count again, of which replies may still come.
    before_that: Counts,
    /// Where it did.
    recounts: Recounts,
    /// Packets that reached it and were not answered, as of the last reply; those of them that it does not count any more.
    refused: u32,
    refused_earlier: u32,
    /// Does it tell counts of its own?
    counting: bool,
    /// Has a reply to a packet of the run been read?
    begun: bool,
    facts: RecordFacts,
    clock: HostClock,
    reflector_time: ReflectorTime,
    remembered: VecDeque<(u32, u64)>,
    /// When replies left that had not come when a later one told it: a later one may overtake, and they may be lost.
    told_early: BTreeMap<u32, Nanos>,
}

impl Stamp {
    fn new(layout: Layout, key: Option<Key>, ssid: u16, clock: &HostClock) -> Self {
        let synchronised = clock.facts.synchronised;
        let bound = if synchronised {
            clock.facts.error_bound
        } else {
            UNKNOWN_ERROR
        };
        Self {
            layout,
            key,
            ssid,
            error: ErrorEstimate::at_most(bound, synchronised, TimeFormat::Ntp),
            first: 0,
            tries: 0,
            before: Counts::default(),
            before_that: Counts::default(),
            recounts: Recounts::default(),
            refused: 0,
            refused_earlier: 0,
            counting: false,
            begun: false,
            facts: RecordFacts::default(),
            clock: clock.clone(),
            reflector_time: ReflectorTime::AsItCame,
            remembered: VecDeque::with_capacity(REMEMBERED),
            told_early: BTreeMap::new(),
        }
    }

    fn write(&self, wire: u32, packet: &mut [u8]) -> Result<(), delaylab_wire::EmitError> {
        let form = self.layout.form;
        let timestamp = self.error.format.encode(clock::realtime());
        let sender = Sender {
            seq: wire,
            timestamp,
            error: self.error,
            ssid: self.ssid,
        };
        sender.emit(form, packet)?;
        let mut tlvs = Writer::new(packet, form.size());
        if self.layout.follow_up {
            tlvs.push(kind::FOLLOW_UP_TELEMETRY, &[0; FollowUpTelemetry::LEN])?;
        }
        if self.layout.clock {
            tlvs.push(kind::CLOCK_IDENTITY, &[0; CLOCK_IDENTITY_LEN])?;
        }
        if self.layout.class {
            let class = ClassOfService {
                dscp1: self.layout.dscp,
                dscp2: 0,
                ecn: 0,
                refused: false,
            };
            tlvs.push(kind::CLASS_OF_SERVICE, &class.to_bytes())?;
        }
        if self.layout.counts {
            let counts = DirectMeasurement {
                sender_sent: self.sent_with(wire),
                ..DirectMeasurement::default()
            };
            tlvs.push(kind::DIRECT_MEASUREMENT, &counts.to_bytes())?;
        }
        match &self.key {
            Some(key) if self.layout.any_tlv() => tlvs.seal(key)?,
            _ => {}
        }
        if self.layout.padding > 0 {
            tlvs.pad(self.layout.padding - HEADER)?;
        }
        if let Some(key) = &self.key {
            stamp::seal(key, packet);
        }
        Ok(())
    }

    /// How many packets we have sent with the one of this number. Those that tried the reflector have falling numbers.
    fn sent_with(&self, wire: u32) -> u32 {
        let before = self.first.wrapping_sub(wire);
        match (1..=self.tries).contains(&before) {
            true => before,
            false => (self.tries + 1).wrapping_sub(before),
        }
    }

    /// A reply whose seals hold.
    fn read(&self, packet: &[u8]) -> Option<Reflector> {
        let form = self.layout.form;
        let reply = Reflector::parse(form, packet).ok()?;
        let authentic = self.key.as_ref().is_none_or(|key| {
            stamp::is_sealed(key, packet) && is_authentic(key, packet, form.size())
        });
        authentic.then_some(reply)
    }

    fn try_reflector(
        &mut self,
        socket: &DatagramSocket,
        mut packet: Vec<u8>,
        settings: &Settings<'_>,
    ) -> Result<(), OpenError> {
        let mut buffer = vec![0; packet.len() + HEADER];
        let since = clock::monotonic();
        let mut echoed = false;
        let mut wire = self.first.wrapping_sub(1);
        for (attempt, patience) in (0..).zip(PATIENCE) {
            self.tries = attempt + 1;
            let written = self.write(wire, &mut packet);
            written.map_err(|error| too_small(error.to_string()))?;
            let answer = exchange(socket, &packet, &mut buffer, patience, |answer| {
                echoed |= answer == packet;
                // Any of them: with a long way there and back the answer to the first comes when others were sent.
                self.answer_to(wire..self.first, answer)
            });
            let answer = match answer {
                // The path's MTU has just been learnt: now the kernel fragments.
                Err(error) if open::is_too_long(&error) && attempt == 0 => continue,
                answer => answer.map_err(|source| open::no_exchange(settings, socket, source))?,
            };
            match answer {
                Some((packet, reply)) => {
                    self.before = self.counts_before_the_run(&packet, &reply);
                    self.counting = self.told(&packet).is_some();
                    self.facts = self.facts_of(&packet, &reply);
                    self.reflector_time = self.agreed();
                    return Ok(());
                }
                None if settings.stop.is_asked() => break,
                None if echoed => {
                    return Err(OpenError::NoStamp {
                        target: settings.target,
                    });
                }
                None => wire = wire.wrapping_sub(1),
            }
        }
        Err(session::no_answer(settings, since))
    }

    /// The reply to a packet of one of these numbers on the wire, and its bytes.
    fn answer_to(&self, wire: Range<u32>, packet: &[u8]) -> Option<(Vec<u8>, Reflector)> {
        let reply = self.read(packet)?;
        let wanted = reply.sender.seq.wrapping_sub(wire.start);
        (wanted < wire.end.wrapping_sub(wire.start)).then(|| (packet.to_vec(), reply))
    }

    /// The counts that it tells. One that keeps no session counts nothing.
    fn told(&self, packet: &[u8]) -> Option<DirectMeasurement> {
        let value = understood(packet, self.layout.form.size(), kind::DIRECT_MEASUREMENT)?;
        let told = DirectMeasurement::parse(value).ok();
        told.filter(|told| told.reflector_received > 0)
    }

    /// What the reflector has counted with the packet that this answers.
    fn counts(&self, packet: &[u8], reply: &Reflector) -> Counts {
        let told = self.told(packet);
        let answered = reply.seq.wrapping_add(1);
        Counts {
            arrived: told.map_or(answered, |told| told.reflector_received),
            refused: told.map_or(0, |told| {
                told.reflector_received.wrapping_sub(told.reflector_sent)
            }),
        }
    }

    /// What it will have counted before our packet 0, by its reply to one of those that tried it: with all of those that were
    /// sent behind that one. A reflector that repeats our number counts nothing.
    fn counts_before_the_run(&self, packet: &[u8], reply: &Reflector) -> Counts {
        let counts = self.counts(packet, reply);
        let behind = self.tries - self.nth_try(reply).unwrap_or(self.tries);
        let arrived = match reply.seq == reply.sender.seq && self.told(packet).is_none() {
            true => self.first,
            false => counts.arrived.wrapping_add(behind),
        };
        Counts { arrived, ..counts }
    }

    /// Which of those that tried the reflector it answers, from 1.
    fn nth_try(&self, reply: &Reflector) -> Option<u32> {
        let nth = self.first.wrapping_sub(reply.sender.seq);
        (1..=self.tries).contains(&nth).then_some(nth)
    }

    fn facts_of(&self, packet: &[u8], reply: &Reflector) -> RecordFacts {
        let tlvs = self.layout.form.size();
        let identity = understood(packet, tlvs, kind::CLOCK_IDENTITY);
        let identity = identity.and_then(|value| parse_clock_identity(value).ok());
        let ours = &self.clock.facts;
        let same = identity.is_some_and(|id| id != 0 && ours.id == id);
        let claimed = reply.error.bound().filter(|_| reply.error.synchronised);
        let follows_up = understood(packet, tlvs, kind::FOLLOW_UP_TELEMETRY).is_some();
        RecordFacts {
            reflector_clock: if same {
                ReflectorClock::Same
            } else {
                bounded(ours, claimed)
            },
            residence: if follows_up {
                Residence::ToDriver
            } else {
                Residence::ToUser
            },
        }
    }

    /// Its stamps are real time.
    fn agreed(&self) -> ReflectorTime {
        match self.facts.reflector_clock {
            ReflectorClock::Same => ReflectorTime::OurRealTime,
            ReflectorClock::Bounded { .. } => ReflectorTime::Agreed(Epoch {
                ours: self.clock.watch().offset(),
                ..Epoch::default()
            }),
            ReflectorClock::None | ReflectorClock::Unrelated => ReflectorTime::AsItCame,
        }
    }

    /// The departure that a reply tells of, if the reply which left then has come; else it is kept for that one.
    fn follow_up(&mut self, packet: &[u8], reply: &Reflector) -> Option<FollowUp> {
        let value = understood(packet, self.layout.form.size(), kind::FOLLOW_UP_TELEMETRY)?;
        let telemetry = FollowUpTelemetry::parse(value).ok()?;
        if telemetry.timestamp == 0 {
            return None;
        }
        let r_tx = reply.error.format.decode(telemetry.timestamp);
        let mut newest_first = self.remembered.iter().rev();
        if let Some(&(_, seq)) = newest_first.find(|(count, _)| *count == telemetry.seq) {
            return Some(FollowUp { seq, r_tx });
        }
        self.told_early.insert(telemetry.seq, r_tx);
        if self.told_early.len() > REMEMBERED {
            self.told_early.pop_first();
        }
        None
    }

    fn remember(&mut self, count: u32, seq: u64) {
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back((count, seq));
    }

    /// In which of the reflector's counts this one of packet `seq` is, read when packet `last` had been sent.
    fn note(&mut self, seq: u64, last: u64, counts: Counts) -> u32 {
        let known = self.recounts.times();
        let epoch = self.recounts.note(seq, last, counts.arrived);
        if epoch > known {
            // It counts all of ours from here on, and numbers its replies anew.
            self.before_that = std::mem::take(&mut self.before);
            self.refused_earlier = self.refused;
            self.remembered.clear();
            self.told_early.clear();
        }
        epoch
    }

    /// Is the padding as it was sent? Reflectors write into every other TLV.
    fn padding_came_back(&self, packet: &[u8], sent: &[u8]) -> bool {
        let padding = self.layout.padding.saturating_sub(HEADER);
        let from = sent.len() - padding;
        packet.get(from..) == sent.get(from..)
    }

    fn class_there(&self, packet: &[u8]) -> Option<u8> {
        let value = understood(packet, self.layout.form.size(), kind::CLASS_OF_SERVICE)?;
        ClassOfService::parse(value).ok().map(|class| class.dscp2)
    }
}

impl Stamp {
    /// A format that knows no socket, for [`super::any_bytes`].
    pub(super) fn of_nobody(payload: usize, key: Option<Key>) -> Option<Self> {
        let layout = Layout::new(payload, key.is_some(), 46).ok()?;
        Some(Self::new(layout, key, 7, &HostClock::of_kernel()))
    }
}

impl Format for Stamp {
    fn emit(&mut self, seq: u64, packet: &mut [u8]) {
        // `try_reflector` has seen to it that everything fits.
        let _ = self.write((seq as u32).wrapping_add(self.first), packet);
    }

    fn parse(&mut self, packet: &[u8], sent: &[u8], last: u64) -> Parsed {
        let Some(reply) = self.read(packet) else {
            return Parsed::Rejected;
        };
        if self.nth_try(&reply).is_some() {
            if !self.begun {
                self.before = self.counts_before_the_run(packet, &reply);
            }
            return Parsed::Ignored;
        }
        let wire = reply.sender.seq.wrapping_sub(self.first);
        let Some(seq) = widen(last, wire, 32) else {
            return Parsed::Rejected;
        };
        let counts = self.counts(packet, &reply);
        let here = counts.arrived.wrapping_sub(1);
        if !std::mem::replace(&mut self.begun, true) {
            // Of those that tried it, one that was sent behind the one that it answered may never have got there.
            let missed = self.before.arrived.wrapping_sub(here);
            if missed <= self.tries {
                self.before.arrived = here;
            }
        }
        let epoch = self.note(seq, last, counts);
        let is_present = epoch == self.recounts.times();
        let (mut before, mut follow_up, mut r_tx) = (self.before_that, None, None);
        if is_present {
            before = self.before;
            self.refused = self.refused_earlier + counts.refused_since(before);
            follow_up = self.follow_up(packet, &reply);
            r_tx = self.told_early.remove(&reply.seq);
            self.remember(reply.seq, seq);
        }
        let reflector = FromReflector {
            r_rx: Some(reply.received()),
            r_user: Some(reply.sent()),
            r_tx,
            r_dscp: self.class_there(packet),
            reflector_seq: Some(here.wrapping_sub(before.arrived)),
            reflector_epoch: epoch,
            server: None,
        };
        // A TWAMP-Light reflector may leave padding away; that is no corruption.
        let corrupt = packet.len() == sent.len() && !self.padding_came_back(packet, sent);
        Parsed::Reply {
            seq,
            reflector,
            follow_up,
            corrupt,
        }
    }

    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64> {
        let wire = u32::from_be_bytes(*quote.first_chunk()?);
        widen(last, wire.wrapping_sub(self.first), 32)
    }

    fn facts(&self) -> RecordFacts {
        self.facts
    }

    fn warnings(&mut self) -> Vec<String> {
        let often = match self.recounts.times() {
            0 => return Vec::new(),
            1 => "began to count again".to_owned(),
            times => format!("began to count again {times} times"),
        };
        vec![format!(
            "the reflector {often}: it was restarted, or had forgotten the session, as `delaylab reflect` does after ten minutes \
             without a packet. Packets lost at that time are not known to be lost on the way"
        )]
    }

    /// A reply's departure is told by a later reply: a few packets more bring those still open.
    fn finish(
        &mut self,
        socket: &impl ProbeSocket,
        sent: &[u8],
        last: u64,
        patience: Nanos,
    ) -> FinalReport {
        let mut told = FinalReport {
            refused: self.refused,
            counts: self.counting,
            ..FinalReport::default()
        };
        if self.facts.residence != Residence::ToDriver {
            return told;
        }
        let (mut packet, mut buffer) = (sent.to_vec(), vec![0; sent.len() + HEADER]);
        for seq in last + 1..=last + LAST_WORDS {
            self.emit(seq, &mut packet);
            let wire = (seq as u32).wrapping_add(self.first);
            let take = |packet: &[u8]| self.answer_to(wire..wire.wrapping_add(1), packet);
            let patience = patience.max(LAST_WORDS_FOR);
            let answer = exchange(socket, &packet, &mut buffer, patience, take);
            let is_first = seq == last + 1;
            if is_first {
                told.answered = Some(matches!(answer, Ok(Some(_))));
            }
            let Ok(Some((packet, reply))) = answer else {
                break;
            };
            let (counts, known) = (self.counts(&packet, &reply), self.recounts.times());
            if is_first && self.note(seq, seq, counts) > known {
                // Of the run's packets it has none.
                break;
            }
            if self.counting && is_first {
                // All that arrived before it are the run's.
                let arrived = counts
                    .arrived
                    .wrapping_sub(self.before.arrived)
                    .wrapping_sub(1);
                told.received = Some(widen_near(last, arrived));
                told.refused = self.refused_earlier + counts.refused_since(self.before);
            }
            match self.follow_up(&packet, &reply) {
                Some(follow_up) => told.follow_ups.push(follow_up),
                None => break,
            }
        }
        told
    }

    fn reflector_time(&self) -> ReflectorTime {
        self.reflector_time
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_traffic::reflector as traffic;
    use delaylab_wire::stamp_tlv::{Item, spans};
    use proptest::prelude::*;

    #[test]
    fn sizes_without_room_are_refused_by_name() {
        for (payload, with_key) in [
            (43, false),
            (45, false),
            (47, false),
            (111, true),
            (114, true),
        ] {
            let error = Layout::new(payload, with_key, 0).unwrap_err();
            assert!(
                error.to_string().contains(&format!("{payload} B")),
                "{error}"
            );
        }
    }

    /// A sender whose first packet has number 1000, and a reflector.
    struct Pair {
        stamp: Stamp,
        reflector: traffic::Reflector,
        now: Nanos,
        size: usize,
        /// The last reply, whose departure the reflector wants to know.
        left: Option<traffic::ReplyRef>,
    }

    impl Pair {
        fn new(size: usize, policy: traffic::Policy) -> Self {
            let layout = Layout::new(size, false, 0).unwrap();
            let mut stamp = Stamp::new(layout, None, 9, &HostClock::of_kernel());
            stamp.first = 1000;
            Self {
                stamp,
                reflector: traffic::Reflector::new(policy, [1; 32]),
                now: SECOND,
                size,
                left: None,
            }
        }

        fn reflected(&mut self, wire: u32) -> Option<Vec<u8>> {
            self.now += MILLISECOND;
            let mut packet = vec![0; self.size];
            self.stamp.write(wire, &mut packet).unwrap();
            let now = traffic::Now {
                mono: self.now,
                real: self.now,
                clock_steps: 0,
            };
            let arrival = traffic::Arrival {
                r_rx: None,
                r_user: self.now,
                traffic_class: None,
                ttl: None,
                overflowed: 0,
            };
            let from = "127.0.0.1:40000".parse().unwrap();
            let mut reply = packet.clone();
            let port = traffic::Port::Stamp;
            match { &mut self.reflector }.datagram(now, from, port, &arrival, &packet, &mut reply) {
                traffic::Verdict::Reply(told) => {
                    self.left = told.stamp;
                    Some(reply)
                }
                _ => None,
            }
        }

        /// The reply to this packet of the run, which leaves at once.
        fn stamped(&mut self, seq: u32) -> Vec<u8> {
            let reply = self.reflected(1000 + seq).unwrap();
            let left = self.left.take().unwrap();
            self.reflector.transmitted(left, self.now);
            reply
        }

        /// What a reply says of its own departure, and of another one's: the packet.
        fn departures(&mut self, reply: &[u8], last: u64) -> (bool, Option<u64>) {
            match self.stamp.parse(reply, reply, last) {
                Parsed::Reply {
                    reflector,
                    follow_up,
                    ..
                } => (reflector.r_tx.is_some(), follow_up.map(|told| told.seq)),
                other => panic!("{other:?}"),
            }
        }

        /// Sends this packet of the run; the reflector's count of it, from 0, if it answers.
        fn counted(&mut self, seq: u32) -> Option<u32> {
            let reply = self.reflected(1000 + seq)?;
            match self.stamp.parse(&reply, &reply, seq.into()) {
                Parsed::Reply { reflector, .. } => reflector.reflector_seq,
                other => panic!("{other:?}"),
            }
        }
    }

    fn open() -> traffic::Policy {
        traffic::Policy::new(traffic::Access::Open { allow: Vec::new() })
    }

    /// With and without the reflector's own counts.
    const SIZES: [usize; 2] = [100, 44];

    /// The way there and back takes longer than the first packet is waited for.
    #[test]
    fn the_first_answer_that_comes_will_do() {
        for (size, lost) in SIZES.into_iter().flat_map(|size| [(size, 0), (size, 1)]) {
            let mut pair = Pair::new(size, open());
            pair.stamp.tries = 3;
            let answers =
                Vec::from_iter((1..=3 - lost).map(|nth| pair.reflected(1000 - nth).unwrap()));
            let (packet, reply) = pair.stamp.answer_to(997..1000, &answers[0]).unwrap();
            assert_eq!(
                pair.stamp.answer_to(997..999, &answers[0]).map(|_| ()),
                None
            );
            pair.stamp.before = pair.stamp.counts_before_the_run(&packet, &reply);
            assert_eq!(pair.stamp.before.arrived, 3);
            for late in &answers[1..] {
                assert!(matches!(pair.stamp.parse(late, late, 0), Parsed::Ignored));
            }
            let counted = [0, 1, 2].map(|seq| pair.counted(seq));
            assert_eq!(counted, [Some(0), Some(1), Some(2)], "{size} {lost}");
        }
    }

    #[test]
    fn a_reflector_that_repeats_our_number_counts_as_we_do() {
        let policy = traffic::Policy {
            max_sessions: 0,
            ..open()
        };
        let mut pair = Pair::new(44, policy);
        pair.stamp.tries = 2;
        let reply = pair.reflected(998).unwrap();
        let reply = pair.stamp.read(&reply).unwrap();
        pair.stamp.before = pair.stamp.counts_before_the_run(&[], &reply);
        assert_eq!([0, 1, 5].map(|seq| pair.counted(seq)), [0, 1, 5].map(Some));
    }

    #[test]
    fn what_was_not_answered_has_arrived_all_the_same() {
        let mut policy = open();
        policy.limits.loopback = true;
        policy.limits.each.packets = 10;
        policy.limits.each.burst = SECOND;
        let mut pair = Pair::new(100, policy);
        pair.stamp.tries = 1;
        let first = pair.reflected(999).unwrap();
        let reply = pair.stamp.read(&first).unwrap();
        pair.stamp.before = pair.stamp.counts_before_the_run(&first, &reply);
        let counted = Vec::from_iter((0..300).filter_map(|seq| Some((seq, pair.counted(seq)?))));
        assert!(counted.len() < 50 && counted.iter().all(|&(seq, counted)| seq == counted));
        let &(last, _) = counted.last().unwrap();
        assert_eq!(pair.stamp.refused + counted.len() as u32, last + 1);
    }

    #[test]
    fn a_reflector_that_is_restarted_is_known_by_its_count() {
        for size in SIZES {
            let mut pair = Pair::new(size, open());
            pair.stamp.tries = 1;
            let first = pair.reflected(999).unwrap();
            let reply = pair.stamp.read(&first).unwrap();
            pair.stamp.before = pair.stamp.counts_before_the_run(&first, &reply);
            assert_eq!([0, 1, 2].map(|seq| pair.counted(seq)), [0, 1, 2].map(Some));
            assert!(pair.stamp.warnings().is_empty());
            pair.reflector = traffic::Reflector::new(open(), [2; 32]);
            assert_eq!([6, 7].map(|seq| pair.counted(seq)), [0, 1].map(Some));
            pair.reflected(1008).unwrap();
            assert_eq!(pair.counted(9), Some(3));
            assert_eq!(pair.stamp.recounts.times(), 1);
            assert!(pair.stamp.warnings()[0].contains("it was restarted"));
        }
    }

    #[test]
    fn the_departure_of_a_reply_that_was_overtaken_is_known() {
        let mut pair = Pair::new(100, open());
        let replies = [0, 1, 2, 3].map(|seq| pair.stamped(seq));
        let mut said = |at: usize| pair.departures(&replies[at], 3);
        assert_eq!(said(0), (false, None));
        // It tells when the reply to packet 1 left, which comes behind it.
        assert_eq!(said(2), (false, None));
        assert_eq!(said(1), (true, Some(0)));
        assert_eq!(said(3), (false, Some(2)));
        assert!(pair.stamp.told_early.is_empty());
    }

    proptest! {
        /// Every size from the base on is filled to the byte and can be walked to its end.
        #[test]
        fn every_size_is_filled(extra in 4_usize..300, with_key in any::<bool>()) {
            let key = with_key.then(|| Key::new(&[7; 16]).unwrap());
            let form = if with_key { Form::Authenticated } else { Form::Unauthenticated };
            let size = form.size() + extra;
            let layout = Layout::new(size, with_key, 46).unwrap();
            let stamp = Stamp::new(layout, key.clone(), 9, &HostClock::of_kernel());
            let mut packet = vec![0xaa; size];
            stamp.write(3, &mut packet).unwrap();
            prop_assert_eq!(Sender::parse(form, &packet).unwrap().seq, 3);
            let mut end = form.size();
            for item in spans(&packet, form.size()) {
                let Item::Tlv(span) = item else { panic!("{item:?}") };
                end = span.end();
            }
            prop_assert_eq!(end, size);
            if let Some(key) = key {
                prop_assert!(stamp::is_sealed(&key, &packet));
                prop_assert!(is_authentic(&key, &packet, form.size()));
            }
        }
    }
}
