//! Token buckets, one for each prefix and one for all.
//!
//! A bucket is kept as the time at which it will be full again (virtual scheduling, ITU-T I.371
//! appendix I): one number for packets and one for bytes, no counting up while nothing happens.

use super::DropReason;
use super::hash::Seed;
use super::policy::{Limits, Rate};
use crate::prefix::{is_loopback, prefix_of};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use std::collections::HashMap;
use std::net::IpAddr;

/// At most so often the table is searched for buckets that may be forgotten.
const EVICTION_PERIOD: Nanos = 100 * MILLISECOND;

/// Who asks: strangers get what is left of a bucket while it is more than half full, so that a flood of them
/// leaves the other half to those that have a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its address may be forged.
    Stranger,
    /// It has a session.
    Established,
}

impl Standing {
    /// How much of a burst it may take.
    const fn of_burst(self, burst: Nanos) -> Nanos {
        match self {
            Standing::Stranger => burst / 2,
            Standing::Established => burst,
        }
    }
}

/// When a bucket will be full again.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    packets: Nanos,
    bytes: Nanos,
}

impl Bucket {
    const fn full(now: Nanos) -> Self {
        Self {
            packets: now,
            bytes: now,
        }
    }

    /// What the bucket is after one packet of `len` bytes, if it holds so much. A full one lets any packet through,
    /// which would else never pass: what it owes then keeps the rate.
    fn less(self, rate: &Rate, now: Nanos, len: usize, who: Standing) -> Option<Self> {
        let less = self.owing(rate, now, len);
        let lets_any = self.is_full(now) && rate.packets > 0 && rate.bytes > 0;
        (lets_any || less.is_within(rate, now, who)).then_some(less)
    }

    /// What it is after that packet, though it may not have held so much.
    fn owing(self, rate: &Rate, now: Nanos, len: usize) -> Self {
        let after = |full: Nanos, cost| full.max(now).saturating_add(cost);
        Self {
            packets: after(self.packets, cost(1, rate.packets)),
            bytes: after(self.bytes, cost(len, rate.bytes)),
        }
    }

    const fn is_within(self, rate: &Rate, now: Nanos, who: Standing) -> bool {
        let limit = now + who.of_burst(rate.burst);
        self.packets <= limit && self.bytes <= limit
    }

    const fn is_full(self, now: Nanos) -> bool {
        self.packets <= now && self.bytes <= now
    }
}

/// How long `amount` takes to flow back in at `rate` a second. A rate of 0 lets nothing through.
fn cost(amount: usize, rate: u64) -> Nanos {
    let nanos = (amount as u64)
        .saturating_mul(SECOND as u64)
        .checked_div(rate);
    nanos.map_or(i64::MAX / 4, |nanos| {
        nanos.min(i64::MAX as u64 / 4) as Nanos
    })
}

/// All buckets.
#[derive(Debug)]
pub(super) struct Limiter {
    limits: Limits,
    total: Bucket,
    each: HashMap<u128, Bucket, Seed>,
    next_eviction: Nanos,
}

impl Limiter {
    pub fn new(limits: Limits, seed: Seed) -> Self {
        Self {
            limits,
            total: Bucket::full(Nanos::MIN / 4),
            each: HashMap::with_hasher(seed),
            next_eviction: Nanos::MIN,
        }
    }

    /// Takes one packet of `len` bytes out of the source's bucket and out of everybody's, or out
    /// of neither.
    pub fn charge(
        &mut self,
        now: Nanos,
        source: IpAddr,
        len: usize,
        who: Standing,
    ) -> Result<(), DropReason> {
        if !self.limits.loopback && is_loopback(source) {
            return Ok(());
        }
        let prefix = self.prefix_of(source);
        let bucket = self.bucket(prefix, now, who);
        let bucket = bucket.ok_or(DropReason::RateLimited)?;
        let each = bucket.less(&self.limits.each, now, len, who);
        let total = self.total.less(&self.limits.total, now, len, who);
        let (Some(each), Some(total)) = (each, total) else {
            return Err(DropReason::RateLimited);
        };
        self.each.insert(prefix, each);
        self.total = total;
        Ok(())
    }

    /// Is there room for one packet of a stranger, of `len` bytes? Takes nothing.
    pub fn has_room(&mut self, now: Nanos, source: IpAddr, len: usize) -> bool {
        if !self.limits.loopback && is_loopback(source) {
            return true;
        }
        let who = Standing::Stranger;
        let bucket = self.bucket(self.prefix_of(source), now, who);
        let each = bucket.and_then(|bucket| bucket.less(&self.limits.each, now, len, who));
        let total = self.total.less(&self.limits.total, now, len, who);
        each.is_some() && total.is_some()
    }

    /// Takes what has come already, `len` bytes, and says whether more may come: not before all is paid for.
    pub fn owe(&mut self, now: Nanos, source: IpAddr, len: usize) -> bool {
        if !self.limits.loopback && is_loopback(source) {
            return true;
        }
        let prefix = self.prefix_of(source);
        let who = Standing::Established;
        let Some(mut each) = self.bucket(prefix, now, who) else {
            return false;
        };
        if len > 0 {
            each = each.owing(&self.limits.each, now, len);
            self.total = self.total.owing(&self.limits.total, now, len);
            self.each.insert(prefix, each);
        }
        each.is_within(&self.limits.each, now, who)
            && self.total.is_within(&self.limits.total, now, who)
    }

    fn prefix_of(&self, source: IpAddr) -> u128 {
        prefix_of(source, (self.limits.prefix_v4, self.limits.prefix_v6))
    }

    /// The prefix's bucket, or a full one if there is room for another prefix. Those with a session are as
    /// bounded as sessions are: strangers do not take their room.
    fn bucket(&mut self, prefix: u128, now: Nanos, who: Standing) -> Option<Bucket> {
        if let Some(bucket) = self.each.get(&prefix) {
            return Some(*bucket);
        }
        if self.each.len() >= self.limits.prefixes && now >= self.next_eviction {
            self.next_eviction = now + EVICTION_PERIOD;
            self.each.retain(|_, bucket| !bucket.is_full(now));
        }
        let has_room = self.each.len() < self.limits.prefixes || who == Standing::Established;
        has_room.then_some(Bucket::full(now))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn limiter(change: impl FnOnce(&mut Limits)) -> Limiter {
        let each = Rate {
            packets: 10,
            bytes: 1000,
            burst: SECOND,
        };
        let mut limits = Limits {
            each,
            total: each,
            ..Limits::default()
        };
        change(&mut limits);
        Limiter::new(limits, Seed(1))
    }

    fn passed(limiter: &mut Limiter, now: Nanos, source: &str, len: usize, tries: usize) -> usize {
        let source = source.parse().unwrap();
        (0..tries)
            .filter(|_| {
                limiter
                    .charge(now, source, len, Standing::Established)
                    .is_ok()
            })
            .count()
    }

    #[test]
    fn strangers_leave_half_of_each_bucket_to_sessions() {
        for flood in ["192.0.2.7", "198.51.100.7"] {
            let mut limiter = limiter(|_| {});
            let source = flood.parse().unwrap();
            let strangers = (0..100)
                .filter(|_| limiter.charge(0, source, 1, Standing::Stranger).is_ok())
                .count();
            assert_eq!(strangers, 5);
            assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 100), 5);
        }
    }

    #[test]
    fn strangers_do_not_take_the_table_from_sessions() {
        let mut limiter = limiter(|limits| {
            limits.prefixes = 3;
            limits.total.packets = 1000;
        });
        for third in 0..9 {
            let source = IpAddr::from([10, 0, third, 1]);
            let _ = limiter.charge(0, source, 1, Standing::Stranger);
        }
        assert_eq!(limiter.each.len(), 3);
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 1), 1);
    }

    #[test]
    fn a_bucket_holds_its_burst_and_fills_again() {
        let mut limiter = limiter(|_| {});
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 20), 10);
        assert_eq!(passed(&mut limiter, SECOND / 2, "192.0.2.1", 1, 20), 5);
        assert_eq!(passed(&mut limiter, 100 * SECOND, "192.0.2.1", 1, 20), 10);
    }

    #[test]
    fn bytes_count_too() {
        let mut limiter = limiter(|_| {});
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 300, 20), 3);
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 100, 20), 1);
    }

    #[test]
    fn neighbours_share_a_bucket_and_strangers_do_not() {
        let mut limiter = limiter(|limits| limits.total.packets = 1000);
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 6), 6);
        assert_eq!(passed(&mut limiter, 0, "::ffff:192.0.2.99", 1, 20), 4);
        assert_eq!(passed(&mut limiter, 0, "192.0.3.1", 1, 20), 10);
        assert_eq!(passed(&mut limiter, 0, "2001:db8::1", 1, 20), 10);
        assert_eq!(passed(&mut limiter, 0, "2001:db8:0:ffff::1", 1, 20), 0);
    }

    #[test]
    fn all_together_have_a_limit() {
        let mut limiter = limiter(|_| {});
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 8), 8);
        assert_eq!(passed(&mut limiter, 0, "192.0.3.1", 1, 8), 2);
    }

    #[test]
    fn loopback_is_exempt_unless_asked_for() {
        let mut exempt = limiter(|_| {});
        assert_eq!(passed(&mut exempt, 0, "127.0.0.1", 1, 50), 50);
        let mut strict = limiter(|limits| limits.loopback = true);
        assert_eq!(passed(&mut strict, 0, "127.0.0.1", 1, 50), 10);
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_idle() {
        let mut limiter = limiter(|limits| {
            limits.prefixes = 3;
            limits.total.packets = 1000;
        });
        for third in 0..3 {
            assert_eq!(passed(&mut limiter, 0, &format!("10.0.{third}.1"), 1, 1), 1);
        }
        let source = "10.0.9.1".parse().unwrap();
        let refused = limiter.charge(0, source, 1, Standing::Stranger);
        assert_eq!(refused, Err(DropReason::RateLimited));
        assert_eq!(limiter.each.len(), 3);
        assert_eq!(passed(&mut limiter, SECOND, "10.0.9.1", 1, 1), 1);
        assert_eq!(limiter.each.len(), 1);
    }

    #[test]
    fn what_has_come_is_paid_for() {
        let mut limiter = limiter(|limits| limits.total.bytes = 5000);
        let source = "192.0.2.1".parse().unwrap();
        assert!(limiter.has_room(0, source, 501) && limiter.owe(0, source, 1));
        assert!(limiter.has_room(0, source, 499) && !limiter.has_room(0, source, 500));
        // Four seconds' worth at once, where the bucket holds one: three have to pass.
        assert!(!limiter.owe(0, source, 3999));
        assert!(!limiter.owe(2 * SECOND, source, 0));
        assert!(limiter.owe(3 * SECOND, source, 0));
        assert!(!limiter.has_room(3 * SECOND, source, 1));
    }

    #[test]
    fn a_rate_of_nothing_lets_nothing_through() {
        let mut limiter = limiter(|limits| limits.each.packets = 0);
        assert_eq!(passed(&mut limiter, 0, "192.0.2.1", 1, 5), 0);
    }

    /// Half a burst is less than a packet: it passes all the same, as often as the rate has it.
    #[test]
    fn a_packet_larger_than_the_bucket_passes_at_its_rate() {
        for (packets, len, period) in [(1, 1, SECOND), (10, 3000, 3 * SECOND)] {
            for who in [Standing::Stranger, Standing::Established] {
                let mut limiter = limiter(|limits| limits.each.packets = packets);
                limiter.limits.total.bytes = 1_000_000;
                let source = "192.0.2.1".parse().unwrap();
                let steps = (0..12).map(|step| step * SECOND / 2);
                let passed = steps.filter(|&now| {
                    let has_room = limiter.has_room(now, source, len);
                    let passes = limiter.charge(now, source, len, who).is_ok();
                    assert!(passes || !has_room);
                    passes
                });
                let all = 6 * SECOND / period;
                assert!(
                    (all..=all + 1).contains(&(passed.count() as Nanos)),
                    "{packets} {who:?}"
                );
            }
        }
    }
}
