//! What the terminal can show, and printing to it.

use crate::exit::Failed;
use crate::head;
use crate::output::MakeResult;
use delaylab_store::whole_file::Out;
use delaylab_terminal::style::Style;
use delaylab_terminal::visible::visible;
use delaylab_view::json::{Published, run::Line, to_line};
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Columns where nobody says.
const WIDTH: u16 = 100;

/// Prints text for people to standard output. Nothing in it reaches the terminal as a command.
pub fn print(text: impl AsRef<str>) -> Result<(), Failed> {
    write(visible(text.as_ref()).as_bytes())
}

/// Writes a document for programs to standard output, as it is.
pub fn write(document: impl AsRef<[u8]>) -> Result<(), Failed> {
    written(io::stdout().write_all(document.as_ref()))
}

fn written(result: io::Result<()>) -> Result<(), Failed> {
    match result {
        // Who stops reading has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failed::environment(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// The same of what is made as it is written: it may be longer than the memory.
///
/// # Errors
/// It cannot be made or written.
pub fn write_with(make: impl FnOnce(Out<'_>) -> MakeResult) -> Result<(), Failed> {
    let mut out = BufWriter::new(Stdout::default());
    let made = make(&mut out);
    let _ = out.flush(); // which it notes, too
    match out.into_parts().0.failed {
        Some(error) => written(Err(error)),
        None => made.map_err(Failed::environment),
    }
}

/// Standard output, and why it takes no more.
#[derive(Default)]
struct Stdout {
    failed: Option<io::Error>,
}

impl Stdout {
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        match result {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
            other => other,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.noted(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.noted(io::stdout().flush())
    }
}

/// Prints a document for programs, made for these settings.
pub fn document<T: Published>(document: &T, config: T::Config) -> Result<(), Failed> {
    write(head::to_line(document, config))
}

/// Prints a line of a run for programs.
pub fn line(line: &Line<'_>) -> Result<(), Failed> {
    write(to_line(line))
}

/// Says a line on standard error. Where nobody can hear it, the work goes on all the same.
pub fn say(line: impl Display) {
    done();
    let _ = writeln!(io::stderr(), "{}", sayable(&line.to_string()));
}

/// Says what is to be known before something is trusted.
pub fn warn(warning: impl Display) {
    say(format!("warning: {warning}"));
}

/// A line in the characters that standard error takes. Nothing in it reaches the terminal as a command.
pub fn sayable(line: &str) -> String {
    style(&io::stderr(), false).glyphs(visible(line).into_owned())
}

/// Can the terminal that TERM names not move its cursor, or is none named?
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Can a line on standard error be drawn over itself?
pub fn can_redraw() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Is anything shown of [`doing`]?
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows in the last line of a terminal what is being done, until [`done`] or [`say`]. What does not fit the line is cut
/// off: the next could not be drawn over it.
pub fn doing(what: impl Display) {
    if can_redraw() {
        SHOWN.store(true, Ordering::Relaxed);
        let text = sayable(&what.to_string());
        let room = usize::from(width()).saturating_sub(1);
        let shown: String = text.chars().take(room).collect();
        let _ = write!(io::stderr(), "\r{shown}\x1b[K");
    }
}

/// Clears what [`doing`] shows.
pub fn done() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

/// How text on this stream may look.
pub fn style(stream: &impl IsTerminal, verbose: bool) -> Style {
    let terminal = stream.is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style {
        color: terminal && !no_color && !is_dumb(),
        unicode: speaks_utf8(),
        width: width(),
        verbose,
    }
}

/// Does the locale say UTF-8?
pub fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    locale.is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Columns of the terminal.
pub fn width() -> u16 {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    told.or_else(delaylab_kernel::terminal::width)
        .unwrap_or(WIDTH)
}
