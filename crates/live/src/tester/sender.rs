//! Sends every stream of a trial, each frame at its time.
//!
//! One thread for all ports: frames of two streams that are due at once leave one right after the other,
//! in any order, and those of one port as its line carries them. It sleeps to shortly before a frame is due and spins
//! the rest, as the prober does.

use super::error::TesterError;
use super::job::{FrameStream, Job};
use super::port::{Opened, Port};
use crate::joined;
use crate::touched::touched;
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_kernel::{clock, wait};
use delaylab_model::probe::Pacing;
use delaylab_model::stop::Stop;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, PICOS_PER_NANO, Picos, SECOND};
use delaylab_traffic::pacing::awake::Awake;
use delaylab_traffic::pacing::frames;
use delaylab_traffic::pacing::line::Line;
use delaylab_wire::test_frame::Template;
use std::time::Duration;

/// Above what is quiet, below a soft switch: frames that have been sent go first.
const PRIORITY: i32 = 55;
/// It wakes up so long before a frame is due. A shorter wait is spun.
const EARLY: Nanos = 40 * MICROSECOND;
/// A real-time thread that is awake all the time is stopped by the kernel: faster streams do without.
const MOST_FRAMES_A_SECOND: u64 = 50_000;
/// Of 100 ms it is awake for no more than this.
const MOST_AWAKE: Nanos = 80 * MILLISECOND;
/// A sender that is behind by so much will not catch up: what is left is not sent.
const GIVE_UP_BEHIND: Nanos = 3 * SECOND;
/// Frames of one stream before others have their turn.
const TURN: usize = 64;
/// How often a port that takes no more is tried again for one frame.
const TRIES: u32 = 1000;

/// What became of a frame here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) t_intended: Nanos,
    /// When it was handed over, or why not.
    pub(super) outcome: Result<Nanos, Option<i32>>,
}

/// What room for one is filled with.
const UNSENT: Sent = Sent {
    t_intended: 1,
    outcome: Err(None),
};

/// A stream that is under way.
pub(super) struct Sending {
    template: Template,
    /// Index of its port.
    port: usize,
    start: Nanos,
    interval: Picos,
    /// A frame takes the line of its port for so long.
    line_time: Picos,
    count: u64,
    sent: Vec<Sent>,
}

impl Sending {
    /// One frame for all that are left says that they were not sent.
    fn give_up(&mut self) {
        if let Some(t_intended) = self.due() {
            self.sent.push(Sent {
                t_intended,
                outcome: Err(None),
            });
        }
    }

    /// When the next frame is due, from the trial's start; `None`: none is.
    fn due(&self) -> Option<Nanos> {
        let next = self.sent.len() as u64;
        (next < self.count).then(|| frames::slot(self.start, self.interval, next))
    }
}

/// Every stream, ready to send.
pub(super) fn streams(job: &Job, ports: &[Port], token: u16) -> Result<Vec<Sending>, TesterError> {
    let ready = |(stream, number): (&FrameStream, u16)| {
        let probe = &stream.probe;
        let (Pacing::Frames { interval_ps }, Some(frames)) = (probe.pacing, probe.frames) else {
            return Err(TesterError::NoFrames {
                probe: probe.name.clone(),
            });
        };
        let count = probe.frames_due();
        Ok(Sending {
            template: stream.template(number, token)?,
            port: ports
                .iter()
                .position(|port| port.is(&stream.from))
                .unwrap_or(0),
            start: frames.start,
            interval: interval_ps,
            line_time: match frames.paced {
                // A load above the line's rate is the user's to ask for.
                true => frames.line_time.min(interval_ps),
                // As fast as they can: what was held up makes it up.
                false => 0,
            },
            count,
            // A page fault is a stall.
            sent: touched(count as usize, UNSENT),
        })
    };
    job.streams.iter().zip(0..).map(ready).collect()
}

/// Sends all of it, or until the user asks to stop. What became of each frame of each stream.
pub(super) fn send(
    mut streams: Vec<Sending>,
    ports: &[Opened],
    start: Nanos,
    stop: &Stop,
) -> Result<Vec<Vec<Sent>>, TesterError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("frame-sender".to_owned());
        let sending = thread.spawn_scoped(scope, || send_in_time(&mut streams, ports, start, stop));
        joined(sending.map_err(TesterError::Thread)?.join());
        Ok::<_, TesterError>(())
    })?;
    Ok(streams.into_iter().map(|stream| stream.sent).collect())
}

/// The thread's whole life.
fn send_in_time(streams: &mut [Sending], ports: &[Opened], start: Nanos, stop: &Stop) {
    let _ = scheduling::set_timer_slack(1);
    let _ = wait::keep_deadlines_over_stops();
    if rate(streams) <= MOST_FRAMES_A_SECOND {
        // Without the privilege it is an ordinary thread, and its self-check says when it was late.
        let _ = Scheduling::fifo(PRIORITY).apply();
    }
    let mut awake = Awake::new(EARLY, MOST_AWAKE);
    let mut lines = vec![Line::default(); ports.len()];
    while let Some((slot, at)) = next(streams, &lines) {
        if stop.is_asked() {
            return;
        }
        if clock::monotonic() - (start + slot) > GIVE_UP_BEHIND {
            streams.iter_mut().for_each(Sending::give_up);
            return;
        }
        wait_until(start + at, &mut awake);
        for stream in &mut *streams {
            let port = stream.port;
            turn(stream, &ports[port], &mut lines[port], start);
        }
    }
}

/// The frames of a stream that are due: in turns, so that none waits for another that has fallen behind.
fn turn(stream: &mut Sending, port: &Opened, line: &mut Line, start: Nanos) {
    for _ in 0..TURN {
        let Some(slot) = stream.due() else {
            return;
        };
        let now = clock::monotonic() - start;
        if line.at(slot) > now {
            return;
        }
        one(stream, port, start + slot);
        line.carries(slot, now, stream.line_time);
    }
}

/// When the next frame is due, and when its line is free for it, from the trial's start.
fn next(streams: &[Sending], lines: &[Line]) -> Option<(Nanos, Nanos)> {
    let due = streams.iter().filter_map(|stream| {
        let slot = stream.due()?;
        Some((slot, lines[stream.port].at(slot)))
    });
    due.min_by_key(|&(_, at)| at)
}

/// Frames a second, of all streams together.
fn rate(streams: &[Sending]) -> u64 {
    let per_second = SECOND.unsigned_abs() * PICOS_PER_NANO;
    let rates = streams
        .iter()
        .map(|stream| per_second / stream.interval.max(1));
    rates.sum()
}

/// The next frame of a stream.
fn one(stream: &mut Sending, port: &Opened, t_intended: Nanos) {
    let number = stream.sent.len() as u32;
    let mut outcome = Err(None);
    for _ in 0..TRIES {
        let t_send = clock::monotonic();
        match port.socket.send(stream.template.sign(number, t_send)) {
            Ok(()) => {
                outcome = Ok(t_send);
                break;
            }
            Err(error) => outcome = Err(error.raw_os_error()),
        }
        // The interface takes no more just now; whatever else it is, it will not pass by trying.
        if !matches!(outcome, Err(Some(EAGAIN | ENOBUFS))) {
            break;
        }
        std::thread::sleep(Duration::from_micros(1));
    }
    stream.sent.push(Sent {
        t_intended,
        outcome,
    });
}

const EAGAIN: i32 = 11;
const ENOBUFS: i32 = 105;

/// Sleeps to shortly before, and spins the rest.
fn wait_until(due: Nanos, awake: &mut Awake) {
    let now = clock::monotonic();
    if let Some(until) = awake.sleep_until(now, due) {
        // Woken early or not, what is left is spun.
        let _ = clock::sleep_until(until);
        awake.slept(clock::monotonic() - now);
    }
    while clock::monotonic() < due {
        std::hint::spin_loop();
    }
}
