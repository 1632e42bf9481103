//! In which direction packets were lost, from the reflector's own count of what arrived.

use super::sequence::widen_near;
use crate::replay::LongWindow;
use delaylab_model::trial::{LossDirection, LostInHost};

/// What the reflector's counts have said so far.
#[derive(Debug, Default)]
pub struct ReflectorCount {
    /// Packets sent up to the latest of which a reply with a count was read, and the highest count.
    highest: Option<(u64, u64)>,
    /// Packets of which a reply was read while their record was open.
    replies: u64,
    /// Replies that came for packets which had been given up as lost.
    answered_later: u64,
    /// Replies to copies that were made on the way there: the reflector counted these packets more than once.
    copies: u64,
    /// Replies to copies of which no count tells on which way they were made.
    unplaced_copies: u64,
    /// The counts that came: one that comes again was copied on the way back.
    heard: LongWindow,
    /// Did every count equal our own number? Then it may be a stateless copy of it (RFC 8762 §4.1).
    always_equal: bool,
    any: bool,
    /// It is known to be a count.
    known: bool,
}

impl ReflectorCount {
    /// The first reply to packet `seq`, before which `sent_before` packets were sent, was read; the
    /// reflector's count, from 0, if it tells one.
    pub fn replied(&mut self, seq: u64, sent_before: u64, count: Option<u32>) {
        self.replies += 1;
        self.note(seq, sent_before, count);
    }

    /// Another reply to it was read. Copied on the way there, it has a count of its own; on the way back, one that was
    /// heard before.
    pub fn copied(&mut self, seq: u64, sent_before: u64, count: Option<u32>) {
        match self.note(seq, sent_before, count) {
            Some(false) => self.copies += 1,
            Some(true) => {}
            None => self.unplaced_copies += 1,
        }
    }

    /// The reflector counts, also where its count has been our own number so far.
    pub const fn is_known(&mut self) {
        self.known = true;
    }

    /// A reply came to a packet that had been given up.
    pub fn answered_later(&mut self, seq: u64, sent_before: u64, count: Option<u32>) {
        self.answered_later += 1;
        self.note(seq, sent_before, count);
    }

    /// Was this count heard before? `None`: there is none, or it is too old to tell.
    fn note(&mut self, seq: u64, sent_before: u64, count: Option<u32>) -> Option<bool> {
        let count = count?;
        let (sent_up_to, highest) = self.highest.unwrap_or((0, 0));
        let counted = widen_near(highest, count) + 1;
        self.always_equal = (self.always_equal || !self.any) && counted == seq + 1;
        self.any = true;
        self.highest = Some((sent_up_to.max(sent_before + 1), highest.max(counted)));
        self.heard.note(counted)
    }

    /// Splits the losses of `sent` packets, of which `abandoned` were not waited for. `final_count` is how many the
    /// reflector received in all, if it was asked at the end; `dropped` is what hosts say that they dropped. The parts
    /// add up to what is lost.
    pub fn direction(
        &self,
        sent: u64,
        abandoned: u64,
        final_count: Option<u64>,
        dropped: LostInHost,
    ) -> Option<LossDirection> {
        let missing = sent.saturating_sub(self.read() + abandoned);
        let counted = self.on_the_way(sent, final_count);
        if dropped.total() == 0 && self.answered_later == 0 && counted.is_none() {
            return None;
        }
        let uncounted = LossDirection {
            unknown: missing,
            ..LossDirection::default()
        };
        let on_the_way = fitted(counted.unwrap_or(uncounted), missing);
        Some(LossDirection {
            answered_later: self.answered_later,
            ..less(on_the_way, dropped)
        })
    }

    /// Packets of which a reply was read, however late.
    const fn read(&self) -> u64 {
        self.replies + self.answered_later
    }

    fn on_the_way(&self, sent: u64, final_count: Option<u64>) -> Option<LossDirection> {
        let (sent_up_to, counted) = match final_count {
            Some(received) => (sent, received),
            None if self.always_equal && !self.known && self.read() < sent => return None,
            None => self.highest?,
        };
        // The count has every copy. Of those that were not read it is not known whether they were copies.
        let arrived = counted.saturating_sub(self.copies);
        let copies_unread = arrived.saturating_sub(sent_up_to);
        let unread = arrived.saturating_sub(self.read() + copies_unread);
        let doubtful = self.may_be_copies(unread, copies_unread);
        Some(LossDirection {
            forward: sent_up_to.saturating_sub(arrived),
            back: unread - doubtful,
            unknown: sent.saturating_sub(sent_up_to) + doubtful,
            ..LossDirection::default()
        })
    }

    /// How many of the `unread` arrivals may be copies, if copies get lost on the way back as often as others: the
    /// expected number and three standard deviations of a Poisson distribution more. Without a copy: none. Those that were
    /// read and may have been made on the way there are of them in any case.
    fn may_be_copies(&self, unread: u64, copies_unread: u64) -> u64 {
        let copies = self.copies.max(copies_unread);
        let mut most = self.unplaced_copies;
        if copies > 0 {
            let read = (self.read() + self.copies).max(1);
            let expected = unread as f64 * copies as f64 / read as f64;
            most += (expected + 3.0 * expected.sqrt() + 1.0).ceil() as u64;
        }
        unread.min(most)
    }
}

/// Parts that add up to what is missing. What has no known direction is given up first.
fn fitted(loss: LossDirection, missing: u64) -> LossDirection {
    let forward = loss.forward.min(missing);
    let back = loss.back.min(missing - forward);
    LossDirection {
        forward,
        back,
        unknown: missing - forward - back,
        ..loss
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

/// Takes `overflowed` packets out of the way there: a buffer had no room for that number, of these or of others'.
pub(super) fn undecided(mut loss: LossDirection, overflowed: u64) -> LossDirection {
    let moved = loss.forward.min(overflowed);
    loss.forward -= moved;
    loss.unknown += moved;
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
        count.direction(sent, 0, total, LostInHost::default())
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
        let mut count = ReflectorCount::default();
        count.is_known();
        [0, 2]
            .into_iter()
            .for_each(|seq| count.replied(seq, seq, Some(seq as u32)));
        let found = count.direction(3, 0, None, LostInHost::default()).unwrap();
        assert_eq!((found.forward, found.back, found.unknown), (0, 1, 0));
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
            count.direction(2, 0, None, LostInHost::default()),
            Some(LossDirection::default())
        );
    }

    #[test]
    fn no_count_no_direction() {
        let mut count = ReflectorCount::default();
        count.replied(0, 0, None);
        assert_eq!(count.direction(2, 0, None, LostInHost::default()), None);
    }

    #[test]
    fn what_may_be_others_is_not_taken_off() {
        let loss = |forward, unknown| LossDirection {
            forward,
            unknown,
            ..LossDirection::default()
        };
        assert_eq!(undecided(loss(5, 1), 2), loss(3, 3));
        assert_eq!(undecided(loss(5, 1), 99), loss(0, 6));
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
        let split = |dropped| count.direction(10, 0, Some(7), dropped).unwrap();
        let found = split(dropped(2, 3, 1));
        assert_eq!((found.forward, found.back), (1, 0));
        assert_eq!(found.in_host, dropped(2, 3, 1));
        // Never more than is missing: the socket's count is of all its sessions.
        let found = split(dropped(99, 1, 99));
        assert_eq!((found.forward, found.back), (0, 0));
        assert_eq!(found.in_host, dropped(3, 1, 3));
        let nobody_counts = ReflectorCount::default().direction(5, 0, None, dropped(0, 0, 2));
        let found = nobody_counts.unwrap();
        assert_eq!((found.unknown, found.in_host), (3, dropped(0, 0, 2)));
    }

    /// (forward, back, unknown) of `sent` packets. Each arrival is a packet's number and whether its reply was read;
    /// they are in the order of the reflector's count.
    fn split(sent: u64, arrivals: &[(u64, bool)], asked: bool) -> (u64, u64, u64) {
        let mut count = ReflectorCount::default();
        let mut read = std::collections::BTreeSet::new();
        for (counted, &(seq, is_read)) in (0..).zip(arrivals) {
            match is_read {
                false => {}
                true if read.insert(seq) => count.replied(seq, seq, Some(counted)),
                true => count.copied(seq, seq, Some(counted)),
            }
        }
        let total = asked.then_some(arrivals.len() as u64);
        let loss = count.direction(sent, 0, total, LostInHost::default());
        let loss = loss.unwrap();
        assert_eq!(
            loss.forward + loss.back + loss.unknown,
            sent - read.len() as u64,
            "{loss:?}"
        );
        (loss.forward, loss.back, loss.unknown)
    }

    #[test]
    fn copies_do_not_hide_what_was_lost_on_the_way_out() {
        // Of 100 every 20th never arrives, every 10th arrives twice; all replies are read.
        let arrivals: Vec<_> = (0..100)
            .filter(|seq| seq % 20 != 7)
            .flat_map(|seq| vec![(seq, true); 1 + usize::from(seq % 10 == 0)])
            .collect();
        assert_eq!(split(100, &arrivals, true), (5, 0, 0));
        assert_eq!(split(100, &arrivals, false), (5, 0, 0));
    }

    #[test]
    fn a_lost_copy_is_not_a_packet_lost_on_the_way_back() {
        // Packet 3 never arrives; every 10th arrives twice, and of 50 the reply to the copy is lost.
        let mut arrivals: Vec<_> = (0..100)
            .filter(|&seq| seq != 3)
            .flat_map(|seq| vec![(seq, true); 1 + usize::from(seq % 10 == 0)])
            .collect();
        let copy = arrivals.iter().rposition(|&(seq, _)| seq == 50).unwrap();
        arrivals[copy].1 = false;
        // One arrival was not read: that of packet 3, or that of a copy.
        assert_eq!(split(100, &arrivals, true), (0, 0, 1));
        // More arrivals than packets, and no copy read: copies there were.
        assert_eq!(
            split(3, &[(0, true), (0, false), (1, true), (1, false)], true),
            (0, 0, 1)
        );
    }

    #[test]
    fn with_some_copies_most_losses_still_have_a_direction() {
        // 2 % lost each way, 3 % copied.
        let arrivals: Vec<_> = (0..500)
            .filter(|seq| seq % 50 != 7)
            .flat_map(|seq| vec![(seq, seq % 50 != 9); 1 + usize::from(seq % 33 == 0)])
            .collect();
        let (forward, back, unknown) = split(500, &arrivals, true);
        assert_eq!((forward, back + unknown), (10, 10));
        assert!(unknown <= 4, "{unknown}");
    }

    #[test]
    fn a_copy_made_on_the_way_back_of_one_made_on_the_way_out_counts_once() {
        let mut count = ReflectorCount::default();
        count.replied(0, 0, Some(0));
        count.copied(0, 0, Some(1));
        count.copied(0, 0, Some(1));
        // Packet 1 arrived, or another copy did.
        let loss = count
            .direction(2, 0, Some(3), LostInHost::default())
            .unwrap();
        assert_eq!((loss.forward, loss.back, loss.unknown), (0, 0, 1));
    }

    #[test]
    fn copies_without_a_count_may_be_of_either_way() {
        let mut count = ReflectorCount::default();
        (0..9).for_each(|seq| count.replied(seq, seq, None));
        count.copied(3, 3, None);
        // Of 10, one was not read, and as many arrived.
        let loss = count
            .direction(10, 0, Some(10), LostInHost::default())
            .unwrap();
        assert_eq!((loss.forward, loss.back, loss.unknown), (0, 0, 1));
    }

    #[test]
    fn what_was_answered_later_is_not_lost_on_the_way_back() {
        let mut count = ReflectorCount::default();
        count.replied(0, 0, Some(0));
        count.answered_later(1, 1, None);
        count.answered_later(2, 2, None);
        // Of 5, 4 arrived there, and one reply is missing; without a count nobody knows where two are.
        let loss = |total| count.direction(5, 0, total, LostInHost::default()).unwrap();
        let found = loss(Some(4));
        assert_eq!((found.forward, found.back, found.unknown), (1, 1, 0));
        assert_eq!(found.answered_later, 2);
        let uncounted = ReflectorCount {
            highest: None,
            ..count
        };
        let found = uncounted
            .direction(5, 1, None, LostInHost::default())
            .unwrap();
        // One of them was not waited for.
        assert_eq!((found.unknown, found.answered_later), (1, 2));
    }
}
