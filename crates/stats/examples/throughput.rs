//! How many samples a CPU second? `throughput make FILE COUNT` writes delays, `throughput exact FILE` and
//! `throughput histogram FILE` read them and print their figures and what those took, as one line of JSON.
//! `make accept ONLY=samples` calls it, beside numpy and polars.
//!
//! A file is whole nanoseconds, each as eight bytes, the lowest first.
#![forbid(unsafe_code)]

use delaylab_stats::loglinear::LogLinear;
use delaylab_stats::moments::Moments;
use delaylab_stats::quantile::Ranked;
use delaylab_stats::random::SplitMix;
use std::error::Error;
use std::fs;

const QUANTILES: [f64; 6] = [0.25, 0.5, 0.75, 0.9, 0.99, 0.999];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["make", file, count] => fs::write(file, delays(count.parse()?))?,
        ["exact", file] => println!("{}", figures(&read(file)?, exact)),
        ["histogram", file] => println!("{}", figures(&read(file)?, by_histogram)),
        _ => return Err("throughput make FILE COUNT | exact FILE | histogram FILE".into()),
    }
    Ok(())
}

/// Delays as a quiet path has them: 50 µs and a sum of exponentials, and one in a thousand up to 4 ms later.
fn delays(count: usize) -> Vec<u8> {
    let mut random = SplitMix::new(1);
    let mut delay = || {
        let noise: f64 = (0..4).map(|_| -5e3 * random.uniform().ln()).sum();
        let late = random.uniform() < 1e-3;
        50e3 + noise + if late { 4e6 * random.uniform() } else { 0.0 }
    };
    let bytes = (0..count).flat_map(|_| (delay() as i64).to_le_bytes());
    bytes.collect()
}

fn read(file: &str) -> std::io::Result<Vec<i64>> {
    let bytes = fs::read(file)?;
    let (values, _) = bytes.as_chunks();
    Ok(values.iter().copied().map(i64::from_le_bytes).collect())
}

type Quantiles = [Option<i64>; QUANTILES.len()];

fn exact(values: &[i64]) -> (Moments, Quantiles) {
    let mut ranked = Ranked::new(values.to_vec());
    (
        values.iter().copied().collect(),
        QUANTILES.map(|q| ranked.quantile(q).copied()),
    )
}

fn by_histogram(values: &[i64]) -> (Moments, Quantiles) {
    let (mut moments, mut counts) = (Moments::default(), LogLinear::default());
    for &value in values {
        moments.push(value);
        counts.push(value);
    }
    (moments, QUANTILES.map(|q| counts.quantile(q)))
}

fn figures(values: &[i64], of: impl FnOnce(&[i64]) -> (Moments, Quantiles)) -> String {
    let start = cpu_seconds();
    let (moments, quantiles) = of(values);
    let cpu_s = cpu_seconds() - start;
    let or_zero = |value: Option<i64>| value.unwrap_or_default();
    format!(
        r#"{{"count": {}, "min": {}, "max": {}, "mean": {}, "sd": {}, "quantiles": {:?}, "cpu_s": {cpu_s}}}"#,
        moments.count(),
        or_zero(moments.min()),
        or_zero(moments.max()),
        moments.mean().unwrap_or_default(),
        moments.sd(1).unwrap_or_default(),
        quantiles.map(or_zero),
    )
}

/// What this process has used, in seconds.
fn cpu_seconds() -> f64 {
    let used = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = used.split(' ').next().and_then(|word| word.parse().ok());
    nanos.unwrap_or(0.0) / 1e9
}
