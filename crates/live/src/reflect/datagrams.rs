//! udp echo and STAMP: one thread a socket, one packet at a time.
//!
//! udp echo has two sockets on its port. Packets of sessions come to one of them, all else to the other,
//! whose thread keeps the list of sessions.

use super::departures::Departures;
use super::{Shared, arrival, at};
use crate::clocks::Clocks;
use crate::overflow::Overflow;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::{Blocking, DatagramSocket, Received, SendOptions};
use delaylab_kernel::stamping::{self, Flags};
use delaylab_kernel::steering;
use delaylab_model::probe::WaitMode;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::reflector::{Port, Reply, Verdict};
use delaylab_wire::control;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The largest datagram, and one byte more.
const LARGEST: usize = 65_536;
/// A spinning reflector sleeps once it has looked so often in vain: about a second.
const SPINS: u32 = 5_000_000;

/// The list of sessions is renewed no more often, however many begin and end.
const STEER_EVERY: Nanos = 5 * MILLISECOND;

/// Whose packets a socket gets.
#[derive(Debug, Clone)]
pub enum Role {
    /// Everybody's.
    All,
    /// Those of sessions.
    Established,
    /// All others. Packets of sessions that had no room are those of the other socket, which is here.
    Strangers(Arc<DatagramSocket>),
}

impl Role {
    /// Which socket packets of sessions come to, where the one with this role is `own`.
    fn sessions<'a>(&'a self, own: &'a DatagramSocket) -> &'a DatagramSocket {
        match self {
            Role::Strangers(established) => established,
            Role::All | Role::Established => own,
        }
    }
}

/// Serves one socket until told to stop.
pub fn serve(
    socket: &DatagramSocket,
    port: Port,
    role: Role,
    overflow: &Mutex<Overflow>,
    shared: &Shared<'_>,
) {
    // 1 ns of slack: the default of 50 µs would add to what is measured.
    let _ = delaylab_kernel::scheduling::set_timer_slack(1);
    // This thread opens nothing and hands nothing on. Where it is forbidden, calls cost more.
    let _ = delaylab_kernel::process::own_descriptors();
    let is_strangers = matches!(role, Role::Strangers(_));
    let mut server = Server {
        socket,
        port,
        role,
        shared,
        clocks: shared.clock.watch(),
        departures: Departures::default(),
        overflow,
        next_id: 0,
        reply: vec![0; LARGEST],
        steering: is_strangers.then(Steering::default),
    };
    let mut packet = vec![0; LARGEST];
    let mut spins_left = 0_u32;
    while !shared.stopped() {
        let blocking = if spins_left > 0 {
            Blocking::No
        } else {
            Blocking::Yes
        };
        // Errors are time-outs and signals, or an earlier reply that somebody refused: none of them
        // is of this packet.
        let received = server.socket.receive_from(&mut packet, blocking);
        let Ok(received) = received else {
            server.steer();
            spins_left = spins_left.saturating_sub(1);
            continue;
        };
        let r_user = clock::monotonic();
        let is_probe = server.answer(&packet[..received.length.min(LARGEST)], &received, r_user);
        if is_probe && shared.wait_mode == WaitMode::Spin {
            spins_left = SPINS;
        }
        server.steer();
    }
}

/// The list of sessions, as this port's steering program has it.
#[derive(Default)]
struct Steering {
    known: u64,
    next: Nanos,
}

impl Steering {
    /// Renews the list if sessions have begun or ended. Where the kernel refuses, a session's packets come to the
    /// socket of strangers, and are answered there.
    fn renew(&mut self, socket: &DatagramSocket, shared: &Shared<'_>) {
        let tokens = {
            let reflector = shared.reflector();
            let (changes, now) = (reflector.changes(), clock::monotonic());
            if changes == self.known || now < self.next {
                return;
            }
            self.next = now + STEER_EVERY;
            self.known = changes;
            reflector.udp_tokens()
        };
        let _ = steering::steer(socket, &tokens);
    }
}

struct Server<'a> {
    socket: &'a DatagramSocket,
    port: Port,
    role: Role,
    shared: &'a Shared<'a>,
    clocks: Clocks,
    departures: Departures,
    /// Of the socket that packets of sessions come to.
    overflow: &'a Mutex<Overflow>,
    /// The id of the next stamp that is asked for.
    next_id: u32,
    reply: Vec<u8>,
    /// Where the list of sessions is kept.
    steering: Option<Steering>,
}

impl Server<'_> {
    fn steer(&mut self) {
        if let Some(steering) = &mut self.steering {
            steering.renew(self.socket, self.shared);
        }
    }

    /// Was it a probe's, which more will follow? What opens and keeps a session comes seldom: a thread that spun for it would take
    /// a CPU from the one that answers the session's packets.
    #[inline]
    fn answer(&mut self, packet: &[u8], received: &Received, r_user: Nanos) -> bool {
        let Some(from) = received.from else {
            return false;
        };
        self.clocks.bracket_from(r_user);
        let now = at(&self.clocks, r_user);
        if self.departures.any_awaited() {
            self.report_departures();
        }
        let mut arrival = arrival(&self.clocks, &received.beside, r_user);
        let is_control = control::is_control(packet);
        if is_control {
            let mut overflow = self.overflow.lock().unwrap_or_else(PoisonError::into_inner);
            arrival.overflowed = overflow.count(self.role.sessions(self.socket));
        }
        let verdict = self.shared.reflector().datagram(
            now,
            from,
            self.port,
            &arrival,
            packet,
            &mut self.reply,
        );
        if is_control {
            // Who learns of its session sends at once: what came before its token is on the list would be counted
            // with strangers.
            self.steer();
        }
        let Verdict::Reply(reply) = verdict else {
            return false;
        };
        self.send(from, received, reply, r_user);
        !is_control
    }

    #[inline]
    fn send(&mut self, to: SocketAddr, received: &Received, reply: Reply, r_user: Nanos) {
        let stamp = reply.stamp.filter(|_| self.departures.may_ask(r_user));
        let options = SendOptions {
            local: received.beside.local,
            // The socket's own class is 0: saying so again costs time.
            traffic_class: reply.traffic_class.filter(|&class| class != 0),
            stamp: stamp.is_some(),
        };
        let sent = self.socket.send_to(&self.reply[..reply.len], to, options);
        let Some(stamp) = stamp else {
            return;
        };
        if sent.is_err() {
            // Whether the failed call used up an id depends on where it failed.
            self.report_departures();
            let _ = stamping::restart_ids(self.socket, Flags::reflector());
            self.departures.restart(r_user);
            self.next_id = 0;
            return;
        }
        self.departures.expect(self.next_id, stamp, r_user);
        self.next_id = self.next_id.wrapping_add(1);
        self.report_departures();
    }

    /// Most drivers stamp before the send call returns; what comes later is told before the next
    /// packet is answered.
    fn report_departures(&mut self) {
        let shared = self.shared;
        self.departures
            .read(self.socket.as_fd(), &self.clocks, |reply, r_tx| {
                shared.reflector().transmitted(reply, r_tx);
            });
    }
}
