//! The axis of figures over time. Trials of a panel stand end to end, while others ran in between: the axis shows the
//! wall clock all the same, piece by piece. In a simulation it shows the time of the run.
//!
//! Panels may show the same stretch of their own time at other hours: what is shown close up is the same part of each, and
//! the words of their axes differ.

use super::{WIDTH, axis};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_view::run::{Begin, CLOCK_MOVED, Panel, RunData};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Pieces at most: each is part of an expression.
const PIECES: usize = 400;
/// More lines between the trials of a panel hide what it shows.
const BREAKS: usize = 24;
/// Pixels that a tick of the wall clock needs.
const PIXELS_A_TICK: usize = 80;
/// Between ticks of the wall clock, in milliseconds: parts of a second as they are counted, then those of a clock.
const STEPS: [i64; 27] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000,
    120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000,
    43_200_000, 86_400_000,
];
/// Pixels from the last panel to the title: its ticks and their words stand between.
const TITLE_BELOW: usize = 24;
const DAY: i64 = 86_400;
/// In less than this the words of a wall clock, which are of milliseconds, tell nothing apart.
const SHORTEST: Nanos = 10 * MILLISECOND;

/// What the times of panels are called.
pub(super) struct TimeAxis {
    /// Of each panel; `None` where their time is simulated, or too short.
    clocks: Option<Vec<PanelClock>>,
    /// The day on which all of it was; `None` where there are several.
    day: Option<String>,
}

/// The wall clock along a panel.
struct PanelClock {
    label: String,
    length_us: i64,
    /// Its trials.
    pieces: Vec<Piece>,
}

/// From here on, up to the next one, the wall clock is so much further.
struct Piece {
    /// Where it begins, in microseconds.
    from_us: i64,
    /// What is to be added to have microseconds since 1970.
    to_utc_us: i64,
    /// Where it ends.
    end_us: i64,
}

impl TimeAxis {
    /// Of all panels that are drawn of a run.
    pub(super) fn new(run: &RunData) -> Self {
        let panels = run.drawn_panels();
        let length = panels.iter().map(|panel| panel.sketch.length()).max();
        let length = length.unwrap_or(0);
        let clocks = panels.into_iter().map(|panel| PanelClock::new(run, panel));
        let clocks: Option<Vec<PanelClock>> = clocks.collect();
        let clocks = clocks.filter(|all| {
            let pieces: usize = all.iter().map(|clock| clock.pieces.len()).sum();
            pieces <= PIECES && length >= SHORTEST
        });
        Self {
            day: clocks.as_ref().and_then(|all| only_day(all, length)),
            clocks,
        }
    }

    /// Makes the x axis of these panels this one; `zoom` is the signal that holds what is shown close up.
    pub(super) fn encode(&self, spec: &mut Value, zoom: &str) {
        // Of panels below each other the title stands once.
        spec["facet"]["header"]["title"] = json!(self.title());
        spec["facet"]["header"]["titleOrient"] = json!("bottom");
        spec["facet"]["header"]["titlePadding"] = json!(TITLE_BELOW);
        let x = &mut spec["spec"]["encoding"]["x"];
        x["title"] = Value::Null;
        let Some(clocks) = &self.clocks else {
            x["axis"]["labelExpr"] = json!(axis::number("datum.value"));
            return;
        };
        x["axis"]["labelExpr"] = json!(self.words("datum.value", "parent.panel", false));
        let ticks = clocks
            .iter()
            .map(|clock| (clock.label.clone(), json!(ticks(clock))));
        let ticks = Value::Object(ticks.collect());
        let ticks = format!("{ticks}[parent.panel]");
        x["axis"]["values"] = axis::ticks_of_all(zoom, &ticks);
    }

    fn title(&self) -> String {
        match (&self.clocks, &self.day) {
            (None, _) => "Time (s)".to_owned(),
            (Some(_), Some(day)) => format!("UTC, {day}"),
            (Some(_), None) => "UTC".to_owned(),
        }
    }

    /// An expression of the words for this place in this panel; both are expressions, too.
    pub(super) fn words(&self, place: &str, panel: &str, is_exact: bool) -> String {
        let Some(clocks) = &self.clocks else {
            return axis::number(place) + " + ' s'";
        };
        // Half a millisecond, or a number that is not exact may fall into the second before.
        let utc = format!(
            "1000 * ({place} + ({})) + 0.5",
            to_utc(place, panel, clocks)
        );
        if is_exact {
            return format!("utcFormat({utc}, '%Y-%m-%d %H:%M:%S.%L')");
        }
        let date = if self.day.is_some() { "" } else { "%-d %b " };
        format!("replace(utcFormat({utc}, '{date}%H:%M:%S.%L'), '.000', '')")
    }

    /// Where another trial begins in this panel, but for the first.
    pub(super) fn breaks(&self, run: &RunData, panel: &Panel) -> Vec<Nanos> {
        let begins = run.wall_clock(panel).filter(|_| self.clocks.is_some());
        let begins = begins.filter(|begins| begins.len() <= BREAKS + 1);
        let begins = begins.unwrap_or_default();
        begins.iter().skip(1).map(|begin| begin.t).collect()
    }

    /// How the times of the axis differ from the wall clock where that moved by itself; with a space before it.
    pub(super) fn clock_note(&self, run: &RunData) -> &'static str {
        match self.clocks.is_some() && run.clock_moved() {
            true => CLOCK_MOVED,
            false => "",
        }
    }

    /// What the lines between trials are, where there are some.
    pub(super) fn breaks_note(&self, run: &RunData) -> &'static str {
        let has_some = |panel: &Panel| !self.breaks(run, panel).is_empty();
        match run.drawn_panels().into_iter().any(has_some) {
            true => "; dotted lines: here another trial or another probe begins",
            false => "",
        }
    }
}

/// Where this time stands, in seconds.
pub(super) fn seconds(t: Nanos) -> Value {
    json!(us_in_seconds(t / MICROSECOND))
}

fn us_in_seconds(us: i64) -> f64 {
    us as f64 / 1e6
}

impl PanelClock {
    fn new(run: &RunData, panel: &Panel) -> Option<Self> {
        let begins = run.wall_clock(panel)?;
        let length_us = panel.sketch.length() / MICROSECOND;
        let at = |begin: &Begin| begin.t / MICROSECOND;
        let ends = begins.iter().skip(1).map(at).chain([length_us]);
        let pieces = begins.iter().zip(ends).map(|(begin, end_us)| Piece {
            from_us: at(begin),
            to_utc_us: begin.utc / MICROSECOND - at(begin),
            end_us,
        });
        Some(Self {
            label: panel.label.clone(),
            length_us,
            pieces: pieces.collect(),
        })
    }
}

fn steps_us() -> impl Iterator<Item = i64> {
    STEPS.into_iter().map(|ms| 1_000 * ms)
}

/// Full seconds, minutes or hours of the wall clock, or parts of a second, as places in a panel; where there are none,
/// its begin.
fn ticks(clock: &PanelClock) -> Vec<f64> {
    let most = (WIDTH / PIXELS_A_TICK) as i64;
    let step = steps_us().find(|step| clock.length_us / step <= most);
    let step = step.unwrap_or(clock.length_us / most);
    let of_piece = |piece: &Piece| {
        let [from, end] = [piece.from_us, piece.end_us].map(|at| at + piece.to_utc_us);
        let first = -(-from).div_euclid(step);
        let back = piece.to_utc_us;
        let utc = (first..).map(move |at| at * step);
        utc.take_while(move |utc| *utc <= end)
            .map(move |utc| us_in_seconds(utc - back))
    };
    let mut ticks: Vec<f64> = clock.pieces.iter().flat_map(of_piece).collect();
    if ticks.is_empty() {
        ticks.extend(
            clock
                .pieces
                .first()
                .map(|piece| us_in_seconds(piece.from_us)),
        );
    }
    ticks
}

/// The day on which all of it is: `2026-11-25`.
fn only_day(clocks: &[PanelClock], length: Nanos) -> Option<String> {
    let pieces = clocks.iter().flat_map(|clock| &clock.pieces);
    let utc = pieces.map(|piece| (piece.from_us + piece.to_utc_us) / 1_000_000);
    let first = utc.clone().min()?;
    let last = utc.max()? + length / SECOND;
    let is_one = first.div_euclid(DAY) == last.div_euclid(DAY);
    let day = Timestamp::from_second(first).ok().filter(|_| is_one)?;
    Some(day.to_string().chars().take(10).collect())
}

/// An expression of what is to be added to this place in this panel, in seconds.
fn to_utc(place: &str, panel: &str, clocks: &[PanelClock]) -> String {
    match clocks {
        [] => "0".to_owned(),
        [only] => to_utc_in(place, &only.pieces),
        [first, others @ ..] => {
            let others = to_utc(place, panel, others);
            let [label, first] = [
                json!(first.label).to_string(),
                to_utc_in(place, &first.pieces),
            ];
            format!("{panel} === {label} ? ({first}) : {others}")
        }
    }
}

/// The same in the panel of these pieces: their halves are told apart first.
fn to_utc_in(place: &str, pieces: &[Piece]) -> String {
    match pieces {
        [] => "0".to_owned(),
        [only] => us_in_seconds(only.to_utc_us).to_string(),
        _ => {
            let (before, after) = pieces.split_at(pieces.len() / 2);
            let from = us_in_seconds(after.first().map_or(0, |piece| piece.from_us));
            let [before, after] = [before, after].map(|half| to_utc_in(place, half));
            format!("{place} < {from} ? {before} : {after}")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::percentiles::Percentiles;
    use crate::svg::Artist;
    use crate::time_series::TimeSeries;
    use crate::{Drawing, Figure};
    use delaylab_view::run::samples::waits;

    /// 25 November 2026, 00:00.
    const MIDNIGHT: Nanos = 1_795_564_800 * SECOND;

    /// Each trial a minute after the one before.
    fn at(midnight: Nanos) -> RunData {
        let mut run = waits();
        for (trial, minute) in run.trials.iter_mut().zip(1..) {
            trial.stream.to_utc = Some(midnight + minute * 60 * SECOND);
        }
        // What is drawn may be a part of the run.
        run.head.started = "2026-11-24T23:59:50Z".to_owned();
        run
    }

    #[test]
    fn a_simulation_has_the_time_of_the_run() {
        let run = waits();
        let time = TimeAxis::new(&run);
        let mut spec = json!({ "spec": { "encoding": { "x": {} } } });
        time.encode(&mut spec, "zoom_t_s");
        assert_eq!(spec["facet"]["header"]["title"], "Time (s)");
        assert_eq!(seconds(1_500_000_000), 1.5);
        assert!(time.breaks(&run, &run.panels[0]).is_empty());
    }

    #[test]
    fn ticks_are_full_seconds_within_their_trial() {
        let time = TimeAxis::new(&at(MIDNIGHT));
        for clock in time.clocks.as_ref().unwrap() {
            let all = ticks(clock);
            assert!(all.len() > clock.pieces.len());
            let step = steps_us().find(|step| clock.length_us / step <= 8);
            for tick in all {
                let tick_us = (tick * 1e6).round() as i64;
                let within = |piece: &&Piece| (piece.from_us..=piece.end_us).contains(&tick_us);
                let mut pieces = clock.pieces.iter().filter(within);
                assert!(pieces.any(|piece| (tick_us + piece.to_utc_us) % step.unwrap() == 0));
            }
        }
    }

    #[test]
    fn a_panel_has_a_number_however_short_it_is() {
        let one = |from_us, length_us| PanelClock {
            label: String::new(),
            length_us,
            pieces: vec![Piece {
                from_us,
                to_utc_us: 300,
                end_us: from_us + length_us,
            }],
        };
        assert_eq!(ticks(&one(0, 600)), [0.0]);
        assert_eq!(ticks(&one(0, 1_500)), [0.0007]);
        // What all is within a few milliseconds has the time of the run.
        let mut run = at(MIDNIGHT);
        for panel in &mut run.panels {
            panel.sketch = Default::default();
        }
        assert_eq!(TimeAxis::new(&run).title(), "Time (s)");
    }

    /// A part of the axis is the same part of each, whose words are of its own hours.
    #[test]
    fn panels_are_over_the_same_axis_and_have_their_own_hours() {
        let run = at(MIDNIGHT);
        let artist = Artist::new().unwrap();
        for (figure, from) in [("time_series", "t_s"), ("percentiles", "from_s")] {
            let drawing = Drawing::whole(figure, &run).unwrap();
            let rows = drawing.spec["data"]["values"].as_array().unwrap();
            let svg = artist.draw(&drawing.standalone()).unwrap();
            for panel in &run.panels {
                let length = panel.sketch.length() as f64 / 1e9;
                let of_panel = rows.iter().filter(|row| row["panel"] == panel.label);
                let mut times = of_panel.filter_map(|row| row[from].as_f64());
                let middle = 0.25 * length..0.75 * length;
                assert!(times.any(|t| middle.contains(&t)), "{}", panel.label);
                let begin = run.wall_clock(panel).unwrap()[0].utc / SECOND;
                let minute = format!(">00:{:02}:", begin / 60 % 60);
                assert!(svg.contains(&minute), "{minute}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("undefined"));
        }
    }

    /// From then on the times of the trial are behind the wall clock.
    #[test]
    fn a_suspended_host_is_said_of_the_times() {
        let mut run = at(MIDNIGHT);
        assert!(!TimeSeries.about(&run).contains("suspended"));
        run.trials[0].summary.counts.clock_suspend = 1;
        for figure in [&TimeSeries as &dyn Figure, &Percentiles] {
            assert!(
                figure
                    .about(&run)
                    .contains("was suspended or its clock was set")
            );
        }
    }

    #[test]
    fn the_day_is_said_once_where_there_is_one() {
        assert_eq!(TimeAxis::new(&at(MIDNIGHT)).title(), "UTC, 2026-11-25");
        let mut run = at(MIDNIGHT);
        let last = run.trials.last_mut().unwrap();
        last.stream.to_utc = last.stream.to_utc.map(|utc| utc + DAY * SECOND);
        let late = TimeAxis::new(&run);
        assert_eq!(late.title(), "UTC");
        assert!(
            late.words("datum.value", "parent.panel", false)
                .contains("%-d %b")
        );
    }

    #[test]
    fn the_piece_of_a_place_is_found_by_its_panel_and_by_halves() {
        let clock = |label: &str, pieces: &[(i64, i64)]| PanelClock {
            label: label.to_owned(),
            length_us: 0,
            pieces: pieces
                .iter()
                .map(|&(from_us, to_utc_us)| Piece {
                    from_us,
                    to_utc_us,
                    end_us: 0,
                })
                .collect(),
        };
        let quiet = clock("quiet", &[(0, 5_000_000), (2_000_000, 7_500_000)]);
        let clocks = [quiet, clock("say \"x\"", &[(0, 9_000_000)])];
        assert_eq!(
            to_utc("x", "p", &clocks),
            "p === \"quiet\" ? (x < 2 ? 5 : 7.5) : 9"
        );
        assert_eq!(to_utc("x", "p", &[]), "0");
    }
}
