//! The soft switch: the disciplines of crate `switch` in real time, between the ends of veth pairs.
//!
//! | module | does |
//! |---|---|
//! | [`frame`] | reads a frame: flow, class, size on the wire |
//! | [`probes`] | says whose packet it carries |
//! | [`device`] | decides what becomes of it, and when; knows no clock |
//! | [`driver`] | reads and sends on time |

pub mod device;
pub mod driver;
pub mod frame;
pub mod probes;
