//! Files that say when the packets of a load are due: the packets are in the order of their times.

use crate::text::{self, text};
use delaylab_traffic::arrival::replay::{Replay, parse};

/// Checks one input.
pub fn check(data: &[u8]) {
    match parse(text(data)) {
        Ok(packets) => {
            let times: Vec<_> = Replay::new(packets, 1).map(|packet| packet.at).collect();
            assert!(times.is_sorted());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "time,size\n0ms,64B\n1.5ms,1500B\n\n# a pause\n2s,1.5KiB\n",
        "0s,64B\n213d,4294967295B\n",
    ])
}
