//! Loss that has nothing to do with a queue.
//!
//! A queue loses packets while others wait in it, whether it is full or drops early. A path that loses at random
//! loses as many while nothing waits. So of each lost packet it is asked whether any other, of whatever stream, was waiting as
//! it came: a packet that has priority waits for none, and is dropped where others fill the buffer. Behind a policer nothing
//! waits either, but there a bucket tells what passed from what was dropped.

use super::limiter::{self, explained_by_a_bucket};
use super::passage::{Overflow, Ways};
use super::run_trials::{ProbeStream, Trial};
use delaylab_model::path::Framing;
use std::collections::BTreeMap;

/// Fewer lost packets say nothing alone.
const LOST: usize = 20;
/// A packet that waited for less than this share of the largest packet's time did not wait.
const IDLE: f64 = 0.5;
/// At least this share of the lost packets came while none waited.
const LOST_IDLE: f64 = 0.05;
/// And an idle path loses at least this share of what a busy one loses.
const AS_OFTEN: f64 = 0.5;

/// Packets sent, and lost.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    sent: usize,
    lost: usize,
}

impl Tally {
    fn share(self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

/// Marks the trials that lose packets whether others wait or not.
pub(super) fn mark(trials: &mut [Trial], framing: Framing) {
    let mut mark = |least: usize| {
        for trial in trials.iter_mut().filter(|trial| !trial.flawed) {
            trial.random_loss |= is_random(trial, framing, least);
        }
        trials.iter().any(|trial| trial.random_loss)
    };
    // Where one does, so do those that lose few.
    if mark(LOST) {
        mark(1);
    }
}

fn is_random(trial: &Trial, framing: Framing, least: usize) -> bool {
    if trial.loads > 0 || trial.streams.iter().map(ProbeStream::lost).sum::<usize>() < least {
        return false;
    }
    let ways = Ways::from_streams(trial.streams.iter());
    let Some(overflow) = Overflow::gather(trial, framing, ways, None) else {
        return false;
    };
    let Some([idle, busy]) = tallies(&overflow) else {
        return false;
    };
    let lost = (idle.lost + busy.lost) as f64;
    let is_independent =
        idle.lost as f64 >= LOST_IDLE * lost && idle.share() >= AS_OFTEN * busy.share();
    lost > 0.0
        && is_independent
        && !explained_by_a_bucket(&overflow.counted(limiter::uncounted(framing)))
}

/// The packets that found an idle path, and those that came while another waited.
fn tallies(overflow: &Overflow) -> Option<[Tally; 2]> {
    let out = |passage: &super::passage::Passage| Some(passage.out? - passage.sent);
    // What is least for each size of each stream: their lines may differ.
    let mut least = BTreeMap::<(usize, u64), f64>::new();
    for passage in &overflow.passages {
        if let Some(took) = out(passage) {
            let key = (passage.stream, passage.wire as u64);
            let least = least.entry(key).or_insert(took);
            *least = least.min(took);
        }
    }
    let arrived = overflow.arrived();
    let bytes: f64 = arrived.iter().map(|passage| passage.wire).sum();
    let time = arrived.last()?.out? - arrived.first()?.out?;
    let largest = super::largest(overflow.passages.iter());
    let bound = IDLE * largest * time / bytes;
    // Until when those that came so far wait, on the clock of the sender; what the way takes is the same for all.
    let mut waiting = f64::NEG_INFINITY;
    let mut tallies = [Tally::default(); 2];
    for passage in &overflow.passages {
        let tally = &mut tallies[usize::from(passage.sent < waiting)];
        tally.sent += 1;
        tally.lost += usize::from(passage.out.is_none());
        let key = (passage.stream, passage.wire as u64);
        if let Some((took, least)) = out(passage).zip(least.get(&key))
            && took - least > bound
        {
            waiting = waiting.max(passage.sent + took - least);
        }
    }
    Some(tallies)
}
