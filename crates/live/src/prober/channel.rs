//! What a probe method is to the engine: packets out, replies in, stamps beside.
//!
//! To add a method: one file that implements [`Channel`] (or, over datagrams,
//! [`super::datagram::Format`]) and one line in `Probing::run_by`.

use delaylab_kernel::datagram::Blocking;
use delaylab_model::Nanos;
use delaylab_model::trial::{Negotiated, RecordFacts, StampPoint};
use delaylab_traffic::prober::epoch::Epoch;
use delaylab_traffic::prober::sequence::widen_near;
use delaylab_traffic::prober::{Refused, Reply};
use delaylab_wire::control::Collected;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// A method's socket and formats. Kernel stamps are `CLOCK_REALTIME`; the reflector's are as they
/// came. The engine puts both on the record's clock.
pub trait Channel {
    /// Writes packet `seq` into the channel's buffer, so that [`Self::transmit`] only sends.
    fn prepare(&mut self, seq: u64);

    /// One send call for what was prepared.
    fn transmit(&mut self) -> io::Result<()>;

    /// One receive call.
    fn receive(&mut self, blocking: Blocking) -> io::Result<()>;

    /// What the last receive call brought: call until `None`. `last` is the last packet sent.
    fn decode(&mut self, last: u64) -> Option<Decoded>;

    /// Reads one batch of the error queue, of about `expected` entries. `Ok(true)`: there may be more.
    fn read_queue(
        &mut self,
        last: u64,
        expected: usize,
        take: &mut dyn FnMut(QueueEvent),
    ) -> io::Result<bool>;

    /// Can something come while no reply is awaited, and is it to be read at once? A server ends a connection that is idle.
    fn speaks_unasked(&self) -> bool {
        false
    }

    /// Is the queue to be read before another packet is sent, to learn how the kernel numbers them?
    fn wants_queue_read(&self) -> bool {
        false
    }

    /// The queue has been read to its end. Packets before `over` have been answered or given up.
    fn queue_is_read(&mut self, _over: u64) -> io::Result<()> {
        Ok(())
    }

    /// Packets that were sent without stamps of their departure because their numbers were in doubt.
    fn unstamped(&self) -> u64 {
        0
    }

    /// What was negotiated with the server, once for all connections that have the same.
    fn negotiated(&mut self) -> Vec<Negotiated> {
        Vec::new()
    }

    /// The addresses that a name server has told, once for all answers that have the same.
    fn resolved(&mut self) -> Vec<Vec<IpAddr>> {
        Vec::new()
    }

    /// What was found out beside the records, as sentences for who reads them.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// To wait on.
    fn socket(&self) -> BorrowedFd<'_>;

    /// How to read the reflector's stamps.
    fn facts(&self) -> RecordFacts;

    /// How the reflector's stamps are put on the record's clock.
    fn reflector_time(&self) -> ReflectorTime {
        ReflectorTime::AsItCame
    }

    /// How long the reflector keeps the session.
    fn kept(&self) -> KeptFor {
        KeptFor::default()
    }

    /// Nothing has been sent for a while: has the reflector keep the session, where that disturbs no stamps.
    fn keep_alive(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Asks the reflector for what it has not reported yet, and says good-bye. Replies have taken up to `_patience`.
    fn finish(&mut self, _last: u64, _patience: Nanos) -> FinalReport {
        FinalReport::default()
    }
}

/// How long a reflector keeps a session. `None`: it has none, or does not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeptFor {
    /// It ends the session after so long.
    pub max_duration: Option<Nanos>,
    /// It forgets it once nothing has come for so long.
    pub max_idle: Option<Nanos>,
}

/// How the reflector's stamps are put on the record's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReflectorTime {
    /// They are on it, or on a clock that has nothing to do with it.
    #[default]
    AsItCame,
    /// By what was agreed at the beginning, whatever either clock has been stepped by since.
    Agreed(Epoch),
    /// They are this host's real time, with every step of it.
    OurRealTime,
}

/// What the reflector told at the end.
#[derive(Debug, Clone, Default)]
pub struct FinalReport {
    /// Departures not reported before.
    pub follow_ups: Vec<FollowUp>,
    /// Are the counts in its replies its own, and no copies of our numbers?
    pub counts: bool,
    /// Its count of all that it received.
    pub received: Option<u64>,
    /// Packets that reached it and were not answered because a rate limit was reached.
    pub refused: u32,
    /// Packets that its socket had no room for.
    pub overflowed: u32,
    /// Some of them may be others'.
    pub of_several: bool,
    /// Did it answer what it was asked last? `None`: it was asked nothing.
    pub answered: Option<bool>,
    /// It is there, and does not know the session.
    pub forgotten: bool,
    /// Its `REALTIME − MONOTONIC`.
    pub realtime_offset: Option<Nanos>,
    /// The last count of steps that it told, in a reply or at the end; `None` where it told none.
    pub clock_steps: Option<u8>,
}

impl FinalReport {
    /// What the reflector of a session said last, once with each of its follow-ups. `clock_steps` is what it told in replies.
    pub fn from_collected(
        collected: &[Collected],
        last: u64,
        clock_steps: Option<u8>,
    ) -> FinalReport {
        let told = collected.last();
        let account = told.and_then(|told| told.account);
        let follow_ups = collected.iter().flat_map(|told| follow_ups(told, last));
        FinalReport {
            follow_ups: follow_ups.collect(),
            counts: true,
            received: told.map(|told| widen_near(last, told.received)),
            refused: account.map_or(0, |account| account.refused),
            overflowed: account.map_or(0, |account| account.overflowed),
            of_several: account.is_some_and(|account| account.of_several),
            realtime_offset: account.map(|account| account.realtime_offset),
            clock_steps: account.map(|account| account.clock_steps).or(clock_steps),
            answered: None,
            forgotten: false,
        }
    }
}

/// When a reply left the reflector, in its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// Which packet's reply.
    pub seq: u64,
    /// In the reflector's clock.
    pub r_tx: Nanos,
}

/// The departures that a Collected tells.
pub fn follow_ups(collected: &Collected, last: u64) -> impl Iterator<Item = FollowUp> {
    let told = collected.follow_ups.iter();
    told.map(move |told| FollowUp {
        seq: widen_near(last, told.seq),
        r_tx: told.r_tx,
    })
}

/// What came in.
#[derive(Debug, Clone)]
pub enum Decoded {
    /// A reply; its `t_recv` is not set and its `t_rx` is `CLOCK_REALTIME`.
    Reply(Reply, Option<FollowUp>),
    /// The reflector keeps the session, and told departures not reported before.
    Told(Vec<FollowUp>),
    /// Something that is not a reply to this probe: malformed, forged, of another run.
    Rejected,
    /// Something harmless that is nobody's business, such as another ping's reply.
    Ignored,
}

/// What the error queue says.
#[derive(Debug, Clone, Copy)]
pub enum QueueEvent {
    /// A departure stamp: `CLOCK_REALTIME`, or the NIC's clock for `t_tx_hw`.
    Stamp {
        /// Which packet.
        seq: u64,
        /// Which stamp.
        point: StampPoint,
        /// When.
        at: Nanos,
    },
    /// A packet was refused.
    Refused {
        /// Which packet.
        seq: u64,
        /// By whom, and why.
        refused: Refused,
    },
    /// This host has learnt what the path takes, whichever packet it was learnt by.
    PathMtu(u32),
}
