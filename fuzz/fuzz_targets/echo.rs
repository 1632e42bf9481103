//! udp echo packets: what is read is written and read again as the same.
#![no_main]

use delaylab_wire::echo::{Header, Stamps};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut again = data.to_vec();
    if let Ok(header) = Header::parse(data) {
        assert_eq!(header.emit(&mut again), Ok(()));
        assert_eq!(again, data);
    }
    if let Ok(stamps) = Stamps::parse(data) {
        assert_eq!(stamps.emit(&mut again), Ok(()));
        assert_eq!(Stamps::parse(&again), Ok(stamps));
    }
});
