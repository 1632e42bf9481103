//! `--set PATH=VALUE` on a small experiment: it is refused, or the experiment resolves as any other.

use crate::experiment::{SMALL, read, resolves_to_itself};
use crate::text::{self, text};
use delaylab_lab::experiment::Choices;

/// Checks one input: a `--set` in each line.
pub fn check(data: &[u8]) {
    let experiment = read(SMALL).expect("the small experiment is one");
    let sets = text(data).lines().filter_map(|line| line.split_once('='));
    let choices = Choices {
        sets: sets
            .map(|(path, value)| (path.to_owned(), value.to_owned()))
            .collect(),
        ..Choices::default()
    };
    resolves_to_itself(&experiment, &choices);
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "seed=4",
        "design.repeats=3",
        "probe.e.ip_size=128B",
        "probe.*.pacing={ every = \"10ms\" }\nload.l.rate=2Mbit/s",
        "path.switch.buffer=64KiB",
        "case.c.set={ \"load.l.streams\" = 3 }",
        "sweep.s.to=[\"40B\", \"80B\"]",
    ])
}
