//! Every reply parser on any bytes: for the fuzz target, and for tests of what must never happen.

use super::datagram::{Format, Parsed};
use super::{icmp, stamp, tcp, udp};
use delaylab_wire::auth::Key;
use delaylab_wire::echo::Mode;

/// The packet that the replies pretend to answer.
const LAST: u64 = 70_000;

/// How many parsers took the bytes for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Without a key.
    pub unkeyed: usize,
    /// With one.
    pub keyed: usize,
}

/// Reads the bytes as a reply by every method.
pub fn parse(bytes: &[u8]) -> Taken {
    let formats = [
        by(icmp::Echo::of_nobody(false, false), bytes),
        by(icmp::Echo::of_nobody(false, true), bytes),
        by(icmp::Echo::of_nobody(true, false), bytes),
        by(udp::Echo::of_nobody(Mode::Plain), bytes),
        by(udp::Echo::of_nobody(Mode::Stamped), bytes),
        stamp::Stamp::of_nobody(bytes.len(), None).is_some_and(|format| by(format, bytes)),
        is_reply(&tcp::Replies::of_nobody(Mode::Stamped, bytes.len()).parse(bytes, LAST)),
        is_reply(&tcp::Replies::of_nobody(Mode::Plain, bytes.len()).parse(bytes, LAST)),
    ];
    Taken {
        unkeyed: formats.into_iter().filter(|&taken| taken).count(),
        keyed: usize::from(keyed_stamp(bytes)),
    }
}

fn keyed_stamp(bytes: &[u8]) -> bool {
    let key = Key::new(&[7; 16]).ok();
    stamp::Stamp::of_nobody(bytes.len(), key).is_some_and(|format| by(format, bytes))
}

fn by(mut format: impl Format, bytes: &[u8]) -> bool {
    let mut sent = vec![7; bytes.len().max(SMALLEST)];
    format.emit(LAST, &mut sent);
    let _ = format.quoted(bytes, LAST);
    is_reply(&format.parse(bytes, &sent, LAST))
}

/// Every method's header fits.
const SMALLEST: usize = 64;

const fn is_reply(parsed: &Parsed) -> bool {
    matches!(parsed, Parsed::Reply { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// A forged packet passes the parsers without a key only where it guesses a token.
    fn random_packets_do_no_harm(count: usize) {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut bytes = [0; 256];
        for _ in 0..count {
            let length = (random.next_u32() % 256) as usize;
            random.fill_bytes(&mut bytes[..length]);
            assert_eq!(parse(&bytes[..length]).keyed, 0, "forged without the key");
        }
    }

    #[test]
    fn fifty_thousand_random_packets_do_no_harm() {
        random_packets_do_no_harm(50_000);
    }

    /// In `make test-all`.
    mod long {
        #[test]
        fn a_million_random_packets_do_no_harm() {
            super::random_packets_do_no_harm(1_000_000);
        }
    }
}
