//! Reads `[sweep]` and `[[case]]` as factors. Each level of a factor sets values at places in the tree.

use super::address::{expand, written};
use super::diagnostic::{Origin, Problem};
use super::exclusive::hides;
use super::level;
use super::sections::{elements, keep, known_keys};
use super::tree::{Entry, Key, Node, Table, Value};
use crate::finding::check::KEYWORDS;
use crate::finding::data::{OF, PROBE};
use crate::suggest::choices;
use delaylab_model::plan::Level;
use std::collections::BTreeMap;

/// Name of the factor whose levels are the cases.
pub(crate) const CASE: &str = "case";

/// Words that have another meaning in findings, beside their keywords, and cannot be names of factors.
const RESERVED: [&str; 5] = [CASE, PROBE, OF, "trial", "repeat"];
/// What a factor's further columns in a table end in, after the factor's name.
const COLUMN_ENDS: [&str; 2] = ["_value", "_unit"];

/// A factor of the design.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    pub name: String,
    pub levels: Vec<FactorLevel>,
}

/// A level and the values that it sets.
#[derive(Debug, Clone)]
pub(crate) struct FactorLevel {
    pub level: Level,
    pub sets: Vec<Setting>,
}

/// A place in the tree and its new value.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub place: Vec<Key>,
    /// Where the path to the place was written.
    pub at: Origin,
    pub node: Node,
}

impl FactorLevel {
    /// Sets all values of this level in the tree.
    pub(crate) fn apply(&self, root: &mut Node) -> Result<(), Problem> {
        self.sets
            .iter()
            .try_for_each(|set| root.set(&set.place, &set.at, set.node.clone()))
    }
}

/// All factors: the cases first, then the sweep in the order of the file.
pub(crate) fn factors(root: &Node, problems: &mut Vec<Problem>) -> Vec<Factor> {
    let Some(table) = root.table() else {
        return Vec::new();
    };
    let mut factors: Vec<_> = cases(root, table, problems).into_iter().collect();
    match table.get("sweep").map(|node| (node, &node.value)) {
        None => {}
        Some((_, Value::Table(sweep))) => {
            let read = sweep.0.iter().map(|entry| sweep_of(root, entry));
            factors.extend(read.filter_map(|factor| keep(factor, problems)));
        }
        Some((node, other)) => {
            let what = format!("`sweep` is {}, not a table", other.kind());
            problems.push(Problem::new(&node.at, what));
        }
    }
    // An overlay takes a factor away by giving it no levels.
    factors.retain(|factor| !factor.levels.is_empty());
    factors
}

/// The problems of factors of which one hides another: in the trials, or in the columns of a table.
pub(crate) fn hidden_factors(root: &Node, factors: &[Factor]) -> Vec<Problem> {
    let mut problems = overwritten(root, factors);
    problems.extend(one_column(root, factors));
    problems
}

fn cases(root: &Node, table: &Table, problems: &mut Vec<Problem>) -> Option<Factor> {
    let levels = elements(table, CASE, problems)?
        .iter()
        .filter_map(|node| keep(case_of(root, node), problems))
        .collect();
    Some(Factor {
        name: CASE.to_owned(),
        levels,
    })
}

fn case_of(root: &Node, node: &Node) -> Result<FactorLevel, Problem> {
    let table = node
        .table()
        .ok_or_else(|| Problem::new(&node.at, "a case is a table"))?;
    known_keys(table, &["name", "set"])?;
    let name = table
        .text("name")
        .ok_or_else(|| Problem::new(&node.at, "a case owes a `name` that is text"))?;
    Ok(FactorLevel {
        level: Level::named(name),
        sets: table
            .get("set")
            .map_or(Ok(Vec::new()), |set| sets_of(root, set))?,
    })
}

/// What a case sets.
fn sets_of(root: &Node, set: &Node) -> Result<Vec<Setting>, Problem> {
    let Value::Table(pairs) = &set.value else {
        let problem = Problem::new(&set.at, "`set` of a case is a table of paths");
        return Err(problem.help("set = { \"path.rate\" = \"10Mbit/s\" }"));
    };
    let mut sets: Vec<Setting> = Vec::new();
    for entry in &pairs.0 {
        let later = settings(root, &entry.key, &entry.key_at, &entry.node)?;
        exclude_none(root, &sets, &later)?;
        sets.extend(later);
    }
    Ok(sets)
}

fn sweep_of(root: &Node, entry: &Entry) -> Result<Factor, Problem> {
    factor_name(entry)?;
    let wrong = |what: &str| {
        Problem::new(&entry.node.at, what)
            .help("a factor is { set = \"probe.echo.ip_size\", to = [\"64B\", \"512B\"] }")
    };
    let table = entry
        .node
        .table()
        .ok_or_else(|| wrong("a factor is a table"))?;
    known_keys(table, &["set", "to"])?;
    let set = table.get("set").ok_or_else(|| wrong("`set` is missing"))?;
    let path = table
        .text("set")
        .ok_or_else(|| wrong("`set` is a path: text with dots"))?;
    let to = table.get("to").ok_or_else(|| wrong("`to` is missing"))?;
    let mut levels: Vec<FactorLevel> = Vec::new();
    for node in level::expand(to)? {
        let level = level::level(&node);
        if let Some(twice) = levels.iter().find(|other| other.level.is_same(&level)) {
            let what = match twice.level.label == level.label {
                true => format!("level `{level}` is there twice"),
                false => format!("level `{level}` is the same as `{}`", twice.level.label),
            };
            return Err(Problem::new(&node.at, what));
        }
        let sets = settings(root, path, &set.at, &node)?;
        levels.push(FactorLevel { level, sets });
    }
    Ok(Factor {
        name: entry.key.clone(),
        levels,
    })
}

/// Checks that findings can use the factor's name in selectors.
fn factor_name(entry: &Entry) -> Result<(), Problem> {
    let name = &entry.key;
    if RESERVED.iter().chain(&KEYWORDS).any(|word| word == name) {
        let what =
            format!("a factor cannot be called `{name}`: findings mean something else by it");
        return Err(Problem::new(&entry.key_at, what));
    }
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(letter) {
        let problem = Problem::new(&entry.key_at, format!("`{name}` cannot be a factor's name"));
        return Err(problem.help("use a letter, then letters, digits, `-` and `_`"));
    }
    Ok(())
}

/// A setting of this value for each place that matches the path.
fn settings(root: &Node, path: &str, at: &Origin, node: &Node) -> Result<Vec<Setting>, Problem> {
    let places = expand(root, path, at)?;
    places
        .into_iter()
        .map(|place| {
            may_vary(&place, path, at)?;
            Ok(Setting {
                place,
                at: at.clone(),
                node: node.clone(),
            })
        })
        .collect()
}

/// Checks that a place may vary between trials: a field of a probe, load, path or host, but not a `name` or the target.
fn may_vary(place: &[Key], path: &str, at: &Origin) -> Result<(), Problem> {
    const VARYING: [&str; 4] = ["probe", "load", "path", "host"];
    let first = match place.first() {
        Some(Key::Name(name)) => name.as_str(),
        _ => "",
    };
    if !VARYING.contains(&first) {
        let problem = Problem::new(at, format!("`{path}` does not vary between trials"));
        let help = choices(first, VARYING);
        return Err(problem.help_if(help));
    }
    if matches!(place, [.., Key::Index(_)]) || place.len() < 2 {
        return Err(Problem::new(
            at,
            format!("`{path}` is no field but a whole section"),
        ));
    }
    if *place == ["path".into(), "target".into()] {
        let problem = Problem::new(at, "all trials of a run go to one target");
        return Err(problem.help(
            "run the experiment once for each target, with --target, and see `delaylab compare`",
        ));
    }
    if place.last() == Some(&"name".into()) {
        return Err(Problem::new(
            at,
            "a name cannot vary: paths and findings are made of it",
        ));
    }
    Ok(())
}

/// Checks that no value of a case removes or replaces part of one before it. The same place again is no mistake: first
/// all probes, then one of them otherwise.
fn exclude_none(root: &Node, earlier: &[Setting], later: &[Setting]) -> Result<(), Problem> {
    for set in later {
        let hidden = earlier
            .iter()
            .find(|it| it.place != set.place && hides(&set.place, &it.place, &[&it.node]));
        if let Some(hidden) = hidden {
            let what = format!(
                "`{}` and `{}` are both given",
                written(root, &hidden.place),
                written(root, &set.place)
            );
            return Err(Problem::new(&set.at, what).help("keep one of them"));
        }
    }
    Ok(())
}

/// The settings of a factor's levels by their place.
fn by_place(factor: &Factor) -> BTreeMap<&[Key], Vec<&Setting>> {
    let mut by_place = BTreeMap::<&[Key], Vec<&Setting>>::new();
    for set in factor.levels.iter().flat_map(|level| &level.sets) {
        by_place.entry(&set.place).or_default().push(set);
    }
    by_place
}

/// A problem for each place of a factor that a later factor overwrites: the levels of the first would make no difference.
fn overwritten(root: &Node, factors: &[Factor]) -> Vec<Problem> {
    let sets: Vec<_> = factors.iter().map(by_place).collect();
    let mut problems = Vec::new();
    for (at, factor) in factors.iter().enumerate() {
        for (place, later) in &sets[at] {
            let hidden = factors[..at]
                .iter()
                .zip(&sets)
                .find_map(|(first, earlier)| {
                    let mut earlier = earlier.iter();
                    let (hidden, _) = earlier.find(|(other, sets)| {
                        let nodes: Vec<_> = sets.iter().map(|set| &set.node).collect();
                        hides(place, other, &nodes)
                    })?;
                    Some((&first.name, written(root, hidden)))
                });
            let (Some((first, hidden)), Some(set)) = (hidden, later.first()) else {
                continue;
            };
            let (name, place) = (&factor.name, written(root, place));
            let what = match hidden == place {
                true => format!("`{place}` is set by two factors: `{first}` and `{name}`"),
                false => format!("`{hidden}` of `{first}` is overwritten by `{place}` of `{name}`"),
            };
            problems.push(Problem::new(&set.at, what));
        }
    }
    problems
}

/// A problem for each factor whose column would have the name of another factor's second or third.
fn one_column(root: &Node, factors: &[Factor]) -> Vec<Problem> {
    let is_other = |name: &str| factors.iter().any(|factor| factor.name == name);
    let ambiguous = factors.iter().filter_map(|factor| {
        let name = &factor.name;
        let mut of = COLUMN_ENDS.iter().filter_map(|end| name.strip_suffix(end));
        let other = of.find(|other| is_other(other))?;
        let at = &root.nearest(&["sweep".into(), name.as_str().into()]).at;
        let what = format!("a table has the number and the unit of `{other}` in columns of their own: `{name}` would be one");
        Some(Problem::new(at, what).help("give the factor another name"))
    });
    ambiguous.collect()
}
