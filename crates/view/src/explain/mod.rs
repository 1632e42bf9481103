//! What `delaylab explain` says: why packets were late.
//!
//! | module | holds |
//! |---|---|
//! | [`json`] | one document for programs, and its JSON Schema |
//! | [`words`] | effects and changes in words |

pub mod json;
pub mod words;
