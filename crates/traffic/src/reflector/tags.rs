//! Tags of authenticated STAMP packets that have come, so that none is answered twice.
//!
//! A STAMP session is known by where its packets come from, which no tag covers. So a packet that
//! was listened to and sent again from elsewhere would begin a session of its own. What is older
//! than this memory and than any session's would still be answered, once for each source: without
//! a clock that both ends share, nothing in a STAMP packet tells that it is old.

/// Tags remembered at once, 8 bytes each: those of the last few seconds at the highest rate.
const TAGS: usize = 1 << 18;

/// The most recent tags. A tag's place follows from its first bytes, which are as good as random,
/// and whoever comes later to the same place takes it.
#[derive(Debug)]
pub(super) struct TagCache(Vec<u64>);

impl Default for TagCache {
    fn default() -> Self {
        Self(vec![0; TAGS])
    }
}

impl TagCache {
    /// Takes note of a tag that was checked. False if it has come before.
    pub fn admit(&mut self, tag: [u8; 16]) -> bool {
        let tag = u128::from_be_bytes(tag);
        let place = &mut self.0[(tag >> 64) as usize % TAGS];
        let is_new = *place != tag as u64;
        *place = tag as u64;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_new_once() {
        let mut cache = TagCache::default();
        let tags: Vec<[u8; 16]> = (1u128..200)
            .map(|n| {
                n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                    .to_be_bytes()
            })
            .collect();
        assert!(tags.iter().all(|&tag| cache.admit(tag)));
        assert!(tags.iter().all(|&tag| !cache.admit(tag)));
    }

    #[test]
    fn tags_at_one_place_are_told_apart() {
        let mut cache = TagCache::default();
        assert!(cache.admit(*b"same place tag 1"));
        assert!(cache.admit(*b"same place tag 2"));
        assert!(!cache.admit(*b"same place tag 2"));
    }
}
