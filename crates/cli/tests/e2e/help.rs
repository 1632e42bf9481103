//! `--help` as a user reads it, and man pages and completions that say the same.

use crate::harness::process::{Ran, delaylab};

fn printed(words: &str) -> String {
    let ran = Ran::to_end(delaylab(None).args(words.split(' ')).env("COLUMNS", "100"));
    assert_eq!(ran.code, 0, "{words}: {}", ran.stderr);
    ran.stdout
}

#[test]
fn help_of_every_command() {
    insta::assert_snapshot!("help", printed("--help"));
    for command in commands() {
        insta::assert_snapshot!(
            format!("help-{command}"),
            printed(&format!("{command} --help"))
        );
    }
}

/// Every command, as the help of all lists them.
fn commands() -> Vec<String> {
    let help = printed("--help");
    let listed = help.lines().skip_while(|line| *line != "Commands:");
    let listed = listed.skip(1).take_while(|line| !line.is_empty());
    // A line that continues one before it is indented further.
    let begun = listed
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    let names = begun.filter_map(|line| line.split(' ').next());
    let own = names.filter(|name| *name != "help");
    own.map(str::to_owned).collect()
}

/// The long flags that a help text lists.
fn flags(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start);
    lines
        .filter(|line| line.starts_with('-'))
        .filter_map(|line| {
            let flag = &line[line.find("--")? + 2..];
            let end = flag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            Some(flag[..end.unwrap_or(flag.len())].to_owned())
        })
        .collect()
}

#[test]
fn man_pages_have_every_flag() {
    let inner = ["testbed up", "testbed exec", "bench list"].map(str::to_owned);
    for command in commands().into_iter().chain(inner) {
        let above = match command.rsplit_once(' ') {
            Some((above, _)) => printed(&format!("man {above}")),
            None => printed("man"),
        };
        let name = command.replace(' ', "\\-");
        assert!(
            above.contains(&format!("delaylab\\-{name}(1)")),
            "{command}: {above}"
        );
        let page = printed(&format!("man {command}"));
        let found = flags(&printed(&format!("{command} --help")));
        assert!(!found.is_empty());
        for flag in found {
            let in_roff = format!("\\-\\-{}", flag.replace('-', "\\-"));
            assert!(page.contains(&in_roff), "{command} --{flag}");
        }
    }
}

#[test]
fn a_man_page_that_there_is_not_is_refused() {
    for (words, said) in [
        (
            "man nosuch",
            "no command `delaylab nosuch`: it is one of ping, ",
        ),
        (
            "man testbed nosuch",
            "no command `delaylab testbed nosuch`: it is one of up, exec, clean\n",
        ),
        (
            "man ping nosuch",
            "no command `delaylab ping nosuch`: it has no commands\n",
        ),
    ] {
        let ran = Ran::to_end(delaylab(None).args(words.split(' ')));
        assert!(
            ran.code == 2 && ran.stderr.contains(said),
            "{words}: {}",
            ran.stderr
        );
    }
}

#[test]
fn completions_have_every_flag() {
    let commands = commands();
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&format!("completions {shell}"));
        for command in &commands {
            for flag in flags(&printed(&format!("{command} --help"))) {
                let written = if shell == "fish" {
                    format!("-l {flag}")
                } else {
                    format!("--{flag}")
                };
                assert!(script.contains(&written), "{shell}: {command} {written}");
            }
        }
    }
}

#[test]
fn schemas_are_those_in_the_docs() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let files = std::fs::read_dir(docs).unwrap();
    let mut names = Vec::new();
    for file in files.map(|file| file.unwrap().path()) {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        // That of experiment files has no version.
        let name = stem
            .rsplit_once('-')
            .map_or(stem.as_str(), |(name, _)| name);
        let kept = std::fs::read_to_string(&file).unwrap();
        assert_eq!(printed(&format!("schema {name}")), kept, "{stem}");
        names.push(name.to_owned());
    }
    let help = printed("schema --help");
    let listed = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let listed = listed.filter_map(|line| line.split_once(':'));
    let mut listed: Vec<_> = listed.map(|(name, _)| name.to_owned()).collect();
    names.sort();
    listed.sort();
    assert_eq!(names, listed);
}
