//! A run's trials, divided among several processes or machines.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// One of the equal shares of a run's trials, written `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    number: u32,
    of: u32,
}

/// It is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: write NUMBER/SHARDS, the first of 16 as 1/16 and the last as 16/16")]
pub struct NoShard(String);

impl Shard {
    /// Number `number`, from 1, of `of`.
    ///
    /// # Errors
    /// There is no such one.
    pub fn new(number: u32, of: u32) -> Result<Self, NoShard> {
        match (1..=of).contains(&number) {
            true => Ok(Self { number, of }),
            false => Err(NoShard(format!("{number}/{of}"))),
        }
    }

    /// Which one, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.of
    }

    /// Does the trial at this place of the design, from 0, belong to it? Neighbours go to different shards, so that
    /// each gets about as many of every kind.
    pub fn has(self, place: usize) -> bool {
        place % self.of as usize == self.number as usize - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let none = || NoShard(text.to_owned());
        let (number, of) = text.split_once('/').ok_or_else(none)?;
        let numbers = (number.trim().parse(), of.trim().parse());
        let (Ok(number), Ok(of)) = numbers else {
            return Err(none());
        };
        Self::new(number, of).map_err(|_| none())
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the number of shards, each trial is in one of them, and no shard has two more than another.
        #[test]
        fn each_trial_is_in_one_shard(of in 1u32..40, trials in 0usize..500) {
            let shards: Vec<_> = (1..=of).map(|number| Shard::new(number, of).unwrap()).collect();
            let sizes: Vec<usize> = shards.iter().map(|shard| (0..trials).filter(|&at| shard.has(at)).count()).collect();
            for place in 0..trials {
                prop_assert_eq!(shards.iter().filter(|shard| shard.has(place)).count(), 1);
            }
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        #[test]
        fn what_is_written_is_read(of in 1u32.., number in 1u32..) {
            let shard = Shard::new(number.min(of), of).unwrap();
            prop_assert_eq!(shard.to_string().parse(), Ok(shard));
        }
    }

    #[test]
    fn what_is_no_shard_is_refused_by_name() {
        for text in [
            "",
            "3",
            "0/4",
            "5/4",
            "1/0",
            "-1/4",
            "a/b",
            "1/4/2",
            "1/99999999999",
        ] {
            let refused = text.parse::<Shard>().unwrap_err().to_string();
            assert!(
                refused.contains(&format!("`{text}` is no shard")),
                "{refused}"
            );
        }
    }
}
