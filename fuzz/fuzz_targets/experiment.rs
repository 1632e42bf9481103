//! Experiment files: read, resolved, and what is resolved resolves to the same.
#![no_main]

use delaylab_lab::experiment::{Choices, Experiment, Source};
use libfuzzer_sys::fuzz_target;

fn read(text: &str) -> Option<Experiment> {
    let source = Source {
        name: "fuzzed.toml".to_owned(),
        text: text.to_owned(),
    };
    let read = Experiment::read(source);
    read.inspect_err(|said| drop(said.to_string())).ok()
}

fuzz_target!(|text: &str| {
    let Some(experiment) = read(text) else {
        return;
    };
    for quick in [false, true] {
        let choices = Choices {
            quick,
            ..Choices::default()
        };
        match experiment.resolve(&choices, &|_| Vec::new()) {
            Ok(resolved) => {
                let again = read(&resolved.toml).expect("what is resolved is an experiment");
                let again = again.resolve(&Choices::default(), &|_| Vec::new());
                let again = again.expect("what is resolved resolves again");
                assert_eq!(again.planned, resolved.planned);
                assert_eq!(again.toml, resolved.toml);
            }
            Err(said) => drop(said.to_string()),
        }
    }
});
