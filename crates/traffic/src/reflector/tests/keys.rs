//! Several keys at once, keys that are changed, and packets from before a start.

use super::*;
use delaylab_wire::ntp::{ErrorEstimate, Format};
use delaylab_wire::stamp::{self, Form, Sender};

fn other() -> Key {
    Key::new(b"the key that comes next").unwrap()
}

fn both() -> Keys {
    Keys::new(vec![("old".into(), secret()), ("new".into(), other())]).unwrap()
}

fn stamp_packet(key: &Key, seq: u32, sent: Nanos) -> Vec<u8> {
    let mut packet = vec![0; 112];
    let sender = Sender {
        seq,
        timestamp: Format::Ntp.encode(sent),
        error: ErrorEstimate::at_most(0, true, Format::Ntp),
        ssid: 1,
    };
    sender.emit(Form::Authenticated, &mut packet).unwrap();
    stamp::seal(key, &mut packet);
    packet
}

#[test]
fn each_of_several_keys_opens_and_a_third_does_not() {
    for (key, is_taken) in [
        (secret(), true),
        (other(), true),
        (Key::new(&[9; 16]).unwrap(), false),
    ] {
        let mut bench = Bench::new(Policy::new(Access::Keyed(both())));
        bench.key = Some(key.clone());
        let stamp = stamp_packet(&key, 0, 5);
        let answered = bench.datagram(Port::Stamp, &stamp);
        assert_eq!(answered.is_ok(), is_taken);
        let Ok(answered) = answered else {
            let said = bench.ask(&Control::Hello(hello(Mode::Plain, 100)));
            assert_eq!(said.unwrap_err(), Verdict::Drop(DropReason::WrongKey));
            continue;
        };
        assert!(stamp::is_sealed(&key, &answered));
        let session = bench.session(Mode::Plain);
        let reply = bench.echo(&session.packet(0, 100)).unwrap();
        assert!(session.is_sealed(&reply));
    }
}

#[test]
fn a_session_ends_with_its_key_and_others_go_on() {
    let mut bench = Bench::new(Policy::new(Access::Keyed(both())));
    let old = bench.session(Mode::Plain);
    bench.key = Some(other());
    bench.from = address("127.0.0.1:40001");
    let new = bench.session(Mode::Plain);
    bench.reflector.set_keys(other().into());
    assert!(bench.echo(&new.packet(0, 100)).is_ok());
    bench.from = client();
    assert_eq!(
        bench.echo(&old.packet(0, 100)),
        dropped(DropReason::UnknownSession)
    );
    let stale = stamp_packet(&secret(), 0, 5);
    assert_eq!(
        bench.datagram(Port::Stamp, &stale),
        dropped(DropReason::WrongKey)
    );
}

#[test]
fn a_captured_stamp_packet_is_not_answered_after_a_restart() {
    let sent = bench_time(SECOND);
    let captured = stamp_packet(&secret(), 3, sent);
    let mut before = Bench::new(keyed());
    before.reflector.start(at(0));
    assert!(before.datagram(Port::Stamp, &captured).is_ok());

    let mut after = Bench::new(keyed());
    after.reflector.start(at(2 * SECOND));
    after.now = at(3 * SECOND);
    assert_eq!(
        after.datagram(Port::Stamp, &captured),
        dropped(DropReason::Stale)
    );
    let fresh = stamp_packet(&secret(), 4, bench_time(2 * SECOND + 1));
    assert!(after.datagram(Port::Stamp, &fresh).is_ok());
    for sent in [bench_time(70 * SECOND), bench_time(-70 * SECOND)] {
        let elsewhen = stamp_packet(&secret(), 5, sent);
        assert_eq!(
            after.datagram(Port::Stamp, &elsewhen),
            dropped(DropReason::Stale)
        );
    }

    let mut any = Bench::new(Policy {
        stamp_any_clock: true,
        ..keyed()
    });
    any.reflector.start(at(2 * SECOND));
    assert!(any.datagram(Port::Stamp, &captured).is_ok());
}

#[test]
fn a_clock_that_is_set_back_locks_nobody_out() {
    let mut bench = Bench::new(keyed());
    bench.reflector.start(at(SECOND));
    bench.now = Now {
        mono: 5 * SECOND,
        real: REALTIME_OFFSET - 3600 * SECOND,
        clock_steps: 0,
    };
    let now = stamp_packet(&secret(), 0, bench.now.real);
    assert!(bench.datagram(Port::Stamp, &now).is_ok());
}

fn bench_time(mono: Nanos) -> Nanos {
    at(mono).real
}
