//! The reflector: no panic, no reply longer than its request, and none to senders without the key.
//!
//! An input is packets, each behind a byte for its length (255 stands for 256, the size of a control packet). Packets
//! that begin with `T` get the token of the session that `check` opens.

use crate::packets;
use delaylab_traffic::reflector::{Access, Arrival, Now, Policy, Port, Reflector, Verdict};
use delaylab_wire::auth::Key;
use delaylab_wire::control::{Control, Hello, SIZE};
use delaylab_wire::echo::Mode;

const ARRIVAL: Arrival = Arrival {
    r_rx: Some(900),
    r_user: 1000,
    traffic_class: Some(0xb8),
    ttl: Some(64),
    overflowed: 0,
};

fn split(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&len, rest) = data.split_first()?;
        let len = if len == 255 { SIZE } else { usize::from(len) };
        let (packet, rest) = rest.split_at(len.min(rest.len()));
        data = rest;
        Some(packet)
    })
}

fn send(reflector: &mut Reflector, port: Port, step: i64, packet: &[u8]) -> Option<Vec<u8>> {
    let now = Now {
        mono: 1_000_000_000 + step,
        real: 1_700_000_000_000_000_000 + step,
        clock_steps: 0,
    };
    let from = ([127, 0, 0, 1], 40_000).into();
    let mut reply = vec![0; packet.len()];
    let verdict = reflector.datagram(now, from, port, &ARRIVAL, packet, &mut reply);
    let Verdict::Reply(sent) = verdict else {
        return None;
    };
    if let Some(stamp) = sent.stamp {
        reflector.transmitted(stamp, now.mono);
    }
    reply.truncate(sent.len);
    assert_eq!(reply.len(), sent.len);
    Some(reply)
}

fn say(reflector: &mut Reflector, hello: Hello) -> Option<Control> {
    let mut packet = [0; SIZE];
    Control::Hello(hello).emit(None, &mut packet).ok()?;
    Control::parse(None, &send(reflector, Port::Echo, 0, &packet)?).ok()
}

/// Opens a stamped session and returns its token.
fn open_session(reflector: &mut Reflector) -> Option<u32> {
    let mut hello = Hello {
        nonce: 1,
        mode: Mode::Stamped,
        payload: 100,
        cookie: [0; 16],
    };
    if let Some(Control::Challenge(challenge)) = say(reflector, hello) {
        hello.cookie = challenge.cookie;
    }
    match say(reflector, hello)? {
        Control::Accept(accept) => Some(accept.token),
        _ => None,
    }
}

/// Checks one input.
pub fn check(data: &[u8]) {
    let mut open = Reflector::new(Policy::new(Access::Open { allow: Vec::new() }), [7; 32]);
    let key = Key::from_entropy(&[3; 32]);
    let mut keyed = Reflector::new(Policy::new(Access::Keyed(key.into())), [7; 32]);
    let Some(token) = open_session(&mut open) else {
        panic!("no session");
    };
    for (step, packet) in split(data).enumerate() {
        let mut packet = packet.to_vec();
        packets::put_token(&mut packet, token);
        for port in [Port::Echo, Port::Stamp] {
            send(&mut open, port, step as i64, &packet);
            assert_eq!(send(&mut keyed, port, step as i64, &packet), None);
        }
    }
}

/// Valid inputs: packets of each kind, one by one and in a row.
pub fn seeds() -> Vec<Vec<u8>> {
    let packets = [
        packets::stamp_requests(),
        packets::stamp_replies(),
        packets::controls(),
        vec![
            packets::stamp_reply_with_tlvs(1),
            packets::echo_reply(packets::ANY_TOKEN, 2),
        ],
    ]
    .concat();
    let with_length = |packet: &Vec<u8>| {
        let length = u8::try_from(packet.len()).unwrap_or(255);
        [&[length], packet.as_slice()].concat()
    };
    let mut seeds: Vec<_> = packets.iter().map(with_length).collect();
    seeds.push(seeds[seeds.len() - 8..].concat());
    seeds
}
