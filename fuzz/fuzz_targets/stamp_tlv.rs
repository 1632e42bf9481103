//! The TLVs behind a STAMP base packet.
#![no_main]

use delaylab_wire::auth::Key;
use delaylab_wire::stamp_tlv::{
    ClassOfService, DirectMeasurement, FollowUpTelemetry, Item, TimestampInformation, is_authentic,
    parse_clock_identity, spans, understood,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
    is_authentic(&Key::from_entropy(&[7; 32]), packet, from);
});
