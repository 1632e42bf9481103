//! Names of what outlives its process: they tell whose it is, so that leftovers can be found.

use crate::process;

const PREFIX: &str = "delaylab-";

/// A name that says which process it belongs to: its id, and its start, because ids are used again.
pub fn of_this_process() -> String {
    let pid = std::process::id();
    let start = process::start_time(pid).unwrap_or(0);
    format!("{PREFIX}{pid}-{start}")
}

/// The same for something of which each thread may have one.
pub fn of_this_thread() -> String {
    format!("{}-{}", of_this_process(), process::thread_id())
}

/// Is it a name of ours, and its process gone?
pub fn is_left_over(name: &str) -> bool {
    owner_of(name).is_some_and(|(pid, start)| process::start_time(pid) != Some(start))
}

fn owner_of(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_dead_processes_are_left_over() {
        assert!(!is_left_over(&of_this_process()));
        assert!(!is_left_over(&of_this_thread()));
        let pid = std::process::id();
        assert!(is_left_over(&format!("delaylab-{pid}-1")));
        assert!(is_left_over("delaylab-4294967295-7-9"));
        for other in [
            "delaylab",
            "delaylab-",
            "delaylab-1",
            "delaylab-x-1",
            "mine",
        ] {
            assert!(!is_left_over(other), "{other}");
        }
    }
}
