//! Everything that sends, as state machines that are handed `now`: no clock, no socket, no sleep.
//!
//! | module | decides |
//! |---|---|
//! | [`abr`] | at which rate the ends of an ATM connection send, and what they tell each other |
//! | [`admission`] | who gets a place where there are only so many, and who gives way |
//! | [`arrival`] | when a load sends a packet |
//! | [`pacing`] | when the next packet is due |
//! | [`path_trace`] | which hop of a path is asked next, by class, and where classes differ |
//! | [`prefix`] | which addresses belong together |
//! | [`prober`] | what came of each packet: answered, lost, late, duplicated, reordered |
//! | [`reflector`] | which packets are answered, and with what |
//! | `replay` | which sequence numbers have come before |
//! | [`tester`] | what came of each frame of a tester, and whether it was sent as asked |
//! | [`tcp`] | what a TCP sends, and when it acknowledges |
#![forbid(unsafe_code)]

pub mod abr;
pub mod admission;
pub mod arrival;
pub mod pacing;
pub mod path_trace;
pub mod prefix;
pub mod prober;
pub mod reflector;
mod replay;
pub mod tcp;
pub mod tester;
