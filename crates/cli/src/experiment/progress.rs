//! What a run says while it goes on: to people on standard error, a bar on a terminal and else a line
//! now and then, or the live view; to programs a line of JSON a trial on standard output.

use crate::args::experiment::ShownArgs;
use crate::exit::Failed;
use crate::terminal;
use crate::tui::{Tui, Watcher};

use delaylab_lab::run::{EndedTrial, Left, Progress};
use delaylab_model::SECOND;
use delaylab_model::plan::{Factor, Planned};
use delaylab_model::trial::Dropped;
use delaylab_model::units::format_duration;
use delaylab_view::json::run::Line;
use delaylab_view::run::without_numbers;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Without a terminal, one line in so long.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells whoever wants to know.
pub struct ProgressDisplay {
    people: People,
    json: bool,
    /// Were the lines for programs written so far? After one that was not, none is: it would be read as its end.
    pub lines: Result<(), Failed>,
    /// Warnings that were printed, without their numbers: each is printed once.
    warned: BTreeSet<String>,
    /// Warnings are for whoever asked for this run.
    warns: bool,
}

impl ProgressDisplay {
    /// As was asked for.
    pub fn new(shown: &ShownArgs) -> Self {
        Self {
            people: People::new(shown.quiet),
            json: shown.json,
            lines: Ok(()),
            warned: BTreeSet::new(),
            warns: true,
        }
    }

    /// By a live view.
    pub fn live(tui: Tui) -> Self {
        Self {
            people: People::View {
                tui,
                warnings: Vec::new(),
            },
            json: false,
            lines: Ok(()),
            warned: BTreeSet::new(),
            warns: true,
        }
    }

    /// Hands records to the live view, where there is one.
    pub fn watcher(&self) -> Option<Watcher> {
        match &self.people {
            People::View { tui, .. } => Some(tui.watcher()),
            People::Quiet | People::Bar(_) | People::Lines { .. } => None,
        }
    }

    /// Of a run that is only a step of another command: its warnings are in its tables.
    pub fn of_a_step(shown: &ShownArgs) -> Self {
        Self {
            warns: false,
            ..Self::new(shown)
        }
    }
}

/// How people are told.
enum People {
    /// Nothing.
    Quiet,
    /// A bar that is drawn over itself.
    Bar(ProgressBar),
    /// Lines.
    Lines {
        /// When the last one was written.
        last: Instant,
    },
    /// A screen of its own.
    View {
        /// It.
        tui: Tui,
        /// Said when it is gone.
        warnings: Vec<String>,
    },
}

impl People {
    /// As fits standard error.
    fn new(quiet: bool) -> Self {
        if quiet {
            return People::Quiet;
        }
        if !terminal::can_redraw() {
            return People::Lines {
                last: Instant::now(),
            };
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(match terminal::speaks_utf8() {
            true => style,
            false => style.progress_chars("#>-"),
        });
        bar.enable_steady_tick(Duration::from_secs(1));
        People::Bar(bar)
    }

    fn warn(&mut self, warning: &str) {
        match self {
            People::View { warnings, .. } => warnings.push(warning.to_owned()),
            People::Bar(bar) => bar.println(terminal::sayable(warning)),
            People::Quiet | People::Lines { .. } => terminal::say(warning),
        }
    }
}

impl Progress for ProgressDisplay {
    fn begins(&mut self, planned: &Planned, done: usize, remaining: Left) {
        match &self.people {
            People::Quiet | People::Lines { .. } => {}
            People::Bar(bar) => {
                if let Some((remaining, _)) = remaining {
                    bar.set_length((done + remaining.trials) as u64);
                }
                bar.set_position(done as u64);
                let message = format!("{}{}", levels(&planned.factors), left(remaining));
                bar.set_message(terminal::sayable(&message));
            }
            People::View { tui, .. } => {
                tui.begin_trial(
                    planned.trial.id,
                    levels(&planned.factors),
                    &planned.trial.probes,
                );
                tui.set_progress(so_far(done, remaining));
            }
        }
    }

    fn ended(&mut self, ended: &EndedTrial<'_>, done: usize, remaining: Left) {
        let chosen = |warning: &&str| Dropped::read(warning).is_some_and(|it| it.is_chosen());
        for warning in ended.warnings().filter(|warning| !chosen(warning)) {
            if self.warns && self.warned.insert(without_numbers(warning)) {
                self.people.warn(&format!("warning: {warning}"));
            }
        }
        match &mut self.people {
            People::Quiet => {}
            People::Bar(bar) => bar.set_position(done as u64),
            People::Lines { last } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                let trials = remaining.map_or(0, |(remaining, _)| remaining.trials);
                terminal::say(format!(
                    "{done} of {} trials{}",
                    done + trials,
                    left(remaining)
                ));
            }
            People::Lines { .. } => {}
            People::View { tui, .. } => tui.set_progress(so_far(done, remaining)),
        }
        if self.json && self.lines.is_ok() {
            let mut rows = ended.rows.iter().zip(ended.summaries);
            let remaining = remaining.map(|(remaining, _)| remaining.trials);
            self.lines = rows.try_for_each(|(row, summary)| {
                terminal::line(&Line::trial(row, summary, remaining))
            });
        }
    }

    fn over(&mut self) {
        match std::mem::replace(&mut self.people, People::Quiet) {
            People::Quiet | People::Lines { .. } => {}
            People::Bar(bar) => bar.finish_and_clear(),
            People::View { tui, warnings } => {
                drop(tui);
                warnings.iter().for_each(terminal::say);
            }
        }
    }
}

/// `size=64B condition=quiet`.
pub fn levels(factors: &[Factor]) -> String {
    let words: Vec<_> = factors
        .iter()
        .map(|(name, level)| format!("{name}={level}"))
        .collect();
    words.join(" ")
}

fn so_far(done: usize, remaining: Left) -> crate::tui::Progress {
    crate::tui::Progress {
        done,
        of: remaining.map(|(remaining, _)| done + remaining.trials),
        left: remaining.and_then(|(_, left)| left),
    }
}

fn left(remaining: Left) -> String {
    let left = remaining.and_then(|(_, left)| left);
    // Beyond a second, fractions of it say nothing.
    let rounded = |left: i64| match left {
        0..SECOND => left,
        _ => (left + SECOND / 2) / SECOND * SECOND,
    };
    left.map_or(String::new(), |left| {
        format!("  about {} left", format_duration(rounded(left)))
    })
}
