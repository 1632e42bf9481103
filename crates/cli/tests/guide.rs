//! The guide holds together: every page is in its table of contents, every link and anchor of the documents leads
//! somewhere, and every figure is there and shown. Each rule is shown to fail where it is broken.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SUMMARY: &str = "docs/SUMMARY.md";
const FIGURES: &str = "docs/figures/";
/// All figures together: they are in every clone.
const MOST_BYTES_OF_FIGURES: u64 = 1_500_000;

#[test]
fn every_page_is_in_the_summary() {
    assert_none(&left_out(&Documents::read()));
}

#[test]
fn every_link_leads_somewhere() {
    assert_none(&dead_links(&Documents::read()));
}

#[test]
fn every_figure_is_shown() {
    let documents = Documents::read();
    assert_none(&unused_figures(&documents));
    let figures = documents
        .others
        .iter()
        .filter(|path| path.starts_with(FIGURES));
    let bytes: u64 = figures
        .map(|path| fs::metadata(root().join(path)).unwrap().len())
        .sum();
    assert!(bytes <= MOST_BYTES_OF_FIGURES, "figures have {bytes} bytes");
}

#[test]
fn every_rule_can_fail() {
    let good = Documents::read();

    let mut one_page_more = good.clone();
    one_page_more
        .pages
        .insert("docs/more.md".into(), "# More\n".into());
    assert_eq!(left_out(&one_page_more), ["docs/more.md"]);

    let dead = [
        ("[a](nowhere.md)", "nowhere.md"),
        ("[a](ping.md#nowhere)", "ping.md#nowhere"),
        ("[a](#nowhere)", "#nowhere"),
        ("![a](figures/nowhere.svg)", "figures/nowhere.svg"),
        ("[a](ping.md) and [b](gone.md)", "gone.md"),
    ];
    for (text, link) in dead {
        let mut broken = good.clone();
        broken.pages.insert("docs/more.md".into(), text.into());
        assert_eq!(dead_links(&broken), [format!("docs/more.md: {link}")]);
    }

    let mut one_figure_more = good;
    one_figure_more
        .others
        .insert("docs/figures/more.svg".into());
    assert_eq!(unused_figures(&one_figure_more), ["docs/figures/more.svg"]);
}

#[test]
fn code_has_no_links_and_headings_have_anchors() {
    let text = "# On disk\n[a](b.md)\n```text\n[c](d.md)\n# no heading\n```\n`[e](f.md)` <https://g>\n\
                ## `ping`, and so on: 5 %\n## On disk\n";
    assert_eq!(links(text), ["b.md"]);
    assert_eq!(
        anchors(text).into_iter().collect::<Vec<_>>(),
        ["on-disk", "on-disk-1", "ping-and-so-on-5-"]
    );
}

fn assert_none(offences: &[String]) {
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// What can be linked to, by its path from the root.
#[derive(Clone)]
struct Documents {
    /// Markdown: the guide's pages, and the documents beside it.
    pages: BTreeMap<String, String>,
    /// What else is in the folder of the guide.
    others: BTreeSet<String>,
}

impl Documents {
    fn read() -> Self {
        let mut found = Self {
            pages: BTreeMap::new(),
            others: BTreeSet::new(),
        };
        for folder in ["", "docs/", FIGURES, "docs/schema/"] {
            found.read_folder(folder);
        }
        found
    }

    fn read_folder(&mut self, folder: &str) {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}{}", entry.file_name().to_str().unwrap());
            if path.ends_with(".md") {
                let text = fs::read_to_string(entry.path()).unwrap();
                self.pages.insert(path, text);
            } else if entry.file_type().unwrap().is_file() && !folder.is_empty() {
                self.others.insert(path);
            }
        }
    }

    /// Is there a page, a figure, or another file of the repository?
    fn has(&self, path: &str) -> bool {
        self.pages.contains_key(path) || self.others.contains(path) || root().join(path).exists()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Pages of the guide that its table of contents does not name.
fn left_out(documents: &Documents) -> Vec<String> {
    let named: BTreeSet<String> = links(&documents.pages[SUMMARY])
        .into_iter()
        .map(|link| format!("docs/{link}"))
        .collect();
    let pages = documents
        .pages
        .keys()
        .filter(|path| path.starts_with("docs/") && *path != SUMMARY);
    pages
        .filter(|path| !named.contains(*path))
        .cloned()
        .collect()
}

fn dead_links(documents: &Documents) -> Vec<String> {
    let mut dead = Vec::new();
    for (page, text) in &documents.pages {
        for link in links(text) {
            if !link.contains("://") && !resolves(documents, page, link) {
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    dead
}

fn resolves(documents: &Documents, page: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        page.to_owned()
    } else {
        beside(page, path)
    };
    let has_anchor = |text: &String| anchor.is_empty() || anchors(text).contains(anchor);
    documents.has(&target) && documents.pages.get(&target).is_none_or(has_anchor)
}

/// A path as it is written on a page, from the root.
fn beside(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn unused_figures(documents: &Documents) -> Vec<String> {
    let pages = documents.pages.iter();
    let shown: BTreeSet<String> = pages
        .flat_map(|(page, text)| links(text).into_iter().map(|link| beside(page, link)))
        .collect();
    let figures = documents
        .others
        .iter()
        .filter(|path| path.starts_with(FIGURES));
    figures
        .filter(|path| !shown.contains(*path))
        .cloned()
        .collect()
}

/// Lines that are no code between fences.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fence = false;
    text.lines().filter(move |line| {
        let edge = line.trim_start().starts_with("```");
        fence ^= edge;
        !edge && !fence
    })
}

/// Where the links and images of a page lead.
fn links(text: &str) -> Vec<&str> {
    let targets = prose(text).flat_map(|line| {
        line.match_indices("](").filter_map(move |(at, _)| {
            // Between back quotes is code.
            let in_code = line[..at].matches('`').count() % 2 == 1;
            let (target, _) = line[at + 2..].split_once(')')?;
            (!in_code).then_some(target)
        })
    });
    targets.collect()
}

/// Anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let plain = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = plain
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone())
            .chain(again)
            .find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}
