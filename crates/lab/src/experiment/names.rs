//! Finds misspelt names in findings and figures: those that no world of the experiment has, in the full or the short
//! form. A name that only another world has is no error: the finding is then not applicable in this one.

use super::claims::{Use, names, wrong_slopes};
use super::combine::combinations;
use super::diagnostic::{Diagnostics, Problem};
use super::factor::factors;
use super::file::Experiment;
use super::replay_traces::ReplayTraces;
use super::resolve::Resolved;
use super::sections::{Common, Setup};
use super::tree::Node;
use crate::finding::Measure;
use crate::finding::check::{
    Beyond, Check, Claim, Each, Fit, LevelSet, LevelText, Name, NameKind, sign,
};
use crate::finding::data::{OF, PROBE, StreamInfo};
use crate::finding::judge::{dimension, known_factor, known_level, levels, selects};
use crate::suggest::choices;
use delaylab_model::experiment::WorldName;
use delaylab_model::method::Method;
use delaylab_model::plan::{Factor, Level, Planned};
use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;
use delaylab_model::words::each_once;
use std::collections::BTreeSet;

/// Returns the series that a world keeps of a trial; `None` if the world cannot honour the trial.
type Kept<'a> = &'a dyn Fn(WorldName, &Trial) -> Option<Vec<KeptSeries>>;

impl Experiment {
    /// Problems of factors, levels and probes that no world has in any form. A file that a run wrote is not checked,
    /// because only one world is left in it.
    pub(super) fn unknown_names(&self) -> Vec<Problem> {
        if self.is_resolved() {
            return Vec::new();
        }
        let forms = self.forms(&self.worlds());
        let known: Vec<StreamInfo> = forms.iter().flat_map(|(_, form)| streams(form)).collect();
        let uses = forms.iter().flat_map(|(_, form)| self.uses(form));
        let uses = uses.filter(|(_, kind)| !is_of_series(kind));
        let unknown = uses.filter_map(|name| unknown(&name, &known));
        let slopes = forms.iter().flat_map(|(_, form)| self.wrong_slopes(form));
        unknown.chain(slopes).collect()
    }

    /// Slopes that are compared with a number of another dimension.
    fn wrong_slopes(&self, form: &Node) -> Vec<Problem> {
        let sources = std::slice::from_ref(&self.source);
        let there = streams(form);
        let of_factor = |factor: &str| {
            let of = levels(factor, &there);
            let first = of.first().map(dimension)?;
            let all_alike = of.iter().all(|level| dimension(level) == first);
            all_alike.then_some(first)
        };
        let common = Common::read(form, &mut Vec::new());
        common.map_or_else(Vec::new, |common| {
            wrong_slopes(form, &common, sources, &of_factor)
        })
    }

    /// Checks that each named series, port and flow exists in this run, or in another world or form of the experiment.
    /// Asks `kept` only until all names are found. If no form can honour all its trials, a missing name is not an
    /// error, because a trial that was refused might have it.
    ///
    /// # Errors
    /// The unknown names, where they are written, with suggestions.
    pub fn unknown_series(&self, run: &Resolved, kept: Kept<'_>) -> Result<(), Diagnostics> {
        let mut worlds = self.worlds();
        worlds.retain(|world| *world != run.world);
        worlds.insert(0, run.world);
        let forms = self.forms(&worlds);
        let uses = forms.iter().flat_map(|(_, form)| self.uses(form));
        let mut search = Search {
            missing: uses.filter(|(_, kind)| is_of_series(kind)).collect(),
            known: Vec::new(),
            seen: BTreeSet::new(),
            is_whole: false,
        };
        // To make every combination of every form takes long where there are many.
        if self.is_resolved() || search.missing.is_empty() {
            return Ok(());
        }
        // This run first, with the user's choices.
        let planned = run.planned.iter().filter(|planned| planned.repeat == 0);
        search.ask(planned.map(|planned| kept(run.world, &planned.trial)));
        for (world, form) in &forms {
            let factors = factors(form, &mut Vec::new());
            // Skip a form that does not resolve: its problems are reported when it is used.
            if let Ok(trials) =
                combinations(form, &factors, ReplayTraces::default(), false, &|_| {
                    Vec::new()
                })
            {
                search.ask(trials.kept.iter().map(|(trial, _)| kept(*world, trial)));
            }
        }
        match search.problems() {
            problems if problems.is_empty() => Ok(()),
            problems => Err(Diagnostics::new(
                problems,
                std::slice::from_ref(&self.source),
            )),
        }
    }

    fn is_resolved(&self) -> bool {
        self.root.table_at("resolved").is_some()
    }

    /// The full form of each world, and its short form if there is one.
    fn forms(&self, worlds: &[WorldName]) -> Vec<(WorldName, Node)> {
        let forms = |&world: &WorldName| {
            let short = self.has_quick(world).then(|| self.base(world, true));
            let both = std::iter::once(self.base(world, false)).chain(short);
            both.map(move |form| (world, form)).collect::<Vec<_>>()
        };
        worlds.iter().flat_map(forms).collect()
    }

    /// The names used in a form. Texts that cannot be parsed are skipped: reading the file reported them.
    fn uses(&self, form: &Node) -> Vec<Use> {
        let sources = std::slice::from_ref(&self.source);
        let common = Common::read(form, &mut Vec::new());
        common.map_or_else(Vec::new, |common| names(form, &common, sources))
    }
}

/// The search for series names in the trials of all forms.
struct Search {
    missing: Vec<Use>,
    known: Vec<StreamInfo>,
    /// Those that are among `known`: of thousands of flows, each is looked up once in each trial.
    seen: BTreeSet<KeptSeries>,
    /// Whether the world can honour every trial of at least one form.
    is_whole: bool,
}

impl Search {
    /// Goes through the series of each trial of a form, until all names are found.
    fn ask(&mut self, trials: impl Iterator<Item = Option<Vec<KeptSeries>>>) {
        let mut is_whole = true;
        for kept in trials {
            is_whole &= kept.is_some();
            for series in kept.into_iter().flatten() {
                if self.seen.insert(series.clone()) {
                    self.known.extend(of_series(series));
                }
            }
            self.missing.retain(|(_, kind)| !is_kept(kind, &self.known));
            if self.missing.is_empty() {
                return;
            }
        }
        self.is_whole |= is_whole;
    }

    fn problems(&self) -> Vec<Problem> {
        let missing = self.missing.iter().filter(|_| self.is_whole);
        missing
            .filter_map(|name| unknown(name, &self.known))
            .collect()
    }
}

/// Is this the name of a series, port or flow, which only the world knows?
fn is_of_series(kind: &NameKind) -> bool {
    match kind {
        NameKind::Measure(measure) => measure.is_of_flow(),
        NameKind::Level { factor, .. } => factor == OF,
        NameKind::Factor { .. } | NameKind::Axis { .. } => false,
    }
}

/// Do these streams have the series, port or flow of this name?
fn is_kept(kind: &NameKind, known: &[StreamInfo]) -> bool {
    match kind {
        NameKind::Measure(measure) => known.iter().any(|stream| stream.can_have(*measure)),
        NameKind::Level {
            level, of, beyond, ..
        } => known_level(OF, *beyond, level, &meant(OF, *of, known)).is_ok(),
        NameKind::Factor { .. } | NameKind::Axis { .. } => true,
    }
}

/// The probes of a form, and each level of each factor, one stream for each.
fn streams(form: &Node) -> Vec<StreamInfo> {
    let setup = Setup::read(form, &mut Vec::new());
    let probes = setup.map_or_else(Vec::new, |setup| setup.probes);
    let probes = probes.into_iter().map(|probe| (probe.name, Vec::new()));
    let levels = factors(form, &mut Vec::new()).into_iter();
    let levels = levels.flat_map(|factor| {
        let name = factor.name;
        let levels = factor.levels.into_iter();
        levels.map(move |level| (String::new(), vec![(name.clone(), level.level)]))
    });
    probes.chain(levels).map(stream).collect()
}

fn stream((probe, factors): (String, Vec<Factor>)) -> StreamInfo {
    StreamInfo {
        trial: 0,
        probe,
        series: None,
        repeat: 0,
        trace_hash: None,
        seed: None,
        factors,
    }
}

fn of_series(kept: KeptSeries) -> Option<StreamInfo> {
    let measure = Measure::named(kept.series)?;
    Some(StreamInfo {
        series: Some(measure),
        ..stream((kept.of.to_string(), Vec::new()))
    })
}

/// The problem of a name that these streams lack, with a suggestion; `None` if they have it.
fn unknown((at, kind): &Use, known: &[StreamInfo]) -> Option<Problem> {
    let (message, help) = match kind {
        NameKind::Measure(measure) => no_series(*measure, known)?,
        NameKind::Factor { name, of } => of
            .and_then(|measure| misplaced(measure, name))
            .or_else(|| no_factor(name, known))?,
        NameKind::Level {
            factor,
            level,
            beyond,
            of,
        } => no_level(factor, *beyond, level, *of, known)?,
        NameKind::Axis { name, fit, levels } => (too_few(name, *fit, levels, known)?, None),
    };
    Some(Problem::new(at, message).help_if(help))
}

type Said = (String, Option<String>);

fn no_series(measure: Measure, known: &[StreamInfo]) -> Option<Said> {
    if is_kept(&NameKind::Measure(measure), known) {
        return None;
    }
    let there = known.iter().filter_map(|stream| stream.series);
    let there: BTreeSet<&str> = there.map(Measure::name).collect();
    let message = format!(
        "no world of this experiment keeps `{measure}` ({})",
        measure.about()
    );
    Some((message, choices(measure.name(), there)))
}

/// The message for factor `of` with a measure of packets, or factor `probe` with a series.
fn misplaced(measure: Measure, factor: &str) -> Option<Said> {
    let (other, owner) = match measure.is_of_flow() {
        true => (PROBE, OF),
        false => (OF, PROBE),
    };
    let message = format!("`{measure}` has no factor `{factor}`");
    (factor == other).then(|| (message, Some(format!("write `{owner}`"))))
}

fn no_factor(factor: &str, known: &[StreamInfo]) -> Option<Said> {
    if factor == OF || known_factor(factor, known).is_ok() {
        return None;
    }
    let names = known.iter().flat_map(|stream| &stream.factors);
    let names: BTreeSet<&str> = names
        .map(|(name, _)| name.as_str())
        .chain([PROBE])
        .collect();
    let message = format!("this experiment has no factor `{factor}`");
    Some((message, choices(factor, names)))
}

/// That an experiment does not have this level.
fn lacks(factor: &str, beyond: Option<Beyond>, level: &str, of: Option<Measure>) -> String {
    match (beyond, of) {
        (Some(beyond), _) => format!("`{factor}` has no level {} {level}", sign(beyond)),
        _ if factor != OF => format!("`{factor}` has no level `{level}`"),
        (_, Some(measure)) => format!("this experiment keeps no `{measure}` of `{level}`"),
        (_, None) => format!("this experiment keeps no series of `{level}`"),
    }
}

/// The message for an unknown level; `None` if the level exists, or if its factor is unknown and reported already.
fn no_level(
    factor: &str,
    beyond: Option<Beyond>,
    level: &LevelText,
    of: Option<Measure>,
    known: &[StreamInfo],
) -> Option<Said> {
    if of.is_some_and(|measure| misplaced(measure, factor).is_some()) {
        return None;
    }
    let known = meant(factor, of, known);
    let is_known = known_level(factor, beyond, level, &known).is_ok();
    if known_factor(factor, &known).is_err() || is_known {
        return None;
    }
    let mut levels = levels(factor, &known);
    levels.retain(|level| !level.label.is_empty());
    let message = lacks(factor, beyond, &level.text, of);
    Some((message, nearest(level, &levels)))
}

/// The streams among which to look for a level: for factor `of`, those that can have the measure.
fn meant(factor: &str, of: Option<Measure>, known: &[StreamInfo]) -> Vec<StreamInfo> {
    let of = of.filter(|_| factor == OF);
    let is_meant = |stream: &&StreamInfo| of.is_none_or(|measure| stream.can_have(measure));
    known.iter().filter(is_meant).cloned().collect()
}

/// A suggestion for a level: the nearest quantity of the same dimension, or else the most similar name.
fn nearest(written: &LevelText, levels: &[Level]) -> Option<String> {
    let number = written.number.as_ref();
    let distances = levels.iter().filter_map(|level| {
        let number = number.filter(|number| number.dimension == dimension(level))?;
        Some(((level.value? - number.value).abs(), level))
    });
    match distances.min_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((_, level)) => Some(format!("the nearest level is `{level}`")),
        None => choices(
            &written.text,
            levels.iter().map(|level| level.label.as_str()),
        ),
    }
}

/// Why no run has a fit on these levels of a factor; `None` if one has, or if the factor or a level is unknown and reported
/// already.
fn too_few(factor: &str, fit: Fit, chosen: &[LevelSet], known: &[StreamInfo]) -> Option<String> {
    let mut all = levels(factor, known);
    all.retain(|level| chosen.iter().all(|set| selects(set, level)));
    // A level that is no number may be another world's.
    let numbers = all.iter().filter(|level| level.value.is_some()).cloned();
    let numbers: Vec<Level> = numbers.collect();
    let levels = if numbers.is_empty() { all } else { numbers };
    // So may one of another unit be.
    let units = each_once(levels.iter().map(dimension));
    let why = units.iter().map(|unit| {
        let alike = levels.iter().filter(|level| dimension(level) == *unit);
        fit.unfit(factor, &alike.cloned().collect::<Vec<_>>())
    });
    first_of_all(why)
}

/// The first reason, where there is one each time.
fn first_of_all(mut reasons: impl Iterator<Item = Option<String>>) -> Option<String> {
    let first = reasons.next()??;
    reasons.all(|reason| reason.is_some()).then_some(first)
}

/// Why a check cannot apply to the trials of a run, as a clause; `None` if they have its factors and levels, and if the world
/// keeps the series that it names. Of claims that are joined by `or`, one that can be judged is enough.
pub fn not_applicable(check: &Check, run: &Resolved, kept: Kept<'_>) -> Option<String> {
    let lacks = |names: Vec<Name>| {
        let kinds: Vec<NameKind> = names.into_iter().map(|name| name.kind).collect();
        without_level(&kinds, &run.planned)
            .or_else(|| without_method(&kinds, &run.planned))
            .or_else(|| without_series(kinds, run, kept))
    };
    // Most checks lack nothing: that is seen in one look at all trials.
    lacks(check.names())?;
    let of_each = lacks(check.each.iter().flat_map(Each::names).collect());
    of_each.or_else(|| claim_lacks(&check.claim, &lacks))
}

fn claim_lacks(claim: &Claim, lacks: &dyn Fn(Vec<Name>) -> Option<String>) -> Option<String> {
    match claim {
        Claim::Any(claims) => first_of_all(claims.iter().map(|claim| claim_lacks(claim, lacks))),
        Claim::All(claims) => claims.iter().find_map(|claim| claim_lacks(claim, lacks)),
        Claim::Not(claim) => claim_lacks(claim, lacks),
        Claim::Compare(_) => lacks(claim.names()),
    }
}

fn without_level(names: &[NameKind], planned: &[Planned]) -> Option<String> {
    let streams = planned.iter().flat_map(|planned| {
        let probes = planned.trial.probes.iter();
        probes.map(|probe| stream((probe.name.clone(), planned.factors.clone())))
    });
    let streams: Vec<StreamInfo> = streams.collect();
    names.iter().find_map(|name| match name {
        NameKind::Factor { name, .. } if name != OF => known_factor(name, &streams).err(),
        NameKind::Level {
            factor,
            level,
            beyond,
            ..
        } if factor != OF => known_level(factor, *beyond, level, &streams).err(),
        NameKind::Axis { name, fit, levels } => too_few(name, *fit, levels, &streams),
        _ => None,
    })
}

/// That no probe is of a method that has a measure.
fn without_method(names: &[NameKind], planned: &[Planned]) -> Option<String> {
    let probes = planned.iter().flat_map(|planned| &planned.trial.probes);
    let methods = each_once(probes.map(|probe| probe.method));
    let lacking = names.iter().find_map(|name| match name {
        NameKind::Measure(measure) => {
            let may_have = |method: &Method| measure.may_be_of(*method);
            (!methods.iter().any(may_have)).then_some(measure)
        }
        _ => None,
    })?;
    Some(format!(
        "no probe of this run is of a method that has {lacking} ({})",
        lacking.about()
    ))
}

/// Whether reading the clock costs its simulated hosts something.
fn reads_clock(planned: &Planned) -> bool {
    let mut hosts = planned.trial.path.host_costs();
    hosts.any(|costs| costs.with_noise().clock_read.is_some())
}

/// Of a trial that the world cannot honour, it is not known which series it would have: then none is missing.
fn without_series(names: Vec<NameKind>, run: &Resolved, kept: Kept<'_>) -> Option<String> {
    let needs_clock = names.contains(&NameKind::Measure(Measure::ClockReads));
    if run.world == WorldName::Sim && needs_clock && !run.planned.iter().any(reads_clock) {
        let what = "its hosts read no clock: give them a `clock_read`, or `noise = \"linux\"`";
        return Some(what.to_owned());
    }
    let mut missing: Vec<NameKind> = names.into_iter().filter(is_of_series).collect();
    let (mut known, mut seen) = (Vec::new(), BTreeSet::new());
    let mut trials = run.planned.iter().filter(|planned| planned.repeat == 0);
    while let (false, Some(planned)) = (missing.is_empty(), trials.next()) {
        for series in kept(run.world, &planned.trial)? {
            if seen.insert(series.clone()) {
                known.extend(of_series(series));
            }
        }
        missing.retain(|kind| !is_kept(kind, &known));
    }
    match missing.first()? {
        NameKind::Measure(measure) => Some(format!(
            "the world `{}` keeps no {measure} ({})",
            run.world,
            measure.about()
        )),
        NameKind::Level {
            level, of, beyond, ..
        } => known_level(OF, *beyond, level, &meant(OF, *of, &known)).err(),
        _ => None,
    }
}
