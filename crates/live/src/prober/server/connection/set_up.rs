//! How a connection comes about: the TCP handshake, TLS, and what was negotiated. From then on requests are asked on it.

use super::{Connection, READ, State, Terms, Went};
use crate::connections::is_nothing;
use crate::prober::open;
use crate::prober::server::dialogue::Dialogue;
use crate::prober::server::failure::{Failed, NO_TLS, errno, refused_by_tls, refused_on_the_way};
use crate::prober::server::tls::Secured;
use delaylab_kernel::clock;
use delaylab_kernel::datagram::Blocking;
use delaylab_kernel::socket_options as options;
use delaylab_model::record::Answer;
use delaylab_model::trial::Negotiated;
use delaylab_model::{MICROSECOND, Nanos};
use delaylab_traffic::prober::{FromServer, Reply};
use std::io;
use std::os::fd::AsFd;

impl Connection {
    pub(super) fn connected(&mut self, terms: &Terms) -> Result<Went, Failed> {
        let error = match self.at_once.take() {
            Some(error) => Some(error),
            None => self.socket.stream().take_error().ok().flatten(),
        };
        let now = clock::monotonic();
        if let Some(error) = error {
            return self.not_connected(&error, now, terms);
        }
        if self.socket.stream().peer_addr().is_err() {
            return Ok(Went::Nowhere);
        }
        // Later a passing ICMP error would end the connection.
        let _ = options::receive_errors(&self.socket, self.target.is_ipv6(), false);
        if matches!(terms.dialogue, Dialogue::Connect) {
            return Ok(Went::Replied(self.handshake(Answer::Open, now)));
        }
        self.set_up.t_connected = Some(self.handshake_ended(now).0);
        match &terms.tls {
            None => self.ready(terms),
            Some(tls) => {
                let mut secured = tls.begin().map_err(|error| Failed::from_error(&error))?;
                secured.pour(&mut self.out);
                self.tls = Some(secured);
                self.state = State::Securing;
                self.flush().map_err(|error| Failed::from_error(&error))?;
                Ok(Went::On)
            }
        }
    }

    /// A port where nothing listens answers as well: with RST.
    fn not_connected(
        &mut self,
        error: &io::Error,
        now: Nanos,
        terms: &Terms,
    ) -> Result<Went, Failed> {
        let mut failed = Failed::from_error(error);
        let icmp = open::refusal(&self.socket.as_fd()).filter(|refused| refused.icmp.is_some());
        if let Some(refused) = icmp {
            failed.refused = refused;
            if let Some(why) = refused_on_the_way(&refused, self.target.ip()) {
                failed.why = why;
            }
        } else if error.kind() == io::ErrorKind::ConnectionRefused {
            if matches!(terms.dialogue, Dialogue::Connect) {
                return Ok(Went::Replied(self.handshake(Answer::Closed, now)));
            }
            failed.refused.by = Some(self.target.ip());
            failed.why = "nothing listens on this TCP port".to_owned();
        }
        Err(failed)
    }

    /// When the SYN-ACK came, and how long after its SYN: the first round trip of a connection is its handshake's. That
    /// this process learns of it later is no part of it.
    fn handshake_ended(&mut self, now: Nanos) -> (Nanos, Option<Nanos>) {
        let info = self.socket.info().ok();
        self.syn_again = info.is_some_and(|info| info.total_retransmits > 0);
        let rtt = info.map(|info| Nanos::from(info.smoothed_rtt_us) * MICROSECOND);
        let rtt = rtt.filter(|&rtt| rtt > 0);
        // Where a SYN was lost the round trip is that of the last one, and when that left is not known.
        let from_first = rtt.filter(|_| !self.syn_again);
        if let Some(rtt) = from_first {
            self.shortest.note(rtt);
        }
        let from = self.set_up.t_resolved.unwrap_or(self.began).max(self.began);
        (from_first.map_or(now, |rtt| (from + rtt).min(now)), rtt)
    }

    /// That the handshake is over is the answer.
    fn handshake(&mut self, answer: Answer, now: Nanos) -> Reply {
        self.state = State::Over;
        let info = self.socket.info().ok();
        // Of a refusal the kernel keeps no round trip.
        let (ended, rtt) = match answer {
            Answer::Open => self.handshake_ended(now),
            _ => (now, None),
        };
        let server = FromServer {
            t_connected: Some(ended),
            least_round_trip: rtt,
            answer: Some(answer),
            connection: Some(self.number),
            ..FromServer::default()
        };
        Reply {
            seq: self.seq.take().unwrap_or(0),
            retransmits: info.map(|info| info.total_retransmits),
            server: Some(Box::new(server)),
            ..Reply::default()
        }
    }

    fn ready(&mut self, terms: &Terms) -> Result<Went, Failed> {
        let chosen = self.tls.as_ref().and_then(Secured::chosen);
        self.conversation = terms.dialogue.begin(chosen).map_err(Failed::broken)?;
        let http = self.conversation.http_version();
        self.negotiated = negotiated(http, self.tls.as_ref());
        // By TLS a server of HTTP/2 may speak first (RFC 9113 §3.4).
        if !self.conversation.take_unasked(&self.plain) {
            return Err(Failed::garbled("the server spoke before it was asked"));
        }
        self.state = State::Idle;
        // The last words of the handshake of TLS are under way.
        let before = self.socket.set_stamping_behind_others(terms.flags);
        self.stamps.restart(before.unwrap_or(0));
        let Some(seq) = self.seq else {
            self.set_up = FromServer::default();
            return Ok(Went::Ready);
        };
        self.prepare(seq)
            .map_err(|error| Failed::from_error(&error))?;
        self.set_up.t_send = Some(clock::monotonic());
        self.ask(seq).map_err(|error| Failed::from_error(&error))?;
        Ok(Went::On)
    }

    pub(super) fn secure(
        &mut self,
        terms: &Terms,
        buffer: &mut [u8; READ],
    ) -> Result<Went, Failed> {
        self.flush().map_err(|error| Failed::from_error(&error))?;
        let received = match self.socket.receive(buffer, Blocking::No) {
            Ok((0, _)) => return Err(Failed::new(errno::RESET, NO_TLS)),
            Ok((length, _)) => length,
            Err(error) if is_nothing(&error) => return Ok(Went::Nowhere),
            Err(error) => return Err(Failed::from_error(&error)),
        };
        let Some(tls) = &mut self.tls else {
            return Ok(Went::Nowhere);
        };
        let taken = tls.take(&buffer[..received], &mut self.plain);
        tls.pour(&mut self.out);
        let handshaking = tls.is_handshaking();
        // An alert says to the server why, too.
        let flushed = self.flush();
        taken.map_err(|error| Failed::new(errno::PROTOCOL, refused_by_tls(&error)))?;
        flushed.map_err(|error| Failed::from_error(&error))?;
        match handshaking {
            true => Ok(Went::On),
            false => {
                self.set_up.t_secured = Some(clock::monotonic());
                self.ready(terms)
            }
        }
    }
}

/// `None`: there is nothing to negotiate, as in DNS by TCP.
fn negotiated(http: Option<&str>, tls: Option<&Secured>) -> Option<Negotiated> {
    let http = http.map(str::to_owned);
    match tls {
        Some(tls) => Some(Negotiated {
            http,
            ..tls.negotiated()
        }),
        None => http.map(|http| Negotiated {
            http: Some(http),
            ..Negotiated::default()
        }),
    }
}
