//! Names in findings that no world of the experiment knows, in either form: slips of the pen. What only another world
//! has is none: the finding is not applicable there.

use super::claims::{findings, key, within};
use super::diagnostic::{Diagnostics, Problem};
use super::factor::factors;
use super::read::Experiment;
use super::sections::{Common, Setup};
use super::suggest::choices;
use super::tree::Node;
use crate::finding::Check;
use crate::finding::check::{NameKind, Span};
use crate::finding::data::{OF, PROBE, StreamInfo};
use crate::finding::judge::{known_factor, known_level};
use delaylab_model::plan::{Factor, Planned};

impl Experiment {
    /// Factors and levels of findings that are in no world and in neither form, with the nearest that are. A file that a
    /// run wrote has one world alone, and is not judged by it.
    ///
    /// # Errors
    /// These names, where they are written.
    pub fn unknown_names(&self) -> Result<(), Diagnostics> {
        if self.root.table_at("resolved").is_some() {
            return Ok(());
        }
        let mut forms = Vec::new();
        for world in self.worlds() {
            forms.push(self.base(world, false));
            if self.has_quick() {
                forms.push(self.base(world, true));
            }
        }
        let known: Vec<StreamInfo> = forms.iter().flat_map(streams).collect();
        let problems = forms.iter().flat_map(|form| self.unknown_in(form, &known));
        let problems: Vec<Problem> = problems.collect();
        if problems.is_empty() {
            return Ok(());
        }
        let sources = std::slice::from_ref(&self.source);
        Err(Diagnostics::new(problems, sources))
    }

    fn unknown_in(&self, form: &Node, known: &[StreamInfo]) -> Vec<Problem> {
        let sources = std::slice::from_ref(&self.source);
        // What cannot be read was said when the file was.
        let ignored = &mut Vec::new();
        let Some(common) = Common::read(form, ignored) else {
            return Vec::new();
        };
        let mut problems = Vec::new();
        for (finding, node) in findings(form, &common, sources, ignored) {
            for (span, message, help) in unknown(&finding.check, known) {
                let span = span.start..span.end;
                let at = within(key(node, "check"), &finding.text, span, sources);
                let problem = Problem::new(&at, message);
                problems.push(help.into_iter().fold(problem, Problem::help));
            }
        }
        problems
    }
}

/// Every factor of a form with all its levels, and its probes.
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
        factors,
    }
}

/// The names of a check that these streams do not have: where, what is wrong, and what was meant.
fn unknown(check: &Check, known: &[StreamInfo]) -> Vec<(Span, String, Option<String>)> {
    let mut unknown = Vec::new();
    for name in check.names() {
        // Ports and flows are known when the run is.
        let NameKind::Factor {
            name: factor,
            levels,
        } = name.kind
        else {
            continue;
        };
        if factor == OF {
            continue;
        }
        if known_factor(&factor, known).is_err() {
            let mut names: Vec<&str> = known
                .iter()
                .flat_map(|stream| &stream.factors)
                .map(|(name, _)| name.as_str())
                .collect();
            names.push(PROBE);
            names.sort_unstable();
            names.dedup();
            let message = format!("this experiment has no factor `{factor}`");
            unknown.push((name.span, message, choices(&factor, names)));
            continue;
        }
        for level in levels {
            if known_level(&factor, &level, known).is_err() {
                let labels = known.iter().filter_map(|stream| stream.level(&factor));
                let mut labels: Vec<String> = labels.map(|level| level.label).collect();
                labels.retain(|label| !label.is_empty());
                labels.sort_unstable();
                labels.dedup();
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                let message = format!("`{factor}` has no level `{}`", level.text);
                unknown.push((name.span, message, choices(&level.text, labels)));
            }
        }
    }
    unknown
}

/// Why a check does not apply to trials like these, in a clause; `None` where it may.
pub fn not_applicable(check: &Check, planned: &[Planned]) -> Option<String> {
    let streams = planned.iter().flat_map(|planned| {
        let probes = planned.trial.probes.iter();
        probes.map(|probe| stream((probe.name.clone(), planned.factors.clone())))
    });
    let streams: Vec<StreamInfo> = streams.collect();
    check.names().into_iter().find_map(|name| match name.kind {
        NameKind::Factor { name, levels } if name != OF => {
            let mut levels = levels.iter();
            let known = known_factor(&name, &streams);
            known
                .and_then(|()| levels.try_for_each(|level| known_level(&name, level, &streams)))
                .err()
        }
        _ => None,
    })
}
