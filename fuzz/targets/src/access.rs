//! What a reflector is told about who may ask: address prefixes and the text of a key. A prefix that is read is
//! written and read again as the same, and contains its own address.

use crate::text::{self, text};
use delaylab_traffic::prefix::Prefix;
use delaylab_wire::auth::Key;
use std::net::IpAddr;

/// Checks one input.
pub fn check(data: &[u8]) {
    let text = text(data);
    match text.parse::<Prefix>() {
        Ok(prefix) => {
            assert_eq!(prefix.to_string().parse(), Ok(prefix));
            let address = text.split('/').next().unwrap_or_default().trim();
            let address: IpAddr = address.parse().expect("a prefix begins with an address");
            assert!(prefix.contains(address));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = Key::from_text(text);
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "192.0.2.0/24",
        "192.0.2.7",
        "2001:db8::/32",
        "::ffff:192.0.2.0/120",
        "hex:000102030405060708090a0b0c0d0e0f",
        "a secret of more than 16 bytes\n",
    ])
}
