//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path, its bottleneck's
//! rate and its round trip without queues, says how fast segments leave and how many are out.
//!
//! Where in the cycle of gains a flow begins is not drawn: after the phase that drains.

use super::{Delivery, Window};
use delaylab_model::{PICOS_PER_SECOND, Picos};
use std::collections::VecDeque;

/// §4.3.1.1: 2/ln 2.
const HIGH_GAIN: f64 = 2.885;
/// §4.3.3.3, §4.3.4.2.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const PROBE_BW_GAIN: f64 = 2.0;
/// Round trips for which the largest rate counts, and time for which the least round trip does.
const RATE_ROUNDS: u64 = 10;
const RTT_LASTS: Picos = 10 * PICOS_PER_SECOND;
const PROBE_RTT_LASTS: Picos = PICOS_PER_SECOND / 5;
/// §4.2.3.4: the least window, in segments.
const LEAST_WINDOW: u64 = 4;
/// §4.3.2.2: growth in a round that shows that the pipe is not full, and rounds without it.
const GROWS: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Picos,
    },
    ProbeRtt {
        until: Option<Picos>,
        round_done: bool,
    },
}

/// The model.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    state: State,
    /// The largest rates, in bytes a second, with their rounds; the first counts.
    rates: VecDeque<(u64, f64)>,
    round: u64,
    /// The round is over when what is sent after so much had arrived has arrived.
    round_until: u64,
    least: Option<Picos>,
    least_at: Picos,
    /// Bytes a second at which segments leave, from the first round trip on.
    pacing: Option<f64>,
    full_rate: f64,
    full_rounds: u32,
    full: bool,
    /// Before recovery or ProbeRTT.
    kept: u64,
    /// In the first round of recovery no more leaves than arrives, until so much has.
    conserve_until: Option<u64>,
    repairing: bool,
    /// Nothing was out, and what left since is not yet acknowledged.
    after_idle: bool,
    initial: u64,
}

impl Bbr {
    pub(crate) const fn new(initial_window: u64) -> Self {
        Self {
            state: State::Startup,
            rates: VecDeque::new(),
            round: 0,
            round_until: 0,
            least: None,
            least_at: 0,
            pacing: None,
            full_rate: 0.0,
            full_rounds: 0,
            full: false,
            kept: 0,
            conserve_until: None,
            repairing: false,
            after_idle: false,
            initial: initial_window,
        }
    }

    fn rate(&self) -> Option<f64> {
        self.rates.front().map(|&(_, rate)| rate)
    }

    /// Bytes a second at which segments leave. Before a first round trip is over the first window in that time, or in a
    /// millisecond (§4.2.1).
    pub(crate) fn pacing_rate(&self, smoothed: Option<Picos>) -> f64 {
        self.pacing.unwrap_or_else(|| {
            let rtt = smoothed.unwrap_or(PICOS_PER_SECOND / 1000).max(1);
            HIGH_GAIN * self.initial as f64 * PICOS_PER_SECOND as f64 / rtt as f64
        })
    }

    /// §4.2.1. Until the pipe is full it only rises: the first samples are of a few segments.
    fn set_pacing_rate(&mut self, smoothed: Option<Picos>) {
        let now = self.pacing_rate(smoothed);
        let wanted = self.rate().map(|rate| rate * self.pacing_gain());
        let wanted = wanted.filter(|&wanted| self.full || wanted > now);
        if wanted.is_some() || smoothed.is_some() {
            self.pacing = wanted.or(Some(now));
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw { phase, .. } => CYCLE[phase],
            State::ProbeRtt { .. } => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => PROBE_BW_GAIN,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    /// §4.2.3.2: so many bandwidth-delay products, and three segments for ACKs that are held back.
    fn inflight(&self, gain: f64, mss: u64) -> u64 {
        let (Some(rate), Some(least)) = (self.rate(), self.least) else {
            return self.initial;
        };
        let product = rate * least as f64 / PICOS_PER_SECOND as f64;
        (gain * product) as u64 + 3 * mss
    }

    /// Every ACK.
    pub(crate) fn on_delivery(&mut self, window: &mut Window, ack: &Delivery) {
        let round_start = self.take_rate(ack);
        if round_start {
            self.check_full(ack);
        }
        let expired = self.take_rtt(ack);
        self.move_on(window, ack);
        // §4.3.5: a rest shows the round trip as well.
        self.probe_rtt(window, ack, expired && !self.after_idle, round_start);
        self.after_idle = false;
        self.set_pacing_rate(ack.smoothed);
        self.set_window(window, ack);
    }

    /// §4.3.4.4: it sends again, with nothing outstanding.
    pub(crate) fn after_idle(&mut self) {
        self.after_idle = true;
        if matches!(self.state, State::ProbeBw { .. }) {
            self.pacing = self.rate().or(self.pacing);
        }
    }

    /// §4.1.1. Has a round begun?
    fn take_rate(&mut self, ack: &Delivery) -> bool {
        let Some(sample) = ack.rate else {
            return false;
        };
        let round_start = sample.prior_delivered >= self.round_until;
        if round_start {
            self.round_until = ack.total;
            self.round += 1;
        }
        if !sample.app_limited || self.rate().is_none_or(|rate| sample.rate >= rate) {
            let smaller = self.rates.iter().rev();
            let smaller = smaller.take_while(|old| old.1 <= sample.rate).count();
            self.rates.truncate(self.rates.len() - smaller);
            self.rates.push_back((self.round, sample.rate));
            // A rate is outdated by another one, and not by rounds that have none.
            while self.rates[0].0 + RATE_ROUNDS <= self.round {
                self.rates.pop_front();
            }
        }
        round_start
    }

    /// §4.1.2. Was the least round trip seen too long ago?
    fn take_rtt(&mut self, ack: &Delivery) -> bool {
        let expired = self.least.is_some() && ack.now > self.least_at + RTT_LASTS;
        if let Some(rtt) = ack.rtt
            && (expired || self.least.is_none_or(|least| rtt <= least))
        {
            self.least = Some(rtt);
            self.least_at = ack.now;
        }
        expired
    }

    /// §4.3.2.2.
    fn check_full(&mut self, ack: &Delivery) {
        let rate = self.rate().unwrap_or(0.0);
        if self.full || ack.rate.is_none_or(|sample| sample.app_limited) {
            return;
        }
        if rate >= self.full_rate * GROWS {
            (self.full_rate, self.full_rounds) = (rate, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn move_on(&mut self, window: &Window, ack: &Delivery) {
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && ack.pipe <= self.inflight(1.0, window.mss) {
            self.state = State::ProbeBw {
                phase: 2,
                since: ack.now,
            };
        }
        if let State::ProbeBw { phase, since } = self.state {
            let whole = ack.now.saturating_sub(since) > self.least.unwrap_or(0);
            let gain = CYCLE[phase];
            let over = if gain > 1.0 {
                whole && (self.repairing || ack.pipe_before >= self.inflight(gain, window.mss))
            } else if gain < 1.0 {
                whole || ack.pipe_before <= self.inflight(1.0, window.mss)
            } else {
                whole
            };
            if over {
                self.state = State::ProbeBw {
                    phase: (phase + 1) % CYCLE.len(),
                    since: ack.now,
                };
            }
        }
    }

    /// §4.3.5.
    fn probe_rtt(&mut self, window: &mut Window, ack: &Delivery, expired: bool, round: bool) {
        if expired && !self.is_probing_rtt() {
            self.keep(window);
            self.state = State::ProbeRtt {
                until: None,
                round_done: false,
            };
        }
        let State::ProbeRtt { until, round_done } = &mut self.state else {
            return;
        };
        *round_done |= round && until.is_some();
        match *until {
            None if ack.pipe <= LEAST_WINDOW * window.mss => {
                *until = Some(ack.now + PROBE_RTT_LASTS);
                self.round_until = ack.total;
            }
            Some(until) if *round_done && ack.now > until => {
                self.least_at = ack.now;
                window.cwnd = window.cwnd.max(self.kept);
                self.state = match self.full {
                    true => State::ProbeBw {
                        phase: 2,
                        since: ack.now,
                    },
                    false => State::Startup,
                };
            }
            _ => {}
        }
    }

    fn keep(&mut self, window: &Window) {
        let apart = self.repairing || self.is_probing_rtt();
        self.kept = if apart {
            self.kept.max(window.cwnd)
        } else {
            window.cwnd
        };
    }

    /// §4.2.3.
    fn set_window(&mut self, window: &mut Window, ack: &Delivery) {
        if self.repairing && !ack.repairing {
            self.repairing = false;
            self.conserve_until = None;
            window.cwnd = window.cwnd.max(self.kept);
        }
        let least = LEAST_WINDOW * window.mss;
        let target = self.inflight(self.window_gain(), window.mss);
        self.conserve_until = self.conserve_until.filter(|&until| {
            let prior = ack.rate.map_or(0, |sample| sample.prior_delivered);
            prior < until
        });
        if self.conserve_until.is_some() {
            window.cwnd = window.cwnd.max(ack.pipe + ack.delivered);
        } else if self.full {
            window.cwnd = (window.cwnd + ack.delivered).min(target).max(least);
        } else {
            if window.cwnd < target || ack.total < self.initial {
                window.cwnd += ack.delivered;
            }
            window.cwnd = window.cwnd.max(least);
        }
        window.cwnd = window.cwnd.min(window.largest.max(least));
        if self.is_probing_rtt() {
            window.cwnd = window.cwnd.min(least);
        }
    }

    /// §4.2.3.4: `pipe` is what the network holds, `total` has arrived.
    pub(crate) fn enter_recovery(&mut self, window: &mut Window, pipe: u64, total: u64) {
        self.keep(window);
        self.repairing = true;
        self.conserve_until = Some(total);
        window.cwnd = pipe.max(window.mss);
    }

    /// §4.2.3.4: an ACK shows that so much more is lost while a loss is repaired. What is lost makes no room for others.
    pub(crate) fn lose_more(window: &mut Window, lost: u64) {
        window.cwnd = window.cwnd.saturating_sub(lost).max(window.mss);
    }

    /// Is the window small to see the round trip? Samples of the rate are low then.
    pub(crate) const fn is_probing_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt { .. })
    }

    pub(crate) fn on_timeout(&mut self, window: &Window) {
        self.keep(window);
        self.repairing = true;
        self.conserve_until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::rate::RateSample;
    use super::*;

    const MSS: u64 = 1000;
    const MS: Picos = PICOS_PER_SECOND / 1000;

    const WINDOW: Window = Window {
        cwnd: 10 * MSS,
        ssthresh: u64::MAX,
        mss: MSS,
        largest: u64::MAX,
    };

    /// A segment has arrived after a round trip of 100 ms, the only one of that time.
    fn one_arrived(now: Picos) -> Delivery {
        Delivery {
            now,
            delivered: MSS,
            total: MSS,
            rate: Some(RateSample {
                rate: 10.0 * MSS as f64,
                app_limited: false,
                prior_delivered: 0,
            }),
            rtt: Some(100 * MS),
            smoothed: Some(100 * MS),
            pipe_before: 10 * MSS,
            pipe: 9 * MSS,
            repairing: false,
        }
    }

    /// BBRInit: the least round trip is known from the first ACK on, whenever that is.
    #[test]
    fn a_flow_that_starts_late_begins_with_startup() {
        let mut bbr = Bbr::new(10 * MSS);
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(12_000 * MS));
        assert_eq!(bbr.state, State::Startup);
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(22_001 * MS));
        assert!(bbr.is_probing_rtt());
    }

    /// §4.3.5: after a rest nothing of the flow is in a queue.
    #[test]
    fn a_rest_shows_the_round_trip_as_well() {
        let mut bbr = Bbr::new(10 * MSS);
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(100 * MS));
        bbr.after_idle();
        let later = Delivery {
            rtt: Some(120 * MS),
            ..one_arrived(11_000 * MS)
        };
        bbr.on_delivery(&mut WINDOW.clone(), &later);
        assert_eq!((bbr.state, bbr.least), (State::Startup, Some(120 * MS)));
    }

    /// §4.2.1. The first ACK is of one segment in a round trip, and says nothing against ten.
    #[test]
    fn until_the_pipe_is_full_the_rate_only_rises() {
        let mut bbr = Bbr::new(10 * MSS);
        let first = HIGH_GAIN * 100.0 * MSS as f64;
        assert!((bbr.pacing_rate(Some(100 * MS)) - first).abs() < 1.0);
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(100 * MS));
        assert!((bbr.pacing_rate(Some(200 * MS)) - first).abs() < 1.0);
        bbr.full = true;
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(110 * MS));
        let drains = 10.0 * MSS as f64 / HIGH_GAIN;
        assert!((bbr.pacing_rate(None) - drains).abs() < 1.0, "{bbr:?}");
    }

    /// §4.3.4.4: at the rate of the bottleneck, whatever the cycle of gains is at.
    #[test]
    fn after_a_rest_the_cycle_waits_for_an_ack() {
        let mut bbr = Bbr {
            full: true,
            state: State::ProbeBw { phase: 0, since: 0 },
            ..Bbr::new(10 * MSS)
        };
        bbr.on_delivery(&mut WINDOW.clone(), &one_arrived(50 * MS));
        assert!((bbr.pacing_rate(None) - 12.5 * MSS as f64).abs() < 1.0);
        bbr.after_idle();
        assert!((bbr.pacing_rate(None) - 10.0 * MSS as f64).abs() < 1.0);
    }

    /// Draft-cardwell-00 §4.3.5: it is over once 200 ms and a round trip are, wherever in a later round trip that is.
    #[test]
    fn the_round_trip_is_seen_for_no_longer_than_that_takes() {
        let mut bbr = Bbr {
            least: Some(100 * MS),
            full: true,
            ..Bbr::new(10 * MSS)
        };
        let mut window = WINDOW;
        let begin = 10_001;
        let mut probes_after = |ms: u64, prior_delivered: u64, total: u64| {
            let ack = Delivery {
                now: (begin + ms) * MS,
                delivered: MSS,
                total,
                rate: Some(RateSample {
                    rate: 30_000.0,
                    app_limited: true,
                    prior_delivered,
                }),
                rtt: Some(150 * MS),
                smoothed: Some(150 * MS),
                pipe_before: 4 * MSS,
                pipe: 4 * MSS,
                repairing: false,
            };
            bbr.on_delivery(&mut window, &ack);
            bbr.is_probing_rtt()
        };
        assert!(probes_after(0, 90_000, 100_000));
        assert!(probes_after(150, 100_000, 104_000));
        assert!(probes_after(180, 101_000, 105_000));
        assert!(!probes_after(210, 102_000, 106_000));
    }
}
