//! The cheapest way to cut a series in segments of one level each.

/// A last segment: its first value, and what the best series of segments that ends with it costs, as a
/// function of that segment's level μ: `square`·μ² + `line`·μ + `rest`.
#[derive(Debug, Clone, Copy)]
struct Last {
    start: usize,
    square: f64,
    line: f64,
    rest: f64,
}

/// The levels for which one of the last segments is the cheapest.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from: f64,
    to: f64,
    last: usize,
}

/// First indices of segments but the first, so that the squares about the segments' means, and `penalty`
/// for each cut, are least together. Kept are for each level the last segment that is the cheapest (functional
/// pruning: Maidstone, Hocking, Rigaill and Fearnhead 2017), so that the time hardly grows faster than
/// the number of values.
pub(super) fn cut(values: &[f64], penalty: f64) -> Vec<usize> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut lasts = vec![Last::new(0, 0.0)];
    let mut pieces = vec![Piece {
        from: least,
        to: most,
        last: 0,
    }];
    // Where the last segment of the best way to cut the first values begins.
    let mut starts = Vec::with_capacity(values.len());
    for (index, &value) in values.iter().enumerate() {
        lasts.iter_mut().for_each(|last| last.push(value));
        let costs = pieces.iter().map(|piece| {
            let last = &lasts[piece.last];
            (last.least(piece), last.start)
        });
        let best = costs.min_by(|a, b| a.0.total_cmp(&b.0));
        let (cost, start) = best.unwrap_or((0.0, 0));
        starts.push(start);
        lasts.push(Last::new(index + 1, cost + penalty));
        pieces = pruned(&pieces, &lasts);
        forget(&mut lasts, &mut pieces);
    }
    let mut cuts = Vec::new();
    let mut end = values.len();
    while let Some(&start) = starts[..end].last().filter(|&&start| start > 0) {
        cuts.push(start);
        end = start;
    }
    cuts.reverse();
    cuts
}

impl Last {
    fn new(start: usize, rest: f64) -> Self {
        Self {
            start,
            square: 0.0,
            line: 0.0,
            rest,
        }
    }

    fn push(&mut self, value: f64) {
        self.square += 1.0;
        self.line -= 2.0 * value;
        self.rest += value * value;
    }

    /// What it costs at least, with a level of this piece.
    fn least(&self, piece: &Piece) -> f64 {
        let level = (-self.line / (2.0 * self.square)).clamp(piece.from, piece.to);
        (self.square * level + self.line) * level + self.rest
    }

    /// Between which levels it costs less than this.
    fn below(&self, cost: f64) -> Option<(f64, f64)> {
        let inner = self.line * self.line - 4.0 * self.square * (self.rest - cost);
        let root = (inner > 0.0).then(|| inner.sqrt())?;
        let at = |root: f64| (root - self.line) / (2.0 * self.square);
        Some((at(-root), at(root)))
    }
}

/// The pieces, but where the newest last segment, which is empty yet, is cheaper.
fn pruned(pieces: &[Piece], lasts: &[Last]) -> Vec<Piece> {
    let newest = lasts.len() - 1;
    let cost = lasts[newest].rest;
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len() + 2);
    let mut push = |from: f64, to: f64, last: usize| match kept.last_mut() {
        _ if to <= from => {}
        Some(before) if before.last == last => before.to = to,
        _ => kept.push(Piece { from, to, last }),
    };
    for piece in pieces {
        let Some((low, high)) = lasts[piece.last].below(cost) else {
            push(piece.from, piece.to, newest);
            continue;
        };
        let low = low.clamp(piece.from, piece.to);
        let high = high.clamp(piece.from, piece.to);
        push(piece.from, low, newest);
        push(low, high, piece.last);
        push(high, piece.to, newest);
    }
    kept
}

/// Last segments that no level needs any more.
fn forget(lasts: &mut Vec<Last>, pieces: &mut [Piece]) {
    let mut places = vec![None; lasts.len()];
    let mut kept = Vec::with_capacity(lasts.len());
    for piece in pieces {
        piece.last = *places[piece.last].get_or_insert_with(|| {
            kept.push(lasts[piece.last]);
            kept.len() - 1
        });
    }
    *lasts = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum()
    }

    /// Every way to cut a few values, one by one.
    fn least_cost(values: &[f64], penalty: f64) -> f64 {
        let last = (1..values.len()).map(|start| {
            least_cost(&values[..start], penalty) + penalty + squares(&values[start..])
        });
        last.fold(squares(values), f64::min)
    }

    proptest! {
        #[test]
        fn is_the_cheapest(
            values in proptest::collection::vec(-3_i32..3, 1..12),
            penalty in 0.1..10.0_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let cuts = cut(&values, penalty);
            let bounds: Vec<usize> =
                [0].into_iter().chain(cuts).chain([values.len()]).collect();
            prop_assert!(bounds.windows(2).all(|ends| ends[0] < ends[1]), "{bounds:?}");
            let each = bounds.windows(2).map(|ends| squares(&values[ends[0]..ends[1]]));
            let cost = each.sum::<f64>() + penalty * (bounds.len() - 2) as f64;
            let expected = least_cost(&values, penalty);
            prop_assert!((cost - expected).abs() < 1e-9, "{cost} {expected}");
        }
    }

    #[test]
    fn nothing_has_no_cut() {
        assert_eq!(cut(&[], 1.0), Vec::<usize>::new());
        assert_eq!(cut(&[7.0; 9], 1.0), Vec::<usize>::new());
    }
}
