//! A million packets, random and half right, over every entry: no panic, no reply longer than its
//! request, no reply to a wrong key.

use super::*;
use delaylab_wire::stamp_tlv::{Writer, kind};
use delaylab_wire::tcp;

const PACKETS: usize = 1_000_000;

/// xorshift64* (Vigna 2016): fast, and the same packets in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() >> 33) as usize % limit
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.roll() as u8).collect()
    }

    /// A packet that is changed, cut or lengthened here and there, or nothing but noise.
    fn spoil(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        match self.below(8) {
            0 => return self.noise(),
            1 => packet.truncate(self.below(packet.len() + 1)),
            2 => {
                let more = self.below(40);
                packet.extend(self.bytes(more));
            }
            _ => {}
        }
        for _ in 0..self.below(4) {
            if !packet.is_empty() {
                let at = self.below(packet.len());
                packet[at] = self.roll() as u8;
            }
        }
        packet
    }

    fn noise(&mut self) -> Vec<u8> {
        let len = self.below(300);
        self.bytes(len)
    }
}

/// One valid packet of each kind that a client with this key (or none) may send over udp.
fn valid(key: Option<&Key>, token: u32) -> Vec<(Port, Vec<u8>)> {
    let keys = key.map(|key| KeyPair::control(key, Transport::Udp));
    let mut packets = Vec::new();
    let controls = [
        Control::Hello(hello(Mode::Stamped, 100)),
        Control::Collect { token, nonce: 1 },
        Control::Bye {
            token: token ^ 4096,
        },
    ];
    for control in controls {
        let mut packet = vec![0; SIZE];
        let key = keys.as_ref().map(|pair| &pair.request);
        control.emit(key, &mut packet).unwrap();
        packets.push((Port::Echo, packet));
    }
    packets.push((Port::Stamp, stamp_packet(key)));
    packets.push((Port::Stamp, vec![0; 41]));
    packets
}

fn stamp_packet(key: Option<&Key>) -> Vec<u8> {
    use delaylab_wire::stamp::{self, Form};
    let form = key.map_or(Form::Unauthenticated, |_| Form::Authenticated);
    let mut packet = vec![0; 300];
    let mut writer = Writer::new(&mut packet, form.size());
    writer.push(kind::CLASS_OF_SERVICE, &[1; 4]).unwrap();
    writer.push(kind::FOLLOW_UP_TELEMETRY, &[0; 16]).unwrap();
    writer.push(kind::TIMESTAMP_INFORMATION, &[0; 4]).unwrap();
    writer.push(kind::DIRECT_MEASUREMENT, &[0; 12]).unwrap();
    if let Some(key) = key {
        writer.seal(key).unwrap();
    }
    writer.pad(10).unwrap();
    let len = writer.position();
    packet.truncate(len);
    if let Some(key) = key {
        stamp::seal(key, &mut packet);
    }
    packet
}

/// Sends half-right packets and counts the replies.
fn bombard(policy: Policy, packets: usize, client_key: Option<&Key>) -> u64 {
    let mut bench = Bench::new(policy);
    let mut dice = Dice(packets as u64 + 1);
    let accept = bench.session(Mode::Stamped).accept;
    let session = Session {
        keys: client_key.map(|key| accept.keys(key, Transport::Udp)),
        accept,
    };
    let before = bench.reflector.status().replies;
    let mut valid = valid(client_key, session.accept.token);
    valid.push((Port::Echo, session.packet(1, 100)));
    valid.push((Port::Echo, session.packet(2, 60)));
    let mut reply = vec![0; 2000];
    for index in 0..packets {
        let (port, packet) = &valid[dice.below(valid.len())];
        let packet = dice.spoil(packet);
        bench.now = at(SECOND + index as Nanos);
        let verdict = bench.reflector.datagram(
            bench.now,
            bench.from,
            *port,
            &bench.arrival,
            &packet,
            &mut reply,
        );
        if let Verdict::Reply(sent) = verdict {
            assert!(sent.len <= packet.len(), "{packet:?}");
            if let Some(stamp) = sent.stamp {
                bench.reflector.transmitted(stamp, index as Nanos);
            }
        }
    }
    bench.reflector.status().replies - before
}

#[test]
fn an_open_reflector_survives() {
    assert!(bombard(open(), PACKETS * 2 / 5, None) > 0);
}

#[test]
fn a_keyed_reflector_survives_its_own_clients() {
    assert!(bombard(keyed(), PACKETS / 10, Some(&secret())) > 0);
}

#[test]
fn a_keyed_reflector_says_nothing_to_a_wrong_key() {
    let wrong = Key::new(b"another secret of many bytes").unwrap();
    assert_eq!(bombard(keyed(), PACKETS / 5, Some(&wrong)), 0);
    assert_eq!(bombard(keyed(), PACKETS / 10, None), 0);
}

#[test]
fn streams_survive() {
    for policy in [open(), keyed()] {
        let mut dice = Dice(11);
        let key = policy.key().cloned();
        let mut reflector = reflector(policy);
        let control = key
            .as_ref()
            .map(|key| KeyPair::control(key, Transport::Tcp));
        let mut greeting = vec![0; SIZE];
        Control::Hello(hello(Mode::Stamped, 100))
            .emit(control.as_ref().map(|pair| &pair.request), &mut greeting)
            .unwrap();
        let mut frame = vec![3; 100];
        let request = tcp::Request {
            len: 100,
            seq: 1,
            reply_len: 80,
        };
        request.emit(&mut frame).unwrap();
        let mut reply = vec![0; 2000];
        let open_stream = |reflector: &mut Reflector, reply: &mut [u8]| match reflector
            .stream_hello(at(SECOND), client(), &greeting, reply)
        {
            Opening::Accepted(_, session) => session,
            other => panic!("{other:?}"),
        };
        let mut session = open_stream(&mut reflector, &mut reply);
        for index in 0..PACKETS / 10 {
            let now = at(SECOND + index as Nanos);
            let mut stream = tcp::Decoder::new(1000);
            stream.push(&dice.spoil(if index % 4 == 0 { &greeting } else { &frame }));
            while let Ok(Some(frame)) = stream.next_frame() {
                let (tcp::Frame::Control(bytes) | tcp::Frame::Data(bytes)) = frame;
                let verdict = reflector.stream_frame(now, session, &arrival(), frame, &mut reply);
                match verdict {
                    Verdict::Reply(sent) => assert!(sent.len <= bytes.len()),
                    Verdict::Done => session = open_stream(&mut reflector, &mut reply),
                    Verdict::Drop(_) => {}
                }
            }
            let spoiled = dice.spoil(&greeting);
            let opening = reflector.stream_hello(now, client(), &spoiled, &mut reply);
            if let Opening::Accepted(len, _) | Opening::Refused(len) = opening {
                assert!(len <= spoiled.len());
            }
        }
    }
}
