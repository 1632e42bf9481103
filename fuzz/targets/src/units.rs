//! Quantities as people write them. A duration that is read is written and read again as the same, and so is a class.

use crate::text::{self, text};
use delaylab_model::dscp::Dscp;
use delaylab_model::quantity::{Limit, Share};
use delaylab_model::units::{
    format_duration, parse_duration, parse_rate, parse_size, write_duration,
};

/// Checks one input.
pub fn check(data: &[u8]) {
    let text = text(data);
    if let Ok(duration) = parse_duration(text) {
        format_duration(duration);
        assert_eq!(parse_duration(&write_duration(duration)), Ok(duration));
    }
    let _ = parse_size(text);
    let _ = parse_rate(text);
    let _ = text.parse::<Share>();
    let _ = text.parse::<Limit>();
    if let Ok(class) = text.parse::<Dscp>() {
        assert_eq!(class.to_string().parse(), Ok(class));
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "20ms",
        "0.2 s",
        "1.5 s",
        "1.5h",
        "3min",
        "5us",
        "64B",
        "9KiB",
        "1.5 KiB",
        "2GiB",
        "9007199254740993.000000000000000B",
        "9223372036.854775807s",
        "18446744073.709551615GB",
        "10 Mbit/s",
        "155.52mbit",
        "1Gbit/s",
        "49.8%",
        "13000cells",
        "1000packets",
        "unlimited",
        "ef",
        "46",
    ])
}
