//! Row groups read ahead on several threads, and handed over in their order.

use super::batches::Step;
use arrow_array::RecordBatch;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, available_parallelism};

/// Threads at most: each holds a row group, of up to a million rows.
const THREADS: usize = 4;

/// The batches of a step; or which file cannot be read, and why.
type Piece = Result<Vec<RecordBatch>, (PathBuf, String)>;

/// Steps that are being read.
pub(super) struct Ahead {
    /// Each thread reads one step of as many as there are threads.
    threads: Vec<Receiver<Piece>>,
    turn: usize,
    left: usize,
}

impl Ahead {
    /// Begins to read these columns, or all; dropped, it stops.
    pub(super) fn start(steps: Vec<Step>, columns: Option<&[String]>) -> Self {
        let left = steps.len();
        let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
        let count = cpus.min(THREADS).min(left);
        let mut shares: Vec<Vec<Step>> = (0..count).map(|_| Vec::new()).collect();
        for (at, step) in steps.into_iter().enumerate() {
            shares[at % count].push(step);
        }
        let threads = shares.into_iter().map(|share| read(share, columns));
        Self {
            threads: threads.collect(),
            turn: 0,
            left,
        }
    }
}

/// Reads steps on a thread, each when the one before it was taken.
fn read(steps: Vec<Step>, columns: Option<&[String]>) -> Receiver<Piece> {
    let columns = columns.map(<[String]>::to_vec);
    let (sender, receiver) = sync_channel(0);
    // Where there is no thread, nothing comes: the reader says so.
    let _ = thread::Builder::new().spawn(move || {
        for step in steps {
            let batches = step
                .large(columns.as_deref())
                .and_then(|batches| batches.collect());
            let piece = batches.map_err(|why| (step.path().to_owned(), why));
            if sender.send(piece).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Iterator for Ahead {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.left = self.left.checked_sub(1)?;
        let thread = &self.threads[self.turn];
        self.turn = (self.turn + 1) % self.threads.len();
        Some(thread.recv().unwrap_or_else(|_| {
            let why = "the thread that was to read it could not be started, or broke off";
            Err((PathBuf::new(), why.to_owned()))
        }))
    }
}
