//! Bursts at a constant rate with silences between them.
//!
//! Packets are evenly spaced in the time that is on, and a spacing that a silence interrupts goes on
//! after it. So the mean rate is exactly rate·on/(on + off), also where bursts are shorter than a gap.

use super::Packet;
use super::cbr::Spacing;
use super::poisson::exponential;
use delaylab_model::Picos;
use delaylab_stats::random::SplitMix;

/// How long bursts and silences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Periods {
    /// Always the same.
    Fixed {
        /// A burst.
        on: Picos,
        /// A silence.
        off: Picos,
    },
    /// Exponential with these means.
    Exponential {
        /// A burst.
        on: Picos,
        /// A silence.
        off: Picos,
    },
}

impl Periods {
    const fn never_on(self) -> bool {
        matches!(
            self,
            Periods::Fixed { on: 0, .. } | Periods::Exponential { on: 0, .. }
        )
    }

    fn on(self, random: &mut SplitMix) -> Picos {
        match self {
            Periods::Fixed { on, .. } => on,
            Periods::Exponential { on, .. } => exponential(on as f64, random),
        }
    }

    fn off(self, random: &mut SplitMix) -> Picos {
        match self {
            Periods::Fixed { off, .. } => off,
            Periods::Exponential { off, .. } => exponential(off as f64, random),
        }
    }
}

/// Bursts and silences.
#[derive(Debug, Clone)]
pub struct OnOff {
    /// When the next packet is due if it is on until then, and how long it still is on.
    now: Picos,
    on_left: Picos,
    /// On-time until the next packet.
    wait: Picos,
    bytes: u32,
    spacing: Option<Spacing>,
    periods: Periods,
    random: SplitMix,
}

impl OnOff {
    /// Packets of `bytes` at `rate` bit/s while on, the first at `start`, which begins a burst. A rate
    /// or a burst of 0 has no packets. Equal seeds give equal packets.
    pub fn new(start: Picos, bytes: u32, rate: u64, periods: Periods, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let spacing = Spacing::new(bytes, rate).filter(|_| !periods.never_on());
        Self {
            now: start,
            on_left: periods.on(&mut random),
            wait: 0,
            bytes,
            spacing,
            periods,
            random,
        }
    }

    /// On to the next burst.
    fn skip_silence(&mut self) -> Option<()> {
        self.wait -= self.on_left;
        let off = self.periods.off(&mut self.random);
        self.now = self.now.checked_add(self.on_left)?.checked_add(off)?;
        self.on_left = self.periods.on(&mut self.random);
        Some(())
    }
}

impl Iterator for OnOff {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        self.spacing.as_ref()?;
        while self.wait >= self.on_left {
            self.skip_silence()?;
        }
        self.now = self.now.checked_add(self.wait)?;
        self.on_left -= self.wait;
        self.wait = self.spacing.as_mut()?.gap();
        Some(Packet {
            at: self.now,
            bytes: self.bytes,
        })
    }
}
