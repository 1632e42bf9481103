//! STAMP base packets of both sides and forms, TWAMP-Light's too.
#![no_main]

use delaylab_wire::stamp::{Form, Reflector, Sender};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for form in [Form::Unauthenticated, Form::Authenticated] {
        let mut again = [0; 112];
        if let Ok(sender) = Sender::parse(form, data) {
            sender.sent();
            assert_eq!(sender.emit(form, &mut again), Ok(form.size()));
            assert_eq!(Sender::parse(form, &again), Ok(sender));
        }
        if let Ok(reflector) = Reflector::parse(form, data) {
            (
                reflector.sent(),
                reflector.received(),
                reflector.error.bound(),
            );
            assert_eq!(reflector.emit(form, &mut again), Ok(form.size()));
            assert_eq!(Reflector::parse(form, &again), Ok(reflector));
        }
    }
    let _ = Sender::parse_twamp(data);
});
