//! Exchanges of which everything is known, and what their stamps tell of them.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::SECOND;

/// When the far kernel acknowledges the request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Acknowledged {
    AtOnce,
    /// After so long, or with a reply that comes before.
    After(Nanos),
    /// With the reply; so it looks as well where the acknowledgement itself was lost.
    WithReply,
}

/// What really happens.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// The way there and the way back.
    out: Nanos,
    back: Nanos,
    /// From the request's last byte there to the reply's first.
    server: Nanos,
    acknowledged: Acknowledged,
    /// The request was lost, and sent again so much later.
    again: Option<Nanos>,
    /// What the kernel saw the handshake take.
    handshake: Nanos,
}

/// From the send call to the driver.
const OWN: Nanos = 10 * MICROSECOND;
/// From the stamp of an arrival to where TCP has it.
const STACK: Nanos = 3 * MICROSECOND;

impl Exchange {
    fn new(out: Nanos, back: Nanos, server: Nanos, acknowledged: Acknowledged) -> Self {
        Self {
            out,
            back,
            server,
            acknowledged,
            again: None,
            handshake: out + back + OWN + STACK,
        }
    }

    fn record(&self) -> Record {
        let mut record = Record::due(0, 0, 0, Method::Http, 0);
        let t_tx = OWN;
        let there = t_tx + self.again.unwrap_or(0) + self.out;
        let t_first = there + self.server + self.back;
        // The stamp of an acknowledgement is made by TCP, behind that of the packet that it is in.
        let t_ack = STACK
            + match self.acknowledged {
                Acknowledged::AtOnce => there + self.back,
                Acknowledged::After(wait) => there + wait.min(self.server) + self.back,
                Acknowledged::WithReply => t_first,
            };
        // Of a segment that was sent twice no round trip is known (Karn).
        let sample = self.again.is_none().then_some(t_ack);
        record.t_send = Some(0);
        record.t_tx = Some(t_tx);
        record.t_ack = Some(t_ack);
        record.t_first = Some(t_first);
        record.least_round_trip = sample.into_iter().chain([self.handshake]).min();
        record
    }

    /// The bounds hold the server's time, and one value is no more off than 50 µs or 5 %; nor is what is left for the
    /// network.
    fn assert_is_seen(&self) {
        let record = self.record();
        let bounds = record.server().unwrap();
        let holds = bounds.least <= self.server && self.server <= bounds.most + STACK;
        assert!(holds, "{self:?}: {bounds:?}");
        if let Some(told) = record.server_told() {
            let close = |seen: Nanos, true_ns: Nanos| {
                (seen - true_ns).abs() <= SHARP.max(true_ns / SHARP_PART)
            };
            let network = record.t_first.unwrap() - record.t_tx.unwrap() - told;
            let path = self.out + self.back + self.again.unwrap_or(0);
            assert!(
                close(told, self.server) && close(network, path),
                "{self:?}: {told}"
            );
        }
    }
}

fn exchanges() -> impl Iterator<Item = Exchange> {
    const MS: Nanos = MILLISECOND;
    let ways = [0, MS, 5 * MS, 20 * MS];
    let times = [0, MS, 20 * MS, 200 * MS, 2 * SECOND];
    let acknowledged = [
        Acknowledged::AtOnce,
        Acknowledged::After(40 * MS),
        Acknowledged::WithReply,
    ];
    ways.into_iter().flat_map(move |out| {
        ways.into_iter().flat_map(move |back| {
            times.into_iter().flat_map(move |server| {
                let all = acknowledged.into_iter();
                all.map(move |acknowledged| Exchange::new(out, back, server, acknowledged))
            })
        })
    })
}

#[test]
fn planted_delays_are_seen_or_held() {
    let mut told = 0;
    for exchange in exchanges() {
        exchange.assert_is_seen();
        let at_once = exchange.acknowledged == Acknowledged::AtOnce;
        let is_told = exchange.record().server_told().is_some();
        assert!(is_told || !at_once, "{exchange:?}");
        told += u32::from(is_told);
    }
    // Those at once; of the others those of a server that takes nothing.
    assert!(told >= 80, "{told}");
}

/// The request is sent again by a time-out, or by the probe of a tail.
#[test]
fn a_request_that_was_lost_is_the_networks_or_within_the_bounds() {
    for exchange in exchanges() {
        for again in [3 * MILLISECOND, 205 * MILLISECOND] {
            let again = Some(again);
            Exchange { again, ..exchange }.assert_is_seen();
        }
    }
}

/// A handshake that took longer than the whole exchange bounds nothing, where the request was sent twice and told no round trip.
#[test]
fn a_handshake_that_was_held_up_does_not_bound_a_shorter_exchange() {
    for exchange in exchanges().filter(|exchange| exchange.acknowledged == Acknowledged::WithReply)
    {
        let held_up = Exchange {
            again: Some(3 * MILLISECOND),
            handshake: 5 * SECOND,
            ..exchange
        };
        held_up.assert_is_seen();
        assert_eq!(held_up.record().server_told(), None, "{held_up:?}");
    }
}

/// A request that arrived, and was sent again all the same: its acknowledgement was late, or lost.
#[test]
fn a_request_that_was_sent_again_for_nothing_changes_nothing() {
    for exchange in exchanges() {
        let mut record = exchange.record();
        record.retransmits = Some(1);
        record.least_round_trip = Some(exchange.handshake);
        let bounds = record.server().unwrap();
        let holds = bounds.least <= exchange.server && exchange.server <= bounds.most + STACK;
        assert!(holds, "{exchange:?}: {bounds:?}");
    }
}

/// What the acknowledgement was longer under way than the reply makes the server's time no longer.
#[test]
fn an_acknowledgement_that_comes_after_the_reply_tells_nothing() {
    let mut record = Exchange::new(
        MILLISECOND,
        MILLISECOND,
        5 * MILLISECOND,
        Acknowledged::AtOnce,
    )
    .record();
    record.t_ack = record.t_first.map(|t_first| t_first + MILLISECOND);
    let bounds = record.server().unwrap();
    assert_eq!(bounds.least, 0);
    assert!(bounds.most >= 5 * MILLISECOND - STACK);
    assert_eq!(record.server_told(), None);
}

#[test]
fn an_answer_is_read_back_as_it_is_written() {
    for (answer, written) in [
        (Answer::Open, "open"),
        (Answer::Closed, "closed"),
        (Answer::Status(404), "404"),
        (Answer::Code(3), "NXDOMAIN"),
        (Answer::Code(9), "RCODE9"),
        (Answer::Truncated(0), "NOERROR+TC"),
        (Answer::Truncated(4095), "RCODE4095+TC"),
    ] {
        assert_eq!(answer.to_string(), written);
        assert_eq!(written.parse(), Ok(answer));
    }
    for wrong in ["", "+TC", "404+TC", "open+TC", "NOERROR+TC+TC", "RCODE"] {
        assert!(wrong.parse::<Answer>().is_err(), "{wrong}");
    }
}
