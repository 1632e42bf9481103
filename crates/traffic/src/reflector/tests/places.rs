//! Who gets a session where there are only so many.

use super::*;

fn open_to_all() -> Policy {
    let allow = vec!["0.0.0.0/0".parse().unwrap()];
    Policy::new(Access::Open { allow })
}

fn greet(bench: &mut Bench, from: &str, nonce: u64) -> Control {
    bench.from = address(from);
    bench.hello(Hello {
        nonce,
        ..hello(Mode::Plain, 100)
    })
}

/// Sixteen addresses of one /24 open as many sessions as they can. Returns how many they have.
fn crowd(bench: &mut Bench, network: &str) -> usize {
    let mut accepted = 0;
    for number in 0..1100_u64 {
        let from = format!("{network}.{}:{}", number % 16, 2000 + number);
        accepted += usize::from(matches!(greet(bench, &from, number), Control::Accept(_)));
    }
    accepted
}

#[test]
fn one_network_does_not_take_every_session() {
    for proves in [false, true] {
        let mut bench = Bench::new(open_to_all());
        if proves {
            for number in 0..1100_u64 {
                let from = format!("198.51.100.{}:{}", number % 16, 2000 + number);
                if let Control::Accept(accept) = greet(&mut bench, &from, number) {
                    let session = Session { accept, keys: None };
                    assert!(bench.echo(&session.packet(0, 100)).is_ok());
                }
            }
        } else {
            crowd(&mut bench, "198.51.100");
        }
        assert_eq!(bench.reflector.status().sessions, 256);
        let other = greet(&mut bench, "192.0.2.1:4000", 1);
        assert!(matches!(other, Control::Accept(_)));
    }
}

#[test]
fn sessions_that_do_nothing_give_way() {
    let mut bench = Bench::new(open_to_all());
    let mut honest = bench.session(Mode::Plain);
    honest.accept.nonce = 0;
    let established = bench.from;
    assert!(bench.echo(&honest.packet(0, 100)).is_ok());
    for network in 0..8 {
        crowd(&mut bench, &format!("198.51.{network}"));
    }
    assert_eq!(bench.reflector.status().sessions, 1024);
    for number in 0..100 {
        let from = format!("192.0.2.{number}:4000");
        assert!(matches!(greet(&mut bench, &from, 1), Control::Accept(_)));
    }
    assert_eq!(bench.reflector.status().sessions, 1024);
    bench.from = established;
    assert!(bench.echo(&honest.packet(1, 100)).is_ok());
}

#[test]
fn a_hello_alone_does_not_hold_a_place() {
    for (collects, policy) in [(false, keyed()), (true, keyed())] {
        let mut bench = Bench::new(policy);
        let session = bench.session(Mode::Plain);
        bench.now = at(10 * SECOND);
        if collects {
            bench.collect(session.accept.token);
        }
        bench.now = at(12 * SECOND);
        assert_eq!(bench.echo(&session.packet(0, 100)).is_ok(), collects);
        bench.reflector.expire(bench.now);
        assert_eq!(bench.reflector.status().sessions, usize::from(collects));
    }
}

#[test]
fn stamp_senders_of_one_network_do_not_take_every_session() {
    let mut bench = Bench::new(open_to_all());
    for number in 0..5000_u32 {
        let [_, _, c, d] = number.to_be_bytes();
        bench.from = SocketAddr::from(([198, 51, 100, d], 2000 + u16::from(c)));
        assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    }
    assert_eq!(bench.reflector.status().stamp_sessions, 256);
    bench.from = address("192.0.2.1:4000");
    assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    assert_eq!(bench.reflector.status().stamp_sessions, 257);
}

#[test]
fn silent_stamp_senders_give_way() {
    let mut bench = Bench::new(open_to_all());
    for number in 0..1024_u32 {
        let [_, _, c, d] = number.to_be_bytes();
        bench.from = SocketAddr::from(([198, 51, 100 + c, d], 2000));
        assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    }
    bench.from = address("192.0.2.1:4000");
    let stateless = |bench: &Bench| bench.reflector.status().stateless;
    assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    assert_eq!(stateless(&bench), 1);
    bench.now = at(12 * SECOND);
    assert!(bench.datagram(Port::Stamp, &[0; 44]).is_ok());
    assert_eq!(stateless(&bench), 1);
}
