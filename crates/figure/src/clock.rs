//! The axis of figures over time. Trials of a panel stand end to end, while others ran in between: the axis shows the
//! wall clock all the same, piece by piece. In a simulation it shows the time of the run.
//!
//! Panels may show the same stretch of their own time at other hours, and all share the words of one axis: so each has
//! its own stretch of one long axis.

use super::WIDTH;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use delaylab_view::run::{Begin, Panel, RunData};
use serde_json::{Value, json};

/// Pieces at most: each is part of an expression.
const PIECES: usize = 160;
/// Pixels that a tick of the wall clock needs.
const PIXELS_A_TICK: usize = 80;
/// Between ticks of the wall clock, in seconds.
const STEPS: [i64; 21] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 2_592_000,
];
const DAY: i64 = 86_400;

/// Where the times of all panels stand on one axis.
pub(super) struct TimeAxis {
    /// Where each panel begins, in seconds.
    origins: Vec<i64>,
    /// Trials of all panels on this axis; `None` where their time is simulated.
    pieces: Option<Vec<Piece>>,
    /// How long the longest panel is.
    length: Nanos,
    /// The day on which all of it was; `None` where there are several.
    day: Option<String>,
}

/// From here on, up to the next one, the wall clock is so much further.
struct Piece {
    /// Where it is on the axis, in microseconds.
    from_us: i64,
    /// What is to be added to have microseconds since 1970.
    to_utc_us: i64,
}

impl TimeAxis {
    /// Of all panels of a run.
    pub(super) fn new(run: &RunData) -> Self {
        let length = run.panels.iter().map(|panel| panel.sketch.length()).max();
        let length = length.unwrap_or(0);
        let begins: Option<Vec<Vec<Begin>>> = run
            .panels
            .iter()
            .map(|panel| run.wall_clock(panel))
            .collect();
        let begins = begins.filter(|all| all.iter().map(Vec::len).sum::<usize>() <= PIECES);
        let Some(begins) = begins else {
            return Self {
                origins: vec![0; run.panels.len()],
                pieces: None,
                length,
                day: None,
            };
        };
        // A panel's own stretch, and a second that is nobody's.
        let stretch = length / SECOND + 2;
        let origins: Vec<i64> = (0..).map(|at| at * stretch).take(begins.len()).collect();
        let all = origins.iter().zip(&begins);
        let pieces = all.flat_map(|(origin, begins)| {
            begins.iter().map(move |begin| {
                let from_us = origin * 1_000_000 + begin.t / MICROSECOND;
                Piece {
                    from_us,
                    to_utc_us: begin.utc / MICROSECOND - from_us,
                }
            })
        });
        let pieces: Vec<Piece> = pieces.collect();
        Self {
            day: is_one_day(&pieces, length).then(|| run.head.started.chars().take(10).collect()),
            pieces: Some(pieces),
            origins,
            length,
        }
    }

    /// Where this time of a panel stands, in seconds.
    pub(super) fn place(&self, panel: usize, t: Nanos) -> Value {
        let origin = self.origins.get(panel).copied().unwrap_or(0);
        let microseconds = origin * 1_000_000 + t / MICROSECOND;
        json!(microseconds as f64 / 1e6)
    }

    /// Makes `x` this axis. `zoom` is the signal that holds what is shown close up.
    pub(super) fn encode(&self, x: &mut Value, zoom: &str) {
        x["title"] = json!(self.title());
        let Some(pieces) = &self.pieces else {
            x["axis"]["labelExpr"] = json!("format(datum.value, ',~r')");
            return;
        };
        x["scale"]["zero"] = json!(false);
        x["axis"]["labelExpr"] = json!(self.words("datum.value", false));
        let ticks = json!(self.ticks(pieces));
        x["axis"]["values"] = json!({ "expr": format!("{zoom} ? null : {ticks}") });
    }

    fn title(&self) -> String {
        match (&self.pieces, &self.day) {
            (None, _) => "Time (s)".to_owned(),
            (Some(_), Some(day)) => format!("UTC, {day}"),
            (Some(_), None) => "UTC".to_owned(),
        }
    }

    /// An expression of the words for this place.
    pub(super) fn words(&self, place: &str, is_exact: bool) -> String {
        let Some(pieces) = &self.pieces else {
            return format!("format({place}, ',.6~r') + ' s'");
        };
        // Half a millisecond, or a number that is not exact may fall into the second before.
        let utc = format!("1000 * ({place} + ({})) + 0.5", to_utc(place, pieces));
        if is_exact {
            return format!("utcFormat({utc}, '%Y-%m-%d %H:%M:%S.%L')");
        }
        let date = if self.day.is_some() { "" } else { "%-d %b " };
        format!("replace(utcFormat({utc}, '{date}%H:%M:%S.%L'), '.000', '')")
    }

    /// Full seconds, minutes or hours of the wall clock, as places on the axis.
    fn ticks(&self, pieces: &[Piece]) -> Vec<f64> {
        let most = (WIDTH / PIXELS_A_TICK) as i64;
        let length = self.length / SECOND;
        let step = STEPS.into_iter().find(|step| length / step <= most);
        let step = step.unwrap_or(DAY) * 1_000_000;
        let ends = pieces.iter().skip(1).map(|piece| piece.from_us);
        let end = pieces.last().map_or(0, |last| last.from_us) + self.length / MICROSECOND;
        let ends = ends.chain([end]);
        let ticks = pieces.iter().zip(ends).flat_map(|(piece, end)| {
            let first = (piece.from_us + piece.to_utc_us).div_euclid(step) * step;
            let utc = (0..).map(move |at| first + at * step - piece.to_utc_us);
            let within = utc.skip_while(|at| *at < piece.from_us);
            within.take_while(move |at| *at < end)
        });
        ticks.map(|at| at as f64 / 1e6).collect()
    }

    /// Where another trial begins in this panel, but for the first.
    pub(super) fn breaks(&self, run: &RunData, panel: &Panel) -> Vec<Nanos> {
        let begins = run.wall_clock(panel).filter(|_| self.pieces.is_some());
        let begins = begins.unwrap_or_default();
        begins.iter().skip(1).map(|begin| begin.t).collect()
    }
}

/// Is all of it on one day?
fn is_one_day(pieces: &[Piece], length: Nanos) -> bool {
    let utc = |piece: &Piece| (piece.from_us + piece.to_utc_us) / 1_000_000;
    let first = pieces.iter().map(utc).min().unwrap_or(0);
    let last = pieces.iter().map(utc).max().unwrap_or(0) + length / SECOND;
    first.div_euclid(DAY) == last.div_euclid(DAY)
}

/// An expression of what is to be added to this place, in seconds: the halves of the pieces are told apart first.
fn to_utc(place: &str, pieces: &[Piece]) -> String {
    match pieces {
        [] => "0".to_owned(),
        [only] => (only.to_utc_us as f64 / 1e6).to_string(),
        _ => {
            let (before, after) = pieces.split_at(pieces.len() / 2);
            let from = after.first().map_or(0, |piece| piece.from_us) as f64 / 1e6;
            let [before, after] = [before, after].map(|half| to_utc(place, half));
            format!("{place} < {from} ? {before} : {after}")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::waits;

    /// 25 November 2026, 00:00.
    const MIDNIGHT: Nanos = 1_795_564_800 * SECOND;

    /// Each trial a minute after the one before.
    fn at(midnight: Nanos) -> RunData {
        let mut run = waits();
        for (trial, minute) in run.trials.iter_mut().zip(1..) {
            trial.stream.to_utc = Some(midnight + minute * 60 * SECOND);
        }
        run.head.started = "2026-11-25T00:01:00Z".to_owned();
        run
    }

    #[test]
    fn a_simulation_has_the_time_of_the_run() {
        let run = waits();
        let time = TimeAxis::new(&run);
        let mut x = json!({ "axis": {} });
        time.encode(&mut x, "zoom_t_s");
        assert_eq!(x["title"], "Time (s)");
        assert_eq!(time.place(1, 1_500_000_000), 1.5);
        assert!(time.breaks(&run, &run.panels[0]).is_empty());
    }

    #[test]
    fn each_panel_has_a_stretch_of_its_own_and_ticks_are_full_seconds() {
        let run = at(MIDNIGHT);
        let time = TimeAxis::new(&run);
        let length = run
            .panels
            .iter()
            .map(|panel| panel.sketch.length())
            .max()
            .unwrap();
        let end = |panel| time.place(panel, length).as_f64().unwrap();
        for panel in 1..run.panels.len() {
            assert!(end(panel - 1) < time.place(panel, 0).as_f64().unwrap());
        }
        let pieces = time.pieces.as_ref().unwrap();
        let ticks = time.ticks(pieces);
        assert!(!ticks.is_empty());
        for tick in ticks {
            let tick_us = (tick * 1e6).round() as i64;
            let piece = pieces.iter().rev().find(|piece| piece.from_us <= tick_us);
            assert_eq!((tick_us + piece.unwrap().to_utc_us) % 1_000_000, 0);
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
        assert!(late.words("datum.value", false).contains("%-d %b"));
    }

    #[test]
    fn the_piece_of_a_place_is_found_by_halves() {
        let piece = |from_us, to_utc_us| Piece { from_us, to_utc_us };
        let pieces = [piece(0, 5_000_000), piece(2_000_000, 7_500_000)];
        assert_eq!(to_utc("x", &pieces), "x < 2 ? 5 : 7.5");
        assert_eq!(to_utc("x", &[]), "0");
    }
}
