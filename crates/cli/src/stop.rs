//! Ctrl-C, which ends what is under way and not the process.

use crate::exit::Failed;
use delaylab_kernel::signals;

/// From here on Ctrl-C is a request to stop: a command shows what it has, and a run can be resumed.
pub fn catch_stop() -> Result<(), Failed> {
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))
}
