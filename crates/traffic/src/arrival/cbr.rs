//! Constant bit rate: packet k leaves at start + ⌊k·bits/rate⌋, whatever k is.

use super::Packet;
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// The time that bits take at a rate, exactly: what does not make a picosecond is carried to the next.
#[derive(Debug, Clone)]
pub(super) struct Spacing {
    whole: Picos,
    part: u64,
    rate: u64,
    carried: u64,
}

impl Spacing {
    /// Of packets of `bytes` at `rate` bit/s. `None` if the rate is 0 or the gap outlasts the clock.
    pub(super) fn new(bytes: u32, rate: u64) -> Option<Self> {
        let bit_picos = u128::from(bytes) * 8 * u128::from(PICOS_PER_SECOND);
        let whole = bit_picos.checked_div(u128::from(rate))?;
        Some(Self {
            whole: Picos::try_from(whole).ok()?,
            part: (bit_picos % u128::from(rate)) as u64,
            rate,
            carried: 0,
        })
    }

    /// The next gap.
    #[inline]
    pub(super) fn gap(&mut self) -> Picos {
        // Neither is as large as the rate, so the difference does not wrap.
        if self.carried >= self.rate - self.part {
            self.carried -= self.rate - self.part;
            self.whole + 1
        } else {
            self.carried += self.part;
            self.whole
        }
    }
}

/// Evenly spaced packets.
#[derive(Debug, Clone)]
pub struct Cbr {
    next: Option<Picos>,
    bytes: u32,
    spacing: Option<Spacing>,
}

impl Cbr {
    /// Packets of `bytes` at `rate` bit/s, the first at `start`. A rate of 0 has no packets.
    pub fn new(start: Picos, bytes: u32, rate: u64) -> Self {
        let spacing = Spacing::new(bytes, rate);
        Self {
            next: spacing.as_ref().map(|_| start),
            bytes,
            spacing,
        }
    }
}

impl Iterator for Cbr {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        let at = self.next?;
        let gap = self.spacing.as_mut()?.gap();
        self.next = at.checked_add(gap);
        Some(Packet {
            at,
            bytes: self.bytes,
        })
    }
}
