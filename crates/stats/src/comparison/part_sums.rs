//! Sums of blocks, of which statistics are made anew.

/// Sums of the blocks of one part: block, feature, sum. Those that are zero are left out, and of a quantile
/// nearly all are: a block has few packets between the thresholds.
pub(super) struct PartSums {
    pub(super) trial: usize,
    pub(super) sums: Vec<(u32, u32, f64)>,
}

impl PartSums {
    pub(super) const fn new(trial: usize) -> Self {
        Self {
            trial,
            sums: Vec::new(),
        }
    }

    /// Takes the sums of a block, and leaves zeros.
    pub(super) fn close(&mut self, block: usize, open: &mut [f64]) {
        for (feature, sum) in (0..).zip(open) {
            if *sum != 0.0 {
                self.sums.push((block as u32, feature, *sum));
                *sum = 0.0;
            }
        }
    }
}
