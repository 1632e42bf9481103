//! Resolves an experiment: overlays the user's choices on the file and makes the trials of the run.

use super::choices::Choices;
use super::claims::{findings, unread, wrong_figures};
use super::combine::{Combination, SkippedCase, combinations};
use super::diagnostic::{Diagnostics, Origin, Problem, Source};
use super::estimate::{Estimate, estimate};
use super::factor::{Factor, factors, hidden_factors};
use super::file::Experiment;
use super::frame_probe::draw;
use super::order::{draw_staggers, seed_of_repeat};
use super::replay_traces::ReplayTraces;
use super::sections::{Common, Header};
use super::set::{Set, apply_sets, hidden_sets};
use super::stop::Precision;
use super::tree::{Key, Node, Value, name_of};
use super::write;
use crate::finding::{Finding, Judged};
#[cfg(feature = "runs")]
use crate::procedure;
use crate::suggest::choices;
use delaylab_model::bench::ProcedureSection;
use delaylab_model::experiment::{Design, FigureSection, Order, WorldName};
use delaylab_model::method::Method;
use delaylab_model::plan::{Level, Planned, Remaining};
use delaylab_model::refusal::Refusal;
use delaylab_model::request::{HttpRequest, Request};
use delaylab_model::trial::Trial;
use delaylab_stats::random::SplitMix;
use std::collections::BTreeMap;

/// Without `runs` no procedure is known.
#[cfg(not(feature = "runs"))]
mod procedure {
    use super::{Planned, ProcedureSection, Remaining};

    pub(super) fn first_trials(
        _: &ProcedureSection,
        _: &[Planned],
    ) -> Result<Vec<Planned>, (&'static str, String)> {
        Ok(Vec::new())
    }

    pub(super) fn expected(_: &ProcedureSection, _: &[Planned]) -> Option<Remaining> {
        None
    }
}

/// Limit on the trials of a run. A design with more is a typing mistake.
const MOST_TRIALS: u64 = 100_000;

/// An experiment with all choices of one run applied.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Name of the experiment; the name of the run's folder is made from it.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// Longer description.
    pub about: String,
    /// The world in which it runs.
    pub world: WorldName,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Whether this is the short form.
    pub quick: bool,
    /// The resolved experiment as TOML. It resolves to the same trials without any choices.
    pub toml: String,
    /// The factors and their levels, in the order of the design.
    pub factors: Vec<(String, Vec<Level>)>,
    /// The trials, in the order in which they run. With a stop rule, the maximum number of repeats.
    pub planned: Vec<Planned>,
    /// Whether that order is interleaved at random.
    pub order: Order,
    /// When to stop repeating.
    pub stop: Option<Precision>,
    /// The device benchmark that chooses its own trials; the first of `planned` is then their pattern.
    pub procedure: Option<ProcedureSection>,
    /// Cases that the world cannot honour.
    pub skipped: Vec<SkippedCase>,
    /// The findings to judge.
    pub findings: Vec<Finding>,
    /// Those of a run's file that this version cannot judge, and why; none of any other file.
    pub unread: Vec<Judged>,
    /// Figures to draw of parts of the run.
    pub figures: Vec<FigureSection>,
    /// The folder of the measured run that figures show next to this one.
    pub measured: Option<String>,
    /// `path.target`, or what the user chose instead.
    pub target: Option<String>,
}

/// How much an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// See [`Resolved::expected_trials`].
    pub trials: usize,
    /// See [`Resolved::estimate`].
    pub length: Estimate,
}

/// What an experiment says but for its trials, read and found to be right.
struct Checked {
    header: Header,
    common: Common,
    factors: Vec<Factor>,
    findings: Vec<Finding>,
    unread: Vec<Judged>,
    stop: Option<Precision>,
}

impl Resolved {
    /// How many trials there are: with a stop rule at most, with a procedure as many as it expects.
    pub fn expected_trials(&self) -> usize {
        self.extent().trials
    }

    /// What its procedure would carry out with a device that loses nothing; `None` where there is none, or it cannot begin.
    pub fn expected_of_procedure(&self) -> Option<Remaining> {
        procedure::expected(self.procedure.as_ref()?, &self.planned)
    }

    /// The trials that its procedure carries out whatever the device does: the first of each frame size. None where there is
    /// no procedure.
    ///
    /// # Errors
    /// Why it cannot begin or carry them out; with the field of `[design.procedure]` that says so, empty for all of it.
    pub fn first_of_procedure(&self) -> Result<Vec<Planned>, (&'static str, String)> {
        let section = self.procedure.as_ref();
        section.map_or(Ok(Vec::new()), |section| {
            procedure::first_trials(section, &self.planned)
        })
    }

    /// How long all trials take one after the other, according to their schedules; those of a procedure as many as it expects.
    pub fn estimate(&self) -> Estimate {
        self.extent().length
    }

    /// Both together: of a procedure, either takes all that it would do.
    pub fn extent(&self) -> Extent {
        match self.expected_of_procedure() {
            Some(expected) => Extent {
                trials: expected.trials,
                length: Estimate::of_time(expected.expected),
            },
            None => Extent {
                trials: self.planned.len(),
                length: self.scheduled(),
            },
        }
    }

    fn scheduled(&self) -> Estimate {
        // In virtual time a load needs no time to grow before the first packet.
        let lead = |trial: &Trial| match self.world {
            WorldName::Sim => 0,
            WorldName::Live | WorldName::Testbed => trial.lead(),
        };
        let trials = self.planned.iter().map(|planned| &planned.trial);
        trials.fold(Estimate::default(), |sum, trial| {
            sum.then(Estimate::of_time(lead(trial)))
                .then(estimate(trial))
        })
    }
}

impl Experiment {
    /// Resolves the experiment to the trials of a run. `refusals` returns the fields of a trial that the world
    /// cannot honour.
    pub fn resolve(
        &self,
        choices: &Choices,
        refusals: &dyn Fn(&Trial) -> Vec<Refusal>,
    ) -> Result<Resolved, Diagnostics> {
        let mut sources = vec![self.source.clone()];
        self.resolve_with(choices, refusals, &mut sources)
            .and_then(|resolved| self.with_trials_that_fit(resolved, refusals))
            .map_err(|problems| Diagnostics::new(problems, &sources))
    }

    /// This, unless its procedure would begin with trials that cannot be carried out. What was recorded was carried out.
    fn with_trials_that_fit(
        &self,
        resolved: Resolved,
        refusals: &dyn Fn(&Trial) -> Vec<Refusal>,
    ) -> Result<Resolved, Vec<Problem>> {
        if self.recorded {
            return Ok(resolved);
        }
        let problem = |field, why| Problem::new(&design_at(&self.root, &["procedure", field]), why);
        let first = resolved.first_of_procedure();
        let first = first.map_err(|(field, why)| vec![problem(field, why)])?;
        // A procedure sends other frames and loads than the trial that is its pattern.
        let mut refused = first.iter().flat_map(|planned| refusals(&planned.trial));
        match refused.next() {
            None => Ok(resolved),
            Some(refusal) => {
                let what = format!(
                    "the procedure cannot begin: `{}` of its trials cannot be honoured here",
                    refusal.field
                );
                Err(vec![problem("", what).help(refusal.why())])
            }
        }
    }

    /// The problem of a short form that was chosen and is not there.
    fn has_chosen_form(&self, world: WorldName, choices: &Choices) -> Result<(), Problem> {
        if !choices.quick || self.has_quick(world) {
            return Ok(());
        }
        let name = world.name();
        let what = format!("this experiment has no short form in world {name}");
        let problem = Problem::new(&name_at(&self.root), what);
        Err(problem.help("leave --quick out, or add a section [quick]"))
    }

    /// Reads what the tree says of the experiment as a whole: all that is wrong with it, or all of it.
    fn checked(&self, root: &Node, set: &Set, sources: &[Source]) -> Result<Checked, Vec<Problem>> {
        let mut problems = Vec::new();
        let header = Header::read(root, &mut problems);
        let common = Common::read(root, &mut problems);
        let factors = factors(root, &mut problems);
        // What was recorded was carried out so.
        if !self.recorded {
            problems.extend(hidden_factors(root, &factors));
        }
        problems.extend(hidden_sets(root, set, &factors));
        let (Some(header), Some(common)) = (header, common) else {
            return Err(problems);
        };
        let mut misspelt = Vec::new();
        let findings = findings(root, &common, sources, &mut misspelt);
        let findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
        let unread = match self.recorded {
            true => unread(&common),
            false => {
                problems.extend(misspelt);
                Vec::new()
            }
        };
        problems.extend(wrong_figures(root, &common, sources));
        let design = &common.design;
        let stop = stop(root, design, &mut problems);
        problems.extend(impossible_designs(root, design, &factors));
        if !self.recorded {
            problems.extend(repeated_procedure(root, design));
            problems.extend(probes_beside_a_procedure(root, design));
        }
        problems.extend(too_many(root, &factors, design));
        match problems.is_empty() {
            true => Ok(Checked {
                header,
                common,
                factors,
                findings,
                unread,
                stop,
            }),
            false => Err(problems),
        }
    }

    fn resolve_with(
        &self,
        choices: &Choices,
        refusals: &dyn Fn(&Trial) -> Vec<Refusal>,
        sources: &mut Vec<Source>,
    ) -> Result<Resolved, Vec<Problem>> {
        let world = self.world_of(choices);
        self.has_chosen_form(world, choices)
            .map_err(|problem| vec![problem])?;
        let mut root = self.base(world, choices.quick);
        let set = apply_sets(&mut root, choices, sources)?;
        let checked = self.checked(&root, &set, sources)?;
        let (header, common) = (checked.header, checked.common);
        let seed = seed(&root, &header, world, choices).map_err(|problem| vec![problem])?;
        let quick = choices.quick || header.resolved.quick;
        settle(&mut root, world, seed, quick, choices).map_err(|problem| vec![problem])?;
        // A new run has whatever they hold now.
        let traces = match self.recorded {
            true => ReplayTraces::recorded(&header.resolved.traces),
            false => ReplayTraces::default(),
        };
        let trials = combinations(&root, &checked.factors, traces, choices.v6, refusals)?;
        note_traces(&mut root, &trials.traces).map_err(|problem| vec![problem])?;
        let planned = in_order(&trials.kept, &common.design, seed.unsigned_abs());
        let target = target(&root);
        // What was recorded went where it went.
        let aimed = self.recorded || target.is_some() || world != WorldName::Live;
        let hosts = || several_hosts(&root, &trials.kept).filter(|_| !aimed);
        if let Some(problem) = endless_among_others(&root, &planned).or_else(hosts) {
            return Err(vec![problem]);
        }
        Ok(Resolved {
            name: header.name,
            title: header.title,
            about: header.about,
            world,
            seed: seed.unsigned_abs(),
            quick,
            toml: root.table().map(write::document).unwrap_or_default(),
            factors: checked.factors.into_iter().map(named_levels).collect(),
            order: common.design.order,
            stop: checked.stop,
            procedure: common.design.procedure,
            skipped: trials.skipped,
            findings: checked.findings,
            unread: checked.unread,
            figures: common.figures,
            measured: choices.measured.clone().or(common.measured.run),
            target: target.or_else(|| host_of_requests(&trials.kept)),
            planned,
        })
    }
}

/// The problem of a trial that never ends by itself in a run with other trials, which would never begin.
fn endless_among_others(root: &Node, planned: &[Planned]) -> Option<Problem> {
    let endless = planned.iter().any(|planned| planned.trial.is_endless());
    let others = planned.len().saturating_sub(1);
    (endless && others > 0).then(|| {
        let what = format!(
            "a probe continues until the run is stopped, and {others} other trials wait for it"
        );
        let help = "give it a `count` or a `duration` in place of `until_stopped`";
        Problem::new(&name_at(root), what).help(help)
    })
}

/// The factor's name and its levels, without what they set.
fn named_levels(factor: Factor) -> (String, Vec<Level>) {
    let levels = factor.levels.into_iter().map(|level| level.level);
    (factor.name, levels.collect())
}

fn name_at(root: &Node) -> Origin {
    root.nearest(&["name".into()]).at.clone()
}

/// The seed: the user's, else the file's, else the world's default. At most `i64::MAX`, the largest TOML integer.
fn seed(root: &Node, header: &Header, world: WorldName, choices: &Choices) -> Result<i64, Problem> {
    let otherwise = match world {
        WorldName::Sim => 1,
        WorldName::Live | WorldName::Testbed => choices.drawn_seed >> 1,
    };
    let seed = choices.seed.or(header.seed).unwrap_or(otherwise);
    i64::try_from(seed).map_err(|_| {
        let problem = Problem::new(&name_at(root), format!("the seed {seed} is too large"));
        problem.help("a seed is at most 2⁶³ − 1")
    })
}

/// Writes the choices into the tree, so that the resolved file needs none of them.
fn settle(
    root: &mut Node,
    world: WorldName,
    seed: i64,
    quick: bool,
    choices: &Choices,
) -> Result<(), Problem> {
    let at = name_at(root);
    let mut put = |path: &[&str], value| {
        let place: Vec<Key> = path.iter().copied().map(Key::from).collect();
        let at = at.clone();
        root.set(&place, &at.clone(), Node { value, at })
    };
    put(&["world"], Value::Text(world.name().to_owned()))?;
    put(&["seed"], Value::Integer(seed))?;
    // Section `resolved` marks a file that a run wrote: it has only one world.
    put(&["resolved", "quick"], Value::Boolean(quick))?;
    if let Some(measured) = &choices.measured {
        put(&["measured", "run"], Value::Text(measured.clone()))?;
    }
    if let Some(target) = &choices.target {
        put(&["path", "target"], Value::Text(target.clone()))?;
    }
    Ok(())
}

/// Writes what the files of replays hold: another process that carries out a part of the run has to have the same.
fn note_traces(root: &mut Node, digests: &BTreeMap<String, String>) -> Result<(), Problem> {
    let at = name_at(root);
    for (file, digest) in digests {
        let place = ["resolved", "traces", file].map(Key::from);
        let value = Value::Text(digest.clone());
        root.set(
            &place,
            &at,
            Node {
                value,
                at: at.clone(),
            },
        )?;
    }
    Ok(())
}

fn target(root: &Node) -> Option<String> {
    let path = root.table_at("path")?;
    path.text("target").map(str::to_owned)
}

/// The requests by HTTP of all trials, and the index of their probe.
fn http_requests(kept: &[Combination]) -> impl Iterator<Item = (usize, &HttpRequest)> {
    let probes = kept
        .iter()
        .flat_map(|(trial, _)| trial.probes.iter().enumerate());
    probes.filter_map(|(index, probe)| match &probe.request {
        Some(Request::Http(http)) => Some((index, http)),
        _ => None,
    })
}

/// The host of the first URL that is asked for; of the first that no connection resolves anew, if there is one.
fn host_of_requests(kept: &[Combination]) -> Option<String> {
    let mut hosts = http_requests(kept).map(|(_, http)| http);
    let first = hosts.next()?;
    let fixed = std::iter::once(first)
        .chain(hosts)
        .find(|http| !http.resolves);
    Some(fixed.unwrap_or(first).url.host.clone())
}

/// The problem of URLs at several hosts in a run without a target: all would be asked of one of them.
fn several_hosts(root: &Node, kept: &[Combination]) -> Option<Problem> {
    let mut fixed = http_requests(kept).filter(|(_, http)| !http.resolves);
    let (_, first) = fixed.next()?;
    let (index, other) = fixed.find(|(_, http)| http.url.host != first.url.host)?;
    let place = ["probe".into(), Key::Index(index), "url".into()];
    let (one, two) = (&first.url.host, &other.url.host);
    let what = format!("the requests of a run go to one host, and these to `{one}` and `{two}`");
    let help = "run the experiment once for each host, or give each probe `fresh = true`";
    Some(Problem::new(&root.nearest(&place).at, what).help(help))
}

/// Where a field of `[design]` is written, or the nearest place above it.
fn design_at(root: &Node, fields: &[&str]) -> Origin {
    let place = std::iter::once("design").chain(fields.iter().copied());
    let place: Vec<Key> = place.map(Key::from).collect();
    root.nearest(&place).at.clone()
}

/// Parses the stop rule, if the design has one.
fn stop(root: &Node, design: &Design, problems: &mut Vec<Problem>) -> Option<Precision> {
    let rule = design.stop.as_ref()?;
    let least = design.repeats.max(2);
    if rule.at_most < least {
        let at = design_at(root, &["stop", "at_most"]);
        let what = format!("at least {least} repeats are needed before any can be the last");
        problems.push(Problem::new(&at, what).help("raise `at_most`"));
    }
    let at = design_at(root, &["stop", "of"]);
    let read = Precision::read(rule, design.repeats);
    let stop = read.map_err(|why| problems.push(Problem::new(&at, why)));
    let stop = stop.ok()?;
    let probes = root.get(&"probe".into()).and_then(Node::array);
    let probes: Vec<_> = probes.into_iter().flatten().filter_map(name_of).collect();
    if let Some(unknown) = stop.probe().filter(|probe| !probes.contains(probe)) {
        let problem = Problem::new(&at, format!("no probe is called `{unknown}`"));
        problems.push(problem.help_if(choices(unknown, probes)));
    }
    Some(stop)
}

/// The problem of repeats beside a procedure, which would have no effect.
fn repeated_procedure(root: &Node, design: &Design) -> Option<Problem> {
    let is_repeated = design.procedure.is_some() && design.repeats > 1;
    is_repeated.then(|| {
        let what = "a procedure is carried out once";
        let problem = Problem::new(&design_at(root, &["repeats"]), what);
        problem.help("what it repeats itself is `design.procedure.repeats`")
    })
}

/// Largest number of repeats of each combination.
fn repeats(design: &Design) -> u32 {
    let stop = design.stop.as_ref();
    stop.map_or(design.repeats, |rule| rule.at_most)
}

/// Problems of a design that contradicts itself.
fn impossible_designs(root: &Node, design: &Design, factors: &[Factor]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if design.procedure.is_some() && (design.stop.is_some() || !factors.is_empty()) {
        let what = "a procedure chooses its trials itself: nothing else can be varied";
        let problem = Problem::new(&design_at(root, &["procedure"]), what);
        problems.push(problem.help("leave sweep, cases and the stop rule out"));
    }
    problems.extend(drawn_for_a_procedure(root, design));
    if design.repeats == 0 {
        let problem = Problem::new(&design_at(root, &["repeats"]), "no repeats are no trials");
        problems.push(problem.help("1 is once"));
    }
    problems
}

/// The problem of a probe with `phase` or `clock_tolerance` in a procedure, which sets all frame times itself.
fn drawn_for_a_procedure(root: &Node, design: &Design) -> Option<Problem> {
    design.procedure.as_ref()?;
    let probes = root.get(&"probe".into())?.array()?;
    let drawn = |probe: &Node| {
        let key = |name: &str| Some(probe.get(&name.into())?.at.clone());
        key("phase").or_else(|| key("clock_tolerance"))
    };
    let what = "a procedure says itself when its frames are due";
    let problem = Problem::new(&probes.iter().find_map(drawn)?, what);
    Some(problem.help("leave `phase` and `clock_tolerance` out"))
}

/// The problems of probes that send no frames, of which a procedure knows nothing.
fn probes_beside_a_procedure(root: &Node, design: &Design) -> Vec<Problem> {
    let probes = root.get(&"probe".into()).and_then(Node::array);
    let probes = probes.filter(|_| design.procedure.is_some());
    let methods = probes
        .into_iter()
        .flatten()
        .filter_map(|probe| probe.get(&"method".into()));
    let others = methods.filter(
        |method| !matches!(&method.value, Value::Text(text) if text == Method::Frame.name()),
    );
    let problem = |method: &Node| {
        let problem = Problem::new(&method.at, "a procedure sends frames alone");
        problem.help("leave this probe out: what it would send is no part of any trial")
    };
    others.map(problem).collect()
}

fn too_many(root: &Node, factors: &[Factor], design: &Design) -> Option<Problem> {
    let trials = factors
        .iter()
        .map(|factor| factor.levels.len() as u64)
        .fold(u64::from(repeats(design)), u64::saturating_mul);
    (trials > MOST_TRIALS).then(|| {
        let problem = Problem::new(
            &design_at(root, &["repeats"]),
            format!("{trials} trials: at most {MOST_TRIALS} make a run"),
        );
        problem.help("fewer levels, fewer factors or fewer `repeats`")
    })
}

/// A combination's trial with this number and seed, and what is drawn by them.
fn drawn(trial: &Trial, id: u32, seed: u64) -> Trial {
    let mut trial = trial.clone();
    (trial.id, trial.seed) = (id, seed);
    draw(&mut trial);
    draw_staggers(&mut trial);
    trial
}

/// The numbered trials of all repeats, in the order in which they run.
fn in_order(combinations: &[Combination], design: &Design, seed: u64) -> Vec<Planned> {
    let mut random = SplitMix::new(seed);
    let mut planned = Vec::new();
    for repeat in 0..repeats(design) {
        let mut order: Vec<_> = (0..combinations.len()).collect();
        if design.order == Order::Interleaved {
            random.shuffle(&mut order);
        }
        for index in order {
            let (trial, levels) = &combinations[index];
            let id = planned.len() as u32;
            planned.push(Planned {
                trial: drawn(trial, id, seed_of_repeat(seed, repeat)),
                factors: levels.clone(),
                repeat,
            });
        }
    }
    planned
}
