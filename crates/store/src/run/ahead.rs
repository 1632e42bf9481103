//! Row groups read ahead on several threads, and handed over in their order.

use super::batches::Step;
use super::reading::Unread;
use arrow_array::RecordBatch;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, available_parallelism};

/// Threads at most: each holds a row group, of up to a million rows.
const THREADS: usize = 4;

/// What is to be read. Its files are opened as they are asked for: there may be more of them than a process may hold open.
pub(super) type Steps = Box<dyn Iterator<Item = Result<Step, Unread>> + Send>;

/// The batches of a step; or which file cannot be read, and why.
type Piece = Result<Vec<RecordBatch>, Unread>;

/// Steps that are being read.
pub(super) struct Ahead {
    /// Each reads one step of as many as there are threads.
    threads: Vec<Thread>,
    turn: usize,
    /// How many of them have a step.
    busy: usize,
    /// Those that none has yet.
    steps: Steps,
}

impl Ahead {
    /// Begins to read these columns, or all; dropped, it stops.
    pub(super) fn start(mut steps: Steps, columns: Option<&[String]>) -> Self {
        let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
        let first = steps.by_ref().take(cpus.min(THREADS));
        let threads = first.map(|step| {
            let thread = Thread::start(columns);
            thread.read(step);
            thread
        });
        let threads: Vec<Thread> = threads.collect();
        Self {
            busy: threads.len(),
            threads,
            turn: 0,
            steps,
        }
    }
}

/// A thread that reads one step at a time.
struct Thread {
    steps: SyncSender<Result<Step, Unread>>,
    pieces: Receiver<Piece>,
}

impl Thread {
    fn start(columns: Option<&[String]>) -> Self {
        let columns = columns.map(<[String]>::to_vec);
        let (steps, taken) = sync_channel::<Result<Step, Unread>>(1);
        let (sender, pieces) = sync_channel(1);
        // Where there is no thread, nothing comes: the reader says so.
        let _ = thread::Builder::new().spawn(move || {
            for step in taken {
                let piece = step.and_then(|step| piece(&step, columns.as_deref()));
                if sender.send(piece).is_err() {
                    return;
                }
            }
        });
        Self { steps, pieces }
    }

    fn read(&self, step: Result<Step, Unread>) {
        // One that has broken off shows where its piece is taken.
        let _ = self.steps.send(step);
    }

    fn take(&self) -> Piece {
        self.pieces.recv().unwrap_or_else(|_| {
            let what = "the thread that was to read it could not be started, or broke off";
            Err(Unread {
                path: PathBuf::new(),
                what: what.to_owned(),
            })
        })
    }
}

fn piece(step: &Step, columns: Option<&[String]>) -> Piece {
    let batches = step.large(columns).and_then(|batches| batches.collect());
    batches.map_err(|what| Unread {
        path: step.path().to_owned(),
        what,
    })
}

impl Iterator for Ahead {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.busy = self.busy.checked_sub(1)?;
        let thread = &self.threads[self.turn];
        self.turn = (self.turn + 1) % self.threads.len();
        let piece = thread.take();
        if let Some(step) = self.steps.next() {
            thread.read(step);
            self.busy += 1;
        }
        Some(piece)
    }
}
