//! Questions to a reflector while a stream runs: what it counts of the stream.

use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::stream::StreamSocket;
use delaylab_wire::auth::Key;
use delaylab_wire::control::{Control, Counted, SIZE};

/// Questions that are asked while the stream runs, and answers that nothing waits for.
pub(super) struct Questions {
    control: StreamSocket,
    question: [u8; SIZE],
    token: u32,
    reply: Option<Key>,
    answer: [u8; SIZE],
    /// How much of the answer to the last question is there; `None`: none is due.
    pending: Option<usize>,
}

impl Questions {
    /// `question`, over this connection; answers carry `token` and, if any, the seal of `reply`.
    pub(super) fn new(
        control: StreamSocket,
        question: [u8; SIZE],
        token: u32,
        reply: Option<Key>,
    ) -> Self {
        Self {
            control,
            question,
            token,
            reply,
            answer: [0; SIZE],
            pending: None,
        }
    }

    /// Asks, unless an answer is still due. Says what came since the last time.
    pub(super) fn ask_again(&mut self) -> Option<Counted> {
        let came = self.take(Blocking::No);
        if self.pending.is_none() && self.control.send(&self.question).is_ok() {
            self.pending = Some(0);
        }
        came
    }

    /// Waits for an answer that is still due, so that the connection can be used as before.
    pub(super) fn settle(&mut self) {
        while self.pending.is_some() && self.take(Blocking::Yes).is_none() {
            // Nothing in all the time that an answer may take: the connection is no longer of use.
            if self.pending.is_some() {
                return;
            }
        }
    }

    fn take(&mut self, blocking: Blocking) -> Option<Counted> {
        let mut length = self.pending?;
        while length < SIZE {
            match self.control.receive(&mut self.answer[length..], blocking) {
                Ok((more, _)) if more > 0 => length += more,
                _ => {
                    self.pending = Some(length);
                    return None;
                }
            }
        }
        self.pending = None;
        match Control::parse(self.reply.as_ref(), &self.answer) {
            Ok(Control::Counted(counted)) if counted.token == self.token => Some(counted),
            _ => None,
        }
    }
}
