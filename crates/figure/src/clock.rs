//! The axis of figures over time. Trials of a panel stand end to end, while others ran in between: the axis shows the
//! wall clock all the same, piece by piece. In a simulation it shows the time of the run.
//!
//! Panels may show the same stretch of their own time at other hours, and all share the words of one axis: so each has
//! its own stretch of one long axis.

use super::WIDTH;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use delaylab_view::run::{Begin, Panel, RunData};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Pieces at most: each is part of an expression.
const PIECES: usize = 400;
/// More lines between the trials of a panel hide what it shows.
const BREAKS: usize = 24;
/// Pixels that a tick of the wall clock needs.
const PIXELS_A_TICK: usize = 80;
/// Between ticks of the wall clock, in microseconds: parts of a second as they are counted, then those of a clock.
const STEPS: [i64; 27] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    15_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    900_000_000,
    1_800_000_000,
    3_600_000_000,
    7_200_000_000,
    10_800_000_000,
    21_600_000_000,
    43_200_000_000,
    86_400_000_000,
];
/// Pixels from the last panel to the title: its ticks and their words stand between.
const TITLE_BELOW: usize = 24;
const DAY: i64 = 86_400;

/// Where the times of all panels stand on one axis.
pub(super) struct TimeAxis {
    /// Where each panel begins, in seconds.
    origins: Vec<i64>,
    /// Trials of all panels on this axis; `None` where their time is simulated.
    pieces: Option<Vec<Piece>>,
    /// The day on which all of it was; `None` where there are several.
    day: Option<String>,
}

/// From here on, up to the next one, the wall clock is so much further.
struct Piece {
    /// Where it is on the axis, in microseconds.
    from_us: i64,
    /// What is to be added to have microseconds since 1970.
    to_utc_us: i64,
    /// Where it ends.
    end_us: i64,
    /// How long its panel is.
    panel_us: i64,
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
                day: None,
            };
        };
        // A panel's own stretch, and a second that is nobody's.
        let stretch = length / SECOND + 2;
        let origins: Vec<i64> = (0..).map(|at| at * stretch).take(begins.len()).collect();
        let all = origins.iter().zip(&begins).zip(&run.panels);
        let pieces = all.flat_map(|((origin, begins), panel)| {
            pieces(
                origin * 1_000_000,
                begins,
                panel.sketch.length() / MICROSECOND,
            )
        });
        let pieces: Vec<Piece> = pieces.collect();
        Self {
            day: only_day(&pieces, length),
            pieces: Some(pieces),
            origins,
        }
    }

    /// Where this time of a panel stands, in seconds.
    pub(super) fn place(&self, panel: usize, t: Nanos) -> Value {
        let origin = self.origins.get(panel).copied().unwrap_or(0);
        let microseconds = origin * 1_000_000 + t / MICROSECOND;
        json!(microseconds as f64 / 1e6)
    }

    /// Makes the x axis of these panels this one; `zoom` is the signal that holds what is shown close up.
    pub(super) fn encode(&self, spec: &mut Value, zoom: &str) {
        // Of panels below each other the title stands once.
        spec["facet"]["header"]["title"] = json!(self.title());
        spec["facet"]["header"]["titleOrient"] = json!("bottom");
        spec["facet"]["header"]["titlePadding"] = json!(TITLE_BELOW);
        let x = &mut spec["spec"]["encoding"]["x"];
        x["title"] = Value::Null;
        let Some(pieces) = &self.pieces else {
            x["axis"]["labelExpr"] = json!("format(datum.value, ',~r')");
            return;
        };
        x["scale"]["zero"] = json!(false);
        x["axis"]["labelExpr"] = json!(self.words("datum.value", false));
        let ticks = json!(ticks(pieces));
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

    /// Where another trial begins in this panel, but for the first.
    pub(super) fn breaks(&self, run: &RunData, panel: &Panel) -> Vec<Nanos> {
        let begins = run.wall_clock(panel).filter(|_| self.pieces.is_some());
        let begins = begins.filter(|begins| begins.len() <= BREAKS + 1);
        let begins = begins.unwrap_or_default();
        begins.iter().skip(1).map(|begin| begin.t).collect()
    }

    /// What the lines between trials are, where there are some.
    pub(super) fn breaks_note(&self, run: &RunData) -> &'static str {
        let has_some = |panel: &Panel| !self.breaks(run, panel).is_empty();
        match run.panels.iter().any(has_some) {
            true => "; dotted lines: here another trial or another probe begins",
            false => "",
        }
    }
}

/// Those of one panel, which begins there.
fn pieces(origin_us: i64, begins: &[Begin], panel_us: i64) -> Vec<Piece> {
    let at = |begin: &Begin| origin_us + begin.t / MICROSECOND;
    let ends = begins.iter().skip(1).map(at);
    let ends = ends.chain([origin_us + panel_us]);
    let pieces = begins.iter().zip(ends).map(|(begin, end_us)| Piece {
        from_us: at(begin),
        to_utc_us: begin.utc / MICROSECOND - at(begin),
        end_us,
        panel_us,
    });
    pieces.collect()
}

/// Full seconds, minutes or hours of the wall clock, or parts of a second, as places on the axis.
fn ticks(pieces: &[Piece]) -> Vec<f64> {
    let most = (WIDTH / PIXELS_A_TICK) as i64;
    let of_piece = |piece: &Piece| {
        let step = STEPS.into_iter().find(|step| piece.panel_us / step <= most);
        let step = step.unwrap_or(piece.panel_us / most);
        let [from, end] = [piece.from_us, piece.end_us].map(|at| at + piece.to_utc_us);
        let first = -(-from).div_euclid(step);
        let back = piece.to_utc_us;
        let utc = (first..).map(move |at| at * step);
        utc.take_while(move |utc| *utc <= end)
            .map(move |utc| utc - back)
    };
    let ticks = pieces.iter().flat_map(of_piece);
    ticks.map(|at| at as f64 / 1e6).collect()
}

/// The day on which all of it is: `2026-11-25`.
fn only_day(pieces: &[Piece], length: Nanos) -> Option<String> {
    let utc = |piece: &Piece| (piece.from_us + piece.to_utc_us) / 1_000_000;
    let first = pieces.iter().map(utc).min()?;
    let last = pieces.iter().map(utc).max()? + length / SECOND;
    let is_one = first.div_euclid(DAY) == last.div_euclid(DAY);
    let day = Timestamp::from_second(first).ok().filter(|_| is_one)?;
    Some(day.to_string().chars().take(10).collect())
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
        for piece in pieces {
            let step = STEPS
                .into_iter()
                .find(|step| piece.panel_us / step <= 8)
                .unwrap();
            for tick in ticks(std::slice::from_ref(piece)) {
                let tick_us = (tick * 1e6).round() as i64;
                assert!((piece.from_us..=piece.end_us).contains(&tick_us));
                assert_eq!((tick_us + piece.to_utc_us) % step, 0);
            }
        }
        assert!(ticks(pieces).len() > pieces.len());
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
        let piece = |from_us, to_utc_us| Piece {
            from_us,
            to_utc_us,
            end_us: 0,
            panel_us: 0,
        };
        let pieces = [piece(0, 5_000_000), piece(2_000_000, 7_500_000)];
        assert_eq!(to_utc("x", &pieces), "x < 2 ? 5 : 7.5");
        assert_eq!(to_utc("x", &[]), "0");
    }
}
