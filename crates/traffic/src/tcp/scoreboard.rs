//! What is known of each segment that is out (RFC 6675 §4): not yet, arrived out of order, or lost.

use super::ranges::Ranges;
use super::rate::Stamp;
use delaylab_model::Picos;
use std::collections::VecDeque;

/// Duplicate ACKs, or pieces beyond it, after which a segment is taken for lost (DupThresh).
pub(crate) const THRESHOLD: usize = 3;

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// In the network, as far as is known.
    Out,
    /// It has arrived: a SACK said so.
    Arrived,
    /// It is lost and not yet sent again.
    Lost,
}

/// A segment that is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// When it was sent last.
    pub(crate) at: Picos,
    pub(crate) fate: Fate,
    /// Sent more than once.
    pub(crate) again: bool,
    /// It was sent again and not taken for lost: both copies are in the network (RFC 6675 §4, SetPipe).
    pub(crate) twice: bool,
    /// For the delivery rate, of the last time.
    pub(crate) stamp: Stamp,
}

impl Sent {
    pub(crate) const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Its bytes in the network.
    const fn in_pipe(&self) -> u64 {
        match (self.fate, self.twice) {
            (Fate::Out, true) => 2 * self.len(),
            (Fate::Out, false) => self.len(),
            (Fate::Arrived | Fate::Lost, _) => 0,
        }
    }
}

/// The segments from the first that is not acknowledged on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    arrived: Ranges,
    /// Bytes that are out, that have arrived, that are lost.
    pipe: u64,
    arrived_bytes: u64,
    lost: u64,
    /// Bytes that were ever taken for lost.
    ever_lost: u64,
    /// Segments that have arrived.
    arrived_count: usize,
    /// No segment below it is lost.
    lost_from: u64,
    /// Below it all is judged by what arrived beyond.
    judged: u64,
}

impl Scoreboard {
    /// Bytes in the network (pipe).
    pub(crate) const fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes that have arrived out of order.
    pub(crate) const fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes
    }

    /// Segments that have arrived out of order.
    pub(crate) const fn arrived_count(&self) -> usize {
        self.arrived_count
    }

    /// Is something lost and not yet sent again?
    pub(crate) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Bytes that were ever taken for lost.
    pub(crate) const fn ever_lost(&self) -> u64 {
        self.ever_lost
    }

    /// How many segments are not acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// New data leaves.
    pub(crate) fn push(&mut self, sent: Sent) {
        self.pipe += sent.in_pipe();
        self.segments.push_back(sent);
    }

    fn index(&self, start: u64) -> Option<usize> {
        let at = self.segments.partition_point(|sent| sent.start < start);
        let found = self.segments.get(at)?;
        (found.start == start).then_some(at)
    }

    /// The segment that begins here.
    pub(crate) fn find(&self, start: u64) -> Option<&Sent> {
        self.segments.get(self.index(start)?)
    }

    /// The first that is not acknowledged.
    pub(crate) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The last segment that is out.
    pub(crate) fn last(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// The first that is lost.
    pub(crate) fn first_lost(&mut self) -> Option<Sent> {
        if !self.has_lost() {
            return None;
        }
        let from = self.segments.partition_point(|s| s.start < self.lost_from);
        let mut rest = self.segments.range(from..);
        let found = rest.find(|sent| sent.fate == Fate::Lost).copied()?;
        self.lost_from = found.start;
        Some(found)
    }

    /// The first that is out, was sent once, and has a piece that arrived beyond it (RFC 6675 §4,
    /// NextSeg rule 3).
    pub(crate) fn first_doubtful(&self) -> Option<Sent> {
        let (highest, _) = self.arrived.iter().next_back()?;
        let below = self.segments.iter().take_while(|s| s.start < highest);
        let mut doubtful = below.filter(|s| s.fate == Fate::Out && !s.again);
        doubtful.next().copied()
    }

    /// A segment is sent again.
    pub(crate) fn resend(&mut self, start: u64, now: Picos, stamp: Stamp) {
        let Some(at) = self.index(start) else {
            return;
        };
        let sent = &mut self.segments[at];
        self.pipe -= sent.in_pipe();
        match sent.fate {
            Fate::Lost => {
                sent.fate = Fate::Out;
                sent.twice = false;
                self.lost -= sent.len();
            }
            Fate::Out => sent.twice = true,
            Fate::Arrived => {}
        }
        self.pipe += sent.in_pipe();
        (sent.at, sent.again, sent.stamp) = (now, true, stamp);
    }

    /// Everything below `next` is acknowledged; `newly` is called with each segment of which that was
    /// not known.
    pub(crate) fn acknowledge(&mut self, next: u64, mut newly: impl FnMut(&Sent)) {
        while let Some(first) = self.segments.front_mut().filter(|s| s.start < next) {
            // A part of a segment: it is cut in two.
            let mut done = *first;
            done.end = done.end.min(next);
            let len = done.len();
            match done.fate {
                Fate::Out => self.pipe -= done.in_pipe(),
                Fate::Lost => self.lost -= len,
                Fate::Arrived => self.arrived_bytes -= len,
            }
            if done.fate != Fate::Arrived {
                newly(&done);
            }
            if first.end > next {
                first.start = next;
                break;
            }
            self.arrived_count -= usize::from(done.fate == Fate::Arrived);
            self.segments.pop_front();
        }
        if let Some(end) = self.arrived.take_until(next)
            && end > next
        {
            self.arrived.insert(next, end);
        }
    }

    /// This piece has arrived.
    pub(crate) fn arrive(&mut self, piece: (u64, u64), mut newly: impl FnMut(&Sent)) {
        let first = self.segments.front().map_or(u64::MAX, |first| first.start);
        let (mut start, end) = (piece.0.max(first), piece.1);
        while let Some(gap) = self.arrived.first_gap(start, end) {
            self.arrive_whole(gap, &mut newly);
            start = gap.1;
        }
    }

    /// The segments of a gap in what has arrived that are wholly in it.
    fn arrive_whole(&mut self, gap: (u64, u64), newly: &mut impl FnMut(&Sent)) {
        let from = self.segments.partition_point(|sent| sent.start < gap.0);
        let mut reached = None;
        for sent in self.segments.range_mut(from..) {
            if sent.end > gap.1 {
                break;
            }
            match sent.fate {
                Fate::Out => self.pipe -= sent.in_pipe(),
                Fate::Lost => self.lost -= sent.len(),
                Fate::Arrived => continue,
            }
            sent.fate = Fate::Arrived;
            self.arrived_bytes += sent.len();
            self.arrived_count += 1;
            newly(sent);
            let (start, _) = reached.unwrap_or((sent.start, 0));
            reached = Some((start, sent.end));
        }
        if let Some((start, end)) = reached {
            self.arrived.insert(start, end);
        }
    }

    /// This segment is lost, if it is out.
    pub(crate) fn lose(&mut self, start: u64) {
        if let Some(at) = self.index(start) {
            self.lose_at(at);
        }
    }

    fn lose_at(&mut self, at: usize) {
        let sent = &mut self.segments[at];
        if sent.fate == Fate::Out {
            self.pipe -= sent.in_pipe();
            sent.fate = Fate::Lost;
            self.lost += sent.len();
            self.ever_lost += sent.len();
            self.lost_from = self.lost_from.min(sent.start);
        }
    }

    /// Those that are out and for which it holds are lost.
    pub(crate) fn lose_if(&mut self, is_lost: impl Fn(&Sent) -> bool) {
        for at in 0..self.segments.len() {
            if is_lost(&self.segments[at]) {
                self.lose_at(at);
            }
        }
    }

    /// RFC 6675 §4, IsLost: three pieces have arrived beyond it, or more than two segments' bytes. What
    /// was sent again is left to the time-out; of two copies the first is lost.
    pub(crate) fn judge(&mut self, mss: u64) {
        let (mut count, mut bytes) = (0, 0);
        let enough = self.arrived.iter().rev().find(|(start, end)| {
            count += 1;
            bytes += end - start;
            count >= THRESHOLD || bytes > (THRESHOLD as u64 - 1) * mss
        });
        let Some((limit, _)) = enough else {
            return;
        };
        let from = self.segments.partition_point(|s| s.start < self.judged);
        for at in from..self.segments.len() {
            let sent = self.segments[at];
            if sent.start >= limit {
                break;
            }
            if !sent.again {
                self.lose_at(at);
            } else if sent.twice {
                self.pipe -= sent.in_pipe();
                self.segments[at].twice = false;
                self.pipe += self.segments[at].in_pipe();
            }
        }
        self.judged = self.judged.max(limit);
    }
}

#[cfg(test)]
mod tests;
