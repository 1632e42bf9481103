//! What a path is built of: hosts, switches and links, their rates and queues, and where each flow goes.
//!
//! A trial's `[path]` is resolved here once, by [`build()`], with its defaults and with what no path can have; each world
//! that builds its path translates the result into its own parts. The simulator makes events of it, the testbed namespaces.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@build`] | a trial's path as a network with flows in it |
//! | [`network`] | nodes, ports and links |
//! | [`routes`] | the ways through them |
//! | [`flows`] | from which host to which each probe and load goes |
//! | [`framing`] | bytes on the wire, cells, the largest packet |
//! | [`classes`] | traffic classes: their queues, ways and new names |
//! | [`pointless`] | what would have no effect on this path |
//! | [`queues`] | what `[path.switch]` means on this path |
//! | [`time`] | lengths of time in picoseconds, and as records have them |
//! | `named` | topologies by name |
//! | `listed` | nodes and links one by one |
//! | `line` | what links are like |
//! | `servers` | servers at hosts, and the probes that ask them |
#![forbid(unsafe_code)]

pub mod build;
pub mod classes;
pub mod flows;
pub mod framing;
mod line;
mod listed;
mod named;
pub mod network;
pub mod pointless;
pub mod queues;
pub mod routes;
mod servers;
pub mod time;

pub use build::{Built, build};
pub use flows::Ends;
pub use routes::Routes;
