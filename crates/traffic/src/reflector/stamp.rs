//! STAMP: how a test packet is read and answered (RFC 8762 §4.3, RFC 8972 §4).

use super::keys::KeyRing;
use super::limiter::Standing;
use super::policy::Policy;
use super::stamp_session::StampSession;
use super::stamp_tlvs::Answers;
use super::{Arrival, DropReason, Now, Port, Reflector, Reply, ReplyRef, Verdict, mirrored};
use delaylab_model::{Nanos, SECOND};
use delaylab_wire::auth::{Key, TAG};
use delaylab_wire::ntp::ErrorEstimate;
use delaylab_wire::stamp::{self, Echoed, Form, Sender, TWAMP_REPLY};
use std::net::SocketAddr;

/// What a reflector says that cannot tell a packet's TTL (RFC 5357 §4.2.1).
const UNKNOWN_TTL: u8 = 255;

/// With a key, the clocks of sender and reflector differ by no more.
const CLOCKS_DIFFER: Nanos = 60 * SECOND;

/// A test packet, read.
struct Test<'a> {
    now: Now,
    arrival: &'a Arrival,
    packet: &'a [u8],
    form: Form,
    sender: Sender,
    key: Option<&'a Key>,
}

impl Reflector {
    pub(super) fn stamp_datagram(
        &mut self,
        now: Now,
        from: SocketAddr,
        arrival: &Arrival,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Result<Verdict, DropReason> {
        // Also with a key: requests and replies are alike and made with the same key, so two
        // reflectors could be set on each other with one packet that was listened to.
        self.policy.check_source_port(from)?;
        let (form, sender, key) = read_sender(&self.keys, packet)?;
        // Whatever port it comes from.
        if stamp::is_reply_of(form, packet) {
            return Err(DropReason::Loop);
        }
        let keyed = key.is_some();
        if keyed && !self.policy.stamp_any_clock {
            check_clock(self.started, now, sender.sent())?;
        }
        if let Some(tags) = &mut self.tags
            && !tag_of(packet).is_some_and(|tag| tags.admit(*tag))
        {
            return Err(DropReason::Replayed);
        }
        let mut session = self.stamp.enter(now, from, sender.ssid, &self.policy);
        match &mut session {
            Some((_, session)) => {
                let duplicate = session.take(now, &sender, keyed)?;
                self.counters.duplicates += u64::from(duplicate);
            }
            // Without a session nobody could tell whether it has come before.
            None if keyed => return Err(DropReason::TooManySessions),
            None => {}
        }
        let standing = match &session {
            Some((_, session)) if keyed || session.is_established(now) => Standing::Established,
            _ => Standing::Stranger,
        };
        self.limiter
            .charge(now.mono, from.ip(), packet.len(), standing)?;
        self.counters.stateless += u64::from(session.is_none());
        let test = Test {
            now,
            arrival,
            packet,
            form,
            sender,
            key,
        };
        let answer = test.answer(&self.policy, session, reply);
        // A reply would pass for a request: it is alike and of the same key. It must not come back.
        if let (Some(tags), Some(tag)) = (&mut self.tags, tag_of(reply)) {
            tags.admit(*tag);
        }
        Ok(Verdict::Reply(answer))
    }
}

impl Test<'_> {
    /// Writes the reply. Without a session it has the sender's number, as a stateless reflector's
    /// has (RFC 8762 §4).
    fn answer(
        &self,
        policy: &Policy,
        mut session: Option<(u32, &mut StampSession)>,
        reply: &mut [u8],
    ) -> Reply {
        let stamp = session.as_mut().map(|(token, session)| ReplyRef {
            port: Port::Stamp,
            token: *token,
            seq: session.next_seq(),
        });
        let seq = stamp.map_or(self.sender.seq, |stamp| stamp.seq);
        let reply = &mut reply[..self.packet.len()];
        reply.copy_from_slice(self.packet);
        // The reply has room: it is as long as a request that was read in this form.
        let _ = self.base(policy, seq).emit(self.form, reply);
        let mut answers = Answers {
            policy,
            key: self.key,
            arrival: self.arrival,
            session: session.map(|(_, session)| session),
            format: self.sender.error.format,
            realtime_offset: self.realtime_offset(),
            traffic_class: mirrored(self.arrival.traffic_class),
        };
        answers.fill(self.packet, reply, self.form.size());
        if let Some(key) = self.key {
            stamp::seal(key, reply);
        }
        Reply {
            len: reply.len(),
            traffic_class: answers.traffic_class,
            stamp,
        }
    }

    fn realtime_offset(&self) -> Nanos {
        self.now.real - self.now.mono
    }

    /// The base packet of the reply.
    fn base(&self, policy: &Policy, seq: u32) -> stamp::Reflector {
        let (clock, sender) = (&policy.clock, &self.sender);
        let format = sender.error.format;
        let received = self.arrival.r_rx.unwrap_or(self.arrival.r_user) + self.realtime_offset();
        stamp::Reflector {
            seq,
            timestamp: format.encode(self.now.real),
            error: ErrorEstimate::at_most(clock.error_bound, clock.synchronised, format),
            ssid: sender.ssid,
            receive: format.encode(received),
            sender: Echoed {
                seq: sender.seq,
                timestamp: sender.timestamp,
                error: sender.error,
                ttl: self.arrival.ttl.unwrap_or(UNKNOWN_TTL),
            },
        }
    }
}

/// The tag of an authenticated base packet.
fn tag_of(packet: &[u8]) -> Option<&[u8; TAG]> {
    packet.get(..Form::Authenticated.size())?.last_chunk()
}

/// With keys, only what one of them has signed; without one, also TWAMP-Light's shorter packets, as
/// long as the answer is no longer than they are.
fn read_sender<'a>(
    keys: &'a KeyRing,
    packet: &[u8],
) -> Result<(Form, Sender, Option<&'a Key>), DropReason> {
    let (form, shortest) = match keys.is_needed() {
        true => (Form::Authenticated, Form::Authenticated.size()),
        false => (Form::Unauthenticated, TWAMP_REPLY),
    };
    if packet.len() < shortest {
        return Err(DropReason::TooShort);
    }
    let key = keys.find(|key| stamp::is_sealed(key, packet));
    if keys.is_needed() && key.is_none() {
        return Err(DropReason::WrongKey);
    }
    let sender = match packet.len() < form.size() {
        true => Sender::parse_twamp(packet),
        false => Sender::parse(form, packet),
    };
    let sender = sender.map_err(|_| DropReason::TooShort)?;
    Ok((form, sender, key.map(|key| &key.secret)))
}

/// A packet that was captured has no mark of its age but the sender's timestamp. So what was written before the
/// reflector started is not answered, nor what is far from its clock: it remembers only so many packets.
fn check_clock(started: Option<Now>, now: Now, sent: Nanos) -> Result<(), DropReason> {
    let Some(started) = started else {
        return Ok(());
    };
    // By the clock as it is set now.
    let began = now.real - (now.mono - started.mono);
    let is_near = sent.abs_diff(now.real) <= CLOCKS_DIFFER.unsigned_abs();
    if sent < began || !is_near {
        return Err(DropReason::Stale);
    }
    Ok(())
}
