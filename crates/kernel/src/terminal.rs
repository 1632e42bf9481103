//! How wide the terminal is.

/// Columns of the terminal behind standard output or standard error, where there is one.
pub fn width() -> Option<u16> {
    [libc::STDOUT_FILENO, libc::STDERR_FILENO]
        .into_iter()
        .find_map(width_of)
}

fn width_of(fd: libc::c_int) -> Option<u16> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the kernel writes a winsize to the address given, and does nothing if `fd` is no terminal.
    let code = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) };
    (code == 0 && size.ws_col > 0).then_some(size.ws_col)
}
