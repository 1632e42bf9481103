//! Where something is carried out: where this process is, or where its threads go first.

use std::io;
use std::sync::Arc;

/// What a thread does first, to be where its sockets belong: on a testbed, entering a namespace.
pub type Enter = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;

/// Something to carry out, and where.
#[derive(Clone)]
pub struct Placed<T> {
    /// What.
    pub run: T,
    /// How its threads get there; `None`: it stays where it is.
    pub enter: Option<Enter>,
}

impl<T> Placed<T> {
    /// Where this process is.
    pub const fn here(run: T) -> Self {
        Self { run, enter: None }
    }
}

/// Goes there, if there is somewhere to go.
pub(crate) fn enter_place(enter: Option<&Enter>) -> io::Result<()> {
    enter.map_or(Ok(()), |enter| enter())
}
