//! Load that the other end is to send: how it is asked for.
//!
//! Fetch goes over the control connection of a session, whose first Count has shown the sender's key. It is answered
//! with Fetched or Refuse. What does not know it closes the connection. The data comes over the connection that
//! begins with Attach, once Begin has come over it.

use crate::ParseError;
use crate::field::{get, get_u32, get_u64, put};

/// Bytes of an algorithm's name with the zero behind it (`TCP_CA_NAME_MAX` of linux/tcp.h).
pub const NAME: usize = 16;

/// "Send me load over tcp, like this."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// Which session.
    pub token: u32,
    /// No faster than so many bits a second; 0 is no limit.
    pub rate: u64,
    /// The traffic class of its packets: DSCP and ECN.
    pub traffic_class: u8,
    /// The congestion control, as kernels call it; `None`: the sender says which.
    pub congestion_control: Option<Name>,
}

/// "It is ready to be sent."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Which session.
    pub token: u32,
    /// The congestion control that it will have; `None`: nobody knows.
    pub congestion_control: Option<Name>,
}

/// The name of an algorithm: letters, digits, `_`, `-` and, behind the first, `.` (BPF's may have one), at most 15 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// `None`: kernels have no algorithm of that name.
    pub fn new(name: &str) -> Option<Self> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let begins = !name.is_empty() && !name.starts_with('.');
        let fits = begins && name.len() < NAME && name.bytes().all(letter);
        fits.then(|| Self(name.to_owned()))
    }

    /// As kernels have it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn emit(name: Option<&Self>, body: &mut [u8], at: usize) {
        let mut field = [0; NAME];
        if let Some(Name(name)) = name {
            field[..name.len()].copy_from_slice(name.as_bytes());
        }
        put(body, at, field);
    }

    fn parse(body: &[u8], at: usize) -> Result<Option<Self>, ParseError> {
        let field: [u8; NAME] = get(body, at)?;
        let wrong = ParseError::Value("congestion control");
        let end = field.iter().position(|&byte| byte == 0).ok_or(wrong)?;
        let (name, rest) = field.split_at(end);
        if rest.iter().any(|&byte| byte != 0) {
            return Err(wrong);
        }
        let name = std::str::from_utf8(name).map_err(|_| wrong)?;
        match Self::new(name) {
            None if !name.is_empty() => Err(wrong),
            name => Ok(name),
        }
    }
}

/// `0 token  4 rate  12 traffic class  13 congestion control, zeros behind it`
impl Fetch {
    pub(super) fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.token.to_be_bytes());
        put(body, 4, self.rate.to_be_bytes());
        put(body, 12, [self.traffic_class]);
        Name::emit(self.congestion_control.as_ref(), body, 13);
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let [traffic_class] = get(body, 12)?;
        Ok(Self {
            token: get_u32(body, 0)?,
            rate: get_u64(body, 4)?,
            traffic_class,
            congestion_control: Name::parse(body, 13)?,
        })
    }
}

/// `0 token  4 congestion control, zeros behind it`
impl Fetched {
    pub(super) fn emit(&self, body: &mut [u8]) {
        put(body, 0, self.token.to_be_bytes());
        Name::emit(self.congestion_control.as_ref(), body, 4);
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, ParseError> {
        Ok(Self {
            token: get_u32(body, 0)?,
            congestion_control: Name::parse(body, 4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &[u8]) -> Result<Fetch, ParseError> {
        let mut body = [0; 64];
        body[13..13 + name.len()].copy_from_slice(name);
        Fetch::parse(&body)
    }

    #[test]
    fn only_names_are_names() {
        for name in ["cubic", "bbr", "dctcp-reno", "my.cc", "a_name_of_15_by"] {
            let fetch = parsed(name.as_bytes());
            let name = Name::new(name).map(Some);
            assert_eq!(fetch.ok().map(|fetch| fetch.congestion_control), name);
        }
        assert_eq!(parsed(b"").map(|fetch| fetch.congestion_control), Ok(None));
        assert_eq!(Name::new(""), None);
        for wrong in [
            b"a name".as_slice(),
            b"../cubic",
            b"..",
            b"cubic\0x",
            b"\xff",
            b"a_name_of_16_byt",
        ] {
            let expected = Err(ParseError::Value("congestion control"));
            assert_eq!(parsed(wrong), expected, "{wrong:?}");
        }
    }
}
