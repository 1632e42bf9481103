//! Brings what several threads measure to one sink.

use crate::load::LastsGuard;
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

/// Hands records to the thread that started this one. Loads last as long as it does, or until it only waits.
pub(crate) struct Forward<'a> {
    sender: SyncSender<Message>,
    batch: Vec<Record>,
    lasts: Option<LastsGuard<'a>>,
}

impl<'a> Forward<'a> {
    pub(crate) const fn new(sender: SyncSender<Message>, lasts: LastsGuard<'a>) -> Self {
        Self {
            sender,
            batch: Vec::new(),
            lasts: Some(lasts),
        }
    }

    fn send(&self, message: Message) -> io::Result<()> {
        self.sender
            .send(message)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Sink for Forward<'_> {
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
        self.lasts = None;
    }
}

/// An empty vector with room for so many, every page of which has been written to: memory that was only reserved costs a
/// page fault when it is first used. `filler` must not be all zeros, or the kernel would be asked for zeroed pages instead.
pub(crate) fn touched<T: Clone>(room: usize, filler: T) -> Vec<T> {
    let mut filled = vec![filler; room];
    filled.clear();
    filled
}
