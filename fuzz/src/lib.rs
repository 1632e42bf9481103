//! A fuzzer: a target of `delaylab-fuzz-targets` under libFuzzer. Each file in `src/bin` is one.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs};

/// Makes the fuzzer of a target, by the name of its module.
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        ::libfuzzer_sys::fuzz_target!(
            init: $crate::write_seeds(delaylab_fuzz_targets::$target::seeds()),
            |data: &[u8]| delaylab_fuzz_targets::$target::check(data)
        );
    };
}

/// Writes the seeds to the folder that the variable `FUZZ_SEEDS` names, if it names one.
///
/// # Panics
/// Where the folder cannot be written to.
pub fn write_seeds(seeds: Vec<Vec<u8>>) {
    let Some(folder) = env::var_os("FUZZ_SEEDS").map(PathBuf::from) else {
        return;
    };
    for (number, seed) in seeds.iter().enumerate() {
        let file = folder.join(format!("seed-{number:03}"));
        let written = fs::write(&file, seed);
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
    }
}
