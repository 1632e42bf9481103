//! Takes records off the measuring thread: writing must not delay what is measured.
//!
//! Batches go through a bounded channel, so memory stays flat. A reader so slow that the channel
//! fills up holds the sender back, and the records say so as schedule slip.

use super::output::{Output, Shown, Written};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::Sink;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Records handed over at once: waking the writer takes time on a busy CPU.
const BATCH: usize = 4096;
/// Batches under way.
const BATCHES: usize = 16;
/// A record waits no longer than this for company.
const PATIENCE: Duration = Duration::from_millis(20);

enum Message {
    Begin(RecordFacts),
    Records(Vec<Record>),
}

/// Runs `measure` on this thread and the output on another. Returns what both came to.
pub fn run<'a, T>(
    shown: Shown<'a>,
    output: Output,
    measure: impl FnOnce(&mut dyn Sink) -> T,
) -> (T, io::Result<Written<'a>>) {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCHES);
        let writer = scope.spawn(move || write(&receiver, output, shown));
        let mut sink = Batches {
            sender,
            batch: Vec::with_capacity(BATCH),
            sent: Instant::now(),
        };
        let measured = measure(&mut sink);
        // An error here is the writer's, which it returns itself.
        let _ = sink.hand_over();
        drop(sink);
        let written = writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (measured, written)
    })
}

fn write<'a>(
    receiver: &Receiver<Message>,
    output: Output,
    shown: Shown<'a>,
) -> io::Result<Written<'a>> {
    // The measuring thread then has its table to itself. The output goes back to it, open as it was.
    let _ = delaylab_kernel::process::own_descriptors();
    let mut written = Written::new(output, shown);
    loop {
        // Whoever reads our output gets what there is before we wait for more.
        let message = match receiver.try_recv() {
            Ok(message) => message,
            Err(TryRecvError::Empty) => {
                written.flush()?;
                let Ok(message) = receiver.recv() else { break };
                message
            }
            Err(TryRecvError::Disconnected) => break,
        };
        match message {
            Message::Begin(facts) => written.begin(&facts)?,
            Message::Records(records) => written.records(&records)?,
        }
    }
    Ok(written)
}

struct Batches {
    sender: SyncSender<Message>,
    batch: Vec<Record>,
    sent: Instant,
}

impl Batches {
    fn hand_over(&mut self) -> io::Result<()> {
        self.sent = Instant::now();
        if self.batch.is_empty() {
            return Ok(());
        }
        let next = Vec::with_capacity(self.batch.len());
        let batch = std::mem::replace(&mut self.batch, next);
        self.send(Message::Records(batch))
    }

    fn send(&self, message: Message) -> io::Result<()> {
        // The receiver is gone only if writing failed; why is in its result.
        self.sender
            .send(message)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Sink for Batches {
    fn begin(&mut self, facts: &RecordFacts) -> io::Result<()> {
        self.send(Message::Begin(*facts))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.batch.push(*record);
        if self.batch.len() >= BATCH || self.sent.elapsed() >= PATIENCE {
            self.hand_over()?;
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}
