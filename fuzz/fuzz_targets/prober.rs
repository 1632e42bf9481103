//! Replies as the prober reads them, by every method.
#![no_main]

libfuzzer_sys::fuzz_target!(|packet: &[u8]| {
    delaylab_live::prober::any_bytes::parse(packet);
});
