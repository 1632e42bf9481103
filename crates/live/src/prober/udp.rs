//! UDP echo: `delaylab reflect`, or any RFC 862 server.

use super::channel::{FinalReport, FollowUp, KeptFor, ReflectorTime, follow_ups};
use super::datagram::{DatagramChannel, Format, FromReflector, Parsed};
use super::error::OpenError;
use super::exchange::exchange;
use super::least_payload::too_short;
use super::open::{self, Settings};
use super::session::{self, Frame, Next, PATIENCE, Session, SetUp};
use super::socket::ProbeSocket;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::DatagramSocket;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::probe::StampRequest;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::prober::sequence::{widen, widen_near};
use delaylab_wire::auth::Transport;
use delaylab_wire::control::{COOKIE, Collected, Control, Hello, RESERVED_TOKEN, SIZE};
use delaylab_wire::echo::{HEADER, Header, Mode, STAMPS_END, Stamps, smallest};

/// How long the reflector's last words are waited for before it is asked again. Without an answer it is asked so often: on a
/// path that loses packets, one is easily lost.
const COLLECT_FOR: [Nanos; 3] = [200 * MILLISECOND; 3];
/// Rounds of asking: each brings up to 16 stamps.
const COLLECT_ROUNDS: usize = 8;

/// This number of first Hellos is answered, and of questions for the session is not, before it is taken to be forgotten.
const FORGOTTEN_AFTER: usize = 3;

/// Opens a socket and sets a session up: stamped where stamps are wanted and the payload has room.
pub fn open(settings: &Settings<'_>) -> Result<DatagramChannel<Echo>, OpenError> {
    let payload = settings.probe().payload as usize;
    let with_key = settings.key.is_some();
    if let Some(reason) = too_short(Method::Udp, settings.probe().payload, with_key) {
        return Err(OpenError::setting("payload", reason));
    }
    let room_for_stamps = payload >= smallest(Mode::Stamped, with_key);
    let wanted = settings.probe().stamps != StampRequest::None;
    let mode = if room_for_stamps && wanted {
        Mode::Stamped
    } else {
        Mode::Plain
    };
    let socket = open::udp_socket(settings)?;
    let set_up = SetUp::new(Transport::Udp, settings, mode, settings.probe().payload)?;
    let format = Echo::from(agree(&socket, set_up, settings)?);
    // Shows the reflector that we have the key: the first data packet may come late, or not at all.
    if with_key {
        let _ = format.collect(&socket, &COLLECT_FOR, 1);
    }
    let packet = settings.filled(payload);
    DatagramChannel::open(settings, socket, format, packet)
}

fn agree(
    socket: &DatagramSocket,
    mut set_up: SetUp,
    settings: &Settings<'_>,
) -> Result<Session, OpenError> {
    let target = settings.target;
    let since = clock::monotonic();
    let (mut silences, mut challenges) = (0, 0);
    // A challenge is an answer; but a server that only ever challenges must not keep us.
    while let Some(&patience) = PATIENCE.get(silences)
        && challenges < PATIENCE.len()
        && !settings.stop.is_asked()
    {
        let hello = set_up.hello();
        let mut buffer = [0; SIZE + 1];
        let answer = exchange(socket, &hello, &mut buffer, patience, |packet| match set_up
            .answer(&hello, packet)
        {
            Next::Unrelated => None,
            next => Some(next),
        });
        match answer.map_err(|source| open::no_exchange(settings, socket, source))? {
            None | Some(Next::Unrelated) => silences += 1,
            Some(Next::Again) => challenges += 1,
            Some(Next::Agreed(session)) => return Ok(*session),
            Some(Next::PlainEcho) if settings.key.is_some() => {
                return Err(OpenError::PlainEchoWithKey { target });
            }
            Some(Next::PlainEcho) => return Ok(Session::plain(plain_token(settings)?)),
            Some(Next::Refused(text)) => return Err(OpenError::Refused { target, text }),
        }
    }
    Err(session::no_answer(settings, since))
}

/// Tells our packets from an earlier run's, and is no session's.
fn plain_token(settings: &Settings<'_>) -> Result<u32, OpenError> {
    let token = session::nonce().map_err(settings.failed("random numbers"))? as u32;
    Ok(if token == RESERVED_TOKEN { 1 } else { token })
}

/// Data packets of a session.
#[derive(Debug)]
pub struct Echo {
    session: Session,
    /// The nonce of the question in the midst of the data that is not answered yet; 0: none is.
    asked: u64,
}

impl From<Session> for Echo {
    fn from(session: Session) -> Self {
        Self { session, asked: 0 }
    }
}

impl Echo {
    /// A format that knows no socket, for [`super::any_bytes`].
    pub(super) fn of_nobody(mode: Mode) -> Self {
        Self::from(Session {
            mode,
            ..Session::plain(0x6465_6c61)
        })
    }

    /// The reflector keeps the session; or a Hello that was sent again because its answer took long is answered again,
    /// in the middle of the data.
    fn control_packet(&mut self, packet: &[u8], last: u64) -> Parsed {
        match Control::parse(self.session.reply_key(), packet) {
            Ok(Control::Collected(collected))
                if self.asked != 0
                    && session::answers(&collected, self.session.token, &[self.asked]) =>
            {
                self.asked = 0;
                Parsed::Told(follow_ups(&collected, last).collect())
            }
            Ok(_) => Parsed::Ignored,
            Err(_) => Parsed::Rejected,
        }
    }

    const fn header_end(&self) -> usize {
        match self.session.mode {
            Mode::Plain => HEADER,
            Mode::Stamped => STAMPS_END,
        }
    }
}

/// What our own replies say, over udp and tcp: nothing without stamps.
pub(super) fn what_it_says(
    session: &mut Session,
    stamps: Option<Stamps>,
    last: u64,
) -> (FromReflector, Option<FollowUp>) {
    session.clock_steps = stamps.map(|stamps| stamps.clock_steps);
    let Some(stamps) = stamps else {
        return (FromReflector::default(), None);
    };
    let dscp = stamps
        .traffic_class
        .map(|byte| Dscp::from_traffic_class(byte).0.code_point());
    let reflector = FromReflector {
        r_rx: stamps.r_rx,
        r_user: Some(stamps.r_user),
        r_dscp: dscp,
        reflector_seq: Some(stamps.reflector_seq),
        ..FromReflector::default()
    };
    let follow_up = stamps.follow_up.map(|follow_up| FollowUp {
        seq: widen_near(last, follow_up.seq),
        r_tx: follow_up.r_tx,
    });
    (reflector, follow_up)
}

impl Format for Echo {
    #[inline]
    fn emit(&mut self, seq: u64, packet: &mut [u8]) {
        let header = Header {
            token: self.session.token,
            seq: seq as u32,
        };
        // `open` has seen to it that the header fits.
        let _ = header.emit(packet);
        if let Some(keys) = &mut self.session.keys {
            keys.pair(seq).request.seal(packet);
        }
    }

    #[inline]
    fn parse(&mut self, packet: &[u8], sent: &[u8], last: u64) -> Parsed {
        let Ok(header) = Header::parse(packet) else {
            return Parsed::Rejected;
        };
        if header.token != self.session.token {
            return match header.token {
                RESERVED_TOKEN => self.control_packet(packet, last),
                _ => Parsed::Rejected,
            };
        }
        let Some(seq) = widen(last, header.seq, 32) else {
            return Parsed::Rejected;
        };
        if let Some(keys) = &mut self.session.keys
            && !keys.pair(seq).reply.is_sealed(packet)
        {
            return Parsed::Rejected;
        }
        let (from, to) = (self.header_end(), sent.len() - self.session.tag());
        let corrupt = packet.len() != sent.len() || packet.get(from..to) != sent.get(from..to);
        let stamps = match self.session.mode {
            Mode::Plain => None,
            Mode::Stamped => Stamps::parse(packet).ok(),
        };
        let (reflector, follow_up) = what_it_says(&mut self.session, stamps, last);
        Parsed::Reply {
            seq,
            reflector,
            follow_up,
            corrupt,
        }
    }

    fn quoted(&self, quote: &[u8], last: u64) -> Option<u64> {
        let header = Header::parse(quote).ok()?;
        if header.token == self.session.token {
            widen(last, header.seq, 32)
        } else {
            None
        }
    }

    /// Control packets come in the midst of the data.
    fn longest_reply(&self, packet: usize) -> usize {
        packet.max(SIZE)
    }

    fn facts(&self) -> RecordFacts {
        self.session.facts
    }

    fn kept(&self) -> KeptFor {
        self.session.kept
    }

    fn keep_alive(&mut self) -> Option<Frame> {
        if !self.session.is_held() {
            return None;
        }
        // The same until it is answered: what a lost answer told comes again.
        if self.asked == 0 {
            self.asked = session::nonce().ok()?;
        }
        let (token, nonce) = (self.session.token, self.asked);
        Some(self.session.frame(&Control::Collect { token, nonce }))
    }

    fn reflector_time(&self) -> ReflectorTime {
        self.session.reflector_time
    }

    fn finish(
        &mut self,
        socket: &impl ProbeSocket,
        _sent: &[u8],
        last: u64,
        patience: Nanos,
    ) -> FinalReport {
        if !self.session.is_held() {
            return FinalReport::default();
        }
        // The answer to the first question may come after the last one was asked.
        let mut waits = COLLECT_FOR;
        if let Some(longest) = waits.last_mut() {
            *longest = patience.max(*longest);
        }
        let collected = self.collect(socket, &waits, COLLECT_ROUNDS);
        let is_silent = collected.is_empty();
        let forgotten = is_silent && self.is_forgotten(socket, &waits[2..]);
        let bye = Control::Bye {
            token: self.session.token,
        };
        let _ = socket.send(&self.session.frame(&bye));
        FinalReport {
            forgotten,
            answered: Some(!is_silent),
            ..FinalReport::from_collected(&collected, last, self.session.clock_steps)
        }
    }
}

impl Echo {
    /// Is the reflector there, and does not know the session? A first Hello is answered without one. Questions for the session
    /// that stay unanswered in between show that it is not the path which loses answers.
    fn is_forgotten(&self, socket: &impl ProbeSocket, waits: &[Nanos]) -> bool {
        (0..FORGOTTEN_AFTER).all(|_| {
            waits
                .iter()
                .any(|&patience| self.is_there(socket, patience))
                && self.collect(socket, waits, 1).is_empty()
        })
    }

    fn is_there(&self, socket: &impl ProbeSocket, patience: Nanos) -> bool {
        let Ok(nonce) = session::nonce() else {
            return false;
        };
        let hello = Control::Hello(Hello {
            nonce,
            mode: self.session.mode,
            payload: 0,
            cookie: [0; COOKIE],
        });
        let key = self.session.reply_key();
        let take = |packet: &[u8]| match Control::parse(key, packet) {
            Ok(Control::Challenge(challenge)) => (challenge.nonce == nonce).then_some(()),
            _ => None,
        };
        let answer = exchange(
            socket,
            &self.session.frame(&hello),
            &mut [0; SIZE + 1],
            patience,
            take,
        );
        answer.is_ok_and(|answer| answer.is_some())
    }

    /// Asks for what the reflector has to tell until it has nothing more, `rounds` times at most, or is silent for each of
    /// `waits`. An answer to any of the questions will do: with a long way there and back it comes when others were asked.
    /// Without an answer the same is asked again, so that what a lost answer told comes again.
    fn collect(&self, socket: &impl ProbeSocket, waits: &[Nanos], rounds: usize) -> Vec<Collected> {
        let token = self.session.token;
        let key = self.session.reply_key();
        let mut question = Some(self.asked).filter(|&asked| asked != 0);
        let (mut asked, mut all) = (Vec::new(), Vec::new());
        let mut waits = waits.iter();
        let mut wait = waits.next();
        while let Some(&patience) = wait
            && all.len() < rounds
            && let Some(nonce) = question.or_else(|| session::nonce().ok())
        {
            question = Some(nonce);
            asked.push(nonce);
            let frame = self.session.frame(&Control::Collect { token, nonce });
            let take = |packet: &[u8]| match Control::parse(key, packet) {
                Ok(Control::Collected(collected)) => {
                    Some(collected).filter(|collected| session::answers(collected, token, &asked))
                }
                _ => None,
            };
            match exchange(socket, &frame, &mut [0; SIZE + 1], patience, take) {
                Ok(Some(collected)) => {
                    let is_last = collected.follow_ups.is_empty();
                    all.push(collected);
                    question = None;
                    if is_last {
                        break;
                    }
                }
                _ => wait = waits.next(),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use delaylab_model::SECOND;
    use delaylab_wire::auth::{Key, KeyPair};
    use delaylab_wire::control::{Account, Challenge};
    use std::collections::VecDeque;
    use std::time::{Duration, Instant};

    fn challenge(key: Option<&Key>) -> Frame {
        let challenge = Control::Challenge(Challenge {
            nonce: 7,
            cookie: [1; COOKIE],
        });
        let mut frame = [0; SIZE];
        challenge.emit(key, &mut frame).unwrap();
        frame
    }

    /// Answers each Collect so long after it came, until one brings no follow-up: of those there are `stamps`.
    fn far_reflector(socket: &std::net::UdpSocket, delay: Duration, mut stamps: u32) {
        let (mut packet, mut due) = ([0; SIZE], VecDeque::new());
        let patience = Duration::from_millis(1);
        socket.set_read_timeout(Some(patience)).unwrap();
        loop {
            if let Ok((_, from)) = socket.recv_from(&mut packet) {
                let Ok(Control::Collect { token, nonce }) = Control::parse(None, &packet) else {
                    return;
                };
                due.push_back((Instant::now() + delay, from, token, nonce));
            }
            while due.front().is_some_and(|&(at, ..)| at <= Instant::now())
                && let Some((_, to, token, nonce)) = due.pop_front()
            {
                let follow_ups = (0..stamps.min(1)).map(|_| delaylab_wire::echo::FollowUp {
                    seq: stamps,
                    r_tx: 7,
                });
                let collected = Control::Collected(Collected {
                    token,
                    received: 40,
                    follow_ups: follow_ups.collect(),
                    account: Some(Account {
                        nonce,
                        refused: 3,
                        overflowed: 2,
                        realtime_offset: 9,
                        clock_steps: 1,
                        of_several: true,
                    }),
                });
                stamps = stamps.saturating_sub(1);
                collected.emit(None, &mut packet).unwrap();
                socket.send_to(&packet, to).unwrap();
            }
        }
    }

    #[test]
    fn last_words_from_far_away_are_heard() {
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = DatagramSocket::open(delaylab_kernel::datagram::Kind::Udp, false).unwrap();
        socket.connect(far.local_addr().unwrap()).unwrap();
        let echo = Echo::from(Session::plain(1));
        let told = std::thread::scope(|scope| {
            scope.spawn(|| far_reflector(&far, Duration::from_millis(20), 2));
            let waits = [MILLISECOND, MILLISECOND, 10_000 * MILLISECOND];
            let collected = echo.collect(&socket, &waits, COLLECT_ROUNDS);
            socket
                .send(&echo.session.frame(&Control::Bye { token: 1 }))
                .unwrap();
            FinalReport::from_collected(&collected, 50, None)
        });
        let seqs = Vec::from_iter(told.follow_ups.iter().map(|told| told.seq));
        assert_eq!((seqs, told.received), (vec![2, 1], Some(40)));
        assert_eq!(
            (told.refused, told.overflowed, told.of_several),
            (3, 2, true)
        );
        assert_eq!((told.realtime_offset, told.clock_steps), (Some(9), Some(1)));
    }

    /// A reflector that was started again answers a Hello, one that is down nothing, and one that knows the session all.
    #[test]
    fn a_session_is_forgotten_where_the_reflector_is_there_without_it() {
        let said = |answers_hello: bool, answers_collect: bool, waits: Nanos| {
            let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let socket = DatagramSocket::open(delaylab_kernel::datagram::Kind::Udp, false).unwrap();
            socket.connect(far.local_addr().unwrap()).unwrap();
            let echo = Echo::from(Session::plain(1));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut packet = [0; SIZE];
                    loop {
                        let (_, from) = far.recv_from(&mut packet).unwrap();
                        let answer = match Control::parse(None, &packet) {
                            Ok(Control::Hello(hello)) if answers_hello => {
                                let (nonce, cookie) = (hello.nonce, [1; COOKIE]);
                                Control::Challenge(Challenge { nonce, cookie })
                            }
                            Ok(Control::Collect { token, .. }) if answers_collect => {
                                Control::Collected(Collected {
                                    token,
                                    received: 0,
                                    follow_ups: Vec::new(),
                                    account: None,
                                })
                            }
                            Ok(Control::Bye { .. }) => return,
                            _ => continue,
                        };
                        answer.emit(None, &mut packet).unwrap();
                        far.send_to(&packet, from).unwrap();
                    }
                });
                let forgotten = echo.is_forgotten(&socket, &[waits]);
                let bye = echo.session.frame(&Control::Bye { token: 1 });
                socket.send(&bye).unwrap();
                forgotten
            })
        };
        // What is answered is waited for as long as it takes.
        assert!(said(true, false, SECOND));
        assert!(!said(false, false, 50 * MILLISECOND));
        assert!(!said(true, true, 10 * SECOND));
    }

    #[test]
    fn what_is_not_answered_is_asked_again_and_nothing_else() {
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = DatagramSocket::open(delaylab_kernel::datagram::Kind::Udp, false).unwrap();
        socket.connect(far.local_addr().unwrap()).unwrap();
        let echo = Echo::from(Session::plain(1));
        assert!(echo.collect(&socket, &[0; 3], COLLECT_ROUNDS).is_empty());
        let asked = [(); 3].map(|()| {
            let mut packet = [0; SIZE];
            far.recv(&mut packet).unwrap();
            Control::parse(None, &packet).unwrap()
        });
        assert!(asked.iter().all(|again| *again == asked[0]), "{asked:?}");
    }

    #[test]
    fn a_second_answer_to_a_hello_is_no_wrong_packet() {
        let sent = [0; 64];
        let mut open = Echo::from(Session::plain(1));
        let parsed = open.parse(&challenge(None), &sent, 3);
        assert!(matches!(parsed, Parsed::Ignored), "{parsed:?}");
        let mut cut = challenge(None);
        cut[8] = 0; // of no version
        assert!(matches!(open.parse(&cut, &sent, 3), Parsed::Rejected));

        let secret = Key::from_text("hex:00112233445566778899aabbccddeeff").unwrap();
        let keys = KeyPair::control(&secret, Transport::Udp);
        let sealed = challenge(Some(&keys.reply));
        let mut keyed = Echo::from(Session {
            control: Some(keys),
            ..Session::plain(1)
        });
        assert!(matches!(keyed.parse(&sealed, &sent, 3), Parsed::Ignored));
        let forged = challenge(None);
        assert!(matches!(keyed.parse(&forged, &sent, 3), Parsed::Rejected));
    }
}
