//! Datagrams, against real sockets on loopback.
#![allow(clippy::unwrap_used)]

use super::*;
use delaylab_model::probe::WaitMode;
use delaylab_traffic::reflector::Access;
use delaylab_wire::control::{self, Accept, Control, Hello};
use delaylab_wire::echo::{Header, Mode};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const FOREVER: Duration = Duration::from_secs(60);

/// Lets `client` talk to an open reflector of this host.
fn with_reflector(client: impl FnOnce(SocketAddr)) {
    with_bound(Bound::default(), client);
}

/// The same, with what has been read of this host.
fn with_bound(mut bound: Bound, client: impl FnOnce(SocketAddr)) {
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let address = bound.open_echo(&here, 0..=0).unwrap()[0];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stopped = || stop.load(Ordering::Relaxed);
        scope.spawn(move || {
            let policy = Policy::new(Access::Open { allow: Vec::new() });
            serve(bound, policy, WaitMode::Block, &stopped).unwrap();
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client(address)));
        stop.store(true, Ordering::Relaxed);
        result.unwrap();
    });
}

/// A socket with a session, and how its packets begin.
fn session(to: SocketAddr) -> (UdpSocket, u32) {
    let (socket, accept) = accepted(to);
    (socket, accept.token)
}

fn accepted(to: SocketAddr) -> (UdpSocket, Accept) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(FOREVER)).unwrap();
    let mut hello = Hello {
        nonce: 7,
        mode: Mode::Plain,
        payload: 100,
        cookie: [0; control::COOKIE],
    };
    let mut packet = [0; control::SIZE];
    loop {
        Control::Hello(hello).emit(None, &mut packet).unwrap();
        socket.send(&packet).unwrap();
        socket.recv(&mut packet).unwrap();
        match Control::parse(None, &packet).unwrap() {
            Control::Challenge(challenge) => hello.cookie = challenge.cookie,
            Control::Accept(accept) => return (socket, accept),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_flood_of_strangers_takes_nothing_from_a_session() {
    const SENT: u32 = 300;
    with_reflector(|address| {
        let (socket, token) = session(address);
        socket
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        let over = AtomicBool::new(false);
        let answered = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                    while !over.load(Ordering::Relaxed) {
                        let _ = stranger.send_to(&[0; 100], address);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(100));
            let mut packet = [0; 100];
            let answered = (0..SENT)
                .filter(|&seq| {
                    Header { token, seq }.emit(&mut packet).unwrap();
                    socket.send(&packet).unwrap();
                    socket.recv(&mut [0; 200]).is_ok()
                })
                .count();
            over.store(true, Ordering::Relaxed);
            answered
        });
        assert!(answered as u32 * 20 >= SENT * 19, "{answered} of {SENT}");
    });
}

#[test]
fn a_port_that_is_taken_is_not_shared() {
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let mut one = Bound::default();
    let port = one.open_echo(&here, 0..=0).unwrap()[0].port();
    let error = Bound::default().open_echo(&here, port..=port).unwrap_err();
    assert!(
        error.to_string().contains("Another process has this port"),
        "{error}"
    );
}

/// It is started before the clock is synchronised, and runs on when nothing synchronises it any more.
#[test]
fn what_it_says_of_its_clock_is_what_the_kernel_says_now() {
    let mut bound = Bound::default();
    let now = bound.clock.facts;
    bound.clock.facts.synchronised = !now.synchronised;
    with_bound(bound, |address| {
        let since = std::time::Instant::now();
        while accepted(address).1.clock.synchronised != now.synchronised {
            assert!(since.elapsed() < FOREVER);
        }
    });
}
