//! What a reflector writes into the TLVs of a test packet (RFC 8972 §4).

use super::Arrival;
use super::policy::Policy;
use super::stamp_session::StampSession;
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_wire::auth::Key;
use delaylab_wire::ntp::Format;
use delaylab_wire::stamp_tlv::{
    self, CLOCK_IDENTITY_LEN, ClassOfService, DirectMeasurement, FollowUpTelemetry, I, Item, M,
    Span, Stamping, SyncSource, TimestampInformation, U, kind,
};

/// What is known when the TLVs of a reply are filled.
pub(super) struct Answers<'a> {
    pub policy: &'a Policy,
    /// The key that the request is made with.
    pub key: Option<&'a Key>,
    pub arrival: &'a Arrival,
    /// `None` where the reflector is stateless.
    pub session: Option<&'a mut StampSession>,
    /// How the reply's timestamps are written.
    pub format: Format,
    pub realtime_offset: Nanos,
    /// What the reply is to carry: the request's, unless a TLV asks for another.
    pub traffic_class: Option<u8>,
}

impl Answers<'_> {
    /// Answers the TLVs of `request` in `reply`, a copy of it that has its own sequence number
    /// already. They begin at `from`. Where the HMAC TLV does not verify nothing is answered, and
    /// every TLV says so (§4.8).
    pub fn fill(&mut self, request: &[u8], reply: &mut [u8], from: usize) {
        if self
            .key
            .is_some_and(|key| !stamp_tlv::is_authentic(key, request, from))
        {
            return for_each(reply, from, |reply, span| reply[span.at] |= I);
        }
        for_each(reply, from, |reply, span| {
            reply[span.at] = self.fill_one(reply, from, span);
        });
    }

    /// Answers one TLV and says what its flags are.
    fn fill_one(&mut self, reply: &mut [u8], from: usize, span: Span) -> u8 {
        let value = &mut reply[span.value()];
        let fits = match span.kind {
            kind::EXTRA_PADDING => true,
            kind::TIMESTAMP_INFORMATION => self.timestamp_information(value),
            kind::CLASS_OF_SERVICE => self.class_of_service(value),
            kind::DIRECT_MEASUREMENT => self.direct_measurement(value),
            kind::FOLLOW_UP_TELEMETRY => self.follow_up(value),
            kind::CLOCK_IDENTITY => self.clock_identity(value),
            kind::HMAC if self.key.is_some() => self.hmac(reply, from, span),
            _ => return U,
        };
        if fits { 0 } else { M }
    }

    fn timestamp_information(&self, value: &mut [u8]) -> bool {
        let sync = if self.policy.clock.synchronised {
            SyncSource::Ntp
        } else {
            SyncSource::FreeRunning
        };
        let information = TimestampInformation {
            sync_in: sync,
            stamping_in: Stamping::Software,
            sync_out: sync,
            stamping_out: Stamping::Software,
        };
        // Sub-TLVs may follow the four bytes.
        let fits = value.len() >= TimestampInformation::LEN;
        fits && overwrite(
            &mut value[..TimestampInformation::LEN],
            information.to_bytes(),
        )
    }

    fn class_of_service(&mut self, value: &mut [u8]) -> bool {
        let Ok(asked) = ClassOfService::parse(value) else {
            return false;
        };
        let arrived = self.arrival.traffic_class.unwrap_or(0);
        let (dscp2, ecn) = Dscp::from_traffic_class(arrived);
        let refused = !self.policy.class_of_service;
        let dscp1 = if refused {
            arrived & !3
        } else {
            asked.dscp1 << 2
        };
        // Of the way back the TLV names the DSCP alone; ECN is as without it.
        let ecn_back = self.traffic_class.unwrap_or(0) & 3;
        self.traffic_class = Some(dscp1 | ecn_back);
        let answer = ClassOfService {
            dscp1: asked.dscp1,
            dscp2: dscp2.code_point(),
            ecn,
            refused,
        };
        overwrite(value, answer.to_bytes())
    }

    fn direct_measurement(&self, value: &mut [u8]) -> bool {
        let Ok(mut counts) = DirectMeasurement::parse(value) else {
            return false;
        };
        if let Some(session) = &self.session {
            counts.reflector_received = session.received;
            counts.reflector_sent = session.sent;
        }
        overwrite(value, counts.to_bytes())
    }

    fn follow_up(&mut self, value: &mut [u8]) -> bool {
        if value.len() != FollowUpTelemetry::LEN {
            return false;
        }
        let oldest = self
            .session
            .as_mut()
            .and_then(|session| session.follow_ups.pop());
        let telemetry =
            oldest.map_or_else(FollowUpTelemetry::default, |oldest| FollowUpTelemetry {
                seq: oldest.seq,
                timestamp: self.format.encode(oldest.r_tx + self.realtime_offset),
                stamping: Stamping::Software,
            });
        overwrite(value, telemetry.to_bytes())
    }

    fn clock_identity(&self, value: &mut [u8]) -> bool {
        let id: [u8; CLOCK_IDENTITY_LEN] = self.policy.clock.id.to_be_bytes();
        overwrite(value, id)
    }

    /// All TLVs before this one are answered by now.
    fn hmac(&self, reply: &mut [u8], from: usize, span: Span) -> bool {
        let Some(key) = self.key else {
            return false;
        };
        let tag = stamp_tlv::hmac(key, reply, from, span.at);
        overwrite(&mut reply[span.value()], tag)
    }
}

/// Calls `answer` for each TLV from `from` on; marks one that goes beyond the packet's end.
fn for_each(reply: &mut [u8], from: usize, mut answer: impl FnMut(&mut [u8], Span)) {
    let mut at = from;
    while let Some(item) = stamp_tlv::spans(reply, at).next() {
        match item {
            Item::Tlv(span) => {
                answer(reply, span);
                at = span.end();
            }
            Item::Malformed(at) => {
                reply[at] = (reply[at] & !U) | M;
                return;
            }
            Item::Padding(_) => return,
        }
    }
}

/// Writes a value of exactly this length.
fn overwrite<const N: usize>(value: &mut [u8], bytes: [u8; N]) -> bool {
    let fits = value.len() == N;
    if fits {
        value.copy_from_slice(&bytes);
    }
    fits
}
