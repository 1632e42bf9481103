//! The Python package, tested by pytest: the sources of `python/delaylab` with the module that was built beside this test.
//!
//! Each test here is a file of `python/tests`, so that they run beside each other.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the repository is.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

/// The package as it is installed, in a folder of its own.
fn package(name: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().unwrap();
    let module = this.parent().unwrap().join("lib_delaylab.so");
    if !module.exists() {
        return Err(format!("{} is not there", module.display()));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}"));
    let _ = fs::remove_dir_all(&folder); // of an earlier run
    let package = folder.join("delaylab");
    fs::create_dir_all(&package).unwrap();
    for source in fs::read_dir(root().join("python/delaylab")).unwrap() {
        let source = source.unwrap().path();
        if source.is_file() {
            fs::copy(&source, package.join(source.file_name().unwrap())).unwrap();
        }
    }
    symlink(module, package.join("_delaylab.abi3.so")).unwrap();
    Ok(folder)
}

/// The program that was built with it.
fn program() -> Result<PathBuf, String> {
    let this = std::env::current_exe().unwrap();
    let program = this.parent().unwrap().join("../delaylab");
    let built = program.exists().then_some(program);
    built.ok_or_else(|| "the program is not built: cargo build -p delaylab-cli".to_owned())
}

fn python(name: &str) -> Result<Command, String> {
    let python = root().join("target/python/bin/python");
    if !python.exists() {
        return Err("target/python is not there: scripts/python.sh makes it".to_owned());
    }
    let package = package(name)?;
    let mut command = Command::new(python);
    command
        .current_dir(&package)
        .env("PYTHONPATH", &package)
        .env("DELAYLAB", program()?);
    Ok(command)
}

/// Runs pytest with these words; without what it needs, says so.
fn pytest(name: &str, words: &[&str]) {
    let mut command = match python(name) {
        Ok(command) => command,
        Err(why) => {
            let in_ci = std::env::var("CI").as_deref() == Ok("true");
            assert!(!in_ci, "cannot be skipped in CI: {why}");
            println!("skipped: {why}");
            return;
        }
    };
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]);
    let done = command.args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    print!("{said}");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{errors}");
}

fn file(name: &str) {
    let file = root().join(format!("python/tests/test_{name}.py"));
    pytest(name, &["-m", "not long", file.to_str().unwrap()]);
}

#[test]
fn runs() {
    file("runs");
}

#[test]
fn arguments() {
    file("arguments");
}

#[test]
fn program_answers() {
    file("program");
}

#[test]
fn sweeps() {
    file("sweeps");
}

#[test]
fn interrupts() {
    file("interrupts");
}

#[test]
fn examples_in_docstrings() {
    pytest("docstrings", &["--doctest-modules", "delaylab"]);
}

mod long {
    #[test]
    fn types() {
        super::file("types");
    }

    /// A path is calibrated there, and a change predicted.
    #[test]
    fn examples_in_the_guide() {
        let page = super::root().join("docs/python.md");
        let options = "doctest_optionflags=ELLIPSIS IGNORE_EXCEPTION_DETAIL";
        let words = [
            "--doctest-glob",
            "*.md",
            "-o",
            options,
            page.to_str().unwrap(),
        ];
        super::pytest("guide", &words);
    }

    #[test]
    fn what_takes_long() {
        let tests = super::root().join("python/tests");
        super::pytest("long", &["-m", "long", tests.to_str().unwrap()]);
    }
}
