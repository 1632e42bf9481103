//! A udp or tcp session: what is remembered of it, and how its data packets are answered.

use super::follow_ups::FollowUps;
use super::keys::KeyId;
use super::policy::Policy;
use super::{Arrival, DropReason, Now, mirrored};
use crate::replay::ReplayWindow;
use delaylab_model::Nanos;
use delaylab_wire::auth::{SessionKeys, Transport};
use delaylab_wire::control::Hello;
use delaylab_wire::echo::{self, FollowUp, Header, Mode, Stamps};
use delaylab_wire::tcp;
use std::net::SocketAddr;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub peer: SocketAddr,
    pub transport: Transport,
    pub nonce: u64,
    pub salt: u64,
    pub mode: Mode,
    /// `None` in open mode.
    pub keys: Option<SessionKeys>,
    /// Which key they come from.
    pub key: Option<KeyId>,
    /// Packets that came, duplicates included.
    pub received: u32,
    /// Of them, those that a limit kept from being answered.
    pub refused: u32,
    /// What its socket had overflowed by when it began.
    pub overflowed_before: u32,
    /// Datagrams of data that had come by then, of all sessions and of none.
    pub datagrams_before: u64,
    /// Datagrams of data that say they are its own.
    pub datagrams: u64,
    pub follow_ups: FollowUps,
    window: ReplayWindow,
    /// The peer has sent what only the session's own peer could.
    proven: bool,
    started: Nanos,
    last: Nanos,
    /// As of the latest packet.
    clock_steps: u8,
}

/// A reply that is written, and what the caller needs to know of it.
pub(super) struct Answered {
    pub len: usize,
    pub traffic_class: Option<u8>,
    /// The sequence number under which the caller should tell when the reply left.
    pub stamp_seq: Option<u32>,
}

impl Session {
    /// A session that begins now. Its keys come when its token is known.
    pub fn new(now: Now, peer: SocketAddr, transport: Transport, hello: &Hello, salt: u64) -> Self {
        Self {
            peer,
            transport,
            nonce: hello.nonce,
            salt,
            mode: hello.mode,
            keys: None,
            key: None,
            received: 0,
            refused: 0,
            overflowed_before: 0,
            datagrams_before: 0,
            datagrams: 0,
            follow_ups: FollowUps::default(),
            window: ReplayWindow::default(),
            proven: false,
            started: now.mono,
            last: now.mono,
            clock_steps: now.clock_steps,
        }
    }

    /// Is it neither idle for too long nor over, nor has it failed to show its key?
    pub fn is_alive(&self, now: Now, policy: &Policy) -> bool {
        let owes_proof = self.keys.is_some() && !self.proven;
        policy.keeps(now, self.started, self.last, owes_proof)
    }

    /// Something of it came.
    pub fn heard(&mut self, now: Now) {
        self.last = now.mono;
        self.clock_steps = now.clock_steps;
    }

    /// The peer has proven itself. True if it had not before.
    pub fn prove(&mut self) -> bool {
        !std::mem::replace(&mut self.proven, true)
    }

    /// Is it the session of this peer, over this transport?
    pub fn belongs_to(&self, peer: SocketAddr, transport: Transport) -> bool {
        self.peer == peer && self.transport == transport
    }

    /// Checks length, tag and sequence number of a data packet and counts it. True if it is a
    /// duplicate; with a key, duplicates are refused.
    pub fn take(
        &mut self,
        now: Now,
        packet: &[u8],
        seq: u32,
        smallest: usize,
    ) -> Result<bool, DropReason> {
        if packet.len() < smallest {
            return Err(DropReason::TooShort);
        }
        let seq = self.window.widen(seq);
        if let Some(keys) = &mut self.keys
            && !keys.pair(seq).request.is_sealed(packet)
        {
            return Err(DropReason::WrongKey);
        }
        let is_new = self.window.admit(seq);
        if !is_new && self.keys.is_some() {
            return Err(DropReason::Replayed);
        }
        self.received = self.received.wrapping_add(1);
        self.heard(now);
        Ok(!is_new)
    }

    /// Counts what a limit refuses.
    pub fn note_charge(&mut self, charged: Result<(), DropReason>) -> Result<(), DropReason> {
        self.refused = self.refused.wrapping_add(u32::from(charged.is_err()));
        charged
    }

    /// The smallest udp packet of this session.
    pub fn smallest_datagram(&self) -> usize {
        echo::smallest(self.mode, self.keys.is_some())
    }

    /// Answers a datagram that [`Session::take`] has let through.
    pub fn answer(
        &mut self,
        arrival: &Arrival,
        header: Header,
        packet: &[u8],
        reply: &mut [u8],
    ) -> Answered {
        let reply = &mut reply[..packet.len()];
        reply.copy_from_slice(packet);
        self.finish(arrival, header.seq, self.mode == Mode::Stamped, reply)
    }

    /// Checks the lengths that a tcp request names, takes it as [`Session::take`] does.
    pub fn take_request(&mut self, now: Now, frame: &[u8]) -> Result<tcp::Request, DropReason> {
        let request = tcp::Request::parse(frame).map_err(|_| DropReason::TooShort)?;
        let authenticated = self.keys.is_some();
        let smallest_reply = tcp::smallest_reply(authenticated) as u32;
        let lengths_fit = request.len as usize == frame.len()
            && (smallest_reply..=request.len).contains(&request.reply_len);
        if !lengths_fit {
            return Err(DropReason::Malformed);
        }
        self.take(
            now,
            frame,
            request.seq,
            tcp::smallest_request(authenticated),
        )?;
        Ok(request)
    }

    /// Answers a tcp request that [`Session::take_request`] has let through.
    pub fn answer_request(
        &mut self,
        arrival: &Arrival,
        request: tcp::Request,
        frame: &[u8],
        reply: &mut [u8],
    ) -> Answered {
        let len = request.reply_len as usize;
        let reply = &mut reply[..len];
        reply.copy_from_slice(&frame[..len]);
        reply[..4].copy_from_slice(&request.reply_len.to_be_bytes());
        let stamped = tcp::is_stamped(self.mode, len, self.keys.is_some());
        self.finish(arrival, request.seq, stamped, reply)
    }

    /// Writes stamps and tag into a reply that is otherwise whole.
    fn finish(&mut self, arrival: &Arrival, seq: u32, stamped: bool, reply: &mut [u8]) -> Answered {
        if stamped {
            // The reply has room: take and is_stamped have seen to it.
            let _ = self.stamps(arrival).emit(reply);
        }
        let whole = self.window.widen(seq);
        if let Some(keys) = &mut self.keys {
            keys.pair(whole).reply.seal(reply);
        }
        Answered {
            len: reply.len(),
            traffic_class: mirrored(arrival.traffic_class),
            stamp_seq: stamped.then_some(seq),
        }
    }

    fn stamps(&mut self, arrival: &Arrival) -> Stamps {
        Stamps {
            reflector_seq: self.received.wrapping_sub(1),
            traffic_class: arrival.traffic_class,
            ttl: arrival.ttl,
            r_rx: arrival.r_rx,
            r_user: arrival.r_user,
            follow_up: self.follow_ups.pop(),
            clock_steps: self.clock_steps,
        }
    }

    /// A reply left.
    pub fn transmitted(&mut self, seq: u32, r_tx: Nanos) {
        self.follow_ups.push(FollowUp { seq, r_tx });
    }
}
