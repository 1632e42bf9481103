//! Rows of whole numbers, each kept as its difference to what the row before lets expect: a packet of
//! a measurement takes some ten bytes, so that a file of ten million packets is in memory at once.

use std::collections::VecDeque;

/// Rows of a piece: each piece is read, and given up, by itself.
const PIECE: usize = 1 << 16;

/// A row: what is not known is `None`.
pub type Row<const N: usize> = [Option<i64>; N];

/// Rows, in the order in which they were added.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<const N: usize> {
    /// So many of the first columns go on as they did between the last two rows; the others stay.
    moving: usize,
    pieces: VecDeque<Vec<u8>>,
    count: usize,
    last: Last<N>,
}

/// Values, and a bit for each column that has one: 0 stands where there is none. So all columns are compared at
/// once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Packed<const N: usize> {
    values: [i64; N],
    known: u64,
}

impl<const N: usize> Packed<N> {
    const NONE: Self = {
        assert!(N <= 64, "a bit for each column");
        Self {
            values: [0; N],
            known: 0,
        }
    };

    fn pack(row: &Row<N>) -> Self {
        let mut packed = Self::NONE;
        for (column, value) in row.iter().enumerate() {
            packed.values[column] = value.unwrap_or(0);
            packed.known |= u64::from(value.is_some()) << column;
        }
        packed
    }

    fn row(&self) -> Row<N> {
        std::array::from_fn(|column| self.get(column))
    }

    fn get(&self, column: usize) -> Option<i64> {
        (self.known >> column & 1 == 1).then_some(self.values[column])
    }

    fn set(&mut self, column: usize, value: Option<i64>) {
        self.values[column] = value.unwrap_or(0);
        self.known = self.known & !(1 << column) | u64::from(value.is_some()) << column;
    }

    /// A bit for each column in which they differ.
    fn differs(&self, other: &Self) -> u64 {
        let mut differs = self.known ^ other.known;
        for column in 0..N {
            differs |= u64::from(self.values[column] != other.values[column]) << column;
        }
        differs
    }
}

/// The columns of these bits.
fn columns(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let column = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (column < 64).then_some(column)
    })
}

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Last<const N: usize> {
    row: Packed<N>,
    steps: [i64; N],
}

impl<const N: usize> Last<N> {
    const FIRST: Self = Self {
        row: Packed::NONE,
        steps: [0; N],
    };

    fn expected(&self, moving: usize) -> Packed<N> {
        let mut expected = self.row;
        for column in 0..moving {
            if expected.known >> column & 1 == 1 {
                expected.values[column] = expected.values[column].wrapping_add(self.steps[column]);
            }
        }
        expected
    }

    fn follow(&mut self, moving: usize, row: &Packed<N>) {
        for column in 0..moving {
            if let (Some(before), Some(now)) = (self.row.get(column), row.get(column)) {
                self.steps[column] = now.wrapping_sub(before);
            }
        }
        self.row = *row;
    }
}

impl<const N: usize> Rows<N> {
    /// None yet.
    pub const fn new(moving: usize) -> Self {
        Self {
            moving,
            pieces: VecDeque::new(),
            count: 0,
            last: Last::FIRST,
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Adds one.
    pub fn push(&mut self, row: &Row<N>) {
        if self.count.is_multiple_of(PIECE) {
            if let Some(piece) = self.pieces.back_mut() {
                piece.shrink_to_fit();
            }
            self.pieces.push_back(Vec::new());
            self.last = Last::FIRST;
        }
        self.count += 1;
        let Some(piece) = self.pieces.back_mut() else {
            return;
        };
        let row = Packed::pack(row);
        let expected = self.last.expected(self.moving);
        let changed = row.differs(&expected);
        write(piece, changed.into());
        for column in columns(changed) {
            write(piece, difference(row.get(column), expected.values[column]));
        }
        self.last.follow(self.moving, &row);
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Row<N>> {
        let moving = self.moving;
        self.pieces
            .iter()
            .flat_map(move |piece| Piece::new(moving, piece.as_slice()))
    }

    /// Each of them, the memory of which is given back on the way.
    pub fn drain(self) -> impl Iterator<Item = Row<N>> {
        let moving = self.moving;
        self.pieces
            .into_iter()
            .flat_map(move |piece| Piece::new(moving, piece))
    }
}

/// The rows of a piece.
struct Piece<const N: usize, B> {
    moving: usize,
    bytes: B,
    at: usize,
    last: Last<N>,
}

impl<const N: usize, B: AsRef<[u8]>> Piece<N, B> {
    const fn new(moving: usize, bytes: B) -> Self {
        Self {
            moving,
            bytes,
            at: 0,
            last: Last::FIRST,
        }
    }
}

impl<const N: usize, B: AsRef<[u8]>> Iterator for Piece<N, B> {
    type Item = Row<N>;

    fn next(&mut self) -> Option<Row<N>> {
        let bytes = self.bytes.as_ref();
        let changed = read(bytes, &mut self.at)? as u64;
        let mut row = self.last.expected(self.moving);
        for column in columns(changed) {
            let difference = read(bytes, &mut self.at)?;
            row.set(column, value_of(difference, row.values[column]));
        }
        self.last.follow(self.moving, &row);
        Some(row.row())
    }
}

/// 0 is `None`; small differences of either sign are small numbers.
fn difference(value: Option<i64>, expected: i64) -> u128 {
    let Some(value) = value else { return 0 };
    let by = value.wrapping_sub(expected);
    u128::from((by << 1 ^ by >> 63) as u64) + 1
}

fn value_of(difference: u128, expected: i64) -> Option<i64> {
    let folded = difference.checked_sub(1)? as u64;
    let by = (folded >> 1) as i64 ^ -((folded & 1) as i64);
    Some(expected.wrapping_add(by))
}

/// Seven bits a byte, the lowest first.
fn write(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &[u8], at: &mut usize) -> Option<u128> {
    let (mut number, mut shift) = (0_u128, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_as_they_were(
            rows in prop::collection::vec(prop::array::uniform5(any::<Option<i64>>()), 0..300)
        ) {
            let mut kept = Rows::<5>::new(2);
            rows.iter().for_each(|row| kept.push(row));
            prop_assert_eq!(kept.len(), rows.len());
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), rows.clone());
            prop_assert_eq!(kept.drain().collect::<Vec<_>>(), rows);
        }
    }

    #[test]
    fn what_goes_on_as_it_did_takes_a_byte() {
        let mut rows = Rows::<3>::new(2);
        for at in 0..100_000 {
            rows.push(&[Some(at), Some(at * 1_000_000), None]);
        }
        let bytes: usize = rows.pieces.iter().map(Vec::len).sum();
        assert!(bytes < 100_100, "{bytes}");
    }
}
