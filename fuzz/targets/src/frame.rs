//! Frames that a soft switch forwards: what it reads of them, whose packet it takes them for, its marks.

use crate::packets;
use delaylab_model::method::Method;
use delaylab_switch::Item;
use delaylab_testbed::soft_switch::frame::{Frame, Read};
use delaylab_testbed::soft_switch::probes::{Probes, WatchedProbe};
use etherparse::PacketBuilder;

/// The ends of the probes that the switch watches.
const ENDS: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

/// Checks one input.
pub fn check(data: &[u8]) {
    let watched = |probe, method| WatchedProbe {
        probe,
        method,
        from: ENDS[0].into(),
        to: ENDS[1].into(),
        port: (method != Method::Icmp).then_some(8862),
        code_point: 0,
    };
    let methods = [Method::Icmp, Method::Udp, Method::Tcp];
    let mut probes = Probes::new((0..).zip(methods).map(|(n, m)| watched(n, m)).collect());
    let read = Read::new(data);
    let _ = probes.whose(&read, data);
    let mut frame = Frame::new(data, &read, 64, 0, 0, 0);
    let capable = frame.ecn_capable();
    assert_eq!(frame.mark(), capable);
    assert_eq!(frame.bytes.len(), data.len());
}

/// Valid inputs: packets of each method over IPv4, one over IPv6, and one behind a VLAN tag that ECN may mark.
pub fn seeds() -> Vec<Vec<u8>> {
    let reply = packets::echo_reply(packets::ANY_TOKEN, 2);
    let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
    let v4 = || ethernet().ipv4(ENDS[0], ENDS[1], 64);
    let v6 = [1, 2].map(|last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    let mut seeds = vec![Vec::new(); 5];
    let written = [
        v4().icmpv4_echo_request(7, 3).write(&mut seeds[0], &reply),
        v4().udp(40_000, 8862).write(&mut seeds[1], &reply),
        v4().tcp(40_000, 8862, 9, 1000).write(&mut seeds[2], &reply),
        ethernet()
            .ipv6(v6[0], v6[1], 64)
            .udp(40_000, 862)
            .write(&mut seeds[3], &reply),
        ethernet()
            .single_vlan(7.try_into().expect("a VLAN's number"))
            .ipv4(ENDS[0], ENDS[1], 64)
            .udp(40_000, 8862)
            .write(&mut seeds[4], &reply),
    ];
    for result in written {
        result.expect("a vector has room");
    }
    // ECN-capable: behind Ethernet and tag, the second byte of the IP header.
    seeds[4][14 + 4 + 1] = 1;
    seeds
}
