//! The testbed: hosts, switches and routers as network namespaces on this machine, joined by veth pairs;
//! real kernels, real sockets, real TCP.
//!
//! A trial's path section becomes a [`layout`], which says of every namespace what is in it. [`build`]
//! carries it out, by `ip`, `tc` and `nft`, and takes it down. Between the ends are either the kernel's
//! own queues or the [`soft_switch`]. [`world`] probes inside.
//!
//! | module | holds |
//! |---|---|
//! | [`layout`] | what a path section becomes: namespaces, addresses, routes, queues |
//! | [`step`] | one command, to be printed or carried out |
//! | [`tool`] | a command that is needed, and its package |
//! | [`build`] | a testbed that stands: built, entered, taken down; what others left behind |
//! | [`soft_switch`] | the disciplines of crate `switch` in real time |
//! | [`reflectors`] | who answers at each host |
//! | [`servers`] | web and name servers at hosts |
//! | [`kernel_queues`] | what the kernel's queues hold over time |
//! | [`rootless`] | being allowed to build one |
//! | `seen` | what the soft switches saw, as hops and series |
//! | [`world`] | the trait `World` |
//!
//! Nothing is connected to the namespace that delaylab was started in: no packet can leave.
#![forbid(unsafe_code)]

pub mod build;
pub mod kernel_queues;
pub mod layout;
pub mod reflectors;
pub mod rootless;
mod seen;
pub mod servers;
pub mod soft_switch;
pub mod step;
pub mod tool;
pub mod world;
