//! One number for the delays at a size, which a few excursions do not move.

/// The delay at a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Bytes of the packet, in whichever layer steps are looked for.
    pub size: u32,
    /// Its delay, ns.
    pub delay_ns: f64,
}

/// What stands for the delays at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerSize {
    /// Mean of the sorted values between 10 and 90 %: of ten values, of the inner eight.
    TrimmedMean,
    /// The smallest: what is left where nothing waits.
    Minimum,
}

impl PerSize {
    /// Of these delays in ns; NaN are left out. `None` without any.
    pub fn value(self, delays: &[f64]) -> Option<f64> {
        let mut sorted: Vec<f64> = delays.iter().copied().filter(|x| !x.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let &first = sorted.first()?;
        match self {
            PerSize::Minimum => Some(first),
            PerSize::TrimmedMean => {
                let cut = sorted.len() / 10;
                let inner = &sorted[cut..sorted.len() - cut];
                // About the first, so that large times lose no digits.
                let sum: f64 = inner.iter().map(|x| x - first).sum();
                Some(first + sum / inner.len() as f64)
            }
        }
    }

    /// A point for each size that has a delay.
    pub fn points<'a>(self, samples: impl IntoIterator<Item = (u32, &'a [f64])>) -> Vec<Point> {
        let point = |(size, delays)| self.value(delays).map(|delay_ns| Point { size, delay_ns });
        samples.into_iter().filter_map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let delays = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1000.0];
        assert_eq!(PerSize::TrimmedMean.value(&delays), Some(5.5));
        assert_eq!(PerSize::Minimum.value(&delays), Some(1.0));
        assert_eq!(PerSize::TrimmedMean.value(&[4.0, f64::NAN, 6.0]), Some(5.0));
        assert_eq!(PerSize::Minimum.value(&[f64::NAN]), None);
    }

    #[test]
    fn a_size_without_a_delay_has_no_point() {
        let points = PerSize::Minimum.points([(40, &[3.0, 2.0][..]), (80, &[][..])]);
        let expected = Point {
            size: 40,
            delay_ns: 2.0,
        };
        assert_eq!(points, [expected]);
    }
}
