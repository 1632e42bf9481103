//! Address prefixes: who is let in, and who shares a bucket.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An IPv4 or IPv6 prefix, like `192.0.2.0/24`; a bare address is a prefix of its full length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

/// A text that is not a prefix. The message says what would do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address prefix: write it like `192.0.2.0/24`, `2001:db8::/32` or `192.0.2.7`"
)]
pub struct PrefixError(pub String);

impl Prefix {
    /// The prefix of `len` bits that `address` is in, if it has so many.
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let address = address.to_canonical();
        (len <= bits_of(address)).then_some(Self { address, len })
    }

    /// Is this address in it? An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let same_family = address.is_ipv4() == self.address.is_ipv4();
        same_family && masked(address, self.len) == masked(self.address, self.len)
    }
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first `v4` or `v6` bits of the address, by its family. An IPv4 address mapped into IPv6 counts as IPv4.
pub(crate) fn prefix_of(address: IpAddr, (v4, v6): (u8, u8)) -> u128 {
    let address = address.to_canonical();
    masked(address, if address.is_ipv4() { v4 } else { v6 })
}

/// The first `len` bits of the address, as a number that no prefix of the other family has.
pub(crate) fn masked(address: IpAddr, len: u8) -> u128 {
    let (address, len) = match address {
        IpAddr::V4(v4) => (v4.to_ipv6_mapped(), len.saturating_add(96)),
        IpAddr::V6(v6) => (v6, len),
    };
    address.to_bits() & mask(len)
}

const fn mask(len: u8) -> u128 {
    match len {
        0 => 0,
        1..128 => u128::MAX << (128 - len),
        _ => u128::MAX,
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, len) = text.split_once('/').unwrap_or((text, ""));
        let parse = || {
            let address: IpAddr = address.trim().parse().ok()?;
            let len = match len {
                "" if !text.contains('/') => bits_of(address.to_canonical()),
                len => len.trim().parse().ok()?,
            };
            Self::new(address, len)
        };
        parse().ok_or_else(|| PrefixError(text.to_owned()))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// Is it `127.0.0.0/8`, mapped or not, or `::1`?
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback(),
        IpAddr::V6(v6) => v6 == Ipv6Addr::LOCALHOST || address.to_canonical().is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn contains(prefix: &str, address: &str) -> bool {
        let prefix: Prefix = prefix.parse().unwrap();
        prefix.contains(address.parse().unwrap())
    }

    #[test]
    fn prefixes_contain_their_addresses() {
        assert!(contains("192.0.2.0/24", "192.0.2.255"));
        assert!(contains("192.0.2.0/24", "::ffff:192.0.2.1"));
        assert!(contains("::ffff:192.0.2.0/24", "192.0.2.1"));
        assert!(!contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("192.0.2.7", "192.0.2.7"));
        assert!(!contains("192.0.2.7", "192.0.2.6"));
        assert!(contains("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!contains("2001:db8::/32", "2001:db9::"));
        assert!(contains("0.0.0.0/0", "8.8.8.8"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(!contains("::/0", "8.8.8.8"));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in [
            "",
            "/",
            "192.0.2.0/33",
            "::/129",
            "192.0.2.0/",
            "host",
            "1.2.3.4/x",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        assert_eq!(
            "10.0.0.0/8".parse::<Prefix>().unwrap().to_string(),
            "10.0.0.0/8"
        );
    }

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(is_loopback(address.parse().unwrap()), "{address}");
        }
        assert!(!is_loopback("::2".parse().unwrap()));
    }
}
