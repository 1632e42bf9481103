//! STAMP base packets of both sides and forms, TWAMP-Light's too: what is read is written and read again as the same.

use crate::packets;
use delaylab_wire::stamp::{Form, Reflector, Sender};

/// Checks one input.
pub fn check(data: &[u8]) {
    for form in [Form::Unauthenticated, Form::Authenticated] {
        let mut again = [0; 112];
        if let Ok(sender) = Sender::parse(form, data) {
            sender.sent();
            assert_eq!(sender.emit(form, &mut again), Ok(form.size()));
            assert_eq!(Sender::parse(form, &again), Ok(sender));
        }
        if let Ok(reflector) = Reflector::parse(form, data) {
            reflector.sent();
            reflector.received();
            reflector.error.bound();
            assert_eq!(reflector.emit(form, &mut again), Ok(form.size()));
            assert_eq!(Reflector::parse(form, &again), Ok(reflector));
        }
    }
    let _ = Sender::parse_twamp(data);
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    [packets::stamp_requests(), packets::stamp_replies()].concat()
}
