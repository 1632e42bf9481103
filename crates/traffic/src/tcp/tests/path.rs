//! A path of constant delay and no queue: what is sent together arrives together.

use super::super::{Ack, Receiver, Segment, Sender, Settings};
use delaylab_model::Picos;
use std::collections::BTreeMap;

/// What becomes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    Arrives { late: Picos, marked: bool },
    Twice { late: Picos },
}

pub const FINE: Fate = Fate::Arrives {
    late: 0,
    marked: false,
};

#[derive(Debug, Clone, Copy)]
enum Event {
    Data(Segment, bool),
    Ack(Ack),
}

/// Both ends and what is between them.
pub struct Path<F> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Picos,
    delay: Picos,
    events: BTreeMap<(Picos, u64), Event>,
    order: u64,
    fate: F,
    /// Every so many ACKs one is lost; 0 loses none.
    pub lose_ack: u64,
    acks: u64,
    /// Every segment that left, if kept.
    pub sent: Option<Vec<Segment>>,
}

impl<F: FnMut(Picos, &Segment) -> Fate> Path<F> {
    pub fn new(settings: &Settings, rtt: Picos, fate: F) -> Self {
        Self {
            sender: Sender::new(settings, 0),
            receiver: Receiver::new(settings),
            now: 0,
            delay: rtt / 2,
            events: BTreeMap::new(),
            order: 0,
            fate,
            lose_ack: 0,
            acks: 0,
            sent: None,
        }
    }

    fn later(&mut self, late: Picos, event: Event) {
        self.order += 1;
        let at = self.now + self.delay + late;
        self.events.insert((at, self.order), event);
    }

    fn acknowledge(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        self.acks += 1;
        if self.acks.checked_rem(self.lose_ack) != Some(0) {
            self.later(0, Event::Ack(ack));
        }
    }

    pub fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let bound = self.sender.settings().window;
            // What is not known to be lost may be out twice.
            assert!(self.sender.in_flight() <= 2 * bound, "{:?}", self.sender);
            assert!(segment.end() <= self.sender.acknowledged() + bound);
            match (self.fate)(self.now, &segment) {
                Fate::Lost => {}
                Fate::Arrives { late, marked } => self.later(late, Event::Data(segment, marked)),
                Fate::Twice { late } => {
                    self.later(0, Event::Data(segment, false));
                    self.later(late, Event::Data(segment, false));
                }
            }
            self.sent.iter_mut().for_each(|sent| sent.push(segment));
        }
    }

    /// When something happens next.
    fn next(&self) -> Option<Picos> {
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
        event.into_iter().chain(timers.into_iter().flatten()).min()
    }

    fn happen(&mut self) {
        if self.sender.next_timeout() == Some(self.now) {
            self.sender.on_timeout(self.now);
            self.transmit();
            let next = self.sender.next_timeout();
            assert!(next.is_none_or(|at| at > self.now), "{next:?}");
        }
        let ack = self.receiver.on_timeout(self.now);
        self.acknowledge(ack);
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Event::Ack(ack) => self.sender.on_ack(self.now, ack),
                Event::Data(segment, marked) => {
                    let before = self.receiver.delivered();
                    let ack = self.receiver.on_segment(self.now, &segment, marked);
                    assert!(self.receiver.delivered() >= before);
                    self.acknowledge(ack);
                }
            }
            self.transmit();
        }
    }

    /// Runs until nothing happens before `end`, or at all.
    pub fn run(&mut self, end: Picos) {
        self.transmit();
        while let Some(next) = self.next().filter(|&next| next < end) {
            self.now = next;
            self.happen();
        }
    }
}
