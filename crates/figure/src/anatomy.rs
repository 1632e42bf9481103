//! Where the time goes: what each stage takes of the median, of p99 and of the largest response, as the responses around
//! it divide on average. Each of the three has an axis of its own, or the largest would hide what the usual packet meets. Where one
//! combination takes far longer than another, all bars are as long as each other: they show shares, as the terminal's do.

use super::{Figure, LETTER, Table, WIDTH, axis, drawn_note, labels, parse, silent_note};
use delaylab_model::units::format_share;
use delaylab_model::words::each_once;
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::summary::AnatomyAt;
use delaylab_view::run::{Panel, RunData};
use delaylab_view::words::short_name;
use serde_json::{Value, json};

pub(super) struct Anatomy;

/// The quantiles that are drawn, in order.
const DRAWN: [&str; 3] = ["p50", "p99", "max"];
const QUANTILE: usize = 1;
const RESPONSE: usize = 6;
/// Beside a response that is longer than another at its quantile by this factor the other one would be a stroke.
const FAR: f64 = 20.0;
/// Pixels beside the bars for the response behind each.
const BESIDE: usize = 70;
/// Pixels of a panel's name at most. Without a browser widths are guessed, by half too much.
const NAMES: usize = 300;

const COLUMNS: &str =
    "panel quantile stage order mean_ns share response_ns packets share_text length end";

impl Figure for Anatomy {
    fn about(&self, run: &RunData) -> String {
        let drawn = drawn_note(run);
        let colours = colours_note(run);
        let silent = silent_note(run);
        let axis = match are_far_apart(run) {
            true => "Bars are shares, as some responses are far longer than others.",
            false => "Each quantile has its own axis.",
        };
        format!(
            "What each stage takes of the response at each quantile, in the order of the packet's way: the responses around it divide so on average. At the right, that response. {axis}{colours}{drawn}{silent}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let are_shares = are_far_apart(run);
        for (panel, at) in bars(run) {
            rows(&mut table, &panel.label, at, are_shares);
        }
        table
    }

    fn spec(&self, run: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/anatomy.json"));
        let stages = stages(run);
        let names: Vec<_> = stages.iter().map(|&set| short_name(set)).collect();
        let colours = colours(&stages);
        spec["spec"]["layer"][0]["encoding"]["color"]["scale"] =
            json!({ "domain": names, "range": colours });
        let x = &mut spec["spec"]["layer"][0]["encoding"]["x"];
        match are_far_apart(run) {
            true => {
                x["title"] = json!("Share of the response");
                x["axis"]["format"] = json!("~%");
                x["scale"]["domain"] = json!([0, 1]);
            }
            false => axis::unit(x, table.largest_by(QUANTILE, RESPONSE)),
        }
        spec["facet"]["row"]["sort"] = json!(DRAWN);
        let labels = labels(&run.drawn_panels());
        let axis = &mut spec["spec"]["encoding"]["y"];
        axis["sort"] = json!(labels);
        if labels.len() < 2 {
            axis["axis"]["labels"] = json!(false);
        }
        let longest = labels.iter().map(|label| label.chars().count()).max();
        let names = (longest.unwrap_or(0) * LETTER).min(NAMES);
        axis["axis"]["labelLimit"] = json!(names * 3 / 2);
        spec["spec"]["width"] = json!(WIDTH - BESIDE - names);
        spec
    }
}

/// What is drawn, and in which panel.
fn bars(run: &RunData) -> Vec<(&Panel, &AnatomyAt)> {
    let panels = run.drawn_panels().into_iter();
    let every = panels.flat_map(|panel| panel.summary.anatomy.iter().map(move |at| (panel, at)));
    let is_drawn = |at: &AnatomyAt| DRAWN.contains(&at.label) && at.response_ns > 0.0;
    every.filter(|(_, at)| is_drawn(at)).collect()
}

/// Is one response far longer than another at the same quantile?
fn are_far_apart(run: &RunData) -> bool {
    let bars = bars(run);
    DRAWN.into_iter().any(|quantile| {
        let at = bars.iter().filter(|(_, at)| at.label == quantile);
        let responses = at.map(|(_, at)| at.response_ns);
        let least = responses.clone().fold(f64::INFINITY, f64::min);
        responses.fold(0.0, f64::max) > FAR * least
    })
}

fn rows(table: &mut Table, panel: &str, at: &AnatomyAt, are_shares: bool) {
    let one = if are_shares { at.response_ns } else { 1.0 };
    for (order, part) in at.parts.iter().enumerate() {
        table.row([
            json!(panel),
            json!(at.label),
            json!(short_name(part.stages)),
            json!(order),
            json!(part.ns.round()),
            json!(part.ns / at.response_ns),
            json!(at.response_ns.round()),
            json!(at.records),
            json!(format_share(part.ns / at.response_ns)),
            json!(part.ns / one),
            json!(at.response_ns / one),
        ]);
    }
}

/// The stages of all bars, each once, in the order of the packet's way.
fn stages(run: &RunData) -> Vec<StageSet> {
    let parts = bars(run).into_iter().flat_map(|(_, at)| &at.parts);
    let mut stages = each_once(parts.map(|part| part.stages));
    stages.sort_by_key(|set| (set.iter().next(), set.len()));
    stages
}

/// Which colours are of the host and of the network, where there are bars of either; what stamps do not tell apart is neither.
fn colours_note(run: &RunData) -> &'static str {
    let bars = colours(&stages(run));
    let any = |colours: &[&str]| bars.iter().any(|bar| colours.contains(bar));
    match (any(&HOST), any(&NETWORK)) {
        (true, true) => " Orange is the host, blue the network.",
        (true, false) => " Orange is the host.",
        (false, true) => " Blue is the network.",
        (false, false) => "",
    }
}

/// The oranges and the blues of [`colour`].
const HOST: [&str; 4] = ["#7f3b08", "#b35806", "#e08214", "#fdb863"];
const NETWORK: [&str; 4] = ["#4393c3", "#92c5de", "#2166ac", "#5e6ad2"];
/// Of several stages, where [`colour`] gives what another bar has.
const SEVERAL: [&str; 4] = ["#6a3d9a", "#c994c7", "#dd1c77", "#cab2d6"];

/// A colour for each.
fn colours(stages: &[StageSet]) -> Vec<&'static str> {
    let mut colours = Vec::new();
    for &set in stages {
        let own = [colour(set)].into_iter().chain(SEVERAL);
        let free = own.into_iter().find(|own| !colours.contains(own));
        colours.push(free.unwrap_or(colour(set)));
    }
    colours
}

/// Oranges for the host, blues for the network, grey for the reflector, greens for a server and what it takes to have a
/// connection to it, purple where a stage is of several.
fn colour(set: StageSet) -> &'static str {
    let single = set.iter().next().filter(|_| set.len() == 1);
    match single {
        Some(Stage::Connect) => return "#4393c3",
        Some(Stage::Resolve) => return "#c7e9c0",
        Some(Stage::Tls) => return "#74c476",
        Some(Stage::Server) => return "#1b7837",
        Some(Stage::Transfer) => return "#5aae61",
        _ => {}
    }
    let host = Stage::ALL
        .into_iter()
        .filter(|stage| !StageSet::NETWORK_AND_REFLECTOR.contains(*stage) && set.contains(*stage));
    let first_of_host = host.into_iter().next();
    match (first_of_host, set.touches(StageSet::BOTH_WAYS)) {
        (Some(_), true) => "#8c6bb1",
        (Some(Stage::ScheduleSlip), false) => "#7f3b08",
        (Some(Stage::SendStack), false) => "#b35806",
        (Some(Stage::LocalQueue), false) => "#e08214",
        (Some(_), false) => "#fdb863",
        (None, true) => match single {
            Some(Stage::ReturnPath) => "#92c5de",
            Some(_) => "#2166ac",
            // No darker: it is drawn on black paper, too.
            None => "#5e6ad2",
        },
        (None, false) => "#9e9e9e",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::runs;
    use std::collections::BTreeMap;

    #[test]
    fn what_stands_at_the_right_is_the_quantile_and_no_mean() {
        let [(_, run), ..] = runs();
        let table = Anatomy.table(&run);
        let [median, largest] = ["p50", "max"].map(|label| {
            let row = table.rows.iter().find(|row| row[QUANTILE] == label);
            let response = row.and_then(|row| row[RESPONSE].as_f64());
            response.map(|ns| ns.round() as i64)
        });
        let responses = run.panels[0].summary.response.as_ref();
        assert_eq!(median, responses.map(|all| all.p50));
        assert_eq!(largest, responses.map(|all| all.max));
        let about = Anatomy.about(&run);
        assert!(!about.contains("mean"), "{about}");
        assert!(!Anatomy.spec(&run, &table).to_string().contains("Mean time"));
    }

    /// The largest response of one combination is a thousand times that of another.
    #[test]
    fn the_stages_of_a_fast_combination_are_seen_beside_those_of_a_slow_one() {
        let mut run = delaylab_view::run::samples::queues();
        run.panels.truncate(2);
        assert!(!are_far_apart(&run));
        for at in &mut run.panels[1].summary.anatomy {
            at.response_ns *= 1e3;
            at.parts.iter_mut().for_each(|part| part.ns *= 1e3);
        }
        let table = Anatomy.table(&run);
        let wide = table
            .rows
            .iter()
            .filter(|row| row[5].as_f64() >= Some(0.05));
        let wide = wide.count();
        let drawing = crate::Drawing::whole("anatomy", &run).unwrap();
        let svg = crate::svg::draw(&drawing).unwrap();
        let bars = svg
            .split("<path ")
            .filter(|bar| bar.contains("aria-roledescription=\"bar\""));
        let width = |bar: &str| {
            let course = bar.split_once(" d=\"M")?.1;
            let across = course.split_once('h')?.1;
            across.split(['v', 'V', 'Z']).next()?.parse::<f64>().ok()
        };
        let widths: Vec<f64> = bars.filter_map(width).collect();
        assert_eq!(widths.len(), table.rows.len());
        let seen = widths.iter().filter(|width| **width > 2.0).count();
        assert!(seen >= wide, "{seen} of {wide}: {widths:?}");
        assert!(svg.contains("Share of the response"), "{svg}");
    }

    #[test]
    fn the_shares_of_each_bar_add_up() {
        for (name, run) in runs() {
            let mut bars: BTreeMap<String, f64> = BTreeMap::new();
            for row in Anatomy.table(&run).rows {
                let bar = format!("{name} {} {}", row[0], row[1]);
                *bars.entry(bar).or_default() += row[5].as_f64().unwrap_or(f64::NAN);
            }
            assert!(!bars.is_empty());
            assert!(
                bars.values().all(|sum| (sum - 1.0).abs() < 1e-9),
                "{bars:?}"
            );
        }
    }

    #[test]
    fn colours_are_named_where_there_are_bars_of_them() {
        let [(_, mut run), ..] = runs();
        assert_eq!(colours_note(&run), " Orange is the host, blue the network.");
        for panel in &mut run.panels {
            for part in panel
                .summary
                .anatomy
                .iter_mut()
                .flat_map(|at| &mut at.parts)
            {
                part.stages = Stage::ALL.into_iter().collect();
            }
        }
        assert_eq!(colours_note(&run), "");
    }

    #[test]
    fn merged_stages_have_colours_of_their_own_and_each_set_is_there_once() {
        let set = |stages: &[Stage]| stages.iter().copied().collect::<StageSet>();
        let [forward, back] = [Stage::ForwardPath, Stage::ReturnPath].map(StageSet::only);
        let both = StageSet::NETWORK_AND_REFLECTOR;
        let slip = [Stage::ScheduleSlip, Stage::SendStack];
        let sets = [
            set(&slip[..1]),
            set(&slip),
            set(&slip[1..]),
            forward,
            both,
            back,
        ];
        let distinct: std::collections::BTreeSet<_> = colours(&sets).into_iter().collect();
        assert_eq!(distinct.len(), sets.len());
        let [(_, mut run), ..] = runs();
        let parts = run
            .panels
            .iter_mut()
            .flat_map(|panel| &mut panel.summary.anatomy);
        let mut parts = parts.flat_map(|at| &mut at.parts);
        let reflector = set(&[Stage::ForwardPath, Stage::Reflector]);
        let server = set(&[Stage::ForwardPath, Stage::Server]);
        for stages in [reflector, server, reflector] {
            if let Some(part) = parts.next() {
                part.stages = stages;
            }
        }
        let all = stages(&run);
        assert_eq!(all.iter().filter(|set| **set == reflector).count(), 1);
    }

    #[test]
    fn stages_of_one_trial_have_colours_of_their_own() {
        let singles = Stage::ALL.map(|stage| colour(StageSet::only(stage)));
        let distinct: std::collections::BTreeSet<_> = singles.into_iter().collect();
        assert_eq!(distinct.len(), Stage::ALL.len());
    }
}
