//! Capabilities that delaylab can use, and how to get them.

use caps::{CapSet, Capability};
use delaylab_model::shell::quoted;
use std::path::Path;

/// Every capability that delaylab can use, the most useful first.
pub const USEFUL: [Capability; 5] = [
    Capability::CAP_NET_RAW,          // raw ICMP sockets
    Capability::CAP_SYS_NICE,         // SCHED_FIFO
    Capability::CAP_NET_ADMIN,        // NIC timestamps
    Capability::CAP_NET_BIND_SERVICE, // STAMP's own port, 862
    Capability::CAP_SETPCAP,          // emptying the bounding set before serving
];

/// Is the effective user root?
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Is it in the calling thread's effective set?
pub fn holds(capability: Capability) -> bool {
    caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false)
}

/// Can the calling thread have it, by raising it from its permitted set?
pub fn permitted(capability: Capability) -> bool {
    caps::has_cap(None, CapSet::Permitted, capability).unwrap_or(false)
}

/// Makes a permitted capability effective: files marked `+p` start with none effective.
/// Returns whether it is effective now.
pub fn raise(capability: Capability) -> bool {
    caps::raise(None, CapSet::Effective, capability).is_ok() && holds(capability)
}

/// Does something with a capability effective, where it is permitted, and only for that long.
pub fn with<T>(capability: Capability, action: impl FnOnce() -> T) -> T {
    let raised = !holds(capability) && raise(capability);
    let result = action();
    if raised {
        // Lowering what one has is always allowed.
        let _ = caps::drop(None, CapSet::Effective, capability);
    }
    result
}

/// Those that this thread cannot have.
pub fn missing() -> Vec<Capability> {
    USEFUL
        .into_iter()
        .filter(|&capability| !permitted(capability))
        .collect()
}

/// The line that gives the program at `path` what is missing; `None` where nothing is.
pub fn setcap_hint(path: &Path) -> Option<String> {
    let is_any_missing = !missing().is_empty();
    is_any_missing.then(|| setcap_line(&quoted(&path.display().to_string())))
}

/// The line that gives the installed program what it can use.
pub fn setcap_of_installed() -> String {
    setcap_line("\"$(command -v delaylab)\"")
}

/// A file's capabilities are replaced, not added to: the line names all that delaylab can use.
fn setcap_line(file: &str) -> String {
    let names: Vec<String> = USEFUL.into_iter().map(name).collect();
    format!("sudo setcap {}+p {file}", names.join(","))
}

/// The name as setcap(8) writes it.
pub fn name(capability: Capability) -> String {
    capability.to_string().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_setcaps() {
        assert_eq!(name(Capability::CAP_NET_RAW), "cap_net_raw");
    }

    #[test]
    fn a_hint_is_given_exactly_where_something_is_missing() {
        assert_eq!(
            setcap_hint(Path::new("/x")).is_some(),
            !missing().is_empty()
        );
    }
}
