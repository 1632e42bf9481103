//! Keeping the CPUs awake: `/dev/cpu_dma_latency` (the kernel's PM QoS interface).
//!
//! While the file is open the kernel chooses no idle state that takes longer to leave than the
//! number of microseconds written to it. Closing it, also by dying, ends the request.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const PATH: &str = "/dev/cpu_dma_latency";

/// Idle states that are slow to leave stay unused until this is dropped.
#[derive(Debug)]
pub struct DmaLatency {
    _request: File,
}

impl DmaLatency {
    /// Asks for idle states that take at most `micros` µs to leave; 0 is none but polling.
    ///
    /// # Errors
    /// `PermissionDenied` for other users than root, `NotFound` where the kernel has no PM QoS.
    pub fn hold(micros: i32) -> io::Result<Self> {
        let mut request = OpenOptions::new().write(true).open(PATH)?;
        request.write_all(&micros.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn held_where_the_file_may_be_opened() {
        let may_open = OpenOptions::new().write(true).open(PATH).is_ok();
        assert_eq!(DmaLatency::hold(0).is_ok(), may_open);
    }
}
