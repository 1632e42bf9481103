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
/// Question and answer begin with the question's number; then come an answer's length and bytes.
const WORD: usize = size_of::<u32>();
/// An answer that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process, as its server sees it.
#[derive(Debug)]
pub struct Attendant {
    stream: UnixStream,
    /// The number of the last question.
    asked: u32,
    /// What has come of answers and is no whole one yet.
    came: Vec<u8>,
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
        Ok(Self::at(ours, PATIENCE)?)
    }

    fn at(stream: UnixStream, patience: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self {
            stream,
            asked: 0,
            came: Vec::new(),
        })
    }

    /// Asks, and waits for the answer. One to an earlier question, which was given up, is passed over.
    pub fn ask(&mut self) -> io::Result<Vec<u8>> {
        self.asked = self.asked.wrapping_add(1);
        self.stream.write_all(&self.asked.to_be_bytes())?;
        loop {
            let [number, length] = [self.next_word(0)?, self.next_word(WORD)?];
            let end = 2 * WORD + length as usize;
            if end > 2 * WORD + LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.read_up_to(end)?;
            let answer = self.came.drain(..end).skip(2 * WORD).collect();
            if number == self.asked {
                return Ok(answer);
            }
        }
    }

    fn next_word(&mut self, at: usize) -> io::Result<u32> {
        self.read_up_to(at + WORD)?;
        let word = self.came[at..].first_chunk();
        Ok(u32::from_be_bytes(word.copied().unwrap_or_default()))
    }

    /// What has come is kept, also where the rest does not come in time.
    fn read_up_to(&mut self, length: usize) -> io::Result<()> {
        let mut piece = [0; 4096];
        while self.came.len() < length {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.came.extend(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Answers until the other end is closed.
fn attend(
    mut stream: UnixStream,
    answer: &mut dyn FnMut() -> Vec<u8>,
) -> Result<(), LockDownError> {
    // What ends the server ends this process by closing its stream.
    let _ = signals::ignore_all();
    lockdown::drop_privileges(None)?;
    while answer_next(&mut stream, answer).is_ok() {}
    Ok(())
}

fn answer_next(stream: &mut UnixStream, answer: &mut dyn FnMut() -> Vec<u8>) -> io::Result<()> {
    let mut number = [0; WORD];
    stream.read_exact(&mut number)?;
    let mut answer = answer();
    answer.truncate(LONGEST);
    let length = answer.len() as u32;
    stream.write_all(&number)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&answer)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_answer_that_comes_too_late_is_not_that_to_the_next_question() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut attendant = Attendant::at(ours, Duration::from_millis(10)).unwrap();
        assert!(attendant.ask().is_err());
        // The first answer comes in two pieces, and its end only after the second question was given up.
        let mut first = Vec::new();
        let (mut near, mut far) = UnixStream::pair().unwrap();
        near.write_all(&1_u32.to_be_bytes()).unwrap();
        answer_next(&mut far, &mut || b"old".to_vec()).unwrap();
        drop(far);
        near.read_to_end(&mut first).unwrap();
        theirs.write_all(&first[..9]).unwrap();
        assert!(attendant.ask().is_err());
        theirs.write_all(&first[9..]).unwrap();
        attendant
            .stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let answering = std::thread::spawn(move || {
            for text in ["old", "old", "new"] {
                answer_next(&mut theirs, &mut || text.into()).unwrap();
            }
        });
        assert_eq!(attendant.ask().unwrap(), b"new");
        answering.join().unwrap();
    }
}
