//! The faces of `delaylab explain`: why packets were late, on a terminal and in JSON. The page has it
//! in [`mod@crate::html`].
//!
//! | module | prints |
//! |---|---|
//! | [`terminal`] | a page for people |
//! | [`json`] | one document for programs, and its JSON Schema |
//! | `words.rs` | effects and changes in words |

pub mod json;
pub mod terminal;
pub(crate) mod words;
