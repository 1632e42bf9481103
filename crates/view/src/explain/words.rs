//! Ways, effects and changes in words, the same on a terminal and on a page.

use crate::run::{Evidence, words};
use crate::words::{or_unknown, plural, short_percent};
use delaylab_explain::causes::changes::{Change, Changes, Scope};
use delaylab_explain::causes::effects::Shift;
use delaylab_explain::causes::slow::{Against, Combination};
use delaylab_explain::causes::ways::{Clocks, OneWay};
use delaylab_explain::causes::{Cause, Explanation};
use delaylab_model::units::{
    format_duration, format_duration_f64, format_signed_duration, format_signed_share,
};
use delaylab_stats::comparison::Bounds;

/// What it says, the gravest first: what was lost, what changed, what is slow, what else was lost, what else became of packets, what is late.
pub fn answers(found: &Explanation) -> impl Iterator<Item = String> {
    let [first, second] = found.delay_and_loss(found.slow_answer(), found.some_lost_answer());
    let answers = [
        found.lost_answer(),
        found.changed_answer(),
        first,
        second,
        found.irregular_answer(),
        found.late_answer(),
    ];
    answers.into_iter().filter(|answer| !answer.is_empty())
}

/// How much longer a condition takes than what it is held against, and what that is; `None` where it is not slow.
pub fn longer_than(condition: &Combination) -> Option<[String; 2]> {
    let than = match &condition.against {
        Against::Combination(label) => label.clone(),
        Against::MinDelay => "the minimum delay of the path".to_owned(),
        Against::Run(label) if label.is_empty() => "the baseline".to_owned(),
        Against::Run(label) => format!("the baseline's {label}"),
    };
    let slow = condition.is_slow();
    slow.then(|| [format_duration_f64(condition.longer_ns().round()), than])
}

/// Where a condition spends most of what it takes longer; of one that is not slow, of all that it takes.
pub fn main(condition: &Combination) -> String {
    let main = condition.main();
    main.map_or_else(String::new, |main| main.component.name())
}

/// How much of the response that is.
pub fn share_of_main(condition: &Combination) -> String {
    let main = condition.main();
    main.map_or_else(String::new, |main| {
        short_percent(condition.in_component(&main.component) / condition.usual_ns)
    })
}

/// Of which packets a condition's mean response is.
pub const MEAN_RESPONSE: &str = "mean response: of packets that were not late";

/// `9 in 1 event`.
pub fn in_events(cause: &Cause) -> String {
    match (cause.packets, cause.events) {
        (packets, events) if events == packets => packets.to_string(),
        (packets, events) => format!("{packets} in {}", plural(events, "event")),
    }
}

/// What late packets are, where the run's own load delayed some of them.
pub const WITH_OWN_LOAD: &str =
    "late packets include those that the run's own load delayed, as the condition asks";

/// What the run's own load did to packets, a line for each process.
pub fn asked_for_lines(found: &Explanation) -> Vec<String> {
    let lines = found.run_load_causes().map(|cause| {
        let each = format_duration_f64(cause.excess_ns / cause.packets.max(1) as f64);
        let events = match cause.events {
            events if events == cause.packets => String::new(),
            events => format!(" in {}", plural(events, "event")),
        };
        format!(
            "{}: {}{events}, by {each} on average, {} at worst (trial {}, packet {})",
            cause.headline(),
            plural(cause.packets, "late packet"),
            format_duration_f64(cause.worst.excess_ns),
            cause.worst.trial,
            cause.worst.seq
        )
    });
    lines.collect()
}

/// `echo, forward`.
pub fn way_name(way: &OneWay) -> String {
    let direction = way.direction.name();
    match way.levels() {
        levels if levels.is_empty() => format!("{}, {direction}", way.probe),
        levels => format!("{}, {direction}, {levels}", way.probe),
    }
}

/// How the clocks at its ends compare; skew is taken out.
pub fn clocks(way: &OneWay) -> String {
    match way.clocks {
        Clocks::One => "one clock".to_owned(),
        Clocks::Synchronised(error) => format!("within {}", format_duration(error)),
        Clocks::Skewed(ppm, (low, high)) => {
            let half = (high - low) / 2.0;
            format!("skew {ppm:+.2} ±{half:.2} ppm")
        }
    }
}

/// By how much a level shifts the response.
pub fn difference(shift: &Shift) -> String {
    let finite = shift.difference_ns.filter(|ns| ns.is_finite());
    or_unknown(finite, format_signed_duration)
}

/// Between which two differences that lies, with 95 % confidence.
pub fn interval(shift: &Shift) -> String {
    match &shift.interval {
        Ok(bounds) if bounds.low == bounds.high => "(no variation)".to_owned(),
        Ok(bounds) => interval_behind(shift.difference_ns.unwrap_or(bounds.high), bounds),
        Err(none) => format!("(no interval: {})", none.in_short),
    }
}

/// `(−45.7 to −43.9)` behind a difference that has the unit.
fn interval_behind(difference: f64, bounds: &Bounds) -> String {
    let evidence = Evidence {
        value: Some(difference),
        low: Some(bounds.low),
        high: Some(bounds.high),
        unit: "ns".to_owned(),
        ..Evidence::default()
    };
    let ends = words::interval_behind(&evidence);
    ends.map_or_else(String::new, |ends| format!("({ends})"))
}

/// What of changes would have been seen, in a sentence; `None` where nothing was looked at.
pub fn visible(changes: &Changes) -> Option<String> {
    let visible = changes.visible?;
    let none = if changes.found.is_empty() {
        "none was found; "
    } else {
        ""
    };
    let less = match visible.share {
        share if share >= 1.0 => format!("by a factor of less than {}", two_digits(1.0 + share)),
        share => format!("of less than {} %", two_digits(share * 100.0)),
    };
    Some(format!(
        "{none}a change {less}, or that lasts fewer than {} packets, may have been missed",
        visible.packets
    ))
}

/// Rounded up to two digits: no less than that was looked for.
fn two_digits(value: f64) -> String {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    let decimals = (-unit.log10()).max(0.0).round() as usize;
    format!("{:.decimals$}", (value / unit).ceil() * unit)
}

/// A change in a sentence.
pub fn sentence(change: &Change) -> String {
    let by = format_signed_share(change.after / change.before - 1.0);
    // Of a level that never varies there is nothing between the ends.
    let interval = match change.relative {
        Some((low, high)) if high - low > 1e-9 => {
            let [low, high] = [low, high].map(format_signed_share);
            format!("; 95 %: {} to {high}", low.trim_end_matches(" %"))
        }
        _ => String::new(),
    };
    let stages = change.stages;
    let stages = stages.map_or_else(String::new, |stages| format!(", in {stages}"));
    match &change.scope {
        Scope::Within {
            trial,
            probe,
            after,
        } => format!(
            "trial {trial}{}, after {}: the median response goes from {} to {} ({by}{interval}){stages}",
            of_probe(probe),
            format_duration(*after),
            format_duration_f64(change.before),
            format_duration_f64(change.after),
        ),
        Scope::Between { trial } => format!(
            "from trial {trial} on, the median response of a trial changes by {by}{}, whatever its \
             levels{stages}",
            match interval.trim_start_matches("; ") {
                "" => String::new(),
                interval => format!(" ({interval})"),
            }
        ),
    }
}

/// `, echo`; nothing of a probe without a name, as other tools have.
fn of_probe(probe: &str) -> String {
    match probe {
        "" => String::new(),
        probe => format!(", {probe}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_stats::anatomy::Stage;

    #[test]
    fn a_change_has_no_empty_name_and_no_interval_without_a_width() {
        let mut change = Change {
            scope: Scope::Within {
                trial: 0,
                probe: String::new(),
                after: 10_000_000_000,
            },
            before: 10e6,
            after: 12e6,
            relative: Some((0.2, 0.2)),
            stages: None,
        };
        let step = "trial 0, after 10.0 s: the median response goes from 10.0 ms to 12.0 ms";
        assert_eq!(sentence(&change), format!("{step} (+20 %)"));
        change.relative = None;
        assert_eq!(sentence(&change), format!("{step} (+20 %)"));
        change.relative = Some((0.15, 0.25));
        assert_eq!(
            sentence(&change),
            format!("{step} (+20 %; 95 %: +15 to +25 %)")
        );
        (change.after, change.relative) = (9.88e6, Some((-0.021, -0.003)));
        let small = sentence(&change);
        let says = "from 10.0 ms to 9.88 ms (−1.2 %; 95 %: −2.1 to −0.30 %)";
        assert!(small.ends_with(says), "{small}");
        (change.after, change.relative) = (12e6, Some((0.15, 0.25)));
        change.stages = Some(Stage::ForwardPath.into());
        change.scope = Scope::Between { trial: 3 };
        assert_eq!(
            sentence(&change),
            "from trial 3 on, the median response of a trial changes by +20 % (95 %: +15 to +25 %), whatever its levels, \
             in forward path"
        );
    }
}
