//! What an implementation does by default, and presets for those that matter here.

use delaylab_model::tcp::{HyStart, RenoFriendly};
use delaylab_model::{PICOS_PER_SECOND, Picos};

const MS: Picos = PICOS_PER_SECOND / 1000;

/// Linux: SRTT + max(200 ms, 4·RTTVAR), at most 2 minutes.
pub const LINUX_TIMER: Timer = Timer::Rfc6298 {
    min_rto: 200 * MS,
    max_rto: 120_000 * MS,
    initial: 1000 * MS,
    granularity: 200 * MS,
};

/// Linux: tcp_limit_output_bytes.
const LINUX_HOST_QUEUE: u64 = 4 << 20;

/// RFC 6298: a second at least.
pub const RFC_TIMER: Timer = Timer::Rfc6298 {
    min_rto: 1000 * MS,
    max_rto: 60_000 * MS,
    initial: 1000 * MS,
    granularity: MS,
};

/// The congestion controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Fast retransmit and fast recovery (RFC 5681 §3.2): the first new ACK ends recovery. With SACK the
    /// same as `NewReno`.
    Reno,
    /// As Reno, but recovery lasts until all that was outstanding is acknowledged (RFC 6582).
    NewReno,
    /// RFC 9438; without SACK, with NewReno's recovery.
    Cubic,
    /// RFC 8257; without SACK, with NewReno's recovery. Needs `ecn`.
    Dctcp,
    /// TCP Prague (draft-briscoe-iccrg-prague-congestion-control): its segments are ECT(1). Needs `ecn`.
    Prague,
    /// Version 1 (draft-cardwell-iccrg-bbr-congestion-control-00). Needs `sack` and `pacing`.
    Bbr,
}

/// What a loss makes the slow start threshold half of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halved {
    /// What is outstanding. A segment that times out again halves nothing more (RFC 5681 §3.1).
    Flight,
    /// The smaller of the congestion window and the receiver's, in whole segments, at every time-out (4.3BSD-Reno, Net/3).
    Window,
}

/// How the window grows with the ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// A step for each ACK, however much it covers (1995, ns-3): delayed ACKs slow it down.
    PerAck,
    /// By the bytes that are acknowledged (RFC 3465, L = 2, and 1 after a time-out).
    PerByte,
}

/// Not every segment is acknowledged at once (RFC 1122 §4.2.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayedAck {
    /// The same for all.
    Fixed {
        /// The ACK leaves with every so many segments,
        segments: u32,
        /// or after this long. With [`Timer::Coarse`] the tick of its fast timer counts instead.
        timeout: Picos,
    },
    /// As Linux has it: at once at the start, after a silence and after what had come before; then with
    /// more than one full segment, or after 40 ms, longer where segments come seldom.
    Linux,
}

/// The timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// RFC 6298, on a fine clock.
    Rfc6298 {
        /// Least time-out.
        min_rto: Picos,
        /// Largest time-out, after back-off too.
        max_rto: Picos,
        /// Before the first sample.
        initial: Picos,
        /// Of the clock: G of the RFC, the least that is added to the smoothed round-trip time. Linux
        /// adds 200 ms at least.
        granularity: Picos,
    },
    /// The slow and fast timers of 4.4BSD (Net/3): everything happens on a tick.
    Coarse {
        /// The slow timer: retransmission. 500 ms.
        tick: Picos,
        /// The fast timer: delayed ACKs. 200 ms.
        delayed_ack_tick: Picos,
        /// When the first tick of each is; hosts were not switched on together.
        phase: Picos,
    },
}

/// What hands bytes to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// Whoever calls [`super::Sender::write`].
    Requests,
    /// There is always more: every segment is full.
    Unlimited,
    /// It writes `size` bytes whenever the send buffer has room for them.
    ///
    /// The buffer holds what is written and not yet acknowledged. A segment that the window would
    /// allow is then cut short by what has been written: with ns-3's BulkSend, `size` 8192 in a buffer
    /// of 65,536 under an MSS of 9136 gives segments of 8192, 7248, … bytes; `size` 9136 full ones.
    Writes {
        /// Of each write. 0 writes nothing.
        size: u64,
        /// Of the socket's send buffer.
        buffer: u64,
    },
}

impl Application {
    /// The end of what is written, once `acked` bytes have left the buffer.
    #[inline]
    pub(crate) const fn written(self, before: u64, acked: u64) -> u64 {
        match self {
            Application::Requests => before,
            Application::Unlimited => u64::MAX,
            Application::Writes { size, buffer } => {
                let room = buffer.saturating_sub(before - acked);
                if room < size {
                    return before; // as after most segments: without a division
                }
                match room.checked_div(size) {
                    Some(writes) => before + writes * size,
                    None => before,
                }
            }
        }
    }
}

/// What an end system does. Both halves of a connection are given the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Largest payload of a segment. 0 counts as 1.
    pub mss: u32,
    /// Largest window in bytes: the smaller of the socket buffers.
    pub window: u64,
    /// Congestion window at the start, in bytes.
    pub initial_window: u64,
    /// Congestion control.
    pub congestion: Congestion,
    /// How it counts ACKs.
    pub growth: Growth,
    /// What a loss halves.
    pub halved: Halved,
    /// Without it every segment is acknowledged at once.
    pub delayed_ack: Option<DelayedAck>,
    /// The first so many segments are acknowledged at once all the same.
    pub quick_acks: u32,
    /// Retransmission and delayed ACKs.
    pub timer: Timer,
    /// Each ACK gives a sample of the round-trip time (RFC 7323), not one segment a round trip.
    pub timestamps: bool,
    /// Segments may be marked (RFC 3168; RFC 8257 with DCTCP; RFC 9331 with Prague).
    pub ecn: bool,
    /// A part of a segment waits while data is outstanding (RFC 896).
    pub nagle: bool,
    /// The first two duplicate ACKs let a new segment out each (RFC 3042). With `sack` they always do.
    pub limited_transmit: bool,
    /// Selective acknowledgements and the scoreboard (RFC 2018, RFC 2883, RFC 6675).
    pub sack: bool,
    /// Proportional rate reduction in recovery (RFC 9937). Needs `sack`.
    pub prr: bool,
    /// Losses by time and the tail loss probe (RFC 8985). Needs `sack`.
    pub rack_tlp: bool,
    /// What ends slow start before something is lost.
    pub hystart: HyStart,
    /// How CUBIC grows beyond the last maximum where Reno would be faster.
    pub reno_friendly: RenoFriendly,
    /// SYN, SYN-ACK and ACK before data (RFC 9293).
    pub handshake: bool,
    /// A mark cuts the window by less than a loss (RFC 8511).
    pub abe: bool,
    /// Segments leave at a rate, not as ACKs come.
    pub pacing: bool,
    /// They leave at no more than so many bytes a second, whatever the window allows (Linux: `SO_MAX_PACING_RATE`).
    pub most: Option<u64>,
    /// The sender's socket buffer: so many bytes may be unacknowledged.
    pub send_buffer: u64,
    /// TCP small queues (Linux): two segments of the connection, or what it sends in a millisecond, may
    /// wait for their host's line, at most so many bytes.
    pub host_queue: Option<u64>,
    /// The window does not grow while it is not used up (RFC 7661).
    pub validation: bool,
    /// After a time-out's length of silence the window starts again from `initial_window`
    /// (RFC 5681 §4.1).
    pub idle_restart: bool,
    /// It does not start from there at once, but is halved for each time-out's length of that silence, and the slow start
    /// threshold is three quarters of it at least (RFC 2861, as in Linux).
    pub idle_halving: bool,
    /// What there is to send.
    pub application: Application,
}

impl Settings {
    /// The ECN bits of its segments that may be marked: 0, ECT(0), or ECT(1) for L4S (RFC 9331).
    pub const fn ecn_bits(&self) -> u8 {
        match (self.ecn, self.congestion) {
            (false, _) => 0,
            (true, Congestion::Prague) => 1,
            (true, _) => 2,
        }
    }

    /// A 4.3BSD-Reno or Net/3 system (source 003): Reno, ticks of 500 and 200 ms, every second segment
    /// acknowledged, one segment to start with.
    pub fn of_1995(mss: u32, window: u64) -> Self {
        Self {
            mss,
            window,
            initial_window: u64::from(mss),
            congestion: Congestion::Reno,
            growth: Growth::PerAck,
            halved: Halved::Window,
            delayed_ack: Some(DelayedAck::Fixed {
                segments: 2,
                timeout: 200 * MS,
            }),
            quick_acks: 0,
            timer: Timer::Coarse {
                tick: 500 * MS,
                delayed_ack_tick: 200 * MS,
                phase: 0,
            },
            timestamps: false,
            ecn: false,
            nagle: true,
            limited_transmit: false,
            sack: false,
            prr: false,
            rack_tlp: false,
            hystart: HyStart::None,
            reno_friendly: RenoFriendly::Rfc9438,
            handshake: false,
            abe: false,
            pacing: false,
            most: None,
            send_buffer: u64::MAX,
            host_queue: None,
            validation: false,
            idle_restart: true,
            idle_halving: false,
            application: Application::Unlimited,
        }
    }

    /// A system of today, as Linux is: CUBIC, ten segments to start with (RFC 6928), SACK with PRR and
    /// RACK-TLP, HyStart++, a handshake, time-outs 200 ms above the smoothed round-trip time, its delayed
    /// ACKs. (Linux has the older HyStart.)
    pub fn modern(mss: u32, window: u64) -> Self {
        Self {
            initial_window: 10 * u64::from(mss),
            congestion: Congestion::Cubic,
            growth: Growth::PerByte,
            halved: Halved::Flight,
            delayed_ack: Some(DelayedAck::Linux),
            timer: LINUX_TIMER,
            timestamps: true,
            nagle: false,
            limited_transmit: true,
            sack: true,
            prr: true,
            rack_tlp: true,
            hystart: HyStart::Rfc9406,
            handshake: true,
            host_queue: Some(LINUX_HOST_QUEUE),
            validation: true,
            idle_halving: true,
            ..Self::of_1995(mss, window)
        }
    }

    /// The same without SACK and what came with it and after it: NewReno's recovery, slow start until
    /// something is lost, established from the start, any queue at the host.
    pub fn without_sack(self) -> Self {
        Self {
            sack: false,
            prr: false,
            rack_tlp: false,
            hystart: HyStart::None,
            handshake: false,
            host_queue: None,
            ..self
        }
    }

    /// ns-3.44's TcpSocketBase under BulkSend with `SendSize` 8192 and buffers of 65,536 bytes, for
    /// validation. The MSS is the link's MTU less 52: IP, TCP and the timestamp option.
    ///
    /// Its first segment is acknowledged at once. This is ns-3 with `Sack` set to false; with
    /// [`Settings::sack`] and [`Settings::prr`] it is ns-3 as it comes.
    pub fn ns3(mtu: u32) -> Self {
        let mss = mtu.saturating_sub(52);
        let buffer = 65_536;
        Self {
            initial_window: 10 * u64::from(mss),
            congestion: Congestion::NewReno,
            halved: Halved::Flight,
            quick_acks: 1,
            timer: RFC_TIMER,
            timestamps: true,
            nagle: false,
            limited_transmit: true,
            idle_restart: false,
            application: Application::Writes { size: 8192, buffer },
            ..Self::of_1995(mss, buffer)
        }
    }
}
