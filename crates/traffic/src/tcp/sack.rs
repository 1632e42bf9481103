//! Selective acknowledgements (RFC 2018): the option, and which pieces a receiver puts into it.

use super::ranges::Ranges;

/// Pieces that fit into an option beside timestamps.
const MOST: usize = 3;

/// The option: up to three pieces that have come beyond the first byte that is missing, and whether the
/// segment that caused the ACK had come before (RFC 2883).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackOption {
    /// From the first missing byte on; empty ones at the end.
    pieces: [(u32, u32); MOST],
    duplicate: bool,
}

impl SackOption {
    /// The pieces, the most recent first; `next` is the first byte that is missing.
    pub fn pieces(&self, next: u64) -> impl Iterator<Item = (u64, u64)> {
        let there = self.pieces.into_iter().take_while(|piece| piece.1 > 0);
        there.map(move |(start, end)| (next + u64::from(start), next + u64::from(end)))
    }

    /// The segment had come before.
    pub const fn is_duplicate(&self) -> bool {
        self.duplicate
    }

    /// Length in the header, with padding: 4 bytes, and 8 for each piece; 0 without any.
    pub fn bytes(&self) -> u32 {
        let pieces = self.pieces.iter().filter(|piece| piece.1 > 0).count() as u32;
        match pieces + u32::from(self.duplicate) {
            0 => 0,
            count => 4 + 8 * count,
        }
    }
}

/// What was reported last, so that each piece is reported several times although ACKs may be lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reports {
    /// A byte of each piece, the most recent first.
    recent: [Option<u64>; MOST],
}

impl Reports {
    /// A segment came beyond what is missing.
    pub(crate) fn note(&mut self, start: u64) {
        self.recent.rotate_right(1);
        self.recent[0] = Some(start);
    }

    /// For an ACK of all below `next`. `duplicate`: what caused it had come before.
    pub(crate) fn option(&mut self, next: u64, pieces: &Ranges, duplicate: bool) -> SackOption {
        let mut option = SackOption {
            duplicate,
            ..SackOption::default()
        };
        if pieces.is_empty() {
            return option;
        }
        let mut reported: [Option<u64>; MOST] = [None; MOST];
        let recent = self.recent.iter().flatten();
        let recent = recent.filter_map(|&byte| pieces.around(byte));
        // RFC 2018 §4: what was not reported lately fills what is left.
        let room = MOST - usize::from(duplicate);
        let mut count = 0;
        for (start, end) in recent.chain(pieces.iter().rev().take(MOST)) {
            if count < room && !reported.contains(&Some(start)) {
                reported[count] = Some(start);
                let relative = |byte: u64| u32::try_from(byte - next).unwrap_or(u32::MAX);
                option.pieces[count] = (relative(start), relative(end));
                count += 1;
            }
        }
        self.recent = reported;
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_piece_that_grew_comes_first_and_three_are_told() {
        let mut pieces = Ranges::default();
        let mut reports = Reports::default();
        let mut told = Vec::new();
        for start in [20, 40, 60, 80, 30] {
            pieces.insert(start, start + 5);
            reports.note(start);
            let option = reports.option(10, &pieces, false);
            told.push(option.pieces(10).map(|piece| piece.0).collect::<Vec<_>>());
        }
        assert_eq!(
            told,
            [
                vec![20],
                vec![40, 20],
                vec![60, 40, 20],
                vec![80, 60, 40],
                vec![30, 80, 60]
            ]
        );
        // The gap before the first is filled: what is known goes.
        pieces.take_until(35);
        let option = reports.option(35, &pieces, true);
        assert_eq!(option.pieces(35).collect::<Vec<_>>(), [(80, 85), (60, 65)]);
        assert!(option.is_duplicate());
        assert_eq!((option.bytes(), SackOption::default().bytes()), (28, 0));
    }
}
