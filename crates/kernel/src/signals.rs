//! Being told to stop: SIGINT and SIGTERM raise a flag and interrupt blocking calls.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_signal(_signal: libc::c_int) {
    // Only an atomic add: async-signal-safe.
    ASKED.fetch_add(1, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM only count, and interrupt blocking system calls.
pub fn catch_stop() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: a zeroed sigaction is valid; the handler only touches an atomic. No SA_RESTART, so
        // that a blocking receive returns.
        let code = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        crate::socket_options::check(code)?;
    }
    Ok(())
}

/// How often a stop was asked for.
pub fn stops_asked() -> u32 {
    ASKED.load(Ordering::Relaxed)
}

/// Asks this process to stop, as Ctrl-C does.
pub fn ask_to_stop() -> io::Result<()> {
    // SAFETY: sends a signal to this process and touches no memory.
    let code = unsafe { libc::kill(libc::getpid(), libc::SIGINT) };
    crate::socket_options::check(code).map(drop)
}
