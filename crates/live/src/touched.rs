//! Memory that is there before it is measured in.

/// An empty vector with room for this number, every page of which has been written to: memory that was only reserved costs a
/// page fault when it is first used. `filler` must not be all zeros, or the kernel would be asked for zeroed pages instead.
pub(crate) fn touched<T: Clone>(room: usize, filler: T) -> Vec<T> {
    let mut filled = vec![filler; room];
    filled.clear();
    filled
}
