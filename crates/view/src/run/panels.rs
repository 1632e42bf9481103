//! Which streams a figure shows as one: the repeats of a probe and a combination of levels, and no more. What differs is never put
//! together, as a mixture hides the worst of it: of more combinations than anyone reads the worst are drawn, and of many sizes some.

use super::stream::probe_names;
use super::worst::worst_of;
use super::{Panel, RunData, RunStream, ShownDelay};
use delaylab_model::plan::{Factor, Level, Unit, compare_combinations};
use delaylab_stats::summary::Summary;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Panels that are drawn at most.
const MOST: usize = 12;
/// Panels of a single factor that are drawn at most.
const MOST_ALONE: usize = 24;
/// Sizes that have panels at most: all of them have a figure of their own.
const MOST_SIZES: usize = 4;

/// The panels of a run, and to which of them each stream belongs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    /// The factors of each panel, in order of their levels.
    pub(super) panels: Vec<Vec<Factor>>,
    /// The panel of each stream; `None`: of its size there is none.
    pub(super) panel_of: Vec<Option<usize>>,
}

/// The factor that tells a run from its measured part. A figure draws both of what it draws.
pub const RUN: &str = "run";

/// A factor and its levels, as they came.
pub type Dimension = (String, Vec<Level>);

impl Layout {
    pub(super) fn new(streams: &[RunStream], order: &[(String, Vec<Level>)]) -> Self {
        let probes = probe_names(streams).into_iter();
        let probes = ("probe".to_owned(), probes.map(Level::named).collect());
        let order = &[order, &[probes]].concat();
        let varied = dimensions(streams.iter().map(all_factors));
        let key = |stream: &RunStream| -> Vec<Factor> {
            let every = all_factors(stream);
            let varies = |(name, _): &Factor| varied.iter().any(|(known, _)| known == name);
            every.into_iter().filter(varies).collect()
        };
        let keys: Vec<_> = streams.iter().map(key).collect();
        let mut panels = keys.clone();
        panels.sort_by(|a, b| compare_combinations(a, b, order));
        panels.dedup();
        let sizes = varied.iter().filter(|(_, levels)| are_many_sizes(levels));
        let sizes: Vec<&str> = sizes.map(|(name, _)| name.as_str()).collect();
        let panels = with_few_sizes(panels, &sizes);
        let places: BTreeMap<_, usize> =
            (panels.iter().map(|panel| known_by(panel)).zip(0..)).collect();
        let place = |key: &Vec<Factor>| places.get(&known_by(key)).copied();
        Self {
            panel_of: keys.iter().map(place).collect(),
            panels,
        }
    }

    /// The streams of each panel, in their order.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        members(self.panels.len(), self.panel_of.iter().copied())
    }
}

/// Which of these are in each of so many places.
pub(super) fn members(
    count: usize,
    places: impl Iterator<Item = Option<usize>>,
) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); count];
    for (at, place) in places.enumerate() {
        if let Some(members) = place.and_then(|place| members.get_mut(place)) {
            members.push(at);
        }
    }
    members
}

/// What a combination of levels is looked up by: comparing it to each of many thousand takes too long.
pub(super) type KnownBy<'a> = Vec<(&'a str, &'a str, Option<u64>)>;

pub(super) fn known_by(factors: &[Factor]) -> KnownBy<'_> {
    let levels = factors.iter().map(|(name, level)| {
        let value = level.value.map(f64::to_bits);
        (name.as_str(), level.label.as_str(), value)
    });
    levels.collect()
}

fn are_many_sizes(levels: &[Level]) -> bool {
    levels.first().is_some_and(is_size) && levels.len() > MOST_SIZES
}

/// These panels, which are in order; of those that differ in these factors alone the first, the last and some between.
fn with_few_sizes(panels: Vec<Vec<Factor>>, sizes: &[&str]) -> Vec<Vec<Factor>> {
    if sizes.is_empty() {
        return panels;
    }
    let mut alike = BTreeMap::<Vec<(&str, &str)>, Vec<usize>>::new();
    for (at, panel) in panels.iter().enumerate() {
        let others = panel
            .iter()
            .filter(|(name, _)| !sizes.contains(&name.as_str()));
        let others = others.map(|(name, level)| (name.as_str(), level.label.as_str()));
        alike.entry(others.collect()).or_default().push(at);
    }
    let kept = alike
        .values()
        .flat_map(|alike| spread(alike.len(), MOST_SIZES).map(move |place| alike[place]));
    let mut kept: Vec<usize> = kept.collect();
    kept.sort_unstable();
    kept.into_iter().map(|at| panels[at].clone()).collect()
}

/// Places of `most` at most among `count` that are in order: the first, the last, and those evenly between.
pub fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let is_kept = move |place: &usize| {
        let evenly = |k: usize| k * (count - 1) / (most - 1).max(1);
        count <= most || (0..most).any(|k| evenly(k) == *place)
    };
    (0..count).filter(is_kept)
}

/// Which of these are drawn, each of which has a combination of levels and its summaries: all, or of more than anyone reads the
/// worst. What a run and its measured part have of one combination is drawn of both.
pub fn drawn(combinations: &[(Vec<Factor>, Vec<&Summary>)], delay: ShownDelay) -> Vec<usize> {
    // In the order in which they come, as the first of equals are drawn.
    let mut alike: Vec<Vec<usize>> = Vec::new();
    let mut known = BTreeMap::new();
    for (at, (factors, _)) in combinations.iter().enumerate() {
        let mut own = known_by(factors);
        own.retain(|(name, ..)| *name != RUN);
        let place = *known.entry(own).or_insert(alike.len());
        match alike.get_mut(place) {
            Some(places) => places.push(at),
            None => alike.push(vec![at]),
        }
    }
    let names = varied(combinations.iter().map(|(factors, _)| factors.as_slice()));
    let most = match names.into_iter().filter(|name| *name != RUN).count() {
        0 | 1 => MOST_ALONE,
        _ => MOST,
    };
    if alike.len() <= most {
        return (0..combinations.len()).collect();
    }
    let sets = alike.iter().map(|places| {
        let summaries = places.iter().flat_map(|&place| &combinations[place].1);
        summaries.copied().collect::<Vec<&Summary>>()
    });
    let worst = worst_of(&sets.collect::<Vec<_>>(), delay, most).into_iter();
    let mut drawn: Vec<usize> = worst.flat_map(|place| alike[place].clone()).collect();
    drawn.sort_unstable();
    drawn
}

impl RunData {
    /// The panels that a figure of all of them draws, in order.
    pub fn drawn_panels(&self) -> Vec<&Panel> {
        let combinations = self.panels.iter();
        let combinations = combinations.map(|panel| (panel.factors.clone(), vec![&panel.summary]));
        let places = drawn(&combinations.collect::<Vec<_>>(), self.shown_delay());
        places
            .into_iter()
            .map(|place| &self.panels[place])
            .collect()
    }

    /// Which sizes are among these levels that are drawn; `None` where all sizes have panels.
    pub fn sizes_drawn<'a>(
        &'a self,
        drawn: impl Iterator<Item = &'a [Factor]>,
    ) -> Option<SizesDrawn<'a>> {
        let all = dimensions(self.trials.iter().map(|trial| trial.stream.factors.clone()));
        let (name, levels) = all.into_iter().find(|(_, levels)| are_many_sizes(levels))?;
        let of_panels = self.panels.iter().map(|panel| panel.factors.as_slice());
        let chosen = sizes(&name, of_panels).len();
        (chosen < levels.len()).then(|| SizesDrawn {
            all: levels.len(),
            chosen,
            drawn: sizes(&name, drawn),
        })
    }
}

/// The sizes of a run of which some alone have panels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizesDrawn<'a> {
    /// How many there are.
    pub all: usize,
    /// How many have panels.
    pub chosen: usize,
    /// Those that are drawn, in order.
    pub drawn: Vec<&'a str>,
}

/// The levels of this factor, by their numbers.
fn sizes<'a>(name: &str, all: impl Iterator<Item = &'a [Factor]>) -> Vec<&'a str> {
    let mut levels: Vec<&Level> = Vec::new();
    for (_, level) in all.flatten().filter(|(known, _)| *known == name) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.sort_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(Ordering::Equal));
    levels.iter().map(|level| level.label.as_str()).collect()
}

/// Its factors, and which probe it is as one more.
pub fn all_factors(stream: &RunStream) -> Vec<Factor> {
    let probe = ("probe".to_owned(), Level::named(&stream.name));
    stream.factors.iter().cloned().chain([probe]).collect()
}

/// The factors that vary.
pub fn dimensions(all: impl Iterator<Item = Vec<Factor>>) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    let mut known = BTreeSet::new();
    for factor in all.flatten() {
        // Of thousands of levels each is compared to the others once.
        let (name, level) = &factor;
        let key = (
            name.clone(),
            level.label.clone(),
            level.value.map(f64::to_bits),
        );
        if !known.insert(key) {
            continue;
        }
        let (name, level) = factor;
        match dimensions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, levels)) => levels.push(level),
            None => dimensions.push((name, vec![level])),
        }
    }
    dimensions.retain(|(_, levels)| levels.len() > 1);
    dimensions
}

/// The names of the factors of which these have more than one level, each where its first level is.
pub fn varied<'a>(all: impl Iterator<Item = &'a [Factor]>) -> Vec<&'a str> {
    let mut firsts: Vec<(&'a str, &'a Level, bool)> = Vec::new();
    for (name, level) in all.flatten() {
        match firsts.iter_mut().find(|(known, ..)| known == name) {
            Some((_, first, varies)) => *varies |= *first != level,
            None => firsts.push((name, level, false)),
        }
    }
    let varied = firsts.into_iter().filter(|(.., varies)| *varies);
    varied.map(|(name, ..)| name).collect()
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
    use crate::samples::answered;
    use delaylab_model::Nanos;
    use delaylab_model::method::Method;
    use delaylab_model::plan::levels_in_words;
    use delaylab_model::trial::RecordFacts;
    use delaylab_stats::summary::SummaryBuilder;
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
    fn of_many_sizes_some_have_panels_under_every_condition() {
        let sizes = [40, 80, 1_000, 5_000, 7_000, 9_000];
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
        let expected = [40, 80, 5_000, 9_000].into_iter().flat_map(|bytes| {
            ["normal", "quiet"].map(|name| format!("size {bytes}B, condition {name}"))
        });
        assert_eq!(labels, expected.collect::<Vec<_>>());
        assert_eq!(
            layout.panel_of[..6],
            [1, 0, 3, 2]
                .map(Some)
                .into_iter()
                .chain([None; 2])
                .collect::<Vec<_>>()
        );
        let references: Vec<_> = every.iter().collect();
        assert_eq!(size_factor(&references).as_deref(), Some("size"));
    }

    #[test]
    fn of_more_levels_than_are_drawn_the_first_the_last_and_some_between_are() {
        let places = |count| spread(count, 8).collect::<Vec<_>>();
        assert_eq!(places(8), Vec::from_iter(0..8));
        assert_eq!(places(22), [0, 3, 6, 9, 12, 15, 18, 21]);
        assert_eq!(places(9).len(), 8);
        assert!(places(0).is_empty());
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
        assert_eq!(layout.panel_of, [2, 0, 1].map(Some));
    }

    #[test]
    fn names_stand_in_the_order_of_the_experiment() {
        let every = ["FIFO", "EFCI", "other"].map(|name| stream(0, vec![condition(name)]));
        let order = ["FIFO", "EFCI"].map(Level::named).to_vec();
        let order = [("condition".to_owned(), order)];
        assert_eq!(Layout::new(&every, &order).panel_of, [1, 2, 0].map(Some));
        assert_eq!(Layout::new(&every, &[]).panel_of, [1, 0, 2].map(Some));
    }

    /// A summary of packets that took so long.
    fn summary(delay: Nanos) -> Summary {
        let mut builder = SummaryBuilder::new(RecordFacts::default(), 1_000);
        for seq in 0..200 {
            let mut record = answered(Method::Udp, seq);
            record.t_recv = Some(record.t_intended + delay);
            builder.push(&record);
        }
        builder.finish()
    }

    /// What is drawn of these combinations, of which each takes longer than the one before.
    fn drawn_of(combinations: Vec<Vec<Factor>>) -> Vec<usize> {
        let summaries: Vec<_> = (1..)
            .take(combinations.len())
            .map(|it| summary(1_000_000 * it))
            .collect();
        let each = combinations
            .into_iter()
            .zip(summaries.iter().map(|it| vec![it]));
        drawn(&each.collect::<Vec<_>>(), ShownDelay::Response)
    }

    fn named(name: &str, level: impl ToString) -> Factor {
        (name.to_owned(), Level::named(level.to_string()))
    }

    #[test]
    fn of_many_combinations_the_worst_are_drawn_and_of_a_single_factor_more() {
        let waits = |count: u32| (0..count).map(|k| vec![named("wait", k)]).collect();
        assert_eq!(drawn_of(waits(24)), Vec::from_iter(0..24));
        assert_eq!(drawn_of(waits(30)), Vec::from_iter(6..30));
        let both = (0..30).map(|k| vec![named("wait", k / 3), named("condition", k % 3)]);
        assert_eq!(drawn_of(both.collect()), Vec::from_iter(18..30));
    }

    #[test]
    fn what_was_measured_and_what_was_simulated_are_drawn_both() {
        let both = (0..26).flat_map(|case| {
            ["sim", "measured"].map(|run| vec![named("case", case), named(RUN, run)])
        });
        assert_eq!(drawn_of(both.collect()), Vec::from_iter(4..52));
    }

    proptest! {
        #[test]
        fn every_stream_has_the_panel_of_its_levels(
            levels in prop::collection::vec((0_u8..30, 0_u8..5, 0_u8..4), 1..60),
        ) {
            let every: Vec<_> = levels.iter().map(|&(a, b, c)| {
                let named = |name: &str, level: u8| (name.to_owned(), Level::named(level.to_string()));
                stream(0, vec![named("a", a), named("b", b), named("c", c)])
            }).collect();
            let layout = Layout::new(&every, &[]);
            prop_assert_eq!(layout.panel_of.len(), every.len());
            for (a, &panel) in every.iter().zip(&layout.panel_of) {
                prop_assert!(panel.is_some());
                for (b, &other) in every.iter().zip(&layout.panel_of) {
                    prop_assert_eq!(a.factors == b.factors, panel == other);
                }
            }
        }
    }
}
