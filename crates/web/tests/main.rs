//! Pages and explanations as a reader gets them.
//!
//! | module | tests |
//! |---|---|
//! | [`browser`] | pages from disk in a real browser |
//! | [`frames`] | runs of frames, which go one way |
//! | [`explain`] | runs that something is wrong with |
#![allow(clippy::unwrap_used)]

mod browser;
mod explain;
mod frames;
