//! Turns combinations of levels into trials, and collects the problems that prevent it.

use super::address;
use super::diagnostic::{Origin, Problem};
use super::exclusive::exclusive;
use super::factor::{CASE, Factor, FactorLevel};
use super::probe::probe;
use super::replay_traces::ReplayTraces;
use super::sections::Setup;
use super::tree::{Key, Node};
use delaylab_model::plan::Factor as Level;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use std::collections::BTreeMap;

/// Stop after this many problems: one mistake causes a problem in every combination.
const MOST_PROBLEMS: usize = 200;

/// A trial without its number and seed, and the levels from which it was made.
pub(super) type Combination = (Trial, Vec<Level>);

/// A case that the world cannot honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedCase {
    /// Name of the case.
    pub case: String,
    /// The fields that the world refused, with reasons.
    pub refusals: Vec<Refusal>,
}

impl SkippedCase {
    /// Each refusal as a user reads it.
    pub fn why(&self) -> Vec<String> {
        self.refusals.iter().map(Refusal::to_string).collect()
    }
}

#[derive(Default)]
pub(super) struct Trials {
    pub kept: Vec<Combination>,
    pub skipped: Vec<SkippedCase>,
    /// The digest of each file whose packets a load replays.
    pub traces: BTreeMap<String, String>,
}

/// Makes a trial of each combination of levels. Cases that the world cannot honour are left out.
pub(super) fn combinations(
    root: &Node,
    factors: &[Factor],
    traces: ReplayTraces,
    v6: bool,
    refusals: &dyn Fn(&Trial) -> Vec<Refusal>,
) -> Result<Trials, Vec<Problem>> {
    let mut maker = Maker {
        root,
        v6,
        refusals,
        traces,
        problems: Vec::new(),
        skipped: Vec::new(),
    };
    let mut kept = Vec::new();
    for levels in product(factors) {
        if maker.problems.len() >= MOST_PROBLEMS {
            break;
        }
        if let Some(trial) = maker.make(factors, &levels) {
            let named = factors.iter().zip(&levels);
            let levels = named.map(|(factor, level)| (factor.name.clone(), level.level.clone()));
            kept.push((trial, levels.collect::<Vec<_>>()));
        }
    }
    // A case that is refused with any level of the other factors is left out completely.
    kept.retain(|(_, levels)| !maker.is_skipped(levels));
    if kept.is_empty() && maker.problems.is_empty() {
        maker.problems.push(nothing_left(root, &maker.skipped));
    }
    if !maker.problems.is_empty() {
        return Err(maker.problems);
    }
    Ok(Trials {
        kept,
        skipped: maker.skipped,
        traces: maker.traces.into_digests(),
    })
}

fn nothing_left(root: &Node, skipped: &[SkippedCase]) -> Problem {
    let problem = Problem::new(&root.at, "the world can honour none of the cases");
    let refusal = skipped.iter().flat_map(|case| &case.refusals).next();
    let help = refusal.map(|refusal| refusal.to_string());
    problem.help_if(help)
}

/// Every combination of levels; the last factor changes fastest.
fn product(factors: &[Factor]) -> impl Iterator<Item = Vec<&FactorLevel>> {
    let total: usize = factors.iter().map(|factor| factor.levels.len()).product();
    (0..total).map(move |mut number| {
        let mut levels: Vec<_> = factors
            .iter()
            .rev()
            .map(|factor| {
                let level = &factor.levels[number % factor.levels.len()];
                number /= factor.levels.len();
                level
            })
            .collect();
        levels.reverse();
        levels
    })
}

/// Makes trials of combinations; collects problems and skipped cases.
struct Maker<'a> {
    root: &'a Node,
    v6: bool,
    refusals: &'a dyn Fn(&Trial) -> Vec<Refusal>,
    traces: ReplayTraces,
    problems: Vec<Problem>,
    skipped: Vec<SkippedCase>,
}

/// A combination with its tree, its trial if one can be made, the world's refusals, and problems.
struct Attempt {
    root: Node,
    trial: Option<Trial>,
    refusals: Vec<Refusal>,
    problems: Vec<Problem>,
}

impl Maker<'_> {
    fn make(&mut self, factors: &[Factor], levels: &[&FactorLevel]) -> Option<Trial> {
        let tried = self.attempt(levels);
        if !tried.problems.is_empty() {
            self.problems.extend(tried.problems);
            return None;
        }
        if tried.refusals.is_empty() {
            return tried.trial;
        }
        match factors.first() {
            Some(factor) if factor.name == CASE => self.explain_refusals(levels, tried),
            _ => self.refuse(&tried.root, &tried.refusals),
        }
        None
    }

    /// Splits the refusals: those that remain without the case are problems, the others skip the case.
    fn explain_refusals(&mut self, levels: &[&FactorLevel], tried: Attempt) {
        let Some((case, others)) = levels.split_first() else {
            return;
        };
        let without = self.attempt(others).refusals;
        let (common, own): (Vec<_>, Vec<_>) = tried
            .refusals
            .into_iter()
            .partition(|refusal| without.iter().any(|other| other.field == refusal.field));
        self.refuse(&tried.root, &common);
        if !own.is_empty() {
            self.skip(&case.level.label, own);
        }
    }

    fn skip(&mut self, case: &str, refusals: Vec<Refusal>) {
        let index = match self.skipped.iter().position(|skipped| skipped.case == case) {
            Some(index) => index,
            None => {
                self.skipped.push(SkippedCase {
                    case: case.to_owned(),
                    refusals: Vec::new(),
                });
                self.skipped.len() - 1
            }
        };
        let listed = &mut self.skipped[index].refusals;
        for refusal in refusals {
            if !listed.contains(&refusal) {
                listed.push(refusal);
            }
        }
    }

    fn is_skipped(&self, levels: &[Level]) -> bool {
        let case = levels.first().filter(|(name, _)| name == CASE);
        case.is_some_and(|(_, level)| self.skipped.iter().any(|s| s.case == level.label))
    }

    fn refuse(&mut self, root: &Node, refusals: &[Refusal]) {
        for refusal in refusals {
            let problem = missing_section(root, &refusal.field).unwrap_or_else(|| {
                Problem::new(
                    &place_of(root, &refusal.field),
                    format!("`{}` cannot be honoured here", refusal.field),
                )
            });
            self.problems.push(problem.help(refusal.why()));
        }
    }

    fn attempt(&mut self, levels: &[&FactorLevel]) -> Attempt {
        let mut tried = Attempt {
            root: self.root.clone(),
            trial: None,
            refusals: Vec::new(),
            problems: Vec::new(),
        };
        for level in levels {
            if let Err(problem) = level.apply(&mut tried.root) {
                tried.problems.push(problem);
                return tried;
            }
        }
        let setup = Setup::read(&tried.root, &mut tried.problems);
        if let (Some(setup), true) = (setup, tried.problems.is_empty()) {
            self.build(setup, &mut tried);
        }
        tried
    }

    fn build(&mut self, setup: Setup, tried: &mut Attempt) {
        let mut probes = Vec::new();
        if setup.probes.is_empty() {
            let problem = Problem::new(&tried.root.at, "an experiment without a probe");
            tried.problems.push(problem.help("write [[probe]]"));
        }
        for load in &setup.loads {
            if load
                .stagger_to
                .is_some_and(|to| to < load.stagger.unwrap_or_default())
            {
                let place = place_of(&tried.root, &format!("load.{}.stagger_to", load.name));
                let what = "a random stagger is from `stagger` to `stagger_to`, and this is less";
                tried.problems.push(Problem::new(&place, what));
            }
        }
        for (index, section) in setup.probes.iter().enumerate() {
            match probe(section, &setup.path, self.v6) {
                Ok(probe) => probes.push(probe),
                Err(refusal) => tried.problems.push(in_probe(&tried.root, index, refusal)),
            }
        }
        if !tried.problems.is_empty() || !tried.refusals.is_empty() {
            return;
        }
        let mut trial = Trial {
            id: 0,
            target: None,
            probes,
            loads: setup.loads,
            path: setup.path,
            host: setup.host.condition,
            seed: 0,
        };
        let unread = self.traces.load(&mut trial.loads);
        let refused = (self.refusals)(&trial).into_iter();
        // The world also refuses a replay without a trace: keep only our reason, why the file cannot be read.
        let refused = refused.filter(|refusal| unread.iter().all(|it| it.field != refusal.field));
        tried.refusals = refused.collect();
        tried.refusals.extend(unread);
        tried.trial = Some(trial);
    }
}

fn in_probe(root: &Node, index: usize, refusal: Refusal) -> Problem {
    let mut place = vec!["probe".into(), Key::Index(index)];
    let names = refusal.field.split('.');
    place.extend(names.map(Key::from));
    Problem::from_refusal(&root.nearest(&place).at, refusal)
}

/// The problem of a refused field of `[path]` in a file without that section: the section is missing. Its place is
/// the end of the file, where the section can be added.
fn missing_section(root: &Node, field: &str) -> Option<Problem> {
    const WORLDS_OWN: &str = "path";
    let table = root.table()?;
    let is_missing = field.split('.').next() == Some(WORLDS_OWN) && table.get(WORLDS_OWN).is_none();
    let end = Origin {
        source: root.at.source,
        span: usize::MAX..usize::MAX,
    };
    is_missing.then(|| Problem::new(&end, format!("`[{WORLDS_OWN}]` is missing")))
}

/// Where a field that the world refused is written, or the nearest place above it.
fn place_of(root: &Node, field: &str) -> Origin {
    let places = address::expand(root, field, &root.at).unwrap_or_default();
    let Some(place) = places.first() else {
        return root.at.clone();
    };
    let Some((Key::Name(last), above)) = place.split_last() else {
        return root.nearest(place).at.clone();
    };
    let here = root.nearest(above);
    let field = |key: &str| here.get(&key.into());
    let written = field(last).or_else(|| exclusive(above, last).find_map(field));
    written.unwrap_or(here).at.clone()
}
