//! What was seen, within bounds.

use delaylab_model::noise::NoiseEvent;

/// Events of one trial, up to a number.
#[derive(Debug)]
pub(super) struct Events {
    kept: Vec<NoiseEvent>,
    most: usize,
    dropped: u64,
}

impl Events {
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            dropped: 0,
        }
    }

    /// Keeps it where there is room.
    pub(super) fn push(&mut self, event: NoiseEvent) {
        if self.kept.len() < self.most {
            self.kept.push(event);
        } else {
            self.dropped += 1;
        }
    }

    /// Those that are kept, as they came.
    pub(super) fn kept(&self) -> &[NoiseEvent] {
        &self.kept
    }

    /// By start, and how many there was no room for.
    pub(super) fn sorted(mut self) -> (Vec<NoiseEvent>, u64) {
        self.kept.sort_by_key(|event| event.start);
        (self.kept, self.dropped)
    }
}
