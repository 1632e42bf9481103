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
