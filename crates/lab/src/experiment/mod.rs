//! The experiment file: read, checked, and resolved to the trials of a run.
//!
//! A file becomes a tree of values that know where they were written. What a world has instead, the
//! short form, `--set` and then each combination of levels are laid over the tree; only then is it
//! read as types. So whatever is wrong, wherever it came from, is shown where it was written.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`](mod@catalogue) | the experiments that come with delaylab |
//! | `tree` | values and where they were written; laying one tree over another |
//! | `exclusive` | fields of which there can be only one |
//! | `address` | dotted paths |
//! | `reader` | types from the tree |
//! | `sections` | the sections as types |
//! | `level`, `factor` | what varies |
//! | `probe`, `frame_probe` | a section as the probe that a world carries out, or the stream of frames |
//! | `read` | reading a file and checking all of it |
//! | `resolve`, `set` | the choices of a run, laid over the file |
//! | `combine` | combinations of levels as trials |
//! | `replay_traces` | the files that replays name |
//! | `estimate` | how long trials take |
//! | `order` | their order, from the seed |
//! | `claims` | findings and figures as they are written |
//! | `literal` | where a word of a text is in the file |
//! | `names` | what findings and figures speak of, and whether there is such a thing |
//! | [`plan`] | the factorial design as a plan |
//! | [`stop`], [`sequential`] | the stop rule, and the design as a plan that repeats until it is met |
//! | `write` | the resolved experiment as text |
//! | `diagnostic`, `suggest` | what is wrong, where, and what was meant |
//! | [`schema`](fn@schema) | the file's JSON Schema |

mod address;
pub mod catalogue;
mod claims;
mod combine;
mod diagnostic;
mod estimate;
mod exclusive;
mod factor;
mod frame_probe;
mod level;
mod literal;
mod names;
mod order;
pub mod plan;
mod probe;
mod read;
mod reader;
mod replay_traces;
mod resolve;
mod schema;
mod sections;
#[cfg(feature = "runs")]
pub mod sequential;
mod set;
pub mod stop;
pub(crate) mod suggest;
mod tree;
mod write;

pub use diagnostic::{Diagnostic, Diagnostics, Source};
pub use estimate::{Estimate, estimate};
pub use names::not_applicable;
pub use plan::FactorialPlan;
pub use read::Experiment;
pub use resolve::{Choices, Resolved, SkippedCase};
pub use schema::schema;
#[cfg(feature = "runs")]
pub use sequential::SequentialPlan;
