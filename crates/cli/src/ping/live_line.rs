//! The status line of a run on a terminal.

use crate::terminal;
use delaylab_model::Nanos;
use delaylab_model::record::{Outcome, Record};
use delaylab_terminal::line::Live;
use delaylab_terminal::style::Style;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// It is drawn this often.
const LIVE_EVERY: Duration = Duration::from_millis(200);
/// Responses that its median is of.
const LIVE_WINDOW: usize = 99;

/// The status line on standard error, drawn over itself. Where its terminal is gone, packets are measured all the same.
pub struct LiveLine {
    state: Live,
    recent: Vec<Nanos>,
    next: usize,
    began: Instant,
    drawn: Option<Instant>,
    style: Style,
}

impl LiveLine {
    /// Nothing to show yet.
    pub fn new() -> Self {
        Self {
            state: Live::default(),
            recent: Vec::with_capacity(LIVE_WINDOW),
            next: 0,
            began: Instant::now(),
            drawn: None,
            style: terminal::style(&io::stderr(), false),
        }
    }

    /// Another part of the run begins: what is shown is of that alone.
    pub fn begin(&mut self) {
        self.wipe();
        *self = Self::new();
    }

    /// Takes a packet that has ended.
    pub fn take(&mut self, record: &Record) {
        self.state.sent += u64::from(record.t_send.is_some());
        self.state.received += u64::from(record.outcome == Outcome::Ok);
        self.state.lost += u64::from(record.outcome.is_lost());
        let Some(response) = record.response() else {
            return;
        };
        self.state.latest = Some(response);
        if self.recent.len() < LIVE_WINDOW {
            self.recent.push(response);
        } else {
            self.recent[self.next % LIVE_WINDOW] = response;
        }
        self.next += 1;
    }

    /// Draws it, unless that was just done.
    pub fn draw(&mut self) {
        if self.drawn.is_some_and(|at| at.elapsed() < LIVE_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let mut sorted = self.recent.clone();
        sorted.sort_unstable();
        self.state.p50 = sorted.get(sorted.len() / 2).copied();
        self.state.rate = self.state.sent as f64 / self.began.elapsed().as_secs_f64().max(1e-3);
        // Its window may have another size now.
        self.style.width = terminal::width();
        let _ = write!(io::stderr(), "\r\x1b[K{}", self.state.line(&self.style));
    }

    /// Takes it off the terminal.
    pub fn wipe(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
