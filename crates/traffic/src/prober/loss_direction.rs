//! In which direction packets were lost, from the reflector's own count of what arrived.
//!
//! A reflector that is restarted, or has forgotten the session, begins to count again. Each of its counts tells of the packets
//! that it has; of those between two counts it is not known where they were lost.

use super::sequence::widen_near;
use crate::replay::LongWindow;
use delaylab_model::trial::{LossDirection, LostInHost};

/// A reflector's count of packets, as a reply tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// How often the reflector had begun to count again.
    pub epoch: u32,
    /// From 0.
    pub count: u32,
}

/// What the reflector's counts have said so far.
#[derive(Debug, Default)]
pub struct ReflectorCount {
    /// Packets of which a reply was read while their record was open.
    replies: u64,
    /// Replies that came for packets which had been given up as lost.
    answered_later: u64,
    /// Since the reflector began to count.
    now: Epoch,
    /// What was lost up to the last that it had counted before it began again.
    earlier: LossDirection,
    /// Packets that reached the reflector's host when nothing listened there: it has said so.
    unheard: u64,
    /// Did every count equal our own number? Then it may be a stateless copy of it (RFC 8762 §4.1).
    always_equal: bool,
    any: bool,
    /// It is known to be a count.
    known: bool,
}

/// What a reflector's counts have said since it began to count.
#[derive(Debug, Default)]
struct Epoch {
    /// How often it had begun before.
    number: u32,
    /// Packets sent before the first that it can have counted, how many it said to have counted by then, and how many nothing
    /// listened to.
    sent_before: u64,
    counted_before: u64,
    unheard_before: u64,
    highest: Option<Highest>,
    /// Packets of which a reply was read.
    read: u64,
    /// Replies to copies that were made on the way there: the reflector counted these packets more than once.
    copies: u64,
    /// Replies to copies of which no count tells on which way they were made.
    unplaced_copies: u64,
    /// The counts that came: one that comes again was copied on the way back.
    heard: LongWindow,
}

/// The highest count so far.
#[derive(Debug, Clone, Copy, Default)]
struct Highest {
    /// Packets sent up to the latest of which a reply with a count was read.
    sent_up_to: u64,
    counted: u64,
    /// Packets that nothing listened to by then.
    unheard: u64,
}

impl ReflectorCount {
    /// The first reply to packet `seq`, before which `sent_before` packets were sent, was read; the
    /// reflector's count, if it tells one.
    pub fn replied(&mut self, seq: u64, sent_before: u64, counted: Option<Counted>) {
        self.replies += 1;
        self.read(seq, sent_before, counted);
    }

    /// Another reply to it was read. Copied on the way there, it has a count of its own; on the way back, one that was
    /// heard before.
    pub fn copied(&mut self, seq: u64, sent_before: u64, counted: Option<Counted>) {
        match counted.map(|counted| self.note(seq, sent_before, counted)) {
            Some(Noted::New) => self.now.copies += 1,
            Some(Noted::HeardBefore | Noted::OfEarlier) => {}
            Some(Noted::TooOld) | None => self.now.unplaced_copies += 1,
        }
    }

    /// The reflector counts, also where its count has been our own number so far.
    pub const fn is_known(&mut self) {
        self.known = true;
    }

    /// A packet reached the reflector's host, which says that nothing listens there.
    pub const fn unheard(&mut self) {
        self.unheard += 1;
    }

    /// A reply came to a packet that had been given up.
    pub fn answered_later(&mut self, seq: u64, sent_before: u64, counted: Option<Counted>) {
        self.answered_later += 1;
        self.read(seq, sent_before, counted);
    }

    fn read(&mut self, seq: u64, sent_before: u64, counted: Option<Counted>) {
        match counted.map(|counted| self.note(seq, sent_before, counted)) {
            // It was taken for lost on the way back when the next count began.
            Some(Noted::OfEarlier) => self.earlier.back = self.earlier.back.saturating_sub(1),
            _ => self.now.read += 1,
        }
    }

    fn note(&mut self, seq: u64, sent_before: u64, counted: Counted) -> Noted {
        if counted.epoch < self.now.number {
            return Noted::OfEarlier;
        }
        if counted.epoch > self.now.number {
            self.begin_again(counted, sent_before);
        }
        let Highest {
            sent_up_to,
            counted: highest,
            ..
        } = self.now.highest.unwrap_or_default();
        let counted = widen_near(highest, counted.count) + 1;
        self.always_equal = (self.always_equal || !self.any) && counted == seq + 1;
        self.any = true;
        self.now.highest = Some(Highest {
            sent_up_to: sent_up_to.max(sent_before + 1),
            counted: highest.max(counted),
            unheard: self.unheard,
        });
        match self.now.heard.note(counted) {
            Some(false) => Noted::New,
            Some(true) => Noted::HeardBefore,
            None => Noted::TooOld,
        }
    }

    /// The reflector has begun to count again, as the reply to the packet behind the first `sent_before` shows.
    fn begin_again(&mut self, first: Counted, sent_before: u64) {
        let before = std::mem::take(&mut self.now);
        if let Some(highest) = before.highest {
            let lost = before.lost(highest);
            self.earlier.forward += lost.forward;
            self.earlier.back += lost.back;
        }
        let settled = before.highest.unwrap_or_default().sent_up_to;
        let count = u64::from(first.count);
        // What it counted before this packet was sent after what it had counted last: the latest of those.
        let between = sent_before.saturating_sub(settled);
        let known = if count <= between { count } else { 0 };
        self.now = Epoch {
            number: first.epoch,
            sent_before: sent_before - known,
            counted_before: count - known,
            unheard_before: self.unheard,
            ..Epoch::default()
        };
    }

    /// Splits the losses of `sent` packets, of which `abandoned` were not waited for. `final_count` is how many the
    /// reflector received in all since it began to count, if it was asked at the end; `dropped` is what hosts say that they
    /// dropped. The parts add up to what is lost.
    pub fn direction(
        &self,
        sent: u64,
        abandoned: u64,
        final_count: Option<u64>,
        dropped: LostInHost,
    ) -> Option<LossDirection> {
        let read = self.replies + self.answered_later;
        let missing = sent.saturating_sub(read + abandoned);
        let counted = self.on_the_way(sent, read, final_count);
        if dropped.total() == 0 && self.answered_later == 0 && counted.is_none() {
            return None;
        }
        let on_the_way = fitted(counted.unwrap_or_default(), missing);
        Some(LossDirection {
            answered_later: self.answered_later,
            ..less(on_the_way, dropped)
        })
    }

    /// What is known to have been lost on either way.
    fn on_the_way(&self, sent: u64, read: u64, final_count: Option<u64>) -> Option<LossDirection> {
        let highest = match final_count {
            Some(received) => Highest {
                sent_up_to: sent,
                counted: received,
                unheard: self.unheard,
            },
            None if self.always_equal && !self.known && read < sent => return None,
            None => self.now.highest?,
        };
        let lost = self.now.lost(highest);
        Some(LossDirection {
            forward: self.earlier.forward + lost.forward,
            back: self.earlier.back + lost.back,
            ..lost
        })
    }
}

/// What a reply's count is.
enum Noted {
    New,
    HeardBefore,
    /// Whether it was heard before is not known any more.
    TooOld,
    /// Of before the reflector began to count again.
    OfEarlier,
}

impl Epoch {
    /// What was lost on either way of the packets up to those that it has counted.
    fn lost(&self, highest: Highest) -> LossDirection {
        let sent = highest.sent_up_to.saturating_sub(self.sent_before);
        let counted = highest.counted.saturating_sub(self.counted_before);
        // The count has every copy. Of those that were not read it is not known whether they were copies.
        let arrived = counted.saturating_sub(self.copies);
        let copies_unread = arrived.saturating_sub(sent);
        let unread = arrived.saturating_sub(self.read + copies_unread);
        let unheard = highest.unheard - self.unheard_before;
        LossDirection {
            forward: sent.saturating_sub(arrived + unheard),
            back: unread - self.may_be_copies(unread, copies_unread),
            ..LossDirection::default()
        }
    }

    /// How many of the `unread` arrivals may be copies, if copies get lost on the way back as often as others: the
    /// expected number and three standard deviations of a Poisson distribution more. Without a copy: none. Those that were
    /// read and may have been made on the way there are of them in any case.
    fn may_be_copies(&self, unread: u64, copies_unread: u64) -> u64 {
        let copies = self.copies.max(copies_unread);
        let mut most = self.unplaced_copies;
        if copies > 0 {
            let read = (self.read + self.copies).max(1);
            let expected = unread as f64 * copies as f64 / read as f64;
            most += (expected + 3.0 * expected.sqrt() + 1.0).ceil() as u64;
        }
        unread.min(most)
    }
}

/// Parts that add up to what is missing. What has no known direction is the rest.
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

    fn count_of(count: u32) -> Option<Counted> {
        Some(Counted { epoch: 0, count })
    }

    fn direction(replies: &[(u64, u32)], sent: u64, total: Option<u64>) -> Option<LossDirection> {
        let mut count = ReflectorCount::default();
        for &(seq, reflector) in replies {
            count.replied(seq, seq, count_of(reflector));
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

    /// (forward, back, unknown) of `sent` packets by replies to these, in these of the reflector's counts, with these counts.
    fn recounted(replies: &[(u64, u32, u32)], sent: u64, total: Option<u64>) -> (u64, u64, u64) {
        let mut reflector = ReflectorCount::default();
        for &(seq, epoch, count) in replies {
            reflector.replied(seq, seq, Some(Counted { epoch, count }));
        }
        let loss = reflector.direction(sent, 0, total, LostInHost::default());
        let loss = loss.unwrap();
        (loss.forward, loss.back, loss.unknown)
    }

    #[test]
    fn what_was_lost_between_two_counts_has_no_direction() {
        let first = [(0, 0, 0), (1, 0, 1), (2, 0, 2)];
        let with = |more: &[(u64, u32, u32)]| [&first, more].concat();
        // The reply to packet 8 was lost; 3 to 5 were sent while the reflector was restarted.
        let replies = with(&[(6, 1, 0), (7, 1, 1), (9, 1, 3)]);
        assert_eq!(recounted(&replies, 10, None), (0, 1, 3));
        assert_eq!(recounted(&replies, 10, Some(4)), (0, 1, 3));
        // So was that to packet 5, which the new count has, and 8 never arrived.
        let replies = with(&[(6, 1, 1), (7, 1, 2), (9, 1, 3)]);
        assert_eq!(recounted(&replies, 12, Some(4)), (3, 1, 2));
        // What was lost before stays what it was: 1 on the way out, 3 on the way back.
        let replies = [(0, 0, 0), (2, 0, 1), (4, 0, 3), (7, 1, 0)];
        assert_eq!(recounted(&replies, 8, None), (1, 1, 2));
        // The reply to 3 comes after all, and a count that does not begin at 0 tells of what is behind it.
        let replies = [
            (0, 0, 0),
            (2, 0, 1),
            (4, 0, 3),
            (7, 1, 900),
            (3, 0, 2),
            (9, 1, 902),
        ];
        assert_eq!(recounted(&replies, 10, None), (1, 1, 2));
    }

    #[test]
    fn what_reached_a_closed_port_was_not_lost_on_the_way_out() {
        let mut count = ReflectorCount::default();
        count.replied(0, 0, count_of(0));
        count.unheard();
        count.replied(3, 3, count_of(1));
        count.unheard();
        let split = |total| {
            let loss = count.direction(6, 0, total, LostInHost::default());
            let loss = loss.unwrap();
            (loss.forward, loss.back, loss.unknown)
        };
        assert_eq!(split(None), (1, 0, 3));
        assert_eq!(split(Some(2)), (2, 0, 2));
    }

    #[test]
    fn a_count_that_only_repeats_ours_says_nothing_about_loss() {
        assert_eq!(direction(&[(0, 0), (2, 2)], 3, None), None);
        let mut count = ReflectorCount::default();
        count.is_known();
        [0, 2]
            .into_iter()
            .for_each(|seq| count.replied(seq, seq, count_of(seq as u32)));
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
        count.replied(0, 0, count_of(0));
        count.replied(3, 1, count_of(1));
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
            count.replied(seq, seq, count_of(reflector));
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
                true if read.insert(seq) => count.replied(seq, seq, count_of(counted)),
                true => count.copied(seq, seq, count_of(counted)),
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
        count.replied(0, 0, count_of(0));
        count.copied(0, 0, count_of(1));
        count.copied(0, 0, count_of(1));
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
        count.replied(0, 0, count_of(0));
        count.answered_later(1, 1, None);
        count.answered_later(2, 2, None);
        // Of 5, 4 arrived there, and one reply is missing; without a count nobody knows where two are.
        let loss = |total| count.direction(5, 0, total, LostInHost::default()).unwrap();
        let found = loss(Some(4));
        assert_eq!((found.forward, found.back, found.unknown), (1, 1, 0));
        assert_eq!(found.answered_later, 2);
        count.now.highest = None;
        let uncounted = count;
        let found = uncounted
            .direction(5, 1, None, LostInHost::default())
            .unwrap();
        // One of them was not waited for.
        assert_eq!((found.unknown, found.answered_later), (1, 2));
    }
}
