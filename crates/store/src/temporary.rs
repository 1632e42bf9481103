//! Names of what gets its real name once it is whole.

use std::hash::{BuildHasher, RandomState};

/// A name that begins so and that nothing else has: not what another thread makes, nor another process, which in a container
/// or on another machine may have this one's number.
pub(crate) fn name(begin: &str) -> String {
    // Its keys are random, and others each time.
    format!("{begin}-{:016x}", RandomState::new().hash_one(begin))
}

#[cfg(test)]
mod tests {
    use super::name;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_names_are_the_same() {
        let names: BTreeSet<String> = (0..1000).map(|_| name(".sample")).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.starts_with(".sample-")));
    }
}
