//! Steps of delay against size in a comparison: their width if there are any, or else whether steps of the claimed
//! width would have been found.
//!
//! A claim of steps is false, not only undecided, if steps of that width would have been found in at least 95 of 100
//! simulated runs with the same sizes and noise. The simulated steps make up the whole slope, or, if delay rises by
//! less, they are as high as on an ATM line of 155.52 Mbit/s.

use crate::finding::check::{Beyond, Relation};
use crate::finding::dimension::Dimension;
use crate::finding::verdict::Verdict;
use delaylab_model::units::format_duration_f64;
use delaylab_stats::comparison::{Replicates, Resampling};
use delaylab_stats::steps::{
    self, Detection, Doubt, Jump, Point, Power, Settings, Verdict as Found, detect_cells,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Looks for steps in delay (ns) against size (bytes). Sizes without a delay are left out.
pub(super) fn detection(sizes: &[f64], delays: &[f64], seed: u64) -> Detection {
    let pairs = sizes.iter().zip(delays);
    let points = pairs.filter(|(_, delay)| delay.is_finite());
    let points = points.map(|(&size, &delay_ns)| Point {
        size: size as u32,
        delay_ns,
    });
    detect_cells(&points.collect::<Vec<_>>(), &settings(seed))
}

fn settings(seed: u64) -> Settings {
    Settings {
        seed,
        ..Settings::default()
    }
}

/// Width of the steps, bytes; `None` if there are none.
pub(super) fn width(detection: &Detection) -> Option<f64> {
    match &detection.verdict {
        Found::Steps(steps) => Some(f64::from(steps.width)),
        _ => None,
    }
}

/// The width of the steps with its resamples; `None` if there are none.
pub(super) fn replicates(detection: &Detection, resampling: &Resampling) -> Option<Replicates> {
    let Found::Steps(found) = &detection.verdict else {
        return None;
    };
    // A draw is a range of widths that fit equally well: use both ends.
    let draws = found.width_draws.iter();
    let draws: Vec<f64> = draws
        .flat_map(|&(least, most)| [f64::from(least), f64::from(most)])
        .collect();
    Some(resampling.drawn_from(f64::from(found.width), &draws, 0))
}

/// Describes the detection, in a clause.
pub(super) fn says(detection: &Detection) -> String {
    let what = match &detection.verdict {
        Found::Steps(found) => format!(
            "steps of {} B, {} high{}, {}, better than a line by a BIC of {:.0}",
            found.width,
            format_duration_f64(found.step_ns),
            unlike(found),
            overhead(found),
            found.delta_bic
        ),
        Found::Line(line) => format!(
            "delay rises in a line of {}, without steps",
            Dimension::TIME.per(Dimension::SIZE).format(line.slope)
        ),
        Found::Constant(_) => "delay does not rise with size".to_owned(),
        Found::CannotTell(doubt @ Doubt::FewSizes { .. }) => return doubt.to_string(),
        Found::CannotTell(doubt) => doubt.to_string(),
    };
    let sizes = detection.sizes.len();
    let jump = detection.jump.as_ref().map_or(String::new(), left_out);
    format!("{what} ({sizes} sizes{jump})")
}

/// Which sizes are left out because of a jump.
fn left_out(jump: &Jump) -> String {
    format!(
        "; the {} sizes from {} B on, beyond a jump of {}, are left out",
        jump.sizes,
        jump.at,
        format_duration_f64(jump.height_ns)
    )
}

/// Describes the range of unequal step heights, and a separate jump.
fn unlike(found: &steps::Steps) -> String {
    let uneven = found.uneven.map(|uneven| {
        let [least, most] = [uneven.least_ns, uneven.most_ns].map(format_duration_f64);
        format!(" on average ({least} to {most})")
    });
    let jump = found.jump.map(|jump| {
        let height = format_duration_f64(jump.height_ns);
        format!(" with a jump of {height} at {} B", jump.at)
    });
    uneven.into_iter().chain(jump).collect()
}

fn overhead(found: &steps::Steps) -> String {
    let (low, high) = found.overhead_interval;
    format!(
        "beginning as if {} B were added to each packet (95 %: {low} to {high})",
        found.overhead
    )
}

/// Verdict and reason of a claim about the width of steps if none were found. `right`: the claimed width, bytes.
pub(super) fn absent(detection: &Detection, relation: &Relation, right: f64) -> (Verdict, String) {
    let says = says(detection);
    let Some(widths) = claimed(relation, right, &detection.widths) else {
        let looked = &detection.widths;
        let (least, most) = (looked.start(), looked.end());
        let only = format!("only steps of {least} B to {most} B are looked for");
        return (Verdict::Undecided, format!("{says}; {only}"));
    };
    // A hundred runs are simulated for each.
    let powers: Option<Vec<Power>> = BTreeSet::from([*widths.start(), *widths.end()])
        .into_iter()
        .map(|width| detection.power(width, &settings(0)))
        .collect();
    let weakest = powers.and_then(|powers| powers.into_iter().min_by_key(|power| power.found));
    match weakest {
        None => (Verdict::Undecided, says),
        Some(power) if !power.is_enough() => {
            (Verdict::Undecided, format!("{says}; {}", missing(&power)))
        }
        Some(power) => {
            let seen = format!(
                "steps of {} B, {} high, would have been found in {} of 100 such runs",
                power.width,
                format_duration_f64(power.step_ns),
                power.found
            );
            (Verdict::False, format!("{says}; {seen}"))
        }
    }
}

fn missing(power: &Power) -> String {
    let found = format!(
        "steps of {} B, {} high, are found in {} of 100 such runs",
        power.width,
        format_duration_f64(power.step_ns),
        power.found
    );
    match power.times_as_many() {
        Some(times) => {
            let times = times.max(2);
            format!("{found}; about {times} times as many packets would settle it")
        }
        None => format!("{found}; more sizes would settle it, four to each step or more"),
    }
}

/// The widths for which a relation is true, among those searched (`looked`); `None` if there are none.
fn claimed(
    relation: &Relation,
    right: f64,
    looked: &RangeInclusive<u32>,
) -> Option<RangeInclusive<u32>> {
    let (low, high) = match relation {
        Relation::Is(Beyond::Less) => (0.0, right.ceil() - 1.0),
        Relation::Is(Beyond::AtMost) => (0.0, right),
        Relation::Is(Beyond::More) => (right.floor() + 1.0, f64::INFINITY),
        Relation::Is(Beyond::AtLeast) => (right, f64::INFINITY),
        Relation::About { within, relative } => {
            let away = within.value * if *relative { right } else { 1.0 };
            (right - away, right + away)
        }
    };
    let low = low.ceil().max(f64::from(*looked.start())) as u32;
    let high = high.floor().min(f64::from(*looked.end())) as u32;
    (low <= high).then_some(low..=high)
}
