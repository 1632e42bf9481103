//! The sink of loads, and what `iperf3 -s` says: any control packets, datagrams and JSON.
#![no_main]

use delaylab_traffic::reflector::load::{LoadOpening, LoadSink};
use delaylab_traffic::reflector::{Access, Now, Policy};
use delaylab_wire::control::{MAGIC, SIZE, VERSION};
use delaylab_wire::iperf3::{Results, length};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fuzz_target!(|data: &[u8]| {
    let _ = Results::parse(data);
    let _ = length(data);
    let mut policy = Policy::new(Access::Open { allow: Vec::new() });
    policy.max_sessions = 4;
    let mut sink = LoadSink::new(policy, [7; 32]);
    let mut session = None;
    for (step, part) in data.chunks(32).enumerate() {
        let now = Now {
            mono: step as i64 * 1_000_000,
            real: step as i64 * 1_000_000,
        };
        // The frame is given, so that the bodies are reached.
        let mut packet = [0; SIZE];
        packet[..8].copy_from_slice(MAGIC);
        packet[8] = VERSION;
        packet[9..9 + part.len()].copy_from_slice(part);
        let mut reply = [0; SIZE];
        match sink.open(now, HERE, &packet, &mut reply) {
            LoadOpening::Control(length, opened) => {
                assert!(length <= SIZE);
                session = Some(opened);
            }
            LoadOpening::Data(opened, _) => {
                let _ = sink.bytes(now, opened, part.len());
            }
            LoadOpening::Refused(length) => assert!(length <= SIZE),
            LoadOpening::Close => {}
        }
        if let Some(session) = session {
            let answered = sink.control(now, session, &packet, &mut reply);
            assert!(answered.is_none_or(|length| length <= SIZE));
        }
        sink.datagram(now, HERE, part, part.len());
        sink.overflowed(step as u64);
    }
});
