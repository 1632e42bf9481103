//! Ctrl-C, which ends what is under way and not the process, and the end of the process that waits for this one.

use crate::exit::Failed;
use delaylab_kernel::{process, signals};

/// The environment variable with the number of the process that waits for this one.
const PARENT: &str = "DELAYLAB_PARENT";

/// From here on Ctrl-C is a request to stop: a command shows what it has, and a run can be resumed.
pub fn catch_stop() -> Result<(), Failed> {
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))
}

/// Where the process that started this one says that it waits for it, its end is a request to stop, too. The Python package
/// says so: it starts the program in a session of its own, which no signal to its own process group reaches.
pub fn end_with_parent_if_asked() {
    let parent = process::parent();
    // A script between the two is another parent.
    let waits = std::env::var(PARENT).is_ok_and(|id| id == parent.to_string());
    if waits && process::end_with_parent().is_ok() && process::parent() != parent {
        // It ended meanwhile. What cannot be asked works on to its end.
        let _ = signals::ask_to_stop();
    }
}
