//! Which streams a figure puts together: repeats always, and the levels of a factor where showing
//! each apart would make more panels than anyone reads.

use super::stream::probe_names;
use super::{Group, RunStream};
use delaylab_model::plan::{Factor, Level, Unit, compare_combinations};

/// Panels at most.
const MOST: usize = 12;
/// Panels of a single factor at most: put together, they would be one mixture, which hides the worst of its levels.
const MOST_ALONE: usize = 24;
/// Sizes have a figure of their own, so more than this many are put together in the others.
const MOST_SIZES: usize = 4;

/// The panels of a run, and to which of them each stream belongs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    /// The factors of each panel, in order of their levels.
    pub(super) panels: Vec<Vec<Factor>>,
    /// The panel of each stream.
    pub(super) panel_of: Vec<usize>,
    /// Factors whose levels were put together.
    pub(super) pooled: Vec<String>,
}

/// The factor that tells a run from its measured part. A figure that has it shows both apart, whatever else it puts together.
pub const RUN: &str = "run";

/// A factor and its levels, as they came.
pub type Dimension = (String, Vec<Level>);

impl Layout {
    pub(super) fn new(streams: &[RunStream], order: &[(String, Vec<Level>)]) -> Self {
        let probes = probe_names(streams).into_iter();
        let probes = ("probe".to_owned(), probes.map(Level::named).collect());
        let order = &[order, &[probes]].concat();
        let (shown, pooled) = choose(dimensions(streams.iter().map(all_factors)));
        let key = |stream: &RunStream| -> Vec<Factor> {
            let every = all_factors(stream);
            let is_shown = |(name, _): &Factor| shown.iter().any(|(shown, _)| shown == name);
            every.into_iter().filter(is_shown).collect()
        };
        let keys: Vec<_> = streams.iter().map(key).collect();
        let mut panels = keys.clone();
        panels.sort_by(|a, b| compare_combinations(a, b, order));
        panels.dedup();
        let place = |key: &Vec<Factor>| panels.iter().position(|panel| panel == key);
        Self {
            panel_of: keys.iter().map(|key| place(key).unwrap_or(0)).collect(),
            panels,
            pooled,
        }
    }
}

/// Its factors, and which probe it is as one more.
pub fn all_factors(stream: &RunStream) -> Vec<Factor> {
    let probe = ("probe".to_owned(), Level::named(&stream.name));
    stream.factors.iter().cloned().chain([probe]).collect()
}

/// The factors that vary.
pub fn dimensions(all: impl Iterator<Item = Vec<Factor>>) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    for (name, level) in all.flatten() {
        match dimensions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, levels)) if levels.contains(&level) => {}
            Some((_, levels)) => levels.push(level),
            None => dimensions.push((name, vec![level])),
        }
    }
    dimensions.retain(|(_, levels)| levels.len() > 1);
    dimensions
}

/// The names of the factors of which these have more than one level.
pub fn varied<'a>(all: impl Iterator<Item = &'a [Factor]> + Clone) -> Vec<&'a str> {
    let factors = all.clone().flatten();
    let varies = |(name, level): &Factor| {
        let mut levels = all.clone().flatten().filter(|(other, _)| other == name);
        levels.any(|(_, other)| other != level)
    };
    let mut names: Vec<&str> = Vec::new();
    for factor in factors {
        if !names.contains(&factor.0.as_str()) && varies(factor) {
            names.push(&factor.0);
        }
    }
    names
}

/// The factors by which the panels of a figure that draws every probe in each are told apart, and the
/// names of those that are put together.
pub fn beside_probes(groups: &[Group]) -> (Vec<String>, Vec<String>) {
    let (shown, pooled) = choose(dimensions(groups.iter().map(|group| group.factors.clone())));
    (shown.into_iter().map(|(name, _)| name).collect(), pooled)
}

/// Those that are shown apart, and the names of those that are not.
fn choose(mut dimensions: Vec<Dimension>) -> (Vec<Dimension>, Vec<String>) {
    let mut pooled = Vec::new();
    dimensions.retain(|(name, levels)| {
        let many_sizes = is_size(&levels[0]) && levels.len() > MOST_SIZES;
        if many_sizes {
            pooled.push(name.clone());
        }
        !many_sizes
    });
    // Each panel may be there twice: of the run, and of its measured part.
    let (both, mut dimensions): (Vec<_>, Vec<_>) =
        dimensions.into_iter().partition(|(name, _)| name == RUN);
    while dimensions
        .iter()
        .map(|(_, levels)| levels.len())
        .product::<usize>()
        > most(&dimensions)
    {
        // Cases are what an experiment compares: they are put together last.
        let length = |&k: &usize| {
            let (name, levels) = &dimensions[k];
            (name != "case", levels.len())
        };
        let longest = (0..dimensions.len()).max_by_key(length);
        let Some(longest) = longest else { break };
        pooled.push(dimensions.remove(longest).0);
    }
    dimensions.extend(both);
    (dimensions, pooled)
}

const fn most(dimensions: &[Dimension]) -> usize {
    match dimensions {
        [_] => MOST_ALONE,
        _ => MOST,
    }
}

fn is_size(level: &Level) -> bool {
    level.unit == Some(Unit::Bytes)
}

/// The factor that counts bytes, with at least three levels to draw a line through.
pub fn size_factor(streams: &[&RunStream]) -> Option<String> {
    let sizes = |name: &str| {
        let levels = streams.iter().flat_map(|stream| &stream.factors);
        let of_name = levels.filter(|(n, level)| n == name && is_size(level));
        let mut values: Vec<_> = of_name.filter_map(|(_, level)| level.value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
    let names = streams.first()?.factors.iter().map(|(name, _)| name);
    names.into_iter().find(|name| sizes(name) >= 3).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::plan::levels_in_words;
    use delaylab_model::trial::RecordFacts;
    use proptest::prelude::*;

    fn size(bytes: u32) -> Factor {
        let level = Level {
            label: format!("{bytes}B"),
            value: Some(f64::from(bytes)),
            unit: Some(Unit::Bytes),
        };
        ("size".to_owned(), level)
    }

    fn stream(trial: u32, factors: Vec<Factor>) -> RunStream {
        RunStream {
            trial,
            probe: 0,
            name: "echo".to_owned(),
            frames: false,
            factors,
            steps: Vec::new(),
            to_utc: None,
            repeat: 0,
            facts: RecordFacts::default(),
            trace_hash: None,
        }
    }

    fn condition(name: &str) -> Factor {
        ("condition".to_owned(), Level::named(name))
    }

    #[test]
    fn many_sizes_are_put_together_and_named() {
        let sizes = [40, 80, 1_000, 5_000, 9_000];
        let every = sizes.iter().flat_map(|&bytes| {
            ["quiet", "normal"].map(|name| stream(bytes, vec![size(bytes), condition(name)]))
        });
        let every: Vec<_> = every.collect();
        let layout = Layout::new(&every, &[]);
        let labels: Vec<_> = layout
            .panels
            .iter()
            .map(|panel| levels_in_words(panel, None))
            .collect();
        assert_eq!(labels, ["condition normal", "condition quiet"]);
        assert_eq!(layout.pooled, ["size"]);
        assert_eq!(layout.panel_of[..4], [1, 0, 1, 0]);
        let references: Vec<_> = every.iter().collect();
        assert_eq!(size_factor(&references).as_deref(), Some("size"));
    }

    #[test]
    fn one_stream_is_one_panel_without_a_name() {
        let layout = Layout::new(&[stream(0, vec![size(64)])], &[]);
        assert_eq!(layout.panels, [vec![]]);
        assert_eq!(Layout::new(&[], &[]), Layout::default());
    }

    #[test]
    fn levels_stand_in_the_order_of_their_numbers() {
        let every = [9_000, 64, 512].map(|bytes| stream(bytes, vec![size(bytes)]));
        let layout = Layout::new(&every, &[]);
        assert_eq!(layout.panel_of, [2, 0, 1]);
    }

    #[test]
    fn names_stand_in_the_order_of_the_experiment() {
        let every = ["FIFO", "EFCI", "other"].map(|name| stream(0, vec![condition(name)]));
        let order = ["FIFO", "EFCI"].map(Level::named).to_vec();
        let order = [("condition".to_owned(), order)];
        assert_eq!(Layout::new(&every, &order).panel_of, [1, 2, 0]);
        assert_eq!(Layout::new(&every, &[]).panel_of, [1, 0, 2]);
    }

    #[test]
    fn a_single_factor_keeps_more_levels_than_two_have_together() {
        let wait = |k: u32| ("wait".to_owned(), Level::named(k.to_string()));
        let waits: Vec<_> = (0..20).map(|k| stream(k, vec![wait(k)])).collect();
        assert_eq!(Layout::new(&waits, &[]).panels.len(), 20);
        let both = |k: u32| {
            stream(
                k,
                vec![
                    wait(k / 2),
                    condition(["quiet", "normal"][(k % 2) as usize]),
                ],
            )
        };
        let layout = Layout::new(&(0..40).map(both).collect::<Vec<_>>(), &[]);
        assert_eq!(
            (layout.panels.len(), &layout.pooled[..]),
            (2, &["wait".to_owned()][..])
        );
    }

    #[test]
    fn what_was_measured_is_never_put_together_with_what_was_simulated() {
        let named = |name: &str, levels: usize| {
            let levels = (0..levels).map(|level| Level::named(level.to_string()));
            (name.to_owned(), levels.collect::<Vec<_>>())
        };
        for (others, shown) in [
            (vec![named("case", 7)], &["case", RUN][..]),
            (
                vec![named("case", 4), named("load", 2)],
                &["case", "load", RUN],
            ),
            (vec![named("case", 9), named("load", 2)], &["case", RUN]),
        ] {
            let all = others.into_iter().chain([named(RUN, 2)]);
            let (chosen, _) = choose(all.collect());
            let names = Vec::from_iter(chosen.iter().map(|(name, _)| name.as_str()));
            assert_eq!(names, shown);
        }
    }

    proptest! {
        #[test]
        fn every_stream_has_a_panel_and_there_are_not_too_many(
            levels in prop::collection::vec((0_u8..30, 0_u8..5, 0_u8..4), 1..60),
        ) {
            let every: Vec<_> = levels.iter().map(|&(a, b, c)| {
                let named = |name: &str, level: u8| (name.to_owned(), Level::named(level.to_string()));
                stream(0, vec![named("a", a), named("b", b), named("c", c)])
            }).collect();
            let layout = Layout::new(&every, &[]);
            prop_assert!(layout.panels.len() <= MOST_ALONE);
            prop_assert_eq!(layout.panel_of.len(), every.len());
            for (stream, &panel) in every.iter().zip(&layout.panel_of) {
                for factor in &layout.panels[panel] {
                    prop_assert!(stream.factors.contains(factor));
                }
            }
        }
    }
}
