//! Load that a prober fetches: it goes over a tcp connection that the prober made, so to nobody who does not receive
//! at his address; with a key, to nobody who has not shown that he has it; never faster than the limits.

use super::{LoadRef, LoadSink, Taken};
use crate::reflector::Now;
use delaylab_wire::auth::Transport;
use delaylab_wire::control::{Control, Fetch, Fetched, Name, Reason, Refuse, Sender};

/// How load is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// No faster than so many bits a second.
    pub rate: Option<u64>,
    /// The traffic class of its packets.
    pub traffic_class: u8,
    /// The congestion control; `None`: as the connection has it.
    pub congestion_control: Option<Name>,
}

impl LoadSink {
    /// A control packet came on the connection that opened the session: does it ask for load? Says how long the
    /// answer is; `None`: it is another packet, or asks for what is never given. `choose` says which congestion
    /// control this host would use if asked for that one; `None`: it has not that one.
    pub fn fetch(
        &mut self,
        now: Now,
        session: LoadRef,
        packet: &[u8],
        reply: &mut [u8],
        choose: impl FnOnce(Option<&Name>) -> Option<Name>,
    ) -> Option<usize> {
        let LoadRef(token) = session;
        let policy = &self.policy;
        let session = self.sessions.get_mut(token)?;
        let fetch = match Control::parse(session.key(), packet) {
            Ok(Control::Fetch(fetch)) if fetch.token == token => fetch,
            _ => return None,
        };
        let wanted = session.proven && !session.attached && session.transport == Transport::Tcp;
        if !wanted || !session.is_alive(now, policy) {
            return None;
        }
        session.last = now.mono;
        let answer = match chosen(policy.sends_load, &fetch, choose) {
            Err(text) => Control::Refuse(Refuse {
                nonce: 0,
                reason: Reason::NoLoad,
                text,
            }),
            Ok(congestion_control) => {
                session.sends = Some(Sending {
                    rate: (fetch.rate > 0).then_some(fetch.rate),
                    // As with replies to STAMP: whether others choose the class of what is sent.
                    traffic_class: if policy.class_of_service {
                        fetch.traffic_class
                    } else {
                        0
                    },
                    congestion_control: congestion_control.clone(),
                });
                Control::Fetched(Fetched {
                    token,
                    congestion_control,
                })
            }
        };
        let key = session.keys.as_ref().map(|pair| &pair.reply);
        answer.emit(key, reply).ok()
    }

    /// The second control packet came on a connection of [`super::LoadOpening::Send`]: is it time to send?
    pub fn begins(&mut self, now: Now, session: LoadRef, packet: &[u8]) -> bool {
        let LoadRef(token) = session;
        let session = self.sessions.get_mut(token);
        let Some(session) = session.filter(|session| session.is_alive(now, &self.policy)) else {
            return false;
        };
        session.last = now.mono;
        Control::parse(session.key(), packet) == Ok(Control::Begin { token })
    }

    /// So many bytes of a session's load were handed to the kernel, which says this of the connection and that so
    /// many have been acknowledged. [`Taken::More`]: send more.
    pub fn sent(
        &mut self,
        now: Now,
        session: LoadRef,
        length: usize,
        acknowledged: u64,
        sender: Sender,
    ) -> Taken {
        let session = self.sessions.get_mut(session.0);
        let Some(session) = session.filter(|session| session.is_alive(now, &self.policy)) else {
            return Taken::Close;
        };
        // A peer that takes nothing is idle.
        if acknowledged > session.counts.bytes {
            session.last = now.mono;
        }
        session.counts.bytes = acknowledged;
        session.counts.sender = sender;
        session.paced(self.sent.owe(now.mono, session.peer, length))
    }
}

/// The congestion control that will be used, or why nothing is sent.
fn chosen(
    sends: bool,
    fetch: &Fetch,
    choose: impl FnOnce(Option<&Name>) -> Option<Name>,
) -> Result<Option<Name>, String> {
    if !sends {
        let why = "it takes load and sends none: it was started with --accept-load=up";
        return Err(why.to_owned());
    }
    let asked = fetch.congestion_control.as_ref();
    let chosen = choose(asked);
    match asked {
        Some(name) if chosen.is_none() => Err(format!(
            "its kernel does not let it use `{}`: name another, or add it to \
             net.ipv4.tcp_allowed_congestion_control there",
            name.as_str()
        )),
        _ => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::PAUSE;
    use super::super::tests::{at, count, here, key, open, packet, sink};
    use super::*;
    use crate::reflector::load::LoadOpening;
    use crate::reflector::{Access, Policy};
    use delaylab_model::SECOND;
    use delaylab_wire::auth::{Key, KeyPair};
    use delaylab_wire::control::{LoadHello, SIZE};

    const SEEN: Sender = Sender {
        smoothed_rtt_us: 20_000,
        congestion_window: 14_480,
        retransmits: 1,
    };

    fn hello(transport: Transport) -> Control {
        Control::LoadHello(LoadHello {
            nonce: 3,
            transport,
            window: 0,
        })
    }

    fn asked(token: u32) -> Control {
        Control::Fetch(Fetch {
            token,
            rate: 1_000_000,
            traffic_class: 0xb8,
            congestion_control: Name::new("reno"),
        })
    }

    fn open_to_this_host() -> Policy {
        Policy::new(Access::Open { allow: Vec::new() })
    }

    /// Asks on the control connection; the answer, if there is one.
    fn fetch(
        sink: &mut LoadSink,
        session: LoadRef,
        asked: &Control,
        keys: Option<&KeyPair>,
    ) -> Option<Control> {
        let bytes = packet(asked.clone(), keys.map(|pair| &pair.request));
        let mut reply = [0; SIZE];
        let length = sink.fetch(at(0), session, &bytes, &mut reply, |name| {
            name.filter(|name| name.as_str() == "reno").cloned()
        })?;
        assert_eq!(length, SIZE);
        Some(Control::parse(keys.map(|pair| &pair.reply), &reply).unwrap())
    }

    /// A session whose first question has been answered.
    fn proven(sink: &mut LoadSink, secret: Option<&Key>) -> (LoadRef, u32, Option<KeyPair>) {
        let (session, accept) = open(sink, hello(Transport::Tcp), secret);
        let keys = secret.map(|key| accept.keys(key, Transport::Tcp));
        count(sink, session, accept.token, keys.as_ref()).unwrap();
        (session, accept.token, keys)
    }

    fn attach(sink: &mut LoadSink, token: u32, key: Option<&Key>) -> LoadOpening {
        let bytes = packet(Control::Attach { token }, key);
        sink.open(at(0), here(), &bytes, None, &mut [0; SIZE])
    }

    #[test]
    fn what_was_asked_for_is_sent_and_counted() {
        let mut sink = sink(Access::Keyed(key().into()));
        let (session, token, keys) = proven(&mut sink, Some(&key()));
        let keys = keys.unwrap();
        let answer = fetch(&mut sink, session, &asked(token), Some(&keys));
        let fetched = Fetched {
            token,
            congestion_control: Name::new("reno"),
        };
        assert_eq!(answer, Some(Control::Fetched(fetched)));
        assert_eq!(attach(&mut sink, token, None), LoadOpening::Close);
        let sending = Sending {
            rate: Some(1_000_000),
            traffic_class: 0xb8,
            congestion_control: Name::new("reno"),
        };
        let opening = attach(&mut sink, token, Some(&keys.request));
        assert_eq!(opening, LoadOpening::Send(session, sending));
        let begin = packet(Control::Begin { token }, Some(&keys.request));
        for wrong in [
            packet(Control::Begin { token }, None),
            packet(Control::Begin { token: token ^ 1 }, Some(&keys.request)),
            packet(Control::Attach { token }, Some(&keys.request)),
        ] {
            assert!(!sink.begins(at(0), session, &wrong));
        }
        assert!(sink.begins(at(0), session, &begin));
        assert_eq!(sink.sent(at(0), session, 9000, 5000, SEEN), Taken::More);
        let counted = count(&mut sink, session, token, Some(&keys)).unwrap();
        assert_eq!((counted.bytes, counted.sender), (5000, SEEN));
        sink.closed(session);
        assert_eq!(sink.sent(at(0), session, 1, 1, SEEN), Taken::Close);
    }

    #[test]
    fn nothing_is_sent_to_who_has_shown_nothing() {
        let mut keyed = sink(Access::Keyed(key().into()));
        let (session, accept) = open(&mut keyed, hello(Transport::Tcp), Some(&key()));
        let keys = accept.keys(&key(), Transport::Tcp);
        // Not before the first question, and never without the session's own key.
        assert_eq!(
            fetch(&mut keyed, session, &asked(accept.token), Some(&keys)),
            None
        );
        count(&mut keyed, session, accept.token, Some(&keys)).unwrap();
        let plain = packet(asked(accept.token), None);
        let answer = keyed.fetch(at(0), session, &plain, &mut [0; SIZE], |name| name.cloned());
        assert_eq!(answer, None);
        // Nor over udp, where an address may be forged, nor for another's session.
        let mut open_sink = LoadSink::new(open_to_this_host(), [5; 32]);
        let (udp, accept) = open(&mut open_sink, hello(Transport::Udp), None);
        count(&mut open_sink, udp, accept.token, None).unwrap();
        assert_eq!(fetch(&mut open_sink, udp, &asked(accept.token), None), None);
        let (tcp, token, _) = proven(&mut open_sink, None);
        assert_eq!(fetch(&mut open_sink, tcp, &asked(token ^ 1), None), None);
    }

    #[test]
    fn who_sends_none_says_so_and_so_does_a_kernel() {
        let mut policy = open_to_this_host();
        policy.sends_load = false;
        let mut none = LoadSink::new(policy, [5; 32]);
        let mut some = LoadSink::new(open_to_this_host(), [5; 32]);
        for (sink, name, word) in [(&mut none, "reno", "=up"), (&mut some, "bbr", "`bbr`")] {
            let (session, token, _) = proven(sink, None);
            let asked = Control::Fetch(Fetch {
                token,
                rate: 0,
                traffic_class: 0,
                congestion_control: Name::new(name),
            });
            match fetch(sink, session, &asked, None) {
                Some(Control::Refuse(refuse)) => {
                    assert_eq!(refuse.reason, Reason::NoLoad);
                    assert!(refuse.text.contains(word), "{}", refuse.text);
                }
                other => panic!("{other:?}"),
            }
            // Then the connection of its data is one that is taken.
            assert!(matches!(attach(sink, token, None), LoadOpening::Data(..)));
        }
    }

    #[test]
    fn it_is_sent_within_the_limits_and_not_for_ever() {
        let mut policy = open_to_this_host();
        policy.limits.loopback = true;
        policy.limits.each.bytes = 1000;
        policy.limits.total.bytes = 1_000_000;
        policy.max_duration = 10 * SECOND;
        policy.max_idle = 3 * SECOND;
        policy.class_of_service = false;
        let mut sink = LoadSink::new(policy.clone(), [5; 32]);
        let (session, token, _) = proven(&mut sink, None);
        fetch(&mut sink, session, &asked(token), None).unwrap();
        let opening = attach(&mut sink, token, None);
        assert!(matches!(opening, LoadOpening::Send(_, sending) if sending.traffic_class == 0));
        // Two seconds' worth, where the bucket holds one.
        let waits = Taken::Wait(PAUSE);
        assert_eq!(sink.sent(at(0), session, 2000, 1, SEEN), waits);
        assert_eq!(sink.sent(at(SECOND / 2), session, 0, 2, SEEN), waits);
        assert_eq!(sink.sent(at(2 * SECOND), session, 0, 3, SEEN), Taken::More);
        // What is taken is counted apart from what is sent.
        assert_eq!(sink.bytes(at(2 * SECOND), session, 500), Taken::More);
        // A peer that acknowledges nothing is forgotten, and every session ends.
        assert_eq!(
            sink.sent(at(4 * SECOND), session, 0, 600, SEEN),
            Taken::More
        );
        assert_eq!(
            sink.sent(at(8 * SECOND), session, 0, 600, SEEN),
            Taken::Close
        );
        policy.limits.loopback = false;
        let mut sink = LoadSink::new(policy, [5; 32]);
        let (session, _, _) = proven(&mut sink, None);
        for second in 0..=10 {
            let acknowledged = second as u64 + 1;
            let sent = sink.sent(at(second * SECOND), session, 0, acknowledged, SEEN);
            assert_eq!(sent, Taken::More, "{second}");
        }
        assert_eq!(
            sink.sent(at(11 * SECOND), session, 0, 99, SEEN),
            Taken::Close
        );
    }
}
