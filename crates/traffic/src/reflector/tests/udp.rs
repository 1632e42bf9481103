//! udp sessions and the plain echo.

use super::*;
use delaylab_model::MILLISECOND;
use delaylab_wire::control::{ClockFacts, Reason};
use delaylab_wire::echo::{FollowUp, Stamps};

#[test]
fn a_plain_session_gets_its_bytes_back() {
    for policy in [open(), keyed()] {
        let mut bench = Bench::new(policy);
        let session = bench.session(Mode::Plain);
        let packet = session.packet(0, 24);
        let reply = bench.echo(&packet).unwrap();
        let body = if bench.key.is_some() { 8 } else { 24 };
        assert_eq!(reply[..body], packet[..body]);
        assert_eq!(reply.len(), packet.len());
        assert!(session.is_sealed(&reply));
        assert_eq!(bench.last.unwrap().traffic_class, Some(0xb8));
        assert_eq!(bench.last.unwrap().stamp, None);
    }
}

#[test]
fn the_smallest_open_packet_has_8_bytes() {
    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Plain);
    assert_eq!(bench.echo(&session.packet(0, 8)), Ok(session.packet(0, 8)));
}

#[test]
fn a_stamped_session_gets_the_reflectors_stamps() {
    for policy in [open(), keyed()] {
        let mut bench = Bench::new(policy);
        let session = bench.session(Mode::Stamped);
        bench.echo(&session.packet(0, 100)).unwrap();
        let packet = session.packet(5, 100);
        let reply = bench.echo(&packet).unwrap();
        let expected = Stamps {
            reflector_seq: 1,
            traffic_class: Some(0xb8),
            ttl: Some(61),
            r_rx: Some(900),
            r_user: 1000,
            follow_up: None,
            clock_steps: 0,
        };
        assert_eq!(Stamps::parse(&reply), Ok(expected));
        assert_eq!(Header::parse(&reply).unwrap().seq, 5);
        assert_eq!(reply[44..84], packet[44..84]);
        assert!(session.is_sealed(&reply));
    }
}

#[test]
fn what_the_kernel_did_not_tell_is_not_told() {
    let mut bench = Bench::new(open());
    bench.arrival = Arrival {
        r_rx: None,
        traffic_class: None,
        ttl: None,
        ..arrival()
    };
    let session = bench.session(Mode::Stamped);
    let stamps = Stamps::parse(&bench.echo(&session.packet(0, 44)).unwrap()).unwrap();
    assert_eq!(
        (stamps.r_rx, stamps.traffic_class, stamps.ttl),
        (None, None, None)
    );
    assert_eq!(bench.last.unwrap().traffic_class, None);
}

#[test]
fn congestion_marks_are_not_mirrored() {
    assert_eq!(mirrored(Some(0xbb)), Some(0xba));
    assert_eq!(mirrored(Some(0xb9)), Some(0xb9));
    assert_eq!(mirrored(None), None);
}

#[test]
fn each_reply_reports_the_oldest_departure_and_collect_the_rest() {
    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Stamped);
    for seq in 0..20 {
        bench.echo(&session.packet(seq, 44)).unwrap();
        if seq > 0 {
            bench.transmitted(i64::from(seq) * 10);
        }
    }
    let reply = bench.echo(&session.packet(20, 44)).unwrap();
    let follow_up = Stamps::parse(&reply).unwrap().follow_up;
    // 1 to 18 were reported by 2 to 19, each by the packet after it.
    assert_eq!(follow_up, Some(FollowUp { seq: 19, r_tx: 190 }));
    bench.transmitted(200);
    let collected = bench.collect(session.accept.token);
    assert_eq!(collected.received, 21);
    assert_eq!(collected.follow_ups, [FollowUp { seq: 20, r_tx: 200 }]);
    assert!(bench.collect(session.accept.token).follow_ups.is_empty());
}

#[test]
fn collect_is_asked_again_until_nothing_is_left() {
    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Stamped);
    let mut refs = Vec::new();
    for seq in 0..40 {
        bench.echo(&session.packet(seq, 44)).unwrap();
        refs.push(bench.last.unwrap().stamp.unwrap());
    }
    for (index, reply) in refs.into_iter().enumerate() {
        bench.reflector.transmitted(reply, index as Nanos);
    }
    let counts: Vec<_> = (0..4)
        .map(|_| bench.collect(session.accept.token).follow_ups.len())
        .collect();
    assert_eq!(counts, [16, 16, 8, 0]);
}

#[test]
fn an_accept_says_what_the_clocks_are() {
    let clock = ClockFacts {
        id: 77,
        synchronised: true,
        error_bound: 500,
    };
    let mut bench = Bench::new(Policy { clock, ..keyed() });
    let accept = bench.session(Mode::Stamped).accept;
    assert_eq!(accept.clock, clock);
    assert_eq!(accept.realtime_offset, REALTIME_OFFSET);
    assert_eq!(accept.max_duration_s, 24 * 3600);
    assert_eq!(accept.max_idle_ms, 600_000);
}

#[test]
fn whether_others_send_there_is_told() {
    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Plain);
    let token = session.accept.token;
    let of_several = |bench: &mut Bench| bench.collect(token).account.unwrap().of_several;
    bench.echo(&session.packet(0, 100)).unwrap();
    bench.echo(&session.packet(0, 100)).unwrap();
    assert!(!of_several(&mut bench));
    bench.from = address("127.0.0.2:40000");
    let other = bench.session(Mode::Plain);
    bench.from = client();
    // Who only asks for a session sends no packets there.
    assert!(!of_several(&mut bench));
    bench.from = address("127.0.0.2:40000");
    bench.echo(&other.packet(0, 100)).unwrap();
    bench.from = client();
    assert!(of_several(&mut bench));
    // What came before a session does not count for it.
    bench.from = address("127.0.0.3:40000");
    let third = bench.session(Mode::Plain);
    bench.echo(&third.packet(0, 100)).unwrap();
    assert!(
        !bench
            .collect(third.accept.token)
            .account
            .unwrap()
            .of_several
    );
}

#[test]
fn sizes_without_room_are_refused_by_name() {
    let text = |policy: Policy, mode, payload| {
        let refuse = Bench::new(policy).refusal(hello(mode, payload));
        assert_eq!(refuse.reason, Reason::TooSmall);
        refuse.text
    };
    assert_eq!(
        text(keyed(), Mode::Plain, 20),
        "payload of 20 B has no room for the 16-byte tag of an authenticated session: use at least 24B"
    );
    assert!(text(open(), Mode::Stamped, 43).ends_with("use at least 44B"));
    assert!(text(keyed(), Mode::Stamped, 59).ends_with("use at least 60B"));
    assert!(text(open(), Mode::Plain, 7).ends_with("use at least 8B"));
    let refuse = Bench::new(open()).refusal(hello(Mode::Plain, 65_536));
    assert_eq!(refuse.reason, Reason::TooLarge);
}

/// Also one that is below the size of what sets a session up.
#[test]
fn the_largest_size_is_that_of_data_packets() {
    let policy = Policy {
        max_payload: 200,
        ..open()
    };
    let mut bench = Bench::new(policy);
    let refuse = bench.refusal(hello(Mode::Plain, 201));
    assert!(refuse.text.ends_with("use at most 200B"), "{}", refuse.text);
    let session = bench.session(Mode::Plain);
    assert!(bench.echo(&session.packet(0, 200)).is_ok());
    for longer in [session.packet(0, 201), vec![7; 256]] {
        assert_eq!(bench.echo(&longer), dropped(DropReason::TooLong));
    }
}

#[test]
fn packets_too_small_for_their_session_are_dropped() {
    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Stamped);
    let short = session.packet(0, 43);
    assert_eq!(bench.echo(&short), dropped(DropReason::TooShort));
    assert_eq!(bench.drops(DropReason::TooShort), 1);
}

#[test]
fn a_challenge_holds_no_state_and_its_cookie_ages() {
    let mut bench = Bench::new(open());
    let mut first = hello(Mode::Plain, 100);
    let Ok(Control::Challenge(challenge)) = bench.ask(&Control::Hello(first)) else {
        panic!("no challenge");
    };
    assert_eq!(bench.reflector.status().sessions, 0);
    first.cookie = challenge.cookie;
    let answer = |bench: &mut Bench| bench.ask(&Control::Hello(first)).unwrap();
    bench.from = address("127.0.0.1:40001");
    assert!(matches!(answer(&mut bench), Control::Challenge(_)));
    bench.from = address("127.0.0.2:40000");
    assert!(matches!(answer(&mut bench), Control::Challenge(_)));
    bench.from = client();
    bench.now = at(200 * SECOND);
    assert!(matches!(answer(&mut bench), Control::Challenge(_)));
    bench.now = at(31 * SECOND);
    assert!(matches!(answer(&mut bench), Control::Accept(_)));
}

#[test]
fn a_repeated_hello_gets_the_same_session() {
    let mut bench = Bench::new(keyed());
    let first = bench.session(Mode::Plain);
    let again = bench.session(Mode::Plain);
    assert_eq!(first.accept, again.accept);
    assert_eq!(bench.reflector.status().sessions, 1);
}

#[test]
fn nothing_is_said_to_a_wrong_key() {
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Stamped);
    let mut forged = session.packet(0, 100);
    forged[50] ^= 1;
    assert_eq!(bench.echo(&forged), dropped(DropReason::WrongKey));
    bench.key = Some(Key::new(b"another secret of many bytes").unwrap());
    let greeting = Control::Hello(hello(Mode::Plain, 100));
    assert_eq!(bench.ask(&greeting), dropped(DropReason::WrongKey));
    bench.key = None;
    assert_eq!(bench.ask(&greeting), dropped(DropReason::WrongKey));
    assert_eq!(
        bench.echo(b"hello there"),
        dropped(DropReason::UnknownSession)
    );
    assert_eq!(bench.drops(DropReason::WrongKey), 3);
}

#[test]
fn a_reply_is_no_request() {
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Plain);
    let reply = bench.echo(&session.packet(0, 100)).unwrap();
    assert_eq!(bench.echo(&reply), dropped(DropReason::WrongKey));
}

#[test]
fn replays_are_refused_with_a_key_and_counted_without() {
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Plain);
    let packet = session.packet(3, 100);
    assert!(bench.echo(&packet).is_ok());
    assert_eq!(bench.echo(&packet), dropped(DropReason::Replayed));
    assert!(bench.echo(&session.packet(2, 100)).is_ok());
    assert!(bench.echo(&session.packet(2000, 100)).is_ok());
    let old = session.packet(4, 100);
    assert_eq!(bench.echo(&old), dropped(DropReason::Replayed));

    let mut bench = Bench::new(open());
    let session = bench.session(Mode::Plain);
    let packet = session.packet(3, 100);
    assert!(bench.echo(&packet).is_ok());
    assert!(bench.echo(&packet).is_ok());
    assert_eq!(bench.reflector.status().duplicates, 1);
}

#[test]
fn what_one_session_sent_is_worth_nothing_in_the_next() {
    let mut bench = Bench::new(keyed());
    let first = bench.session(Mode::Plain);
    let token = first.accept.token;
    assert_eq!(bench.ask(&Control::Bye { token }), Err(Verdict::Done));
    let second = bench.session(Mode::Plain);
    assert_ne!(first.accept.salt, second.accept.salt);
    let mut old = first.packet(0, 100);
    assert_eq!(bench.echo(&old), dropped(DropReason::UnknownSession));
    old[..4].copy_from_slice(&second.accept.token.to_be_bytes());
    assert_eq!(bench.echo(&old), dropped(DropReason::WrongKey));
}

#[test]
fn a_session_is_its_peers_alone() {
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Plain);
    let token = session.accept.token;
    bench.from = address("127.0.0.1:40001");
    let packet = session.packet(0, 100);
    assert_eq!(bench.echo(&packet), dropped(DropReason::UnknownSession));
    for control in [Control::Bye { token }, Control::Collect { token, nonce: 1 }] {
        assert_eq!(bench.ask(&control), dropped(DropReason::UnknownSession));
    }
    bench.from = client();
    assert!(bench.echo(&packet).is_ok());
}

#[test]
fn sessions_end_by_bye_by_silence_and_by_age() {
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Plain);
    let token = session.accept.token;
    assert_eq!(bench.ask(&Control::Bye { token }), Err(Verdict::Done));
    let gone = dropped(DropReason::UnknownSession);
    assert_eq!(bench.echo(&session.packet(0, 100)), gone);

    let session = bench.session(Mode::Plain);
    bench.collect(session.accept.token);
    // It sends nothing, and asks.
    bench.now = at(600 * SECOND);
    bench.collect(session.accept.token);
    bench.now = at(1200 * SECOND);
    bench.collect(session.accept.token);
    bench.now = at(1801 * SECOND);
    assert_eq!(
        bench.echo(&session.packet(0, 100)),
        dropped(DropReason::UnknownSession)
    );
    bench.reflector.expire(bench.now);
    assert_eq!(bench.reflector.status().sessions, 0);

    let mut bench = Bench::new(Policy {
        max_duration: 10 * SECOND,
        ..keyed()
    });
    let session = bench.session(Mode::Plain);
    bench.now = at(11 * SECOND);
    assert!(bench.echo(&session.packet(0, 100)).is_ok());
    bench.now = at(11 * SECOND + MILLISECOND);
    assert_eq!(
        bench.echo(&session.packet(1, 100)),
        dropped(DropReason::UnknownSession)
    );
}

#[test]
fn the_number_of_sessions_is_bounded() {
    let policy = Policy {
        max_sessions: 5,
        max_sessions_per_address: 2,
        access: Access::Open {
            allow: vec!["192.0.2.0/24".parse().unwrap()],
        },
        ..open()
    };
    let mut bench = Bench::new(policy);
    let mut open_from = |from: &str| {
        bench.from = address(from);
        bench.hello(hello(Mode::Plain, 100))
    };
    assert!(matches!(open_from("192.0.2.1:2001"), Control::Accept(_)));
    assert!(matches!(open_from("192.0.2.1:2002"), Control::Accept(_)));
    let Control::Refuse(refuse) = open_from("192.0.2.1:2003") else {
        panic!("a third session with one address");
    };
    assert_eq!(refuse.reason, Reason::TooManySessions);
    assert!(refuse.text.contains("192.0.2.1 has 2 sessions"));
    for port in 1..4 {
        let from = format!("192.0.2.{}:2000", port + 1);
        assert!(matches!(open_from(&from), Control::Accept(_)));
    }
    // The two that have sent nothing are more than the newcomer has: one gives way.
    assert!(matches!(open_from("192.0.2.9:2000"), Control::Accept(_)));
    assert_eq!(bench.reflector.status().sessions, 5);
    bench.now = at(700 * SECOND);
    bench.from = address("192.0.2.9:2000");
    assert!(matches!(
        bench.hello(hello(Mode::Plain, 100)),
        Control::Accept(_)
    ));
}

#[test]
fn another_version_is_named() {
    let mut bench = Bench::new(open());
    let mut packet = [0; SIZE];
    let greeting = Control::Hello(hello(Mode::Plain, 100));
    greeting.emit(None, &mut packet).unwrap();
    packet[8] = 9;
    let reply = bench.echo(&packet).unwrap();
    let Ok(Control::Refuse(refuse)) = Control::parse(None, &reply) else {
        panic!("no refusal");
    };
    assert_eq!(refuse.reason, Reason::Version);
    assert_eq!(refuse.nonce, hello(Mode::Plain, 100).nonce);
    // A refusal of that version is not refused: that would go on for ever.
    packet[9] = 4;
    assert_eq!(bench.echo(&packet), dropped(DropReason::Malformed));
}

#[test]
fn an_open_reflector_is_an_rfc_862_server() {
    let mut bench = Bench::new(open());
    assert_eq!(bench.echo(b"hello"), Ok(b"hello".to_vec()));
    assert_eq!(bench.echo(b""), Ok(Vec::new()));
    let mut quiet = Bench::new(Policy::new(Access::Open { allow: Vec::new() }));
    assert_eq!(quiet.echo(b"hello"), dropped(DropReason::UnknownSession));
}

#[test]
fn nothing_is_echoed_to_ports_that_would_answer() {
    let mut bench = Bench::new(Policy {
        own_ports: vec![8620],
        ..open()
    });
    for port in [0, 7, 13, 17, 19, 37, 862, 1023, 8620, 8862, 8863] {
        bench.from = SocketAddr::new(client().ip(), port);
        assert_eq!(bench.echo(b"hello"), dropped(DropReason::SourcePort));
        assert_eq!(
            bench.datagram(Port::Stamp, &[0; 44]),
            dropped(DropReason::SourcePort)
        );
    }
}

#[test]
fn the_allow_list_holds_for_every_packet() {
    let allow = vec!["192.0.2.0/24".parse().unwrap()];
    let mut bench = Bench::new(Policy {
        access: Access::Open { allow },
        ..open()
    });
    let refused = dropped(DropReason::NotAllowed);
    assert_eq!(bench.echo(b"hello"), refused);
    assert_eq!(bench.datagram(Port::Stamp, &[0; 44]), refused);
    assert_eq!(
        bench.ask(&Control::Bye { token: 1 }),
        dropped(DropReason::NotAllowed)
    );
    assert!(!bench.reflector.admits(client().ip()));
    bench.from = address("[::ffff:192.0.2.7]:4000");
    assert!(bench.echo(b"hello").is_ok());
    assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    let mut bench = Bench::new(open());
    bench.from = address("192.0.2.7:4000");
    assert_eq!(bench.echo(b"hello"), dropped(DropReason::NotAllowed));
}

#[test]
fn more_than_the_rate_is_dropped_and_said_so() {
    let each = Rate {
        packets: 5,
        bytes: 1 << 30,
        burst: SECOND,
    };
    let limits = Limits {
        each,
        loopback: true,
        ..Limits::default()
    };
    let mut bench = Bench::new(Policy { limits, ..open() });
    let answered = (0..20).filter(|_| bench.echo(b"hello").is_ok()).count();
    // The other half is kept for sessions.
    assert_eq!(answered, 2);
    assert_eq!(bench.drops(DropReason::RateLimited), 18);
    let stamp = bench.datagram(Port::Stamp, &[0; 44]);
    assert_eq!(stamp, dropped(DropReason::RateLimited));
}

#[test]
fn forged_packets_take_nothing_from_the_bucket() {
    let each = Rate {
        packets: 5,
        bytes: 1 << 30,
        burst: SECOND,
    };
    let limits = Limits {
        each,
        loopback: true,
        ..Limits::default()
    };
    let mut bench = Bench::new(Policy { limits, ..keyed() });
    for _ in 0..100 {
        assert!(bench.echo(&[1; 256]).is_err());
    }
    assert!(matches!(
        bench.hello(hello(Mode::Plain, 100)),
        Control::Accept(_)
    ));
}

#[test]
fn sizes_out_of_range_are_dropped() {
    let mut bench = Bench::new(Policy {
        max_payload: 1000,
        ..open()
    });
    assert!(bench.echo(&[0; 1000]).is_ok());
    assert_eq!(bench.echo(&[0; 1001]), dropped(DropReason::TooLong));
    let verdict = bench.reflector.datagram(
        bench.now,
        bench.from,
        Port::Echo,
        &arrival(),
        b"hello",
        &mut [0; 4],
    );
    assert_eq!(verdict, Verdict::Drop(DropReason::NoRoom));
}

#[test]
fn control_packets_of_reflectors_are_not_answered() {
    let mut bench = Bench::new(open());
    let accept = bench.session(Mode::Plain).accept;
    let said = Control::Accept(accept);
    assert_eq!(bench.ask(&said), dropped(DropReason::Malformed));
    assert_eq!(bench.echo(b"delaylab"), dropped(DropReason::TooShort));
    assert_eq!(
        bench.echo(&[b"delaylab".as_slice(), &[0; 300]].concat()),
        dropped(DropReason::Malformed)
    );
}

/// A session outlasts its 32 bits: from there on by other keys, so that nothing from before comes again.
#[test]
fn a_keyed_session_goes_on_after_two_to_the_32() {
    use delaylab_wire::auth::SessionKeys;
    let mut bench = Bench::new(keyed());
    let session = bench.session(Mode::Stamped);
    let mut keys = SessionKeys::new(session.keys.clone().unwrap());
    let mut packet = |seq: u64| {
        let mut packet = session.packet(seq as u32, 100);
        keys.pair(seq).request.seal(&mut packet);
        packet
    };
    let turn = 1_u64 << 32;
    let first = packet(0);
    for seq in [0, 1 << 31, turn - 2, turn, turn - 1, turn + 1] {
        let reply = bench.echo(&packet(seq)).unwrap();
        assert_eq!(Header::parse(&reply).unwrap().seq, seq as u32);
        assert!(
            SessionKeys::new(session.keys.clone().unwrap())
                .pair(seq)
                .reply
                .is_sealed(&reply)
        );
    }
    assert_eq!(bench.echo(&first), dropped(DropReason::WrongKey));
    assert_eq!(bench.echo(&packet(turn)), dropped(DropReason::Replayed));
}
