//! STAMP sessions: a count for each sender (RFC 8762 §4, "stateful" reflector).
//!
//! STAMP has no set-up, so a session begins with its first packet and is known by the sender's
//! address, port and SSID (RFC 8972 §3). It ends by silence.

use super::follow_ups::FollowUps;
use super::hash::Seed;
use super::policy::Policy;
use super::slots::Slots;
use super::{DropReason, Now};
use crate::admission::network_of;
use crate::prefix::is_loopback;
use crate::replay::ReplayWindow;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_wire::echo::FollowUp;
use delaylab_wire::stamp::Sender;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

/// Where all places are taken, a session that has been silent for so long gives way.
const SILENT: Nanos = 10 * SECOND;
/// Without a key, a sender is a stranger for so long.
const ESTABLISHED_AFTER: Nanos = SECOND;
/// While they are taken, silent ones are looked for no more often.
const SEARCH_EVERY: Nanos = 100 * MILLISECOND;

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
    started: Nanos,
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
            started: now.mono,
            last: now.mono,
        }
    }

    /// Has it lasted? More cannot be asked of a sender without a key.
    pub fn is_established(&self, now: Now) -> bool {
        now.mono - self.started >= ESTABLISHED_AFTER
    }

    /// Counts a packet. True if it is a duplicate; with a key, duplicates are refused. A number
    /// that has come before, with a later timestamp than any so far, is of a sender that has
    /// started again: nobody can forge that, nor play it back, without the key. What it sent
    /// before that may have numbers that are new to this run, but not its timestamps.
    pub fn take(&mut self, now: Now, sender: &Sender, keyed: bool) -> Result<bool, DropReason> {
        if keyed && sender.sent() <= self.before {
            return Err(DropReason::Replayed);
        }
        let mut is_new = self.window.admit(self.window.widen(sender.seq));
        if !is_new && sender.sent() > self.newest {
            *self = Self {
                before: self.newest,
                ..Self::new(now, self.id)
            };
            is_new = self.window.admit(sender.seq.into());
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
    /// How many each address has, and each network.
    by_address: HashMap<IpAddr, usize, Seed>,
    by_network: HashMap<u128, usize, Seed>,
    /// While all places are taken, those of the silent are looked for no more often.
    next_search: Nanos,
}

impl StampSessions {
    pub fn new(policy: &Policy, seed: Seed) -> Self {
        Self {
            sessions: Slots::new(policy.max_sessions),
            tokens: HashMap::with_hasher(seed),
            next_token: 0,
            by_address: HashMap::with_hasher(seed),
            by_network: HashMap::with_hasher(seed),
            next_search: Nanos::MIN,
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
        if self.is_crowded(address, policy) {
            // A search of all takes long: a flood of strangers must not have one a packet.
            if now.mono < self.next_search {
                return None;
            }
            self.next_search = now.mono + SEARCH_EVERY;
            self.forget_silent(now, policy.max_idle.min(SILENT));
            if self.is_crowded(address, policy) {
                return None;
            }
        }
        // The random part only tells a place's tenants apart, so counting will do.
        self.next_token = self.next_token.wrapping_add(1 << 20);
        let token = self
            .sessions
            .insert(self.next_token, StampSession::new(now, id))?;
        self.tokens.insert(id, token);
        *self.by_address.entry(address).or_default() += 1;
        *self.by_network.entry(network_of(address)).or_default() += 1;
        Some(token)
    }

    /// Has this address, its network, or have all together as many sessions as they may? One address does not
    /// take every place, as a sender would whose padding looks like session ids.
    fn is_crowded(&self, address: IpAddr, policy: &Policy) -> bool {
        let limits = policy.session_limits().places;
        let held = |count: Option<&usize>| count.copied().unwrap_or(0);
        let local = is_loopback(address);
        self.tokens.len() >= limits.all
            || !local && held(self.by_address.get(&address)) >= limits.address
            || held(self.by_network.get(&network_of(address))) >= limits.network
    }

    /// Forgets those that have been silent for too long.
    pub fn expire(&mut self, now: Now, policy: &Policy) {
        self.forget_silent(now, policy.max_idle);
    }

    fn forget_silent(&mut self, now: Now, max_idle: Nanos) {
        self.sessions.retain(|session| {
            let keep = now.mono - session.last <= max_idle;
            if !keep {
                let address = session.id.0.ip();
                self.tokens.remove(&session.id);
                one_less(&mut self.by_address, &address);
                one_less(&mut self.by_network, &network_of(address));
            }
            keep
        });
    }
}

fn one_less<K: Eq + Hash>(counts: &mut HashMap<K, usize, Seed>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
