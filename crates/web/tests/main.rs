//! Pages and explanations as a reader gets them.
//!
//! | module | tests |
//! |---|---|
//! | [`browser`] | pages from disk in a real browser |
//! | [`frames`] | runs of frames, which go one way |
//! | [`explain`] | runs that something is wrong with |
//! | [`served`] | how the server sends what it answers: compressed, once, at once |
#![allow(clippy::unwrap_used)]

mod browser;
mod explain;
mod frames;
mod served;

use delaylab_view::run::RunData;

/// With all that is said of it and every figure, of one panel's packets: to draw them is what takes long.
fn with_few_points(mut run: RunData) -> RunData {
    run.panels.truncate(1);
    run.trials.retain(|trial| trial.panel == 0);
    run
}
