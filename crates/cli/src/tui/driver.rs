//! `--tui`: the live view, drawn on a thread of its own.
//!
//! Records reach the view's state from the thread that writes them. The thread that measures does neither,
//! and a terminal that is slow or stands still holds nobody up: only the state is shared.

use super::screen::Screen;
use super::state::State;
use super::view::{Progress, View};
use crate::exit::Failed;
use crate::terminal;
use delaylab_kernel::wait::{Woken, until_readable};
use delaylab_kernel::{clock, process, scheduling, signals};
use delaylab_lab::run::Watch;
use delaylab_model::probe::Probe;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_terminal::style::Style;
use ratatui::DefaultTerminal;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Drawn this often.
const EVERY: Nanos = 125 * MILLISECOND;
/// Whatever measures goes before drawing.
const NICE: i32 = 10;

/// Is there a terminal to draw on?
///
/// # Errors
/// What to do where there is none.
pub fn check() -> Result<(), Failed> {
    let lacks = if !io::stdout().is_terminal() {
        "standard output is not one"
    } else if !io::stdin().is_terminal() {
        "standard input, from which keys are read, is not one"
    } else if terminal::is_dumb() {
        "TERM says that this one cannot move its cursor"
    } else {
        return Ok(());
    };
    Err(Failed::usage(format!(
        "--tui draws on a terminal, and {lacks}. Leave --tui out: plain output is for pipes and files"
    )))
}

/// The view while it is on the screen. It goes when this is dropped: the terminal is then as it was.
pub struct Tui {
    state: Arc<Mutex<State>>,
    /// Nothing is drawn any more.
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tui {
    /// Takes the terminal and draws on it from now on.
    ///
    /// # Errors
    /// Where the terminal cannot be taken.
    pub fn open(title: impl Into<String>) -> Result<Self, Failed> {
        let style = crate::terminal::style(&io::stdout(), false);
        let state = Arc::new(Mutex::new(State::new(title, clock::monotonic())));
        let over = Arc::new(AtomicBool::new(false));
        let cannot =
            |error: io::Error| Failed::environment(format!("cannot draw on the terminal: {error}"));
        let keys = io::stdin().as_fd().try_clone_to_owned().map_err(cannot)?;
        // Also has a panic put the terminal back before it says why.
        let terminal = ratatui::try_init().map_err(|error| {
            ratatui::restore();
            cannot(error)
        })?;
        stop_drawing_at_a_panic(&over);
        let drawer = Drawer {
            state: Arc::clone(&state),
            over: Arc::clone(&over),
            keys: File::from(keys),
            style,
            held: None,
            help: false,
        };
        let thread = std::thread::Builder::new().name("view".to_owned());
        let thread = thread
            .spawn(move || drawer.run(terminal))
            .map_err(|error| {
                ratatui::restore();
                cannot(error)
            })?;
        Ok(Self {
            state,
            over,
            thread: Some(thread),
        })
    }

    /// Another trial begins.
    pub fn begin_trial(&self, trial: u32, detail: impl Into<String>, probes: &[Probe]) {
        lock(&self.state).begin_trial(trial, detail, probes);
    }

    /// The experiment is so far.
    pub fn set_progress(&self, progress: Progress) {
        lock(&self.state).set_progress(progress);
    }

    /// Hands records to the view, from any thread.
    pub fn watcher(&self) -> Watcher {
        Watcher(Arc::clone(&self.state))
    }
}

/// Hands records to the view.
pub struct Watcher(Arc<Mutex<State>>);

impl Watch for Watcher {
    fn begins(&self, trial: u32, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        lock(&self.0).begin_probe(trial, probe, facts);
        Ok(())
    }

    fn records(&self, records: &[Record]) -> io::Result<()> {
        lock(&self.0).take(records);
        Ok(())
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        let is_back = self.over.swap(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been told.
            let _ = thread.join();
        }
        // After a panic the terminal is back already: to leave the screen twice would put the cursor back
        // over what was said.
        if !is_back {
            ratatui::restore();
        }
    }
}

/// Nothing is drawn over what a panic says.
fn stop_drawing_at_a_panic(over: &Arc<AtomicBool>) {
    let over = Arc::clone(over);
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        over.store(true, Ordering::Relaxed);
        say(panic);
    }));
}

/// What a thread left behind that panicked is as good to look at.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws, and reads keys.
struct Drawer {
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    keys: File,
    style: Style,
    /// The view that stands still.
    held: Option<View>,
    help: bool,
}

impl Drawer {
    /// Until the measurement is over, or nothing can be drawn any more: that ends the view, and not the
    /// measurement.
    fn run(mut self, mut terminal: DefaultTerminal) {
        // Neither is needed, but both keep out of the way of the thread that measures.
        let _ = process::own_descriptors();
        let _ = scheduling::set_nice(NICE);
        while !self.over.load(Ordering::Relaxed) {
            let due = clock::monotonic() + EVERY;
            if self.draw(&mut terminal).is_err() || self.keys_until(due).is_err() {
                // Keys then mean again what they mean without a view: Ctrl-C stops.
                self.over.store(true, Ordering::Relaxed);
                ratatui::restore();
            }
        }
    }

    fn draw(&self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        let now = || lock(&self.state).view(clock::monotonic());
        let current;
        let view = match &self.held {
            Some(held) => held,
            None => {
                current = now();
                &current
            }
        };
        let screen = Screen {
            view,
            style: self.style,
            paused: self.held.is_some(),
            stopping: signals::stop().is_asked(),
            help: self.help,
        };
        terminal.draw(|frame| frame.render_widget(&screen, frame.area()))?;
        Ok(())
    }

    /// Does what keys ask for until then; a key that changes the view ends the wait.
    fn keys_until(&mut self, deadline: Nanos) -> io::Result<()> {
        while until_readable(self.keys.as_fd(), Some(deadline))? == Woken::Ready {
            let mut typed = [0; 64];
            match self.keys.read(&mut typed)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                // Arrows and the like are words that begin with escape.
                _ if typed[0] == 0x1b => {}
                length => {
                    typed[..length].iter().for_each(|&key| self.key(key));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn key(&mut self, key: u8) {
        const CTRL_C: u8 = 3;
        match key {
            // Caught: the measurement ends as after any Ctrl-C.
            b'q' | b'Q' | CTRL_C => drop(signals::ask_to_stop()),
            b'?' | b'h' => self.help = !self.help,
            b'p' | b' ' => {
                self.held = match self.held {
                    Some(_) => None,
                    None => Some(lock(&self.state).view(clock::monotonic())),
                }
            }
            b'n' | b'\t' => {
                lock(&self.state).show_next();
                self.held = None;
            }
            _ => {}
        }
    }
}
