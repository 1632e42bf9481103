//! STAMP and TWAMP-Light.

use super::*;
use delaylab_wire::control::ClockFacts;
use delaylab_wire::ntp::{ErrorEstimate, Format};
use delaylab_wire::stamp::{self, Form, Sender};
use delaylab_wire::stamp_tlv::{
    self, ClassOfService, DirectMeasurement, FollowUpTelemetry, I, M, Stamping, SyncSource,
    TimestampInformation, U, Writer, kind,
};

fn sender(seq: u32) -> Sender {
    let sent = REALTIME_OFFSET + Nanos::from(seq) * SECOND;
    Sender {
        seq,
        timestamp: Format::Ntp.encode(sent),
        error: ErrorEstimate::at_most(1000, true, Format::Ntp),
        ssid: 5,
    }
}

const fn form_of(key: Option<&Key>) -> Form {
    match key {
        Some(_) => Form::Authenticated,
        None => Form::Unauthenticated,
    }
}

/// A packet of this sender with these TLVs.
fn packet(key: Option<&Key>, sender: Sender, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let form = form_of(key);
    let mut packet = vec![0; 400];
    sender.emit(form, &mut packet).unwrap();
    let mut writer = Writer::new(&mut packet, form.size());
    write(&mut writer);
    let len = writer.position();
    packet.truncate(len);
    if let Some(key) = key {
        stamp::seal(key, &mut packet);
    }
    packet
}

fn plain(seq: u32) -> Vec<u8> {
    packet(None, sender(seq), |_| {})
}

fn parse(reply: &[u8]) -> stamp::Reflector {
    stamp::Reflector::parse(Form::Unauthenticated, reply).unwrap()
}

impl Bench {
    fn stamp(&mut self, packet: &[u8]) -> Result<Vec<u8>, Verdict> {
        self.datagram(Port::Stamp, packet)
    }
}

fn clock() -> ClockFacts {
    ClockFacts {
        id: 0x1122_3344_5566_7788,
        synchronised: true,
        error_bound: 1_000_000,
    }
}

#[test]
fn the_base_packet_is_answered_as_the_rfc_says() {
    for policy in [open(), keyed()] {
        let policy = Policy {
            clock: clock(),
            ..policy
        };
        let mut bench = Bench::new(policy);
        let key = bench.key.clone();
        let request = packet(key.as_ref(), sender(9), |_| {});
        let reply = bench.stamp(&request).unwrap();
        let form = form_of(key.as_ref());
        assert_eq!(reply.len(), form.size());
        let said = stamp::Reflector::parse(form, &reply).unwrap();
        assert_eq!((said.seq, said.ssid), (0, 5));
        assert_eq!(said.sent(), bench.now.real);
        assert_eq!(said.received(), REALTIME_OFFSET + 900);
        assert!(said.error.synchronised && said.error.bound() >= Some(1_000_000));
        assert_eq!(said.sender.seq, 9);
        assert_eq!(said.sender.timestamp, sender(9).timestamp);
        assert_eq!(said.sender.error, sender(9).error);
        assert_eq!(said.sender.ttl, 61);
        assert!(key.is_none_or(|key| stamp::is_sealed(&key, &reply)));
        assert_eq!(bench.last.unwrap().traffic_class, Some(0xb8));
    }
}

#[test]
fn timestamps_are_written_as_the_sender_writes_its_own() {
    let mut bench = Bench::new(open());
    let mut asked = sender(0);
    asked.error.format = Format::Ptp;
    let reply = bench.stamp(&packet(None, asked, |_| {})).unwrap();
    let said = parse(&reply);
    assert_eq!(said.error.format, Format::Ptp);
    assert_eq!(said.sent(), bench.now.real);
}

#[test]
fn an_unknown_ttl_is_255_and_a_missing_stamp_is_the_read() {
    let mut bench = Bench::new(open());
    bench.arrival.ttl = None;
    bench.arrival.r_rx = None;
    let said = parse(&bench.stamp(&plain(0)).unwrap());
    assert_eq!(said.sender.ttl, 255);
    assert_eq!(said.received(), REALTIME_OFFSET + 1000);
}

#[test]
fn sessions_are_counted_apart_by_address_port_and_ssid() {
    let mut bench = Bench::new(open());
    let seq = |bench: &mut Bench, sent: Sender| {
        parse(&bench.stamp(&packet(None, sent, |_| {})).unwrap()).seq
    };
    assert_eq!(seq(&mut bench, sender(10)), 0);
    assert_eq!(seq(&mut bench, sender(12)), 1);
    let other = Sender {
        ssid: 6,
        ..sender(13)
    };
    assert_eq!(seq(&mut bench, other), 0);
    bench.from = address("127.0.0.1:40001");
    assert_eq!(seq(&mut bench, sender(14)), 0);
    bench.from = client();
    assert_eq!(seq(&mut bench, sender(15)), 2);
    assert_eq!(bench.reflector.status().stamp_sessions, 3);
}

#[test]
fn a_sender_that_starts_again_is_counted_from_0() {
    for policy in [open(), keyed()] {
        let mut bench = Bench::new(policy);
        let key = bench.key.clone();
        let send = |bench: &mut Bench, sent: Sender| {
            let reply = bench.stamp(&packet(key.as_ref(), sent, |_| {}))?;
            Ok(stamp::Reflector::parse(form_of(key.as_ref()), &reply)
                .unwrap()
                .seq)
        };
        for seq in 0..3 {
            assert_eq!(send(&mut bench, sender(seq)), Ok(seq));
        }
        let again = Sender {
            seq: 0,
            ..sender(50)
        };
        assert_eq!(send(&mut bench, again), Ok(0));
        let replayed = send(&mut bench, sender(0));
        match key {
            Some(_) => assert_eq!(replayed, dropped(DropReason::Replayed)),
            None => assert_eq!(replayed, Ok(1)),
        }
    }
}

#[test]
fn nothing_is_said_to_a_wrong_key() {
    let mut bench = Bench::new(keyed());
    let wrong = Key::new(b"another secret of many bytes").unwrap();
    let forged = packet(Some(&wrong), sender(0), |_| {});
    assert_eq!(bench.stamp(&forged), dropped(DropReason::WrongKey));
    let unsigned = plain(0);
    assert_eq!(bench.stamp(&unsigned), dropped(DropReason::TooShort));
    assert_eq!(bench.stamp(&[0; 200]), dropped(DropReason::WrongKey));
}

#[test]
fn a_reply_played_to_another_reflector_starts_no_loop() {
    let policy = || Policy {
        own_ports: vec![8862],
        ..keyed()
    };
    let (mut one, mut other) = (Bench::new(policy()), Bench::new(policy()));
    let reply = one
        .stamp(&packet(Some(&secret()), sender(0), |_| {}))
        .unwrap();
    for port in [862, 8862] {
        other.from = SocketAddr::new(client().ip(), port);
        assert_eq!(other.stamp(&reply), dropped(DropReason::SourcePort));
    }
    other.from = SocketAddr::new(client().ip(), 9000);
    assert_eq!(other.stamp(&reply), dropped(DropReason::Loop));
}

#[test]
fn a_twamp_light_sender_is_answered_in_its_own_length() {
    let mut bench = Bench::new(open());
    for len in 41..44 {
        let mut request = plain(0);
        request[14..].fill(0xaa);
        let reply = bench.stamp(&request[..len]).unwrap();
        assert_eq!(reply.len(), len);
        let said = parse(&reply);
        assert_eq!((said.ssid, said.sender.ttl), (0, 61));
    }
    assert_eq!(bench.stamp(&[0; 40]), dropped(DropReason::TooShort));
    assert_eq!(bench.drops(DropReason::TooShort), 1);
}

#[test]
fn twamp_padding_comes_back_as_it_was() {
    let mut bench = Bench::new(open());
    let mut request = plain(0);
    request.resize(100, 0);
    assert_eq!(bench.stamp(&request).unwrap()[44..], request[44..]);
}

/// The flags of every TLV of a reply and what they say.
fn flags(reply: &[u8], from: usize) -> Vec<(u8, u8)> {
    stamp_tlv::spans(reply, from)
        .filter_map(|item| match item {
            stamp_tlv::Item::Tlv(span) => Some((span.kind, span.flags)),
            _ => None,
        })
        .collect()
}

#[test]
fn every_tlv_that_is_known_is_answered() {
    let mut bench = Bench::new(Policy {
        clock: clock(),
        ..open()
    });
    bench.stamp(&plain(0)).unwrap();
    bench.transmitted(77);
    let counts = DirectMeasurement {
        sender_sent: 2,
        ..Default::default()
    };
    let cos = ClassOfService {
        dscp1: 10,
        ..Default::default()
    };
    let request = packet(None, sender(1), |writer| {
        writer.push(kind::TIMESTAMP_INFORMATION, &[0; 4]).unwrap();
        writer
            .push(kind::CLASS_OF_SERVICE, &cos.to_bytes())
            .unwrap();
        writer
            .push(kind::DIRECT_MEASUREMENT, &counts.to_bytes())
            .unwrap();
        writer.push(kind::FOLLOW_UP_TELEMETRY, &[0; 16]).unwrap();
        writer.push(kind::CLOCK_IDENTITY, &[0; 8]).unwrap();
        writer.pad(9).unwrap();
    });
    let reply = bench.stamp(&request).unwrap();
    assert_eq!(reply.len(), request.len());
    assert!(flags(&reply, 44).iter().all(|&(_, flags)| flags == 0));
    let value = |kind| stamp_tlv::understood(&reply, 44, kind).unwrap();

    let information = TimestampInformation::parse(value(kind::TIMESTAMP_INFORMATION)).unwrap();
    assert_eq!(information.sync_in, SyncSource::Ntp);
    assert_eq!(information.stamping_out, Stamping::Software);
    let class = ClassOfService::parse(value(kind::CLASS_OF_SERVICE)).unwrap();
    assert_eq!((class.dscp1, class.dscp2, class.ecn), (10, 46, 0));
    assert!(!class.refused);
    assert_eq!(bench.last.unwrap().traffic_class, Some(10 << 2));
    let counts = DirectMeasurement::parse(value(kind::DIRECT_MEASUREMENT)).unwrap();
    assert_eq!(
        (
            counts.sender_sent,
            counts.reflector_received,
            counts.reflector_sent
        ),
        (2, 2, 2)
    );
    let follow_up = FollowUpTelemetry::parse(value(kind::FOLLOW_UP_TELEMETRY)).unwrap();
    let left = Format::Ntp.decode(follow_up.timestamp);
    assert_eq!((follow_up.seq, left), (0, REALTIME_OFFSET + 77));
    assert_eq!(follow_up.stamping, Stamping::Software);
    let id = stamp_tlv::parse_clock_identity(value(kind::CLOCK_IDENTITY));
    assert_eq!(id, Ok(clock().id));
}

#[test]
fn a_policy_may_refuse_another_class() {
    let mut bench = Bench::new(Policy {
        class_of_service: false,
        ..open()
    });
    let request = packet(None, sender(0), |writer| {
        writer
            .push(kind::CLASS_OF_SERVICE, &[10 << 2, 0, 0, 0])
            .unwrap();
    });
    let reply = bench.stamp(&request).unwrap();
    let value = stamp_tlv::understood(&reply, 44, kind::CLASS_OF_SERVICE).unwrap();
    let class = ClassOfService::parse(value).unwrap();
    assert!(class.refused);
    assert_eq!(bench.last.unwrap().traffic_class, Some(0xb8));
}

#[test]
fn without_news_a_follow_up_is_all_zeros() {
    let mut bench = Bench::new(open());
    let request = packet(None, sender(0), |writer| {
        writer.push(kind::FOLLOW_UP_TELEMETRY, &[9; 16]).unwrap();
    });
    let reply = bench.stamp(&request).unwrap();
    let value = stamp_tlv::understood(&reply, 44, kind::FOLLOW_UP_TELEMETRY);
    assert_eq!(value, Some([0; 16].as_slice()));
}

#[test]
fn unknown_and_malformed_tlvs_are_marked_and_echoed() {
    let mut bench = Bench::new(open());
    let mut request = packet(None, sender(0), |writer| {
        writer.push(2, &[7; 6]).unwrap();
        writer.push(kind::CLASS_OF_SERVICE, &[7; 3]).unwrap();
        writer.push(kind::HMAC, &[7; 16]).unwrap();
        writer.push(kind::CLOCK_IDENTITY, &[0; 8]).unwrap();
    });
    request.extend([U, kind::EXTRA_PADDING, 0, 9, 1]);
    let reply = bench.stamp(&request).unwrap();
    let expected = [
        (2, U),
        (kind::CLASS_OF_SERVICE, M),
        (kind::HMAC, U),
        (kind::CLOCK_IDENTITY, 0),
    ];
    assert_eq!(flags(&reply, 44), expected);
    assert_eq!(reply[48..54], [7; 6]);
    assert_eq!(reply[reply.len() - 5..], [M, kind::EXTRA_PADDING, 0, 9, 1]);
}

#[test]
fn the_hmac_tlv_is_checked_and_made_anew() {
    let mut bench = Bench::new(keyed());
    let key = secret();
    let good = |seq: u32| {
        packet(Some(&key), sender(seq), |writer| {
            writer.push(kind::CLOCK_IDENTITY, &[0; 8]).unwrap();
            writer.seal(&key).unwrap();
            writer.pad(4).unwrap();
        })
    };
    bench.stamp(&good(3)).unwrap();
    let reply = bench.stamp(&good(4)).unwrap();
    assert!(flags(&reply, 112).iter().all(|&(_, flags)| flags == 0));
    assert!(stamp_tlv::is_authentic(&key, &reply, 112));
    assert_eq!(
        stamp::Reflector::parse(Form::Authenticated, &reply)
            .unwrap()
            .seq,
        1
    );

    let mut changed = good(5);
    changed[118] ^= 1;
    let reply = bench.stamp(&changed).unwrap();
    assert!(flags(&reply, 112).iter().all(|&(_, flags)| flags == U | I));
    assert_eq!(reply[116..124], changed[116..124]);
    assert!(stamp::is_sealed(&key, &reply));

    let missing = packet(Some(&key), sender(6), |writer| {
        writer.push(kind::CLOCK_IDENTITY, &[0; 8]).unwrap();
    });
    let reply = bench.stamp(&missing).unwrap();
    assert_eq!(flags(&reply, 112), [(kind::CLOCK_IDENTITY, U | I)]);
}

#[test]
fn with_all_sessions_taken_the_reflector_is_stateless() {
    let mut bench = Bench::new(Policy {
        max_sessions: 1,
        ..open()
    });
    bench.stamp(&plain(0)).unwrap();
    bench.from = address("127.0.0.1:40001");
    assert_eq!(parse(&bench.stamp(&plain(9)).unwrap()).seq, 9);
    assert_eq!(bench.last.unwrap().stamp, None);
    assert_eq!(bench.reflector.status().stateless, 1);
    bench.now = at(700 * SECOND);
    assert_eq!(parse(&bench.stamp(&plain(10)).unwrap()).seq, 0);
    assert_eq!(bench.reflector.status().stamp_sessions, 1);
}

#[test]
fn a_stamp_of_a_session_that_is_gone_is_forgotten() {
    let mut bench = Bench::new(Policy {
        max_sessions: 1,
        ..open()
    });
    bench.stamp(&plain(0)).unwrap();
    let old = bench.last.unwrap().stamp.unwrap();
    bench.now = at(700 * SECOND);
    bench.from = address("127.0.0.1:40001");
    bench.stamp(&plain(0)).unwrap();
    bench.reflector.transmitted(old, 5);
    let request = packet(None, sender(1), |writer| {
        writer.push(kind::FOLLOW_UP_TELEMETRY, &[0; 16]).unwrap();
    });
    let reply = bench.stamp(&request).unwrap();
    let value = stamp_tlv::understood(&reply, 44, kind::FOLLOW_UP_TELEMETRY);
    assert_eq!(value, Some([0; 16].as_slice()));
}

/// What was captured before a sender started again, numbers included that are new to its new run.
#[test]
fn what_was_sent_before_a_restart_is_not_answered_after_it() {
    let mut bench = Bench::new(keyed());
    let key = secret();
    let old: Vec<_> = (0..5)
        .map(|seq| packet(Some(&key), sender(seq), |_| {}))
        .collect();
    for packet in &old {
        assert!(bench.stamp(packet).is_ok());
    }
    // Tags are forgotten in the end; the session is to know for itself.
    bench.reflector.tags = Some(TagCache::default());
    let again = |seq: u32| Sender {
        seq,
        ..sender(50 + seq)
    };
    assert!(bench.stamp(&packet(Some(&key), again(0), |_| {})).is_ok());
    for packet in &old {
        assert_eq!(bench.stamp(packet), dropped(DropReason::Replayed));
    }
    assert!(bench.stamp(&packet(Some(&key), again(2), |_| {})).is_ok());
    assert!(bench.stamp(&packet(Some(&key), again(1), |_| {})).is_ok());
}

#[test]
fn a_captured_packet_from_elsewhere_is_not_answered() {
    let mut bench = Bench::new(keyed());
    let captured = packet(Some(&secret()), sender(0), |writer| {
        writer.pad(8).unwrap();
    });
    assert!(bench.stamp(&captured).is_ok());
    bench.from = address("192.0.2.9:40000");
    assert_eq!(bench.stamp(&captured), dropped(DropReason::Replayed));
    // The tag is of the base packet alone: other TLVs make no other packet of it.
    let base = &captured[..Form::Authenticated.size()];
    assert_eq!(bench.stamp(base), dropped(DropReason::Replayed));
    assert_eq!(bench.reflector.status().stamp_sessions, 1);
    let mut free = Bench::new(open());
    assert!(free.stamp(&plain(0)).is_ok());
    free.from = address("127.0.0.1:40001");
    assert!(free.stamp(&plain(0)).is_ok());
}

#[test]
fn with_a_key_and_all_sessions_taken_nothing_is_answered() {
    let mut bench = Bench::new(Policy {
        max_sessions: 1,
        ..keyed()
    });
    let key = secret();
    let send = |bench: &mut Bench, seq| {
        bench
            .stamp(&packet(Some(&key), sender(seq), |_| {}))
            .map(drop)
    };
    assert!(send(&mut bench, 0).is_ok());
    bench.from = address("127.0.0.1:40001");
    assert_eq!(send(&mut bench, 1), dropped(DropReason::TooManySessions));
    assert_eq!(bench.reflector.status().stateless, 0);
    bench.from = client();
    assert!(send(&mut bench, 2).is_ok());
}

#[test]
fn a_reply_sent_back_is_no_request() {
    let mut bench = Bench::new(keyed());
    let key = secret();
    let request = |seq| packet(Some(&key), sender(seq), |_| {});
    let reply = bench.stamp(&request(0)).unwrap();
    assert_eq!(bench.stamp(&reply), dropped(DropReason::Loop));
    bench.from = address("192.0.2.9:40000");
    assert_eq!(bench.stamp(&reply), dropped(DropReason::Loop));
    bench.from = client();
    let next = bench.stamp(&request(1)).unwrap();
    let said = stamp::Reflector::parse(Form::Authenticated, &next);
    assert_eq!(said.unwrap().seq, 1);
}
