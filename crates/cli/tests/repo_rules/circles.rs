//! Circles among the modules of a crate: of two siblings one may use the other, but not both each other, by whatever way.
//! What two modules share stands in a third.
//!
//! Imports are read as they are written, in `use` and in code. What is named as of the crate's root is of the module that
//! the root has it from; what is named as of any other parent is the parent's.

use super::{Tree, is_of_tests, production};
use std::collections::{BTreeMap, BTreeSet};

/// A path, or a module by the path that leads to it from the root of its crate.
type Names = Vec<String>;

/// Where one of two siblings uses the other.
type Uses<'a> = BTreeMap<(String, String), Vec<&'a str>>;

pub(super) fn circles(tree: &Tree) -> Vec<String> {
    let folders = tree.crates().map(|(folder, _)| folder);
    folders
        .flat_map(|folder| Crate::read(tree, folder).circles())
        .collect()
}

struct Crate<'a> {
    /// Where each module is written, and which paths stand in it.
    modules: BTreeMap<Names, (&'a str, Vec<Names>)>,
    /// The module from which the root has a name.
    of_root: BTreeMap<String, String>,
}

impl<'a> Crate<'a> {
    fn read(tree: &'a Tree, folder: &str) -> Self {
        let sources = format!("crates/{folder}/src/");
        let files = tree.files.iter().filter_map(|(path, text)| {
            let file = path.strip_prefix(&sources)?.strip_suffix(".rs")?;
            let is_product = !is_of_tests(&format!("{file}.rs")) && !file.ends_with("testing");
            is_product.then(|| (module(file), (path.as_str(), paths(text))))
        });
        let modules: BTreeMap<Names, _> = files.collect();
        let root = modules.get(&Names::new()).into_iter();
        let of_root = root
            .flat_map(|(_, paths)| paths)
            .filter(|path| path.len() > 1 && modules.contains_key(&path[..1]))
            .filter_map(|path| Some((path.last()?.clone(), path[0].clone())))
            .collect();
        Self { modules, of_root }
    }

    fn circles(&self) -> Vec<String> {
        let mut uses = BTreeMap::<&[String], Uses<'a>>::new();
        for (from, (file, paths)) in &self.modules {
            for to in paths.iter().filter_map(|path| self.module_of(from, path)) {
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                    let siblings = uses.entry(&from[..shared]).or_default();
                    let pair = (one.clone(), other.clone());
                    siblings.entry(pair).or_default().push(*file);
                }
            }
        }
        uses.values().flat_map(circles_among).collect()
    }

    /// The module of this crate that has what a path names.
    fn module_of(&self, from: &[String], path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Names::new(),
            "super" => from.split_last()?.1.to_vec(),
            child => [from, &[child.to_owned()][..]].concat(),
        };
        if !self.modules.contains_key(&at) {
            return None;
        }
        for name in rest {
            match name.as_str() {
                "super" => drop(at.pop()),
                name => at.push(name.to_owned()),
            }
        }
        if let Some(module) = at.first_mut()
            && let Some(has_it) = self.of_root.get(module)
        {
            module.clone_from(has_it);
        }
        while !self.modules.contains_key(&at) {
            at.pop()?;
        }
        Some(at)
    }
}

/// Of each circle among siblings the use that stands in the fewest places.
fn circles_among(uses: &Uses<'_>) -> Vec<String> {
    let mut circles = BTreeSet::new();
    for (one, _) in uses.keys() {
        let circle = reached(uses, one).into_iter();
        let circle: Vec<&String> = circle
            .filter(|it| reached(uses, it).contains(one))
            .collect();
        circles.extend((!circle.is_empty()).then_some(circle));
    }
    let offence = |circle: Vec<&String>| {
        let within = uses
            .iter()
            .filter(|((one, other), _)| circle.contains(&one) && circle.contains(&other));
        let ((one, other), files) = within.min_by_key(|(_, files)| files.len())?;
        let names: Vec<&str> = circle.iter().map(|name| name.as_str()).collect();
        Some(format!(
            "{}: `{one}` uses `{other}`, which closes a circle among {}: what they share stands in a module of its own",
            files[0],
            names.join(", ")
        ))
    };
    circles.into_iter().filter_map(offence).collect()
}

/// Every sibling that one uses, directly or through others.
fn reached<'a>(uses: &'a Uses<'_>, one: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![one];
    while let Some(at) = next.pop() {
        let used = uses.keys().filter(|(user, _)| user == at);
        next.extend(
            used.map(|(_, other)| other)
                .filter(|to| reached.insert(*to)),
        );
    }
    reached
}

/// A file below `src`, without its ending, as a module.
fn module(file: &str) -> Names {
    let mut names: Names = file.split('/').map(str::to_owned).collect();
    names.pop_if(|name| ["mod", "lib", "main"].contains(&name.as_str()));
    names
}

/// What is named in production code: all that is imported, and what is named from the crate, the parent or the module on.
fn paths(text: &str) -> Vec<Names> {
    let mut found = Vec::new();
    let mut item = String::new();
    for (line, _) in production(text) {
        if let Some(tree) = begun(line) {
            item = tree.to_owned();
        } else if !item.is_empty() {
            item.push_str(line);
        }
        if !item.is_empty() {
            if let Some((tree, _)) = item.split_once(';') {
                found.extend(imported(&[], tree));
                item.clear();
            }
            continue;
        }
        let words = line.split(|c: char| !c.is_alphanumeric() && !['_', ':'].contains(&c));
        let named = words.filter(|word| {
            let first = word.split_once("::").map(|(first, _)| first);
            ["crate", "super", "self"].map(Some).contains(&first)
        });
        // `pub(in crate::x)` names who may use it.
        found.extend(named.filter(|_| !line.contains("pub(in ")).map(names));
    }
    found
}

/// What a line has of the tree of a `use` that begins there; `None`: none does.
fn begun(line: &str) -> Option<&str> {
    let (before, tree) = line.split_once("use ")?;
    let visibility = before.trim();
    let is_item = ["", "pub"].contains(&visibility)
        || visibility.starts_with("pub(") && visibility.ends_with(')');
    // A line of a sentence may begin with the same word.
    let is_path = tree
        .split(' ')
        .next()
        .is_some_and(|word| word.contains("::"));
    (is_item && is_path).then_some(tree)
}

/// Every path of the tree of a `use`.
fn imported(before: &[String], tree: &str) -> Vec<Names> {
    let Some((base, list)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![[before, &names(path)].concat()];
    };
    let before = [before, &names(base)].concat();
    let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
    let mut depth = 0;
    let parts = list.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.flat_map(|part| imported(&before, part)).collect()
}

fn names(path: &str) -> Names {
    let names = path.split("::").map(str::trim);
    let names = names.filter(|name| !name.is_empty() && *name != "self");
    names.map(str::to_owned).collect()
}
