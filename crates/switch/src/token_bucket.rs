//! Token buckets: a shaper between a queue and its line, and a policer before the queue.
//!
//! A bucket begins full. It gains tokens at its rate, up to `burst` bytes, and an item of n bytes takes n of
//! them. A shaper holds the first item of the queue until the tokens are there; a policer drops what finds
//! too few. With two buckets (a rate and a ceiling) an item takes from both. A line still sends each item at its own
//! rate, so an item that finds the bucket full is not delayed by its size.
//!
//! References: J. S. Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986;
//! RFC 2697 and RFC 2698 (one and two rates). What is held until the tokens are there, and what is dropped because it is
//! larger than the bucket, is as in the kernel (tc-tbf(8)).
//!
//! Validation: departures worked out by hand; over any interval t no more than burst + rate·t leaves.

use crate::item::{Cause, Dropped, Item};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// A rate and how much may pass at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Bits a second, not zero.
    pub rate: u64,
    /// Bytes.
    pub burst: u64,
}

/// The buckets of a shaper or a policer, as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Over a long time.
    pub rate: Parameters,
    /// Until the bucket of `rate` is empty.
    pub ceiling: Option<Parameters>,
    /// Bytes of each item that are not counted, as of framing. Below zero: bytes are counted that it does not have, as of a line
    /// behind this one.
    pub uncounted: i64,
}

/// What is counted of an item of these bytes.
#[inline]
pub(crate) fn counted(bytes: u32, uncounted: i64) -> u32 {
    let counted = i64::from(bytes).saturating_sub(uncounted).max(0);
    u32::try_from(counted).unwrap_or(u32::MAX)
}

/// Tokens in 10⁻¹² bit, so that every rate gains a whole number of them in a picosecond.
const BIT: u128 = PICOS_PER_SECOND as u128;

#[derive(Debug, Clone)]
struct Bucket {
    rate: u128,
    burst: u128,
    tokens: u128,
    /// When `tokens` was so.
    at: Picos,
}

impl Bucket {
    fn new(parameters: Parameters) -> Self {
        let burst = tokens(parameters.burst);
        Self {
            rate: u128::from(parameters.rate.max(1)),
            burst,
            tokens: burst,
            at: 0,
        }
    }

    fn gain(&mut self, now: Picos) {
        let gained = self.rate * u128::from(now.saturating_sub(self.at));
        self.tokens = self.burst.min(self.tokens + gained);
        self.at = self.at.max(now);
    }

    /// When so many will be there, which may be now.
    fn ready(&self, needed: u128) -> Picos {
        let wait = needed.saturating_sub(self.tokens).div_ceil(self.rate);
        let wait = Picos::try_from(wait).unwrap_or(Picos::MAX);
        self.at.saturating_add(wait)
    }
}

fn tokens(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * BIT
}

/// One or two buckets.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: Bucket,
    ceiling: Option<Bucket>,
    uncounted: i64,
}

impl TokenBucket {
    /// Full at time zero.
    pub fn new(limits: Limits) -> Self {
        Self {
            rate: Bucket::new(limits.rate),
            ceiling: limits.ceiling.map(Bucket::new),
            uncounted: limits.uncounted,
        }
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Bucket> {
        std::iter::once(&mut self.rate).chain(&mut self.ceiling)
    }

    fn needed(&self, item: &impl Item) -> u128 {
        tokens(counted(item.bytes(), self.uncounted).into())
    }

    /// Can an item of this size never pass?
    fn is_too_small_for(&mut self, item: &impl Item) -> bool {
        let needed = self.needed(item);
        self.buckets().any(|bucket| bucket.burst < needed)
    }

    /// Takes the item's tokens, if they are there. Otherwise: when they will be, if nothing else takes any.
    pub fn take(&mut self, now: Picos, item: &impl Item) -> Result<(), Picos> {
        let needed = self.needed(item);
        let mut ready = now;
        for bucket in self.buckets() {
            bucket.gain(now);
            ready = ready.max(bucket.ready(needed));
        }
        if ready > now {
            return Err(ready);
        }
        for bucket in self.buckets() {
            bucket.tokens -= needed;
        }
        Ok(())
    }
}

/// A shaper, and the item that it holds.
#[derive(Debug, Clone)]
pub struct Shaper<T> {
    bucket: TokenBucket,
    /// The first of the queue, and when its tokens will be there.
    held: Option<(T, Picos)>,
}

impl<T: Item> Shaper<T> {
    /// With its buckets full.
    pub fn new(limits: Limits) -> Self {
        Self {
            bucket: TokenBucket::new(limits),
            held: None,
        }
    }

    /// Gives the next item of a queue, if its tokens are there. `next` takes it out of the queue. What is larger than
    /// the bucket is dropped.
    pub fn dequeue(
        &mut self,
        now: Picos,
        drops: &mut Vec<Dropped<T>>,
        mut next: impl FnMut(&mut Vec<Dropped<T>>) -> Option<T>,
    ) -> Option<T> {
        loop {
            let item = match self.held.take() {
                Some((item, _)) => item,
                None => next(drops)?,
            };
            if self.bucket.is_too_small_for(&item) {
                drops.push(Dropped::new(item, Cause::Shaper));
                continue;
            }
            match self.bucket.take(now, &item) {
                Ok(()) => return Some(item),
                Err(at) => self.held = Some((item, at)),
            }
            return None;
        }
    }

    /// When the item that it holds may leave.
    pub fn next_event(&self) -> Option<Picos> {
        self.held.as_ref().map(|(_, at)| *at)
    }

    /// The item that it holds, whatever its tokens.
    pub fn give_up(&mut self) -> Option<T> {
        self.held.take().map(|(item, _)| item)
    }
}

#[cfg(test)]
mod tests;
