//! The sink of loads, and what `iperf3 -s` says: any control packets, datagrams and JSON.
//!
//! An input is parts of 32 bytes. Each is the body of a control packet, and a datagram. Tokens that begin with `T` are
//! replaced by the token of the session that was opened last.

use crate::control::{FRAME, framed};
use crate::packets;
use delaylab_traffic::reflector::load::{LoadOpening, LoadSink};
use delaylab_traffic::reflector::{Access, Now, Policy};
use delaylab_wire::auth::Transport;
use delaylab_wire::control::{Control, SIZE, Sender};
use delaylab_wire::iperf3::{Results, StreamResult, length};
use delaylab_wire::load::Header;
use std::net::{IpAddr, Ipv4Addr};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Bytes of an input that make one control packet, its magic and version left out.
const PART: usize = 32;

/// Checks one input.
pub fn check(data: &[u8]) {
    let _ = Results::parse(data);
    let _ = length(data);
    let mut policy = Policy::new(Access::Open { allow: Vec::new() });
    policy.max_sessions = 4;
    let mut sink = LoadSink::new(policy, [7; 32]);
    let (mut session, mut token) = (None, 0);
    for (step, part) in data.chunks(PART).enumerate() {
        let now = Now {
            mono: step as i64 * 1_000_000,
            real: step as i64 * 1_000_000,
            clock_steps: 0,
        };
        let mut packet = framed(part);
        // Kind and token are the first bytes of the body.
        packets::put_token(&mut packet[FRAME + 1..], token);
        let mut reply = [0; SIZE];
        match sink.open(now, HERE, &packet, None, &mut reply) {
            LoadOpening::Control(length, opened) => {
                assert!(length <= SIZE);
                session = Some(opened);
                if let Ok(Control::Accept(accept)) = Control::parse(None, &reply) {
                    token = accept.token;
                }
            }
            LoadOpening::Data(opened, _) => {
                let _ = sink.bytes(now, opened, part.len());
            }
            LoadOpening::Send(opened, _) => {
                let _ = sink.begins(now, opened, &packet);
                let _ = sink.sent(now, opened, part.len(), step as u64, Sender::default());
            }
            LoadOpening::Refused(length) => assert!(length <= SIZE),
            LoadOpening::Close => {}
        }
        if let Some(session) = session {
            let answered = sink.fetch(now, session, &packet, &mut reply, |name| name.cloned());
            assert!(answered.is_none_or(|length| length <= SIZE));
            let answered = sink.control(now, session, &packet, &mut reply);
            assert!(answered.is_none_or(|length| length <= SIZE));
        }
        let mut datagram = part.to_vec();
        packets::put_token(&mut datagram, token);
        sink.datagram(now, 0, HERE, &datagram, datagram.len());
        sink.overflowed(0, step as u64);
    }
}

/// Valid inputs: a session of each transport, and results as `iperf3` writes them.
pub fn seeds() -> Vec<Vec<u8>> {
    let session = |transport| {
        let token = u32::from_be_bytes(*packets::ANY_TOKEN);
        let count = Control::Count { token };
        let controls = [
            packets::load_hello(transport),
            count.clone(),
            packets::fetch(token),
            Control::Attach { token },
            Control::Begin { token },
        ];
        let part = |control| packets::control(control)[FRAME..FRAME + PART].to_vec();
        let mut parts: Vec<_> = controls.iter().flat_map(part).collect();
        let datagram = Header { token, seq: 1 };
        parts.extend(packets::emitted(PART, |packet| datagram.emit(packet)));
        parts.extend(part(&count));
        parts
    };
    let streams = vec![StreamResult::default(); 2];
    let results = Results { streams }.frame(1.0);
    // Four bytes of length go before the JSON.
    let (length, json) = results.split_at(4);
    let (length, json) = (length.to_vec(), json.to_vec());
    vec![
        session(Transport::Udp),
        session(Transport::Tcp),
        length,
        json,
    ]
}
