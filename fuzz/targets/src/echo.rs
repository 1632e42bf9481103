//! udp echo packets: what is read is written and read again as the same.

use crate::packets;
use delaylab_wire::echo::{Header, Stamps};

/// Checks one input.
pub fn check(data: &[u8]) {
    let mut again = data.to_vec();
    if let Ok(header) = Header::parse(data) {
        assert_eq!(header.emit(&mut again), Ok(()));
        assert_eq!(again, data);
    }
    if let Ok(stamps) = Stamps::parse(data) {
        assert_eq!(stamps.emit(&mut again), Ok(()));
        assert_eq!(Stamps::parse(&again), Ok(stamps));
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![packets::echo_reply(packets::ANY_TOKEN, 2)]
}
