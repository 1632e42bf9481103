//! Lists by small numbers, such as those of flows, that grow as numbers come.

/// The entry of this number. Those that were not there are `fresh`.
#[inline]
pub(crate) fn at<T: Clone>(all: &mut Vec<T>, number: usize, fresh: T) -> &mut T {
    if number >= all.len() {
        all.resize(number + 1, fresh);
    }
    &mut all[number]
}
