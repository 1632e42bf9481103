//! tcp that comes down: the reflector sends as much as gets through, and this end reads it.
//!
//! What this end cannot know, the sender's round trip, window and repetitions, is asked for over the control
//! connection while the load comes; the answer may wait in the queue that the load fills, so nothing waits for it.

use super::bulk;
use super::error::LoadError;
use super::over_time::{OverTime, rate};
use super::questions::Questions;
use super::{LoadState, StreamRun};
use delaylab_kernel::stream::StreamSocket;
use delaylab_kernel::{clock, wait};
use delaylab_model::plan::Unit;
use delaylab_model::stream_report::{Amount, Received, StreamReport};
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_wire::control::{Counted, Name, SIZE};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;

/// One read.
const READ: usize = 1 << 20;

/// One connection that the reflector keeps full.
pub(super) struct Fetched {
    pub(super) socket: StreamSocket,
    window: Option<u32>,
    congestion_control: Option<Name>,
    /// What tells the reflector to send.
    begin: [u8; SIZE],
    questions: Questions,
    /// No answer is due on the control connection.
    is_settled: bool,
}

/// Gives the socket the window of its load, if it has one.
fn hold_window(socket: &StreamSocket, run: &StreamRun) -> Result<Option<u32>, LoadError> {
    let window = run.load.window.map(|window| window.0);
    let window = window.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    if let Some(bytes) = window {
        let held = socket.hold_receive_buffer(bytes);
        held.map_err(LoadError::socket("window"))?;
    }
    Ok(window)
}

impl Fetched {
    /// Reads this connection from when it is told to; `begin` is the packet that lets the reflector send.
    pub(super) fn new(
        stream: TcpStream,
        begin: [u8; SIZE],
        questions: Questions,
        congestion_control: Option<Name>,
        run: &StreamRun,
    ) -> Result<Self, LoadError> {
        let socket = bulk::without_waiting(stream)?;
        Ok(Self {
            window: hold_window(&socket, run)?,
            socket,
            congestion_control,
            begin,
            questions,
            is_settled: true,
        })
    }

    pub(super) fn run(
        &mut self,
        state: &LoadState,
        over_time: &mut OverTime,
        report: &mut StreamReport,
    ) {
        let begun = clock::monotonic();
        over_time.begin(begun);
        let mut told = Reported::default();
        let mut received = 0;
        let mut ended = self.socket.send(&self.begin).map(drop);
        let mut listens = true;
        while ended.is_ok() && !state.stopped() && listens {
            ended = self.read(over_time.due(), &mut received);
            let now = clock::monotonic();
            if now >= over_time.due() {
                let answer = self.questions.ask_again();
                listens = told.point(over_time, now, received, answer);
                report.round_trips.extend(smoothed_rtt(answer));
            }
        }
        let lasted = clock::monotonic() - begun;
        if let Err(error) = ended {
            let seconds = lasted as f64 / 1e9;
            report.failed = Some(match error.kind() {
                io::ErrorKind::UnexpectedEof => format!(
                    "the reflector ended it after {seconds:.1} s: it has ended, or has ended the session \
                     (--max-duration)"
                ),
                _ => format!("the connection broke after {seconds:.1} s: {error}"),
            });
        }
        report.lasted = Some(lasted);
        let used = self.congestion_control.as_ref();
        report.congestion_control = used.map(|name| name.as_str().to_owned());
        let amount = Amount {
            packets: 0,
            bytes: received,
        };
        // At least as much as has arrived.
        report.sent = amount;
        report.received = Some(Received {
            amount,
            ..Received::default()
        });
        self.is_settled = self.questions.settle();
    }

    /// Takes what is there, until the deadline.
    fn read(&self, deadline: Nanos, received: &mut u64) -> io::Result<()> {
        // Said again and again: the kernel forgets it when it learns how long segments are.
        if let Some(bytes) = self.window {
            self.socket.set_window_clamp(bytes)?;
        }
        match self.socket.discard(READ) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                *received += length as u64;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait::until_readable(self.socket.as_fd(), Some(deadline)).map(drop)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Err(error) => Err(error),
        }
    }

    /// May the control connection be asked again?
    pub(super) const fn is_settled(&self) -> bool {
        self.is_settled
    }
}

/// The sender's smoothed round trip, where an answer came since it was last asked for: an older one says nothing of now.
fn smoothed_rtt(answer: Option<Counted>) -> Option<Nanos> {
    let us = answer.map(|counted| counted.sender.smoothed_rtt_us);
    us.filter(|us| *us > 0)
        .map(|us| Nanos::from(us) * MICROSECOND)
}

/// What the series have been told.
#[derive(Default)]
struct Reported {
    received: u64,
    counted: Counted,
}

impl Reported {
    /// Ends a stretch. False: nothing takes the series any more.
    fn point(
        &mut self,
        over_time: &mut OverTime,
        now: Nanos,
        received: u64,
        answer: Option<Counted>,
    ) -> bool {
        let goodput = rate(received - self.received, over_time.length(now));
        self.received = received;
        let before = self.counted.sender.retransmits;
        let Some(counted) = answer else {
            return over_time.point(now, &[("goodput", Unit::BitsPerSecond, goodput)]);
        };
        self.counted = counted;
        let sender = counted.sender;
        let again = sender.retransmits.wrapping_sub(before);
        let window = f64::from(sender.congestion_window);
        over_time.of_tcp(now, window, sender.smoothed_rtt_us, goodput, again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_counts_once() {
        let mut answer = Counted::default();
        assert_eq!(smoothed_rtt(Some(answer)), None);
        answer.sender.smoothed_rtt_us = 20;
        assert_eq!(smoothed_rtt(Some(answer)), Some(20 * MICROSECOND));
        assert_eq!(smoothed_rtt(None), None);
    }
}
