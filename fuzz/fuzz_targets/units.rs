//! Durations, sizes and rates as people write them: what is read is written and read as the same.
#![no_main]

use delaylab_model::units::{
    format_duration, parse_duration, parse_rate, parse_size, write_duration,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(duration) = parse_duration(text) {
        format_duration(duration);
        assert_eq!(parse_duration(&write_duration(duration)), Ok(duration));
    }
    let _ = parse_size(text);
    let _ = parse_rate(text);
});
