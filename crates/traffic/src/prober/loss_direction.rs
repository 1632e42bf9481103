//! In which direction packets were lost, from the reflector's own count of what arrived.

use super::sequence::widen_near;
use delaylab_model::trial::{LossDirection, LostInHost};

/// What the reflector's counts have said so far.
#[derive(Debug, Default)]
pub struct ReflectorCount {
    /// Of the reply with the highest count: packets sent up to it, and counted there up to it.
    highest: Option<(u64, u64)>,
    /// Replies read that the reflector counted each.
    replies: u64,
    /// Did every count equal our own number? Then it may be a stateless copy of it (RFC 8762 §4.1).
    always_equal: bool,
    any: bool,
}

impl ReflectorCount {
    /// A reply to packet `seq`, before which `sent_before` packets were sent, was read; the
    /// reflector's count, from 0, if it tells one. Copies made on the way back do not count.
    pub fn replied(&mut self, seq: u64, sent_before: u64, count: Option<u32>) {
        self.replies += 1;
        let Some(count) = count else { return };
        let (_, highest) = self.highest.unwrap_or((0, 0));
        let counted = widen_near(highest, count) + 1;
        self.always_equal = (self.always_equal || !self.any) && counted == seq + 1;
        self.any = true;
        if counted > highest {
            self.highest = Some((sent_before + 1, counted));
        }
    }

    /// Splits the losses of `sent` packets. `final_count` is how many the reflector received in all,
    /// if it was asked at the end; `dropped` is what hosts say that they dropped.
    pub fn direction(
        &self,
        sent: u64,
        final_count: Option<u64>,
        dropped: LostInHost,
    ) -> Option<LossDirection> {
        let on_the_way = self.on_the_way(sent, final_count);
        if dropped.total() == 0 {
            return on_the_way;
        }
        let nobody_counts = LossDirection {
            unknown: sent.saturating_sub(self.replies),
            ..LossDirection::default()
        };
        Some(less(on_the_way.unwrap_or(nobody_counts), dropped))
    }

    fn on_the_way(&self, sent: u64, final_count: Option<u64>) -> Option<LossDirection> {
        if let Some(received) = final_count {
            return Some(LossDirection {
                forward: sent.saturating_sub(received),
                back: received.saturating_sub(self.replies),
                ..LossDirection::default()
            });
        }
        let (sent_up_to, counted) = self.highest?;
        if self.always_equal && self.replies < sent {
            return None;
        }
        Some(LossDirection {
            forward: sent_up_to.saturating_sub(counted),
            back: counted.saturating_sub(self.replies),
            unknown: sent.saturating_sub(sent_up_to),
            ..LossDirection::default()
        })
    }
}

/// Takes what hosts dropped out of what is missing: never more than is missing there.
fn less(mut loss: LossDirection, dropped: LostInHost) -> LossDirection {
    let take = |from: &mut u64, count: u64| {
        let taken = count.min(*from);
        *from -= taken;
        taken
    };
    let reflector_buffer = take(&mut loss.forward, dropped.reflector_buffer);
    let reflector_limit = take(&mut loss.back, dropped.reflector_limit);
    let of_back = take(&mut loss.back, dropped.own_buffer);
    let own_buffer = of_back + take(&mut loss.unknown, dropped.own_buffer - of_back);
    loss.in_host = LostInHost {
        reflector_buffer,
        reflector_limit,
        own_buffer,
    };
    loss
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn direction(replies: &[(u64, u32)], sent: u64, total: Option<u64>) -> Option<LossDirection> {
        let mut count = ReflectorCount::default();
        for &(seq, reflector) in replies {
            count.replied(seq, seq, Some(reflector));
        }
        count.direction(sent, total, LostInHost::default())
    }

    #[test]
    fn gaps_in_the_count_are_the_way_back() {
        // Packet 1 never arrived there; the reply to 3 (count 2) never arrived here.
        let found = direction(&[(0, 0), (2, 1), (4, 3)], 6, None);
        assert_eq!(
            found,
            Some(LossDirection {
                forward: 1,
                back: 1,
                unknown: 1,
                ..LossDirection::default()
            })
        );
        let found = direction(&[(0, 0), (2, 1), (4, 3)], 6, Some(4));
        assert_eq!(
            found,
            Some(LossDirection {
                forward: 2,
                back: 1,
                unknown: 0,
                ..LossDirection::default()
            })
        );
    }

    #[test]
    fn a_count_that_only_repeats_ours_says_nothing_about_loss() {
        assert_eq!(direction(&[(0, 0), (2, 2)], 3, None), None);
        assert_eq!(
            direction(&[(0, 0), (1, 1)], 2, None),
            Some(LossDirection::default())
        );
    }

    #[test]
    fn packets_that_never_left_are_not_lost_on_the_way() {
        // Packets 1 and 2 failed here: our packet 3 is the second that left.
        let mut count = ReflectorCount::default();
        count.replied(0, 0, Some(0));
        count.replied(3, 1, Some(1));
        assert_eq!(
            count.direction(2, None, LostInHost::default()),
            Some(LossDirection::default())
        );
    }

    #[test]
    fn no_count_no_direction() {
        let mut count = ReflectorCount::default();
        count.replied(0, 0, None);
        assert_eq!(count.direction(2, None, LostInHost::default()), None);
    }

    #[test]
    fn what_a_host_dropped_is_not_lost_on_the_path() {
        let mut count = ReflectorCount::default();
        for (seq, reflector) in [(0, 0), (2, 1), (4, 3)] {
            count.replied(seq, seq, Some(reflector));
        }
        let dropped = |reflector_buffer, reflector_limit, own_buffer| LostInHost {
            reflector_buffer,
            reflector_limit,
            own_buffer,
        };
        // Of 10, 7 arrived there and 3 replies here.
        let split = |dropped| count.direction(10, Some(7), dropped).unwrap();
        let found = split(dropped(2, 3, 1));
        assert_eq!((found.forward, found.back), (1, 0));
        assert_eq!(found.in_host, dropped(2, 3, 1));
        // Never more than is missing: the socket's count is of all its sessions.
        let found = split(dropped(99, 1, 99));
        assert_eq!((found.forward, found.back), (0, 0));
        assert_eq!(found.in_host, dropped(3, 1, 3));
        let nobody_counts = ReflectorCount::default().direction(5, None, dropped(0, 0, 2));
        let found = nobody_counts.unwrap();
        assert_eq!((found.unknown, found.in_host), (3, dropped(0, 0, 2)));
    }
}
