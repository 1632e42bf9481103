#![allow(clippy::unwrap_used)]
//! The rules one by one, and greedy connections through one queue.

mod greedy;
mod parameters;
mod rates;
mod rules;

use super::*;
use delaylab_model::path::AbrPreset;

fn eprca() -> Parameters {
    Parameters::preset(AbrPreset::Eprca1995, 155_520_000)
}

fn backward(congestion: bool) -> ResourceManagement {
    ResourceManagement {
        backward: true,
        notification: false,
        congestion,
        no_increase: false,
        explicit_rate: f64::INFINITY,
        current_rate: 0.0,
        minimum_rate: 0.0,
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}
