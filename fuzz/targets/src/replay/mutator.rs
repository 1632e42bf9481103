//! Mutations of valid inputs, by a generator whose numbers are always the same.

/// An input does not grow beyond this many bytes. Longer seeds keep their length.
const LONGEST: usize = 1024;

/// One byte is inserted this many times at most.
const LONGEST_RUN: usize = 128;

/// Mutations of one input at most.
const MOST_STEPS: usize = 4;

/// Bytes at the limits of their types, and bytes that mean something in text.
const BYTES: &[u8] = b"\x00\x01\x7f\x80\xff09-+.,:=%/\"'[]{}# \t\r\n";

/// Integers at the limits of their types.
const INTEGERS: &[u64] = &[
    0,
    1,
    0x7f,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// Makes inputs of other inputs.
pub(super) struct Mutator {
    state: u64,
}

impl Mutator {
    /// Equal seeds give equal inputs. The seed is not 0.
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of the inputs, mutated.
    pub(super) fn mutation_of(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one_of(inputs).clone();
        let longest = input.len().max(LONGEST);
        for _ in 0..=self.below(MOST_STEPS) {
            self.step(&mut input, inputs);
            input.truncate(longest);
        }
        input
    }

    fn step(&mut self, input: &mut Vec<u8>, others: &[Vec<u8>]) {
        match self.below(8) {
            0 => self.flip_bit(input),
            1 => self.overwrite_byte(input),
            2 => self.overwrite_integer(input),
            3 => self.delete(input),
            4 => self.duplicate(input),
            5 => self.insert(input),
            6 => self.splice(input, others),
            _ => self.copy_over(input),
        }
    }

    fn flip_bit(&mut self, input: &mut [u8]) {
        if !input.is_empty() {
            let (at, bit) = (self.below(input.len()), self.below(8));
            input[at] ^= 1 << bit;
        }
    }

    fn overwrite_byte(&mut self, input: &mut [u8]) {
        if !input.is_empty() {
            let at = self.below(input.len());
            input[at] = self.byte();
        }
    }

    /// An integer of two, four or eight bytes, in either order.
    fn overwrite_integer(&mut self, input: &mut [u8]) {
        let size = 2 << self.below(3);
        let integer = *self.one_of(INTEGERS);
        let mut bytes = integer.to_le_bytes();
        if self.below(2) == 0 {
            bytes[..size].reverse();
        }
        if let Some(places) = (input.len() + 1).checked_sub(size)
            && places > 0
        {
            let at = self.below(places);
            input[at..at + size].copy_from_slice(&bytes[..size]);
        }
    }

    fn delete(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.part(input);
        input.drain(from..to);
    }

    fn duplicate(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.part(input);
        let part = input[from..to].to_vec();
        input.splice(to..to, part);
    }

    /// A few bytes, or one byte many times.
    fn insert(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let bytes: Vec<u8> = if self.below(2) == 0 {
            (0..=self.below(8)).map(|_| self.byte()).collect()
        } else {
            vec![self.byte(); self.below(LONGEST_RUN + 1)]
        };
        input.splice(at..at, bytes);
    }

    /// The beginning of this input, and the end of another.
    fn splice(&mut self, input: &mut Vec<u8>, others: &[Vec<u8>]) {
        let other = self.one_of(others);
        input.truncate(self.below(input.len() + 1));
        input.extend(&other[self.below(other.len() + 1)..]);
    }

    /// Part of the input over another part.
    fn copy_over(&mut self, input: &mut [u8]) {
        let (from, to) = self.part(input);
        let at = self.below(input.len() - (to - from) + 1);
        input.copy_within(from..to, at);
    }

    /// Where a part begins and ends; short parts are as likely as long ones.
    fn part(&mut self, input: &[u8]) -> (usize, usize) {
        let from = self.below(input.len() + 1);
        let rest = input.len() - from;
        let longest = if self.below(2) == 0 {
            rest.min(8)
        } else {
            rest
        };
        (from, from + self.below(longest + 1))
    }

    fn byte(&mut self) -> u8 {
        if self.below(2) == 0 {
            *self.one_of(BYTES)
        } else {
            self.next() as u8
        }
    }

    fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }
}

#[test]
fn equal_seeds_give_equal_inputs_and_others_do_not() {
    let inputs = [b"a valid input".to_vec(), b"and another".to_vec()];
    let mutations = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..100)
            .map(|_| mutator.mutation_of(&inputs))
            .collect::<Vec<_>>()
    };
    assert_eq!(mutations(1), mutations(1));
    assert_ne!(mutations(1), mutations(2));
}

#[test]
fn inputs_grow_to_the_limit_and_no_further() {
    let mut mutator = Mutator::new(1);
    let mut inputs = vec![b"short".to_vec()];
    for _ in 0..10_000 {
        inputs[0] = mutator.mutation_of(&inputs);
        assert!(inputs[0].len() <= LONGEST);
        if inputs[0].len() < 2 {
            inputs[0] = vec![7; LONGEST];
        }
    }
    let long = [vec![7; 5000]];
    let longest = (0..1000).map(|_| mutator.mutation_of(&long).len()).max();
    assert_eq!(longest, Some(5000));
}

#[test]
fn an_empty_input_can_be_mutated() {
    let mut mutator = Mutator::new(1);
    let longest = (0..1000)
        .map(|_| mutator.mutation_of(&[Vec::new()]).len())
        .max();
    assert!(longest > Some(0));
}
