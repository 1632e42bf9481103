//! Experiment files, broken at random: whatever is in them, it is read or refused.

use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_lab::experiment::{Choices, Diagnostics, Experiment, Resolved, Source};

/// A file with something of everything, and small.
const SMALL: &str = include_str!("small.toml");

/// Pieces that mean something somewhere.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    "*",
    "#",
    "\n",
    "\\",
    "\0",
    "é",
    "[quick]\n",
    "[in.sim]\n",
    "[[probe]]\n",
    "name = ",
    "\"\"\"",
    "1e999",
    "-1",
    "9223372036854775807",
    "0x",
    "inf",
    "\"64B\"",
    "\"0ms\"",
    "\"9223372036854775807ns\"",
    "\"18446744073709551615B\"",
    "\"100%\"",
    "true",
    "probe",
    "path",
    "*.*",
    "probe.*.name",
    "in",
    "quick",
    "sweep",
    "to",
    "set",
    "2026-01-01",
    "\u{feff}",
];

/// Xorshift (Marsaglia 2003): the same files every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn place(&mut self, text: &[char]) -> usize {
        self.below(text.len() + 1)
    }

    fn mutate(&mut self, text: &mut Vec<char>) {
        let (one, other) = (self.place(text), self.place(text));
        let (from, to) = (one.min(other), one.max(other));
        let short = from..to.min(from + 12);
        match self.below(5) {
            0 => drop(text.drain(short)),
            1 => {
                let piece = PIECES[self.below(PIECES.len())];
                text.splice(short, piece.chars());
            }
            2 => {
                let piece = PIECES[self.below(PIECES.len())];
                text.splice(from..from, piece.chars());
            }
            3 => {
                let copy: Vec<_> = text[from..to.min(from + 60)].to_vec();
                text.splice(one..one, copy);
            }
            _ => {
                if let Some(c) = text.get_mut(from) {
                    *c = char::from(32 + self.below(95) as u8);
                }
            }
        }
    }
}

fn read(text: &str) -> Result<Experiment, Diagnostics> {
    Experiment::read(Source {
        name: "mutated.toml".to_owned(),
        text: text.to_owned(),
    })
}

fn resolve(text: &str, quick: bool) -> Result<Resolved, Diagnostics> {
    let choices = Choices {
        quick,
        ..Choices::default()
    };
    read(text)?.resolve(&choices, &|_| Vec::new())
}

/// Whether it was taken. If so, what it resolves to is taken too and resolves to the same; what is
/// said otherwise can be written out.
fn taken(text: &str) -> bool {
    let quick = read(text).is_ok_and(|experiment| experiment.has_quick(experiment.world()));
    match resolve(text, quick) {
        Ok(resolved) => {
            let again = resolve(&resolved.toml, false);
            let again = again.unwrap_or_else(|said| panic!("{text}\n{said}"));
            assert!(again.planned == resolved.planned, "{text}");
            true
        }
        Err(said) => {
            assert!(!said.to_string().is_empty());
            false
        }
    }
}

#[test]
fn the_small_file_is_good() {
    assert!(taken(SMALL));
}

fn take_mutated_files(count: u32) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    for number in 0..count {
        // Mostly the small one: the catalogue's make hundreds of trials each.
        let text = match number % 50 {
            0 => catalogue()[(number / 50) as usize % catalogue().len()].text,
            _ => SMALL,
        };
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..=random.below(3) {
            random.mutate(&mut text);
        }
        good += u32::from(taken(&text.into_iter().collect::<String>()));
    }
    // Some survive being broken: what is behind the reader is reached.
    assert!(good > count / 100 && good < count, "{good} of {count}");
}

#[test]
fn no_mutated_file_panics() {
    take_mutated_files(600);
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn no_file_of_twenty_thousand_panics() {
        take_mutated_files(20_000);
    }
}
