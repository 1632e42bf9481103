//! Each rule of the reflector, and that it keeps them whatever comes.
#![allow(clippy::unwrap_used)]

mod keys;
mod loops;
mod places;
mod random;
mod stamp;
mod stream;
mod udp;

use super::*;
use delaylab_model::SECOND;
use delaylab_wire::auth::KeyPair;
use delaylab_wire::control::{Accept, Collected, Control, Hello, Refuse, SIZE};
use delaylab_wire::echo::Mode;

/// `CLOCK_REALTIME` − `CLOCK_MONOTONIC` in these tests.
const REALTIME_OFFSET: Nanos = 1_700_000_000 * SECOND;

fn at(mono: Nanos) -> Now {
    Now {
        mono,
        real: mono + REALTIME_OFFSET,
        clock_steps: 0,
    }
}

fn arrival() -> Arrival {
    Arrival {
        r_rx: Some(900),
        r_user: 1000,
        traffic_class: Some(0xb8),
        ttl: Some(61),
        overflowed: 0,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn client() -> SocketAddr {
    address("127.0.0.1:40000")
}

fn secret() -> Key {
    Key::new(b"a secret of many bytes").unwrap()
}

fn open() -> Policy {
    Policy {
        plain_echo: true,
        ..Policy::new(Access::Open { allow: Vec::new() })
    }
}

fn keyed() -> Policy {
    Policy::new(Access::Keyed(secret().into()))
}

fn reflector(policy: Policy) -> Reflector {
    Reflector::new(policy, [7; 32])
}

/// A reflector and a buffer, asked as a client does.
struct Bench {
    reflector: Reflector,
    key: Option<Key>,
    now: Now,
    from: SocketAddr,
    arrival: Arrival,
    last: Option<Reply>,
    /// Of the last Collect.
    nonce: u64,
}

impl Bench {
    fn new(policy: Policy) -> Self {
        Self {
            key: policy.key().cloned(),
            reflector: reflector(policy),
            now: at(SECOND),
            from: client(),
            arrival: arrival(),
            last: None,
            nonce: 4,
        }
    }

    fn datagram(&mut self, port: Port, packet: &[u8]) -> Result<Vec<u8>, Verdict> {
        let mut reply = vec![0xee; packet.len()];
        let verdict =
            self.reflector
                .datagram(self.now, self.from, port, &self.arrival, packet, &mut reply);
        match verdict {
            Verdict::Reply(sent) => {
                assert!(sent.len <= packet.len());
                self.last = Some(sent);
                reply.truncate(sent.len);
                Ok(reply)
            }
            other => Err(other),
        }
    }

    fn echo(&mut self, packet: &[u8]) -> Result<Vec<u8>, Verdict> {
        self.datagram(Port::Echo, packet)
    }

    fn control_keys(&self, transport: Transport) -> Option<KeyPair> {
        let key = self.key.as_ref()?;
        Some(KeyPair::control(key, transport))
    }

    /// Sends a control packet over udp and reads the answer, with the client's key.
    fn ask(&mut self, control: &Control) -> Result<Control, Verdict> {
        let keys = self.control_keys(Transport::Udp);
        let mut packet = [0; SIZE];
        let key = keys.as_ref().map(|pair| &pair.request);
        control.emit(key, &mut packet).unwrap();
        let reply = self.echo(&packet)?;
        let key = keys.as_ref().map(|pair| &pair.reply);
        Ok(Control::parse(key, &reply).unwrap())
    }

    /// Hello, and Hello again with the challenge's cookie.
    fn hello(&mut self, mut hello: Hello) -> Control {
        match self.ask(&Control::Hello(hello)).unwrap() {
            Control::Challenge(challenge) => {
                assert_eq!(challenge.nonce, hello.nonce);
                hello.cookie = challenge.cookie;
                self.ask(&Control::Hello(hello)).unwrap()
            }
            other => panic!("no challenge but {other:?}"),
        }
    }

    fn session(&mut self, mode: Mode) -> Session {
        let hello = hello(mode, 100);
        match self.hello(hello) {
            Control::Accept(accept) => Session {
                keys: self
                    .key
                    .as_ref()
                    .map(|key| accept.keys(key, Transport::Udp)),
                accept,
            },
            other => panic!("not accepted but {other:?}"),
        }
    }

    fn refusal(&mut self, hello: Hello) -> Refuse {
        match self.hello(hello) {
            Control::Refuse(refuse) => refuse,
            other => panic!("not refused but {other:?}"),
        }
    }

    fn collect(&mut self, token: u32) -> Collected {
        self.nonce += 1;
        let nonce = self.nonce;
        match self.ask(&Control::Collect { token, nonce }).unwrap() {
            Control::Collected(collected) => collected,
            other => panic!("not collected but {other:?}"),
        }
    }

    /// Tells that the last reply left.
    fn transmitted(&mut self, r_tx: Nanos) {
        let stamp = self.last.unwrap().stamp.unwrap();
        self.reflector.transmitted(stamp, r_tx);
    }

    fn drops(&self, reason: DropReason) -> u64 {
        let status = self.reflector.status();
        status.drops.get(reason.name()).copied().unwrap_or(0)
    }
}

fn hello(mode: Mode, payload: u32) -> Hello {
    Hello {
        nonce: 0x0123_4567_89ab_cdef,
        mode,
        payload,
        cookie: [0; control::COOKIE],
    }
}

/// A session as its client sees it.
struct Session {
    accept: Accept,
    keys: Option<KeyPair>,
}

impl Session {
    fn packet(&self, seq: u32, len: usize) -> Vec<u8> {
        let mut packet: Vec<u8> = (0..len).map(|index| index as u8).collect();
        let header = Header {
            token: self.accept.token,
            seq,
        };
        header.emit(&mut packet).unwrap();
        if let Some(keys) = &self.keys {
            keys.request.seal(&mut packet);
        }
        packet
    }

    fn is_sealed(&self, reply: &[u8]) -> bool {
        self.keys
            .as_ref()
            .is_none_or(|keys| keys.reply.is_sealed(reply))
    }
}

fn dropped<T>(reason: DropReason) -> Result<T, Verdict> {
    Err(Verdict::Drop(reason))
}
