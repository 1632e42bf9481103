//! What answers a path trace: ICMP errors with their quotes, extensions and labels, and other answers.
#![no_main]

use delaylab_wire::icmp_error::{HEADER, IcmpError};
use delaylab_wire::icmp_extension::{Extension, with_label_stack};
use delaylab_wire::ip::Header;
use delaylab_wire::mpls;
use delaylab_wire::path_probe::{Flow, Mark, SMALLEST_PAYLOAD, Transport};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&how, packet)) = data.split_first() else {
        return;
    };
    let v6 = how & 1 != 0;
    let flow = flow(how);
    if let Ok((header, at)) = Header::parse(packet) {
        assert!(at <= packet.len());
        let mut again = packet.to_vec();
        assert_eq!(header.emit(&mut again), Ok(()));
        assert_eq!(Header::parse(&again).map(|(again, _)| again), Ok(header));
    }
    if let Ok(error) = IcmpError::parse(packet, v6) {
        assert!(error.quote.len() + HEADER <= packet.len());
        if let Ok(mark) = flow.quoted(error.quote) {
            writes_again(&flow, mark);
        }
    }
    if let Ok(extension) = Extension::parse(packet) {
        let stack = extension.label_stack();
        assert!(stack.len() * mpls::SIZE <= packet.len());
        let again = with_label_stack(&stack);
        let again = Extension::parse(&again).map(|extension| extension.label_stack());
        assert_eq!(again, Ok(stack));
    }
    let _ = flow.echo_reply(packet);
    let _ = flow.udp_reply(packet);
    let _ = flow.tcp_reply(packet);
});

fn flow(how: u8) -> Flow {
    let [source, destination] = if how & 1 != 0 {
        ["fd00::1", "fd00::2"].map(|address| address.parse().expect("an address"))
    } else {
        ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().expect("an address"))
    };
    let transport = match how >> 1 & 3 {
        0 => Transport::Udp {
            source: 40_000,
            port: 33_434,
        },
        1 => Transport::Icmp { id: 7 },
        _ => Transport::Tcp {
            source: 40_000,
            port: 80,
        },
    };
    Flow {
        source,
        destination,
        transport,
        token: 9,
    }
}

/// A packet with such a mark is known again.
fn writes_again(flow: &Flow, mark: Mark) {
    let mut packet = vec![0; flow.packet_size(SMALLEST_PAYLOAD)];
    assert_eq!(flow.emit(mark, &mut packet), Ok(()));
    assert_eq!(flow.quoted(&packet), Ok(mark));
}
