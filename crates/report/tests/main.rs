//! Pages and explanations as a reader gets them.
//!
//! | module | tests |
//! |---|---|
//! | [`browser`] | pages from disk in a real browser |
//! | [`explain`] | runs that something is wrong with |
#![allow(clippy::unwrap_used)]

mod browser;
mod explain;
