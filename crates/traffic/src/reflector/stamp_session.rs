//! STAMP sessions: a count for each sender (RFC 8762 §4, "stateful" reflector).
//!
//! STAMP has no set-up, so a session begins with its first packet and is known by the sender's
//! address, port and SSID (RFC 8972 §3). It ends by silence.

use super::follow_ups::FollowUps;
use super::hash::Seed;
use super::policy::Policy;
use super::prefix::is_loopback;
use super::replay::ReplayWindow;
use super::slots::Slots;
use super::{DropReason, Now};
use delaylab_model::Nanos;
use delaylab_wire::echo::FollowUp;
use delaylab_wire::stamp::Sender;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Whose session it is.
type Id = (SocketAddr, u16);

/// One session.
#[derive(Debug)]
pub(super) struct StampSession {
    id: Id,
    /// Packets received, duplicates included.
    pub received: u32,
    /// Packets answered; the next reply's sequence number.
    pub sent: u32,
    pub follow_ups: FollowUps,
    window: ReplayWindow,
    /// The latest timestamp that the sender has written.
    newest: Nanos,
    /// The latest of those before it started again.
    before: Nanos,
    last: Nanos,
}

impl StampSession {
    fn new(now: Now, id: Id) -> Self {
        Self {
            id,
            received: 0,
            sent: 0,
            follow_ups: FollowUps::default(),
            window: ReplayWindow::default(),
            newest: Nanos::MIN,
            before: Nanos::MIN,
            last: now.mono,
        }
    }

    /// Counts a packet. True if it is a duplicate; with a key, duplicates are refused. A number
    /// that has come before, with a later timestamp than any so far, is of a sender that has
    /// started again: nobody can forge that, nor play it back, without the key. What it sent
    /// before that may have numbers that are new to this run, but not its timestamps.
    pub fn take(&mut self, now: Now, sender: &Sender, keyed: bool) -> Result<bool, DropReason> {
        if keyed && sender.sent() <= self.before {
            return Err(DropReason::Replayed);
        }
        let mut is_new = self.window.admit(sender.seq);
        if !is_new && sender.sent() > self.newest {
            *self = Self {
                before: self.newest,
                ..Self::new(now, self.id)
            };
            is_new = self.window.admit(sender.seq);
        }
        if !is_new && keyed {
            return Err(DropReason::Replayed);
        }
        self.newest = self.newest.max(sender.sent());
        self.last = now.mono;
        self.received = self.received.wrapping_add(1);
        Ok(!is_new)
    }

    /// The next reply's sequence number.
    pub fn next_seq(&mut self) -> u32 {
        let seq = self.sent;
        self.sent = seq.wrapping_add(1);
        seq
    }

    /// A reply left.
    pub fn transmitted(&mut self, seq: u32, r_tx: Nanos) {
        self.follow_ups.push(FollowUp { seq, r_tx });
    }
}

/// All sessions.
#[derive(Debug)]
pub(super) struct StampSessions {
    sessions: Slots<StampSession>,
    tokens: HashMap<Id, u32, Seed>,
    next_token: u32,
}

impl StampSessions {
    pub fn new(policy: &Policy, seed: Seed) -> Self {
        Self {
            sessions: Slots::new(policy.max_sessions),
            tokens: HashMap::with_hasher(seed),
            next_token: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The session with this token, as [`StampSessions::enter`] gave it.
    pub fn get_mut(&mut self, token: u32) -> Option<&mut StampSession> {
        self.sessions.get_mut(token)
    }

    /// The sender's session and its token, begun now if there was none. `None` if all are taken.
    pub fn enter(
        &mut self,
        now: Now,
        from: SocketAddr,
        ssid: u16,
        policy: &Policy,
    ) -> Option<(u32, &mut StampSession)> {
        let id = (from, ssid);
        let token = match self.tokens.get(&id) {
            Some(&token) => token,
            None => self.begin(now, id, policy)?,
        };
        Some((token, self.sessions.get_mut(token)?))
    }

    fn begin(&mut self, now: Now, id: Id, policy: &Policy) -> Option<u32> {
        let address = id.0.ip();
        let theirs = |(from, _): &&Id| from.ip() == address;
        let crowded = |tokens: &HashMap<Id, u32, Seed>| {
            let each = policy.max_sessions_per_address;
            tokens.len() >= policy.max_sessions
                || !is_loopback(address) && tokens.keys().filter(theirs).count() >= each
        };
        if crowded(&self.tokens) {
            self.expire(now, policy);
            // One address does not take every place, as a sender would whose padding looks like session ids.
            if crowded(&self.tokens) {
                return None;
            }
        }
        // The random part only tells a place's tenants apart, so counting will do.
        self.next_token = self.next_token.wrapping_add(1 << 20);
        let token = self
            .sessions
            .insert(self.next_token, StampSession::new(now, id))?;
        self.tokens.insert(id, token);
        Some(token)
    }

    /// Forgets those that have been silent for too long.
    pub fn expire(&mut self, now: Now, policy: &Policy) {
        let tokens = &mut self.tokens;
        self.sessions.retain(|session| {
            let keep = now.mono - session.last <= policy.max_idle;
            if !keep {
                tokens.remove(&session.id);
            }
            keep
        });
    }
}
