//! The live view of a measurement under way: `--tui`.
//!
//! | module | holds |
//! |---|---|
//! | `state.rs` | takes records, in flat memory; makes a view of what came so far |
//! | `measured.rs` | what is kept of one probe |
//! | `strip.rs` | the worst response of each moment of late |
//! | `late.rs` | the latest excursions, and which of them are one event |
//! | `log_bins.rs` | the distribution, in bins of equal ratio |
//! | `view.rs` | what there is to see at one moment |
//! | `screen.rs` | a view on a terminal of any size: who gets how many rows |
//! | `canvas.rs` | text and bars in a part of the screen |
//! | `head.rs`, `distribution.rs`, `anatomy.rs`, `recent.rs`, `excursions.rs`, `keys.rs` | the parts of the screen |
//! | `driver.rs` | draws it on a thread of its own, and reads keys |
//!
//! A screen is a function of a view, and a view of records and `now`: nothing here knows a terminal. Whoever
//! calls draws on one, and never on the thread that measures.

mod anatomy;
mod canvas;
mod distribution;
mod driver;
mod excursions;
mod head;
mod keys;
mod late;
mod log_bins;
mod measured;
mod recent;
mod screen;
mod state;
mod strip;
mod view;

pub use driver::{Tui, Watcher, check};
pub use view::Progress;

#[cfg(test)]
mod tests;
