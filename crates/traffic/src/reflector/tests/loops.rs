//! Two reflectors are set on each other with one forged packet, on ports that neither knows.

use super::*;

/// How many packets go to and fro before one is not answered.
fn rounds(policies: [Policy; 2], ports: [Port; 2], first: &[u8], pause: Nanos) -> usize {
    let addresses = [address("127.0.0.1:9001"), address("127.0.0.1:9002")];
    let mut reflectors = policies.map(reflector);
    let mut packet = first.to_vec();
    for round in 0..1_000_000 {
        let at_one = round % 2;
        let now = at(SECOND + round as Nanos * pause);
        let arrival = Arrival {
            r_rx: Some(now.mono),
            r_user: now.mono,
            ..arrival()
        };
        let mut reply = vec![0; packet.len()];
        let verdict = reflectors[at_one].datagram(
            now,
            addresses[1 - at_one],
            ports[at_one],
            &arrival,
            &packet,
            &mut reply,
        );
        let Verdict::Reply(sent) = verdict else {
            return round;
        };
        reply.truncate(sent.len);
        packet = reply;
    }
    usize::MAX
}

#[test]
fn no_packet_goes_round_for_long() {
    let stamp_request = [0; 100];
    let with_key = {
        use delaylab_wire::stamp;
        let mut packet = [0; 112];
        stamp::seal(&secret(), &mut packet);
        packet
    };
    for pause in [10_000, SECOND / 100, 10 * SECOND] {
        for ports in [
            [Port::Echo, Port::Echo],
            [Port::Stamp, Port::Stamp],
            [Port::Echo, Port::Stamp],
            [Port::Stamp, Port::Echo],
        ] {
            for first in [b"round and round".as_slice(), &stamp_request] {
                let rounds = rounds([open(), open()], ports, first, pause);
                assert!(rounds <= 100, "{rounds} {ports:?} {pause}");
            }
            let rounds = rounds([keyed(), keyed()], ports, &with_key, pause);
            assert!(rounds <= 1, "{rounds} {ports:?} {pause}");
        }
    }
}

#[test]
fn plain_echo_is_off_unless_asked_for() {
    let mut bench = Bench::new(Policy::new(Access::Open { allow: Vec::new() }));
    assert_eq!(bench.echo(b"hello"), dropped(DropReason::UnknownSession));
    let mut bench = Bench::new(Policy {
        plain_echo: true,
        ..keyed()
    });
    assert_eq!(bench.echo(b"hello"), dropped(DropReason::UnknownSession));
}

#[test]
fn plain_echo_is_limited_by_peer_and_port_on_loopback_too() {
    let mut bench = Bench::new(open());
    let mut answered = |port: u16| {
        bench.from = SocketAddr::new(client().ip(), port);
        let packets = 0..1000_u32;
        let echoed = packets.filter(|number| bench.echo(&number.to_be_bytes()).is_ok());
        echoed.count()
    };
    assert_eq!(
        [answered(4000), answered(4000), answered(4001)],
        [100, 0, 100]
    );
}
