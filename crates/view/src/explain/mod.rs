//! What `delaylab explain` says: why packets were late.
//!
//! | module | holds |
//! |---|---|
//! | [`json`] | one document for programs, and its JSON Schema |
//! | [`words`] | effects, changes, ways, answers and conditions in words |

pub mod json;
pub mod words;
