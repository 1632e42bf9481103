//! All integration tests of the command, in one program: each would link every crate again.
//!
//! | module | tests |
//! |---|---|
//! | [`dependencies`] | every dependency has a line that says why |
//! | [`e2e`] | the binary: real processes, sockets and networks |
//! | [`guide`] | the user guide: contents, links, figures |
//! | [`packaging`] | the Debian package: what its services may do, and what its scripts call |
//! | [`repo_rules`] | rules of this repository that the compiler does not check |
//! | [`web`] | pages in a real browser |
//! | [`harness`] | gives what the others stand on |
//!
//! A test whose module is called `alone` has the machine to itself, and one in a module called `long` runs with
//! `make test-all` only (`.config/nextest.toml`). The commands in the documents are run by `docs.rs`.
#![allow(clippy::unwrap_used)]

mod dependencies;
mod e2e;
mod guide;
mod harness;
mod packaging;
mod repo_rules;
mod web;
