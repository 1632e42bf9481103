//! How long a real-time thread may spin before something is due.
//!
//! A thread of a real-time policy that is awake all the time is stopped by the kernel (`sched_rt_runtime_us`,
//! 95 % of each second). So it wakes early and spins only while it has been awake for less than its share
//! of a stretch of time; beyond, it sleeps until the very deadline, and is late by what a sleep ends late.

use delaylab_model::{MILLISECOND, Nanos};

/// Of so much time the share counts.
const WINDOW: Nanos = 100 * MILLISECOND;

/// What a thread may be awake for, and what it has been.
#[derive(Debug, Clone, Copy)]
pub struct Awake {
    early: Nanos,
    most: Nanos,
    window_began: Nanos,
    slept: Nanos,
}

impl Awake {
    /// It wakes up `early` before a deadline, as long as it has been awake for less than `most` in the 100 ms
    /// that are under way.
    pub const fn new(early: Nanos, most: Nanos) -> Self {
        Self {
            early,
            most,
            window_began: 0,
            slept: 0,
        }
    }

    /// Until when to sleep now, for what is due; `None`: not at all.
    pub fn sleep_until(&mut self, now: Nanos, due: Nanos) -> Option<Nanos> {
        if now >= self.window_began.saturating_add(WINDOW) {
            self.window_began = now;
            self.slept = 0;
        }
        let awake = now - self.window_began - self.slept;
        let until = if awake < self.most {
            due - self.early
        } else {
            due
        };
        (until > now).then_some(until)
    }

    /// It slept for so long.
    pub fn slept(&mut self, length: Nanos) {
        self.slept += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::{MICROSECOND, SECOND};

    const EARLY: Nanos = 40 * MICROSECOND;
    const MOST: Nanos = 80 * MILLISECOND;

    /// A thread that has something to do each `every`, and does it in no time: how long it is awake of a second.
    fn awake(every: Nanos) -> Nanos {
        let mut thread = Awake::new(EARLY, MOST);
        let mut slept = 0;
        for at in 0..SECOND / every {
            let (now, due) = (SECOND + at * every, SECOND + (at + 1) * every);
            if let Some(until) = thread.sleep_until(now, due) {
                thread.slept(until - now);
                slept += until - now;
            }
        }
        SECOND - slept
    }

    #[test]
    fn wakes_early_for_what_comes_seldom() {
        let mut thread = Awake::new(EARLY, MOST);
        assert_eq!(
            thread.sleep_until(SECOND, SECOND + MILLISECOND),
            Some(SECOND + MILLISECOND - EARLY)
        );
        assert_eq!(thread.sleep_until(SECOND, SECOND + EARLY), None);
        assert_eq!(awake(MILLISECOND), SECOND / MILLISECOND * EARLY);
    }

    #[test]
    fn never_spins_for_more_than_its_share() {
        for every in [5, 20, 41, 50].map(|us| us * MICROSECOND) {
            let awake = awake(every);
            assert!(awake <= 10 * MOST + 10 * EARLY, "{every}: {awake}");
        }
    }
}
