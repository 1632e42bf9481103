//! Linear least squares by Householder's QR: never by normal equations, which square the condition.
//!
//! Columns are scaled to length one first, and one step of iterative refinement follows. Good for
//! the designs of an experiment: a line or a low power of a factor. For worse conditioned ones
//! (NIST's Filip) this refuses rather than answer with few digits.

use crate::student;

/// Why there is no fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitError {
    /// Fewer observations than coefficients.
    TooFew,
    /// A column is a combination of the others, up to what a float can tell.
    Dependent,
    /// A value that is not a finite number, or columns of unequal length.
    NotFinite,
}

/// A coefficient and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// Its estimate.
    pub value: f64,
    /// Standard error, for independent errors of one variance. NaN without a degree of freedom.
    pub error: f64,
    /// Estimate over standard error.
    pub t: f64,
    /// Two-sided p value of `t`.
    pub p: f64,
    /// Ends of the 95 % interval.
    pub interval: (f64, f64),
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One for each column, in their order.
    pub coefficients: Vec<Coefficient>,
    /// Observations less coefficients.
    pub degrees: u32,
    /// Standard deviation of the residuals, by `degrees`. NaN without one.
    pub residual_sd: f64,
    /// Share of the variation explained; about zero where the model has no constant. 1 where there
    /// is no variation to explain.
    pub r2: f64,
    /// `r2`, less what as many useless columns would explain. NaN without a degree of freedom.
    pub adjusted_r2: f64,
}

/// `y = a + b·x`: the constant first, then the slope.
pub fn line(x: &[f64], y: &[f64]) -> Result<Fit, FitError> {
    least_squares(&[vec![1.0; x.len()], x.to_vec()], y)
}

/// Fits `y` as a combination of `columns`. A column of ones makes it a model with a constant.
pub fn least_squares(columns: &[Vec<f64>], y: &[f64]) -> Result<Fit, FitError> {
    check(columns, y)?;
    let qr = Qr::new(columns)?;
    let mut values = qr.solve(y);
    let correction = qr.solve(&residuals(columns, &values, y));
    values.iter_mut().zip(correction).for_each(|(b, c)| *b += c);
    let rest = residuals(columns, &values, y);
    let rest_squares: f64 = rest.iter().map(|r| r * r).sum();
    let degrees = (y.len() - columns.len()) as u32;
    let variance = rest_squares / f64::from(degrees);
    let coefficients = (values.into_iter().zip(qr.inverse_norms()))
        .map(|(value, norm)| coefficient(value, variance.sqrt() * norm, degrees))
        .collect();
    let has_constant = columns.iter().any(|column| is_constant(column));
    let (r2, adjusted_r2) = explained(y, rest_squares, degrees, has_constant);
    Ok(Fit {
        coefficients,
        degrees,
        residual_sd: variance.sqrt(),
        r2,
        adjusted_r2,
    })
}

fn check(columns: &[Vec<f64>], y: &[f64]) -> Result<(), FitError> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    let whole = |column: &Vec<f64>| column.len() == y.len() && finite(column);
    if !(finite(y) && columns.iter().all(whole)) {
        return Err(FitError::NotFinite);
    }
    if columns.is_empty() || y.len() < columns.len() {
        return Err(FitError::TooFew);
    }
    Ok(())
}

fn is_constant(column: &[f64]) -> bool {
    column[0] != 0.0 && column.iter().all(|&value| value == column[0])
}

fn residuals(columns: &[Vec<f64>], values: &[f64], y: &[f64]) -> Vec<f64> {
    let mut rest = y.to_vec();
    for (column, &value) in columns.iter().zip(values) {
        let terms = rest.iter_mut().zip(column);
        terms.for_each(|(rest, x)| *rest = (-value).mul_add(*x, *rest));
    }
    rest
}

fn coefficient(value: f64, error: f64, degrees: u32) -> Coefficient {
    let half = student::two_sided(0.95, degrees) * error;
    let t = value / error;
    Coefficient {
        value,
        error,
        t,
        p: student::beyond(t, degrees),
        interval: (value - half, value + half),
    }
}

fn explained(y: &[f64], rest_squares: f64, degrees: u32, has_constant: bool) -> (f64, f64) {
    let count = y.len() as f64;
    let about = if has_constant {
        y.iter().sum::<f64>() / count
    } else {
        0.0
    };
    let squares: f64 = y.iter().map(|value| (value - about).powi(2)).sum();
    if squares == 0.0 {
        return (1.0, 1.0);
    }
    let total_degrees = count - f64::from(u8::from(has_constant));
    let unexplained = rest_squares / squares;
    let adjusted = 1.0 - unexplained * total_degrees / f64::from(degrees);
    (1.0 - unexplained, adjusted)
}

/// A matrix of unit columns as reflections and a triangle.
struct Qr {
    /// Householder's vectors, each of squared length 2; zeros before its own index.
    reflections: Vec<Vec<f64>>,
    /// Columns of the triangle, down to the diagonal.
    triangle: Vec<Vec<f64>>,
    scales: Vec<f64>,
}

impl Qr {
    fn new(columns: &[Vec<f64>]) -> Result<Self, FitError> {
        let mut qr = Self {
            reflections: Vec::new(),
            triangle: Vec::new(),
            scales: Vec::new(),
        };
        columns.iter().try_for_each(|column| qr.push(column))?;
        Ok(qr)
    }

    fn push(&mut self, column: &[f64]) -> Result<(), FitError> {
        let scale = norm(column);
        if scale == 0.0 {
            return Err(FitError::Dependent);
        }
        let mut rest: Vec<f64> = column.iter().map(|value| value / scale).collect();
        self.reflect(&mut rest);
        let index = self.reflections.len();
        let mut vector = vec![0.0; rest.len()];
        vector[index..].copy_from_slice(&rest[index..]);
        let length = norm(&vector);
        if length < 1e-13 {
            return Err(FitError::Dependent);
        }
        let diagonal = -length.copysign(vector[index]);
        vector[index] -= diagonal;
        let to_root_two = std::f64::consts::SQRT_2 / norm(&vector);
        vector.iter_mut().for_each(|value| *value *= to_root_two);
        rest.truncate(index);
        rest.push(diagonal);
        self.reflections.push(vector);
        self.triangle.push(rest);
        self.scales.push(scale);
        Ok(())
    }

    /// Qᵀ·values.
    fn reflect(&self, values: &mut [f64]) {
        for vector in &self.reflections {
            let along: f64 = vector.iter().zip(values.iter()).map(|(v, x)| v * x).sum();
            let pairs = values.iter_mut().zip(vector);
            pairs.for_each(|(x, v)| *x -= along * v);
        }
    }

    fn solve(&self, y: &[f64]) -> Vec<f64> {
        let mut turned = y.to_vec();
        self.reflect(&mut turned);
        turned.truncate(self.triangle.len());
        self.back_substitute(&mut turned);
        let unscaled = turned.iter().zip(&self.scales);
        unscaled.map(|(value, scale)| value / scale).collect()
    }

    fn back_substitute(&self, values: &mut [f64]) {
        for row in (0..values.len()).rev() {
            values[row] /= self.triangle[row][row];
            let known = values[row];
            for (above, entry) in values[..row].iter_mut().zip(&self.triangle[row]) {
                *above -= known * entry;
            }
        }
    }

    /// Lengths of the rows of R⁻¹: standard errors in units of the residuals' deviation.
    fn inverse_norms(&self) -> Vec<f64> {
        let size = self.triangle.len();
        let mut squares = vec![0.0; size];
        for index in 0..size {
            let mut unit = vec![0.0; size];
            unit[index] = 1.0;
            self.back_substitute(&mut unit);
            let entries = squares.iter_mut().zip(unit);
            entries.for_each(|(square, entry)| *square += entry * entry);
        }
        let scaled = squares.iter().zip(&self.scales);
        scaled
            .map(|(square, scale)| square.sqrt() / scale)
            .collect()
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn agrees(found: f64, certified: f64, digits: i32) {
        let error = (found / certified - 1.0).abs();
        assert!(
            error < 10_f64.powi(-digits),
            "{found} {certified} {error:e}"
        );
    }

    struct Certified<'a> {
        values: &'a [f64],
        errors: &'a [f64],
        residual_sd: f64,
        r2: f64,
    }

    fn expect(columns: &[Vec<f64>], y: &[f64], certified: &Certified, digits: i32) {
        let fit = least_squares(columns, y).unwrap();
        for (index, coefficient) in fit.coefficients.iter().enumerate() {
            agrees(coefficient.value, certified.values[index], digits);
            agrees(coefficient.error, certified.errors[index], digits);
        }
        agrees(fit.residual_sd, certified.residual_sd, digits);
        agrees(fit.r2, certified.r2, digits);
    }

    fn ones(count: usize) -> Vec<f64> {
        vec![1.0; count]
    }

    /// NIST Statistical Reference Datasets, linear regression: Norris.
    #[test]
    fn nist_norris() {
        let y = [
            0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1,
            778.1, 668.8, 339.3, 448.9, 10.8, 557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6,
            339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2,
        ];
        let x = vec![
            0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6,
            775.5, 666.9, 338.0, 447.5, 11.6, 556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8,
            339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5,
        ];
        let certified = Certified {
            values: &[-0.262323073774029, 1.00211681802045],
            errors: &[0.232818234301152, 0.429796848199937E-03],
            residual_sd: 0.884796396144373,
            r2: 0.999993745883712,
        };
        expect(&[ones(y.len()), x.clone()], &y, &certified, 12);
        let fit = line(&x, &y).unwrap();
        assert_eq!(fit.degrees, 34);
        assert!(fit.coefficients[1].p < 1e-12 && fit.coefficients[0].p > 0.2);
        let (low, high) = fit.coefficients[1].interval;
        assert!(low < 1.002 && 1.0022 < high && high - low < 0.002);
    }

    /// NIST: Pontius, a parabola.
    #[test]
    fn nist_pontius() {
        let y = [
            0.11019, 0.21956, 0.32949, 0.43899, 0.54803, 0.65694, 0.76562, 0.87487, 0.98292,
            1.09146, 1.20001, 1.30822, 1.41599, 1.52399, 1.63194, 1.73947, 1.84646, 1.95392,
            2.06128, 2.16844, 0.11052, 0.22018, 0.32939, 0.43886, 0.54798, 0.65739, 0.76596,
            0.87474, 0.98300, 1.09150, 1.20004, 1.30818, 1.41613, 1.52408, 1.63159, 1.73965,
            1.84696, 1.95445, 2.06177, 2.16829,
        ];
        let x: Vec<f64> = (0..40).map(|i| 150_000.0 * f64::from(i % 20 + 1)).collect();
        let squares = x.iter().map(|x| x * x).collect();
        let certified = Certified {
            values: &[
                0.673565789473684E-03,
                0.732059160401003E-06,
                -0.316081871345029E-14,
            ],
            errors: &[
                0.107938612033077E-03,
                0.157817399981659E-09,
                0.486652849992036E-16,
            ],
            residual_sd: 0.205177424076185E-03,
            r2: 0.999999900178537,
        };
        expect(&[ones(40), x, squares], &y, &certified, 11);
    }

    /// NIST: NoInt1, a line through the origin.
    #[test]
    fn nist_no_constant() {
        let y: Vec<f64> = (130..=140).map(f64::from).collect();
        let x: Vec<f64> = (60..=70).map(f64::from).collect();
        let certified = Certified {
            values: &[2.07438016528926],
            errors: &[0.165289256198347E-01],
            residual_sd: 3.56753034006338,
            r2: 0.999365492298663,
        };
        expect(&[x], &y, &certified, 13);
    }

    /// NIST: Longley, six columns that nearly depend on each other.
    #[test]
    fn nist_longley() {
        let y = [
            60323.0, 61122.0, 60171.0, 61187.0, 63221.0, 63639.0, 64989.0, 63761.0, 66019.0,
            67857.0, 68169.0, 66513.0, 68655.0, 69564.0, 69331.0, 70551.0,
        ];
        let columns = [
            ones(16),
            vec![
                83.0, 88.5, 88.2, 89.5, 96.2, 98.1, 99.0, 100.0, 101.2, 104.6, 108.4, 110.8, 112.6,
                114.2, 115.7, 116.9,
            ],
            vec![
                234289.0, 259426.0, 258054.0, 284599.0, 328975.0, 346999.0, 365385.0, 363112.0,
                397469.0, 419180.0, 442769.0, 444546.0, 482704.0, 502601.0, 518173.0, 554894.0,
            ],
            vec![
                2356.0, 2325.0, 3682.0, 3351.0, 2099.0, 1932.0, 1870.0, 3578.0, 2904.0, 2822.0,
                2936.0, 4681.0, 3813.0, 3931.0, 4806.0, 4007.0,
            ],
            vec![
                1590.0, 1456.0, 1616.0, 1650.0, 3099.0, 3594.0, 3547.0, 3350.0, 3048.0, 2857.0,
                2798.0, 2637.0, 2552.0, 2514.0, 2572.0, 2827.0,
            ],
            vec![
                107608.0, 108632.0, 109773.0, 110929.0, 112075.0, 113270.0, 115094.0, 116219.0,
                117388.0, 118734.0, 120445.0, 121950.0, 123366.0, 125368.0, 127852.0, 130081.0,
            ],
            (1947..=1962).map(f64::from).collect(),
        ];
        let certified = Certified {
            values: &[
                -3482258.63459582,
                15.0618722713733,
                -0.358191792925910E-01,
                -2.02022980381683,
                -1.03322686717359,
                -0.511041056535807E-01,
                1829.15146461355,
            ],
            errors: &[
                890420.383607373,
                84.9149257747669,
                0.334910077722432E-01,
                0.488399681651699,
                0.214274163161675,
                0.226073200069370,
                455.478499142212,
            ],
            residual_sd: 304.854073561965,
            r2: 0.995479004577296,
        };
        expect(&columns, &y, &certified, 10);
    }

    #[test]
    fn refuses_what_has_no_answer() {
        assert_eq!(line(&[1.0], &[1.0]), Err(FitError::TooFew));
        assert_eq!(line(&[], &[]), Err(FitError::TooFew));
        assert_eq!(line(&[2.0; 4], &[1.0; 4]), Err(FitError::Dependent));
        assert_eq!(
            line(&[1.0, f64::NAN], &[1.0, 2.0]),
            Err(FitError::NotFinite)
        );
        assert_eq!(line(&[1.0, 2.0], &[1.0]), Err(FitError::NotFinite));
        let zeros = [ones(3), vec![0.0; 3]];
        assert_eq!(least_squares(&zeros, &[1.0; 3]), Err(FitError::Dependent));
    }

    #[test]
    fn two_points_leave_no_degree_of_freedom() {
        let fit = line(&[1.0, 2.0], &[3.0, 5.0]).unwrap();
        assert!((fit.coefficients[1].value - 2.0).abs() < 1e-12);
        assert_eq!((fit.degrees, fit.r2), (0, 1.0));
        assert!(fit.residual_sd.is_nan() && fit.coefficients[1].p == 1.0);
    }

    proptest! {
        #[test]
        fn a_line_is_found_again(
            a in -1e6..1e6_f64, b in -1e3..1e3_f64,
            x in proptest::collection::btree_set(0_u16..10_000, 3..40),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = x.iter().map(|x| a + b * x).collect();
            let fit = line(&x, &y).unwrap();
            let scale = y.iter().fold(1.0_f64, |most, y| most.max(y.abs()));
            let slope_scale = scale / (x[x.len() - 1] - x[0]);
            prop_assert!((fit.coefficients[1].value - b).abs() < 1e-9 * slope_scale.max(1.0));
            prop_assert!(fit.r2 > 1.0 - 1e-6 || b.abs() < 1e-3);
        }
    }
}
