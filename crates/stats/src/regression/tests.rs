#![allow(clippy::unwrap_used)]
use super::*;
use crate::testing::Gaussian;
use proptest::prelude::*;

fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Gaussian::new(seed + 1);
    (0..count).map(|_| random.next()).collect()
}

/// A grid of sizes and buffers, like source 001's.
fn grid(repeats: usize) -> [Vec<f64>; 2] {
    let sizes = [64.0, 128.0, 256.0, 512.0, 1024.0, 1280.0, 1518.0];
    let buffers = [1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0];
    let mut factors = [Vec::new(), Vec::new()];
    for (&size, &buffer) in sizes
        .iter()
        .flat_map(|size| buffers.iter().map(move |b| (size, b)))
    {
        for _ in 0..repeats {
            factors[0].push(size);
            factors[1].push(buffer);
        }
    }
    factors
}

fn plane() -> Model {
    Model::new(["size", "buffer"])
        .constant()
        .linear(0)
        .linear(1)
}

fn line() -> Model {
    Model::polynomial("x", 1)
}

fn steps(count: usize) -> Vec<f64> {
    (0..count).map(|index| index as f64).collect()
}

proptest! {
    /// Without noise but that of rounding, the coefficients are those the observations came of.
    #[test]
    fn known_coefficients_are_found_again(
        known in proptest::collection::vec(-1e3..1e3_f64, 5),
    ) {
        let model = plane().interaction(&[0, 1]).power(1, 2);
        let factors = grid(1);
        let levels = factors[0].iter().zip(&factors[1]);
        let y: Vec<f64> = levels
            .map(|(s, b)| known[0] + known[1] * s + known[2] * b + known[3] * s * b + known[4] * b * b)
            .collect();
        let regression = model.fit(&factors, &y).unwrap();
        let largest = y.iter().fold(1.0, |most: f64, y| most.max(y.abs()));
        let sizes = [1.0, 1e3, 1e2, 1e5, 1e4];
        for ((found, known), size) in regression.fit.coefficients.iter().zip(&known).zip(sizes) {
            prop_assert!((found.value - known).abs() < 1e-13 * largest / size);
        }
    }

    #[test]
    fn residuals_are_orthogonal_to_every_column_and_complete_what_is_fitted(
        y in proptest::collection::vec(-1e6..1e6_f64, 56),
    ) {
        let model = plane().power(0, 2).interaction(&[0, 1]);
        let factors = grid(1);
        let regression = model.fit(&factors, &y).unwrap();
        for column in &regression.columns {
            let pairs = column.iter().zip(&regression.residuals);
            let products = pairs.map(|(x, rest)| x.to_f64() * rest);
            let (sum, size) = products.fold((0.0, 0.0), |(sum, size): (f64, f64), product| {
                (sum + product, size + product.abs())
            });
            prop_assert!(sum.abs() <= 1e-13 * size, "{sum} {size}");
        }
        let whole = regression.fitted.iter().zip(&regression.residuals);
        for ((fitted, rest), y) in whole.zip(&y) {
            prop_assert!((fitted + rest - y).abs() < 1e-9);
        }
    }

    /// Other units of the factors and the observations change the coefficients and nothing else.
    #[test]
    fn units_do_not_matter(
        y in proptest::collection::vec(-1e3..1e3_f64, 56), unit in 1e-9..1e9_f64,
    ) {
        let model = plane().interaction(&[0, 1]);
        let factors = grid(1);
        let plain = model.fit(&factors, &y).unwrap();
        let [size, buffer] = factors;
        let size = size.iter().map(|x| x * unit).collect();
        let y: Vec<f64> = y.iter().map(|y| y * unit).collect();
        let other = model.fit(&[size, buffer], &y).unwrap();
        prop_assert!((plain.fit.r2 - other.fit.r2).abs() < 1e-12);
        for (a, b) in plain.fit.coefficients.iter().zip(&other.fit.coefficients) {
            let (a, b) = (a.inference.unwrap(), b.inference.unwrap());
            prop_assert!((a.t - b.t).abs() < 1e-8 * (1.0 + a.t.abs()));
        }
        for (a, b) in plain.inflation().iter().zip(other.inflation()) {
            prop_assert!((a.raw / b.raw - 1.0).abs() < 1e-9);
            prop_assert!((a.centred.unwrap() / b.centred.unwrap() - 1.0).abs() < 1e-9);
        }
    }
}

/// The tenth power of a time in nanoseconds is near 10¹⁸⁰, and its square beyond any float.
#[test]
fn powers_of_large_numbers_are_no_different() {
    let model = Model::new(["x"]).constant().power(0, 10);
    let fit = |unit: f64| {
        let x = steps(20).iter().map(|x| (x + 1.0) * unit).collect();
        let regression = model.fit(&[x], &noise(20, 1)).unwrap();
        let inference = regression.fit.coefficients[1].inference.unwrap();
        (inference.t, regression.inflation()[0].raw)
    };
    let (plain, large) = (fit(1.0), fit(1e18));
    assert!(
        (plain.0 / large.0 - 1.0).abs() < 1e-12,
        "{plain:?} {large:?}"
    );
    assert!((plain.1 - 1.0).abs() < 1e-12 && (large.1 - 1.0).abs() < 1e-12);
}

/// Share of `seeds` for which `covers`.
fn share(seeds: u64, covers: impl Fn(u64) -> bool) -> f64 {
    let covering = (0..seeds).filter(|&seed| covers(seed)).count();
    covering as f64 / seeds as f64
}

fn holds(inference: Inference, value: f64) -> bool {
    inference.interval.0 <= value && value <= inference.interval.1
}

#[test]
fn intervals_of_independent_noise_cover_as_they_say() {
    let factors = grid(1);
    let model = plane();
    for (term, value) in [(0, 3.0), (1, 0.02), (2, 0.0)] {
        let covered = share(2000, |seed| {
            let levels = factors[0].iter().zip(noise(56, seed));
            let y: Vec<f64> = levels.map(|(size, e)| 3.0 + 0.02 * size + e).collect();
            let regression = model.fit(&factors, &y).unwrap();
            holds(regression.fit.coefficients[term].inference.unwrap(), value)
        });
        assert!((0.93..0.97).contains(&covered), "{term}: {covered}");
    }
}

#[test]
fn orthogonal_factors_are_not_inflated() {
    let regression = plane().fit(&grid(2), &noise(112, 1)).unwrap();
    for inflation in regression.inflation() {
        assert!((inflation.raw - 1.0).abs() < 1e-14, "{inflation:?}");
        assert!((inflation.centred.unwrap() - 1.0).abs() < 1e-14);
    }
}

#[test]
fn an_interaction_inflates_until_factors_are_centred() {
    let model = plane().interaction(&[0, 1]);
    let regression = model.fit(&grid(1), &noise(56, 1)).unwrap();
    let inflation = regression.inflation();
    assert_eq!(
        inflation.iter().map(|i| i.term).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(inflation.iter().all(|i| i.raw > 2.0), "{inflation:?}");
    assert!(
        inflation
            .iter()
            .all(|i| (i.centred.unwrap() - 1.0).abs() < 1e-12)
    );
}

/// By the definition, 1/(1 − R²) of a factor on the other.
#[test]
fn inflation_is_that_of_its_definition() {
    let x = noise(60, 1);
    let z: Vec<f64> = x
        .iter()
        .zip(noise(60, 2))
        .map(|(x, e)| 5.0 + x + 0.3 * e)
        .collect();
    let r2 = line().fit(std::slice::from_ref(&x), &z).unwrap().fit.r2;
    let model = Model::new(["x", "z"]).constant().linear(0).linear(1);
    for inflation in model.fit(&[x, z], &noise(60, 3)).unwrap().inflation() {
        assert!(
            (inflation.raw * (1.0 - r2) - 1.0).abs() < 1e-12,
            "{inflation:?}"
        );
    }
}

/// How often a test says p < 0.05.
fn alarms(test: impl Fn(u64) -> f64) -> f64 {
    share(1000, |seed| test(seed) < 0.05)
}

#[test]
fn a_spread_that_grows_is_told_from_an_even_one() {
    let x = steps(100);
    let p = |spread: fn(f64) -> f64, seed| {
        let pairs = x.iter().zip(noise(100, seed));
        let y: Vec<f64> = pairs.map(|(x, e)| 2.0 + x + spread(*x) * e).collect();
        let regression = line().fit(std::slice::from_ref(&x), &y).unwrap();
        regression.heteroscedasticity().unwrap().p
    };
    let (false_alarms, power) = (
        alarms(|seed| p(|_| 1.0, seed)),
        alarms(|seed| p(|x| 1.0 + x / 25.0, seed)),
    );
    assert!((0.02..0.07).contains(&false_alarms), "{false_alarms}");
    assert!(power > 0.95, "{power}");
}

#[test]
fn a_curve_is_told_from_a_line() {
    let factors = [grid(2)[0].clone()];
    let p = |bend: f64, seed| {
        let pairs = factors[0].iter().zip(noise(112, seed));
        let y: Vec<f64> = pairs
            .map(|(x, e)| 2.0 + 0.02 * x + bend * x.sqrt() + e)
            .collect();
        let regression = line().fit(&factors, &y).unwrap();
        (
            regression.reset().unwrap().p,
            regression.lack_of_fit().unwrap().p,
        )
    };
    let reset = (alarms(|seed| p(0.0, seed).0), alarms(|seed| p(0.3, seed).0));
    let lack = (alarms(|seed| p(0.0, seed).1), alarms(|seed| p(0.3, seed).1));
    println!("reset {reset:?}, lack of fit {lack:?}");
    for (false_alarms, power) in [reset, lack] {
        assert!((0.03..0.07).contains(&false_alarms), "{false_alarms}");
        assert!(power > 0.8, "{power}");
    }
}

/// The sums of squares by hand: settings 0, 1, 2 with means 1, 4, 3 and 2 within each.
#[test]
fn lack_of_fit_of_six_observations() {
    let x = vec![0.0, -0.0, 1.0, 1.0, 2.0, 2.0];
    let y = [0.0, 2.0, 3.0, 5.0, 2.0, 4.0];
    let regression = line().fit(&[x], &y).unwrap();
    let test = regression.lack_of_fit().unwrap();
    // The line is 5/3 + x; means are off by −⅔, 4/3, −⅔, twice each: 16/3 on one degree.
    assert_eq!(test.degrees, (1, 3));
    assert!(
        (test.f - (16.0 / 3.0) / (6.0 / 3.0)).abs() < 1e-13,
        "{test:?}"
    );
    // With all factors at three settings the fullest model leaves nothing between them.
    let curve = Model::polynomial("x", 2);
    let x = vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
    assert!(curve.fit(&[x], &y).unwrap().lack_of_fit().is_none());
}

#[test]
fn what_cannot_be_tested_is_none() {
    // Two levels bend no line.
    let x = vec![1.0, 1.0, 2.0, 2.0];
    let regression = line().fit(&[x], &[1.0, 2.0, 5.0, 7.0]).unwrap();
    assert!(regression.reset().is_none() && regression.lack_of_fit().is_none());
    let constant = Model::new(["x"]).constant();
    let regression = constant.fit(&[steps(10)], &noise(10, 1)).unwrap();
    assert!(regression.reset().is_none() && regression.heteroscedasticity().is_none());
    // Without repeats nothing to compare with; nothing left over; no degree of freedom.
    let regression = line().fit(&[steps(10)], &noise(10, 1)).unwrap();
    assert!(regression.reset().is_some() && regression.lack_of_fit().is_none());
    let y: Vec<f64> = steps(10).iter().map(|x| 0.1 + 0.7 * x).collect();
    let regression = line().fit(&[steps(10)], &y).unwrap();
    assert!(regression.heteroscedasticity().is_none() && regression.reset().is_none());
    let regression = line().fit(&[steps(2)], &[0.0, 1.0]).unwrap();
    assert!(regression.fit.f.is_none());
    assert!(regression.heteroscedasticity().is_none());
}

/// A simulated floor that does not move: no slope, no doubt, and no significance from rounding.
#[test]
fn observations_that_never_change() {
    let regression = plane().fit(&grid(2), &[0.1; 112]).unwrap();
    let fit = &regression.fit;
    assert_eq!((fit.r2, fit.adjusted_r2, fit.f), (1.0, Some(1.0), None));
    assert_eq!(fit.residual_sd, Some(0.0));
    assert!((fit.coefficients[0].value - 0.1).abs() < 1e-17);
    for coefficient in &fit.coefficients[1..] {
        let inference = coefficient.inference.unwrap();
        assert_eq!(
            (coefficient.value, inference.t, inference.p),
            (0.0, 0.0, 1.0)
        );
        assert_eq!(inference.interval, (0.0, 0.0));
    }
    assert!(regression.heteroscedasticity().is_none() && regression.lack_of_fit().is_none());
}

#[test]
fn refuses_what_has_no_answer() {
    let x = steps(5);
    let fit = |model: Model, factors: &[Vec<f64>], y: &[f64]| model.fit(factors, y).err();
    let y = [1.0; 5];
    let one = std::slice::from_ref(&x);
    assert_eq!(fit(line(), &[], &y), Some(FitError::NotFinite));
    assert_eq!(fit(line(), one, &y[1..]), Some(FitError::NotFinite));
    assert_eq!(fit(line().linear(0), one, &y), Some(FitError::Dependent));
    assert_eq!(
        fit(Model::polynomial("x", 5), one, &y),
        Some(FitError::TooFew)
    );
    assert_eq!(fit(Model::new(["x"]), one, &y), Some(FitError::TooFew));
    let large = vec![1e60, 2e60, 3e60, 4e60, 5e60];
    assert_eq!(
        fit(Model::new(["x"]).power(0, 6), &[large], &y),
        Some(FitError::NotFinite)
    );
    let nan = vec![0.0, 1.0, f64::NAN, 2.0, 3.0];
    assert_eq!(fit(line(), &[nan], &y), Some(FitError::NotFinite));
}
