//! Frames that a NIC had no room for: this host took those before too slowly, and the device did not lose them.

use std::path::Path;

/// Where the kernel has its interfaces.
pub(super) const INTERFACES: &str = "/sys/class/net";

/// What the kernel counts of them for an interface, since it is there. What was damaged on the way is not among them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overruns([u64; 3]);

/// A driver has one of these, or the same frames in several.
const COUNTERS: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

impl Overruns {
    /// Until now, of an interface of this host.
    pub(super) fn read(interface: &str) -> Self {
        let place = Path::new(INTERFACES).join(interface).join("statistics");
        Self(COUNTERS.map(|name| {
            let text = std::fs::read_to_string(place.join(name));
            text.map_or(0, |text| text.trim().parse().unwrap_or(0))
        }))
    }

    /// How many were added.
    pub(super) fn since(self, before: Self) -> u64 {
        let both = self.0.into_iter().zip(before.0);
        let added = both.map(|(now, before)| now.saturating_sub(before));
        added.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_twice_is_lost_once() {
        let (before, now) = (Overruns([10, 20, 0]), Overruns([15, 25, 0]));
        assert_eq!(now.since(before), 5);
        assert_eq!(now.since(now), 0);
        // The driver was loaded again.
        assert_eq!(before.since(now), 0);
    }

    #[test]
    fn the_loopback_overruns_nothing() {
        let before = Overruns::read("lo");
        assert_eq!(Overruns::read("lo").since(before), 0);
        assert_eq!(Overruns::read("no-such").since(Overruns::default()), 0);
    }
}
