//! Units of time in tables.

use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};

/// So many nanoseconds, by the name of a unit.
pub fn by_name(name: &str) -> Option<Nanos> {
    Some(match name.to_lowercase().as_str() {
        "ns" | "nsec" | "nanos" | "nanoseconds" => 1,
        "us" | "usec" | "µs" | "μs" | "micros" | "microseconds" => MICROSECOND,
        "ms" | "msec" | "millis" | "milliseconds" => MILLISECOND,
        "s" | "sec" | "secs" | "seconds" => SECOND,
        _ => return None,
    })
}
