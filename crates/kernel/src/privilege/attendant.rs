//! A process beside this one that keeps what a server gives up: it may read files, and does nothing but answer
//! one question whenever it is asked.
//!
//! It has no capabilities and gains none, and ends with the process that started it.

use super::lockdown::{self, LockDownError};
use crate::signals;
use crate::socket_options::check;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The longest answer, in bytes.
const LONGEST: usize = 1 << 20;
/// An answer that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process, as its server sees it.
#[derive(Debug)]
pub struct Attendant {
    stream: UnixStream,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum AttendantError {
    /// The system refused.
    #[error("cannot start a process that reads files: {0}")]
    Start(#[from] io::Error),
    /// A process with threads cannot be copied.
    #[error("there are {0} threads already")]
    Threads(usize),
}

impl Attendant {
    /// Starts the process. `answer` is called there, each time that it is asked. To be called before ports are
    /// bound, which the process would hold too, and before threads are started.
    pub fn start(mut answer: impl FnMut() -> Vec<u8>) -> Result<Self, AttendantError> {
        let threads = fs::read_dir("/proc/self/task")?.count();
        if threads != 1 {
            return Err(AttendantError::Threads(threads));
        }
        let (ours, theirs) = UnixStream::pair()?;
        // SAFETY: there is one thread, so no lock is held by another one; the child never returns from here.
        let child = check(unsafe { libc::fork() })?;
        if child == 0 {
            drop(ours);
            let _ = attend(theirs, &mut answer);
            // SAFETY: ends the process, and runs nothing of what the parent has registered for its own end.
            unsafe { libc::_exit(0) }
        }
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: ours })
    }

    /// Asks, and waits for the answer.
    pub fn ask(&mut self) -> io::Result<Vec<u8>> {
        self.stream.write_all(&[0])?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}

/// Answers until the other end is closed.
fn attend(
    mut stream: UnixStream,
    answer: &mut dyn FnMut() -> Vec<u8>,
) -> Result<(), LockDownError> {
    // What ends the server ends this process by closing its stream.
    let _ = signals::ignore_all();
    lockdown::drop_capabilities()?;
    while stream.read_exact(&mut [0]).is_ok() {
        let mut answer = answer();
        answer.truncate(LONGEST);
        let length = answer.len() as u32;
        let sent = stream
            .write_all(&length.to_be_bytes())
            .and_then(|()| stream.write_all(&answer));
        if sent.is_err() {
            break;
        }
    }
    Ok(())
}
