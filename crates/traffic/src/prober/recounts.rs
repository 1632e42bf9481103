//! Where a reflector begins to count again: it was restarted, or had forgotten the session.

/// Tells a reflector's counts apart. A packet that was sent after a reply had been read arrives after the one that this reply
/// answers: its count is higher, unless it is another count.
#[derive(Debug, Default)]
pub struct Recounts {
    /// How often the reflector has begun again.
    times: u32,
    /// The first packet of the present count of which a reply was read, and that reply's count.
    first: (u64, u32),
    /// The highest count, and the last packet that had been sent when it was read.
    highest: Option<(u32, u64)>,
}

impl Recounts {
    /// How often the reflector has begun again.
    pub const fn times(&self) -> u32 {
        self.times
    }

    /// The reply to packet `seq`, with this count, was read when packet `last` had been sent. In which of the reflector's
    /// counts it is: 0 is the first.
    pub fn note(&mut self, seq: u64, last: u64, count: u32) -> u32 {
        if self.times > 0 && seq < self.first.0 {
            if !self.is_just_before_the_first(seq, count) {
                // It was under way when the reflector began again.
                return self.times - 1;
            }
            self.first = (seq, count);
            return self.times;
        }
        match self.highest {
            Some((highest, sent)) if !is_ahead(count, highest) => {
                if seq > sent {
                    self.times += 1;
                    self.first = (seq, count);
                    self.highest = Some((count, last));
                }
            }
            _ => self.highest = Some((count, last)),
        }
        self.times
    }

    /// Was this reply overtaken by the first one of the present count? Its count is then lower by no more than there are packets
    /// between the two.
    fn is_just_before_the_first(&self, seq: u64, count: u32) -> bool {
        let (first, first_count) = self.first;
        let lower = u64::from(first_count.wrapping_sub(count));
        is_ahead(first_count, count) && lower <= first - seq
    }
}

/// Counts have 32 bits.
const fn is_ahead(count: u32, of: u32) -> bool {
    (count.wrapping_sub(of) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The count that each of these replies is of: packet, last packet sent when it was read, count.
    fn of_each(replies: &[(u64, u64, u32)]) -> Vec<u32> {
        let mut recounts = Recounts::default();
        let each = replies.iter();
        each.map(|&(seq, last, count)| recounts.note(seq, last, count))
            .collect()
    }

    #[test]
    fn a_count_that_goes_back_is_another_one() {
        let restarted = [(0, 0, 7), (1, 1, 8), (4, 4, 0), (5, 5, 1), (9, 9, 0)];
        assert_eq!(of_each(&restarted), [0, 0, 1, 1, 2]);
        // The same count as before is another one, too.
        assert_eq!(of_each(&[(0, 0, 0), (1, 1, 0)]), [0, 1]);
    }

    #[test]
    fn what_was_under_way_together_may_come_in_any_order() {
        // Packet 1 overtook packet 0 on the way out, packet 3 packet 2 on the way back; of packet 4 a copy comes.
        let mixed = [
            (1, 3, 0),
            (0, 3, 1),
            (3, 5, 3),
            (2, 5, 2),
            (4, 6, 4),
            (4, 9, 4),
        ];
        assert_eq!(of_each(&mixed), [0; 6]);
        // Replies of the count before come after the first of the new one.
        assert_eq!(of_each(&[(5, 9, 5), (12, 14, 0), (8, 14, 8)]), [0, 1, 0]);
        // So may the first replies of the new one: that to packet 12 overtook those to 11 and 10.
        let overtaken = [(5, 9, 5), (12, 14, 2), (10, 14, 0), (11, 14, 1), (8, 14, 8)];
        assert_eq!(of_each(&overtaken), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn a_count_that_wraps_goes_on() {
        assert_eq!(of_each(&[(0, 0, u32::MAX), (1, 1, 0)]), [0, 0]);
    }
}
