//! Lengths of time that vary: log-normal, as what delays in hosts is never less than nothing and now and then much
//! longer.

use delaylab_model::Picos;
use delaylab_stats::random::SplitMix;

/// No length is longer: 100 days.
const LONGEST: f64 = 100.0 * 86_400.0 * 1e12;

/// Draws lengths of time with a mean and a standard deviation.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Of ln, in picoseconds.
    location: f64,
    scale: f64,
    mean: Picos,
    random: SplitMix,
}

impl Drawn {
    /// `spread`: standard deviation as a share of the mean. Without it every length is the mean.
    pub fn new(mean: Picos, spread: f64, random: SplitMix) -> Self {
        let variance = (1.0 + spread * spread).ln();
        Self {
            location: (mean as f64).ln() - variance / 2.0,
            scale: variance.sqrt(),
            mean,
            random,
        }
    }

    /// The next one.
    pub fn next(&mut self) -> Picos {
        if self.scale == 0.0 || self.mean == 0 {
            return self.mean;
        }
        (self.location + self.scale * self.random.normal())
            .exp()
            .min(LONGEST) as Picos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_mean_and_the_deviation_that_were_asked_for() {
        for spread in [0.1, 0.7, 2.0] {
            let mut drawn = Drawn::new(1_000_000, spread, SplitMix::new(7));
            let count = 400_000;
            let lengths: Vec<f64> = (0..count).map(|_| drawn.next() as f64 / 1e6).collect();
            let mean = lengths.iter().sum::<f64>() / f64::from(count);
            let squares = lengths.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            let sd = (squares / f64::from(count)).sqrt();
            assert!((mean - 1.0).abs() < 0.02, "{spread}: {mean}");
            assert!((sd / spread - 1.0).abs() < 0.1, "{spread}: {sd}");
        }
        let mut strict = Drawn::new(5, 0.0, SplitMix::new(7));
        assert!((0..10).all(|_| strict.next() == 5));
    }
}
