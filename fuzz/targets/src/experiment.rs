//! Experiment files: what an experiment resolves to is itself an experiment, and resolves to the same.

use crate::text::text;
use delaylab_lab::experiment::{Choices, Experiment, Source};

/// An experiment with a little of everything, and small.
pub(crate) const SMALL: &str = include_str!("../../../crates/lab/tests/small.toml");

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some(experiment) = read(text(data)) else {
        return;
    };
    for quick in [false, true] {
        let choices = Choices {
            quick,
            ..Choices::default()
        };
        resolves_to_itself(&experiment, &choices);
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![SMALL.as_bytes().to_vec()]
}

/// Reads an experiment. Whatever is wrong can be said.
pub(crate) fn read(text: &str) -> Option<Experiment> {
    let source = Source {
        name: "fuzzed.toml".to_owned(),
        text: text.to_owned(),
    };
    let read = Experiment::read(source);
    read.inspect_err(|diagnostics| drop(diagnostics.to_string()))
        .ok()
}

/// Resolves an experiment, if these choices let it be, and what it resolves to.
pub(crate) fn resolves_to_itself(experiment: &Experiment, choices: &Choices) {
    match experiment.resolve(choices, &|_| Vec::new()) {
        Ok(resolved) => {
            let again = read(&resolved.toml).expect("what is resolved is an experiment");
            let again = again.resolve(&Choices::default(), &|_| Vec::new());
            let again = again.expect("what is resolved resolves again");
            assert_eq!(again.planned, resolved.planned);
            assert_eq!(again.toml, resolved.toml);
        }
        Err(diagnostics) => drop(diagnostics.to_string()),
    }
}
