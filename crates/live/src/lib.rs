//! Real probes, the reflector that answers them, and the host that they are measured on.
//!
//! | module | holds |
//! |---|---|
//! | [`around`] | what else sees the path, and is to know when a trial is measured |
//! | [`condition`] | the state of the measuring host: normal, quiet, stressed |
//! | `connections`, `payload` | what connections of probes and loads are set to, what fills packets |
//! | [`doctor`] | what this host can measure, what it lacks, what that costs |
//! | [`joined()`] | what a thread that has ended gives |
//! | [`load`] | what competes with the probes for the path |
//! | [`noise`] | what disturbs the host while it measures |
//! | `gather` | brings what several threads measure to one sink |
//! | `overflow` | how many datagrams a socket had no room for |
//! | [`reflect`] | the server that answers them |
//! | [`places`] | how many connections a server has at once, and which give way |
//! | [`path_trace`] | the path to a target, by class |
//! | [`prober`] | probes on a real path: icmp, udp, tcp, stamp |
//! | [`tester`] | signed frames through a device, from port to port |
//! | [`world`] | all of it as a [`delaylab_model::world::World`] that carries trials out |
#![forbid(unsafe_code)]

pub mod around;
mod clocks;
pub mod condition;
mod connections;
pub mod doctor;
mod gather;
mod joined;
pub mod load;
pub mod noise;
mod overflow;
pub mod path_trace;
mod payload;
mod placed;
pub mod places;
pub mod prober;
pub mod reflect;
pub mod tester;
mod touched;
pub mod world;

pub use joined::joined;
