//! Reading the clock again and again: what a read costs, and where time is missing between two.

use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind};

/// Reads the clock back to back, and writes each step from one read to the next. Returns the first
/// read.
///
/// `steps` should have been written to before, so that no page fault falls between two reads.
pub fn read(steps: &mut [Nanos]) -> Nanos {
    let start = clock::monotonic();
    let mut last = start;
    for step in steps {
        let now = clock::monotonic();
        *step = now - last;
        last = now;
    }
    start
}

/// What the clock alone shows, and not whose it is.
pub fn event(
    kind: NoiseKind,
    trial: u32,
    cpu: Option<u16>,
    start: Nanos,
    length: Nanos,
) -> NoiseEvent {
    NoiseEvent {
        trial,
        start,
        length,
        cpu,
        kind,
        ..NoiseEvent::default()
    }
}

/// What looking for gaps took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// How often the clock was read.
    pub looks: Nanos,
    /// From the first read to the last.
    pub length: Nanos,
    /// All gaps together.
    pub missing: Nanos,
}

impl Looked {
    /// Mean time of one look, gaps apart.
    pub fn cost(&self) -> Nanos {
        (self.length - self.missing) / self.looks.max(1)
    }
}

/// Reads the clock until `go_on` of a read says no. Two reads further apart than `threshold` are a
/// gap, which is handed to `found` by start and length.
pub fn look(
    threshold: Nanos,
    mut go_on: impl FnMut(Nanos) -> bool,
    mut found: impl FnMut(Nanos, Nanos),
) -> Looked {
    let start = clock::monotonic();
    let (mut last, mut looks, mut missing) = (start, 0, 0);
    while go_on(last) {
        let now = clock::monotonic();
        if now - last > threshold {
            found(last, now - last);
            missing += now - last;
        }
        looks += 1;
        last = now;
    }
    Looked {
        looks,
        length: last - start,
        missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_to_the_time_that_passed() {
        let before = clock::monotonic();
        let mut steps = [0; 100];
        let start = read(&mut steps);
        let end = start + steps.iter().sum::<Nanos>();
        assert!(before <= start && start < end && end <= clock::monotonic());
    }

    #[test]
    fn gaps_lie_inside_and_apart() {
        let mut gaps = Vec::new();
        let mut left = 1_000;
        let go_on = |_| {
            left -= 1;
            left >= 0
        };
        let looked = look(0, go_on, |start, length| gaps.push((start, length)));
        assert_eq!(looked.looks, 1_000);
        assert_eq!(looked.missing, gaps.iter().map(|gap| gap.1).sum::<Nanos>());
        assert!(looked.missing <= looked.length && looked.cost() >= 0);
        assert!(gaps.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
    }
}
