//! What holds of the rows of a table of a run, whatever its columns: in which order they stand, and whether there may be none.

/// A row of a table. Of its default nothing is known.
pub trait TableRow: Clone + Default + Send + 'static {
    /// Is there no file where there are no rows? Runs of versions before the table have none.
    const IS_OPTIONAL: bool = true;
    /// How many places too late a row may come and still be put right.
    const WINDOW: usize = 1 << 14;
    /// What the rows of one stream are sorted by.
    type Key<'a>: Ord
    where
        Self: 'a;

    /// Its place among the rows of its trial and stream.
    fn key(&self) -> Self::Key<'_>;

    /// Which of the trial's streams it is of: those are kept apart on disk.
    fn stream(&self) -> u16 {
        0
    }
}
