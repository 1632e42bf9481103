//! The keys that are taken: several at once, by name, so that one can take the place of another while
//! probers still have the old one.

use delaylab_wire::ParseError;
use delaylab_wire::auth::{Key, KeyPair, TAG, Transport};
use delaylab_wire::control::Control;

/// One key or more, each with a name.
#[derive(Debug, Clone)]
pub struct Keys(Vec<(String, Key)>);

impl Keys {
    /// `None` where there is no key.
    pub fn new(keys: Vec<(String, Key)>) -> Option<Self> {
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<&Key> {
        self.0.first().map(|(_, key)| key)
    }
}

impl From<Key> for Keys {
    fn from(key: Key) -> Self {
        Self(vec![("key".to_owned(), key)])
    }
}

/// Tells keys apart, and says nothing of them.
pub(super) type KeyId = [u8; TAG];

/// A key and what is derived from it.
#[derive(Debug)]
pub(super) struct Derived {
    pub secret: Key,
    pub id: KeyId,
    udp: KeyPair,
    tcp: KeyPair,
}

impl Derived {
    fn new(secret: &Key) -> Self {
        Self {
            id: secret.tag(&[b"delaylab key id"]),
            udp: KeyPair::control(secret, Transport::Udp),
            tcp: KeyPair::control(secret, Transport::Tcp),
            secret: secret.clone(),
        }
    }

    /// The keys of its control packets.
    pub fn control(&self, transport: Transport) -> &KeyPair {
        match transport {
            Transport::Udp => &self.udp,
            Transport::Tcp => &self.tcp,
        }
    }
}

/// All keys that are taken; none in open mode.
#[derive(Debug, Default)]
pub(super) struct KeyRing(Vec<Derived>);

impl KeyRing {
    pub fn new(keys: Option<&Keys>) -> Self {
        let keys = keys.map_or(&[][..], |keys| &keys.0);
        Self(keys.iter().map(|(_, key)| Derived::new(key)).collect())
    }

    /// Is a key needed?
    pub fn is_needed(&self) -> bool {
        !self.0.is_empty()
    }

    /// Is there a key with this id?
    pub fn has(&self, id: &KeyId) -> bool {
        self.0.iter().any(|key| key.id == *id)
    }

    /// The key that `is_made_with` recognises.
    pub fn find(&self, is_made_with: impl Fn(&Key) -> bool) -> Option<&Derived> {
        self.0.iter().find(|key| is_made_with(&key.secret))
    }

    /// Reads a control packet of a prober, and says which key it is made with.
    pub fn parse(
        &self,
        transport: Transport,
        packet: &[u8],
    ) -> (Result<Control, ParseError>, Option<&Derived>) {
        if self.0.is_empty() {
            return (Control::parse(None, packet), None);
        }
        for key in &self.0 {
            let parsed = Control::parse(Some(&key.control(transport).request), packet);
            if !matches!(parsed, Err(ParseError::WrongKey)) {
                return (parsed, Some(key));
            }
        }
        (Err(ParseError::WrongKey), None)
    }
}
