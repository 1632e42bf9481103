//! Being allowed to build a testbed without being root.

use delaylab_kernel::namespace::{self, OwnRootError};
use delaylab_kernel::privilege::{self, Capability};

/// Why a testbed cannot be built here.
#[derive(Debug, thiserror::Error)]
#[error(
    "a testbed needs root, or a kernel that lets users make namespaces of their own, and this one does \
     not: {0}. Run it as root, or let users: `sysctl -w kernel.unprivileged_userns_clone=1 \
     user.max_user_namespaces=1000`, and where AppArmor forbids it, \
     `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
)]
pub struct NotAllowed(#[from] OwnRootError);

/// Without the privileges that a testbed needs, makes this process root of a user namespace of its own:
/// nobody else sees the testbed then, and nothing of it is left when the process is gone. To be called
/// while there is one thread. True: it has become so.
///
/// # Errors
/// Where the kernel does not let this user.
pub fn become_root_if_needed() -> Result<bool, NotAllowed> {
    // As a user with capabilities the commands that build it would have none.
    let root = privilege::is_root() && privilege::holds(Capability::CAP_NET_ADMIN);
    if root && privilege::holds(Capability::CAP_SYS_ADMIN) {
        return Ok(false);
    }
    namespace::become_root_of_own()?;
    Ok(true)
}
