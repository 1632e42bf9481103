//! Against real connections over loopback.
#![allow(clippy::unwrap_used)]

use super::super::bind::Bound;
use super::*;
use delaylab_model::probe::WaitMode;
use delaylab_model::{MILLISECOND, SECOND, probe};
use delaylab_traffic::reflector::{Access, Policy};
use delaylab_wire::control::{Control, Hello};
use delaylab_wire::echo::{Mode, Stamps};
use delaylab_wire::tcp::Request;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Far longer than anything here takes: a wait that long is a failure, and ends.
const FOREVER: Duration = Duration::from_secs(60);

/// Lets `client` talk to a reflector, which must then end when told to.
fn with_reflector(change: impl FnOnce(&mut Policy), client: impl FnOnce(SocketAddr)) {
    let mut bound = Bound::default();
    let here = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let address = bound.open_echo(&here, 0..=0).unwrap()[0];
    let mut policy = Policy::new(Access::Open { allow: Vec::new() });
    change(&mut policy);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stopped = || stop.load(Ordering::Relaxed);
        let ended = scope.spawn(move || {
            let stopped = &stopped;
            super::super::serve(bound, policy, WaitMode::Block, stopped).unwrap();
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client(address)));
        stop.store(true, Ordering::Relaxed);
        ended.join().unwrap();
        result.unwrap();
    });
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(FOREVER)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Of this host, from one of its many addresses.
fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(FOREVER)).unwrap();
    stream
}

fn hello() -> [u8; control::SIZE] {
    let mut packet = [0; control::SIZE];
    let hello = Control::Hello(Hello {
        nonce: 7,
        mode: Mode::Stamped,
        payload: 1000,
        cookie: [0; control::COOKIE],
    });
    hello.emit(None, &mut packet).unwrap();
    packet
}

fn session(to: SocketAddr) -> TcpStream {
    let mut stream = connect(to);
    stream.write_all(&hello()).unwrap();
    let mut reply = [0; control::SIZE];
    stream.read_exact(&mut reply).unwrap();
    let accepted = Control::parse(None, &reply);
    assert!(matches!(accepted, Ok(Control::Accept(_))), "{accepted:?}");
    stream
}

fn request(seq: u32, len: u32) -> Vec<u8> {
    let mut frame = vec![0; len as usize];
    let reply_len = len;
    let request = Request {
        len,
        seq,
        reply_len,
    };
    request.emit(&mut frame).unwrap();
    frame
}

/// The connection is closed: by a FIN, or by a RST where the reflector has not read everything.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn only_the_frame_that_ends_a_read_has_its_arrival() {
    let read = Arrival {
        r_rx: Some(5),
        r_user: 9,
        traffic_class: None,
        ttl: Some(64),
        overflowed: 0,
    };
    assert_eq!(arrival_of_frame(&read, 0), read);
    let unknown = Arrival { r_rx: None, ..read };
    assert_eq!(arrival_of_frame(&read, 1), unknown);

    with_reflector(
        |_| {},
        |address| {
            let mut stream = session(address);
            let three = [request(0, 100), request(1, 100), request(2, 100)];
            // One write, one segment, one read. The last request goes in halves.
            let bytes = three.concat();
            stream.write_all(&bytes[..250]).unwrap();
            stream.write_all(&bytes[250..]).unwrap();
            let mut replies = [0; 300];
            stream.read_exact(&mut replies).unwrap();
            for reply in replies.chunks(100).take(2) {
                assert_eq!(Stamps::parse(reply).unwrap().r_rx, None);
            }
        },
    );
}

#[test]
fn those_who_say_nothing_keep_nobody_out() {
    with_reflector(
        |_| {},
        |address| {
            let mut one = session(address);
            one.write_all(&request(0, 100)).unwrap();
            one.read_exact(&mut [0; 100]).unwrap();
            // More than all places, from addresses of several networks; some have said Hello.
            let silent: Vec<_> = (0..300_u16)
                .map(|index| {
                    let mut stream = connect_from([127, 0, (index % 5) as u8, 2], address);
                    if index % 3 == 0 {
                        let _ = stream.write_all(&hello());
                    }
                    stream
                })
                .collect();
            for from in [[127, 0, 0, 1], [127, 0, 0, 2], [127, 0, 9, 1]] {
                let mut next = connect_from(from, address);
                next.write_all(&hello()).unwrap();
                next.read_exact(&mut [0; control::SIZE]).unwrap();
                next.write_all(&request(0, 100)).unwrap();
                next.read_exact(&mut [0; 100]).unwrap();
            }
            one.write_all(&request(1, 100)).unwrap();
            one.read_exact(&mut [0; 100]).unwrap();
            drop(silent);
        },
    );
}

#[test]
fn who_finds_no_place_is_told_so() {
    with_reflector(
        |policy| policy.max_sessions_per_network = policy.max_sessions,
        |address| {
            let mut proven = Vec::new();
            let refusal = loop {
                let mut stream = connect(address);
                stream.write_all(&hello()).unwrap();
                let mut reply = [0; control::SIZE];
                stream.read_exact(&mut reply).unwrap();
                match Control::parse(None, &reply).unwrap() {
                    Control::Accept(_) => {
                        stream.write_all(&request(0, 100)).unwrap();
                        stream.read_exact(&mut [0; 100]).unwrap();
                        proven.push(stream);
                    }
                    Control::Refuse(refuse) => break refuse,
                    other => panic!("{other:?}"),
                }
            };
            assert!(refusal.text.contains("connections"), "{}", refusal.text);
            // A place is free again.
            proven.clear();
            let deadline = Instant::now() + FOREVER;
            while refused(address) {
                assert!(Instant::now() < deadline, "no place is free again");
            }
        },
    );
}

fn refused(address: SocketAddr) -> bool {
    let mut stream = connect(address);
    stream.write_all(&hello()).unwrap();
    let mut reply = [0; control::SIZE];
    stream.read_exact(&mut reply).unwrap();
    matches!(Control::parse(None, &reply), Ok(Control::Refuse(_)))
}

#[test]
fn a_hello_that_comes_in_drops_is_not_waited_for() {
    with_reflector(
        |_| {},
        |address| {
            let mut stream = connect(address);
            let hello = hello();
            let mut drops = hello.iter();
            let sent = drops
                .by_ref()
                .take_while(|&&byte| {
                    std::thread::sleep(Duration::from_millis(100));
                    stream.write_all(&[byte]).is_ok()
                })
                .count();
            assert!(sent < hello.len());
            assert!(is_closed(&mut stream));
        },
    );
}

#[test]
fn what_is_no_hello_is_not_waited_for() {
    with_reflector(
        |_| {},
        |address| {
            let mut stream = connect(address);
            let huge = probe::MAX_TCP_PAYLOAD.to_be_bytes();
            stream
                .write_all(&huge.repeat(control::SIZE / huge.len()))
                .unwrap();
            assert!(is_closed(&mut stream));
        },
    );
}

#[test]
fn a_client_that_never_reads_is_closed() {
    with_reflector(
        |policy| policy.takes_within = SECOND,
        |address| {
            let mut stream = session(address);
            stream.set_write_timeout(Some(FOREVER)).unwrap();
            let frame = request(0, 60_000);
            let error = loop {
                if let Err(error) = stream.write_all(&frame) {
                    break error.kind();
                }
            };
            let closed = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
            assert!(closed.contains(&error), "{error:?}");
        },
    );
}

/// As behind a queue or an outage: more replies than any buffer holds wait for two seconds.
#[test]
fn a_client_that_reads_late_gets_every_reply() {
    const FRAMES: u32 = 400;
    const LENGTH: u32 = 60_000;
    with_reflector(
        |_| {},
        |address| {
            let mut stream = session(address);
            let mut sender = stream.try_clone().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for seq in 0..FRAMES {
                        sender.write_all(&request(seq, LENGTH)).unwrap();
                    }
                });
                std::thread::sleep(Duration::from_secs(2));
                for _ in 0..FRAMES {
                    stream.read_exact(&mut [0; LENGTH as usize]).unwrap();
                }
            });
        },
    );
}

#[test]
fn an_idle_session_is_closed() {
    with_reflector(
        |policy| policy.max_idle = 300 * MILLISECOND,
        |address| assert!(is_closed(&mut session(address))),
    );
}

#[test]
fn a_copy_of_the_descriptor_elsewhere_keeps_no_session_open() {
    with_reflector(
        |policy| policy.max_idle = 300 * MILLISECOND,
        |address| {
            let mut session = session(address);
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let other = std::thread::spawn(move || {
                delaylab_kernel::process::own_descriptors().unwrap();
                let _ = ended.recv();
            });
            // It has its table before the session's time is over.
            assert!(is_closed(&mut session));
            drop(end);
            other.join().unwrap();
        },
    );
}
