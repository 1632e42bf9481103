//! The binary, end to end: real processes, sockets and networks.
//!
//! | module | shows |
//! |---|---|
//! | [`methods`] | every method, size, mark, pacing and kind of loss |
//! | [`planted`] | a delay shows in the stage where it was planted, and in no other |
#![allow(clippy::unwrap_used)]

mod harness;
mod methods;
mod planted;
