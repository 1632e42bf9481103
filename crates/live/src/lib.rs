//! Real probes, the reflector that answers them, and the host that they are measured on.
//!
//! | module | holds |
//! |---|---|
//! | [`condition`] | the state of the measuring host: normal, quiet, stressed |
//! | [`doctor`] | what this host can measure, what it lacks, what that costs |
//! | [`noise`] | what disturbs the host while it measures |
//! | [`reflect`] | the server that answers them |
//! | [`prober`] | probes on a real path: icmp, udp, tcp, stamp |
//! | [`world`] | all of it as a [`delaylab_model::world::World`] that carries trials out |
#![forbid(unsafe_code)]

mod clocks;
pub mod condition;
pub mod doctor;
pub mod noise;
pub mod prober;
pub mod reflect;
pub mod world;
