//! The clocks of this host: reading them and sleeping on them.
//!
//! `CLOCK_MONOTONIC` is the record's clock (not `_RAW`: sleeps are on `MONOTONIC`, and the two drift
//! apart by up to 500 ppm under NTP). `CLOCK_REALTIME` is what kernel software stamps are in.
//! `CLOCK_BOOTTIME` also counts while the host is suspended.

use delaylab_model::{Nanos, SECOND};
use std::io;

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_REALTIME` since the UNIX epoch.
#[inline]
pub fn realtime() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

/// Nanoseconds of `CLOCK_BOOTTIME`.
#[inline]
pub fn boottime() -> Nanos {
    read(libc::CLOCK_BOOTTIME)
}

/// Brackets that are tried at most, and the width at which one is narrow enough.
const BRACKETS: usize = 8;
const NARROW: Nanos = 500;

/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME` at one moment. Between two reads a thread can be interrupted, which
/// would move the clocks apart by as much: the narrowest of a few brackets counts.
pub fn both() -> (Nanos, Nanos) {
    let mut narrowest = Nanos::MAX;
    let mut times = (0, 0);
    for _ in 0..BRACKETS {
        let before = monotonic();
        let real = realtime();
        let width = monotonic() - before;
        if width < narrowest {
            narrowest = width;
            times = (before + width / 2, real);
        }
        if width <= NARROW {
            break;
        }
    }
    times
}

/// `CLOCK_REALTIME − CLOCK_MONOTONIC`, as far as [`both`] can tell.
pub fn realtime_offset() -> Nanos {
    let (mono, real) = both();
    real - mono
}

/// CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_time() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time that a process has used so far, by threads that have ended as well. `None` where it is gone.
pub fn process_cpu_time(process: u32) -> Option<Nanos> {
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the id of a clock to a valid place.
    let found = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) };
    // SAFETY: `time` is a valid timespec to write to; of a process that is gone the call fails.
    let read = found == 0 && unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    read.then(|| from_timespec(&time))
}

#[inline]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write to. These clocks exist on every Linux that this
    // crate runs on, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    from_timespec(&time)
}

/// Sleeps until `CLOCK_MONOTONIC` reaches `deadline`. Returns early, with `Interrupted`, on a signal.
pub fn sleep_until(deadline: Nanos) -> io::Result<()> {
    let time = to_timespec(deadline);
    // SAFETY: `time` is a valid timespec; the remaining-time pointer may be null for absolute sleeps.
    let code = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &time,
            std::ptr::null_mut(),
        )
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

/// The CPU on which the calling thread runs now.
#[inline]
pub fn current_cpu() -> Option<u16> {
    // SAFETY: takes no arguments and only reads.
    u16::try_from(unsafe { libc::sched_getcpu() }).ok()
}

pub(crate) fn from_timespec(time: &libc::timespec) -> Nanos {
    time.tv_sec * SECOND + time.tv_nsec
}

pub(crate) fn to_timespec(ns: Nanos) -> libc::timespec {
    let ns = ns.max(0);
    libc::timespec {
        tv_sec: ns / SECOND,
        tv_nsec: ns % SECOND,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn monotonic_never_goes_back_and_sleep_never_ends_early() {
        let start = monotonic();
        sleep_until(start + 2_000_000).unwrap();
        assert!(monotonic() >= start + 2_000_000);
        assert!(boottime() >= monotonic() - 1_000_000_000);
        assert!(realtime() > 1_500_000_000 * SECOND);
    }
}
