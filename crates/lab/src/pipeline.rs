//! Takes records off the measuring thread: writing must not delay what is measured.
//!
//! Batches go through a bounded channel, so memory stays constant. If the consumer is so slow that the
//! channel fills up, the measuring thread waits, and the records show it as schedule slip.
//!
//! A simulation is not delayed by it: where as many are under way as may be, each consumes its records itself.

use delaylab_model::record::Record;
use delaylab_model::rows::{RowBuffer, Rows};
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::{Clock, Sink};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Records in a batch. Larger batches wake the consumer less often, which costs time on a busy CPU.
const BATCH: usize = 4096;
/// Capacity of the channel, in batches.
const BATCHES: usize = 16;
/// A batch is sent with the first record after this time, even if it is not full.
const PATIENCE: Duration = Duration::from_millis(20);
/// How often an idle consumer flushes, so that records are on disk within a second.
const FLUSH_EVERY: Duration = Duration::from_millis(250);

/// Receives the data of a trial.
pub trait Consumer: Send {
    /// Records of a probe follow.
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()>;
    /// Receives a batch of finished records.
    fn records(&mut self, records: &[Record]) -> io::Result<()>;
    /// Receives rows of the trial's other tables.
    fn rows(&mut self, _rows: Rows<'_>) -> io::Result<()> {
        Ok(())
    }
    /// Hands on buffered output, because nothing more waits for now. Called repeatedly while the channel
    /// is empty.
    fn flush(&mut self) -> io::Result<()>;
}

enum Message {
    Begin(u16, RecordFacts),
    Records(Vec<Record>),
    Rows(Box<RowBuffer>),
}

/// Runs `measure` on this thread and `consumer` on another, and returns the results of both. The consumer
/// is returned even after its error, with what it received until then. `clock`: the world's clock.
pub fn run<C: Consumer, T>(
    clock: Clock,
    mut consumer: C,
    measure: impl FnOnce(&mut dyn Sink) -> T,
) -> (T, C, io::Result<()>) {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCHES);
        let writer = scope.spawn(move || {
            leave_descriptors_to_the_measuring_thread(clock);
            let consumed = consume(&receiver, &mut consumer);
            (consumer, consumed)
        });
        let mut sink = Batches {
            sender,
            batch: Vec::with_capacity(BATCH),
            rows: RowBuffer::default(),
            sent: Instant::now(),
        };
        let measured = measure(&mut sink);
        // This fails only if the consumer failed, and its own error is returned below.
        let _ = sink.hand_over();
        drop(sink);
        let (consumer, consumed) = writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (measured, consumer, consumed)
    })
}

/// Runs `measure` and `consumer` on this thread, for a simulation that may have no other: what it records is not copied for
/// another thread, and none is woken. Returns the same as [`run`].
pub fn run_on_one_thread<C: Consumer, T>(
    consumer: C,
    measure: impl FnOnce(&mut dyn Sink) -> T,
) -> (T, C, io::Result<()>) {
    let mut sink = Direct {
        consumer,
        batch: Vec::with_capacity(BATCH),
        consumed: Ok(()),
    };
    let measured = measure(&mut sink);
    // An error is kept in `consumed`.
    let _ = sink.hand_over();
    (measured, sink.consumer, sink.consumed)
}

/// On a real clock, gives the consumer's thread its own copy of the descriptor table, because system calls
/// on a shared table are slower. The consumer must not open or close files on this thread: the measuring
/// thread, to which it returns, would not see that.
fn leave_descriptors_to_the_measuring_thread(clock: Clock) {
    if clock == Clock::Real {
        let _ = delaylab_kernel::process::own_descriptors();
    }
}

fn consume(receiver: &Receiver<Message>, consumer: &mut impl Consumer) -> io::Result<()> {
    loop {
        let Some(message) = next(receiver, consumer)? else {
            return Ok(());
        };
        match message {
            Message::Begin(probe, facts) => consumer.begin(probe, &facts)?,
            Message::Records(records) => consumer.records(&records)?,
            Message::Rows(rows) => rows.hand_on(|rows| consumer.rows(rows))?,
        }
    }
}

/// The next message, or `None` at the end. Flushes the consumer while the channel is empty.
fn next(receiver: &Receiver<Message>, consumer: &mut impl Consumer) -> io::Result<Option<Message>> {
    let mut patience = Duration::ZERO;
    loop {
        match receiver.recv_timeout(patience) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => consumer.flush()?,
        }
        patience = FLUSH_EVERY;
    }
}

struct Batches {
    sender: SyncSender<Message>,
    batch: Vec<Record>,
    rows: RowBuffer,
    sent: Instant,
}

impl Batches {
    fn hand_over(&mut self) -> io::Result<()> {
        self.sent = Instant::now();
        if !self.batch.is_empty() {
            let next = Vec::with_capacity(self.batch.len());
            let batch = std::mem::replace(&mut self.batch, next);
            self.send(Message::Records(batch))?;
        }
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.send(Message::Rows(Box::new(rows)))?;
        }
        Ok(())
    }

    fn send(&self, message: Message) -> io::Result<()> {
        // The receiver is gone only if the consumer failed; `run` returns its error.
        self.sender
            .send(message)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Sink for Batches {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.send(Message::Begin(probe, *facts))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.batch.push(*record);
        if self.batch.len() >= BATCH || self.sent.elapsed() >= PATIENCE {
            self.hand_over()?;
        }
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> io::Result<()> {
        self.rows.push(rows);
        if self.rows.len() >= BATCH {
            self.hand_over()?;
        }
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

/// Hands on to the consumer at once, but for records, which come one by one.
struct Direct<C> {
    consumer: C,
    batch: Vec<Record>,
    /// The consumer's first error.
    consumed: io::Result<()>,
}

impl<C: Consumer> Direct<C> {
    fn hand_over(&mut self) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let handed = self.consume(|consumer| match batch.is_empty() {
            true => Ok(()),
            false => consumer.records(&batch),
        });
        self.batch = batch;
        self.batch.clear();
        handed?;
        self.consume(Consumer::flush)
    }

    /// After an error of the consumer nothing more is consumed, and the measurement ends.
    fn consume(&mut self, consume: impl FnOnce(&mut C) -> io::Result<()>) -> io::Result<()> {
        if self.consumed.is_ok() {
            self.consumed = consume(&mut self.consumer);
        }
        match self.consumed {
            Ok(()) => Ok(()),
            Err(_) => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        }
    }
}

impl<C: Consumer> Sink for Direct<C> {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.hand_over()?;
        self.consume(|consumer| consumer.begin(probe, facts))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.batch.push(*record);
        match self.batch.len() >= BATCH {
            true => self.hand_over(),
            false => Ok(()),
        }
    }

    fn rows(&mut self, rows: Rows<'_>) -> io::Result<()> {
        self.consume(|consumer| consumer.rows(rows))
    }

    fn pause(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}
