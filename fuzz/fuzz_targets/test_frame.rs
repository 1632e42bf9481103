//! Frames of a tester as they come back from a device that may do anything to them.
#![no_main]

use delaylab_wire::test_frame::Seen;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((token, frame)) = data.split_first_chunk::<2>() else {
        return;
    };
    let _ = Seen::read(frame, u16::from_be_bytes(*token));
});
