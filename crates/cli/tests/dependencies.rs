//! `docs/development.md` has a line for every dependency, and for nothing else. Each rule is shown to fail where it is
//! broken.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/development.md";
/// Where dependencies are declared: the file, its tables of names, and the page's headings that list them.
const DECLARED: [(&str, &[&str], &[&str]); 2] = [
    (
        "Cargo.toml",
        &["workspace.dependencies"],
        &["Crates of the product", "Crates of the tests"],
    ),
    (
        "web/package.json",
        &["dependencies", "devDependencies"],
        &["Packages of the figures' script"],
    ),
];
/// Installed or declared elsewhere: each name on the page must occur in one of these.
const SCRIPTS: [&str; 2] = ["scripts", "fuzz/Cargo.toml"];

#[test]
fn every_dependency_has_a_line_on_its_page() {
    let offences = offences(&Declarations::read());
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Breaks a rule in files that keep every rule.
type Break = fn(&mut Declarations);

#[test]
fn every_rule_can_fail() {
    let good = Declarations::read();
    let planted: [(Break, &str); 6] = [
        (
            |broken| {
                broken
                    .cargo
                    .push_str("\n[workspace.dependencies.regex]\nversion = \"1\"\n")
            },
            "regex is in Cargo.toml and not in docs/development.md",
        ),
        (
            |broken| broken.web = broken.web.replace("\"uplot\"", "\"chart.js\""),
            "chart.js is in web/package.json and not in docs/development.md",
        ),
        (
            |broken| broken.web = broken.web.replace("\"uplot\"", "\"chart.js\""),
            "uplot is in docs/development.md and not in web/package.json",
        ),
        (
            |broken| broken.page = broken.page.replace("| `toml` |", "| `yaml` |"),
            "yaml is in docs/development.md and not in Cargo.toml",
        ),
        (
            |broken| broken.page = broken.page.replace("| `tcpdump` |", "| `wireshark` |"),
            "wireshark is in docs/development.md and no script installs it",
        ),
        (
            |broken| broken.page = broken.page.replace("### Crates of the tests", "### More"),
            "docs/development.md has no table \"Crates of the tests\"",
        ),
    ];
    for (make, said) in planted {
        let mut broken = good.clone();
        make(&mut broken);
        let offences = offences(&broken);
        assert!(
            offences.iter().any(|offence| offence == said),
            "{said}: {offences:?}"
        );
    }
}

/// The files that are compared.
#[derive(Clone)]
struct Declarations {
    page: String,
    cargo: String,
    web: String,
    scripts: String,
}

impl Declarations {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let mut scripts = String::new();
        for path in SCRIPTS.map(|path| root.join(path)) {
            let files = match fs::read_dir(&path) {
                Ok(folder) => folder.map(|entry| entry.unwrap().path()).collect(),
                Err(_) => vec![path],
            };
            for file in files {
                scripts.push_str(&fs::read_to_string(file).unwrap());
            }
        }
        Self {
            page: text(PAGE),
            cargo: text("Cargo.toml"),
            web: text("web/package.json"),
            scripts,
        }
    }

    fn declared(&self, file: &str, tables: &[&str]) -> BTreeSet<String> {
        let document: serde_json::Value = match file {
            "Cargo.toml" => toml::from_str(&self.cargo).unwrap(),
            _ => serde_json::from_str(&self.web).unwrap(),
        };
        let tables = tables.iter().filter_map(|table| {
            let pointer = format!("/{}", table.replace('.', "/"));
            document.pointer(&pointer)?.as_object()
        });
        let names = tables.flat_map(|table| table.keys());
        names
            .filter(|name| !name.starts_with("delaylab-"))
            .cloned()
            .collect()
    }
}

fn offences(files: &Declarations) -> Vec<String> {
    let mut offences = Vec::new();
    let mut elsewhere: BTreeSet<_> = headings(&files.page).into_iter().collect();
    let in_scripts = |name: &str| words(&files.scripts).any(|word| word == name);
    for (file, tables, named) in DECLARED {
        let declared = files.declared(file, tables);
        let mut listed = BTreeSet::new();
        for heading in named {
            if !elsewhere.remove(heading) {
                offences.push(format!("{PAGE} has no table \"{heading}\""));
            }
            listed.extend(names(&files.page, heading));
        }
        let missing = declared.difference(&listed);
        offences.extend(missing.map(|name| format!("{name} is in {file} and not in {PAGE}")));
        let unknown = listed
            .difference(&declared)
            .filter(|name| !in_scripts(name));
        offences.extend(unknown.map(|name| format!("{name} is in {PAGE} and not in {file}")));
    }
    for heading in elsewhere {
        let listed = names(&files.page, heading);
        let unknown = listed.iter().filter(|name| !in_scripts(name));
        offences
            .extend(unknown.map(|name| format!("{name} is in {PAGE} and no script installs it")));
    }
    offences
}

/// The headings of the tables of dependencies.
fn headings(page: &str) -> Vec<&str> {
    dependencies(page)
        .filter_map(|line| line.strip_prefix("### "))
        .collect()
}

/// The names in the first column of the table below a heading.
fn names(page: &str, heading: &str) -> Vec<String> {
    let below = dependencies(page)
        .skip_while(|line| line.strip_prefix("### ") != Some(heading))
        .skip(1)
        .take_while(|line| !line.starts_with("### "));
    let cells = below.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    // What stands between backticks is every second piece.
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// The lines of the section on dependencies.
fn dependencies(page: &str) -> impl Iterator<Item = &str> {
    page.lines()
        .skip_while(|line| *line != "## Dependencies")
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
}

/// What a script could name: whole, as a package's name is spelt.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "-+.".contains(c)))
}
