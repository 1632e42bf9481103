//! Every fuzz target on its seeds, on the inputs of `fuzz/regressions`, and on mutations of both.
#![allow(clippy::unwrap_used)]

mod mutator;

use crate::{TARGETS, Target};
use mutator::Mutator;
use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// The mutations are the same in every run.
const SEED: u64 = 0x6465_6c61_796c_6162;

/// The test of the target of this name.
pub(crate) fn replay_by_name(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    if let Err(failure) = replay(target.unwrap()) {
        panic!("{}", failure.report());
    }
}

/// An input on which a check panicked.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    target: &'static str,
    input: Vec<u8>,
}

impl Failure {
    /// How to keep the input, as a command for bash.
    fn report(&self) -> String {
        format!(
            "target `{}` fails on {} bytes. To keep them as a regression:\n\
             mkdir -p fuzz/regressions/{0} && printf -- '{}' >fuzz/regressions/{0}/NAME",
            self.target,
            self.input.len(),
            escaped(&self.input)
        )
    }
}

/// Bytes as `printf` takes them between single quotes.
fn escaped(bytes: &[u8]) -> String {
    let escape = |&byte: &u8| match byte {
        b'\'' | b'\\' | b'%' => format!("\\x{byte:02x}"),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(escape).collect()
}

/// Runs a target on every input that is known, then on its number of mutations.
fn replay(target: &Target) -> Result<(), Failure> {
    let mut inputs = (target.seeds)();
    assert!(!inputs.is_empty(), "target `{}` has no seeds", target.name);
    inputs.extend(
        files(&regressions().join(target.name))
            .iter()
            .map(|path| fs::read(path).unwrap()),
    );
    for input in &inputs {
        run(target, input)?;
    }
    let mut mutator = Mutator::new(SEED);
    for _ in 0..target.mutations {
        run(target, &mutator.mutation_of(&inputs))?;
    }
    Ok(())
}

fn run(target: &Target, input: &[u8]) -> Result<(), Failure> {
    catch_unwind(|| (target.check)(input)).map_err(|_| Failure {
        target: target.name,
        input: input.to_vec(),
    })
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn regressions() -> PathBuf {
    fuzz().join("regressions")
}

/// What is in a folder, in the order of the names. A folder that is missing is empty.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn names(paths: &[PathBuf]) -> BTreeSet<&str> {
    paths
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap())
        .collect()
}

fn targets() -> BTreeSet<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

#[test]
fn every_module_is_a_target_and_stands_in_the_map() {
    let lib = fs::read_to_string(fuzz().join("targets/src/lib.rs")).unwrap();
    let modules = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    assert_eq!(modules.collect::<BTreeSet<_>>(), targets());
    let rows = lib
        .lines()
        .filter_map(|line| line.strip_prefix("//! | [`")?.split_once('`'));
    assert_eq!(
        rows.map(|(name, _)| name).collect::<BTreeSet<_>>(),
        targets()
    );
}

#[test]
fn every_target_has_a_fuzzer_and_every_fuzzer_a_target() {
    let fuzzers = files(&fuzz().join("src/bin"));
    assert_eq!(names(&fuzzers), targets());
    for (path, name) in fuzzers.iter().zip(names(&fuzzers)) {
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.ends_with(&format!("\ndelaylab_fuzz::fuzz!({name});\n")),
            "{}",
            path.display()
        );
    }
}

#[test]
fn every_regression_is_of_a_target() {
    let folders = files(&regressions());
    assert!(names(&folders).is_subset(&targets()), "{folders:?}");
}

#[test]
fn an_input_that_a_check_panics_on_is_found_and_reported() {
    let planted = Target {
        name: "planted",
        check: |data| assert!(!data.contains(&0xa7), "planted"),
        seeds: || vec![b"50 %".to_vec()],
        mutations: 10_000,
    };
    let failure = replay(&planted).unwrap_err();
    assert_eq!(failure.target, "planted");
    assert!(failure.input.contains(&0xa7));
    let failure = Failure {
        target: "planted",
        input: b"50 %\n'\xa7".to_vec(),
    };
    let report = failure.report();
    assert!(
        report.contains("target `planted` fails on 7 bytes"),
        "{report}"
    );
    assert!(
        report.ends_with(r"printf -- '50 \x25\x0a\x27\xa7' >fuzz/regressions/planted/NAME"),
        "{report}"
    );
}

#[test]
fn a_seed_that_a_check_panics_on_is_found() {
    let planted = Target {
        name: "planted",
        check: |data| assert!(data != b"second", "planted"),
        seeds: || vec![b"first".to_vec(), b"second".to_vec()],
        mutations: 0,
    };
    assert_eq!(replay(&planted).unwrap_err().input, b"second");
}

#[test]
fn a_regression_that_a_check_panics_on_is_found() {
    const KEPT: &[u8] = include_bytes!("../../regressions/units/size-past-every-unit");
    let planted = Target {
        name: "units",
        check: |data| assert!(data != KEPT, "planted"),
        seeds: || vec![b"20ms".to_vec()],
        mutations: 0,
    };
    assert_eq!(replay(&planted).unwrap_err().input, KEPT);
}
