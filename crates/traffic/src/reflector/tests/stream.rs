//! tcp sessions.

use super::*;
use delaylab_wire::echo::{FollowUp, Stamps};
use delaylab_wire::tcp;

/// A connection as its client sees it.
struct Stream {
    bench: Bench,
    session: SessionRef,
    accept: Accept,
    keys: Option<KeyPair>,
}

fn say_hello(bench: &mut Bench, payload: u32) -> (Opening, Vec<u8>) {
    let keys = bench.control_keys(Transport::Tcp);
    let mut packet = [0; SIZE];
    let greeting = Control::Hello(hello(Mode::Stamped, payload));
    let key = keys.as_ref().map(|pair| &pair.request);
    greeting.emit(key, &mut packet).unwrap();
    let mut reply = vec![0; SIZE];
    let opening = bench
        .reflector
        .stream_hello(bench.now, bench.from, &packet, &mut reply);
    (opening, reply)
}

fn connect(policy: Policy) -> Stream {
    let mut bench = Bench::new(policy);
    let (opening, reply) = say_hello(&mut bench, 2000);
    let Opening::Accepted(SIZE, session) = opening else {
        panic!("not accepted but {opening:?}");
    };
    let keys = bench.control_keys(Transport::Tcp);
    let key = keys.as_ref().map(|pair| &pair.reply);
    let Ok(Control::Accept(accept)) = Control::parse(key, &reply) else {
        panic!("no Accept");
    };
    let key = bench.key.as_ref();
    let keys = key.map(|key| accept.keys(key, Transport::Tcp));
    Stream {
        bench,
        session,
        accept,
        keys,
    }
}

impl Stream {
    fn request(&self, seq: u32, len: u32, reply_len: u32) -> Vec<u8> {
        let mut frame: Vec<u8> = (0..len).map(|index| index as u8).collect();
        let request = tcp::Request {
            len,
            seq,
            reply_len,
        };
        request.emit(&mut frame).unwrap();
        if let Some(keys) = &self.keys {
            keys.request.seal(&mut frame);
        }
        frame
    }

    fn send(&mut self, frame: &[u8]) -> Result<Vec<u8>, Verdict> {
        let bench = &mut self.bench;
        let mut reply = vec![0xee; frame.len()];
        let verdict = bench.reflector.stream_frame(
            bench.now,
            self.session,
            &bench.arrival,
            tcp::Frame::Data(frame),
            &mut reply,
        );
        match verdict {
            Verdict::Reply(sent) => {
                bench.last = Some(sent);
                reply.truncate(sent.len);
                Ok(reply)
            }
            other => Err(other),
        }
    }
}

#[test]
fn a_reply_has_the_length_asked_for() {
    for policy in [open(), keyed()] {
        let mut stream = connect(policy);
        let request = stream.request(7, 1460, 1000);
        let reply = stream.send(&request).unwrap();
        assert_eq!(reply.len(), 1000);
        let header = tcp::Reply { len: 1000, seq: 7 };
        assert_eq!(tcp::Reply::parse(&reply), Ok(header));
        assert_eq!(Stamps::parse(&reply).unwrap().r_rx, Some(900));
        assert_eq!(reply[44..984], request[44..984]);
        let keys = stream.keys.as_ref();
        assert!(keys.is_none_or(|keys| keys.reply.is_sealed(&reply)));
    }
}

#[test]
fn a_reply_without_room_carries_no_stamps() {
    let mut stream = connect(open());
    let request = stream.request(0, 100, 43);
    let reply = stream.send(&request).unwrap();
    assert_eq!(reply[8..], request[8..43]);
    assert_eq!(stream.bench.last.unwrap().stamp, None);
}

#[test]
fn no_reply_is_longer_than_its_request() {
    for policy in [open(), keyed()] {
        let mut stream = connect(policy);
        for (len, reply_len) in [(100, 101), (100, 7), (100, 0), (100, u32::MAX)] {
            let request = stream.request(0, len, reply_len);
            assert_eq!(stream.send(&request), dropped(DropReason::Malformed));
        }
    }
    let mut stream = connect(keyed());
    let request = stream.request(0, 100, 23);
    assert_eq!(stream.send(&request), dropped(DropReason::Malformed));
    assert_eq!(stream.send(&[0; 11]), dropped(DropReason::TooShort));
}

#[test]
fn a_length_that_is_not_the_frames_is_malformed() {
    let mut stream = connect(open());
    let mut request = stream.request(0, 100, 50);
    request.push(0);
    assert_eq!(stream.send(&request), dropped(DropReason::Malformed));
}

#[test]
fn forged_and_repeated_requests_are_dropped() {
    let mut stream = connect(keyed());
    let request = stream.request(0, 100, 100);
    let mut forged = request.clone();
    forged[30] ^= 1;
    assert_eq!(stream.send(&forged), dropped(DropReason::WrongKey));
    assert!(stream.send(&request).is_ok());
    assert_eq!(stream.send(&request), dropped(DropReason::Replayed));
}

#[test]
fn departures_are_reported_by_the_next_reply() {
    let mut stream = connect(open());
    let first = stream.request(0, 100, 100);
    stream.send(&first).unwrap();
    stream.bench.transmitted(33);
    let second = stream.request(1, 100, 100);
    let reply = stream.send(&second).unwrap();
    let follow_up = Stamps::parse(&reply).unwrap().follow_up;
    assert_eq!(follow_up, Some(FollowUp { seq: 0, r_tx: 33 }));
}

#[test]
fn control_packets_stand_between_requests() {
    let mut stream = connect(open());
    let request = stream.request(0, 100, 100);
    stream.send(&request).unwrap();
    stream.bench.transmitted(33);
    let token = stream.accept.token;
    let mut control = |control: Control| {
        let mut packet = [0; SIZE];
        control.emit(None, &mut packet).unwrap();
        let mut reply = [0; SIZE];
        let frame = tcp::Frame::Control(&packet);
        let bench = &mut stream.bench;
        let verdict = bench.reflector.stream_frame(
            bench.now,
            stream.session,
            &bench.arrival,
            frame,
            &mut reply,
        );
        (verdict, Control::parse(None, &reply))
    };
    let (_, collected) = control(Control::Collect { token, nonce: 1 });
    let Ok(Control::Collected(collected)) = collected else {
        panic!("not collected");
    };
    assert_eq!(collected.received, 1);
    assert_eq!(collected.follow_ups.len(), 1);
    let second = Hello {
        nonce: 5,
        ..hello(Mode::Stamped, 100)
    };
    let (verdict, _) = control(Control::Hello(second));
    assert_eq!(verdict, Verdict::Drop(DropReason::Malformed));
    assert_eq!(control(Control::Bye { token }).0, Verdict::Done);
    assert_eq!(stream.bench.reflector.status().sessions, 0);
    let request = stream.request(1, 100, 100);
    assert_eq!(stream.send(&request), dropped(DropReason::UnknownSession));
}

#[test]
fn a_hello_that_is_refused_opens_nothing() {
    let mut bench = Bench::new(keyed());
    let (opening, reply) = say_hello(&mut bench, 27);
    assert_eq!(opening, Opening::Refused(SIZE));
    let keys = bench.control_keys(Transport::Tcp).unwrap();
    let Ok(Control::Refuse(refuse)) = Control::parse(Some(&keys.reply), &reply) else {
        panic!("no refusal");
    };
    assert!(refuse.text.ends_with("use at least 28B"), "{}", refuse.text);
    bench.key = None;
    let wrong = Opening::Drop(DropReason::WrongKey);
    assert_eq!(say_hello(&mut bench, 100).0, wrong);
    let mut bench = Bench::new(open());
    bench.from = address("192.0.2.1:4000");
    let stranger = Opening::Drop(DropReason::NotAllowed);
    assert_eq!(say_hello(&mut bench, 100).0, stranger);
    assert_eq!(bench.reflector.status().sessions, 0);
}

#[test]
fn a_closed_connection_frees_its_session() {
    let mut stream = connect(open());
    stream.bench.reflector.stream_closed(stream.session);
    assert_eq!(stream.bench.reflector.status().sessions, 0);
}

#[test]
fn a_tcp_session_takes_no_datagrams() {
    let mut stream = connect(keyed());
    let mut packet = [0; 100];
    packet[..4].copy_from_slice(&stream.accept.token.to_be_bytes());
    assert_eq!(
        stream.bench.echo(&packet),
        dropped(DropReason::UnknownSession)
    );
}

#[test]
fn a_session_is_alive_until_it_is_idle_over_or_closed() {
    let mut stream = connect(Policy {
        max_idle: 10 * SECOND,
        max_duration: 15 * SECOND,
        ..open()
    });
    let alive = |stream: &mut Stream, time| {
        let session = stream.session;
        stream.bench.reflector.is_stream_alive(at(time), session)
    };
    assert!(alive(&mut stream, 11 * SECOND));
    assert!(!alive(&mut stream, 11 * SECOND + 1));
    stream.bench.now = at(9 * SECOND);
    let request = stream.request(0, 100, 100);
    stream.send(&request).unwrap();
    assert!(alive(&mut stream, 16 * SECOND));
    assert!(!alive(&mut stream, 16 * SECOND + 1));
    stream.bench.reflector.stream_closed(stream.session);
    assert!(!alive(&mut stream, 9 * SECOND));
}
