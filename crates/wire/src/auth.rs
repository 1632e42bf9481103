//! Keys and tags: HMAC-SHA-256 (RFC 2104, FIPS 180-4) truncated to 128 bits, as STAMP has it
//! (RFC 8762 §4.4), for every format of ours.
//!
//! One secret serves all. Each session, direction and use has its own key, derived by
//! HMAC(secret, label), so that no packet can be played back as another one. STAMP alone uses the
//! secret as it is: the RFC says so, and foreign senders do.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::BTreeSet;
use std::fmt;
use subtle::ConstantTimeEq;

/// Bytes of a tag.
pub const TAG: usize = 16;

/// The shortest secret that is taken, in bytes: as long as the tag.
pub const SHORTEST_SECRET: usize = 16;

/// Different bytes of a secret, at least. Sixteen random hexadecimal digits have fewer once in 30,000 times.
const FEWEST_DIFFERENT: usize = 6;

/// Why a secret is not taken. The message names the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too short to be safe.
    #[error(
        "a key of {0} bytes is too short: use at least {SHORTEST_SECRET}, for example `openssl rand -hex 32`"
    )]
    TooShort(usize),
    /// A few letters over and over.
    #[error("a key of {0} different bytes is easy to guess: make one with `openssl rand -hex 32`")]
    Repetitive(usize),
    /// `hex:` and then something else than pairs of hexadecimal digits.
    #[error("behind `hex:` a key has pairs of hexadecimal digits and nothing else")]
    NotHex,
}

/// A key, ready to make and check tags. Its memory is cleared when it is dropped; `Debug` shows
/// nothing of it.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    /// A key from a secret of 16 bytes or more.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SHORTEST_SECRET {
            return Err(KeyError::TooShort(secret.len()));
        }
        Ok(Self::keyed(secret))
    }

    /// A key from the text of a key file or variable: without the white space around it, and
    /// either as it stands or, behind `hex:`, as hexadecimal digits.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let secret = match text.trim().strip_prefix("hex:") {
            Some(digits) => decode_hex(digits).ok_or(KeyError::NotHex)?,
            None => text.trim().as_bytes().to_vec(),
        };
        let key = Self::new(&secret)?;
        let different = secret.iter().collect::<BTreeSet<_>>().len();
        if different < FEWEST_DIFFERENT {
            return Err(KeyError::Repetitive(different));
        }
        Ok(key)
    }

    /// A key from 32 random bytes.
    pub fn from_entropy(entropy: &[u8; 32]) -> Self {
        Self::keyed(entropy)
    }

    /// HMAC takes a secret of any length, so the error of the trait never comes.
    fn keyed(secret: &[u8]) -> Self {
        match Hmac::<Sha256>::new_from_slice(secret) {
            Ok(mac) => Self(mac),
            Err(_) => unreachable!("HMAC takes keys of any length"),
        }
    }

    /// HMAC(key, `parts` one behind the other), all 256 bits.
    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The key for one use, named by `label` and what it is bound to. Callers keep `parts` of
    /// fixed lengths, so that no two uses run together.
    pub fn derive(&self, parts: &[&[u8]]) -> Self {
        Self::keyed(&self.mac(parts))
    }

    /// The tag of `parts` one behind the other.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        let mac = self.mac(parts);
        let mut tag = [0; TAG];
        tag.copy_from_slice(&mac[..TAG]);
        tag
    }

    /// Was `tag` made with this key from these parts? Takes the same time wherever they differ.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.tag(parts).ct_eq(tag).into()
    }

    /// Writes the tag of all that is before it into the last 16 bytes. A packet without room for
    /// a tag stays as it is.
    pub fn seal(&self, packet: &mut [u8]) {
        if let Some((body, tag)) = packet.split_last_chunk_mut::<TAG>() {
            *tag = self.tag(&[body]);
        }
    }

    /// Are the last 16 bytes the tag of all that is before them?
    pub fn is_sealed(&self, packet: &[u8]) -> bool {
        match packet.split_last_chunk::<TAG>() {
            Some((body, tag)) => self.verify(&[body], tag),
            None => false,
        }
    }
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some((hex_digit(*high)? << 4) | hex_digit(*low)?),
            _ => None,
        })
        .collect()
}

fn hex_digit(digit: u8) -> Option<u8> {
    let value = (digit as char).to_digit(16)?;
    u8::try_from(value).ok()
}

/// The two keys of one use, one for each direction.
#[derive(Debug, Clone)]
pub struct KeyPair {
    /// From the prober to the reflector.
    pub request: Key,
    /// From the reflector to the prober.
    pub reply: Key,
}

/// A session's keys, new ones for every 2³² packets: packets carry the low 32 bits of their number, and of what was
/// recorded a turn ago nothing is worth anything.
#[derive(Debug, Clone)]
pub struct SessionKeys {
    first: KeyPair,
    later: Option<(u32, KeyPair)>,
}

impl SessionKeys {
    /// From the keys that the session began with.
    pub const fn new(first: KeyPair) -> Self {
        Self { first, later: None }
    }

    /// The keys of packet `seq`.
    #[inline]
    pub fn pair(&mut self, seq: u64) -> &KeyPair {
        let turn = (seq >> 32) as u32;
        if turn == 0 {
            return &self.first;
        }
        let first = &self.first;
        let kept = self.later.take().filter(|(of, _)| *of == turn);
        let (_, keys) = self
            .later
            .insert(kept.unwrap_or_else(|| (turn, first.of_turn(turn))));
        keys
    }
}

/// Which transport a session runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A byte stream.
    Tcp,
}

impl KeyPair {
    /// The keys of the control packets of one transport.
    pub fn control(secret: &Key, transport: Transport) -> Self {
        let label: &[u8] = match transport {
            Transport::Udp => b"delaylab udp control",
            Transport::Tcp => b"delaylab tcp control",
        };
        Self::bound(secret, label, &[])
    }

    /// The keys of a session's data packets, bound to the prober's nonce, the reflector's salt and
    /// the session's token: what was sent in one session is worth nothing in another.
    pub fn session(secret: &Key, transport: Transport, nonce: u64, salt: u64, token: u32) -> Self {
        let label: &[u8] = match transport {
            Transport::Udp => b"delaylab udp session",
            Transport::Tcp => b"delaylab tcp session",
        };
        let mut binding = [0; 20];
        binding[..8].copy_from_slice(&nonce.to_be_bytes());
        binding[8..16].copy_from_slice(&salt.to_be_bytes());
        binding[16..].copy_from_slice(&token.to_be_bytes());
        Self::bound(secret, label, &binding)
    }

    fn of_turn(&self, turn: u32) -> Self {
        let derive = |key: &Key| key.derive(&[b"delaylab turn", &turn.to_be_bytes()]);
        Self {
            request: derive(&self.request),
            reply: derive(&self.reply),
        }
    }

    fn bound(secret: &Key, label: &[u8], binding: &[u8]) -> Self {
        Self {
            request: secret.derive(&[label, b" request", binding]),
            reply: secret.derive(&[label, b" reply", binding]),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// RFC 4231, test case 6: a key longer than the hash's block; and 7, its longer data.
    #[test]
    fn tags_are_those_of_rfc_4231() {
        let key = Key::new(&[0xaa; 131]).unwrap();
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let expected = [
            0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5,
            0xb7, 0x7f,
        ];
        assert_eq!(key.tag(&[text]), expected);
        assert_eq!(key.tag(&[&text[..9], &text[9..]]), expected);
        assert!(key.verify(&[text], &expected));
        assert!(!key.verify(&[text], &expected[..15]));
    }

    #[test]
    fn a_changed_byte_breaks_the_seal() {
        let key = Key::new(b"sixteen bytes ok").unwrap();
        let mut packet = [7u8; 40];
        key.seal(&mut packet);
        assert!(key.is_sealed(&packet));
        for at in 0..packet.len() {
            let mut changed = packet;
            changed[at] ^= 1;
            assert!(!key.is_sealed(&changed), "byte {at}");
        }
        assert!(!key.is_sealed(&packet[..15]));
    }

    #[test]
    fn every_use_has_its_own_key() {
        let secret = Key::new(b"sixteen bytes ok").unwrap();
        let pairs = [
            KeyPair::control(&secret, Transport::Udp),
            KeyPair::control(&secret, Transport::Tcp),
            KeyPair::session(&secret, Transport::Udp, 1, 2, 3),
            KeyPair::session(&secret, Transport::Tcp, 1, 2, 3),
            KeyPair::session(&secret, Transport::Udp, 1, 2, 4),
            KeyPair::session(&secret, Transport::Udp, 1, 3, 3),
            KeyPair::session(&secret, Transport::Udp, 2, 2, 3),
        ];
        let mut tags: Vec<_> = pairs
            .iter()
            .flat_map(|pair| [pair.request.tag(&[]), pair.reply.tag(&[])])
            .chain([secret.tag(&[])])
            .collect();
        let all = tags.len();
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), all);
    }

    #[test]
    fn each_turn_of_the_sequence_number_has_its_own_keys() {
        let secret = Key::new(b"sixteen bytes ok").unwrap();
        let first = KeyPair::session(&secret, Transport::Udp, 1, 2, 3);
        let mut keys = SessionKeys::new(first.clone());
        let mut tag = |seq| keys.pair(seq).request.tag(&[]);
        let turn = 1_u64 << 32;
        assert_eq!([tag(0), tag(turn - 1)], [first.request.tag(&[]); 2]);
        let (second, third) = (tag(turn), tag(2 * turn));
        assert_eq!([tag(turn + 9), tag(2 * turn + 9)], [second, third]);
        assert!(second != third && second != first.request.tag(&[]));
    }

    #[test]
    fn keys_are_read_as_text_or_hex_and_never_shown() {
        let text = Key::from_text("  sixteen bytes ok\n").unwrap();
        let hex = Key::from_text("hex:7369787465656E206279746573206f6b").unwrap();
        assert_eq!(text.tag(&[b"x"]), hex.tag(&[b"x"]));
        assert_eq!(format!("{text:?}"), "Key(…)");
        assert_eq!(Key::from_text("short").unwrap_err(), KeyError::TooShort(5));
        let odd = "hex:7369787465656E206279746573206f6b0";
        assert_eq!(Key::from_text(odd).unwrap_err(), KeyError::NotHex);
        assert_eq!(Key::from_text("hex:é").unwrap_err(), KeyError::NotHex);
    }
}
