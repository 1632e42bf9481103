//! The rules of this repository that a compiler does not check: each is a function from the tree to
//! its offences, and each is shown to fail where it is broken.

mod circles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The layers of ARCHITECTURE.md from the bottom up, by crate folder. Arrows run down only.
const ROWS: &[&[&str]] = &[
    &["model"],
    &["stats", "wire"],
    &["switch", "traffic", "procedure"],
    &["topology"],
    &["kernel", "store"],
    &["live", "sim"],
    &["testbed"],
    &["lab"],
    &["explain"],
    &["runner", "view"],
    &["terminal", "figure"],
    &["web"],
    &["cli", "python"],
];

/// Crates that do no input or output and read no clock: those with a dot in ARCHITECTURE.md.
const PURE: &[&str] = &[
    "model",
    "stats",
    "wire",
    "switch",
    "traffic",
    "procedure",
    "topology",
    "sim",
];

/// How code would do it all the same. Addresses of `std::net` are values.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::os",
    "std::thread",
    "std::{",
    "UdpSocket",
    "TcpStream",
    "TcpListener",
    "ToSocketAddrs",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
    "Instant::now",
    "SystemTime",
    "stdin()",
    "stdout()",
    "stderr()",
    "print!(",
    "println!(",
];

/// What offends against a rule.
type Rule = fn(&Tree) -> Vec<String>;

/// Every rule, by its name.
const RULES: &[(&str, Rule)] = &[
    ("arrows run down only", arrows),
    ("unsafe code is in crate kernel alone", unsafe_code),
    ("what decides does no input or output", pure_crates),
    ("modules of a crate form no circles", circles::circles),
    ("a crate's first lines are its map", maps),
    ("a table of modules names each of them", tables),
    ("the changelog knows this version", changelog),
    ("no path of somebody's machine", machine_paths),
    ("nothing is left to be done", leftovers),
];

#[test]
fn the_tree_keeps_every_rule() {
    let tree = Tree::read();
    let offences: Vec<_> = RULES.iter().flat_map(|(_, rule)| rule(&tree)).collect();
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Breaks one rule in an otherwise good tree: which one, in which file, and how its text changes.
struct Planted {
    rule: &'static str,
    path: &'static str,
    change: fn(String) -> String,
}

const PLANTED: &[Planted] = &[
    Planted {
        rule: "arrows run down only",
        path: "crates/model/Cargo.toml",
        change: |text| {
            text.replace(
                "[dependencies]",
                "[dependencies]\ndelaylab-stats.workspace = true",
            )
        },
    },
    Planted {
        rule: "arrows run down only",
        path: "crates/stats/Cargo.toml",
        change: |text| {
            text + "\n[target.'cfg(unix)'.dependencies.delaylab-wire]\nworkspace = true\n"
        },
    },
    Planted {
        rule: "arrows run down only",
        path: "crates/upstairs/Cargo.toml",
        change: |text| text + "[package]\nname = \"delaylab-upstairs\"\n",
    },
    Planted {
        rule: "unsafe code is in crate kernel alone",
        path: "crates/live/src/lib.rs",
        change: |text| text.replace("#![forbid(unsafe_code)]", ""),
    },
    Planted {
        rule: "unsafe code is in crate kernel alone",
        path: "crates/cli/src/main.rs",
        change: |text| text.replace("#![forbid(unsafe_code)]", "// #![forbid(unsafe_code)]"),
    },
    Planted {
        rule: "what decides does no input or output",
        path: "crates/sim/src/engine/mod.rs",
        change: |text| text + "\nfn trace() { std::fs::read(\"trace.csv\"); }\n",
    },
    Planted {
        rule: "what decides does no input or output",
        path: "crates/switch/src/lib.rs",
        change: |text| text + "\nuse std::time::SystemTime;\n",
    },
    Planted {
        rule: "modules of a crate form no circles",
        path: "crates/switch/src/buffer.rs",
        change: |text| format!("pub use crate::settings::Settings;\n{text}"),
    },
    // By a name that the root has from the module.
    Planted {
        rule: "modules of a crate form no circles",
        path: "crates/switch/src/buffer.rs",
        change: |text| format!("fn fill(switch: &crate::Switch) {{}}\n{text}"),
    },
    Planted {
        rule: "modules of a crate form no circles",
        path: "crates/explain/src/calibrate/backlog.rs",
        change: |text| format!("use super::{{\n    limiter::Limiter,\n}};\n{text}"),
    },
    Planted {
        rule: "a crate's first lines are its map",
        path: "crates/wire/src/lib.rs",
        change: |text| text + "\npub mod unheard_of;\n",
    },
    Planted {
        rule: "a crate's first lines are its map",
        path: "crates/kernel/src/lib.rs",
        change: |text| text.replacen("//!", "//", 1),
    },
    Planted {
        rule: "a table of modules names each of them",
        path: "crates/explain/src/compare.rs",
        change: |text| text + "\npub(super) mod unheard_of;\n",
    },
    Planted {
        rule: "the changelog knows this version",
        path: "CHANGELOG.md",
        change: |_| "# Changelog\n\n## [0.0.1]\n".to_owned(),
    },
    Planted {
        rule: "no path of somebody's machine",
        path: "docs/ping.md",
        change: |text| text + concat!("\n/ho", "me/somebody/delaylab\n"),
    },
    Planted {
        rule: "no path of somebody's machine",
        path: "scripts/demo.sh",
        change: |text| text + concat!("\ncd /ro", "ot/delaylab\n"),
    },
    Planted {
        rule: "nothing is left to be done",
        path: "crates/stats/src/lib.rs",
        change: |text| text + concat!("\nfn later() { to", "do!() }\n"),
    },
];

#[test]
fn every_rule_can_fail() {
    let good = Tree::read();
    for planted in PLANTED {
        let mut tree = good.clone();
        let text = tree.files.remove(planted.path).unwrap_or_default();
        tree.files
            .insert(planted.path.to_owned(), (planted.change)(text));
        let (_, rule) = RULES
            .iter()
            .find(|(name, _)| *name == planted.rule)
            .unwrap();
        let offences = rule(&tree);
        assert_eq!(
            offences.len(),
            1,
            "{} in {}: {offences:?}",
            planted.rule,
            planted.path
        );
        assert!(offences[0].starts_with(planted.path), "{offences:?}");
    }
    for (name, _) in RULES {
        assert!(
            PLANTED.iter().any(|planted| planted.rule == *name),
            "nothing breaks `{name}`"
        );
    }
}

/// Every text file of the repository, by its path from the root.
#[derive(Clone)]
struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()
            .unwrap();
        let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap();
        let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
        let mut files = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(root.join(&folder)).unwrap() {
                let entry = entry.unwrap();
                let path = folder.join(entry.file_name());
                let name = path.to_str().unwrap().to_owned();
                let is_ignored = ignored
                    .iter()
                    .any(|i| name == *i || name.ends_with(&format!("/{i}")));
                match entry.file_type().unwrap() {
                    _ if name == ".git" || is_ignored => {}
                    kind if kind.is_dir() => folders.push(path),
                    _ => {
                        // A capture or the like is no text.
                        if let Ok(text) = std::fs::read_to_string(entry.path()) {
                            files.insert(name, text);
                        }
                    }
                }
            }
        }
        Self { files }
    }

    /// The crates' folders, and what their manifests say.
    fn crates(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| {
            let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some((folder, text.as_str()))
        })
    }

    /// The crates' roots: folder, path and text.
    fn roots(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.crates().filter_map(|(folder, _)| {
            let paths = ["lib", "main"].map(|name| format!("crates/{folder}/src/{name}.rs"));
            let path = paths
                .into_iter()
                .find(|path| self.files.contains_key(path))?;
            let text = self.files[&path].as_str();
            Some((folder, path, text))
        })
    }

    /// Every line that has one of these words in it.
    fn lines_with(&self, words: &[&str], rule: &str) -> Vec<String> {
        let lines = self.files.iter().flat_map(|(path, text)| {
            text.lines()
                .enumerate()
                .map(move |(at, line)| (path, at + 1, line))
        });
        lines
            .filter_map(|(path, at, line)| {
                let word = words.iter().find(|word| line.contains(**word))?;
                Some(format!("{path}:{at}: `{word}`: {rule}"))
            })
            .collect()
    }
}

fn row(folder: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&folder))
}

fn arrows(tree: &Tree) -> Vec<String> {
    let arrows = tree.crates().flat_map(|(from, manifest)| {
        let to = dependencies(manifest);
        let itself = row(from)
            .is_none()
            .then(|| offence(from, "has no row in the layers"));
        let up = to
            .into_iter()
            .filter(move |to| row(to) >= row(from) || row(to).is_none());
        let up =
            up.map(move |to| offence(from, &format!("depends on `{to}`, which is not below it")));
        itself.into_iter().chain(up)
    });
    arrows.collect()
}

fn offence(folder: &str, what: &str) -> String {
    format!("crates/{folder}/Cargo.toml: `{folder}` {what}: arrows run down only")
}

/// Crates of ours that a manifest depends on, by folder. Those of tests alone do not count.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        }
        if section.contains("dev-dependencies") || !section.contains("dependencies") {
            continue;
        }
        let header = line
            .strip_prefix('[')
            .and_then(|_| section.split_once("dependencies."));
        let entry = header.map_or(line, |(_, name)| name);
        let name: Option<&str> = entry.trim_matches('"').strip_prefix("delaylab-");
        found.extend(
            name.and_then(|name| name.split(['.', '=', ' ', '"']).next())
                .map(str::to_owned),
        );
    }
    found
}

fn unsafe_code(tree: &Tree) -> Vec<String> {
    let roots = tree.roots().filter(|(folder, ..)| *folder != "kernel");
    roots
        .filter(|(.., text)| !text.lines().any(|line| line == "#![forbid(unsafe_code)]"))
        .map(|(_, path, _)| format!("{path}: lacks #![forbid(unsafe_code)]: only kernel may"))
        .collect()
}

/// Production code: neither comments nor tests, which stand at the end of a file or in files of their own.
fn pure_crates(tree: &Tree) -> Vec<String> {
    let sources = tree.files.iter().filter(|(path, _)| {
        let inside = path.strip_prefix("crates/");
        let parts = inside.and_then(|inside| inside.split_once("/src/"));
        parts.is_some_and(|(folder, file)| PURE.contains(&folder) && !is_of_tests(file))
    });
    let lines = sources.flat_map(|(path, text)| {
        production(text).filter_map(move |(line, at)| {
            let word = IMPURE.iter().find(|word| line.contains(**word))?;
            Some(format!(
                "{path}:{at}: `{word}`: what decides does no input or output"
            ))
        })
    });
    lines.collect()
}

/// The lines of a source with their numbers, but for comments and for tests, which stand at its end.
fn production(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let before_tests = text
        .lines()
        .zip(1..)
        .take_while(|(line, _)| !line.starts_with("mod tests {"));
    before_tests.filter(|(line, _)| !line.trim_start().starts_with("//"))
}

fn is_of_tests(file: &str) -> bool {
    file.ends_with("tests.rs") || file.split('/').any(|part| part == "tests")
}

fn maps(tree: &Tree) -> Vec<String> {
    tree.roots()
        .flat_map(|(_, path, text)| unmapped(&path, text))
        .collect()
}

/// A root begins with its documentation, and a table in it names every public module.
fn unmapped(path: &str, text: &str) -> Vec<String> {
    let map: Vec<&str> = text
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .collect();
    if !map.iter().any(|line| line.starts_with("//! |---")) {
        return vec![format!(
            "{path}: does not begin with a table of its modules"
        )];
    }
    let rows: Vec<&&str> = map
        .iter()
        .filter(|line| line.starts_with("//! | "))
        .collect();
    let modules = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    modules
        .filter(|module| {
            // What is there with a feature alone cannot be linked to.
            let link = [
                format!("[`{module}`]"),
                format!("[`mod@{module}`]"),
                format!("`{module}` (a feature)"),
            ];
            !rows
                .iter()
                .any(|row| link.iter().any(|link| row.contains(link)))
        })
        .map(|module| format!("{path}: its map leaves `{module}` out"))
        .collect()
}

/// Below the roots a module need not begin with a table, but one that is there has each module that is always compiled.
fn tables(tree: &Tree) -> Vec<String> {
    let sources = tree.files.iter().filter(|(path, _)| {
        path.contains("/src/") && path.ends_with(".rs") && !path.ends_with("/lib.rs")
    });
    sources
        .flat_map(|(path, text)| left_out(path, text))
        .collect()
}

fn left_out(path: &str, text: &str) -> Vec<String> {
    let head: Vec<&str> = text
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .collect();
    let is_of_modules = |line: &&str| {
        ["//! | module |", "//! | file |"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    // Formats of the same form have one row.
    let has_others = head
        .iter()
        .any(|line| line.starts_with("//! | each other |"));
    if !head.iter().any(is_of_modules) || has_others {
        return Vec::new();
    }
    let is_named = |module: &str| {
        let names = [
            format!("`{module}`"),
            format!("`mod@{module}`"),
            format!("`{module}.rs`"),
            format!("/{module}.rs`"),
        ];
        head.iter()
            .any(|row| names.iter().any(|name| row.contains(name)))
    };
    let before = std::iter::once("").chain(text.lines());
    let modules = text.lines().zip(before).filter_map(|(line, before)| {
        let module = line
            .split_once("mod ")
            .filter(|(public, _)| public.is_empty() || public.starts_with("pub"))?
            .1;
        (!before.starts_with("#[cfg(")).then_some(module.strip_suffix(';')?)
    });
    modules
        .filter(|module| !is_named(module))
        .map(|module| format!("{path}: its table leaves `{module}` out"))
        .collect()
}

fn changelog(tree: &Tree) -> Vec<String> {
    let version = concat!("## [", env!("CARGO_PKG_VERSION"), "]");
    let text = tree.files.get("CHANGELOG.md").map_or("", String::as_str);
    let known = [version, "## [Unreleased]"]
        .iter()
        .any(|heading| text.contains(heading));
    let offence = format!("CHANGELOG.md: has neither `{version}` nor `## [Unreleased]`");
    if known { Vec::new() } else { vec![offence] }
}

/// The words are put together here so that this file is not its own offence.
fn machine_paths(tree: &Tree) -> Vec<String> {
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
    ];
    tree.lines_with(&words, "no path of somebody's machine")
}

fn leftovers(tree: &Tree) -> Vec<String> {
    let words = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    tree.lines_with(&words, "nothing is left to be done")
}
