//! What documents begin with: this host, what was asked for, and the command line.

use delaylab_kernel::host_info;
use delaylab_view::json::{self, Head, Published, SystemInfo, WithHead};

/// This host, in what is read in a moment.
pub fn system_info() -> SystemInfo {
    SystemInfo {
        kernel: host_info::kernel(),
        cpu: host_info::cpu_model(),
        cpus: host_info::online_cpus().and_then(|cpus| u32::try_from(cpus).ok()),
        clock_source: host_info::clock_source(),
    }
}

/// The command line, word by word.
pub fn supplied() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// A document as one line, under its head: this host made it, for these settings and this command line.
pub fn to_line<T: Published>(document: &T, config: T::Config) -> String {
    let head = Head {
        system_info: &system_info(),
        config,
        supplied: &supplied(),
    };
    json::to_line(&WithHead::new(head, document))
}
