//! Replies as the prober reads them, by every method.

use crate::packets;
use delaylab_live::prober::any_bytes;

/// Checks one input.
pub fn check(packet: &[u8]) {
    any_bytes::parse(packet);
}

/// Valid inputs: a reply of each method. [`any_bytes`] says which identifiers and tokens the parsers expect.
pub fn seeds() -> Vec<Vec<u8>> {
    const SENT: u32 = 69_999;
    let icmp = |kind: u8| {
        let number = (SENT as u16).to_be_bytes();
        let header = [&[kind, 0, 0, 0], b"de".as_slice(), &number].concat();
        [&header, b"layl".as_slice(), &SENT.to_be_bytes(), &[7; 20]].concat()
    };
    let mut ip = vec![0; 20];
    ip[0] = 0x45;
    let over_ip = [ip, icmp(0)].concat();
    let udp = packets::echo_reply(b"dela", SENT);
    let tcp = packets::echo_reply(&60_u32.to_be_bytes(), SENT);
    let with_tlvs = packets::stamp_reply_with_tlvs(SENT);
    let mut seeds = vec![icmp(0), icmp(129), over_ip, udp, tcp, with_tlvs];
    seeds.extend(packets::stamp_replies());
    seeds
}
