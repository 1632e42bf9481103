//! The script that draws, in a browser and in `svg`. Built from `web/`, and packed by `build.rs`.

use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// As gzip.
pub const PACKED_SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/figures.js.gz"));

/// As text.
pub static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let mut script = String::new();
    let unpacked = GzDecoder::new(PACKED_SCRIPT).read_to_string(&mut script);
    debug_assert!(unpacked.is_ok(), "{unpacked:?}");
    script
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let built = include_str!("../../../web/dist/figures.js");
        assert!(*SCRIPT == built, "{} of {}", SCRIPT.len(), built.len());
        assert!(PACKED_SCRIPT.len() * 2 < built.len());
    }
}
