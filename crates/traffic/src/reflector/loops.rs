//! What keeps plain echo from going round in circles, and from being a flood.
//!
//! An echo (RFC 862) has nothing that tells a request from a reply. So one packet with a forged source sets two
//! echo servers on each other, and it never ends by itself. Here it ends, on any host and any port:
//! a packet that goes round is the same packet each time, and the [`REPEATS`]th of the same packet from one peer
//! and port is not answered. What comes faster than [`RATE`] from one peer and port is not answered
//! either, loopback included. Memory is fixed: peers whose hashes collide share a bucket,
//! which makes their limit stricter and never looser.

use super::DropReason;
use super::hash::Seed;
use delaylab_model::{Nanos, SECOND};
use std::hash::BuildHasher;
use std::net::SocketAddr;

/// Packets a second from one peer and port.
const RATE: u64 = 1000;
/// Packets from one peer and port at once, after a silence.
const BURST: u64 = 100;
/// So many times the same packet, and one is not answered.
pub(super) const REPEATS: u8 = 50;

/// The time that a packet costs a peer.
const COST: Nanos = SECOND / RATE as Nanos;
const PEERS: usize = 1 << 12;
const PACKETS: usize = 1 << 12;
/// Packets whose hashes collide are told apart, up to so many.
const WAYS: usize = 4;

/// Peers' buckets, and the packets that came last.
#[derive(Debug)]
pub(super) struct LoopGuard {
    seed: Seed,
    /// When each bucket is full again.
    peers: Vec<Nanos>,
    packets: Vec<[Repeated; WAYS]>,
}

/// A packet's hash, and how often it has come.
#[derive(Debug, Clone, Copy, Default)]
struct Repeated {
    hash: u64,
    times: u8,
}

impl LoopGuard {
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            peers: vec![Nanos::MIN / 4; PEERS],
            packets: vec![[Repeated::default(); WAYS]; PACKETS],
        }
    }

    /// Is this packet to be answered?
    pub fn check(&mut self, now: Nanos, from: SocketAddr, packet: &[u8]) -> Result<(), DropReason> {
        let address = from.ip().to_canonical();
        let peer = self.seed.hash_one((address, from.port()));
        let full = &mut self.peers[peer as usize % PEERS];
        let after = (*full).max(now) + COST;
        if after > now + BURST as Nanos * COST {
            return Err(DropReason::RateLimited);
        }
        *full = after;
        let hash = self.seed.hash_one((peer, packet));
        let entry = entry_of(&mut self.packets[hash as usize % PACKETS], hash);
        entry.times += 1;
        if entry.times < REPEATS {
            return Ok(());
        }
        entry.times = 0;
        Err(DropReason::Loop)
    }
}

/// The packet's entry: it takes the place of the one that came least often; where that was in use, the others grow
/// old, so that none stays for ever.
fn entry_of(entries: &mut [Repeated; WAYS], hash: u64) -> &mut Repeated {
    let known = entries.iter().position(|entry| entry.hash == hash);
    if let Some(at) = known {
        return &mut entries[at];
    }
    let least = (0..WAYS).min_by_key(|&at| entries[at].times).unwrap_or(0);
    if entries[least].times > 0 {
        for entry in entries.iter_mut() {
            entry.times -= 1;
        }
    }
    entries[least] = Repeated { hash, times: 0 };
    &mut entries[least]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_packet_that_goes_round_stops() {
        for pause in [1000, SECOND / 500, SECOND, 1000 * SECOND] {
            let mut guard = LoopGuard::new(Seed(3));
            let mut round = |times: &Nanos| {
                guard
                    .check(times * pause, peer(9000), b"round and round")
                    .is_ok()
            };
            let rounds = (0..10_000).take_while(&mut round).count();
            assert!(rounds < usize::from(REPEATS), "{rounds} {pause}");
        }
    }

    #[test]
    fn many_packets_that_go_round_stop_all() {
        let mut guard = LoopGuard::new(Seed(3));
        let mut going: Vec<u32> = (0..500).collect();
        let mut now = 0;
        for _ in 0..REPEATS {
            going.retain(|packet| {
                now += 2 * COST;
                guard.check(now, peer(9000), &packet.to_be_bytes()).is_ok()
            });
        }
        assert!(going.is_empty(), "{}", going.len());
    }

    #[test]
    fn a_client_that_counts_is_answered_up_to_the_rate() {
        let mut guard = LoopGuard::new(Seed(3));
        let mut answered = |pace: Nanos, port| {
            let packets = 0..2000_i64;
            let admitted = packets.filter(|number| {
                guard
                    .check(number * pace, peer(port), &number.to_be_bytes())
                    .is_ok()
            });
            admitted.count()
        };
        assert_eq!(answered(COST, 4000), 2000);
        let at_double = answered(COST / 2, 4001);
        assert!((1000..1200).contains(&at_double), "{at_double}");
    }
}
