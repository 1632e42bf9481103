//! Real probes, the reflector that answers them, and the host that they are measured on.
//!
//! | module | holds |
//! |---|---|
//! | [`condition`] | the state of the measuring host: normal, quiet, stressed |
//! | [`doctor`] | what this host can measure, what it lacks, what that costs |
//! | [`reflect`] | the server that answers them |
//! | [`prober`] | probes on a real path: icmp, udp, tcp, stamp |
#![forbid(unsafe_code)]

mod clocks;
pub mod condition;
pub mod doctor;
pub mod prober;
pub mod reflect;
