//! By which shift the reflector's stamps are read, and whether the clocks still stand as they did.
//!
//! `CLOCK_REALTIME − CLOCK_MONOTONIC` of a host stays as it is until its real time is stepped, gets a leap second, or
//! the host is suspended. Records are on monotonic clocks, which a step does not touch: so the shift between two of
//! them is taken once, from both hosts' offsets at one moment, and kept. What a step does touch is the claim that
//! the two real times were right by so much, by which the shift was taken.

use delaylab_model::{MICROSECOND, Nanos};

/// Two readings of one offset are apart by less than this.
const READ_TO: Nanos = 100 * MICROSECOND;

/// Both hosts' `REALTIME − MONOTONIC` at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Epoch {
    /// The prober's.
    pub ours: Nanos,
    /// The reflector's; 0 where its stamps are real time.
    pub theirs: Nanos,
    /// The reflector's count of steps then, modulo 256.
    pub steps: u8,
}

impl Epoch {
    /// What to add to the reflector's stamps. `None`: no such number, as the reflector's offset came from outside.
    pub const fn shift(&self) -> Option<Nanos> {
        self.theirs.checked_sub(self.ours)
    }

    /// What has become of both clocks: `ours` and `our_steps` are this host's now; of the reflector `told` is the
    /// count of steps that it told last, and `theirs` its offset now, if it told that.
    pub fn moved(&self, ours: Nanos, our_steps: u32, told: u8, theirs: Option<Nanos>) -> Moved {
        Moved {
            suspended: 0,
            ours: ours.saturating_sub(self.ours),
            our_steps,
            theirs: theirs.map(|theirs| theirs.saturating_sub(self.theirs)),
            their_steps: told.wrapping_sub(self.steps),
        }
    }
}

/// What both clocks have done since an [`Epoch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// The prober's offset has moved by.
    pub ours: Nanos,
    /// How often.
    pub our_steps: u32,
    /// For how long the prober was suspended, which moves its offset as a step does.
    pub suspended: Nanos,
    /// The reflector's; `None` where it has not told.
    pub theirs: Option<Nanos>,
    /// How often.
    pub their_steps: u8,
}

/// May one-way delays by the shift of an [`Epoch`] be told still?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Neither clock has moved.
    AsAgreed,
    /// Clocks have moved, and agree as before: alike, as by a leap second, or there and back.
    MovedAlike,
    /// They have moved against each other, or may have: at one end of the trial they were not right by what was claimed.
    Apart,
}

impl Moved {
    /// Has this host's clock moved?
    pub const fn here(&self) -> bool {
        self.our_steps > 0 || self.ours.saturating_abs() > READ_TO
    }

    /// Has the reflector's?
    pub fn there(&self) -> bool {
        self.their_steps > 0 || (self.theirs).is_some_and(|by| by.saturating_abs() > READ_TO)
    }

    /// By clocks that were said to be right to within `error` of each other.
    pub fn standing(&self, error: Nanos) -> Standing {
        if !self.here() && !self.there() {
            return Standing::AsAgreed;
        }
        let against = self.theirs.map(|theirs| theirs.saturating_sub(self.ours));
        match against {
            Some(by) if by.saturating_abs() <= error.max(READ_TO) => Standing::MovedAlike,
            _ => Standing::Apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::{MILLISECOND, SECOND};

    const AGREED: Epoch = Epoch {
        ours: 1_700_000_000 * SECOND,
        theirs: 1_700_000_100 * SECOND,
        steps: 250,
    };
    const ERROR: Nanos = 2 * MILLISECOND;

    /// The standing after these steps of the prober's and the reflector's clock, which the reflector tells.
    fn after(ours: Nanos, theirs: Nanos) -> Standing {
        let steps = |by: Nanos| u8::from(by != 0);
        let told = AGREED.steps.wrapping_add(steps(theirs));
        let (ours, here) = (AGREED.ours + ours, steps(ours));
        let moved = AGREED.moved(ours, here.into(), told, Some(AGREED.theirs + theirs));
        moved.standing(ERROR)
    }

    #[test]
    fn a_step_at_one_end_ends_the_claim_and_one_at_both_does_not() {
        assert_eq!(after(0, 0), Standing::AsAgreed);
        assert_eq!(after(-SECOND, 0), Standing::Apart);
        assert_eq!(after(0, -SECOND), Standing::Apart);
        assert_eq!(after(-SECOND, -SECOND), Standing::MovedAlike);
        assert_eq!(after(-SECOND, SECOND), Standing::Apart);
    }

    #[test]
    fn a_step_of_which_the_end_is_not_told_ends_the_claim() {
        let stepped = AGREED.moved(AGREED.ours, 0, AGREED.steps.wrapping_add(10), None);
        assert_eq!(stepped.standing(ERROR), Standing::Apart);
        let here = AGREED.moved(AGREED.ours - SECOND, 1, AGREED.steps, None);
        assert_eq!(here.standing(ERROR), Standing::Apart);
        let quiet = AGREED.moved(AGREED.ours + 900, 0, AGREED.steps, None);
        assert_eq!(quiet.standing(ERROR), Standing::AsAgreed);
    }

    #[test]
    fn offsets_from_outside_do_not_wrap() {
        let wild = Epoch {
            theirs: Nanos::MIN,
            ..AGREED
        };
        assert_eq!(wild.shift(), None);
        let moved = wild.moved(AGREED.ours, 0, 250, Some(Nanos::MAX));
        assert_eq!(moved.standing(ERROR), Standing::Apart);
    }
}
