//! Pacing, probing and reflecting as state machines that are handed `now`: no clock, no socket, no sleep.
//!
//! | module | decides |
//! |---|---|
//! | [`pacing`] | when the next packet is due |
//! | [`prober`] | what came of each packet: answered, lost, late, duplicated, reordered |
//! | [`reflector`] | which packets are answered, and with what |
#![forbid(unsafe_code)]

pub mod pacing;
pub mod prober;
pub mod reflector;
