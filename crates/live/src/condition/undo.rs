//! What outlives this process and must be undone: the list that the guardian keeps.

use delaylab_kernel::cpuset::{Cpuset, CpusetError};
use delaylab_kernel::nic_stamping::{self, Saved};
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::tracefs;
use serde::{Deserialize, Serialize};
use std::io;
use thiserror::Error;

/// One change to the host, by what takes it back. Taking it back twice does no harm.
///
/// A new kind of change is a new variant, and a line in [`Undo::carry_out`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// A cpuset of ours: empty it and remove it.
    RemoveCpuset(Cpuset),
    /// NIC stamping of an interface: set it as it was.
    RestoreNicStamping(Saved),
    /// An instance of the kernel's tracer, by its name: remove it.
    RemoveTraceInstance(String),
}

/// Why a change is still there.
#[derive(Debug, Error)]
pub enum UndoError {
    /// The cpuset could not be removed.
    #[error("a cpuset is left behind: {0}")]
    Cpuset(#[from] CpusetError),
    /// The NIC still stamps, or stamps no more, unlike before.
    #[error("NIC stamping is not as it was: {0}")]
    NicStamping(io::Error),
    /// The instance could not be removed.
    #[error("a trace instance is left behind: {0}")]
    TraceInstance(io::Error),
}

impl Undo {
    /// Takes the change back.
    pub fn carry_out(&self) -> Result<(), UndoError> {
        match self {
            Undo::RemoveCpuset(cpuset) => Ok(cpuset.remove()?),
            Undo::RestoreNicStamping(saved) => {
                privilege::with(Capability::CAP_NET_ADMIN, || nic_stamping::restore(saved))
                    .map_err(UndoError::NicStamping)
            }
            Undo::RemoveTraceInstance(name) => {
                tracefs::remove(name).map_err(UndoError::TraceInstance)
            }
        }
    }
}
