//! The loop of a probe that has a thread of its own.
//!
//! It sleeps in the kernel to shortly before a packet is due and spins the rest ([`Lead`]); in a closed loop that
//! blocks, the receive call itself is what it sleeps in.

use super::channel::Channel;
use super::engine::{Engine, EngineReport, Polled, Wait};
use super::error::RunError;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::socket_options as options;
use delaylab_kernel::wait::{self, Woken};
use delaylab_model::probe::WaitMode;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_traffic::pacing::lead::Lead;

/// A receive time-out counts in ticks of the kernel; the last of it is waited for exactly.
const RECEIVE_TIMEOUT_SLACK: Nanos = 20 * MILLISECOND;
/// After so long something else may be due, where packets come faster than they are read.
const LONGEST_READING: Nanos = MILLISECOND;
/// No sleep is longer, so that a stop is noticed.
const LONGEST_SLEEP: Nanos = SECOND / 2;

/// Runs the probe to its end, on this thread.
pub fn run<C: Channel>(engine: Engine<'_, C>) -> (EngineReport, Result<(), RunError>) {
    let mut driver = OwnThread {
        receive_timeout: receive_timeout(&engine),
        engine,
        lead: Lead::default(),
    };
    let outcome = driver.until_done();
    driver.engine.end(outcome)
}

/// The time-out that the receive call has from here on, where replies may be waited for in it.
fn receive_timeout<C: Channel>(engine: &Engine<'_, C>) -> Option<Nanos> {
    let config = engine.config();
    let blocks = engine.is_closed_loop()
        && config.wait_mode == WaitMode::Block
        && config.timeout > 2 * RECEIVE_TIMEOUT_SLACK;
    let timeout = config.timeout.min(LONGEST_SLEEP) - RECEIVE_TIMEOUT_SLACK;
    let set = || options::set_receive_timeout(&engine.socket(), timeout).is_ok();
    (blocks && set()).then_some(timeout)
}

struct OwnThread<'a, C> {
    engine: Engine<'a, C>,
    receive_timeout: Option<Nanos>,
    lead: Lead,
}

impl<C: Channel> OwnThread<'_, C> {
    fn until_done(&mut self) -> Result<(), RunError> {
        let mut now = clock::monotonic();
        loop {
            now = match self.engine.poll(now)? {
                Polled::Again => clock::monotonic(),
                Polled::Wait(wait) => self.wait(now, wait)?,
                Polled::Done => return Ok(()),
            }
        }
    }

    /// Waits until something was read or the time has come. Returns the time at its end.
    fn wait(&mut self, now: Nanos, wait: Wait) -> Result<Nanos, RunError> {
        let Wait { due, deadline } = wait;
        if self.engine.config().wait_mode == WaitMode::Spin {
            return self.spin_until(wait.end());
        }
        // The receive call waits for so long from whenever it begins: not once something else has come.
        let fits = |timeout| deadline.is_none_or(|deadline| deadline - now >= timeout);
        let blocks = due.is_none() && !self.engine.is_stopping();
        if blocks && self.receive_timeout.is_some_and(fits) {
            self.sleep_in_receive(deadline)?;
            return Ok(clock::monotonic());
        }
        let lead = self.lead.get();
        match due {
            Some(due) if due - clock::monotonic() <= lead => return self.spin_until(wait.end()),
            _ => self.sleep_until(Wait {
                due: due.map(|due| due - lead),
                deadline,
            })?,
        }
        Ok(clock::monotonic())
    }

    /// The same, polling the socket. Returns the time as it was read last, and does not read the clock again.
    #[inline]
    fn spin_until(&mut self, end: Option<Nanos>) -> Result<Nanos, RunError> {
        loop {
            let listens = self.engine.is_listening();
            if listens && let Some(now) = self.engine.receive(Blocking::No)? {
                return Ok(now);
            }
            let now = clock::monotonic();
            if end.is_some_and(|end| now >= end) || self.engine.config().stop.is_asked() {
                return Ok(now);
            }
            // Between two calls to the kernel a pause only makes a reply wait.
            if !listens {
                std::hint::spin_loop();
            }
        }
    }

    #[inline]
    fn sleep_in_receive(&mut self, deadline: Option<Nanos>) -> Result<(), RunError> {
        if self.engine.receive(Blocking::Yes)?.is_some() || self.engine.config().stop.is_asked() {
            return Ok(());
        }
        self.sleep_until(Wait {
            due: None,
            deadline,
        })
    }

    fn sleep_until(&mut self, wait: Wait) -> Result<(), RunError> {
        // Stamps left in the queue would end the sleep at once.
        self.engine.drain_queue()?;
        // A signal just before the sleep does not end it: look again soon.
        let stop = Some(clock::monotonic() + LONGEST_SLEEP);
        let end = [wait.end(), stop].into_iter().flatten().min();
        match wait::until_readable(self.engine.socket(), end).map_err(RunError::Receive)? {
            Woken::Signal => Ok(()),
            Woken::Deadline => {
                if let Some(wanted) = end {
                    self.lead.slept(wanted, clock::monotonic());
                }
                Ok(())
            }
            Woken::Ready => {
                let until = clock::monotonic() + LONGEST_READING;
                let until = end.map_or(until, |end| end.min(until));
                while self
                    .engine
                    .receive(Blocking::No)?
                    .is_some_and(|now| now < until)
                {}
                Ok(())
            }
        }
    }
}
