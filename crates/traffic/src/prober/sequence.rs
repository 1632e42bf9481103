//! Full sequence numbers from the few bits on the wire.

/// The number nearest below or at `last` whose low `bits` bits are `wire`: replies are never of
/// packets that have not been sent. `None` if there is no such packet.
#[inline]
pub const fn widen(last: u64, wire: u32, bits: u32) -> Option<u64> {
    let mask = (1_u64 << bits) - 1;
    let back = (last & mask).wrapping_sub(wire as u64) & mask;
    last.checked_sub(back)
}

/// The number nearest to `near` whose low 32 bits are `wire`.
pub const fn widen_near(near: u64, wire: u32) -> u64 {
    let forward = wire.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(forward as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_packet_of_the_last_turn_is_found(last in 0_u64..1 << 40, back in 0_u64..65536) {
            prop_assume!(back <= last);
            let seq = last - back;
            prop_assert_eq!(widen(last, (seq & 0xffff) as u32, 16), Some(seq));
            prop_assert_eq!(widen(last, seq as u32, 32), Some(seq));
        }

        #[test]
        fn near_is_nearest(near in 1_u64 << 33..1 << 40, offset in -1000_i64..1000) {
            let value = near.saturating_add_signed(offset);
            prop_assert_eq!(widen_near(near, value as u32), value);
        }
    }

    #[test]
    fn a_packet_never_sent_is_not_found() {
        assert_eq!(widen(3, 4, 32), None);
        assert_eq!(widen(3, 65535, 16), None);
    }
}
