//! Requests to stop, or to read files again: signals raise a flag and interrupt blocking calls.

use delaylab_model::stop::Stop;
use rustix::process::{Signal, getpid, kill_process};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static STOP: OnceLock<Stop> = OnceLock::new();
static HANGUPS: AtomicU32 = AtomicU32::new(0);
/// Does SIGHUP ask to stop?
static HANGUP_STOPS: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(signal: libc::c_int) {
    // Only atomic loads, stores and an atomic add: async-signal-safe.
    let is_hangup = signal == libc::SIGHUP;
    if is_hangup && !HANGUP_STOPS.load(Ordering::Relaxed) {
        HANGUPS.fetch_add(1, Ordering::Relaxed);
    } else if let Some(stop) = STOP.get()
        // Where a terminal is closed, both its shell and the kernel may send one: that is one request.
        && !(is_hangup && stop.is_asked())
    {
        stop.ask();
    }
}

/// What SIGINT, SIGTERM and SIGHUP raise, once they are caught by [`catch_stop`].
pub fn stop() -> Stop {
    STOP.get_or_init(Stop::default).clone()
}

/// From now on SIGINT and SIGTERM only count, and interrupt blocking system calls. So does SIGHUP, with which a closed terminal
/// ends its programs, unless it is ignored, as by `nohup`, or caught by [`catch_hangup`].
pub fn catch_stop() -> io::Result<()> {
    stop(); // it is there before the handler looks for it
    catch(libc::SIGINT)?;
    catch(libc::SIGTERM)?;
    if handler_of(libc::SIGHUP)? == libc::SIG_DFL {
        HANGUP_STOPS.store(true, Ordering::Relaxed);
        catch(libc::SIGHUP)?;
    }
    Ok(())
}

/// From now on SIGHUP only counts, as [`hangups`] tells, and interrupts blocking system calls.
pub fn catch_hangup() -> io::Result<()> {
    HANGUP_STOPS.store(false, Ordering::Relaxed);
    catch(libc::SIGHUP)
}

fn catch(signal: libc::c_int) -> io::Result<()> {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    handle(signal, handler)
}

/// From now on SIGHUP, SIGINT and SIGTERM do nothing.
pub fn ignore_all() -> io::Result<()> {
    [libc::SIGHUP, libc::SIGINT, libc::SIGTERM]
        .into_iter()
        .try_for_each(|signal| handle(signal, libc::SIG_IGN))
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: a zeroed sigaction is valid; the handler does atomic operations only, and `STOP` is initialised before it is
    // installed and never dropped. No SA_RESTART, so
    // that a blocking receive returns.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    crate::socket_options::check(code).map(drop)
}

/// What is done at this signal: a handler, `SIG_DFL` or `SIG_IGN`.
fn handler_of(signal: libc::c_int) -> io::Result<libc::sighandler_t> {
    // SAFETY: a zeroed sigaction is valid, and the call writes into this one alone: the disposition stays as it is.
    let (code, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let code = libc::sigaction(signal, std::ptr::null(), &raw mut action);
        (code, action)
    };
    crate::socket_options::check(code)?;
    Ok(action.sa_sigaction)
}

/// How often SIGHUP came that did not ask to stop.
pub fn hangups() -> u32 {
    HANGUPS.load(Ordering::Relaxed)
}

/// Asks this process to stop, as Ctrl-C does.
pub fn ask_to_stop() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::INT)?)
}
