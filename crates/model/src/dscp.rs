//! Traffic classes by their names: the DSCP of RFC 2474 and the names that RFCs gave its values.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A Differentiated Services code point (RFC 2474), 0 to 63.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Dscp(u8);

/// Every value that has a name: RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865 (VA), 8622 (LE).
/// The first name of a value is the one that is printed.
const NAMES: &[(&str, u8)] = &[
    ("be", 0),
    ("cs0", 0),
    ("df", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// ECN bits by their names in RFC 3168.
pub const fn ecn_name(ecn: u8) -> &'static str {
    match ecn & 3 {
        0 => "not-ect",
        1 => "ect1",
        2 => "ect0",
        _ => "ce",
    }
}

/// A class that is neither a known name nor a code point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a traffic class: use a name (be, ef, va, le, cs0 to cs7, af11 to af43) or a code point from 0 to 63"
)]
pub struct DscpError(pub String);

impl Dscp {
    /// The code point of this value, if it is one.
    pub const fn new(code_point: u8) -> Option<Self> {
        if code_point < 64 {
            Some(Self(code_point))
        } else {
            None
        }
    }

    /// The code point in an IPv4 TOS or IPv6 traffic class byte, and the ECN bits beside it (RFC 3168).
    pub const fn from_traffic_class(byte: u8) -> (Self, u8) {
        (Self(byte >> 2), byte & 3)
    }

    /// The traffic class byte with these ECN bits (0 to 3).
    pub const fn traffic_class(self, ecn: u8) -> u8 {
        (self.0 << 2) | (ecn & 3)
    }

    /// The code point, 0 to 63.
    pub const fn code_point(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Dscp {
    type Error = DscpError;

    fn try_from(value: u8) -> Result<Self, DscpError> {
        Self::new(value).ok_or_else(|| DscpError(value.to_string()))
    }
}

impl From<Dscp> for u8 {
    fn from(value: Dscp) -> u8 {
        value.0
    }
}

impl FromStr for Dscp {
    type Err = DscpError;

    fn from_str(text: &str) -> Result<Self, DscpError> {
        let lower = text.trim().to_ascii_lowercase();
        let named = NAMES
            .iter()
            .find(|(name, _)| *name == lower)
            .map(|&(_, value)| value);
        let value = named.or_else(|| lower.parse().ok());
        value
            .and_then(Self::new)
            .ok_or_else(|| DscpError(text.to_owned()))
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|&&(_, value)| value == self.0) {
            Some((name, _)) => f.pad(name),
            None => f.pad(&self.0.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_and_code_points_are_one() {
        assert_eq!("EF".parse::<Dscp>().map(Dscp::code_point), Ok(46));
        assert_eq!("cs1".parse::<Dscp>().map(Dscp::code_point), Ok(8));
        assert_eq!("0".parse::<Dscp>().unwrap().to_string(), "be");
        assert_eq!("63".parse::<Dscp>().unwrap().to_string(), "63");
        assert!("64".parse::<Dscp>().is_err());
        assert!("gold".parse::<Dscp>().is_err());
        for value in 0..64 {
            let class = Dscp::new(value).unwrap();
            assert_eq!(class.to_string().parse(), Ok(class));
            assert_eq!(Dscp::from_traffic_class(class.traffic_class(2)), (class, 2));
        }
    }
}
