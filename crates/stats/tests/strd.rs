//! NIST's Statistical Reference Datasets for linear regression: all eleven, against values that NIST
//! computed with 500 digits and certifies to 15.
#![allow(clippy::unwrap_used)]

use delaylab_stats::least_squares::least_squares;
use delaylab_stats::regression::Model;
use std::fs;

/// Correct digits that every certified value shall have.
const DIGITS: f64 = 13.0;

#[derive(Default)]
struct Certified {
    values: Vec<f64>,
    errors: Vec<f64>,
    residual_sd: f64,
    r2: f64,
    f: f64,
    y: Vec<f64>,
    factors: Vec<Vec<f64>>,
}

fn read(name: &str) -> Certified {
    let path = format!("{}/tests/data/strd/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let mut certified = Certified::default();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        let numbers = || rest.split(' ').map(|number| number.parse::<f64>().unwrap());
        let first = || numbers().next().unwrap();
        match kind {
            "#" => (),
            "coefficient" => {
                certified.values.push(first());
                certified.errors.push(numbers().nth(1).unwrap());
            }
            "residual_sd" => certified.residual_sd = first(),
            "r2" => certified.r2 = first(),
            "f" => certified.f = first(),
            "data" => {
                certified.y.push(first());
                let levels: Vec<f64> = numbers().skip(1).collect();
                certified.factors.resize(levels.len(), Vec::new());
                let columns = certified.factors.iter_mut().zip(levels);
                columns.for_each(|(column, level)| column.push(level));
            }
            _ => panic!("{name}: {line}"),
        }
    }
    certified
}

/// Logarithm of the relative error, at most the 15 digits that are certified. Of a certified zero
/// that of the error over `scale`.
fn digits(found: f64, certified: f64, scale: f64) -> f64 {
    let error = if certified == 0.0 {
        found.abs() / scale
    } else {
        (found / certified - 1.0).abs()
    };
    if found == certified || error == 0.0 {
        return 15.0;
    }
    (-error.log10()).min(15.0)
}

fn check(name: &str, model: Model) {
    let certified = read(name);
    let regression = model.fit(&certified.factors, &certified.y).unwrap();
    let fit = &regression.fit;
    assert_eq!(fit.coefficients.len(), certified.values.len(), "{name}");
    let mut worst = vec![("r2".to_owned(), digits(fit.r2, certified.r2, 1.0))];
    let largest = certified
        .y
        .iter()
        .fold(0.0, |most: f64, y| most.max(y.abs()));
    let residual_sd = fit.residual_sd.unwrap();
    let sd_digits = digits(residual_sd, certified.residual_sd, largest);
    worst.push(("residual_sd".to_owned(), sd_digits));
    let terms = regression.terms.iter().zip(&fit.coefficients);
    for ((term, found), index) in terms.zip(0..) {
        let value = certified.values[index];
        worst.push((term.clone(), digits(found.value, value, 1.0)));
        let error = found.inference.unwrap().error;
        let error_digits = digits(error, certified.errors[index], value.abs());
        worst.push((format!("error of {term}"), error_digits));
    }
    let f = fit.f.unwrap().f;
    if certified.f.is_finite() {
        worst.push(("f".to_owned(), digits(f, certified.f, 1.0)));
    } else {
        assert!(f > 1e28, "{name}: {f}");
    }
    worst.sort_by(|a, b| a.1.total_cmp(&b.1));
    println!("{name}: {:?}", &worst[..4.min(worst.len())]);
    assert!(worst[0].1 >= DIGITS, "{name}: {worst:?}");
}

#[test]
fn norris() {
    check("norris", Model::polynomial("x", 1));
}

#[test]
fn pontius() {
    check("pontius", Model::polynomial("x", 2));
}

#[test]
fn no_constant() {
    check("noint1", Model::new(["x"]).linear(0));
    check("noint2", Model::new(["x"]).linear(0));
}

#[test]
fn filip() {
    check("filip", Model::polynomial("x", 10));
}

#[test]
fn longley() {
    let names = (1..=6).map(|index| format!("x{index}"));
    let model = Model::new(names).constant();
    check("longley", (0..6).fold(model, Model::linear));
}

#[test]
fn wampler() {
    for index in 1..=5 {
        check(&format!("wampler{index}"), Model::polynomial("x", 5));
    }
}

/// Why powers are formed inside: rounded to floats, they are other columns.
#[test]
fn powers_that_were_rounded_first_cost_filip_its_digits() {
    let certified = read("filip");
    let power = |exponent| {
        let levels = certified.factors[0].iter();
        levels.map(|level| level.powi(exponent)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..=10).map(power).collect();
    let fit = least_squares(&columns, &certified.y).unwrap();
    let pairs = fit.coefficients.iter().zip(&certified.values);
    let worst = pairs
        .map(|(found, &value)| digits(found.value, value, 1.0))
        .fold(15.0, f64::min);
    println!("filip of rounded powers: {worst}");
    assert!((6.0..10.0).contains(&worst), "{worst}");
}
