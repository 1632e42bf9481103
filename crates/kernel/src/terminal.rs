//! How wide the terminal is.

use rustix::termios::tcgetwinsize;
use std::io;
use std::os::fd::AsFd;

/// Columns of the terminal behind standard output or standard error, where there is one.
pub fn width() -> Option<u16> {
    width_of(io::stdout()).or_else(|| width_of(io::stderr()))
}

fn width_of(stream: impl AsFd) -> Option<u16> {
    let size = tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
