//! How many delays of a probe are kept exactly.

/// Up to this many answered packets, the summary keeps exact delays. Beyond, quantiles come from
/// histograms, and memory stays constant. On disk every packet is kept.
pub const EXACT_LIMIT: usize = 200_000;
