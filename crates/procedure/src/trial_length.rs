//! How long a trial must be to reach the point from where on delay rises no more.

use delaylab_model::quantity::Share;
use delaylab_model::{Nanos, SECOND};

/// t = 8L/(εR): how long it takes to fill a buffer of L bytes when the load exceeds the rate R in bit/s
/// at which it drains by the share ε of that rate (seed 001 offers 50.1 % on each of two ports: ε is
/// 0.2 %). Rounded up to a nanosecond. `None` without an excess, which never fills it.
///
/// A trial should last longer than that, by as much as its delays are to be looked at beyond the
/// inflection. Count L as the device does: with preamble and gap if R is a line rate.
pub fn trial_length(buffer_bytes: u64, excess: Share, rate: u64) -> Option<Nanos> {
    let bits = u128::from(buffer_bytes) * 8;
    let per_second = u128::from(excess.0) * u128::from(rate);
    if per_second == 0 {
        return None;
    }
    let scale = SECOND as u128 * u128::from(Share::WHOLE.0);
    let length = bits.checked_mul(scale)?.div_ceil(per_second);
    Nanos::try_from(length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_buffer_in_bits_over_the_excess_rate() {
        // 1 MB at 2 Mbit/s of excess on 1 Gbit/s.
        let length = trial_length(1_000_000, Share(2_000_000), 1_000_000_000);
        assert_eq!(length, Some(4 * SECOND));
        assert_eq!(trial_length(1, Share(0), 1_000_000_000), None);
        assert_eq!(trial_length(1, Share(3_000_000), 1_000_000_000), Some(2667));
    }
}
