//! Wrong tokens are answered late, so that few can be tried: those of a network one after the other, as long as few of them
//! wait. The answer to the right one never waits, or others could keep those out who have it.

use delaylab_model::{Nanos, SECOND};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Each wrong token of a network is answered so long after the one before.
const EACH: Nanos = SECOND;
/// None is answered later than that: its connection holds a place.
const LONGEST: Nanos = 8 * SECOND;
/// Networks remembered at once.
const NETWORKS: usize = 1024;

/// When each network's last wrong token is answered.
#[derive(Debug, Default)]
pub(super) struct Tries(BTreeMap<Ipv6Addr, Nanos>);

impl Tries {
    /// A wrong token came: its answer is to wait so long.
    pub(super) fn wait(&mut self, now: Nanos, from: IpAddr) -> Nanos {
        if self.0.len() >= NETWORKS {
            self.0.retain(|_, answered| *answered > now);
        }
        let network = network(from);
        if self.0.len() >= NETWORKS && !self.0.contains_key(&network) {
            return LONGEST;
        }
        let last = self.0.entry(network).or_insert(now);
        *last = ((*last).max(now) + EACH).min(now + LONGEST);
        *last - now
    }
}

/// A /24, or a /48 of IPv6.
fn network(address: IpAddr) -> Ipv6Addr {
    let (bits, kept) = match address.to_canonical() {
        IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), 120),
        IpAddr::V6(v6) => (v6.to_bits(), 48),
    };
    Ipv6Addr::from_bits(bits >> (128 - kept) << (128 - kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_token_waits_for_the_one_before() {
        let mut tries = Tries::default();
        let one = IpAddr::from([192, 0, 2, 1]);
        let waits: Vec<_> = (0..3).map(|_| tries.wait(0, one) / SECOND).collect();
        assert_eq!(waits, [1, 2, 3]);
        assert_eq!(tries.wait(0, IpAddr::from([192, 0, 2, 200])), 4 * SECOND);
        assert_eq!(tries.wait(0, IpAddr::from([192, 0, 3, 1])), SECOND);
        assert_eq!(tries.wait(60 * SECOND, one), SECOND);
        let longest = (0..99).map(|_| tries.wait(60 * SECOND, one)).max();
        assert_eq!(longest, Some(LONGEST));
    }

    #[test]
    fn networks_are_bounded() {
        let mut tries = Tries::default();
        for number in 0..5000_u32 {
            let [_, b, c, d] = number.to_be_bytes();
            tries.wait(0, IpAddr::from([10, b, c, d]));
            tries.wait(0, IpAddr::from([b, c, d, 1]));
        }
        assert!(tries.0.len() <= NETWORKS);
        assert_eq!(tries.wait(0, IpAddr::from([203, 0, 113, 1])), LONGEST);
        assert_eq!(tries.wait(9 * SECOND, IpAddr::from([203, 0, 113, 1])), EACH);
    }
}
