//! The experiment file: read, checked, and resolved to the trials of a run.
//!
//! A file becomes a tree in which each value keeps the place where it was written. Four overlays change
//! the tree, in this order: the world's section `[in.WORLD]`, the short form `[quick]`, `--set`, and one
//! combination of levels. Only then is the tree read as types. So every error points to the text that
//! caused it.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`](mod@catalogue) | the experiments that come with delaylab |
//! | `tree` | values with the place where each was written |
//! | `overlay` | overlays one tree on another, and sets single values |
//! | `exclusive` | groups of fields that exclude each other |
//! | `address` | dotted paths such as `probe.echo.count` |
//! | `reader` | deserializes types from the tree |
//! | `sections` | the sections of the file as types |
//! | `level`, `factor` | the factors that vary, and their levels |
//! | `probe`, `frame_probe`, `request`, `probe_fields` | turns a `[[probe]]` section into a probe or a stream of frames |
//! | `file` | an experiment file, its worlds and its forms |
//! | `read`, `check` | reads a file and checks all of it |
//! | `choices` | what the user chooses for a run |
//! | `resolve`, `set` | applies the user's choices and `--set`, and makes the trials of the run |
//! | `combine` | turns combinations of levels into trials |
//! | `replay_traces` | reads the trace files of replay loads |
//! | `estimate` | how long trials take |
//! | `order` | the order of trials and their seeds, from the seed of the run |
//! | `claims` | checks findings and figures, and lists the names that they use |
//! | `literal` | finds the place of part of a string in the file |
//! | `names` | checks that factors, levels and measures in findings and figures exist |
//! | `one_repeat` | claims that no run of one repeat shows |
//! | [`plan`] | the factorial design as a plan |
//! | [`stop`], [`sequential`] | the stop rule, and a plan that repeats trials until the rule is met |
//! | `write` | the resolved experiment as text |
//! | `diagnostic` | errors with their place in the file |
//! | [`schema`](fn@schema) | the file's JSON Schema |

mod address;
pub mod catalogue;
mod check;
mod choices;
mod claims;
mod combine;
mod diagnostic;
mod estimate;
mod exclusive;
mod factor;
mod file;
mod frame_probe;
mod level;
mod literal;
mod names;
mod one_repeat;
mod order;
mod overlay;
pub mod plan;
mod probe;
mod probe_fields;
mod read;
mod reader;
mod replay_traces;
mod request;
mod resolve;
mod schema;
mod sections;
#[cfg(feature = "runs")]
pub mod sequential;
mod set;
pub mod stop;
mod tree;
mod write;

pub use crate::suggest::closest;
pub use choices::Choices;
pub use combine::SkippedCase;
pub use diagnostic::{Diagnostic, Diagnostics, Source};
pub use estimate::{Estimate, estimate};
pub use file::Experiment;
pub use names::not_applicable;
pub use one_repeat::needs_repeats;
pub use plan::FactorialPlan;
pub use resolve::{Extent, Resolved};
pub use schema::schema;
#[cfg(feature = "runs")]
pub use sequential::SequentialPlan;
