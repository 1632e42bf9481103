//! Switches as state machines: which item leaves next, which is dropped, which is marked.
//!
//! Nothing here reads a clock. Whoever drives a [`Switch`] hands it `now`: a simulator its virtual
//! time, a soft switch its real one. What is queued is up to them too (an [`Item`]): a cell of 16
//! bytes, the number of a packet in an arena, a frame.
//!
//! | module | decides |
//! |---|---|
//! | [`item`] | what a queue needs to know of what it holds; what is dropped, and why |
//! | [`settings`] | what a `[path.switch]` means, with its defaults, and what is wrong with it |
//! | [`switch`] | which port, which buffer: the whole device |
//! | [`buffer`] | what still fits: limits, pools, dynamic thresholds |
//! | [`discard`] | whether the rest of a PDU is worth keeping: EPD and PPD |
//! | [`discipline`] | which item is next, which is dropped early or marked; one file each |
//! | `growing` | lists by small numbers that grow as numbers come |
//! | `weights` | how much each flow or class queue counts beside the others |
//! | [`crossbar`] | which cells go from input buffers to output ports together: PIM, iSLIP, FIFO |
//! | [`flow_control`] | when a neighbour is to stop sending: PAUSE, PFC, headroom |
//! | [`credit`] | what may be sent on a virtual channel: N23 |
//! | [`token_bucket`] | what waits for tokens, and what is dropped without them |
//! | [`explicit_rate`] | which rate a switch writes into RM cells: EPRCA, ERICA |
//!
//! ```
//! use delaylab_switch::discipline::codel::{CoDel, Parameters};
//! use delaylab_switch::{Item, Queue};
//!
//! struct Packet(u32);
//! impl Item for Packet {
//!     fn bytes(&self) -> u32 { self.0 }
//!     fn flow(&self) -> u32 { 0 }
//! }
//!
//! // CoDel behind a line that takes a millisecond a packet, and gets two: times are in picoseconds.
//! const MS: u64 = 1_000_000_000;
//! let mut queue = CoDel::new(Parameters { target: 5 * MS, interval: 100 * MS, largest: 1_514 });
//! let mut dropped = Vec::new();
//! for now in (0..2000).map(|ms| ms * MS) {
//!     queue.enqueue(now, Packet(1500), &mut dropped);
//!     queue.enqueue(now, Packet(1500), &mut dropped);
//!     queue.dequeue(now, &mut dropped);
//! }
//! assert!(!dropped.is_empty());
//! ```
#![forbid(unsafe_code)]

pub mod buffer;
pub mod credit;
pub mod crossbar;
pub mod discard;
pub mod discipline;
pub mod explicit_rate;
pub mod flow_control;
mod growing;
pub mod item;
pub mod settings;
pub mod switch;
#[cfg(test)]
mod tests;
pub mod token_bucket;
mod weights;

pub use discipline::{Discipline, Queue};
pub use item::{Backlog, Cause, Dropped, Item, Pdu};
pub use settings::{Counts, Settings};
pub use switch::Switch;
