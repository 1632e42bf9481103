//! Frames of a tester: what the device benchmark sends through a device (RFC 2544, RFC 1242).

use crate::family::Family;
use crate::headers;
use crate::quantity::Share;
use crate::{Nanos, PICOS_PER_SECOND, Picos};

/// Preamble, start delimiter and the gap between frames (IEEE 802.3), in bytes: what a frame takes of
/// a line beside itself.
pub const FRAME_OVERHEAD: u64 = 20;
/// Ethernet header and frame check sequence, in bytes.
pub const FRAME_ENVELOPE: u32 = 18;
/// An 802.1Q tag, in bytes.
pub const VLAN_TAG: u32 = 4;
/// What every frame of a tester carries behind its UDP header, in bytes: stream, number, time of
/// sending and checksum. It fits the smallest frame that there is.
pub const SIGNATURE: u32 = 18;

/// What frames of a tester have beside what every probe has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Bytes, with the frame check sequence (RFC 1242 §3.5) and with a tag if there is one.
    pub size: u32,
    /// IP inside: 4 unless it is [`Family::V6`].
    pub family: Family,
    /// The 802.1Q tag's VLAN.
    pub vlan: Option<u16>,
    /// How long the line of its port takes for one: the next does not begin sooner. 0: it may.
    pub line_time: Picos,
    /// The first is due so long after the trial's start.
    pub start: Nanos,
    /// Is a trial invalid whose frames were not sent at their rate? Else they go as fast as they can.
    pub paced: bool,
    /// Does the first come up to one interval later, by so much as each trial draws?
    pub random_phase: bool,
    /// How far the clock of the sending port may be from nominal, either way, in parts of 10⁹: each trial draws one.
    pub clock_tolerance: Share,
}

impl Frames {
    /// Frames of this size over IPv4, without a tag, from the start, each with a record.
    pub const fn new(size: u32) -> Self {
        Self {
            size,
            family: Family::V4,
            vlan: None,
            line_time: 0,
            start: 0,
            paced: true,
            random_phase: false,
            clock_tolerance: Share(0),
        }
    }

    /// Bytes before the IP packet and behind it.
    pub const fn envelope(&self) -> u32 {
        FRAME_ENVELOPE + if self.vlan.is_some() { VLAN_TAG } else { 0 }
    }

    /// Bytes of IP and UDP headers.
    pub const fn headers(&self) -> u32 {
        headers::of_datagrams(matches!(self.family, Family::V6))
    }

    /// The smallest that carries a signature.
    pub const fn least_size(&self) -> u32 {
        let least = self.envelope() + self.headers() + SIGNATURE;
        if least < 64 { 64 } else { least }
    }

    /// Bytes of the IP packet inside.
    pub const fn ip_size(&self) -> u32 {
        self.size.saturating_sub(self.envelope())
    }

    /// Bytes behind the UDP header.
    pub const fn payload(&self) -> u32 {
        self.ip_size().saturating_sub(self.headers())
    }

    /// The same on a port whose line has this rate in bit/s.
    pub fn on_line(self, line_rate: u64) -> Self {
        Self {
            line_time: self.interval(line_rate, Share::WHOLE),
            ..self
        }
    }

    /// From first bit to first bit at this share of a line rate in bit/s (RFC 2544 §20, RFC 5180).
    pub fn interval(&self, line_rate: u64, load: Share) -> Picos {
        let bits = (u128::from(self.size) + u128::from(FRAME_OVERHEAD)) * 8;
        let whole = u128::from(Share::WHOLE.0);
        let rate = u128::from(line_rate.max(1)) * u128::from(load.0.max(1));
        let picos = bits * u128::from(PICOS_PER_SECOND) * whole;
        Picos::try_from(picos.div_ceil(rate)).unwrap_or(Picos::MAX)
    }
}

/// The longest frame (RFC 8239 §2.3 asks for 9216 bytes).
pub const MOST_FRAME: u32 = 9_234;
/// A tester keeps account of each frame of a trial, in memory.
pub const MOST_FRAMES: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_fits_the_smallest_frame() {
        let mut frames = Frames::new(64);
        assert_eq!((frames.payload(), frames.least_size()), (SIGNATURE, 64));
        frames.vlan = Some(7);
        assert_eq!(frames.least_size(), 68);
        frames.family = Family::V6;
        assert_eq!(frames.least_size(), 88);
        assert_eq!(Frames { size: 88, ..frames }.payload(), SIGNATURE);
    }

    #[test]
    fn an_interval_is_that_of_the_line() {
        // RFC 2544, appendix B: 14880 frames of 64 bytes a second fill 10 Mbit/s.
        let whole = Frames::new(64).interval(10_000_000, Share::WHOLE);
        assert_eq!(whole, 67_200_000);
        let half = Frames::new(64).interval(10_000_000, Share(500_000_000));
        assert_eq!(half, 2 * whole);
        let step = Frames::new(64).interval(10_000_000, Share(499_000_000));
        assert_eq!(step, 134_669_339);
    }
}
