//! The timestamps of STAMP: NTP (RFC 5905 §6) and truncated PTPv2 (RFC 8186 §2, IEEE 1588), and
//! the Error Estimate beside them (RFC 4656 §4.1.2, RFC 8186 §2.2).
//!
//! Here a time is i64 nanoseconds of `CLOCK_REALTIME`, the UNIX time. ns → wire → ns is the
//! identity: an NTP fraction is finer than a nanosecond (0.23 ns) and both ways round to nearest.

use delaylab_model::{Nanos, SECOND};

/// Seconds from NTP's epoch (1900) to UNIX's (1970).
const NTP_EPOCH: i64 = 2_208_988_800;

/// How a timestamp is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Format {
    /// 32 bits of seconds since 1900 and 32 bits of fraction. From 1968 to 2104: where the top
    /// bit is clear, the second era has begun (RFC 4330 §3).
    #[default]
    Ntp,
    /// 32 bits of seconds and 32 bits of nanoseconds. Seconds are of `CLOCK_REALTIME`: the
    /// leap seconds between UTC and a PTP time scale are not added, for nobody says that a
    /// reflector's clock runs on one.
    Ptp,
}

impl Format {
    /// UNIX time in nanoseconds as this format has it.
    pub const fn encode(self, unix: Nanos) -> u64 {
        let seconds = unix.div_euclid(SECOND);
        let nanos = unix.rem_euclid(SECOND) as u64;
        match self {
            Format::Ntp => {
                let fraction = ((nanos << 32) + SECOND as u64 / 2) / SECOND as u64;
                (((seconds + NTP_EPOCH) as u64) << 32) + fraction
            }
            Format::Ptp => ((seconds as u64) << 32) | nanos,
        }
    }

    /// What this format's timestamp is in nanoseconds of UNIX time.
    pub const fn decode(self, timestamp: u64) -> Nanos {
        let seconds = (timestamp >> 32) as i64;
        let fraction = timestamp & 0xffff_ffff;
        match self {
            Format::Ntp => {
                let era = if seconds < 1 << 31 { 1 << 32 } else { 0 };
                let nanos = (fraction * SECOND as u64 + (1 << 31)) >> 32;
                (seconds + era - NTP_EPOCH) * SECOND + nanos as Nanos
            }
            Format::Ptp => seconds * SECOND + fraction as Nanos,
        }
    }
}

/// How good a timestamp is: `S Z Scale(6) Multiplier(8)`. The error is at most
/// multiplier · 2^(scale − 32) seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorEstimate {
    /// S: the clock is synchronised to UTC by an outside source.
    pub synchronised: bool,
    /// Z: how the timestamp beside it is written.
    pub format: Format,
    /// 0 to 63.
    pub scale: u8,
    /// 0 says that the timestamp is worth nothing (RFC 4656 §4.1.2).
    pub multiplier: u8,
}

impl ErrorEstimate {
    /// The smallest estimate that is not below `bound` nanoseconds.
    pub const fn at_most(bound: u64, synchronised: bool, format: Format) -> Self {
        let mut units = ((bound as u128) << 32).div_ceil(SECOND as u128);
        let mut scale = 0;
        while units > 255 {
            units = units.div_ceil(2);
            scale += 1;
        }
        Self {
            synchronised,
            format,
            scale,
            multiplier: if units == 0 { 1 } else { units as u8 },
        }
    }

    /// The error in nanoseconds, rounded up; `u64::MAX` where it is more than that. `None`: nothing is known of it.
    pub const fn bound(self) -> Option<u64> {
        if self.multiplier == 0 {
            return None;
        }
        let units = (self.multiplier as u128) << self.scale;
        let nanos = (units * SECOND as u128).div_ceil(1 << 32);
        Some(if nanos > u64::MAX as u128 {
            u64::MAX
        } else {
            nanos as u64
        })
    }

    /// The field on the wire.
    pub const fn to_bits(self) -> u16 {
        let s = (self.synchronised as u16) << 15;
        let z = (matches!(self.format, Format::Ptp) as u16) << 14;
        s | z | ((self.scale as u16 & 63) << 8) | self.multiplier as u16
    }

    /// The field on the wire.
    pub const fn from_bits(bits: u16) -> Self {
        Self {
            synchronised: bits & 0x8000 != 0,
            format: if bits & 0x4000 == 0 {
                Format::Ntp
            } else {
                Format::Ptp
            },
            scale: (bits >> 8) as u8 & 63,
            multiplier: bits as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants() {
        assert_eq!(Format::Ntp.encode(0), 2_208_988_800 << 32);
        assert_eq!(
            Format::Ntp.encode(SECOND / 2),
            (2_208_988_800 << 32) | 1 << 31
        );
        assert_eq!(Format::Ptp.encode(SECOND + 7), (1 << 32) | 7);
        // The second era begins at 2036-02-07 06:28:16 UTC.
        assert_eq!(Format::Ntp.encode(2_085_978_496 * SECOND), 0);
        assert_eq!(Format::Ntp.decode(0), 2_085_978_496 * SECOND);
    }

    #[test]
    fn an_estimate_is_not_below_its_bound() {
        for bound in [0, 1, 59, 60, 1000, 500_000_000, 16_000_000_000, u64::MAX] {
            let estimate = ErrorEstimate::at_most(bound, true, Format::Ntp);
            let told = estimate.bound().unwrap_or_default();
            assert!(told >= bound, "{bound}: {estimate:?}");
            assert!(estimate.multiplier > 0 && estimate.scale < 64);
            assert!(told <= bound.saturating_add(bound / 64 + 1));
        }
    }

    /// RFC 4656 §4.1.2: it is no promise of a clock without error.
    #[test]
    fn a_multiplier_of_zero_bounds_nothing() {
        assert_eq!(ErrorEstimate::from_bits(0x8000).bound(), None);
        assert_eq!(ErrorEstimate::from_bits(0x8001).bound(), Some(1));
    }

    proptest! {
        #[test]
        fn times_come_back(unix in -60_000_000 * SECOND..4_200_000_000 * SECOND) {
            prop_assert_eq!(Format::Ntp.decode(Format::Ntp.encode(unix)), unix);
        }

        #[test]
        fn ptp_times_come_back(unix in 0..4_294_967_295 * SECOND) {
            prop_assert_eq!(Format::Ptp.decode(Format::Ptp.encode(unix)), unix);
        }

        #[test]
        fn any_bits_are_an_estimate(bits: u16, timestamp: u64) {
            let estimate = ErrorEstimate::from_bits(bits);
            prop_assert_eq!(estimate.to_bits(), bits);
            estimate.bound();
            Format::Ntp.decode(timestamp);
            Format::Ptp.decode(timestamp);
            Format::Ntp.encode(timestamp as i64);
            Format::Ptp.encode(timestamp as i64);
        }
    }
}
