//! The TLVs behind a STAMP base packet. The first byte of an input says where they begin.

use crate::packets;
use delaylab_wire::auth::Key;
use delaylab_wire::stamp::Form;
use delaylab_wire::stamp_tlv::{
    ClassOfService, DirectMeasurement, FollowUpTelemetry, Item, TimestampInformation, is_authentic,
    kind, parse_clock_identity, spans, understood,
};

/// The secret of the key that inputs are checked with.
const SECRET: [u8; 32] = [7; 32];

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((&from, packet)) = data.split_first() else {
        return;
    };
    let from = usize::from(from);
    let mut at = from;
    for item in spans(packet, from) {
        let Item::Tlv(span) = item else { break };
        assert_eq!(span.at, at);
        at = span.end();
        let value = &packet[span.value()];
        let _ = ClassOfService::parse(value);
        let _ = DirectMeasurement::parse(value);
        let _ = FollowUpTelemetry::parse(value);
        let _ = TimestampInformation::parse(value);
        let _ = parse_clock_identity(value);
        understood(packet, from, span.kind);
    }
    is_authentic(&Key::from_entropy(&SECRET), packet, from);
}

/// Valid inputs: a packet with a TLV of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let packet = packets::stamp_request_with_tlvs(|tlvs| {
        tlvs.push(kind::TIMESTAMP_INFORMATION, &[0; 4])?;
        tlvs.push(kind::CLASS_OF_SERVICE, &[0xb8, 0, 0, 0])?;
        tlvs.push(kind::DIRECT_MEASUREMENT, &[0; 12])?;
        tlvs.push(kind::FOLLOW_UP_TELEMETRY, &[0; 16])?;
        tlvs.push(kind::CLOCK_IDENTITY, &[0; 8])?;
        tlvs.seal(&Key::from_entropy(&SECRET))?;
        tlvs.pad(4)
    });
    let from = Form::Unauthenticated.size() as u8;
    vec![[&[from], packet.as_slice()].concat()]
}
