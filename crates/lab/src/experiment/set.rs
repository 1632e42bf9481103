//! `--set path=value`: overlays a value on the file. Each `--set` is a source of its own in messages.

use super::address;
use super::check::{check, overlay_keys};
use super::choices::Choices;
use super::diagnostic::{Origin, Problem, SET, Source};
use super::exclusive::hides;
use super::factor::{CASE, Factor};
use super::sections::TOP;
use super::tree::{Key, Node, parse_value};
use crate::suggest::choices;

/// Each place that was set, and where its path was written.
pub(super) type Set = Vec<(Vec<Key>, Origin)>;

/// Applies every `--set` to the tree, adds each to `sources`, and checks the result.
pub(super) fn apply_sets(
    root: &mut Node,
    choices: &Choices,
    sources: &mut Vec<Source>,
) -> Result<Set, Vec<Problem>> {
    let mut set = Vec::new();
    for (path, value) in &choices.sets {
        let text = format!("{path}={value}");
        let at = |span| Origin {
            source: sources.len(),
            span,
        };
        let (path_at, value_at) = (at(0..path.len()), at(path.len() + 1..text.len()));
        sources.push(Source {
            name: SET.to_owned(),
            text,
        });
        let places = settable(root, path, &path_at).map_err(|problem| vec![problem])?;
        for place in places {
            root.set(&place, &path_at, parse_value(value, &value_at))
                .map_err(|problem| vec![problem])?;
            set.push((place, path_at.clone()));
        }
    }
    if choices.sets.is_empty() {
        return Ok(set);
    }
    let problems = [overlay_keys(root), check(root, sources, false)].concat();
    if problems.is_empty() {
        Ok(set)
    } else {
        Err(problems)
    }
}

/// Why a section or a field at the top is not set.
fn why_not(first: &str) -> Option<&'static str> {
    match first {
        "world" => Some("choose the world with --world"),
        "name" | "resolved" => Some("it says which experiment this is"),
        "in" | "quick" => {
            Some("set the path itself: it is laid over the world's and the short form's")
        }
        _ => None,
    }
}

fn settable(root: &Node, path: &str, at: &Origin) -> Result<Vec<Vec<Key>>, Problem> {
    let places = address::expand(root, path, at)?;
    for place in &places {
        let [Key::Name(first), ..] = place.as_slice() else {
            continue;
        };
        if let Some(why) = why_not(first) {
            return Err(Problem::new(at, format!("`{path}` cannot be set")).help(why));
        }
        if !TOP.contains(&first.as_str()) {
            let problem = Problem::new(at, format!("there is no `{first}` in an experiment"));
            let help = choices(first, TOP.iter().copied());
            return Err(problem.help_if(help));
        }
        if matches!(place.as_slice(), [.., Key::Index(_)]) {
            let problem = Problem::new(at, format!("`{path}` is no field but a whole section"));
            return Err(problem.help("set its fields, each by itself"));
        }
    }
    Ok(places)
}

/// Problems of places set by the user and by a factor: the factor would overwrite the user's value.
pub(super) fn hidden_sets(root: &Node, set: &Set, factors: &[Factor]) -> Vec<Problem> {
    let hidden = |(place, at): &(Vec<Key>, Origin)| {
        let node = place.iter().try_fold(root, |node, key| node.get(key));
        let nodes: Vec<_> = node.into_iter().collect();
        let factor = factors.iter().find(|factor| {
            let mut sets = factor.levels.iter().flat_map(|level| &level.sets);
            sets.any(|set| hides(&set.place, place, &nodes))
        })?;
        let name = &factor.name;
        let problem = Problem::new(
            at,
            format!("`{}` is varied by `{name}`", address::written(root, place)),
        );
        Some(match name.as_str() {
            CASE => problem.help("the cases would set it again: change them in a file of your own"),
            _ => problem.help(format!("set its levels: --set 'sweep.{name}.to=[\"…\"]'")),
        })
    };
    set.iter().filter_map(hidden).collect()
}
