//! The web pages in a real browser, by clicks and keys: reports from disk, and `delaylab serve`.
//!
//! | file | holds |
//! |---|---|
//! | `chromium.rs` | a browser that clicks and types |
//! | `reports.rs` | reports of the catalogue, and of odd runs |
//! | `served.rs` | `delaylab serve`: the list, a run, two compared, one in progress; who is answered |
//!
//! With the environment variable PICTURES the pages are also kept there as pictures.

mod chromium;
mod reports;
mod served;

use crate::harness::scratch::Scratch;
use crate::harness::skipped;
use chromium::Page;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

impl Scratch {
    /// Runs delaylab in it.
    fn delaylab(&self, words: &[&str]) -> Output {
        delaylab(&self.path(""), words).output().unwrap()
    }

    /// Carries an experiment out that this text describes, and returns its report.
    fn report(&self, name: &str, text: &str) -> PathBuf {
        let file = self.file(&format!("{name}.toml"), text);
        let file = file.to_string_lossy();
        let output = self.delaylab(&["run", &file, "-q", "--seed", "1", "-o", name]);
        let page = self.path(name).join("latest/report.html");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(page.exists(), "{name}: {said}");
        page
    }
}

fn delaylab(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delaylab"));
    command.args(words).current_dir(directory);
    command
}

/// What axe finds of serious and critical faults in the page as it is.
fn inaccessible(page: &Page<'_>) -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/node_modules/axe-core/axe.min.js");
    let Ok(axe) = std::fs::read_to_string(&path) else {
        skipped("axe-core is missing: scripts/web.sh installs it");
        return Vec::new();
    };
    page.eval(&format!("(() => {{ {axe}; return 1; }})()"));
    let found = page.eval("axe.run().then((found) => found.violations)");
    let violations = found.as_array().unwrap().iter();
    let grave =
        violations.filter(|fault| fault["impact"] == "serious" || fault["impact"] == "critical");
    let told = grave.map(|fault| {
        let nodes = fault["nodes"].as_array().unwrap().iter().take(3);
        let nodes: Vec<_> = nodes
            .map(|node| json!([node["html"], node["any"][0]["message"]]))
            .collect();
        json!({ "id": fault["id"], "nodes": nodes })
    });
    told.collect()
}
