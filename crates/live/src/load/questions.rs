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

    /// Waits for an answer that is still due. True: the connection can be used as before. Else that answer may come yet, and
    /// would be taken for another's.
    pub(super) fn settle(&mut self) -> bool {
        if self.pending.is_some() {
            let _ = self.take(Blocking::Yes);
        }
        self.pending.is_none()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_kernel::socket_options;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// What the other end says by the time that it is waited for: nothing, a half, or all of an answer.
    #[test]
    fn an_answer_that_is_still_due_spoils_the_connection() {
        let counted = Counted {
            token: 7,
            ..Counted::default()
        };
        let mut answer = [0; SIZE];
        Control::Counted(counted).emit(None, &mut answer).unwrap();
        for (length, settled) in [(0, false), (SIZE / 2, false), (SIZE, true)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            let control = StreamSocket::new(stream).unwrap();
            socket_options::set_receive_timeout(&control, 50_000_000).unwrap();
            let mut questions = Questions::new(control, [0; SIZE], 7, None);
            assert_eq!(questions.ask_again(), None);
            far.write_all(&answer[..length]).unwrap();
            assert_eq!(questions.settle(), settled, "{length}");
        }
    }
}
