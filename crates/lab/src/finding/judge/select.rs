//! Selects the streams from which a statistic is computed.

use crate::finding::check::{
    Beyond, Each, LevelSet, LevelText, Name, Number, ParseError, Selector, Span, of_selectors,
    selectors, sign,
};
use crate::finding::data::{OF, PROBE, StreamInfo};
use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;
use crate::finding::verdict::FixedLevel;
use delaylab_model::plan::Level;
use delaylab_model::words::each_once;

/// A conjunction of selectors on the levels of factors.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    selectors: Vec<Selector>,
}

impl Selection {
    /// Parses selectors as written after the `|` of a statistic: `wait=1ms, condition in [quiet, normal]`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let selectors = selectors(text)?;
        Ok(Self { selectors })
    }

    /// Every factor and level that the selectors name.
    pub(crate) fn names(&self) -> Vec<Name> {
        of_selectors(&self.selectors, None)
    }

    /// Selects exactly these levels.
    pub fn at(levels: &[FixedLevel]) -> Self {
        let exactly = |level: &FixedLevel| exactly(&level.factor, &level.level);
        Self {
            selectors: levels.iter().map(exactly).collect(),
        }
    }

    /// The `inner` selectors, and those of this selection whose factors `inner` does not name.
    #[must_use]
    pub fn within(&self, inner: &[Selector]) -> Self {
        let named = |factor: &str| inner.iter().any(|selector| selector.factor == factor);
        let outer = self.selectors.iter().filter(|outer| !named(&outer.factor));
        Self {
            selectors: inner.iter().chain(outer).cloned().collect(),
        }
    }

    /// This selection, narrowed to one level of a factor.
    pub(super) fn and(&self, factor: &str, level: &Level) -> Self {
        let mut selectors = self.selectors.clone();
        selectors.push(exactly(factor, &level.label));
        Self { selectors }
    }

    pub(super) fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// Indices of the selected streams that can have this measure; an error, a clause, if there are none.
    pub(super) fn streams_of(
        &self,
        measure: Measure,
        streams: &[StreamInfo],
    ) -> Result<Vec<usize>, String> {
        let can_have = |index: &usize| streams[*index].can_have(measure);
        let known: Vec<usize> = (0..streams.len()).filter(can_have).collect();
        if known.is_empty() {
            return Err(format!("this run kept no {measure} ({})", measure.about()));
        }
        let own: Vec<StreamInfo> = known.iter().map(|&index| streams[index].clone()).collect();
        let chosen = self.streams(&own);
        let chosen = chosen.map_err(|why| self.lacked(measure, &own, streams).unwrap_or(why))?;
        Ok(chosen.into_iter().map(|index| known[index]).collect())
    }

    /// What of it selects trials, and not streams within them.
    fn of_trials(&self) -> Self {
        let is_of_trials = |it: &&Selector| ![PROBE, OF].contains(&it.factor.as_str());
        let selectors = self.selectors.iter().filter(is_of_trials);
        Self {
            selectors: selectors.cloned().collect(),
        }
    }

    /// That trials with these levels are there, and have no stream of the measure; `None` where it is not for that.
    fn lacked(
        &self,
        measure: Measure,
        own: &[StreamInfo],
        streams: &[StreamInfo],
    ) -> Option<String> {
        let of_trials = self.of_trials();
        let is_lacked = |selection: &&Self| {
            let mut selectors = selection.selectors.iter();
            selectors.all(|it| known_factor(&it.factor, own).is_ok())
                && selection.streams(own).is_err()
                && selection.streams(streams).is_ok()
        };
        let lacked = [self, &of_trials].into_iter().find(is_lacked)?;
        Some(format!(
            "no trial with {} has {measure} ({})",
            lacked.words(),
            measure.about()
        ))
    }

    /// Indices of the selected streams; an error, a clause, if there are none.
    pub fn streams(&self, streams: &[StreamInfo]) -> Result<Vec<usize>, String> {
        for selector in &self.selectors {
            known_factor(&selector.factor, streams)?;
            for (beyond, level) in selector.which.named() {
                known_level(&selector.factor, beyond, &level, streams)?;
            }
        }
        let chosen: Vec<usize> = (0..streams.len())
            .filter(|&index| self.selectors.iter().all(|s| holds(s, &streams[index])))
            .collect();
        if chosen.is_empty() {
            return Err(format!("no trial of this run has {}", self.words()));
        }
        Ok(chosen)
    }

    fn words(&self) -> String {
        let each: Vec<String> = self.selectors.iter().map(Selector::to_string).collect();
        match each.is_empty() {
            true => "any packets".to_owned(),
            false => each.join(" and "),
        }
    }
}

fn exactly(factor: &str, label: &str) -> Selector {
    Selector {
        factor: factor.to_owned(),
        which: LevelSet::In(vec![LevelText::named(label)]),
        span: Span::default(),
    }
}

fn holds(selector: &Selector, stream: &StreamInfo) -> bool {
    let level = stream.level(&selector.factor);
    level.is_some_and(|level| selects(&selector.which, &level))
}

/// Is the level in this set?
pub(crate) fn selects(set: &LevelSet, level: &Level) -> bool {
    match set {
        LevelSet::In(levels) => levels.iter().any(|text| is(text, level)),
        LevelSet::Not(text) => !is(text, level),
        LevelSet::Is(beyond, number) => is_beyond(*beyond, number, level),
    }
}

/// Does the text mean this level, as written or as a quantity? `1ms` equals `1000us`.
fn is(text: &LevelText, level: &Level) -> bool {
    let number = text.number.as_ref();
    text.text == level.label
        || number.is_some_and(|number| {
            let value = comparable(number, level);
            value.is_some_and(|value| (number.value - value).abs() <= 1e-9 * value.abs())
        })
}

/// Is the level on this side of the number?
fn is_beyond(beyond: Beyond, number: &Number, level: &Level) -> bool {
    comparable(number, level).is_some_and(|value| beyond.holds(value, number.value))
}

/// The level's value where the number counts the same. Zero needs no unit.
fn comparable(number: &Number, level: &Level) -> Option<f64> {
    let alike = number.value == 0.0 || dimension(level) == number.dimension;
    level.value.filter(|_| alike)
}

/// Dimension of a level's value.
pub(crate) fn dimension(level: &Level) -> Dimension {
    level.unit.map_or(Dimension::NUMBER, Dimension::from)
}

pub(crate) fn known_factor(factor: &str, streams: &[StreamInfo]) -> Result<(), String> {
    match streams.iter().any(|stream| stream.level(factor).is_some()) {
        true => Ok(()),
        false => Err(format!("this run has no factor `{factor}`")),
    }
}

/// An error, a clause, if no stream has this level of the factor, or one on this side of it.
pub(crate) fn known_level(
    factor: &str,
    beyond: Option<Beyond>,
    text: &LevelText,
    streams: &[StreamInfo],
) -> Result<(), String> {
    let levels = levels(factor, streams);
    let is_meant = |level: &Level| match (beyond, &text.number) {
        (Some(beyond), Some(number)) => is_beyond(beyond, number, level),
        _ => is(text, level),
    };
    if levels.iter().any(is_meant) {
        return Ok(());
    }
    let relation = beyond.map_or("=".to_owned(), |beyond| format!(" {} ", sign(beyond)));
    Err(format!(
        "no trial of this run has {factor}{relation}{text} (it has {})",
        a_few(&levels)
    ))
}

/// Up to four levels by name, or three and how many others: a clause that stays readable with forty levels.
fn a_few(levels: &[Level]) -> String {
    const ALL: usize = 4;
    let shown = if levels.len() > ALL { ALL - 1 } else { ALL };
    let names: Vec<String> = (levels.iter().take(shown))
        .map(|level| match level.label.contains(',') {
            true => format!("'{}'", level.label),
            false => level.label.clone(),
        })
        .collect();
    let names = names.join(", ");
    match levels.len().saturating_sub(shown) {
        0 => names,
        others => format!("{names} and {others} others"),
    }
}

/// The levels of a factor: by size if all are quantities, else in the order of the streams.
pub(crate) fn levels(factor: &str, streams: &[StreamInfo]) -> Vec<Level> {
    let mut levels = each_once(streams.iter().filter_map(|stream| stream.level(factor)));
    if levels.iter().all(|level| level.value.is_some()) {
        levels.sort_by(|a, b| {
            a.value
                .partial_cmp(&b.value)
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    levels
}

/// These levels and one more.
fn and(before: &[FixedLevel], factor: &Each, level: &Level) -> Vec<FixedLevel> {
    let mut fixed = before.to_vec();
    fixed.push(FixedLevel {
        factor: factor.factor.clone(),
        level: level.label.clone(),
    });
    fixed
}

/// The combinations of `for each` levels that the run has; without `for each`, one empty combination.
/// An error, a clause, if the run lacks a named factor, a named level or every combination.
pub(super) fn fixed_levels(
    each: &[Each],
    streams: &[StreamInfo],
) -> Result<Vec<Vec<FixedLevel>>, String> {
    let mut all: Vec<Vec<FixedLevel>> = vec![Vec::new()];
    for factor in each {
        let levels = chosen_levels(factor, streams)?;
        all = (all.iter())
            .flat_map(|before| levels.iter().map(move |level| and(before, factor, level)))
            .collect();
    }
    all.retain(|fixed| Selection::at(fixed).streams(streams).is_ok());
    match all.is_empty() {
        true => Err("no trial of this run has these levels together".to_owned()),
        false => Ok(all),
    }
}

fn chosen_levels(each: &Each, streams: &[StreamInfo]) -> Result<Vec<Level>, String> {
    known_factor(&each.factor, streams)?;
    let mut wanted = each.levels.iter();
    wanted.try_for_each(|text| known_level(&each.factor, None, text, streams))?;
    let mut levels = levels(&each.factor, streams);
    if !each.levels.is_empty() {
        levels.retain(|level| each.levels.iter().any(|text| is(text, level)));
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_levels_are_named_in_part() {
        let named = |count: usize| {
            let level = |at: usize| Level {
                label: format!("{at}, {at}"),
                value: None,
                unit: None,
            };
            a_few(&(0..count).map(level).collect::<Vec<_>>())
        };
        assert_eq!(named(1), "'0, 0'");
        assert_eq!(named(4), "'0, 0', '1, 1', '2, 2', '3, 3'");
        assert_eq!(named(5), "'0, 0', '1, 1', '2, 2' and 2 others");
    }
}
