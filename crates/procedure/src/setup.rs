//! What every procedure is given.

use crate::goal::Goal;
use delaylab_model::bench::BufferingWay;
use delaylab_model::frames::Frames;
use delaylab_model::path::{Path, Reset};
use delaylab_model::probe::Probe;
use delaylab_model::quantity::Share;
use delaylab_model::trial::Trial;
use delaylab_model::{MILLISECOND, Nanos, PICOS_PER_NANO, PICOS_PER_SECOND, SECOND};

/// Sizes of frames on Ethernet (RFC 2544 §9.1).
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// The device, the ports of the tester, and what to offer.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Path, host and seed of every trial, and loads that are always there. Trials are numbered from its
    /// number on. Its probes are not used, and its path's reset only in procedure `reset`.
    pub trial: Trial,
    /// One stream each: where it enters the device and where it leaves it, its class, VLAN and family.
    /// Streams of one sending node share that port.
    pub streams: Vec<Probe>,
    /// Of a sending port, in bit/s.
    pub line_rate: u64,
    /// Of a receiving port, in bit/s: as it is believed to be.
    pub egress_rate: u64,
    /// Frame sizes in bytes, with the frame check sequence.
    pub sizes: Vec<u32>,
    /// How long and how often.
    pub effort: Effort,
}

impl Setup {
    /// Frames of a stream at this size.
    pub fn frames(&self, stream: usize, size: u32) -> Frames {
        let template = self.streams.get(stream).and_then(|probe| probe.frames);
        Frames {
            size,
            ..template.unwrap_or(Frames::new(size))
        }
    }

    /// How long this number of frames of a stream takes at this load.
    pub(crate) fn time_of(&self, stream: usize, load: Share, size: u32, frames: u64) -> Nanos {
        let interval = self.frames(stream, size).interval(self.line_rate, load);
        let picos = u128::from(frames) * u128::from(interval);
        Nanos::try_from(picos / u128::from(PICOS_PER_NANO)).unwrap_or(Nanos::MAX)
    }

    /// Frames a second of one port at this load.
    pub fn fps(&self, size: u32, load: Share) -> f64 {
        let interval = Frames::new(size).interval(self.line_rate, load);
        PICOS_PER_SECOND as f64 / interval as f64
    }

    /// Frames a second that fill the line of one receiving port.
    pub fn egress_fps(&self, size: u32) -> f64 {
        let interval = Frames::new(size).interval(self.egress_rate, Share::WHOLE);
        PICOS_PER_SECOND as f64 / interval as f64
    }

    /// Frames a second that the lines allow with every sending port at the same load: the theoretical line of figures. The
    /// receiving port that most is sent to is the first that is full.
    pub fn theoretical_fps(&self, size: u32) -> f64 {
        let lines = |streams: &[usize]| {
            let parts = streams.iter().map(|&of| 1.0 / self.sharing(of) as f64);
            parts.sum::<f64>()
        };
        let receiving = self.receiving();
        let all = lines(&receiving.concat());
        let fullest = receiving
            .iter()
            .map(|group| lines(group))
            .fold(0.0, f64::max);
        let sending = all * self.fps(size, Share::WHOLE);
        sending.min(self.egress_fps(size) * (all / fullest))
    }

    /// This share of a receiving port's rate, as a load of a sending port.
    pub(crate) fn load_of_egress(&self, share: f64) -> Share {
        let share = share * self.egress_rate as f64 / self.line_rate as f64;
        Share((share * Share::WHOLE.0 as f64).round() as u64)
    }

    /// How many streams have the sending port of this one, itself among them.
    pub(crate) fn sharing(&self, of: usize) -> u64 {
        let streams = 0..self.streams.len();
        streams
            .filter(|&other| self.is_of_one_port(of, other))
            .count() as u64
    }

    /// Do two streams enter at the same port? Without names every stream has a port of its own.
    pub(crate) fn is_of_one_port(&self, a: usize, b: usize) -> bool {
        let from = |of: usize| self.streams.get(of)?.from.as_ref();
        a == b || from(a).is_some() && from(a) == from(b)
    }

    /// Do all streams leave at one port, and enter each at a port of its own?
    pub(crate) fn meets_at_one_port(&self) -> bool {
        let mut streams = 0..self.streams.len();
        self.receiving().len() == 1 && streams.all(|of| self.sharing(of) == 1)
    }

    /// Streams by their receiving port, in the order of the set-up.
    pub(crate) fn receiving(&self) -> Vec<Vec<usize>> {
        let mut ports: Vec<(Option<&String>, Vec<usize>)> = Vec::new();
        for (of, probe) in self.streams.iter().enumerate() {
            let to = probe.to.as_ref();
            match ports.iter_mut().find(|port| port.0 == to) {
                Some(port) => port.1.push(of),
                None => ports.push((to, vec![of])),
            }
        }
        ports.into_iter().map(|port| port.1).collect()
    }

    /// The first reset of its path.
    pub(crate) fn reset(&self) -> Option<Reset> {
        let path = &self.trial.path;
        let nodes = path.node.iter().filter_map(|node| node.switch.as_ref());
        let mut switches = path.switch.iter().chain(nodes);
        switches.find_map(|switch| switch.reset)
    }

    /// Its path, on which nothing is reset.
    pub(crate) fn path_without_reset(&self) -> Path {
        let mut path = self.trial.path.clone();
        let nodes = path.node.iter_mut().filter_map(|node| node.switch.as_mut());
        for switch in path.switch.iter_mut().chain(nodes) {
            switch.reset = None;
        }
        path
    }

    /// What a stream is called.
    pub fn name(&self, stream: usize) -> String {
        let probe = self.streams.get(stream);
        probe.map_or_else(|| format!("stream {stream}"), |probe| probe.name.clone())
    }
}

/// How long trials are and how often they are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// A trial at one rate (RFC 2544 §24).
    pub trial: Nanos,
    /// A trial that measures latency (RFC 2544 §26.2).
    pub latency: Nanos,
    /// How often it is repeated.
    pub latency_repeats: u32,
    /// Longest burst (RFC 2544 §26.4).
    pub burst: Nanos,
    /// How often the longest lossless one is looked for.
    pub burst_repeats: u32,
    /// Overload before a recovery (RFC 2544 §26.5).
    pub overload: Nanos,
    /// How often what is left is repeated: recovery, reset, RFC 8239.
    pub repeats: u32,
    /// From the last frame on: time for frames on their way to arrive (RFC 2544 §23 d). It begins again with each frame
    /// that arrives, so that what a large buffer holds is not taken for lost.
    pub drain: Nanos,
    /// Before each trial: time for the device to settle (RFC 2544 §23 e).
    pub settle: Nanos,
}

impl Effort {
    /// What the RFCs ask for.
    pub const fn rfc() -> Self {
        Self {
            trial: 60 * SECOND,
            latency: 120 * SECOND,
            latency_repeats: 20,
            burst: 2 * SECOND,
            burst_repeats: 50,
            overload: 60 * SECOND,
            repeats: 10,
            drain: 2 * SECOND,
            settle: 5 * SECOND,
        }
    }

    /// Short: does not conform, and reports say so.
    pub const fn quick() -> Self {
        Self {
            trial: SECOND,
            latency: SECOND,
            latency_repeats: 3,
            burst: SECOND / 2,
            burst_repeats: 5,
            overload: SECOND,
            repeats: 3,
            drain: 200 * MILLISECOND,
            settle: 0,
        }
    }
}

/// How to search. Each procedure says which of these it uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Two loads that are this close are one, as a share of the line rate. 0.1 % by default.
    pub resolution: Share,
    /// From one load to the next lower one. 10 % by default (RFC 2544 §26.3).
    pub step: Share,
    /// The highest load. 99.98 % by default: clocks differ (RFC 8239 §2.2).
    pub top: Share,
    /// A rate is reached if it is within this share. 1 % by default.
    pub rate_tolerance: Share,
    /// How often the loss of a burst is verified before it counts (TST 009 §12.3.3). By default once in `buffer-time`, and not
    /// at all elsewhere: RFC 2544 and RFC 8239 do not.
    pub confirm: Option<u32>,
    /// RFC 9004: least ratio of the rate that was reached to the rate at which the device drains.
    /// 3 by default.
    pub least_ratio: f64,
    /// Load beyond what the device forwards, as a share of the receiving port's rate. 1 % by default
    /// (RFC 8239 §3.2).
    pub excess: Share,
    /// RFC 8239 §3.2: who overloads whom.
    pub way: BufferingWay,
    /// Loads at which frames of a size pass without loss, where they are known: they are not searched
    /// again.
    pub throughput: Vec<(u32, Share)>,
    /// MLRsearch: what to look for.
    pub goals: Vec<Goal>,
    /// RFC 8239 §6: frames of a microburst together with TCP. 100 by default.
    pub microburst: u64,
}

/// A share as a load in per cent, as exactly as loads are known.
pub(crate) fn percent(share: f64) -> f64 {
    (share * 1e9).round() / 1e7
}

/// What clocks that differ leave of a line (RFC 8239 §2.2): no load is tried above it.
pub(crate) const LINE_RATE: Share = Share(999_800_000);

impl Options {
    /// Whether loads are tried up to the rate of the line: if not, how far. What passes at the highest load that is tried is
    /// then not the most that passes.
    pub(crate) fn tried_up_to(&self) -> Option<String> {
        let percent = percent(self.top.as_f64());
        (self.top < LINE_RATE).then(|| format!("loads up to {percent} % were tried"))
    }

    /// The same, if it is the highest load that was tried which one of these is.
    pub(crate) fn cut_off(&self, mut loads: impl Iterator<Item = f64>) -> Option<String> {
        let is_cut_off = loads.any(|load| load >= self.top.as_f64());
        self.tried_up_to().filter(|_| is_cut_off)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            resolution: Share(1_000_000),
            step: Share(100_000_000),
            top: LINE_RATE,
            rate_tolerance: Share(10_000_000),
            confirm: None,
            least_ratio: 3.0,
            excess: Share(10_000_000),
            way: BufferingWay::default(),
            throughput: Vec::new(),
            goals: vec![Goal::rfc2544(), Goal::tst009()],
            microburst: 100,
        }
    }
}

/// Why a procedure cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Too few streams.
    #[error("{procedure} needs {needs}, and has {has} streams")]
    Streams {
        /// Its name.
        procedure: &'static str,
        /// What it needs.
        needs: &'static str,
        /// What there is.
        has: usize,
    },
    /// Nothing to send.
    #[error("no frame size: give at least one, like 64B")]
    NoSize,
    /// A rate of zero.
    #[error("a line rate of zero: give the rates of the sending and of the receiving port")]
    NoRate,
    /// Streams that do not meet as they should.
    #[error("{procedure} needs {needs}")]
    Ports {
        /// Its name.
        procedure: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// Nothing resets the device.
    #[error(
        "nothing resets the device: set path.switch.reset, with `at` later than `settle`, and `lasts`"
    )]
    NoReset,
    /// An option that cannot be.
    #[error("{option} is out of range: {range}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What would do.
        range: &'static str,
    },
}

/// Whatever the procedure: is there something to send, and do the options make sense?
pub(crate) fn check(setup: &Setup, options: &Options) -> Result<(), BuildError> {
    if setup.sizes.is_empty() {
        return Err(BuildError::NoSize);
    }
    if setup.line_rate == 0 || setup.egress_rate == 0 {
        return Err(BuildError::NoRate);
    }
    let refuse = |option, range| Err(BuildError::Option { option, range });
    if options.top.0 == 0 || options.top > Share::WHOLE {
        return refuse("top", "more than 0 %, at most 100 %");
    }
    if options.resolution.0 == 0 {
        return refuse("resolution", "more than 0 %");
    }
    if options.step.0 == 0 || options.step > Share::WHOLE {
        return refuse("step", "more than 0 %, at most 100 %");
    }
    if options.excess.0 == 0 {
        return refuse("excess", "more than 0 %");
    }
    if setup.effort.trial <= 0 || setup.effort.burst <= 0 || setup.effort.latency <= 0 {
        return refuse("effort", "trials, bursts and latencies last more than 0 s");
    }
    let is_whole = |goal: &Goal| (0.0..1.0).contains(&goal.exceed_ratio);
    if !options.goals.iter().all(is_whole) {
        return refuse("exceed_ratio", "from 0, less than 1");
    }
    Ok(())
}
