//! Why was it late? What the records of a run say about its path, and what other tools have measured.
//!
//! | module | holds |
//! |---|---|
//! | [`import`] | readers of what people already have: ping, fping, irtt, sockperf, mtr, iperf3, captures |
//!
//! Everything here is sans-IO: bytes and records in, plain data out.
#![forbid(unsafe_code)]

pub mod import;
