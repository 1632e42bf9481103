//! Where packets go: there and back, or as frames of a tester one way. What is shown of them is called by it.

use super::{RunData, ShownDelay};
use serde_json::Value;

/// Where the packets of some probes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// All of them there and back: delays are round trips.
    RoundTrip,
    /// All of them are frames, which have no way back.
    OneWay,
    /// Some are frames.
    Both,
}

impl Ways {
    /// Of streams, of which this says whether they are of frames.
    pub fn new(are_frames: impl Iterator<Item = bool>) -> Self {
        let (mut frames, mut packets) = (false, false);
        for of_frames in are_frames {
            frames |= of_frames;
            packets |= !of_frames;
        }
        match (frames, packets) {
            (false, _) => Ways::RoundTrip,
            (true, false) => Ways::OneWay,
            (true, true) => Ways::Both,
        }
    }

    /// What their delays are called at the head of a table.
    pub fn delays(self) -> &'static str {
        match self {
            Ways::RoundTrip => "round trips",
            Ways::OneWay => "one-way delays",
            Ways::Both => "round trips, of frames one-way delays",
        }
    }

    /// One of them, within a sentence.
    pub fn delay(self) -> &'static str {
        match self {
            Ways::RoundTrip => "round trip",
            Ways::OneWay => "one-way delay",
            Ways::Both => "round trip, of frames of the one-way delay",
        }
    }

    /// Words that speak of round trips as they are right.
    pub fn words(self, words: &str) -> String {
        match self {
            Ways::RoundTrip => words.to_owned(),
            Ways::OneWay => delays(&words.replace("round trips take", "frames take")),
            Ways::Both => delays(words),
        }
    }

    /// A sentence that says which delays are which, where there are both; with a space before it.
    pub fn note(self) -> &'static str {
        match self {
            Ways::RoundTrip | Ways::OneWay => "",
            Ways::Both => " The delay of frames is one way, that of all others a round trip.",
        }
    }
}

fn delays(words: &str) -> String {
    let words = words.replace("Round trip", "Delay");
    words.replace("round trip", "delay")
}

fn responses(words: &str) -> String {
    let words = words.replace("Round trip", "Response");
    words.replace("round trip", "response")
}

impl RunData {
    /// Words that speak of round trips as they are right of the delays that are shown of this run.
    pub fn delay_words(&self, words: &str) -> String {
        match self.shown_delay() {
            ShownDelay::Response => responses(words),
            ShownDelay::RoundTrip => self.ways().words(words),
        }
    }

    /// The same of every title in a specification.
    pub fn delay_titles(&self, spec: &mut Value) {
        match spec {
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value {
                Value::String(title) if key == "title" => *title = self.delay_words(title),
                other => self.delay_titles(other),
            }),
            Value::Array(parts) => parts.iter_mut().for_each(|part| self.delay_titles(part)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples::classes;

    #[test]
    fn ways_are_those_of_the_probes() {
        let mut run = classes();
        assert_eq!(run.ways(), Ways::RoundTrip);
        let title = "How long round trips take";
        assert_eq!(run.delay_words(title), "How long responses take");
        run.trials[0].stream.frames = true;
        assert_eq!(run.ways(), Ways::Both);
        for trial in &mut run.trials {
            trial.stream.frames = true;
        }
        assert_eq!(run.ways(), Ways::OneWay);
        assert_eq!(run.delay_words(title), "How long frames take");
    }
}
