//! Brings what several threads measure to one sink.

use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::RecordFacts;
use delaylab_model::world::Sink;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Records of a thread that are handed on at once.
const BATCH: usize = 1024;
/// Batches under way between threads.
const BATCHES: usize = 64;

/// What threads bring.
pub(crate) enum Message {
    Begin(u16, RecordFacts),
    Records(Vec<Record>),
    Series(Vec<SeriesPoint>),
}

/// Where threads put it, and where it comes out.
pub(crate) type GatherChannel = (SyncSender<Message>, Receiver<Message>);

pub(crate) fn channel() -> GatherChannel {
    sync_channel(BATCHES)
}

/// Hands everything to the sink until the last thread has ended. After an error whoever still sends
/// notices that nobody listens.
pub(crate) fn hand_over(receiver: Receiver<Message>, sink: &mut dyn Sink) -> io::Result<()> {
    receiver.into_iter().try_for_each(|message| match message {
        Message::Begin(probe, facts) => sink.begin(probe, &facts),
        Message::Records(records) => records.iter().try_for_each(|record| sink.record(record)),
        Message::Series(points) => sink.rows(Rows::Series(&points)),
    })
}

/// Hands records to the thread that started this one. It keeps a guard for as long as it is there, or until its probe only
/// waits.
pub(crate) struct Forward<G> {
    sender: SyncSender<Message>,
    batch: Vec<Record>,
    guard: Option<G>,
}

impl<G> Forward<G> {
    pub(crate) const fn new(sender: SyncSender<Message>, guard: G) -> Self {
        Self {
            sender,
            batch: Vec::new(),
            guard: Some(guard),
        }
    }

    fn send(&self, message: Message) -> io::Result<()> {
        self.sender
            .send(message)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl<G> Sink for Forward<G> {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.send(Message::Begin(probe, *facts))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.batch.push(*record);
        if self.batch.len() < BATCH {
            return Ok(());
        }
        self.pause()
    }

    fn pause(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Records(batch))
    }

    fn only_waits(&mut self) {
        self.guard = None;
    }
}
